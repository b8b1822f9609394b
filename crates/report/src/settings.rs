//! The settings of a run, the calls of models, and every measure, on the page.

use std::collections::BTreeSet;

use super::document::{Column, Part, Table, absent, figures, names, words};
use super::{block, number, plain, spend};
use recap_core::model::{Prices, Provenance, RECORDED, Report, StrategyRow, Value};

/// Names that are listed of each kind.
const LISTED: usize = 200;

/// The section of a report, with every measure of the table that it opens with.
pub(super) fn parts(report: &Report, open: Option<&block::Block<'_>>) -> Vec<Part> {
    let manifest = &report.manifest;
    let of = |what: &str, all: &[Provenance]| {
        let listed = all.iter().take(LISTED);
        let listed = listed.map(|one| vec![what.to_owned(), one.name.clone(), one.hash.clone()]);
        let more = all.len().saturating_sub(LISTED);
        let more = (more > 0)
            .then(|| vec![what.to_owned(), format!("and {more} more"), "manifest.json".to_owned()]);
        listed.chain(more).collect::<Vec<Vec<String>>>()
    };
    let hashes = [of("session", &manifest.sessions), of("strategy", &manifest.strategies)].concat();
    let heads = [words("what"), names("name"), words("BLAKE3")];
    let title = "Hashes of sessions and strategies";
    let mut parts = vec![
        Part::Table(Table::new("Settings", &[words("setting"), words("value")], settings(report))),
        Part::Folded(title.to_owned(), vec![Part::Table(Table::new(title, &heads, hashes))]),
    ];
    let calls = spend::parts(&report.calls);
    if !calls.is_empty() {
        parts.push(Part::Heading("Calls of models".to_owned()));
        parts.extend(calls);
        parts.push(Part::Text("Every call is in calls.csv.".to_owned()));
    }
    parts.extend(open.map(every_measure));
    parts
}

/// Every setting by its name.
fn settings(report: &Report) -> Vec<Vec<String>> {
    let manifest = &report.manifest;
    let windows: Vec<String> = manifest.windows.iter().map(|w| block::window(w)).collect();
    let mut all = vec![
        ("recap", manifest.version.clone()),
        ("instrument", manifest.instrument.to_string()),
        ("tokens", manifest.tokens.clone()),
        ("windows", windows.join(", ")),
        ("thresholds scale with the window", if manifest.scaled { "yes" } else { "no" }.to_owned()),
        ("replicates", manifest.replicates.to_string()),
        ("seed", manifest.seed.to_string()),
        ("compactor", manifest.compactor.clone()),
        ("answerer", manifest.answerer.clone()),
        ("judge", manifest.judge.clone()),
    ];
    all.extend(manifest.embedder.iter().map(|name| ("embedder", name.clone())));
    let model = |model: &String| match model.as_str() {
        RECORDED => "the model that each recording names".to_owned(),
        model => model.to_owned(),
    };
    let models: Vec<String> = manifest.agent_models.iter().map(model).collect();
    all.extend([("billed as", models.join(", ")), ("prices", price_list(&manifest.prices))]);
    all.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
}

fn price_list(prices: &Prices) -> String {
    let date = prices.date.as_ref().map_or_else(String::new, |date| format!(", {date}"));
    format!("{}{date}", prices.name)
}

/// Every measure of a table: a row each, with a column for each strategy, and those that nobody
/// has with the reason.
fn every_measure(block: &block::Block<'_>) -> Part {
    let rows = &block.rows;
    let ids: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.values.keys().map(String::as_str)).collect();
    let is_known =
        |row: &&StrategyRow, id: &str| !matches!(row.values.get(id), None | Some(Value::Absent(_)));
    let shown = |row: &&StrategyRow, id: &str| match row.values.get(id) {
        Some(Value::Known(x)) => number::any(*x),
        Some(Value::Text(word)) => word.clone(),
        Some(Value::Absent(_)) | None => absent(),
    };
    let (known, missing): (Vec<&str>, Vec<&str>) =
        ids.into_iter().partition(|id| rows.iter().any(|row| is_known(row, id)));
    let table = known.into_iter().map(|id| {
        let cells = rows.iter().map(|row| shown(row, id));
        [id.to_owned()].into_iter().chain(cells).collect::<Vec<String>>()
    });
    let strategy = |row: &&StrategyRow| figures("").named(plain::line(&row.strategy));
    let columns: Vec<Column> =
        [Column::from(words("measure"))].into_iter().chain(rows.iter().map(strategy)).collect();
    let reasons = missing
        .into_iter()
        .filter_map(|id| Some(format!("{id}: {}", block::absent_throughout(rows, id)?)));
    Part::Folded(
        format!("Every measure: {}, {}", plain::line(block.dataset), block::titled(block.window)),
        vec![
            Part::Table(Table::with("Every measure", columns, table.collect())),
            Part::List(reasons.collect()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Kit;

    #[test]
    fn every_measure_has_its_figures_or_the_reason() {
        let report = Kit::default().report();
        let Part::Folded(_, inside) = every_measure(&block::blocks(&report)[0]) else { panic!() };
        let [Part::Table(table), Part::List(reasons)] = &inside[..] else { panic!("{inside:?}") };
        let row = table.groups[0].rows.iter().find(|row| row.cells[0].text == "reference_recall");
        let figures: Vec<&str> = row.unwrap().cells.iter().map(|cell| cell.text.as_str()).collect();
        assert_eq!(figures[1..4], ["1", "0", "0.860"]);
        assert_eq!(reasons, &["cost_usd_refetch: a price is unknown"]);
    }
}
