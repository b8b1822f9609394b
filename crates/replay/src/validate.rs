//! Compares the bill of the row `recorded`, which sends what the recorded agent
//! sent, with what the provider billed: this shows how far the bills of a run
//! can be trusted on the user's own recording (reference §2).

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::bill::life;
use crate::prepared::PreparedSession;
use crate::session::{Plan, replay};
use recap_billing::pricing::{BillingModel, BillingModels};
use recap_core::model::{
    Buckets, CellOutcome, Exogenous, RECORDED, RequestBill, RequestFacts, Usage, Validation,
};
use recap_strategy::{Compactor, Scaling, builtin};

/// Replays the recorded agent's own compactions under the recorded models' rules, as
/// the row `recorded` does, and compares every request with its recorded usage.
/// `None` without usage.
pub async fn validate(
    prepared: &PreparedSession,
    billing_models: &BillingModels,
    compactor: &dyn Compactor,
) -> Option<Validation> {
    let facts = &prepared.facts;
    facts.calibration.as_ref()?;
    let list = Arc::clone(billing_models.list());
    let billing_models =
        BillingModels::new(list, Vec::new()).of(facts.model.as_deref(), &facts.other_models);
    let billing_model = billing_models.into_iter().next()?;
    let strategy = builtin(RECORDED, &[])?.expect("the strategy ships with the program");
    let session = (&*facts.dataset, &*facts.session);
    let plan = Plan {
        scaling: Scaling::AsWritten,
        seed: 0,
        billing_models: Arc::new([billing_model.clone()]),
        ..Plan::new(session, Arc::new(strategy), ("", u64::MAX / 4))
    };
    // A recording that cannot be replayed is reported in its own row.
    let CellOutcome::Done(rows) = replay(prepared, &plan, compactor).await.cell.outcome else {
        return None;
    };
    let bill = rows.bills.into_iter().next()?;
    let requests = facts.requests.iter().zip(&bill.requests);
    let reported = requests.filter_map(|(request, bill)| {
        let usage = request.recorded.filter(|usage| !usage.cache_unknown)?;
        Some((request, usage, bill.as_ref()?))
    });
    let found = compare(reported, life(&facts.requests).duration(), &billing_model);
    Some(found).filter(|found| found.requests > 0)
}

/// The sums over requests, each with its recorded usage and its bill.
fn compare<'a>(
    requests: impl Iterator<Item = (&'a RequestFacts, Usage, &'a RequestBill)>,
    life: SignedDuration,
    billing_model: &BillingModel,
) -> Validation {
    let mut found = Validation { model: billing_model.model.clone(), ..Validation::default() };
    // Dollars of the prompts as reported and as simulated; `None` where a price is unknown.
    let mut usd = Some([0.0; 2]);
    let mut last: Option<Timestamp> = None;
    for (request, usage, bill) in requests {
        let (recorded, simulated) = (Buckets::from(&usage), bill.prompt.billed);
        let prices = billing_model.of_request(bill.model).prices.as_deref();
        let billed = |buckets| prices?.prompt_usd(buckets, request.at);
        let both = billed(&recorded).zip(billed(&simulated)).zip(usd);
        usd = both.map(|((own, ours), sums)| [sums[0] + own, sums[1] + ours]);
        found.requests += 1;
        found.recorded += recorded;
        found.simulated += simulated;
        let Some(last) = last.replace(request.at) else { continue };
        match request.exogenous {
            Some(Exogenous::Lost { .. }) => {
                found.cold_starts += 1;
                found.expired += u32::from(request.at.duration_since(last) > life);
            }
            Some(Exogenous::Renewed | Exogenous::Repeated) => found.renewed += 1,
            Some(Exogenous::Shared { .. }) | None => {}
        }
    }
    [found.recorded_usd, found.simulated_usd] = [0, 1].map(|at| usd.map(|usd| usd[at]));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::PromptBill;

    /// The sums of two requests, the second of them this many seconds later and with
    /// this event.
    fn sums(seconds: i64, exogenous: Option<Exogenous>) -> Validation {
        sums_at(None, seconds, exogenous)
    }

    /// The same at these prices.
    fn sums_at(
        prices: Option<recap_billing::pricing::ModelPrices>,
        seconds: i64,
        exogenous: Option<Exogenous>,
    ) -> Validation {
        let usage = Usage { cache_read: 70, cache_write_5m: 30, ..Usage::default() };
        let billed = Buckets { read: 60, write: 40, ..Buckets::default() };
        let prompt = PromptBill { billed };
        let bill = RequestBill { prompt, model: 0 };
        let prices = prices.map(Arc::new);
        let billing_model =
            BillingModel { billed_as: "a".into(), model: "a".into(), prices, others: Vec::new() };
        let events = [(0, Some(Exogenous::Lost { left: 0 })), (seconds, exogenous)];
        let requests = events.map(|(at, exogenous)| RequestFacts {
            message: 1,
            tokens_full: 100,
            output: 10,
            at: Timestamp::from_second(at).unwrap(),
            recorded: Some(usage),
            billed: true,
            exogenous,
            model: 0,
        });
        let requests = requests.iter().map(|request| (request, usage, &bill));
        compare(requests, SignedDuration::from_mins(5), &billing_model)
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
        let closed = sums(10, None);
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
        let closed = sums_at(Some(prices), 301, Some(Exogenous::Lost { left: 0 }));
        // Twice 70·0.5 + 30·2, and twice 60·0.5 + 40·2.
        assert_eq!((closed.recorded_usd, closed.simulated_usd), (Some(190.0), Some(220.0)));
        assert_eq!((closed.model.as_str(), closed.cold_starts, closed.expired), ("a", 1, 1));
        assert_eq!(closed.renewed, 0);
    }
}
