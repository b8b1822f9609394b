//! Calls that are sent to a provider: in turn, within the budget, and retried
//! where that may help.

#![allow(clippy::disallowed_types, reason = "each model has its own HTTP connections")]

use std::future::Future;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;
use thiserror::Error;

use crate::attempt::{Attempt, RetryPolicy};
use crate::halt::{Halt, HaltSwitch};
use crate::http::{Http, Outgoing, ResponseTiming, TransportError};
use crate::limiter::{Limiter, Limits};
use crate::{Answered, Budget, Call, CallError, Endpoint, FaultKind, Llm, Model, Reply};
use recap_core::model::{ModelRole, Timing};
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

/// What all the models of a run share: the thread of connections, budget, retry policy.
pub struct Client {
    http: Http,
    options: Options,
    counter: Counter,
    /// The models that grade what the answerer says, if nobody else does.
    judges: OnceLock<Vec<Arc<HaltSwitch>>>,
}

/// Why calls to a model cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LiveError {
    /// TLS cannot be set up.
    #[error("cannot set up HTTPS: {0}; are the system's root certificates installed?")]
    Tls(String),
    /// There is a cap on the cost, but the model has no price.
    #[error("`{0}` has no price, so that a cap on the cost cannot be kept")]
    Unpriced(String),
}

impl Client {
    /// Starts the thread that sends requests.
    ///
    /// # Errors
    /// If the system refuses to start one.
    pub fn new(options: Options) -> io::Result<Arc<Self>> {
        let http = Http::new(options.connect)?;
        let (counter, judges) = Default::default();
        Ok(Arc::new(Self { http, options, counter, judges }))
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
        let http = self.http.client(&endpoint).map_err(LiveError::Tls)?;
        Ok(Live {
            client: Arc::clone(self),
            model,
            endpoint,
            http,
            limiter: Limiter::new(limits),
            switch: Arc::default(),
        })
    }

    /// Names the models that grade every answer: once all of them are stopped, answers are of
    /// no use, and no answerer is called any more. Only the first list counts.
    pub fn graded_by(&self, judges: &[Arc<Live>]) {
        let _ = self.judges.set(judges.iter().map(|live| Arc::clone(&live.switch)).collect());
    }

    /// Why no judge can grade an answer any more, if so.
    fn ungraded(&self) -> Option<Halt> {
        let halts: Option<Vec<Halt>> = self.judges.get()?.iter().map(|one| one.halt()).collect();
        let halt = halts?.into_iter().next()?;
        Some(Halt { reason: format!("nobody could grade its answer: {}", halt.reason), ..halt })
    }

    /// The longest time of an attempt.
    pub fn attempt_limit(&self) -> Duration {
        self.options.attempt
    }

    /// The budget of the run.
    pub fn budget(&self) -> &Budget {
        &self.options.budget
    }
}

/// A model that is called at its provider. Its calls wait with tokio's timers,
/// on the caller's runtime.
pub struct Live {
    client: Arc<Client>,
    model: Model,
    endpoint: Endpoint,
    /// The connections to its server.
    http: reqwest::Client,
    limiter: Limiter,
    switch: Arc<HaltSwitch>,
}

/// The state of a call between its attempts.
struct CallInProgress {
    asked: Instant,
    attempts: u32,
    /// When the first attempt started, and its time limit began.
    started: Option<Instant>,
    /// Longest time for all attempts.
    limit: Duration,
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
        self.started.map_or(Duration::MAX, |started| self.limit.saturating_sub(started.elapsed()))
    }

    fn answered(&self, reply: Reply, taken: ResponseTiming) -> Answered {
        let queued = taken.sent.saturating_duration_since(self.asked);
        let timing = Timing {
            queue_ms: queued.as_secs_f64() * 1_000.0,
            first_byte_ms: taken.first_byte_ms,
            total_ms: taken.total_ms,
            attempts: self.attempts,
        };
        Answered { reply, timing, recorded: false }
    }

    /// The final error, from the last attempt's error and the reason why there
    /// is no further attempt.
    fn unavailable(&self, end: &str) -> CallError {
        let why = format!("{}{end}", self.why);
        CallError::Unavailable { attempts: self.attempts, why, took: self.took() }
    }
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
        let outgoing = Outgoing::new(&self.endpoint, &call.request);
        let mut progress = CallInProgress {
            asked: Instant::now(),
            attempts: 0,
            started: None,
            limit: self.client.options.call,
            chance: chance(self.client.options.seed, &call, outgoing.body()),
            no_json: false,
            why: String::new(),
        };
        let result = self.attempts(&call, &outgoing, &mut progress).await;
        match &result {
            Ok(_) => self.switch.answered(true),
            Err(CallError::Rejected(_)) => self.switch.answered(false),
            Err(CallError::Unavailable { why, .. }) => self.switch.unavailable(|| {
                format!("{} gave no reply to several calls in a row; the last: {why}", self.model)
            }),
            Err(_) => {}
        }
        (result, progress.attempts)
    }

    fn halt(&self, reason: &str) {
        self.switch.stop(None, reason.to_owned());
    }
}

