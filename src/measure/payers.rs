//! The payers of a run with their names in rows, and the rows that it has.

use std::collections::{BTreeMap, BTreeSet};

use super::names::ALL;
use crate::model::{Manifest, RECORDED, Sessions};

/// A preset on a data set at a window.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowPlace {
    pub dataset: String,
    pub window: String,
    pub strategy: String,
}

/// The payers of a run: those of its bills, or without bills those of its
/// manifest. Never empty.
pub(super) struct Payers {
    names: Vec<String>,
    /// For each data set, the models that its sessions name, if each session is
    /// billed as its own model.
    recorded: BTreeMap<String, BTreeSet<String>>,
    places: BTreeSet<RowPlace>,
}

impl Payers {
    /// Collects the payers and the places from the cells.
    pub fn of(manifest: &Manifest, sessions: &Sessions) -> Self {
        let mut named = BTreeSet::new();
        let mut recorded: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let mut places = BTreeSet::new();
        for session in sessions.iter() {
            for cell in session.cells() {
                places.insert(RowPlace {
                    dataset: cell.key.dataset.clone(),
                    window: cell.key.window.clone(),
                    strategy: cell.key.strategy.clone(),
                });
                for bill in cell.rows().into_iter().flat_map(|rows| &rows.bills) {
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
        let mut names: Vec<String> = match named.is_empty() {
            true => manifest.agent_models.clone(),
            false => named.into_iter().collect(),
        };
        if names.is_empty() {
            names.push(RECORDED.to_owned());
        }
        Payers { names, recorded, places }
    }

    /// Every preset, data set and window that has a cell.
    pub fn places(&self) -> &BTreeSet<RowPlace> {
        &self.places
    }

    /// Names of the payers, as in [`Bill::billed_as`](crate::model::Bill::billed_as).
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The payer's name on rows of a data set. If sessions are billed as the
    /// models that they name, and all name the same, it is the name of that
    /// model. This is decided for a whole data set, so that all rows of a table
    /// have one name, and not if another payer has that name.
    pub fn shown<'a>(&'a self, dataset: &str, payer: &'a str) -> &'a str {
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
