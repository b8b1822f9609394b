//! `recap advise`: when to compact sessions like these.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::exchange::Exchange;
use super::exit::{Exit, Failure};
use super::progress::{Progress, Verbosity};
use super::seating::{Asked, ProbeMode, Seating};
use super::strategies;
use super::work::Work;
use super::{authoring, bench, headings, inputs, models, recordings, wire};
use crate::bench::{Bench, BenchPlan, Outcome, Questions};
use crate::dataset::LoadOptions;
use crate::measure;
use crate::model::Report;
use crate::pricing::PriceList;
use crate::probes::Cuts;
use crate::report::{ADVICE_JSON, ADVICE_PAGE, advice_html, advice_json, advice_table};
use crate::run::{Folder, REPLIES};
use crate::tokens::Counter;

/// Options of `recap advise`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Recorded sessions, as for `recap bench`: files or folders of a known transcript format, or a
    /// data set; `-` reads standard input [default: quickstart]
    #[arg(value_name = "SESSIONS")]
    inputs: Vec<String>,

    /// Read the newest session that an agent keeps on this machine
    #[arg(long, conflicts_with = "inputs")]
    latest: bool,

    /// Print the advice as JSON, and nothing else, on standard output
    #[arg(long)]
    json: bool,

    /// No progress, only the advice
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten, next_help_heading = headings::STRATEGIES)]
    selection: strategies::Selection,

    #[command(flatten, next_help_heading = headings::SEATS)]
    seating: Seating,

    /// Context limit of the model: tokens (200000, 200k), a share of each transcript's messages
    /// (25%), or native, the limit of the model that was recorded [default: native where requests
    /// of the data set report their tokens, else 25%]
    #[arg(long, value_name = "TOKENS|SHARE|native", help_heading = headings::REPLAY)]
    window: Option<String>,

    /// Make a compaction happen at so many places of each session, spread evenly over its tokens,
    /// or at `all` places that allow it
    #[arg(long, value_name = "N|all", default_value = "20", help_heading = headings::REPLAY)]
    cuts: Cuts,

    /// Repetitions of presets that call a compactor
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..), help_heading = headings::REPLAY)]
    replicates: u32,

    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = headings::REPLAY)]
    seed: u64,

    /// Cells at a time [default: the number of cores, or with models --concurrency if that is more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = headings::REPLAY)]
    jobs: Option<u16>,

    /// Use only the first N transcripts of each input
    #[arg(long, value_name = "N", help_heading = headings::REPLAY)]
    limit: Option<usize>,

    /// Make every sidechain (subagent) a transcript of its own
    #[arg(long, help_heading = headings::REPLAY)]
    sidechains: bool,

    #[command(flatten, next_help_heading = headings::REPLAY)]
    reading: inputs::ReadOptions,

    /// Model whose prices and cache rules bill the sessions [default: the model that each recording
    /// names]
    #[arg(long, value_name = "MODEL", help_heading = headings::BILL)]
    agent_model: Option<String>,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", help_heading = headings::BILL)]
    prices: Option<PathBuf>,

    /// Run folder: a new or empty one, or that of an earlier run, which is replaced
    /// [default: reports/TIME-NAME]
    #[arg(long, value_name = "DIR", help_heading = headings::REPORT)]
    out: Option<PathBuf>,

    /// Open the page when the advice is there
    #[arg(long, conflicts_with = "json", help_heading = headings::REPORT)]
    open: bool,

    /// Leave the sessions' words out of the run folder, as in `recap bench --no-text`
    #[arg(long, help_heading = headings::REPORT)]
    no_text: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    if matches!(arguments.cuts, Cuts::None | Cuts::Recorded) {
        let typed = format!("--cuts {} with recap advise", arguments.cuts);
        return Err(Failure::usage(typed).help(
            "it takes compactions at contexts of every size: write a number such as 20, or `all`",
        ));
    }
    let prices = Arc::new(models::prices(arguments.prices.as_deref())?);
    let counter = wire::counter(None);
    let plan = arguments.bench(&prices, &counter)?.plan()?;
    arguments.seating.refuse(ProbeMode::Probes, &plan.spec.presets)?;
    let (seats, exchange) = arguments.seating.fill(&counter, &prices, plan.spec.seed)?;
    let (folder, outcome) = replay(arguments, plan.seats(seats), exchange.as_ref())?;
    let models = match &exchange {
        None => Exit::Done,
        Some(exchange) => {
            exchange.report_cap(outcome.finished.calls.iter().filter_map(|call| call.usd).sum());
            exchange.save()?;
            exchange.ended()?
        }
    };
    let results = outcome.measure();
    results.write(&folder, &[])?;
    if models == Exit::Done {
        folder.remove(REPLIES)?;
    }
    tell(arguments, &results.report, &folder)?;
    Ok(if results.report.missing.is_some() { Exit::Incomplete } else { models })
}

