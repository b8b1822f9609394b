//! `recap tune`: `recap bench` over settings of one strategy.

use clap::Args;

use super::bench::{self, Job};
use crate::failure::{Exit, Failure};

/// Options of `recap tune`: those of `recap bench`, and the ones that it had.
#[derive(Debug, Args)]
#[group(skip)]
#[command(mut_arg("cuts", |cuts| cuts.default_value("none")))]
pub struct Arguments {
    #[command(flatten)]
    bench: bench::Arguments,

    /// Options that are gone.
    #[arg(long = "space", aliases = ["settings", "objective", "hold-back", "max-wait"], hide = true)]
    removed: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.removed.is_some() {
        let gone = "--space, --settings, --objective, --hold-back and --max-wait are gone";
        return Err(Failure::usage(gone).help(
            "name the strategy with --strategy, and values with --set KEY=V1,V2: every combination \
             is a setting; facts and answers are both measured, waits stand in summary.csv",
        ));
    }
    bench::run(&arguments.bench, Job::Tune)
}
