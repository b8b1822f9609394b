//! Selects the row to recommend (how-it-works §47): never a row that compressed nothing,
//! keeps too little to be useful, or has no advantage over what needs no
//! strategy: what the recorded agent does today, and the whole conversation if it
//! fits. Of rows that cannot be distinguished the cheapest is selected.
//! Everything that recommends a row uses this module.

use crate::advice::recommendation::{ahead_but_over, keeps, limit};
use crate::figures::rows::Entry;
use crate::findings::Evidence;
use crate::statistics::Clusters;
use recap_core::model::{FULL, Manifest, Primary, RECORDED, StrategyRow, catalogue};
use recap_core::wording::kept;
use recap_core::wording::number::dollars;

/// Tolerance for rounding in what is kept.
const ROUNDING: f64 = 1e-9;
/// Ratio of two bills up to which they count as equal.
const SAME_BILL: f64 = 1.005;
/// Smallest share at which a row may be recommended: below, more is lost than
/// kept.
const ENOUGH: f64 = 0.5;

/// Whether a row keeps enough to be useful.
pub(crate) fn keeps_enough(row: &StrategyRow, primary: Primary) -> bool {
    row.number(primary.measure()).is_some_and(|kept| kept >= ENOUGH * primary.most() - ROUNDING)
}

/// The row to use at a window.
pub(crate) struct Preferred<'a> {
    /// The recommended row itself.
    pub row: &'a Entry,
    /// The row that keeps most, if it is another one.
    pub best: Option<&'a Entry>,
}

/// Why no row is preferred: the row that keeps most of those that were considered, and a sentence;
/// absent where no row has a rank.
pub(crate) type NotPreferred<'a> = Option<(&'a Entry, String)>;

/// The row to use among those of one window, in printing order. Rows of which
/// a provider would often have refused a request are left out as long as there
/// are others.
pub(crate) fn prefer<'a>(
    run: &Evidence<'a>,
    rows: &[&'a Entry],
) -> Result<Preferred<'a>, NotPreferred<'a>> {
    let ranked: Vec<&'a Entry> = rows.iter().filter(|e| e.row.rank.is_some()).copied().collect();
    let fits: Vec<&'a Entry> = ranked.iter().filter(|e| !is_over(e)).copied().collect();
    let all = if fits.is_empty() { ranked } else { fits };
    let Some(&best) = all.first() else { return Err(None) };
    let acted: Vec<&'a Entry> = all.into_iter().filter(|e| e.acted).collect();
    let Some(&best_acted) = acted.first() else {
        return Err(Some((best, none_acted(run, &best.row))));
    };
    let enough = |e: &&&'a Entry| keeps_enough(&e.row, run.primary);
    let enough: Vec<&'a Entry> = acted.iter().filter(enough).copied().collect();
    let Some(&best) = enough.first() else {
        return Err(Some((best_acted, too_little(run, &best_acted.row))));
    };
    let worth = worth(run, rows, &enough)?;
    let first = *worth.first().ok_or(None)?;
    let alike = worth.iter().filter(|e| !keeps_more(run, first, e));
    let row = cheapest(alike.copied()).unwrap_or(first);
    Ok(Preferred { row, best: (!std::ptr::eq(best, row)).then_some(best) })
}

