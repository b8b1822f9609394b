//! The bill of a cell: the cost of every prompt with each billing model's cache.
//!
//! Each billing model has a cache that follows the recording (with its cold starts)
//! and, where it differs, one whose first breakpoint is at its other position.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::plan::Plan;
use recap_billing::pricing::Agent;
use recap_billing::prompt_cache::{Life, Prompt, PromptCache, Rules, Unit};
use recap_core::model::{
    Bill, Buckets, CallBill, Exogenous, PromptBill, RECORDED, RequestBill, RequestFacts,
    SessionFacts, Usage,
};
use recap_strategy::{Breakpoint, Context, EntryId, ModelCall, Sent, Step};

/// Collects the bills of one cell.
pub(super) struct Biller {
    sent: Sent,
    breakpoints: Vec<Breakpoint>,
    /// The breakpoints with the first one behind everything before the
    /// conversation; `None` if that is the same position.
    elsewhere: Option<Vec<Breakpoint>>,
    /// The positions of those breakpoints in the last request.
    places_elsewhere: Vec<usize>,
    /// The life of what a request writes where it does not report any writes.
    life: Life,
    /// Whether prompts are compared with the ones before, which a cut does not
    /// need.
    compares: bool,
    /// Whether nothing is billed any more.
    stopped: bool,
    billing_models: Vec<RunningBill>,
    /// Number of calls so far; each call without the live conversation has a
    /// prompt of its own.
    calls: u64,
}

/// A billing model's bill and the caches of its provider.
struct RunningBill {
    /// Whether only the preamble is marked, for explicitly cached content.
    explicit: bool,
    /// For each model whether what it writes is billed like any input: its
    /// provider reported usage and never a write.
    writes_free: Vec<bool>,
    /// The caches of each model of the billing model: models do not share caches.
    caches: Vec<Caches>,
    bill: Bill,
    /// Whether the last request found the prompt before it in the cache.
    warm: bool,
}

/// The caches of one model, one for each way of billing.
struct Caches {
    billed: Box<dyn PromptCache>,
    /// A cache with the first breakpoint at its other position, if it has one.
    head_breakpoint: Option<Box<dyn PromptCache>>,
}

impl Biller {
    /// An empty bill for a cell. Without a model in the compactor's role, the
    /// agent's own model is assumed to write the summaries.
    pub fn new(plan: &Plan, facts: &SessionFacts) -> Self {
        let (strategy, compactor) = (&plan.strategy, plan.compactor.as_deref());
        let elsewhere = elsewhere(&strategy.breakpoints, facts);
        let other_place = elsewhere.is_some();
        let billing_model = |agent: &Agent| {
            let recorded = agent.billed_as == RECORDED;
            let rules = |agent: &Agent, model: u32| match agent.prices.as_deref() {
                Some(prices) => Rules::of(prices, strategy.explicit_cache),
                None if recorded => reported_rules(&agent.model, &facts.requests, model),
                None => Rules::None,
            };
            let models = std::iter::once(agent).chain(&agent.others).zip(0..);
            let caches = models.map(|(agent, model)| {
                let rules = rules(agent, model);
                let moves = other_place && rules.reads_at_breakpoints();
                Caches { billed: rules.cache(), head_breakpoint: moves.then(|| rules.cache()) }
            });
            let caches = caches.collect();
            let rules = rules(agent, 0);
            let free = |model| recorded && reports_no_writes(&facts.requests, model);
            RunningBill {
                explicit: rules.caches_explicit_content(),
                writes_free: (0..=agent.others.len() as u32).map(free).collect(),
                caches,
                bill: Bill {
                    billed_as: agent.billed_as.clone(),
                    model: agent.model.clone(),
                    rules: rules.named(),
                    other_models: agent.others.iter().map(|o| o.model.clone()).collect(),
                    compactor: compactor.map(|c| c.model.clone()).filter(|m| *m != agent.model),
                    requests: Vec::with_capacity(facts.requests.len()),
                    calls: Vec::new(),
                },
                warm: false,
            }
        };
        Self {
            sent: Sent::new(facts.calibration.as_ref().and_then(|c| c.global)),
            breakpoints: strategy.breakpoints.clone(),
            elsewhere,
            places_elsewhere: Vec::new(),
            life: life(&facts.requests),
            compares: true,
            stopped: false,
            billing_models: plan.agents.iter().map(billing_model).collect(),
            calls: 0,
        }
    }

