//! Computes after how many requests a compaction has saved what it cost.
//!
//! Two sessions are billed side by side from the compaction on: one continues
//! from the compacted context, the other as if nothing had been compacted. Both
//! grow by the same recorded messages and are not compacted again; in both, the
//! cache is warm or cold at the same requests as in the session (reference §2).

use recap_billing::pricing::{Rates, Tariff};
use recap_billing::prompt_cache::Life;
use recap_core::model::{Bill, BreakEven, Buckets, CacheRules, CallBill, SessionFacts};

/// The effect of a compaction on the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Position of the compaction among those of the cell.
    pub compaction: u32,
    /// Ordinal of the first request after it.
    pub request: u32,
    /// Number of messages that had arrived.
    pub messages_seen: u32,
    /// Tokens of the prompt before the compaction.
    pub before: u64,
    /// Tokens of the prompt after the compaction.
    pub after: u64,
}

/// USD below which a difference counts as zero: rounding must not delay the break-even.
const NOTHING: f64 = 1e-12;

/// The state of the cache at a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CacheState {
    /// The prompt of the previous request could be read.
    Warm,
    /// Only a part of the previous prompt, or nothing, could be read.
    Cold {
        /// Tokens read from a part that other sessions keep alive.
        read: u64,
    },
    /// The request was not billed.
    NotBilled,
}

/// The billed requests of a session with the state of the cache at each.
#[derive(Clone, Debug, Default)]
pub(super) struct CacheHistory {
    requests: Vec<BilledRequest>,
    /// Total tokens of the messages before each message.
    arrived: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct BilledRequest {
    /// Ordinal of the request among all requests.
    request: u32,
    at: jiff::Timestamp,
    /// Total tokens of the messages that had arrived.
    arrived: u64,
    state: CacheState,
    /// Number of warm requests among the billed requests before it.
    warm_before: u32,
}

impl CacheHistory {
    /// The history of a session's requests, given the cache state at each.
    pub fn new(facts: &SessionFacts, state: &[CacheState]) -> Self {
        let mut arrived = vec![0; 1];
        for message in &facts.messages {
            arrived.push(arrived[arrived.len() - 1] + message.tokens);
        }
        let all = (0u32..).zip(facts.requests.iter().zip(state));
        let all = all.filter(|(_, (_, state))| **state != CacheState::NotBilled);
        let all = all.map(|(number, (request, state))| {
            (number, request.at, arrived[request.message as usize], *state)
        });
        let requests = Self::counted(all);
        Self { requests, arrived }
    }

    fn counted(
        requests: impl Iterator<Item = (u32, jiff::Timestamp, u64, CacheState)>,
    ) -> Vec<BilledRequest> {
        let mut warm_before = 0;
        let billed = requests.map(|(request, at, arrived, state)| {
            let billed = BilledRequest { request, at, arrived, state, warm_before };
            warm_before += u32::from(state == CacheState::Warm);
            billed
        });
        billed.collect()
    }

    /// The requests after a compaction, and the messages that had arrived by then.
    fn ahead(&self, compacted: &Compacted) -> RemainingRequests<'_> {
        let first = self.requests.partition_point(|r| r.request < compacted.request);
        let seen = (compacted.messages_seen as usize).min(self.arrived.len() - 1);
        RemainingRequests { requests: &self.requests[first..], start: self.arrived[seen] }
    }
}

/// The requests after a compaction, which both sessions share.
#[derive(Clone, Copy, Debug)]
struct RemainingRequests<'a> {
    requests: &'a [BilledRequest],
    /// Total tokens of the messages that had arrived at the compaction.
    start: u64,
}

impl RemainingRequests<'_> {
    /// Tokens of the messages that arrived between the compaction and a request.
    fn grown(&self, request: &BilledRequest) -> u64 {
        request.arrived.saturating_sub(self.start)
    }

    /// Numbers of warm and cold requests among the `behind` requests after the first.
    fn warm_and_cold(&self, behind: usize) -> (f64, f64) {
        let Some((first, rest)) = self.requests.split_first() else { return (0.0, 0.0) };
        let until = rest.get(behind).map_or_else(
            || self.requests.last().map_or(0, BilledRequest::warm_through),
            |next| next.warm_before,
        );
        let warm = until - first.warm_through();
        (f64::from(warm), (behind as u32 - warm).into())
    }
}

