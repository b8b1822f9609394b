//! Names of users, told by the home folders in texts.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

/// Names of user accounts that identify nobody, and may be ordinary words.
const ANYONE: &[&str] = &[
    "admin",
    "agent",
    "app",
    "build",
    "codespace",
    "default",
    "dev",
    "developer",
    "dir",
    "ec2-user",
    "git",
    "guest",
    "home",
    "node",
    "page",
    "public",
    "root",
    "runner",
    "shared",
    "test",
    "tester",
    "tool",
    "ubuntu",
    "user",
    "username",
    "users",
    "vagrant",
    "work",
    "workspace",
    "you",
    "yourname",
];

/// Names of users whose home folders appear in the texts.
pub fn user_names(texts: &[&str]) -> BTreeSet<String> {
    static HOME: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?:\\{0,16}/(?:home|Users)\\{0,16}/|\\{1,16}Users\\{1,16}|\bUsers/)([A-Za-z0-9][\w.-]{2,31})",
            // A folder as the name of a file: `-home-ada-src`, `C--Users-ada-src`.
            // The prompt of a shell: `ada@host:~/src$`.
            r"|(?m:^)([a-z][\w.-]{2,31})@[\w-]{1,63}:[~/][^\s$#]{0,128}[$#] ",
            r"|(?:^|[^\w-])(?:-home-|(?:[A-Z]-)?-Users-)([A-Za-z0-9]\w{2,31})",
        ))
        .expect("it is valid")
    });
    let hits = texts.iter().flat_map(|text| HOME.captures_iter(text));
    let hits = hits.filter_map(|hit| (1..=3).find_map(|group| hit.get(group)));
    let names = hits.map(|hit| hit.as_str().trim_end_matches('.').to_owned());
    names.filter(|name| !ANYONE.contains(&name.to_lowercase().as_str())).collect()
}

/// Replaces the names that `names` finds, where they stand alone: as a word, or
/// as a part of a path.
pub fn replaced_users(text: &str, names: &AhoCorasick, with: impl Fn(&str) -> String) -> String {
    let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let alone = names.find_iter(text).map(|hit| hit.range()).filter(|at| {
        let before = text[..at.start].chars().next_back();
        !inside(before) && !inside(text[at.end..].chars().next())
    });
    super::spliced(text, alone.map(|at| (at.clone(), with(&text[at]))))
}
