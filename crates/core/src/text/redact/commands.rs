//! Secrets that are recognisable by the command, file or sentence around them.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::values::{case_changes, is_stand_in};

/// Finds passwords of commands, of netrc files and of sentences, and cookies.
pub(super) fn command_secrets(text: &str, spans: &mut Vec<Range<usize>>) {
    arguments(text, spans);
    netrc(text, spans);
    sentences(text, spans);
    cookies(text, spans);
}

/// Passwords among the arguments of commands that take them so: `-u name:…` of
/// curl and HTTPie, `-p…` of MySQL's clients, `-p …` of sshpass and `docker
/// login`, `-a …` of redis-cli.
fn arguments(text: &str, spans: &mut Vec<Range<usize>>) {
    static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r#"\b(?:curl\b[^\n|;&]{0,200}?\s(?:-u|--user)|https?\b[^\n|;&]{0,200}?\s(?:-a|--auth))"#,
            r#"[ =]?["']?[^\s:"'/=$]{1,64}:([^\s"'`\\@|;&<>]{3,})"#,
            r#"|\b(?:mysql|mysqldump|mysqladmin|mysqlimport|mariadb|mariadb-dump)\b[^\n|;&]{0,200}?"#,
            r#"\s-p["']?([^\s"'`\\|;&<>]{3,})"#,
            r#"|\bsshpass\s+-p\s*["']?([^\s"'`\\|;&<>]{3,})"#,
            r#"|\b(?:docker|podman|helm)\b[^\n|;&]{0,64}?\slogin\b[^\n|;&]{0,200}?"#,
            r#"\s-p[ =]?["']?([^\s"'`\\|;&<>]{3,})"#,
            r#"|\bredis-cli\b[^\n|;&]{0,200}?\s-a\s+["']?([^\s"'`\\|;&<>]{3,})"#,
        ))
        .expect("it is valid")
    });
    // Most texts name none of them, and the pattern takes long to build.
    let names = ["curl", "http", "mysql", "mariadb", "sshpass", "redis-cli", "login"];
    if !names.iter().any(|name| text.contains(name)) {
        return;
    }
    for hit in COMMAND.captures_iter(text) {
        let value = (1..=5).find_map(|group| hit.get(group)).expect("one of the five");
        if stands_alone(text, &value.range()) {
            spans.push(value.range());
        }
    }
}

/// `machine … login … password …` (curl and ftp, `.netrc`), on one line or more.
fn netrc(text: &str, spans: &mut Vec<Range<usize>>) {
    static ENTRY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"\b(?:machine(?:\s|\\n){1,4}(?:localhost|[A-Za-z0-9-]+\.[A-Za-z0-9.-]+)|default)(?:\s|\\n){1,8}",
            r"login(?:\s|\\n){1,4}[^\s\\]{1,128}(?:\s|\\n){1,8}",
            r#"password(?:\s|\\n){1,4}([^\s\\"'`<>]{3,})"#,
        ))
        .expect("it is valid")
    });
    if !text.contains("login") {
        return;
    }
    for hit in ENTRY.captures_iter(text) {
        let value = hit.get(1).expect("the group is not optional");
        if stands_alone(text, &value.range()) {
            spans.push(value.range());
        }
    }
}

/// Passwords in prose: "the password is hunter2". A plain word without quotes
/// describes the password rather than being it.
fn sentences(text: &str, spans: &mut Vec<Range<usize>>) {
    static SAID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\b(?:password|passwd|passphrase|passcode|passwort)\s+",
            r#"(?:is|was|ist|lautet)(?:\s+now)?:?\s+(["'`“„«]?)([^\s"'`“”„«»<>()\[\]{},;\\]{4,128})(["'`“”»]?)"#,
        ))
        .expect("it is valid")
    });
    for hit in SAID.captures_iter(text) {
        let value = hit.get(2).expect("the group is not optional");
        let bare = value.as_str().trim_end_matches(['.', ':', '!', '?', '*']);
        let quoted = !hit[1].is_empty() && !hit[3].is_empty();
        let chosen = if quoted { is_chosen_in_quotes(bare) } else { is_chosen(bare) };
        let range = value.start()..value.start() + bare.len();
        if chosen && stands_alone(text, &range) {
            spans.push(range);
        }
    }
}

/// Whether a value is real: neither an offline summary for a missing one nor the
/// beginning of a placeholder.
fn stands_alone(text: &str, value: &Range<usize>) -> bool {
    !is_stand_in(&text[value.clone()]) && !text[value.end..].starts_with('<')
}

/// Whether it looks chosen rather than written as a word: letters with digits
/// or signs, and neither a number with a unit nor a compound.
fn is_chosen(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let signs = word.bytes().any(|byte| b"!@#$%^&*+=~?".contains(&byte));
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic());
    let compound = word.contains(['-', '/', '.', ':', '_']) && !signs;
    letters >= 2 && begins && !compound && word.len() >= 6 && (digits > 0 || signs)
        || letters == 0 && digits == word.len() && digits >= 6
}

/// The same in quotes, where it may also be a plain word.
fn is_chosen_in_quotes(word: &str) -> bool {
    let letters = word.bytes().all(|byte| byte.is_ascii_alphabetic());
    is_chosen(word) || word.len() >= 8 && (!letters || case_changes(word) == 0 && !is_capital(word))
}

fn is_capital(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
}

/// Names of cookies that identify a session.
const SESSIONS: [&str; 9] =
    ["sess", "sid", "auth", "token", "jwt", "csrf", "xsrf", "login", "remember"];

/// Most characters of a header that are read at once. The pattern does not say
/// it: with 4096 copies of a class it would take a tenth of a second to build.
const LONGEST_HEADER: usize = 4096;

/// Cookies of sessions (RFC 6265 §4): in the headers `Cookie` and `Set-Cookie`,
/// also as an argument or a value of JSON.
fn cookies(text: &str, spans: &mut Vec<Range<usize>>) {
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?i)(?:\bset-)?\bcookie[\\"'`]{0,3}(?:\s?[:=]\s?|,\s?|\s)[\\"'`]{0,3}([^\n"'`\\]{4,})"#)
            .expect("it is valid")
    });
    static PAIR: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"([A-Za-z0-9!#$%&*+.^_|~-]{1,64})=([^\s;,=<>(){}]{6,})").expect("it is valid")
    });
    let mut from = 0;
    while let Some(header) = HEADER.captures_at(text, from) {
        let value = header.get(1).expect("the group is not optional");
        let ends = value.as_str().char_indices().nth(LONGEST_HEADER).map(|(at, _)| at);
        let all = value.start()..value.start() + ends.unwrap_or(value.len());
        from = all.end;
        for pair in PAIR.captures_iter(&text[all.clone()]) {
            let (name, value) = (pair[1].to_ascii_lowercase(), pair.get(2).expect("as above"));
            let known = SESSIONS.iter().any(|part| name.contains(part));
            let value_is = value.as_str();
            let made =
                value_is.bytes().any(|byte| byte.is_ascii_digit()) || case_changes(value_is) > 1;
            let range = all.start + value.start()..all.start + value.end();
            if known && made && stands_alone(text, &range) {
                spans.push(range);
            }
        }
    }
}
