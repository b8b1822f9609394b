//! What every context of a transcript shares.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Call, CallId, MessageIndex, Transcript};
use crate::tokens::{Counter, Sizes};

/// What a context shares with every other context of its transcript.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The session.
    pub transcript: Arc<Transcript>,
    /// Its sizes, counted once.
    pub sizes: Arc<Sizes>,
    /// Its calls and their results.
    pub calls: Arc<Vec<Call>>,
    /// The counter for texts that a strategy writes.
    pub counter: Arc<Counter>,
    call_of_result: Arc<BTreeMap<MessageIndex, CallId>>,
}

impl Recording {
    /// Counts and indexes a transcript.
    pub fn new(transcript: Arc<Transcript>, counter: Arc<Counter>) -> Self {
        let sizes = Arc::new(Sizes::of(&transcript, &counter));
        let calls = Arc::new(transcript.calls());
        let by_result = (0u32..)
            .zip(calls.iter())
            .filter_map(|(at, call)| call.result.map(|result| (result, CallId(at))));
        let call_of_result = Arc::new(by_result.collect());
        Self { transcript, sizes, calls, counter, call_of_result }
    }

    /// The calls that an assistant message makes, in order.
    pub fn calls_in(&self, message: MessageIndex) -> &[Call] {
        let from = self.calls.partition_point(|c| c.message < message);
        let to = self.calls.partition_point(|c| c.message <= message);
        &self.calls[from..to]
    }

    /// The call that a tool-result message answers.
    pub fn call_of(&self, message: MessageIndex) -> Option<CallId> {
        self.call_of_result.get(&message).copied()
    }
}
