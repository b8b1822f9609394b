//! The result of a search, put together from its race.

use super::held_back::{held_back, ranged};
use super::journal::Journal;
use super::race::{Fate, Objective, Race, Rule};
use super::recommend::{Recommended, status};
use super::settings::Settings;
use super::space::Space;
use super::split::{Split, sessions};
use crate::measure::{Clusters, estimate};
use crate::model::{
    OFFLINE, Ranged, TUNED_VERSION, Tuned, TunedRound, TunedSetting, TunedSplit, TunedStatus,
};
use crate::text::counted;

/// Everything that a result is made of.
pub struct Search<'a> {
    /// What was searched.
    pub space: &'a Space,
    /// The settings.
    pub settings: &'a Settings,
    /// The sessions.
    pub split: &'a Split,
    /// What was to be kept.
    pub objective: Objective,
    /// When settings were dropped.
    pub rule: Rule,
    /// Names of the data sets.
    pub title: String,
    /// Depth of the cuts.
    pub depth: u32,
}

/// The result of a search that has ended for a reason.
pub fn tuned(
    search: &Search<'_>,
    race: &Race,
    journal: &Journal,
    recommended: &Recommended,
    ended: &str,
) -> Tuned {
    let settings: Vec<TunedSetting> =
        (0..race.fates.len()).map(|at| setting(search, race, at)).collect();
    let in_search = sessions(&search.split.search);
    let held = journal.held_back.as_ref().and_then(|closed| {
        held_back(closed, &search.split.held_back, search.objective, search.rule.seed)
    });
    Tuned {
        version: TUNED_VERSION,
        base: search.space.base.clone(),
        title: search.title.clone(),
        measure: search.objective.measure().to_owned(),
        depth: search.depth,
        margin: search.rule.margin,
        false_drops: search.rule.false_drops,
        max_wait_s: search.rule.max_wait,
        seed: search.rule.seed,
        split: TunedSplit {
            by_project: search.split.by_project,
            search_sessions: in_search,
            search_clusters: search.split.search.len(),
            held_back_sessions: sessions(&search.split.held_back),
            held_back_clusters: search.split.held_back.len(),
        },
        combinations: search.space.size(),
        refused: search.settings.refused.clone(),
        rounds: rounds(race),
        cells: race.rounds.iter().map(|round| round.cells).sum(),
        all_cells: settings.len() as u64 * in_search as u64,
        ended: ended.to_owned(),
        recommended: recommended.setting,
        because: recommended.because.clone(),
        preset_file: None,
        held_back: held,
        notes: notes(search, race, &settings),
        settings,
    }
}

fn setting(search: &Search<'_>, race: &Race, at: usize) -> TunedSetting {
    let own = &search.settings.all[at];
    let clusters = &race.clusters[..race.done[at]];
    let (until_round, dominated_by, why) = match &race.fates[at] {
        Fate::Racing => (None, None, None),
        Fate::Dropped { round, by } => (Some(*round), Some(*by), None),
        Fate::Failed { round, why } => (Some(*round), None, Some(why.clone())),
    };
    let figure = |of: Clusters| estimate(&of, search.rule.seed).as_ref().map(ranged);
    let quality = race.figures.quality(at, clusters);
    let within = |range: Ranged| Ranged {
        lo: range.lo.map(|lo| lo.clamp(0.0, 1.0)),
        hi: range.hi.map(|hi| hi.clamp(0.0, 1.0)),
        ..range
    };
    TunedSetting {
        number: at,
        label: own.label(search.settings.author()),
        preset: own.preset.name.clone(),
        hash: own.preset.hash.clone(),
        window: own.window.as_ref().map(|window| window.label().to_owned()),
        compactor: own.compactor.clone(),
        status: status(race, at),
        sessions: race.figures.sessions(at, clusters),
        clusters: quality.n(),
        kept: figure(quality).map(within),
        usd: figure(race.figures.dollars(at, clusters))
            .map(|range| Ranged { lo: range.lo.map(|lo| lo.max(0.0)), ..range }),
        wait_p95_s: race.figures.wait_p95(at, clusters),
        until_round,
        dominated_by,
        why,
    }
}

fn rounds(race: &Race) -> Vec<TunedRound> {
    let round = |round: &super::race::Round| TunedRound {
        settings: round.work.settings.len(),
        clusters: round.work.to,
        cells: round.cells,
        dropped: round.dropped.clone(),
    };
    race.rounds.iter().map(round).collect()
}

/// What limits the figures.
fn notes(search: &Search<'_>, race: &Race, settings: &[TunedSetting]) -> Vec<String> {
    let mut notes = Vec::new();
    if search.space.derived {
        notes.push(format!(
            "the space follows from the numbers of {} itself: whole numbers at half and twice the \
             author's, shares at three and five quarters",
            search.space.base
        ));
    }
    if search.settings.all.iter().any(Space::is_offline) {
        notes.push(format!(
            "summaries are written by the {OFFLINE} stand-in, not by a model: what is kept, and \
             so which setting is best, may differ with a model (--compactor)"
        ));
    }
    if !search.split.by_project {
        notes.push(
            "sessions are split by session, since at most one project is known: held-back \
             sessions may resemble those of the search"
                .to_owned(),
        );
    }
    if race.schedule.level.is_none() {
        notes.push(format!(
            "with {} in the search no setting can be dropped at a chance of {} for a false one: \
             every setting is replayed on every session",
            counted(search.split.search.len(), "project or session"),
            search.rule.false_drops
        ));
    }
    let unpriced = race.figures.unpriced();
    if let Some((_, first)) = unpriced.first() {
        notes.push(format!(
            "{}, such as {first}, tell nothing of dollars: a price that some setting needs is not \
             known (a model with its prices: --agent-model, `recap models list`)",
            counted(unpriced.len(), "session")
        ));
    }
    let short = settings.iter().filter(|one| {
        matches!(one.status, TunedStatus::Frontier | TunedStatus::Behind)
            && race.done[one.number] < race.done.iter().copied().max().unwrap_or(0)
    });
    match short.count() {
        0 => {}
        n => notes.push(format!(
            "the budget ended before {} could be replayed on every session; such a setting is not recommended",
            counted(n, "setting")
        )),
    }
    notes
}
