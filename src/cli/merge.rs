//! `recap merge`: the shards of a run as one run.

use std::path::PathBuf;

use clap::Args;

use super::exit::{Exit, Failure};
use super::{headings, report, wire};
use crate::bench::{MergeError, merge};
use recap_core::text::counted;
use recap_llm::cassette::Merged;

/// The file of all shards' calls in the folder of the run.
const CASSETTE: &str = "cassette.jsonl";

/// Options of `recap merge`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folders that `recap bench --shard` left, all of them, in any order
    #[arg(required = true, value_name = "SHARD")]
    shards: Vec<PathBuf>,

    /// The cassettes that the shards recorded: put together in DIR/cassette.jsonl
    #[arg(long, value_name = "FILE", num_args = 1.., help_heading = headings::CALLS)]
    cassettes: Vec<PathBuf>,

    /// Folder of the whole run; an earlier run in it is replaced
    #[arg(long, value_name = "DIR", help_heading = headings::REPORT)]
    out: PathBuf,

    #[command(flatten)]
    rendering: report::Rendering,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    report::check_formats(&arguments.rendering.format)?;
    if let Some(same) = arguments.shards.iter().find(|shard| **shard == arguments.out) {
        return Err(Failure::usage(format!("--out is one of the shards: {}", same.display()))
            .help("give another folder: shards are not overwritten"));
    }
    let calls = Merged::of(&arguments.cassettes)?;
    wire::warn(&calls.warnings);
    merge(&arguments.shards, &arguments.out).map_err(|error| refused(&error))?;
    if !arguments.cassettes.is_empty() {
        let file = arguments.out.join(CASSETTE);
        calls.write(&file)?;
        wire::say(&format!("{} in {}", counted(calls.len(), "call"), file.display()));
    }
    report::render(&arguments.out, &arguments.rendering)
}

fn refused(error: &MergeError) -> Failure {
    let message = error.to_string();
    let help = match error {
        MergeError::Folder(_) | MergeError::Nothing | MergeError::Whole { .. } => {
            "give the folders that `recap bench --shard I/N` left"
        }
        MergeError::Foreign { .. } => "make all shards with the same inputs and options",
        MergeError::Doubled { .. } => "give each shard once",
        MergeError::Missing { .. } => {
            return Failure::with_code(Exit::Incomplete, message).help(
                "make them with --shard I/N, go on with interrupted ones with --resume, then merge \
                 again",
            );
        }
    };
    Failure::usage(message).help(help)
}
