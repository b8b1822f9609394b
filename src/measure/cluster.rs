//! What counts as one: the transcript, or the project or developer behind it.

use std::collections::{BTreeMap, BTreeSet};

use super::statistics::Clusters;
use crate::model::TranscriptFacts;

/// Values of transcripts, by their position in the facts, grouped by project
/// or developer where several are known. With one only, nothing could be
/// resampled: the transcript is the unit then, and a warning says that there is
/// one project.
pub fn clusters(facts: &[TranscriptFacts], values: &BTreeMap<usize, f64>) -> Clusters {
    let named = |unit: usize| {
        let facts = &facts[unit];
        facts.cluster.as_deref().map(|name| (facts.dataset.as_str(), name))
    };
    let several = {
        let names: BTreeSet<_> = values.keys().map(|unit| named(*unit)).collect();
        names.len() > 1
    };
    let mut groups: BTreeMap<_, Vec<f64>> = BTreeMap::new();
    for (unit, value) in values {
        let key = match named(*unit) {
            Some(name) if several => (Some(name), 0),
            _ => (None, *unit),
        };
        groups.entry(key).or_default().push(*value);
    }
    Clusters::new(groups.into_values().collect())
}

/// Differences of two rows over the transcripts that both have.
pub fn paired(own: &BTreeMap<usize, f64>, other: &BTreeMap<usize, f64>) -> BTreeMap<usize, f64> {
    own.iter().filter_map(|(unit, value)| Some((*unit, value - other.get(unit)?))).collect()
}
