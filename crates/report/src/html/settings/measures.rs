//! Every measure of every table, packed: the page's script writes a table when
//! somebody opens it. Everything in it stands in `summary.csv` too.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{block, number, packed, plain};
use recap_core::model::{StrategyRow, Value};

/// One table.
#[derive(Serialize)]
struct Table {
    strategies: Vec<String>,
    /// The id, then a cell per strategy.
    measures: Vec<Vec<String>>,
    /// Measures that no strategy has, under their reason.
    reasons: Vec<(String, String)>,
}

/// The tables of a report, in order, as the script reads them.
pub(super) fn data(blocks: &[block::Block<'_>]) -> String {
    let table = |block: &block::Block<'_>| Table {
        strategies: block.rows.iter().map(|row| plain::line(&row.strategy)).collect(),
        measures: measures(&block.rows),
        reasons: reasons(&block.rows),
    };
    packed::packed(&blocks.iter().map(table).collect::<Vec<Table>>())
}

/// Every measure that at least one strategy of the table has.
fn measures(rows: &[&StrategyRow]) -> Vec<Vec<String>> {
    let ids: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.values.keys().map(String::as_str)).collect();
    let known = |id: &&str| {
        rows.iter().any(|row| !matches!(row.values.get(*id), None | Some(Value::Absent(_))))
    };
    let line = |id: &str| {
        let cells = rows.iter().map(|row| shown(row.values.get(id)));
        std::iter::once(plain::line(id)).chain(cells).collect()
    };
    ids.into_iter().filter(known).map(line).collect()
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::Known(x)) => number::any(*x),
        Some(Value::Text(word)) => plain::line(word),
        Some(Value::Absent(_)) | None => "–".to_owned(),
    }
}

/// Measures that no strategy of the table has, under their reason.
fn reasons(rows: &[&StrategyRow]) -> Vec<(String, String)> {
    let ids: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.values.keys().map(String::as_str)).collect();
    let mut by_reason: Vec<(String, Vec<String>)> = Vec::new();
    for id in ids {
        let Some(reason) = block::absent_throughout(rows, id) else { continue };
        let reason = plain::line(&reason.to_string());
        match by_reason.iter_mut().find(|(r, _)| *r == reason) {
            Some((_, ids)) => ids.push(plain::line(id)),
            None => by_reason.push((reason, vec![plain::line(id)])),
        }
    }
    by_reason.into_iter().map(|(reason, ids)| (ids.join(", "), reason)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    #[test]
    fn all_measures_are_included_with_reasons_for_absence() {
        let report = Kit::default().report();
        let blocks = block::blocks(&report);
        let data = packed::unpacked(&data(&blocks));
        assert_eq!(data.as_array().unwrap().len(), blocks.len());
        let first = &data[0];
        assert_eq!(first["strategies"].as_array().unwrap().len(), blocks[0].rows.len());
        let kept = first["measures"].as_array().unwrap().iter();
        let kept = kept.filter(|line| line[0] == "reference_recall").count();
        assert_eq!(kept, 1);
        let reasons = first["reasons"].to_string();
        assert!(reasons.contains("a price is unknown"), "{reasons}");
    }
}
