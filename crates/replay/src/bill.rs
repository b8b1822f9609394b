//! The bill of a cell: the cost of every prompt with each billing model's cache, which follows
//! the recording with its cold starts.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::session::Plan;
use recap_billing::pricing::BillingModel;
use recap_billing::prompt_cache::{Life, Prompt, PromptCache, Rules, Unit};
use recap_core::model::{
    Bill, Buckets, CacheRules, CallBill, Exogenous, PromptBill, RECORDED, RequestBill,
    RequestFacts, SessionFacts, Usage,
};
use recap_strategy::{Breakpoint, Context, EntryId, ModelCall, Sent, Step};

/// Collects the bills of one cell.
pub(super) struct Biller {
    sent: Sent,
    breakpoints: Vec<Breakpoint>,
    /// The life of what a request writes where it does not report any writes.
    life: Life,
    /// Whether prompts are compared with the ones before, which a cut does not
    /// need: then without billing models nothing is left to do.
    pub compares: bool,
    /// Whether nothing is billed any more.
    pub is_stopped: bool,
    billing_models: Vec<RunningBill>,
    /// Number of calls so far; each call without the live conversation has a
    /// prompt of its own.
    calls: u64,
}

/// A billing model's bill and the caches of its provider.
struct RunningBill {
    /// Whether only the preamble is marked, for explicitly cached content.
    explicit: bool,
    /// The cache of each model of the billing model, since models do not share caches, and
    /// whether what it writes is billed like any input: its provider reported usage and never a
    /// write.
    caches: Vec<(Box<dyn PromptCache>, bool)>,
    bill: Bill,
}

impl Biller {
    /// An empty bill for a cell. Without a model in the compactor's role, the
    /// agent's own model is assumed to write the summaries.
    pub fn new(plan: &Plan, facts: &SessionFacts) -> Self {
        let running = |billing_model| RunningBill::new(billing_model, plan, facts);
        let billing_models = plan.billing_models.iter().map(running).collect();
        Self {
            sent: Sent::new(facts.calibration.as_ref().and_then(|c| c.global)),
            breakpoints: plan.strategy.breakpoints.clone(),
            life: life(&facts.requests),
            compares: true,
            is_stopped: false,
            billing_models,
            calls: 0,
        }
    }

