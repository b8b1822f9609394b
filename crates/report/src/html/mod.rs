//! `report.html`: the comparison for people, in one file that needs no network.
//! The answer, the receipt and every table need no script either; single
//! sessions, facts and questions are drawn and listed by scripts.
//!
//! Each section has a folder, in which stands what it takes from the report, its
//! template and its script, under one name. The page is the sections in order.
//!
//! Everything that comes from recordings or strategies reaches the page through the
//! templates' escaping, or packed (`packed.rs`) and as text through the scripts;
//! only finished sections and drawings are marked safe.

use askama::Template;

use super::document::{self, Part};
use super::{Format, RenderInput, block, plain, receipt, savers, sessions};
use recap_core::model::Report;

mod answer;
mod cells;
mod compare;
mod cuts;
pub(crate) mod money;
mod policy;
mod questions;
mod session;
mod settings;
mod size;
mod table;
mod trust;

pub use compare::comparison_html;

pub(super) const FORMAT: Format = Format {
    name: "html",
    file: "report.html",
    about: "the comparison for people: one page, no network, no script needed for the answer",
    render: |source, out| out.write_all(&render(source)),
};

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    title: String,
    policy: String,
    styles: &'static [&'static str],
    scripts: &'static [&'static str],
    filters: Filters,
    /// Sections that the head of the page leads to: where, and the words.
    toc: Vec<(&'static str, &'static str)>,
    /// The answer.
    answer: String,
    /// Where the answer is the size at which the agent compacts.
    size: Option<size::Sections>,
    /// The receipt.
    today: Option<String>,
    /// What token savers come to; empty in a run without one.
    savers: String,
    /// The bill and what is kept, session by session; empty for a single one.
    each: String,
    money: Option<money::Money>,
    sessions: Option<session::Sessions>,
    cuts: Option<cuts::Cuts>,
    questions: Option<questions::Questions>,
    table: table::FullTable,
    trust: trust::Trust,
    settings: settings::Settings,
}

/// What the page can be filtered by; each table names its own by number.
struct Filters {
    windows: Vec<String>,
    datasets: Vec<String>,
    billing_models: Vec<String>,
    /// The table that the page opens with.
    open: Keys,
}

/// Window, data set and billing model of a table, as numbers in [`Filters`].
type Keys = (usize, usize, usize);

fn render(source: &RenderInput<'_>) -> Vec<u8> {
    let report = source.report;
    let blocks = block::blocks(report);
    let names = Names::new(&blocks);
    let cells = cells::Cells::new(report);
    let open = answer::opened(report, &blocks);
    let curve = report.curve.as_ref().and_then(|curve| curve.as_ref().ok());
    let cuts = cuts::cuts(source, &cells);
    let mut page = Page {
        title: plain::line(&report.title),
        policy: policy::policy(),
        styles: policy::STYLES,
        scripts: policy::SCRIPTS,
        filters: names.filters(report, &blocks, open),
        toc: Vec::new(),
        answer: match curve {
            Some(curve) => rendered(&size::answer(report, curve)),
            None => rendered(&answer::answer(report, &blocks, &names, open)),
        },
        size: curve.map(|curve| size::sections(report, curve)),
        today: today(report),
        // The section has a heading of its own.
        savers: document::html(savers::parts(report).get(1..).unwrap_or_default()),
        each: document::html(&sessions::parts(report)),
        money: money::money(report, &blocks, &names, open),
        sessions: session::sessions(source, &cells),
        cuts,
        questions: questions::questions(source, &cells, &blocks, open),
        table: table::full_table(report, &blocks, &names),
        trust: trust::trust(report),
        settings: settings::settings(report, &blocks),
    };
    page.toc = page.toc();
    rendered(&page).into_bytes()
}

fn rendered(part: &impl Template) -> String {
    part.render().expect("writing to memory cannot fail")
}

