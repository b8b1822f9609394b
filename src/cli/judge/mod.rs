//! `recap judge`.

#![allow(clippy::disallowed_methods, reason = "shows what has passed")]

mod again;
mod calibrate;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use clap::{Args, Subcommand};

use super::call_options::CallOptions;
use super::exit::{Exit, Failure};
use super::model_session::ModelSession;
use super::role_options::judges;
use super::work::Work;
use super::{headings, models, wire};
use recap_core::model::{Judgement, OFFLINE, Source};
use recap_core::text::counted;
use recap_exam::roles::judge::{Grading, Judge, Offline};

/// Options of `recap judge`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    again: again::RegradeArguments,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Measure a judge: its agreement with people
    ///
    /// Prints agreement, Cohen's kappa, false accepts and false rejects, by file and by who
    /// answered.
    Calibrate(calibrate::CalibrateArguments),
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.action {
        Some(Action::Calibrate(arguments)) => calibrate::run(arguments),
        None => again::run(&arguments.again),
    }
}

/// Waits for a judge, and reports an interruption.
fn wait<T>(grading: impl Future<Output = T>) -> Result<T, Failure> {
    let graded = Work::new(1)?.run(grading);
    graded.map_err(|stopped| {
        Failure::from(stopped)
            .help("with --cassette FILE --record, a second run pays only for the rest")
    })
}

/// A judge whose progress is printed every few seconds.
struct ProgressJudge {
    judge: Arc<dyn Judge>,
    graded: AtomicUsize,
    of: usize,
    last_shown: Mutex<Instant>,
}

impl ProgressJudge {
    /// Shortest time between two lines.
    const EVERY: Duration = Duration::from_secs(5);

    fn new(judge: Arc<dyn Judge>, of: usize) -> Self {
        Self { judge, graded: AtomicUsize::new(0), of, last_shown: Mutex::new(Instant::now()) }
    }
}

#[async_trait]
impl Judge for ProgressJudge {
    async fn grade(&self, grading: &Grading<'_>) -> Judgement {
        let judgement = self.judge.grade(grading).await;
        let graded = self.graded.fetch_add(1, Ordering::Relaxed) + 1;
        let mut last_shown = self.last_shown.lock().expect("showing does not panic");
        if last_shown.elapsed() >= Self::EVERY {
            *last_shown = Instant::now();
            wire::say(&format!("{graded} of {} graded", counted(self.of, "answer")));
        }
        judgement
    }

    fn name(&self) -> &str {
        self.judge.name()
    }

    fn source(&self) -> Source {
        self.judge.source()
    }
}

/// The judge's role.
#[derive(Debug, Args)]
struct JudgeRole {
    /// Who grades the answers; two are a panel, a third decides where they disagree
    #[arg(long, value_name = "MODEL", default_values_t = [OFFLINE.to_owned()],
          help_heading = headings::ROLES)]
    judge: Vec<String>,

    #[command(flatten)]
    line: CallOptions,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", help_heading = headings::BILL)]
    prices: Option<PathBuf>,
}

impl JudgeRole {
    /// The judge or the panel, and the models behind it.
    fn fill(&self, seed: u64) -> Result<(Arc<dyn Judge>, Option<ModelSession>), Failure> {
        if self.judge.iter().all(|name| name == OFFLINE) && self.judge.len() == 1 {
            self.line.refuse_idle()?;
            return Ok((Arc::new(Offline), None));
        }
        let prices = Arc::new(models::prices(self.prices.as_deref())?);
        let typed: Vec<&str> = self.judge.iter().map(String::as_str).collect();
        let mut model_session = ModelSession::open(&self.line, &typed, &prices, seed)?;
        model_session.warnings.iter().for_each(|warning| wire::say(&format!("warning: {warning}")));
        Ok((judges(&self.judge, &mut model_session)?, Some(model_session)))
    }
}
