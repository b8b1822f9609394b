//! The calls of a run: each distinct one is made once; those in flight, their outcomes and costs,
//! and those that failed.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use async_trait::async_trait;
use jiff::Timestamp;
use tokio::sync::OnceCell;

use crate::cassette::{CassetteError, Mode, Recorded, key};
use crate::{Answered, Call, CallError, Cassette, FaultKind, Finish, Llm, Model, Reply};
use recap_billing::pricing::ModelPrices;
use recap_core::model::{Buckets, CallOutcome, CallRow, LatencySource, ModelRole, Timing, Usage};

/// The clock. Only prices that change by the hour depend on it.
pub type Now = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// A call that is in flight or finished. Callers with the same request wait for it.
type InFlightCall = OnceCell<Result<Answered, CallError>>;

/// The calls of a run, shared by all its models.
pub struct Calls {
    /// The user's cassette, or the replies of a run without one.
    tape: OnceLock<Cassette>,
    has_cassette: bool,
    now: Now,
    flights: Mutex<BTreeMap<String, Arc<InFlightCall>>>,
    rows: Mutex<BTreeMap<String, CallRow>>,
}

impl Calls {
    /// The calls of a new run, recorded to or replayed from a cassette if there
    /// is one.
    pub fn new(cassette: Option<Cassette>, now: Now) -> Self {
        let (flights, rows) = Default::default();
        let has_cassette = cassette.is_some();
        let tape = cassette.map_or_else(OnceLock::new, OnceLock::from);
        Self { tape, has_cassette, now, flights, rows }
    }

    /// The cassette of the run, if it has one.
    pub fn cassette(&self) -> Option<&Cassette> {
        self.tape().filter(|_| self.has_cassette)
    }

    /// Stores the replies of a run without a cassette, so that nothing is paid
    /// twice if the run is resumed. Only the first file is used.
    pub fn keep_replies(&self, replies: Cassette) {
        let _ = self.tape.set(replies);
    }

    /// Whether replies are stored for resuming the run.
    pub fn keeps_replies(&self) -> bool {
        self.tape().is_some() && !self.has_cassette
    }

    /// Writes the cassette, or the replies for resuming, completely and sorted.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self) -> Result<(), CassetteError> {
        self.tape().map_or(Ok(()), Cassette::finish)
    }

    /// The cassette that calls are recorded to, if any.
    fn tape(&self) -> Option<&Cassette> {
        self.tape.get()
    }

    /// How the times of the calls were obtained: a cassette may hold those of
    /// another run, a resumed run has its own.
    fn source(&self) -> LatencySource {
        if self.has_cassette { LatencySource::Recorded } else { LatencySource::Live }
    }

    /// Takes the distinct calls since the last time, by role, model and key. A
    /// call that two roles made is listed under the first of them.
    pub fn take(&self) -> Vec<CallRow> {
        let mut rows: Vec<CallRow> = mem::take(&mut *self.rows()).into_values().collect();
        rows.sort_by(|a, b| (a.role, &a.model, &a.key).cmp(&(b.role, &b.model, &b.key)));
        rows
    }

    /// The call with a key, which may not have started yet.
    fn in_flight_call(&self, key: &str) -> Arc<InFlightCall> {
        Arc::clone(self.flights().entry(key.to_owned()).or_default())
    }

    /// Records that a role has received the outcome of its call. A call that
    /// failed because of the run is removed, so that later callers may try it
    /// again.
    fn deliver(&self, key: &str, role: ModelRole, in_flight_call: &Arc<InFlightCall>) {
        if let Some(row) = self.rows().get_mut(key) {
            row.role = row.role.min(role);
        }
        let failed = |outcome: &Result<_, CallError>| {
            outcome.as_ref().is_err_and(|error| !error.is_request_error())
        };
        let mut flights = self.flights();
        if in_flight_call.get().is_some_and(failed)
            && flights.get(key).is_some_and(|current| Arc::ptr_eq(current, in_flight_call))
        {
            flights.remove(key);
        }
    }

    /// Whether an outcome is stored. A cassette repeats errors too; for resuming
    /// the run only replies are stored, so that it tries again what failed.
    fn stores(&self, outcome: &Result<Answered, CallError>) -> bool {
        outcome.is_ok() || self.has_cassette
    }

    /// Drops a stored reply that could not be used, unless it is on a cassette.
    fn discard(&self, key: &str) {
        if let Some(replies) = self.tape().filter(|_| !self.has_cassette) {
            replies.forget(key);
        }
    }

    /// Adds the row of a call. What earlier callers sent for it in vain counts as
    /// attempts of the same call.
    fn note(&self, mut row: CallRow) {
        let mut rows = self.rows();
        if let Some(before) = rows.get(&row.key) {
            row.timing.attempts += before.timing.attempts;
        }
        rows.insert(row.key.clone(), row);
    }

    fn flights(&self) -> MutexGuard<'_, BTreeMap<String, Arc<InFlightCall>>> {
        self.flights.lock().expect("no thread panics while it holds the flights")
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<String, CallRow>> {
        self.rows.lock().expect("no thread panics while it holds the rows")
    }
}

