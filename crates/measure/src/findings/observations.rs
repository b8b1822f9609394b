//! Observations on the figures. Each has a relevance: the estimated effect on a
//! reader's choice, `0.0..=1.0`, and 0 if there is none.

use super::{Evidence, place_of};
use crate::rows::Entry;
use recap_core::model::FULL;
use recap_core::model::{
    DearBecause, Observation, Primary, RowKind, StrategyRow, Value, catalogue,
};

/// Largest number of observations of a run.
const MOST: usize = 3;
/// Smallest relevance of a reported observation.
const LEAST_RELEVANCE: f64 = 0.1;
/// Additional relevance that an observation at a later window needs.
const FIRST_WINDOW: f64 = 0.15;
/// Largest gain over plain recency that counts as no gain.
const NO_GAIN: f64 = 0.02;
/// Share from which everything counts as kept, because it is printed as 1.00.
const ALL_KEPT: f64 = 0.995;
/// Error of an estimator from which a trigger runs at another size than
/// intended.
const FAR_OFF: f64 = 0.15;
/// Smallest reported difference of bills, as a share.
const LEAST: f64 = 0.005;
/// Smallest saving of tokens at which a smaller bill would be expected.
const FEWER: f64 = 0.05;
/// Smallest share of requests with cache breaks that explains a bill.
const OFTEN: f64 = 0.05;

/// The relevance of an observation, and the observation.
type Candidate = (f64, Observation);

/// The rows over all sessions at one window for one agent model.
struct Window<'a> {
    label: &'a str,
    /// The agent model, if there are several.
    billed_as: Option<String>,
    rows: Vec<&'a Entry>,
    primary: Primary,
}

/// The functions that find observations at one window.
const AT_A_WINDOW: &[fn(&Window<'_>) -> Option<Candidate>] = &[
    less_sent_more_billed,
    refused_requests,
    beyond_recency,
    cannot_be_fetched,
    why_wrong,
    weakest_kind,
    adds_nothing,
    order,
    estimate_off,
    context_grew,
];

/// The observations with the largest relevance, in descending order.
pub fn choose(run: &Evidence<'_>) -> Vec<Observation> {
    let windows = windows(run);
    let best_of = |observe: &fn(&Window<'_>) -> Option<Candidate>| {
        let found = windows.iter().filter_map(observe);
        // The first window is the one that the user asked about most directly.
        found.reduce(|a, b| if b.0 > a.0 + FIRST_WINDOW { b } else { a })
    };
    let mut candidates: Vec<Candidate> = AT_A_WINDOW.iter().filter_map(best_of).collect();
    // The effect of windows on what is kept is the same for every billing model.
    let billing_model = windows.first().map(|window| &window.billed_as);
    let of_one = windows.iter().filter(|window| Some(&window.billed_as) == billing_model);
    candidates.extend(more_room(of_one.collect()));
    candidates.retain(|(relevance, _)| *relevance >= LEAST_RELEVANCE);
    candidates.sort_by(|a, b| b.0.total_cmp(&a.0));
    candidates.truncate(MOST);
    candidates.into_iter().map(|(_, observation)| observation).collect()
}

fn windows<'a>(run: &Evidence<'a>) -> Vec<Window<'a>> {
    let key = |entry: &'a Entry| (&entry.row.window, &entry.row.agent_model);
    let window = |rows: &[&'a Entry]| Window {
        label: &rows[0].row.window,
        billed_as: run.billing_model(&rows[0].row),
        rows: rows.to_vec(),
        primary: run.primary,
    };
    run.billed.chunk_by(|a, b| key(a) == key(b)).map(window).collect()
}

