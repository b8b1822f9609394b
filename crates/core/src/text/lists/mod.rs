//! Words and names that the rules of this module know, a file each. A line that begins with `#`
//! says what the file holds.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

/// The entries of a file.
pub(super) type List = LazyLock<FxHashSet<&'static str>>;

macro_rules! lists {
    ($($(#[$about:meta])* $name:ident $file:literal)*) => {
        $($(#[$about])* pub(super) static $name: List = List::new(|| entries(include_str!($file)));)*
    };
}

lists! {
    /// Words that programmers and writers use everywhere, lower-case.
    COMMON "words.txt"
    /// Names that belong to a language or a platform, lower-case.
    STANDARD "standard.txt"
    /// Packages and objects whose members are not the project's, as written.
    PACKAGES "packages.txt"
    /// Packages of well-known frameworks, as written.
    FRAMEWORKS "frameworks.txt"
    /// Files that every project may have, lower-case.
    FILES "files.txt"
    /// The extensions of file names.
    EXTENSIONS "extensions.txt"
    /// Beginnings of paths in folders of the operating system and of tools.
    SYSTEM "folders.txt"
    /// Words that make an adjective of another word.
    FORMERS "formers.txt"
    /// What utility classes of a style sheet set.
    STYLES "styles.txt"
    /// What they set it to.
    STYLE_VALUES "style_values.txt"
    /// Words in place of a secret value, and types of values.
    STAND_INS "stand_ins.txt"
    /// Names of user accounts that identify nobody.
    ACCOUNTS "accounts.txt"
    /// Endings of file names that are no domains.
    NO_DOMAINS "no_domains.txt"
}

fn entries(text: &'static str) -> FxHashSet<&'static str> {
    text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect()
}
