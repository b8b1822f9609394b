//! `report.html`: the comparison for people, in one file that needs no network
//! and no script. With a script tables can be sorted and filtered, and questions
//! listed.
//!
//! Everything that comes from recordings or presets reaches the page through the
//! template's escaping, or through plotters' own inside drawings; only finished
//! drawings are marked safe.

use askama::Template;

use super::{Format, Source, block, number, plain, spend};
use crate::model::{ProbeKind, Report};
use crate::pricing::PriceList;

mod answer;
mod cells;
mod cuts;
mod highlight;
mod money;
mod policy;
mod questions;
mod series;
mod session;
mod settings;
mod table;
mod trust;

pub(super) const FORMAT: Format = Format {
    name: "html",
    file: "report.html",
    about: "the comparison for people: one page, no network, no script needed",
    render: |source, out| out.write_all(&render(source)),
};

pub(super) use trust::checks::{doubts, self_check};

/// Limits that stand open at the top; the others are folded away below them.
const LIMITS: usize = 3;
/// Characters of such a limit; the rest is folded away too.
const LIMIT: usize = 200;

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    title: String,
    policy: String,
    headlines: Vec<String>,
    verdict: Option<String>,
    sentences: Vec<String>,
    gate: Option<trust::gate::Shown>,
    limits: Vec<Limit>,
    more_limits_count: String,
    more_limits: Vec<String>,
    failures: Vec<String>,
    filters: Filters,
    spreads: table::Spreads,
    lead: &'static table::Lead,
    most: String,
    margin: String,
    heads: Vec<table::Head>,
    answer_heads: &'static [questions::answers::Head],
    probed: bool,
    tables: Vec<Table>,
    cuts: Option<cuts::Cuts>,
    /// Sessions that were cut nowhere, by reason.
    uncut: Vec<(String, Vec<String>)>,
    choices: Vec<Choices>,
    charts: Vec<answer::Chart>,
    forgetting: Vec<questions::forgetting::Window>,
    probes: Option<questions::Probes>,
    bills: Option<money::Bills>,
    validation: Option<trust::validation::Table>,
    spend: Vec<spend::Spent>,
    spend_heads: [&'static str; 9],
    contexts: Option<session::still::Session>,
    loss: Option<session::still::Session>,
    compactions: Option<session::still::Compactions>,
    details: Option<session::Details>,
    session: String,
    agent_models: usize,
    replicates: u32,
    with_texts: bool,
    certainty: Option<trust::certainty::Certainty>,
    checks: Vec<trust::checks::Check>,
    check_summary: String,
    blind: Vec<trust::blind::Line>,
    measures: String,
    settings: Vec<(&'static str, String)>,
    transcripts: Vec<(String, String)>,
    presets: Vec<(String, String)>,
    styles: &'static [&'static str],
    scripts: &'static [&'static str],
}

/// A limit of the run.
struct Limit {
    head: String,
    /// All of it, where the head is not.
    whole: Option<String>,
}

/// What the tables can be filtered by; each table names its own by number.
struct Filters {
    windows: Vec<String>,
    datasets: Vec<String>,
    payers: Vec<String>,
    kinds: Vec<&'static str>,
}

/// Window, data set and payer of a table, as numbers in [`Filters`].
type Keys = (usize, usize, usize);

struct Choices {
    id: String,
    keys: Keys,
    dataset: String,
    window: String,
    payer: Option<String>,
    found: table::pareto::Choices,
}

struct Table {
    id: String,
    keys: Keys,
    dataset: String,
    window: String,
    payer: Option<String>,
    heads: Vec<table::Head>,
    rows: Vec<table::Row>,
    basis: String,
    answers: Option<questions::answers::Answers>,
    notes: Vec<String>,
}

fn render(source: &Source<'_>) -> Vec<u8> {
    let report = source.report;
    let blocks = block::blocks(report);
    let lead = table::lead(report.primary);
    let colors = series::Colors::new(report);
    let checks = trust::checks::checks(report);
    let prices = PriceList::from(&report.manifest.prices);
    let longest = session::still::longest(report);
    let warnings = || report.warnings.iter().map(|w| plain::line(w));
    let kinds = questions::answers::kinds(report, block::ALL);
    let kinds: Vec<ProbeKind> = kinds.into_iter().map(|(kind, _)| kind).collect();
    let names = Names::new(&blocks);
    let cells = cells::Cells::new(report);
    let page = Page {
        title: plain::line(&report.title),
        policy: policy::policy(),
        headlines: headlines(report, &blocks),
        verdict: report.verdict.as_ref().map(|verdict| plain::line(&verdict.0)),
        sentences: report.sentences.iter().map(|s| plain::line(&s.0)).collect(),
        gate: trust::gate::gate(report),
        limits: warnings().take(LIMITS).map(limit).collect(),
        more_limits_count: block::counted(warnings().skip(LIMITS).count(), "more limit"),
        more_limits: warnings().skip(LIMITS).collect(),
        failures: failures(report),
        filters: names.filters(report, &blocks, &kinds),
        spreads: table::spreads(report),
        most: number::any(lead.primary.most()),
        margin: (lead.show)(report.manifest.margin * lead.primary.most()),
        lead,
        heads: lead.heads(),
        answer_heads: &questions::answers::HEADS,
        probed: report.transcripts.iter().any(|t| !t.probes.is_empty()),
        tables: (0..blocks.len()).map(|at| table(report, lead, &blocks, at, &kinds)).collect(),
        cuts: cuts::cuts(source),
        uncut: cuts::uncut(report),
        choices: choices(report, lead, &blocks),
        charts: answer::charts(report, &blocks, &colors),
        forgetting: questions::forgetting::windows(report, &colors),
        probes: questions::probes(source, &cells),
        bills: longest.and_then(|t| money::bills(report, t, &prices, &colors, &cells)),
        validation: trust::validation::table(report),
        spend: spend::spent(&report.calls),
        spend_heads: spend::HEADS,
        contexts: longest.and_then(|t| session::still::contexts(report, t)),
        loss: longest.and_then(|t| session::still::loss(source, t)),
        compactions: longest.and_then(|t| session::still::compactions(source, t)),
        details: session::details(source, &cells),
        session: longest.map_or_else(String::new, |t| plain::line(&t.transcript)),
        agent_models: report.manifest.agent_models.len(),
        replicates: report.manifest.replicates,
        with_texts: source.texts.is_some(),
        certainty: trust::certainty::certainty(report),
        check_summary: trust::checks::summary(&checks),
        checks,
        blind: trust::blind::lines(report),
        measures: settings::measures::data(&blocks),
        settings: settings::settings(report),
        transcripts: settings::provenance(&report.manifest.transcripts),
        presets: settings::provenance(&report.manifest.presets),
        styles: policy::STYLES,
        scripts: policy::SCRIPTS,
    };
    page.render().expect("writing to memory cannot fail").into_bytes()
}

