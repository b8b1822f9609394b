//! Lists the files of an input in a fixed order.

use std::path::{Path, PathBuf};

use super::error::{DatasetError, Problem};

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
