//! Names that code declares: those that a project defines belong to it, however
//! plain their words, and what a request itself defines it does not need to know.

use regex::Captures;
use rustc_hash::FxHashSet;

use super::candidates::texts;
use recap_core::model::{IdentifierClass, Session};
use recap_core::text::is_framework;
use recap_core::text::{Pattern, pattern};

/// A function, type or member with its keyword, a field with its tag, or a
/// branch in git's own words. Words begin as in ASCII, since the search for other
/// beginnings is fifty times slower in a text with other letters; [`opens`] looks
/// at those.
static MADE: Pattern = pattern!(
    r"(?x)
        (?-u:\b)(?: func (?:\s* \( [^()\n]* \))? | function\*? | fn | def | class | struct | interface
            | type | enum | trait | protocol ) \s+ (?<code>[A-Za-z_]\w*)
        | (?-u:\b)(?: public | private | protected | static | abstract | override | async | pub
            | readonly ) \s+ (?<member>[A-Za-z_]\w*) \s* [(<?:;=]
        | (?-u:\b)(?<field>[A-Za-z_]\w*) \s+ [\w.*\[\]]+ \s+ `(?:json|yaml|toml):
        | (?: On\ branch\ | checkout\ -b\ | switch\ -c\ | (?-u:\b)origin/ | HEAD\ ->\  )
            (?<branch>[\w./-]*\w)"
);

/// A letter of any script.
static LETTER: Pattern = pattern!(r"^\w");

/// The names that a text declares.
fn made(text: &str) -> impl Iterator<Item = &str> {
    let mut from = 0;
    std::iter::from_fn(move || {
        loop {
            let found = MADE.captures_at(text, from)?;
            let (whole, name) = (found.get(0)?, found.iter().flatten().nth(1)?);
            if opens(text, whole.start()) || !begins_word(&found) {
                from = whole.end();
                return Some(name.as_str());
            }
            from = text.ceil_char_boundary(whole.start() + 1);
        }
    })
}

/// Whether no letter of another script than ASCII stands before a place.
fn opens(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back().filter(|c| !c.is_ascii());
    before.is_none_or(|c| !LETTER.is_match(c.encode_utf8(&mut [0; 4])))
}

/// Whether what was found has to begin a word: all but most of git's own words.
fn begins_word(found: &Captures<'_>) -> bool {
    found.name("branch").is_none() || found[0].starts_with("origin/")
}

/// Bytes before a place, and characters after it, within which its line ends.
const LONGEST: usize = 400;

/// Keywords that bind a name within one function or file.
const BINDERS: &[&str] = &["const", "let", "mut", "val", "var"];

/// The names that the code in a session declares.
pub(super) struct Declared<'a>(FxHashSet<&'a str>);

impl<'a> Declared<'a> {
    pub(super) fn new(session: &'a Session) -> Declared<'a> {
        let mut names = FxHashSet::default();
        each(session, |text| names.extend(made(text)));
        Declared(names)
    }

    /// Whether the project declares it, or the member at the end of a dotted name.
    pub(super) fn declares(&self, text: &str) -> bool {
        self.0.contains(text.rsplit('.').next().unwrap_or(text)) || self.0.contains(text)
    }
}

/// The names that the code of a request defines: by a keyword (`def name`, `class name`), by a
/// value (`const name = …`, `const [a, name] = …`, `name := …`, `name = …`), as a field or
/// parameter (`name: …`).
pub(super) fn defined(code: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut from = 0;
    let words = std::iter::from_fn(move || {
        let start = from + code[from..].find(is_word)?;
        let end = code[start..].find(|c| !is_word(c)).map_or(code.len(), |at| start + at);
        from = end;
        Some((start, end))
    });
    let bound = words.filter(|&(start, end)| is_bound(code, start, end));
    made(code).chain(bound.map(|(start, end)| &code[start..end]))
}

/// Whether a value is bound to the name at the bytes `from..to`.
fn is_bound(text: &str, from: usize, to: usize) -> bool {
    let opening = text[to..].trim_start_matches([' ', '\t']);
    if !opening.starts_with(['=', ':', ',', '?', ']']) {
        return false;
    }
    let Some(start) = line_start(text, from) else { return false };
    let end = text[to..].char_indices().take(LONGEST).find(|(_, c)| *c == '\n');
    let end = end.map_or_else(|| text.len().min(to + LONGEST), |(at, _)| to + at);
    let end = text.floor_char_boundary(end);
    // In a patch `+` and `-` stand before the line.
    let line = text[start..from].trim_start_matches(['+', '-']).trim();
    let after = text[to..end].trim_start();
    let word = line.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let listed = line.is_empty() || line.ends_with(',');
    let walrus = after.starts_with(":=") || after.starts_with(',') && after.contains(":=");
    let assigned = line.is_empty() && after.starts_with("= ");
    let typed = after.starts_with(": ") || after.starts_with("?: ");
    let field = typed && (line.is_empty() || line.ends_with(['(', ',', '{']));
    let mut words = line.trim_start_matches("export ").split(['[', ' ']);
    let placed = words.next().is_some_and(|word| BINDERS.contains(&word))
        && line.contains('[')
        && after.split_once(']').is_some_and(|(_, rest)| rest.trim_start().starts_with("= "));
    BINDERS.contains(&word) || listed && walrus || assigned || field || placed
}

/// The beginning of a line; `None` for a line that is too long to be code.
fn line_start(text: &str, from: usize) -> Option<usize> {
    let floor = text.floor_char_boundary(from.saturating_sub(LONGEST));
    let end = text[floor..from].rfind('\n');
    end.map(|end| floor + end + 1).or((floor == 0).then_some(0))
}

// Packages that others publish, and the names that are imported from them: who
// knows a library knows these without having read them here.

/// A dependency with its version, as package.json, requirements.txt, go.mod and
/// Cargo.toml write it. Packages of the project itself have none.
static VERSIONED: Pattern = pattern!(
    r#"(?mx) "@?(?<json>[\w./-]+)" \s* : \s* "[\^~>=]*\d+\.\d
        | ^ (?: \s*\d+[→\t] )? \s* (?: require\ )? (?: (?<pip>[A-Za-z][\w.-]+) (?: \[[\w,]+\] )? \s* [=>~]= \s* \d
            | (?<go>[\w-]+\.[a-z]{2,}/[\w./-]+) \s v\d+\.\d
            | (?<cargo>[a-z][\w-]+) \s = \s (?: \{\ version\ =\ )? "\d )"#
);

/// A command that installs packages.
static INSTALLED: Pattern = pattern!(
    r"(?x)\b (?: (?:npm|pnpm|yarn|bun)\ (?:i|install|add) | (?:pip3?|uv|uv\ pip)\ (?:install|add)
            | cargo\ add | go\ get ) \ ([^\n;&|>'`\x22]+)"
);

