//! `recap bench` and `recap replay`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::config;
use super::exit::{Exit, Failure};
use super::model_session::ModelSession;
use super::progress::{Progress, Verbosity};
use super::role_options::{QuestionMode, QuestionSource, RoleOptions};
use super::strategies;
use super::work::{Stopped, Work};
use super::{authoring, dry_run, gating, headings, inputs, models, recordings, report, wire};
use crate::bench::{Bench, BenchPlan, Outcome, Questions, Results};
use recap_billing::pricing::PriceList;
use recap_core::model::Shard;
use recap_core::text::counted;
use recap_core::tokens::Counter;
use recap_exam::facts::Cuts;
use recap_formats::LoadOptions;
use recap_replay::run::{Finished, Folder, Loaded, REPLIES};
use recap_report::format_names;

/// Options of `recap bench` and `recap replay`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A bundled data set, or files or folders of a known format; `-` reads standard input
    /// [default: quickstart]
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,

    /// Read the newest session that an agent keeps on this machine (Claude Code, Codex CLI, pi)
    #[arg(long, conflicts_with = "inputs")]
    latest: bool,

    #[command(flatten)]
    settings: config::Settings,

    /// Print the plan with the calls, tokens and dollars that models would take, and stop; nothing
    /// is sent or written
    #[arg(long)]
    dry_run: bool,

    /// Print only the summary, or with --dry-run the plan, as JSON
    #[arg(long)]
    json: bool,

    /// Show every column, note and limit
    #[arg(long, conflicts_with = "json")]
    wide: bool,

    /// No progress, only the table
    #[arg(long, short)]
    quiet: bool,

    /// Say more about each cell
    #[arg(long, short)]
    verbose: bool,

    #[command(flatten, next_help_heading = headings::STRATEGIES)]
    selection: strategies::Selection,

    #[command(flatten, next_help_heading = headings::ROLES)]
    role_options: RoleOptions,

    /// Context limit to assume: tokens (16000, 16k), a share of each session's messages (25%), or
    /// native, the limit of the recorded model; repeat for several [default: native where requests
    /// report their tokens, else 50%]
    #[arg(long, value_name = "TOKENS|SHARE|native", help_heading = headings::REPLAY)]
    window: Vec<String>,

    /// Keep numbers of tokens and characters as written instead of scaling them to the window
    #[arg(long, help_heading = headings::REPLAY)]
    no_scale: bool,

    #[command(flatten, next_help_heading = headings::REPLAY)]
    cutting: CutOptions,

    /// Repetitions of strategies that call a compactor [default: 1, or 3 where a model compacts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = headings::REPLAY)]
    replicates: Option<u32>,

    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = headings::REPLAY)]
    seed: u64,

    /// Cells at a time [default: the cores, or with models --concurrency if that is more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = headings::REPLAY)]
    jobs: Option<u16>,

    /// Model whose prices and cache rules bill the sessions; repeat for a row each [default: the
    /// recorded model]
    #[arg(long, value_name = "MODEL", help_heading = headings::BILL)]
    agent_model: Vec<String>,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", help_heading = headings::BILL)]
    prices: Option<PathBuf>,

    /// How tokens are counted [default: calibrated]
    #[arg(long, value_enum, help_heading = headings::REPLAY)]
    tokens: Option<wire::TokenCounting>,

    /// Use only the first N sessions of each input
    #[arg(long, value_name = "N", help_heading = headings::REPLAY)]
    limit: Option<usize>,

    /// Replay only part I of N of the sessions, for `recap merge`
    #[arg(long, value_name = "I/N", requires = "out",
          conflicts_with_all = ["json", "open", "fail_on", "baseline"], help_heading = headings::REPLAY)]
    shard: Option<Shard>,

    /// Make every subagent's conversation a session of its own
    #[arg(long, help_heading = headings::REPLAY)]
    sidechains: bool,

    #[command(flatten, next_help_heading = headings::REPLAY)]
    reading: inputs::ReadOptions,

    /// Run folder: new, empty, or that of an earlier run, which is replaced or resumed [default:
    /// reports/TIME-NAME]
    #[arg(long, value_name = "DIR", help_heading = headings::REPORT)]
    out: Option<PathBuf>,

    /// Go on with the interrupted run in --out, if there is one
    #[arg(long, requires = "out", help_heading = headings::REPORT)]
    resume: bool,

    /// Files to render: a list of names
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values = format_names(), help_heading = headings::REPORT)]
    format: Vec<String>,

    /// Open the page
    #[arg(long, conflicts_with = "json", help_heading = headings::REPORT)]
    open: bool,

    /// Leave the sessions' words out of the page and the run folder; identifiers are named by class
    /// and hash (path-3f2a91c0)
    #[arg(long, help_heading = headings::REPORT)]
    no_text: bool,

    #[command(flatten, next_help_heading = headings::GATE)]
    gating: gating::GateOptions,
}

