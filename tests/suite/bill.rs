//! What a session is billed for, worked out by hand: cache plans, the clock,
//! what befell the recording's cache, and what compactions cost.

use crate::common;
use std::sync::Arc;

use crate::common::{block_on, message, offline, plan, prepared, strategy, text};
use jiff::{SignedDuration, Timestamp};
use recap_billing::pricing::{BillingModel, BillingModels, ModelPrices, PriceList};
use recap_core::model::{
    Bill, Block, Buckets, CacheRules, CellOutcome, CellRows, Exogenous, LatencySource, Message,
    Role, Session, Usage,
};
use recap_replay::{PreparedSession, replay, validate};
use recap_strategy::{Strategy, builtin};
use serde_json::json;

/// Anthropic's rules without a minimum, in round prices: 1 for input, 1.25 and
/// 2 for a write, 0.1 for a read, 5 for output, in USD per million.
fn claude() -> BillingModel {
    let entry = json!({
        "input_cost_per_token": 1e-6,
        "cache_read_input_token_cost": 1e-7,
        "cache_creation_input_token_cost": 1.25e-6,
        "cache_creation_input_token_cost_above_1hr": 2e-6,
        "output_cost_per_token": 5e-6,
        "prompt_cache_min_tokens": 0,
    });
    billing_model(ModelPrices::read("claude-round", &entry).unwrap())
}

fn listed(name: &str) -> BillingModel {
    billing_model(PriceList::bundled().find(name).unwrap().clone())
}

fn billing_model(prices: ModelPrices) -> BillingModel {
    let model = prices.id.clone();
    BillingModel {
        billed_as: model.clone(),
        model,
        prices: Some(Arc::new(prices)),
        others: Vec::new(),
    }
}

fn rows(
    prepared: &PreparedSession,
    strategy: Strategy,
    window: u64,
    billing_model: &BillingModel,
) -> CellRows {
    let mut plan = plan(strategy, window);
    plan.billing_models = Arc::new([billing_model.clone()]);
    match block_on(replay(prepared, &plan, &offline())).cell.outcome {
        CellOutcome::Done(rows) => *rows,
        CellOutcome::Failed { error } => panic!("{error}"),
    }
}

fn named(name: &str) -> Strategy {
    builtin(name, &[]).unwrap().unwrap()
}

fn billed(rows: &CellRows) -> Vec<Buckets> {
    rows.bills[0].requests.iter().map(|r| r.as_ref().unwrap().prompt.billed).collect()
}

/// Uncached, read, and written for five minutes and for an hour.
fn parts(buckets: &Buckets) -> (u64, u64, u64, u64) {
    (buckets.uncached, buckets.read, buckets.write, buckets.write_1h)
}

/// USD of prompts, outputs and calls.
fn usd(prepared: &PreparedSession, bill: &Bill, billing_model: &BillingModel) -> f64 {
    let prices = billing_model.prices.as_ref().unwrap();
    let mut sum = 0.0;
    for (facts, request) in prepared.facts.requests.iter().zip(&bill.requests) {
        let Some(request) = request else { continue };
        let billed = request.prompt.billed;
        sum += prices.request_usd(&billed, facts.output, facts.at).unwrap();
    }
    for call in &bill.calls {
        let at = prepared.facts.requests[0].at;
        sum += prices.request_usd(&call.prompt.billed, call.output, at).unwrap();
    }
    sum
}

/// User and assistant by turns, ten tokens each, at these seconds.
fn turns(seconds: &[i64]) -> Session {
    let each = |(at, &second): (usize, &i64)| Message {
        at: Some(Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)),
        ..message(at, if at % 2 == 0 { Role::User } else { Role::Assistant }, vec![text(10)])
    };
    let messages = seconds.iter().enumerate().map(each).collect();
    Session { id: "turns".into(), messages, ..Session::default() }
}

