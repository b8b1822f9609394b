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

    #[command(flatten)]
    removed: Removed,
}

/// Options that are gone, each with what took its place.
#[derive(Debug, Args)]
struct Removed {
    #[arg(long, hide = true)]
    space: Option<String>,

    #[arg(long, hide = true)]
    settings: Option<String>,

    #[arg(long, hide = true)]
    objective: Option<String>,

    #[arg(long, hide = true)]
    hold_back: Option<String>,

    #[arg(long, hide = true)]
    max_wait: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let Removed { space, settings, objective, hold_back, max_wait } = &arguments.removed;
    let removed = [
        ("--space", space, "name the strategy with --strategy, and values with --set KEY=V1,V2"),
        ("--settings", settings, "every combination is a setting: give fewer values"),
        ("--objective", objective, "facts and answers are both measured: leave it out"),
        ("--hold-back", hold_back, "half of the projects is held back: leave it out"),
        ("--max-wait", max_wait, "waits stand in summary.csv (blocking_ms_p95): leave it out"),
    ];
    match removed.into_iter().find(|(_, typed, _)| typed.is_some()) {
        Some((option, _, instead)) => {
            Err(Failure::usage(format!("{option} is gone")).help(instead))
        }
        None => bench::run(&arguments.bench, Job::Tune),
    }
}
