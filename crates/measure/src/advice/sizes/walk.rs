//! A session, request by request, as it was reported and as it would have gone on behind
//! compactions at another size.
//!
//! A request costs what was reported until the prompt would be larger than the size. Then a call
//! writes the summary: it reads the prompt from the cache, writes its instruction, and puts out
//! the summary. The next prompt is the first one of the session with what a compaction adds and
//! what is read again; system prompt and tools are read from the cache, the rest is written. From
//! there on the prompt grows as reported: it reads what was reported less what is gone, and writes
//! the rest as that request did, so that idle gaps, lifetimes and lost caches come with the report.
//!
//! Invariant: where nothing fires, a session costs what its receipt says.

use jiff::Timestamp;

use super::Amounts;
use crate::receipt::{RequestBill, compaction_usd, rate, request_bill};
use recap_billing::pricing::{Moment, PriceList, Rates};
use recap_core::model::{
    AROUND, Absent, CompactionFacts, Quantities, RecordedTrigger, RequestFacts, SessionFacts,
    TokenKind,
};

/// Tokens of the instruction to write a summary: Claude Code's has some 4,400 characters
/// (2.1.217), that of Codex 1,100 (0.145).
const INSTRUCTION: f64 = 1_000.0;
/// Tokens between what a compaction leaves and the size at which the next one fires, below which
/// there is no room.
pub(crate) const ROOM: u64 = 30_000;
/// Tokens with which no agent begins: system prompt, tools and memory files of those in the table
/// of settings come to 10k to 50k.
const LARGEST_FIRST: f64 = 70_000.0;
/// Tokens that a cache may fall short of the prompt before without being lost: see
/// `receipt::rebuilds`.
const SHORT: u64 = 1_024;

/// A response that reports its tokens.
pub(crate) struct Step<'a> {
    /// Whether this session counts it; else it is a copy of another one's.
    own: bool,
    /// What it cost as reported.
    pub bill: RequestBill<'a>,
    pub prompt: u64,
    at: Timestamp,
    /// Tokens of its prompt that the request before it had left in the cache.
    cached: u64,
    /// Shares of what it did not read by what they were billed as.
    mix: [(TokenKind, f64); 3],
    /// The last compaction between the request before and this one.
    pub compaction: Option<&'a CompactionFacts>,
    /// What those that the session counts come to.
    made: Made,
}

/// Compactions on record that a session counts.
#[derive(Clone, Copy, Debug, Default)]
struct Made {
    all: u64,
    /// Of these, compactions whose call is not on record.
    silent: u64,
    /// What the other calls cost.
    usd: f64,
}

/// The conversation of a session.
pub(crate) struct Track<'a> {
    /// Position of the session among the facts.
    pub session: usize,
    pub steps: Vec<Step<'a>>,
    /// What does not depend on the size: subagents.
    pub beside_usd: f64,
    /// The prompt with which a conversation begins, in tokens.
    base: f64,
    /// Compactions behind the last request.
    last: Made,
}

/// What a session comes to at a size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Walked {
    pub usd: f64,
    pub compactions: u64,
    /// Compactions whose call is not on record, and what these are taken to have cost.
    pub estimated: (u64, f64),
}

impl<'a> Track<'a> {
    /// The conversation of a session; its subagents are added by the caller.
    ///
    /// # Errors
    /// A price is missing, or the recording does not tell what a cache held.
    pub fn of(
        session: usize,
        facts: &'a SessionFacts,
        prices: &'a PriceList,
    ) -> Result<Self, Absent> {
        let own = facts.requests.iter().map(|request| (true, request));
        let copied = facts.receipt.iter().flat_map(|receipt| &receipt.copied);
        let mut all: Vec<(bool, &RequestFacts)> =
            own.chain(copied.map(|request| (false, request))).collect();
        all.sort_by_key(|(_, request)| request.message);
        let made = facts.receipt.as_ref().map_or(&[][..], |receipt| &receipt.compactions);
        let mut made = made.iter().filter(|made| made.folds).peekable();
        let mut steps: Vec<Step<'a>> = Vec::new();
        for (own, request) in all {
            let Some(bill) = request_bill(facts, request, prices)? else { continue };
            let (mut compaction, mut sum) = (None, Made::default());
            while let Some(one) = made.next_if(|one| one.after <= request.message) {
                sum.add(facts, one, prices)?;
                compaction = Some(one);
            }
            let step = Step::new(own, request, bill, steps.last());
            steps.push(Step { compaction, made: sum, ..step });
        }
        let mut last = Made::default();
        made.try_for_each(|one| last.add(facts, one, prices))?;
        Ok(Track { session, steps, beside_usd: 0.0, base: 0.0, last })
    }

