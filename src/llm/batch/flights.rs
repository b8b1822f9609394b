//! The batches of a model: calls that wait for the next one, batches on their
//! way, and results that nobody has asked for yet.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tokio::sync::oneshot;

use super::log::Sent;
use crate::llm::budget::{Budget, Reserved};
use crate::llm::providers::batches::{BatchLimits, BatchResult};
use crate::llm::{Answered, CallError};

/// The factor by which each look at a batch is later than the one before, and
/// the bound of the interval, as a multiple of the first.
const SLOWER: f64 = 1.5;
const SLOWEST: u32 = 20;

/// A request of a batch.
pub(super) struct Request {
    /// The call's key, which is its name in the batch.
    pub key: String,
    /// The request as it stands in a batch.
    pub entry: String,
    /// Bytes of the request's own body.
    pub bytes: usize,
    /// Most tokens of the reply.
    pub max_tokens: u64,
    /// The path that the request would be sent to alone.
    pub path: String,
    /// The most that it can cost, in USD.
    pub worst: f64,
    /// How often it was submitted so far.
    pub attempts: u32,
}

/// Where the reply to a call goes.
pub(super) type Reply = oneshot::Sender<Result<Answered, CallError>>;

/// A call that waits for its reply.
pub(super) struct Waiter {
    pub request: Request,
    /// What it may cost.
    pub reserved: Reserved,
    pub reply: Reply,
}

/// A call of a batch.
pub(super) enum Slot {
    /// It waits.
    Waiting(Box<Waiter>),
    /// An earlier program submitted it; in this one it was not made yet.
    Unclaimed(Reserved),
}

impl Slot {
    /// The call that waits, if one does.
    pub fn waiter(self) -> Option<Waiter> {
        match self {
            Slot::Waiting(waiter) => Some(*waiter),
            Slot::Unclaimed(_) => None,
        }
    }
}

/// A batch from its submission to its results.
pub(super) struct Flight {
    /// Its number in the log.
    pub number: u64,
    /// When it was submitted, by this machine's clock.
    pub at: Timestamp,
    /// The file of its requests at the provider.
    pub file: Option<String>,
    /// Its name at the provider, once it is known.
    pub id: Option<String>,
    /// Whether the provider may have made it although its name is not known.
    pub unsure: bool,
    pub calls: BTreeMap<String, Slot>,
    /// When the next step is due.
    pub due: Instant,
    interval: Duration,
    slowest: Duration,
    /// Steps that failed since the last one that did not.
    pub failures: u32,
}

impl Flight {
    /// A batch that is about to be submitted.
    pub fn new(number: u64, at: Timestamp, calls: BTreeMap<String, Slot>, poll: Duration) -> Self {
        Self {
            number,
            at,
            file: None,
            id: None,
            unsure: false,
            calls,
            due: Instant::now(),
            interval: poll,
            slowest: poll * SLOWEST,
            failures: 0,
        }
    }

    /// A batch of an earlier program. What it may cost is reserved without a
    /// question: it is spent already.
    pub fn earlier(sent: Sent, budget: &Arc<Budget>, poll: Duration) -> Self {
        let Sent { number, at, calls, file, id, .. } = sent;
        let held = |usd| Slot::Unclaimed(budget.hold(usd));
        let calls = calls.into_iter().map(|(key, usd)| (key, held(usd))).collect();
        let unsure = id.is_none();
        Self { file, id, unsure, ..Self::new(number, at, calls, poll) }
    }

    /// The requests as they stand in the batch; empty where an earlier program
    /// submitted it.
    pub fn entries(&self) -> Vec<&str> {
        self.requests().map(|request| request.entry.as_str()).collect()
    }

    /// The path that its requests would be sent to alone.
    pub fn path(&self) -> Option<&str> {
        self.requests().next().map(|request| request.path.as_str())
    }

    /// The requests of the calls that wait.
    pub fn requests(&self) -> impl Iterator<Item = &Request> {
        self.calls.values().filter_map(|slot| match slot {
            Slot::Waiting(waiter) => Some(&waiter.request),
            Slot::Unclaimed(_) => None,
        })
    }

    /// The next step is due at once.
    pub fn proceed(&mut self) {
        self.failures = 0;
        self.due = Instant::now();
    }

