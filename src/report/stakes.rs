//! What became of the facts at stake, counted over all cuts of a run. The page
//! and `summary.json` tell the same counts.
//!
//! Every fact counts once for each repetition, whatever its session; the
//! measures weigh sessions instead, so their shares may differ.

use std::collections::{BTreeMap, BTreeSet};

use super::block;
use crate::model::{Cut, CutExam, CutRow, FactAtStake, ReferenceState, Report, Standing};

/// Every state, the best first.
pub(super) const STATES: [ReferenceState; 6] = [
    ReferenceState::Verbatim,
    ReferenceState::Carried,
    ReferenceState::Bare,
    ReferenceState::Partial,
    ReferenceState::Recovered,
    ReferenceState::Lost,
];

/// Requests from the cut on, first and last: near, later, far (cuts §2).
const DISTANCES: [(u32, u32, &str); 3] = [(1, 5, "1-5"), (6, 20, "6-20"), (21, 40, "21-40")];

/// Tokens of the material below which each size ends: from the least that is
/// cut (4,000) to a window of today's models, four times as much each.
const SIZES: [(u64, &str); 4] =
    [(8_000, "under 8k"), (32_000, "8k-32k"), (128_000, "32k-128k"), (u64::MAX, "128k and more")];

/// Facts by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts([u64; STATES.len()]);

impl Counts {
    fn add(&mut self, state: ReferenceState) {
        let at = STATES.iter().position(|other| *other == state);
        self.0[at.expect("every state is listed")] += 1;
    }

    /// Each state with its facts, the best first.
    pub(super) fn each(self) -> impl Iterator<Item = (ReferenceState, u64)> {
        STATES.into_iter().zip(self.0)
    }

    /// Facts in all.
    pub(super) fn all(self) -> u64 {
        self.0.iter().sum()
    }

    /// Facts that the context still told.
    pub(super) fn kept(self) -> u64 {
        self.each().filter(|(state, _)| state.is_kept()).map(|(_, n)| n).sum()
    }

    /// Part of them that was kept; nothing where there are none.
    pub(super) fn share(self) -> Option<f64> {
        (self.all() > 0).then(|| self.kept() as f64 / self.all() as f64)
    }
}

/// What facts are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    /// Requests from the cut to the use.
    Distance,
    /// Kind of identifier.
    Class,
    /// Tokens of the material.
    Size,
    /// Data set; only where there are several.
    Dataset,
}

impl By {
    const ALL: [By; 4] = [By::Distance, By::Class, By::Size, By::Dataset];

    /// The name of a field of `summary.json`.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            By::Distance => "distance",
            By::Class => "class",
            By::Size => "size",
            By::Dataset => "dataset",
        }
    }

    /// The group of a fact: its place among the groups, and its name.
    fn group<'a>(self, cut: &'a Cut, fact: &FactAtStake) -> (usize, &'a str) {
        match self {
            By::Distance => {
                let requests = fact.request.saturating_sub(cut.request) + 1;
                let within = DISTANCES.iter().position(|(_, last, _)| requests <= *last);
                let at = within.unwrap_or(DISTANCES.len() - 1);
                (at, DISTANCES[at].2)
            }
            By::Class => (fact.class as usize, fact.class.as_str()),
            By::Size => {
                let tokens = cut.tokens_before.saturating_sub(cut.preamble_tokens);
                let within = SIZES.iter().position(|(end, _)| tokens < *end);
                let at = within.unwrap_or(SIZES.len() - 1);
                (at, SIZES[at].1)
            }
            By::Dataset => (0, &cut.dataset),
        }
    }
}

/// A depth of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DepthCount {
    pub(super) depth: u32,
    /// Cuts that were examined at this depth.
    pub(super) cuts: usize,
    /// Facts at stake there.
    pub(super) facts: usize,
}

/// A preset over all cuts.
#[derive(Debug)]
pub(super) struct Preset<'a> {
    pub(super) strategy: &'a str,
    pub(super) standing: Standing,
    /// In the order of the depths.
    pub(super) depths: Vec<Counts>,
    /// Facts whose request the provider would have refused, in the same order.
    pub(super) refused: Vec<u64>,
}

