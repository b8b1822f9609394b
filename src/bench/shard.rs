//! The part of a run's sessions that one of several processes replays, and putting the parts
//! together.
//!
//! Every process reads the same inputs and settles the same comparison; only
//! then does each keep its own sessions. The parts are disjoint and complete,
//! and no process has to know of another one.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::clear;
use crate::failure::{Exit, Failure};
use recap_core::division::apportioned;
use recap_core::model::{CallRow, Manifest, Planned, RunResults, Shard};
use recap_core::wording::first_few;
use recap_exam::facts::Cuts;
use recap_replay::run::{CutQuestions, Folder, NamedSession, RunRecord, RunSpec, unlike};

/// Bytes that a message adds to the estimated cost of its session beside its
/// text: the rows that are written for it.
const MESSAGE: u64 = 500;

/// The estimated cost of a session's cells: replaying is linear in the text and
/// in the number of messages, and every session has the same strategies.
fn cost(named: &NamedSession) -> u64 {
    let messages = &named.session.messages;
    messages.iter().map(|message| message.sent().len() as u64 + MESSAGE).sum()
}

/// The calls of models that a session's cells make, as far as it is known before
/// anything is replayed; at least one.
///
/// Each question is answered and graded once in a cell and once by a strategy at
/// its cut; each cell that compacts, and each cut of its strategy, asks for a
/// summary. Counting exactly what a dry run counts would take a replay of all
/// sessions in every process, which is the work that the parts divide.
fn calls(named: &NamedSession, spec: &RunSpec) -> u64 {
    let windows = spec.windows.of(&named.dataset).len() as u64;
    let strategies = spec.strategies.len() as u64;
    let compacting =
        spec.strategies.iter().filter(|strategy| strategy.uses_compactor()).count() as u64;
    let repeated = compacting * u64::from(spec.replicates);
    let cells = (strategies - compacting + repeated) * windows;
    let session = &named.session;
    let cuts = match spec.cuts {
        Cuts::None => 0,
        Cuts::Spread(places) => u64::from(places),
        Cuts::All => session.requests().count() as u64,
        Cuts::Recorded => session.compactions.len() as u64,
    };
    let own = named.questions.len() as u64;
    let asked = match &spec.questions {
        CutQuestions::None => 0,
        CutQuestions::Auto if own > 0 => 0,
        // How many there are is known once its tokens are counted.
        CutQuestions::Auto => cuts,
        CutQuestions::Given(given) => {
            let key = (named.dataset.clone(), session.id.clone());
            given.get(&key).map_or(0, |own| own.len() as u64)
        }
    };
    1 + 2 * (cells * own + strategies * asked) + repeated * windows + compacting * cuts
}

/// A part of a run's sessions, with its share of the calls of models.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    shard: Shard,
    /// The calls that every part is expected to make.
    calls: &'a [u64],
}

impl<'a> Part<'a> {
    pub(super) fn new(shard: Shard, calls: &'a [u64]) -> Self {
        Self { shard, calls }
    }

    /// The calls that it is expected to make; 0 without sessions.
    pub fn calls(&self) -> u64 {
        self.own(self.calls)
    }

    /// The number of parts that make any call.
    pub fn with_calls(&self) -> usize {
        self.calls.iter().filter(|calls| **calls > 0).count()
    }

    /// Its part of a whole, by its share of the calls. Those of all parts add up
    /// to the whole; a part without calls has none.
    pub fn of(&self, whole: u64) -> u64 {
        self.own(&apportioned(whole, self.calls))
    }

    /// The same, where every part with calls has at least one; `None` if the
    /// whole is too small for that.
    pub fn of_at_least_one(&self, whole: u64) -> Option<u64> {
        let rest = whole.checked_sub(self.with_calls() as u64)?;
        Some(u64::from(self.calls() > 0) + self.of(rest))
    }

    fn own(&self, parts: &[u64]) -> u64 {
        parts.get(self.shard.index as usize - 1).copied().unwrap_or(0)
    }
}

