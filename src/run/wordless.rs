//! Prepares a run for sharing: questions, expectations and answers are removed,
//! measurements stay. No measure reads these texts, so the figures do not
//! change.

use crate::model::{
    Answer, Cell, CellOutcome, Cut, CutOutcome, Expectation, Judgement, NoGrade, TranscriptFacts,
    Verdict,
};
use crate::strategy::ITS_WORDS;

/// Removes questions, expected and stale values from facts. The kind of the
/// expected answer stays.
pub(super) fn facts(mut facts: TranscriptFacts) -> TranscriptFacts {
    for asked in facts.probes.iter_mut().chain(&mut facts.cut_questions) {
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

/// Removes answers from a cell, and the judges' sentences, which quote them.
pub(super) fn cell(mut cell: Cell) -> Cell {
    if let CellOutcome::Failed { error } = &mut cell.outcome {
        in_our_words(error);
    }
    if let CellOutcome::Done(rows) = &mut cell.outcome {
        for row in &mut rows.probes {
            silence(&mut row.answer, &mut row.judgement);
            if let Some(recovered) = &mut row.recovered {
                silence(&mut recovered.answer, &mut recovered.judgement);
            }
        }
    }
    cell
}

/// Removes answers and the judges' sentences from a cut.
pub(super) fn cut(mut cut: Cut) -> Cut {
    for row in &mut cut.rows {
        match &mut row.outcome {
            CutOutcome::Failed { error } => in_our_words(error),
            CutOutcome::Done(exam) => {
                for probe in &mut exam.probes {
                    silence(&mut probe.answer, &mut probe.judgement);
                }
            }
        }
    }
    cut
}

fn silence(answer: &mut Answer, judgement: &mut Judgement) {
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

    #[test]
    fn a_reason_keeps_our_words_and_loses_those_of_the_provider() {
        for (told, kept) in [
            (
                "not answered: the provider answered 400, bad request: no such field: secret",
                "not answered: the provider answered 400, bad request",
            ),
            ("the provider answered 503, overloaded", "the provider answered 503, overloaded"),
            ("it ended without an answer; its words: secret", "it ended without an answer"),
            ("the reply was cut off at 120 tokens", "the reply was cut off at 120 tokens"),
        ] {
            let mut why = told.to_owned();
            in_our_words(&mut why);
            assert_eq!(why, kept);
        }
    }
}
