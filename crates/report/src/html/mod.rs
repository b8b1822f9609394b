//! `report.html`: the comparison for people, in one file that needs no network.
//! Everything but single sessions, which a script draws, is read without a script.
//!
//! The page is the answer and sections in order. A section is a document, made by the file of its
//! subject, as the terminal and `report.md` have it; drawings and their templates stand here.
//!
//! Everything that comes from recordings or strategies reaches the page through the
//! templates' escaping, or packed (`embedded.rs`) and as text through the script;
//! only finished sections and drawings are marked safe.

use std::io::{self, Write};

use askama::Template;

use super::document::{Part, html, listed};
use super::gate::{self, GateVerdict};
use super::{
    RenderInput, block, certainty, comparison, cuts, plain, questions, receipt, savers, sessions,
    settings, sizes, table, tuned,
};
use recap_core::model::{Comparison, Primary, Report, Setting, Severity, SizeCurve};

mod curve;
mod embedded;
mod frontier;
mod scatter;
mod session;
mod session_shape;

/// Problems that stand with the answer, and characters of each.
const PROBLEMS: usize = 3;
const PROBLEM: usize = 150;

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    title: String,
    policy: String,
    styles: &'static [&'static str],
    scripts: &'static [&'static str],
    answer: Answer,
    sections: Vec<Section>,
}

/// What stands above all sections.
#[derive(Default)]
struct Answer {
    /// What was read.
    run: Vec<String>,
    sentence: String,
    /// The sentences after the first one.
    lead: String,
    gate: Option<GateVerdict>,
    apply: Option<Setting>,
    /// Figures, each with what it is.
    figures: Vec<[String; 2]>,
    /// Markup of the curve, or of what is kept against what it costs, and of what stands below it.
    details: String,
    problems: Vec<String>,
}

struct Section {
    id: &'static str,
    /// In the list at the head of the page.
    name: &'static str,
    title: String,
    /// Whether a reader opens it.
    folded: bool,
    /// Its markup.
    body: String,
}

impl Section {
    fn of(id: &'static str, name: &'static str, title: &str, parts: &[Part]) -> Self {
        Self { id, name, title: plain::line(title), folded: false, body: html(parts) }
    }

    fn folded(self, folded: bool) -> Self {
        Self { folded, ..self }
    }
}

/// `report.html`.
pub(super) fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> io::Result<()> {
    let report = source.report;
    let blocks = block::blocks(report);
    let open = opened(report, &blocks);
    let page = Page {
        title: plain::line(&report.title),
        policy: embedded::policy(embedded::SCRIPTS),
        styles: embedded::STYLES,
        scripts: embedded::SCRIPTS,
        answer: answer(report, &blocks, open),
        sections: sections(source, &blocks, open),
    };
    out.write_all(page.render().expect("writing to memory cannot fail").as_bytes())
}

/// Renders a comparison of two runs as a page without scripts.
pub fn comparison_html(comparison: &Comparison) -> String {
    let headline = comparison::headline(comparison);
    let parts = comparison::parts(comparison);
    let page = Page {
        title: format!("compare · {headline}"),
        policy: embedded::policy(&[]),
        styles: embedded::STYLES,
        scripts: &[],
        answer: Answer {
            run: vec![headline],
            sentence: "What changed between two runs".to_owned(),
            ..Answer::default()
        },
        sections: vec![Section::of("changes", "Changes", "The largest differences first", &parts)],
    };
    page.render().expect("writing to memory cannot fail")
}

fn sized(report: &Report) -> Option<&SizeCurve> {
    report.curve.as_ref()?.as_ref().ok()
}

/// The table that the answer speaks of: its window, over all data sets.
fn opened<'a, 'b>(report: &Report, blocks: &'b [block::Block<'a>]) -> Option<&'b block::Block<'a>> {
    let chosen = report.recommendation.as_ref().and_then(|of| of.row.as_ref());
    let several = blocks.iter().any(|block| block.dataset == block::ALL);
    let whole = || blocks.iter().filter(|block| !several || block.dataset == block::ALL);
    let named = whole().find(|block| chosen.is_some_and(|place| place.window == block.window));
    named.or_else(|| whole().next())
}