impl<'a> Window<'a> {
    /// Rows with a rank, best first.
    fn ranked(&self) -> Vec<&'a StrategyRow> {
        self.entries().into_iter().map(|e| &e.row).collect()
    }

    fn entries(&self) -> Vec<&'a Entry> {
        self.rows.iter().filter(|e| e.row.rank.is_some()).copied().collect()
    }

    /// Rows of strategies with or without a rank.
    fn strategies(&self) -> impl Iterator<Item = &'a StrategyRow> {
        self.rows.iter().map(|e| &e.row).filter(|r| r.row_kind != RowKind::Control)
    }

    fn named(&self, strategy: &str) -> Option<&'a StrategyRow> {
        self.rows.iter().map(|e| &e.row).find(|r| r.strategy == strategy)
    }

    /// The primary measure of a row, in its own unit.
    fn kept(&self, row: &StrategyRow) -> f64 {
        row.number(self.primary.measure()).unwrap_or(0.0)
    }

    /// The primary measure of a row as a share, `0.0..=1.0`.
    fn share(&self, row: &StrategyRow) -> f64 {
        self.kept(row) / self.primary.most()
    }

    /// Mean window in tokens over the cells of the rows.
    fn tokens(&self) -> f64 {
        self.rows.iter().map(|e| e.window_tokens).fold(0.0, f64::max)
    }

    /// Whether no provider would have issued the bill of the whole
    /// conversation, because it is larger than the window.
    fn is_hypothetical(&self) -> bool {
        self.named(FULL).is_some_and(|full| full.number(catalogue::OVERFLOWS) != Some(0.0))
    }
}

/// A strategy that sends less and has a higher bill (reference §2).
fn less_sent_more_billed(window: &Window<'_>) -> Option<Candidate> {
    let figures = |row: &StrategyRow| {
        let fewer = row.number(catalogue::TOKEN_SAVINGS)?;
        let saved = row.number(catalogue::COST_SAVINGS)?;
        (fewer >= FEWER && saved <= -LEAST).then_some((fewer, -saved))
    };
    let dear = window.ranked().into_iter().filter_map(|row| Some((row, figures(row)?)));
    let (row, (fewer, dearer)) = dear.max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let observation = Observation::LessSentMoreBilled {
        row: place_of(row),
        billed_as: window.billed_as.clone(),
        fewer,
        dearer,
        hypothetical: window.is_hypothetical(),
        why: why_dear(row),
    };
    Some((0.75 + dearer.min(1.0) * 0.25, observation))
}

fn why_dear(row: &StrategyRow) -> Option<DearBecause> {
    let breaks = row.number(catalogue::CACHE_BREAKS)?;
    let requests = row.number(catalogue::REQUESTS)?;
    if breaks >= OFTEN * requests {
        return Some(DearBecause::CacheBreaks { breaks, requests });
    }
    let share = row.number(catalogue::COMPACTION_COST_USD)? / row.number(catalogue::COST_USD)?;
    (share >= OFTEN).then_some(DearBecause::Compactions(share))
}

/// Strategies with requests that a provider would have refused.
fn refused_requests(window: &Window<'_>) -> Option<Candidate> {
    let refused = |row: &StrategyRow| {
        Some(row.number(catalogue::OVERFLOWS)? / row.number(catalogue::REQUESTS)?)
    };
    let over = window.ranked().into_iter().filter_map(|row| Some((row, refused(row)?)));
    let over = over.filter(|(_, share)| *share > 0.0);
    let mut rows: Vec<(String, f64)> =
        over.map(|(row, share)| (row.strategy.clone(), share)).collect();
    rows.sort_by(|a, b| b.1.total_cmp(&a.1));
    let worst = rows.first()?.1;
    let window = window.label.to_owned();
    Some((0.45 + worst.min(1.0) * 0.4, Observation::Refused { window, rows }))
}

/// Strategies that are no better than the newest messages of the same size, and
/// the best strategy.
fn beyond_recency(window: &Window<'_>) -> Option<Candidate> {
    let at_cuts = window.primary == Primary::FactsKept;
    let measure = if at_cuts { catalogue::GAIN_AT_CUT } else { catalogue::RECENCY_GAIN };
    let gains = window.ranked().into_iter().filter_map(|row| Some((row, row.number(measure)?)));
    let gains: Vec<(&StrategyRow, f64)> = gains.collect();
    let best = gains.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    // A strategy that keeps everything cannot be better than another one.
    let none =
        |(row, gain): &&(&StrategyRow, f64)| *gain <= NO_GAIN && window.share(row) < ALL_KEPT;
    let none: Vec<&(&StrategyRow, f64)> = gains.iter().filter(none).collect();
    let worst = none.iter().map(|(_, gain)| *gain).reduce(f64::min)?;
    let observation = Observation::NoBetterThanRecency {
        window: window.label.to_owned(),
        rows: none.iter().map(|(row, _)| row.strategy.clone()).collect(),
        worst,
        best: (best.1 > NO_GAIN).then(|| (best.0.strategy.clone(), best.1)),
    };
    Some((0.35 + (best.1 - worst).clamp(0.0, 1.0) / 2.0, observation))
}

