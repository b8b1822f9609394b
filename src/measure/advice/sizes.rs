//! The figures of one preset at contexts of each size.

use std::collections::{BTreeMap, BTreeSet};

use crate::measure::cluster::{clusters, weighed};
use crate::measure::statistics::{Clusters, quantile};
use crate::measure::waiting::km_median;
use crate::model::{Cut, CutBill, CutExam, CutRow, Estimate, Report, SizeFigures};

/// The first size ends here, in tokens; each further one ends at twice as many.
const SMALLEST: u64 = 4_000;

/// The figures of a preset at one size, with what each session kept.
pub(super) struct BySize {
    /// The figures.
    pub figures: SizeFigures,
    /// Share of the facts at stake that is kept, by position of the session.
    pub shares: BTreeMap<usize, f64>,
    /// Facts at stake of these sessions.
    pub weights: BTreeMap<usize, f64>,
}

/// A compaction that was forced.
struct Tried<'a> {
    /// Position of its session in the facts of the report.
    session: usize,
    cut: &'a Cut,
    /// Requests that were still to come.
    left: u32,
    exam: &'a CutExam,
    /// Nothing where a price is unknown.
    money: Option<Money>,
}

/// What a compaction is worth by the end of its session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Money {
    /// Dollars saved.
    pub saving: f64,
    /// Requests until it has saved what it cost; nothing where it never does.
    pub break_even: Option<f64>,
}

/// The money of a compaction that is followed by `left` requests, of which
/// `replayed` were replayed with and without it. Behind these it goes on saving
/// at its mean rate per request:
///
/// saving = `without` − `with` − `call` + rate × (left − replayed)
///
/// The break-even is the request at which the replayed bills met, if the one with
/// the compaction is still no higher where the replay ends, else the one at which
/// they would meet at that rate.
pub(super) fn money(bill: &CutBill, replayed: u32, left: u32) -> Option<Money> {
    let replayed_saving = bill.without_usd? - bill.with_usd? - bill.compactions_usd?;
    let rate = bill.saved_per_request_usd?;
    let met = bill.pays_after.filter(|_| replayed_saving >= 0.0).map(f64::from);
    let later = || (rate > 0.0).then(|| f64::from(replayed) + (-replayed_saving / rate).ceil());
    Some(Money {
        saving: replayed_saving + rate * f64::from(left.saturating_sub(replayed)),
        break_even: met.or_else(later),
    })
}

/// Lower and upper bound of the size that a context has, in tokens.
pub(super) fn bounds(tokens: u64) -> (u64, u64) {
    let mut to = SMALLEST;
    while tokens >= to {
        to *= 2;
    }
    (if to == SMALLEST { 0 } else { to / 2 }, to)
}

/// The figures of a preset by size, ascending. Cuts of runs that did not count
/// the requests to come are left out.
pub(super) fn by_size(report: &Report, cuts: &[Cut], strategy: &str) -> Vec<BySize> {
    let mut groups: BTreeMap<(u64, u64), Vec<Tried<'_>>> = BTreeMap::new();
    for cut in cuts {
        let of_preset = |row: &&CutRow| row.strategy == strategy;
        for exam in cut.rows.iter().filter(of_preset).filter_map(CutRow::exam) {
            if let Some(tried) = tried(report, cut, exam) {
                groups.entry(bounds(cut.tokens_before)).or_default().push(tried);
            }
        }
    }
    groups.into_iter().map(|(size, tried)| figures(report, size, &tried)).collect()
}

fn tried<'a>(report: &Report, cut: &'a Cut, exam: &'a CutExam) -> Option<Tried<'a>> {
    let key = (cut.dataset.as_str(), cut.transcript.as_str());
    let place = report
        .transcripts
        .binary_search_by(|facts| (&*facts.dataset, &*facts.transcript).cmp(&key));
    // A row that does not fit its cut is from another version of the data.
    if exam.states.len() != cut.facts.len() {
        return None;
    }
    let left = cut.left?;
    let money = match exam.compactions {
        0 => Some(Money { saving: 0.0, break_even: None }),
        _ => exam.bills.first().and_then(|bill| money(bill, cut.requests, left)),
    };
    Some(Tried { session: place.ok()?, cut, left, exam, money })
}

