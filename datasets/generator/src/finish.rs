//! From a written session to a session with questions that hold.

use recap_core::model::{Expectation, MessageIndex, Question, QuestionKind, Session};
use recap_core::text::Normal;

use super::GenerateError;
use super::near::{FEWEST_NEAR_MISSES, same_shape};
use super::question::PlannedQuestion;
use super::random::Stream;
use super::script::Script;

/// Messages that lie at least between a statement and its question: what was
/// said just now every context still holds.
pub(super) const GAP: u32 = 8;

/// Share of the questions that are asked before the end, in percent, where
/// their answer holds long enough.
const EARLY: u64 = 35;

/// Part of the messages, counted from the end, at which the others are asked.
const END: u32 = 12;

impl Script {
    /// The session and its questions. Questions without near misses, or about
    /// an absent thing that was said after all, are left out.
    ///
    /// # Errors
    /// A question that its session does not bear out: a bug of the kind.
    pub(super) fn finish(mut self) -> Result<(Session, Vec<Question>), GenerateError> {
        let mut questions: Vec<PlannedQuestion> =
            self.facts.iter().flat_map(|fact| fact.questions(GAP)).collect();
        questions.append(&mut self.questions);
        let mut random = self.random.fork("probes");
        let texts: Vec<String> = self.session.messages.iter().map(|m| m.sent()).collect();
        let said = SaidText { texts: &texts, lower: texts.join("\n").to_lowercase() };
        let last = texts.len() as MessageIndex - 1;
        let mut placed: Vec<(MessageIndex, PlannedQuestion)> = Vec::new();
        for question in questions {
            said.holds(&question)?;
            let asked_at = asked_at(&question, last, &mut random);
            let is_asked = placed.iter().any(|(_, known)| known.text == question.text);
            if said.is_fair(&question) && !is_asked {
                placed.push((asked_at, question));
            }
        }
        placed.sort_by_key(|(asked_at, _)| *asked_at);
        let id = self.session.id.clone();
        let questions = placed.into_iter().enumerate().map(|(at, (asked_at, question))| Question {
            id: format!("{id}-q{:02}", at + 1),
            session: id.clone(),
            asked_at,
            kind: question.kind,
            question: question.text,
            expect: question.expect,
            evidence: unique(
                question.evidence.iter().map(|place| &self.session.messages[place.0 as usize].id),
            ),
            stale: unique(question.stale.iter()),
        });
        let questions = questions.collect();
        Ok((self.session, questions))
    }
}

fn unique<'a>(items: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for item in items {
        if !found.contains(item) {
            found.push(item.clone());
        }
    }
    found
}

/// The message after which a question is put.
fn asked_at(question: &PlannedQuestion, last: MessageIndex, random: &mut Stream) -> MessageIndex {
    let end = question.until.map_or(last, |place| place.0.saturating_sub(1)).min(last);
    let evidence = question.evidence.iter().map(|place| place.0).max();
    // What was never said can be asked anywhere once something was said.
    let from = evidence.unwrap_or(last / 3).saturating_add(GAP).min(end);
    let early = question.until.is_some() || (!question.late && random.chance(EARLY));
    let from = if early { from } else { from.max(last - last / END) };
    random.number(u64::from(from.min(end))..=u64::from(end)) as MessageIndex
}

/// What a session says.
struct SaidText<'a> {
    texts: &'a [String],
    lower: String,
}

impl SaidText<'_> {
    /// Whether the session bears the question out.
    fn holds(&self, question: &PlannedQuestion) -> Result<(), GenerateError> {
        let flaw =
            |what: String| Err(GenerateError::Flawed { question: question.text.clone(), what });
        let evidence: Vec<&str> =
            question.evidence.iter().map(|place| self.texts[place.0 as usize].as_str()).collect();
        let said = Normal::new(&evidence.join("\n"));
        let values = question.expect.alternatives();
        let worked_out = matches!(question.kind, QuestionKind::Temporal | QuestionKind::MultiHop);
        if question.expect != Expectation::Unanswerable && evidence.is_empty() {
            return flaw("it has no evidence".to_owned());
        }
        if !values.is_empty()
            && !worked_out
            && !values.iter().any(|value| said.contains(&Normal::new(value)))
        {
            return flaw(format!("its evidence says none of {values:?}"));
        }
        let before = question.evidence.iter().map(|place| place.0 as usize).max().unwrap_or(0);
        for stale in &question.stale {
            if !self.texts[..=before].iter().any(|text| text.contains(stale.as_str())) {
                return flaw(format!("its stale value `{stale}` was not said before"));
            }
        }
        for near in &question.near {
            if !self.texts.iter().any(|text| text.contains(near.as_str())) {
                return flaw(format!("its near miss `{near}` is said nowhere"));
            }
        }
        Ok(())
    }

    /// Whether an answer must have been remembered: it has near misses enough,
    /// or, where nothing is known, nothing was said.
    fn is_fair(&self, question: &PlannedQuestion) -> bool {
        let absent = question.absent.iter();
        if absent.clone().any(|word| self.lower.contains(&word.to_lowercase())) {
            return false;
        }
        let Some(value) = question.expect.alternatives().first() else { return true };
        let right = question.expect.alternatives();
        let texts = self.texts.iter().map(String::as_str);
        let mut misses = same_shape(value, right, texts);
        misses.extend(question.near.iter().chain(&question.stale).map(String::as_str));
        misses.len() >= FEWEST_NEAR_MISSES
    }
}
