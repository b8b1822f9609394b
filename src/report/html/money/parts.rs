//! Bills with their prices, as the page draws them: step by step over a session,
//! and in parts.
//!
//! Invariant: an unknown price leaves the whole bill unknown, and the parts of a
//! bill add up to it.

use jiff::SignedDuration;

use crate::model::{
    Bill, Buckets, CacheRules, Cell, CellRows, Exogenous, PromptBill, RequestFacts, TranscriptFacts,
};
use crate::pricing::{Class, ModelPrices, PriceList};

/// Under which cache a prompt is billed.
pub(in crate::report::html) type Cached = fn(&PromptBill) -> Buckets;

/// As billed: the rules, and what befell the recording's cache.
pub(in crate::report::html) const AS_BILLED: Cached = |prompt| prompt.billed;
/// Every prompt at the full rate.
pub(in crate::report::html) const NO_CACHE: Cached = |prompt| prompt.uncached();

/// A cell's bill under one payer, with the prices that hold for it.
#[derive(Clone)]
pub(in crate::report::html) struct Account<'a> {
    pub(in crate::report::html) cell: &'a Cell,
    pub(in crate::report::html) rows: &'a CellRows,
    pub(in crate::report::html) bill: &'a Bill,
    facts: &'a TranscriptFacts,
    /// Of the requests, by the number of their model.
    prices: Vec<&'a ModelPrices>,
    /// Of the calls of compactions.
    calls: &'a ModelPrices,
}

/// A part of a bill.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::report::html) struct Part {
    pub(in crate::report::html) tokens: u64,
    pub(in crate::report::html) usd: f64,
}

impl Part {
    fn add(&mut self, tokens: u64, usd: f64) {
        self.tokens += tokens;
        self.usd += usd;
    }
}

/// What a session is billed for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::report::html) struct Parts {
    /// Read from the cache.
    pub(in crate::report::html) read: Part,
    /// Billed as new for the first time, into the cache or past it.
    pub(in crate::report::html) written: Part,
    /// Sent before and billed as new, because what stood before it was edited.
    pub(in crate::report::html) rewritten: Part,
    /// At the full rate.
    pub(in crate::report::html) uncached: Part,
    /// Keeping an explicit cache.
    pub(in crate::report::html) storage: f64,
    /// What the agent wrote.
    pub(in crate::report::html) output: Part,
    /// Calls of the compactor, prompts and outputs.
    pub(in crate::report::html) compactor: Part,
}

impl Parts {
    pub(in crate::report::html) fn total(&self) -> f64 {
        let parts = [self.read, self.written, self.rewritten, self.uncached];
        let parts = parts.iter().chain([&self.output, &self.compactor]);
        parts.map(|part| part.usd).sum::<f64>() + self.storage
    }
}

impl<'a> Account<'a> {
    /// The cell's bill under the payer; `None` where there is none or no price.
    pub(in crate::report::html) fn new(
        cell: &'a Cell,
        facts: &'a TranscriptFacts,
        prices: &'a PriceList,
        payer: &str,
    ) -> Option<Self> {
        let rows = cell.rows()?;
        let bill = rows.bills.iter().find(|bill| bill.billed_as == payer)?;
        let calls = prices.find(bill.call_model()).ok()?;
        let prices = bill.models().map(|model| prices.find(model).ok()).collect::<Option<_>>()?;
        Some(Account { cell, rows, bill, facts, prices, calls })
    }

    /// USD of each request, calls of the compactor with the request that first
    /// saw their result.
    pub(in crate::report::html) fn steps(&self, cached: Cached) -> Option<Vec<f64>> {
        let mut steps = Vec::with_capacity(self.bill.requests.len());
        for (request, billed) in self.facts.requests.iter().zip(&self.bill.requests) {
            steps.push(match billed {
                Some(bill) => {
                    let prompt = cached(&bill.prompt);
                    let prices = self.prices.get(bill.model as usize)?;
                    prices.standard().request_usd(&prompt, request.output, request.at)?
                }
                None => 0.0,
            });
        }
        for call in &self.bill.calls {
            let Some((at, request)) = self.paid_at(call.compaction) else { continue };
            let prompt = cached(&call.prompt);
            let usd = self.calls.standard().request_usd(&prompt, call.output, request.at)?;
            *steps.get_mut(at)? += usd;
        }
        Some(steps)
    }

