//! Makes each distinct call once in a run.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;

use super::calls::{CallFacts, Calls, row};
use super::cassette::{Mode, key};
use super::{Answered, Call, CallError, Cassette, Llm, Model};
use recap_billing::pricing::ModelPrices;
use recap_core::model::LatencySource;

/// Makes each distinct call once in a run, and records its row.
///
/// Equal requests in one run are one call, with or without a cassette: strategies
/// that fold the same prefix ask for the same summary, and paying for it again
/// would measure the model's randomness instead of the difference between
/// strategies. To measure the randomness, use another [`Call::replicate`].
///
/// Two callers with the same request at the same time wait for one answer. If
/// the call fails because of the run, both get the error, and later callers may
/// try again. A call in the cassette is read from it; any other is added to it,
/// or is [`CallError::NotRecorded`] in a replay.
pub struct Memoized {
    model: Model,
    inner: Option<Arc<dyn Llm>>,
    prices: Option<ModelPrices>,
    calls: Arc<Calls>,
}

impl Memoized {
    /// A model that is called where the run's cassette does not hold the answer.
    pub fn live(inner: Arc<dyn Llm>, prices: Option<ModelPrices>, calls: Arc<Calls>) -> Self {
        Self { model: inner.model().clone(), inner: Some(inner), prices, calls }
    }

    /// A model whose answers are all in the run's cassette: no key is needed.
    pub fn replayed(model: Model, prices: Option<ModelPrices>, calls: Arc<Calls>) -> Self {
        Self { model, inner: None, prices, calls }
    }

    /// The model to call; `None` in a replay.
    fn callee(&self) -> Option<&Arc<dyn Llm>> {
        let replays = |mode| mode == Mode::Replay;
        let tape = self.calls.tape();
        self.inner.as_ref().filter(|_| !tape.is_some_and(|tape| replays(tape.mode())))
    }

    async fn make(&self, key: &str, call: &Call) -> Result<Answered, CallError> {
        let tape = self.calls.tape();
        let (outcome, at, sent) = match (tape.and_then(|tape| tape.get(key)), self.callee()) {
            (Some(recorded), _) => (recorded.outcome, recorded.at, recorded.sent),
            (None, Some(inner)) => {
                // A reply that cannot be stored would have to be paid for again.
                if let Some(why) = tape.and_then(Cassette::problem) {
                    return Err(CallError::Halted(why));
                }
                let (outcome, sent) = inner.call_counted(call.clone()).await;
                let at = (self.calls.now)();
                let outcome = match tape.filter(|_| self.calls.stores(&outcome)) {
                    None => outcome,
                    Some(tape) => tape.record((key, &self.model, call), (outcome, sent), at),
                };
                if let Some(why) = tape.and_then(Cassette::problem) {
                    inner.halt(&why);
                }
                (outcome, at, sent)
            }
            (None, None) => return Err(not_recorded(self, key, call)),
        };
        self.noted(key, call, outcome, (at, sent))
    }

    /// Adds the row of a call, with its time and the number of requests that were sent.
    fn noted(
        &self,
        key: &str,
        call: &Call,
        outcome: Result<Answered, CallError>,
        (at, sent): (Timestamp, u32),
    ) -> Result<Answered, CallError> {
        let source = self.calls.source();
        let recorded = source == LatencySource::Recorded;
        let outcome = outcome.map(|answered| Answered { recorded, ..answered });
        let (model, prices) = (&self.model, self.prices.as_ref());
        let facts = CallFacts { key, model, prices, at, source, sent };
        if let Some(row) = row(&facts, call, &outcome) {
            self.calls.note(row);
        }
        outcome
    }
}

fn not_recorded(once: &Memoized, key: &str, call: &Call) -> CallError {
    match once.calls.cassette() {
        Some(tape) => tape.not_recorded(key, &once.model, call),
        None => CallError::NotRecorded(format!("{} is not called, and there is none", once.model)),
    }
}

#[async_trait]
impl Llm for Memoized {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn call(&self, call: Call) -> Result<Answered, CallError> {
        let key = key(&self.model, &call);
        let in_flight_call = self.calls.in_flight_call(&key);
        // If the caller that makes the call is dropped, one of the waiting
        // callers takes over.
        let outcome = in_flight_call.get_or_init(|| self.make(&key, &call)).await.clone();
        self.calls.deliver(&key, call.role, &in_flight_call);
        outcome
    }

    fn discard(&self, call: Call) {
        self.calls.discard(&key(&self.model, &call));
    }
}
