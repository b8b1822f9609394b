//! The payers of a run with their names in rows, and the rows that it has.

use std::collections::{BTreeMap, BTreeSet};

use super::ALL;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::testkit::{cell, manifest};

    /// The payers of a run with bills of these payers for these models.
    fn payers(typed: &[&str], billed: &[(&str, &str, &str)]) -> Payers {
        let names = typed.iter().map(|name| (*name).to_owned()).collect();
        let manifest = Manifest { agent_models: names, ..manifest(&["25%"]) };
        let cells = billed.iter().enumerate().map(|(at, (dataset, payer, model))| {
            let cell = cell(&format!("s{at}"), "x").dataset(dataset).sent(&[1]);
            cell.bill(payer, model, &[(1, 0, 0)]).build()
        });
        Payers::of(&manifest, &Sessions::new(cells, []))
    }

    #[test]
    fn payers_are_those_of_the_bills_and_else_those_typed() {
        let billed = [("d", "zeta", "zeta"), ("d", "beta", "beta"), ("d", "zeta", "zeta")];
        assert_eq!(payers(&["typed"], &billed).names(), ["beta", "zeta"]);
        assert_eq!(payers(&["typed", "also"], &[]).names(), ["typed", "also"]);
        assert_eq!(payers(&[], &[]).names(), [RECORDED]);
        assert_eq!(payers(&[], &billed).places().len(), 1);
    }

    #[test]
    fn sessions_billed_as_one_model_have_its_name_in_each_data_set() {
        let all = payers(&[], &[("d", RECORDED, "m"), ("d", RECORDED, "m"), ("e", RECORDED, "n")]);
        assert_eq!((all.shown("d", RECORDED), all.shown("e", RECORDED)), ("m", "n"));
        assert_eq!(all.shown(ALL, RECORDED), RECORDED, "they name several");
        assert_eq!(all.shown("d", "n"), "n", "another payer keeps its name");
        // Two rows must not have one name.
        let taken = payers(&[], &[("d", RECORDED, "m"), ("d", "m", "m")]);
        assert_eq!(taken.shown("d", RECORDED), RECORDED);
        let typed = payers(&[], &[("d", "k", "m")]);
        assert_eq!(typed.shown("d", RECORDED), RECORDED, "no bill takes what sessions name");
    }
}