/// Where compactions are made to happen.
#[derive(Debug, Args)]
struct CutOptions {
    /// Force a compaction at so many places of each session, spread evenly over its tokens; at
    /// `all` places that allow it, where the agent `recorded` its own, or `none`
    #[arg(long, value_name = "N|all|recorded|none", default_value = "5")]
    cuts: Cuts,

    /// 1 is the first compaction of the session; 3 a session three times as large as the window,
    /// compacted along the way
    #[arg(long, value_name = "N", default_value = "1",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    depth: u32,
}

pub(super) fn run(arguments: &Arguments, ask: QuestionMode) -> Result<Exit, Failure> {
    report::check_formats(&arguments.format)?;
    let prices = Arc::new(models::prices(arguments.prices.as_deref())?);
    let counter = wire::counter(arguments.tokens);
    let mut plan = arguments.bench(ask, &prices, &counter)?.plan()?;
    if let (Some(shard), Some(model)) = (arguments.shard, arguments.role_options.author()) {
        let both = format!("--questions {model} with --shard {shard}");
        return Err(Failure::usage(both).help(
            "let it write them once with `recap questions generate INPUT --model MODEL -o FILE`, and \
             give that FILE to every shard",
        ));
    }
    arguments.role_options.refuse(ask, &plan.spec.strategies)?;
    let gate = arguments.gating.before(&mut plan.manifest, &plan.samples)?;
    if arguments.dry_run {
        let json = arguments.json;
        let plan = dry_run::plan(plan, (&arguments.role_options, &prices), &counter, json)?;
        if json {
            wire::print_exact(&plan)?
        } else {
            wire::print(&plan)?
        }
        return Ok(Exit::Done);
    }
    let role_options = match plan.part() {
        Some(part) => {
            let role_options = arguments.role_options.of_part(part)?;
            if let Some(limits) = role_options.line.described() {
                wire::say(&format!("{part}: {limits}"));
            }
            role_options
        }
        None => arguments.role_options.clone(),
    };
    // What a resumed run has paid for is not known here, so only the cap on each call holds.
    if !arguments.resume {
        dry_run::refuse_over_cap(&plan, (&role_options, &prices), &counter)?;
    }
    if let Some(model) = role_options.author() {
        let line = (&role_options.line, model);
        let (_, words) = authoring::estimate(line, &prices, &dry_run::unasked(&plan))?;
        wire::say(words.trim_end());
    }
    let (roles, mut model_session) = role_options.fill(&counter, &prices, plan.spec.seed)?;
    if let Some((model, model_session)) = role_options.author().zip(model_session.as_mut()) {
        plan = written(plan, model, model_session)?;
    }
    plan.manifest.warnings.extend(model_session.iter().flat_map(|e| e.warnings.clone()));
    replay(arguments, plan.roles(roles), model_session.as_ref(), &gate)
}

/// The plan with the questions of a model.
fn written(
    plan: BenchPlan,
    model: &str,
    model_session: &mut ModelSession,
) -> Result<BenchPlan, Failure> {
    let Some(llm) = model_session.llm(model)? else { return Ok(plan) };
    let questions = authoring::write(&llm, &dry_run::unasked(&plan))?;
    model_session.save()?;
    if questions.is_empty() {
        model_session.ended()?;
        return Err(Failure::with_code(Exit::Nothing, format!("{model} wrote no usable question"))
            .help("try another model, or --questions auto, which needs none"));
    }
    Ok(plan.written(&questions))
}

/// Replays what is planned, until it is done or a signal comes.
fn replay(
    arguments: &Arguments,
    plan: BenchPlan,
    model_session: Option<&ModelSession>,
    gate: &gating::GateRules,
) -> Result<Exit, Failure> {
    let mut work = Work::new(plan.spec.jobs.min(wire::cores()))?;
    let mut run = work.run(plan.prepare())??;
    let path = match &arguments.out {
        Some(out) => out.clone(),
        None => new_folder(&run.manifest().title)?,
    };
    let mut folder = if arguments.resume { run.resume(&path)? } else { run.create(&path)? };
    if let Some(model_session) = model_session.filter(|_| !arguments.no_text) {
        model_session.keep_replies(folder.path())?;
    }
    let progress =
        Progress::new(Verbosity::of(arguments.quiet || arguments.json, arguments.verbose));
    let ran = work.run(run.run(&mut folder, &progress));
    progress.finish();
    match ran {
        Ok(outcome) => finish(arguments, &folder, outcome?, model_session, gate),
        Err(Stopped(exit)) => {
            // Dropping unfinished cells ends the programs that they started.
            drop(work);
            interrupted(arguments, &folder, exit)
        }
    }
}

