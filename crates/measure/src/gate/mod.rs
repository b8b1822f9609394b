//! The gate: checks rules on the rows of a run. It only computes: rules and
//! rows in, findings out.
//!
//! # Grammar
//!
//! ```text
//! rule    = measure , [ "[" , kind , "]" ] , [ "@" , name ] ,
//!           { "on" , name | "at" , name } , sign , limit ;
//! sign    = "<" | "<=" | ">" | ">=" ;
//! limit   = amount | "baseline" , [ ( "-" | "+" ) , amount | "*" , digits ] ;
//! amount  = [ "-" ] , digits , [ "%" | "k" | "M" | "ms" | "s" ] ;
//! digits  = decimal digits with at most one "." ;
//! name    = characters other than white space, "<" and ">" ;
//! measure = a column of summary.csv that holds numbers ;
//! kind    = a kind of question, behind `continuity` ;
//! ```
//!
//! `@` names a strategy, `on` a data set, `at` a window, each at most once; behind the recorded
//! agent `at` names the size at which it compacts, if that is no window of the run. White
//! space is allowed between any two parts. A rule states what is *forbidden*:
//!
//! ```text
//! continuity@lis < 80
//! continuity[constraint] < 95
//! recall@fifo on my-data at 16k < 50%
//! blocking_ms_p95 > 5s
//! cost_usd > baseline * 1.1
//! cost_usd@claude-code at 130k > 400
//! facts_kept@prune < 0.5
//! continuity < baseline - 2
//! ```
//!
//! A rule without a strategy applies to those that the user named with
//! `--strategy`; without a data set, to all data sets together; without a
//! window, to each window. A percentage is a share, or points of a hundred;
//! behind `baseline` it is a part of the baseline's figure. There it is allowed
//! for tokens, counts, money and times only, where it is not ambiguous.
//!
//! # Against a number
//!
//! The measured figure decides; its interval makes no difference. The finding
//! is `missing` if the figure is absent, if a cell of the row failed, if too
//! many of its questions were not graded, and, for quality, if the row is an
//! offline summary (reference §6). Size, money and time of an offline summary are
//! gated: they depend on when and how much a strategy compacts, and the offline summary
//! writes summaries of the length that the strategy asks for.
//!
//! # Against a baseline
//!
//! Figures are paired by session, replicates averaged, and pooled as the
//! measure is (`measure::paired`). Three properties decide: whether the
//! difference is *beyond* the allowed change, whether it is *surely* worse (its
//! interval lies wholly on the worse side of zero), and whether the interval
//! *reaches* beyond the allowed change:
//!
//! | beyond | surely worse | reaches | finding |
//! |--------|--------------|---------|---------|
//! | yes    | yes          | yes     | failed: large enough and sure |
//! | yes    | no           | yes     | undecided: large enough and not sure |
//! | no     | yes          | yes     | undecided: worse for sure, perhaps by too much |
//! | no     | no           | yes     | undecided: too much is not ruled out |
//! | no     | any          | no      | passed: more than what is allowed is ruled out |
//!
//! If the figures of every pair are equal, the rule passes as unchanged. With
//! fewer than six clusters the interval covers only the requests or questions of
//! these sessions, and the reason says so. A measure without a figure for each
//! request or question then has no interval: the rule passes if no session is
//! worse, else it is undecided. `baseline` alone allows no change for the worse,
//! which an interval seldom rules out: a rule that allows a small change is
//! decided more often.
//!
//! The finding is `missing` if a session has a figure in the baseline and none
//! in the run.
//!
//! Measures at cuts need a baseline with the same `--cuts` and the same depth:
//! any other baseline is refused before anything runs.
//!
//! A missing figure never passes.

mod baseline;
mod checks;
mod rule;
mod scope;

pub use baseline::{Baseline, BaselineError, Head, unlike, write_baseline};
use baseline::{BaselineRule, differences, differences_measured};
use checks::{Both, against_baseline, against_figure};
pub use rule::{Amount, Limit, Mark, Operator, Parsed, Rule, RuleError, parse};
use rule::{GateMeasure, find_measure};
pub use scope::{Scope, fits};
use scope::{size_named, size_row};

use crate::ALL;
use crate::by_session::by_session;
use recap_core::model::{
    Answer, Cell, Check, CheckOutcome, CutRow, Gate, GradedAnswer, Ground, Manifest, Missing,
    OFFLINE, QuestionRow, Report, RuleFindings, StrategyRow, UndecidedPolicy,
};

/// The settings of a gate besides its rules.
#[derive(Clone, Copy, Debug)]
pub struct GateSettings<'a> {
    /// Strategies that the user named with `--strategy`.
    pub named: &'a [String],
    /// Largest share of a row's questions that may have no grade.
    pub max_unscored: f64,
    /// How undecided findings count.
    pub undecided: UndecidedPolicy,
    /// The baseline for the rules that need one.
    pub baseline: Option<&'a Baseline>,
}

