//! The reason for a finding of the gate, as a clause without a full stop.

use std::fmt::{Display, Formatter, Result};

use super::number::trimmed;
use crate::model::{CheckOutcome, Differs, Ground, Operator, Unit};
use crate::text::counted;

impl Display for Ground {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        out.write_str(&words(self))
    }
}

fn words(ground: &Ground) -> String {
    match ground {
        Ground::Compared { unit, figure, operator, limit, holds } => {
            compared(*unit, *figure, *operator, *limit, *holds)
        }
        Ground::Unchanged { unit, figure: same, sessions } => {
            format!("{}, unchanged in {}", figure(*unit, *same), counted(*sessions, "session"))
        }
        Ground::Differs(differs) => difference_to_baseline(differs),
        Ground::Incomparable { measure, amount } => {
            format!("`{measure}` cannot be compared with `{amount}`")
        }
        Ground::Unknown(problem) => problem.clone(),
        Ground::OfflineSummary => {
            "offline summary: its quality is that of our summaries, so it is gated \
                            against a baseline only; `--compactor MODEL` measures the strategy"
                .to_owned()
        }
        Ground::UnusableReplies => {
            "more than 5 % of the compactor's replies were unusable: its quality is \
                                that of the strategy's fallback"
                .to_owned()
        }
        Ground::NoFigure(why) => format!("no figure: {why}"),
        Ground::NotANumber => "no figure: it is not a number".to_owned(),
        Ground::NothingAsked => "no figure: nothing was asked".to_owned(),
        Ground::Interrupted(missing) => missing.to_string(),
        Ground::Failed { cells, first } => {
            format!("{} of the row failed: {first}", counted(*cells, "cell"))
        }
        Ground::Ungraded { share, most } => format!(
            "{:.0} % of its questions were not answered or not graded, more than {:.0} %",
            share * 100.0,
            most * 100.0
        ),
        Ground::NoBaseline => "there is no baseline".to_owned(),
        Ground::NoRow => "the run has no such row".to_owned(),
        Ground::NoSizes(why) => super::no_sizes(why),
        Ground::NoRowInBaseline => "the baseline has no such row".to_owned(),
        Ground::BaselineFailed { cells } => {
            format!("{} of the baseline's row failed", counted(*cells, "cell"))
        }
        Ground::NoPair => "no session has a figure both here and in the baseline".to_owned(),
        Ground::OtherFacts => "some session's cuts have other facts in the baseline: a cut \
                               failed in one of the runs, or they were cut at other places"
            .to_owned(),
        Ground::GoneFigures { sessions } => {
            format!("{} with a figure in the baseline and none here", counted(*sessions, "session"))
        }
        Ground::NegativeBaseline => {
            "the baseline's figure is negative: a part of it says nothing".to_owned()
        }
    }
}

/// For example `0.51 is below 0.8` or `0.91 is not below 0.8`.
fn compared(unit: Unit, own: f64, operator: Operator, limit: f64, holds: bool) -> String {
    let words = match operator {
        Operator::Below => "below",
        Operator::AtMost => "at most",
        Operator::Above => "above",
        Operator::AtLeast => "at least",
    };
    let not = if holds { "" } else { "not " };
    let (mut shown, mut against) = (figure(unit, own), figure(unit, limit));
    if shown == against && own != limit {
        // Rounded, the two numbers would be equal and contradict the finding.
        (shown, against) = (own.to_string(), limit.to_string());
    }
    format!("{shown} is {not}{words} {against}")
}

/// For example `0.71 against 0.8: -0.09, 95 % interval -0.15 to -0.03 over 10
/// sessions; -0.02 is allowed`.
fn difference_to_baseline(of: &Differs) -> String {
    let figure = |x| figure(of.unit, x);
    let change = |x| difference(of.unit, x);
    let sessions = counted(of.sessions, "session");
    let mut text =
        format!("{} against {}: {}", figure(of.figure), figure(of.baseline), change(of.difference));
    text += &match of.interval {
        Some((lo, hi)) if of.these_only => format!(
            ", 95 % interval {} to {}, on these sessions only ({sessions})",
            change(lo),
            change(hi)
        ),
        Some((lo, hi)) => {
            let over = if of.clusters == of.sessions {
                sessions
            } else {
                format!("{sessions} in {}", counted(of.clusters, "project or session"))
            };
            format!(", 95 % interval {} to {} over {over}", change(lo), change(hi))
        }
        None if of.outcome == CheckOutcome::Passed => {
            format!("; no session of {sessions} is worse")
        }
        None => format!(
            "; {sessions}, too few for an interval (from {} on), and there is none over the \
             requests of a session",
            of.fewest
        ),
    };
    text += &if of.allowed == 0.0 {
        "; no change for the worse is allowed".to_owned()
    } else {
        format!("; {} is allowed", change(of.allowed))
    };
    if let (CheckOutcome::Undecided, Some(least)) = (of.outcome, of.detectable) {
        text += &format!("; differences from {} on would be found (power 0.8)", figure(least));
    }
    text
}

/// A figure in few digits, with its unit if it has one.
fn figure(unit: Unit, x: f64) -> String {
    match unit {
        Unit::Dollars if x < 0.0 => format!("-${}", trimmed(-x, 4)),
        Unit::Dollars => format!("${}", trimmed(x, 4)),
        Unit::Milliseconds => format!("{} ms", trimmed(x, 1)),
        Unit::Tokens | Unit::Count if x.abs() >= 1e3 => trimmed(x, 0),
        Unit::Tokens | Unit::Count => trimmed(x, 1),
        Unit::Points => trimmed(x, 2),
        _ => trimmed(x, 4),
    }
}

/// A difference in few digits, with its sign.
fn difference(unit: Unit, x: f64) -> String {
    let text = figure(unit, x);
    if x > 0.0 && text != "0" { format!("+{text}") } else { text }
}