/// Facts told apart, at the greatest depth.
#[derive(Debug)]
pub(super) struct Breakdown<'a> {
    pub(super) by: By,
    /// Name of each group, and how many facts it has.
    pub(super) groups: Vec<(&'a str, usize)>,
    /// For each preset, in their order, the groups.
    pub(super) rows: Vec<Vec<Counts>>,
}

/// The cuts of a run.
#[derive(Debug)]
pub(super) struct Stakes<'a> {
    pub(super) cuts: usize,
    pub(super) facts: usize,
    /// Sessions with facts at stake.
    pub(super) sessions: usize,
    pub(super) depths: Vec<DepthCount>,
    /// In the order of the comparison, without nulls.
    pub(super) presets: Vec<Preset<'a>>,
    pub(super) breakdowns: Vec<Breakdown<'a>>,
}

/// Counts the cuts of a run; nothing where it has none.
pub(super) fn stakes(report: &Report) -> Option<Stakes<'_>> {
    if report.cuts.is_empty() {
        return None;
    }
    let depths: Vec<DepthCount> =
        report.manifest.depths.iter().map(|depth| of_depth(report, *depth)).collect();
    let mut presets: Vec<Preset<'_>> = Vec::new();
    for (strategy, standing) in block::presets(report) {
        let own = |at: &DepthCount| exams(report, strategy, at.depth);
        let preset = Preset {
            strategy,
            standing,
            depths: depths.iter().map(|at| counts(own(at))).collect(),
            refused: depths.iter().map(|at| refused(own(at))).collect(),
        };
        if preset.depths.iter().any(|counts| counts.all() > 0) {
            presets.push(preset);
        }
    }
    let with_facts = report.cuts.iter().filter(|cut| !cut.facts.is_empty());
    let sessions: BTreeSet<(&str, &str)> =
        with_facts.map(|cut| (cut.dataset.as_str(), cut.transcript.as_str())).collect();
    let greatest = depths.last().map(|at| at.depth);
    let breakdowns = greatest.map(|depth| breakdowns(report, depth, &presets));
    Some(Stakes {
        cuts: report.cuts.len(),
        facts: report.cuts.iter().map(|cut| cut.facts.len()).sum(),
        sessions: sessions.len(),
        breakdowns: breakdowns.unwrap_or_default(),
        depths,
        presets,
    })
}

fn of_depth(report: &Report, depth: u32) -> DepthCount {
    let here = report.cuts.iter().filter(|cut| cut.rows.iter().any(|row| row.depth == depth));
    let facts: Vec<usize> = here.map(|cut| cut.facts.len()).collect();
    DepthCount { depth, cuts: facts.len(), facts: facts.iter().sum() }
}

/// The exams of a preset at a depth, those of every repetition. One that does
/// not fit its cut is from another version of the data and left out.
pub(super) fn exams<'a>(
    report: &'a Report,
    strategy: &str,
    depth: u32,
) -> impl Iterator<Item = (&'a Cut, &'a CutExam)> {
    let rows = report.cuts.iter().flat_map(|cut| cut.rows.iter().map(move |row| (cut, row)));
    let own = rows
        .filter(move |(_, row): &(&Cut, &CutRow)| row.depth == depth && row.strategy == strategy);
    let done = own.filter_map(|(cut, row)| Some((cut, row.exam()?)));
    done.filter(|(cut, exam)| cut.facts.len() == exam.states.len())
}

fn counts<'a>(exams: impl Iterator<Item = (&'a Cut, &'a CutExam)>) -> Counts {
    let mut counts = Counts::default();
    for (_, exam) in exams {
        exam.states.iter().for_each(|state| counts.add(*state));
    }
    counts
}

fn refused<'a>(exams: impl Iterator<Item = (&'a Cut, &'a CutExam)>) -> u64 {
    exams.map(|(_, exam)| exam.refused.len() as u64).sum()
}

