//! Specific identifiers in a text (`measures` §4, rule a).

use std::ops::Range;

use memchr::memchr2_iter;

use super::bounded::{is_bounded, is_word};
use super::generic::is_file_extension;
use crate::model::IdentifierClass;

/// Longest identifier that is still one: longer runs are data (base64, minified code).
const LONGEST: usize = 300;

/// Longest quoted string that is still a name or a message.
const LONGEST_QUOTE: usize = 160;

/// Shortest quoted string that is one by itself; what is specific in a
/// shorter one is found by its own shape.
const SHORTEST_QUOTE: usize = 16;

/// How a text is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdentifierOptions {
    /// The whole text is code or a command, as an argument of a tool is:
    /// kebab-case words count without a digit.
    pub code: bool,
}

/// One specific identifier and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identifier<'a> {
    /// What kind it is.
    pub class: IdentifierClass,
    /// The identifier as written.
    pub text: &'a str,
    /// Its bytes in the text it was taken from.
    pub range: Range<usize>,
}

/// The identifiers of a *decoded* text, in order of their last byte; each
/// stands bounded at its place. Commit trailers and line-number gutters are
/// no part of what a text says and give none.
pub fn identifiers(text: &str, options: IdentifierOptions) -> Vec<Identifier<'_>> {
    let mut scan = Scan { text, code: options.code, fenced: false, found: Vec::new() };
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        scan.line(start, line);
        start += line.len();
    }
    scan.found
}

struct Scan<'a> {
    text: &'a str,
    code: bool,
    fenced: bool,
    found: Vec<Identifier<'a>>,
}

impl<'a> Scan<'a> {
    fn line(&mut self, start: usize, line: &str) {
        if line.trim_start().starts_with("```") {
            self.fenced = !self.fenced;
            return;
        }
        if is_trailer(line) {
            return;
        }
        let body = start + gutter(line);
        let end = start + line.trim_end().len();
        if body < end {
            self.quotes(body..end);
            self.runs(body..end);
        }
    }

    /// Strings in double quotes that begin and end on one line.
    fn quotes(&mut self, line: Range<usize>) {
        let bytes = &self.text.as_bytes()[line.clone()];
        let mut open: Option<usize> = None;
        let mut escaped = None;
        for at in memchr2_iter(b'"', b'\\', bytes) {
            if escaped == Some(at) {
                continue;
            }
            if bytes[at] == b'\\' {
                escaped = Some(at + 1);
                continue;
            }
            match open.take() {
                None => open = Some(at + 1),
                Some(from) => self.quote(line.start + from..line.start + at),
            }
        }
    }

    fn quote(&mut self, range: Range<usize>) {
        let text = &self.text[range.clone()];
        let words = text.split_whitespace().count();
        if (SHORTEST_QUOTE..=LONGEST_QUOTE).contains(&text.len()) && words >= 3 {
            self.push(IdentifierClass::Quoted, range);
        }
    }

    /// Maximal runs of characters that identifiers are made of.
    fn runs(&mut self, line: Range<usize>) {
        let text = &self.text[line.clone()];
        let mut ticked = false;
        let mut from: Option<usize> = None;
        let ends = text.char_indices().chain([(text.len(), ' ')]);
        let mut escaped = false;
        for (at, c) in ends {
            // `\\nfoo` in quoted source is a line end and `foo`.
            let escape = escaped && matches!(c, 'n' | 't' | 'r');
            escaped = c == '\\' && !escaped;
            if escape {
                continue;
            }
            if is_run(c) {
                from.get_or_insert(at);
                continue;
            }
            if let Some(start) = from.take() {
                let quoted = text[..start].ends_with(['"', '\'', '`'])
                    || text[at..].starts_with(['"', '\'', '`'])
                    || text[start..].starts_with("--");
                let code = self.code || self.fenced || ticked || quoted;
                self.run(line.start + start..line.start + at, code);
            }
            ticked ^= c == '`';
        }
    }

    fn run(&mut self, run: Range<usize>, code: bool) {
        let text = &self.text[run.clone()];
        if let Some(scheme) = text.find("://") {
            self.url(run, scheme);
        } else if text.contains('*') || text.contains('$') {
            // A pattern or a template names nothing by itself, its words may.
            self.pieces(run, code, |c| !is_word(c));
        } else {
            self.pieces(run, code, |c| matches!(c, ':' | ',' | '&' | '?' | '#' | '%' | '='));
        }
    }

    fn url(&mut self, run: Range<usize>, scheme: usize) {
        let text = &self.text[run.clone()];
        let letters = text[..scheme].bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
        let lead = scheme - letters;
        let trimmed = text.trim_end_matches(|c: char| !c.is_alphanumeric());
        let says = trimmed.len() > scheme + 3 && trimmed[scheme + 3..].contains(['.', ':']);
        if lead < scheme && says {
            self.push(IdentifierClass::Url, run.start + lead..run.start + trimmed.len());
        }
    }