#[test]
fn growing_conversation_reads_its_previous_cache_write() {
    let prepared = prepared(turns(&[0, 1, 60, 61, 120, 121]));
    let rows = rows(&prepared, named("full"), 1_000, &claude());
    let found: Vec<_> = billed(&rows).iter().map(parts).collect();
    // 10 tokens, then 20 more each: the answer and the next question.
    assert_eq!(found, [(0, 0, 10, 0), (0, 10, 20, 0), (0, 30, 20, 0)]);
    assert!(rows.requests.iter().all(|r| !r.cache_break));
    assert_eq!(rows.requests[2].common_prefix, 30);
    // 10·1.25 + (1 + 25) + (3 + 25) for prompts, three times 50 for outputs.
    let expected = (12.5 + 26.0 + 28.0 + 150.0) * 1e-6;
    assert!((usd(&prepared, &rows.bills[0], &claude()) - expected).abs() < 1e-12);
}

#[test]
fn a_lunch_break_shows_in_the_bill() {
    // The question that follows the break comes after 70 minutes.
    let times = [0, 1, 60, 61, 61 + 4_200, 61 + 4_201];
    let rows = rows(&prepared(turns(&times)), named("full"), 1_000, &claude());
    let found: Vec<_> = billed(&rows).iter().map(parts).collect();
    assert_eq!(found[2], (0, 0, 50, 0), "everything is written again");
}

#[test]
fn recorded_one_hour_cache_writes_stay_one_hour() {
    let usage = |read, write| Usage { cache_read: read, cache_write_1h: write, ..Usage::default() };
    let mut session = turns(&[0, 1, 60, 61, 61 + 3_000, 61 + 3_001]);
    session.messages[1].usage = Some(usage(0, 10));
    session.messages[3].usage = Some(usage(10, 20));
    session.messages[5].usage = Some(usage(30, 20));
    let prepared = prepared(session);
    assert!(prepared.facts.requests.iter().all(|r| r.exogenous.is_none()));
    let rows = rows(&prepared, named("full"), 1_000, &claude());
    let found: Vec<_> = billed(&rows).iter().map(parts).collect();
    assert_eq!(found, [(0, 0, 0, 10), (0, 10, 0, 20), (0, 30, 0, 20)]);
}

#[test]
fn every_strategy_replays_recorded_cold_start() {
    let usage = |read, write| Usage { cache_read: read, cache_write_5m: write, ..Usage::default() };
    let mut session = turns(&[0, 1, 60, 61, 120, 121, 180, 181]);
    for (at, (read, write)) in [(1, (0, 10)), (3, (10, 20)), (5, (0, 50)), (7, (50, 20))] {
        session.messages[at].usage = Some(usage(read, write));
    }
    let prepared = prepared(session);
    let events: Vec<_> = prepared.facts.requests.iter().map(|r| r.exogenous).collect();
    assert_eq!(events, [None, None, Some(Exogenous::Lost { left: 0 }), None]);
    for name in ["full", "sliding-window"] {
        let rows = rows(&prepared, named(name), 1_000, &claude());
        let third = &rows.bills[0].requests[2].as_ref().unwrap().prompt;
        assert_eq!(parts(&third.billed), (0, 0, 50, 0), "{name}");
        assert_eq!(
            parts(&rows.bills[0].requests[3].as_ref().unwrap().prompt.billed),
            (0, 50, 20, 0)
        );
    }
}

#[test]
fn an_aborted_request_is_not_billed() {
    let mut session = turns(&[0, 1, 60, 61, 120, 121]);
    session.messages[3].usage = Some(Usage::default());
    let rows = rows(&prepared(session), named("full"), 1_000, &claude());
    let requests = &rows.bills[0].requests;
    assert_eq!(requests[1], None);
    assert_eq!(parts(&requests[2].as_ref().unwrap().prompt.billed), (0, 10, 40, 0));
}

