//! What INPUT means: a bundled data set, a file, a folder, or standard input.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::{Exit, Failure};
use recap_core::model::alike;
use recap_formats::{self as dataset, Dataset, DatasetError, LoadOptions, Problem};

/// The data set that runs when no INPUT is given.
pub(super) const DEFAULT: &str = "quickstart";

/// How inputs are read.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct ReadOptions {
    /// Bytes to which each packed input (gzip, zstd, zip) may unpack (500M, 2G) [default: 1G, and
    /// 50 times its packed size where that is over 8M]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub max_unpacked: Option<u64>,
}

impl ReadOptions {
    /// The options for reading data sets.
    pub fn options(self) -> LoadOptions {
        LoadOptions { max_unpacked: self.max_unpacked, ..LoadOptions::default() }
    }
}

/// Bytes as typed: a number, of kibi-, mebi- or gibibytes with K, M or G.
fn size(typed: &str) -> Result<u64, String> {
    let (number, shift) = match typed.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&typed[..at], 10),
        Some((at, 'm' | 'M')) => (&typed[..at], 20),
        Some((at, 'g' | 'G')) => (&typed[..at], 30),
        _ => (typed, 0),
    };
    let bytes = number.parse::<u64>().ok().and_then(|n| n.checked_mul(1 << shift));
    bytes.ok_or_else(|| "a size is expected, such as 500M or 2G".to_owned())
}

/// Loads every input. Several files of one folder are sessions of one data set,
/// named after the folder: `recap bench ~/sessions/*.jsonl` is one table. If
/// one of several files is broken, it is set aside, as in a folder.
pub(super) fn load(inputs: &[String], options: &LoadOptions) -> Result<Vec<Dataset>, Failure> {
    if inputs.is_empty() {
        return Ok(vec![one(DEFAULT, options)?]);
    }
    let mut datasets: Vec<Dataset> = Vec::new();
    let mut set_aside = Vec::new();
    let folders: Vec<Option<PathBuf>> = inputs.iter().map(|input| folder_of(input)).collect();
    let mut together: BTreeMap<&PathBuf, Vec<&Path>> = BTreeMap::new();
    for (input, folder) in inputs.iter().zip(&folders) {
        folder.iter().for_each(|folder| together.entry(folder).or_default().push(Path::new(input)));
    }
    for (input, folder) in inputs.iter().zip(&folders) {
        let files = folder.as_ref().and_then(|folder| together.get(folder));
        let loaded = match files.filter(|files| files.len() > 1) {
            Some(files) if files[0] != Path::new(input) => continue,
            Some(files) => dataset::load_files(&folder_name(files[0]), files, options),
            None => match one(input, options) {
                Err(error) if inputs.len() > 1 && Path::new(input).is_file() => {
                    Err(vec![format!("{input}: {}", error.reason())])
                }
                read => Ok(read.map_err(|error| mistyped(input, error))?),
            },
        };
        match loaded {
            Ok(loaded) => match datasets.iter_mut().find(|known| known.name == loaded.name) {
                Some(known) => join(known, loaded),
                None => datasets.push(loaded),
            },
            Err(aside) => set_aside.extend(aside),
        }
    }
    let aside = set_aside.iter().map(|file| format!("set aside: {file}"));
    match datasets.first_mut() {
        Some(first) => first.warnings.extend(aside),
        None => {
            let read = format!("no session could be read:\n{}", set_aside.join("\n"));
            return Err(Failure::with_code(Exit::Incomplete, read).help("mend one of them"));
        }
    }
    Ok(datasets)
}

/// The folder of an input that is a file.
fn folder_of(input: &str) -> Option<PathBuf> {
    let path = Path::new(input);
    path.is_file().then(|| path.canonicalize().ok()?.parent().map(Path::to_owned)).flatten()
}

/// The name of a file's folder as typed, so that a run has the same names wherever its folder lies.
fn folder_name(file: &Path) -> String {
    let name = file.parent().and_then(Path::file_name);
    name.map_or_else(|| "sessions".to_owned(), |name| name.to_string_lossy().into_owned())
}

fn join(known: &mut Dataset, more: Dataset) {
    known.agent = known.agent.take().filter(|agent| more.agent.as_ref() == Some(agent));
    known.sessions.extend(more.sessions);
    known.warnings.extend(more.warnings);
    known.files.extend(more.files);
    known.questions.extend(more.questions);
}

/// The error for an input that is neither on disk nor bundled, with a similar bundled name.
fn mistyped(input: &str, error: DatasetError) -> Failure {
    let like = alike(input, dataset::bundled_names(), 0.85);
    match (&error.problem, like.first()) {
        (Problem::Missing, Some(name)) => {
            Failure::usage(error.to_string()).help(format!("did you mean the bundled `{name}`?"))
        }
        _ => error.into(),
    }
}

fn one(input: &str, options: &LoadOptions) -> Result<Dataset, DatasetError> {
    if input == "-" {
        return dataset::load_reader("stdin", std::io::stdin().lock(), options);
    }
    // A file on disk takes precedence over a bundled name.
    if !Path::new(input).exists()
        && let Some(bundled) = dataset::bundled(input)
    {
        return bundled;
    }
    dataset::load(Path::new(input), options)
}