impl Live {
    /// Why calls to this model were stopped, if they were.
    pub fn halted(&self) -> Option<Halt> {
        self.switch.halt()
    }

    /// Makes attempts until one ends the call.
    async fn attempts(
        &self,
        call: &Call,
        outgoing: &Outgoing,
        progress: &mut CallInProgress,
    ) -> Result<Answered, CallError> {
        let _place = self.waiting(progress, self.limiter.place()).await?;
        let prompt = self.endpoint.prompt_bound(&call.request, &self.client.counter);
        loop {
            self.waiting(progress, self.limiter.turn()).await?;
            if let Some(halt) = self.client.ungraded().filter(|_| call.role == ModelRole::Answerer)
            {
                return Err(halted(halt));
            }
            progress.started.get_or_insert_with(Instant::now);
            let attempt = self.attempt(call, outgoing, prompt, progress).await?;
            let (why, asked, ahead) = match attempt {
                Attempt::Reply(reply, taken) => return Ok(progress.answered(reply, taken)),
                Attempt::Fault(fault, wait) if fault.kind.is_transient() => {
                    // No wait is longer than a call may last: the calls end then, and soon
                    // the model is halted.
                    let most = self.client.options.call;
                    if let Some(wait) = wait.filter(|wait| *wait <= most) {
                        self.limiter.hold(Instant::now(), wait);
                    }
                    let unasked = wait.is_none() && fault.kind == FaultKind::RateLimited;
                    (fault.to_string(), wait, if unasked { AHEAD } else { 0 })
                }
                Attempt::Fault(fault, _) if fault.kind.is_permanent() => {
                    let reason = format!("{} at {}: {fault}", self.model, self.endpoint.origin());
                    return Err(halted(self.switch.stop(Some(fault.kind), reason)));
                }
                Attempt::Fault(fault, _) => return Err(CallError::Rejected(fault)),
                Attempt::Unreadable { error, page } => {
                    let last = progress.attempts >= self.client.options.patience.attempts;
                    if !page || last || std::mem::replace(&mut progress.no_json, true) {
                        return Err(CallError::Malformed(error));
                    }
                    (error.to_string(), None, 0)
                }
                Attempt::NoResponse(error) => (error.why, None, 0),
            };
            progress.why = why;
            let wait = self.wait(progress, asked.unwrap_or_default(), ahead)?;
            self.waiting(progress, tokio::time::sleep(wait)).await?;
        }
    }

    /// Waits for a future within the call's time limit, unless the model is halted.
    async fn waiting<T>(
        &self,
        progress: &CallInProgress,
        waited: impl Future<Output = T>,
    ) -> Result<T, CallError> {
        let timed = self.switch.unless(tokio::time::timeout(progress.left(), waited)).await;
        let late = |_| progress.unavailable("; its time was up before its next turn");
        timed.map_err(halted)?.map_err(late)
    }

