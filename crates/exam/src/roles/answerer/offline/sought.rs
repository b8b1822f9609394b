//! The form of an answer: a hash, a version, a path, a number.

use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use regex::Regex;
use rustc_hash::FxHasher;

use crate::calendar::{month, weekday};
use recap_core::text::language::is_in;

/// Forms of values, as bits: a value may have several.
pub(super) type Forms = u16;

pub(super) const HASH: Forms = 1;
pub(super) const VERSION: Forms = 1 << 1;
pub(super) const PATH: Forms = 1 << 2;
pub(super) const HOST: Forms = 1 << 3;
/// Letters and digits, or names joined by `_` or `-`.
pub(super) const NAME: Forms = 1 << 4;
pub(super) const TIME: Forms = 1 << 5;
pub(super) const DATE: Forms = 1 << 6;
pub(super) const NUMBER: Forms = 1 << 7;
/// A name behind the keyword that defines it.
pub(super) const DEFINED: Forms = 1 << 8;

/// A value in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub forms: Forms,
    /// Hash of its spelling, to compare two values.
    pub spelt: u64,
}

/// The values in a text, in order.
pub(super) fn values(text: &str) -> Vec<Value> {
    let outside = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\''
                    | '`'
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | ','
                    | ';'
                    | '='
                    | '<'
                    | '>'
                    | '|'
                    | '\\'
            )
    };
    let pieces = text.split(outside).map(|piece| {
        piece
            .trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '#' | '_' | '-'))
            .trim_end_matches(['-', '#'])
    });
    let mut out = definitions(text);
    // The piece before, and whether it is a month.
    let mut before = ("", false);
    for piece in pieces.filter(|piece| !piece.is_empty()) {
        let is_month = month(piece).is_some();
        let written_out = piece.len() > 5 && weekday(piece).is_some()
            || is_month && is_day(before.0)
            || before.1 && is_day(piece);
        before = (piece, is_month);
        let forms = forms(piece) | if written_out { DATE } else { 0 };
        if forms != 0 {
            out.push(Value { forms, spelt: spelt(piece) });
        }
    }
    out
}

/// The names that a line of code defines.
fn definitions(text: &str) -> Vec<Value> {
    static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"\b(?:func(?:\s*\([^()]*\))?|fn|def|function|class|struct|interface|enum|trait|type|const)\s+([A-Za-z_]\w{2,})",
        )
        .expect("the pattern is constant and valid")
    });
    let names = DEFINITION.captures_iter(text).filter_map(|found| found.get(1));
    names.map(|name| Value { forms: DEFINED, spelt: spelt(name.as_str()) }).collect()
}

fn spelt(text: &str) -> u64 {
    let mut hasher = FxHasher::default();
    text.hash(&mut hasher);
    hasher.finish()
}

/// The forms of one token without surrounding punctuation.
fn forms(token: &str) -> Forms {
    let bytes = token.as_bytes();
    if bytes.len() < 2 {
        return if bytes.first().is_some_and(u8::is_ascii_digit) { NUMBER } else { 0 };
    }
    if bytes.len() > 128 || !token.is_ascii() {
        return 0;
    }
    // A plain word, as most are.
    if bytes.iter().all(u8::is_ascii_alphabetic) {
        return if token == "localhost" { HOST } else { 0 };
    }
    let count = |of: fn(&u8) -> bool| bytes.iter().filter(|b| of(b)).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
    let has = |c: u8| bytes.contains(&c);
    let mut forms = 0;
    if digits == 0 && letters == 0 {
        return 0;
    }
    if (7..=40).contains(&bytes.len())
        && bytes.iter().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(b))
        && digits > 0
    {
        forms |= HASH;
    }
    if is_date(bytes) {
        forms |= DATE;
    } else if is_time(bytes) {
        forms |= TIME;
    }
    if is_number(token) {
        forms |= NUMBER;
    }
    if is_version(token) {
        forms |= VERSION;
    }
    if letters > 0 && has(b'/') || is_file(token) {
        forms |= PATH;
    }
    if is_host(token) {
        forms |= HOST;
    }
    let joined = bytes
        .iter()
        .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'#' | b'/' | b'.' | b':'));
    let inner = bytes[1..bytes.len() - 1].iter().any(|b| matches!(b, b'_'));
    if joined
        && forms & (DATE | TIME | VERSION) == 0
        && letters > 0
        && (digits > 0 && forms & NUMBER == 0 || inner)
    {
        forms |= NAME;
    }
    forms
}