/// Losses that no tool can retrieve again.
fn cannot_be_fetched(window: &Window<'_>) -> Option<Candidate> {
    let weight = |row: &StrategyRow| {
        let share = row.number(catalogue::IRRECOVERABLE)?;
        Some((share, share * row.number(catalogue::REFERENCE_LOST)?))
    };
    let lost = window.ranked().into_iter().filter_map(|row| Some((row, weight(row)?)));
    let (row, (share, weight)) = lost.max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let observation = Observation::CannotBeFetched { row: place_of(row), share };
    (weight > 0.0).then_some((0.2 + weight * 1.5, observation))
}

/// Whether the best strategy's wrong answers are due to dropped text, or to text
/// that is kept but not found.
fn why_wrong(window: &Window<'_>) -> Option<Candidate> {
    let best = *window.ranked().first()?;
    let lost = best.number(catalogue::LOST)?;
    let kept = best.number(catalogue::GARBLED)? + best.number(catalogue::UNUSED)?;
    let (wrong, gone) = (lost + kept, lost >= kept);
    let share = if gone { lost } else { kept } / wrong;
    let observation = Observation::WrongAnswers { row: place_of(best), share, gone };
    (wrong > 0.0).then_some((0.2 + wrong.min(1.0) * 0.3, observation))
}

/// The kind of question at which the best strategy is much below its mean.
fn weakest_kind(window: &Window<'_>) -> Option<Candidate> {
    let best = *window.ranked().first()?;
    let Value::Text(kind) = best.values.get(catalogue::WORST_KIND.id)? else { return None };
    let kept = best.number_of(&format!("continuity_{kind}"))?;
    let over_all = window.share(best) * 100.0;
    let (row, kind, gap) = (place_of(best), kind.clone(), over_all - kept);
    let observation = Observation::WeakestKind { row, kind, kept, over_all };
    (gap > 0.0).then_some((0.25 + gap.min(100.0) / 200.0, observation))
}

/// Strategies whose summaries keep no more than empty texts would.
fn adds_nothing(window: &Window<'_>) -> Option<Candidate> {
    let added = |row: &StrategyRow| {
        let (added, bounds) = row.added()?;
        let most = bounds.map_or(added, |(_, most)| most);
        (most <= NO_GAIN).then(|| (row.strategy.clone(), added))
    };
    let rows: Vec<(String, f64)> = window.strategies().filter_map(added).collect();
    (!rows.is_empty()).then_some((0.55, Observation::AddsNothing { rows }))
}

/// Whether the first two strategies keep their order in most sessions.
fn order(window: &Window<'_>) -> Option<Candidate> {
    let entries = window.entries();
    let (first, second) = (*entries.first()?, *entries.get(1)?);
    let pairs =
        (first.scores.iter()).filter_map(|(unit, value)| Some(value - second.scores.get(unit)?));
    let pairs: Vec<f64> = pairs.collect();
    let wins = pairs.iter().filter(|d| **d > 0.0).count();
    let losses = pairs.iter().filter(|d| **d < 0.0).count();
    if pairs.len() < 3 || wins == 0 {
        return None;
    }
    let shaky = losses as f64 / pairs.len() as f64;
    let observation = Observation::Order {
        window: window.label.to_owned(),
        first: first.row.strategy.clone(),
        second: second.row.strategy.clone(),
        wins,
        losses,
        of: pairs.len(),
    };
    Some((0.3 + shaky.min(0.5) * 0.6, observation))
}

