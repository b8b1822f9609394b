//! Questions of a data set: their file, the rules that they must satisfy, and how
//! good they are.
//!
//! Invariant: a data set that loads has only questions that can be asked and
//! graded: everything they name exists, and no value is both right and wrong.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::error::{DatasetError, Problem};
use super::gathered::Gathered;
use super::load::read_into;
use super::source::{Source, parse};
use super::{Dataset, LoadOptions};
use recap_core::model::{Expectation, MessageIndex, Question, QuestionKind, Session};
use recap_core::text::{Normal, excerpt};

/// Reads a file of questions, as a native data set has it, for the sessions of
/// these data sets; those of other sessions stand last.
///
/// # Errors
///
/// Everything that is wrong with the file, in the order of its lines; a question of
/// another session is no error.
pub fn load_questions(
    path: &Path,
    datasets: &[Dataset],
) -> Result<Vec<Question>, Vec<DatasetError>> {
    let mut problems = Vec::new();
    let source = Source::open(path, LoadOptions::default());
    let left = source.and_then(|mut source| read(&mut source, &mut problems));
    let mut left = left.map_err(|error| vec![error])?;
    let mut known = Vec::new();
    for dataset in datasets {
        let ids: BTreeSet<&str> = dataset.sessions.iter().map(|t| t.id.as_str()).collect();
        let own: Vec<Placed> =
            left.extract_if(.., |one| ids.contains(one.question.session.as_str())).collect();
        problems.extend(broken(&dataset.sessions, &own));
        known.extend(own);
    }
    problems.sort_by_key(|problem| problem.line);
    if !problems.is_empty() {
        return Err(problems);
    }
    Ok(known.into_iter().chain(left).map(|one| one.question).collect())
}

/// A question that was read, with its position in the file.
pub(crate) struct Placed {
    pub(crate) question: Question,
    /// Path of its file, as shown in errors.
    pub(crate) file: String,
    /// Line from 1; absent where the file is one document.
    pub(crate) line: Option<u64>,
}

impl Placed {
    fn error(&self, (flaw, remedy): Flaw) -> DatasetError {
        let what = format!("question `{}` {flaw}", excerpt(&self.question.id));
        let problem = Problem::other(what, remedy);
        DatasetError { file: self.file.clone(), line: self.line, problem }
    }
}

