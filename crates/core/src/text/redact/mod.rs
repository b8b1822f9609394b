//! Replaces secrets and e-mail addresses in texts by placeholders, and restores
//! them.
//!
//! Each distinct value has one placeholder, `<EMAIL_1>` or `<SECRET_2>`, by
//! order of appearance: a reader of the redacted texts can still tell whether
//! two values are the same.
//!
//! Invariant: restoring a redacted text gives the original, and redacting it
//! again changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

mod colours;
mod columns;
mod find;
mod places;
#[cfg(test)]
mod tests;
mod values;

use super::lists::ACCOUNTS;
use crate::text::{Pattern, pattern};
use find::{EMAIL, Found, SECRET, found};

/// Number of passes over a text. A placeholder may expose the value next to it;
/// two passes are enough for any text that was not constructed as an attack.
const PASSES: usize = 4;

/// Shortest secret that is replaced wherever it occurs, not only where it was
/// found: a shorter one may be a word.
const SHORTEST: usize = 8;

/// The form of a placeholder, also where a model left out its brackets.
static PLACEHOLDER: Pattern = pattern!(r"<?\b(?:EMAIL|SECRET)_([0-9]+)\b>?");

/// Numbers that placeholders must not get, because they occur in a text.
static NUMBERED: Pattern = pattern!(r"(?:EMAIL|SECRET)_([0-9]+)");

/// The original values of placeholders, by their number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Originals {
    values: BTreeMap<u64, (&'static str, String)>,
}

/// Redacted texts, with the values to restore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// The redacted texts, in their order.
    pub texts: Vec<String>,
    /// The values that were replaced.
    pub originals: Originals,
}

/// Takes private keys, tokens, passwords and e-mail addresses out of texts that
/// belong together: one numbering serves them all.
///
/// What is found: private keys in PEM or its base64; tokens and webhooks by their
/// issuers' prefixes (`tokens.txt`); JSON web tokens; hashes of passwords;
/// credentials of an `Authorization` header or a URL, also its signature, of cookies,
/// connection strings, commands, registries, netrc files and sentences (`places.txt`);
/// columns of tables that are named after secrets; the secret beside an access key of AWS;
/// values assigned to a name that says it is a secret, unless they are code or a label;
/// e-mail addresses. Codes that colour a text are passed over. A secret of eight characters
/// or more with a digit or a space is then taken out wherever else it stands.
pub fn redact(texts: &[&str]) -> Redaction {
    redact_known(texts, &BTreeSet::new())
}

/// The same with secrets that other texts gave away ([`distinctive_secrets`]): they
/// are taken out wherever they stand.
pub fn redact_known(texts: &[&str], known: &BTreeSet<String>) -> Redaction {
    let mut redactor = Redactor { secrets: known.clone(), ..Redactor::default() };
    let texts = redactor.redact(texts.iter().map(|text| (*text).to_owned()).collect());
    Redaction { texts, originals: redactor.originals }
}

/// Redacts texts that come one group after another, with one numbering for all.
#[derive(Default)]
pub struct Redactor {
    /// The values that were taken out, and the placeholder's number of each.
    originals: Originals,
    by_value: BTreeMap<String, u64>,
    last: u64,
    /// Numbers of placeholders that stand in the texts already.
    taken: BTreeSet<u64>,
    /// Long secrets, which are taken out wherever they stand.
    secrets: BTreeSet<String>,
    /// Number of places of secrets and of e-mail addresses.
    places: [u64; 2],
}

impl Redactor {
    /// Redacts the next texts, as [`redact`] does.
    pub fn redact(&mut self, mut texts: Vec<String>) -> Vec<String> {
        let numbers = texts.iter().flat_map(|text| NUMBERED.captures_iter(text));
        self.taken.extend(numbers.filter_map(|hit| hit[1].parse::<u64>().ok()));
        for _ in 0..PASSES {
            let spans: Vec<Vec<Found>> = texts.iter().map(|text| found(text)).collect();
            let spans = everywhere(&texts, spans, &mut self.secrets);
            if spans.iter().all(Vec::is_empty) {
                break;
            }
            for (text, spans) in texts.iter_mut().zip(spans) {
                let parts = spans.iter().map(|Found { range, kind }| {
                    self.places[usize::from(*kind == EMAIL)] += 1;
                    (range.clone(), self.placeholder(&text[range.clone()], kind))
                });
                *text = spliced(text, parts);
            }
        }
        texts
    }

    fn placeholder(&mut self, value: &str, kind: &'static str) -> String {
        if let Some(number) = self.by_value.get(value) {
            return named(self.originals.values[number].0, *number);
        }
        self.last += 1;
        while self.taken.contains(&self.last) {
            self.last += 1;
        }
        self.by_value.insert(value.to_owned(), self.last);
        self.originals.values.insert(self.last, (kind, value.to_owned()));
        named(kind, self.last)
    }

    /// What was taken out so far: the kind, the number of distinct values, and in
    /// how many places they stood.
    pub fn counts(&self) -> [(&'static str, usize, u64); 2] {
        let values =
            |kind| self.originals.values.values().filter(|(other, _)| *other == kind).count();
        let [secrets, emails] = self.places;
        [("secret", values(SECRET), secrets), ("e-mail address", values(EMAIL), emails)]
    }
}

/// The secrets in texts that are no words, so that they can be told wherever they stand.
pub fn distinctive_secrets<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let mut secrets = BTreeSet::new();
    for text in texts {
        distinctive(text, &found(text), &mut secrets);
    }
    secrets
}

