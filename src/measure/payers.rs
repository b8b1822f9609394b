//! Who is billed in a run, and under which name a row says so.

use std::collections::{BTreeMap, BTreeSet};

use super::names::ALL;
use crate::model::{Bill, Cell, Manifest, RECORDED};

/// The payers of a run: those of its bills, or where there are none those of
/// its manifest. Never empty.
pub struct Payers<'a> {
    names: Vec<&'a str>,
    /// By data set the models as which its sessions are billed where each is
    /// billed as the model that it names.
    recorded: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

impl<'a> Payers<'a> {
    /// Those of the cells.
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

    /// Their names, as in [`Bill::billed_as`].
    pub fn names(&self) -> &[&'a str] {
        &self.names
    }

    /// The payer's name on rows of a data set: where sessions are billed as the
    /// models that they name and all name one, that model. It is decided for a
    /// data set as a whole, so that rows of one table bear one name, and a name
    /// that is a payer's of its own is not taken.
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