    fn pieces(&mut self, run: Range<usize>, code: bool, cut: impl Fn(char) -> bool) {
        let text = &self.text[run.clone()];
        let mut start = 0;
        let mut numbered = false;
        for piece in text.split_inclusive(&cut) {
            let body = piece.trim_end_matches(&cut);
            // `a.rs:123:7` names a line, not a number.
            let position = numbered && body.bytes().all(|b| b.is_ascii_digit() || b == b'-');
            if !position {
                self.piece(run.start + start..run.start + start + body.len(), code);
                numbered =
                    body.contains(['.', '/']) && !body.ends_with(|c: char| c.is_ascii_digit());
            }
            start += piece.len();
        }
    }

    fn piece(&mut self, piece: Range<usize>, code: bool) {
        let text = &self.text[piece.clone()];
        let mut lead = text.len() - text.trim_start_matches(['-', '+', '@']).len();
        if let Some(rest) = text[lead..].strip_prefix("./") {
            lead = text.len() - rest.len();
        }
        let body = text[lead..].trim_end_matches(['.', '-', '/', '+', '@', '~']);
        if body.len() < 4 || body.len() > LONGEST {
            return;
        }
        if let Some((class, length)) = classify(body, code) {
            let start = piece.start + lead;
            self.push(class, start..start + length);
        } else if body.contains('/') || body.contains('-') || body.contains('.') {
            self.parts(piece.start + lead, body, code);
        }
    }

    /// What is specific inside something that is not, as a whole.
    fn parts(&mut self, base: usize, body: &str, code: bool) {
        let mut start = 0;
        for part in body.split_inclusive(['/', '-', '.', '~', '+', '@']) {
            let bare = part.trim_end_matches(['/', '-', '.', '~', '+', '@']);
            if bare.len() < body.len()
                && bare.len() >= 4
                && let Some((class, length)) = classify(bare, code)
            {
                self.push(class, base + start..base + start + length);
            }
            start += part.len();
        }
    }

    fn push(&mut self, class: IdentifierClass, range: Range<usize>) {
        if !range.is_empty() && range.len() <= LONGEST && is_bounded(self.text, &range, class) {
            self.found.push(Identifier { class, text: &self.text[range.clone()], range });
        }
    }
}

/// Class of a whole piece and how many of its bytes belong to it.
fn classify(body: &str, code: bool) -> Option<(IdentifierClass, usize)> {
    let whole = |class| Some((class, body.len()));
    if let Some(length) = date(body) {
        return Some((IdentifierClass::Date, length));
    }
    if is_uuid(body) {
        return whole(IdentifierClass::Uuid);
    }
    if body.contains('@') {
        return is_email(body).then_some((IdentifierClass::Email, body.len()));
    }
    if body.contains('/') {
        return is_path(body).then_some((IdentifierClass::Path, body.len()));
    }
    if is_number(body) {
        return whole(IdentifierClass::Number);
    }
    if is_hex(body) {
        return whole(IdentifierClass::Hex);
    }
    if is_ticket(body) {
        return whole(IdentifierClass::Ticket);
    }
    if is_file_name(body) {
        return whole(IdentifierClass::Path);
    }
    if is_dotted(body) {
        return whole(IdentifierClass::Dotted);
    }
    if body.contains('-') {
        return is_kebab(body, code).then_some((IdentifierClass::Kebab, body.len()));
    }
    is_compound(body).then_some((IdentifierClass::Identifier, body.len()))
}

/// Characters that runs are made of: those of identifiers, paths and addresses.
fn is_run(c: char) -> bool {
    is_word(c)
        || matches!(
            c,
            '-' | '.' | '/' | ':' | '@' | '~' | '%' | '+' | '?' | '=' | '&' | '#' | ',' | '*' | '$'
        )
}

/// Bytes before the text proper: diff and line-number gutters.
fn gutter(line: &str) -> usize {
    let digits_from = line.len() - line.trim_start().len();
    let rest = &line[digits_from..];
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return 0;
    }
    let after = &rest[digits..];
    let mark = ['→', '\t', ':', '|'].into_iter().find(|&mark| after.starts_with(mark));
    mark.map_or(0, |mark| digits_from + digits + mark.len_utf8())
}

/// `Co-Authored-By: …`, `Signed-off-by: …` and their like: written by habit.
fn is_trailer(line: &str) -> bool {
    line.trim_start().split_once(": ").is_some_and(|(key, _)| {
        key.len() < 40
            && key.to_ascii_lowercase().ends_with("-by")
            && key.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-')
    })
}

fn date(body: &str) -> Option<usize> {
    let b = body.as_bytes();
    let shaped = b.len() >= 10
        && b[..10].iter().enumerate().all(|(at, &c)| match at {
            4 | 7 => matches!(c, b'-' | b'/') && c == b[4],
            _ => c.is_ascii_digit(),
        });
    let ends = shaped && (b.len() == 10 || b[10] == b'T');
    let year = ends && (b.starts_with(b"19") || b.starts_with(b"20"));
    let month = year && (1..=12).contains(&((b[5] - b'0') * 10 + b[6] - b'0'));
    month.then_some(10)
}

