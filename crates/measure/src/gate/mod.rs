//! The gate: checks rules on the rows of a run. It only computes: rules and
//! rows in, findings out.
//!
//! # Grammar
//!
//! ```text
//! rule    = measure , [ "@" , name ] ,
//!           { "on" , name | "at" , name } , sign , limit ;
//! sign    = "<" | "<=" | ">" | ">=" ;
//! limit   = amount | "baseline" , [ ( "-" | "+" ) , amount | "*" , digits ] ;
//! amount  = [ "-" ] , digits , [ "%" | "k" | "M" | "ms" | "s" ] ;
//! digits  = decimal digits with at most one "." ;
//! name    = characters other than white space, "<" and ">" ;
//! measure = a column of summary.csv that holds numbers ;
//! ```
//!
//! `@` names a strategy, `on` a data set, `at` a window, each at most once. White
//! space is allowed between any two parts. A rule states what is *forbidden*:
//!
//! ```text
//! continuity@lis < 80
//! continuity_constraint < 95
//! recall@fifo on my-data at 16k < 50%
//! blocking_ms_p95 > 5s
//! cost_usd > baseline * 1.1
//! facts_kept@prune < 0.5
//! continuity < baseline - 2
//! ```
//!
//! A rule without a strategy applies to those that the user named with
//! `--strategy`; without a data set, to all data sets together; without a
//! window, to each window. A percentage is a share, or points of a hundred; behind `baseline`
//! it is refused: a factor says it.
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
//! A sum of dollars, tokens or things is what these sessions took together: the rule fails if the
//! difference is beyond the allowed change, else it passes, whatever the interval.
//!
//! If the figures of every pair are equal, the rule passes as unchanged. Fewer than
//! six clusters have no interval: what these sessions show is described, and the
//! difference itself decides; if it is beyond the allowed change although some session
//! is better, it is undecided. `baseline` alone allows no change for the worse, which
//! an interval seldom rules out: a rule that allows a small change is decided more often.
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

pub use baseline::{Baseline, Head, comparable, unlike, write_baseline};
use checks::{Both, checked, unchecked};
pub use rule::{Limit, Rule, RuleError, parse};
pub use scope::fits;

use crate::ALL;
use crate::figures::by_session::by_session;
use recap_core::model::{
    Answer, Cell, Check, CheckOutcome, CutRow, Gate, GradedAnswer, OFFLINE, QuestionRow, Report,
    RuleFindings, StrategyRow, UndecidedPolicy,
};
use recap_core::text::counted;
use std::collections::BTreeSet;

/// The settings of a gate besides its rules.
#[derive(Clone, Copy, Debug)]
pub struct GateSettings<'a> {
    /// Largest share of a row's questions that may have no grade.
    pub max_unscored: f64,
    /// How undecided findings count.
    pub undecided: UndecidedPolicy,
    /// The baseline for the rules that need one.
    pub baseline: Option<&'a Baseline>,
}

/// A larger share of unscored questions leaves no verdict (how-it-works §41).
pub const MAX_UNSCORED: f64 = 0.05;

/// Checks every rule on a measured run. The error lists the differences that make the baseline
/// incomparable and are known only now; [`comparable`] finds the others.
pub fn check(
    report: &Report,
    rules: &[Rule],
    settings: &GateSettings<'_>,
) -> Result<Gate, Vec<String>> {
    let own = settings.baseline.map(|_| by_session(report));
    let seed = report.manifest.seed;
    let both = settings.baseline.zip(own.as_ref());
    let both = both.map(|(baseline, own)| Both { baseline, own, seed });
    if let Some(both) = &both {
        let against = rules.iter().filter(|rule| rule.needs_baseline());
        let asked: Vec<_> = against.map(|rule| (rule, rows_of(report, rule))).collect();
        let found = baseline::differences(both.baseline, &report.manifest, both.own, &asked);
        if !found.is_empty() {
            return Err(found);
        }
    }
    let findings = |rule: &Rule| {
        let each = rows_of(report, rule).into_iter().map(|row| {
            let doubt = doubt(report, row, rule, settings.max_unscored);
            checked(row, rule, both.as_ref(), doubt)
        });
        let mut checks: Vec<Check> = each.collect();
        if checks.is_empty() {
            checks.push(no_row(rule));
        }
        if let Some(missing) = &report.missing {
            // An incomplete run neither passes nor fails.
            for check in &mut checks {
                (check.finding, check.reason) = (CheckOutcome::Missing, missing.to_string());
            }
        }
        RuleFindings { rule: rule.text.clone(), checks }
    };
    Ok(Gate {
        baseline: settings.baseline.map(|baseline| baseline.name.clone()),
        undecided: settings.undecided,
        rules: rules.iter().map(findings).collect(),
    })
}