    /// Omits what only the bill of a whole session needs: caches with another
    /// breakpoint, and without billing models all else.
    pub(super) fn only_as_billed(&mut self) {
        self.compares = false;
        self.elsewhere = None;
        for caches in
            self.billing_models.iter_mut().flat_map(|billing_model| &mut billing_model.caches)
        {
            caches.head_breakpoint = None;
        }
    }

    /// Bills nothing from here on: what follows a cut is searched for facts alone.
    pub(super) fn stop(&mut self) {
        self.stopped = true;
    }

    /// Bills the next request of the session.
    pub fn request(
        &mut self,
        context: &mut Context,
        facts: &RequestFacts,
        pruned: Option<EntryId>,
    ) -> Step {
        if self.stopped || (self.billing_models.is_empty() && !self.compares) {
            return Step::default();
        }
        self.sent.update(context);
        let life = facts.recorded.as_ref().and_then(written_for).unwrap_or(self.life);
        let moved = self.with_head_breakpoint(context, facts, pruned, life);
        let mut bills = Vec::with_capacity(self.billing_models.len());
        for (billing_model, moved) in self.billing_models.iter_mut().zip(moved) {
            let fixed = [Breakpoint::Preamble];
            let plan = if billing_model.explicit { &fixed } else { &self.breakpoints[..] };
            self.sent.mark(&self.sent.places(context, plan, pruned), life);
            bills.push(facts.billed.then(|| billing_model.send(&self.sent, facts, moved)));
        }
        let step = self.sent.step(facts.billed);
        for (billing_model, sent) in self.billing_models.iter_mut().zip(bills) {
            billing_model.keep(sent, &step);
        }
        step
    }

    /// Each billing model's bill for the request with the first breakpoint at its other
    /// position, if it has one.
    fn with_head_breakpoint(
        &mut self,
        context: &Context,
        facts: &RequestFacts,
        pruned: Option<EntryId>,
        life: Life,
    ) -> Vec<Option<Box<Buckets>>> {
        let Some(plan) = self.elsewhere.as_ref().filter(|_| facts.billed) else {
            return vec![None; self.billing_models.len()];
        };
        self.places_elsewhere = self.sent.places(context, plan, pruned);
        self.sent.mark(&self.places_elsewhere, life);
        let sent = &self.sent;
        let bill = |billing_model: &mut RunningBill| {
            let model = billing_model.model_of(facts);
            let cache = billing_model.caches[model as usize].head_breakpoint.as_mut()?;
            apply_cache_event(cache.as_mut(), sent, facts);
            let billed = cache.request(sent.prompt(), facts.at);
            Some(Box::new(billing_model.charged(model, billed)))
        };
        self.billing_models.iter_mut().map(bill).collect()
    }

    /// Sends a request that another session pays for.
    pub fn repeat(&mut self, context: &mut Context, facts: &RequestFacts, pruned: Option<EntryId>) {
        self.request(context, facts, pruned);
        for billing_model in &mut self.billing_models {
            billing_model.bill.requests.pop();
        }
    }

    /// Skips a request that is not sent.
    pub fn skip(&mut self) {
        for billing_model in &mut self.billing_models {
            billing_model.bill.requests.push(None);
        }
    }