impl fmt::Display for Part<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (own, all) = (self.calls(), self.calls.iter().sum::<u64>());
        let share = 100.0 * own as f64 / all.max(1) as f64;
        write!(f, "shard {} has {share:.2} % of the calls", self.shard)
    }
}

/// The number of the part of each session, from 1: the most expensive session
/// first, each to the part with least so far (longest processing time first,
/// Graham 1969).
fn assigned(costs: &[u64], of: u32) -> Vec<u32> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|&at| (std::cmp::Reverse(costs[at]), at));
    let mut loads: std::collections::BTreeSet<(u64, u32)> = (1..=of).map(|n| (0, n)).collect();
    let mut parts = vec![0; costs.len()];
    for at in order {
        let (load, part) = loads.pop_first().expect("there is at least one part");
        parts[at] = part;
        loads.insert((load + costs[at], part));
    }
    parts
}

/// The sessions of a part, in their order, and the calls of models that each
/// part is expected to make.
pub(super) fn of_shard(
    sessions: Vec<NamedSession>,
    shard: Shard,
    spec: &RunSpec,
) -> (Vec<NamedSession>, Vec<u64>) {
    let costs: Vec<u64> = sessions.iter().map(cost).collect();
    let parts = assigned(&costs, shard.of);
    let mut expected = vec![0; shard.of as usize];
    for (named, part) in sessions.iter().zip(&parts) {
        expected[*part as usize - 1] += calls(named, spec);
    }
    let kept = sessions.into_iter().zip(parts).filter(|(_, part)| *part == shard.index);
    (kept.map(|(named, _)| named).collect(), expected)
}

// Puts the shards of a run together.

/// What to give where something else is given.
const SHARDS: &str = "give the folders that `recap bench --shard I/N` left";

/// Most interrupted shards that a message names.
const NAMED: usize = 20;

/// Puts all shards of a run together in a folder; an earlier run in it is
/// replaced. The result is what one process would have left. One shard is read
/// after the other.
///
/// # Errors
/// A shard is missing, doubled, interrupted or of another run; or a folder
/// cannot be read or written.
pub fn merge(shards: &[PathBuf], out: &Path) -> Result<(), Failure> {
    let parts = identified(shards)?;
    let (mut sessions, mut results) = (Vec::new(), RunResults::default());
    let (mut calls, mut incomplete) = (Vec::new(), Vec::new());
    for (path, shard, manifest) in &parts {
        let part = RunRecord::without_texts(path)?;
        if manifest.planned.missing(&part.results).is_some() {
            incomplete.push((*shard, *path));
        }
        sessions.extend(part.sessions);
        calls.extend(part.calls);
        for (cells, cuts) in part.results.into_results() {
            cells.into_iter().for_each(|cell| results.add_cell(cell));
            cuts.into_iter().for_each(|cut| results.add_cut(cut));
        }
    }
    complete(&parts, &incomplete)?;
    results.close();
    sessions.sort_by(|a, b| (&a.dataset, &a.session).cmp(&(&b.dataset, &b.session)));
    let mut calls = distinct(calls);
    calls.sort_by(|a, b| (a.role, &a.model, &a.key).cmp(&(b.role, &b.model, &b.key)));
    let manifest = manifest(&parts);
    let mut folder = Folder::create(out, &manifest)?;
    clear(&folder)?;
    folder.sort_journal(&sessions, &results, &calls)?;
    if !manifest.no_text {
        folder.merge_texts(shards)?;
    }
    Ok(())
}

/// Each call once, as one process makes it: of those that several shards made
/// the quickest, as for merged cassettes, under the first role.
fn distinct(calls: Vec<CallRow>) -> Vec<CallRow> {
    let mut distinct: BTreeMap<String, CallRow> = BTreeMap::new();
    for call in calls {
        match distinct.entry(call.key.clone()) {
            Entry::Vacant(free) => {
                free.insert(call);
            }
            Entry::Occupied(mut known) => {
                let known = known.get_mut();
                let role = known.role.min(call.role);
                let order = call.outcome.cmp(&known.outcome);
                if order.then(call.timing.quickest(&known.timing)).is_lt() {
                    *known = call;
                }
                known.role = role;
            }
        }
    }
    distinct.into_values().collect()
}

