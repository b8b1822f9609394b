//! Parts of a run for tests.

use super::{Cut, CutExam, Fallbacks, ReferenceState};

impl CutExam {
    /// The result of one compaction with facts in these states, and defaults
    /// for everything else.
    pub fn of_states(window: u64, tokens_after: u64, states: Vec<ReferenceState>) -> Self {
        Self {
            window,
            tokens_after,
            compactions: 1,
            states,
            unchecked: 0,
            refused: Vec::new(),
            blocking_ms: None,
            latency_source: None,
            compactor_usd: None,
            texts: Vec::new(),
            replies: Vec::new(),
            fallbacks: Fallbacks::default(),
            snapshot: None,
            questions: Vec::new(),
        }
    }
}

impl Cut {
    /// A cut without facts and results.
    pub fn bare(dataset: &str, session: &str, request: u32) -> Self {
        Self {
            dataset: dataset.to_owned(),
            session: session.to_owned(),
            request,
            recorded: false,
            requests: 1,
            left: None,
            messages: 1,
            tokens_before: 1,
            preamble_tokens: 0,
            facts: Vec::new(),
            rows: Vec::new(),
        }
    }
}
