//! `report.html`: the comparison for people, in one file that needs no network
//! and no script. With a script tables can be sorted and questions listed.
//!
//! Everything that comes from recordings or presets reaches the page through the
//! template's escaping, or through plotters' own inside drawings; only finished
//! drawings are marked safe.

use askama::Template;

use super::{Format, Source, block, plain, spend};
use crate::model::{PresetRow, Prices, RECORDED, Report, Value};
use crate::pricing::PriceList;

mod answers;
mod bills;
mod cells;
mod checks;
mod comparison;
mod context_chart;
mod cost_chart;
mod details;
mod forgetting;
mod forgetting_chart;
mod highlight;
mod labels;
mod loss_map;
mod placements;
mod probes;
mod series;
mod session_bills;
mod sessions;
mod shape;
mod tradeoff_chart;
mod validation;

pub(super) const FORMAT: Format = Format {
    name: "html",
    file: "report.html",
    about: "the comparison for people: one page, no network, no script needed",
    render,
};

/// Limits that stand open at the top; the others are folded away below them.
const LIMITS: usize = 4;

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    title: String,
    headlines: Vec<String>,
    sentences: Vec<String>,
    limits: Vec<String>,
    more_limits: Vec<String>,
    failures: Vec<String>,
    lead: &'static comparison::Lead,
    heads: Vec<comparison::Head>,
    answer_heads: &'static [answers::Head],
    probed: bool,
    tables: Vec<Table>,
    charts: Vec<Chart>,
    forgetting: Vec<forgetting::Window>,
    probes: Option<probes::Probes>,
    bills: Option<session_bills::Bills>,
    placements: Vec<placements::Placements>,
    validation: Option<validation::Table>,
    spend: Vec<spend::Spent>,
    spend_heads: [&'static str; 9],
    contexts: Option<sessions::Session>,
    loss: Option<sessions::Session>,
    compactions: Option<sessions::Compactions>,
    details: Option<details::Details>,
    session: String,
    agent_models: usize,
    replicates: u32,
    with_texts: bool,
    checks: Vec<checks::Check>,
    check_summary: String,
    settings: Vec<(&'static str, String)>,
    transcripts: Vec<(String, String)>,
    presets: Vec<(String, String)>,
    style: &'static str,
    details_style: &'static str,
    scripts: [&'static str; 5],
}

struct Table {
    id: String,
    dataset: String,
    window: String,
    payer: Option<String>,
    rows: Vec<comparison::Row>,
    answers: Option<answers::Answers>,
    notes: Vec<String>,
    measures: Vec<comparison::Measure>,
    reasons: Vec<(String, String)>,
}

struct Chart {
    id: String,
    name: String,
    /// Against dollars, or why there are none.
    dollars: Result<String, String>,
    tokens: String,
    /// Whether any ranked row may be on the frontier.
    frontier: bool,
}

fn render(source: &Source<'_>) -> Vec<u8> {
    let report = source.report;
    let blocks = block::blocks(report);
    let lead = comparison::lead(&report.primary);
    let colors = series::Colors::new(report);
    let checks = checks::checks(report);
    let prices = PriceList::from(&report.manifest.prices);
    let longest = sessions::longest(report);
    let cells = cells::Cells::new(report);
    let warnings = report.warnings.iter().map(|w| plain::line(w));
    let page = Page {
        title: plain::line(&report.title),
        headlines: headlines(report, &blocks),
        sentences: report.sentences.iter().map(|s| plain::line(&s.0)).collect(),
        limits: warnings.clone().take(LIMITS).collect(),
        more_limits: warnings.skip(LIMITS).collect(),
        failures: failures(report),
        lead,
        heads: lead.heads(),
        answer_heads: &answers::HEADS,
        probed: report.transcripts.iter().any(|t| !t.probes.is_empty()),
        tables: (0..blocks.len()).map(|at| table(report, lead, &blocks, at)).collect(),
        charts: charts(report, &blocks, &colors),
        forgetting: forgetting::windows(report, &colors),
        probes: probes::probes(source, &cells),
        bills: longest.and_then(|t| session_bills::bills(report, t, &prices, &colors, &cells)),
        placements: placements::placements(report, &prices),
        validation: validation::table(report),
        spend: spend::spent(&report.calls),
        spend_heads: spend::HEADS,
        contexts: longest.and_then(|t| sessions::contexts(report, t)),
        loss: longest.and_then(|t| sessions::loss(source, t)),
        compactions: longest.and_then(|t| sessions::compactions(source, t)),
        details: details::details(source, &cells),
        session: longest.map_or_else(String::new, |t| plain::line(&t.transcript)),
        agent_models: report.manifest.agent_models.len(),
        replicates: report.manifest.replicates,
        with_texts: source.texts.is_some(),
        check_summary: checks::summary(&checks),
        checks,
        settings: settings(report),
        transcripts: provenance(&report.manifest.transcripts),
        presets: provenance(&report.manifest.presets),
        style: include_str!("../templates/style.css"),
        details_style: include_str!("../templates/details.css"),
        scripts: [
            include_str!("../templates/script.js"),
            include_str!("../templates/packed.js"),
            include_str!("../templates/sessions.js"),
            include_str!("../templates/figures.js"),
            include_str!("../templates/probes.js"),
        ],
    };
    page.render().expect("writing to memory cannot fail").into_bytes()
}

fn table(
    report: &Report,
    lead: &comparison::Lead,
    blocks: &[block::Block<'_>],
    at: usize,
) -> Table {
    let block = &blocks[at];
    // What was answered is the same whoever pays.
    let same = |b: &block::Block<'_>| (b.dataset, b.window) == (block.dataset, block.window);
    let said = blocks[..at].iter().any(same);
    Table {
        id: format!("table-{at}"),
        dataset: plain::line(block.dataset),
        window: block::window(block.window),
        payer: block::payer(report, block),
        rows: lead.rows(&block.rows),
        answers: if said { None } else { answers::answers(report, block) },
        notes: (block::starred(&block.rows).into_iter())
            .chain(block::recovered(&block.rows, &report.manifest))
            .chain(block::gaps(&block.rows))
            .collect(),
        measures: comparison::measures(&block.rows),
        reasons: comparison::reasons(&block.rows),
    }
}

/// Data sets in the order of their tables.
fn datasets<'a>(blocks: &[block::Block<'a>]) -> Vec<&'a str> {
    let mut datasets: Vec<&str> = Vec::new();
    for block in blocks {
        if !datasets.contains(&block.dataset) {
            datasets.push(block.dataset);
        }
    }
    datasets
}