/// A larger share of unscored questions leaves no verdict (how-it-works §41).
pub const MAX_UNSCORED: f64 = 0.05;

/// Checks every rule on a measured run. The error lists the differences that
/// make the baseline incomparable.
pub fn check(
    report: &Report,
    rules: &[Parsed],
    settings: &GateSettings<'_>,
) -> Result<Gate, Vec<String>> {
    let seed = report.manifest.seed;
    let own = settings.baseline.map(|_| by_session(report));
    let both = settings.baseline.zip(own.as_ref());
    let both = both.map(|(baseline, own)| Both { baseline, own, seed });
    if let Some(both) = &both {
        refuse(report, rules, settings, both)?;
    }
    let findings = |parsed: &Parsed| {
        let manifest = &report.manifest;
        let size = size_row(report, &parsed.rule, manifest);
        let mut rows = rows_of(report, &parsed.rule, settings.named);
        rows.extend(&size);
        let each = |row: &&StrategyRow| one(report, row, &parsed.rule, settings, both.as_ref());
        let mut checks: Vec<Check> = rows.iter().map(each).collect();
        if checks.is_empty() {
            let agent = manifest.agent.as_deref();
            let is_size = size_named(&parsed.rule, agent, &manifest.windows).is_some();
            let why = report.curve.as_ref().and_then(|curve| curve.as_ref().err());
            let ground = why.filter(|_| is_size).map(|why| Ground::NoSizes(why.clone()));
            let reason = ground.unwrap_or(Ground::NoRow).to_string();
            checks.push(Check { reason, ..nothing(&parsed.rule) });
        }
        if let Some(missing) = &report.missing {
            checks.iter_mut().for_each(|check| undetermined(check, missing));
        }
        RuleFindings { rule: parsed.text.clone(), checks }
    };
    Ok(Gate {
        baseline: settings.baseline.map(|baseline| baseline.name.clone()),
        undecided: settings.undecided,
        rules: rules.iter().map(findings).collect(),
    })
}

fn one(
    report: &Report,
    row: &StrategyRow,
    rule: &Rule,
    settings: &GateSettings<'_>,
    both: Option<&Both<'_>>,
) -> Check {
    let doubt = doubt(report, row, rule, settings.max_unscored);
    match (rule.limit, both) {
        (Limit::Figure(amount), _) => {
            against_figure(row, &rule.measure, rule.operator, amount, doubt)
        }
        (_, Some(both)) => against_baseline(row, rule, both, doubt),
        (_, None) => Check { reason: Ground::NoBaseline.to_string(), ..nothing(rule) },
    }
}

/// Replaces a finding by `missing`: an incomplete run neither passes nor fails.
fn undetermined(check: &mut Check, missing: &Missing) {
    check.finding = CheckOutcome::Missing;
    check.reason = Ground::Interrupted(missing.clone()).to_string();
}

/// Refuses a baseline that cannot be compared with this run.
fn refuse(
    report: &Report,
    rules: &[Parsed],
    settings: &GateSettings<'_>,
    both: &Both<'_>,
) -> Result<(), Vec<String>> {
    let ids: Vec<(&str, &str)> =
        report.sessions.iter().map(|f| (&*f.dataset, &*f.session)).collect();
    let against = rules.iter().filter(|parsed| parsed.rule.limit.needs_baseline());
    let asked = against.map(|parsed| {
        let rows = rows_of(report, &parsed.rule, settings.named).into_iter();
        let rows = rows.map(|row| (&*row.dataset, &*row.strategy, &*row.window));
        BaselineRule { rule: &parsed.rule, rows: rows.collect() }
    });
    let asked: Vec<BaselineRule<'_>> = asked.collect();
    let manifest = &report.manifest;
    let mut found = differences(both.baseline, manifest, &ids, &asked);
    found.extend(differences_measured(both.baseline, manifest, both.own, &asked));
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// Refuses an incomparable baseline before anything runs, as far as the
/// differences are known by then.
pub fn comparable(
    baseline: &Baseline,
    manifest: &Manifest,
    sessions: &[(&str, &str)],
    rules: &[Parsed],
) -> Result<(), Vec<String>> {
    let windows = |rule: &Rule| match (&rule.window, &rule.dataset) {
        (Some(window), _) => vec![window.clone()],
        // A data set may have windows of its own.
        (None, Some(dataset)) => baseline.windows_of(dataset, &manifest.windows),
        (None, None) => manifest.windows.clone(),
    };
    let against = rules.iter().map(|parsed| &parsed.rule).filter(|r| r.limit.needs_baseline());
    let rows: Vec<(&Rule, Vec<String>)> = against.map(|rule| (rule, windows(rule))).collect();
    let asked = rows.iter().map(|(rule, windows)| {
        let strategies: Vec<&str> = match &rule.strategy {
            Some(strategy) => vec![strategy],
            None => manifest.named.iter().map(String::as_str).collect(),
        };
        let dataset = rule.dataset.as_deref().unwrap_or(ALL);
        let each = strategies.into_iter().flat_map(|strategy| {
            windows.iter().map(move |window| (dataset, strategy, window.as_str()))
        });
        BaselineRule { rule, rows: each.collect() }
    });
    let asked: Vec<BaselineRule<'_>> = asked.collect();
    let found = differences(baseline, manifest, sessions, &asked);
    if found.is_empty() { Ok(()) } else { Err(found) }
}

/// The rows that a rule applies to, in printing order.
fn rows_of<'a>(report: &'a Report, rule: &Rule, named: &[String]) -> Vec<&'a StrategyRow> {
    let mut datasets: Vec<&str> =
        report.sessions.iter().map(|facts| facts.dataset.as_str()).collect();
    datasets.dedup();
    let dataset = match (rule.dataset.as_deref(), datasets.as_slice()) {
        (Some(dataset), _) => dataset,
        (None, [only]) => only,
        (None, _) => ALL,
    };
    let strategy = |row: &StrategyRow| match &rule.strategy {
        Some(strategy) => *strategy == row.strategy,
        None => named.contains(&row.strategy),
    };
    let window =
        |row: &StrategyRow| rule.window.as_ref().is_none_or(|window| *window == row.window);
    let those =
        report.rows.iter().filter(|row| row.dataset == dataset && strategy(row) && window(row));
    let mut rows: Vec<&StrategyRow> = those.collect();
    if !find_measure(&rule.measure).is_ok_and(GateMeasure::is_billed) {
        // Agent models differ only in their bills.
        let mut seen = std::collections::BTreeSet::new();
        rows.retain(|row| seen.insert((row.strategy.as_str(), row.window.as_str())));
    }
    rows
}

