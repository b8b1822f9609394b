//! The payers of a run, and their names in rows.

use std::collections::{BTreeMap, BTreeSet};

use super::names::ALL;
use crate::model::{Bill, Cell, Manifest, RECORDED};

/// The payers of a run: those of its bills, or without bills those of its
/// manifest. Never empty.
pub(super) struct Payers<'a> {
    names: Vec<&'a str>,
    /// For each data set, the models that its sessions name, if each session is
    /// billed as its own model.
    recorded: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Payers<'a> {
    /// Collects the payers from the cells.
    pub fn of(manifest: &'a Manifest, cells: &'a [Cell]) -> Self {
        let bills = || {
            let rows = cells.iter().filter_map(|cell| Some((cell, cell.rows()?)));
            rows.flat_map(|(cell, rows)| rows.bills.iter().map(move |bill| (cell, bill)))
        };
        let named: BTreeSet<&str> = bills().map(|(_, bill)| bill.billed_as.as_str()).collect();
        let mut names: Vec<&str> = match named.is_empty() {
            true => manifest.agent_models.iter().map(String::as_str).collect(),
            false => named.into_iter().collect(),
        };
        if names.is_empty() {
            names.push(RECORDED);
        }
        let own = |bill: &Bill| bill.billed_as == RECORDED;
        let mut recorded: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (cell, bill) in bills().filter(|(_, bill)| own(bill)) {
            for dataset in [&*cell.key.dataset, ALL] {
                recorded.entry(dataset).or_default().insert(&bill.model);
            }
        }
        Payers { names, recorded }
    }

    /// Names of the payers, as in [`Bill::billed_as`].
    pub fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// The payer's name on rows of a data set. If sessions are billed as the
    /// models that they name, and all name the same, it is the name of that
    /// model. This is decided for a whole data set, so that all rows of a table
    /// have one name, and not if another payer has that name.
    pub fn shown(&self, dataset: &str, payer: &'a str) -> &'a str {
        let models = self.recorded.get(dataset).filter(|_| payer == RECORDED);
        match models
            .and_then(|models| models.first())
            .filter(|_| models.is_some_and(|m| m.len() == 1))
        {
            Some(model) if !self.names.contains(model) => model,
            _ => payer,
        }
    }
}