/// An import of names from a package.
static IMPORTED: Pattern = pattern!(
    r#"(?x) \b import \s+ (?: type \s+ )? (?<js>(?-u:[\w\s,{}*$]){1,300}?) \s from \s ["']@?(?<module>[\w./-]+)["']
        | \b from \s (?<python>\w+) [\w.]* \s import \s (?<names>[\w,\ ]+)"#
);

/// The packages of others in a session, and what is imported from them.
#[derive(Default)]
pub(super) struct Packages<'a> {
    names: FxHashSet<&'a str>,
    /// Packages and parts of them that are imported.
    modules: FxHashSet<&'a str>,
    members: FxHashSet<&'a str>,
}

impl<'a> Packages<'a> {
    pub(super) fn new(session: &'a Session) -> Packages<'a> {
        let mut all = Packages::default();
        each(session, |text| all.read_names(text));
        each(session, |text| all.read_members(text));
        all
    }

    fn read_names(&mut self, text: &'a str) {
        let versioned = VERSIONED.captures_iter(text);
        self.names.extend(
            versioned.filter_map(|found| found.iter().flatten().nth(1)).map(|n| n.as_str()),
        );
        for found in INSTALLED.captures_iter(text) {
            let listed = found.get(1).map_or("", |names| names.as_str()).split_whitespace();
            let named =
                listed.filter(|word| word.starts_with(|c: char| c.is_alphabetic() || c == '@'));
            self.names.extend(named.map(|word| without_version(word.trim_start_matches('@'))));
        }
    }

    fn read_members(&mut self, text: &'a str) {
        for found in IMPORTED.captures_iter(text) {
            let part = |one, other| found.name(one).or(found.name(other)).map(|part| part.as_str());
            let Some(module) = part("module", "python").filter(|name| self.publishes(name)) else {
                continue;
            };
            self.modules.insert(module);
            let listed = part("js", "names").unwrap_or_default();
            let names = listed.split(|c: char| !c.is_alphanumeric() && c != '_');
            self.members.extend(names.filter(|name| !name.is_empty()));
        }
    }

    /// Whether a module is a package or a part of one: `next/navigation`.
    fn publishes(&self, module: &str) -> bool {
        let ends = module.match_indices('/').map(|(at, _)| at).chain([module.len()]);
        let mut parents = ends.map(|end| &module[..end]);
        parents.any(|name| is_framework(name) || self.names.contains(name))
    }

    /// Whether an identifier is that of a package or of something in it.
    pub(super) fn knows(&self, text: &str, class: IdentifierClass) -> bool {
        match class {
            IdentifierClass::Path => self.names.contains(text) || self.modules.contains(text),
            IdentifierClass::Kebab => self.publishes(text),
            IdentifierClass::Identifier => self.members.contains(text),
            IdentifierClass::Dotted => {
                text.split('.').next().is_some_and(|first| self.members.contains(first))
            }
            _ => false,
        }
    }
}

fn each<'a>(session: &'a Session, mut read: impl FnMut(&'a str)) {
    for message in &session.messages {
        texts(message, &mut |_, text| read(text));
    }
}

fn without_version(package: &str) -> &str {
    package.split(['@', '=', '>', '<', '[']).next().unwrap_or(package)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::{talk, user};

    #[test]
    fn declaring_keyword_must_begin_a_word() {
        let names = |text| made(text).collect::<Vec<_>>();
        assert_eq!(names("fn one() {} éfn two() {} — fn three"), ["one", "three"]);
        assert_eq!(names("ésuper\u{301}class Four type Five"), ["Five"]);
        assert_eq!(names("éOn branch six éorigin/seven origin/eight"), ["six", "eight"]);
        assert_eq!(names("éName string `json:\"n\"` Name2 string `json:\"n\"`"), ["Name2"]);
    }

    #[test]
    fn name_is_defined_by_declaration_or_assignment() {
        for (text, defined) in [
            ("a\n\tcurrentTree := &State{}\nb", true),
            ("\tcurrentTree, err := open(x)", true),
            ("  const currentTree = 1;", true),
            ("let mut currentTree: u8 = 1;", true),
            ("currentTree = load()", true),
            ("-  const currentTree = 1;", true),
            ("func currentTree() {", true),
            ("class currentTree(Base):", true),
            ("export const [tree, currentTree] = useState(1);", true),
            ("err, currentTree := open(x)", true),
            ("  currentTree?: Tree;", true),
            ("function open(path, currentTree: Tree) {", true),
            ("const { currentTree } = tree;", false),
            ("is currentTree: the tree", false),
            ("call([currentTree, other]);", false),
            ("if currentTree == other {", false),
            ("run(currentTree)", false),
            ("class Other(currentTree):", false),
            ("currentTree, other)", false),
            ("currentTree.x := 1", false),
            ("x.currentTree = load()", false),
        ] {
            let found = super::defined(text).any(|name| name == "currentTree");
            assert_eq!(found, defined, "{text}");
        }
    }

    #[test]
    fn line_begins_within_400_bytes() {
        let defined = |text: &str| super::defined(text).any(|name| name == "currentTree");
        let line = "let currentTree = 1;";
        assert!(defined(&format!("{}\n{line}", "y".repeat(500))));
        // The end of the line before, "let" and a blank take five of the 400 bytes.
        let indented = |blanks: usize| defined(&format!("\nx\n{}{line}", " ".repeat(blanks)));
        assert!(indented(395) && !indented(396));
    }

    #[test]
    fn versioned_package_and_its_imports_are_known() {
        let session = talk(vec![
            user("\"@tanstack/react-query\": \"^5.2.0\",\n\"@own/shared-types\": \"workspace:*\""),
            user("12→import { useQuery, type QueryKey } from '@tanstack/react-query'"),
            user("import { LedgerEntry } from '@own/shared-types'"),
            user("pip install langchain-core==0.3\nfrom langchain_core import RunnableMap"),
            user("npm install drizzle-orm@1 -D"),
            user("\"langchain_core\": \"1.2.3\""),
            user("import { useRouter } from 'next/navigation'; // next/own.ts"),
        ]);
        let packages = Packages::new(&session);
        for (text, class) in [
            ("tanstack/react-query", IdentifierClass::Path),
            ("next/navigation", IdentifierClass::Path),
            ("useRouter", IdentifierClass::Identifier),
            ("drizzle-orm", IdentifierClass::Kebab),
            ("langchain-core", IdentifierClass::Kebab),
            ("useQuery", IdentifierClass::Identifier),
            ("QueryKey", IdentifierClass::Identifier),
            ("RunnableMap", IdentifierClass::Identifier),
            ("QueryKey.parse", IdentifierClass::Dotted),
        ] {
            assert!(packages.knows(text, class), "{text}");
        }
        for (text, class) in [
            ("own/shared-types", IdentifierClass::Path),
            ("LedgerEntry", IdentifierClass::Identifier),
            ("next/own.ts", IdentifierClass::Path),
        ] {
            assert!(!packages.knows(text, class), "{text}");
        }
    }
}
