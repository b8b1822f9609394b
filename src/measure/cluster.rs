//! What counts as one: the transcript, or the project or developer behind it.

use std::collections::{BTreeMap, BTreeSet};

use super::statistics::Clusters;
use crate::model::TranscriptFacts;

/// Data set and name of a project or developer.
pub type Owner<'a> = (&'a str, &'a str);

/// Values of transcripts, each with who is known to be behind it, grouped by
/// project or developer where several are known. With one only, nothing could be
/// resampled: the transcript is the unit then, and a warning says that there is
/// one project.
pub fn grouped<'a>(values: &[(Option<Owner<'a>>, f64)]) -> Clusters {
    Clusters::new(groups(values.iter().copied()))
}

/// The same of anything that a transcript has.
pub fn groups<'a, T>(of: impl Iterator<Item = (Option<Owner<'a>>, T)>) -> Vec<Vec<T>> {
    let of: Vec<(Option<Owner<'a>>, T)> = of.collect();
    let owners: BTreeSet<Option<Owner<'a>>> = of.iter().map(|(owner, _)| *owner).collect();
    let several = owners.len() > 1;
    let mut groups: BTreeMap<(Option<Owner<'a>>, usize), Vec<T>> = BTreeMap::new();
    for (at, (owner, one)) in of.into_iter().enumerate() {
        let owner = owner.filter(|_| several);
        let alone = if owner.is_some() { 0 } else { at };
        groups.entry((owner, alone)).or_default().push(one);
    }
    groups.into_values().collect()
}

/// The same of values by the position of their transcript in the facts.
pub fn clusters(facts: &[TranscriptFacts], values: &BTreeMap<usize, f64>) -> Clusters {
    let values: Vec<(Option<Owner<'_>>, f64)> = values
        .iter()
        .map(|(unit, value)| {
            let facts = &facts[*unit];
            (facts.cluster.as_deref().map(|name| (facts.dataset.as_str(), name)), *value)
        })
        .collect();
    grouped(&values)
}

/// Differences of two rows over the transcripts that both have.
pub fn paired(own: &BTreeMap<usize, f64>, other: &BTreeMap<usize, f64>) -> BTreeMap<usize, f64> {
    own.iter().filter_map(|(unit, value)| Some((*unit, value - other.get(unit)?))).collect()
}
