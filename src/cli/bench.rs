//! `recap bench` and `recap replay`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::config;
use super::model_session::ModelSession;
use super::progress::Progress;
use super::roles::{QuestionSource, RoleOptions};
use super::work::Work;
use super::{authoring, dry_run, gating, headings, inputs, models, report, strategies, wire};
use crate::bench::{BenchPlan, Inputs, Questions, Selection, Settings, measure_run, plan};
use crate::failure::{Exit, Failure};
use recap_core::model::Shard;
use recap_core::text::counted;
use recap_formats::LoadOptions;
use recap_replay::run::{Folder, MANIFEST, REPLIES, RunRecord, SPENT};
use recap_strategy::Strategy;

/// Options of `recap bench` and `recap replay`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A bundled data set, or files or folders of a known format; `-` reads standard input
    /// [default: quickstart]
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,

    /// Read the newest session that an agent keeps on this machine (Claude Code, Codex CLI,
    /// OpenCode and others), with those of its folder
    #[arg(long, conflicts_with = "inputs")]
    latest: bool,

    #[command(flatten)]
    pub(super) config: config::ConfigFile,

    /// Let the recap.toml of this folder name strategies that run programs; without it such a file
    /// has to be named (--config)
    #[arg(long)]
    allow_programs: bool,

    /// Print the plan with the calls, tokens and dollars that models would take, and stop; nothing
    /// is sent or written
    #[arg(long)]
    dry_run: bool,

    /// Print only the summary, or with --dry-run the plan, as JSON
    #[arg(long, conflicts_with_all = ["wide", "open"])]
    json: bool,

    /// No progress, only the table
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    selection: Selection,

    #[command(flatten, next_help_heading = headings::ROLES)]
    role_options: RoleOptions,

    #[command(flatten)]
    settings: Settings,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", help_heading = headings::BILL)]
    prices: Option<PathBuf>,

    /// How tokens are counted [default: calibrated]
    #[arg(long, value_enum, help_heading = headings::REPLAY)]
    tokens: Option<wire::TokenCounting>,

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

    #[command(flatten)]
    output: report::Output,

    #[command(flatten, next_help_heading = headings::GATE)]
    pub(super) gating: gating::GateOptions,
}

/// What a comparison is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// `recap bench`: everything.
    Bench,
    /// `recap replay`: the part that asks no questions, and needs neither answerer nor judge.
    Replay,
    /// `recap tune`: settings of one strategy.
    Tune,
}

pub(super) fn run(arguments: &Arguments, job: Job) -> Result<Exit, Failure> {
    arguments.output.check()?;
    let mut plan = plan(arguments.inputs(job)?, &arguments.settings())?;
    if let (Some(shard), Some(model)) = (arguments.settings.shard, arguments.role_options.author())
    {
        let both = format!("--questions {model} with --shard {shard}");
        return Err(Failure::usage(both).help(
            "let it write them once with `recap questions generate INPUT --model MODEL -o FILE`, and \
             give that FILE to every shard",
        ));
    }
    arguments.role_options.refuse(job != Job::Replay, &plan.spec.strategies)?;
    if let Some(grid) = plan.manifest.grid.as_ref().filter(|_| !arguments.quiet && !arguments.json)
    {
        let others = counted(grid.changes.len(), "setting");
        let listed = grid.changes.join("\n  ");
        wire::say(&format!("{} as its author has it, and {others}:\n  {listed}", grid.author));
    }
    let sessions = plan.sessions.iter().map(|one| (&*one.dataset, &*one.session.id));
    let gate = arguments.gating.rules(&mut plan.manifest, sessions)?;
    if arguments.dry_run {
        let plan = dry_run::plan(plan, &arguments.role_options, arguments.json)?;
        if arguments.json {
            wire::print_json(&plan)?
        } else {
            wire::print(&plan)?
        }
        return Ok(Exit::Done);
    }
    arguments.refuse_programs(&plan.spec.strategies)?;
    let role_options = arguments.role_options.of_shard(arguments.settings.shard)?;
    // What a resumed run has paid for is not known here, so only the cap on each call holds.
    let earlier = arguments.out.as_ref().filter(|out| out.join(MANIFEST).exists());
    if !arguments.resume || earlier.is_none() {
        dry_run::refuse_over_cap(&plan, &role_options)?;
    }
    let prices = Arc::clone(plan.spec.billing_models.list());
    if let Some(model) = role_options.author() {
        let author = (&role_options.calls, model);
        let estimate = authoring::estimate(author, &prices, &dry_run::unasked(&plan))?;
        wire::say(estimate.describe().trim_end());
    }
    let (roles, mut model_session) = role_options.fill(&plan.counter, &prices, plan.spec.seed)?;
    model_session.read_secrets(plan.sessions.iter().map(|named| &named.session));
    if let Some(model) = role_options.author() {
        plan = written(plan, model, &mut model_session)?;
    }
    plan.manifest.warnings.extend(model_session.warnings.clone());
    plan.roles = roles;
    replay(arguments, plan, &model_session, &gate)
}

