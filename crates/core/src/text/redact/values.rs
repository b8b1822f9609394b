//! Values assigned to names that denote secrets.

use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes;

use crate::text::lists::STAND_INS;
use crate::text::{Pattern, pattern};

/// Longest value that is taken for a secret, in bytes.
const LONGEST: usize = 512;
/// Longest beginning of a line before a name that it assigns, in bytes.
const LONGEST_LEAD: usize = 64;

/// Names that denote a secret, also at the end of a longer name. They are
/// followed by the sign of assignment (shell, JSON, YAML, code, URL) or a
/// command's argument, also in a list of JSON, and the value's quote.
static NAME: Pattern = pattern!(
    r"(?i)(?:",
    r"(password|passwd|passphrase|passwort|kennwort|wachtwoord|pwd|(?-i:[A-Z0-9]_(?:PASS|PW))",
    r"|contrase[ñn]a|mot de passe|senha|hasło|пароль|パスワード|密码|密碼",
    r"|(?:db|user|default|become|smtp|imap|mail|mysql|pg|postgres|redis|ftp|ssh|admin|root|auth|login|proxy|store|key)_?pass|--?pass)",
    r"|secret|token|credentials?|secret_key_base|private_key_id",
    r"|(?:api|app|access|secret|private|signing|encryption|auth|account|master|license|service)",
    r"[_-]?key",
    r")",
    r#"(?:\\{0,3}["'`]?\]?(?:\s{0,3}|[ \t]{4,32})(:=|=>|={1,3}|: ?[&A-Za-z0-9_<>']{1,24} =|:)[ \t]{0,3}(?:[bru]?\\{0,3}("{3}|'{3}|["'`]))?"#,
    r#"|[ \t]+(?:\\{0,3}(["'`]))?|\\{0,3}["'],\s{0,3}\\{0,3}(["']))"#
);

/// Beginnings of values that are not secrets: a name of a type or an algorithm.
static TYPE: Pattern = pattern!(
    r"(?i)^(?:u?int[0-9]|float[0-9]|utf-?[0-9]|base[0-9]|sha-?[0-9]|hs[0-9]|rs[0-9]|es[0-9]|md5|oauth|bcrypt|argon|x509|vec|str[^a-z])"
);

/// A value with the syntax around it.
struct Value<'a> {
    text: &'a str,
    /// Whether the name is that of a password, which people choose.
    password: bool,
    quoted: bool,
    /// Whether it follows `=` directly, as in shells and URLs.
    tight: bool,
    /// Whether an environment variable is set to this value alone, so that a
    /// word is not a variable's name.
    set: bool,
    /// Whether it stands where a word is a password: in a connection string, or
    /// as the argument of a command's flag.
    placed: bool,
}

/// Finds values that are assigned to such names.
pub(super) fn assigned(text: &str, spans: &mut Vec<Range<usize>>) {
    let mut ends = Ends::default();
    for hit in NAME.captures_iter(text) {
        let start = hit.get(0).expect("the whole match").end();
        let sign = hit.get(2);
        let whole = hit.get(0).expect("the whole match").start();
        if sign.is_none() && !is_flag(text, whole) {
            continue;
        }
        let quote =
            hit.get(3).or_else(|| hit.get(4)).or_else(|| hit.get(5)).map(|quote| quote.as_str());
        let whole_line = password_line(text, whole, start, quote, hit.get(1).is_some());
        let end = whole_line.unwrap_or_else(|| ends.after(text, start, quote.is_some()));
        let password = hit.get(1).is_some();
        if let Some(quote) = quote.filter(|_| password && text[end..].starts_with(' ')) {
            let capitals = !text[whole..start].bytes().any(|byte| byte.is_ascii_lowercase());
            let phrase = phrase(&text[start..], quote, capitals);
            spans.extend(phrase.map(|phrase| start..start + phrase.len()));
            continue;
        }
        let Some(length) = length(&text[start..end], &text[end..], quote) else { continue };
        let range = start..start + length;
        let value = Value {
            text: &text[range.clone()],
            password,
            quoted: quote.is_some(),
            tight: text[..start].ends_with('='),
            set: whole_line.is_some() && text[range.clone()].contains(|c: char| c.is_ascii_digit())
                || is_set(text, whole, start, &range),
            placed: is_argument(text, whole, &range) || is_connected(text, whole, &range),
        };
        if value.is_secret() {
            spans.push(range);
        }
    }
}

