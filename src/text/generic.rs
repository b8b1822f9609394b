//! Identifiers that anybody could write without having read them: names of
//! standard libraries, dictionary compounds, files that every project has.

use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use crate::model::IdentifierClass;

fn list(text: &'static str) -> FxHashSet<&'static str> {
    text.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect()
}

/// Words that programmers and writers use everywhere, lower-case.
static COMMON: LazyLock<FxHashSet<&str>> = LazyLock::new(|| list(include_str!("words.txt")));
/// Names that a language or a platform brings along, lower-case.
static STANDARD: LazyLock<FxHashSet<&str>> = LazyLock::new(|| list(include_str!("standard.txt")));
/// Packages and objects whose members are not the project's, as written.
static PACKAGES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| list(include_str!("packages.txt")));
/// Files that every project may have, lower-case.
static FILES: LazyLock<FxHashSet<&str>> = LazyLock::new(|| list(include_str!("files.txt")));
/// What ends a file name.
static EXTENSIONS: LazyLock<FxHashSet<&str>> =
    LazyLock::new(|| list(include_str!("extensions.txt")));

/// Whether `word` is an extension that file names end in.
pub fn is_file_extension(word: &str) -> bool {
    EXTENSIONS.contains(word)
}

/// Whether an identifier could be written from general knowledge alone.
pub fn is_generic(text: &str, class: IdentifierClass) -> bool {
    match class {
        IdentifierClass::Path => generic_path(text),
        IdentifierClass::Url => generic_url(text),
        IdentifierClass::Dotted => generic_dotted(text),
        IdentifierClass::Identifier => generic_compound(text),
        IdentifierClass::Kebab | IdentifierClass::Ticket => generic_kebab(text),
        IdentifierClass::Quoted => generic_quote(text),
        IdentifierClass::Email => text.starts_with("noreply@") || text.contains("@example."),
        _ => false,
    }
}

fn generic_path(path: &str) -> bool {
    const SYSTEM: &[&str] =
        &["/dev/", "/bin/", "/usr/bin/", "/usr/local/bin", "/etc/", "/proc/", "/sys/", "/var/log"];
    let lower = path.to_lowercase();
    let mut parts = lower.split('/').filter(|part| !matches!(*part, "" | "." | ".." | "~"));
    let Some(first) = parts.next() else {
        return true;
    };
    let alone = parts.next().is_none();
    SYSTEM.iter().any(|system| lower.starts_with(system))
        || alone && FILES.contains(first)
        || STANDARD.contains(lower.as_str())
        || lower.split('/').all(|part| part.is_empty() || PACKAGES.contains(part))
}

fn generic_url(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', ':', '?']).next().unwrap_or(rest);
    // A bare host of the well-known kind is no more specific than a brand.
    rest.trim_end_matches('/') == host || host == "localhost" || host.starts_with("example.")
}

fn generic_dotted(text: &str) -> bool {
    let mut segments = text.split('.');
    let first = segments.next().unwrap_or_default();
    let last = text.rsplit('.').next().unwrap_or_default();
    if PACKAGES.contains(first) || STANDARD.contains(text.to_lowercase().as_str()) {
        return true;
    }
    generic_member(last) || all_common(text, 3)
}

/// A member that says nothing without its owner.
fn generic_member(name: &str) -> bool {
    name.chars().count() < 5
        || STANDARD.contains(name.to_lowercase().as_str())
        || all_common(name, 2)
}

fn generic_compound(text: &str) -> bool {
    STANDARD.contains(text.to_lowercase().as_str()) || all_common(text, 2)
}

fn generic_kebab(text: &str) -> bool {
    STANDARD.contains(text.to_lowercase().as_str()) || all_common(text, 3)
}

/// Ordinary words in quotes are speech, not a name.
fn generic_quote(text: &str) -> bool {
    text.chars().any(|c| matches!(c, '(' | ')' | '{' | '}' | ';' | '=')) && !text.contains('%')
        || text.split_whitespace().count() < 3
}

/// Whether a compound is put together from at most `limit` words that are
/// all common.
fn all_common(text: &str, limit: usize) -> bool {
    let words = words(text);
    words.len() <= limit && words.iter().all(|word| is_common(word))
}

fn is_common(word: &str) -> bool {
    word.chars().count() <= 2
        || word.bytes().all(|b| b.is_ascii_digit())
        || COMMON.contains(word)
        || word.strip_suffix('s').is_some_and(|one| COMMON.contains(one))
}

/// The words of a compound, lower-cased: `HTTPServerName2` is http, server,
/// name, 2.
pub fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars().peekable();
    let mut previous: Option<char> = None;
    while let Some(c) = chars.next() {
        let next_lower = chars.peek().is_some_and(|n| n.is_lowercase());
        let starts = previous.is_some_and(|p| {
            (p.is_lowercase() && c.is_uppercase())
                || (p.is_uppercase() && c.is_uppercase() && next_lower)
                || (p.is_ascii_digit() != c.is_ascii_digit())
        });
        if (starts || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        previous = Some(c);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}