/// A shard: its folder, its number and its manifest.
type ReadShard<'a> = (&'a Path, Shard, Manifest);

/// Reads what the folders say they are. Refuses folders that are not shards of
/// one run, and a shard that is there twice.
fn identified(shards: &[PathBuf]) -> Result<Vec<ReadShard<'_>>, Failure> {
    let mut parts: Vec<ReadShard<'_>> = Vec::with_capacity(shards.len());
    let mut known: BTreeMap<u32, &Path> = BTreeMap::new();
    for path in shards {
        let manifest = RunRecord::manifest(path);
        let manifest = manifest.map_err(|error| Failure::from(error).help(SHARDS))?;
        let shown = path.display();
        let shard = manifest.shard.ok_or_else(|| {
            Failure::usage(format!("{shown}: this is a whole run, not a shard of one")).help(SHARDS)
        })?;
        if let Some((first, one, of_first)) = parts.first() {
            let mut differ = unlike(&shared(of_first), &shared(&manifest));
            if one.of != shard.of {
                differ.push(format!("{} shards there, {} here", one.of, shard.of));
            }
            if !differ.is_empty() {
                return Err(Failure::usage(format!(
                    "{shown}: this is a shard of another run than {}: {}",
                    first.display(),
                    differ.join("; ")
                ))
                .help("make all shards with the same inputs and options"));
            }
        }
        if let Some(earlier) = known.insert(shard.index, path) {
            let first = earlier.display();
            return Err(Failure::usage(format!("{first} and {shown} are both shard {shard}"))
                .help("give each shard once"));
        }
        parts.push((path, shard, manifest));
    }
    if parts.is_empty() {
        return Err(Failure::usage("no shard is given").help(SHARDS));
    }
    Ok(parts)
}

