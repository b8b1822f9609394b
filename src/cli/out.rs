//! The run folder where none was named.

use std::path::{Path, PathBuf};

use super::exit::Failure;
use super::wire;

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
