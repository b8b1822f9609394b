//! The options of a search, and of how it replays sessions.

use clap::Args;

use super::{inputs, wire};
use crate::tune::Objective;
use recap_exam::facts::Cuts;
use recap_replay::WindowSpec;

/// What is searched.
#[derive(Debug, Args)]
pub(super) struct SearchOptions {
    /// What is searched: a TOML file with `base` and `[vary]`, or a strategy by name or file, whose
    /// own numbers are varied
    #[arg(long, value_name = "FILE|STRATEGY")]
    pub space: String,

    /// Largest number of settings, drawn by the seed where the space has more [default: 16, or
    /// `settings` of the space]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub settings: Option<u16>,

    /// What is to be kept: facts at cuts, or answers to questions at cuts (continuity)
    #[arg(long, value_name = "kept|continuity", default_value = "kept", value_parser = objective)]
    pub objective: Objective,

    /// Share of the projects that are held back (of the sessions, where one project is known)
    #[arg(long, value_name = "SHARE", default_value = "0.4", value_parser = part)]
    pub hold_back: f64,

    /// Longest wait for a compaction, as 95th percentile: settings above it are not recommended
    #[arg(long, value_name = "SECONDS", value_parser = amount)]
    pub max_wait: Option<f64>,
}

/// How sessions are replayed.
#[derive(Debug, Args)]
pub(super) struct ReplayOptions {
    /// Context limit to assume where the space names none, as in `recap bench`
    #[arg(long, value_name = "TOKENS|SHARE|native")]
    pub window: Option<WindowSpec>,

    /// Keep numbers of tokens and characters as written instead of scaling them to the window
    #[arg(long)]
    pub no_scale: bool,

    /// Places of each session at which a compaction is forced, as in `recap bench`
    #[arg(long, value_name = "N|all|recorded", default_value = "5")]
    pub cuts: Cuts,

    /// Depth of the cuts, as in `recap bench`
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub depth: u32,

    /// Repetitions of strategies that call a compactor
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub replicates: u32,

    /// Seed of every random stream, of the split and of the settings that are drawn
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,

    /// Cells at a time [default: the cores, or with models --concurrency if that is more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,

    /// How tokens are counted [default: calibrated]
    #[arg(long, value_enum)]
    pub tokens: Option<wire::TokenCounting>,

    #[command(flatten)]
    pub reading: inputs::ReadOptions,
}

fn objective(typed: &str) -> Result<Objective, String> {
    match typed {
        "kept" => Ok(Objective::Kept),
        "continuity" => Ok(Objective::Continuity),
        _ => Err("write kept or continuity".to_owned()),
    }
}

fn number(typed: &str) -> Result<f64, String> {
    typed.parse().ok().filter(|x: &f64| x.is_finite()).ok_or_else(|| "not a number".to_owned())
}

fn part(typed: &str) -> Result<f64, String> {
    let share = number(typed)?;
    if share > 0.0 && share < 1.0 { Ok(share) } else { Err("not between 0 and 1".to_owned()) }
}

fn amount(typed: &str) -> Result<f64, String> {
    let x = number(typed)?;
    if x >= 0.0 { Ok(x) } else { Err("below 0".to_owned()) }
}