/// What stands open of a limit, and all of it where that is more.
fn limit(text: String) -> Limit {
    let head = plain::shortened(&text, LIMIT);
    Limit { whole: (head != text).then_some(text), head }
}

/// Windows, data sets and payers of the tables, in order.
struct Names<'a> {
    windows: Vec<&'a str>,
    datasets: Vec<&'a str>,
    payers: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn new(blocks: &[block::Block<'a>]) -> Names<'a> {
        let each = |read: fn(&block::Block<'a>) -> &'a str| {
            let mut names: Vec<&str> = Vec::new();
            for name in blocks.iter().map(read) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
            names
        };
        Names {
            windows: each(|b| b.window),
            datasets: each(|b| b.dataset),
            payers: each(|b| b.agent_model),
        }
    }

    fn keys(&self, block: &block::Block<'_>) -> Keys {
        let at = |names: &[&str], name| names.iter().position(|n| *n == name).unwrap_or(0);
        (
            at(&self.windows, block.window),
            at(&self.datasets, block.dataset),
            at(&self.payers, block.agent_model),
        )
    }

    fn filters(
        &self,
        report: &Report,
        blocks: &[block::Block<'_>],
        kinds: &[ProbeKind],
    ) -> Filters {
        let payer = |name: &&str| {
            let block = blocks.iter().find(|b| b.agent_model == *name)?;
            block::payer(report, block)
        };
        Filters {
            windows: self.windows.iter().map(|w| block::window(w)).collect(),
            datasets: self.datasets.iter().map(|d| plain::line(d)).collect(),
            payers: self.payers.iter().filter_map(payer).collect(),
            kinds: kinds.iter().map(|kind| kind.as_str()).collect(),
        }
    }
}

fn choices(
    report: &Report,
    lead: &'static table::Lead,
    blocks: &[block::Block<'_>],
) -> Vec<Choices> {
    let names = Names::new(blocks);
    let each = blocks.iter().enumerate().filter_map(|(at, block)| {
        Some(Choices {
            id: at.to_string(),
            keys: names.keys(block),
            dataset: plain::line(block.dataset),
            window: block::window(block.window),
            payer: block::payer(report, block),
            found: table::pareto::choices(&block.rows, lead)?,
        })
    });
    each.collect()
}

fn table(
    report: &Report,
    lead: &table::Lead,
    blocks: &[block::Block<'_>],
    at: usize,
    kinds: &[ProbeKind],
) -> Table {
    let block = &blocks[at];
    // What was answered is the same whoever pays.
    let same = |b: &block::Block<'_>| (b.dataset, b.window) == (block.dataset, block.window);
    let said = blocks[..at].iter().any(same);
    let table::Rows { heads, rows, basis } = lead.rows(&block.rows, kinds);
    Table {
        id: format!("table-{at}"),
        keys: Names::new(blocks).keys(block),
        dataset: plain::line(block.dataset),
        window: block::window(block.window),
        payer: block::payer(report, block),
        heads,
        rows,
        basis,
        answers: if said { None } else { questions::answers::answers(report, block) },
        notes: (block::at_cuts(&block.rows, report).into_iter())
            .chain(block::starred(&block.rows))
            .chain(block::recovered(&block.rows, &report.manifest))
            .chain(block::gaps(&block.rows))
            .collect(),
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

fn failures(report: &Report) -> Vec<String> {
    let failed = report.rows.iter().filter(|row| row.dataset != block::ALL);
    failed
        .flat_map(|row| {
            row.failed.iter().map(|error| {
                let window = block::place(&row.window);
                format!("{} at {window}: {}", plain::line(&row.strategy), plain::line(error))
            })
        })
        .collect()
}

#[cfg(test)]
mod probed_tests;
#[cfg(test)]
mod tests;