fn distinctive(text: &str, spans: &[Found], secrets: &mut BTreeSet<String>) {
    let secret = |span: &&Found| span.kind == SECRET && span.range.len() >= SHORTEST;
    let values = spans.iter().filter(secret).map(|span| &text[span.range.clone()]);
    let telling = |value: &&str| value.bytes().any(|byte| byte.is_ascii_digit() || byte == b' ');
    secrets.extend(values.filter(telling).map(str::to_owned));
}

/// The secrets and e-mail addresses of texts that belong together, each once.
pub fn values_of(texts: &[&str]) -> BTreeSet<String> {
    let values_of = |text: &&str| {
        found(text).into_iter().map(|span| text[span.range].to_owned()).collect::<Vec<_>>()
    };
    texts.iter().flat_map(values_of).collect()
}

/// Where secrets and e-mail addresses stand in a text, in bytes, in order and
/// disjoint.
pub fn ranges(text: &str) -> Vec<Range<usize>> {
    found(text).into_iter().map(|span| span.range).collect()
}

/// A text with other words in places that are in order and disjoint.
pub fn spliced(text: &str, parts: impl IntoIterator<Item = (Range<usize>, String)>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (range, words) in parts {
        out.push_str(&text[done..range.start]);
        out.push_str(&words);
        done = range.end;
    }
    out.push_str(&text[done..]);
    out
}

/// Adds further occurrences of the secrets that were found.
fn everywhere(
    texts: &[String],
    mut spans: Vec<Vec<Found>>,
    values: &mut BTreeSet<String>,
) -> Vec<Vec<Found>> {
    texts.iter().zip(&spans).for_each(|(text, spans)| distinctive(text, spans, values));
    if values.is_empty() {
        return spans;
    }
    let search = matcher_of(&*values);
    for (text, spans) in texts.iter().zip(&mut spans) {
        let again = search.find_iter(text).map(|hit| Found::secret(hit.range()));
        *spans = find::disjoint(spans.drain(..).chain(again.collect::<Vec<_>>()));
    }
    spans
}

/// Finds these texts, of several that begin at one place the longest.
///
/// # Panics
///
/// If they are longer than 2 GiB together: nothing is left unreplaced in silence.
pub fn matcher_of(texts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> AhoCorasick {
    let matcher = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(texts);
    matcher.expect("names and secrets have less than 2 GiB together")
}

fn named(kind: &str, number: u64) -> String {
    format!("<{kind}_{number}>")
}

impl Originals {
    /// Restores the originals in a text.
    pub fn restore(&self, text: &str) -> String {
        self.substitute(text, str::to_owned)
    }

    /// Restores the originals in JSON, where the placeholders are inside
    /// strings.
    pub fn restore_json(&self, text: &str) -> String {
        self.substitute(text, |value| {
            let quoted = serde_json::Value::from(value).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        })
    }

    fn substitute(&self, text: &str, shown: impl Fn(&str) -> String) -> String {
        let parts = PLACEHOLDER.captures_iter(text).filter_map(|hit| {
            let whole = hit.get(0).expect("the whole match");
            let number = hit[1].parse().ok()?;
            let (kind, value) = self.values.get(&number)?;
            // The exact placeholder, or the text between its brackets.
            let exact = named(kind, number);
            let inside = &exact[1..exact.len() - 1];
            let start = whole.start() + whole.as_str().find(inside)?;
            let range =
                if whole.as_str() == exact { whole.range() } else { start..start + inside.len() };
            Some((range, shown(value)))
        });
        spliced(text, parts)
    }
}

/// Names of users whose home folders appear in the texts.
pub fn user_names(texts: &[&str]) -> BTreeSet<String> {
    static HOME: Pattern = pattern!(
        r"(?:\\{0,16}/(?:home|Users)\\{0,16}/|\\{1,16}Users\\{1,16}|\bUsers/)([A-Za-z0-9][\w.-]{2,31})",
        // A folder as the name of a file: `-home-ada-src`, `C--Users-ada-src`.
        // The prompt of a shell: `ada@host:~/src$`.
        r"|(?m:^)([a-z][\w.-]{2,31})@[\w-]{1,63}:[~/][^\s$#]{0,128}[$#] ",
        r"|(?:^|[^\w-])(?:-home-|(?:[A-Z]-)?-Users-)([A-Za-z0-9]\w{2,31})"
    );
    let hits = texts.iter().flat_map(|text| HOME.captures_iter(text));
    let hits = hits.filter_map(|hit| (1..=3).find_map(|group| hit.get(group)));
    let names = hits.map(|hit| hit.as_str().trim_end_matches('.').to_owned());
    names.filter(|name| !ACCOUNTS.contains(name.to_lowercase().as_str())).collect()
}

/// Replaces the names that `names` finds, where they stand alone: as a word, or
/// as a part of a path.
pub fn replaced_users(text: &str, names: &AhoCorasick, with: impl Fn(&str) -> String) -> String {
    let inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let alone = names.find_iter(text).map(|hit| hit.range()).filter(|at| {
        let before = text[..at.start].chars().next_back();
        !inside(before) && !inside(text[at.end..].chars().next())
    });
    spliced(text, alone.map(|at| (at.clone(), with(&text[at]))))
}
