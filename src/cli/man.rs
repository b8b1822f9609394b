//! `recap man FOLDER`.

use std::path::PathBuf;

use clap::{Args, CommandFactory};

use super::exit::{Exit, Failure};

/// Options of `recap man`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The folder, which is made where it is missing
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(super::Cli::command(), folder))
        .map_err(|error| {
            Failure::usage(format!("cannot write to {}: {error}", folder.display()))
                .help("name a folder that you may write to, for example man1")
        })?;
    Ok(Exit::Done)
}
