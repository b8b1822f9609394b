//! A cell's bill with its prices, from which the measures of money are computed, and the billing
//! models of a run with their names in rows.
//!
//! Invariant: a price that is unknown is never treated as 0. What a model without one answered
//! is left out of all bills of the session alike, and a session that it leads out of all rows;
//! a finding names both. Where a strategy's own calls have no price, its bill is unknown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::ALL;
use crate::figures::spec::{CellInput, Contribution};
use recap_billing::pricing::{ModelPrices, PriceList};
use recap_core::model::{
    Absent, Bill, Buckets, CacheRules, CallBill, Cell, CellRows, Manifest, RECORDED, RequestBill,
    RunResults, SessionFacts,
};

/// A bill with its prices.
pub struct Account<'a> {
    /// The tokens of the bill, by bucket.
    pub bill: &'a Bill,
    /// Prices of the requests, by [`RequestBill::model`]; `None`: it has none.
    requests: Vec<Option<&'a ModelPrices>>,
    /// Prices of the calls of compactions; `None`: their model has none.
    calls: Option<&'a ModelPrices>,
    facts: &'a SessionFacts,
    rows: &'a CellRows,
}

impl<'a> Account<'a> {
    /// A cell's bill for a billing model, with prices.
    ///
    /// # Errors
    /// There is no bill, or the session's model has no price.
    pub fn of(
        rows: &'a CellRows,
        facts: &'a SessionFacts,
        billing_model: &str,
        prices: &'a PriceList,
    ) -> Result<Self, Absent> {
        let bill = bill_of(rows, billing_model)?;
        prices.find(&bill.model).map_err(|_| unknown(&bill.model))?;
        let requests = bill.models().map(|name| prices.priced(name)).collect();
        Ok(Account { bill, requests, calls: prices.priced(bill.call_model()), facts, rows })
    }

    /// The cost of the session in USD: prompts, recorded outputs and the calls
    /// of compactions.
    ///
    /// What a model without a price answered costs nothing here.
    pub fn session(&self) -> Result<f64, Absent> {
        let mut usd = self.compactions()?;
        for (billed, request) in self.bill.requests.iter().zip(&self.facts.requests) {
            if let Some(billed) = billed.as_ref().filter(|billed| self.is_priced(billed)) {
                usd += self.price(billed, &billed.prompt.billed, request.output, request.at)?;
            }
        }
        Ok(usd)
    }

    /// The cost of the calls of compactions in USD, each at the time of the
    /// next request.
    pub fn compactions(&self) -> Result<f64, Absent> {
        self.bill.calls.iter().try_fold(0.0, |usd, call| Ok(usd + self.call(call)?))
    }

    fn call(&self, call: &CallBill) -> Result<f64, Absent> {
        let request = self.rows.compactions[call.compaction as usize].begun as usize;
        let at = self.facts.requests.get(request).or(self.facts.requests.last());
        let at = at.map_or(Timestamp::UNIX_EPOCH, |request| request.at);
        request_usd(self.calls, &call.prompt.billed, (call.output, at), self.bill.call_model())
    }

    /// Whether the model of a request has a price.
    pub fn is_priced(&self, request: &RequestBill) -> bool {
        self.prices_of(request).is_some()
    }

    /// The price in USD of a prompt that is sent to the model of a request of
    /// the session.
    pub fn price(
        &self,
        like: &RequestBill,
        prompt: &Buckets,
        output: u64,
        at: Timestamp,
    ) -> Result<f64, Absent> {
        request_usd(self.prices_of(like), prompt, (output, at), self.bill.model_of(like))
    }

    fn prices_of(&self, request: &RequestBill) -> Option<&'a ModelPrices> {
        self.requests.get(request.model as usize).copied().flatten()
    }
}

/// One request in USD, or which price of the model is unknown.
fn request_usd(
    prices: Option<&ModelPrices>,
    prompt: &Buckets,
    (output, at): (u64, Timestamp),
    model: &str,
) -> Result<f64, Absent> {
    let prices = prices.ok_or_else(|| unknown(model))?;
    let why = if prices.lacks_storage(prompt) { Absent::Storage } else { Absent::Price };
    prices.request_usd(prompt, output, at).ok_or_else(|| why(model.to_owned()))
}

fn unknown(model: &str) -> Absent {
    Absent::Price(model.to_owned())
}

impl<'a> CellInput<'a> {
    /// The cell's bill for the billing model.
    pub fn bill(&self) -> Result<&'a Bill, Absent> {
        bill_of(self.rows, self.billing_model)
    }

    /// The cell's bill for the billing model, if the provider's cache rules are known.
    pub fn cached(&self) -> Result<&'a Bill, Absent> {
        let bill = self.bill()?;
        match (bill.rules, self.prices.priced(&bill.model)) {
            (CacheRules::None, None) => Err(Absent::CacheRules(bill.model.clone())),
            _ => Ok(bill),
        }
    }

    /// The cell's bill for the billing model, with prices.
    pub fn account(&self) -> Result<Account<'a>, Absent> {
        self.account_of(self.rows)
    }

    /// The same of another cell of the session.
    pub(crate) fn account_of(&self, rows: &'a CellRows) -> Result<Account<'a>, Absent> {
        Account::of(rows, self.facts, self.billing_model, self.prices)
    }
}