/// The rows with an advantage over what needs no strategy; if there is none,
/// the error names the cheapest of the latter.
fn worth<'a>(
    run: &Evidence<'a>,
    rows: &[&'a Entry],
    enough: &[&'a Entry],
) -> Result<Vec<&'a Entry>, NotPreferred<'a>> {
    let named = |name: &str| rows.iter().find(|e| e.row.strategy == name).copied();
    let (today, whole) = (named(RECORDED), named(FULL).filter(|e| !is_over(e)));
    let mut worth = enough.to_vec();
    // No row keeps more than the whole conversation does.
    if let Some(whole) = whole {
        worth.retain(|e| is_cheaper(e, whole));
        if worth.is_empty() {
            return Err(Some((enough[0], no_gain(run, &enough[0].row, &whole.row))));
        }
    }
    if let Some(today) = today {
        worth.retain(|e| !is_dearer(e, today) || keeps_more(run, e, today));
        if worth.is_empty() {
            return Err(Some((enough[0], no_gain(run, &enough[0].row, &today.row))));
        }
    } else if let Some(least) = cheapest(enough.iter().copied()) {
        worth.retain(|e| !is_dearer(e, least) || keeps_more(run, e, least));
    }
    Ok(worth)
}

/// That no ranked row compacted anything, and where it is known which one keeps most.
fn none_acted(run: &Evidence<'_>, best: &StrategyRow) -> String {
    let at_cuts = run.primary == Primary::FactsKept && best.number(run.primary.measure()).is_some();
    let most = format!(
        "; where a compaction was made to happen, {} keeps most ({})",
        best.strategy,
        keeps(run, best)
    );
    format!(
        "At {} no strategy that needs no model had anything to compact{}.",
        limit(&best.window),
        if at_cuts { most } else { String::new() }
    )
}

/// That the row that keeps most keeps too little.
fn too_little(run: &Evidence<'_>, best: &StrategyRow) -> String {
    format!(
        "At {} {}, which is less than {}: leave the context more room, or have a model write \
         summaries.",
        limit(&best.window),
        keeps_most(run, best),
        kept(run.primary, ENOUGH * run.primary.most())
    )
}

/// That no row has an advantage over `other`, which needs no strategy.
fn no_gain(run: &Evidence<'_>, best: &StrategyRow, other: &StrategyRow) -> String {
    let at = limit(&best.window);
    let usd = |row: &StrategyRow| row.number(catalogue::COST_USD).map(dollars);
    let bill = usd(other).unwrap_or_else(|| "price unknown".to_owned());
    let instead = if other.strategy == RECORDED {
        format!("At {at} keep what the agent does ({bill} today): nothing")
    } else {
        format!("Send the whole conversation ({bill}): it fits {at}, and nothing")
    };
    let own = usd(best).unwrap_or_else(|| "a bill whose storage has no known price".to_owned());
    let most = keeps_most(run, best);
    format!("{instead} that keeps half of the facts costs less; {most} for {own}.")
}

/// For example "prune keeps most within the window (40 %)".
fn keeps_most(run: &Evidence<'_>, best: &StrategyRow) -> String {
    let within = if ahead_but_over(run, best).is_some() { " within the window" } else { "" };
    format!("{} keeps most{within} ({})", best.strategy, keeps(run, best))
}

/// Whether one row keeps more than another: beyond the interval of their
/// paired difference, or with too few clusters for an interval by more than
/// the margin. An unknown difference does not count as more.
fn keeps_more(run: &Evidence<'_>, one: &Entry, other: &Entry) -> bool {
    is_more(&one.less(other, run.facts), run.manifest, run.primary.most())
}

fn is_more(pairs: &Clusters, manifest: &Manifest, most: f64) -> bool {
    match pairs.confidence(manifest.seed) {
        Some((least, _)) => least > 0.0,
        None => pairs.n() > 0 && pairs.mean() > manifest.margin * most + ROUNDING,
    }
}

/// Whether a provider would have refused more than a few of the row's requests.
fn is_over(entry: &Entry) -> bool {
    entry.row.refused_often().is_some()
}

/// Both bills, if they are known.
fn bills(one: &Entry, other: &Entry) -> Option<(f64, f64)> {
    Some((one.row.number(catalogue::COST_USD)?, other.row.number(catalogue::COST_USD)?))
}

fn is_dearer(one: &Entry, other: &Entry) -> bool {
    let dearer = bills(one, other).is_some_and(|(one, other)| one > other * SAME_BILL);
    one.row.lacks_storage() || dearer
}

/// A row with an unknown bill counts as cheaper, but not one of whose bill the
/// storage is unknown: what is not billed is not saved.
fn is_cheaper(one: &Entry, other: &Entry) -> bool {
    let cheaper = bills(one, other).is_none_or(|(one, other)| one * SAME_BILL < other);
    !one.row.lacks_storage() && cheaper
}

/// The row with the smallest bill, the first of equals; `None` if no bill is
/// known.
fn cheapest<'a>(rows: impl Iterator<Item = &'a Entry>) -> Option<&'a Entry> {
    let billed = rows.filter_map(|entry| Some((entry, entry.row.number(catalogue::COST_USD)?)));
    billed.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(entry, _)| entry)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{CellBuilder, answer, entry_at, keeps, manifest, run, twenty_references};
    use recap_core::model::RECORDED as BY_MODEL;
    use recap_core::model::{Absent, Value};

    /// A row with this figure.
    fn with(id: &str, value: f64) -> Entry {
        entry_at(("25%", 10_000.0), "x", Some(1), &[(id, value)])
    }

    #[test]
    fn bills_within_half_a_percent_count_as_equal() {
        let usd = |usd| with("cost_usd", usd);
        let unknown = || with("overflows", 0.0);
        let dearer = |one: f64, other: f64| is_dearer(&usd(one), &usd(other));
        let cheaper = |one: f64, other: f64| is_cheaper(&usd(one), &usd(other));
        assert!(dearer(2.02, 2.0) && !dearer(2.0 * 1.005, 2.0) && !dearer(2.0, 2.02));
        assert!(cheaper(2.0, 2.02) && !cheaper(2.0, 2.0 * 1.005) && !cheaper(2.02, 2.0));
        assert!(!is_dearer(&unknown(), &usd(1.0)) && is_cheaper(&unknown(), &usd(1.0)));
    }

    #[test]
    fn bill_without_its_storage_is_no_saving() {
        let mut lacks = with("overflows", 0.0);
        let why = Value::Absent(Absent::Storage("gemini".to_owned()));
        lacks.row.values.insert("cost_usd".to_owned(), why);
        let whole = with("cost_usd", 2.0);
        assert!(!is_cheaper(&lacks, &whole) && is_dearer(&lacks, &whole));
        let cheapest = cheapest([&lacks, &whole].into_iter()).unwrap();
        assert!(std::ptr::eq(cheapest, &whole));
    }

    #[test]
    fn half_of_the_measure_is_enough() {
        let enough = |primary: Primary, kept| keeps_enough(&with(primary.id(), kept).row, primary);
        let recall = Primary::ReferenceRecall;
        assert_eq!([0.5, 0.499].map(|kept| enough(recall, kept)), [true, false]);
        // In floating point a half may be slightly less.
        assert!(enough(recall, 0.5 - 1e-12));
        let continuity = Primary::Continuity;
        assert_eq!([50.0, 49.9, 0.9].map(|kept| enough(continuity, kept)), [true, false, false]);
        assert!(!keeps_enough(&with("overflows", 0.0).row, recall));
    }

    #[test]
    fn few_clusters_keep_more_only_beyond_the_margin() {
        let more = |difference, most| {
            let pairs = Clusters::new(vec![vec![difference]; 3]);
            is_more(&pairs, &manifest(&["25%"]), most)
        };
        // The margin is 0.05 of the measure.
        assert_eq!([0.06, 0.05, 0.04].map(|by| more(by, 1.0)), [true, false, false]);
        assert_eq!([5.1, 5.0, 0.06].map(|by| more(by, 100.0)), [true, false, false]);
        let one = |by| is_more(&Clusters::new(vec![vec![by]]), &manifest(&["25%"]), 1.0);
        assert!(!one(0.05 + 1e-9) && one(0.05 + 1e-6), "up to rounding");
        // Many clusters without any spread: the interval is a point.
        let exact = |by| is_more(&Clusters::new(vec![vec![by]; 6]), &manifest(&["25%"]), 1.0);
        assert_eq!([0.01, 0.0, -0.01].map(exact), [true, false, false]);
        assert!(!is_more(&Clusters::new(Vec::new()), &manifest(&["25%"]), 1.0));
    }

    /// A cell that keeps this many of 20 references at this many tokens a
    /// request.
    fn row(id: &str, strategy: &str, kept: usize, tokens: u64) -> CellBuilder {
        let cell = keeps(id, strategy, kept).compaction(90, 50);
        cell.bill(BY_MODEL, "dear", &[(tokens, 0, 0); 10])
    }

    #[test]
    fn interval_instead_of_margin_decides_from_six_sessions() {
        // Nine of ten sessions lose 1 of 20 and one gains 4: -0.025, and the
        // interval of the difference contains 0; if all lose 2 it does not.
        let ids: Vec<String> = (0..10).map(|n| format!("s{n}")).collect();
        let sessions = || ids.iter().map(|id| twenty_references(id)).collect::<Vec<_>>();
        let cells = |b: &dyn Fn(usize) -> usize| {
            let each = ids.iter().enumerate();
            each.flat_map(|(n, id)| {
                [row(id, "a", 15, 400).build(), row(id, "b", b(n), 200).build()]
            })
            .collect::<Vec<_>>()
        };
        let open = run(sessions(), cells(&|n| if n == 0 { 19 } else { 14 }));
        assert!(answer(&open).contains("At a window of 25 % use b"), "{}", answer(&open));
        let worse = run(sessions(), cells(&|_| 14));
        assert!(answer(&worse).contains("At a window of 25 % use a"), "{}", answer(&worse));
    }
}
