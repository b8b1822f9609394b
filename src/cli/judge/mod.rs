//! `recap judge`.

mod again;
mod calibrate;

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::exchange::{Exchange, Line};
use super::exit::{Exit, Failure};
use super::model_name::OFFLINE;
use super::seating::judges;
use super::{models, wire};
use crate::seats::judge::{Judge, Offline};

/// Options of `recap judge`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    again: again::Again,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Measure a judge: its agreement with people, and which planted answers it accepts
    ///
    /// Prints agreement, Cohen's kappa, false accepts and false rejects, by file, by who answered
    /// and by what was planted: right answers, and wrong, vague, negated, stale, refused, empty and
    /// injected ones to the same questions.
    Calibrate(calibrate::Calibrate),
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.action {
        Some(Action::Calibrate(arguments)) => calibrate::run(arguments),
        None => again::run(&arguments.again),
    }
}

/// The judge's seat.
#[derive(Debug, Args)]
struct Seat {
    /// Who judges: `offline`, or provider/model; two for a panel, and a third for what they
    /// disagree on
    #[arg(long, value_name = "MODEL", default_values_t = [OFFLINE.to_owned()])]
    judge: Vec<String>,

    #[command(flatten)]
    line: Line,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
}

impl Seat {
    /// The judge or the panel, and the line to the models in it.
    fn fill(&self, seed: u64) -> Result<(Arc<dyn Judge>, Option<Exchange>), Failure> {
        if self.judge.iter().all(|name| name == OFFLINE) && self.judge.len() == 1 {
            self.line.refuse_idle()?;
            return Ok((Arc::new(Offline), None));
        }
        let prices = Arc::new(models::prices(self.prices.as_deref())?);
        let typed: Vec<&str> = self.judge.iter().map(String::as_str).collect();
        let mut exchange = Exchange::open(&self.line, &typed, &prices, seed)?;
        exchange.warnings.iter().for_each(|warning| wire::say(&format!("warning: {warning}")));
        Ok((judges(&self.judge, &mut exchange)?, Some(exchange)))
    }
}