/// The end of a password without quotes that a line of settings assigns: it may have any sign.
fn password_line(
    text: &str,
    name: usize,
    start: usize,
    quote: Option<&str>,
    password: bool,
) -> Option<usize> {
    let sign = &text[name..start];
    if quote.is_some() || !password || !(sign.ends_with('=') || sign.ends_with(": ")) {
        return None;
    }
    let near = text.get(name.saturating_sub(LONGEST_LEAD)..name)?;
    let before = near.rsplit_once('\n').map_or(near, |(_, before)| before);
    if before.len() == LONGEST_LEAD {
        return None;
    }
    let part = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    let lead = before.trim_end_matches(part);
    let lead = lead.trim_end().trim_end_matches("export").trim();
    let alone = lead.bytes().all(|byte| byte.is_ascii_digit() || b"+-:|".contains(&byte));
    let rest = &text.as_bytes()[start..];
    let within = &rest[..rest.len().min(LONGEST)];
    let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`\\<>".contains(byte);
    let end = start + within.iter().position(ends).unwrap_or(within.len());
    let ends_line = matches!(text.as_bytes().get(end), None | Some(b'\n' | b'\r'));
    let code = text.as_bytes()[start..end].last().is_some_and(|byte| b",;)}".contains(byte));
    (alone && ends_line && !code).then_some(end)
}

/// Whether a shell or a settings file sets a variable to this value:
/// `NAME=value` with a name in capitals and nothing else after it.
fn is_set(text: &str, name: usize, start: usize, value: &Range<usize>) -> bool {
    let name = &text[name..start];
    let capitals = name.ends_with('=') && !name.bytes().any(|byte| byte.is_ascii_lowercase());
    let rest = &text[value.end..];
    capitals && !name.contains(' ') && (rest.is_empty() || rest.starts_with([' ', '\n', '\r']))
}

/// Words of labels, messages and help texts, which passwords seldom have, and
/// parts of words for passwords, also in other languages.
static LABEL: Pattern = pattern!(
    r"(?i)\b(?:argument|cannot|characters|choose|confirm|contain|digits|directory|does|enter",
    r"|expected|field|file|flag|for|forgot|forgotten|from|incorrect|instead|invalid|is|least",
    r"|length|letters|long|match|missing|must|new|not|of|options?|or|parameter|please|postgres",
    r"|prompt|required|reset|short|should|tests?|too|type|user|username|value|was|when|wrong",
    r"|your)\b|pass|pwd|secret|kennwort|wachtwoord|contrase|senha"
);

/// A password in quotes that has spaces, at the beginning of a text. A sentence
/// begins with a capital; in a variable of capitals, that may be a password too.
fn phrase<'a>(text: &'a str, quote: &str, capitals: bool) -> Option<&'a str> {
    const LONGEST_PHRASE: usize = 96;
    let odd = |c: char| "\"'`\\<>{}[]()$%=/|\n\r\t".contains(c);
    let (end, _) = text.char_indices().take(LONGEST_PHRASE).find(|(_, c)| odd(*c))?;
    let (phrase, rest) = text.split_at(end);
    let closed = rest.trim_start_matches('\\').starts_with(quote);
    let letters = phrase.chars().filter(|c| c.is_alphabetic()).count();
    let sentence = phrase.starts_with(char::is_uppercase) && !capitals;
    let digits = phrase.bytes().any(|byte| byte.is_ascii_digit());
    let whole = closed && phrase.trim() == phrase && letters >= 8;
    (whole && (digits || !sentence) && !LABEL.is_match(phrase) && !is_stand_in(phrase))
        .then_some(phrase)
}

/// Whether a value is the argument of a flag: after a word, the command ends or
/// goes on with signs, rather than with prose.
fn is_argument(text: &str, name: usize, value: &Range<usize>) -> bool {
    let rest = text[value.end..].trim_start_matches(' ');
    let sign = &text[name..value.start];
    let ends = rest.is_empty() || rest.starts_with(|c: char| "\"'`\n\r\\-|>&;".contains(c));
    let digits = text[value.clone()].bytes().any(|byte| byte.is_ascii_digit());
    !sign.contains(':')
        && is_flag(text, name)
        && (digits || sign.ends_with('=') || ends && !sign.contains("  "))
}

