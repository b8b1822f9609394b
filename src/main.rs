//! The binary: parse, dispatch, print the error chain, exit.

use std::process::ExitCode;

use clap::Parser;
use recap::cli::{Cli, dispatch};

fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(cli) {
        Ok(code) => ExitCode::from(code.number()),
        Err(failure) => {
            eprint!("{failure}");
            ExitCode::from(failure.code().number())
        }
    }
}