/// What makes a question unusable or misleading, behind its name, and what can be done
/// about it.
pub(crate) type Flaw = (String, &'static str);

/// The flaw of a question with the id of an earlier one.
pub(crate) fn repeated_id() -> Flaw {
    let remedy = "give every question an id of its own";
    ("has the same id as an earlier question".to_owned(), remedy)
}

// `questions.jsonl`, described by `datasets/question.schema.json`.

/// A question as it is written in a line.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Question", deny_unknown_fields)]
struct WireQuestion {
    id: String,
    session: String,
    asked_at: MessageIndex,
    kind: QuestionKind,
    question: String,
    #[serde(with = "WireExpectation")]
    expect: Expectation,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    evidence: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    stale: Vec<String>,
}

#[derive(Deserialize)]
struct Line(#[serde(with = "WireQuestion")] Question);

/// An object with exactly one of the three keys.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Expectation", rename_all = "snake_case")]
pub(crate) enum WireExpectation {
    AnyOf(Vec<String>),
    Rubric(Vec<String>),
    #[serde(serialize_with = "write_true", deserialize_with = "need_true")]
    Unanswerable,
}

fn write_true<S: Serializer>(to: S) -> Result<S::Ok, S::Error> {
    true.serialize(to)
}

fn need_true<'de, D: Deserializer<'de>>(from: D) -> Result<(), D::Error> {
    let is_true = bool::deserialize(from)?;
    is_true.then_some(()).ok_or_else(|| D::Error::custom("expected true"))
}

/// Reads every line; problems of lines go into `problems`.
///
/// # Errors
///
/// A problem that keeps the rest of the file from being read: invalid bytes, or
/// a line that is too long.
pub(crate) fn read(
    source: &mut Source<'_>,
    problems: &mut Vec<DatasetError>,
) -> Result<Vec<Placed>, DatasetError> {
    let mut placed = Vec::new();
    let file = source.name().to_owned();
    while let Some((line, text)) = source.next_line()? {
        match parse::<Line>(text) {
            Ok(Line(question)) => {
                placed.push(Placed { question, file: file.clone(), line: Some(line) })
            }
            Err(problem) => problems.push(source.error(Some(line), problem)),
        }
    }
    problems.extend(source.torn_error());
    Ok(placed)
}

/// Writes one question a line.
///
/// # Errors
///
/// If the writer fails.
pub fn write_questions(questions: &[Question], mut writer: impl Write) -> std::io::Result<()> {
    for question in questions {
        WireQuestion::serialize(question, &mut serde_json::Serializer::new(&mut writer))?;
        writer.write_all(b"\n")?;
    }
    writer.flush()
}

// Rules that a question must satisfy to be asked and graded.

/// Positions of a session's messages by id.
pub(super) type Positions<'a> = FxHashMap<&'a str, u32>;

/// Every session by id, with the positions of its messages.
pub(super) fn index(sessions: &[Session]) -> FxHashMap<&str, (&Session, Positions<'_>)> {
    sessions.iter().map(|t| (t.id.as_str(), (t, positions(t)))).collect()
}

fn positions(session: &Session) -> Positions<'_> {
    session.messages.iter().map(|m| m.id.as_str()).zip(0..).collect()
}

/// The problems that keep a data set from loading, question by question.
pub(crate) fn broken(sessions: &[Session], placed: &[Placed]) -> Vec<DatasetError> {
    let index = index(sessions);
    let mut ids = BTreeSet::new();
    let mut problems = Vec::new();
    for one in placed {
        let question = &one.question;
        let mut flaws =
            wording(&question.question, question.kind, &question.expect, &question.stale);
        if !ids.insert(question.id.as_str()) {
            flaws.push(repeated_id());
        }
        match index.get(question.session.as_str()) {
            Some((session, positions)) => {
                flaws.extend(references(question, session, positions));
            }
            None => {
                let session = excerpt(&question.session);
                let what = format!("asks session `{session}`, which the data set does not have");
                flaws.push((what, "write the id of a session of this data set"));
            }
        }
        problems.extend(flaws.into_iter().map(|flaw| one.error(flaw)));
    }
    problems
}

/// Flaws in the texts of a question and its expectation.
pub(crate) fn wording(
    question: &str,
    kind: QuestionKind,
    expect: &Expectation,
    stale: &[String],
) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    if question.trim().is_empty() {
        flaws.push(("has an empty question".to_owned(), "write the question"));
    }
    let unanswerable = *expect == Expectation::Unanswerable;
    if let Expectation::AnyOf(values) | Expectation::Rubric(values) = expect
        && (values.is_empty() || values.iter().any(|value| value.trim().is_empty()))
    {
        let remedy = "write any_of or rubric with a value, or unanswerable: true";
        flaws.push(("expects nothing, or a blank value".to_owned(), remedy));
    }
    if unanswerable != (kind == QuestionKind::Abstain) {
        let what = format!(
            "is of kind {}; only questions of kind abstain, and all of them, are unanswerable",
            kind.as_str()
        );
        flaws.push((what, "make it kind abstain and unanswerable, or neither of both"));
    }
    if !stale.is_empty() {
        let right: FxHashSet<&str> = expect.alternatives().iter().map(String::as_str).collect();
        let meant: FxHashSet<Normal> = right.iter().map(|value| Normal::new(value)).collect();
        let is_meant = |value: &Normal| !value.is_empty() && meant.contains(value);
        let is_right = |value: &str| right.contains(value) || is_meant(&Normal::new(value));
        let stale = stale.iter().filter(|value| is_right(value));
        flaws.extend(stale.map(|value| {
            let what = format!("lists `{}` as right and as stale", excerpt(value));
            (what, "keep the value in any_of or in stale")
        }));
    }
    flaws
}

/// Flaws in the references to its session.
fn references(question: &Question, session: &Session, positions: &Positions<'_>) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    let (asked_at, messages) = (question.asked_at, session.messages.len());
    if asked_at as usize >= messages {
        let what =
            format!("is asked after message {asked_at}, but the session has {messages} (from 0)");
        flaws.push((what, "count messages from 0; the last one asks at the end"));
    }
    let known = "name the ids of messages of that session, each once";
    let mut named = BTreeSet::new();
    for message in &question.evidence {
        let shown = excerpt(message);
        if !named.insert(message) {
            flaws.push((format!("names evidence `{shown}` twice"), known));
            continue;
        }
        match positions.get(message.as_str()) {
            None => {
                let what =
                    format!("names evidence `{shown}`, which is not a message of its session");
                flaws.push((what, known));
            }
            Some(&position) if position > asked_at => {
                let what = format!(
                    "names evidence `{shown}` (position {position}) but is asked after message \
                     {asked_at}"
                );
                flaws.push((what, "ask later, or leave that message out"));
            }
            Some(_) => {}
        }
    }
    flaws
}

