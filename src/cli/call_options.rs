//! The options of calls to models: cassette, budget, limits, redaction.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::exit::{Exit, Failure};
use super::{headings, wire};
use crate::bench::Part;
use recap_llm::cassette::{Mode, Scrub};
use recap_llm::{Budget, Cassette, Client, Limits, Options};

/// How models are called.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = headings::CALLS)]
pub struct CallOptions {
    /// Recording of calls, with --record or --replay
    #[arg(long, value_name = "FILE")]
    cassette: Option<PathBuf>,

    /// Add every call to the cassette; calls that it holds are not sent
    #[arg(long, requires = "cassette", conflicts_with = "replay")]
    record: bool,

    /// Read every call from the cassette; nothing is sent
    #[arg(long, requires = "cassette")]
    replay: bool,

    /// Largest cost of all calls to models: no call that could exceed it is made, and `recap bench`
    /// makes none where more is expected
    #[arg(long, value_name = "USD", value_parser = dollars)]
    max_cost: Option<f64>,

    /// Calls under way at a time, for each model
    #[arg(long, value_name = "N", default_value = "16")]
    concurrency: NonZero<u32>,

    /// Calls begun in a minute, for each model [default: any number]
    #[arg(long, value_name = "N")]
    per_minute: Option<NonZero<u32>>,

    /// Requests for a call at most, the first included
    #[arg(long, value_name = "N", default_value = "5")]
    attempts: NonZero<u32>,

    /// Seconds that a model may take for a reply
    #[arg(long, value_name = "SECONDS", default_value = "120")]
    timeout: NonZero<u32>,

    /// Whether keys, tokens, passwords and e-mail addresses are replaced by placeholders before
    /// text is sent [default: yes, but for servers on this machine]
    #[arg(long, value_name = "yes|no", value_enum)]
    pub(super) redact: Option<Redact>,
}

/// Whether text is scrubbed before it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Redact {
    Yes,
    No,
}

/// The unit in which a cap on the cost is divided, in parts of a dollar.
const MICRO: f64 = 1e6;

fn dollars(typed: &str) -> Result<f64, String> {
    let usd: f64 = typed.trim_start_matches('$').parse().map_err(|_| "not a number".to_owned())?;
    if usd.is_finite() && usd >= 0.0 { Ok(usd) } else { Err("not an amount".to_owned()) }
}

impl CallOptions {
    /// Whether nothing is sent.
    pub(super) fn is_replay(&self) -> bool {
        self.replay
    }

    /// Dollars that all calls may cost, where there is a cap.
    pub(super) fn max_cost(&self) -> Option<f64> {
        self.max_cost
    }

    /// Whether replies are read from or added to a cassette.
    pub(super) fn has_cassette(&self) -> bool {
        self.cassette.is_some()
    }

    /// Calls in flight at a time.
    pub(super) fn concurrency(&self) -> usize {
        self.concurrency.get() as usize
    }

    /// How many calls may be made at a time and in a minute.
    pub(super) fn limits(&self) -> Limits {
        Limits {
            concurrency: self.concurrency.get(),
            per_minute: self.per_minute.map(NonZero::get),
        }
    }

    pub(super) fn cassette(
        &self,
        scrub: &Scrub,
    ) -> Result<(Option<Cassette>, Vec<String>), Failure> {
        let Some(file) = &self.cassette else { return Ok((None, Vec::new())) };
        let mode = match (self.record, self.replay) {
            (true, _) => Mode::Record,
            (_, true) => Mode::Replay,
            _ => {
                return Err(Failure::usage("--cassette without --record or --replay")
                    .help("--record adds calls to it, --replay reads every call from it"));
            }
        };
        let (tape, warnings) = Cassette::open(file, mode, Arc::clone(scrub))?;
        Ok((Some(tape), warnings))
    }

    /// The same options for one of several processes: its part of the limits, by
    /// its share of the calls. The parts of all processes add up to the whole, in
    /// millionths of a dollar and in calls a minute; each process that makes any
    /// call may begin one a minute at least.
    ///
    /// # Errors
    /// If there are fewer calls a minute than processes.
    pub(super) fn of_part(&self, part: Part<'_>) -> Result<CallOptions, Failure> {
        let max_cost =
            self.max_cost.map(|usd| part.of((usd * MICRO).floor() as u64) as f64 / MICRO);
        let per_minute = match self.per_minute {
            Some(all) if part.calls() > 0 => {
                let own = part.of_at_least_one(all.get().into()).ok_or_else(|| {
                    Failure::usage(format!(
                        "--per-minute {all} is less than one call a minute for each of the {} \
                         shards with calls",
                        part.with_calls()
                    ))
                    .help("raise it, or make fewer shards")
                })?;
                u32::try_from(own).ok().and_then(NonZero::new)
            }
            // Without sessions there is nothing to call.
            _ => None,
        };
        Ok(CallOptions { max_cost, per_minute, ..self.clone() })
    }

    /// The limits of cost and of calls in words, where there are any.
    pub(super) fn described(&self) -> Option<String> {
        let dollars = self.max_cost.map(|dollars| format!("at most ${dollars:.6}"));
        let calls = self.per_minute.map(|calls| format!("at most {calls} calls a minute"));
        let said: Vec<String> = dollars.into_iter().chain(calls).collect();
        (!said.is_empty()).then(|| said.join(" and "))
    }

    /// The existing cassette, if there is one.
    pub(super) fn recorded(&self) -> Result<Option<Cassette>, Failure> {
        let Some(file) = self.cassette.as_ref().filter(|file| file.exists()) else {
            return Ok(None);
        };
        let (tape, _) = Cassette::open(file, Mode::Replay, Arc::new(str::to_owned))?;
        Ok(Some(tape))
    }

    pub(super) fn client(&self, seed: u64) -> Result<Arc<Client>, Failure> {
        let attempt = Duration::from_secs(self.timeout.get().into());
        let mut options = Options::new(seed, wire::now);
        options.budget = Budget::new(self.max_cost);
        options.call = options.call.max(attempt);
        options.attempt = attempt;
        options.patience.attempts = self.attempts.get();
        Client::new(options).map_err(|problem| {
            Failure::with_code(Exit::Incomplete, problem.to_string())
                .help("the system could not start a thread; try again, or free some memory")
        })
    }

    /// Refuses options of model calls where no role has a model: they would have no effect.
    pub(super) fn refuse_idle(&self) -> Result<(), Failure> {
        let idle = [
            (self.cassette.is_some(), "--cassette"),
            (self.max_cost.is_some(), "--max-cost"),
            (self.per_minute.is_some(), "--per-minute"),
        ];
        match idle.iter().find(|(given, _)| *given) {
            Some((_, option)) => Err(Failure::usage(format!("{option} without a model")).help(
                "name one with --compactor, --answerer, --judge, --embedder or --questions, or \
                 leave it out",
            )),
            None => Ok(()),
        }
    }
}
