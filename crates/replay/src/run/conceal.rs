//! Replaces texts that must not be shared by hashed names.
//!
//! Identifiers are words of the sessions: each becomes its class and a hash,
//! whatever its text is, so that an unknown secret among them is replaced too.
//! Of all other text, secrets, addresses, paths and names of users are
//! replaced. Questions, expectations and answers are removed; measurements stay.
//! No measure reads these texts, so the figures do not change.
//!
//! Invariant: equal texts get equal names in runs over the same sessions. The
//! key of the hashes is derived from the text of the sessions: without the
//! sessions nobody can test which word a name replaces.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use aho_corasick::AhoCorasick;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use super::RunRecord;
use crate::prepared::is_text_hash;
use recap_core::model::{
    Answer, CallRow, Cell, Cut, Expectation, Gate, GradedAnswer, Manifest, NoGrade, Question,
    QuestionRow, ReplayOutcome, RunResults, Session, SessionFacts, Verdict,
};
use recap_core::text::redact;
use recap_core::text::{Pattern, pattern};
use recap_formats::Dataset;
use recap_strategy::ITS_WORDS;

/// Characters of a hash: enough to distinguish the identifiers of a session.
const HASH: usize = 8;

/// JSON fields that name texts by their hashes.
const HASHED: &[&str] = &["text", "texts"];

/// Length of the shortest secret that is also searched for within other words.
const SHORTEST: usize = 8;

/// JSON fields in which names of users are replaced too.
const NAMED: &str = "dataset session cluster title warnings notices error fallback no_cut id tool \
                     evidence left_out name named strategy at_cuts comparator";

/// Replaces everything in a run that must not be shared.
#[derive(Debug)]
pub struct Conceal {
    key: [u8; 32],
    /// Secrets and addresses found in the sessions.
    secrets: BTreeSet<String>,
    within: Option<AhoCorasick>,
    users: Option<AhoCorasick>,
}

impl Conceal {
    /// Collects what to replace from the sessions of these data sets.
    pub fn datasets(datasets: &[Dataset]) -> Self {
        let sessions = datasets.iter().flat_map(|dataset| &dataset.sessions);
        let texts: Vec<String> = sessions.flat_map(Session::texts).collect();
        Self::of(&texts.iter().map(String::as_str).collect::<Vec<_>>(), &[])
    }

    /// Collects what to replace from these texts of the sessions. The key of the
    /// hashes is derived from them, and from the hashes of texts that may be gone.
    fn of(all: &[&str], hashes: &[&str]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("recap 2026 names of a shared run");
        all.iter().chain(hashes).for_each(|text| {
            hasher.update(&(text.len() as u64).to_le_bytes()).update(text.as_bytes());
        });
        let secrets = redact::values_of(all);
        let long = |value: &&String| {
            value.len() >= SHORTEST && value.bytes().any(|byte| byte.is_ascii_digit())
        };
        Self {
            key: *hasher.finalize().as_bytes(),
            within: any_of(secrets.iter().filter(long)),
            users: any_of(&redact::user_names(all)),
            secrets,
        }
    }

    /// Conceals the names and paths of a data set, before it is processed.
    pub fn dataset(&self, dataset: &mut Dataset) {
        dataset.name = self.concealed_name(&dataset.name);
        dataset.warnings.iter_mut().for_each(|warning| *warning = self.concealed_sentence(warning));
        dataset.files.iter_mut().for_each(|(name, _)| *name = self.concealed_file_name(name));
        dataset.questions.iter_mut().for_each(|question| self.question(question));
        for session in &mut dataset.sessions {
            session.id = self.concealed_name(&session.id);
            session.project = session.project.as_deref().map(|name| self.concealed_name(name));
        }
    }

    /// Conceals of which session a question is.
    pub fn question(&self, question: &mut Question) {
        question.session = self.concealed_name(&question.session);
    }

    /// Conceals the manifest of a run.
    #[must_use]
    pub fn manifest(&self, manifest: &Manifest) -> Manifest {
        let mut manifest: Manifest = self.with_texts_concealed(manifest);
        let warnings = manifest.warnings.iter_mut();
        warnings.for_each(|warning| *warning = self.concealed_sentence(warning));
        manifest
    }

