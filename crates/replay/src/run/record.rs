//! What a run left, and reading it from its folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::folder::{FolderError, GATE, MANIFEST, TEXTS, io};
use super::journal::{self, JOURNAL, Journal, Line, Text};
use super::pool::Finished;
use super::texts::each_text;
use recap_core::model::{
    CallRow, Cell, CellKey, CellRows, CompactionRow, Cut, CutExam, Gate, GradedAnswer, INSTRUMENT,
    LatencySource, Manifest, QuestionRow, RunResults, SessionFacts, Verdict,
};
use recap_core::text::json_error;

/// [`Cut::key`] that owns its words.
pub(super) type CutKey = (String, String, u32, bool);

/// The key of a cut.
fn cut_key(cut: &Cut) -> CutKey {
    let (dataset, session, request, recorded) = cut.key();
    (dataset.to_owned(), session.to_owned(), request, recorded)
}

/// Everything that a finished or interrupted run left.
#[derive(Debug)]
pub struct RunRecord {
    /// The inputs and settings of the run.
    pub manifest: Manifest,
    /// Facts of the run's sessions.
    pub sessions: Vec<SessionFacts>,
    /// Cells that finished or failed, and cuts that were examined.
    pub results: RunResults,
    /// Calls of real models.
    pub calls: Vec<CallRow>,
    /// Findings of the run's gate, if it had one.
    pub gate: Option<Gate>,
    /// Texts by hash; empty if they were left out on purpose.
    pub texts: BTreeMap<String, String>,
    /// The journal as it was read; empty if it was not.
    pub(super) journal: Journal,
}

impl RunRecord {
    /// A run that has just ended, before any gate.
    pub fn new(manifest: Manifest, finished: Finished) -> Self {
        let Finished { sessions, results, calls, texts } = finished;
        let (gate, journal) = (None, Journal::default());
        Self { manifest, sessions, results, calls, gate, texts, journal }
    }

    /// Reads a run folder. An incomplete last line of the journal (the run was
    /// killed) is ignored; the lines before it count. If a cell is there twice,
    /// the last one counts.
    ///
    /// # Errors
    /// A file is missing or has another format than a run writes, or another
    /// version of the instrument wrote it.
    pub fn read(path: &Path) -> Result<Self, FolderError> {
        let mut loaded = Self::without_texts(path)?;
        let file = path.join(TEXTS);
        if file.exists() {
            each_text(&file, |text, _| drop(loaded.texts.insert(text.hash, text.text)))?;
        }
        Ok(loaded)
    }

    /// The same without the texts that are in a file of their own.
    ///
    /// # Errors
    /// As for [`RunRecord::read`].
    pub fn without_texts(path: &Path) -> Result<Self, FolderError> {
        let manifest = Self::manifest(path)?;
        let (mut sessions, mut calls, mut texts) = (Vec::new(), Vec::new(), BTreeMap::new());
        let mut results = RunResults::default();
        let journal = journal::read(&path.join(JOURNAL), |line| match line {
            Line::Session(facts) => sessions.push(*facts),
            Line::Cell(cell) => results.add_cell(cell.rest),
            Line::Cut(cut) => results.add_cut(cut),
            Line::Call(call) => calls.push(call),
            Line::Text(Text { hash, text }) => drop(texts.insert(hash, text)),
            Line::Requests(_) | Line::Bill(_) => {}
        })?;
        results.close();
        let calls = with_calls(Vec::new(), calls);
        let file = path.join(GATE);
        let gate =
            if file.exists() { Some(fs::read_to_string(&file).map_err(io(&file))?) } else { None };
        let gate = gate.map(|gate| parsed(file, &gate)).transpose()?;
        Ok(Self { manifest, sessions, results, calls, gate, texts, journal })
    }

    /// Reads the manifest of a run alone.
    ///
    /// # Errors
    /// As for [`RunRecord::read`].
    pub fn manifest(path: &Path) -> Result<Manifest, FolderError> {
        let path = path.join(MANIFEST);
        let text = fs::read_to_string(&path).map_err(io(&path))?;
        // Rows and figures of another version have another meaning, and its manifest other fields.
        let version =
            serde_json::from_str(&text).ok().and_then(|m: Value| m["instrument"].as_u64());
        if let Some(instrument) = version.filter(|version| *version != u64::from(INSTRUMENT)) {
            return Err(FolderError::Instrument { path, instrument });
        }
        let manifest: Manifest = parsed(path.clone(), &text)?;
        if manifest.planned.count() > MOST_CELLS {
            let problem = format!("it plans more than {MOST_CELLS} cells");
            return Err(FolderError::Line { path, line: 1, problem });
        }
        Ok(manifest)
    }
}

/// Largest number of cells in a plan. Missing cells are listed one by one, and
/// a short manifest could otherwise plan any number of them.
const MOST_CELLS: u64 = 2_000_000;

/// Parses the text of a JSON file.
fn parsed<T: for<'de> Deserialize<'de>>(path: PathBuf, text: &str) -> Result<T, FolderError> {
    serde_json::from_str(text).map_err(|e| FolderError::Line {
        path,
        line: e.line(),
        problem: json_error(&e.to_string()),
    })
}