impl Page {
    /// The sections that are there.
    fn toc(&self) -> Vec<(&'static str, &'static str)> {
        let sized = self.size.is_some();
        let is = |there: bool, id, name| there.then_some((id, name));
        let all = [
            is(true, "answer", "Answer"),
            is(sized, "cost", "What it costs"),
            is(!self.savers.is_empty(), "savers", "Savers"),
            is(sized && self.cuts.is_some(), "cuts", "What it keeps"),
            is(self.today.is_some(), "receipt", "Today"),
            is(!sized && self.money.is_some(), "bill", "Cost"),
            is(sized, "sessions", "Sessions"),
            is(!sized && self.sessions.is_some(), "session", "Session"),
            is(!sized && self.cuts.is_some(), "cuts", "Losses"),
            is(sized, "sure", "How sure"),
            is(self.questions.is_some(), "questions", "Questions"),
            is(sized, "more", "Tables and files"),
            is(!sized, "comparison", "Full table"),
            is(!sized, "trust", "Trust"),
            is(!sized, "settings", "Settings"),
        ];
        all.into_iter().flatten().collect()
    }
}

/// What the sessions cost as recorded, with the tables folded away; nothing where no session makes
/// a request.
fn today(report: &Report) -> Option<String> {
    let rebuilt = receipt::rebuilt(&report.receipt).map(|said| format!("{said}."));
    let sentences = [Some(receipt::sentence(report)?), rebuilt].into_iter().flatten();
    let summary = "By sender and kind of token, what is in no sum, rebuilt caches by cause, what \
                   fills the context, and what if";
    let tables = Part::Folded(summary.to_owned(), receipt::parts(report));
    let parts: Vec<Part> = sentences.map(Part::Text).chain([tables]).collect();
    Some(document::html(&parts))
}

/// Windows, data sets and billing models of the tables, in order.
struct Names<'a> {
    windows: Vec<&'a str>,
    datasets: Vec<&'a str>,
    billing_models: Vec<&'a str>,
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
            billing_models: each(|b| b.agent_model),
        }
    }

    fn keys(&self, block: &block::Block<'_>) -> Keys {
        let at = |names: &[&str], name| names.iter().position(|n| *n == name).unwrap_or(0);
        (
            at(&self.windows, block.window),
            at(&self.datasets, block.dataset),
            at(&self.billing_models, block.agent_model),
        )
    }

    fn filters(&self, report: &Report, blocks: &[block::Block<'_>], open: usize) -> Filters {
        let billing_model = |name: &&str| {
            let block = blocks.iter().find(|b| b.agent_model == *name)?;
            block::billing_model(report, block)
        };
        Filters {
            windows: self.windows.iter().map(|w| block::window(w)).collect(),
            datasets: self.datasets.iter().map(|d| plain::line(d)).collect(),
            billing_models: self.billing_models.iter().filter_map(billing_model).collect(),
            open: blocks.get(open).map_or((0, 0, 0), |block| self.keys(block)),
        }
    }
}

/// What a table is about: data set, window and billing model.
fn heading(report: &Report, block: &block::Block<'_>) -> String {
    let billing_model = block::billing_model(report, block)
        .map_or_else(String::new, |billing_model| format!(", {billing_model}"));
    format!("{}, {}{billing_model}", plain::line(block.dataset), block::titled(block.window))
}

/// A line about each data set.
fn headlines(report: &Report, blocks: &[block::Block<'_>]) -> Vec<String> {
    let headline = |dataset: &&str| {
        let mine = blocks.iter().filter(|b| b.dataset == *dataset);
        let mut windows: Vec<&str> = mine.map(|b| b.window).collect();
        // A window has a block for each agent model.
        windows.dedup();
        block::headline(report, dataset, &windows)
    };
    Names::new(blocks).datasets.iter().map(headline).collect()
}

#[cfg(test)]
mod asked_tests;
#[cfg(test)]
pub(super) mod tests;