    /// The request that followed when a compaction began, or the last one.
    fn paid_at(&self, compaction: u32) -> Option<(usize, &'a RequestFacts)> {
        let request = self.rows.compactions.get(compaction as usize)?.begun as usize;
        let at = request.min(self.facts.requests.len().checked_sub(1)?);
        Some((at, &self.facts.requests[at]))
    }

    /// The bill in parts.
    pub(in crate::report::html) fn parts(&self) -> Option<Parts> {
        let mut parts = Parts::default();
        for (request, billed) in self.facts.requests.iter().zip(&self.bill.requests) {
            let Some(billed) = billed else { continue };
            let prompt = &billed.prompt.billed;
            let prices = self.prices.get(billed.model as usize)?;
            prompt_parts(&mut parts, prices, (prompt, billed.rewritten), request)?;
            let tokens = prompt.prompt();
            let answer = prices.output_usd(tokens, request.output, request.at, Class::Standard)?;
            parts.output.add(request.output, answer);
        }
        for call in &self.bill.calls {
            let Some((_, request)) = self.paid_at(call.compaction) else { continue };
            let prompt = &call.prompt.billed;
            let usd = self.calls.standard().request_usd(prompt, call.output, request.at)?;
            parts.compactor.add(prompt.prompt() + call.output, usd);
        }
        Some(parts)
    }

    /// Requests before which the cache's life was over, by the clock alone.
    pub(in crate::report::html) fn pauses(&self) -> Vec<usize> {
        let Some(life) = life(self.bill) else { return Vec::new() };
        let pairs = self.facts.requests.windows(2).enumerate();
        let late = pairs.filter(|(_, pair)| pair[1].at.duration_since(pair[0].at) > life);
        late.map(|(at, _)| at + 1).collect()
    }

    /// Requests at which the recording's own cache was cold.
    pub(in crate::report::html) fn cold_starts(&self) -> Vec<usize> {
        let cold = |request: &RequestFacts| {
            use Exogenous::{Cold, Former, Restart};
            matches!(request.exogenous, Some(Cold | Restart | Former { .. }))
        };
        let requests = self.facts.requests.iter().enumerate();
        requests.filter(|(_, request)| cold(request)).map(|(at, _)| at).collect()
    }
}

/// Adds a prompt to the parts of a bill.
fn prompt_parts(
    parts: &mut Parts,
    prices: &ModelPrices,
    (prompt, rewritten): (&Buckets, u64),
    request: &RequestFacts,
) -> Option<()> {
    let price = |buckets: &Buckets| prices.prompt_usd(buckets, request.at, Class::Standard);
    let tokens = prompt.prompt();
    // The whole prompt chooses the tier: a bucket's rate is that of a prompt
    // of the same size that is all in this bucket.
    let part = |whole: Buckets, own: u64| Some(price(&whole)? * own as f64 / tokens.max(1) as f64);
    let whole = Buckets::default();
    let read = part(Buckets { read: tokens, ..whole }, prompt.read)?;
    let short = part(Buckets { write: tokens, ..whole }, prompt.write)?;
    let hour = part(Buckets { write_1h: tokens, ..whole }, prompt.write_1h)?;
    let plain = part(Buckets { uncached: tokens, ..whole }, prompt.uncached)?;
    parts.storage += price(prompt)? - read - short - hour - plain;
    parts.read.add(prompt.read, read);
    // Where the cache takes writes, what is sent anew is written again.
    let again = rewritten.min(prompt.written());
    let share = again as f64 / prompt.written().max(1) as f64;
    parts.rewritten.add(again, (short + hour) * share);
    parts.written.add(prompt.written() - again, (short + hour) * (1.0 - share));
    let again = (rewritten - again).min(prompt.uncached);
    let share = again as f64 / prompt.uncached.max(1) as f64;
    parts.rewritten.add(again, plain * share);
    parts.uncached.add(prompt.uncached - again, plain * (1.0 - share));
    Some(())
}