fn is_uuid(body: &str) -> bool {
    body.len() == 36
        && body.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

fn is_email(body: &str) -> bool {
    let Some((user, host)) = body.split_once('@') else {
        return false;
    };
    let host_ends = host.rsplit_once('.').is_some_and(|(name, top)| {
        !name.is_empty() && top.len() >= 2 && top.bytes().all(|b| b.is_ascii_alphabetic())
    });
    !user.is_empty() && host_ends && !host.contains(['@', '/']) && !user.contains('/')
}

/// A path says more than `and/or`: it is rooted, has three components or an
/// extension, or a component that is no plain word.
fn is_path(body: &str) -> bool {
    let parts: Vec<&str> = body.split('/').filter(|part| !part.is_empty()).collect();
    let sound = parts.iter().all(|part| {
        part.chars().any(is_word) && !part.contains("...") || matches!(*part, "." | ".." | "~")
    });
    let lettered = parts.iter().any(|part| part.chars().any(char::is_alphabetic));
    if !sound || !lettered || body.contains("//") || parts.is_empty() {
        return false;
    }
    let rooted = body.starts_with(['/', '~', '.']);
    let plain = |part: &&str| part.chars().all(char::is_alphabetic);
    match parts.len() {
        1 => rooted && is_file_name(parts[0]),
        2 => rooted || !parts.iter().all(plain),
        _ => true,
    }
}

/// A number that is one thing and not another: at least five digits, a
/// decimal point, or a unit; and three significant digits, for a round one
/// (`30s`, `1.5`, `10000`) is anybody's.
fn is_number(body: &str) -> bool {
    let bare = body.strip_prefix('v').unwrap_or(body);
    let digits_end =
        bare.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | '_')).unwrap_or(bare.len());
    let (value, unit) = bare.split_at(digits_end);
    if !value.starts_with(|c: char| c.is_ascii_digit()) || value.ends_with(['.', '_']) {
        return false;
    }
    let digits: String = value.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_matches('0').len();
    let decimal = value.contains('.') && !value.contains("..");
    (unit.is_empty() || is_unit(unit))
        && (digits.len() >= 5 || decimal || !unit.is_empty())
        && (significant >= 3 || value.matches('.').count() >= 2)
}

fn is_unit(word: &str) -> bool {
    const UNITS: &[&str] = &[
        "ns", "us", "µs", "ms", "s", "sec", "min", "h", "d", "b", "kb", "mb", "gb", "tb", "kib",
        "mib", "gib", "k", "m", "bn", "px", "em", "rem", "kg", "g", "km", "cm", "mm", "hz", "khz",
        "mhz", "ghz", "usd", "eur",
    ];
    UNITS.contains(&word.to_lowercase().as_str())
}

fn is_hex(body: &str) -> bool {
    (7..=128).contains(&body.len())
        && body.bytes().all(|b| b.is_ascii_hexdigit())
        && body.bytes().any(|b| b.is_ascii_digit())
        && body.bytes().any(|b| b.is_ascii_alphabetic())
        && !(body.bytes().any(|b| b.is_ascii_lowercase())
            && body.bytes().any(|b| b.is_ascii_uppercase()))
}

fn is_ticket(body: &str) -> bool {
    body.split_once('-').is_some_and(|(key, number)| {
        (2..=10).contains(&key.len())
            && key.bytes().all(|b| b.is_ascii_uppercase())
            && (1..=7).contains(&number.len())
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

fn is_file_name(body: &str) -> bool {
    body.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.chars().filter(|&c| is_word(c)).count() >= 2
            && stem.chars().all(|c| is_word(c) || matches!(c, '-' | '.'))
            && is_file_extension(extension)
    })
}

fn is_dotted(body: &str) -> bool {
    body.contains('.')
        && body.split('.').all(|segment| {
            segment.chars().all(is_word)
                && segment.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
        })
}

fn is_kebab(body: &str, code: bool) -> bool {
    let digit = body.bytes().any(|b| b.is_ascii_digit());
    let mut parts = body.split('-');
    let first = parts.next().unwrap_or_default();
    body.len() >= 6
        && (code || digit)
        && first.chars().filter(|c| c.is_alphabetic()).count() >= 2
        && body
            .split('-')
            .all(|part| !part.is_empty() && part.chars().all(|c| is_word(c) || c == '.'))
}

/// snake_case, camelCase, PascalCase or CONSTANT_CASE, of at least two words.
fn is_compound(body: &str) -> bool {
    if body.len() < 6 || !body.chars().all(is_word) {
        return false;
    }
    let snake = body
        .trim_matches('_')
        .split('_')
        .filter(|part| part.chars().any(char::is_alphabetic))
        .count()
        >= 2;
    let camel =
        body.chars().zip(body.chars().skip(1)).any(|(a, b)| a.is_lowercase() && b.is_uppercase());
    let lettered = body.chars().next().is_some_and(|c| !c.is_ascii_digit());
    lettered && (snake || camel)
}