    /// Bills the calls that a compaction made. Calls on the live conversation
    /// begin with the prompt of the last request and read its cache; later
    /// messages and the instruction are new. A model other than the agent's has
    /// no part of the prompt in its cache. Returns the uncached tokens of each
    /// call for the first billing model's compactor.
    pub fn calls(&mut self, compaction: u32, calls: &[ModelCall], at: Timestamp) -> Vec<u64> {
        let mut anew = Vec::new();
        for call in calls.iter().filter(|call| call.usage.input > 0 && !self.stopped) {
            self.calls += 1;
            // A live conversation that is smaller than the last prompt was
            // folded in the meantime. The common prefix with the old prompt is
            // unknown here: the conversation is billed as uncached, which is
            // never too cheap.
            let live = call.live && self.sent.prompt().tokens() <= call.usage.input;
            let mut prompt = if live { self.sent.prompt().clone() } else { Prompt::default() };
            let rest = call.usage.input - prompt.tokens();
            prompt.push(!self.calls, rest, 1, Unit::Input);
            let mut moved = prompt.clone();
            if live {
                moved.mark_only(&self.places_elsewhere, self.life);
            }
            let mut read = None;
            for billing_model in &mut self.billing_models {
                let bill = billing_model.call(&prompt, &moved, at);
                read.get_or_insert(bill.billed.read);
                let output = call.usage.output;
                billing_model.bill.calls.push(CallBill {
                    compaction,
                    prompt: bill.settled(),
                    output,
                });
            }
            anew.push(prompt.tokens() - read.unwrap_or(0));
        }
        anew
    }

    /// The prompt of the last request.
    pub fn prompt(&self) -> &Prompt {
        self.sent.prompt()
    }

    /// The bills, once the session is over. `places` maps the number of each
    /// compaction to its position among those of the cell; others are not billed.
    pub(super) fn into_bills(self, places: &BTreeMap<u32, u32>) -> Vec<Arc<Bill>> {
        let finish = |billing_model: RunningBill| {
            let mut bill = billing_model.bill;
            bill.calls.retain(|call| places.contains_key(&call.compaction));
            for call in &mut bill.calls {
                call.compaction = places[&call.compaction];
            }
            Arc::new(bill)
        };
        self.billing_models.into_iter().map(finish).collect()
    }
}

impl RunningBill {
    fn model_of(&self, facts: &RequestFacts) -> u32 {
        if self.caches.len() > 1 { facts.model } else { 0 }
    }

    /// What a model's provider charges for.
    fn charged(&self, model: u32, billed: Buckets) -> Buckets {
        if self.writes_free[model as usize] { billed.unwritten() } else { billed }
    }

    /// Sends the prompt, after the cache event of the recording.
    /// `head_breakpoint`: the bill with the breakpoint in its other position.
    fn send(
        &mut self,
        sent: &Sent,
        facts: &RequestFacts,
        head_breakpoint: Option<Box<Buckets>>,
    ) -> RequestBill {
        let (prompt, at) = (sent.prompt(), facts.at);
        let model = self.model_of(facts);
        let cache = &mut self.caches[model as usize].billed;
        apply_cache_event(cache.as_mut(), sent, facts);
        let lost = matches!(facts.exogenous, Some(Exogenous::Lost { .. }));
        self.warm = !lost && cache.is_warm(at);
        let billed = cache.request(prompt, at);
        let billed = self.charged(model, billed);
        assert_eq!(billed.prompt(), prompt.tokens(), "buckets sum to the prompt");
        let prompt = PromptBill { billed, head_breakpoint }.settled();
        RequestBill { prompt, rewritten: 0, model }
    }

    /// Sends the prompt of a compaction. `moved`: the same prompt with the
    /// first breakpoint in its other position.
    fn call(&mut self, prompt: &Prompt, moved: &Prompt, at: Timestamp) -> PromptBill {
        if self.bill.compactor.is_some() {
            let billed = Buckets { uncached: prompt.tokens(), ..Buckets::default() };
            return PromptBill { billed, ..PromptBill::default() };
        }
        let Caches { billed, head_breakpoint } = &mut self.caches[0];
        let billed = billed.request(prompt, at);
        let head_breakpoint = head_breakpoint.as_mut().map(|cache| cache.request(moved, at));
        PromptBill {
            billed: self.charged(0, billed),
            head_breakpoint: head_breakpoint.map(|moved| Box::new(self.charged(0, moved))),
        }
    }

