//! The steps of a batch: it is submitted, looked at, and its results are read.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::Batched;
use super::flights::{Flight, Next, Slot};
use super::log::Sent;
use crate::llm::FaultKind;
use crate::llm::attempt::Attempt;
use crate::llm::error::{WireError, excerpt};
use crate::llm::http::{Outgoing, Url};
use crate::llm::providers::batches::{Batch, BatchState, Lost, Payload};
use crate::text::counted;

/// Most bytes of a response about a batch, and of a list of a hundred.
const ABOUT: usize = 4 << 20;

/// The longest time for sending the requests of a batch, and for reading its
/// results: 200 MB at 3 Mbit/s.
const LONGEST: Duration = Duration::from_secs(600);

/// Why a step failed.
pub(super) struct Trouble {
    pub why: String,
    /// What the server asks to wait.
    wait: Duration,
    /// The kind of a fault that would occur again.
    lasting: Option<FaultKind>,
    /// Whether the server may have done what it was asked.
    unsure: bool,
}

/// The next request for a batch.
enum Stage {
    /// Its file of requests.
    Upload(Payload),
    /// The batch itself.
    Create(Payload),
    /// Whether the provider has it.
    Find,
    /// What has become of it.
    Look(String),
    /// Nothing: it never was, and its requests are not known.
    Drop,
}

impl Batched {
    /// Does what is due next, or waits for it.
    pub(super) async fn step(&self) {
        let next = self.state().next(self.batches.limits(), self.options.poll);
        match next {
            Next::Launch => self.launch(),
            Next::Advance(number) => self.advance(number).await,
            Next::Wait(until) => {
                let _ = tokio::time::timeout_at(until.into(), self.added.notified()).await;
            }
        }
    }

    /// Makes a batch of the calls that wait. It is on its way as soon as the log
    /// has it, so that another call can go on with it at any time.
    fn launch(&self) {
        let mut state = self.state();
        let mut calls = state.gather(self.batches.limits());
        let worst = |slot: &Slot| match slot {
            Slot::Waiting(waiter) => waiter.request.worst,
            Slot::Unclaimed(_) => 0.0,
        };
        let at = (self.live.client.options.clock)();
        let sent = Sent {
            number: 0,
            model: self.identity(),
            server: self.endpoint.origin(),
            at,
            calls: calls.iter().map(|(key, slot)| (key.clone(), worst(slot))).collect(),
            file: None,
            id: None,
        };
        for slot in calls.values_mut() {
            if let Slot::Waiting(waiter) = slot {
                waiter.request.attempts += 1;
            }
        }
        match self.options.log.sent(sent) {
            Ok(number) => state.flights.push(Flight::new(number, at, calls, self.options.poll)),
            Err(why) => {
                let calls = calls.into_values().filter_map(Slot::waiter);
                state.queue.extend(calls);
                self.unwritten(&why);
            }
        }
    }

    /// Takes the next step of a batch.
    async fn advance(&self, number: u64) {
        let Some(stage) = self.stage(number) else { return };
        let done = match stage {
            Stage::Upload(payload) => self.upload(number, payload).await,
            Stage::Create(payload) => self.create(number, payload).await,
            Stage::Find => self.find(number).await,
            Stage::Look(id) => self.look(number, &id).await,
            Stage::Drop => {
                self.void(number);
                Ok(())
            }
        };
        if let Err(trouble) = done {
            self.failed(number, trouble);
        }
    }

    /// The next request for a batch.
    fn stage(&self, number: u64) -> Option<Stage> {
        let mut state = self.state();
        let flight = state.flight(number)?;
        if let Some(id) = &flight.id {
            return Some(Stage::Look(id.clone()));
        }
        let entries = flight.entries();
        let upload = match &flight.file {
            None => self.batches.upload(&entries),
            Some(_) => None,
        };
        // Without its file a batch cannot have been made.
        if flight.unsure && upload.is_none() {
            return Some(Stage::Find);
        }
        // What an earlier program was about to submit is not known any more.
        let Some(path) = flight.path().filter(|_| entries.len() == flight.calls.len()) else {
            return Some(Stage::Drop);
        };
        Some(match upload {
            Some(payload) => Stage::Upload(payload),
            None => Stage::Create(self.batches.create(&entries, flight.file.as_deref(), path)),
        })
    }

