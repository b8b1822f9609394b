//! What a terminal shows by default: the answer, the table that it rests on, and
//! what to know and to do next, in at most 25 lines of 80 columns for one data set.

use super::columns::{brief_columns, of_cuts};
use super::{TODAY, arranged, ranked};
use crate::block::{self, Block, counted};
use crate::document::{Part, Screen, Table, shows_spread, terminal};
use crate::{certainty, number, plain, receipt, settings};
use recap_core::model::{
    Finding, Interval, Primary, RECORDED, Report, RowKind, StrategyRow, catalogue,
};
use recap_core::wording;

/// Rows with offline summaries, and where dollars stand with sizes of strategies.
const SUMMARIES: usize = 2;
const STRATEGIES: usize = 4;
/// Characters of a problem.
const LONGEST: usize = 200;

pub(super) fn table(report: &Report, screen: Screen) -> String {
    let blocks = block::blocks(report);
    let mut top = vec![Part::Title(read(report, &blocks))];
    if let Some(answer) = &report.recommendation {
        top.push(Part::Title(plain::short_ids(report, &answer.answer)));
        if let Some(Err(_)) = &report.curve
            && let Some(harness) = &answer.harness
        {
            top.push(Part::Text(format!("For a harness of your own: {harness}")));
        }
    }
    if let Some(Ok(curve)) = &report.curve {
        top.push(crate::sizes::table(curve));
    }
    let (tables, hidden): (Vec<Vec<Part>>, Vec<usize>) =
        blocks.iter().map(|block| ranking(report, block, screen)).unzip();
    let mut calls = settings::model_calls(&report.calls);
    calls.extend(report.panel.iter().map(|panel| Part::Text(certainty::panel_sentence(panel))));
    let groups = [top].into_iter().chain(tables).chain([calls]).filter(|parts| !parts.is_empty());
    let out: Vec<String> = groups.map(|parts| terminal(&parts, screen)).collect();
    let hidden = hidden.into_iter().max().unwrap_or(0);
    out.join("\n") + &terminal(&foot(report, hidden), screen)
}

/// What was read and what it costs today.
fn read(report: &Report, blocks: &[Block<'_>]) -> String {
    let dataset = match blocks {
        [first, rest @ ..] if rest.iter().all(|one| one.dataset == first.dataset) => first.dataset,
        _ => block::ALL,
    };
    let mut windows: Vec<&str> = blocks.iter().map(|block| block.window).collect();
    windows.dedup();
    let mut text = block::headline(report, dataset, &windows);
    if let [only] = blocks {
        text += &billed(report, only).map(|words| format!(" · {words}")).unwrap_or_default();
    }
    text
}

/// What the sessions cost today, or as which model they are billed.
fn billed(report: &Report, block: &Block<'_>) -> Option<String> {
    if let Some(Ok(curve)) = &report.curve {
        let usd = number::dollars(curve.today_usd);
        return Some(format!("{usd} today at list prices, not plans"));
    }
    let sent = report.receipt.today();
    let today =
        (sent.usd > 0.0).then(|| format!("{} today", receipt::known(&report.receipt, &sent)));
    today.or_else(|| block::billing_model(report, block))
}

/// The ranking of a block, and how many of its rows are left out: from the last one on.
fn ranking(report: &Report, block: &Block<'_>, screen: Screen) -> (Vec<Part>, usize) {
    let [mut strategies, mut summaries] = of_answer(report, block);
    // What keeps least goes where dollars stand elsewhere, and all that a model may change.
    if billed_by_size(report) {
        strategies.truncate(STRATEGIES);
        summaries.clear();
    }
    summaries.truncate(SUMMARIES);
    let all = block.rows.iter().filter(|row| row.row_kind != RowKind::Control);
    let all = all.count() + usize::from(block.rows.iter().any(|row| row.strategy == RECORDED));
    let shown: Vec<&StrategyRow> = strategies.iter().chain(&summaries).copied().collect();
    let left = shown.iter().filter(|row| row.strategy != TODAY[0]).count();
    let columns = brief_columns(report, &shown, screen);
    let mut table = ranked([strategies, summaries, Vec::new()], columns);
    if report.primary == Primary::FactsKept {
        name_recorded(report, &mut table);
    }
    let caption = caption(report, block, shows_spread(&table, screen));
    (vec![Part::Text(caption), Part::Table(table)], all.saturating_sub(left))
}

/// The rows that an answer needs: strategies with what is done today, and offline summaries.
fn of_answer<'a>(report: &'a Report, block: &Block<'a>) -> [Vec<&'a StrategyRow>; 2] {
    let [mut strategies, mut summaries, _] = arranged(&block.rows);
    if billed_by_size(report) {
        strategies.retain(|row| row.strategy == RECORDED || frees(row));
    } else if strategies.iter().any(|row| row.strategy == RECORDED) {
        // The whole conversation is no choice where the agent itself compacts.
        strategies.retain(|row| row.strategy != TODAY[0] || block::overflows(row).is_none());
    }
    if let Some(twin) = &report.twin {
        // It stands beside what the agent really kept.
        summaries.retain(|row| row.strategy != twin.strategy);
        let recorded = strategies.iter().position(|row| row.strategy == RECORDED);
        strategies.insert(recorded.map_or(0, |at| at + 1), twin);
    }
    [strategies, summaries]
}