    /// Requests that the session counts.
    pub fn requests(&self) -> u64 {
        self.steps.iter().filter(|step| step.own).count() as u64
    }

    /// The first prompt, where the conversation begins with it: one that is behind a compaction,
    /// larger than a later one, or larger than any agent begins with goes on from somewhere else.
    pub fn first(&self) -> Option<f64> {
        let first = self.steps.first().filter(|first| first.compaction.is_none())?.prompt as f64;
        (first <= LARGEST_FIRST && self.least() >= 0.9 * first).then_some(first)
    }

    /// Lets it begin with its own first prompt, or else with this one.
    pub fn begin_with(&mut self, other: f64) {
        self.base = self.first().unwrap_or_else(|| other.min(self.least()));
    }

    /// The smallest prompt.
    fn least(&self) -> f64 {
        self.steps.iter().map(|step| step.prompt).min().unwrap_or(0) as f64
    }

    /// What a compaction leaves: the first prompt, and what it adds.
    pub fn left(&self, added: f64) -> f64 {
        (self.base + added).max(0.0)
    }

    /// Whether a session has room for compactions at a size.
    pub fn has_room(&self, size: u64, added: f64) -> bool {
        self.left(added) + ROOM as f64 <= size as f64
    }

    /// What it would have cost with compactions at a size, of which each leaves so much; or else
    /// what it cost as reported, with the calls of compactions that are not on record.
    pub fn walk(&self, quantities: &Quantities, at: Option<(u64, Amounts)>) -> Walked {
        // As reported nothing more fires.
        let (size, amounts) = at.unwrap_or((u64::MAX, Amounts { added: 0.0, read_again: 0.0 }));
        let left = self.left(amounts.added);
        let (read_again, calls) = (amounts.read_again.max(0.0), quantities.calls.value.max(0.0));
        let after = (left + read_again).max(1.0);
        let mut sum = Walked { usd: self.beside_usd, ..Walked::default() };
        // Tokens of the reported prompt that are not in this one; the prompt before, as simulated;
        // requests that read again what a compaction forgot that is not made here.
        let (mut gone, mut before, mut rereading) = (0.0, 0.0, 0);
        let growth = self.growth();
        let mut last = 0.0;
        for step in &self.steps {
            let reported = step.prompt as f64;
            let kept = step
                .compaction
                .filter(|made| gone == 0.0 || made.trigger == RecordedTrigger::Manual);
            let skipped = step.compaction.filter(|_| kept.is_none());
            if rereading > 0 {
                (gone, rereading) = (gone + read_again / AROUND as f64, rereading - 1);
            }
            if kept.is_some() {
                (gone, rereading) = (0.0, 0);
                sum.add(&step.made, step, before, quantities);
            } else if let Some(made) = skipped {
                // The smaller context did not need it.
                let grown = made.tokens_before.map(|tokens| tokens as f64 - last);
                gone =
                    reported - (before + grown.filter(|tokens| *tokens >= 0.0).unwrap_or(growth));
                rereading = AROUND;
            }
            let prompt = (reported - gone).max(self.base.min(reported));
            gone = reported - prompt;
            if prompt > size as f64 && kept.is_none() && before > 0.0 {
                gone = reported - after;
                if step.own {
                    let call_reads = match skipped {
                        Some(_) => before,
                        None => step.read(prompt, reported - prompt, quantities.cached.value),
                    };
                    let read = quantities.cached.value.clamp(0.0, after);
                    sum.usd += step.summary_usd(call_reads, prompt, quantities.output.value);
                    sum.usd += step.usd_of(read, after - read) + calls * step.read_usd(after);
                    sum.compactions += 1;
                }
            } else if step.own {
                sum.usd += if skipped.is_some() {
                    step.usd_of(before, (prompt - before).max(0.0)) - calls * step.read_usd(prompt)
                } else if gone == 0.0 {
                    step.bill.usd
                } else {
                    let read = step.read(prompt, gone, quantities.cached.value);
                    step.usd_of(read, prompt - read)
                };
            }
            last = reported;
            before = reported - gone;
        }
        if let Some(step) = self.steps.last() {
            sum.add(&self.last, step, before, quantities);
        }
        sum
    }