fn headlines(report: &Report, blocks: &[block::Block<'_>]) -> Vec<String> {
    datasets(blocks)
        .into_iter()
        .map(|dataset| {
            let mine = blocks.iter().filter(|b| b.dataset == dataset);
            let mut windows: Vec<&str> = mine.map(|b| b.window).collect();
            // A window has a block for each agent model.
            windows.dedup();
            block::headline(report, dataset, &windows)
        })
        .collect()
}

/// One chart per data set and payer, over all windows.
fn charts(report: &Report, blocks: &[block::Block<'_>], colors: &series::Colors) -> Vec<Chart> {
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for block in blocks {
        if !keys.contains(&(block.dataset, block.agent_model)) {
            keys.push((block.dataset, block.agent_model));
        }
    }
    let each = keys.into_iter().enumerate().filter_map(|(at, key)| {
        let mine: Vec<_> = blocks.iter().filter(|b| (b.dataset, b.agent_model) == key).collect();
        let rows: Vec<&PresetRow> = mine.iter().flat_map(|b| b.rows.iter().copied()).collect();
        let chart = |against| tradeoff_chart::chart(&rows, &report.primary, against, colors);
        let tokens = chart(&tradeoff_chart::TOKENS)?;
        let payer = mine.first().and_then(|block| block::payer(report, block));
        let payer = payer.map_or(String::new(), |payer| format!(", {payer}"));
        Some(Chart {
            id: format!("tradeoff-{at}"),
            name: format!("{}{payer}", plain::line(key.0)),
            dollars: chart(&tradeoff_chart::DOLLARS).ok_or_else(|| no_dollars(&rows)),
            tokens,
            frontier: tradeoff_chart::has_frontier(&rows, &report.primary),
        })
    });
    each.collect()
}

/// Why sessions have no cost.
fn no_dollars(rows: &[&PresetRow]) -> String {
    let reason = rows.iter().find_map(|row| match row.values.get("cost_usd") {
        Some(Value::Absent(reason)) => Some(plain::line(reason)),
        _ => None,
    });
    reason.unwrap_or_else(|| "the run has no bill".to_owned())
}

fn failures(report: &Report) -> Vec<String> {
    let failed = report.rows.iter().filter(|row| row.dataset != block::ALL);
    failed
        .flat_map(|row| {
            row.failed.iter().map(|error| {
                let window = block::window(&row.window);
                format!("{} at window {window}: {}", plain::line(&row.strategy), plain::line(error))
            })
        })
        .collect()
}

fn settings(report: &Report) -> Vec<(&'static str, String)> {
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

fn provenance(all: &[crate::model::Provenance]) -> Vec<(String, String)> {
    all.iter().map(|p| (plain::line(&p.name), plain::line(&p.hash))).collect()
}

#[cfg(test)]
mod probed_tests;
#[cfg(test)]
mod tests;