/// Whether a value stands in a connection string (libpq, JDBC, ADO.NET) or a
/// URL's query: beside another field of these.
fn is_connected(text: &str, name: usize, value: &Range<usize>) -> bool {
    static FIELD: LazyLock<bytes::Regex> = LazyLock::new(|| {
        bytes::Regex::new(
            r"(?i)\b(?:user(?: id|name)?|uid|host|server|data source|dbname)=|\bjdbc:",
        )
        .expect("it is valid")
    });
    let text = text.as_bytes();
    let (from, to) = (name.saturating_sub(200), (value.end + 100).min(text.len()));
    let before = text[from..name].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let after = text[value.end..to].split(|byte| *byte == b'\n').next().unwrap_or_default();
    // Arguments of a function have commas.
    let begins = before.last().is_none_or(|byte| b"?&; \"'".contains(byte))
        && !before.trim_ascii_end().ends_with(b",")
        || before.ends_with(b"\\u0026");
    text[..value.start].ends_with(b"=")
        && begins
        && (FIELD.is_match(before) || FIELD.is_match(after))
}

/// Whether a name belongs to a flag of a command (`--api-key`, `-storepass`).
fn is_flag(text: &str, name: usize) -> bool {
    let before = &text.as_bytes()[..name];
    let part = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'-';
    let length = before.iter().rev().take(32).take_while(part).count();
    let start = &before[before.len() - length..];
    start.starts_with(b"-") || text[name..].starts_with('-')
}

/// The ends of values, in quotes and without. Values that begin within another
/// one share its end, so that each character is read once.
#[derive(Default)]
struct Ends {
    quoted: usize,
    bare: usize,
}

impl Ends {
    fn after(&mut self, text: &str, start: usize, quoted: bool) -> usize {
        let last = if quoted { &mut self.quoted } else { &mut self.bare };
        if *last < start {
            let ends = |c: char| {
                c.is_whitespace()
                    || matches!(c, '"' | '\'' | '`' | '\\' | '<' | '>')
                    || !quoted && matches!(c, ',' | ';' | '&' | '|')
                    || !quoted && matches!(c, '(' | ')' | '{' | '}' | '[' | ']')
            };
            *last = text[start..].find(ends).map_or(text.len(), |length| start + length);
        }
        *last
    }
}

/// Bytes of a value whose characters end there, if it ends as values do.
fn length(value: &str, rest: &str, quote: Option<&str>) -> Option<usize> {
    if value.len() > LONGEST || rest.starts_with("<EMAIL_") || rest.starts_with("<SECRET_") {
        return None;
    }
    match quote {
        // Prose in quotes is not a value; within JSON, the quote is escaped.
        Some(quote) => (rest.starts_with(quote) || rest.starts_with('\\')).then_some(value.len()),
        // A call, an index, a generic type.
        None if rest.starts_with(['(', '[', '{', '<']) => None,
        None => Some(value.trim_end_matches(['.', ':', '!', '?', '*']).len()),
    }
}

impl Value<'_> {
    fn is_secret(&self) -> bool {
        let shortest = if self.password { 4 } else { 8 };
        // Such a password may have the dots of a reference.
        let strong = self.password && is_strong(self.text) && !is_template(self.text);
        let dots = self.text.bytes().filter(|byte| *byte == b'.').count();
        let alone = self.set && dots < 2;
        if strong && (self.quoted || self.placed || self.tight || alone) && !is_filler(self.text) {
            return true;
        }
        if self.text.len() < shortest || is_stand_in(self.text) {
            return false;
        }
        let Makeup { digits, letters, .. } = Makeup::of(self.text);
        let wordy = |byte: u8| byte.is_ascii_alphabetic() || b"_-.:/".contains(&byte);
        let words = self.text.bytes().all(wordy);
        if self.password && is_strong(self.text) {
            return true;
        }
        if self.placed {
            let word = letters >= 6 && letters == self.text.len();
            let lower = self.text.bytes().any(|byte| byte.is_ascii_lowercase());
            let made =
                if self.password { !words } else { letters > 0 && digits > 0 && !self.is_name() };
            let chosen = self.password && word && lower && !LABEL.is_match(self.text);
            if chosen || made && (lower || !self.text.contains('_')) {
                return true;
            }
        }
        match (self.password, self.quoted) {
            // People choose plain words as passwords; but labels are plain
            // words as well, with capitals.
            (true, true) => {
                let capital = self.text.starts_with(|c: char| c.is_ascii_uppercase());
                let title = capital || case_changes(self.text) > 0;
                !words || (letters >= 8 && letters == self.text.len() && !title)
            }
            // A range of numbers is none.
            (true, false) if letters == 0 => digits >= 4 && !self.text.contains('-'),
            (true, false) if self.set && letters == self.text.len() => letters >= 6,
            (true, false) if self.set && digits > 0 && self.text.contains(char::is_lowercase) => {
                true
            }
            (true, false) => !words && !self.is_name(),
            (false, true) => letters > 0 && digits > 0 && !self.is_name() || self.is_random(),
            (false, false) => letters > 0 && digits > 0 && !self.is_name() && self.is_random(),
        }
    }

    /// Whether it is a name as in programs: words joined by `_`, `-`, `:` or
    /// capitals, of which the last may be numbered.
    fn is_name(&self) -> bool {
        if self.password && self.quoted {
            return false;
        }
        let stem = self.text.trim_end_matches(|c: char| c.is_ascii_digit());
        // One word with a number is a password, if its name denotes one.
        let joined = stem.contains(['_', '-', ':', '.', '/']) || case_changes(stem) > 0;
        let wordy = stem.bytes().all(|b| b.is_ascii_alphabetic() || b"_-:./".contains(&b));
        let constant = self.text.contains('_')
            && self.text.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
        wordy && (joined || !self.password) || constant
    }

    /// Whether letters and digits alternate as in no word.
    fn is_random(&self) -> bool {
        let bytes = self.text.as_bytes();
        let changes = bytes.windows(2).filter(|w| {
            w[0].is_ascii_digit() != w[1].is_ascii_digit()
                && w.iter().all(u8::is_ascii_alphanumeric)
        });
        let changes = changes.count();
        let tight = self.tight && bytes.iter().all(u8::is_ascii_alphanumeric);
        changes >= 3
            || (tight && changes == 2)
            || (bytes.len() >= 20 && case_changes(self.text) >= 4)
    }
}

