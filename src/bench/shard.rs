//! The part of a run's sessions that one of several processes replays, and putting the parts
//! together.
//!
//! Every process reads the same inputs and settles the same comparison; only
//! then does each keep its own sessions. The parts are disjoint and complete,
//! and no process has to know of another one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::clear;
use crate::failure::{Exit, Failure};
use recap_core::model::{CallRow, Manifest, Planned, RunResults, Shard};
use recap_core::wording::first_few;
use recap_replay::run::{Finished, Folder, NamedSession, RunRecord, unlike};

/// Bytes that a message adds to the estimated cost of its session beside its
/// text: the rows that are written for it.
const MESSAGE: u64 = 500;

/// The estimated cost of a session's cells: replaying is linear in the text and
/// in the number of messages, and every session has the same strategies.
fn cost(named: &NamedSession) -> u64 {
    let messages = &named.session.messages;
    messages.iter().map(|message| message.sent().len() as u64 + MESSAGE).sum()
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

/// The sessions of a part, in their order.
pub(super) fn of_shard(sessions: Vec<NamedSession>, shard: Shard) -> Vec<NamedSession> {
    let costs: Vec<u64> = sessions.iter().map(cost).collect();
    let parts = assigned(&costs, shard.of);
    let kept = sessions.into_iter().zip(parts).filter(|(_, part)| *part == shard.index);
    kept.map(|(named, _)| named).collect()
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
    let mut run = Finished { sessions, results, calls: distinct(calls), texts: BTreeMap::new() };
    let manifest = manifest(&parts);
    let mut folder = Folder::create(out, &manifest)?;
    clear(&folder)?;
    folder.sort_journal(&mut run)?;
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
        let known = distinct.entry(call.key.clone()).or_insert_with(|| call.clone());
        let role = known.role.min(call.role);
        let order = call.outcome.cmp(&known.outcome);
        if order.then(call.timing.quickest(&known.timing)).is_lt() {
            *known = call;
        }
        known.role = role;
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
