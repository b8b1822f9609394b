//! A run to share: what was asked, expected and answered is left out, what was
//! measured stays. No measure reads these words, so the figures are the same.

use crate::model::{Answer, Cell, CellOutcome, Expectation, TranscriptFacts};
use crate::strategy::ITS_WORDS;

/// Facts without questions, expected and stale values. Which kind of answer is
/// expected stays.
pub fn facts(mut facts: TranscriptFacts) -> TranscriptFacts {
    for asked in &mut facts.probes {
        let probe = &mut asked.probe;
        probe.question.clear();
        probe.stale.clear();
        match &mut probe.expect {
            Expectation::AnyOf(values) | Expectation::Rubric(values) => values.clear(),
            Expectation::Unanswerable => {}
        }
    }
    facts
}

/// A cell without answers, without the judge's sentences, which quote them, and
/// without what a failed program said.
pub fn cell(mut cell: Cell) -> Cell {
    if let CellOutcome::Done(rows) = &mut cell.outcome {
        for row in &mut rows.probes {
            row.judgement.rationale.clear();
            if let Answer::Said(text) = &mut row.answer {
                text.clear();
            }
        }
    }
    if let CellOutcome::Failed { error } = &mut cell.outcome
        && let Some(at) = error.find(ITS_WORDS)
    {
        error.truncate(at);
    }
    cell
}
