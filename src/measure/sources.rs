//! The sources of the figures of a row, and which figures must not be printed
//! because of them.

use std::collections::{BTreeMap, BTreeSet};

use super::gather::Gathered;
use super::measures::waits;
use crate::model::{Absent, TranscriptFacts, Value, catalogue};

/// Adds the columns of sources. `full` is the number of requests of the whole
/// conversation that are over the window.
pub fn complete(
    row: &Gathered,
    facts: &[&TranscriptFacts],
    full: Option<f64>,
    values: &mut BTreeMap<String, Value>,
) {
    let requests = facts.iter().flat_map(|f| &f.requests).filter(|r| r.billed);
    let outputs = requests.map(|r| if r.output_recorded { "recorded" } else { "counted" });
    let counts = facts.iter().map(|f| f.tokens_source.as_str());
    let latencies: BTreeSet<&str> = row.latencies.iter().map(|source| source.as_str()).collect();
    if latencies.len() > 1 {
        let mixed: Vec<&str> = latencies.iter().copied().collect();
        let reason = Absent::MixedTimes(mixed.join(" and "));
        waits::IDS.iter().for_each(|id| withhold(id, &reason, values));
    }
    if full == Some(0.0) {
        values
            .insert(catalogue::COST_SAVINGS_VS_RECORDED.id.into(), Value::Absent(Absent::FullFits));
    }
    if facts.iter().all(|f| f.exam.references.is_empty()) {
        withhold(catalogue::COST_USD_REFETCH.id, &Absent::NothingToFetch, values);
    }
    // Without a model there is no latency and no source of it.
    let sources = [
        (catalogue::OUTPUT_SOURCE.id, one_word(outputs.collect(), Absent::NoRequestBilled)),
        (catalogue::TOKENS_SOURCE.id, one_word(counts.collect(), Absent::CellsFailed)),
        (catalogue::LATENCY_SOURCE.id, one_word(latencies, Absent::NoModelCalled)),
    ];
    values.extend(sources.map(|(id, source)| (id.to_owned(), source)));
}

/// Replaces a figure by a reason. A figure that is already absent keeps its own
/// reason.
fn withhold(id: &str, reason: &Absent, values: &mut BTreeMap<String, Value>) {
    if let Some(value @ Value::Known(_)) = values.get_mut(id) {
        *value = Value::Absent(reason.clone());
    }
}

/// The only word, or `mixed` if there are several.
fn one_word(words: BTreeSet<&str>, without: Absent) -> Value {
    match (words.len(), words.first()) {
        (0, _) | (_, None) => Value::Absent(without),
        (1, Some(word)) => Value::Text((*word).to_owned()),
        _ => Value::Text("mixed".to_owned()),
    }
}
