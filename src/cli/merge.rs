//! `recap merge`: the shards of a run as one run.

use std::path::PathBuf;

use clap::Args;

use super::{headings, report, wire};
use crate::bench::merge;
use crate::failure::{Exit, Failure};
use recap_core::text::counted;
use recap_llm::cassette::merged;

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
    arguments.rendering.output.check()?;
    if let Some(same) = arguments.shards.iter().find(|shard| **shard == arguments.out) {
        return Err(Failure::usage(format!("--out is one of the shards: {}", same.display()))
            .help("give another folder: shards are not overwritten"));
    }
    let (calls, warnings) = merged(&arguments.cassettes)?;
    wire::warn(&warnings);
    merge(&arguments.shards, &arguments.out)?;
    if !arguments.cassettes.is_empty() {
        let file = arguments.out.join(CASSETTE);
        let lines = calls.iter().flat_map(|line| [line, "\n"]).collect::<String>();
        wire::write_file(&file, lines.as_bytes())?;
        wire::say(&format!("{} in {}", counted(calls.len(), "call"), file.display()));
    }
    report::render(&arguments.out, &arguments.rendering)
}
