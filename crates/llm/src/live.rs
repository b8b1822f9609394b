//! Calls that are sent to a provider: in turn, within the budget, and retried
//! where that may help.

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use thiserror::Error;

use crate::attempt::{Attempt, RetryPolicy};
use crate::halt::{Halt, HaltSwitch};
use crate::http::{Http, Outgoing, StartError};
use crate::limiter::{AttemptEnd, Limiter, Limits};
use crate::{Answered, Budget, Call, CallError, Endpoint, FaultKind, Llm, Model};
use recap_core::model::Timing;
use recap_core::tokens::Counter;

/// Doublings by which the waits are longer after a rate limit that does not say
/// when it ends: providers count over a minute, and 2, 4, 8 and 16 s cover more
/// of it than 0.5, 1, 2 and 4.
const AHEAD: u32 = 2;

/// How the calls of a run are made.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of the random numbers of the run; here, of the waits between attempts.
    pub seed: u64,
    /// The time of day: for prices that change by the hour, and for servers
    /// that name a time to come back without stating their own.
    pub clock: fn() -> Timestamp,
    /// The budget of the run.
    pub budget: Arc<Budget>,
    /// Longest time for making a connection.
    pub connect: Duration,
    /// Longest time for an attempt, from looking for a connection to the last
    /// byte.
    pub attempt: Duration,
    /// Longest time for a call, from the start of its first attempt to the end
    /// of its last.
    pub call: Duration,
    /// Number of attempts and the waits between them.
    pub patience: RetryPolicy,
}

impl Options {
    /// The defaults: 10 s for a connection, 120 s for an attempt (a reply of
    /// 8,000 tokens at 80 a second takes 100), 600 s for a call (what OpenAI's
    /// and Anthropic's libraries allow), and any cost.
    pub fn new(seed: u64, clock: fn() -> Timestamp) -> Self {
        Self {
            seed,
            clock,
            budget: Budget::new(None),
            connect: Duration::from_secs(10),
            attempt: Duration::from_secs(120),
            call: Duration::from_secs(600),
            patience: RetryPolicy::default(),
        }
    }
}

/// What all the models of a run share: connections, budget, retry policy.
pub struct Client {
    http: Http,
    options: Options,
    counter: Counter,
}

/// Why calls to a model cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LiveError {
    /// The client cannot start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// There is a cap on the cost, but the model has no price.
    #[error("`{0}` has no price, so that a cap on the cost cannot be kept")]
    Unpriced(String),
}

impl Client {
    /// Starts the thread that sends requests.
    ///
    /// # Errors
    /// If the system refuses to start one.
    pub fn new(options: Options) -> Result<Arc<Self>, StartError> {
        let http = Http::new(options.connect)?;
        Ok(Arc::new(Self { http, options, counter: Counter::default() }))
    }

    /// A model at a server, within limits of its own.
    ///
    /// # Errors
    /// If there is a cap on the cost and the model has no price, or HTTPS
    /// cannot be set up.
    pub fn live(
        self: &Arc<Self>,
        model: Model,
        endpoint: Endpoint,
        limits: Limits,
    ) -> Result<Live, LiveError> {
        let priced = endpoint.prices().is_some_and(|prices| prices.is_priced());
        if self.options.budget.is_capped() && !priced {
            return Err(LiveError::Unpriced(model.id()));
        }
        self.http.open(&endpoint)?;
        Ok(Live {
            client: Arc::clone(self),
            model,
            endpoint,
            limiter: Limiter::new(limits),
            switch: HaltSwitch::default(),
        })
    }

    /// Whether there is a cap on what may be spent.
    pub fn is_capped(&self) -> bool {
        self.options.budget.is_capped()
    }

    /// Adds what an interrupted run had spent before this one resumed it.
    pub fn count(&self, usd: f64) {
        self.options.budget.count(usd);
    }

    /// What the calls cost so far; see [`Budget::spent_usd`].
    pub fn spent_usd(&self) -> f64 {
        self.options.budget.spent_usd()
    }
}

