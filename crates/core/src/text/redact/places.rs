//! Secrets that are recognisable by their place: the command, file or sentence around them, base64
//! of credentials and private keys, signatures of URLs, the secret beside an access key of AWS.

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::{Match, Regex};

use super::tokens::varied;
use super::values::{case_changes, is_filler, is_reference, is_strong, is_template};

/// Finds secrets that have neither a form nor a name of their own.
pub(super) fn placed(text: &str, spans: &mut Vec<Range<usize>>) {
    encoded(text, spans);
    signatures(text, spans);
    beside_access_keys(text, spans);
}

/// Base64 of a private key (kubeconfig, Kubernetes) or of a name and a password
/// (`auth` of Docker, `_auth` of npm). Certificates have the same names and stay.
fn encoded(text: &str, spans: &mut Vec<Range<usize>>) {
    static ENCODED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r#"\b(?:client-key-data|_?auth)[\\"']{0,4}\s{0,3}[:=]\s{0,3}[\\"']{0,4}([A-Za-z0-9+/]{12,}={0,2})"#,
            r"|\b(?:LS0tLS1CRUdJTi|eyJhdXRocyI6)[A-Za-z0-9+/]{24,}={0,2}",
        ))
        .expect("it is valid")
    });
    for hit in ENCODED.captures_iter(text) {
        let whole = hit.get(0).expect("the whole match");
        let value = hit.get(1).unwrap_or(whole);
        let plain = decoded(value.as_str());
        let pair = plain.split_once(':').is_some_and(|(name, password)| {
            let printable = plain.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
            printable && !name.is_empty() && password.len() >= 3 && !is_filler(password)
        });
        let named = whole.as_str().starts_with("client") && is_mixed(value.as_str());
        let secret = if plain.starts_with("-----BEGIN ") {
            plain.contains("PRIVATE KEY")
        } else {
            pair || named || plain.starts_with("{\"auths\":")
        };
        if secret {
            spans.push(value.range());
        }
    }
}

/// The beginning of what base64 stands for.
fn decoded(text: &str) -> String {
    let mut plain = String::new();
    let (mut bits, mut held) = (0_u32, 0);
    for byte in text.bytes().take(512) {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = (bits << 6 | u32::from(six)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            plain.extend(char::from_u32(bits >> held & 0xff));
        }
    }
    plain
}

/// Signatures of URLs that give access (Azure, AWS, Google, CloudFront).
fn signatures(text: &str, spans: &mut Vec<Range<usize>>) {
    static SIGNED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)(?:(?:[?&;]|\\u0026)(?:sig|signature|X-Amz-Security-Token|X-(?:Amz|Goog)-Signature)",
            r"|\bX-(?:Amz|Goog)-Signature|,\s?Signature)=([A-Za-z0-9%+/_~=-]{16,})",
        ))
        .expect("it is valid")
    });
    for hit in SIGNED.captures_iter(text) {
        spans.extend(hit.get(1).filter(is_made).map(|value| value.range()));
    }
}

/// The 40 characters of base64 that follow the identifier of an access key.
fn beside_access_keys(text: &str, spans: &mut Vec<Range<usize>>) {
    static PAIR: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"\bA[KS]IA[A-Z0-9]{16}\b(?:[^A-Za-z0-9+/][ -~\n\r]{0,64}?)?[^A-Za-z0-9+/]([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)",
        )
        .expect("it is valid")
    });
    if text.contains("AKIA") || text.contains("ASIA") {
        let values = PAIR.captures_iter(text).filter_map(|hit| hit.get(1));
        let values = values.filter(|value| is_mixed(value.as_str()));
        spans.extend(values.filter(is_made).map(|value| value.range()));
    }
}

/// Whether it was computed: digits, and no example.
fn is_made(value: &Match<'_>) -> bool {
    let digits = value.as_str().bytes().filter(u8::is_ascii_digit).count();
    digits >= 3 && varied(value.as_str()) && !is_filler(value.as_str())
}

/// Whether small letters, capitals and digits mix as in base64.
fn is_mixed(value: &str) -> bool {
    case_changes(value) >= 2 && value.bytes().any(|byte| byte.is_ascii_digit())
}

