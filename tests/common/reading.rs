//! What the offline reader is right about, as the strict offline judge has it:
//! every question of a data set, asked of all that was said so far and of the
//! messages around the evidence alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use recap_core::model::{Question, QuestionKind, Role, Session, Verdict};
use recap_core::tokens::Counter;
use recap_exam::roles::answerer::{AnswerContext, Answerer, Offline, Passage};
use recap_exam::roles::judge::{Grading, Offline as Judge};
use recap_formats::Dataset;

/// Messages on either side of the evidence.
const AROUND: usize = 2;

fn shown(session: &Session, question: &Question, full: bool) -> AnswerContext {
    let until = session.messages.len().min(question.asked_at as usize + 1);
    let place = |id: &String| session.messages.iter().position(|m| m.id == *id);
    let evidence: Vec<usize> = question.evidence.iter().filter_map(place).collect();
    let near = |at: usize| evidence.iter().any(|place| at.abs_diff(*place) <= AROUND);
    let preamble = Passage { role: Role::System, at: None, text: session.preamble.sent().into() };
    let messages = session.messages[..until].iter().enumerate();
    let kept = messages.filter(|(at, _)| full || near(*at)).map(|(_, m)| m);
    let passage =
        |m: &recap_core::model::Message| Passage { role: m.role, at: m.at, text: m.sent().into() };
    let now = session.messages[..until].iter().rev().find_map(|m| m.at);
    AnswerContext { passages: [preamble].into_iter().chain(kept.map(passage)).collect(), now }
}

/// How questions of a kind were answered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Row {
    /// Questions.
    pub n: f64,
    /// The sum of their scores.
    pub score: f64,
    /// How many got no answer.
    pub silent: f64,
}

/// By what was shown (all, or the evidence alone), whether they were held out, and kind.
pub type Rows = BTreeMap<(bool, bool, QuestionKind), Row>;

/// Puts every question of a data set to the offline reader, both ways.
pub fn measured(dataset: &Dataset) -> Rows {
    let reader = Offline::new(Arc::new(Counter::default()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut rows = Rows::new();
    for (number, question) in dataset.questions.iter().enumerate() {
        let session = dataset.sessions.iter().find(|t| t.id == question.session).unwrap();
        for full in [true, false] {
            let shown = shown(session, question, full);
            let answers = runtime.block_on(reader.answer(&shown, &[&question.question]));
            let answer = answers.into_iter().next().unwrap().unwrap();
            let judged = Judge.judge(&Grading {
                question: &question.question,
                kind: question.kind,
                expect: &question.expect,
                stale: &question.stale,
                answer: &answer,
            });
            let Some(score) = judged.score else { continue };
            let row = rows.entry((full, number % 2 == 1, question.kind)).or_default();
            row.n += 1.0;
            row.score += score;
            row.silent += f64::from(u8::from(judged.verdict == Verdict::Abstained));
        }
    }
    rows
}
