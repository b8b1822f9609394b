//! The results of a batch, and who gets them.

use std::collections::BTreeMap;
use std::time::Instant;

use serde_json::Value;

use super::Batched;
use super::flights::{Flight, Slot, Waiter};
use super::sending::Trouble;
use crate::llm::attempt::Attempt;
use crate::llm::http::{Outgoing, Response, ResponseTiming};
use crate::llm::providers::batches::BatchResult;
use crate::llm::{Answered, CallError, Fault};
use crate::model::Timing;
use crate::text::counted;

/// Bytes of results that are always read, and the most.
const SMALLEST: usize = 32 << 20;
const LARGEST: usize = 1 << 30;
/// Bytes of a result besides its reply, and for each token of the reply.
const BESIDE: usize = 1 << 16;
const PER_TOKEN: u64 = 64;

/// What a result comes to.
enum Verdict {
    /// It ends the call, at this cost in USD.
    End(Result<Answered, CallError>, f64),
    /// The call may succeed in another batch.
    Again(String),
    /// No call to this model can succeed.
    Hopeless(Fault),
}

/// The lines of results, and whether any is torn.
#[derive(Default)]
struct Lines {
    results: BTreeMap<String, BatchResult>,
    torn: bool,
}

/// How many calls of a batch came to what.
#[derive(Default)]
struct Tally {
    answered: usize,
    again: usize,
    failed: usize,
    unknown: usize,
}

impl Batched {
    /// Reads the results of a batch, and hands each to the call that waits.
    pub(super) async fn results(
        &self,
        number: u64,
        id: &str,
        paths: &[String],
    ) -> Result<(), Trouble> {
        let (largest, last_time) = {
            let mut state = self.state();
            let Some(flight) = state.flight(number) else { return Ok(()) };
            let most = self.live.client.options.patience.attempts;
            (bound(flight), flight.failures + 1 >= most)
        };
        let mut lines = Lines::default();
        for path in paths {
            let outgoing = Outgoing::get(&self.endpoint, self.endpoint.at(path), largest);
            lines.read(&self.send(outgoing).await?, |line| self.batches.result(line));
        }
        // What is whole in the end is used: it was paid for.
        if lines.torn && !last_time {
            return Err(Trouble::passing(format!("the results of {id} are cut off")));
        }
        self.deliver(number, id, lines.results);
        Ok(())
    }

    fn deliver(&self, number: u64, id: &str, mut results: BTreeMap<String, BatchResult>) {
        let Some(flight) = self.state().land(number) else { return };
        self.options.log.ended(number);
        let mut tally = Tally::default();
        for (key, slot) in flight.calls {
            match (slot, results.remove(&key)) {
                (Slot::Waiting(waiter), Some(result)) => {
                    tally.count(self.hand(result, *waiter));
                }
                (Slot::Waiting(waiter), None) => {
                    let why = format!("the batch {id} ended without a result of this call");
                    tally.count(self.again(&why, *waiter));
                }
                (Slot::Unclaimed(reserved), Some(result)) => {
                    tally.answered += 1;
                    self.state().ready.insert(key, (result, reserved));
                }
                // If the call is made, it is submitted anew.
                (Slot::Unclaimed(reserved), None) => reserved.settle(0.0),
            }
        }
        tally.unknown = results.len();
        (self.options.tell)(&format!("{}: batch {id} ended: {}", self.live.model, tally.told()));
    }

    /// Hands a result to its call. Returns what it came to, `None` if the call is
    /// made again.
    pub(super) fn hand(&self, result: BatchResult, waiter: Waiter) -> Option<bool> {
        match self.verdict(result, &waiter) {
            Verdict::End(outcome, usd) => {
                waiter.reserved.settle(usd);
                let answered = outcome.is_ok();
                // Who does not wait any more does not need it.
                let _ = waiter.reply.send(outcome);
                Some(answered)
            }
            Verdict::Again(why) => self.again(&why, waiter),
            Verdict::Hopeless(fault) => {
                waiter.reserved.settle(0.0);
                let halt =
                    self.live.switch.permanent_fault(fault.kind, self.reason(&fault.to_string()));
                let _ = waiter.reply.send(Err(CallError::Halted(halt.reason)));
                Some(false)
            }
        }
    }

