//! Lists the files of an input in a fixed order.

use std::fs::File;
use std::path::{Path, PathBuf};

use rustc_hash::{FxHashMap, FxHashSet};
use serde_json::Value as Json;

use super::LoadOptions;
use super::error::{DatasetError, Problem};
use super::source::{Source, decoded};

/// A file that belongs to an input.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Found {
    /// Path below the input's folder, with `/` between its parts.
    pub(crate) relative: String,
    /// Path by which the file is opened.
    pub(crate) path: PathBuf,
}

/// Every file below `root`, sorted by relative path, and the number of hidden
/// folders, links to folders, broken links and pipes that were skipped.
///
/// # Errors
///
/// A folder that cannot be read.
pub(crate) fn files(root: &Path) -> Result<(Vec<Found>, u64), DatasetError> {
    let mut found = Vec::new();
    let mut skipped = 0;
    let mut open = vec![(String::new(), root.to_owned())];
    while let Some((prefix, folder)) = open.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|e| unreadable(&folder, e))?;
        for entry in entries {
            let entry = entry.map_err(|e| unreadable(&folder, e))?;
            let kind = entry.file_type().map_err(|e| unreadable(&entry.path(), e))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let relative =
                if prefix.is_empty() { name.clone() } else { format!("{prefix}/{name}") };
            let path = entry.path();
            if kind.is_file() || (kind.is_symlink() && path.is_file()) {
                found.push(Found { relative, path });
            } else if kind.is_dir() && !name.starts_with('.') {
                open.push((relative, path));
            } else {
                // A link to a folder may lead back to itself; a pipe may never end.
                skipped += 1;
            }
        }
    }
    found.sort();
    Ok((found, skipped))
}

/// What SQLite appends to the name of a database for the files beside it.
const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// Drops the files that belong to a database in the same folder: they are read
/// with it, or hold nothing.
pub(crate) fn drop_companions(found: &mut Vec<Found>) {
    let all: std::collections::BTreeSet<String> =
        found.iter().map(|file| file.relative.clone()).collect();
    found.retain(|file| {
        let mut owners = COMPANIONS.iter().filter_map(|end| file.relative.strip_suffix(end));
        !owners.any(|owner| all.contains(owner))
    });
}

/// The error for a path that cannot be read.
pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> DatasetError {
    let problem = if source.kind() == std::io::ErrorKind::NotFound {
        Problem::Missing
    } else {
        let action = "read";
        Problem::Io { action, source }
    };
    DatasetError::whole(path.display().to_string(), problem)
}

// Logs of subagents that lie in files of their own: `SESSION/subagents/*.jsonl`,
// older `agent-*.jsonl` beside the session. What they used is part of the
// session that started them, so they are read with it and never alone.

/// How much of a file is looked at to tell whether it is a subagent's.
const LOOKED_AT: usize = 256 << 10;

/// What the folder of a session's subagents is named.
const FOLDER: &str = "subagents";

/// Which files are logs of subagents, and of which session.
#[derive(Default)]
pub(super) struct Subagents {
    of: FxHashMap<PathBuf, Vec<PathBuf>>,
    owned: FxHashSet<PathBuf>,
}

impl Subagents {
    /// Those among the files of a folder whose session is among them, too.
    pub(super) fn among(found: &[Found]) -> Subagents {
        let given: FxHashSet<&Path> = found.iter().map(|file| file.path.as_path()).collect();
        let mut known = Subagents::default();
        for file in found {
            let session = session_of(&file.path).filter(|session| given.contains(&**session));
            if let Some(session) = session {
                known.owned.insert(file.path.clone());
                known.of.entry(session).or_default().push(file.path.clone());
            }
        }
        known
    }

    /// Those of one session.
    pub(super) fn beside(session: &Path) -> Subagents {
        let own = folder_of(session).map(|folder| folder.join(FOLDER));
        let below = own.and_then(|folder| files(&folder).ok());
        let mut found: Vec<PathBuf> =
            below.into_iter().flat_map(|(files, _)| files).map(|file| file.path).collect();
        let beside = session.parent().and_then(|folder| {
            let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
            std::fs::read_dir(folder).ok()
        });
        let beside = beside.into_iter().flatten().filter_map(Result::ok);
        let beside = beside.filter(|entry| is_agents(&entry.path()));
        // As the session is written, so that both compare.
        found.extend(beside.map(|entry| session.with_file_name(entry.file_name())));
        found.retain(|file| session_of(file).is_some_and(|owner| owner == session));
        found.sort();
        let of = FxHashMap::from_iter([(session.to_owned(), found)]);
        Subagents { of, owned: FxHashSet::default() }
    }

    /// The logs that belong to a session.
    pub(super) fn of(&self, session: &Path) -> Vec<PathBuf> {
        self.of.get(session).cloned().unwrap_or_default()
    }

    /// Whether a file is read with its session.
    pub(super) fn owns(&self, file: &Path) -> bool {
        self.owned.contains(file)
    }
}

/// The folder that holds what belongs to a session.
fn folder_of(session: &Path) -> Option<PathBuf> {
    let name = session.file_name()?.to_str()?;
    let stem = PACKED.iter().find_map(|end| name.strip_suffix(end))?;
    Some(session.with_file_name(stem))
}

/// The ends of names of logs, packed ones included.
const PACKED: [&str; 3] = [".jsonl", ".jsonl.gz", ".jsonl.zst"];

fn is_agents(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("agent-") && PACKED.iter().any(|end| name.ends_with(end))
}

/// The session whose subagent wrote this log, if both are there.
pub(super) fn session_of(log: &Path) -> Option<PathBuf> {
    let below =
        log.ancestors().skip(1).find(|folder| folder.file_name().is_some_and(|n| n == FOLDER));
    if below.is_none() && !is_agents(log) {
        return None;
    }
    let session = peeked(log)?;
    let stem = match below {
        // A session that was copied under another name keeps its folder.
        Some(folder) => folder.parent()?.to_owned(),
        None => log.with_file_name(session),
    };
    let name = stem.file_name()?.to_str()?;
    let candidates = PACKED.iter().map(|end| stem.with_file_name(format!("{name}{end}")));
    candidates.into_iter().find(|path| path.is_file() && path != log)
}

/// The session that the first record of a subagent's log names; `None` of any
/// other file.
fn peeked(log: &Path) -> Option<String> {
    let mut source = Source::new("", "", File::open(log).ok()?, LoadOptions::default()).ok()?;
    let head = String::from_utf8_lossy(source.head(LOOKED_AT).ok()?).into_owned();
    let has = |record: &Json| {
        record.get("isSidechain").is_some_and(Json::is_boolean)
            && record.get("sessionId").is_some_and(Json::is_string)
    };
    let first = head.lines().filter_map(decoded::<Json>).find(has)?;
    // Qwen Code has logs that are alike.
    let is_other = first.pointer("/message/parts").is_some();
    let session = first["sessionId"].as_str().map(str::to_owned);
    session.filter(|_| first["isSidechain"] == true && !is_other)
}