    async fn upload(&self, number: u64, payload: Payload) -> Result<(), Trouble> {
        let body = self.post(payload).await?;
        let file = self.batches.uploaded(&body).map_err(unreadable)?;
        if let Err(why) = self.options.log.file(number, &file) {
            self.unwritten(&why);
        }
        if let Some(flight) = self.state().flight(number) {
            flight.file = Some(file);
            flight.proceed();
        }
        Ok(())
    }

    async fn create(&self, number: u64, payload: Payload) -> Result<(), Trouble> {
        if let Some(flight) = self.state().flight(number) {
            flight.unsure = true;
        }
        let made = self.post(payload).await;
        let body = made.inspect_err(|trouble| {
            if let Some(flight) = self.state().flight(number) {
                flight.unsure = trouble.unsure;
            }
        })?;
        let Batch { id, .. } = self.batches.batch(&body).map_err(unreadable)?;
        self.named(number, id, "submitted");
        Ok(())
    }

    /// Looks whether the provider has a batch whose name never arrived.
    async fn find(&self, number: u64) -> Result<(), Trouble> {
        let listed = self.read(self.endpoint.at(self.batches.newest())).await?;
        let listed =
            listed["data"].as_array().ok_or(unreadable(WireError::Lacks("data".into())))?;
        let candidates: Vec<String> = {
            let mut state = self.state();
            let Some(flight) = state.flight(number) else { return Ok(()) };
            let (file, requests) = (flight.file.as_deref(), flight.calls.len());
            let lost = Lost { file, requests, at: flight.at };
            let own = listed.iter().filter(|one| self.batches.is_lost_one(one, &lost));
            let ids = own.filter_map(|one| self.batches.batch(one).ok()).map(|batch| batch.id);
            ids.filter(|id| !self.options.log.knows(id)).collect()
        };
        match candidates.as_slice() {
            [] => {
                if let Some(flight) = self.state().flight(number) {
                    flight.unsure = false;
                    flight.proceed();
                }
            }
            [id] => self.named(number, id.clone(), "found again"),
            several => {
                let why = format!(
                    "one of the batches {} is of this run, and it cannot be told which; the \
                     calls in them are paid for",
                    several.join(", ")
                );
                self.live.switch.permanent_fault(FaultKind::BadRequest, self.reason(&why));
            }
        }
        Ok(())
    }

    async fn look(&self, number: u64, id: &str) -> Result<(), Trouble> {
        let body = self.read(self.endpoint.at(&self.batches.path(id))).await?;
        let batch = self.batches.batch(&body).map_err(unreadable)?;
        match batch.state {
            BatchState::Running => {
                if let Some(flight) = self.state().flight(number) {
                    flight.failures = 0;
                    flight.pause(Duration::ZERO);
                }
                Ok(())
            }
            BatchState::Failed(why) => {
                let why = self.endpoint.scrub(&why);
                let why = self.reason(&format!("the batch {id} was refused: {why}"));
                self.live.switch.permanent_fault(FaultKind::BadRequest, why);
                self.void(number);
                Ok(())
            }
            BatchState::Ended(paths) => self.results(number, id, &paths).await,
        }
    }

    /// Notes the name of a batch.
    fn named(&self, number: u64, id: String, how: &str) {
        let mut state = self.state();
        let Some(flight) = state.flight(number) else { return };
        let calls = flight.calls.len();
        let noted = self.options.log.named(number, &id, calls);
        (self.options.tell)(&format!(
            "{}: batch {id} of {} was {how}; it is answered within a day",
            self.live.model,
            counted(calls, "call"),
        ));
        flight.id = Some(id);
        flight.unsure = false;
        flight.failures = 0;
        flight.pause(Duration::ZERO);
        drop(state);
        if let Err(why) = noted {
            self.unwritten(&why);
        }
    }