    /// Conceals the findings of a gate.
    #[must_use]
    pub fn gate(&self, gate: &Gate) -> Gate {
        self.with_texts_concealed(gate)
    }

    /// Conceals the facts of a session and removes questions and
    /// expectations.
    #[must_use]
    pub fn facts(&self, facts: SessionFacts) -> SessionFacts {
        let fingerprint = facts.fingerprint();
        let mut facts: SessionFacts = self.with_texts_concealed(&without_questions(facts));
        for reference in &mut facts.exam.references {
            reference.text = self.alias(reference.class.as_str(), &reference.text);
        }
        facts.as_recorded = Some(fingerprint);
        facts
    }

    /// Conceals a cell and removes answers and the judges' sentences.
    #[must_use]
    pub fn cell(&self, mut cell: Cell) -> Cell {
        without_answers(&mut cell.outcome, |rows| &mut rows.questions);
        self.with_texts_concealed(&cell)
    }

    /// Conceals a cut and removes answers and the judges' sentences.
    #[must_use]
    pub fn cut(&self, mut cut: Cut) -> Cut {
        for row in &mut cut.rows {
            without_answers(&mut row.outcome, |exam| &mut exam.questions);
        }
        let mut cut: Cut = self.with_texts_concealed(&cut);
        for fact in &mut cut.facts {
            fact.text = self.alias(fact.class.as_str(), &fact.text);
        }
        cut
    }

    /// Conceals which request a call made: of a short one the hash could be guessed.
    #[must_use]
    pub fn call(&self, call: CallRow) -> CallRow {
        CallRow { key: self.keyed(&call.key), ..call }
    }

    /// A copy of a value in which every text is concealed, whatever its fields
    /// are.
    fn with_texts_concealed<T: Serialize + DeserializeOwned>(&self, value: &T) -> T {
        // By way of its text, as it is written and read again everywhere else.
        let text = serde_json::to_vec(value).expect("plain data serialises");
        let mut json = serde_json::from_slice(&text).expect("it was serialised here");
        self.conceal_json(&mut json, "");
        let text = serde_json::to_vec(&json).expect("plain data serialises");
        serde_json::from_slice(&text).expect("only words were changed")
    }

    fn conceal_json(&self, json: &mut Json, field: &str) {
        match json {
            Json::String(text) if HASHED.contains(&field) && is_text_hash(text) => {
                *text = self.keyed(text)[..text.len()].to_owned();
            }
            Json::String(text) if NAMED.split(' ').any(|name| name == field) => {
                *text = self.concealed_name(text);
            }
            Json::String(text) => *text = self.concealed_text(text),
            Json::Array(items) => items.iter_mut().for_each(|item| self.conceal_json(item, field)),
            Json::Object(members) => {
                members.iter_mut().for_each(|(name, member)| self.conceal_json(member, name));
            }
            _ => {}
        }
    }

