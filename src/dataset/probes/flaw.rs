//! The flaws that make a probe unusable or misleading.

use thiserror::Error;

use crate::text::excerpt;

/// The kinds of flaws of a probe.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProbeFlaw {
    /// The data set has no such transcript.
    #[error("asks transcript `{}`, which the data set does not have", excerpt(.transcript))]
    UnknownTranscript {
        /// The id that it names.
        transcript: String,
    },
    /// It is asked later than the last message.
    #[error("is asked after message {asked_at}, but the transcript has {messages} (from 0)")]
    AskedAfterEnd {
        /// The position that it names.
        asked_at: u32,
        /// Number of messages in the transcript.
        messages: usize,
    },
    /// Evidence that is not a message of its transcript.
    #[error("names evidence `{}`, which is not a message of its transcript", excerpt(.message))]
    UnknownEvidence {
        /// The id that it names.
        message: String,
    },
    /// Evidence that comes after the question.
    #[error(
        "names evidence `{}` (position {position}) but is asked after message {asked_at}", excerpt(.message)
    )]
    EvidenceAfter {
        /// The id of the evidence message.
        message: String,
        /// The position of that message.
        position: u32,
        /// Where the probe is asked.
        asked_at: u32,
    },
    /// A message is named twice.
    #[error("names evidence `{}` twice", excerpt(.message))]
    RepeatedEvidence {
        /// The id of that message.
        message: String,
    },
    /// Two probes with the same id.
    #[error("has the same id as an earlier probe")]
    RepeatedId,
    /// The question is empty.
    #[error("has an empty question")]
    EmptyQuestion,
    /// Nothing is expected, or one of the expected values is blank.
    #[error("expects nothing, or a blank value")]
    EmptyExpectation,
    /// The kind of the probe and its expectation do not match.
    #[error("is of kind {kind}; only probes of kind abstain, and all of them, are unanswerable")]
    KindMismatch {
        /// The kind of the probe.
        kind: &'static str,
    },
    /// A value is both expected and stale.
    #[error("lists `{}` as right and as stale", excerpt(.value))]
    StaleIsRight {
        /// The value in question.
        value: String,
    },
    /// The same question is asked twice at the same point of the same transcript.
    #[error("asks what probe `{}` asks at the same point", excerpt(.first))]
    RepeatedQuestion {
        /// Id of the other probe.
        first: String,
    },
    /// The evidence contains none of the answers.
    #[error("expects {expected}, but its evidence contains none of it")]
    NotInEvidence {
        /// The expected alternatives, in quotes.
        expected: String,
    },
    /// The question contains the answer.
    #[error("gives its answer `{}` away in the question", excerpt(.answer))]
    GivenAway {
        /// The alternative that it contains.
        answer: String,
    },
}

impl ProbeFlaw {
    /// What the user can do about it.
    pub fn help(&self) -> &'static str {
        match self {
            ProbeFlaw::UnknownTranscript { .. } => "write the id of a transcript of this data set",
            ProbeFlaw::AskedAfterEnd { .. } => {
                "count messages from 0; the last one asks at the end"
            }
            ProbeFlaw::UnknownEvidence { .. } | ProbeFlaw::RepeatedEvidence { .. } => {
                "name the ids of messages of that transcript, each once"
            }
            ProbeFlaw::EvidenceAfter { .. } => "ask later, or leave that message out",
            ProbeFlaw::RepeatedId => "give every probe an id of its own",
            ProbeFlaw::EmptyQuestion => "write the question",
            ProbeFlaw::EmptyExpectation => {
                "write any_of or rubric with a value, or unanswerable: true"
            }
            ProbeFlaw::KindMismatch { .. } => {
                "make it kind abstain and unanswerable, or neither of both"
            }
            ProbeFlaw::StaleIsRight { .. } => "keep the value in any_of or in stale",
            ProbeFlaw::RepeatedQuestion { .. } => "drop one of the two, or ask at another point",
            ProbeFlaw::NotInEvidence { .. } => {
                "name the message that says it, or add the alternative that the message uses"
            }
            ProbeFlaw::GivenAway { .. } => "put the question without the answer",
        }
    }
}