// How good the questions of a data set are: every violation at once, and which
// kinds and which parts of the conversations they cover.

/// The result of checking a data set's questions.
#[derive(Debug)]
pub struct QuestionAudit {
    /// Every violation, by file and line.
    pub violations: Vec<DatasetError>,
    /// One row for each kind that occurs, in the order of [`QuestionKind::ALL`].
    pub coverage: Vec<KindCoverage>,
    /// Warnings about the import.
    pub warnings: Vec<String>,
}

/// Coverage of the questions of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindCoverage {
    /// The kind of question.
    pub kind: QuestionKind,
    /// Questions of that kind.
    pub questions: u64,
    /// Questions with evidence in the first, the middle and the last third of the
    /// conversation's messages; one whose evidence is spread counts in each.
    pub thirds: [u64; 3],
    /// Questions that name no evidence.
    pub without_evidence: u64,
    /// Questions with alternatives and evidence that could be searched for them.
    pub searched: u64,
    /// Those among them whose evidence contains one of the alternatives.
    pub said: u64,
}

/// Checks every question of `input`, including those that keep it from loading.
///
/// # Errors
///
/// The problems of the sessions.
pub fn audit_questions(input: &Path, options: &LoadOptions) -> Result<QuestionAudit, DatasetError> {
    let mut gathered = Gathered::new(*options);
    let name = read_into(&mut gathered, input)?;
    let dataset = gathered.dataset(&name)?;
    let mut audit = of_placed(&dataset.sessions, &gathered.questions);
    audit.warnings = dataset.warnings;
    audit.violations.extend(gathered.problems);
    audit.sort();
    Ok(audit)
}

/// Checks the questions of a file, as [`write_questions`] writes them, on the sessions of data
/// sets, whose own questions they replace.
///
/// # Errors
///
/// The file cannot be read.
pub fn audit_file(path: &Path, datasets: &mut [Dataset]) -> Result<QuestionAudit, DatasetError> {
    let mut problems = Vec::new();
    let placed = read(&mut Source::open(path, LoadOptions::default())?, &mut problems)?;
    let sessions: Vec<Session> =
        datasets.iter().flat_map(|dataset| dataset.sessions.iter().cloned()).collect();
    let mut audit = of_placed(&sessions, &placed);
    audit.violations.extend(broken(&sessions, &placed).into_iter().chain(problems));
    audit.sort();
    for dataset in datasets {
        let is_own = |one: &&Placed| dataset.sessions.iter().any(|s| s.id == one.question.session);
        let own = placed.iter().filter(is_own).map(|one| one.question.clone());
        dataset.questions = own.collect();
    }
    Ok(audit)
}

impl QuestionAudit {
    /// Checks the questions of a data set that was loaded.
    pub fn of(dataset: &Dataset) -> QuestionAudit {
        let file = &dataset.name;
        let place = |question: &Question| Placed {
            question: question.clone(),
            file: file.clone(),
            line: None,
        };
        let placed: Vec<Placed> = dataset.questions.iter().map(place).collect();
        of_placed(&dataset.sessions, &placed)
    }

    /// Number of questions that were checked.
    pub fn questions(&self) -> u64 {
        self.coverage.iter().map(|row| row.questions).sum()
    }

    /// Kinds that do not occur.
    pub fn uncovered(&self) -> Vec<QuestionKind> {
        let covered = |kind: &QuestionKind| self.coverage.iter().any(|row| row.kind == *kind);
        QuestionKind::ALL.iter().copied().filter(|kind| !covered(kind)).collect()
    }

    fn sort(&mut self) {
        // Violations of one line keep the order in which they were found.
        self.violations.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    }
}