fn answer(report: &Report, blocks: &[block::Block<'_>], open: Option<&block::Block<'_>>) -> Answer {
    let answer = report.recommendation.as_ref();
    let sentence = match (&report.tuned, answer) {
        (Some(tuned), _) => tuned::sentence(tuned),
        (None, Some(answer)) => plain::short_ids(report, &answer.answer),
        (None, None) => "Nothing was measured: see the tables.".to_owned(),
    };
    let sentence = plain::line(&sentence);
    let (sentence, lead) = match sentence.split_once(". ") {
        Some((first, rest)) => (format!("{first}."), rest.to_owned()),
        None => (sentence, String::new()),
    };
    let harness =
        answer.and_then(|answer| answer.harness.as_ref()).filter(|_| sized(report).is_none());
    let harness = harness.map(|text| format!("For a harness of your own: {}", plain::line(text)));
    let lead = [Some(lead), harness].into_iter().flatten().filter(|text| !text.is_empty());
    let chosen = report.recommendation.as_ref().and_then(|of| of.row.as_ref());
    let drawing = match (&report.tuned, sized(report)) {
        (Some(tuned), _) => frontier::svg(tuned),
        (None, Some(curve)) => Some(curve::drawn(curve)),
        // What is kept and the bill come from the same replay.
        (None, None) if report.primary == Primary::Continuity => open.and_then(|block| {
            scatter::strategies(&block.rows, chosen.map(|place| place.strategy.as_str()))
        }),
        (None, None) => None,
    };
    let below = report.tuned.iter().flat_map(|tuned| tuned::below(report, tuned));
    let details: Vec<Part> = drawing.map(Part::Drawn).into_iter().chain(below).collect();
    let size = sized(report).and_then(|curve| Some((curve, sizes::shown(curve)?)));
    let problems = problems(report).into_iter().take(PROBLEMS);
    Answer {
        run: headlines(report, blocks),
        sentence,
        lead: lead.collect::<Vec<String>>().join(" "),
        gate: report.gate.as_ref().map(gate::verdict),
        apply: sized(report).and_then(|curve| curve.apply.clone()),
        figures: size.map(|(curve, row)| sizes::figures_of(curve, row)).unwrap_or_default(),
        details: html(&details),
        problems: problems
            .map(|text| plain::short_ids(report, &text))
            .map(|text| plain::shortened(&plain::line(&text), PROBLEM))
            .collect(),
    }
}

/// A line about each data set.
fn headlines(report: &Report, blocks: &[block::Block<'_>]) -> Vec<String> {
    let mut datasets: Vec<&str> = blocks.iter().map(|block| block.dataset).collect();
    datasets.dedup();
    let headline = |dataset: &&str| {
        let own = blocks.iter().filter(|block| block.dataset == *dataset);
        let mut windows: Vec<&str> = own.map(|block| block.window).collect();
        // A window has a block for each agent model.
        windows.dedup();
        block::headline(report, dataset, &windows)
    };
    datasets.iter().map(headline).collect()
}

/// The sections that have something to say.
fn sections(
    source: &RenderInput<'_>,
    blocks: &[block::Block<'_>],
    open: Option<&block::Block<'_>>,
) -> Vec<Section> {
    let report = source.report;
    let curve = sized(report);
    let costs = curve.map(sizes::costs).unwrap_or_default();
    let all_sizes = curve.map(sizes::with_settings).unwrap_or_default();
    // Sections have headings of their own.
    let savers = savers::parts(report);
    let sessions = sessions::parts(report);
    let (strategies, name) = match curve {
        Some(_) => ("Strategies at the limit, for a harness of your own", "Strategies"),
        None => ("Every strategy", "Strategies"),
    };
    let cuts = open.map(|block| cuts::parts(source, block)).unwrap_or_default();
    let asked = open.map(|block| questions::parts(source, block)).unwrap_or_default();
    let settings = settings::parts(report);
    let session: Vec<Part> = session::drawn(source).map(Part::Drawn).into_iter().collect();
    let mut sections = vec![
        Section::of("cost", "What it costs", "What a compaction costs", &costs),
        Section::of("savers", "Savers", "What token savers save", without_heading(&savers)),
        Section::of("cuts", "What it keeps", "What one compaction keeps", &cuts),
        Section::of("receipt", "Today", "What the sessions cost today", &today(report)),
        Section::of("sessions", "Sessions", heading(&sessions), without_heading(&sessions)),
        Section::of("questions", "Questions", "What can still be answered", &asked),
        Section::of("comparison", name, strategies, &compared(report, blocks, open))
            .folded(curve.is_some()),
        Section::of("trust", "How sure", "How sure this is", &trust(report)),
        Section::of("sizes", "Sizes", "All sizes, with the setting of each", &all_sizes)
            .folded(true),
        Section::of("session", "Requests", "One session, request by request", &session)
            .folded(curve.is_some()),
        Section::of("settings", "Settings", "Settings", &settings).folded(true),
    ];
    sections.retain(|section| !section.body.is_empty());
    sections
}

fn heading(parts: &[Part]) -> &str {
    match parts.first() {
        Some(Part::Heading(text)) => text,
        _ => "",
    }
}

fn without_heading(parts: &[Part]) -> &[Part] {
    parts.get(1..).unwrap_or_default()
}

/// What the sessions cost as recorded, with the tables folded away; nothing where no session makes
/// a request.
fn today(report: &Report) -> Vec<Part> {
    let Some(sentence) = receipt::sentence(report) else { return Vec::new() };
    let rebuilt = receipt::rebuilt(&report.receipt).map(|text| Part::Text(format!("{text}.")));
    let summary = "By sender and kind of token, what is in no sum, rebuilt caches by cause, what \
                   fills the context, and what if";
    let tables = Part::Folded(summary.to_owned(), receipt::parts(report));
    [Part::Text(sentence)].into_iter().chain(rebuilt).chain([tables]).collect()
}

/// Every table. Only the one of the answer stands open.
fn compared(
    report: &Report,
    blocks: &[block::Block<'_>],
    open: Option<&block::Block<'_>>,
) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    if sized(report).is_some()
        && let Some(answer) = &report.recommendation
    {
        parts.extend(answer.harness.iter().chain(&answer.also).cloned().map(Part::Text));
    }
    let observed = block::findings(report, Severity::Observation);
    parts.extend((!observed.is_empty()).then_some(Part::List(observed)));
    for block in blocks {
        let mut inside = table::compared(report, block);
        inside.push(table::meanings(&table::all_columns(report.primary, &block.rows)));
        let heading = table::heading(report, block);
        if open.is_some_and(|open| std::ptr::eq(open, block)) {
            parts.push(Part::Heading(heading));
            parts.extend(inside);
        } else {
            parts.push(Part::Folded(heading, inside));
        }
    }
    parts
}

/// What may mislead a reader of this run: what failed in each cell, and its problems.
fn problems(report: &Report) -> Vec<String> {
    let failed = report.rows.iter().filter(|row| row.dataset != block::ALL).flat_map(|row| {
        let window = block::place(&row.window);
        row.failed.iter().map(move |error| format!("failed: {} at {window}: {error}", row.strategy))
    });
    failed.chain(block::findings(report, Severity::Problem)).collect()
}

/// What the answer rests on, problems and limits, the gate, and the bill against the recorded one.
fn trust(report: &Report) -> Vec<Part> {
    let answer = report.recommendation.as_ref();
    let sure = match (sized(report), answer) {
        (Some(curve), answer) => sizes::sure(curve, answer),
        (None, None) => Vec::new(),
        (None, Some(answer)) => {
            let next = answer.next.as_ref().map(|next| format!("To learn more: {next}."));
            let all = [&answer.how_sure].into_iter().chain(&answer.doubt);
            all.chain(&answer.also).cloned().chain(next).collect()
        }
    };
    let mut parts: Vec<Part> = (!sure.is_empty()).then_some(Part::List(sure)).into_iter().collect();
    parts.extend(listed("Problems of this run", problems(report)));
    if let Some(gate) = &report.gate {
        let verdict = gate::verdict(gate);
        parts.push(Part::heading("Gate"));
        parts.push(Part::Labelled(verdict.words, verdict.because));
        parts.extend(gate::parts(gate));
    }
    let limits = block::findings(report, Severity::Limit);
    parts.extend(listed("Limits of every figure here", limits));
    parts.extend(report.panel.iter().map(|panel| Part::Text(certainty::panel_sentence(panel))));
    parts.extend(certainty::bill_errors(report));
    if let Some(family) = &report.family {
        let tests = certainty::parts(family);
        parts.push(Part::Folded(heading(&tests).to_owned(), without_heading(&tests).to_vec()));
    }
    parts
}

#[cfg(test)]
mod asked_tests;
#[cfg(test)]
pub(super) mod tests;