/// The plan with the questions of a model.
fn written(
    plan: BenchPlan,
    model: &str,
    model_session: &mut ModelSession,
) -> Result<BenchPlan, Failure> {
    let Some(llm) = model_session.llm(model)? else { return Ok(plan) };
    let questions = authoring::write((&llm, model_session), &dry_run::unasked(&plan))?;
    model_session.calls.save()?;
    if questions.is_empty() {
        model_session.ended(false)?;
        return Err(Failure::with_code(Exit::Nothing, format!("{model} wrote no usable question"))
            .help("try another model, or --questions auto, which needs none"));
    }
    Ok(plan.written(&questions))
}

/// Replays what is planned, until it is done or a signal comes.
fn replay(
    arguments: &Arguments,
    plan: BenchPlan,
    model_session: &ModelSession,
    gate: &gating::GateRules,
) -> Result<Exit, Failure> {
    let mut work = Work::new(plan.spec.jobs)?;
    let mut run = work.run(plan.prepare())??;
    let path = match &arguments.out {
        Some(out) => out.clone(),
        None => new_folder(&run.manifest().title)?,
    };
    let mut folder = if arguments.resume { run.resume(&path)? } else { run.create(&path)? };
    model_session.keep(folder.path(), !arguments.settings.no_text)?;
    let progress = Progress::new(arguments.quiet || arguments.json);
    let ran = work.run_until(run.run(&mut folder, &progress), model_session.wind_up());
    progress.finish();
    match ran {
        Ok(record) => finish(arguments, &folder, record?, model_session, gate),
        Err(stopped) => {
            // Dropping unfinished cells ends the programs that they started.
            drop(work);
            folder.append_calls(model_session.calls.take())?;
            interrupted(arguments, &folder, stopped.code)
        }
    }
}

/// Measures and renders a run that came to its end.
fn finish(
    arguments: &Arguments,
    folder: &Folder,
    record: RunRecord,
    model_session: &ModelSession,
    gate: &gating::GateRules,
) -> Result<Exit, Failure> {
    model_session.report_cap(record.calls.iter().filter_map(|call| call.usd).sum());
    // A cassette that cannot be written does not lose the results: it is
    // reported at the end.
    let saved = model_session.calls.save().map_err(Failure::from);
    // Without replies of models nothing was measured, and nothing is rendered.
    let answered = record.is_answered();
    let models = model_session.ended(answered)?;
    if let Some(shard) = arguments.settings.shard {
        tell_shard(shard, &record, folder);
        return saved.map(|()| models);
    }
    let mut results = measure_run(record);
    gate.apply(&mut results.report)?;
    arguments.output.leave(&results, folder, arguments.json)?;
    let complete = gate.is_complete(&results.report) && models == Exit::Done;
    gate.leave_baseline(&results.report, complete)?;
    if models == Exit::Done && answered {
        folder.remove(REPLIES)?;
        folder.remove(SPENT)?;
    }
    saved.map(|()| gating::ending(results.report.gate.as_ref(), complete))
}

/// Renders what finished before a signal came.
fn interrupted(arguments: &Arguments, folder: &Folder, exit: Exit) -> Result<Exit, Failure> {
    let run = RunRecord::read(folder.path())?;
    let path = folder.path().display();
    let resume = "the same command with --out and --resume finishes the run";
    if run.results.cells().next().is_none() {
        let nothing = Failure::with_code(exit, "interrupted before anything finished");
        return Err(nothing.help(format!("{resume}; replies of models so far are kept in {path}")));
    }
    arguments.output.leave(&measure_run(run), folder, arguments.json)?;
    wire::say(&format!("interrupted; what finished is in {path}"));
    wire::say(&format!("help: {resume}"));
    Ok(exit)
}