#[test]
fn turn_exceeding_provider_lookback_still_reads_cache() {
    // 15 calls and their results: 30 blocks lie between two requests.
    let call = |n: usize| common::call(&format!("c{n}"), "x");
    let mut messages = vec![message(0, Role::User, vec![text(10)])];
    messages.push(message(1, Role::Assistant, (0..15).map(call).collect()));
    let results =
        (0..15).map(|n| message(2 + n, Role::Tool, vec![common::result(&format!("c{n}"), 10)]));
    messages.extend(results);
    messages.push(message(17, Role::Assistant, vec![text(10)]));
    let prepared = prepared(Session { id: "fan".into(), messages, ..Session::default() });
    let read = |strategy: Strategy| billed(&rows(&prepared, strategy, 10_000, &claude()))[1].read;
    assert_eq!(read(named("full")), 10, "the breakpoint of the request before still stands");
    let newest = strategy("cache_breakpoints = [\"preamble\", \"newest\"]\n");
    assert_eq!(read(newest), 0, "a moving breakpoint alone looks back over 20 blocks");
}

#[test]
fn changed_model_has_its_own_cache_and_price() {
    let mut session = turns(&[0, 1, 60, 61, 120, 121]);
    session.model = Some("main".into());
    session.other_models = [(3, "other".to_owned())].into();
    let prepared = prepared(session);
    assert_eq!(prepared.facts.other_models, ["other"]);
    let dear = json!({
        "input_cost_per_token": 1e-5,
        "cache_read_input_token_cost": 1e-6,
        "cache_creation_input_token_cost": 1.25e-5,
        "output_cost_per_token": 5e-5,
        "prompt_cache_min_tokens": 0,
    });
    let dear = billing_model(ModelPrices::read("claude-dear", &dear).unwrap());
    let billing_model = BillingModel { others: vec![dear.clone()], ..claude() };
    let rows = rows(&prepared, named("full"), 1_000, &billing_model);
    let found: Vec<_> = billed(&rows).iter().map(parts).collect();
    // 10, 30 and 50 tokens: the second prompt is the other model's first, and
    // the third finds what the first left.
    assert_eq!(found, [(0, 0, 10, 0), (0, 0, 30, 0), (0, 10, 40, 0)]);
    let models: Vec<u32> =
        rows.bills[0].requests.iter().map(|r| r.as_ref().unwrap().model).collect();
    assert_eq!(models, [0, 1, 0]);
    assert_eq!(rows.bills[0].models().collect::<Vec<_>>(), ["claude-round", "claude-dear"]);
    // A billing model that was asked for takes every request.
    let asked = super::bill::rows(&prepared, named("full"), 1_000, &claude());
    assert_eq!(parts(&billed(&asked)[1]), (0, 10, 20, 0));
}

#[test]
fn head_breakpoint_follows_content_that_harnesses_prepend() {
    let usage = |read, write| Usage { cache_read: read, cache_write_5m: write, ..Usage::default() };
    let seconds: Vec<i64> = (0..12).map(|n| 10 * n).collect();
    let mut session = turns(&seconds);
    // 1,000 hidden tokens, of which a restart at the third request leaves 600.
    for (at, (read, write)) in [(1, (0, 1_010)), (3, (1_010, 20)), (5, (600, 450))] {
        session.messages[at].usage = Some(usage(read, write));
    }
    let prepared = prepared(session);
    assert_eq!(prepared.facts.calibration.as_ref().unwrap().global, Some(600));
    // A window of two messages begins anew at every request.
    let actual = |plan: &str, billing_model: &BillingModel| {
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let keys = [set("cache_breakpoints", plan), set("last", "2")];
        let strategy = builtin("sliding-window", &keys).unwrap().unwrap();
        rows(&prepared, strategy, 100_000, billing_model)
    };
    let [preamble, head] = ["[\"preamble\"]", "[\"head\"]"].map(|plan| actual(plan, &claude()));
    assert_eq!(billed(&preamble)[5].read, 600);
    assert_eq!(billed(&head)[5].read, 1_000);
}

