//! `recap completions SHELL`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::exit::{Exit, Failure};

/// Options of `recap completions`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut command = super::Cli::command();
    clap_complete::generate(arguments.shell, &mut command, "recap", &mut std::io::stdout());
    Ok(Exit::Done)
}
