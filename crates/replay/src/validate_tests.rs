use super::*;
use recap_core::model::PromptBill;

/// The sums of two requests, the second of them this many seconds later and with
/// this event.
fn sums(seconds: i64, exogenous: Option<Exogenous>) -> ErrorSums {
    sums_at(None, seconds, exogenous)
}

/// The same at these prices.
fn sums_at(
    prices: Option<recap_billing::pricing::ModelPrices>,
    seconds: i64,
    exogenous: Option<Exogenous>,
) -> ErrorSums {
    let usage = Usage { cache_read: 70, cache_write_5m: 30, ..Usage::default() };
    let billed = Buckets { read: 60, write: 40, ..Buckets::default() };
    let prompt = PromptBill { billed, ..PromptBill::default() };
    let bill = RequestBill { prompt, rewritten: 0, model: 0 };
    let prices = prices.map(Arc::new);
    let agent = Agent { billed_as: "a".into(), model: "a".into(), prices, others: Vec::new() };
    let mut sums = ErrorSums { life: SignedDuration::from_mins(5), ..ErrorSums::default() };
    for (at, exogenous) in [(0, Some(Exogenous::Lost { left: 0 })), (seconds, exogenous)] {
        let request = RequestFacts {
            message: 1,
            tokens_full: 100,
            output: 10,
            output_recorded: false,
            at: Timestamp::from_second(at).unwrap(),
            recorded: Some(usage),
            billed: true,
            exogenous,
            model: 0,
        };
        sums.take(&request, &usage, &bill, &agent);
    }
    sums
}

/// The first request has none before it: what it finds is no event.
#[test]
fn expired_cold_starts_are_counted_separately() {
    let counted = |seconds, exogenous| {
        let sums = sums(seconds, exogenous);
        (sums.cold_starts, sums.expired, sums.renewed)
    };
    assert_eq!(
        counted(300, Some(Exogenous::Lost { left: 0 })),
        (1, 0, 0),
        "five minutes are its life"
    );
    assert_eq!(counted(301, Some(Exogenous::Lost { left: 0 })), (1, 1, 0));
    assert_eq!(counted(301, Some(Exogenous::Lost { left: 9 })), (1, 1, 0));
    assert_eq!(counted(301, Some(Exogenous::Renewed)), (0, 0, 1));
    assert_eq!(counted(301, Some(Exogenous::Repeated)), (0, 0, 1));
    assert_eq!(counted(301, None), (0, 0, 0));
    assert_eq!(counted(301, Some(Exogenous::Shared { read: 9 })), (0, 0, 0));
}

#[test]
fn tokens_are_summed_and_unpriced_has_no_money() {
    let closed = sums(10, None).close("m".to_owned());
    assert_eq!(closed.requests, 2);
    assert_eq!((closed.recorded.read, closed.recorded.write), (140, 60));
    assert_eq!((closed.simulated.read, closed.simulated.write), (120, 80));
    assert_eq!((closed.recorded_usd, closed.simulated_usd), (None, None));
}

#[test]
fn both_prompts_are_billed_without_their_answers() {
    let entry = serde_json::json!({
        "input_cost_per_token": 1.0,
        "cache_read_input_token_cost": 0.5,
        "cache_creation_input_token_cost": 2.0,
        "output_cost_per_token": 8.0,
    });
    let prices = recap_billing::pricing::ModelPrices::read("round", &entry).unwrap();
    let closed =
        sums_at(Some(prices), 301, Some(Exogenous::Lost { left: 0 })).close("m".to_owned());
    // Twice 70·0.5 + 30·2, and twice 60·0.5 + 40·2.
    assert_eq!((closed.recorded_usd, closed.simulated_usd), (Some(190.0), Some(220.0)));
    assert_eq!((closed.model.as_str(), closed.cold_starts, closed.expired), ("m", 1, 1));
    assert_eq!(closed.renewed, 0);
}
