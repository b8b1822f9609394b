//! How sure a recommendation is: the range of what is kept, and the statistical comparison with
//! the whole conversation.

use recap_core::model::{AgainstFull, Interval, StrategyRow, catalogue};
use recap_core::text::counted;
use recap_core::wording::number::{distance, loss};
use recap_core::wording::{capital, kept};

use crate::cluster::noun;
use crate::findings::Evidence;
use crate::rows::Entry;

/// Shares below this value are not mentioned as numbers.
const LEAST: f64 = 0.001;

/// The range that is shown with the figure: "prune keeps 74 to 92 % from project to project".
pub(super) fn range(run: &Evidence<'_>, row: &StrategyRow) -> Option<String> {
    let (lo, hi, over) = match row.intervals.get(run.primary.id())? {
        Interval::Dots { values } => {
            // There is one value per cluster: sessions of one project count
            // once.
            let alone = row.number(catalogue::SESSIONS) == Some(values.len() as f64);
            let over = if alone { "from session to session" } else { "from project to project" };
            (*values.first()?, *values.last()?, over)
        }
        Interval::ThisSessionOnly { lo, hi } => (*lo, *hi, "within this session"),
        Interval::Student { lo, hi } | Interval::Wider { lo, hi } => (*lo, *hi, "(95 % interval)"),
    };
    let lo = kept(run.primary, lo);
    let hi = kept(run.primary, hi);
    Some(format!("{} keeps {} to {hi} {over}", row.strategy, lo.trim_end_matches(" %")))
}

/// The statistical comparison of a row with the whole conversation
/// (reference §7).
pub(super) fn compared_with_full(run: &Evidence<'_>, entry: &Entry) -> Option<String> {
    let (row, by) = (&entry.row, run.primary);
    let verdict = row.verdict?;
    let clusters = row.number(catalogue::N_CLUSTERS)? as u64;
    let with = counted(clusters, noun(entry.scores.keys().map(|unit| &run.facts[*unit])));
    let margin = distance(by, run.manifest.margin * by.most());
    Some(match verdict {
        AgainstFull::Descriptive => format!("{}: described, not decided.", capital(&with)),
        AgainstFull::Inferior => format!(
            "Over {with} it loses more than the margin of {margin} against the whole \
             conversation{}.",
            difference(run, row).unwrap_or_default()
        ),
        AgainstFull::Undecided => {
            // Without any spread every difference would be detected, which is not
            // informative.
            let informative = row.number(catalogue::MDE).filter(|mde| *mde >= LEAST * by.most());
            let missed = informative.map(|least| {
                let least = distance(by, least);
                format!("; a difference below {least} would be missed more than one time in five")
            });
            format!(
                "Whether it loses more than the margin of {margin} against the whole conversation \
                 stays open with {with}{}.",
                missed.unwrap_or_default()
            )
        }
        AgainstFull::ProvisionalNonInferior => format!(
            "Over {with} it stays within the margin of {margin} of the whole conversation, \
             provisionally: losses that are rare and heavy could still hide."
        ),
        AgainstFull::NonInferior => format!(
            "Over {with} it is not worse than the whole conversation by more than the margin of \
             {margin}."
        ),
    })
}

/// The mean loss with its interval: " (3 points; 95 % interval −2 to 8)".
fn difference(run: &Evidence<'_>, row: &StrategyRow) -> Option<String> {
    let mean = distance(run.primary, row.number(catalogue::DIFFERENCE_TO_FULL)?);
    // Losses are shown as positive numbers: the lower bound of the difference is the largest loss.
    let most = loss(run.primary, row.number(catalogue::DIFFERENCE_TO_FULL_LO)?);
    let least = loss(run.primary, row.number(catalogue::DIFFERENCE_TO_FULL_HI)?);
    Some(format!(" ({mean}; 95 % interval {least} to {most})"))
}
