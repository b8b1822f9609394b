//! After how many requests a compaction has paid for itself.
//!
//! Two sessions are billed side by side from the compaction on: one that goes
//! on from the compacted context, one that goes on as if nothing had happened.
//! Both grow by the same recorded messages and are compacted no more; both
//! find the cache as warm or as cold as the session really did
//! (`measures` §2).

use crate::model::{Bill, BreakEven, Buckets, TranscriptFacts};
use crate::pricing::{Class, ModelPrices, Tariff};
use crate::prompt_cache::Life;

/// What a compaction did to the prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Position among the cell's compactions.
    pub compaction: u32,
    /// First request that sees it.
    pub request: u32,
    /// Messages that had arrived.
    pub messages_seen: u32,
    /// Tokens of the prompt before.
    pub before: u64,
    /// Tokens of the prompt after.
    pub after: u64,
}

/// How a request found the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// What the request before left could be read.
    Warm,
    /// It could not; so much was read nevertheless.
    Cold {
        /// Tokens of the part that others keep alive.
        read: u64,
    },
    /// The request was not billed.
    NotBilled,
}

/// What the two sessions share, request by request from the compaction on.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    at: jiff::Timestamp,
    /// Tokens of messages that arrived since the compaction.
    grown: u64,
    weather: Weather,
}

/// The crossing of the two bills, beside what the formula says.
pub fn break_even(
    compacted: &Compacted,
    facts: &TranscriptFacts,
    weather: &[Weather],
    bill: &Bill,
    prices: &ModelPrices,
    life: Life,
) -> BreakEven {
    let ahead = ahead(compacted, facts, weather);
    let first = compacted.request as usize;
    let cached = bill.requests[..first].iter().rev().flatten().next();
    let first_read =
        bill.requests.get(first).and_then(|r| r.as_ref()).map(|r| r.prompt.billed.read);
    let case = Case {
        before: compacted.before,
        after: compacted.after,
        cached: cached.map_or(0, |r| r.prompt.billed.prompt()),
        readable: first_read.unwrap_or(0),
        writes: Writes::of(&bill.rules, life),
    };
    let mut tariff = Tariff::new(prices, Class::Standard);
    let at = ahead.first().map(|next| next.at);
    let call = at.and_then(|at| {
        let calls = bill.calls.iter().filter(|c| c.compaction == compacted.compaction);
        let usd = calls.map(|call| {
            let prompt = tariff.prompt_usd(&call.prompt.billed, at)?;
            Some(prompt + tariff.output_usd(call.prompt.billed.prompt(), call.output, at)?)
        });
        usd.sum::<Option<f64>>()
    });
    let crossing = call.and_then(|call| case.crossing(&mut tariff, &ahead, call));
    let formula = call.and_then(|call| case.formula(&mut tariff, &ahead, call));
    BreakEven {
        compaction: compacted.compaction,
        requests: crossing,
        formula,
        left: ahead.len() as u32,
    }
}

/// The billed requests from a compaction on.
fn ahead(compacted: &Compacted, facts: &TranscriptFacts, weather: &[Weather]) -> Vec<Ahead> {
    let mut grown = 0;
    let mut next = compacted.messages_seen as usize;
    let first = compacted.request as usize;
    let later = facts.requests.iter().zip(weather).skip(first);
    let all = later.map(|(request, weather)| {
        let until = (request.message as usize).max(next);
        grown += facts.messages[next..until].iter().map(|m| m.tokens).sum::<u64>();
        next = until;
        Ahead { at: request.at, grown, weather: *weather }
    });
    all.filter(|next| next.weather != Weather::NotBilled).collect()
}

/// Where tokens go that are not read.
#[derive(Clone, Copy, Debug)]
enum Writes {
    Free,
    Short,
    Hour,
}