/// Says what a shard did.
fn tell_shard(shard: Shard, record: &RunRecord, folder: &Folder) {
    let cells = counted(record.results.cells().count(), "cell");
    let sessions = counted(record.sessions.len(), "session");
    wire::say(&format!("shard {shard}: {cells} of {sessions} in {}", folder.path().display()));
    let failed = record.results.cells().filter(|cell| cell.rows().is_none()).count();
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
    std::fs::create_dir_all(reports).map_err(|e| Failure::unwritable(reports, &e))?;
    for n in 1_u32.. {
        let again = if n == 1 { String::new() } else { format!("-{n}") };
        let path = reports.join(format!("{time}-{name}{again}"));
        match std::fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(Failure::unwritable(&path, &e)),
        }
    }
    unreachable!("numbers do not end")
}

impl Arguments {
    /// What is compared, with the inputs loaded.
    fn inputs(&self, job: Job) -> Result<Inputs, Failure> {
        let prices = Arc::new(models::prices(self.prices.as_deref())?);
        let latest = self.latest.then(inputs::latest).transpose()?;
        let latest = latest.map(|path| vec![path.to_string_lossy().into_owned()]);
        let datasets = inputs::load(latest.as_ref().unwrap_or(&self.inputs), &self.reading())?;
        let questions = match (job, self.role_options.questions()) {
            (Job::Replay, _) => Questions::None,
            (_, QuestionSource::None) => Questions::Own,
            // A model writes them once the plan stands; a dry run assumes as many as these.
            (_, QuestionSource::Auto | QuestionSource::Model(_)) => Questions::Auto,
            (_, QuestionSource::File(path)) => authoring::read(path, &datasets)?,
        };
        Ok(Inputs {
            datasets,
            strategies: self.strategies(job)?,
            questions,
            prices,
            counter: wire::counter(self.tokens),
            compactor_model: self.role_options.compactor_id()?,
        })
    }

    /// Refuses programs that a settings file names which nobody asked for: a folder may be a
    /// stranger's.
    fn refuse_programs(&self, strategies: &[Arc<Strategy>]) -> Result<(), Failure> {
        let config::Unasked { strategies: named, changes } = &self.config.unasked;
        for strategy in strategies.iter().filter(|_| !self.allow_programs) {
            let changed = changes.as_ref().filter(|_| strategy.name.ends_with(']'));
            let Some(place) = named.as_ref().or(changed) else { continue };
            let mut programs = strategy.commands().map(|(_, command)| command);
            let does = match programs.next() {
                Some(command) => format!("runs `{}`", strategies::command_line(&command)),
                None if strategy.is_saver() => "sends sessions to a proxy".to_owned(),
                None => continue,
            };
            let problem = format!("{place}: strategy `{}` {does}", strategy.name);
            return Err(Failure::usage(problem).help(format!(
                "if you trust this folder, add --allow-programs or --config {}",
                config::FILE
            )));
        }
        Ok(())
    }

    fn strategies(&self, job: Job) -> Result<Selection, Failure> {
        let (selection, settings) = (&self.selection, &self.settings);
        let several = [
            ("--strategy", selection.names.len() > 1),
            ("--window", settings.windows.len() > 1),
            ("--agent-model", settings.agent_models.len() > 1),
        ];
        let search = job == Job::Tune;
        let several = several.into_iter().find(|(_, several)| search && *several);
        if let Some((option, _)) = several {
            return Err(Failure::usage(format!("{option} more than once in a search")).help(
                "settings of one strategy are compared, at one window and bill: give --set \
                 KEY=V1,V2 or --compact-at SIZES",
            ));
        }
        let redact = self.role_options.calls.redact == Some(true);
        Ok(Selection { redact, search, ..selection.clone() })
    }

    /// The settings as typed; models raise the number of cells at a time.
    fn settings(&self) -> Settings {
        let jobs = self.settings.jobs.unwrap_or_else(|| self.role_options.jobs());
        Settings { jobs: Some(jobs), ..self.settings.clone() }
    }

    fn reading(&self) -> LoadOptions {
        LoadOptions { sidechains: self.sidechains, ..self.reading.options() }
    }
}