    /// Makes a call again in the next batch, unless it was made too often.
    fn again(&self, why: &str, waiter: Waiter) -> Option<bool> {
        let attempts = waiter.request.attempts;
        if attempts >= self.live.client.options.patience.attempts {
            waiter.reserved.settle(0.0);
            let why = why.to_owned();
            let _ = waiter.reply.send(Err(CallError::Unavailable { attempts, why }));
            return Some(false);
        }
        let mut state = self.state();
        state.queue.push(waiter);
        state.last = Some(Instant::now());
        None
    }

    fn verdict(&self, result: BatchResult, waiter: &Waiter) -> Verdict {
        let request = &waiter.request;
        let (status, body) = match result {
            BatchResult::Answer { status, body } => (status, body),
            BatchResult::Expired => {
                return Verdict::Again("it was not answered within a day".to_owned());
            }
            BatchResult::Cancelled => {
                let why = "the batch was cancelled at the provider".to_owned();
                let error = CallError::Unavailable { attempts: request.attempts, why };
                return Verdict::End(Err(error), 0.0);
            }
        };
        let clock = self.live.client.options.clock;
        match Attempt::of(Ok(response(status, &body)), &self.endpoint, clock) {
            Attempt::Reply(reply, _) => {
                let reply = reply.with_checked_usage(request.bytes, request.max_tokens);
                let usd = self.endpoint.usd(&reply, clock()).unwrap_or(request.worst);
                let timing = Timing { attempts: request.attempts, ..Timing::default() };
                Verdict::End(Ok(Answered { reply, timing, recorded: false, batch: true }), usd)
            }
            Attempt::Fault(fault, _) if fault.kind.is_transient() => {
                Verdict::Again(fault.to_string())
            }
            Attempt::Fault(fault, _) if fault.kind.is_permanent() => Verdict::Hopeless(fault),
            Attempt::Fault(fault, _) => Verdict::End(Err(CallError::Rejected(fault)), 0.0),
            Attempt::Unreadable { error, .. } => {
                Verdict::End(Err(CallError::Malformed(error)), request.worst)
            }
            Attempt::NoResponse { why, .. } => Verdict::Again(why),
        }
    }
}

impl Lines {
    /// Adds JSON lines. Of two results of one request the first counts.
    fn read(&mut self, bytes: &[u8], result: impl Fn(&Value) -> Option<(String, BatchResult)>) {
        for line in bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
            if line.is_empty() {
                continue;
            }
            match serde_json::from_slice(line).ok().as_ref().and_then(&result) {
                Some((name, result)) => {
                    self.results.entry(name).or_insert(result);
                }
                None => self.torn = true,
            }
        }
    }
}

impl Tally {
    fn count(&mut self, came_to: Option<bool>) {
        match came_to {
            Some(true) => self.answered += 1,
            Some(false) => self.failed += 1,
            None => self.again += 1,
        }
    }

    fn told(&self) -> String {
        let mut told = format!("{} answered", counted(self.answered, "call"));
        for (count, what) in [
            (self.again, "submitted again"),
            (self.failed, "failed"),
            (self.unknown, "unknown and left out"),
        ] {
            if count > 0 {
                told += &format!(", {count} {what}");
            }
        }
        told
    }
}

/// A result as the response that it would have been alone.
fn response(status: u16, body: &Value) -> Response {
    Response {
        status,
        retry_after_ms: None,
        retry_after: None,
        date: None,
        redirects_to: None,
        body: body.to_string().into_bytes(),
        too_long: false,
        taken: ResponseTiming { sent: Instant::now(), first_byte_ms: 0.0, total_ms: 0.0 },
    }
}

/// Most bytes of a batch's results that are read.
fn bound(flight: &Flight) -> usize {
    let tokens = flight.requests().map(|request| request.max_tokens).fold(0, u64::saturating_add);
    let replies = usize::try_from(tokens.saturating_mul(PER_TOKEN)).unwrap_or(usize::MAX);
    let beside = flight.calls.len().saturating_mul(BESIDE);
    replies.saturating_add(beside).clamp(SMALLEST, LARGEST)
}
