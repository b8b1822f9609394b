//! Compares the bill of the row `recorded`, which sends what the recorded agent
//! sent, with what the provider billed: this shows how far the bills of a run
//! can be trusted on the user's own recording (reference §2).

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::bill::life;
use super::plan::Plan;
use super::session::replay;
use super::subject::PreparedSession;
use recap_billing::pricing::{Agent, Agents};
use recap_core::model::{
    Buckets, CellKey, CellOutcome, Exogenous, RECORDED, RequestBill, RequestFacts, Usage,
    Validation,
};
use recap_strategy::{Compactor, Scaling, builtin};

/// Replays the vendor's own compactions under the recorded models' rules, as
/// the row `recorded` does, and compares every request with its recorded usage.
/// `None` without usage.
pub async fn validate(
    subject: &PreparedSession,
    agents: &Agents,
    compactor: &dyn Compactor,
) -> Option<Validation> {
    let facts = &subject.facts;
    facts.calibration.as_ref()?;
    let list = Arc::clone(agents.list());
    let billing_models =
        Agents::new(list, Vec::new()).of(facts.model.as_deref(), &facts.other_models);
    let agent = billing_models.into_iter().next()?;
    let strategy = builtin(RECORDED, &[])?.expect("the strategy ships with the program");
    let plan = Plan {
        key: CellKey {
            dataset: facts.dataset.clone(),
            session: facts.session.clone(),
            strategy: strategy.name.clone(),
            window: String::new(),
            replicate: 0,
        },
        strategy: Arc::new(strategy),
        window: u64::MAX / 4,
        scaling: Scaling::AsWritten,
        seed: 0,
        offline: true,
        agents: Arc::new([agent.clone()]),
        compactor: None,
    };
    // A recording that cannot be replayed is reported in its own row.
    let CellOutcome::Done(rows) = replay(subject, &plan, compactor).await.cell.outcome else {
        return None;
    };
    let bill = rows.bills.into_iter().next()?;
    let mut sums = ErrorSums { life: life(&facts.requests).duration(), ..ErrorSums::default() };
    for (request, bill) in facts.requests.iter().zip(&bill.requests) {
        let reported = request.recorded.filter(|usage| !usage.cache_unknown);
        if let (Some(usage), Some(bill)) = (reported, bill) {
            sums.take(request, &usage, bill, &agent);
        }
    }
    (sums.requests > 0).then(|| sums.close(agent.model))
}

/// Sums over the requests that were compared.
#[derive(Default)]
struct ErrorSums {
    requests: u32,
    recorded: Buckets,
    simulated: Buckets,
    usd: [f64; 2],
    unpriced: bool,
    cold_starts: u32,
    expired: u32,
    renewed: u32,
    last: Option<Timestamp>,
    life: SignedDuration,
}

impl ErrorSums {
    fn take(&mut self, request: &RequestFacts, usage: &Usage, bill: &RequestBill, agent: &Agent) {
        let both = [Buckets::from(usage), bill.prompt.billed];
        let prices = agent.of_request(bill.model).prices.as_deref();
        for (sum, buckets) in self.usd.iter_mut().zip(&both) {
            match prices.and_then(|p| p.standard().prompt_usd(buckets, request.at)) {
                Some(usd) => *sum += usd,
                None => self.unpriced = true,
            }
        }
        self.requests += 1;
        let [recorded, simulated] = both;
        self.recorded += recorded;
        self.simulated += simulated;
        if let Some(last) = self.last {
            let idle = request.at.duration_since(last);
            match request.exogenous {
                Some(Exogenous::Lost { .. }) => {
                    self.cold_starts += 1;
                    self.expired += u32::from(idle > self.life);
                }
                Some(Exogenous::Renewed | Exogenous::Repeated) => self.renewed += 1,
                Some(Exogenous::Shared { .. }) | None => {}
            }
        }
        self.last = Some(request.at);
    }

    fn close(self, model: String) -> Validation {
        let [recorded_usd, simulated_usd] = self.usd.map(|usd| (!self.unpriced).then_some(usd));
        Validation {
            model,
            requests: self.requests,
            recorded: self.recorded,
            simulated: self.simulated,
            recorded_usd,
            simulated_usd,
            cold_starts: self.cold_starts,
            expired: self.expired,
            renewed: self.renewed,
        }
    }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