fn figures(report: &Report, (from, to): (u64, u64), tried: &[Tried<'_>]) -> BySize {
    let seed = report.manifest.seed;
    let acted: Vec<&Tried<'_>> = tried.iter().filter(|one| one.exam.compactions > 0).collect();
    let paid: Vec<Money> = acted.iter().filter_map(|one| one.money).collect();
    let waits = paid.iter().map(|money| match money.break_even {
        Some(requests) => (requests, true),
        None => (f64::INFINITY, false),
    });
    let back = paid.iter().filter(|money| money.saving >= 0.0).count();
    let (shares, weights) = kept(tried);
    let pooled = weighed(&report.transcripts, &shares, &weights);
    let sessions: BTreeSet<usize> = tried.iter().map(|one| one.session).collect();
    let of = |value: &dyn Fn(&Tried<'_>) -> f64| median(tried.iter().map(value)).unwrap_or(0.0);
    let figures = SizeFigures {
        from,
        to,
        tokens: of(&|one| one.cut.tokens_before as f64).round() as u64,
        cuts: cuts(tried.iter()),
        compacted: cuts(acted.iter().copied()),
        sessions: sessions.len() as u64,
        requests_left: of(&|one| f64::from(one.left)),
        extrapolated: cuts(tried.iter().filter(|one| one.left > one.cut.requests)),
        saving_usd: estimate(&clusters(&report.transcripts, &savings(tried)), seed),
        paid_back: (!paid.is_empty()).then(|| back as f64 / paid.len() as f64),
        break_even_requests: km_median(&waits.collect::<Vec<_>>()),
        facts: weights.values().sum::<f64>().round() as u64,
        kept: estimate(&pooled, seed).map(|kept| Estimate {
            lo: kept.lo.clamp(0.0, 1.0),
            hi: kept.hi.clamp(0.0, 1.0),
            ..kept
        }),
        missing: missing(tried),
        wait_ms: median(tried.iter().filter_map(|one| one.exam.blocking_ms)),
    };
    BySize { figures, shares, weights }
}

/// Number of cuts; repetitions of a compaction are at the same one.
fn cuts<'a>(tried: impl Iterator<Item = &'a Tried<'a>>) -> u64 {
    tried.map(|one| (one.session, one.cut.request)).collect::<BTreeSet<_>>().len() as u64
}

/// Mean saving of each session. Sessions with an unknown price are left out.
fn savings(tried: &[Tried<'_>]) -> BTreeMap<usize, f64> {
    let mut sums: BTreeMap<usize, Option<(f64, f64)>> = BTreeMap::new();
    for one in tried {
        let sum = sums.entry(one.session).or_insert(Some((0.0, 0.0)));
        *sum = sum.zip(one.money).map(|((sum, n), money)| (sum + money.saving, n + 1.0));
    }
    sums.into_iter().filter_map(|(session, sum)| sum.map(|(sum, n)| (session, sum / n))).collect()
}

/// Share of the facts that each session keeps, and how many are at stake;
/// repetitions have the same facts.
fn kept(tried: &[Tried<'_>]) -> (BTreeMap<usize, f64>, BTreeMap<usize, f64>) {
    let mut counts: BTreeMap<usize, (f64, f64)> = BTreeMap::new();
    let mut facts: BTreeMap<(usize, u32), usize> = BTreeMap::new();
    for one in tried.iter().filter(|one| !one.cut.facts.is_empty()) {
        let (kept, all) = counts.entry(one.session).or_default();
        *kept += one.exam.states.iter().filter(|state| state.is_kept()).count() as f64;
        *all += one.exam.states.len() as f64;
        facts.insert((one.session, one.cut.request), one.cut.facts.len());
    }
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    for ((session, _), facts) in facts {
        *weights.entry(session).or_default() += facts as f64;
    }
    let share = |(session, (kept, all)): (usize, (f64, f64))| (session, kept / all);
    (counts.into_iter().map(share).collect(), weights)
}

/// Facts of each class that are not kept, and all of them.
fn missing(tried: &[Tried<'_>]) -> BTreeMap<&'static str, (u64, u64)> {
    let mut classes: BTreeMap<&'static str, (u64, u64)> = BTreeMap::new();
    for one in tried {
        for (fact, state) in one.cut.facts.iter().zip(&one.exam.states) {
            let (missing, all) = classes.entry(fact.class.as_str()).or_default();
            *missing += u64::from(!state.is_kept());
            *all += 1;
        }
    }
    classes
}

/// The mean over clusters with its interval, or with the lowest and the highest
/// cluster where there are fewer than six; nothing without clusters.
pub(super) fn estimate(clusters: &Clusters, seed: u64) -> Option<Estimate> {
    let means = clusters.means();
    let described = means.first().copied().zip(means.last().copied())?;
    let interval = clusters.confidence(seed).map(|confidence| confidence.bounds());
    let (lo, hi) = interval.map_or(described, |bounds| (bounds.lo, bounds.hi));
    let (value, clusters) = (clusters.mean(), clusters.n() as u64);
    Some(Estimate { value, lo, hi, tested: interval.is_some(), clusters })
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| quantile(&sorted, 0.5))
}
