//! What a cut lost: what became of the facts under every strategy, fact
//! by fact, and how far from the cut they were lost (how-it-works §45). Shares are the
//! measures of the rows.
//!
//! Invariant: the packed facts keep their size whatever the run; what is left
//! out is whole in `facts.csv`, and the page says so.

use std::collections::BTreeSet;

use askama::Template;
use serde::Serialize;

use crate::cut_questions_csv::{AskedAtCut, asked};
use crate::document::absent;
use crate::html::cells::Cells;
use crate::html::questions::found;
use crate::html::table::class;
use crate::packed::packed;
use crate::questions_csv::expected;
use crate::{RenderInput, block, forgets, number, plain};
use recap_core::model::{
    Agreement, Answer, AnsweredAtCuts, Cut, Interval, Measure, QuestionKind, QuestionRow, RECORDED,
    ReferenceState, Report, RowKind, SessionFacts, StrategyRow, catalogue,
};

/// Sessions that are named for each reason why they were not cut.
const LISTED: usize = 50;
/// Bytes of the packed facts, cuts that are tried first, and characters of a fact.
const BUDGET: usize = 150_000;
const CUTS: usize = 2_000;
const FACT: usize = 120;
/// Questions that are listed, at least of each session and at most in all, and characters of each
/// of their texts.
const ASKED: usize = 30;
const FEWEST: usize = 3;
const LISTED_QUESTIONS: usize = 150;
const WORDS: usize = 300;

/// The section.
#[derive(Template)]
#[template(path = "cuts/cuts.html")]
pub(super) struct Cuts {
    /// How many there are.
    basis: String,
    /// Which compaction it is that is forced at a cut.
    depth: String,
    groups: Vec<Group>,
    /// Those that are not ranked.
    quiet: Vec<Group>,
    /// What the lines of the rows are; nothing where none has one.
    spread: Option<&'static str>,
    /// What is still answered, by kind of question; absent without questions.
    questions: Option<Table>,
    /// Some of these questions with their answers, where words may be shown.
    listed: Option<Listed>,
    /// Sessions that were cut nowhere, by reason.
    uncut: Vec<(String, Vec<String>)>,
    /// For the script; see [`Packed`].
    data: String,
    /// What of it is left out.
    left_out: Option<String>,
}

