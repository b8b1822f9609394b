//! The command line: one file per subcommand. Only this layer reads the
//! environment and the wall clock, and only this layer prints.

mod authoring;
mod bench;
mod call_options;
mod compare;
mod config;
mod datasets;
mod dry_run;
mod exit;
mod gating;
mod generate;
mod headings;
mod import;
mod init;
mod inputs;
mod judge;
mod merge;
mod model_name;
mod model_session;
mod models;
mod progress;
mod questions;
mod recordings;
mod report;
mod role_options;
mod shell;
mod show;
mod strategies;
mod tune;
mod wire;
mod work;

use clap::{Parser, Subcommand};
use role_options::QuestionMode;

#[doc(hidden)]
pub use config::bench_with;
pub use exit::{Exit, Failure};
pub use wire::print;

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
    Tune(tune::Arguments),
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
    Completions(shell::Completions),
    /// Write the man pages of recap and its commands into a folder
    Man(shell::Man),
}

/// The parsed command line, completed by the environment and `recap.toml`.
pub fn parse() -> Result<Cli, Failure> {
    config::parse(wire::arguments())
}

/// Runs the subcommand and returns how the program ends.
pub fn dispatch(cli: Cli) -> Result<Exit, Failure> {
    let Some(command) = cli.command else {
        print(&recordings::greeting())?;
        return Ok(Exit::Done);
    };
    match command {
        Command::Bench(arguments) => bench::run(&arguments, QuestionMode::Questions),
        Command::Replay(arguments) => bench::run(&arguments, QuestionMode::Nothing),
        Command::Report(arguments) => report::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Tune(arguments) => tune::run(arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Strategies(arguments) => strategies::run(&arguments),
        Command::Questions(arguments) => questions::run(&arguments),
        Command::Judge(arguments) => judge::run(&arguments),
        Command::Datasets(arguments) => datasets::run(&arguments),
        Command::Models(arguments) => models::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Completions(arguments) => shell::completions(&arguments),
        Command::Man(arguments) => shell::man(&arguments),
    }
}