/// A model that is called at its provider. Its calls wait with tokio's timers,
/// on the caller's runtime.
pub struct Live {
    client: Arc<Client>,
    model: Model,
    endpoint: Endpoint,
    limiter: Arc<Limiter>,
    switch: HaltSwitch,
}

/// The state of a call between its attempts.
struct CallInProgress {
    asked: Instant,
    attempts: u32,
    /// When the first attempt started.
    started: Option<Instant>,
    /// The end of its time limit, set when the first attempt starts.
    deadline: Option<Instant>,
    /// Largest number of tokens that its prompt may be counted as.
    prompt: u64,
    /// Seed of the waits between its attempts.
    chance: [u8; 32],
    /// Whether a success response was not JSON: most likely the page of a proxy.
    no_json: bool,
    /// The error of the last attempt.
    why: String,
}

impl CallInProgress {
    /// How long it took so far, without the wait for its turn in this run.
    fn took(&self) -> Duration {
        self.started.map_or(Duration::ZERO, |started| started.elapsed())
    }

    fn left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |at| at.saturating_duration_since(Instant::now()))
    }

    /// The final error, from the last attempt's error and the reason why there
    /// is no further attempt.
    fn unavailable(&self, end: &str) -> CallError {
        let why = format!("{}{end}", self.why);
        CallError::Unavailable { attempts: self.attempts, why, took: self.took() }
    }
}

/// How long to wait before the next attempt.
enum Backoff {
    /// As long as the server asks for, or longer.
    Requested(Duration),
    /// For an error that should soon be over.
    Short,
    /// For a limit that lasts a minute or so.
    Long,
}

/// What to do after an attempt.
enum NextStep {
    End(Result<Answered, CallError>),
    /// Another one may help, after at least this wait.
    Again {
        why: String,
        wait: Backoff,
    },
}

#[async_trait]
impl Llm for Live {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn call(&self, call: Call) -> Result<Answered, CallError> {
        self.call_counted(call).await.0
    }

    async fn call_counted(&self, call: Call) -> (Result<Answered, CallError>, u32) {
        let (result, sent) = self.attempts(&call).await;
        match &result {
            Ok(_) => self.switch.answered(true),
            Err(CallError::Rejected(_)) => self.switch.answered(false),
            Err(CallError::Unavailable { why, .. }) => self.switch.unavailable(|| {
                format!("{} gave no reply to several calls in a row; the last: {why}", self.model)
            }),
            Err(_) => {}
        }
        (result, sent)
    }

    fn halt(&self, reason: &str) {
        self.switch.not_storable(reason);
    }
}

impl Live {
    /// Why calls to this model were stopped, if they were.
    pub fn halted(&self) -> Option<Halt> {
        self.switch.halt()
    }

    /// The server that the calls go to.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Makes attempts until one ends the call; returns their number too.
    async fn attempts(&self, call: &Call) -> (Result<Answered, CallError>, u32) {
        let outgoing = Outgoing::new(&self.endpoint, &call.request);
        let mut progress = CallInProgress {
            asked: Instant::now(),
            attempts: 0,
            started: None,
            deadline: None,
            prompt: self.endpoint.prompt_bound(&call.request, &self.client.counter),
            chance: chance(self.client.options.seed, call, outgoing.body()),
            no_json: false,
            why: String::new(),
        };
        let result = self.attempt_until_end(call, &outgoing, &mut progress).await;
        (result, progress.attempts)
    }

    async fn attempt_until_end(
        &self,
        call: &Call,
        outgoing: &Outgoing,
        progress: &mut CallInProgress,
    ) -> Result<Answered, CallError> {
        let place = self.limiter.place();
        loop {
            let turn = self.waiting(progress, self.limiter.turn(place)).await?;
            let started = *progress.started.get_or_insert_with(Instant::now);
            progress.deadline = started.checked_add(self.client.options.call);
            let outcome = self.attempt(call, outgoing, progress).await?;
            turn.end(self.ended(&outcome));
            match self.next(outcome, progress) {
                NextStep::End(result) => return result,
                NextStep::Again { why, wait } => {
                    progress.why = why;
                    let wait = self.wait(progress, wait)?;
                    self.waiting(progress, tokio::time::sleep(wait)).await?;
                }
            }
        }
    }