    /// Sends the request once, within the budget; `prompt` are the most tokens that its
    /// prompt may be counted as.
    async fn attempt(
        &self,
        call: &Call,
        outgoing: &Outgoing,
        prompt: u64,
        progress: &mut CallInProgress,
    ) -> Result<Attempt, CallError> {
        let Client { http, options, .. } = &*self.client;
        let at = (options.clock)();
        let most = call.request.max_tokens;
        let worst = self.endpoint.worst_usd(prompt, most, at).unwrap_or(0.0);
        let reserved = self.switch.unless(options.budget.reserve(worst)).await;
        let reserved = reserved.map_err(halted)?.map_err(|error| match error {
            CallError::Halted(why) => halted(self.switch.stop(None, why)),
            error => error,
        })?;
        progress.attempts += 1;
        let limit = options.attempt.min(progress.left());
        let response = http.send(&self.http, outgoing.clone(), limit).await;
        let attempt = match Attempt::of(response, &self.endpoint, options.clock) {
            Attempt::Reply(reply, taken) => {
                Attempt::Reply(reply.with_checked_usage(outgoing.body().len(), most), taken)
            }
            other => other,
        };
        let cost = match &attempt {
            Attempt::Reply(reply, _) => self.endpoint.usd(reply, at).unwrap_or(worst),
            // It was billed, or may have been.
            Attempt::Unreadable { .. } | Attempt::NoResponse(TransportError { sent: true, .. }) => {
                worst
            }
            Attempt::Fault(..) | Attempt::NoResponse(_) => 0.0,
        };
        reserved.settle(cost);
        Ok(attempt)
    }

    /// How long to wait for the next attempt, if there is one: as long as the server `asked`
    /// for, or longer; `ahead`: doublings by which it is longer.
    fn wait(
        &self,
        progress: &CallInProgress,
        asked: Duration,
        ahead: u32,
    ) -> Result<Duration, CallError> {
        let patience = self.client.options.patience;
        if progress.attempts >= patience.attempts {
            return Err(progress.unavailable(""));
        }
        let step = progress.attempts.saturating_add(ahead);
        let wait = asked.max(patience.backoff(step, &progress.chance));
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
    use crate::providers::OpenAiChat;
    use crate::{Request, Settings};

    const SECOND: Duration = Duration::from_secs(1);

    /// A model whose calls have five attempts, first a second apart at most.
    fn live() -> Live {
        live_within(Budget::new(None))
    }

    fn live_within(budget: Arc<Budget>) -> Live {
        let mut options = Options::new(7, || Timestamp::UNIX_EPOCH);
        options.budget = budget;
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
            limit: 60 * SECOND,
            chance: [3; 32],
            no_json: false,
            why: "busy".to_owned(),
        }
    }

    #[tokio::test]
    async fn nothing_is_sent_once_spending_cannot_be_kept() {
        let folder = tempfile::TempDir::new().unwrap();
        let live = live_within(Budget::unwritable(&folder.path().join("spent.txt")));
        let request = live.model().request(Request::of("", "What?", 9));
        let call = Call { role: ModelRole::Judge, replicate: 0, request };
        let (outcome, sent) = live.call_counted(call).await;
        let error = outcome.unwrap_err();
        assert_eq!(error, CallError::Halted(live.halted().unwrap().reason));
        assert!(error.to_string().contains("spent.txt cannot hold what is spent ("), "{error}");
        assert_eq!(sent, 0);
    }

    #[test]
    fn no_call_retries_before_the_servers_stated_time() {
        let live = live();
        let own = |step| live.client.options.patience.backoff(step, &[3; 32]);
        let wait = |asked, ahead| live.wait(&after(1), asked, ahead).unwrap();
        assert!(own(1) > Duration::ZERO);
        assert_eq!(wait(own(1) + SECOND, 0), own(1) + SECOND);
        assert_eq!(wait(own(1) / 2, 0), own(1), "one may come later");
        assert_eq!(wait(Duration::ZERO, 0), own(1));
        assert_eq!(wait(Duration::ZERO, AHEAD), own(3), "as after two more attempts");
    }

    #[test]
    fn call_ends_when_attempts_or_time_run_out() {
        let live = live();
        assert!(live.wait(&after(4), Duration::ZERO, 0).is_ok());
        assert!(live.wait(&after(5), Duration::ZERO, 0).is_err());
        let mut late = after(1);
        late.started = Some(Instant::now());
        assert!(live.wait(&late, 20 * SECOND, 0).is_ok());
        let Err(CallError::Unavailable { why, .. }) = live.wait(&late, 61 * SECOND, 0) else {
            panic!("the call has no time left");
        };
        assert!(why.starts_with("busy; the next attempt is due in 61.0 s"), "{why}");
    }
}
