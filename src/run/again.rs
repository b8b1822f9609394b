//! Puts the stored answers of a run to another judge. Neither the data set nor
//! the answerer is needed: the journal holds questions, expectations and answers.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};

use crate::model::{Answer, Cell, CellOutcome, Judgement, ProbeFacts, ProbeRow, TranscriptFacts};
use crate::seats::judge::{Grading, Judge};

/// A question, by the positions of its transcript and of itself, and what was
/// answered to it.
type Place = (usize, u32, String);

/// Grades every answer anew, the same answer to a probe once; at most `at_once`
/// are asked for at a time. Where no answer came, there is nothing to grade and
/// the row stays as it is, as does one that belongs to none of the transcripts.
pub async fn judge_again(
    transcripts: &[TranscriptFacts],
    cells: &mut [Cell],
    judge: &dyn Judge,
    at_once: usize,
) {
    let known: BTreeMap<(&str, &str), usize> = (transcripts.iter().enumerate())
        .map(|(at, facts)| ((facts.dataset.as_str(), facts.transcript.as_str()), at))
        .collect();
    let transcript = |cell: &Cell| {
        known.get(&(cell.key.dataset.as_str(), cell.key.transcript.as_str())).copied()
    };
    let of_cell = |cell: &Cell| -> Vec<Place> {
        let rows = transcript(cell).zip(cell.rows());
        let places = rows.map(|(at, rows)| rows.probes.iter().filter_map(move |r| place(at, r)));
        places.into_iter().flatten().collect()
    };
    let distinct: BTreeSet<Place> = cells.iter().flat_map(of_cell).collect();
    let asked = distinct.into_iter().filter_map(|place| {
        let facts = transcripts[place.0].probes.get(place.1 as usize)?;
        Some(one(judge, facts, place))
    });
    let graded: BTreeMap<Place, Judgement> =
        stream::iter(asked).buffer_unordered(at_once.max(1)).collect().await;
    for cell in cells {
        let Some(at) = transcript(cell) else { continue };
        let CellOutcome::Done(rows) = &mut cell.outcome else { continue };
        for row in &mut rows.probes {
            if let Some(judgement) = place(at, row).and_then(|place| graded.get(&place)) {
                row.judgement = judgement.clone();
            }
        }
    }
}

fn place(transcript: usize, row: &ProbeRow) -> Option<Place> {
    match &row.answer {
        Answer::Said(text) => Some((transcript, row.probe, text.clone())),
        Answer::Nothing(_) => None,
    }
}

async fn one(judge: &dyn Judge, facts: &ProbeFacts, place: Place) -> (Place, Judgement) {
    let probe = &facts.probe;
    let grading = Grading {
        question: &probe.question,
        kind: probe.kind,
        expect: &probe.expect,
        stale: &probe.stale,
        answer: &place.2,
    };
    let judgement = judge.grade(&grading).await;
    (place, judgement)
}