/// A cell's bill for one billing model. What the agent itself sent is billed as recorded,
/// whatever was asked for.
pub(crate) fn bill_of<'a>(rows: &'a CellRows, billing_model: &str) -> Result<&'a Bill, Absent> {
    let billed_as = |name: &str| rows.bills.iter().find(|bill| bill.billed_as == name);
    let bill = billed_as(RECORDED).or_else(|| billed_as(billing_model));
    bill.map(Arc::as_ref).ok_or(Absent::NoBill)
}

/// Whether a bill fits the rows of its cell: a run folder may have been edited.
pub fn sound(bill: &Bill, rows: &CellRows) -> bool {
    let compactions = rows.compactions.len();
    bill.requests.len() == rows.requests.len()
        && bill.calls.iter().all(|call| (call.compaction as usize) < compactions)
}

/// A figure of the bill; an absent one is unknown and not zero, and that of a session whose model
/// has no price is left out.
pub fn known<'a>(
    account: Result<Account<'a>, Absent>,
    figure: impl FnOnce(Account<'a>) -> Result<f64, Absent>,
) -> Contribution {
    match account {
        Err(reason @ Absent::Price(_)) => Contribution::Absent(reason),
        account => account.and_then(figure).map_or_else(Contribution::Unknown, Contribution::One),
    }
}

/// The billing models of a run: those of its bills, or without bills those of its
/// manifest. Never empty.
pub(crate) struct BillingModels {
    names: Vec<String>,
    /// For each data set, the models that its sessions name, if each session is
    /// billed as its own model.
    recorded: BTreeMap<String, BTreeSet<String>>,
}

impl BillingModels {
    /// Collects them from the cells.
    pub fn of(manifest: &Manifest, results: &RunResults) -> Self {
        let mut named = BTreeSet::new();
        let mut recorded: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        // What the agent itself sent is billed as recorded beside what was asked for.
        let asked = &manifest.agent_models;
        let is_beside = !asked.is_empty() && !asked.iter().any(|model| model == RECORDED);
        for session in results.iter() {
            let rows = session.cells().iter().filter_map(Cell::rows);
            for bill in rows.flat_map(|rows| &rows.bills) {
                if bill.billed_as != RECORDED {
                    named.insert(bill.billed_as.clone());
                } else if !is_beside {
                    named.insert(bill.billed_as.clone());
                    for dataset in [session.dataset, ALL] {
                        let models = recorded.entry(dataset.to_owned()).or_default();
                        models.insert(bill.model.clone());
                    }
                }
            }
        }
        let mut names: Vec<String> = if named.is_empty() {
            manifest.agent_models.clone()
        } else {
            named.into_iter().collect()
        };
        if names.is_empty() {
            names.push(RECORDED.to_owned());
        }
        BillingModels { names, recorded }
    }

    /// Names of the billing models, as in [`Bill::billed_as`](recap_core::model::Bill::billed_as).
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The billing model's name on rows of a data set. If sessions are billed as the
    /// models that they name, and all name the same, it is the name of that
    /// model. This is decided for a whole data set, so that all rows of a table
    /// have one name, and not if another billing model has that name.
    pub fn shown<'a>(&'a self, dataset: &str, billing_model: &'a str) -> &'a str {
        let models = self.recorded.get(dataset).filter(|_| billing_model == RECORDED);
        let only = models.filter(|models| models.len() == 1).and_then(|models| models.first());
        only.filter(|model| !self.names.contains(model)).map_or(billing_model, String::as_str)
    }
}

#[cfg(test)]
mod billing_models_tests {
    use super::*;
    use crate::testkit::{cell, manifest};

    /// The billing models of a run with bills of these billing models for these models.
    fn billing_models(typed: &[&str], billed: &[(&str, &str, &str)]) -> BillingModels {
        let names = typed.iter().map(|name| (*name).to_owned()).collect();
        let manifest = Manifest { agent_models: names, ..manifest(&["25%"]) };
        let cells = billed.iter().enumerate().map(|(at, (dataset, billing_model, model))| {
            let cell = cell(&format!("s{at}"), "x").dataset(dataset).sent(&[1]);
            cell.bill(billing_model, model, &[(1, 0, 0)]).build()
        });
        BillingModels::of(&manifest, &RunResults::new(cells, []))
    }

    #[test]
    fn billing_models_come_from_bills_or_else_options() {
        let billed = [("d", "zeta", "zeta"), ("d", "beta", "beta"), ("d", "zeta", "zeta")];
        assert_eq!(billing_models(&["typed"], &billed).names(), ["beta", "zeta"]);
        assert_eq!(billing_models(&["typed", "also"], &[]).names(), ["typed", "also"]);
        assert_eq!(billing_models(&[], &[]).names(), [RECORDED]);
    }

    #[test]
    fn sessions_billed_as_one_model_show_its_name() {
        let all = billing_models(
            &[],
            &[("d", RECORDED, "m"), ("d", RECORDED, "m"), ("e", RECORDED, "n")],
        );
        assert_eq!((all.shown("d", RECORDED), all.shown("e", RECORDED)), ("m", "n"));
        assert_eq!(all.shown(ALL, RECORDED), RECORDED, "they name several");
        assert_eq!(all.shown("d", "n"), "n", "another billing model keeps its name");
        // Two rows must not have one name.
        let taken = billing_models(&[], &[("d", RECORDED, "m"), ("d", "m", "m")]);
        assert_eq!(taken.shown("d", RECORDED), RECORDED);
        let typed = billing_models(&[], &[("d", "k", "m")]);
        assert_eq!(typed.shown("d", RECORDED), RECORDED, "no bill takes what sessions name");
    }
}