fn ending(reply: &Reply) -> CallOutcome {
    match reply.finish {
        Finish::Done => CallOutcome::Replied,
        // For any other reason the text is not a complete answer.
        Finish::Length | Finish::Other(_) => CallOutcome::Truncated,
        Finish::Refused => CallOutcome::Refused,
        Finish::Filtered => CallOutcome::Filtered,
    }
}

/// The price of a call in USD at the standard rates; none if a rate is not
/// known.
pub fn call_usd(prices: &ModelPrices, usage: &Usage, at: Timestamp) -> Option<f64> {
    prices.request_usd(&Buckets::from(usage), usage.output, at)
}

/// Calls of a run that brought no reply because of the run or the provider.
#[derive(Debug, Default)]
pub struct FailedCalls(Mutex<Vec<(ModelRole, CallError)>>);

impl FailedCalls {
    /// The number of failed calls and the first of them in the order of their
    /// messages; `None` if there is none. The order in which they failed
    /// depends on the machine, their messages do not. A missing recording comes
    /// first: it is the only error that a second attempt cannot remedy.
    ///
    /// `fell_back`: where the compactor gave no reply, its strategies fell back as
    /// their designs say, and nothing is missing.
    pub fn first(&self, fell_back: bool) -> Option<(usize, CallError)> {
        let mut errors = self.errors().clone();
        errors.retain(|(role, error)| {
            let unanswered = matches!(error, CallError::Unavailable { .. });
            !(fell_back && *role == ModelRole::Compactor && unanswered)
        });
        let missing = |error: &CallError| matches!(error, CallError::NotRecorded(_));
        let first = errors.iter().min_by_key(|(_, error)| (!missing(error), error.to_string()))?;
        Some((errors.len(), first.1.clone()))
    }

    fn errors(&self) -> MutexGuard<'_, Vec<(ModelRole, CallError)>> {
        self.0.lock().expect("no thread panics while it holds the lock")
    }
}

/// A model whose failed calls are recorded.
pub struct FailureRecorder {
    inner: Arc<dyn Llm>,
    failed: Arc<FailedCalls>,
}

impl FailureRecorder {
    /// Records the failed calls of a model in `failed`.
    pub fn new(inner: Arc<dyn Llm>, failed: Arc<FailedCalls>) -> Self {
        Self { inner, failed }
    }
}

#[async_trait]
impl Llm for FailureRecorder {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    async fn call(&self, call: Call) -> Result<Answered, CallError> {
        let role = call.role;
        let outcome = self.inner.call(call).await;
        if let Some(error) = outcome.as_ref().err().filter(|error| !error.is_request_error()) {
            self.failed.errors().push((role, error.clone()));
        }
        outcome
    }

    fn used(&self, role: ModelRole) {
        self.inner.used(role);
    }

    fn discard(&self, call: Call, why: &str, again: bool) {
        self.inner.discard(call, why, again);
    }
}