    /// Gives up a batch that was never made: its calls wait for the next one.
    fn void(&self, number: u64) {
        if let Err(why) = self.options.log.void(number) {
            self.unwritten(&why);
        }
        let mut state = self.state();
        let calls = state.land(number).map_or_else(BTreeMap::new, |flight| flight.calls);
        for slot in calls.into_values() {
            match slot {
                Slot::Waiting(waiter) => state.queue.push(*waiter),
                Slot::Unclaimed(reserved) => reserved.settle(0.0),
            }
        }
        state.last = Some(Instant::now());
    }

    /// Nothing more is submitted where it cannot be noted.
    fn unwritten(&self, why: &io::Error) {
        let reason = format!(
            "the list of batches cannot be written ({why}), so that no further batch is submitted"
        );
        self.live.switch.not_storable(&reason);
    }

    /// Tries a step again later, unless it failed too often or for good.
    fn failed(&self, number: u64, trouble: Trouble) {
        if let Some(kind) = trouble.lasting {
            self.live.switch.permanent_fault(kind, self.reason(&trouble.why));
            return;
        }
        let most = self.live.client.options.patience.attempts;
        let failures = {
            let mut state = self.state();
            let Some(flight) = state.flight(number) else { return };
            flight.failures += 1;
            flight.pause(trouble.wait);
            flight.failures
        };
        if failures >= most {
            let times = counted(failures as usize, "attempt");
            let why = format!("no answer about a batch after {times}: {}", trouble.why);
            self.live.switch.outage(self.reason(&why));
        }
    }

    async fn post(&self, payload: Payload) -> Result<Value, Trouble> {
        let Payload { path, kind, body } = payload;
        let url = self.endpoint.at(path);
        let bytes = self.send(Outgoing::post(&self.endpoint, url, (&kind, body), ABOUT)).await?;
        json(&bytes)
    }

    async fn read(&self, url: Url) -> Result<Value, Trouble> {
        json(&self.send(Outgoing::get(&self.endpoint, url, ABOUT)).await?)
    }

    /// Sends a request, and returns the body of a success.
    pub(super) async fn send(&self, outgoing: Outgoing) -> Result<Vec<u8>, Trouble> {
        let client = &self.live.client;
        let limit = client.options.attempt.max(LONGEST);
        let response = match client.http.send(outgoing, limit).await {
            Ok(response) if (200..300).contains(&response.status) && response.too_long => {
                let why = format!("a response has more than {} bytes", response.body.len());
                return Err(Trouble::lasting(FaultKind::Server, why));
            }
            Ok(response) if (200..300).contains(&response.status) => return Ok(response.body),
            other => other,
        };
        Err(match Attempt::of(response, &self.endpoint, client.options.clock) {
            Attempt::Fault(fault, wait) if fault.kind.is_transient() => Trouble {
                wait: wait.unwrap_or_default(),
                // It was too busy, or it failed on the way.
                unsure: fault.kind == FaultKind::Server,
                ..Trouble::passing(fault.to_string())
            },
            Attempt::Fault(fault, _) => Trouble::lasting(fault.kind, fault.to_string()),
            Attempt::NoResponse { why, sent } => Trouble { unsure: sent, ..Trouble::passing(why) },
            Attempt::Unreadable { error, .. } => Trouble::passing(error.to_string()),
            Attempt::Reply(..) => Trouble::passing("the response is of another kind".to_owned()),
        })
    }
}

impl Trouble {
    /// What may be over at the next attempt. The server may have done what it
    /// was asked.
    pub(super) fn passing(why: String) -> Self {
        Self { why, wait: Duration::ZERO, lasting: None, unsure: true }
    }

    fn lasting(kind: FaultKind, why: String) -> Self {
        Self { lasting: Some(kind), unsure: false, ..Self::passing(why) }
    }
}

fn unreadable(error: WireError) -> Trouble {
    Trouble::passing(error.to_string())
}

fn json(bytes: &[u8]) -> Result<Value, Trouble> {
    serde_json::from_slice(bytes).map_err(|why| {
        let excerpt = excerpt(&String::from_utf8_lossy(bytes));
        unreadable(WireError::NotJson { why: why.to_string(), excerpt })
    })
}
