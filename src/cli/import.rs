//! `recap import`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::ProgressBar;

use super::{inputs, wire};
use crate::failure::{Exit, Failure};
use recap_core::model::suggest;
use recap_core::text::counted;
use recap_formats::{
    DatasetError, Export, FORMATS, ImportOptions, Imported, LoadOptions, Problem, import,
};

/// Options of `recap import`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Format of the files, or `auto` to detect it
    #[arg(value_name = "FORMAT")]
    format: String,

    /// Files or folders
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Folder that is written into; it must not hold a data set
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,

    /// Make every subagent's conversation a session of its own
    #[arg(long)]
    sidechains: bool,

    /// Format that is written
    #[arg(long, value_name = "FORMAT", default_value = "native",
          value_parser = ["native", "openai-chat"])]
    to: String,

    /// Replace keys, tokens, passwords, e-mail addresses and names of users by pseudonyms
    #[arg(long)]
    redact: bool,

    #[command(flatten)]
    reading: inputs::ReadOptions,
}

/// How often the spinner moves.
const STEP: Duration = Duration::from_millis(100);

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let only = only(&arguments.format)?;
    let sidechains = arguments.sidechains;
    let load = LoadOptions { sidechains, only, ..arguments.reading.options() };
    let export = if arguments.to == "native" { Export::Native } else { Export::OpenAiChat };
    let options = ImportOptions { load, export, redact: arguments.redact };
    // It is drawn on a terminal alone.
    let spinner = ProgressBar::new_spinner();
    spinner.enable_steady_tick(STEP);
    let imported = import(&arguments.files, &arguments.out, &options);
    spinner.finish_and_clear();
    let imported = imported.map_err(twice)?;
    say(&imported);
    let sessions = counted(imported.sessions, "session");
    wire::print(&format!("{sessions} in {}\n", arguments.out.display()))?;
    Ok(Exit::Done)
}

fn say(imported: &Imported) {
    wire::warn(&imported.warnings);
    for (session, reason, count) in &imported.left_out {
        wire::say(&format!("{session}: left out {count} × {reason}"));
    }
    for (what, count) in &imported.not_written {
        wire::say(&format!("the written format has no place for {count} × {what}"));
    }
    for (kind, values, places) in &imported.redacted {
        let place = counted(*places, "place");
        wire::say(&format!("replaced: {} in {place}", counted(*values, kind)));
    }
}

/// Two sessions with the same id could not be read back.
fn twice(error: DatasetError) -> Failure {
    match &error.problem {
        Problem::RepeatedSession(id) => Failure::usage(format!("session `{id}` is given twice"))
            .help("name each file once, or give the folder that holds them all"),
        _ => error.into(),
    }
}

/// The only format to try; `None` to detect it.
fn only(typed: &str) -> Result<Option<&'static str>, Failure> {
    if typed == "auto" {
        return Ok(None);
    }
    let known: Vec<&'static str> = FORMATS.iter().map(|f| f.name).collect();
    match known.iter().find(|name| **name == typed) {
        Some(name) => Ok(Some(name)),
        None => Err(Failure::usage(format!("format `{typed}` is not known")).help(format!(
            "{}; `recap datasets formats` lists them all",
            suggest(typed, std::iter::once("auto").chain(known))
        ))),
    }
}