#[test]
fn pruning_and_masking_set_only_planned_breakpoints() {
    let prepared = prepared(agent_session());
    for (name, sized) in [("prune", "protect"), ("observation-masking", "keep_responses")] {
        let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let small = if sized == "protect" { "2000" } else { "2" };
        let all = [set("cache_breakpoints", "[]"), set(sized, small)];
        let rows = rows(&prepared, builtin(name, &all).unwrap().unwrap(), 40_000, &claude());
        assert!(!rows.compactions.is_empty(), "{name} acts");
        let none = billed(&rows);
        assert!(none.iter().all(|b| b.read == 0 && b.written() == 0), "{name}: {none:?}");
    }
}

/// Twenty turns of an agent: a question of about 50 tokens, a call, a result of
/// 1,500, an answer of 100, behind a system prompt of 3,000. No time between.
fn agent_session() -> Session {
    let mut messages = Vec::new();
    for turn in 0..20 {
        let id = messages.len();
        let call_id = format!("c{turn}");
        let says =
            format!("We decided to keep part {turn} in src/part_{turn}.rs. {}", common::words(30));
        messages.push(message(id, Role::User, vec![Block::Text { text: says }]));
        messages.push(message(id + 1, Role::Assistant, vec![common::call(&call_id, "x")]));
        messages.push(message(id + 2, Role::Tool, vec![common::result(&call_id, 1_500)]));
        messages.push(message(id + 3, Role::Assistant, vec![text(100)]));
    }
    for (at, message) in messages.iter_mut().enumerate() {
        message.at = Some(Timestamp::UNIX_EPOCH + SignedDuration::from_secs(10 * at as i64));
    }
    let mut session = Session { id: "agent".into(), messages, ..Session::default() };
    session.preamble.system = vec![common::words(3_000)];
    session
}

/// The published direction: a window that slides at every request sends far
/// fewer tokens and costs more; dropping the oldest in large steps costs less.
#[test]
fn sliding_window_costs_more_and_large_cuts_less() {
    let prepared = prepared(agent_session());
    let step = "[[stage]]\nmechanism = \"fifo\"\nat = \"request\"\n\
                when = { above = \"window\", share = 0.85 }\n\
                target = { of = \"window\", share = 0.3 }\n";
    let table = [
        ("full", named("full")),
        ("sliding-window", named("sliding-window")),
        ("large cuts", strategy(step)),
    ]
    .map(|(name, strategy)| {
        let rows = rows(&prepared, strategy, 24_000, &claude());
        let sent: u64 = rows.requests.iter().map(|r| r.tokens_sent).sum();
        let breaks = rows.requests.iter().filter(|r| r.cache_break).count();
        let cost = usd(&prepared, &rows.bills[0], &claude());
        println!("{name:16} {sent:8} tokens  {breaks:3} breaks  ${cost:.4}");
        (sent as f64, breaks, cost)
    });
    let [full, window, cut] = table;
    assert!(window.0 < 0.6 * full.0, "tokens: {table:?}");
    assert!(window.2 > 1.2 * full.2, "dollars: {table:?}");
    assert!(cut.0 < full.0 && cut.2 < full.2, "large cuts: {table:?}");
    assert!(cut.1 <= 10 && window.1 >= 30, "breaks: {table:?}");
}

/// Arachne's argument (seed 000, "Why Message History, Not System Prompt"):
/// a state in the system prompt makes the cached system prompt anew at every
/// fold; in the history it leaves it alone.
#[test]
fn system_prompt_state_rebuilds_explicit_cache_every_fold() {
    let mut session = agent_session();
    session.preamble.system = vec![common::words(8_000)];
    let prepared = prepared(session);
    let gemini = listed("gemini-3.8-flash");
    let run = |name: &str| {
        let rows = rows(&prepared, named(name), 24_000, &gemini);
        let folds = rows.compactions.iter().filter(|c| c.messages_folded > 0).count();
        let creations = billed(&rows).iter().filter(|b| b.stored_token_seconds > 0).count();
        (folds, creations, rows)
    };
    // Arachne itself folds at user messages, and creates it once as well.
    assert_eq!(run("arachne").1, 1);
    let (folds, creations, history) = run("session-state");
    assert!(folds >= 2, "{folds} folds");
    assert_eq!(creations, 1, "once, when the session begins");
    let (folds, creations, system) = run("session-state-system");
    assert!(folds >= 2, "{folds} folds");
    assert_eq!(creations, 1 + folds, "and at every fold");
    let dollars = |rows: &CellRows| usd(&prepared, &rows.bills[0], &gemini);
    println!("history ${:.5}, system ${:.5}", dollars(&history), dollars(&system));
    assert!(dollars(&history) < dollars(&system));
    for rows in [&history, &system, &run("arachne").2] {
        assert_eq!(rows.bills[0].rules, CacheRules::GeminiExplicit);
    }
}

