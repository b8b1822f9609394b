//! What became of the facts at stake, counted over all cuts of a run. The page
//! and `summary.json` tell the same counts.
//!
//! Every fact counts once for each repetition, whatever its session; the
//! measures weigh sessions instead, so their shares may differ.

use std::collections::BTreeMap;

use super::block;
use crate::model::{Cut, CutRow, FactAtStake, ReferenceState, Report, Standing};

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
    fn group(self, cut: &Cut, fact: &FactAtStake) -> Group {
        let (at, name) = match self {
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
            By::Dataset => (0, cut.dataset.as_str()),
        };
        (at, name.to_owned())
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
pub(super) struct Breakdown {
    pub(super) by: By,
    /// Name of each group, and how many facts it has.
    pub(super) groups: Vec<(String, usize)>,
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
    pub(super) breakdowns: Vec<Breakdown>,
}

/// Counts the cuts of a run; nothing where it has none.
pub(super) fn stakes(report: &Report) -> Option<Stakes<'_>> {
    let mut count = Counting::new(report);
    for session in report.sessions.iter() {
        session.cuts().iter().for_each(|cut| count.add(cut));
        count.sessions += usize::from(session.cuts().iter().any(|cut| !cut.facts.is_empty()));
    }
    (count.cuts > 0).then(|| count.done())
}

/// Place and name of a group of facts.
type Group = (usize, String);

/// What is counted while one cut after the other is looked at.
struct Counting<'a> {
    cuts: usize,
    facts: usize,
    sessions: usize,
    depths: Vec<DepthCount>,
    presets: Vec<Preset<'a>>,
    /// Facts at the greatest depth by group, for each of [`By::ALL`].
    groups: [BTreeMap<Group, usize>; By::ALL.len()],
    /// The same of each preset, by what became of them.
    by_preset: Vec<[BTreeMap<Group, Counts>; By::ALL.len()]>,
}

impl<'a> Counting<'a> {
    fn new(report: &'a Report) -> Self {
        let depths = report.manifest.depths.iter();
        let depths: Vec<DepthCount> =
            depths.map(|depth| DepthCount { depth: *depth, cuts: 0, facts: 0 }).collect();
        let presets = block::presets(report).into_iter().map(|(strategy, standing)| Preset {
            strategy,
            standing,
            depths: vec![Counts::default(); depths.len()],
            refused: vec![0; depths.len()],
        });
        let presets: Vec<Preset<'_>> = presets.collect();
        let by_preset = presets.iter().map(|_| Default::default()).collect();
        let groups = Default::default();
        Self { cuts: 0, facts: 0, sessions: 0, depths, presets, groups, by_preset }
    }

    fn add(&mut self, cut: &Cut) {
        self.cuts += 1;
        self.facts += cut.facts.len();
        let last = self.depths.len().wrapping_sub(1);
        for at in 0..self.depths.len() {
            let depth = self.depths[at].depth;
            if !cut.rows.iter().any(|row| row.depth == depth) {
                continue;
            }
            self.depths[at].cuts += 1;
            self.depths[at].facts += cut.facts.len();
            if at == last {
                for (by, groups) in By::ALL.into_iter().zip(&mut self.groups) {
                    for fact in &cut.facts {
                        *groups.entry(by.group(cut, fact)).or_default() += 1;
                    }
                }
            }
        }
        for row in &cut.rows {
            self.add_row(cut, row, last);
        }
    }

    /// Adds the exam of a preset at a depth; each repetition counts. One that
    /// does not fit its cut is from another version of the data and left out.
    fn add_row(&mut self, cut: &Cut, row: &CutRow, last: usize) {
        let preset = self.presets.iter().position(|preset| preset.strategy == row.strategy);
        let depth = self.depths.iter().position(|at| at.depth == row.depth);
        let exam = row.exam().filter(|exam| exam.states.len() == cut.facts.len());
        let (Some(preset), Some(depth), Some(exam)) = (preset, depth, exam) else { return };
        let own = &mut self.presets[preset];
        exam.states.iter().for_each(|state| own.depths[depth].add(*state));
        own.refused[depth] += exam.refused.len() as u64;
        if depth != last {
            return;
        }
        for (by, counts) in By::ALL.into_iter().zip(&mut self.by_preset[preset]) {
            for (fact, state) in cut.facts.iter().zip(&exam.states) {
                counts.entry(by.group(cut, fact)).or_default().add(*state);
            }
        }
    }

    fn done(self) -> Stakes<'a> {
        let Self { cuts, facts, sessions, depths, presets, groups, by_preset } = self;
        let asked = |preset: &Preset<'_>| preset.depths.iter().any(|counts| counts.all() > 0);
        let (presets, by_preset): (Vec<_>, Vec<_>) =
            presets.into_iter().zip(by_preset).filter(|(preset, _)| asked(preset)).unzip();
        let each = By::ALL.into_iter().zip(groups).enumerate();
        let shown = each.filter(|(_, (by, groups))| *by != By::Dataset || groups.len() > 1);
        let breakdowns = shown.map(|(at, (by, groups))| {
            let row = |own: &[BTreeMap<Group, Counts>; By::ALL.len()]| {
                groups.keys().map(|key| own[at].get(key).copied().unwrap_or_default()).collect()
            };
            let rows = by_preset.iter().map(row).collect();
            let groups = groups.into_iter().map(|((_, name), n)| (name, n)).collect();
            Breakdown { by, rows, groups }
        });
        let breakdowns = if depths.is_empty() { Vec::new() } else { breakdowns.collect() };
        Stakes { cuts, facts, sessions, breakdowns, depths, presets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testkit::{Kit, cut};

    fn row_of<'a>(stakes: &'a Stakes<'_>, by: By, strategy: &str) -> Vec<(&'a str, u64, u64)> {
        let at = stakes.presets.iter().position(|preset| preset.strategy == strategy).unwrap();
        let table = stakes.breakdowns.iter().find(|table| table.by == by).unwrap();
        let cells = table.groups.iter().zip(&table.rows[at]);
        cells.map(|((name, _), counts)| (name.as_str(), counts.kept(), counts.all())).collect()
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
