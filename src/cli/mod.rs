//! The command line: one file per subcommand. Only this layer reads the
//! environment and the wall clock, and only this layer prints.

mod authoring;
mod bench;
mod compare;
mod config;
mod datasets;
mod dry_run;
mod gating;
mod headings;
mod import;
mod init;
mod inputs;
mod judge;
mod merge;
mod model_session;
mod models;
mod progress;
mod questions;
mod report;
mod roles;
mod show;
mod strategies;
mod wire;
mod work;

use std::path::{Path, PathBuf};

use bench::Job;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

pub use crate::failure::{Exit, Failure};
#[doc(hidden)]
pub use config::bench_with;
pub use wire::{complain, print};

/// Measures what an LLM agent's context compression loses, what it saves and
/// what it costs, on recorded sessions.
#[derive(Debug, Parser)]
#[command(name = "recap", version, about, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Replay sessions through strategies, measure what survives, and report: the main job
    Bench(bench::Arguments),
    /// Replay without asking questions: facts kept, tokens, cost, waits
    Replay(bench::Arguments),
    /// Render the files of a finished run again
    Report(report::Arguments),
    /// Put the shards of a run together, and report
    Merge(merge::Arguments),
    /// Print what changed between two runs on the same data
    Compare(compare::Arguments),
    /// Compare settings of one strategy, chosen on one half of the projects, judged on the other
    #[command(mut_arg("cuts", |cuts| cuts.default_value("none")))]
    Tune(bench::Arguments),
    /// Convert foreign logs into a native data set
    Import(import::Arguments),
    /// Print the exact context of a request or after a cut, and what differs from the whole
    /// conversation
    Show(show::Arguments),
    /// List, show or check strategies
    Strategies(strategies::Arguments),
    /// Check the questions of a data set
    Questions(questions::Arguments),
    /// Judge stored answers again, or measure a judge against people
    Judge(judge::Arguments),
    /// List or show the bundled data sets
    Datasets(datasets::Arguments),
    /// List or show what models cost
    Models(models::Arguments),
    /// Write recap.toml and a workflow for CI
    Init(init::Arguments),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the man pages of recap and its commands into a folder
    Man {
        /// The folder, which is made where it is missing
        folder: PathBuf,
    },
}

/// The parsed command line, completed by the environment and `recap.toml`.
pub fn parse() -> Result<Cli, Failure> {
    config::parse(wire::arguments())
}

/// Runs the subcommand and returns how the program ends.
pub fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    let Some(command) = cli.command else {
        print(&inputs::greeting())?;
        return Ok(Exit::Done);
    };
    match command {
        Command::Bench(arguments) => bench::run(&arguments, Job::Bench),
        Command::Replay(arguments) => bench::run(&arguments, Job::Replay),
        Command::Report(arguments) => report::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Tune(arguments) => bench::run(&arguments, Job::Tune),
        Command::Import(arguments) => import::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Strategies(arguments) => strategies::run(&arguments),
        Command::Questions(arguments) => questions::run(&arguments),
        Command::Judge(arguments) => judge::run(&arguments),
        Command::Datasets(arguments) => datasets::run(&arguments),
        Command::Models(arguments) => models::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Completions { shell } => completions(shell),
        Command::Man { folder } => man(&folder),
    }
}

fn completions(shell: Shell) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "recap", &mut script);
    wire::print_exact(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

fn man(folder: &Path) -> Result<Exit, Failure> {
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), folder))
        .map_err(|error| Failure::unwritable(folder, &error))?;
    Ok(Exit::Done)
}