    /// Conceals a sentence of this program, including relative paths of files.
    fn concealed_sentence(&self, text: &str) -> String {
        static FILE: Pattern = pattern!(r"[\w.@+-]+(?:/[\w.@+-]+)+\.[A-Za-z][A-Za-z0-9]{0,9}\b");
        let text = self.concealed_name(text);
        FILE.replace_all(&text, |hit: &regex::Captures<'_>| self.alias("path", &hit[0]))
            .into_owned()
    }

    /// Conceals the name of a file below an input: its folders are paths too.
    fn concealed_file_name(&self, name: &str) -> String {
        if name.contains(['/', '\\']) {
            self.alias("path", name)
        } else {
            self.concealed_name(name)
        }
    }

    /// Conceals a name, including names of users in it.
    fn concealed_name(&self, text: &str) -> String {
        let concealed = self.concealed_text(text);
        let Some(users) = &self.users else { return concealed };
        redact::replaced_users(&concealed, users, |name| self.alias("user", name))
    }

    /// Conceals the paths, secrets and addresses in a text.
    fn concealed_text(&self, text: &str) -> String {
        if self.secrets.contains(text) {
            return self.alias("secret", text);
        }
        let mut spans: Vec<(Range<usize>, &str)> = Vec::new();
        let mut add = |range: Range<usize>, what| {
            if spans.iter().all(|(other, _)| other.end <= range.start || range.end <= other.start) {
                spans.push((range, what));
            }
        };
        let paths = PATH.captures_iter(text).filter_map(|hit| hit.get(1));
        paths.for_each(|path| add(path.range(), "path"));
        redact::ranges(text).into_iter().for_each(|range| add(range, "secret"));
        let known = self.within.iter().flat_map(|within| within.find_iter(text));
        known.for_each(|hit| add(hit.range(), "secret"));
        spans.sort_by_key(|(range, _)| range.start);
        let alias = |(at, what): (Range<usize>, &str)| (at.clone(), self.alias(what, &text[at]));
        redact::spliced(text, spans.into_iter().map(alias))
    }

    /// The name that replaces a text: its kind and a hash.
    fn alias(&self, what: &str, text: &str) -> String {
        format!("{what}-{}", &self.keyed(text)[..HASH])
    }

    /// The hash of a text, 64 hexadecimal digits, that only the sessions give away.
    fn keyed(&self, text: &str) -> String {
        blake3::keyed_hash(&self.key, text.as_bytes()).to_hex().to_string()
    }
}

impl RunRecord {
    /// A run that may be shared. The sessions' texts may be gone; then secrets
    /// are recognised by their form alone.
    #[must_use]
    pub fn concealed(self) -> Self {
        let texts: Vec<&str> = self.texts.values().map(String::as_str).collect();
        let messages = self.sessions.iter().flat_map(|facts| &facts.messages);
        let hashes: Vec<&str> = messages.map(|message| message.text.as_str()).collect();
        let conceal = Conceal::of(&texts, &hashes);
        let mut results = RunResults::default();
        for (cells, cuts) in self.results.into_results() {
            cells.into_iter().for_each(|one| results.add_cell(conceal.cell(one)));
            cuts.into_iter().for_each(|one| results.add_cut(conceal.cut(one)));
        }
        results.close();
        Self {
            manifest: conceal.manifest(&self.manifest),
            sessions: self.sessions.into_iter().map(|one| conceal.facts(one)).collect(),
            results,
            calls: self.calls.into_iter().map(|one| conceal.call(one)).collect(),
            gate: self.gate.map(|gate| conceal.gate(&gate)),
            texts: BTreeMap::new(),
            journal: self.journal,
        }
    }
}

/// Absolute paths, paths in a home folder and URLs of files, of Unix and
/// Windows. A path starts at the beginning or after a character that can
/// precede a word.
static PATH: Pattern = pattern!(
    r#"(?:^|[\s"'`(\[{<=:,;|])"#,
    r"((?:file://)?/[\w.@~+-]+(?:/[\w.@~+-]*)+",
    r"|~[\w.-]*/[\w.@~+/-]*",
    r"|(?:[A-Za-z]:[\\/]|\\\\[\w.-]+\\)[\w.@~+\\/-]+)"
);

/// Finds these words; `None` where there are none.
fn any_of<'a>(words: impl IntoIterator<Item = &'a String>) -> Option<AhoCorasick> {
    let words: Vec<&String> = words.into_iter().collect();
    (!words.is_empty()).then(|| redact::matcher_of(words))
}

/// Removes questions, expected and stale values from facts. The kind of the
/// expected answer stays.
fn without_questions(mut facts: SessionFacts) -> SessionFacts {
    for asked in facts.questions.iter_mut().chain(&mut facts.cut_questions) {
        let question = &mut asked.question;
        question.question.clear();
        question.stale.clear();
        match &mut question.expect {
            Expectation::AnyOf(values) | Expectation::Rubric(values) => values.clear(),
            Expectation::Unanswerable => {}
        }
    }
    facts
}

/// The words of a reason after which a provider's own text follows.
const PROVIDER: &str = "the provider answered ";