/// Continuation with a reserve in which the call has room behind the live conversation.
fn roomy_continuation() -> Strategy {
    let limit = [("output_limit".to_owned(), "32000".to_owned())];
    builtin("continuation", &limit).unwrap().unwrap()
}

#[test]
fn live_conversation_call_reads_cache_fresh_does_not() {
    let prepared = prepared(agent_session());
    for (strategy, live) in [(roomy_continuation(), true), (named("session-state"), false)] {
        let name = strategy.name.clone();
        let rows = rows(&prepared, strategy, 24_000, &claude());
        let bill = &rows.bills[0];
        assert!(!bill.calls.is_empty(), "{name} compacts");
        for call in &bill.calls {
            let row = &rows.compactions[call.compaction as usize];
            assert_eq!(call.prompt.billed.prompt(), row.input_tokens, "{name}");
            assert_eq!(call.prompt.billed.read > 0, live, "{name}: {:?}", call.prompt.billed);
        }
        let row = rows.compactions.iter().find(|c| c.model_calls == 1).unwrap();
        let call = bill.calls.iter().find(|c| rows.compactions[c.compaction as usize] == *row);
        let call = call.unwrap();
        // 2.8 s to the first token, 20,000 tokens a second to read, 48 to write.
        let new = row.input_tokens - call.prompt.billed.read;
        let expected = 2_800.0 + new as f64 / 20.0 + row.output_tokens as f64 / 0.048;
        assert!((row.latency_ms.unwrap() - expected).abs() < 1e-6, "{name}: {row:?}");
        assert_eq!(row.latency_source, Some(LatencySource::Modelled));
    }
}

/// The calls of a compactor of its own model are new to its cache, whatever the
/// agent's holds, and are billed as its.
#[test]
fn separate_compactor_model_reads_nothing_at_own_prices() {
    let prepared = prepared(agent_session());
    let by = |compactor: Option<BillingModel>| {
        let mut plan = plan(roomy_continuation(), 24_000);
        plan.billing_models = Arc::new([claude()]);
        plan.compactor = compactor.map(Arc::new);
        match block_on(replay(&prepared, &plan, &offline())).cell.outcome {
            CellOutcome::Done(rows) => *rows,
            CellOutcome::Failed { error } => panic!("{error}"),
        }
    };
    let (same, other) = (by(Some(claude())), by(Some(listed("gpt-5.4-mini"))));
    assert_eq!(same.bills, by(None).bills, "the agent's own model changes nothing");
    let bill = &other.bills[0];
    assert_eq!((bill.model.as_str(), bill.call_model()), ("claude-round", "gpt-5.4-mini"));
    assert!(!bill.calls.is_empty());
    for (own, live) in bill.calls.iter().zip(&same.bills[0].calls) {
        let tokens = live.prompt.billed.prompt();
        assert!(live.prompt.billed.read > 0);
        assert_eq!(own.prompt.billed, Buckets { uncached: tokens, ..Buckets::default() });
    }
    assert_eq!(billed(&other), billed(&same), "the session's own requests are billed as ever");
}

