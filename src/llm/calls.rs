//! The calls of a run: which are under way, what came of them, what they cost.

use std::collections::BTreeMap;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use jiff::Timestamp;
use tokio::sync::OnceCell;

use super::{Answered, Call, CallError, Cassette, FaultKind, Finish, Model, Reply, Tokens};
use crate::model::{Buckets, CallOutcome, CallRow, LatencySource, Seat, Timing, Usage};
use crate::pricing::{Class, ModelPrices};

/// Tells the time. Only what bills by the hour depends on it.
pub type Now = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// A call that is under way or over. Those who ask for the same wait for it.
pub(super) type InFlightCall = OnceCell<Result<Answered, CallError>>;

/// The calls of a run, shared by all that make them.
pub struct Calls {
    cassette: Option<Cassette>,
    /// What arrived in a run without a cassette.
    replies: OnceLock<Cassette>,
    pub(super) now: Now,
    flights: Mutex<BTreeMap<String, Arc<InFlightCall>>>,
    rows: Mutex<BTreeMap<String, CallRow>>,
}

impl Calls {
    /// The calls of a run that begins, recorded to or replayed from a cassette
    /// if there is one.
    pub fn new(cassette: Option<Cassette>, now: Now) -> Self {
        let (flights, rows) = (Mutex::default(), Mutex::default());
        Self { cassette, replies: OnceLock::new(), now, flights, rows }
    }

    /// The cassette of the run.
    pub fn cassette(&self) -> Option<&Cassette> {
        self.cassette.as_ref()
    }

    /// Keeps what arrives in a run without a cassette, so that nothing is paid
    /// twice if the run is resumed. Once: a second file is not looked at.
    pub fn keep_replies(&self, replies: Cassette) {
        let _ = self.replies.set(replies);
    }

    /// Whether what arrives is kept for a run that is resumed.
    pub fn keeps_replies(&self) -> bool {
        self.replies.get().is_some()
    }

    /// Where calls are recorded, if they are.
    pub(super) fn tape(&self) -> Option<&Cassette> {
        self.cassette.as_ref().or_else(|| self.replies.get())
    }

    /// What the times of the calls are: those that a cassette serves may be of
    /// another run, those of a resumed run are its own.
    pub(super) fn source(&self) -> LatencySource {
        self.cassette.as_ref().map_or(LatencySource::Live, |_| LatencySource::Recorded)
    }

    /// The distinct calls since the last time, by seat, model and key. A call
    /// that two seats make stands with the first of them.
    pub fn take(&self) -> Vec<CallRow> {
        let rows = mem::take(&mut *self.rows());
        let mut rows: Vec<CallRow> = rows.into_values().collect();
        rows.sort_by(|a, b| (a.seat, &a.model, &a.key).cmp(&(b.seat, &b.model, &b.key)));
        rows
    }

    /// The call of a key, begun or not.
    pub(super) fn flight(&self, key: &str) -> Arc<InFlightCall> {
        Arc::clone(self.flights().entry(key.to_owned()).or_default())
    }

    /// Notes that a seat has what it asked for. What failed for a reason of the
    /// run may be tried again by those who ask later.
    pub(super) fn landed(&self, key: &str, seat: Seat, flight: &Arc<InFlightCall>) {
        if let Some(row) = self.rows().get_mut(key) {
            row.seat = row.seat.min(seat);
        }
        let failed = |outcome: &Result<_, CallError>| {
            outcome.as_ref().is_err_and(|error| !error.is_of_the_request())
        };
        let mut flights = self.flights();
        if flight.get().is_some_and(failed)
            && flights.get(key).is_some_and(|current| Arc::ptr_eq(current, flight))
        {
            flights.remove(key);
        }
    }

    /// Notes what came of a call.
    pub(super) fn note(&self, row: CallRow) {
        self.rows().insert(row.key.clone(), row);
    }

    fn flights(&self) -> MutexGuard<'_, BTreeMap<String, Arc<InFlightCall>>> {
        self.flights.lock().expect("nobody panics while holding the flights")
    }

    fn rows(&self) -> MutexGuard<'_, BTreeMap<String, CallRow>> {
        self.rows.lock().expect("nobody panics while holding the rows")
    }
}

/// What is known of a call beside what came of it.
pub(super) struct CallFacts<'a> {
    pub key: &'a str,
    pub model: &'a Model,
    pub prices: Option<&'a ModelPrices>,
    /// When the answer was there: some providers' rates change by the hour.
    pub at: Timestamp,
    pub source: LatencySource,
}

/// The row of a call; none if nothing was sent.
///
/// Providers tell no tokens with a fault, so that those rows have no price.
/// Their time is not known either; a fault that was answered took one request
/// at least.
pub(super) fn row(
    facts: &CallFacts<'_>,
    call: &Call,
    outcome: &Result<Answered, CallError>,
) -> Option<CallRow> {
    let once = Timing { attempts: 1, ..Timing::default() };
    let (ended, tokens, timing, source) = match outcome {
        Ok(Answered { reply, timing, .. }) => {
            (ending(reply), reply.usage.as_ref().ok().copied(), *timing, facts.source)
        }
        Err(CallError::Rejected(fault)) if fault.kind == FaultKind::Filtered => {
            (CallOutcome::Filtered, None, once, facts.source)
        }
        Err(CallError::Rejected(_)) => (CallOutcome::Rejected, None, once, facts.source),
        Err(CallError::Malformed(_)) => (CallOutcome::Malformed, None, once, facts.source),
        // No cassette keeps it.
        Err(CallError::Unavailable { attempts, .. }) => {
            let timing = Timing { attempts: *attempts, ..Timing::default() };
            (CallOutcome::Unavailable, None, timing, LatencySource::Live)
        }
        Err(CallError::Halted(_) | CallError::OverBudget(_) | CallError::NotRecorded(_)) => {
            return None;
        }
    };
    let usage = tokens.map(|Tokens { usage, .. }| usage);
    Some(CallRow {
        seat: call.seat,
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
        // Another reason means that the text is no whole answer.
        Finish::Length | Finish::Other(_) => CallOutcome::Truncated,
        Finish::Refused => CallOutcome::Refused,
        Finish::Filtered => CallOutcome::Filtered,
    }
}

/// The price of a call in USD at the standard rates; none if a rate is not
/// known.
pub fn call_usd(prices: &ModelPrices, usage: &Usage, at: Timestamp) -> Option<f64> {
    let buckets = Buckets {
        uncached: usage.input,
        read: usage.cache_read,
        write: usage.cache_write_5m,
        write_1h: usage.cache_write_1h,
        stored_token_seconds: 0,
    };
    let prompt = prices.prompt_usd(&buckets, at, Class::Standard)?;
    let output = prices.output_usd(usage.prompt(), usage.output, at, Class::Standard)?;
    Some(prompt + output)
}
