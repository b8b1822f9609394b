//! A model as author of questions: it reads the session from cut to cut and
//! writes questions, of which those stay that hold up.
//!
//! A question stays if its answer stands in its evidence, if it is not answered
//! without the conversation, and if it is answered right twice with the whole
//! conversation. So a wrong question of the model costs two calls and is gone.

mod reply;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::future::join_all;

use self::reply::Proposal;
use super::choose::{self, choose};
use super::context::{passages, preamble};
use super::draft::Draft;
use super::view::View;
use crate::facts::CutPlace;
use crate::roles::answerer::{Answerer, Llm as AnsweringModel};
use crate::roles::ask::{self, ModelClient};
use crate::roles::fence::Fence;
use crate::roles::judge::{Grading, Judge, Llm as JudgingModel};
use recap_core::model::{
    Message, MessageIndex, ModelRole, Question, QuestionKind, RIGHT, Role, Session,
};
use recap_core::text::Normal;
use recap_llm::{Llm, ModelRequest, Schema};

/// Version of the prompt: questions of different versions are not compared.
pub const QUESTION_PROMPT: u32 = 1;

const PROMPT: &str = include_str!("prompt.md");

/// Most questions that are asked for in one call.
const MOST: usize = 8;
/// Largest length of a reply in tokens: a question with its answer and evidence
/// takes about a hundred.
const REPLY_TOKENS: u64 = 1_600;
/// Typical length of a reply in tokens, to estimate the cost.
pub const TYPICAL_QUESTIONS_TOKENS: u64 = 800;
/// Characters of a message that are read at its beginning and at its end.
const READ: [usize; 2] = [3_000, 1_000];
/// Characters of one call, and most calls for the part between two cuts.
const A_CALL: usize = 60_000;
const CALLS: usize = 3;

/// What an author asked, and why other questions were left out.
#[derive(Debug, Default)]
pub struct Written {
    /// The questions that stay.
    pub questions: Vec<Question>,
    /// Number of questions that were left out, and of calls without a usable
    /// reply, by reason.
    pub left_out: BTreeMap<String, u64>,
}

/// A model that writes questions, and answers and grades them to test them.
pub struct Author {
    llm: Arc<dyn Llm>,
    answerers: [AnsweringModel; 2],
    judge: JudgingModel,
}

impl Author {
    /// An author that calls the model behind `llm`.
    pub fn new(llm: &Arc<dyn Llm>) -> Author {
        let answerer = |n| AnsweringModel::new(Arc::clone(llm)).repeated(n);
        Author {
            llm: Arc::clone(llm),
            answerers: [answerer(0), answerer(1)],
            judge: JudgingModel::new(Arc::clone(llm)),
        }
    }

    /// The questions at these places, by place.
    pub async fn write(&self, session: &Session, places: &[CutPlace]) -> Written {
        let mut written = Written::default();
        for (place, parts) in stretches(session, places) {
            self.write_at(session, place, &parts, &mut written).await;
        }
        written
    }

    /// The questions at a place, about the parts before it. One call is made at
    /// a time: each may read its prompt from the cache that the one before it
    /// wrote.
    async fn write_at(
        &self,
        session: &Session,
        place: &CutPlace,
        parts: &[Vec<MessageIndex>],
        written: &mut Written,
    ) {
        let view = View::new(session, &[], place);
        let mut drafts: Vec<Draft> = Vec::new();
        for part in parts {
            match self.propose(session, part).await {
                Ok(proposals) => {
                    proposals.into_iter().for_each(|p| written.take(p, &view, &mut drafts));
                }
                Err(why) => written.leave_out(&format!("no usable reply: {why}")),
            }
        }
        let sound = self.tested(session, place, drafts, written).await;
        written.questions.extend(choose(&view, place, by_role(session, sound), &[]));
    }

    /// Makes the calls that [`Author::write`] would make if every question were
    /// good, to count them.
    pub async fn rehearse(&self, session: &Session, places: &[CutPlace]) {
        for (place, parts) in stretches(session, places) {
            for part in &parts {
                // A rehearsal has no reply; the call is counted.
                _ = self.propose(session, part).await;
            }
            let question = |n: usize| {
                let question =
                    format!("Which of the {n} files did the agent change last, and why?");
                Draft::new(QuestionKind::Fact, question, ["a value of it".to_owned()], [place.from])
            };
            let drafts = (0..MOST * parts.len()).map(question).collect();
            self.tested(session, place, drafts, &mut Written::default()).await;
        }
    }

    async fn propose(
        &self,
        session: &Session,
        part: &[MessageIndex],
    ) -> Result<Vec<Proposal>, String> {
        let line = ModelClient { llm: &*self.llm, role: ModelRole::Author, replicate: 0 };
        let read = |said: ask::ReplyText<'_>| reply::read(said.text);
        line.ask(asked(session, part), read, |_, _| {}).await.map_err(|why| why.to_string())
    }

    /// The questions that are not answered without the conversation, and twice
    /// with all of it.
    async fn tested(
        &self,
        session: &Session,
        place: &CutPlace,
        drafts: Vec<Draft>,
        written: &mut Written,
    ) -> Vec<Draft> {
        let questions: Vec<&str> = drafts.iter().map(|draft| draft.question.as_str()).collect();
        let alone = preamble(session, place.from);
        let whole = passages(session, place);
        let [first, second] = &self.answerers;
        let asked = [
            first.answer(&alone, &questions).await,
            first.answer(&whole, &questions).await,
            second.answer(&whole, &questions).await,
        ];
        let mut sound = Vec::new();
        for (number, draft) in drafts.into_iter().enumerate() {
            let judged = asked.iter().map(|answers| async {
                match &answers[number] {
                    Ok(answer) => self.is_right(&draft, answer).await,
                    Err(_) => false,
                }
            });
            match join_all(judged).await[..] {
                [true, ..] => written.leave_out("answered without the conversation"),
                [false, true, true] => sound.push(draft),
                _ => written.leave_out("not answered twice with the whole conversation"),
            }
        }
        sound
    }

