//! Calls that are answered in batches, within a day and at half the price.
//!
//! Calls that wait at the same time are gathered: once no further one has come
//! for a while, they are submitted together, and each is handed its own reply.
//! One of the calls that wait does this for all; if it is dropped, another goes
//! on from the shared state.

mod flights;
mod log;
mod results;
mod sending;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::sync::{Notify, oneshot};

use self::flights::{Claim, Flight, Request, State, Waiter};
pub use self::log::{BatchLog, BatchLogError};
use super::cassette::key;
use super::live::{Live, halted};
use super::providers::batches::Batches;
use super::{Answered, Call, CallError, Endpoint, Llm, Model, Settings};
use crate::model::Seat;
use crate::text::counted;

/// Tells the user what became of a batch.
pub type Tell = Arc<dyn Fn(&str) + Send + Sync>;

/// How the batches of a run are made.
#[derive(Clone)]
pub struct BatchOptions {
    /// Where it is kept which batch holds which calls.
    pub log: Arc<BatchLog>,
    /// How long no further call has to come before a batch is submitted, and
    /// how long it takes until it is looked at for the first time; later looks
    /// are rarer.
    pub poll: Duration,
    /// Tells what was submitted and what has ended.
    pub tell: Tell,
}

/// A model whose answers, verdicts and questions come in batches. The summaries
/// of a compactor do not: a session goes on only with its summary, so that its
/// calls come one after the other.
pub struct Batched {
    live: Arc<Live>,
    /// The server, at the prices of batches.
    endpoint: Endpoint,
    batches: &'static dyn Batches,
    options: BatchOptions,
    /// Held by the call that submits and looks for all others.
    lead: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// A call was added.
    added: Notify,
}

/// Whether the calls of a seat wait for a batch.
pub fn waits_for_batches(seat: Seat) -> bool {
    match seat {
        Seat::Answerer | Seat::Judge | Seat::Author => true,
        Seat::Compactor | Seat::Embedder => false,
    }
}

impl Batched {
    /// A model in batches; `None` where its provider has none, or not at half the
    /// price.
    pub fn new(live: Arc<Live>, options: BatchOptions) -> Option<Self> {
        let batches = live.endpoint().provider().batches()?;
        Some(Self {
            endpoint: live.endpoint().in_batches(),
            live,
            batches,
            options,
            lead: tokio::sync::Mutex::default(),
            state: Mutex::default(),
            added: Notify::new(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread panics while it holds the batches")
    }

    /// Waits for the reply to a call, and does what is to be done for all.
    async fn ask(&self, call: &Call) -> Result<Answered, CallError> {
        self.adopt();
        let (reply, mut receiver) = oneshot::channel();
        let request = self.request(call);
        let claim = self.state().claim(request, reply);
        match claim {
            Claim::Ready(result, waiter) => {
                self.hand(result, waiter);
            }
            Claim::Waits => {}
            Claim::New(request, reply) => {
                let reserved = self.live.client.options.budget.reserve(request.worst).await;
                let reserved = reserved.map_err(|why| CallError::OverBudget(why.to_string()))?;
                self.enqueue(Waiter { request, reserved, reply })?;
            }
        }
        loop {
            tokio::select! {
                biased;
                received = &mut receiver => return received.unwrap_or_else(|_| {
                    Err(CallError::Halted("its batch was given up".to_owned()))
                }),
                lead = self.lead.lock() => {
                    self.step().await;
                    drop(lead);
                }
            }
        }
    }

    /// The request of a call.
    fn request(&self, call: &Call) -> Request {
        let (client, provider) = (&self.live.client, self.endpoint.provider());
        let key = key(&self.live.model, call);
        let (path, body) = (provider.path(&call.request), provider.encode(&call.request));
        let prompt = self.endpoint.prompt_bound(&call.request, &client.counter);
        let at = (client.options.clock)();
        Request {
            entry: self.batches.entry(&key, &path, &body),
            bytes: body.to_string().len(),
            max_tokens: call.request.max_tokens,
            path,
            // Without prices nothing can be capped.
            worst: self.endpoint.worst_usd(prompt, call.request.max_tokens, at).unwrap_or(0.0),
            attempts: self.options.log.attempts(&key),
            key,
        }
    }

    /// Adds a call to the next batch.
    fn enqueue(&self, waiter: Waiter) -> Result<(), CallError> {
        let (limit, size) = (self.batches.limits().bytes, waiter.request.entry.len());
        if size >= limit {
            let why = format!("its request has {size} bytes, a batch at most {limit}");
            return Err(CallError::Unavailable { attempts: 0, why });
        }
        let mut state = self.state();
        state.queue.push(waiter);
        state.last = Some(Instant::now());
        drop(state);
        self.added.notify_one();
        Ok(())
    }

    /// Takes over the batches of an earlier program, once.
    fn adopt(&self) {
        let mut state = self.state();
        if std::mem::replace(&mut state.adopted, true) {
            return;
        }
        let budget = &self.live.client.options.budget;
        for sent in self.options.log.earlier(&self.identity(), &self.endpoint.origin()) {
            if let Some(id) = &sent.id {
                (self.options.tell)(&format!(
                    "{}: going on with the batch {id} of {}",
                    self.live.model,
                    counted(sent.calls.len(), "call"),
                ));
            }
            state.flights.push(Flight::earlier(sent, budget, self.options.poll));
        }
    }

    /// The model with its settings: two that differ in these have batches of
    /// their own.
    fn identity(&self) -> String {
        let Settings { temperature, effort, room } = &self.live.model.settings;
        let temperature = temperature.map(|degrees| format!("temperature {degrees}"));
        let effort = effort.as_ref().map(|effort| format!("effort {effort}"));
        let settings = temperature.into_iter().chain(effort).chain([format!("room {room}")]);
        std::iter::once(self.live.model.id()).chain(settings).collect::<Vec<_>>().join(", ")
    }

    /// A reason with the model and the server that it is about.
    fn reason(&self, why: &str) -> String {
        format!("{} at {}: {why}", self.live.model, self.endpoint.origin())
    }
}

#[async_trait]
impl Llm for Batched {
    fn model(&self) -> &Model {
        &self.live.model
    }

    async fn call(&self, call: Call) -> Result<Answered, CallError> {
        if !waits_for_batches(call.seat) {
            return self.live.call(call).await;
        }
        let result = self.live.switch.unless(self.ask(&call)).await.map_err(halted)?;
        match &result {
            Ok(_) => self.live.switch.answered(true),
            Err(CallError::Rejected(_)) => self.live.switch.answered(false),
            Err(_) => {}
        }
        result
    }

    fn in_batches(&self) -> bool {
        true
    }

    fn halt(&self, reason: &str) {
        self.live.halt(reason);
    }
}