/// Distinct calls of a role without a usable reply, and none with one before, after which no
/// more are made: each may have been paid for twice.
const USELESS: usize = 8;

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
    /// The calls of each role without a usable reply; `None` once one was usable.
    useless: Mutex<BTreeMap<ModelRole, Option<BTreeSet<String>>>>,
}

impl Memoized {
    /// A model that is called where the run's cassette does not hold the answer.
    pub fn live(inner: Arc<dyn Llm>, prices: Option<ModelPrices>, calls: Arc<Calls>) -> Self {
        let model = inner.model().clone();
        Self { inner: Some(inner), ..Self::replayed(model, prices, calls) }
    }

    /// A model whose answers are all in the run's cassette: no key is needed.
    pub fn replayed(model: Model, prices: Option<ModelPrices>, calls: Arc<Calls>) -> Self {
        Self { model, inner: None, prices, calls, useless: Mutex::default() }
    }

    fn useless(&self) -> MutexGuard<'_, BTreeMap<ModelRole, Option<BTreeSet<String>>>> {
        self.useless.lock().expect("no thread panics while it holds the lock")
    }

    async fn make(&self, key: &str, call: &Call) -> Result<Answered, CallError> {
        let tape = self.calls.tape();
        let Recorded { outcome, at, sent } = match tape.and_then(|tape| tape.get(key)) {
            Some(recorded) => recorded,
            None => self.send(key, call).await?,
        };
        let source = self.calls.source();
        let recorded = source == LatencySource::Recorded;
        let outcome = outcome.map(|answered| Answered { recorded, ..answered });
        if let Some(row) = self.row(key, call, &outcome, (at, sent, source)) {
            self.calls.note(row);
        }
        outcome
    }

    /// Makes a call that is not recorded, and records it.
    async fn send(&self, key: &str, call: &Call) -> Result<Recorded, CallError> {
        let tape = self.calls.tape();
        let replays = tape.is_some_and(|tape| tape.mode() == Mode::Replay);
        let Some(inner) = self.inner.as_ref().filter(|_| !replays) else {
            return Err(match self.calls.cassette() {
                Some(tape) => tape.not_recorded(key, &self.model, call),
                None => {
                    let why = format!("{} is not called, and there is none", self.model);
                    CallError::NotRecorded(why)
                }
            });
        };
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
        Ok(Recorded { outcome, at, sent })
    }

    /// The row of a call, with its time and the number of requests that were sent; `None` if
    /// nothing was sent.
    ///
    /// Providers report no tokens with a fault, so that those rows have no price.
    /// Their time is not known either.
    fn row(
        &self,
        key: &str,
        call: &Call,
        outcome: &Result<Answered, CallError>,
        (at, sent, source): (Timestamp, u32, LatencySource),
    ) -> Option<CallRow> {
        let ended = match outcome {
            Ok(answered) => ending(&answered.reply),
            Err(CallError::Rejected(fault)) if fault.kind == FaultKind::Filtered => {
                CallOutcome::Filtered
            }
            Err(CallError::Rejected(_)) => CallOutcome::Rejected,
            Err(CallError::Malformed(_)) => CallOutcome::Malformed,
            // A halted call may have met the very fault that halts its model (a wrong key, a
            // redirect).
            Err(_) if sent == 0 => return None,
            Err(_) => CallOutcome::Unavailable,
        };
        let answered = outcome.as_ref().ok();
        let tokens = answered.and_then(|answered| answered.reply.usage.clone().ok());
        let usage = tokens.map(|tokens| tokens.usage);
        let no_reply = Timing { attempts: sent, ..Timing::default() };
        // Errors of the run are not written to a cassette.
        let is_of_run = outcome.as_ref().is_err_and(|error| !error.is_request_error());
        Some(CallRow {
            role: call.role,
            model: self.model.id(),
            key: key.to_owned(),
            replicate: call.replicate,
            outcome: ended,
            usage,
            reasoning: tokens.and_then(|tokens| tokens.reasoning),
            usd: usage.and_then(|usage| call_usd(self.prices.as_ref()?, &usage, at)),
            timing: answered.map_or(no_reply, |answered| answered.timing),
            source: if is_of_run { LatencySource::Live } else { source },
        })
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

    fn used(&self, role: ModelRole) {
        self.useless().insert(role, None);
    }

    fn discard(&self, call: Call, why: &str, again: bool) {
        let key = key(&self.model, &call);
        if again {
            self.calls.discard(&key);
        }
        let mut useless = self.useless();
        let Some(keys) = useless.entry(call.role).or_insert_with(|| Some(BTreeSet::new())) else {
            return;
        };
        keys.insert(key);
        let Some(inner) = self.inner.as_ref().filter(|_| keys.len() == USELESS) else { return };
        // A resumed run asks again: by then the server may be another.
        keys.iter().for_each(|key| self.calls.discard(key));
        inner.halt(&format!(
            "{} was stopped as {}: none of its first {USELESS} replies was usable; the last: {why}",
            self.model,
            call.role.as_str()
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, FaultKind, Finish, NoUsage, Reply, Request, Settings};
    use recap_core::model::Timing;

    /// Fails as told, or says one word.
    struct Scripted {
        model: Model,
        outcome: Result<&'static str, CallError>,
    }

    #[async_trait]
    impl Llm for Scripted {
        fn model(&self) -> &Model {
            &self.model
        }

        async fn call(&self, _: Call) -> Result<Answered, CallError> {
            let text = self.outcome.clone()?.to_owned();
            let usage = Err(NoUsage::Missing);
            let reply = Reply { text, finish: Finish::Done, usage, model: None };
            Ok(Answered { reply, timing: Timing::default(), recorded: true })
        }
    }

    fn model(outcome: Result<&'static str, CallError>) -> Arc<Scripted> {
        let settings = Settings::default();
        let model = Model { provider: "p".into(), name: "m".into(), settings };
        Arc::new(Scripted { model, outcome })
    }

    async fn ask(llm: &dyn Llm) -> Result<String, CallError> {
        let request = llm.model().request(Request::of("", "What?", 9));
        let call = Call { role: ModelRole::Judge, replicate: 0, request };
        llm.call(call).await.map(|answered| answered.reply.text)
    }

    #[tokio::test]
    async fn only_failures_caused_by_the_run_are_remembered() {
        let failed = Arc::new(FailedCalls::default());
        let fault = Fault { kind: FaultKind::BadRequest, status: 400, message: "no".to_owned() };
        for outcome in [Ok("yes"), Err(CallError::Rejected(fault))] {
            let _ = ask(&FailureRecorder::new(model(outcome), Arc::clone(&failed))).await;
        }
        assert_eq!(failed.first(false), None, "a rejected request says something of itself");
        let halted = CallError::Halted("a wrong key".to_owned());
        let missing = CallError::NotRecorded("judge of p/m".to_owned());
        for error in [halted.clone(), missing.clone(), halted] {
            let watched = FailureRecorder::new(model(Err(error)), Arc::clone(&failed));
            assert!(ask(&watched).await.is_err());
        }
        assert_eq!(failed.first(false), Some((3, missing)));
    }

    #[test]
    fn compactor_without_reply_counts_unless_strategies_fell_back() {
        let failed = FailedCalls::default();
        let (why, took) = ("down".to_owned(), std::time::Duration::ZERO);
        let unanswered = CallError::Unavailable { attempts: 1, why, took };
        failed.errors().push((ModelRole::Compactor, unanswered.clone()));
        assert_eq!(
            (failed.first(true), failed.first(false)),
            (None, Some((1, unanswered.clone())))
        );
        failed.errors().push((ModelRole::Judge, unanswered.clone()));
        assert_eq!(failed.first(true), Some((1, unanswered)));
        let halted = CallError::Halted("gone".to_owned());
        failed.errors().push((ModelRole::Compactor, halted.clone()));
        assert_eq!(failed.first(true), Some((2, halted)), "by their messages");
    }
}
