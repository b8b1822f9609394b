use super::*;
use recap_billing::pricing::ModelPrices;

/// Prices of 1 USD a token for input, 1.25 for a write, 5 for output, and
/// `read` for a read.
fn prices(read: f64) -> ModelPrices {
    let entry = serde_json::json!({
        "input_cost_per_token": 1.0,
        "cache_read_input_token_cost": read,
        "cache_creation_input_token_cost": 1.25,
        "output_cost_per_token": 5.0,
    });
    ModelPrices::read("round", &entry).unwrap()
}

/// Of 150,000 tokens 50,000 are left, and the 40,000 of the preamble among
/// them are read from the cache: H = 100,000 and I = 10,000.
const CASE: CompactionCase = CompactionCase {
    before: 150_000,
    after: 50_000,
    cached: 150_000,
    readable: 40_000,
    writes: Writes::Short,
};

/// Requests with these cache states, and the tokens that had arrived before
/// each.
fn history(requests: &[(CacheState, u64)]) -> CacheHistory {
    let all = (0u32..).zip(requests);
    let all = all.map(|(n, (state, arrived))| (n, jiff::Timestamp::UNIX_EPOCH, *arrived, *state));
    CacheHistory { requests: CacheHistory::counted(all), arrived: vec![0] }
}

fn ahead(history: &CacheHistory) -> RemainingRequests<'_> {
    RemainingRequests { requests: &history.requests, start: 0 }
}

#[test]
fn requests_ahead_begin_with_the_one_compaction_precedes() {
    let mut history = history(&[(CacheState::Warm, 10), (CacheState::Warm, 40)]);
    history.arrived = vec![0, 10, 40];
    for (request, messages_seen, numbers, start) in
        [(0, 1, vec![0, 1], 10), (1, 2, vec![1], 40), (2, 3, vec![], 40)]
    {
        let compacted = Compacted { compaction: 0, request, messages_seen, before: 0, after: 0 };
        let ahead = history.ahead(&compacted);
        let found: Vec<u32> = ahead.requests.iter().map(|request| request.request).collect();
        assert_eq!((found, ahead.start), (numbers, start), "{messages_seen} messages");
    }
}

fn warm(requests: usize) -> CacheHistory {
    history(&vec![(CacheState::Warm, 0); requests])
}

/// The crossing and the result of the formula, over 100 warm requests.
fn both(read: f64, call: f64) -> (Option<u32>, f64) {
    let prices = prices(read);
    let mut tariff = Tariff::new(&prices);
    let history = warm(100);
    let formula = CASE.formula(&mut tariff, ahead(&history), call).unwrap();
    (CASE.crossing(&mut tariff, ahead(&history), call), formula)
}

