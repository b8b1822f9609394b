//! The billing models of a run with their names in rows.

use std::collections::{BTreeMap, BTreeSet};

use super::ALL;
use recap_core::model::{Manifest, RECORDED, RunResults};

/// The billing models of a run: those of its bills, or without bills those of its
/// manifest. Never empty.
pub(super) struct BillingModels {
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
        for session in results.iter() {
            for cell in session.cells() {
                for bill in cell.rows().into_iter().flat_map(|rows| &rows.bills) {
                    // What the agent itself sent is billed as recorded beside what was asked for.
                    let asked = &manifest.agent_models;
                    if bill.billed_as == RECORDED
                        && !asked.is_empty()
                        && !asked.contains(&bill.billed_as)
                    {
                        continue;
                    }
                    if !named.contains(&bill.billed_as) {
                        named.insert(bill.billed_as.clone());
                    }
                    if bill.billed_as == RECORDED {
                        for dataset in [session.dataset, ALL] {
                            let models = recorded.entry(dataset.to_owned()).or_default();
                            models.insert(bill.model.clone());
                        }
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
        match models
            .and_then(|models| models.first())
            .filter(|_| models.is_some_and(|m| m.len() == 1))
        {
            Some(model) if !self.names.contains(model) => model,
            _ => billing_model,
        }
    }
}

#[cfg(test)]
mod tests {
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
