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
    "dev",
    "developer",
    "ec2-user",
    "git",
    "guest",
    "home",
    "node",
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
        Regex::new(r"(?:/home/|/Users/|\\Users\\|\bUsers/)([A-Za-z0-9][\w.-]{2,31})")
            .expect("it is valid")
    });
    let hits = texts.iter().flat_map(|text| HOME.captures_iter(text));
    let names = hits.map(|hit| hit[1].trim_end_matches('.').to_owned());
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