/// A strategy whose own token counts are wrong.
fn estimate_off(window: &Window<'_>) -> Option<Candidate> {
    let error = |row: &StrategyRow| row.number(catalogue::ESTIMATOR_ERROR).unwrap_or(0.0);
    let worst = window.strategies().max_by(|a, b| error(a).abs().total_cmp(&error(b).abs()))?;
    let (row, error) = (place_of(worst), error(worst));
    (error.abs() >= FAR_OFF)
        .then_some((0.2 + error.abs().min(1.0) / 2.0, Observation::EstimateOff { row, error }))
}

/// Compactions that made the context longer.
fn context_grew(window: &Window<'_>) -> Option<Candidate> {
    let share = |row: &StrategyRow| {
        let all = row.number(catalogue::COMPACTIONS).filter(|n| *n > 0.0)?;
        Some((row.number(catalogue::INFLATED)? / all, all))
    };
    let grew = window.strategies().filter_map(|row| Some((row, share(row)?)));
    let (row, (share, compactions)) = grew.max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    // The length of an offline summary's summaries says little about the strategy.
    let weight = if row.row_kind == RowKind::OfflineSummary { 0.3 } else { 1.0 };
    let inflated = row.number(catalogue::INFLATED)?;
    let observation = Observation::ContextGrew { row: place_of(row), inflated, compactions };
    (share > 0.0).then_some((weight * (0.25 + share.min(1.0) / 2.0), observation))
}