/// What one compaction frees and keeps under each strategy; `None` where nobody has a figure.
pub(crate) fn kept_at_cuts(report: &Report, block: &Block<'_>) -> Option<Table> {
    let [mut strategies, mut summaries] = of_answer(report, block);
    for rows in [&mut strategies, &mut summaries] {
        rows.retain(|row| row.number(catalogue::FACTS_KEPT).is_some());
    }
    if strategies.is_empty() && summaries.is_empty() {
        return None;
    }
    let groups = [strategies, summaries, Vec::new()];
    let mut table = ranked(groups, of_cuts());
    name_recorded(report, &mut table);
    Some(table)
}

/// Whether compactions of a strategy free as much as is no idle compaction (how-it-works §48).
fn frees(row: &StrategyRow) -> bool {
    row.strategy != TODAY[0] && row.number(catalogue::TOKENS_AT_CUT).is_none_or(|left| left < 0.95)
}

/// Whether dollars stand with the sizes at which the agent compacts, and none with what a
/// compaction keeps.
pub(super) fn billed_by_size(report: &Report) -> bool {
    matches!(report.curve, Some(Ok(_)))
}

/// Says what the agent's own rows are, and at how many compactions they are counted.
fn name_recorded(report: &Report, table: &mut Table) {
    let recorded = report.rows.iter().find(|row| row.strategy == RECORDED);
    let agent = report.manifest.agent.as_deref().unwrap_or("the agent");
    let places = |row: &StrategyRow| number::any(row.number(catalogue::CUTS).unwrap_or(0.0));
    let mut twin = report.twin.as_ref();
    for row in table.groups.iter_mut().flat_map(|group| &mut group.rows) {
        let name = &mut row.cells[0].text;
        if let Some(row) = recorded.filter(|row| row.strategy == *name) {
            *name = format!("{agent}, as recorded ({})", places(row));
        } else if let Some(row) = twin.take_if(|row| row.strategy == *name) {
            *name = format!("{name}, offline, there ({})", places(row));
        }
    }
}

/// What the figures of a block rest on: facts, questions and places.
pub(super) fn basis(report: &Report, block: &Block<'_>) -> String {
    let most = |measure| {
        let figures = block.rows.iter().filter_map(|row| row.number(measure));
        figures.fold(0.0, f64::max) as usize
    };
    let (cuts, facts) = (most(catalogue::CUTS), most(catalogue::FACTS_NEEDED));
    let asked = most(catalogue::QUESTIONS_AT_CUT);
    let places = counted(cuts, "place");
    let sessions = counted(most(catalogue::SESSIONS_WITH_FACTS), "session");
    let facts = (facts > 0).then(|| counted(facts, "fact"));
    match report.primary {
        Primary::Continuity => {
            let questions = counted(most(catalogue::QUESTIONS), "question");
            let at_cuts = facts.map(|facts| format!(" · {facts} at {places}"));
            questions + &at_cuts.unwrap_or_default()
        }
        Primary::FactsKept => {
            let at = match most(catalogue::DEPTH) {
                0 | 1 => format!("kept after one compaction ({cuts} in {sessions})"),
                depth => format!("kept at {places} in {sessions}, {depth} times the window"),
            };
            let asked = (asked > 0).then(|| counted(asked, "question"));
            let of: Vec<String> = facts.into_iter().chain(asked).collect();
            format!("{at}: {}", of.join(", "))
        }
        Primary::ReferenceRecall => "facts needed next, over all requests".to_owned(),
    }
}