#[test]
fn worked_example_crosses_at_5_7_13_18() {
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

/// The bills of the two sessions up to a request, from 1, computed
/// directly: the example of docs/cost.md, with a call that reads `cached`
/// tokens from the cache and writes `anew` tokens.
fn by_hand(read: f64, (cached, anew): (f64, f64), requests: u32) -> (f64, f64) {
    let (write, output) = (1.25, 5.0);
    let call = cached * read + anew + 3_000.0 * output;
    let first = 40_000.0 * read + 10_000.0 * write;
    let later = f64::from(requests - 1) * 50_000.0 * read;
    (call + first + later, f64::from(requests) * 150_000.0 * read)
}

#[test]
fn book_figures_follow_from_its_assumptions() {
    let from_cache = (150_000.0, 0.0);
    for (read, call, requests) in [
        (0.1, from_cache, 5),
        (0.05, from_cache, 7),
        (0.025, from_cache, 13),
        (0.1, (0.0, 150_000.0), 18),
    ] {
        let (with, without) = by_hand(read, call, requests);
        assert!(with <= without, "read at {read}: {with} against {without} at {requests}");
        let (with, without) = by_hand(read, call, requests - 1);
        assert!(with > without, "read at {read}: paid before request {requests}");
        let usd = call.0 * read + call.1 + 15_000.0;
        assert_eq!(both(read, usd).0, Some(requests), "read at {read}");
    }
    let page = include_str!("../../../docs/cost.md");
    for stated in [
        "150,000 tokens become 50,000",
        "costs 1, written to the cache 1.25, as output 5, and read from the cache 0.1, 0.05 or 0.025",
        "Breakpoints stand behind a preamble of 40,000 tokens and at each prompt's end",
        "reads the 150,000 tokens and writes 3,000",
        "at the 5th, 7th or 13th request (the 18th with reads at 0.1",
    ] {
        assert!(page.contains(stated), "docs/cost.md does not state: {stated}");
    }
}

#[test]
fn lower_read_prices_delay_the_break_even() {
    let crossings: Vec<u32> =
        [0.2, 0.1, 0.05, 0.025].map(|c| both(c, 150_000.0 * c + 15_000.0).0.unwrap()).into();
    assert!(crossings.is_sorted_by(|a, b| a < b), "{crossings:?}");
}

#[test]
fn compaction_at_cold_request_costs_only_its_call() {
    // Cold: 150,000 against 50,000 tokens are written, 40,000 read in
    // both: 100,000·1.25 are saved at once, more than the call costs.
    let prices = prices(0.1);
    let mut tariff = Tariff::new(&prices);
    let cold = CacheState::Cold { read: 40_000 };
    let history = history(&[(cold, 0), (CacheState::Warm, 0), (CacheState::Warm, 0)]);
    assert_eq!(CASE.crossing(&mut tariff, ahead(&history), 30_000.0), Some(1));
    // c_eff = 0.1 + 1/3·1.15; K alone: 30,000 / (0.48333·100,000).
    let says = CASE.formula(&mut tariff, ahead(&history), 30_000.0).unwrap();
    assert!((says - 0.3 / (0.1 + 1.15 / 3.0)).abs() < 1e-9, "{says}");
}

#[test]
fn a_session_that_ends_too_soon_never_crosses() {
    let prices = prices(0.1);
    let mut tariff = Tariff::new(&prices);
    assert_eq!(CASE.crossing(&mut tariff, ahead(&warm(4)), 30_000.0), None);
    assert_eq!(CASE.crossing(&mut tariff, ahead(&warm(0)), 0.0), None);
    let inflated = CompactionCase { after: 160_000, ..CASE };
    assert_eq!(inflated.formula(&mut tariff, ahead(&warm(4)), 0.0), None);
}

#[test]
fn shared_growth_has_no_effect_with_warm_cache() {
    let prices = prices(0.1);
    let mut tariff = Tariff::new(&prices);
    let growing: Vec<_> = (0..100).map(|n| (CacheState::Warm, n * 700)).collect();
    assert_eq!(CASE.crossing(&mut tariff, ahead(&history(&growing)), 30_000.0), Some(5));
}

#[test]
fn bisection_finds_same_crossing_as_linear_search() {
    let prices = prices(0.1);
    let mut tariff = Tariff::new(&prices);
    for seed in 0u64..200 {
        let state = |n: u64| match (seed * 7 + n * n * 13 + n) % 5 {
            0 => CacheState::Cold { read: 40_000 },
            _ => CacheState::Warm,
        };
        let requests: Vec<_> = (0..seed % 40).map(|n| (state(n), n * 531)).collect();
        let case = CompactionCase { after: 50_000 + seed * 600, ..CASE };
        let history = history(&requests);
        let call = (seed * seed) as f64 * 40.0;
        let steps = case.crossing_by_steps(&mut tariff, ahead(&history), call, usize::MAX);
        assert_eq!(case.crossing(&mut tariff, ahead(&history), call), steps.ok(), "{seed}");
    }
}

#[test]
fn compaction_counts_from_the_request_it_precedes() {
    let at = |n: u32| (n, jiff::Timestamp::UNIX_EPOCH, u64::from(n) * 10, CacheState::Warm);
    // The third of five requests was not billed.
    let requests = CacheHistory::counted([0, 1, 3, 4].map(at).into_iter());
    let history = CacheHistory { requests, arrived: vec![0, 5, 15] };
    let ahead = |request, messages_seen| {
        let compacted = Compacted { compaction: 0, request, messages_seen, before: 100, after: 50 };
        let ahead = history.ahead(&compacted);
        let first = ahead.requests.first().map(|next| (next.request, ahead.grown(next)));
        (ahead.requests.len(), first)
    };
    assert_eq!(ahead(1, 1), (3, Some((1, 5))), "10 arrived by then, 5 of them before");
    assert_eq!(ahead(2, 2), (2, Some((3, 15))));
    assert_eq!(ahead(5, 2), (0, None));
}

#[test]
fn unread_tokens_are_billed_by_vendor_rules() {
    use CacheRules::{Anthropic, DeepSeek, OpenAiMarked};
    let read = Buckets { read: 4, ..Buckets::default() };
    for (rules, life, expected) in [
        (Anthropic, Life::Hour, Buckets { write_1h: 6, ..read }),
        (Anthropic, Life::Minutes5, Buckets { write: 6, ..read }),
        (OpenAiMarked, Life::Hour, Buckets { write: 6, ..read }),
        (DeepSeek, Life::Hour, Buckets { uncached: 6, ..read }),
    ] {
        assert_eq!(Writes::of(rules, life).buckets(10, 4), expected, "{rules:?} {life:?}");
    }
    assert_eq!(Writes::Short.buckets(4, 10), read, "no more is read than is sent");
}

#[test]
fn formula_is_unchanged_at_twice_the_prices() {
    let entry = serde_json::json!({
        "input_cost_per_token": 2.0,
        "cache_read_input_token_cost": 0.2,
        "cache_creation_input_token_cost": 2.5,
    });
    let prices = ModelPrices::read("twice", &entry).unwrap();
    let mut tariff = Tariff::new(&prices);
    let says = CASE.formula(&mut tariff, ahead(&warm(100)), 60_000.0).unwrap();
    assert!((says - 4.15).abs() < 1e-9, "{says}");
}

#[test]
fn formula_has_no_result_without_savings_or_price() {
    let paid = prices(0.1);
    let mut tariff = Tariff::new(&paid);
    let same = CompactionCase { after: CASE.before, ..CASE };
    assert_eq!(same.formula(&mut tariff, ahead(&warm(4)), 1.0), None);
    let free = serde_json::json!({
        "input_cost_per_token": 0.0,
        "cache_creation_input_token_cost": 0.0,
    });
    let free = ModelPrices::read("free", &free).unwrap();
    let mut tariff = Tariff::new(&free);
    assert_eq!(CASE.formula(&mut tariff, ahead(&warm(4)), 1.0), None);
}

fn sent(read: u64, write: u64) -> Option<recap_core::model::RequestBill> {
    let billed = Buckets { read, write, ..Buckets::default() };
    let prompt = recap_core::model::PromptBill { billed, ..Default::default() };
    Some(recap_core::model::RequestBill { prompt, rewritten: 0, model: 0 })
}

/// A bill of twelve requests, of which the second was not billed, with calls of
/// the compactions 0, 1 (two of them) and 2.
fn bill() -> Bill {
    let call = |compaction, read, output| CallBill {
        compaction,
        prompt: sent(read, 0).unwrap().prompt,
        output,
    };
    let mut requests = vec![sent(100_000, 50_000), None];
    requests.extend((2..12).map(|_| sent(40_000, 10_000)));
    Bill {
        billed_as: "round".to_owned(),
        model: "round".to_owned(),
        rules: CacheRules::Anthropic,
        other_models: Vec::new(),
        compactor: None,
        requests,
        calls: vec![call(0, 0, 999), call(1, 150_000, 2_000), call(1, 0, 1_000), call(2, 0, 777)],
        break_even: Vec::new(),
    }
}

#[test]
fn compaction_pays_its_calls_and_shares_request_cache() {
    let prices = prices(0.1);
    let at = |n: u32| (n, jiff::Timestamp::UNIX_EPOCH, 0, CacheState::Warm);
    let requests = CacheHistory::counted([0].into_iter().chain(2..12).map(at));
    let history = CacheHistory { requests, arrived: vec![0] };
    let even = |request, priced: bool| {
        let compacted =
            Compacted { compaction: 1, request, messages_seen: 0, before: 150_000, after: 50_000 };
        let tariff = || Tariff::new(&prices);
        let mut tariffs = Tariffs { session: tariff(), calls: priced.then(tariff) };
        break_even(&compacted, &history, &bill(), &mut tariffs, Some(Life::Minutes5))
    };
    // Its two calls cost 15,000 + 10,000 and 5,000: the worked example.
    let found = even(2, true);
    assert_eq!((found.compaction, found.requests, found.left), (1, Some(5), 10));
    assert!((found.formula.unwrap() - 4.15).abs() < 1e-9, "{found:?}");
    let unpriced = BreakEven { compaction: 1, requests: None, formula: None, left: 10 };
    assert_eq!(even(2, false), unpriced);
    assert_eq!(even(12, true), BreakEven { left: 0, ..unpriced });
}

#[test]
fn hour_short_and_free_writes_have_own_rates() {
    let entry = serde_json::json!({
        "input_cost_per_token": 1.0,
        "cache_read_input_token_cost": 0.1,
        "cache_creation_input_token_cost": 1.25,
        "cache_creation_input_token_cost_above_1hr": 2.0,
        "output_cost_per_token": 5.0,
    });
    let prices = ModelPrices::read("round", &entry).unwrap();
    let mut tariff = Tariff::new(&prices);
    // (10,000·(q − 0.1) + 30,000) / 10,000 with q = 2, 1.25 and 1.
    for (writes, expected) in [(Writes::Hour, 4.9), (Writes::Short, 4.15), (Writes::Free, 3.9)] {
        let case = CompactionCase { writes, ..CASE };
        let says = case.formula(&mut tariff, ahead(&warm(100)), 30_000.0).unwrap();
        assert!((says - expected).abs() < 1e-9, "{writes:?}: {says}");
        let crossing = case.crossing(&mut tariff, ahead(&warm(100)), 30_000.0);
        assert_eq!(crossing, Some(expected.ceil() as u32), "{writes:?}");
    }
}

#[test]
fn dearer_tier_prompt_is_compared_at_its_rates() {
    let entry = serde_json::json!({
        "input_cost_per_token": 1.0,
        "cache_read_input_token_cost": 0.1,
        "cache_creation_input_token_cost": 1.25,
        "output_cost_per_token": 5.0,
        "input_cost_per_token_above_200k_tokens": 2.0,
        "cache_read_input_token_cost_above_200k_tokens": 0.2,
        "cache_creation_input_token_cost_above_200k_tokens": 2.5,
        "output_cost_per_token_above_200k_tokens": 10.0,
    });
    let prices = ModelPrices::read("round", &entry).unwrap();
    let mut tariff = Tariff::new(&prices);
    let history = history(&[(CacheState::Warm, 0), (CacheState::Warm, 60_000)]);
    // The first request: 16,500 against 15,000. The second has 110,000 tokens,
    // 5,000 + 75,000, against 210,000 in the higher tier, 30,000 + 150,000.
    let crossing = |tariff: &mut Tariff<'_>, call| CASE.crossing(tariff, ahead(&history), call);
    assert_eq!(crossing(&mut tariff, 98_499.0), Some(2));
    assert_eq!(crossing(&mut tariff, 98_501.0), None);
}

#[test]
fn history_lists_billed_requests_with_tokens_arrived_before() {
    use crate::PreparedSession;
    use recap_strategy::testkit::Talk;
    let talk = (0..3).fold(Talk::new("S"), |talk, _| talk.user("Go on.").assistant("Yes."));
    let subject = PreparedSession::new("d", talk.end(), std::sync::Arc::default());
    let mut facts = (*subject.facts).clone();
    for (message, tokens) in facts.messages.iter_mut().zip([2, 3, 5, 7, 11, 13]) {
        message.tokens = tokens;
    }
    let states = [CacheState::Warm, CacheState::NotBilled, CacheState::Cold { read: 7 }];
    let history = CacheHistory::new(&facts, &states);
    assert_eq!(history.arrived, [0, 2, 5, 10, 17, 28, 41]);
    let requests = history.requests.iter().map(|r| (r.request, r.arrived, r.warm_before));
    assert_eq!(requests.collect::<Vec<_>>(), [(0, 2, 0), (2, 28, 1)]);
    assert_eq!(history.requests[1].at, facts.requests[2].at);
}
