//! The only confirmatory family of a run (reference §7): strategies × windows, the
//! primary measure, one comparator.
//!
//! Tests are paired by session and window, and replicates are averaged. Only
//! the rows of one billing model are used: what is kept does not depend on the billing model.
//! Controls and offline summaries are left out, and so are rows with failed cells,
//! because their exam is another one.

use crate::figures::rows::Entry;
use crate::findings::Evidence;
use crate::statistics::{Bounds, Clusters, FEWEST_FOR_AN_INTERVAL, LEVEL, holm, sign_flip, within};
use recap_core::model::{FULL, Family, Manifest, RECORDED, RowKind, TestOutcome, Tested};
use recap_core::text::{counted, form_for};

/// Name of the simplest strategy, which drops the oldest messages.
const RECENCY: &str = "fifo";

/// The family; `None` without a comparator or without a row to compare. Rows
/// are in printing order.
///
/// The comparator is the requested one, else `fifo`: a strategy must be better
/// than dropping the oldest messages. If `fifo` was not run, the comparator is
/// `recorded`, what the recorded agent really sent. It is never `full`: against
/// `full` there are intervals only.
pub fn family(run: &Evidence<'_>) -> Option<Family> {
    let Evidence { manifest, primary, rows, facts, .. } = run;
    let comparator = comparator(rows, manifest)?;
    let beside = |entry: &Entry| {
        let same = |other: &&&Entry| {
            other.row.strategy == comparator && other.row.window == entry.row.window
        };
        rows.iter().find(same).copied()
    };
    let is_tested = |entry: &&&Entry| {
        entry.row.row_kind == RowKind::Ranked
            && entry.row.failed.is_empty()
            && entry.row.strategy != comparator
    };
    let pairs = rows.iter().filter(is_tested).filter_map(|entry| {
        let pairs = entry.less(beside(entry)?, facts);
        (pairs.n() > 0).then_some((*entry, pairs))
    });
    let pairs: Vec<(&Entry, Clusters)> = pairs.collect();
    if pairs.is_empty() {
        return None;
    }
    let each = pairs.iter().map(|(_, pairs)| {
        let enough = pairs.n() >= FEWEST_FOR_AN_INTERVAL;
        (pairs.n(), enough.then(|| sign_flip(pairs, manifest.seed)))
    });
    let each: Vec<(usize, Option<f64>)> = each.collect();
    let (corrected, limit) = corrected(&each);
    let tests = pairs.iter().zip(each).zip(corrected).map(|(((entry, pairs), (_, p)), p_holm)| {
        let interval = pairs.confidence(manifest.seed);
        let interval = interval.map(|bounds| within(bounds, -primary.most(), primary.most()));
        Tested {
            strategy: entry.row.strategy.clone(),
            window: entry.row.window.clone(),
            clusters: pairs.n() as u64,
            difference: pairs.mean(),
            interval,
            p: p_holm.and(p),
            p_holm,
            mde: interval.map(|_| pairs.minimal_detectable()),
            outranks: outranks(pairs.values().all(|less| less == 0.0), interval, p_holm),
        }
    });
    Some(Family {
        measure: *primary,
        comparator: comparator.to_owned(),
        tests: tests.collect(),
        limit,
    })
}

/// Name of the comparator, if it was run.
fn comparator<'a>(rows: &[&Entry], manifest: &'a Manifest) -> Option<&'a str> {
    let ran = |name: &&str| rows.iter().any(|entry| entry.row.strategy == **name);
    match manifest.comparator.as_deref() {
        Some(asked) => Some(asked).filter(|name| *name != FULL).filter(ran),
        None => [RECENCY, RECORDED].into_iter().find(ran),
    }
}

/// Smallest p that the sign-flip test of this number of clusters can give: two
/// of its 2ⁿ patterns, all signs as observed and all reversed.
fn smallest_p(clusters: usize) -> f64 {
    2.0 * 0.5_f64.powi(clusters as i32)
}

/// The p of each test after Holm's correction, if the test is made, from its number of clusters and
/// its p; and what these numbers do not allow to conclude.
///
/// Tests with too few clusters for any p to be significant are left out of the
/// family. This depends on their number of clusters and never on their data, so
/// that they cost the other tests nothing (Tarone 1990, "A Modified Bonferroni
/// Method for Discrete Data").
pub(crate) fn corrected(tests: &[(usize, Option<f64>)]) -> (Vec<Option<f64>>, Option<String>) {
    let asked = tests.iter().filter(|(n, _)| *n >= FEWEST_FOR_AN_INTERVAL).count();
    let made = |&(n, p): &(usize, Option<f64>)| p.filter(|_| smallest_p(n) * asked as f64 <= LEVEL);
    let ps: Vec<Option<f64>> = tests.iter().map(made).collect();
    let mut corrected = holm(&ps.iter().flatten().copied().collect::<Vec<f64>>()).into_iter();
    let limit = limit(tests, corrected.len());
    (ps.into_iter().map(|p| p.and_then(|_| corrected.next())).collect(), limit)
}

/// What a test comes to: a difference requires both a small p and its interval. `is_alike`: whether
/// the difference of every pair is zero.
pub(crate) fn outranks(
    is_alike: bool,
    interval: Option<Bounds>,
    p_holm: Option<f64>,
) -> TestOutcome {
    if is_alike {
        return TestOutcome::Tie;
    }
    let Some((lo, hi)) = interval else { return TestOutcome::Descriptive };
    match p_holm.is_some_and(|p| p <= LEVEL) {
        true if lo > 0.0 => TestOutcome::Better,
        true if hi < 0.0 => TestOutcome::Worse,
        _ => TestOutcome::Undecided,
    }
}

/// What the numbers of clusters and of tests do not allow to conclude.
fn limit(tests: &[(usize, Option<f64>)], made: usize) -> Option<String> {
    let few = tests.iter().filter(|(n, _)| *n < FEWEST_FOR_AN_INTERVAL).count();
    let asked = tests.len() - few;
    let withheld = asked - made;
    let mut sentences = Vec::new();
    if withheld > 0 {
        let all = tests.iter().map(|(n, _)| *n);
        let clusters = all.filter(|n| smallest_p(*n) * asked as f64 > LEVEL).max().unwrap_or(0);
        let of = if made == 0 { String::new() } else { format!(" in {withheld} of them") };
        sentences.push(format!(
            "with {clusters} sessions or projects and {asked} comparisons the smallest possible p \
             is {:.3}: no difference{of} can be significant",
            (smallest_p(clusters) * asked as f64).min(1.0)
        ));
    }
    if few > 0 {
        sentences.push(format!(
            "{few} of {} {} on fewer than {FEWEST_FOR_AN_INTERVAL} sessions or projects: what was \
             seen is described, and nothing is tested",
            counted(tests.len(), "comparison"),
            form_for(few, "rests", "rest")
        ));
    }
    (!sentences.is_empty()).then(|| sentences.join("; "))
}

#[cfg(test)]
#[path = "family_tests.rs"]
mod tests;