/// The same in a line above them, where there are several blocks with what each is about.
fn caption(report: &Report, block: &Block<'_>, spread: bool) -> String {
    let mut parts = vec![basis(report, block)];
    let alone = block::blocks(report).len() == 1;
    if !alone {
        let dataset = if block.dataset == block::ALL { "all data sets" } else { block.dataset };
        parts.splice(0..0, [plain::line(dataset), block::titled(block.window)]);
        parts.extend(block::billing_model(report, block));
    }
    let spread = spread && report.primary != Primary::FactsKept;
    parts.extend(spread.then(|| ranges(report, &block.rows)).flatten().map(str::to_owned));
    let text = parts.join(" · ");
    if alone { wording::capital(&text) } else { text }
}

/// What the ranges beside the leading figures are.
fn ranges(report: &Report, rows: &[&StrategyRow]) -> Option<&'static str> {
    let interval = rows.iter().find_map(|row| row.intervals.get(report.primary.id()))?;
    Some(match interval {
        Interval::Dots { .. } => "a…b: lowest to highest",
        Interval::Bounds { .. } => "[a–b]: 95 % interval",
    })
}

/// How sure the answer is, what changes its figures, and what to do next.
fn foot(report: &Report, hidden: usize) -> Vec<Part> {
    let answer = report.recommendation.as_ref();
    let mut parts = Vec::new();
    let mut add = |label, text: &str| {
        parts.push(Part::Labelled(label, plain::short_ids(report, text)));
    };
    if let Some(answer) = answer {
        add("sure", &answer.how_sure);
    }
    let (shown, notes) = findings(report);
    let sure = answer.map(|answer| answer.how_sure.to_lowercase()).unwrap_or_default();
    for finding in shown {
        let text = &finding.text;
        // The largest doubt may be one of them.
        if !sure.contains(&text.to_lowercase()) {
            let label = if is_notice(finding) { "note" } else { "problem" };
            add(label, &plain::shortened(text, LONGEST));
        }
    }
    if let Some(rebuilt) = receipt::rebuilt(&report.receipt) {
        add("rebuilt", &format!("{rebuilt}."));
    }
    if let Some(Ok(curve)) = &report.curve
        && let Some(setting) = &curve.apply
    {
        // The number that is set may be another than the size.
        let note = setting.note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
        add("apply", &format!("{}   in {}{note}", setting.line, setting.file));
    }
    if let Some(next) = answer.and_then(|answer| answer.next.as_ref()) {
        add("next", next);
    }
    let rest = [(hidden, "strategy"), (notes, "note")].into_iter().filter(|(n, _)| *n > 0);
    let rest: String = rest.map(|(n, noun)| format!("{}, ", counted(n, noun))).collect();
    add("more", &format!("--wide, or the page: {rest}controls, columns"));
    parts
}

/// Problems that change figures and then what was noticed while reading, two of them; beside sizes
/// one problem. And how many other findings there are.
fn findings(report: &Report) -> (Vec<&Finding>, usize) {
    let changes = |finding: &&Finding| finding.changes_figures;
    // Sizes are no replay.
    let by_size = billed_by_size(report);
    let all = report.findings.iter().filter(|finding| !(by_size && finding.kind == "bill_off"));
    let notices = all.clone().filter(|finding| !by_size && is_notice(finding));
    let most = if by_size { 1 } else { 2 };
    let shown: Vec<&Finding> = all.filter(changes).chain(notices).take(most).collect();
    let rest = report.findings.len() - shown.len();
    (shown, rest)
}

fn is_notice(finding: &Finding) -> bool {
    finding.kind == "notice"
}