/// Finds secrets in places that hold one, in lists of codes, in sentences and in cookies.
pub(super) fn command_secrets(text: &str, spans: &mut Vec<Range<usize>>) {
    // Most texts name few of the places, and a pattern takes long to build.
    let mut named = vec![false; PLACES.all.len()];
    for hit in PLACES.words.find_overlapping_iter(text) {
        named[PLACES.place_of[hit.pattern().as_usize()]] = true;
    }
    let named = PLACES.all.iter().zip(named).filter_map(|(place, named)| named.then_some(place));
    for place in named {
        for value in place.pattern().captures_iter(text).filter_map(|hit| hit.get(1)) {
            if stands_alone(text, &value.range()) && place.form.fits(&value) {
                spans.push(value.range());
            }
        }
    }
    recovery_codes(text, spans);
    sentences(text, spans);
    cookies(text, spans);
}

/// The places of `places.txt`.
static PLACES: LazyLock<Places> = LazyLock::new(Places::read);

struct Places {
    all: Vec<Place>,
    /// The words of all places, and which place each is of.
    words: AhoCorasick,
    place_of: Vec<usize>,
}

/// A place that holds a secret.
struct Place {
    form: ValueForm,
    /// The pattern as it is written, with the value as its group.
    written: &'static str,
    compiled: OnceLock<Regex>,
}

impl Places {
    fn read() -> Self {
        let (mut all, mut words, mut place_of) = (Vec::new(), Vec::new(), Vec::new());
        let mut form = ValueForm::Any;
        let lines = include_str!("places.txt").lines();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(written) = line.strip_prefix("    ") {
                all.push(Place { form, written, compiled: OnceLock::new() });
                continue;
            }
            let (name, near) = line.split_once(' ').expect("a form and words");
            form = name.parse().expect("a form of values");
            for word in near.split('`').skip(1).step_by(2) {
                words.push(word);
                place_of.push(all.len());
            }
        }
        let words = AhoCorasick::new(words).expect("few short words");
        Places { all, words, place_of }
    }
}

impl Place {
    fn pattern(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            let pattern = self
                .written
                .replace("{arg}", ARGUMENT)
                .replace("{lead}", LEAD)
                .replace("{str}", INSIDE);
            Regex::new(&pattern).expect("it is valid")
        })
    }
}

/// A character of an argument of a command, which a backslash may precede.
const ARGUMENT: &str = r#"(?:\\[^\w\s]|[^\s"'`\\|;&<>])"#;

/// A character inside a string of JSON.
const INSIDE: &str = r#"(?:\\.|[^"\\\n])"#;

/// What stands before the name where a line, an object or a list of variables begins.
const LEAD: &str = r#"(?:^|\\n|[\s"'{,;:→|>+])"#;

/// What a value in a place has to look like.
#[derive(Clone, Copy, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
enum ValueForm {
    /// Whatever stands there is the secret.
    Any,
    /// A password: letters with digits or signs.
    Chosen,
    /// Computed: digits, and no example.
    Made,
    /// Computed, in base64 or hexadecimal.
    Key,
    /// Chosen or computed.
    Secret,
    /// A number with which people open something.
    Pin,
}

impl ValueForm {
    fn fits(&self, value: &Match<'_>) -> bool {
        let text = value.as_str();
        match self {
            ValueForm::Any => true,
            ValueForm::Chosen => is_chosen(text) || is_strong(text),
            ValueForm::Made => is_made(value),
            ValueForm::Key => {
                let hex = text.len() >= 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
                is_made(value) && (hex || is_mixed(text))
            }
            ValueForm::Secret => {
                is_chosen(text) || is_strong(text) || is_made(value) || is_mixed(text)
            }
            ValueForm::Pin => matches!(text.len(), 4..=10),
        }
    }
}