/// The rows that a rule applies to, in printing order.
fn rows_of<'a>(report: &'a Report, rule: &Rule) -> Vec<&'a StrategyRow> {
    let datasets: BTreeSet<&str> =
        report.sessions.iter().map(|facts| facts.dataset.as_str()).collect();
    let all = datasets.first().filter(|_| datasets.len() == 1).copied().unwrap_or(ALL);
    let dataset = rule.dataset.as_deref().unwrap_or(all);
    let is_named = |row: &StrategyRow| match &rule.strategy {
        Some(strategy) => *strategy == row.strategy,
        None => report.manifest.named.contains(&row.strategy),
    };
    // Agent models differ only in their bills.
    let (mut seen, is_billed) = (BTreeSet::new(), rule.is_billed());
    let those = report.rows.iter().filter(|row| {
        row.dataset == dataset
            && is_named(row)
            && rule.window.as_ref().is_none_or(|window| *window == row.window)
            && (is_billed || seen.insert((&row.strategy, &row.window)))
    });
    those.collect()
}

/// The check of a rule that applies to no row: the run was interrupted too early.
fn no_row(rule: &Rule) -> Check {
    let or_any = |name: &Option<String>| name.clone().unwrap_or_else(|| "any".to_owned());
    let row = [&rule.dataset, &rule.strategy, &rule.window].map(or_any);
    Check { reason: checks::NO_ROW.to_owned(), ..unchecked(row, rule) }
}

/// Why a row's figure cannot be gated; `None` if it can.
fn doubt(report: &Report, row: &StrategyRow, rule: &Rule, max_unscored: f64) -> Option<String> {
    if let Some(first) = row.failed.first() {
        let cells = counted(row.failed.len(), "cell");
        return Some(format!("{cells} of the row failed: {first}"));
    }
    if !rule.rests_on_questions() {
        return None;
    }
    let share = share_unscored(report, rule.is_at_cuts(), Some(row));
    (share > max_unscored).then(|| {
        format!(
            "{:.0} % of its questions were not answered or not graded, more than {:.0} %",
            share * 100.0,
            max_unscored * 100.0
        )
    })
}

/// Share of the questions that a model should have answered or graded and did not: of
/// those to whole sessions or of those at cuts, whichever is larger. Kinds that the offline
/// judge cannot grade do not count.
pub fn unscored(report: &Report) -> f64 {
    share_unscored(report, false, None).max(share_unscored(report, true, None))
}

/// The same among the questions at cuts, or to whole sessions, of one row or of all.
fn share_unscored(report: &Report, at_cuts: bool, row: Option<&StrategyRow>) -> f64 {
    let has_model = report.manifest.judge != OFFLINE;
    let is_missing = |own: &GradedAnswer| {
        matches!(own.answer, Answer::Nothing(_)) || has_model && own.judgement.score.is_none()
    };
    let of_strategy = |strategy: &String| row.is_none_or(|row| row.strategy == *strategy);
    let of_window = |window: &String| row.is_none_or(|row| row.window == *window);
    let (mut all, mut without) = (0, 0);
    let mut add = |rows: &[QuestionRow]| {
        all += rows.len();
        let answers = rows.iter().filter_map(|row| row.answered.as_ref());
        without += answers.filter(|own| is_missing(own)).count();
    };
    for session in report.results.iter() {
        if row.is_some_and(|row| ![ALL, session.dataset].contains(&&*row.dataset)) {
            continue;
        }
        if at_cuts {
            let rows = session.cuts().iter().flat_map(|cut| &cut.rows);
            let own = rows.filter(|examined| of_strategy(&examined.strategy));
            own.filter_map(CutRow::exam).for_each(|exam| add(&exam.questions));
        } else {
            let cells = session.cells().iter();
            let own = cells.filter(|c| of_strategy(&c.key.strategy) && of_window(&c.key.window));
            own.filter_map(Cell::rows).for_each(|rows| add(&rows.questions));
        }
    }
    without as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests;
