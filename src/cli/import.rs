//! `recap import`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;

use super::exit::{Exit, Failure};
use super::{inputs, wire};
use crate::dataset::{Dataset, FORMATS, LoadOptions, load, write_native};
use crate::model::suggest;
use crate::text::counted;

/// Options of `recap import`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Format of the files, or `auto` to detect it
    #[arg(value_name = "FORMAT")]
    format: String,

    /// Files or folders
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Folder of the native data set; it must not hold one
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,

    /// Make every sidechain (subagent) a transcript of its own
    #[arg(long)]
    sidechains: bool,

    #[command(flatten)]
    reading: inputs::ReadOptions,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let only = only(&arguments.format)?;
    let sidechains = arguments.sidechains;
    let options = LoadOptions { sidechains, only, ..arguments.reading.options() };
    let mut whole = Dataset { name: name(&arguments.out), ..Dataset::default() };
    for file in &arguments.files {
        let loaded = load(file, &options)?;
        whole.transcripts.extend(loaded.transcripts);
        whole.probes.extend(loaded.probes);
        whole.warnings.extend(loaded.warnings);
        whole.files.extend(loaded.files);
    }
    unique(&whole)?;
    write_native(&whole, &arguments.out)?;
    for warning in &whole.warnings {
        wire::say(&format!("warning: {warning}"));
    }
    for transcript in &whole.transcripts {
        for (reason, count) in &transcript.left_out {
            wire::say(&format!("{}: left out {count} × {reason}", transcript.id));
        }
    }
    let transcripts = counted(whole.transcripts.len(), "transcript");
    wire::print(&format!("{transcripts} in {}\n", arguments.out.display()))?;
    Ok(Exit::Done)
}

/// Two transcripts with the same id could not be read back.
fn unique(dataset: &Dataset) -> Result<(), Failure> {
    let mut seen = BTreeSet::new();
    match dataset.transcripts.iter().find(|t| !seen.insert(t.id.as_str())) {
        Some(twice) => Err(Failure::usage(format!("transcript `{}` is given twice", twice.id))
            .help("name each file once, or give the folder that holds them all")),
        None => Ok(()),
    }
}

/// The only format to try; `None` to detect it.
fn only(typed: &str) -> Result<Option<&'static str>, Failure> {
    if typed == "auto" {
        return Ok(None);
    }
    let known: Vec<&'static str> = FORMATS.iter().map(|f| f.name()).collect();
    match known.iter().find(|name| **name == typed) {
        Some(name) => Ok(Some(name)),
        None => Err(Failure::usage(format!("format `{typed}` is not known"))
            .help(suggest(typed, std::iter::once("auto").chain(known)))),
    }
}

fn name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| "imported".to_owned(), |n| n.to_string_lossy().into_owned())
}