    /// Waits for a future within the call's time limit, unless the model is halted.
    async fn waiting<T>(
        &self,
        progress: &CallInProgress,
        waited: impl Future<Output = T>,
    ) -> Result<T, CallError> {
        let timed = async {
            match progress.deadline {
                None => Ok(waited.await),
                Some(at) => tokio::time::timeout_at(at.into(), waited).await,
            }
        };
        let timed = self.switch.unless(timed).await.map_err(halted)?;
        timed.map_err(|_| progress.unavailable("; its time was up before its next turn"))
    }

    /// Sends the request once, within the budget.
    async fn attempt(
        &self,
        call: &Call,
        outgoing: &Outgoing,
        progress: &mut CallInProgress,
    ) -> Result<Attempt, CallError> {
        let Client { http, options, .. } = &*self.client;
        let at = (options.clock)();
        let worst = self.endpoint.worst_usd(progress.prompt, call.request.max_tokens, at);
        let worst = worst.unwrap_or(0.0);
        let reserved = self.switch.unless(options.budget.reserve(worst)).await.map_err(halted)?;
        let reserved = reserved.map_err(|why| CallError::OverBudget(why.to_string()))?;
        progress.attempts += 1;
        let limit = options.attempt.min(progress.left());
        let outcome =
            Attempt::of(http.send(outgoing.clone(), limit).await, &self.endpoint, options.clock);
        let outcome = match outcome {
            Attempt::Reply(reply, taken) => {
                let bytes = outgoing.body().len();
                Attempt::Reply(reply.with_checked_usage(bytes, call.request.max_tokens), taken)
            }
            other => other,
        };
        reserved.settle(match &outcome {
            Attempt::Reply(reply, _) => self.endpoint.usd(reply, at).unwrap_or(worst),
            // It was billed, or may have been.
            Attempt::Unreadable { .. } | Attempt::NoResponse { sent: true, .. } => worst,
            Attempt::Fault(..) | Attempt::NoResponse { sent: false, .. } => 0.0,
        });
        Ok(outcome)
    }

    /// What an attempt shows about the server's limits.
    fn ended(&self, outcome: &Attempt) -> AttemptEnd {
        match outcome {
            Attempt::Reply(..) => AttemptEnd::Well,
            Attempt::Fault(fault, wait)
                if matches!(fault.kind, FaultKind::RateLimited | FaultKind::Overloaded) =>
            {
                // No wait is longer than a call may last: the calls end then,
                // and soon the model is halted.
                let most = self.client.options.call;
                AttemptEnd::Throttled(wait.filter(|wait| *wait <= most).unwrap_or_default())
            }
            _ => AttemptEnd::Otherwise,
        }
    }

    fn next(&self, outcome: Attempt, progress: &mut CallInProgress) -> NextStep {
        match outcome {
            Attempt::Reply(reply, taken) => {
                let queued = taken.sent.saturating_duration_since(progress.asked);
                let timing = Timing {
                    queue_ms: queued.as_secs_f64() * 1_000.0,
                    first_byte_ms: taken.first_byte_ms,
                    total_ms: taken.total_ms,
                    attempts: progress.attempts,
                };
                NextStep::End(Ok(Answered { reply, timing, recorded: false }))
            }
            Attempt::Fault(fault, wait) if fault.kind.is_transient() => {
                let wait = match (wait, fault.kind) {
                    (Some(wait), _) => Backoff::Requested(wait),
                    (None, FaultKind::RateLimited) => Backoff::Long,
                    (None, _) => Backoff::Short,
                };
                NextStep::Again { why: fault.to_string(), wait }
            }
            Attempt::Fault(fault, _) if fault.kind.is_permanent() => {
                let reason = format!("{} at {}: {fault}", self.model, self.endpoint.origin());
                NextStep::End(Err(halted(self.switch.permanent_fault(fault.kind, reason))))
            }
            Attempt::Fault(fault, _) => NextStep::End(Err(CallError::Rejected(fault))),
            Attempt::Unreadable { error, page: true }
                if !progress.no_json
                    && progress.attempts < self.client.options.patience.attempts =>
            {
                progress.no_json = true;
                NextStep::Again { why: error.to_string(), wait: Backoff::Short }
            }
            Attempt::Unreadable { error, .. } => NextStep::End(Err(CallError::Malformed(error))),
            Attempt::NoResponse { why, .. } => NextStep::Again { why, wait: Backoff::Short },
        }
    }

