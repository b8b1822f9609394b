//! Grades the stored answers of a run with another judge. This needs neither
//! the data set nor the answerer: the journal contains questions, expectations
//! and answers.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{StreamExt, stream};

use recap_core::model::{
    Answer, Cell, CellOutcome, Cut, CutOutcome, Judgement, QuestionFacts, QuestionRow, SessionFacts,
};
use recap_exam::roles::judge::{Grading, Judge};

/// An answer to a question: position of the session, position of the question,
/// text of the answer.
type AnswerKey = (usize, u32, String);

/// Grades every answer again; the same answer to a question is graded once. At
/// most `at_once` answers are graded at a time. A row without an answer, or of
/// a session that is not listed, stays as it is.
pub async fn judge_again(
    sessions: &[SessionFacts],
    (cells, cuts): (&mut [Cell], &mut [Cut]),
    judge: &dyn Judge,
    at_once: usize,
) {
    let known: BTreeMap<(&str, &str), usize> = (sessions.iter().enumerate())
        .map(|(at, facts)| ((facts.dataset.as_str(), facts.session.as_str()), at))
        .collect();
    let mut rows: Vec<(usize, &mut QuestionRow)> = Vec::new();
    for cell in cells {
        let at = known.get(&(cell.key.dataset.as_str(), cell.key.session.as_str()));
        if let (Some(at), CellOutcome::Done(done)) = (at, &mut cell.outcome) {
            rows.extend(done.questions.iter_mut().map(|row| (*at, row)));
        }
    }
    for cut in cuts {
        let at = known.get(&(cut.dataset.as_str(), cut.session.as_str()));
        let done = cut.rows.iter_mut().filter_map(|row| match &mut row.outcome {
            CutOutcome::Done(exam) => Some(exam),
            CutOutcome::Failed { .. } => None,
        });
        if let Some(at) = at {
            rows.extend(done.flat_map(|exam| &mut exam.questions).map(|row| (*at, row)));
        }
    }
    let distinct: BTreeSet<AnswerKey> =
        rows.iter().flat_map(|(at, row)| places(*at, row)).collect();
    let asked = distinct.into_iter().filter_map(|place| {
        let facts = sessions[place.0].question(place.1)?;
        Some(one(judge, facts, place))
    });
    let graded: BTreeMap<AnswerKey, Judgement> =
        stream::iter(asked).buffer_unordered(at_once.max(1)).collect().await;
    for (at, row) in rows {
        let recovered = row.recovered.iter_mut().map(|recovered| &mut recovered.answered);
        for answered in row.answered.iter_mut().chain(recovered) {
            let known = place(at, row.question, &answered.answer);
            if let Some(judgement) = known.and_then(|key| graded.get(&key)) {
                answered.judgement = judgement.clone();
            }
        }
    }
}

/// The answers to a question, with and without a recovery channel.
fn places(session: usize, row: &QuestionRow) -> impl Iterator<Item = AnswerKey> {
    let recovered = row.recovered.iter().map(|recovered| &recovered.answered);
    let answered = recovered.chain(&row.answered);
    answered.filter_map(move |answered| place(session, row.question, &answered.answer))
}

fn place(session: usize, question: u32, answer: &Answer) -> Option<AnswerKey> {
    match answer {
        Answer::Said(text) => Some((session, question, text.clone())),
        Answer::Nothing(_) => None,
    }
}

async fn one(judge: &dyn Judge, facts: &QuestionFacts, place: AnswerKey) -> (AnswerKey, Judgement) {
    let question = &facts.question;
    let grading = Grading {
        question: &question.question,
        kind: question.kind,
        expect: &question.expect,
        stale: &question.stale,
        answer: &place.2,
    };
    let judgement = judge.grade(&grading).await;
    (place, judgement)
}
