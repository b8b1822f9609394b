//! How much of the exam a figure rests on.

use std::fmt;

use super::{Reference, TranscriptFacts};
use crate::text::counted;

/// Fewest references on which a figure rests (measures §4).
pub const EXAM_REFERENCES: u64 = 20;
/// Fewest requests with references on which it rests (measures §4).
pub const EXAM_REQUESTS: u64 = 10;

/// How much of the exam a measure rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// References asked for.
    pub references: u64,
    /// Requests that ask for at least one of them.
    pub requests: u64,
}

impl Support {
    /// Every reference of the transcript.
    pub fn whole(facts: &TranscriptFacts) -> Self {
        Support::of(facts.exam.references.iter())
    }

    /// These references, ascending by request, and their requests.
    pub fn of<'a>(references: impl Iterator<Item = &'a Reference>) -> Self {
        let mut support = Support::default();
        let mut last = None;
        for reference in references {
            support.references += 1;
            support.requests += u64::from(last != Some(reference.request));
            last = Some(reference.request);
        }
        support
    }

    /// Both exams together.
    pub fn plus(self, other: Support) -> Self {
        Support {
            references: self.references + other.references,
            requests: self.requests + other.requests,
        }
    }

    /// Whether this is enough for a figure.
    pub fn suffices(self) -> bool {
        self.references >= EXAM_REFERENCES && self.requests >= EXAM_REQUESTS
    }
}

impl fmt::Display for Support {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Support { references, requests } = *self;
        write!(f, "{} at {}", counted(references, "reference"), counted(requests, "request"))
    }
}