fn breakdowns<'a>(report: &'a Report, depth: u32, presets: &[Preset<'a>]) -> Vec<Breakdown<'a>> {
    let here = report.cuts.iter().filter(|cut| cut.rows.iter().any(|row| row.depth == depth));
    let cuts: Vec<&Cut> = here.collect();
    let datasets: BTreeSet<&str> = cuts.iter().map(|cut| cut.dataset.as_str()).collect();
    let shown = By::ALL.into_iter().filter(|by| *by != By::Dataset || datasets.len() > 1);
    shown.map(|by| breakdown(report, depth, presets, &cuts, by)).collect()
}

fn breakdown<'a>(
    report: &'a Report,
    depth: u32,
    presets: &[Preset<'a>],
    cuts: &[&'a Cut],
    by: By,
) -> Breakdown<'a> {
    let mut groups: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    for cut in cuts {
        for fact in &cut.facts {
            *groups.entry(by.group(cut, fact)).or_default() += 1;
        }
    }
    let row = |preset: &Preset<'a>| {
        let mut counts: BTreeMap<(usize, &str), Counts> = BTreeMap::new();
        for (cut, exam) in exams(report, preset.strategy, depth) {
            for (fact, state) in cut.facts.iter().zip(&exam.states) {
                counts.entry(by.group(cut, fact)).or_default().add(*state);
            }
        }
        groups.keys().map(|key| counts.get(key).copied().unwrap_or_default()).collect()
    };
    let rows = presets.iter().map(row).collect();
    Breakdown { by, rows, groups: groups.into_iter().map(|((_, name), n)| (name, n)).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testkit::{Kit, cut};

    fn row_of<'a>(stakes: &'a Stakes<'_>, by: By, strategy: &str) -> Vec<(&'a str, u64, u64)> {
        let at = stakes.presets.iter().position(|preset| preset.strategy == strategy).unwrap();
        let table = stakes.breakdowns.iter().find(|table| table.by == by).unwrap();
        let cells = table.groups.iter().zip(&table.rows[at]);
        cells.map(|((name, _), counts)| (*name, counts.kept(), counts.all())).collect()
    }

    #[test]
    fn facts_are_counted_by_state_and_depth_over_all_cuts_and_nulls_are_no_preset() {
        let report = cut(Kit::default().report());
        let stakes = stakes(&report).unwrap();
        assert_eq!((stakes.cuts, stakes.facts, stakes.sessions), (3, 4, 2));
        let told = stakes.depths.iter().map(|at| (at.depth, at.cuts, at.facts));
        assert_eq!(told.collect::<Vec<_>>(), [(1, 3, 4), (3, 2, 4)]);
        let names: Vec<&str> = stakes.presets.iter().map(|preset| preset.strategy).collect();
        assert_eq!(names, ["full", "prune", "fifo"]);
        let prune = &stakes.presets[1];
        assert_eq!(prune.depths, [Counts([2, 1, 0, 0, 0, 1]), Counts([0, 1, 1, 1, 0, 1])]);
        assert_eq!((prune.depths[0].kept(), prune.depths[0].share()), (3, Some(0.75)));
        // It failed at the second cut, whose facts it is not asked for.
        assert_eq!(stakes.presets[2].depths[1], Counts([0, 0, 0, 0, 1, 1]));
        assert_eq!(stakes.presets[2].depths[0].share(), None);
    }

    #[test]
    fn facts_are_told_apart_by_distance_class_and_size_of_the_material() {
        let report = cut(Kit::default().report());
        let stakes = stakes(&report).unwrap();
        assert_eq!(
            row_of(&stakes, By::Distance, "prune"),
            [("1-5", 1, 2), ("6-20", 0, 1), ("21-40", 0, 1)]
        );
        assert_eq!(
            row_of(&stakes, By::Class, "prune"),
            [("path", 1, 2), ("number", 0, 1), ("identifier", 0, 1)]
        );
        // 6,000 and 20,000 tokens without the preamble.
        assert_eq!(row_of(&stakes, By::Size, "prune"), [("under 8k", 1, 2), ("8k-32k", 0, 2)]);
        assert_eq!(row_of(&stakes, By::Size, "fifo"), [("under 8k", 0, 2), ("8k-32k", 0, 0)]);
        assert!(stakes.breakdowns.iter().all(|table| table.by != By::Dataset), "there is but one");
    }

    #[test]
    fn a_run_without_cuts_has_nothing_to_count() {
        assert!(stakes(&Kit::default().report()).is_none());
    }
}