// The results of an interrupted run that a resumed run reuses.

/// What is taken over. What failed is not: it is tried again.
#[derive(Debug, Default)]
pub(super) struct Earlier {
    /// Data set and id of each session whose facts are in the journal.
    pub sessions: BTreeSet<(String, String)>,
    pub cells: BTreeMap<CellKey, Cell>,
    pub cuts: BTreeMap<CutKey, Cut>,
    pub calls: Vec<CallRow>,
    pub texts: BTreeMap<String, String>,
}

impl Earlier {
    /// The reusable results of an interrupted run, and its manifest.
    pub fn of(there: RunRecord) -> (Self, Manifest) {
        let RunRecord { manifest, sessions, results, calls, texts, .. } = there;
        let (mut cells, mut cuts) = results.into_lists();
        let offline = manifest.is_offline();
        cells.retain(|cell| is_done(cell, offline));
        cuts.retain(|cut| is_examined(cut, offline));
        let earlier = Self {
            sessions: sessions.into_iter().map(|f| (f.dataset, f.session)).collect(),
            cells: cells.into_iter().map(|cell| (cell.key.clone(), cell)).collect(),
            cuts: cuts.into_iter().map(|cut| (cut_key(&cut), cut)).collect(),
            calls,
            texts,
        };
        (earlier, manifest)
    }

    /// The calls of both runs.
    pub fn with_calls(&mut self, made: Vec<CallRow>) -> Vec<CallRow> {
        with_calls(std::mem::take(&mut self.calls), made)
    }
}

/// The calls of several runs in one folder. A call that an earlier run listed,
/// and whose reply a later one read from the stored replies, is one call; one that
/// brought no reply, and so has no time, was made anew.
pub(super) fn with_calls(mut calls: Vec<CallRow>, made: Vec<CallRow>) -> Vec<CallRow> {
    let mut noted: BTreeMap<String, usize> =
        (0..).zip(&calls).map(|(at, call)| (call.key.clone(), at)).collect();
    for call in made {
        let known = noted.get(&call.key).map(|at| &mut calls[*at]);
        let stored = call.source == LatencySource::Recorded || call.timing.total_ms > 0.0;
        let same = |k: &&mut CallRow| (k.outcome, k.timing) == (call.outcome, call.timing);
        match known.filter(|known| stored && same(known)) {
            Some(known) => known.role = known.role.min(call.role),
            None => {
                noted.insert(call.key.clone(), calls.len());
                calls.push(call);
            }
        }
    }
    calls
}

impl RunRecord {
    /// Whether a resumed run has nothing to try again.
    pub fn is_answered(&self) -> bool {
        let came = |cell| is_done(&cell, false);
        self.manifest.is_offline()
            || self.results.cells().all(came)
                && self.results.cuts().all(|cut| is_examined(&cut, false))
    }
}

fn is_done(cell: &Cell, offline: bool) -> bool {
    let all_came = |rows: &CellRows| offline || all_came(&rows.compactions, &rows.questions);
    cell.rows().is_some_and(all_came)
}

fn is_examined(cut: &Cut, offline: bool) -> bool {
    let all_came =
        |exam: &CutExam| offline || exam.unchecked == 0 && all_came(&[], &exam.questions);
    cut.rows.iter().all(|row| row.exam().is_some_and(all_came))
}

/// Whether a model gave every answer and every grade. A refused request is made
/// again; its stored reply makes it free.
fn all_came(compactions: &[CompactionRow], questions: &[QuestionRow]) -> bool {
    let mut answers = questions.iter().flat_map(QuestionRow::graded);
    let awaits = |answered: &GradedAnswer| match &answered.judgement.verdict {
        Verdict::Unscored(why) => why.awaits_reply(),
        _ => false,
    };
    compactions.iter().all(|row| row.error.is_none()) && !answers.any(awaits)
}

/// Length in characters of the longest value that a message quotes.
const SHORT: usize = 40;

/// The differences between two manifests that change results, each with both
/// values if they are short. Warnings are not compared.
pub fn unlike(there: &Manifest, here: &Manifest) -> Vec<String> {
    let fields = |manifest: &Manifest| match serde_json::to_value(manifest) {
        Ok(Value::Object(fields)) => fields,
        _ => unreachable!("a manifest is an object"),
    };
    let (there, here) = (fields(there), fields(here));
    let names: BTreeSet<&String> = there.keys().chain(here.keys()).collect();
    let mut differences = Vec::new();
    for name in names {
        let (there, here) = (there.get(name), here.get(name));
        if name == "warnings" || there == here {
            continue;
        }
        let [there, here] =
            [there, here].map(|value| value.map_or_else(|| "absent".to_owned(), Value::to_string));
        differences.push(if there.len().max(here.len()) <= SHORT {
            format!("{name} ({there} there, {here} here)")
        } else {
            name.clone()
        });
    }
    differences
}
