//! `recap completions SHELL`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::exit::{Exit, Failure};
use super::wire;

/// Options of `recap completions`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut command = super::Cli::command();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "recap", &mut script);
    wire::print_exact(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
