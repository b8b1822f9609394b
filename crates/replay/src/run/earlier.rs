//! The results of an interrupted run that a resumed run reuses.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::record::{CutKey, RunRecord, cut_key};
use recap_core::model::{
    CallRow, Cell, CellKey, CellOutcome, CompactionRow, Cut, CutOutcome, CutRow, Judgement,
    LatencySource, Manifest, QuestionRow, Verdict,
};

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
    match &cell.outcome {
        CellOutcome::Done(rows) => offline || all_came(&rows.compactions, &rows.questions),
        CellOutcome::Failed { .. } => false,
    }
}

fn is_examined(cut: &Cut, offline: bool) -> bool {
    let done = |row: &CutRow| match &row.outcome {
        CutOutcome::Done(exam) => offline || exam.unchecked == 0 && all_came(&[], &exam.questions),
        CutOutcome::Failed { .. } => false,
    };
    cut.rows.iter().all(done)
}

/// Whether a model gave every answer and every grade. A refused request is made
/// again; its stored reply makes it free.
fn all_came(compactions: &[CompactionRow], questions: &[QuestionRow]) -> bool {
    let mut judgements = questions.iter().flat_map(|row| {
        let recovered = row.recovered.iter().map(|recovered| &recovered.answered);
        recovered.chain(&row.answered).map(|answered| &answered.judgement)
    });
    let awaits = |judgement: &Judgement| match &judgement.verdict {
        Verdict::Unscored(why) => why.awaits_reply(),
        _ => false,
    };
    compactions.iter().all(|row| row.error.is_none()) && !judgements.any(awaits)
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
    let names = names.into_iter().filter(|name| *name != "warnings");
    let differs = names.filter(|name| there.get(*name) != here.get(*name));
    let difference = |name: &String| {
        let value = |of: &serde_json::Map<String, Value>| match of.get(name) {
            None => "absent".to_owned(),
            Some(value) => value.to_string(),
        };
        let (there, here) = (value(&there), value(&here));
        match there.len().max(here.len()) {
            0..=SHORT => format!("{name} ({there} there, {here} here)"),
            _ => name.clone(),
        }
    };
    differs.map(difference).collect()
}