/// Whether a token is a date like `2025-10-21`, alone or before a time.
fn is_date(b: &[u8]) -> bool {
    b.len() >= 10
        && b[..10].iter().enumerate().all(|(at, c)| match at {
            4 | 7 => *c == b'-',
            _ => c.is_ascii_digit(),
        })
}

/// Whether a token is a day of the month like `21` or `3rd`, beside the name of
/// a month.
fn is_day(token: &str) -> bool {
    let digits = token.trim_end_matches(|c: char| c.is_ascii_lowercase());
    (1..=2).contains(&digits.len()) && digits.parse::<u8>().is_ok_and(|day| (1..=31).contains(&day))
}

/// Whether a token is a time like `9:30` or `09:30:12`.
fn is_time(b: &[u8]) -> bool {
    let mut parts = b.split(|c| *c == b':');
    let two = |part: &[u8]| part.len() == 2 && part.iter().all(u8::is_ascii_digit);
    parts.next().is_some_and(|h| (1..=2).contains(&h.len()) && h.iter().all(u8::is_ascii_digit))
        && parts.next().is_some_and(two)
        && parts.all(|part| part.len() >= 2)
}

/// Whether a token is a number: digits, perhaps grouped, with a decimal part, a
/// sign, a unit of up to three letters.
fn is_number(token: &str) -> bool {
    let token = token.trim_start_matches(['-', '+', '$', '#']);
    let end = token.bytes().position(|b| !(b.is_ascii_digit() || matches!(b, b'.' | b'_')));
    let (digits, unit) = token.split_at(end.unwrap_or(token.len()));
    digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.matches('.').count() <= 1
        && unit.len() <= 3
        && unit.bytes().all(|b| b.is_ascii_alphabetic() || b == b'%')
}

