//! Groups calls about files: the changes of each file, and the files that were
//! read.

use std::collections::{BTreeMap, BTreeSet};

use super::units::{Kind, Unit};

/// Largest number of lines for one changed file.
const LINES: usize = 3;

/// Largest number of files in the list of read files.
const READ: usize = 12;

/// Replaces the changes of one file by one unit, at the place of the last
/// change, and all files that were only read by one unit. Paths are cut to the
/// folder that they share, which is named once.
pub(super) fn gathered(mut units: Vec<Unit>) -> Vec<Unit> {
    let end = units.last().map_or(0, |unit| unit.message);
    let read = only_read(&units, end);
    let root = common_folder(&units);
    units.extend(read);
    if let Some(root) = &root {
        let folder = format!("{root}/");
        for unit in units.iter_mut().filter(|u| matches!(u.kind, Kind::Change | Kind::Action)) {
            unit.text = unit.text.replace(&folder, "");
        }
    }
    let mut units = joined(units);
    units.extend(root.map(|root| Unit {
        text: format!("Paths are relative to {root}"),
        kind: Kind::Definition,
        user: false,
        distilled: true,
        message: end,
        file: None,
    }));
    units
}

/// The parent of the deepest folder that contains most of the files, if naming
/// it once saves space. One level stays with each file, so that files of the
/// same name can be distinguished.
fn common_folder(units: &[Unit]) -> Option<String> {
    let files: Vec<&str> = units.iter().filter_map(|u| u.file.as_deref()).collect();
    let mut holds: BTreeMap<&str, usize> = BTreeMap::new();
    for file in &files {
        let ends = file.match_indices('/').map(|(at, _)| at).filter(|&at| at > 0);
        ends.for_each(|at| *holds.entry(&file[..at]).or_default() += 1);
    }
    let most = |&(_, count): &(&&str, &usize)| files.len() > 1 && count * 5 >= files.len() * 3;
    let deepest = holds.iter().filter(most).max_by_key(|(folder, _)| folder.len())?.0;
    let (parent, _) = deepest.rsplit_once('/')?;
    (parent.matches('/').count() >= 2).then(|| parent.to_owned())
}

/// One unit for the files that were read and not changed, the last first.
fn only_read(units: &[Unit], message: usize) -> Option<Unit> {
    let changes = units.iter().filter(|unit| unit.kind == Kind::Change);
    let changed: BTreeSet<&str> = changes.filter_map(|unit| unit.file.as_deref()).collect();
    let mut files: Vec<&str> = Vec::new();
    let read = units.iter().rev().filter(|unit| unit.kind == Kind::Action);
    for file in read.filter_map(|unit| unit.file.as_deref()) {
        if files.len() < READ && !files.contains(&file) && !changed.contains(file) {
            files.push(file);
        }
    }
    (!files.is_empty()).then(|| Unit {
        text: format!("Read and not modified: {}", files.join(", ")),
        kind: Kind::Change,
        user: false,
        distilled: false,
        message,
        file: None,
    })
}

/// Joins the changes of a file: its name, then its newest lines.
fn joined(units: Vec<Unit>) -> Vec<Unit> {
    let mut last: BTreeMap<String, usize> = BTreeMap::new();
    for (at, unit) in units.iter().enumerate().filter(|(_, unit)| unit.kind == Kind::Change) {
        last.extend(unit.file.clone().map(|file| (file, at)));
    }
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut joined = Vec::with_capacity(units.len());
    for (at, mut unit) in units.into_iter().enumerate() {
        let Some(file) = unit.file.clone().filter(|_| unit.kind == Kind::Change) else {
            joined.push(unit);
            continue;
        };
        let own = lines.entry(file.clone()).or_default();
        let (name, line) = unit.text.split_once(": ").unwrap_or((&unit.text, ""));
        if !line.is_empty() && !own.iter().any(|known| known == line) {
            own.push(line.to_owned());
        }
        if last[&file] == at {
            let newest = &own[own.len().saturating_sub(LINES)..];
            let colon = if newest.is_empty() { "" } else { ": " };
            unit.text = format!("{name}{colon}{}", newest.join("; "));
            joined.push(unit);
        }
    }
    joined
}
