//! Synthetic sessions: written from a seed, about a simulated world, with
//! questions whose answers are known.
//!
//! # How a kind is made
//!
//! A kind of session is one file or folder here with a `pub(super) static
//! KIND: Kind`, and a line in [`KINDS`]. Its `write` gets a [`Script`] and
//! appends to it until [`Script::left`] is small:
//!
//! - [`Script::open`] sets project, system prompt and tools.
//! - [`Script::user`], [`Script::say`] and [`Script::act`] append messages and
//!   give their [`Place`]; call ids, message ids and times are made for them.
//!   A kind keeps a *world* of its own (files, ships, a calendar), changes it
//!   with each [`Act`] and works the result out from it, so that what a tool
//!   says later agrees with what was done before.
//! - [`Script::random`] is the only source of chance; [`Stream::fresh`] draws
//!   values that no other fact has. Values come from large spaces (numbers of
//!   four digits, hashes, hosts), never from what a model could guess.
//! - [`Phrases`] hold sentences, each section in at least three wordings, in a
//!   text file beside the code. Every statement of a fact and every question
//!   comes from one.
//! - [`Script::fact`] announces a [`Fact`] with its questions;
//!   [`Script::state`] says that a message gave it a value. Stated again with
//!   another value it becomes a question of kind update with stale values, and
//!   the older value is asked for before it went.
//! - [`Script::ask`] adds any other [`PlannedQuestion`]: decisions (near misses and
//!   stale values are the rejected alternatives), constraints (the user now
//!   asks for what the rule forbids; the answer is the substitute that the
//!   rule names), temporal and multi-hop answers, rubrics, and what cannot be
//!   answered ([`PlannedQuestion::unanswerable`] with the words that must be absent).
//!
//! [`generate`] then decides when each question is put (most near the end,
//! some on the way, none within eight messages of its evidence where the
//! session allows), and checks what a kind must keep: the evidence says the
//! answer, stale values were said before it, at least three near misses of the
//! answer's shape stand elsewhere, absent words are absent, and the size is
//! within a tenth of what was ordered. A question without near misses is left
//! out; anything else is [`GenerateError::Flawed`], a bug of the kind.
//!
//! Invariant: one seed, one text, on every machine.
//!
//! [`Act`]: crate::Act
//! [`Fact`]: crate::Fact
//! [`GenerateError::Flawed`]: crate::GenerateError::Flawed
//! [`KINDS`]: crate::KINDS
//! [`Phrases`]: crate::Phrases
//! [`Place`]: crate::Place
//! [`PlannedQuestion`]: crate::PlannedQuestion
//! [`PlannedQuestion::unanswerable`]: crate::PlannedQuestion::unanswerable
//! [`Script`]: crate::Script
//! [`Script::act`]: crate::Script::act
//! [`Script::ask`]: crate::Script::ask
//! [`Script::fact`]: crate::Script::fact
//! [`Script::left`]: crate::Script::left
//! [`Script::open`]: crate::Script::open
//! [`Script::random`]: crate::Script::random
//! [`Script::say`]: crate::Script::say
//! [`Script::state`]: crate::Script::state
//! [`Script::user`]: crate::Script::user
//! [`Stream::fresh`]: crate::Stream::fresh
//! [`generate`]: crate::generate

#![forbid(unsafe_code)]

mod assistant;
mod calendar;
mod coding_agent;
mod finish;
mod game_agent;
pub mod near;
mod phrases;
mod question;
mod random;
mod recipe;
mod script;
pub mod texture;
mod voice;

use std::ops::RangeInclusive;

use recap_core::model::{Question, Session};
use recap_formats::{Dataset, QuestionAudit};
use thiserror::Error;

pub use calendar::Calendar;
pub use phrases::{FEWEST_WORDINGS, Phrases, fill};
pub use question::{Fact, PlannedQuestion};
pub use random::Stream;
pub use recipe::{Recipe, RecipeError, RecipeSession, WrittenSession};
pub use script::{Act, FactId, Place, Script};

/// A kind of session.
pub struct Kind {
    /// Its name in kebab-case.
    pub name: &'static str,
    /// What happens in such a session.
    pub about: &'static str,
    /// Sizes that it can be written in, in tokens of the messages (o200k).
    pub tokens: RangeInclusive<u64>,
    /// Writes a session.
    pub write: fn(&mut Script),
}

/// Every kind.
pub static KINDS: &[&Kind] = &[&coding_agent::KIND, &assistant::KIND, &game_agent::KIND];

/// The kind of that name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().copied().find(|kind| kind.name == name)
}

/// Share of the ordered tokens by which a session may miss them: one in ten.
const TOLERANCE: u64 = 10;

/// Why no session was written.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum GenerateError {
    /// A size that the kind is not made for.
    #[error("a {kind} session has {least} to {most} tokens, not {tokens}")]
    Size {
        /// Its name.
        kind: &'static str,
        /// What was ordered.
        tokens: u64,
        /// Its smallest size.
        least: u64,
        /// Its largest size.
        most: u64,
    },
    /// The session came out too short or too long.
    #[error("the session came out at {written} tokens instead of {tokens}")]
    Missed {
        /// What was ordered.
        tokens: u64,
        /// What was written.
        written: u64,
    },
    /// A question that its session does not bear out.
    #[error("a question was written that does not hold: {what} ({question})")]
    Flawed {
        /// The question.
        question: String,
        /// What is wrong with it.
        what: String,
    },
}

/// Writes the session of `kind` that `seed` stands for, of about `tokens`
/// tokens in its messages (o200k, within a tenth).
///
/// # Errors
/// A size out of range. Any other error is a bug of the kind.
pub fn generate(
    kind: &Kind,
    seed: u64,
    tokens: u64,
    id: &str,
) -> Result<(Session, Vec<Question>), GenerateError> {
    let (least, most) = (*kind.tokens.start(), *kind.tokens.end());
    if !kind.tokens.contains(&tokens) {
        return Err(GenerateError::Size { kind: kind.name, tokens, least, most });
    }
    let mut script = Script::new(id, Stream::new(seed, kind.name), tokens);
    (kind.write)(&mut script);
    let written = script.tokens();
    if written.abs_diff(tokens) > tokens / TOLERANCE {
        return Err(GenerateError::Missed { tokens, written });
    }
    let (session, questions) = script.finish()?;
    audited(session, questions)
}

/// The checks that every data set has to pass.
fn audited(
    session: Session,
    questions: Vec<Question>,
) -> Result<(Session, Vec<Question>), GenerateError> {
    let dataset = Dataset { sessions: vec![session], questions, ..Dataset::default() };
    let audit = QuestionAudit::of(&dataset);
    if let Some(violation) = audit.violations.first() {
        let what = violation.problem.to_string();
        return Err(GenerateError::Flawed { question: violation.file.clone(), what });
    }
    let Dataset { mut sessions, questions, .. } = dataset;
    Ok((sessions.remove(0), questions))
}

#[cfg(test)]
mod tests;