    /// Bills the next request of the session.
    pub fn request(
        &mut self,
        context: &mut Context,
        facts: &RequestFacts,
        pruned: Option<EntryId>,
    ) -> Step {
        if self.is_stopped || (self.billing_models.is_empty() && !self.compares) {
            return Step::default();
        }
        self.sent.update(context);
        let life = facts.recorded.as_ref().and_then(written_for).unwrap_or(self.life);
        for billing_model in &mut self.billing_models {
            let fixed = [Breakpoint::Preamble];
            let plan = if billing_model.explicit { &fixed } else { &self.breakpoints[..] };
            self.sent.mark(&self.sent.places(context, plan, pruned), life);
            let bill = facts.billed.then(|| billing_model.send(&self.sent, facts));
            billing_model.bill.requests.push(bill);
        }
        self.sent.step(facts.billed)
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
        for call in calls.iter().filter(|call| call.usage.input > 0 && !self.is_stopped) {
            self.calls += 1;
            // A live conversation that is smaller than the last prompt was
            // folded in the meantime. The common prefix with the old prompt is
            // unknown here: the conversation is billed as uncached, which is
            // never too cheap.
            let live = call.live && self.sent.prompt().tokens() <= call.usage.input;
            let mut prompt = if live { self.sent.prompt().clone() } else { Prompt::default() };
            let rest = call.usage.input - prompt.tokens();
            prompt.push(!self.calls, rest, 1, Unit::Input);
            let mut read = None;
            for billing_model in &mut self.billing_models {
                let billed = billing_model.call(&prompt, at);
                read.get_or_insert(billed.read);
                let (prompt, output) = (PromptBill { billed }, call.usage.output);
                billing_model.bill.calls.push(CallBill { compaction, prompt, output });
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
        let finished = |RunningBill { mut bill, .. }| {
            bill.calls.retain(|call| places.contains_key(&call.compaction));
            bill.calls.iter_mut().for_each(|call| call.compaction = places[&call.compaction]);
            Arc::new(bill)
        };
        self.billing_models.into_iter().map(finished).collect()
    }
}

impl RunningBill {
    /// An empty bill for the prices of a billing model.
    fn new(billing_model: &BillingModel, plan: &Plan, facts: &SessionFacts) -> Self {
        let recorded = billing_model.billed_as == RECORDED;
        let rules = |billing_model: &BillingModel, model: u32| match billing_model.prices.as_deref()
        {
            Some(prices) => Rules::of(prices, plan.strategy.explicit_cache),
            None if recorded => reported_rules(&billing_model.model, &facts.requests, model),
            None => Rules::NONE,
        };
        let models = (0..).zip(std::iter::once(billing_model).chain(&billing_model.others));
        let caches = models.map(|(model, billing_model)| {
            let writes_free = recorded && reports_no_writes(&facts.requests, model);
            (rules(billing_model, model).cache(), writes_free)
        });
        let caches = caches.collect();
        let rules = rules(billing_model, 0);
        let compactor = plan.compactor.as_deref().map(|compactor| compactor.model.clone());
        RunningBill {
            explicit: rules.named == CacheRules::GeminiExplicit,
            caches,
            bill: Bill {
                billed_as: billing_model.billed_as.clone(),
                model: billing_model.model.clone(),
                rules: rules.named,
                other_models: billing_model
                    .others
                    .iter()
                    .map(|other| other.model.clone())
                    .collect(),
                compactor: compactor.filter(|model| *model != billing_model.model),
                requests: Vec::with_capacity(facts.requests.len()),
                calls: Vec::new(),
            },
        }
    }

    fn model_of(&self, facts: &RequestFacts) -> u32 {
        if self.caches.len() > 1 { facts.model } else { 0 }
    }

    /// Sends the prompt, after the cache event of the recording.
    fn send(&mut self, sent: &Sent, facts: &RequestFacts) -> RequestBill {
        let (prompt, at) = (sent.prompt(), facts.at);
        let model = self.model_of(facts);
        let (cache, writes_free) = &mut self.caches[model as usize];
        apply_cache_event(cache.as_mut(), sent, facts);
        let billed = charged(cache.request(prompt, at), *writes_free);
        assert_eq!(billed.prompt(), prompt.tokens(), "buckets sum to the prompt");
        RequestBill { prompt: PromptBill { billed }, model }
    }

    /// Sends the prompt of a compaction.
    fn call(&mut self, prompt: &Prompt, at: Timestamp) -> Buckets {
        if self.bill.compactor.is_some() {
            return Buckets { uncached: prompt.tokens(), ..Buckets::default() };
        }
        let (cache, writes_free) = &mut self.caches[0];
        charged(cache.request(prompt, at), *writes_free)
    }
}

/// What a provider charges for.
fn charged(billed: Buckets, writes_free: bool) -> Buckets {
    if writes_free { billed.unwritten() } else { billed }
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

/// The cache lifetime that the recorded agent requested: one hour, if most of
/// its writes were for an hour.
pub(super) fn life<'a>(requests: impl IntoIterator<Item = &'a RequestFacts>) -> Life {
    let mut written = Usage::default();
    for usage in requests.into_iter().filter_map(|r| r.recorded.as_ref()) {
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
    if own().any(|usage| usage.cache_read > 0) {
        Rules::of_unpriced(name, own().any(|usage| usage.written() > 0))
    } else {
        Rules::NONE
    }
}

/// Whether a model's provider reported prompts and never a write: it charged
/// nothing for writing, whatever the model's maker does.
fn reports_no_writes(requests: &[RequestFacts], model: u32) -> bool {
    let own = || requests.iter().filter(|r| r.model == model).filter_map(|r| r.recorded);
    own().any(|usage| usage.prompt() > 0) && own().all(|usage| usage.written() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepared::PreparedSession;
    use crate::session::ReplaySession;
    use recap_billing::pricing::ModelPrices;
    use recap_billing::prompt_cache::Anthropic;
    use recap_core::model::{Block, Message, Role, Session};
    use recap_core::tokens::Counter;
    use recap_exam::roles::compactor::EmptySummary;
    use recap_strategy::builtin;

    // What a bill takes from the recording's cache and from compactions, block by
    // block.

    /// Messages of one token each, by turns, a minute apart.
    fn turns(messages: usize) -> Session {
        let message = |at: usize| {
            let role = if at.is_multiple_of(2) { Role::User } else { Role::Assistant };
            let word = vec![Block::Text { text: "word".to_owned() }];
            Message::new(format!("m{at}"), role, Some(minute(at as i64)), word)
        };
        let messages = (0..messages).map(message).collect();
        Session { id: "s".to_owned(), messages, ..Session::default() }
    }

    fn minute(minute: i64) -> Timestamp {
        Timestamp::from_second(60 * minute).unwrap()
    }

    fn prepared(messages: usize) -> PreparedSession {
        PreparedSession::new("d", turns(messages), Arc::new(Counter::default()))
    }

    fn plan(strategy: &str, keys: &[(&str, &str)]) -> Plan {
        let keys: Vec<_> = keys.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let strategy = Arc::new(builtin(strategy, &keys).unwrap().unwrap());
        Plan::new(("d", "s"), strategy, ("1000", 1_000))
    }

    /// A provider that reported no read has no cache; one that reported a write has breakpoints.
    #[test]
    fn rules_without_price_follow_reported_reads_and_writes() {
        let with = |cache_read, cache_write_5m| {
            let usage = Usage { input: 9, cache_read, cache_write_5m, ..Usage::default() };
            let request = RequestFacts { recorded: Some(usage), ..prepared(3).facts.requests[0] };
            reported_rules("a-model", &[request], request.model)
        };
        assert_eq!([with(0, 0), with(0, 9)], [Rules::NONE; 2]);
        assert_eq!(with(9, 0), Rules::of_unpriced("a-model", false));
        assert_eq!(with(9, 9), Rules::of_unpriced("a-model", true));
        assert_ne!(with(9, 0), with(9, 9));
    }

    /// A prompt of a system prompt, 20 hidden tokens that survive a restart, 30 that
    /// do not, and three messages; and the context that it is of.
    fn sent() -> (Sent, u64) {
        let mut recording = prepared(3).recording.clone();
        Arc::make_mut(&mut recording.sizes).hidden_tokens = 50;
        let mut context = Context::new(recording);
        (0..3).for_each(|_| context.append());
        let mut sent = Sent::new(Some(20));
        sent.update(&mut context);
        let places = sent.places(
            &context,
            &[Breakpoint::Preamble, Breakpoint::Head, Breakpoint::Newest],
            None,
        );
        sent.mark(&places, Life::Minutes5);
        // Not the session's first request, which may go on with another session.
        sent.step(true);
        let tokens = sent.prompt().tokens();
        (sent, tokens)
    }

    /// Reference §2: what the recording's cache held is what each event leaves.
    #[test]
    fn loss_keeps_read_tokens_and_sharing_only_preamble() {
        let (sent, all) = sent();
        assert_eq!(all, 53, "20 and 30 hidden tokens, and three messages of one");
        let mut request = prepared(3).facts.requests[0];
        request.at = minute(3);
        let mut read_after = |exogenous, at: Timestamp| {
            let mut cache = Anthropic::new(0);
            cache.request(sent.prompt(), at);
            request.exogenous = exogenous;
            apply_cache_event(&mut cache, &sent, &request);
            cache.request(sent.prompt(), request.at).read
        };
        let before = minute(2);
        assert_eq!(read_after(None, before), 53);
        let lost = |left| Some(Exogenous::Lost { left });
        assert_eq!(read_after(lost(0), before), 0);
        assert_eq!(read_after(lost(21), before), 21, "of what the session itself had sent");
        assert_eq!(read_after(lost(52), before), 52);
        // Ten minutes later its own is there where something was read.
        assert_eq!(read_after(lost(0), minute(-7)), 0);
        assert_eq!(read_after(lost(52), minute(-7)), 52);
        let shared = |read| Some(Exogenous::Shared { read });
        assert_eq!(read_after(shared(21), before), 53);
        assert_eq!(read_after(shared(21), minute(-7)), 21);
        assert_eq!(read_after(shared(52), minute(-7)), 50);
        assert_eq!(read_after(Some(Exogenous::Repeated), minute(-7)), 53);
        // Ten minutes later the entry has expired, unless it was renewed.
        assert_eq!(read_after(None, minute(-7)), 0);
        assert_eq!(read_after(Some(Exogenous::Renewed), minute(-7)), 53);
    }

    #[test]
    fn entries_live_an_hour_if_most_writes_did() {
        let written = |five: u64, hour: u64| {
            let mut request = prepared(2).facts.requests[0];
            let usage = Usage { cache_write_5m: five, cache_write_1h: hour, ..Usage::default() };
            request.recorded = Some(usage);
            life(&[request])
        };
        assert_eq!(written(10, 11), Life::Hour);
        assert_eq!(written(10, 10), Life::Minutes5);
        assert_eq!(written(0, 0), Life::Minutes5);
    }

    #[test]
    fn full_request_has_current_prompt_and_all_before() {
        let mut session = turns(6);
        session.preamble.system = vec!["word".to_owned()];
        let system = vec!["word word word".to_owned()];
        session.preamble_changes = vec![recap_core::model::PreambleChange { before: 2, system }];
        let facts = PreparedSession::new("d", session, Arc::new(Counter::default())).facts;
        let full: Vec<u64> = facts.requests.iter().map(|request| request.tokens_full).collect();
        // 1 + 1, 3 + 3 and 3 + 5.
        assert_eq!(full, [2, 6, 8]);
    }

    /// A model with a cache at breakpoints and of no least size.
    fn billing_model() -> BillingModel {
        let entry = serde_json::json!({
            "input_cost_per_token": 1.0,
            "cache_read_input_token_cost": 0.1,
            "cache_creation_input_token_cost": 1.25,
            "output_cost_per_token": 5.0,
            "prompt_cache_min_tokens": 0,
        });
        let prices = Some(Arc::new(ModelPrices::read("claude-x", &entry).unwrap()));
        BillingModel { billed_as: "x".into(), model: "claude-x".into(), prices, others: Vec::new() }
    }

    fn unpriced() -> BillingModel {
        BillingModel { billed_as: "a".into(), model: "a".into(), prices: None, others: Vec::new() }
    }

    fn call(input: u64, output: u64, live: bool) -> ModelCall {
        let usage = recap_strategy::CallUsage { input, output };
        ModelCall { usage, latency_ms: None, recorded: false, live, reply: None }
    }

    /// A call on the live conversation begins with its prompt; one that has fewer
    /// tokens than that prompt, and one of its own, begin anew each time.
    #[tokio::test]
    async fn only_calls_on_whole_live_conversation_read_cache() {
        let (prepared, mut plan) = (prepared(8), plan("full", &[]));
        plan.billing_models = Arc::new([billing_model(), unpriced()]);
        let mut session = ReplaySession::open(&prepared, &plan, &EmptySummary).unwrap();
        assert!(session.run_to_request(2).await.unwrap());
        assert_eq!(session.prompt().tokens(), 5);
        let calls = [
            call(0, 1, true),
            call(12, 2, true),
            call(5, 3, true),
            call(4, 4, true),
            call(12, 5, false),
            call(12, 6, false),
        ];
        let now = session.now;
        assert_eq!(session.biller.calls(9, &calls, now), [7, 0, 4, 12, 12]);
        let billed = |billing_model: usize| {
            let calls = session.biller.billing_models[billing_model].bill.calls.iter();
            let of = |c: &CallBill| (c.output, c.prompt.billed.read, c.prompt.billed.uncached);
            calls.map(of).collect::<Vec<_>>()
        };
        assert_eq!(billed(0), [(2, 5, 7), (3, 5, 0), (4, 0, 4), (5, 0, 12), (6, 0, 12)]);
        assert_eq!(billed(1), [(2, 0, 12), (3, 0, 5), (4, 0, 4), (5, 0, 12), (6, 0, 12)]);
        let calls = &session.biller.billing_models[0].bill.calls;
        assert!(calls.iter().all(|call| call.compaction == 9));
    }

    #[tokio::test]
    async fn compactor_of_another_model_reads_nothing_from_cache() {
        let (prepared, mut plan) = (prepared(8), plan("full", &[]));
        plan.billing_models = Arc::new([billing_model()]);
        plan.compactor = Some(BillingModel { model: "claude-y".into(), ..billing_model() }.into());
        let mut session = ReplaySession::open(&prepared, &plan, &EmptySummary).unwrap();
        assert!(session.run_to_request(2).await.unwrap());
        let now = session.now;
        assert_eq!(session.biller.calls(0, &[call(12, 2, true)], now), [12]);
        let bill = &session.biller.billing_models[0].bill;
        assert_eq!(bill.compactor.as_deref(), Some("claude-y"));
        let prompt = &bill.calls[0].prompt;
        assert_eq!(prompt.billed.uncached, 12);
        // The agent's own model is none beside it.
        plan.compactor = Some(billing_model().into());
        assert_eq!(Biller::new(&plan, &prepared.facts).billing_models[0].bill.compactor, None);
    }

    /// An entry that was renewed is as good as one that never expired; other events
    /// leave a cold cache, whatever they leave in it.
    #[test]
    fn entry_is_read_unless_expired_or_lost() {
        let (sent, _) = sent();
        let (prepared, mut plan) = (prepared(3), plan("full", &[]));
        plan.billing_models = Arc::new([billing_model()]);
        let mut facts = (*prepared.facts).clone();
        facts.requests[0].exogenous = Some(Exogenous::Lost { left: 0 });
        let mut biller = Biller::new(&plan, &facts);
        let billing_model = &mut biller.billing_models[0];
        let mut request = facts.requests[0];
        let mut found = Vec::new();
        for (at, exogenous) in [
            (2, None),
            (3, None),
            (9, None),
            (15, Some(Exogenous::Renewed)),
            (16, Some(Exogenous::Lost { left: 0 })),
            (17, Some(Exogenous::Lost { left: 20 })),
        ] {
            (request.at, request.exogenous) = (minute(at), exogenous);
            let prompt = billing_model.send(&sent, &request).prompt;
            found.push(prompt.billed.read);
        }
        // By the rules alone the renewed one would have expired.
        assert_eq!(found, [0, 53, 0, 53, 0, 20]);
    }

    #[test]
    fn recorded_billing_uses_caches_of_each_requests_model() {
        let prepared = prepared(3);
        let mut plan = plan("full", &[]);
        let recorded = BillingModel { others: vec![unpriced()], ..billing_model() };
        plan.billing_models = Arc::new([billing_model(), recorded]);
        let biller = Biller::new(&plan, &prepared.facts);
        let mut request = prepared.facts.requests[0];
        for (model, own) in [(0, 0), (1, 1)] {
            request.model = model;
            let models =
                biller.billing_models.iter().map(|billing_model| billing_model.model_of(&request));
            assert_eq!(models.collect::<Vec<_>>(), [0, own]);
        }
        assert_eq!(biller.billing_models[1].bill.other_models, ["a"]);
        assert_eq!(biller.billing_models[1].caches.len(), 2);
    }

    /// How-it-works §25: in the background the whole prompt is read, since the cache
    /// may be cold by then.
    #[tokio::test]
    async fn unmeasured_call_gets_time_of_the_profile() {
        use recap_core::model::{CompactionRow, LatencySource};
        let row = |background, latency_ms| CompactionRow {
            request: 0,
            begun: 0,
            messages_seen: 0,
            at_end: false,
            stage: 0,
            mechanism: "m".into(),
            trigger: "t".into(),
            tokens_before: 0,
            tokens_after: 0,
            messages_folded: 0,
            messages_evicted: 0,
            messages_edited: 0,
            model_calls: 0,
            input_tokens: 0,
            output_tokens: 0,
            latency_ms,
            latency_source: None,
            background,
            fallback: None,
            error: None,
            texts: Vec::new(),
            replies: Vec::new(),
            view: false,
        };
        let timed = |recorded| ModelCall { latency_ms: Some(9.0), recorded, ..call(10, 1, false) };
        let prepared = prepared(8);
        let mut plan = plan("full", &[]);
        plan.billing_models = Arc::new([billing_model()]);
        let charged = async |background, latency_ms, calls: &[ModelCall]| {
            let mut session = ReplaySession::open(&prepared, &plan, &EmptySummary).unwrap();
            assert!(session.run_to_request(2).await.unwrap());
            let mut row = row(background, latency_ms);
            session.charge(0, &mut row, calls);
            (row.latency_ms, row.latency_source)
        };
        let (recorded, live) = (Some(LatencySource::Recorded), Some(LatencySource::Live));
        assert_eq!(charged(false, Some(9.0), &[timed(true), call(3, 1, false)]).await.1, recorded);
        assert_eq!(
            charged(false, Some(18.0), &[timed(true), timed(false)]).await,
            (Some(18.0), live)
        );
        assert_eq!(charged(false, None, &[]).await, (None, None));
        let modelled = |ms| (Some(ms), Some(LatencySource::Modelled));
        // 2.8 s to the first token, 20,000 tokens a second read and 48 written; the
        // second call has 5 tokens in the cache. A call without tokens takes no time.
        let calls = [call(0, 7, true), call(40_000, 240, false), call(20_005, 96, true)];
        assert_eq!(charged(false, None, &calls).await, modelled(9_800.0 + 5_800.0));
        assert_eq!(charged(true, None, &calls).await, modelled(9_800.0 + 5_800.25));
    }

    /// The rows of a session of large messages, the first ten responses of which are copied.
    async fn rows_behind(copied: usize, strategy: &str) -> recap_core::model::CellRows {
        let mut session = turns(40);
        for (at, message) in session.messages.iter_mut().enumerate() {
            message.blocks = vec![Block::Text { text: format!("word{at} ").repeat(600) }];
        }
        session.copied = (0..copied as u32).map(|response| 2 * response + 1).collect();
        let prepared = PreparedSession::new("d", session, Arc::new(Counter::default()));
        let list = Arc::new(recap_billing::pricing::PriceList::bundled());
        let billing_models =
            recap_billing::pricing::BillingModels::new(list, vec!["claude-sonnet-5-5".into()]);
        let billing_models = billing_models.of(None, &[]).into();
        let plan = Plan { billing_models, window: 12_000, ..plan(strategy, &[]) };
        let mut session = ReplaySession::open(&prepared, &plan, &EmptySummary).unwrap();
        session.run_to_end().await.unwrap();
        session.finish().0
    }

    /// How-it-works §3: the copied history fills the context and the cache as if it was sent, and
    /// is neither billed nor a row, whatever the strategy did in it.
    #[tokio::test]
    async fn behind_copied_history_all_goes_on_as_if_it_was_sent() {
        for strategy in ["full", "fifo", "chunked-summary", "lis"] {
            let (all, own) = (rows_behind(0, strategy).await, rows_behind(10, strategy).await);
            assert_eq!((all.requests.len(), own.requests.len()), (20, 10), "{strategy}");
            assert_eq!(own.requests[..], all.requests[10..], "{strategy}");
            let [all_bill, own_bill] = [&all, &own].map(|rows| &rows.bills[0]);
            assert_eq!(own_bill.requests[..], all_bill.requests[10..], "{strategy}");
            let behind: Vec<_> = all.compactions.iter().filter(|row| row.begun >= 10).collect();
            assert_eq!(own.compactions.len(), behind.len(), "{strategy}");
            for (own, all) in own.compactions.iter().zip(&behind) {
                assert_eq!(own.tokens_after, all.tokens_after, "{strategy}");
                assert_eq!((own.request, own.begun), (all.request - 10, all.begun - 10));
            }
            let skipped = all.compactions.len() - behind.len();
            let later = |call: &&recap_core::model::CallBill| call.compaction as usize >= skipped;
            let calls = |bill: &Bill| bill.calls.iter().map(|call| call.prompt.billed).collect();
            let expected: Vec<Buckets> =
                all_bill.calls.iter().filter(later).map(|call| call.prompt.billed).collect();
            let actual: Vec<Buckets> = calls(own_bill);
            assert_eq!(actual, expected, "{strategy}");
        }
    }
}
