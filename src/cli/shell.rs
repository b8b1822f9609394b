//! `recap completions SHELL` and `recap man FOLDER`: what is made of the
//! command line itself.

use std::path::PathBuf;

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use super::exit::{Exit, Failure};
use super::wire;

/// Options of `recap completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Options of `recap man`.
#[derive(Debug, Args)]
pub struct Man {
    /// The folder, which is made where it is missing
    folder: PathBuf,
}

pub(super) fn completions(arguments: &Completions) -> Result<Exit, Failure> {
    let mut command = super::Cli::command();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "recap", &mut script);
    wire::print_exact(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

pub(super) fn man(arguments: &Man) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(super::Cli::command(), folder))
        .map_err(|error| Failure::unwritable(folder, &error))?;
    Ok(Exit::Done)
}
