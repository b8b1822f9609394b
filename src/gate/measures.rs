//! What rules can speak of: every measure, and the numbers derived from them.

use super::rule::{Amount, Mark};
use crate::measure::{Basis, Depth, MEASURES, Pool, Spec, Unit, depth_of};
use crate::model::suggest;

/// Measures that are counted by kind of probe.
pub const KINDED: [&str; 2] = ["recall", "continuity"];

/// Numbers of a row that are no measure of a transcript, with what they count
/// in; `None`: the unit of the measure that ranks.
const DERIVED: [(&str, Option<Unit>); 25] = [
    ("retention", Some(Unit::Ratio)),
    ("retention_lo", Some(Unit::Ratio)),
    ("retention_hi", Some(Unit::Ratio)),
    ("reference_recall_lo", Some(Unit::Share)),
    ("reference_recall_hi", Some(Unit::Share)),
    ("recall_lo", Some(Unit::Share)),
    ("recall_hi", Some(Unit::Share)),
    ("continuity_lo", Some(Unit::Points)),
    ("continuity_hi", Some(Unit::Points)),
    ("kept_at_cut_lo", Some(Unit::Share)),
    ("kept_at_cut_hi", Some(Unit::Share)),
    ("kept_at_cut_first_lo", Some(Unit::Share)),
    ("kept_at_cut_first_hi", Some(Unit::Share)),
    ("added_at_cut_lo", Some(Unit::Difference)),
    ("added_at_cut_hi", Some(Unit::Difference)),
    ("added_at_cut_first_lo", Some(Unit::Difference)),
    ("added_at_cut_first_hi", Some(Unit::Difference)),
    ("largest_share", Some(Unit::Share)),
    ("depth", Some(Unit::Count)),
    ("difference_to_full", None),
    ("difference_to_full_lo", None),
    ("difference_to_full_hi", None),
    ("mde", None),
    ("transcripts", Some(Unit::Count)),
    ("n_clusters", Some(Unit::Count)),
];

/// Columns that hold words, or a figure that no run has.
const WORDS: [&str; 8] = [
    "latency_source",
    "output_source",
    "tokens_source",
    "continuity_source",
    "worst_kind",
    "stand_in",
    "verdict_vs_full",
    "agent_model",
];

/// Something that a rule can speak of.
#[derive(Clone, Copy)]
pub enum Known {
    /// A measure of transcripts.
    Measure(&'static Spec),
    /// A number of the row as a whole.
    Derived(Option<Unit>),
}

/// What a column name stands for; else what is wrong with it and what helps.
pub fn find(id: &str) -> Result<Known, (String, String)> {
    if let Some(spec) = MEASURES.iter().find(|spec| spec.id == id) {
        return Ok(Known::Measure(spec));
    }
    if let Some((_, unit)) = DERIVED.iter().find(|(known, _)| *known == id) {
        return Ok(Known::Derived(*unit));
    }
    if WORDS.contains(&id) {
        let help = "a rule compares numbers: see the columns of summary.csv".to_owned();
        return Err((format!("`{id}` is a word, not a number"), help));
    }
    let like = suggest(id, ids());
    let known_by_kind = KINDED.iter().any(|of| id.starts_with(&format!("{of}_")));
    let help = match like.strip_prefix("known are") {
        None if known_by_kind => format!("{like} A kind of probe is written `recall[fact]`"),
        None => like,
        Some(_) => "the measures are the columns of summary.csv".to_owned(),
    };
    Err((format!("`{id}` is no measure"), help))
}

/// Every name that a rule may begin with.
pub fn ids() -> impl Iterator<Item = &'static str> {
    MEASURES.iter().map(|spec| spec.id).chain(DERIVED.iter().map(|(id, _)| *id))
}

impl Known {
    /// What it counts in.
    pub fn unit(self) -> Option<Unit> {
        match self {
            Known::Measure(spec) => Some(spec.unit),
            Known::Derived(unit) => unit,
        }
    }

    /// Whether it is billed, so that it differs between agent models.
    pub fn is_billed(self) -> bool {
        matches!(self, Known::Measure(spec) if matches!(spec.basis, Basis::Bill))
    }

    /// Whether it rests on graded answers.
    pub fn rests_on_probes(self) -> bool {
        match self {
            Known::Measure(spec) => {
                matches!(spec.basis, Basis::Probes) || ASKED_AT_CUTS.contains(&spec.id)
            }
            Known::Derived(unit) => unit != Some(Unit::Count),
        }
    }

    /// Whether what a summary says decides it, rather than how long contexts
    /// are: quality, and what loss costs. Where a stand-in wrote the
    /// summaries, such a figure is the stand-in's (measures §6).
    pub fn is_quality(self) -> bool {
        match self {
            Known::Measure(spec) if RESTS_ON_LOSS.contains(&spec.id) => true,
            Known::Measure(spec) if matches!(spec.basis, Basis::Cuts) => {
                !SIZES_AT_CUTS.contains(&spec.id.trim_end_matches("_first"))
            }
            Known::Measure(spec) => matches!(spec.basis, Basis::Probes | Basis::References(_)),
            Known::Derived(unit) => unit != Some(Unit::Count),
        }
    }

    /// At which depth it looks at cuts; `None`: it does not.
    pub fn at_cuts(self) -> Option<Depth> {
        match self {
            Known::Measure(spec) => depth_of(spec.id),
            Known::Derived(_) => None,
        }
    }

    /// Whether it is the median of waits, which a session has only where half
    /// of its waits are known to have ended.
    pub fn is_median_wait(self) -> bool {
        matches!(self, Known::Measure(spec) if spec.pool == Pool::WaitMedian)
    }

    /// Whether it is pooled over transcripts from what each has, so that two
    /// runs can be set against each other in pairs.
    pub fn pairs(self) -> bool {
        matches!(self, Known::Measure(spec) if spec.id != CPU)
    }

    /// An amount in the measure's own unit, or why it cannot be one.
    pub fn amount(self, amount: Amount) -> Result<f64, String> {
        let Amount { number, mark } = amount;
        let unit = self.unit();
        let timed = unit == Some(Unit::Milliseconds);
        let counted =
            matches!(unit, Some(Unit::Tokens | Unit::Count | Unit::Dollars | Unit::Milliseconds));
        match mark {
            Mark::Plain => Ok(number),
            Mark::Percent => match unit {
                Some(Unit::Points) => Ok(number),
                Some(Unit::Share | Unit::Difference | Unit::Ratio) => Ok(number / 100.0),
                _ => Err("a percentage of what? it is no share".to_owned()),
            },
            Mark::Thousand if counted && !timed => Ok(number * 1e3),
            Mark::Million if counted && !timed => Ok(number * 1e6),
            Mark::Milliseconds if timed => Ok(number),
            Mark::Seconds if timed => Ok(number * 1e3),
            _ => Err(format!("it does not count in `{}`", mark.as_str())),
        }
    }
}

/// CPU time differs from one machine to the next and from run to run.
const CPU: &str = "cpu_ms";

/// Figures of cuts that rest on when and how much a preset compacts, or on the
/// transcripts alone.
const SIZES_AT_CUTS: [&str; 5] =
    ["cuts", "facts_at_stake", "sessions_at_stake", "exposed_share", "tokens_at_cut"];

/// Figures of cuts that rest on graded answers.
const ASKED_AT_CUTS: [&str; 2] = ["continuity_at_cut", "continuity_at_cut_first"];

/// Figures of size and money that rest on what was lost.
const RESTS_ON_LOSS: [&str; 3] = ["cost_usd_refetch", "refetch_tokens", "irrecoverable_references"];