    fn keep(&mut self, sent: Option<RequestBill>, step: &Step) {
        let Some(mut bill) = sent else {
            return self.bill.requests.push(None);
        };
        if step.broken && self.warm {
            bill.rewritten = step.carried.saturating_sub(bill.prompt.billed.read);
        }
        self.bill.requests.push(Some(bill));
    }
}

/// Applies to a cache the event that the recording's cache had before a request.
fn apply_cache_event(cache: &mut dyn PromptCache, sent: &Sent, facts: &RequestFacts) {
    match facts.exogenous {
        Some(Exogenous::Lost { left }) => {
            if left > 0 {
                // What was read had not expired.
                cache.renew(facts.at);
            }
            cache.lose(left, sent.shared());
        }
        Some(Exogenous::Shared { read }) => cache.share(read.min(sent.shared())),
        Some(Exogenous::Renewed) => cache.renew(facts.at),
        Some(Exogenous::Repeated) => {
            cache.request(sent.prompt(), facts.at);
        }
        None => {}
    }
}

/// The breakpoints with that of the preamble moved behind everything before the
/// conversation. `None` unless the recording hides text there that does not
/// survive a restart; otherwise both positions are the same.
fn elsewhere(plan: &[Breakpoint], facts: &SessionFacts) -> Option<Vec<Breakpoint>> {
    let global = facts.calibration.as_ref()?.global?;
    let apart = global < facts.hidden_tokens;
    let moves = apart && plan.contains(&Breakpoint::Preamble) && !plan.contains(&Breakpoint::Head);
    let moved = |at: &Breakpoint| match at {
        Breakpoint::Preamble => Breakpoint::Head,
        other => *other,
    };
    moves.then(|| plan.iter().map(moved).collect())
}

/// The cache lifetime that the recorded agent requested: one hour, if most of
/// its writes were for an hour.
pub(super) fn life(requests: &[RequestFacts]) -> Life {
    let mut written = Usage::default();
    for usage in requests.iter().filter_map(|r| r.recorded.as_ref()) {
        written.cache_write_5m = written.cache_write_5m.saturating_add(usage.cache_write_5m);
        written.cache_write_1h = written.cache_write_1h.saturating_add(usage.cache_write_1h);
    }
    written_for(&written).unwrap_or(Life::Minutes5)
}

/// For how long most of what a request wrote was written; `None`: it wrote nothing.
pub(super) fn written_for(usage: &Usage) -> Option<Life> {
    let hour = usage.cache_write_1h > usage.cache_write_5m;
    (usage.written() > 0).then_some(if hour { Life::Hour } else { Life::Minutes5 })
}

/// The rules of a model without a price: those of a cache, where its provider reported reads.
fn reported_rules(name: &str, requests: &[RequestFacts], model: u32) -> Rules {
    let own = || requests.iter().filter(|r| r.model == model).filter_map(|r| r.recorded);
    match own().any(|usage| usage.cache_read > 0) {
        true => Rules::of_unpriced(name, own().any(|usage| usage.written() > 0)),
        false => Rules::None,
    }
}

/// Whether a model's provider reported prompts and never a write: it charged
/// nothing for writing, whatever the model's maker does.
fn reports_no_writes(requests: &[RequestFacts], model: u32) -> bool {
    let own = || requests.iter().filter(|r| r.model == model).filter_map(|r| r.recorded);
    own().any(|usage| usage.prompt() > 0) && own().all(|usage| usage.written() == 0)
}

#[cfg(test)]
#[path = "bill_tests.rs"]
mod tests;
