//! The settings of a run, the calls of models, and every measure.

mod measures;

use askama::Template;

use crate::{block, document, plain, spend};
use recap_core::model::{Prices, Provenance, RECORDED, Report};

/// The section.
#[derive(Template)]
#[template(path = "settings/settings.html")]
pub(super) struct Settings {
    settings: Vec<(&'static str, String)>,
    sessions: Vec<(String, String)>,
    strategies: Vec<(String, String)>,
    /// Headings of the tables of every measure.
    tables: Vec<String>,
    /// Those tables, for the script.
    measures: String,
    /// What the calls of models took; empty without any.
    calls: String,
}

/// The section of a report.
pub(super) fn settings(report: &Report, blocks: &[block::Block<'_>]) -> Settings {
    Settings {
        settings: all(report),
        sessions: provenance(&report.manifest.sessions),
        strategies: provenance(&report.manifest.strategies),
        tables: blocks.iter().map(|block| super::heading(report, block)).collect(),
        measures: measures::data(blocks),
        calls: document::html(&spend::parts(&report.calls)),
    }
}

/// Every setting by its name.
fn all(report: &Report) -> Vec<(&'static str, String)> {
    let manifest = &report.manifest;
    let windows: Vec<String> = manifest.windows.iter().map(|w| block::window(w)).collect();
    let embedder = manifest.embedder.iter().map(|name| ("embedder", plain::line(name)));
    let mut all = vec![
        ("recap", plain::line(&manifest.version)),
        ("instrument", manifest.instrument.to_string()),
        ("tokens", plain::line(&manifest.tokens)),
        ("windows", windows.join(", ")),
        ("thresholds scale with the window", if manifest.scaled { "yes" } else { "no" }.to_owned()),
        ("replicates", manifest.replicates.to_string()),
        ("seed", manifest.seed.to_string()),
        ("compactor", plain::line(&manifest.compactor)),
        ("answerer", plain::line(&manifest.answerer)),
        ("judge", plain::line(&manifest.judge)),
    ];
    all.extend(embedder);
    all.push(("billed as", agent_models(&manifest.agent_models)));
    all.push(("prices", price_list(&manifest.prices)));
    all
}

fn agent_models(asked: &[String]) -> String {
    let name = |model: &String| match model.as_str() {
        RECORDED => "the model that each recording names".to_owned(),
        model => plain::line(model),
    };
    asked.iter().map(name).collect::<Vec<String>>().join(", ")
}

fn price_list(prices: &Prices) -> String {
    let date =
        prices.date.as_ref().map_or(String::new(), |date| format!(", {}", plain::line(date)));
    format!("{}{date}", plain::line(&prices.name))
}

/// Names and hashes.
fn provenance(all: &[Provenance]) -> Vec<(String, String)> {
    let listed = all.iter().take(LISTED);
    let listed = listed.map(|p| (plain::line(&p.name), plain::line(&p.hash)));
    let more = all.len().saturating_sub(LISTED);
    let rest = (more > 0).then(|| (format!("and {more} more"), "manifest.json".to_owned()));
    listed.chain(rest).collect()
}

/// Names that the page lists of each kind.
const LISTED: usize = 200;