/// How long an unused entry lives, by the documents that the simulated caches
/// follow; `None` where nothing is published.
fn life(bill: &Bill) -> Option<SignedDuration> {
    let hour = || bill.requests.iter().flatten().any(|r| r.prompt.billed.write_1h > 0);
    match bill.rules {
        CacheRules::Anthropic if hour() => Some(SignedDuration::from_hours(1)),
        CacheRules::Anthropic => Some(SignedDuration::from_mins(5)),
        CacheRules::OpenAiSteps => Some(SignedDuration::from_mins(10)),
        CacheRules::OpenAiMarked => Some(SignedDuration::from_mins(30)),
        CacheRules::GeminiImplicit
        | CacheRules::GeminiExplicit
        | CacheRules::DeepSeek
        | CacheRules::None => None,
    }
}

/// Who pays for what the page draws of single sessions: the first one asked for.
pub(in crate::report::html) fn payer(report: &crate::model::Report) -> &str {
    report.manifest.agent_models.first().map_or(crate::model::RECORDED, String::as_str)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::report::testkit::Kit;

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, expected {expected}");
    }

    #[test]
    fn steps_and_parts_of_a_bill_add_up_to_the_same() {
        let report = Kit::default().report();
        let prices = PriceList::from(&report.manifest.prices);
        for cell in report.cells.iter().filter(|cell| cell.rows().is_some()) {
            let facts = report.transcripts.iter().find(|t| t.transcript == cell.key.transcript);
            let account = Account::new(cell, facts.unwrap(), &prices, "recorded").unwrap();
            let steps: f64 = account.steps(AS_BILLED).unwrap().iter().sum();
            let parts = account.parts().unwrap();
            close(parts.total(), steps);
            close(parts.storage, 0.0);
            assert!(account.steps(NO_CACHE).unwrap().iter().sum::<f64>() > steps);
        }
    }

    #[test]
    fn what_is_sent_anew_is_told_from_what_is_new() {
        let mut report = Kit { sessions: 1, ..Kit::default() }.report();
        let facts = report.transcripts[0].clone();
        let prices = PriceList::from(&report.manifest.prices);
        let cell = report.cells.iter_mut().find(|c| c.key.strategy == "full").unwrap();
        let crate::model::CellOutcome::Done(rows) = &mut cell.outcome else { panic!("it ran") };
        let bill = Arc::make_mut(&mut rows.bills[0]);
        let billed = Buckets { read: 1_000, write: 400, uncached: 600, ..Buckets::default() };
        for request in &mut bill.requests {
            *request = None;
        }
        let prompt = PromptBill { billed, ..PromptBill::default() };
        bill.requests[0] = Some(crate::model::RequestBill { prompt, rewritten: 500, model: 0 });
        bill.calls.clear();
        let parts = Account::new(cell, &facts, &prices, "recorded").unwrap().parts().unwrap();
        // $0.30 read, $3.75 written, $3 in full for a million; 100 of the 500
        // did not fit among the 400 written.
        close(parts.read.usd, 1_000.0 * 0.3e-6);
        assert_eq!((parts.rewritten.tokens, parts.written.tokens), (500, 0));
        close(parts.rewritten.usd, 400.0 * 3.75e-6 + 100.0 * 3e-6);
        close(parts.uncached.usd, 500.0 * 3e-6);
        close(parts.output.usd, 120.0 * 15e-6);
    }

    #[test]
    fn a_model_without_a_price_has_no_account() {
        let mut report = Kit::default().report();
        report.manifest.prices.models.clear();
        let prices = PriceList::from(&report.manifest.prices);
        let facts = &report.transcripts[0];
        assert!(Account::new(&report.cells[0], facts, &prices, "recorded").is_none());
    }
}
