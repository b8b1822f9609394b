//! Questions that a data set asks at a point of a session (reference §5).

use serde::{Deserialize, Serialize};

use super::MessageIndex;

/// What a question asks for. The kinds are those of reference §5, with the
/// rubric kinds of how-it-works §33; measures report each on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum QuestionKind {
    /// Something that was said: a name, a number, a place.
    Fact,
    /// What was decided, why, and what was turned down.
    Decision,
    /// A file, a command, a record that the session made or changed.
    Artifact,
    /// What is still to be done.
    Plan,
    /// The newest value of something that changed; the old one is wrong.
    Update,
    /// When something happened, or how long it took.
    Temporal,
    /// An answer put together from several messages.
    MultiHop,
    /// Behaviour under a standing rule: the user now asks for what it forbids.
    Constraint,
    /// Behaviour that respects a preference which the user stated.
    Preference,
    /// The tone that the speakers agreed on.
    Tone,
    /// What a word means between these two speakers.
    SharedConcept,
    /// A value of the newest snapshot of some state.
    Snapshot,
    /// The order in which things were mentioned.
    Ordering,
    /// A summary of a longer part of the conversation.
    Summary,
    /// Two statements that exclude each other, which have to be noticed.
    Contradiction,
    /// An answer that needs common knowledge besides the conversation (category
    /// 3 of LoCoMo): no context alone can give it.
    OpenDomain,
    /// Something that was never said: the right answer is that it is not known.
    /// Measures report it apart from the other kinds (how-it-works §30).
    Abstain,
}

impl QuestionKind {
    /// Every kind, in the order of tables.
    pub const ALL: &'static [QuestionKind] = <Self as strum::VariantArray>::VARIANTS;

    /// Whether a right answer is stated word for word in the evidence, rather
    /// than being inferred from it or shown by behaviour.
    pub fn is_stated(self) -> bool {
        matches!(
            self,
            QuestionKind::Fact
                | QuestionKind::Decision
                | QuestionKind::Artifact
                | QuestionKind::Plan
                | QuestionKind::Update
                | QuestionKind::SharedConcept
                | QuestionKind::Snapshot
        )
    }
}

/// What makes an answer right. A run folder without text keeps no values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// Any one of these values; there is at least one.
    AnyOf(Vec<String>),
    /// Every nugget, each for an equal share of the score; there is at least one.
    Rubric(Vec<String>),
    /// Abstaining: saying that it is not known. Only questions of kind `abstain` expect it.
    Unanswerable,
}

impl Expectation {
    /// The exact alternatives; none for a rubric and for the unanswerable.
    pub fn alternatives(&self) -> &[String] {
        match self {
            Expectation::AnyOf(values) => values,
            Expectation::Rubric(_) | Expectation::Unanswerable => &[],
        }
    }
}

/// A question asked at a point of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Unique within the data set.
    pub id: String,
    /// Id of the session that it is asked of.
    pub session: String,
    /// Asked before the first request after this message; where none follows,
    /// before one virtual request at the end (how-it-works §28).
    pub asked_at: MessageIndex,
    /// What it asks for.
    pub kind: QuestionKind,
    /// The question as it is put.
    pub question: String,
    /// What makes an answer right.
    pub expect: Expectation,
    /// Ids of the messages that answer it, none later than `asked_at`. Questions
    /// without any are outside the shares of evidence (how-it-works §29).
    pub evidence: Vec<String>,
    /// Values that would be wrong: what was true before, or a planted error.
    pub stale: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_listed_once_with_one_name() {
        let mut kinds = QuestionKind::ALL.to_vec();
        kinds.sort();
        kinds.dedup();
        assert_eq!(kinds, QuestionKind::ALL);
        for &kind in QuestionKind::ALL {
            let written = serde_json::to_value(kind).unwrap();
            assert_eq!(written, kind.as_str());
        }
    }
}