/// Whether a token is a version like `2.0`, `v7.11.9` or `1.2.3-rc1`.
fn is_version(token: &str) -> bool {
    let token = token.strip_prefix(['v', 'V']).unwrap_or(token);
    let core = token.split(['-', '+']).next().unwrap_or("");
    (2..=4).contains(&core.split('.').count())
        && core
            .split('.')
            .all(|p| !p.is_empty() && p.len() <= 4 && p.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a token is a file name with an extension that begins with a letter.
fn is_file(token: &str) -> bool {
    token.rsplit_once('.').is_some_and(|(name, end)| {
        !name.is_empty()
            && (1..=5).contains(&end.len())
            && end.starts_with(|c: char| c.is_ascii_alphabetic())
            && end.bytes().all(|b| b.is_ascii_alphanumeric())
            && name.ends_with(|c: char| c.is_ascii_alphanumeric())
    })
}

/// Whether a token is a host: names joined by full stops, the last one of
/// letters, perhaps behind a scheme or before a port; or an address of four
/// numbers.
fn is_host(token: &str) -> bool {
    let rest = token.split_once("://").map_or(token, |(_, rest)| rest);
    let name = rest.split(['/', ':']).next().unwrap_or("");
    if !name.contains('.') {
        return name == "localhost";
    }
    let parts: Vec<&str> = name.split('.').collect();
    let sound = parts.iter().all(|p| {
        !p.is_empty()
            && p.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    });
    let last = parts.last().copied().unwrap_or("");
    sound
        && (parts.len() >= 2 && last.len() >= 2 && last.bytes().all(|b| b.is_ascii_alphabetic())
            || parts.len() == 4 && parts.iter().all(|p| p.parse::<u8>().is_ok()))
}

/// Words that indicate the form of the requested value: terms of software, and
/// for numbers and codes the names that Li and Roth (2002) give to the answers
/// of that kind. A thing that merely bears a number (a room, a shelf) is none.
const CUES: [(Forms, &str); 11] = [
    (HASH, "commit hash sha revision commits"),
    (VERSION, "version release tag"),
    (PATH, "file path folder directory script module"),
    (HOST, "host hostname address server domain url endpoint machine"),
    (NAME, "id identifier ticket reference flag key request branch test serial database issue"),
    (NAME | DEFINED, "function method constant class"),
    // People often use "number" for letters and digits.
    (NAME | NUMBER, "number account code"),
    (TIME, "clock o'clock time"),
    (DATE, "date day deadline"),
    (
        NUMBER,
        "port limit amount count percentage threshold size value many much long \
        weight distance speed temperature age price balance budget",
    ),
    (0, "name short id's"),
];

/// Words that may precede the noun after the question word.
const PASSED: &str = "is was are were the a an of its their his her our my short full exact new \
    current latest newest first last";

/// Forms that the answer to a question may have; empty if the question does not
/// indicate one. The last noun after the question word decides: `release date`
/// asks for a date, `test file` for a path.
pub(super) fn sought(lower: &[&str]) -> Forms {
    let asking = |word: &&str| matches!(*word, "what" | "which" | "how" | "whose");
    let Some(first) = lower.iter().position(asking) else { return 0 };
    let form = |word: &str| CUES.iter().find(|(_, words)| is_in(words, word)).map(|(f, _)| *f);
    if lower[first..].starts_with(&["what", "time"]) {
        return TIME;
    }
    let mut found = 0;
    let mut unknown = 0;
    for word in lower[first + 1..].iter().take(8) {
        match form(word) {
            Some(0) => {}
            Some(next) if next & NUMBER != 0 && found != 0 => {}
            Some(next) => found = next,
            None if found != 0 => break,
            None if is_in(PASSED, word) => {}
            // An attribute may precede the noun: `which feature flag`.
            None if unknown < 1 && !is_in(ENDS, word) => unknown += 1,
            None => break,
        }
    }
    found
}

/// Words that end the phrase after the question word.
const ENDS: &str = "did do does has have had will would can could should shall may might must i \
    you we they he she it to in on at for with from by and or about one this that these those";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roles::answerer::offline::words::words;

    fn asked(text: &str) -> Forms {
        let found = words(text);
        sought(&found.iter().map(|word| word.lower.as_str()).collect::<Vec<_>>())
    }

    #[test]
    fn noun_after_question_word_decides_answer_form() {
        let table = [
            ("Which commit fixed the parser?", HASH),
            ("What is the short hash of that commit?", HASH),
            ("Which release will have it?", VERSION),
            ("What release date was set?", DATE),
            ("What version number comes next?", VERSION),
            ("Which feature flag guards it?", NAME),
            ("What request id failed?", NAME),
            ("Which test file was added?", PATH),
            ("How many rows were lost?", NUMBER),
            ("On which port does it listen?", NUMBER),
            ("What time does it start?", TIME),
            ("What is the new departure time?", TIME),
            ("Under which policy number is it insured?", NAME | NUMBER),
            ("In which locker is it?", 0),
            ("At which berth do we lie?", 0),
            ("What room is the talk in?", 0),
            ("Which policy covers the hull?", 0),
            ("What temperature was measured?", NUMBER),
            ("What did Ann say about the file?", 0),
            ("What is the reason for the commit?", 0),
            ("Who wrote the file?", 0),
        ];
        for (question, forms) in table {
            assert_eq!(asked(question), forms, "{question}");
        }
    }

    #[test]
    fn values_have_the_forms_of_their_spelling() {
        let of = |text: &str| values(text).iter().fold(0, |all, value| all | value.forms);
        assert_eq!(of("[main 3f9c2ab] Close"), HASH | NAME);
        assert_eq!(of("ship 7.11.9."), VERSION);
        assert_eq!(of("on 2025-10-21,"), DATE);
        assert_eq!(of("on the 3rd May, a Tuesday") & DATE, DATE);
        assert_eq!(of("by July 21"), DATE | NUMBER);
        assert_eq!(of("in May the 400 crates") & DATE, 0);
        assert_eq!(of("from 19:25 on"), TIME);
        assert_eq!(of("see lib/net.rs") & PATH, PATH);
        assert_eq!(of("ask heron-3.example.org") & HOST, HOST);
        assert_eq!(of("under AB-123 please") & NAME, NAME);
        assert_eq!(of("lost 1420 rows"), NUMBER);
        assert_eq!(of("All is well, I think. Half-way there."), 0);
    }
}