    /// How long to wait for the next attempt, if there is one.
    fn wait(&self, progress: &CallInProgress, wait: Backoff) -> Result<Duration, CallError> {
        let patience = self.client.options.patience;
        if progress.attempts >= patience.attempts {
            return Err(progress.unavailable(""));
        }
        let backoff = |step| patience.backoff(step, &progress.chance);
        let wait = match wait {
            Backoff::Requested(wait) => wait.max(backoff(progress.attempts)),
            Backoff::Short => backoff(progress.attempts),
            Backoff::Long => backoff(progress.attempts.saturating_add(AHEAD)),
        };
        let left = progress.left();
        if wait >= left {
            let (wait, left) = (wait.as_secs_f64(), left.as_secs_f64());
            let late =
                format!("; the next attempt is due in {wait:.1} s, the call has {left:.1} s left");
            return Err(progress.unavailable(&late));
        }
        Ok(wait)
    }
}

fn halted(halt: Halt) -> CallError {
    CallError::Halted(halt.reason)
}

/// Seed of the waits of a call: from the run's seed and the request, so that
/// they are the same in the same run and differ from call to call.
fn chance(seed: u64, call: &Call, body: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.update(call.role.as_str().as_bytes());
    hasher.update(&call.replicate.to_le_bytes());
    hasher.update(body);
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Settings;
    use crate::providers::OpenAiChat;

    const SECOND: Duration = Duration::from_secs(1);

    /// A model whose calls have five attempts, first a second apart at most.
    fn live() -> Live {
        let mut options = Options::new(7, || Timestamp::UNIX_EPOCH);
        options.patience =
            RetryPolicy { attempts: 5, first_wait: SECOND, longest_wait: 30 * SECOND };
        let endpoint = Endpoint::new(&OpenAiChat::OPENAI, "http://host:1/v1", None, None).unwrap();
        let (provider, name) = ("openai".to_owned(), "mock".to_owned());
        let model = Model { provider, name, settings: Settings::default() };
        Client::new(options).unwrap().live(model, endpoint, Limits::default()).unwrap()
    }

    fn after(attempts: u32) -> CallInProgress {
        CallInProgress {
            asked: Instant::now(),
            attempts,
            started: None,
            deadline: None,
            prompt: 0,
            chance: [3; 32],
            no_json: false,
            why: "busy".to_owned(),
        }
    }

    #[test]
    fn no_call_retries_before_the_servers_stated_time() {
        let live = live();
        let own = |step| live.client.options.patience.backoff(step, &[3; 32]);
        let wait = |actual| live.wait(&after(1), actual).unwrap();
        assert!(own(1) > Duration::ZERO);
        assert_eq!(wait(Backoff::Requested(own(1) + SECOND)), own(1) + SECOND);
        assert_eq!(wait(Backoff::Requested(own(1) / 2)), own(1), "one may come later");
        assert_eq!(wait(Backoff::Short), own(1));
        assert_eq!(wait(Backoff::Long), own(3), "as after two more attempts");
    }

    #[test]
    fn call_ends_when_attempts_or_time_run_out() {
        let live = live();
        assert!(live.wait(&after(4), Backoff::Short).is_ok());
        assert!(live.wait(&after(5), Backoff::Short).is_err());
        let mut late = after(1);
        late.deadline = Some(Instant::now() + 60 * SECOND);
        assert!(live.wait(&late, Backoff::Requested(20 * SECOND)).is_ok());
        let Err(CallError::Unavailable { why, .. }) =
            live.wait(&late, Backoff::Requested(61 * SECOND))
        else {
            panic!("the call has no time left");
        };
        assert!(why.starts_with("busy; the next attempt is due in 61.0 s"), "{why}");
    }
}
