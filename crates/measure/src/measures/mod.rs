//! The measures by subject. Every table, column and test iterates over [`MEASURES`].

use std::sync::LazyLock;

pub(crate) mod at_cuts;
mod bill;
mod questions;
mod references;
pub(crate) mod requests;

use crate::figures::spec::Spec;

/// All measures of the catalogue that are computed from cells: those of each subject.
pub static MEASURES: LazyLock<Vec<Spec>> = LazyLock::new(|| {
    let subjects = [requests::ALL, references::ALL, bill::ALL, questions::ALL, at_cuts::ALL];
    subjects.concat().into_iter().chain(questions::continuity_by_kind()).collect()
});

/// How the measure of this id is computed from cells; `None` if only a whole row has it.
pub fn spec_of(id: &str) -> Option<&'static Spec> {
    MEASURES.iter().find(|spec| spec.id() == id)
}

/// Whether a measure is computed at cuts.
pub fn is_at_cuts(id: &str) -> bool {
    spec_of(id).is_some_and(Spec::is_at_cuts)
}

#[cfg(test)]
mod tests;