/// What a larger window gains for the best strategy of the smallest window.
fn more_room(mut windows: Vec<&Window<'_>>) -> Option<Candidate> {
    windows.sort_by(|a, b| a.tokens().total_cmp(&b.tokens()));
    let (small, large) = (*windows.first()?, *windows.last()?);
    let best = *small.ranked().first()?;
    let later = large.named(&best.strategy).filter(|row| row.rank.is_some())?;
    let leader = *large.ranked().first()?;
    let change = (small.share(later) - small.share(best)).abs();
    let same = leader.strategy == best.strategy;
    // A larger window that changes no printed figure is not reported.
    if small.label == large.label || (same && change < LEAST) {
        return None;
    }
    let observation = Observation::MoreRoom {
        row: place_of(best),
        to: large.label.to_owned(),
        kept: (small.kept(best), large.kept(later)),
        leader: (!same).then(|| (leader.strategy.clone(), large.kept(leader))),
        by: small.primary,
    };
    Some((0.3 + change.min(1.0) / 2.0, observation))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, of_rows};
    use super::*;
    use crate::testkit::entry_at;
    use recap_core::model::Finding;

    const PRIMARY: &str = "reference_recall";

    /// A row over all sessions at the window `25%`.
    fn row(strategy: &str, rank: u32, values: &[(&str, f64)]) -> Entry {
        entry_at(("25%", 10_000.0), strategy, Some(rank), values)
    }

    fn found(table: &[Entry]) -> Vec<Finding> {
        of_rows(Primary::ReferenceRecall, table)
    }

    /// A bill with these savings of tokens and dollars, breaks of the cache at that many of 100
    /// requests, and that much of two dollars for compactions.
    fn billed(fewer: f64, saved: f64, breaks: f64, compactions: f64) -> Entry {
        let values = [
            ("token_savings", fewer),
            ("cost_savings", saved),
            ("cache_breaks", breaks),
            ("requests", 100.0),
            ("compaction_cost_usd", compactions),
            ("cost_usd", 2.0),
        ];
        row("prune", 1, &values)
    }

    #[test]
    fn less_sent_more_billed() {
        let whole =
            |overflows| entry_at(("25%", 10_000.0), "full", None, &[("overflows", overflows)]);
        let beside = |overflows| found(&[whole(overflows), billed(0.3, -0.4, 0.0, 0.0)]);
        let models = ["dear", "cheap"].map(|model| {
            let mut entry = billed(0.3, if model == "dear" { -0.4 } else { -0.1 }, 0.0, 0.0);
            entry.row.agent_model = model.to_owned();
            entry
        });
        let mut single = billed(0.3, -0.4, 0.0, 0.0);
        single.row.dataset = "d".into();
        check(
            "less_sent_more_billed",
            [
                ("30 % fewer tokens, 40 % dearer", beside(0.0)),
                ("full is over the window", beside(3.0)),
                ("four times as dear", found(&[billed(0.3, -3.0, 0.0, 0.0)])),
                (
                    "5 % fewer tokens, half a per cent dearer",
                    found(&[billed(0.05, -0.005, 0.0, 0.0)]),
                ),
                ("fewer than 5 % fewer tokens", found(&[billed(0.049, -0.4, 0.0, 0.0)])),
                ("0.4 % dearer", found(&[billed(0.3, -0.004, 0.0, 0.0)])),
                ("cheaper", found(&[billed(0.3, 0.4, 0.0, 0.0)])),
                ("the cache breaks at 5 of 100", found(&[billed(0.3, -0.4, 5.0, 0.5)])),
                ("compactions are 5 % of the bill", found(&[billed(0.3, -0.4, 4.0, 0.1)])),
                ("neither", found(&[billed(0.3, -0.4, 4.0, 0.09)])),
                ("two billing models", found(&models)),
                ("a row of one data set", found(&[single])),
            ],
        );
    }

    #[test]
    fn refused() {
        let over = |strategy, rank, overflows: f64| {
            row(strategy, rank, &[("overflows", overflows), ("requests", 400.0)])
        };
        let at = |window: &str, overflows: f64| {
            let values = [("overflows", overflows), ("requests", 400.0)];
            entry_at((window, 9.0), "prune", Some(1), &values)
        };
        check(
            "refused",
            [
                (
                    "1 and 300 of 400",
                    found(&[over("prune", 1, 1.0), over("fifo", 2, 300.0), over("window", 3, 0.0)]),
                ),
                ("none", found(&[over("prune", 1, 0.0)])),
                // 0.45 + 0.4 · 0.1 and 0.15 more, which is not enough; then 0.16 more.
                ("37.5 % more at the second window", found(&[at("25%", 40.0), at("50%", 190.0)])),
                ("40 % more there", found(&[at("25%", 40.0), at("50%", 200.0)])),
            ],
        );
    }

    #[test]
    fn no_better_than_recency() {
        let at_cuts = |gains: [f64; 3], kept: f64| {
            let values =
                |gain| [("facts_kept", kept), ("gain_at_cut", gain), ("recency_gain", 0.5)];
            let table = [
                row("a", 1, &values(gains[0])),
                row("b", 2, &values(gains[1])),
                row("c", 3, &values(gains[2])),
            ];
            of_rows(Primary::FactsKept, &table)
        };
        let gains = |strategy, rank, kept, gain| {
            row(strategy, rank, &[(PRIMARY, kept), ("recency_gain", gain)])
        };
        check(
            "no_better_than_recency",
            [
                (
                    "one of two",
                    found(&[gains("prune", 1, 0.8, 0.27), gains("fifo", 2, 0.3, -0.012)]),
                ),
                // 0.35 + (0.3 + 0.1) / 2; a gain of 0.02 is none.
                ("two of three at cuts", at_cuts([0.3, 0.02, -0.1], 0.6)),
                ("nor is the best", at_cuts([0.02, 0.01, 0.0], 0.6)),
                ("99.4 % kept", at_cuts([0.3, 0.0, 0.0], 0.994)),
                ("what is printed as 100 %", at_cuts([0.3, 0.0, 0.0], 0.995)),
                ("a gain that rounds to 0", found(&[gains("fifo", 1, 0.6, 0.001)])),
            ],
        );
    }

    #[test]
    fn adds_nothing() {
        let bounded = |strategy, rank, most| {
            let values =
                [("added_at_cut", 0.01), ("added_at_cut_lo", -0.1), ("added_at_cut_hi", most)];
            row(strategy, rank, &values)
        };
        let table = [
            row("alone", 1, &[("added_at_cut", 0.02)]),
            row("more", 2, &[("added_at_cut", 0.021)]),
            bounded("sure", 3, 0.02),
            bounded("open", 4, 0.2),
            entry_at(("25%", 9.0), "control", None, &[("added_at_cut", 0.0)]),
        ];
        check("adds_nothing", [("two of four", found(&table)), ("0.021", found(&table[1..2]))]);
    }
}