    /// The next look is due later than the last one was.
    pub fn pause(&mut self, least: Duration) {
        self.due = Instant::now() + self.interval.max(least);
        self.interval = self.interval.mul_f64(SLOWER).min(self.slowest);
    }
}

/// What becomes of a call that is made.
pub(super) enum Claim {
    /// An earlier program submitted it, and its result has arrived.
    Ready(BatchResult, Waiter),
    /// It waits for the batch of an earlier program.
    Waits,
    /// It is new.
    New(Request, Reply),
}

/// What is to be done next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The calls that wait are submitted.
    Launch,
    /// The batch with this number takes its next step.
    Advance(u64),
    /// Nothing before this time, unless a call is added.
    Wait(Instant),
}

/// The shared state of a model's batches.
#[derive(Default)]
pub(super) struct State {
    /// Whether the batches of an earlier program were taken over.
    pub adopted: bool,
    pub queue: Vec<Waiter>,
    /// When the last call was added.
    pub last: Option<Instant>,
    pub flights: Vec<Flight>,
    /// Results of calls that were not made yet in this program.
    pub ready: BTreeMap<String, (BatchResult, Reserved)>,
}

impl State {
    /// What is to be done next, where calls are gathered until none has come for
    /// this long.
    pub fn next(&self, limits: BatchLimits, quiet: Duration) -> Next {
        let now = Instant::now();
        let bytes: usize = self.queue.iter().map(|waiter| waiter.request.entry.len() + 1).sum();
        let full = self.queue.len() >= limits.requests || bytes >= limits.bytes;
        let gathered = self.last.filter(|_| !self.queue.is_empty()).map(|last| last + quiet);
        if full || gathered.is_some_and(|at| at <= now) {
            return Next::Launch;
        }
        let first = self.flights.iter().min_by_key(|flight| flight.due);
        match first {
            Some(flight) if flight.due <= now => Next::Advance(flight.number),
            _ => {
                let due = first.map(|flight| flight.due).into_iter().chain(gathered).min();
                Next::Wait(due.unwrap_or(now + quiet))
            }
        }
    }

    /// Takes as many of the calls that wait as a batch may hold, in the order of
    /// their keys.
    pub fn gather(&mut self, limits: BatchLimits) -> BTreeMap<String, Slot> {
        self.queue.sort_by(|a, b| a.request.key.cmp(&b.request.key));
        let mut bytes = 0;
        let fits = self.queue.iter().take(limits.requests).take_while(|waiter| {
            bytes += waiter.request.entry.len() + 1;
            bytes <= limits.bytes
        });
        // One call always fits: a larger one is not taken in.
        let count = fits.count().max(1).min(self.queue.len());
        let taken = self.queue.drain(..count);
        taken.map(|waiter| (waiter.request.key.clone(), Slot::Waiting(Box::new(waiter)))).collect()
    }

    /// Looks for a call in the batches of an earlier program. The same call is
    /// never made twice at a time, so that no other one waits in its slot.
    pub fn claim(&mut self, request: Request, reply: Reply) -> Claim {
        if let Some((result, reserved)) = self.ready.remove(&request.key) {
            return Claim::Ready(result, Waiter { request, reserved, reply });
        }
        let unclaimed = |flight: &&mut Flight| {
            matches!(flight.calls.get(&request.key), Some(Slot::Unclaimed(_)))
        };
        let Some(flight) = self.flights.iter_mut().find(unclaimed) else {
            return Claim::New(request, reply);
        };
        let key = request.key.clone();
        match flight.calls.remove(&key) {
            Some(Slot::Unclaimed(reserved)) => {
                let waiter = Box::new(Waiter { request, reserved, reply });
                flight.calls.insert(key, Slot::Waiting(waiter));
                Claim::Waits
            }
            _ => Claim::New(request, reply),
        }
    }

    /// The batch with this number.
    pub fn flight(&mut self, number: u64) -> Option<&mut Flight> {
        self.flights.iter_mut().find(|flight| flight.number == number)
    }

    /// Takes the batch with this number out of the list.
    pub fn land(&mut self, number: u64) -> Option<Flight> {
        let at = self.flights.iter().position(|flight| flight.number == number)?;
        Some(self.flights.remove(at))
    }
}