impl BilledRequest {
    /// Number of warm requests up to and including this one.
    fn warm_through(&self) -> u32 {
        self.warm_before + u32::from(self.state == CacheState::Warm)
    }
}

/// The prices: the session's requests and the compactor's calls may go to two
/// models.
pub(super) struct Tariffs<'a> {
    /// Prices of the session's requests.
    pub session: Tariff<'a>,
    /// Prices of the compactor's calls; `None`: their model has no price.
    pub calls: Option<Tariff<'a>>,
}

/// The break-even of a compaction, by comparing the two bills and by the formula.
/// `life`: that of what is written; `None` where writing is free.
pub fn break_even(
    compacted: &Compacted,
    history: &CacheHistory,
    bill: &Bill,
    Tariffs { session: tariff, calls }: &mut Tariffs<'_>,
    life: Option<Life>,
) -> BreakEven {
    let ahead = history.ahead(compacted);
    let first = compacted.request as usize;
    let cached = bill.requests[..first].iter().rev().flatten().next();
    let read = bill.requests.get(first).and_then(|r| r.as_ref()).map(|r| r.prompt.billed.read);
    let case = CompactionCase {
        before: compacted.before,
        after: compacted.after,
        cached: cached.map_or(0, |r| r.prompt.billed.prompt()),
        readable: read.unwrap_or(0),
        writes: life.map_or(Writes::Free, |life| Writes::of(bill.rules, life)),
    };
    let call = ahead.requests.first().and_then(|next| {
        // Calls are in the order of their compactions.
        let from = bill.calls.partition_point(|c| c.compaction < compacted.compaction);
        let own = bill.calls[from..].iter().take_while(|c| c.compaction == compacted.compaction);
        let mut price =
            |c: &CallBill| calls.as_mut()?.request_usd(&c.prompt.billed, c.output, next.at);
        own.map(&mut price).sum::<Option<f64>>()
    });
    BreakEven {
        compaction: compacted.compaction,
        requests: call.and_then(|call| case.crossing(tariff, ahead, call)),
        formula: call.and_then(|call| case.formula(tariff, ahead, call)),
        left: ahead.requests.len() as u32,
    }
}

/// How tokens are billed that are not read from the cache.
#[derive(Clone, Copy, Debug)]
enum Writes {
    Free,
    Short,
    Hour,
}

impl Writes {
    fn of(rules: CacheRules, life: Life) -> Self {
        match (rules, life) {
            (CacheRules::Anthropic, Life::Hour) => Writes::Hour,
            (CacheRules::Anthropic, Life::Minutes5) | (CacheRules::OpenAiMarked, _) => {
                Writes::Short
            }
            (
                CacheRules::OpenAiSteps
                | CacheRules::OpenAiWideSteps
                | CacheRules::GeminiImplicit
                | CacheRules::GeminiExplicit
                | CacheRules::DeepSeek
                | CacheRules::None,
                _,
            ) => Writes::Free,
        }
    }

    /// USD for a token that is not read from the cache.
    fn rate(self, rates: &Rates) -> Option<f64> {
        match self {
            Writes::Free => rates.input,
            Writes::Short => rates.written(),
            Writes::Hour => rates.cache_write_1h.or(rates.written()),
        }
    }

    fn buckets(self, tokens: u64, read: u64) -> Buckets {
        let read = read.min(tokens);
        let new = tokens - read;
        match self {
            Writes::Free => Buckets { read, uncached: new, ..Buckets::default() },
            Writes::Short => Buckets { read, write: new, ..Buckets::default() },
            Writes::Hour => Buckets { read, write_1h: new, ..Buckets::default() },
        }
    }
}

/// One compaction as input of the comparison.
#[derive(Clone, Copy, Debug)]
struct CompactionCase {
    before: u64,
    after: u64,
    /// Tokens of the prompt that the last request left in the cache.
    cached: u64,
    /// Tokens of that prompt with which the compacted prompt still begins.
    readable: u64,
    writes: Writes,
}