/// Every fact at the cuts, as the script reads it.
#[derive(Serialize)]
struct Packed<'a> {
    strategies: Vec<(String, &'static str)>,
    /// Position of the strategy to open with.
    first: usize,
    /// Names of the states, and whether each counts as kept.
    states: Vec<(&'static str, bool)>,
    cuts: &'a [PackedCut],
}

#[derive(Serialize)]
struct PackedCut {
    session: String,
    /// Ordinal of the first request behind it.
    request: u32,
    /// Text, class, and the request that uses it.
    facts: Vec<(String, &'static str, u32)>,
    /// By strategy: the position of each fact's state, or nothing where it was
    /// not looked at.
    found: Vec<Option<String>>,
}

/// Rows of one kind.
struct Group {
    title: &'static str,
    class: &'static str,
    rows: Vec<Kept>,
}

/// What one compaction under a strategy frees and keeps.
struct Kept {
    name: String,
    /// At how many places, where these are not all.
    places: String,
    /// Frees, facts, answers, wait.
    cells: [String; 4],
    /// Facts, and their lowest and highest, in per cent.
    facts: Option<f64>,
    range: Option<(f64, f64)>,
    answers: Option<f64>,
}

/// What is kept of each group of facts.
struct Table {
    id: &'static str,
    title: &'static str,
    about: &'static str,
    /// Name of each group, and its facts.
    heads: Vec<(String, String)>,
    rows: Vec<TableRow>,
}

/// A strategy in such a table.
struct TableRow {
    name: String,
    class: &'static str,
    cells: Vec<Cell>,
}

/// Questions at cuts under one strategy.
struct Listed {
    strategy: String,
    about: String,
    sessions: Vec<AskedSession>,
}

/// Those of one session, by its place in the report.
struct AskedSession {
    at: usize,
    name: String,
    rows: Vec<AskedRow>,
}

/// A question with both answers.
struct AskedRow {
    question: String,
    kind: &'static str,
    expected: String,
    before: String,
    after: String,
    became: &'static str,
}

/// The share kept of a group, and its counts.
struct Cell {
    share: String,
    counts: String,
}

/// What may become of a fact, the best first.
const FOUND: [ReferenceState; 6] = [
    ReferenceState::Verbatim,
    ReferenceState::Carried,
    ReferenceState::Bare,
    ReferenceState::Partial,
    ReferenceState::Recovered,
    ReferenceState::Lost,
];

/// Nothing where the run has no cuts, or no fact was needed at them.
pub(super) fn cuts(source: &RenderInput<'_>, cells: &Cells<'_>) -> Option<Cuts> {
    let report = source.report;
    let compared = compared(report);
    if compared.iter().all(|row| row.number(catalogue::FACTS_KEPT).is_none()) {
        return None;
    }
    let (data, left_out) = facts(source, cells);
    let (quiet, shown) =
        groups(report, &compared).into_iter().partition(|group| group.class == "quiet");
    Some(Cuts {
        basis: basis(report, &compared),
        depth: depth(report.manifest.depth),
        groups: shown,
        quiet,
        spread: compared.iter().find_map(|row| Some(spread(row)?.2)),
        questions: questions(&report.answered_at_cuts),
        listed: listed(source, cells),
        uncut: uncut(report),
        data,
        left_out,
    })
}

/// A row of each strategy over all data sets: figures of cuts are the same at
/// every window and for every billing model.
fn compared(report: &Report) -> Vec<&StrategyRow> {
    let several = report.rows.iter().any(|row| row.dataset == block::ALL);
    let mut rows: Vec<&StrategyRow> = Vec::new();
    for row in report.rows.iter().filter(|row| !several || row.dataset == block::ALL) {
        let is_new = rows.iter().all(|other| other.strategy != row.strategy);
        if is_new && !block::is_without_summary(&row.strategy) {
            rows.push(row);
        }
    }
    rows
}

/// The facts of as many cuts as fit, and what is left out.
fn facts(source: &RenderInput<'_>, cells: &Cells<'_>) -> (String, Option<String>) {
    let mut all = 0;
    let mut first = Vec::new();
    for session in source.report.results.iter() {
        let cuts = session.cuts().iter().filter(|cut| !cut.facts.is_empty());
        all += cuts.clone().count();
        first.extend(cuts.take(CUTS - first.len()).map(|cut| of(source, cells, cut)));
    }
    let mut shown = first.len();
    let data = loop {
        let packed = packed(&Packed {
            strategies: cells.strategy_names(),
            first: cells.first(),
            states: FOUND.iter().map(|s| (s.as_str(), s.is_kept())).collect(),
            cuts: &first[..shown],
        });
        if packed.len() <= BUDGET || shown == 0 {
            break packed;
        }
        shown /= 2;
    };
    let left_out = (shown < all).then(|| {
        format!(
            "the first {shown} of {} are listed; all are in facts.csv",
            block::counted(all, "cut")
        )
    });
    (data, left_out)
}

fn of(source: &RenderInput<'_>, cells: &Cells<'_>, cut: &Cut) -> PackedCut {
    let text = |text: &str| match source.texts {
        Some(_) => plain::shortened(&plain::line(text), FACT),
        None => String::new(),
    };
    let found = |strategy: &str| {
        let mut mine = cut.rows.iter().filter(|row| row.strategy == strategy && row.replicate == 0);
        let exam = mine.next()?.exam().filter(|exam| exam.states.len() == cut.facts.len())?;
        let place = |state: &ReferenceState| {
            FOUND.iter().position(|other| other == state).map(|at| at.to_string())
        };
        exam.states.iter().map(place).collect::<Option<String>>()
    };
    PackedCut {
        session: plain::line(&cut.session),
        request: cut.request,
        facts: (cut.facts.iter())
            .map(|fact| (text(&fact.text), fact.class.as_str(), fact.request))
            .collect(),
        found: cells.strategies.iter().map(|(strategy, _)| found(strategy)).collect(),
    }
}

/// The largest figure of a measure: a row whose replay failed at a cut has fewer.
fn most(rows: &[&StrategyRow], measure: &Measure) -> usize {
    rows.iter().filter_map(|row| row.number(measure)).fold(0.0, f64::max) as usize
}

fn basis(report: &Report, rows: &[&StrategyRow]) -> String {
    let repeated = match report.manifest.replicates {
        0 | 1 => String::new(),
        n => format!(", each strategy’s compactions {n} times over"),
    };
    format!(
        "{} at {}, in {} of {}{repeated}.",
        block::counted(most(rows, catalogue::FACTS_NEEDED), "fact"),
        block::counted(most(rows, catalogue::CUTS), "cut"),
        number::grouped(most(rows, catalogue::SESSIONS_WITH_FACTS) as u64),
        block::counted(report.sessions.len(), "session"),
    )
}

fn depth(depth: u32) -> String {
    match depth {
        1 => "the first one of the strategy".to_owned(),
        depth => format!("in a session {depth} times the window, in which there were others"),
    }
}

/// What the agent itself did, strategies, and summaries of the offline compactor, which are not
/// ranked. Yardsticks stand in the full table.
fn groups(report: &Report, rows: &[&StrategyRow]) -> Vec<Group> {
    let of = |row_kind: RowKind| rows.iter().copied().filter(move |row| row.row_kind == row_kind);
    let own = rows.iter().copied().filter(|row| row.strategy == RECORDED).chain(&report.twin);
    let agent = report.manifest.agent.as_deref().unwrap_or("the agent");
    let own = own.filter(|row| row.number(catalogue::FACTS_KEPT).is_some()).map(|row| {
        let places = block::counted(most(&[row], catalogue::CUTS), "place");
        match row.strategy == RECORDED {
            true => kept(row, format!("{agent}, as recorded"), format!("at {places}")),
            false => kept(row, row.strategy.clone(), format!("offline, at the same {places}")),
        }
    });
    let twin = report.twin.as_ref().map(|twin| &twin.strategy);
    let all = |row: &StrategyRow| kept(row, row.strategy.clone(), String::new());
    let summaries = of(RowKind::OfflineSummary).filter(|row| Some(&row.strategy) != twin);
    let strategies = match report.curve {
        Some(Ok(_)) => "Other strategies: for a harness of your own",
        _ => "Strategies",
    };
    let group = |title, class, rows| Group { title, class, rows };
    let groups = [
        group("What the agent itself did", "own", own.collect::<Vec<Kept>>()),
        group(strategies, "", of(RowKind::Ranked).map(all).collect()),
        group(
            "Not ranked: too few usable replies",
            "quiet",
            of(RowKind::Unusable).map(all).collect(),
        ),
        group(
            "Offline summaries, not ranked: a model should write them",
            "quiet",
            summaries.map(all).collect(),
        ),
    ];
    groups.into_iter().filter(|group| !group.rows.is_empty()).collect()
}

fn kept(row: &StrategyRow, name: String, places: String) -> Kept {
    let facts = row.number(catalogue::FACTS_KEPT);
    let answers = block::answered_at_cuts(row);
    let shown = |figure: Option<f64>, show: fn(f64) -> String| figure.map_or_else(absent, show);
    let frees = row.number(catalogue::TOKENS_AT_CUT).map(|left| 1.0 - left);
    let wait = row.number(catalogue::BLOCKING_MS_P95);
    Kept {
        name: plain::line(&name),
        places,
        cells: [
            shown(frees, number::percent),
            shown(facts, number::percent),
            shown(answers, number::percent),
            match wait {
                Some(0.0) => "none".to_owned(),
                wait => shown(wait, number::time),
            },
        ],
        facts: facts.map(|share| 100.0 * share),
        range: spread(row).map(|(lo, hi, _)| (100.0 * lo, 100.0 * (hi - lo))),
        answers: answers.map(|share| 100.0 * share),
    }
}

/// Between which shares the facts of a row lie, and what these are.
fn spread(row: &StrategyRow) -> Option<(f64, f64, &'static str)> {
    Some(match row.intervals.get(catalogue::FACTS_KEPT.id)? {
        Interval::Dots { values } => {
            let (lo, hi) = (values.first()?, values.last()?);
            (*lo, *hi, "from the lowest to the highest session or project")
        }
        Interval::ThisSessionOnly { lo, hi } => (*lo, *hi, "95 %, of this session only"),
        Interval::Student { lo, hi } | Interval::Wider { lo, hi } => (*lo, *hi, "95 % interval"),
    })
}

impl Cuts {
    /// Whether questions of a session are listed.
    pub(super) fn asks(&self, session: &usize) -> bool {
        let listed = self.listed.iter().flat_map(|listed| &listed.sessions);
        listed.into_iter().any(|own| own.at == *session)
    }
}

/// The questions that the whole conversation answers right, by kind.
fn questions(answered: &[AnsweredAtCuts]) -> Option<Table> {
    let kinds: BTreeSet<QuestionKind> =
        answered.iter().flat_map(|strategy| strategy.kinds.keys().copied()).collect();
    let head = |kind: &QuestionKind| {
        let of = answered.iter().filter_map(|strategy| strategy.kinds.get(kind));
        let questions = of.map(|of| of.before).max().unwrap_or(0) as usize;
        (forgets::subject(*kind).to_owned(), block::counted(questions, "question"))
    };
    let cell = |strategy: &AnsweredAtCuts, kind: &QuestionKind| match strategy.kinds.get(kind) {
        None => Cell { share: "–".to_owned(), counts: String::new() },
        Some(of) => Cell {
            share: number::percent(of.after / of.before as f64),
            counts: format!(
                "{} of {}",
                number::grouped(of.after.round() as u64),
                number::grouped(of.before)
            ),
        },
    };
    let row = |strategy: &AnsweredAtCuts| TableRow {
        name: plain::line(&strategy.strategy),
        class: class(strategy.row_kind),
        cells: kinds.iter().map(|kind| cell(strategy, kind)).collect(),
    };
    (!kinds.is_empty()).then(|| Table {
        id: "questions",
        title: "Which kinds of questions are still answered",
        about: "of those right from the whole conversation (where no model answers: findable in \
                it), asked right after the cut; where the session does not say, it is right to say so",
        heads: kinds.iter().map(head).collect(),
        rows: answered.iter().map(row).collect(),
    })
}

/// The questions of the strategy that the page opens with, those that it lost first.
fn listed(source: &RenderInput<'_>, cells: &Cells<'_>) -> Option<Listed> {
    source.texts?;
    let (strategy, _) = cells.strategies.get(cells.first())?;
    let words = |text: &str| plain::lines(&plain::shortened(text.trim(), WORDS));
    let said = |row: &QuestionRow| match row.answered.as_ref().map(|own| &own.answer) {
        Some(Answer::Said(text)) => words(text),
        Some(Answer::Nothing(why)) => format!("no answer: {}", plain::line(&why.to_string())),
        None => found(row).to_owned(),
    };
    let row = |at: AskedAtCut<'_>| AskedRow {
        question: words(&at.asked.question.question),
        kind: at.asked.question.kind.as_str(),
        expected: words(&expected(&at.asked.question.expect)),
        before: at.before.map_or_else(|| "–".to_owned(), said),
        after: said(at.after),
        became: at.agreement().map_or("not graded", Agreement::as_str),
    };
    let report = source.report;
    let (mut all, mut shown, mut sessions) = (0, 0, Vec::new());
    // Each session has some, so that it can lead to them.
    let most = (ASKED / report.sessions.len().max(1)).max(FEWEST);
    for session in report.results.iter() {
        let own = asked(report, &session).into_iter();
        let own = own.filter(|at| at.row.strategy == *strategy && at.row.replicate == 0);
        let mut rows: Vec<AskedRow> = own.map(row).collect();
        all += rows.len();
        rows.sort_by_key(|row| row.became != Agreement::Lost.as_str());
        rows.truncate(most.min(LISTED_QUESTIONS - shown));
        shown += rows.len();
        let is_it = |facts: &SessionFacts| {
            (&*facts.dataset, &*facts.session) == (session.dataset, session.id)
        };
        let at = report.sessions.iter().position(is_it).filter(|_| !rows.is_empty());
        sessions.extend(at.map(|at| AskedSession { at, name: plain::line(session.id), rows }));
    }
    let about = match all > shown {
        true => format!("{shown} of {}", block::counted(all, "question")),
        false => block::counted(all, "question"),
    };
    (shown > 0).then(|| Listed { strategy: plain::line(strategy), about, sessions })
}

/// Sessions that the run cut nowhere, by reason; the most frequent first.
fn uncut(report: &Report) -> Vec<(String, Vec<String>)> {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for facts in &report.sessions {
        let Some(why) = &facts.no_cut else { continue };
        let reason = plain::line(&why.to_string());
        let name = plain::line(&facts.session);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => reasons.push((reason, vec![name])),
        }
    }
    reasons.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    for (_, names) in &mut reasons {
        let more = names.len().saturating_sub(LISTED);
        names.truncate(LISTED);
        names.extend((more > 0).then(|| format!("and {more} more")));
    }
    reasons
}

#[cfg(test)]
mod tests;
