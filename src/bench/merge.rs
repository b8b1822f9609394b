//! Puts the shards of a run together.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::clear;
use recap_core::model::{CallRow, Manifest, Planned, RunResults, Shard};
use recap_replay::run::{Folder, FolderError, RunRecord, unlike};

/// Why shards cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A folder cannot be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// No folder was given.
    #[error("no shard is given")]
    Nothing,
    /// A folder holds a whole run.
    #[error("{}: this is a whole run, not a shard of one", path.display())]
    Whole {
        /// The folder.
        path: PathBuf,
    },
    /// A folder is a shard of another run.
    #[error("{}: this is a shard of another run than {}: {}", path.display(), first.display(), differ.join("; "))]
    Foreign {
        /// The folder.
        path: PathBuf,
        /// The first folder that was given.
        first: PathBuf,
        /// What differs.
        differ: Vec<String>,
    },
    /// Two folders are the same shard.
    #[error("{} and {} are both shard {shard}", first.display(), second.display())]
    Doubled {
        /// The shard.
        shard: Shard,
        /// The first folder.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
    },
    /// A shard was interrupted, or not made.
    #[error("{}", missing(incomplete, absent, *of))]
    Missing {
        /// Shards that were interrupted, with their folders.
        incomplete: Vec<(Shard, PathBuf)>,
        /// Numbers of shards that are not there.
        absent: Vec<u32>,
        /// The number of shards.
        of: u32,
    },
}

/// Most shards that a message names.
const NAMED: usize = 20;

fn missing(incomplete: &[(Shard, PathBuf)], absent: &[u32], of: u32) -> String {
    let lines = incomplete
        .iter()
        .take(NAMED)
        .map(|(shard, path)| format!("{}: shard {shard} was interrupted", path.display()));
    let mut lines: Vec<String> = lines.collect();
    if !absent.is_empty() {
        let named: Vec<String> = absent.iter().take(NAMED).map(ToString::to_string).collect();
        let more = match absent.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        lines.push(format!("of {of} shards these are missing: {}{more}", named.join(", ")));
    }
    lines.join("\n")
}

/// Puts all shards of a run together in a folder; an earlier run in it is
/// replaced. The result is what one process would have left. One shard is read
/// after the other.
///
/// # Errors
/// A shard is missing, doubled, interrupted or of another run; or a folder
/// cannot be read or written.
pub fn merge(shards: &[PathBuf], out: &Path) -> Result<(), MergeError> {
    let parts = identified(shards)?;
    let (mut sessions, mut results) = (Vec::new(), RunResults::default());
    let (mut calls, mut incomplete) = (Vec::new(), Vec::new());
    for (path, shard, manifest) in &parts {
        let part = RunRecord::without_texts(path)?;
        if manifest.planned.missing(&part.results).is_some() {
            incomplete.push((*shard, path.to_path_buf()));
        }
        sessions.extend(part.sessions);
        calls.extend(part.calls);
        for (cells, cuts) in part.results.into_results() {
            cells.into_iter().for_each(|cell| results.add_cell(cell));
            cuts.into_iter().for_each(|cut| results.add_cut(cut));
        }
    }
    complete(&parts, incomplete)?;
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
type Part<'a> = (&'a Path, Shard, Manifest);

/// Reads what the folders say they are. Refuses folders that are not shards of
/// one run, and a shard that is there twice.
fn identified(shards: &[PathBuf]) -> Result<Vec<Part<'_>>, MergeError> {
    let mut parts: Vec<Part<'_>> = Vec::with_capacity(shards.len());
    let mut known: BTreeMap<u32, &Path> = BTreeMap::new();
    for path in shards {
        let manifest = RunRecord::manifest(path)?;
        let shard = manifest.shard.ok_or_else(|| MergeError::Whole { path: path.clone() })?;
        if let Some((first, one, of_first)) = parts.first() {
            let mut differ = unlike(&shared(of_first), &shared(&manifest));
            if one.of != shard.of {
                differ.push(format!("{} shards there, {} here", one.of, shard.of));
            }
            if !differ.is_empty() {
                let (path, first) = (path.clone(), first.to_path_buf());
                return Err(MergeError::Foreign { path, first, differ });
            }
        }
        if let Some(earlier) = known.insert(shard.index, path) {
            let (first, second) = (earlier.to_path_buf(), path.clone());
            return Err(MergeError::Doubled { shard, first, second });
        }
        parts.push((path, shard, manifest));
    }
    if parts.is_empty() { Err(MergeError::Nothing) } else { Ok(parts) }
}

/// Refuses shards that were interrupted, and less than all of them.
fn complete(parts: &[Part<'_>], incomplete: Vec<(Shard, PathBuf)>) -> Result<(), MergeError> {
    let known: BTreeSet<u32> = parts.iter().map(|(_, shard, _)| shard.index).collect();
    let of = parts.first().map_or(0, |(_, shard, _)| shard.of);
    let absent: Vec<u32> = (1..=of).filter(|index| !known.contains(index)).collect();
    if incomplete.is_empty() && absent.is_empty() {
        return Ok(());
    }
    Err(MergeError::Missing { incomplete, absent, of })
}

/// What all shards of a run have in common.
fn shared(manifest: &Manifest) -> Manifest {
    Manifest { shard: None, planned: Planned::default(), ..manifest.clone() }
}

/// The manifest of the whole run. Warnings that all shards have are about the
/// inputs; the others, about sessions of one shard, follow in sorted order, as
/// one process writes them.
fn manifest(parts: &[Part<'_>]) -> Manifest {
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
    use super::*;
    use recap_core::model::{CallOutcome, LatencySource, ModelRole, Timing};

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