/// Whether a value is only a placeholder: it refers to the value, or says that
/// there is none.
fn is_stand_in(text: &str) -> bool {
    is_reference(text) || is_filler(text)
}

/// Whether it refers to a value elsewhere: a variable, a template, a path, an
/// address.
pub(super) fn is_reference(text: &str) -> bool {
    // The secret keys of AWS are 40 characters of base64, which has slashes.
    let path =
        text.starts_with(['/', '~', '.']) && (text.len() != 40 || text.contains(['.', '_', '-']));
    let dotted = text.split('.').count() > 1
        && text.split('.').all(|part| {
            part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
                && part.len() <= 24
                && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
    is_template(text) || path || dotted
}

pub(super) fn is_template(text: &str) -> bool {
    // A URL writes signs in per cent, a batch file the names of variables.
    let bytes = text.as_bytes();
    let encoded = bytes.len() > 3
        && bytes[0] == b'%'
        && bytes[1..3].iter().all(u8::is_ascii_hexdigit)
        && !text.ends_with('%');
    text.starts_with(['$', '{', '%', '<', '*', '@', '&', '#', '!', '-', '(', '[', '?']) && !encoded
        || ["${", "{{", "$(", "://", "..."].iter().any(|mark| text.contains(mark))
}

/// Whether it stands for a missing value.
pub(super) fn is_filler(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let first = lower.chars().next();
    STAND_INS.contains(stem)
        || lower.chars().all(|c| Some(c) == first)
        || lower.starts_with("your")
        || lower.contains("xxxx")
        || lower.contains("****")
        || lower.contains("redacted")
        || lower.contains("placeholder")
        || TYPE.is_match(text) && !lower.starts_with("base64:")
}

/// Whether it has small letters, capitals, digits and signs, as rules for passwords
/// demand, and no name has.
pub(super) fn is_strong(text: &str) -> bool {
    let has = |class: fn(char) -> bool| text.chars().any(class);
    let sign = |c: char| !c.is_alphanumeric() && !"()[]{}<>/\\,;=".contains(c);
    text.chars().count() >= 8
        && has(char::is_lowercase)
        && has(char::is_uppercase)
        && has(|c| c.is_ascii_digit())
        && has(sign)
        && !text.contains(['(', '[', '{', '<', '/'])
}

/// What a value is made of, by its bytes.
pub(super) struct Makeup {
    pub digits: usize,
    pub letters: usize,
    /// Whether it has signs that no name has.
    pub signs: bool,
    /// How often a capital letter follows a small one.
    pub changes: usize,
}

impl Makeup {
    pub fn of(text: &str) -> Self {
        Self {
            digits: text.bytes().filter(u8::is_ascii_digit).count(),
            letters: text.bytes().filter(u8::is_ascii_alphabetic).count(),
            signs: text.bytes().any(|byte| b"!@#$%^&*+=~?".contains(&byte)),
            changes: case_changes(text),
        }
    }
}

/// How often a capital letter follows a small one.
fn case_changes(text: &str) -> usize {
    let bytes = text.as_bytes();
    bytes.windows(2).filter(|w| w[0].is_ascii_lowercase() && w[1].is_ascii_uppercase()).count()
}