impl Writes {
    fn of(rules: &str, life: Life) -> Self {
        match (rules, life) {
            ("anthropic", Life::Hour) => Writes::Hour,
            ("anthropic", Life::Minutes5) | ("openai-marked", _) => Writes::Short,
            _ => Writes::Free,
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

/// One compaction as the two sessions meet it.
#[derive(Clone, Copy, Debug)]
struct Case {
    before: u64,
    after: u64,
    /// Tokens of the prompt that the last request left in the cache.
    cached: u64,
    /// Tokens of it that the compacted prompt still begins with and finds.
    readable: u64,
    writes: Writes,
}

impl Case {
    /// The first request, from 1, at which the bill with the compaction and
    /// its call is no higher than without.
    fn crossing(&self, tariff: &mut Tariff<'_>, ahead: &[Ahead], call: f64) -> Option<u32> {
        let mut behind = call;
        let (mut with_cached, mut without_cached) = (self.readable, self.cached);
        for (number, next) in (1u32..).zip(ahead) {
            let (with, without) = (self.after + next.grown, self.before + next.grown);
            let (with_read, without_read) = match next.weather {
                Weather::Cold { read } => (read, read),
                _ => (with_cached, without_cached),
            };
            behind += tariff.prompt_usd(&self.writes.buckets(with, with_read), next.at)?;
            behind -= tariff.prompt_usd(&self.writes.buckets(without, without_read), next.at)?;
            // Rounding must not delay a crossing at zero.
            if behind <= 1e-12 {
                return Some(number);
            }
            (with_cached, without_cached) = (with, without);
        }
        None
    }

    /// `R > (I·(q − c) + K) / (c_eff·H)`, with `c_eff = c + p·(q − c)`: the
    /// tokens `H` that go net of the summary, `I` that are written anew
    /// (summary included) because the prefix broke, the read and write rates
    /// `c` and `q` and the call's price `K` in input tokens, and the share `p`
    /// of cold requests (`measures` §2; derived in `field/prompt-caching` §3.6).
    /// A compaction at a cold request pays nothing for `I`.
    fn formula(&self, tariff: &mut Tariff<'_>, ahead: &[Ahead], call: f64) -> Option<f64> {
        let first = ahead.first()?;
        let rates = tariff.rates(self.before, first.at);
        let input = rates.input.filter(|rate| *rate > 0.0)?;
        let c = rates.cache_read.unwrap_or(input) / input;
        let q = match self.writes {
            Writes::Free => 1.0,
            Writes::Short => rates.written()? / input,
            Writes::Hour => rates.cache_write_1h.or(rates.written())? / input,
        };
        let gone = self.before.checked_sub(self.after).filter(|gone| *gone > 0)? as f64;
        let rewritten = match first.weather {
            Weather::Warm => self.after.saturating_sub(self.readable) as f64,
            _ => 0.0,
        };
        let cold = ahead.iter().filter(|next| next.weather != Weather::Warm).count();
        let effective = c + cold as f64 / ahead.len() as f64 * (q - c);
        Some((rewritten * (q - c) + call / input) / (effective * gone))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prices of 1 USD a token for input, 1.25 for a write, 5 for output, and
    /// this for a read.
    fn prices(read: f64) -> ModelPrices {
        let entry = serde_json::json!({
            "input_cost_per_token": 1.0,
            "cache_read_input_token_cost": read,
            "cache_creation_input_token_cost": 1.25,
            "output_cost_per_token": 5.0,
        });
        ModelPrices::read("round", &entry).unwrap()
    }

    /// Of 150,000 tokens 50,000 are left, of which the 40,000 of the preamble
    /// are found: H = 100,000 and I = 10,000.
    const CASE: Case = Case {
        before: 150_000,
        after: 50_000,
        cached: 150_000,
        readable: 40_000,
        writes: Writes::Short,
    };

    fn ahead(requests: usize, weather: Weather) -> Vec<Ahead> {
        vec![Ahead { at: jiff::Timestamp::UNIX_EPOCH, grown: 0, weather }; requests]
    }

    /// The crossing and what the formula says, over 100 warm requests.
    fn both(read: f64, call: f64) -> (Option<u32>, f64) {
        let prices = prices(read);
        let mut tariff = Tariff::new(&prices, Class::Standard);
        let ahead = ahead(100, Weather::Warm);
        let formula = CASE.formula(&mut tariff, &ahead, call).unwrap();
        (CASE.crossing(&mut tariff, &ahead, call), formula)
    }

    #[test]
    fn the_worked_example_crosses_at_5_7_13_and_18_requests() {
        // K = 150,000·c + 3,000·5: 30,000, 22,500, 18,750; uncached 165,000.
        // (10,000·(1.25 − c) + K) / (100,000·c): 41,500/10,000 = 4.15,
        // 34,500/5,000 = 6.9, 31,000/2,500 = 12.4, 176,500/10,000 = 17.65.
        for (read, call, formula, requests) in [
            (0.1, 30_000.0, 4.15, 5),
            (0.05, 22_500.0, 6.9, 7),
            (0.025, 18_750.0, 12.4, 13),
            (0.1, 165_000.0, 17.65, 18),
        ] {
            let (crossing, says) = both(read, call);
            assert_eq!(crossing, Some(requests), "read at {read}, call of {call}");
            assert!((says - formula).abs() < 1e-9, "{says}, expected {formula}");
        }
    }

    #[test]
    fn falling_read_prices_make_a_compaction_pay_later() {
        let crossings: Vec<u32> =
            [0.2, 0.1, 0.05, 0.025].map(|c| both(c, 150_000.0 * c + 15_000.0).0.unwrap()).into();
        assert!(crossings.is_sorted_by(|a, b| a < b), "{crossings:?}");
    }

    #[test]
    fn a_compaction_at_a_cold_request_pays_for_its_call_alone() {
        // Cold: 150,000 against 50,000 tokens are written, 40,000 read in
        // both: 100,000·1.25 are saved at once, more than the call costs.
        let prices = prices(0.1);
        let mut tariff = Tariff::new(&prices, Class::Standard);
        let mut requests = ahead(3, Weather::Warm);
        requests[0].weather = Weather::Cold { read: 40_000 };
        assert_eq!(CASE.crossing(&mut tariff, &requests, 30_000.0), Some(1));
        // c_eff = 0.1 + 1/3·1.15; K alone: 30,000 / (0.48333·100,000).
        let says = CASE.formula(&mut tariff, &requests, 30_000.0).unwrap();
        assert!((says - 0.3 / (0.1 + 1.15 / 3.0)).abs() < 1e-9, "{says}");
    }

    #[test]
    fn a_session_that_ends_too_soon_never_crosses() {
        let prices = prices(0.1);
        let mut tariff = Tariff::new(&prices, Class::Standard);
        assert_eq!(CASE.crossing(&mut tariff, &ahead(4, Weather::Warm), 30_000.0), None);
        assert_eq!(CASE.crossing(&mut tariff, &[], 0.0), None);
        let inflated = Case { after: 160_000, ..CASE };
        assert_eq!(inflated.formula(&mut tariff, &ahead(4, Weather::Warm), 0.0), None);
    }

    #[test]
    fn what_both_sessions_grow_by_changes_nothing_while_the_cache_is_warm() {
        let prices = prices(0.1);
        let mut tariff = Tariff::new(&prices, Class::Standard);
        let mut requests = ahead(100, Weather::Warm);
        (0u64..).zip(&mut requests).for_each(|(n, next)| next.grown = n * 700);
        assert_eq!(CASE.crossing(&mut tariff, &requests, 30_000.0), Some(5));
    }
}