    /// The median growth of the prompt from request to request, where it grows.
    fn growth(&self) -> f64 {
        let pairs = self.steps.windows(2).filter(|pair| pair[1].compaction.is_none());
        let mut grown: Vec<u64> =
            pairs.filter_map(|pair| pair[1].prompt.checked_sub(pair[0].prompt)).collect();
        grown.sort_unstable();
        grown.get(grown.len() / 2).map_or(0.0, |median| *median as f64)
    }
}

impl Walked {
    /// Adds compactions of the recorded agent.
    fn add(&mut self, made: &Made, step: &Step<'_>, before: f64, quantities: &Quantities) {
        self.compactions += made.all;
        self.usd += made.usd;
        // What stands before the session is another one's.
        if before > 0.0 && made.silent > 0 {
            let usd = step.summary_usd(before, before, quantities.output.value);
            let usd = made.silent as f64 * usd;
            self.usd += usd;
            self.estimated = (self.estimated.0 + made.silent, self.estimated.1 + usd);
        }
    }
}

impl Made {
    fn add(
        &mut self,
        facts: &SessionFacts,
        made: &CompactionFacts,
        prices: &PriceList,
    ) -> Result<(), Absent> {
        if !made.copied {
            let usd = compaction_usd(facts, made, prices)?;
            self.all += 1;
            self.silent += u64::from(usd.is_none());
            self.usd += usd.unwrap_or(0.0);
        }
        Ok(())
    }
}

impl<'a> Step<'a> {
    fn new(
        own: bool,
        request: &RequestFacts,
        bill: RequestBill<'a>,
        before: Option<&Step<'a>>,
    ) -> Self {
        let (usage, prompt) = (bill.usage, bill.usage.prompt());
        let cached = before.map_or(0, |before| before.bill.usage.cached()).min(prompt);
        let rest = prompt.saturating_sub(usage.cache_read) as f64;
        let share = |tokens: u64| tokens as f64 / rest;
        let mix = match (rest > 0.0, before) {
            (true, _) => [
                (TokenKind::CacheWrite1h, share(usage.cache_write_1h)),
                (TokenKind::CacheWrite5m, share(usage.cache_write_5m)),
                (TokenKind::Input, share(usage.input)),
            ],
            (false, Some(before)) => before.mix,
            (false, None) => [TokenKind::Input; 3].map(|kind| (kind, 1.0 / 3.0)),
        };
        let made = Made::default();
        Step { own, bill, prompt, at: request.at, cached, mix, compaction: None, made }
    }

    /// Tokens that are read of a prompt that lacks `gone` of what was reported: what was read less
    /// that, but no more than was read where the cache was lost. Of its front `fixed` tokens stay.
    fn read(&self, prompt: f64, gone: f64, fixed: f64) -> f64 {
        let tokens = self.bill.usage.cache_read;
        let read = tokens as f64;
        let left = if tokens + SHORT >= self.cached {
            prompt - (self.prompt as f64 - read)
        } else if gone > 0.0 {
            (read - gone).max(read.min(fixed))
        } else if 2 * tokens >= self.cached {
            read - gone
        } else {
            read
        };
        left.clamp(0.0, prompt)
    }

    fn rates_of(&self, prompt: f64) -> Rates {
        self.bill.prices.rates(&Moment { prompt_tokens: prompt as u64, at: self.at })
    }

    /// The bill with so many tokens read and others as this request sent them.
    fn usd_of(&self, read: f64, rest: f64) -> f64 {
        let rates = self.rates_of(read + rest);
        self.prompt_usd(&rates, read, rest) + self.bill.output as f64 * output_rate(&rates)
    }

    fn prompt_usd(&self, rates: &Rates, read: f64, rest: f64) -> f64 {
        let usd = |kind, tokens: f64| tokens * rate(rates, kind).expect("the input has a price");
        let sent = self.mix.iter().map(|(kind, share)| usd(*kind, rest * share));
        usd(TokenKind::CacheRead, read) + sent.sum::<f64>()
    }

    /// Reading a prompt from the cache.
    fn read_usd(&self, prompt: f64) -> f64 {
        self.prompt_usd(&self.rates_of(prompt), prompt, 0.0)
    }

    /// The call that summarises a prompt, of which it reads so much from the cache.
    fn summary_usd(&self, read: f64, prompt: f64, output: f64) -> f64 {
        let rates = self.rates_of(prompt);
        let sent = self.prompt_usd(&rates, read, prompt - read + INSTRUCTION);
        sent + output * output_rate(&rates)
    }
}

fn output_rate(rates: &Rates) -> f64 {
    rates.output.expect("the output has a price")
}
