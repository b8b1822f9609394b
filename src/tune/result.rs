//! The result of a search.

use super::figures::Objective;
use super::held_back::ranged;
use super::recommend::{Recommended, Searched};
use super::settings::Settings;
use super::space::Space;
use super::split::{Split, sessions};
use recap_core::model::{
    OFFLINE, Ranged, TUNED_VERSION, Tuned, TunedHeldBack, TunedSetting, TunedSplit,
};
use recap_core::text::counted;
use recap_measure::{Clusters, estimate};

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
    /// What was found on the sessions of the search.
    pub searched: Searched,
    /// How the setting that was found does on held-back sessions, if it is not
    /// the author's.
    pub held_back: Option<TunedHeldBack>,
    /// Names of the data sets.
    pub title: String,
    /// Depth of the cuts.
    pub depth: u32,
    /// Seed of the search.
    pub seed: u64,
}

/// The result of a search that has ended.
pub fn tuned(search: &Search<'_>, recommended: &Recommended) -> Tuned {
    Tuned {
        version: TUNED_VERSION,
        base: search.space.base.clone(),
        title: search.title.clone(),
        measure: search.objective.measure().to_owned(),
        depth: search.depth,
        max_wait_s: search.searched.max_wait,
        seed: search.seed,
        split: TunedSplit {
            by_project: search.split.by_project,
            search_sessions: sessions(&search.split.search),
            search_clusters: search.split.search.len(),
            held_back_sessions: sessions(&search.split.held_back),
            held_back_clusters: search.split.held_back.len(),
        },
        combinations: search.space.size(),
        settings: (0..search.settings.all.len()).map(|at| setting(search, at)).collect(),
        refused: search.settings.refused.clone(),
        recommended: recommended.setting,
        because: recommended.because.clone(),
        strategy_file: None,
        held_back: search.held_back.clone(),
        notes: notes(search),
    }
}

fn setting(search: &Search<'_>, at: usize) -> TunedSetting {
    let own = &search.settings.all[at];
    let figures = &search.searched.figures;
    let figure = |of: Clusters| estimate(&of, search.seed).as_ref().map(ranged);
    let quality = figures.quality(at);
    let within = |range: Ranged| Ranged {
        lo: range.lo.map(|lo| lo.clamp(0.0, 1.0)),
        hi: range.hi.map(|hi| hi.clamp(0.0, 1.0)),
        ..range
    };
    TunedSetting {
        number: at,
        label: own.label(search.settings.author()),
        strategy: own.strategy.name.clone(),
        hash: own.strategy.hash.clone(),
        window: own.window.as_ref().map(|window| window.label().to_owned()),
        compactor: own.compactor.clone(),
        status: search.searched.status(at),
        sessions: figures.sessions(at),
        clusters: quality.n(),
        kept: figure(quality).map(within),
        usd: figure(figures.dollars(at))
            .map(|range| Ranged { lo: range.lo.map(|lo| lo.max(0.0)), ..range }),
        wait_p95_s: figures.wait_p95(at),
        why: figures.failure(at),
    }
}

/// What limits the figures.
fn notes(search: &Search<'_>) -> Vec<String> {
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
            "summaries are written by the {OFFLINE} offline summary, not by a model: what is kept, and \
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
    let unpriced = search.searched.figures.unpriced();
    if let Some((_, first)) = unpriced.first() {
        notes.push(format!(
            "{}, such as {first}, tell nothing of dollars: a price that some setting needs is not \
             known (a model with its prices: --agent-model, `recap models list`)",
            counted(unpriced.len(), "session")
        ));
    }
    notes
}
