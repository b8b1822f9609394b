//! The gate: rules about a run, and what each finds on the rows that it speaks
//! of. Pure: rules and rows in, findings out.
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
//! name    = word | quoted ;
//! word    = characters other than white space, quotes, "<" and ">" ;
//! quoted  = '"' , any , '"' | "'" , any , "'" ;  (* a quote inside is doubled *)
//! measure = a column of summary.csv that holds numbers ;
//! kind    = a kind of probe, behind `recall` and `continuity` ;
//! ```
//!
//! `@` names a preset, `on` a data set, `at` a window, each at most once; white
//! space may stand between any two parts. A rule states what is *forbidden*:
//!
//! ```text
//! continuity@lis < 80
//! recall[constraint] < 0.95
//! recall@fifo on my-data at 16k < 50%
//! blocking_ms_p95 > 5s
//! cost_usd > baseline * 1.1
//! ```
//!
//! Without a preset it speaks of those that the user named with `--strategy`,
//! without a data set of all of them together, without a window of each. A
//! percentage stands for a share, or for points of a hundred; behind `baseline`
//! it is a part of the baseline's figure and stands with tokens, counts, money
//! and times only, where it can mean nothing else.
//!
//! # Against a number
//!
//! The figure as measured decides: no interval saves or fails it. There is no
//! finding but `missing` where the figure is absent, where a cell of the row
//! failed, where too many of its probes were not graded, and, for quality,
//! where the row is an offline stand-in (`measures` §6). Size, money and time
//! of a stand-in are gated: they come from when and how much a preset compacts,
//! and the stand-in fills the length that the preset asks for.
//!
//! Missing never passes.

mod absolute;
mod error;
mod measures;
mod parse;
mod rule;
mod scope;
mod words;

pub use error::RuleError;
pub use parse::{Parsed, parse};
pub use rule::{Amount, Limit, Mark, Operator, Rule};
pub use scope::{Scope, fits};

use crate::measure::ALL;
use crate::model::{
    Answer, Cell, Check, Finding, Gate, Manifest, OFFLINE, PresetRow, Report, RuleFindings,
    UndecidedPolicy,
};

/// What a gate is asked, besides its rules.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// Presets that the user named.
    pub named: &'a [String],
    /// Share of a row's probes that may be without a grade.
    pub max_unscored: f64,
    /// What becomes of undecided findings.
    pub undecided: UndecidedPolicy,
}

/// More unscored probes than this leave no verdict (`semantics` 41).
pub const MAX_UNSCORED: f64 = 0.05;

/// Looks every rule up in a measured run.
pub fn check(report: &Report, rules: &[Parsed], terms: &Terms<'_>) -> Gate {
    let findings = |parsed: &Parsed| {
        let rows = spoken_of(report, &parsed.rule, terms.named);
        let each = |row: &&PresetRow| one(report, row, &parsed.rule, terms);
        let mut checks: Vec<Check> = rows.iter().map(each).collect();
        if checks.is_empty() {
            checks.push(nothing(&parsed.rule));
        }
        RuleFindings { rule: parsed.text.clone(), checks }
    };
    Gate { baseline: None, undecided: terms.undecided, rules: rules.iter().map(findings).collect() }
}

fn one(report: &Report, row: &PresetRow, rule: &Rule, terms: &Terms<'_>) -> Check {
    let doubt = doubt(report, row, rule, terms.max_unscored);
    match rule.limit {
        Limit::Figure(amount) => absolute::check(row, &rule.measure, rule.operator, amount, doubt),
        _ => unreachable!("a rule against a baseline is refused where there is none"),
    }
}

/// The rows that a rule speaks of, in printing order.
fn spoken_of<'a>(report: &'a Report, rule: &Rule, named: &[String]) -> Vec<&'a PresetRow> {
    let mut datasets: Vec<&str> =
        report.transcripts.iter().map(|facts| facts.dataset.as_str()).collect();
    datasets.dedup();
    let dataset = match (rule.dataset.as_deref(), datasets.as_slice()) {
        (Some(dataset), _) => dataset,
        (None, [only]) => only,
        (None, _) => ALL,
    };
    let preset = |row: &PresetRow| match &rule.preset {
        Some(preset) => *preset == row.strategy,
        None => named.contains(&row.strategy),
    };
    let window = |row: &PresetRow| rule.window.as_ref().is_none_or(|window| *window == row.window);
    let those =
        report.rows.iter().filter(|row| row.dataset == dataset && preset(row) && window(row));
    let mut rows: Vec<&PresetRow> = those.collect();
    if !measures::find(&rule.measure).is_ok_and(measures::Known::is_billed) {
        // Only the bill differs between those who pay.
        let mut seen = std::collections::BTreeSet::new();
        rows.retain(|row| seen.insert((row.strategy.as_str(), row.window.as_str())));
    }
    rows
}

/// A rule that speaks of no row: the run was cut off before.
fn nothing(rule: &Rule) -> Check {
    let or_any = |name: &Option<String>| name.clone().unwrap_or_else(|| "any".to_owned());
    Check {
        dataset: or_any(&rule.dataset),
        strategy: or_any(&rule.preset),
        window: or_any(&rule.window),
        agent_model: String::new(),
        measure: rule.measure.clone(),
        value: None,
        baseline: None,
        interval: None,
        transcripts: 0,
        finding: Finding::Missing,
        reason: "the run has no such row".to_owned(),
    }
}

/// Why a row's figure cannot be gated at all, if so.
fn doubt(report: &Report, row: &PresetRow, rule: &Rule, max_unscored: f64) -> Option<String> {
    if !row.failed.is_empty() {
        return Some(format!(
            "{} of the row failed: {}",
            words::counted(row.failed.len() as u64, "cell"),
            row.failed[0]
        ));
    }
    if !measures::find(&rule.measure).is_ok_and(measures::Known::rests_on_probes) {
        return None;
    }
    let own = report.cells.iter().filter(|cell| {
        cell.key.strategy == row.strategy
            && cell.key.window == row.window
            && (row.dataset == ALL || row.dataset == cell.key.dataset)
    });
    let share = unscored(&report.manifest, own);
    (share > max_unscored).then(|| {
        format!(
            "{:.0} % of its probes were not answered or not graded, more than {:.0} %",
            share * 100.0,
            max_unscored * 100.0
        )
    })
}

/// Share of probes that a model was to answer or grade and did not. What the
/// offline judge cannot grade, it never claims to.
pub fn unscored<'a>(manifest: &Manifest, cells: impl IntoIterator<Item = &'a Cell>) -> f64 {
    let model_judge = manifest.judge != OFFLINE;
    let (mut all, mut without) = (0_u32, 0_u32);
    for row in cells.into_iter().filter_map(Cell::rows).flat_map(|rows| &rows.probes) {
        let unanswered = matches!(row.answer, Answer::Nothing(_));
        all += 1;
        without += u32::from(unanswered || (model_judge && row.judgement.score.is_none()));
    }
    f64::from(without) / f64::from(all.max(1))
}