/// Codes that let in once, in the lines below their name.
fn recovery_codes(text: &str, spans: &mut Vec<Range<usize>>) {
    static LIST: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\b(?:recovery|backup|scratch|wiederherstellungs|sicherungs)[\s_-]?codes?\b(?:[^\n]{0,80}\n",
            r"((?:[\s0-9.)*-]{0,6}[a-z0-9]{4,10}(?:[ -][a-z0-9]{4,10}){0,3}(?:[ \t]*(?:\n|$)|[ \t]{2,})){1,20})",
            r#"|["']?\s?[:=]\s?\[([^\]\n]{8,400})\])"#,
        ))
        .expect("it is valid")
    });
    static CODE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"[0-9]{4} [0-9]{4}|[A-Za-z0-9]{4,10}(?:-[A-Za-z0-9]{4,10}){0,3}")
            .expect("it is valid")
    });
    if !text.contains("odes") {
        return;
    }
    for list in LIST.captures_iter(text).filter_map(|hit| hit.get(1).or(hit.get(2))) {
        let digits = |code: &Match<'_>| code.as_str().bytes().any(|byte| byte.is_ascii_digit());
        let codes = CODE.find_iter(list.as_str()).filter(digits);
        spans.extend(codes.map(|code| list.start() + code.start()..list.start() + code.end()));
    }
}

/// Passwords in prose: "the password is hunter2". A plain word without quotes
/// describes the password rather than being it.
fn sentences(text: &str, spans: &mut Vec<Range<usize>>) {
    static SAID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\b(?:password|passwd|passphrase|passcode|passwort|mot de passe|contrase[ñn]a|senha)",
            r"(?:\s+(?:for|of|to|für|von|zum|de|del|des|du|do|da)(?:\s+[\w.'-]{1,24}){1,4})?\s+",
            r#"(?:is|was|ist|lautet|est|es|é|era|à)(?:\s+now)?:?\s+(["'`“„«]?)([^\s"'`“”„«»<>()\[\]{},;\\]{4,128})(["'`“”»]?)"#,
        ))
        .expect("it is valid")
    });
    for hit in SAID.captures_iter(text) {
        let value = hit.get(2).expect("the group is not optional");
        let bare = value.as_str().trim_end_matches(['.', ':', '!', '?', '*']);
        let quoted = !hit[1].is_empty() && !hit[3].is_empty();
        let chosen = if quoted { is_chosen_in_quotes(bare) } else { is_chosen(bare) };
        let chosen = chosen || is_strong(bare);
        let range = value.start()..value.start() + bare.len();
        if chosen && stands_alone(text, &range) {
            spans.push(range);
        }
    }
}

/// Whether a value is real: neither a placeholder for a missing one nor the
/// beginning of a placeholder.
fn stands_alone(text: &str, value: &Range<usize>) -> bool {
    let (word, rest) = (&text[value.clone()], &text[value.end..]);
    // A password of all kinds of characters may have the dots of a reference.
    let refers = is_template(word) || is_reference(word) && !is_strong(word);
    !refers && !is_filler(word) && (!rest.starts_with('<') || rest.starts_with("</"))
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
const SESSIONS: [&str; 10] =
    ["sess", "sid", "auth", "identity", "token", "jwt", "csrf", "xsrf", "login", "remember"];

/// Most characters of a header that are read at once. The pattern does not say
/// it: with 4096 copies of a class it would take a tenth of a second to build.
const LONGEST_HEADER: usize = 4096;

/// Cookies of sessions (RFC 6265 §4): in the headers `Cookie` and `Set-Cookie`,
/// also as an argument or a value of JSON.
fn cookies(text: &str, spans: &mut Vec<Range<usize>>) {
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r#"(?i)(?:(?:\bset-)?\bcookie[\\"'`]{0,3}(?:\s?[:=]\s?|,\s?|\s)|\bcurl\b[^\n|;]{0,300}?\s-b\s?)[\\"'`]{0,3}([^\n"'`\\]{4,})"#)
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
            let known = SESSIONS.iter().any(|part| name.contains(part))
                || value.len() >= 20 && is_made(&value);
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

/// Compiles the pattern of every place, and counts them.
#[cfg(test)]
pub(super) fn compiled() -> usize {
    PLACES.all.iter().map(Place::pattern).count()
}