/// The check of a rule that applies to no row, because the run was interrupted
/// too early.
fn nothing(rule: &Rule) -> Check {
    let or_any = |name: &Option<String>| name.clone().unwrap_or_else(|| "any".to_owned());
    Check {
        dataset: or_any(&rule.dataset),
        strategy: or_any(&rule.strategy),
        window: or_any(&rule.window),
        agent_model: String::new(),
        measure: rule.measure.clone(),
        value: None,
        baseline: None,
        interval: None,
        sessions: 0,
        finding: CheckOutcome::Missing,
        reason: Ground::NoRow.to_string(),
    }
}

/// Why a row's figure cannot be gated; `None` if it can.
fn doubt(report: &Report, row: &StrategyRow, rule: &Rule, max_unscored: f64) -> Option<Ground> {
    if !row.failed.is_empty() {
        let (cells, first) = (row.failed.len(), row.failed[0].clone());
        return Some(Ground::Failed { cells, first });
    }
    if !find_measure(&rule.measure).is_ok_and(GateMeasure::rests_on_questions) {
        return None;
    }
    let of_row = |dataset: &str| row.dataset == ALL || row.dataset == dataset;
    let is_own =
        |cell: &&Cell| (&cell.key.strategy, &cell.key.window) == (&row.strategy, &row.window);
    let at_cuts = find_measure(&rule.measure).ok().is_some_and(GateMeasure::is_at_cuts);
    let mut counts = Unscored::default();
    for session in report.results.iter().filter(|session| of_row(session.dataset)) {
        if at_cuts {
            let rows = session.cuts().iter().flat_map(|cut| &cut.rows);
            let own = rows.filter(|examined| examined.strategy == row.strategy);
            let exams = own.filter_map(CutRow::exam);
            exams
                .flat_map(|exam| &exam.questions)
                .for_each(|row| counts.add(&report.manifest, row));
        } else {
            let rows = session.cells().iter().filter(is_own).filter_map(Cell::rows);
            rows.flat_map(|rows| &rows.questions).for_each(|row| counts.add(&report.manifest, row));
        }
    }
    let share = counts.share();
    (share > max_unscored).then_some(Ground::Ungraded { share, most: max_unscored })
}

/// Share of the questions that a model should have answered or graded and did not.
/// Kinds that the offline judge cannot grade do not count.
pub fn unscored(report: &Report) -> f64 {
    let mut counts = Unscored::default();
    for session in report.results.iter() {
        let rows = session.cells().iter().filter_map(Cell::rows);
        rows.flat_map(|rows| &rows.questions).for_each(|row| counts.add(&report.manifest, row));
    }
    counts.share()
}

/// Numbers of all questions, and of those without an answer or a grade.
#[derive(Default)]
struct Unscored {
    all: u64,
    without: u64,
}

impl Unscored {
    fn add(&mut self, manifest: &Manifest, row: &QuestionRow) {
        let is_missing = |own: &GradedAnswer| {
            matches!(own.answer, Answer::Nothing(_))
                || manifest.judge != OFFLINE && own.judgement.score.is_none()
        };
        self.all += 1;
        self.without += u64::from(row.answered.as_ref().is_some_and(is_missing));
    }

    fn share(&self) -> f64 {
        self.without as f64 / self.all.max(1) as f64
    }
}

#[cfg(test)]
mod tests;
