//! What every context of a transcript shares.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::model::{Calibration, Call, CallId, MessageIndex, TokensSource, Transcript};
use crate::tokens::{Counter, Sizes, calibrate};

/// What a context shares with every other context of its transcript.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The session.
    pub transcript: Arc<Transcript>,
    /// Its sizes as the run counts them.
    pub sizes: Arc<Sizes>,
    /// Its sizes by the vocabulary alone, counted once: what an exam rests on.
    pub exact: Arc<Sizes>,
    /// Whether `sizes` and `counter` are scaled to what the provider reported.
    pub tokens_source: TokensSource,
    /// What recorded usage tells about the provider's count; absent without usage.
    pub calibration: Option<Arc<Calibration>>,
    /// Its calls and their results.
    pub calls: Arc<Vec<Call>>,
    /// The counter for texts that a strategy writes.
    pub counter: Arc<Counter>,
    call_of_result: Arc<BTreeMap<MessageIndex, CallId>>,
}

impl Recording {
    /// Counts and indexes a transcript. The counter is not scaled yet; where
    /// it calibrates, the one that is kept for texts is.
    pub fn new(transcript: Arc<Transcript>, counter: Arc<Counter>) -> Self {
        let exact = Arc::new(Sizes::of(&transcript, &counter));
        let calibration = calibrate(&transcript, &exact, &counter).map(Arc::new);
        let calibrates = calibration.as_ref().is_some_and(|known| counter.calibrates(known));
        let calls = Arc::new(transcript.calls());
        let by_result = (0u32..)
            .zip(calls.iter())
            .filter_map(|(at, call)| call.result.map(|result| (result, CallId(at))));
        let call_of_result = Arc::new(by_result.collect());
        let plain = Self {
            transcript,
            sizes: Arc::clone(&exact),
            exact,
            tokens_source: TokensSource::Exact,
            calibration,
            calls,
            counter,
            call_of_result,
        };
        if calibrates { plain.calibrated() } else { plain }
    }

    /// The same in the provider's tokens, however sure they are; unchanged
    /// without usage. Nothing is counted again.
    #[must_use]
    pub fn calibrated(mut self) -> Self {
        let Some(known) = &self.calibration else { return self };
        let Some(fit) = known.fits.first() else { return self };
        self.sizes = Arc::new(self.exact.scaled(&self.transcript, fit, &known.unseen));
        self.counter = Arc::new(self.counter.scaled(fit.factor));
        self.tokens_source = TokensSource::Calibrated;
        self
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