impl CompactionCase {
    /// The first request, from 1, at which the bill with the compaction and
    /// its call is no higher than without.
    fn crossing(
        &self,
        tariff: &mut Tariff<'_>,
        ahead: RemainingRequests<'_>,
        call: f64,
    ) -> Option<u32> {
        let largest = ahead.grown(ahead.requests.last()?) + self.before.max(self.after);
        match tariff.flat(largest) {
            Some(rates) => self.crossing_at(&rates, tariff, ahead, call),
            None => self.crossing_by_steps(tariff, ahead, call, usize::MAX).ok(),
        }
    }

    /// The crossing at one set of rates. After the first request, the session
    /// without compaction reads the removed tokens at each warm request and
    /// writes them at each cold one, so that the crossing is found by
    /// bisection.
    fn crossing_at(
        &self,
        rates: &Rates,
        tariff: &mut Tariff<'_>,
        ahead: RemainingRequests<'_>,
        call: f64,
    ) -> Option<u32> {
        let behind = match self.crossing_by_steps(tariff, ahead, call, 1) {
            Ok(first) => return Some(first),
            Err(behind) => behind?,
        };
        let gone = self.before as f64 - self.after as f64;
        let (read, write) = (rates.cache_read.or(rates.input)?, self.writes.rate(rates)?);
        let paid = |more: usize| {
            let (warm, cold) = ahead.warm_and_cold(more);
            behind - gone * (warm * read + cold * write) <= NOTHING
        };
        let (mut low, mut high) = (1, ahead.requests.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if paid(middle) { high = middle } else { low = middle + 1 }
        }
        (low < ahead.requests.len()).then_some(low as u32 + 1)
    }

    /// Compares request by request, up to `most` requests: the crossing, or
    /// else the remaining difference in USD; `Err(None)` where a rate is
    /// unknown or the session ended.
    fn crossing_by_steps(
        &self,
        tariff: &mut Tariff<'_>,
        ahead: RemainingRequests<'_>,
        call: f64,
        most: usize,
    ) -> Result<u32, Option<f64>> {
        let mut behind = call;
        let (mut with_cached, mut without_cached) = (self.readable, self.cached);
        for (number, next) in (1u32..).zip(ahead.requests.iter().take(most)) {
            let grown = ahead.grown(next);
            let (with, without) = (self.after + grown, self.before + grown);
            let (with_read, without_read) = match next.state {
                CacheState::Cold { read } => (read, read),
                _ => (with_cached, without_cached),
            };
            let mut usd = |tokens, read| {
                tariff.prompt_usd(&self.writes.buckets(tokens, read), next.at).ok_or(None)
            };
            behind += usd(with, with_read)? - usd(without, without_read)?;
            if behind <= NOTHING {
                return Ok(number);
            }
            (with_cached, without_cached) = (with, without);
        }
        Err((ahead.requests.len() > most).then_some(behind))
    }

    /// `R > (I·(q − c) + K) / (c_eff·H)`, with `c_eff = c + p·(q − c)`: `H` is
    /// the number of removed tokens net of the summary, `I` the number written
    /// anew (summary included) because the prefix changed, `c` and `q` are the
    /// read and write rates, `K` the price of the call in input tokens, and `p`
    /// the share of cold requests (reference §2, break-even, has the
    /// derivation). A compaction at a cold request pays nothing for `I`.
    fn formula(
        &self,
        tariff: &mut Tariff<'_>,
        ahead: RemainingRequests<'_>,
        call: f64,
    ) -> Option<f64> {
        let (first, rest) = ahead.requests.split_first()?;
        let rates = tariff.rates(self.before, first.at);
        let input = rates.input.filter(|rate| *rate > 0.0)?;
        let c = rates.cache_read.unwrap_or(input) / input;
        let q = self.writes.rate(&rates)? / input;
        let gone = self.before.checked_sub(self.after).filter(|gone| *gone > 0)? as f64;
        let rewritten = match first.state {
            CacheState::Warm => self.after.saturating_sub(self.readable) as f64,
            _ => 0.0,
        };
        let (_, later) = ahead.warm_and_cold(rest.len());
        let cold = later + f64::from(u8::from(first.state != CacheState::Warm));
        let effective = c + cold / ahead.requests.len() as f64 * (q - c);
        Some((rewritten * (q - c) + call / input) / (effective * gone))
    }
}

#[cfg(test)]
#[path = "break_even_tests.rs"]
mod tests;