    async fn is_right(&self, draft: &Draft, answer: &str) -> bool {
        let grading = Grading {
            question: &draft.question,
            kind: draft.kind,
            expect: &draft.expect,
            stale: &draft.stale,
            answer,
        };
        self.judge.grade(&grading).await.score.is_some_and(|score| score >= RIGHT)
    }
}

impl Written {
    fn leave_out(&mut self, why: &str) {
        *self.left_out.entry(why.to_owned()).or_default() += 1;
    }

    /// Takes a question that can be asked and graded, with its evidence.
    fn take(&mut self, proposal: Proposal, view: &View<'_>, drafts: &mut Vec<Draft>) {
        let labels = proposal.evidence.iter().map(|label| reply::message(label));
        let evidence: Option<Vec<MessageIndex>> = labels.collect();
        let held = |at: &MessageIndex| view.messages.binary_search(at).is_ok();
        let Some(evidence) = evidence.filter(|all| !all.is_empty() && all.iter().all(held)) else {
            return self.leave_out("its evidence is not in the part");
        };
        let said = evidence.iter().map(|&at| view.session.messages[at as usize].sent());
        let said = Normal::new(&said.collect::<Vec<_>>().join("\n"));
        if !said.contains(&Normal::new(&proposal.answer)) {
            return self.leave_out("its evidence does not say the answer");
        }
        let Proposal { kind, question, answer, stale, .. } = proposal;
        let draft = Draft::new(kind, question, [answer], evidence).with_stale(stale);
        if !choose::is_sound(&draft) {
            return self.leave_out("it gives its answer away, or cannot be graded");
        }
        if drafts.iter().any(|other| alike(&other.question, &draft.question)) {
            return self.leave_out("another question asks nearly the same");
        }
        drafts.push(draft);
    }
}

/// Share of words that two questions have in common at which they ask nearly the
/// same.
const ALIKE: f64 = 0.75;

fn alike(a: &str, b: &str) -> bool {
    let words = |text: &str| -> std::collections::BTreeSet<String> {
        Normal::new(text).as_str().split(' ').map(str::to_owned).collect()
    };
    let (a, b) = (words(a), words(b));
    let both = a.intersection(&b).count() as f64;
    both >= ALIKE * a.union(&b).count() as f64
}

/// The questions by the role of the message that answers them, so that what the
/// user said has its turn.
fn by_role(session: &Session, drafts: Vec<Draft>) -> Vec<Vec<Draft>> {
    let mut roles: BTreeMap<Role, Vec<Draft>> = BTreeMap::new();
    for draft in drafts {
        let role = session.messages[draft.evidence[0] as usize].role;
        roles.entry(role).or_default().push(draft);
    }
    roles.into_values().collect()
}

/// The messages that are read for each place: those since the place before, in
/// parts of one call each.
fn stretches<'p>(
    session: &Session,
    places: &'p [CutPlace],
) -> Vec<(&'p CutPlace, Vec<Vec<MessageIndex>>)> {
    let mut from = 0;
    let mut stretches = Vec::new();
    for place in places {
        let own = place.material.iter().filter(|kept| !kept.cleared && kept.message >= from);
        let mut parts: Vec<Vec<MessageIndex>> = vec![Vec::new()];
        let mut length = 0;
        for at in own.map(|kept| kept.message) {
            let size = session.messages[at as usize].sent().len().min(READ[0] + READ[1]);
            if length + size > A_CALL {
                parts.push(Vec::new());
                length = 0;
            }
            length += size;
            parts.last_mut().expect("there is one").push(at);
        }
        parts.retain(|part| !part.is_empty());
        // Of a long stretch its beginning, its middle and its end.
        if parts.len() > CALLS {
            let last = parts.len() - 1;
            let keep: Vec<usize> = (0..CALLS).map(|n| n * last / (CALLS - 1)).collect();
            let mut number = 0;
            parts.retain(|_| {
                number += 1;
                keep.contains(&(number - 1))
            });
        }
        stretches.push((place, parts));
        from = place.from;
    }
    stretches
}

/// The request for questions about a part.
fn asked(session: &Session, part: &[MessageIndex]) -> ModelRequest {
    let text = |at: &MessageIndex| clipped(&session.messages[*at as usize]);
    let texts: Vec<String> = part.iter().map(text).collect();
    let fence = Fence::around(texts.iter().map(String::as_str));
    let mark = fence.mark();
    let mut document = String::new();
    for (at, text) in part.iter().zip(&texts) {
        let role = session.messages[*at as usize].role.as_str();
        document.push_str(&format!("[{mark}] m{at} {role}\n{}\n", text.trim_end()));
    }
    let kinds: Vec<&str> = reply::KINDS.iter().map(|kind| kind.as_str()).collect();
    let system = PROMPT
        .replace("{{mark}}", mark)
        .replace("{{most}}", &MOST.to_string())
        .replace("{{kinds}}", &kinds.join(", "));
    ModelRequest {
        schema: Some(Schema { name: "questions".to_owned(), json: reply::schema() }),
        ..ModelRequest::of(system, document, REPLY_TOKENS)
    }
}

/// A message; of a long one its beginning and its end.
fn clipped(message: &Message) -> String {
    let text = message.sent();
    if text.len() <= READ[0] + READ[1] {
        return text;
    }
    let head = text.floor_char_boundary(READ[0]);
    let tail = text.ceil_char_boundary(text.len() - READ[1]);
    format!("{}\n[…]\n{}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests;
