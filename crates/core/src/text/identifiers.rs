//! Specific identifiers in a text (reference §4, rule a).

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memchr2_iter;
use regex::Regex;
use serde::{Deserialize, Serialize};

use super::bounded::{is_bounded, is_in_windows_path, is_word};
use super::built;
use super::shapes::classify;

/// Longest identifier that is still one: longer runs are data (base64, minified code).
const LONGEST: usize = 300;

/// Longest quoted string that is still a name or a message.
const LONGEST_QUOTE: usize = 160;

/// Shortest quoted string that is one by itself; what is specific in a
/// shorter one is found by its own shape.
const SHORTEST_QUOTE: usize = 16;

/// Dates with the month in words: `7 May 2023`, `May 7th, 2023`.
static WRITTEN_DATE: LazyLock<Regex> = LazyLock::new(|| {
    let month = "(?:January|February|March|April|May|June|July|August|September|October|November\
                 |December|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)";
    let day = "[0-9]{1,2}(?:st|nd|rd|th)?";
    let year = "(?:19|20)[0-9]{2}";
    built(&format!(r"\b(?:{day} {month}\.?,? {year}|{month}\.? {day},? {year})\b"))
});

/// How a text is read.
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

/// The identifiers of a *decoded* text, in order of their last byte; each is
/// bounded at its place. Commit trailers and line-number gutters are skipped.
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
            self.written_dates(body..end);
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

    fn written_dates(&mut self, line: Range<usize>) {
        // A date has a year, and most lines have no digit: without an early end of the search many
        // bytes are compared at once.
        let bytes = self.text[line.clone()].bytes();
        if !bytes.fold(false, |has_digit, byte| has_digit | byte.is_ascii_digit()) {
            return;
        }
        for hit in WRITTEN_DATE.find_iter(&self.text[line.clone()]) {
            self.push(IdentifierClass::Date, line.start + hit.start()..line.start + hit.end());
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
        let mut at = 0;
        while at < text.len() {
            let start = at;
            at = end_of_run(text, start);
            if !is_plain_word(&text[start..at]) {
                let quoted = text[..start].ends_with(['"', '\'', '`'])
                    || text[at..].starts_with(['"', '\'', '`'])
                    || text[start..].starts_with("--");
                let code = self.code || self.fenced || ticked || quoted;
                self.run(line.start + start..line.start + at, code);
            }
            let mut after = text[at..].chars();
            let Some(c) = after.next() else { break };
            // `\\nfoo` in quoted source is a line end and `foo`.
            let escape = c == '\\'
                && match after.next() {
                    Some('n' | 't' | 'r') => !is_in_windows_path(&text[..at]),
                    next => next == Some('\\'),
                };
            ticked ^= c == '`';
            at += c.len_utf8() + usize::from(escape);
        }
    }

    fn run(&mut self, run: Range<usize>, code: bool) {
        let text = &self.text[run.clone()];
        let scheme = text.contains(':').then(|| text.find("://")).flatten();
        if let Some(scheme) = scheme {
            self.url(run, scheme);
        } else if text.contains('*') || text.contains('$') {
            // A pattern or a template is not an identifier, but its words may be.
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
        let bare = without_lead(text.trim_start_matches(['-', '+', '@']));
        let lead = text.len() - bare.len();
        let body = bare.trim_end_matches(['.', '-', '/', '+', '@', '~']);
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

    /// The specific parts of a text that is not specific as a whole.
    fn parts(&mut self, base: usize, body: &str, code: bool) {
        let mut start = 0;
        const MARKS: [char; 6] = ['/', '-', '.', '~', '+', '@'];
        for part in body.split_inclusive(MARKS) {
            let bare = part.trim_end_matches(MARKS);
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

/// A relative path means the same wherever it is written, and a member of the
/// current object is known by its own name.
fn without_lead(text: &str) -> &str {
    let mut rest = text;
    while let Some(shorter) = rest.strip_prefix("./").or_else(|| rest.strip_prefix("../")) {
        rest = shorter;
    }
    ["this.", "self."].iter().find_map(|lead| rest.strip_prefix(lead)).unwrap_or(rest)
}

/// The ASCII characters that runs are made of: those of identifiers, paths and addresses.
const RUN: [bool; 256] = {
    let bytes = b"_-./:@~%+?=&#,*$0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut run = [false; 256];
    let mut at = 0;
    while at < bytes.len() {
        run[bytes[at] as usize] = true;
        at += 1;
    }
    run
};

/// The end of the run that begins at `at`, which is empty where none does.
fn end_of_run(text: &str, mut at: usize) -> usize {
    loop {
        let rest = text.as_bytes()[at..].iter();
        at += rest.take_while(|byte| RUN[usize::from(**byte)]).count();
        match text[at..].chars().next() {
            Some(c) if !c.is_ascii() && is_word(c) => at += c.len_utf8(),
            _ => return at,
        }
    }
}

/// Whether a run is a word of prose with what ends sentences, as most are: it has no shape of an
/// identifier.
fn is_plain_word(run: &str) -> bool {
    let word = run.trim_end_matches(['.', ',', ':', '?']).as_bytes();
    let small = |letters: &[u8]| letters.iter().all(u8::is_ascii_lowercase);
    word.split_first().is_none_or(|(first, rest)| first.is_ascii_alphabetic() && small(rest))
}

/// A line without the number before it.
pub fn without_gutter(line: &str) -> &str {
    &line[gutter(line)..]
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

/// `Co-Authored-By: …`, `Signed-off-by: …` and similar lines, which are written
/// automatically.
fn is_trailer(line: &str) -> bool {
    let line = line.trim_start();
    let is_key = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'-';
    let (key, rest) = line.split_at(line.bytes().take_while(is_key).count());
    key.len() < 40 && rest.starts_with(": ") && key.to_ascii_lowercase().ends_with("-by")
}

/// What kind of identifier a reference is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum IdentifierClass {
    /// File or folder path.
    Path,
    /// Address of a web page (URL).
    Url,
    /// E-mail address of a person or service.
    Email,
    /// Universally unique identifier (UUID).
    Uuid,
    /// Hexadecimal string of at least 7 digits (a commit, a hash).
    Hex,
    /// Number with at least 5 digits, a decimal point or a unit.
    Number,
    /// Calendar date, in any common notation.
    Date,
    /// Identifier with dots, such as `config.timeout`.
    Dotted,
    /// snake_case, camelCase, PascalCase or CONSTANT_CASE identifier.
    Identifier,
    /// kebab-case word with a digit or in code.
    Kebab,
    /// Key of an issue tracker, such as `ABC-123`.
    Ticket,
    /// Text between quotation marks.
    Quoted,
}