/// Replays what is planned into the run folder.
fn replay(
    arguments: &Arguments,
    mut plan: BenchPlan,
    exchange: Option<&Exchange>,
) -> Result<(Folder, Outcome), Failure> {
    plan.manifest.warnings.extend(exchange.iter().flat_map(|e| e.warnings.clone()));
    let mut work = Work::new(plan.spec.jobs.min(wire::cores()))?;
    let run = work.run(plan.prepare())??;
    let path = match &arguments.out {
        Some(out) => out.clone(),
        None => bench::new_folder(&run.manifest().title)?,
    };
    let mut folder = run.create(&path)?;
    if let Some(exchange) = exchange.filter(|_| !arguments.no_text) {
        exchange.keep_replies(&folder.path().join(REPLIES))?;
    }
    let quiet = arguments.quiet || arguments.json;
    let progress = Progress::new(if quiet { Verbosity::Quiet } else { Verbosity::Normal });
    let ran = work.run(run.run(&mut folder, &progress));
    // Dropping unfinished cells ends the programs that they started.
    drop(work);
    progress.finish();
    let interrupted = |exit| {
        Failure::with_code(exit, format!("interrupted; {} holds what finished", path.display()))
    };
    let outcome = ran.map_err(|stopped| interrupted(stopped.0))??;
    Ok((folder, outcome))
}

/// Writes the advice and prints it.
fn tell(arguments: &Arguments, report: &Report, folder: &Folder) -> Result<(), Failure> {
    let advice = measure::advice(report);
    let json = advice_json(report, &advice);
    folder.write_with(ADVICE_JSON, |out| out.write_all(json.as_bytes()))?;
    let page = advice_html(report, &advice);
    folder.write_with(ADVICE_PAGE, |out| out.write_all(page.as_bytes()))?;
    if arguments.json {
        return wire::print_exact(&json);
    }
    let path = folder.path().join(ADVICE_PAGE);
    let text = advice_table(report, &advice, wire::width());
    wire::print(&format!("{text}\nadvice: {}\n", path.display()))?;
    if arguments.open
        && let Err(error) = open::that_detached(&path)
    {
        wire::say(&format!("warning: {} could not be opened: {error}", path.display()));
    }
    Ok(())
}

impl Arguments {
    /// The run that the advice is computed from, with its inputs loaded.
    fn bench(&self, prices: &Arc<PriceList>, counter: &Arc<Counter>) -> Result<Bench, Failure> {
        let window = self.window.as_deref().map(wire::window).transpose()?;
        let latest = self.latest.then(recordings::latest).transpose()?;
        let latest = latest.map(|path| vec![path.to_string_lossy().into_owned()]);
        let reading = LoadOptions { sidechains: self.sidechains, ..self.reading.options() };
        let datasets = inputs::load(latest.as_ref().unwrap_or(&self.inputs), &reading)?;
        let questions = match self.seating.questions() {
            Asked::None => Questions::None,
            Asked::Auto => Questions::Auto,
            Asked::File(path) => authoring::read(path, &datasets)?,
            Asked::Model(model) => {
                return Err(Failure::usage(format!("--questions {model} with recap advise")).help(
                    "let it write them once with `recap probes generate SESSIONS --model \
                         MODEL -o FILE`, and give that FILE",
                ));
            }
        };
        Ok(Bench::new(datasets)
            .limit(self.limit)
            .no_text(self.no_text)
            .presets(&self.selection.strategy)
            .changes(&self.selection.set)
            .windows(window)
            .prices(Arc::clone(prices))
            .agent_models(&self.agent_model)
            .compactor_model(self.seating.compactor_id()?)
            .counter(Arc::clone(counter))
            .cuts(self.cuts, 1)
            .questions(questions)
            .replicates(self.replicates)
            .seed(self.seed)
            .jobs(self.jobs.map_or_else(|| self.seating.jobs(), usize::from)))
    }
}