fn of_placed(sessions: &[Session], placed: &[Placed]) -> QuestionAudit {
    let index = index(sessions);
    let mut violations = repeated(placed);
    let mut rows: BTreeMap<QuestionKind, KindCoverage> = BTreeMap::new();
    for one in placed {
        let question = &one.question;
        let row = rows.entry(question.kind).or_insert_with(|| KindCoverage::of(question.kind));
        row.questions += 1;
        violations.extend(given_away(question).map(|flaw| one.error(flaw)));
        let known = index.get(question.session.as_str());
        let (found, stated) = known.map_or((Vec::new(), None), |(session, positions)| {
            let found = evidence(question, positions);
            let stated = is_stated(question, session, &found);
            row.count(&found, session.messages.len());
            (found, stated)
        });
        row.without_evidence += u64::from(found.is_empty());
        row.searched += u64::from(stated.is_some());
        row.said += u64::from(stated == Some(true));
        if stated == Some(false) && question.kind.is_stated() {
            violations.push(one.error(not_in_evidence(question)));
        }
    }
    let coverage = rows.into_values().collect();
    let mut audit = QuestionAudit { violations, coverage, warnings: Vec::new() };
    audit.sort();
    audit
}

/// Questions that are asked twice, at the same point of the same session.
fn repeated(placed: &[Placed]) -> Vec<DatasetError> {
    let mut first_at: FxHashMap<(&str, u32, Normal), &str> = FxHashMap::default();
    let mut found = Vec::new();
    for one in placed {
        let question = &one.question;
        let words = Normal::new(&question.question);
        if words.is_empty() {
            continue;
        }
        match first_at.entry((&question.session, question.asked_at, words)) {
            Entry::Occupied(first) => {
                let first = excerpt(first.get());
                let what = format!("asks what question `{first}` asks at the same point");
                found.push(one.error((what, "drop one of the two, or ask at another point")));
            }
            Entry::Vacant(free) => _ = free.insert(&question.id),
        }
    }
    found
}

impl KindCoverage {
    fn of(kind: QuestionKind) -> KindCoverage {
        let (questions, thirds, without_evidence, searched, said) = (0, [0; 3], 0, 0, 0);
        KindCoverage { kind, questions, thirds, without_evidence, searched, said }
    }

    fn count(&mut self, evidence: &[u32], messages: usize) {
        let third = |position: u32| position as usize * 3 / messages;
        for (n, count) in self.thirds.iter_mut().enumerate() {
            *count += u64::from(evidence.iter().any(|&position| third(position) == n));
        }
    }
}

/// Positions of the evidence messages that exist.
fn evidence(question: &Question, positions: &Positions<'_>) -> Vec<u32> {
    question.evidence.iter().filter_map(|id| positions.get(id.as_str()).copied()).collect()
}

/// Whether the evidence contains one of the alternatives; `None` where there is
/// nothing to look for or to look in, and for yes and no, which are not quoted.
fn is_stated(question: &Question, session: &Session, evidence: &[u32]) -> Option<bool> {
    let values = question.expect.alternatives();
    if values.is_empty() || evidence.is_empty() || values.iter().any(|v| is_yes_or_no(v)) {
        return None;
    }
    let texts = evidence.iter().map(|&at| session.messages[at as usize].sent());
    let text = texts.collect::<Vec<_>>().join("\n");
    let normal = Normal::new(&text);
    Some(values.iter().any(|value| states(&text, &normal, value)))
}

/// Whether `text` contains `value`; a value of punctuation alone must match exactly.
fn states(text: &str, normal: &Normal, value: &str) -> bool {
    let value_normal = Normal::new(value);
    if value_normal.is_empty() {
        !value.trim().is_empty() && text.contains(value.trim())
    } else {
        normal.contains(&value_normal)
    }
}

fn is_yes_or_no(value: &str) -> bool {
    matches!(Normal::new(value).as_str(), "yes" | "no")
}

fn given_away(question: &Question) -> Option<Flaw> {
    let words = Normal::new(&question.question);
    let mut values = question.expect.alternatives().iter();
    let given =
        values.find(|value| !is_yes_or_no(value) && states(&question.question, &words, value))?;
    let what = format!("gives its answer `{}` away in the question", excerpt(given));
    Some((what, "put the question without the answer"))
}

fn not_in_evidence(question: &Question) -> Flaw {
    let quoted = question.expect.alternatives().iter().map(|value| format!("`{}`", excerpt(value)));
    let expected = quoted.collect::<Vec<_>>().join(" or ");
    let remedy = "name the message that says it, or add the alternative that the message uses";
    (format!("expects {expected}, but its evidence contains none of it"), remedy)
}