#[test]
fn model_without_price_is_billed_in_tokens_only() {
    let unknown = BillingModel {
        billed_as: "mine".into(),
        model: "mine".into(),
        prices: None,
        others: Vec::new(),
    };
    let rows = rows(&prepared(turns(&[0, 1, 60, 61])), named("full"), 1_000, &unknown);
    assert_eq!(rows.bills[0].rules, CacheRules::None);
    assert_eq!(billed(&rows).iter().map(parts).collect::<Vec<_>>(), [(10, 0, 0, 0), (30, 0, 0, 0)]);
}

/// Four requests whose usage is what the rules say: every error is 0. One
/// write that the recording reports too small shows as that error.
#[test]
fn simulated_bill_is_compared_with_recorded_bill() {
    let usage = |read, write| Usage { cache_read: read, cache_write_5m: write, ..Usage::default() };
    let recorded = [(0, 10), (10, 20), (30, 20), (50, 20)];
    let validated = |recorded: [(u64, u64); 4]| {
        let mut session = turns(&[0, 1, 60, 61, 120, 121, 180, 181]);
        for (request, (read, write)) in recorded.into_iter().enumerate() {
            session.messages[2 * request + 1].usage = Some(usage(read, write));
        }
        session.model = Some("claude-opus-5-5".into());
        let billing_models = BillingModels::new(Arc::new(list()), Vec::new());
        block_on(validate(&prepared(session), &billing_models, &offline())).unwrap()
    };
    let fits = validated(recorded);
    assert_eq!((fits.requests, fits.cold_starts, fits.renewed), (4, 0, 0));
    assert_eq!(parts(&fits.recorded), (0, 90, 70, 0));
    assert_eq!(fits.simulated, fits.recorded);
    // 90·0.1 + 70·1.25 in input tokens of a dollar a million.
    assert!((fits.recorded_usd.unwrap() - 96.5e-6).abs() < 1e-12);
    assert_eq!(fits.simulated_usd, fits.recorded_usd);
    // The last prompt is reported 4 tokens larger than it was, all of it written.
    let larger = validated([(0, 10), (10, 20), (30, 20), (50, 24)]);
    // By the vocabulary alone the row has 10 tokens a message still.
    assert_eq!(parts(&larger.simulated), (0, 90, 70, 0));
}

/// A list of one model with the prices of [`claude`].
fn list() -> PriceList {
    let entry = json!({ "claude-opus-5-5": {
        "input_cost_per_token": 1e-6,
        "cache_read_input_token_cost": 1e-7,
        "cache_creation_input_token_cost": 1.25e-6,
        "output_cost_per_token": 5e-6,
        "prompt_cache_min_tokens": 0,
    }});
    PriceList::parse("round", &entry.to_string()).unwrap()
}

/// A compaction that a response sets off asks its model when the response has arrived: by then
/// the five minutes of the cache, which the request began, may be over (cost, cache rules).
#[test]
fn compactor_behind_slow_response_finds_cache_expired() {
    let stage = strategy(
        "[[stage]]\nmechanism = \"continuation\"\nat = \"append\"\nkeep_last = 1\n\
         when = { above = \"window\", share = 0.5 }\nkeep_summaries = \"last\"\n\
         request = \"prefix\"\nmax_tokens = 100\nprompt = \"p.md\"",
    );
    let read = |answered: i64| {
        let said = [(Role::User, 3_000, 0), (Role::Assistant, 100, answered)];
        let one = |(at, (role, tokens, second)): (usize, (Role, usize, i64))| {
            let mut message = message(at, role, vec![text(tokens)]);
            message.at = Some(Timestamp::from_second(second).unwrap());
            message
        };
        let messages = said.into_iter().enumerate().map(one).collect();
        let mut session = Session { id: "slow".into(), messages, ..Session::default() };
        session.preamble.system = vec![common::words(3_000)];
        let rows = rows(&prepared(session), stage.clone(), 10_000, &claude());
        assert_eq!(rows.compactions[0].messages_folded, 1);
        rows.bills[0].calls[0].prompt.billed.read
    };
    // System prompt and question, written at 0 s.
    assert_eq!((read(299), read(301)), (6_000, 0));
}
