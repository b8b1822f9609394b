//! Where a run is made, and where it goes from there.

use std::path::{Path, PathBuf};

use super::destinations::{Publication, Target};
use super::exit::{Exit, Failure};
use super::wire;
use super::work::Work;
use crate::bench::BenchRun;
use crate::model::Shard;
use crate::run::{BATCHES, Finished, Folder};
use crate::text::counted;

/// Where a run is made.
#[derive(Debug)]
pub(super) enum Place {
    /// In a folder, where it stays.
    Folder(PathBuf),
    /// In a folder, from which it is published.
    Destination(Publication),
}

impl Place {
    /// The folder that was named, or a new one; `None` if the run is a shard
    /// that is published already.
    pub fn of(
        target: Option<Target>,
        out: Option<&PathBuf>,
        run: &BenchRun,
        work: &mut Work,
    ) -> Result<Option<Self>, Failure> {
        Ok(match (target, out) {
            (Some(target), _) => target.open(run.manifest(), work)?.map(Self::Destination),
            (None, Some(out)) => Some(Self::Folder(out.clone())),
            (None, None) => Some(Self::Folder(new(&run.manifest().title)?)),
        })
    }

    /// The folder in which the run is made.
    pub fn path(&self) -> &Path {
        match self {
            Self::Folder(path) => path,
            Self::Destination(shard) => shard.folder(),
        }
    }

    /// The folder of the run, new or resumed.
    pub fn begin(&self, run: &mut BenchRun, resume: bool) -> Result<Folder, Failure> {
        let path = self.path();
        if resume {
            return Ok(run.resume(path)?);
        }
        if path.join(BATCHES).exists() {
            let path = path.display();
            return Err(Failure::usage(format!(
                "{path}: an interrupted run has batches under way"
            ))
            .help(format!("add --resume to go on with it, or remove {path}/{BATCHES}")));
        }
        Ok(run.create(path)?)
    }

    /// How an interrupted run is finished.
    pub fn again(&self) -> String {
        match self {
            Self::Folder(_) => "the same command with --out and --resume".to_owned(),
            Self::Destination(shard) => shard.again(),
        }
    }

    /// Publishes a finished run, if it is to be published. `ended` is how the
    /// run ended, and so does the program.
    pub fn leave(self, work: &mut Work, ended: Exit) -> Result<Exit, Failure> {
        match self {
            Self::Folder(_) => Ok(ended),
            Self::Destination(shard) => shard.publish(work, ended),
        }
    }
}

/// Says what a shard did.
pub(super) fn tell_shard(shard: Shard, finished: &Finished, folder: &Folder) {
    let cells = counted(finished.sessions.cells().count(), "cell");
    let sessions = counted(finished.transcripts.len(), "session");
    wire::say(&format!("shard {shard}: {cells} of {sessions} in {}", folder.path().display()));
    let failed = finished.sessions.cells().filter(|cell| cell.rows().is_none()).count();
    if failed > 0 {
        wire::say(&format!("warning: {} failed", counted(failed, "cell")));
    }
}

/// A new folder under `reports`, named by the time and the data. It is created
/// here, so that another run that begins within the same second gets a
/// different one.
pub(super) fn new(title: &str) -> Result<PathBuf, Failure> {
    let time = wire::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = title.chars().map(safe).take(60).collect();
    let reports = Path::new("reports");
    std::fs::create_dir_all(reports).map_err(|e| unwritable(reports, &e))?;
    for n in 1_u32.. {
        let again = if n == 1 { String::new() } else { format!("-{n}") };
        let path = reports.join(format!("{time}-{name}{again}"));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(unwritable(&path, &e)),
        }
    }
    unreachable!("numbers do not end")
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: {error}", path.display()))
        .help("give --out a folder that may be written to")
}