/// Measures and renders a run that came to its end.
fn finish(
    arguments: &Arguments,
    folder: &Folder,
    outcome: Outcome,
    model_session: Option<&ModelSession>,
    gate: &gating::GateRules,
) -> Result<Exit, Failure> {
    if let Some(model_session) = model_session {
        model_session.report_cap(outcome.finished.calls.iter().filter_map(|call| call.usd).sum());
    }
    // A cassette that cannot be written does not lose the results: it is
    // reported at the end.
    let saved = model_session.map_or(Ok(()), ModelSession::save);
    // Without replies of models nothing was measured, and nothing is rendered.
    let models = model_session.map_or(Ok(Exit::Done), ModelSession::ended)?;
    if let Some(shard) = arguments.shard {
        tell_shard(shard, &outcome.finished, folder);
        return saved.map(|()| models);
    }
    let mut results = outcome.measure();
    gate.apply(&mut results.report)?;
    render(arguments, folder, &results)?;
    let complete = gate.is_complete(&results.report) && models == Exit::Done;
    gate.leave_baseline(&results.report, complete)?;
    if models == Exit::Done {
        folder.remove(REPLIES)?;
    }
    saved.map(|()| gating::ending(results.report.gate.as_ref(), complete))
}

/// Renders what finished before a signal came.
fn interrupted(arguments: &Arguments, folder: &Folder, exit: Exit) -> Result<Exit, Failure> {
    let run = Loaded::read(folder.path())?;
    if run.results.cells().next().is_none() {
        return Err(Failure::with_code(exit, "interrupted before anything finished"));
    }
    render(arguments, folder, &run.into())?;
    let path = folder.path().display();
    wire::say(&format!("interrupted; what finished is in {path}"));
    wire::say("help: the same command with --out and --resume finishes the run");
    Ok(exit)
}

/// Writes the files of a run, and prints its table.
fn render(arguments: &Arguments, folder: &Folder, results: &Results) -> Result<(), Failure> {
    report::write(results, folder, &arguments.format)?;
    report::show(&results.report, folder, (arguments.json, arguments.wide))?;
    if arguments.open {
        report::open(folder);
    }
    Ok(())
}

/// Says what a shard did.
fn tell_shard(shard: Shard, finished: &Finished, folder: &Folder) {
    let cells = counted(finished.results.cells().count(), "cell");
    let sessions = counted(finished.sessions.len(), "session");
    wire::say(&format!("shard {shard}: {cells} of {sessions} in {}", folder.path().display()));
    let failed = finished.results.cells().filter(|cell| cell.rows().is_none()).count();
    if failed > 0 {
        wire::say(&format!("warning: {} failed", counted(failed, "cell")));
    }
}

/// A new folder under `reports`, named by the time and the data. It is created
/// here, so that another run that begins within the same second gets a
/// different one.
pub(super) fn new_folder(title: &str) -> Result<PathBuf, Failure> {
    let time = wire::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = title.chars().map(safe).take(60).collect();
    let reports = Path::new("reports");
    std::fs::create_dir_all(reports).map_err(|e| unwritable(reports, &e))?;
    for n in 1_u32.. {
        let again = if n == 1 { String::new() } else { format!("-{n}") };
        let path = reports.join(format!("{time}-{name}{again}"));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(unwritable(&path, &e)),
        }
    }
    unreachable!("numbers do not end")
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{}: {error}", path.display()))
        .help("give --out a folder that may be written to")
}

impl Arguments {
    /// The comparison as typed, with its inputs loaded.
    fn bench(
        &self,
        ask: QuestionMode,
        prices: &Arc<PriceList>,
        counter: &Arc<Counter>,
    ) -> Result<Bench, Failure> {
        let windows = self.window.iter().map(|typed| wire::window(typed));
        let windows = windows.collect::<Result<Vec<_>, Failure>>()?;
        let latest = self.latest.then(recordings::latest).transpose()?;
        let latest = latest.map(|path| vec![path.to_string_lossy().into_owned()]);
        let datasets = inputs::load(latest.as_ref().unwrap_or(&self.inputs), &self.reading())?;
        let questions = match (ask, self.role_options.questions()) {
            (QuestionMode::Nothing, _) | (_, QuestionSource::None) => Questions::None,
            // A model writes them once the plan stands; a dry run assumes as many as these.
            (_, QuestionSource::Auto | QuestionSource::Model(_)) => Questions::Auto,
            (_, QuestionSource::File(path)) => authoring::read(path, &datasets)?,
        };
        Ok(Bench::new(datasets)
            .asks(ask != QuestionMode::Nothing)
            .limit(self.limit)
            .shard(self.shard)
            .no_text(self.no_text)
            .strategies(&self.selection.strategy)
            .changes(&self.selection.set)
            .windows(windows)
            .prices(Arc::clone(prices))
            .agent_models(&self.agent_model)
            .compactor_model(self.role_options.compactor_id()?)
            .counter(Arc::clone(counter))
            .cuts(self.cutting.cuts, self.cutting.depth)
            .questions(questions)
            .replicates(self.replicates())
            .seed(self.seed)
            .scaled(!self.no_scale)
            .jobs(self.jobs.map_or_else(|| self.role_options.jobs(), usize::from)))
    }

    fn replicates(&self) -> u32 {
        self.replicates.unwrap_or(if self.role_options.has_compactor() { 3 } else { 1 })
    }

    fn reading(&self) -> LoadOptions {
        LoadOptions { sidechains: self.sidechains, ..self.reading.options() }
    }
}
