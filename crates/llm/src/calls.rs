//! The calls of a run: those in flight, their outcomes and their costs.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use jiff::Timestamp;
use tokio::sync::OnceCell;

use super::cassette::CassetteError;
use super::{Answered, Call, CallError, Cassette, FaultKind, Finish, Model, Reply, Tokens};
use recap_billing::pricing::ModelPrices;
use recap_core::model::{Buckets, CallOutcome, CallRow, LatencySource, ModelRole, Timing, Usage};

/// The clock. Only prices that change by the hour depend on it.
pub type Now = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// A call that is in flight or finished. Callers with the same request wait for it.
pub(super) type InFlightCall = OnceCell<Result<Answered, CallError>>;

/// The calls of a run, shared by all its models.
pub struct Calls {
    cassette: Option<Cassette>,
    /// Replies of a run without a cassette.
    replies: OnceLock<Cassette>,
    pub(super) now: Now,
    flights: Mutex<BTreeMap<String, Arc<InFlightCall>>>,
    rows: Mutex<BTreeMap<String, CallRow>>,
}

impl Calls {
    /// The calls of a new run, recorded to or replayed from a cassette if there
    /// is one.
    pub fn new(cassette: Option<Cassette>, now: Now) -> Self {
        let (flights, rows) = (Mutex::default(), Mutex::default());
        Self { cassette, replies: OnceLock::new(), now, flights, rows }
    }

    /// The cassette of the run, if it has one.
    pub fn cassette(&self) -> Option<&Cassette> {
        self.cassette.as_ref()
    }

    /// Stores the replies of a run without a cassette, so that nothing is paid
    /// twice if the run is resumed. Only the first file is used.
    pub fn keep_replies(&self, replies: Cassette) {
        let _ = self.replies.set(replies);
    }

    /// Whether replies are stored for resuming the run.
    pub fn keeps_replies(&self) -> bool {
        self.replies.get().is_some()
    }

    /// Writes the cassette, or the replies for resuming, completely and sorted.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self) -> Result<(), CassetteError> {
        self.tape().map_or(Ok(()), Cassette::finish)
    }

    /// The cassette that calls are recorded to, if any.
    pub(super) fn tape(&self) -> Option<&Cassette> {
        self.cassette.as_ref().or_else(|| self.replies.get())
    }

    /// How the times of the calls were obtained: a cassette may hold those of
    /// another run, a resumed run has its own.
    pub(super) fn source(&self) -> LatencySource {
        self.cassette.as_ref().map_or(LatencySource::Live, |_| LatencySource::Recorded)
    }

    /// Takes the distinct calls since the last time, by role, model and key. A
    /// call that two roles made is listed under the first of them.
    pub fn take(&self) -> Vec<CallRow> {
        let mut rows: Vec<CallRow> = mem::take(&mut *self.rows()).into_values().collect();
        rows.sort_by(|a, b| (a.role, &a.model, &a.key).cmp(&(b.role, &b.model, &b.key)));
        rows
    }

    /// The call with a key, which may not have started yet.
    pub(super) fn in_flight_call(&self, key: &str) -> Arc<InFlightCall> {
        Arc::clone(self.flights().entry(key.to_owned()).or_default())
    }

    /// Records that a role has received the outcome of its call. A call that
    /// failed because of the run is removed, so that later callers may try it
    /// again.
    pub(super) fn deliver(&self, key: &str, role: ModelRole, in_flight_call: &Arc<InFlightCall>) {
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
    pub(super) fn stores(&self, outcome: &Result<Answered, CallError>) -> bool {
        outcome.is_ok() || self.cassette.is_some()
    }

    /// Drops a stored reply that could not be used, unless it is on a cassette.
    pub(super) fn discard(&self, key: &str) {
        if let (None, Some(replies)) = (&self.cassette, self.replies.get()) {
            replies.forget(key);
        }
    }

    /// Adds the row of a call. What earlier callers sent for it in vain counts as
    /// attempts of the same call.
    pub(super) fn note(&self, mut row: CallRow) {
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

/// The facts about a call besides its outcome.
pub(super) struct CallFacts<'a> {
    pub key: &'a str,
    pub model: &'a Model,
    pub prices: Option<&'a ModelPrices>,
    /// The time of the answer: the prices of some providers change by the hour.
    pub at: Timestamp,
    pub source: LatencySource,
    /// The number of requests that were sent.
    pub sent: u32,
}

/// The row of a call; `None` if nothing was sent.
///
/// Providers report no tokens with a fault, so that those rows have no price.
/// Their time is not known either.
pub(super) fn row(
    facts: &CallFacts<'_>,
    call: &Call,
    outcome: &Result<Answered, CallError>,
) -> Option<CallRow> {
    let failed = Timing { attempts: facts.sent, ..Timing::default() };
    let (ended, tokens, timing, source) = match outcome {
        Ok(Answered { reply, timing, .. }) => {
            (ending(reply), reply.usage.as_ref().ok().copied(), *timing, facts.source)
        }
        Err(CallError::Rejected(fault)) if fault.kind == FaultKind::Filtered => {
            (CallOutcome::Filtered, None, failed, facts.source)
        }
        Err(CallError::Rejected(_)) => (CallOutcome::Rejected, None, failed, facts.source),
        Err(CallError::Malformed(_)) => (CallOutcome::Malformed, None, failed, facts.source),
        // These are not written to a cassette. A halted call may have met the very
        // fault that halts its model (a wrong key, a redirect).
        Err(_) if facts.sent == 0 => return None,
        Err(_) => (CallOutcome::Unavailable, None, failed, LatencySource::Live),
    };
    let usage = tokens.map(|Tokens { usage, .. }| usage);
    Some(CallRow {
        role: call.role,
        model: facts.model.id(),
        key: facts.key.to_owned(),
        replicate: call.replicate,
        outcome: ended,
        usage,
        reasoning: tokens.and_then(|tokens| tokens.reasoning),
        usd: usage.and_then(|usage| call_usd(facts.prices?, &usage, facts.at)),
        timing,
        source,
    })
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
    let prompt = prices.prompt_usd(&Buckets::from(usage), at)?;
    let output = prices.output_usd(usage.prompt(), usage.output, at)?;
    Some(prompt + output)
}
