//! Finds secrets by the rules of `places.txt`: by their own form, or by the command, file or
//! sentence around them.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use regex::{Captures, Match, Regex, RegexBuilder};

use super::values::{Makeup, is_filler, is_reference, is_strong, is_template};

/// What the patterns of `places.txt` abbreviate.
const ABBREVIATIONS: [(&str, &str); 7] = [
    ("{arg}", r#"(?:\\[^\w\s]|[^\s"'`\\|;&<>])"#),
    ("{str}", r#"(?:\\.|[^"\\\n])"#),
    ("{lead}", r#"(?:^|\\n|[\s"'{,;:→|>+])"#),
    ("{dollar}", r"\\{0,2}\${1,2}"),
    (
        "{is}",
        concat!(
            r"(?i)\b(?:password|passwd|passphrase|passcode|passwort|mot de passe|contrase[ñn]a|senha)",
            r"(?:\s+(?:for|of|to|für|von|zum|de|del|des|du|do|da)(?:\s+[\w.'-]{1,24}){1,4})?\s+",
            r"(?:is|was|ist|lautet|est|es|é|era|à)(?:\s+now)?:?\s+",
        ),
    ),
    (
        "{cookies}",
        concat!(
            r#"(?i)(?:(?:\bset-)?\bcookie[\\"'`]{0,3}(?:\s?[:=]\s?|,\s?|\s)"#,
            r#"|\bcurl\b[^\n|;]{0,300}?\s-b\s?)[\\"'`]{0,3}([^\n"'`\\]{4,})"#,
        ),
    ),
    ("{cookie}", r"[A-Za-z0-9!#$%&*+.^_|~-]"),
];

/// Most characters of a list that are read at once. The patterns do not say it: with 4096
/// copies of a class they would take a tenth of a second to build.
const LONGEST_LIST: usize = 4096;

/// Finds secrets by the rules.
pub(super) fn placed(text: &str, spans: &mut Vec<Range<usize>>) {
    // Most texts have words of few rules, and a pattern takes long to build.
    let mut named: Vec<bool> = RULES.all.iter().map(|rule| rule.always).collect();
    for hit in RULES.words.find_overlapping_iter(text) {
        named[RULES.rule_of[hit.pattern().as_usize()]] = true;
    }
    let named = RULES.all.iter().zip(named).filter_map(|(rule, named)| named.then_some(rule));
    named.for_each(|rule| rule.find(text, spans));
}

/// The rules of `places.txt`.
static RULES: LazyLock<Rules> = LazyLock::new(Rules::read);

struct Rules {
    all: Vec<Rule>,
    /// The words of all rules, and which rule each is of.
    words: AhoCorasick,
    rule_of: Vec<usize>,
}

struct Rule {
    form: ValueForm,
    always: bool,
    /// The pattern as it is written, and that of the secrets in a list.
    written: [Option<&'static str>; 2],
    compiled: OnceLock<[Option<Regex>; 2]>,
}

impl Rules {
    fn read() -> Self {
        let (mut all, mut words, mut rule_of) = (Vec::<Rule>::new(), Vec::new(), Vec::new());
        let lines = include_str!("places.txt").lines();
        for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(pattern) = line.strip_prefix("    ") {
                let rule = all.last_mut().expect("a form comes before its pattern");
                rule.written[usize::from(pattern.starts_with(' '))] = Some(pattern.trim_start());
                continue;
            }
            let (form, near) = line.split_once(' ').unwrap_or((line, ""));
            let before = words.len();
            words.extend(near.split('`').skip(1).step_by(2));
            rule_of.resize(words.len(), all.len());
            all.push(Rule {
                form: form.parse().expect("a form of values"),
                always: words.len() == before,
                written: [None; 2],
                compiled: OnceLock::new(),
            });
        }
        let words = AhoCorasick::new(words).expect("few short words");
        Rules { all, words, rule_of }
    }
}

impl Rule {
    fn patterns(&self) -> &[Option<Regex>; 2] {
        self.compiled.get_or_init(|| self.written.map(|written| Some(compiled(written?))))
    }

    fn find(&self, text: &str, spans: &mut Vec<Range<usize>>) {
        let [Some(pattern), within] = self.patterns() else { return };
        let mut from = 0;
        while let Some(hit) = pattern.captures_at(text, from) {
            let value = value_of(&hit);
            let (start, mut found) = (value.start(), vec![value.range()]);
            from = hit.get_match().end();
            if let Some(within) = within {
                let mut chars = value.as_str().char_indices();
                from = chars.nth(LONGEST_LIST).map_or(value.end(), |(at, _)| start + at);
                let hits = within.captures_iter(&text[start..from]);
                let places = hits.map(|hit| value_of(&hit).range());
                found = places.map(|at| start + at.start..start + at.end).collect();
            }
            spans.extend(found.into_iter().filter(|value| self.form.fits(text, value)));
        }
    }
}

/// The first group that matched, or the whole match.
fn value_of<'t>(hit: &Captures<'t>) -> Match<'t> {
    hit.iter().skip(1).flatten().next().unwrap_or_else(|| hit.get_match())
}

fn compiled(written: &str) -> Regex {
    // Forms of tokens, by issuer: a line each.
    let tokens = include_str!("tokens.txt").lines().filter(|line| !line.starts_with('#'));
    let tokens = tokens.collect::<Vec<_>>().join("|");
    let whole = ABBREVIATIONS
        .iter()
        .fold(written.to_owned(), |pattern, (short, long)| pattern.replace(short, long));
    // In the usual cache of 2 MB, so many forms of tokens take a hundred times as long.
    let whole = whole.replace("{tokens}", &tokens);
    RegexBuilder::new(&whole).dfa_size_limit(4 << 20).build().expect("it is valid")
}

/// What a value has to look like.
#[derive(Clone, Copy, strum::EnumString)]
#[strum(serialize_all = "lowercase")]
enum ValueForm {
    /// A private key: its marks tell it.
    Pem,
    /// A password in a URL that is no template.
    Url,
    /// A token or a hash, whole: within something longer, such as base64, it is none.
    Token,
    /// Base64 of a private key or of a name and a password.
    Encoded,
    /// Computed: digits, and no example.
    Computed,
    /// Computed, with small letters and capitals as in base64.
    Mixed,
    /// Letters and digits, or base64 of a name and a password, which may have no digit.
    Basic,
    /// Letters and digits.
    Bearer,
    /// A code with a digit.
    Code,
    /// Whatever stands there is the secret, unless it refers to one, as in all forms below.
    Any,
    /// A password: letters with digits or signs.
    Chosen,
    /// A password in quotes, where it may also be a plain word.
    Quoted,
    /// Digits, or capitals within.
    Varied,
    /// Computed.
    Made,
    /// Computed, in base64 or hexadecimal.
    Key,
    /// Chosen or computed.
    Secret,
    /// A number with which people open something.
    Pin,
}

impl ValueForm {
    fn fits(self, text: &str, value: &Range<usize>) -> bool {
        let (before, word, rest) = (&text[..value.start], &text[value.clone()], &text[value.end..]);
        let makeup = Makeup::of(word);
        let mixed = makeup.changes >= 2 && makeup.digits > 0;
        let made = makeup.digits >= 3 && is_varied(word) && !is_filler(word);
        let chosen = is_chosen(word, &makeup) || is_strong(word);
        match self {
            ValueForm::Pem => true,
            ValueForm::Url => !is_example(before, word),
            ValueForm::Token => {
                let goes_on = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                !goes_on && is_varied(word) && !word.contains("...")
            }
            ValueForm::Encoded => is_encoded(word),
            ValueForm::Mixed => mixed && made,
            ValueForm::Computed => made,
            ValueForm::Basic => {
                let digits = makeup.digits > 0 || word.len() >= 12 && makeup.changes >= 2;
                makeup.letters > 0 && digits
            }
            ValueForm::Bearer => makeup.letters > 0 && makeup.digits > 0,
            ValueForm::Code => makeup.digits > 0,
            _ if !stands_alone(word, rest) => false,
            ValueForm::Any => true,
            ValueForm::Chosen => chosen,
            ValueForm::Quoted => {
                let letters = makeup.letters == word.len();
                let name = makeup.changes > 0 || word.starts_with(|c: char| c.is_ascii_uppercase());
                chosen || word.len() >= 8 && !(letters && name)
            }
            ValueForm::Varied => makeup.digits > 0 || makeup.changes > 1,
            ValueForm::Made => made,
            ValueForm::Key => {
                let hex = word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
                made && (hex || mixed)
            }
            ValueForm::Secret => chosen || made || mixed,
            ValueForm::Pin => matches!(word.len(), 4..=10),
        }
    }
}

/// Whether a password in a URL is none: a port in a template, `${HOST}:${PORT}@`, or the
/// word in `USER:PASSWORD@`.
fn is_example(before: &str, password: &str) -> bool {
    let user = before.trim_end_matches(':').to_ascii_lowercase();
    let word = matches!(password.to_ascii_lowercase().as_str(), "password" | "pass" | "pwd");
    password.starts_with(['$', '{', '%', '*', '[', '('])
        || word && (user.ends_with("user") || user.ends_with("username"))
}

/// Whether it is base64 of a private key, of a name and a password, or of a file of them.
fn is_encoded(value: &str) -> bool {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let beginning = &value[..value.len().min(512)];
    let plain = GeneralPurpose::new(&STANDARD, LENIENT).decode(beginning).unwrap_or_default();
    let plain: String = plain.into_iter().map(char::from).collect();
    if plain.starts_with("-----BEGIN ") {
        return plain.contains("PRIVATE KEY");
    }
    let pair = plain.split_once(':').is_some_and(|(name, password)| {
        let printable = plain.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        printable && !name.is_empty() && password.len() >= 3 && !is_filler(password)
    });
    pair || plain.starts_with("{\"auths\":")
}

/// Whether a token has at least five different characters after its prefix:
/// `ghp_xxxx…` is an example, not a token.
fn is_varied(token: &str) -> bool {
    let tail = &token.as_bytes()[token.len().saturating_sub(16)..];
    // `xoxb-your-slack-token` is an example, too.
    !token.contains("your") && tail.iter().collect::<BTreeSet<_>>().len() >= 5
}

/// Whether a value is real: neither a placeholder for a missing one nor the
/// beginning of a placeholder.
fn stands_alone(word: &str, rest: &str) -> bool {
    // A password of all kinds of characters may have the dots of a reference.
    let refers = is_template(word) || is_reference(word) && !is_strong(word);
    !refers && !is_filler(word) && (!rest.starts_with('<') || rest.starts_with("</"))
}

/// Whether it looks chosen rather than written as a word: letters with digits
/// or signs, and neither a number with a unit nor a compound.
fn is_chosen(word: &str, makeup: &Makeup) -> bool {
    let Makeup { digits, letters, signs, .. } = *makeup;
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic());
    let compound = word.contains(['-', '/', '.', ':', '_']) && !signs;
    letters >= 2 && begins && !compound && word.len() >= 6 && (digits > 0 || signs)
        || letters == 0 && digits == word.len() && digits >= 6
}

/// Compiles the patterns of every rule, and counts the rules.
#[cfg(test)]
pub(super) fn compiled_rules() -> usize {
    RULES.all.iter().filter(|rule| rule.patterns()[0].is_some()).count()
}