/// Removes the text of a provider or of a program from a reason, because it may
/// quote what was sent.
fn in_our_words<R: ToString + From<String>>(why: &mut R) {
    let mut words = why.to_string();
    if let Some(at) = words.find(ITS_WORDS) {
        words.truncate(at);
    }
    let start = words.find(PROVIDER).map_or(words.len(), |at| at + PROVIDER.len());
    if let Some(end) = words[start..].find(": ") {
        words.truncate(start + end);
    }
    *why = R::from(words);
}

/// Removes answers and the judges' sentences, which quote them, from an outcome.
fn without_answers<T>(outcome: &mut ReplayOutcome<T>, asked: fn(&mut T) -> &mut [QuestionRow]) {
    match outcome {
        ReplayOutcome::Failed { error } => in_our_words(error),
        ReplayOutcome::Done(done) => {
            asked(done).iter_mut().flat_map(QuestionRow::graded_mut).for_each(silence);
        }
    }
}

fn silence(GradedAnswer { answer, judgement }: &mut GradedAnswer) {
    judgement.rationale.clear();
    for vote in &mut judgement.votes {
        if let Verdict::Unscored(why) = &mut vote.verdict {
            *why = NoGrade::Other(String::new());
        }
    }
    if let Verdict::Unscored(why) = &mut judgement.verdict {
        in_our_words(why);
    }
    match answer {
        Answer::Said(text) => text.clear(),
        Answer::Nothing(why) => in_our_words(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conceal(texts: &[&str]) -> Conceal {
        Conceal::of(texts, &[])
    }

    #[test]
    fn paths_secrets_addresses_and_users_get_names() {
        let conceal = conceal(&["cwd /home/ada/acme, password=s3cr3t-value, mail ada@x.org"]);
        for (text, kind, secret) in [
            ("/home/ada/acme/src/main.rs", "path-", "acme"),
            ("cannot read ~/notes/a.md", "path-", "notes"),
            (r"in C:\Users\ada\x", "path-", "ada"),
            ("file:///srv/data/x", "path-", "srv"),
            ("said s3cr3t-value again", "secret-", "s3cr3t"),
            ("s3cr3t-value", "secret-", "s3cr3t"),
            ("to ada@x.org", "secret-", "ada@"),
            ("-home-ada-acme", "user-", "ada"),
        ] {
            let named = conceal.concealed_name(text);
            assert!(named.contains(kind) && !named.contains(secret), "{text}: {named}");
            assert_eq!(conceal.concealed_name(&named), named);
        }
        let file =
            conceal.concealed_sentence("acme/deep/log.jsonl: no session of openai/gpt-5.4 at 1/2");
        assert!(
            file.starts_with("path-") && file.ends_with(": no session of openai/gpt-5.4 at 1/2")
        );
        for text in
            ["sliding-window", "25%", "user", "https://x.org/a/b", "a/b", "2026-01-01T00:00:00Z"]
        {
            assert_eq!(conceal.concealed_name(text), text);
        }
    }

    #[test]
    fn names_are_equal_only_over_the_same_sessions() {
        let (one, again, other) = (conceal(&["a"]), conceal(&["a"]), conceal(&["b"]));
        assert_eq!(one.alias("path", "src/main.rs"), again.alias("path", "src/main.rs"));
        assert_ne!(one.alias("path", "src/main.rs"), other.alias("path", "src/main.rs"));
        assert_ne!(one.alias("path", "src/main.rs"), one.alias("path", "src/lib.rs"));
    }

    #[test]
    fn reason_keeps_our_words_and_drops_provider_text() {
        for (actual, kept) in [
            (
                "not answered: the provider answered 400, bad request: no such field: secret",
                "not answered: the provider answered 400, bad request",
            ),
            ("the provider answered 503, overloaded", "the provider answered 503, overloaded"),
            ("it ended without an answer; its words: secret", "it ended without an answer"),
            ("the reply was cut off at 120 tokens", "the reply was cut off at 120 tokens"),
        ] {
            let mut why = actual.to_owned();
            in_our_words(&mut why);
            assert_eq!(why, kept);
        }
    }
}
