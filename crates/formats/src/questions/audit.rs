//! How good the questions of a data set are: every violation at once, and which
//! kinds and which parts of the conversations they cover.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::check::{Positions, index};
use super::{Placed, QuestionFlaw};
use crate::error::DatasetError;
use crate::load::gather;
use crate::{Dataset, LoadOptions};
use recap_core::model::{Question, QuestionKind, Session};
use recap_core::text::{Normal, excerpt};

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
    let gathered = gather(input, options)?;
    let mut audit = of_placed(&gathered.dataset.sessions, &gathered.questions);
    audit.warnings = gathered.dataset.warnings;
    audit.violations.extend(gathered.problems);
    audit.sort();
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
        QuestionKind::ALL.into_iter().filter(|kind| !covered(kind)).collect()
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
                let first = (*first.get()).to_owned();
                found.push(one.error(QuestionFlaw::RepeatedQuestion { first }));
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

fn given_away(question: &Question) -> Option<QuestionFlaw> {
    let words = Normal::new(&question.question);
    let mut values = question.expect.alternatives().iter();
    let given =
        values.find(|value| !is_yes_or_no(value) && states(&question.question, &words, value))?;
    Some(QuestionFlaw::GivenAway { answer: given.clone() })
}

fn not_in_evidence(question: &Question) -> QuestionFlaw {
    let quoted = question.expect.alternatives().iter().map(|value| format!("`{}`", excerpt(value)));
    QuestionFlaw::NotInEvidence { expected: quoted.collect::<Vec<_>>().join(" or ") }
}