/// Refuses shards that were interrupted, and less than all of them.
fn complete(parts: &[ReadShard<'_>], incomplete: &[(Shard, &Path)]) -> Result<(), Failure> {
    let known: BTreeSet<u32> = parts.iter().map(|(_, shard, _)| shard.index).collect();
    let of = parts.first().map_or(0, |(_, shard, _)| shard.of);
    let absent: Vec<String> =
        (1..=of).filter(|index| !known.contains(index)).map(|index| index.to_string()).collect();
    let interrupted = incomplete.iter().take(NAMED);
    let mut lines: Vec<String> = interrupted
        .map(|(shard, path)| format!("{}: shard {shard} was interrupted", path.display()))
        .collect();
    if !absent.is_empty() {
        let missing = first_few(&absent, absent.len());
        lines.push(format!("of {of} shards these are missing: {missing}"));
    }
    if lines.is_empty() {
        return Ok(());
    }
    Err(Failure::with_code(Exit::Incomplete, lines.join("\n")).help(
        "make them with --shard I/N, go on with interrupted ones with --resume, then merge again",
    ))
}

/// What all shards of a run have in common.
fn shared(manifest: &Manifest) -> Manifest {
    Manifest { shard: None, planned: Planned::default(), ..manifest.clone() }
}

/// The manifest of the whole run. Warnings that all shards have are about the
/// inputs; the others, about sessions of one shard, follow in sorted order, as
/// one process writes them.
fn manifest(parts: &[ReadShard<'_>]) -> Manifest {
    let manifests: Vec<&Manifest> = parts.iter().map(|(_, _, manifest)| manifest).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for manifest in &manifests {
        let own: BTreeSet<&str> = manifest.warnings.iter().map(String::as_str).collect();
        own.into_iter().for_each(|warning| *counts.entry(warning).or_default() += 1);
    }
    let of_all = |warning: &&String| counts[warning.as_str()] == manifests.len();
    let common = manifests[0].warnings.iter().filter(of_all).cloned();
    let own = counts.iter().filter(|(_, count)| **count < manifests.len());
    let warnings = common.chain(own.map(|(warning, _)| (*warning).to_owned())).collect();
    let planned = Planned::union(manifests.iter().map(|manifest| manifest.planned.clone()));
    Manifest { planned, warnings, ..shared(manifests[0]) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use recap_core::model::{CallOutcome, LatencySource, ModelRole, Timing};

    #[test]
    fn dearest_session_goes_to_least_loaded_part() {
        // By hand: 9 to 1, 7 to 2, 6 to 3, 5 to 3 (6 is least), 2 to 2 (7), 1 to 1 (9 of 9, 9, 11).
        assert_eq!(assigned(&[5, 9, 2, 7, 1, 6], 3), [3, 1, 2, 2, 1, 3]);
        assert_eq!(assigned(&[5, 5], 3), [1, 2]);
        assert_eq!(assigned(&[], 3), [0; 0]);
    }

    #[test]
    fn parts_sum_to_whole_and_idle_get_nothing() {
        for of in [1_u32, 2, 7, 64] {
            // Some parts have no session.
            let calls: Vec<u64> = (0..u64::from(of)).map(|n| n * n % 5 * 1_000 + n % 3).collect();
            let calls = if of == 1 { vec![9] } else { calls };
            let parts: Vec<Part> =
                (1..=of).map(|index| Part::new(Shard { index, of }, &calls)).collect();
            for whole in [0, 1, 63, 64, 1_000_000, 12_345_678_901] {
                let own: Vec<u64> = parts.iter().map(|part| part.of(whole)).collect();
                assert_eq!(own.iter().sum::<u64>(), whole, "{of} parts of {whole}");
                let idle = own.iter().zip(&calls).filter(|(_, calls)| **calls == 0);
                assert!(idle.clone().all(|(own, _)| *own == 0), "{own:?}");
                let with = parts[0].with_calls() as u64;
                let each: Option<Vec<u64>> =
                    parts.iter().map(|part| part.of_at_least_one(whole)).collect();
                assert_eq!(each.is_some(), whole >= with);
                if let Some(each) = each {
                    assert_eq!(each.iter().sum::<u64>(), whole);
                    let busy = each.iter().zip(&calls).filter(|(_, calls)| **calls > 0);
                    assert!(busy.clone().all(|(each, _)| *each > 0), "{each:?}");
                }
            }
        }
        let shown = Part::new(Shard { index: 2, of: 3 }, &[1, 1, 6]).to_string();
        assert_eq!(shown, "shard 2/3 has 12.50 % of the calls");
    }

    proptest! {
        #[test]
        fn every_session_is_in_one_part_within_bound(
            costs in prop::collection::vec(1u64..10_000, 0..200), of in 1u32..70,
        ) {
            let parts = assigned(&costs, of);
            prop_assert!(parts.iter().all(|part| (1..=of).contains(part)));
            let load = |n| -> u64 {
                costs.iter().zip(&parts).filter(|(_, p)| **p == n).map(|(c, _)| c).sum()
            };
            let (sum, most) = (costs.iter().sum::<u64>(), costs.iter().max().copied().unwrap_or(0));
            // Graham's bound: the mean load and one session more.
            for n in 1..=of {
                prop_assert!(load(n) <= sum / u64::from(of) + most);
            }
        }
    }

    fn call(role: ModelRole, key: &str, outcome: CallOutcome, total_ms: f64) -> CallRow {
        CallRow {
            role,
            model: "openai/m".to_owned(),
            key: key.to_owned(),
            replicate: 0,
            outcome,
            usage: None,
            reasoning: None,
            usd: None,
            timing: Timing { total_ms, attempts: 1, ..Timing::default() },
            source: LatencySource::Recorded,
        }
    }

    #[test]
    fn shared_call_merges_to_quickest_under_first_role() {
        use CallOutcome::{Replied, Unavailable};
        let merged = distinct(vec![
            call(ModelRole::Answerer, "a", Replied, 9.0),
            call(ModelRole::Judge, "a", Replied, 5.0),
            call(ModelRole::Judge, "b", Unavailable, 0.0),
            call(ModelRole::Judge, "b", Replied, 7.0),
        ]);
        let expected = [
            call(ModelRole::Answerer, "a", Replied, 5.0),
            call(ModelRole::Judge, "b", Replied, 7.0),
        ];
        assert_eq!(merged, expected);
    }
}
