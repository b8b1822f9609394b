//! Observations on the figures. Each has a relevance: the estimated effect on a
//! reader's choice, `0.0..=1.0`, and 0 if there is none.

use super::{Evidence, place_of};
use crate::rows::Entry;
use recap_core::model::FULL;
use recap_core::model::{DearBecause, Observation, Primary, RowKind, StrategyRow, catalogue};

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
    adds_nothing,
    order,
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
        Some((share, share * (1.0 - row.number(catalogue::REFERENCE_RECALL)?)))
    };
    let lost = window.ranked().into_iter().filter_map(|row| Some((row, weight(row)?)));
    let (row, (share, weight)) = lost.max_by(|a, b| a.1.1.total_cmp(&b.1.1))?;
    let observation = Observation::CannotBeFetched { row: place_of(row), share };
    (weight > 0.0).then_some((0.2 + weight * 1.5, observation))
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
#[path = "observations_tests.rs"]
mod tests;
