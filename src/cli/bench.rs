//! `recap bench` and `recap replay`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::config;
use super::exchange::Exchange;
use super::exit::{Exit, Failure};
use super::progress::{Progress, Verbosity};
use super::seating::Seating;
use super::strategies::{self, DataContents};
use super::work::{Stopped, Work};
use super::{dry_run, gating, headings, inputs, manifest, models, out, report, windows, wire};
use crate::dataset::{Dataset, LoadOptions};
use crate::model::{Manifest, Probe, Report};
use crate::pricing::Agents;
use crate::probes::Cuts;
use crate::report::format_names;
use crate::run::{
    Conceal, Finished, Folder, Loaded, REPLIES, RunSpec, Sample, prepare, run as run_cells,
};
use crate::strategy::Preset;
use crate::text::counted;

/// Options of `recap bench` and `recap replay`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A bundled data set, a native data set folder, or any file or folder of a known transcript
    /// format; `-` reads standard input [default: quickstart]
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,

    #[command(flatten)]
    settings: config::Settings,

    /// Print the plan with the calls, tokens and dollars that models would take, as expected and
    /// in the worst case, and stop; nothing is sent or written
    #[arg(long, conflicts_with = "json")]
    dry_run: bool,

    /// Print the summary as JSON, and nothing else, on standard output
    #[arg(long)]
    json: bool,

    /// No progress, only the table
    #[arg(long, short)]
    quiet: bool,

    /// Say more about each cell
    #[arg(long, short)]
    verbose: bool,

    #[command(flatten, next_help_heading = headings::STRATEGIES)]
    selection: strategies::Selection,

    #[command(flatten, next_help_heading = headings::SEATS)]
    seating: Seating,

    /// Context limit to assume: tokens (16000, 16k), a share of each transcript's messages (25%),
    /// or native, the limit of the model that was recorded; repeat for a sweep [default: native
    /// where requests of the data set report their tokens, as recordings of agents do, else 25%]
    #[arg(long, value_name = "TOKENS|SHARE|native", help_heading = headings::REPLAY)]
    window: Vec<String>,

    /// Keep numbers of tokens and characters as written instead of scaling them to the window
    #[arg(long, help_heading = headings::REPLAY)]
    no_scale: bool,

    #[command(flatten, next_help_heading = headings::REPLAY)]
    cutting: CutOptions,

    /// Repetitions of presets that call a compactor [default: 1, or 3 where a model compacts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = headings::REPLAY)]
    replicates: Option<u32>,

    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = headings::REPLAY)]
    seed: u64,

    /// Cells at a time [default: the number of cores, or with models --concurrency if that is more]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = headings::REPLAY)]
    jobs: Option<u16>,

    /// Model whose prices and cache rules bill the sessions; repeat for a row each [default: the
    /// model that each recording names; where that has no price, one of its family]
    #[arg(long, value_name = "MODEL", help_heading = headings::BILL)]
    agent_model: Vec<String>,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", help_heading = headings::BILL)]
    prices: Option<PathBuf>,

    /// How tokens are counted [default: calibrated]
    #[arg(long, value_enum, help_heading = headings::REPLAY)]
    tokens: Option<wire::TokenCounting>,

    /// Use only the first N transcripts of each input
    #[arg(long, value_name = "N", help_heading = headings::REPLAY)]
    limit: Option<usize>,

    /// Make every sidechain (subagent) a transcript of its own
    #[arg(long, help_heading = headings::REPLAY)]
    sidechains: bool,

    #[command(flatten, next_help_heading = headings::REPLAY)]
    reading: inputs::ReadOptions,

    /// Run folder: a new or empty one, or that of an earlier run, which is replaced unless it is
    /// resumed [default: reports/TIME-NAME]
    #[arg(long, value_name = "DIR", help_heading = headings::REPORT)]
    out: Option<PathBuf>,

    /// Go on with the interrupted run in --out: what it finished, and every reply of a model that
    /// had arrived, is taken over; without a run there one begins
    #[arg(long, requires = "out", help_heading = headings::REPORT)]
    resume: bool,

    /// Files to render: a list of names
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values = format_names(), help_heading = headings::REPORT)]
    format: Vec<String>,

    /// Leave the sessions' words out of the page and the run folder: messages, and what was asked,
    /// expected and answered, are absent; identifiers that were looked for are named by their class
    /// and a hash (path-3f2a91c0), and so are secrets, addresses, paths and users wherever they stand
    #[arg(long, help_heading = headings::REPORT)]
    no_text: bool,

    #[command(flatten, next_help_heading = headings::GATE)]
    gating: gating::GateOptions,
}

/// Where compactions are made to happen.
#[derive(Debug, Args)]
struct CutOptions {
    /// Make a compaction happen at so many places of each session, spread evenly over its tokens,
    /// and look for what the agent used next; `all` places that allow it, where the agent
    /// `recorded` its own compactions, or `none`
    #[arg(long, value_name = "N|all|recorded|none", default_value = "5")]
    cuts: Cuts,

    /// At a cut, 1 is the first compaction of an uncompressed session; 3 a session three times as
    /// large as the window, compacted along the way as in production
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,3",
          value_parser = clap::value_parser!(u32).range(1..=100))]
    depth: Vec<u32>,
}

impl CutOptions {
    /// The depths, ascending; a recorded compaction is examined as a first one.
    fn depths(&self) -> Vec<u32> {
        let asked = if self.cuts == Cuts::Recorded { &[1][..] } else { &self.depth };
        asked.iter().copied().collect::<BTreeSet<u32>>().into_iter().collect()
    }
}

/// Whether probes are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeMode {
    /// All probes of the data sets.
    Probes,
    /// None: the part of a run that needs neither answerer nor judge.
    Nothing,
}

pub(super) fn run(arguments: &Arguments, ask: ProbeMode) -> Result<Exit, Failure> {
    report::check_formats(&arguments.format)?;
    let typed = windows::typed(&arguments.window)?;
    let mut datasets = inputs::load(&arguments.inputs, &arguments.reading())?;
    if ask == ProbeMode::Nothing {
        datasets.iter_mut().for_each(|dataset| dataset.probes.clear());
    }
    let conceal = arguments.no_text.then(|| Arc::new(Conceal::datasets(&datasets)));
    if let Some(conceal) = &conceal {
        datasets.iter_mut().for_each(|dataset| conceal.dataset(dataset));
    }
    let samples = samples(&datasets, arguments.limit)?;
    let windows = windows::of_run(typed, &datasets);
    let unreadable = unreadable(&samples);
    let contents = DataContents {
        probes: samples.iter().any(|s| !s.probes.is_empty()),
        compactions: unreadable.is_none()
            && samples.iter().any(|s| !s.transcript.compactions.is_empty()),
    };
    let presets = arguments.selection.presets(contents)?;
    let unrepeated = unreadable.filter(|_| !presets.iter().any(|p| p.replays_recording()));
    arguments.seating.refuse(ask, &presets)?;
    let prices = Arc::new(models::prices(arguments.prices.as_deref())?);
    let agents = Arc::new(Agents::new(Arc::clone(&prices), unique(&arguments.agent_model)));
    let compactor = arguments.seating.compactor_id()?.map(|id| Arc::new(agents.named(&id)));
    let spec = RunSpec {
        agents,
        compactor,
        presets,
        windows,
        replicates: arguments.replicates(),
        seed: arguments.seed,
        scaled: !arguments.no_scale,
        cuts: arguments.cutting.cuts,
        depths: arguments.cutting.depths(),
        jobs: arguments.jobs(),
    };
    let counter = wire::counter(arguments.tokens);
    let mut made_of = manifest::of_run(&spec, &datasets, &counter);
    // Every session is in the samples by now.
    drop(datasets);
    made_of.named = arguments.selection.named(&spec.presets);
    made_of.warnings.extend(models::mistyped(&prices, &arguments.agent_model));
    made_of.warnings.extend(windows::warnings(&spec.windows, &samples, &spec.agents));
    let gate = arguments.gating.before(&mut made_of, &samples)?;
    if arguments.dry_run {
        wire::print(&dry_run::plan(&spec, samples, (&arguments.seating, &prices), counter)?)?;
        return Ok(Exit::Done);
    }
    let (seats, exchange) = arguments.seating.fill(&counter, &prices, spec.seed)?;
    let mut manifest = manifest::with_seats(made_of, &spec, &seats);
    manifest.warnings.extend(exchange.iter().flat_map(|e| e.warnings.clone()));
    manifest.warnings.extend(unrepeated);
    manifest.warnings.extend(unhashed(&spec.presets));
    let mut work = Work::new(spec.jobs.min(wire::cores()))?;
    let prepared = work.run(prepare(&spec, samples, &seats, counter))??;
    manifest.warnings.extend(prepared.set_aside());
    manifest.planned = prepared.planned().clone();
    manifest.no_text = arguments.no_text;
    if let Some(conceal) = &conceal {
        manifest = conceal.manifest(&manifest);
    }
    let (folder, manifest) = folder(arguments, manifest)?;
    let mut folder = folder.concealing(conceal);
    if let Some(exchange) = exchange.as_ref().filter(|_| !arguments.no_text) {
        exchange.keep_replies(&folder.path().join(REPLIES))?;
    }
    let progress = Progress::new(verbosity(arguments));
    let ran = work.run(run_cells(&spec, prepared, &seats, &mut folder, &progress));
    // Dropping unfinished cells ends the programs that they started.
    drop(work);
    progress.finish();
    let finished = match ran {
        Ok(finished) => finished?,
        Err(Stopped(exit)) => return interrupted(arguments, &folder, exit),
    };
    if let Some(exchange) = &exchange {
        exchange.report_cap(finished.calls.iter().filter_map(|call| call.usd).sum());
    }
    // A cassette that cannot be written does not lose the results: it is
    // reported at the end.
    let saved = exchange.as_ref().map_or(Ok(()), Exchange::save);
    // Without replies of models nothing was measured, and nothing is rendered.
    let models = exchange.as_ref().map_or(Ok(Exit::Done), Exchange::ended)?;
    let exit = finish(arguments, &folder, (manifest, finished), &gate, models == Exit::Done)?;
    if models == Exit::Done {
        folder.remove(REPLIES)?;
    }
    saved.map(|()| exit)
}

/// The folder of the run, new or resumed, and the run's manifest.
fn folder(arguments: &Arguments, manifest: Manifest) -> Result<(Folder, Manifest), Failure> {
    let path = match &arguments.out {
        Some(out) => out.clone(),
        None => out::new(&manifest.title)?,
    };
    if arguments.resume {
        let (folder, manifest) = Folder::resume(&path, manifest)?;
        report::clear_rendered(&folder)?;
        return Ok((folder, manifest));
    }
    let folder = Folder::create(&path, &manifest)?;
    report::clear(&folder)?;
    Ok((folder, manifest))
}

/// Renders what finished before a signal came.
fn interrupted(arguments: &Arguments, folder: &Folder, exit: Exit) -> Result<Exit, Failure> {
    let path = folder.path().display();
    let Loaded { manifest, transcripts, cells, cuts, calls, texts, .. } =
        Loaded::read(folder.path())?;
    if cells.is_empty() {
        return Err(Failure::with_code(exit, "interrupted before anything finished"));
    }
    let measured = report::measured(manifest, transcripts, (cells, cuts), calls);
    report::write(folder, &measured, (!arguments.no_text).then_some(&texts), &arguments.format)?;
    show(arguments, &measured, folder)?;
    wire::say(&format!("interrupted; what finished is in {path}"));
    wire::say("help: the same command with --out and --resume finishes the run");
    Ok(exit)
}

/// Why the vendor's compaction cannot be shown, where it cannot.
fn unreadable(samples: &[Sample]) -> Option<String> {
    let reason = |s: &Sample| s.transcript.compactions.iter().find_map(|c| c.unreadable.clone());
    let reasons: Vec<String> = samples.iter().filter_map(reason).collect();
    let first = reasons.first()?;
    Some(format!(
        "the preset recorded is left out: what the agent had behind its own compactions cannot be \
         repeated in {} of {} ({first})",
        reasons.len(),
        counted(samples.len(), "transcript")
    ))
}

/// Strategies whose hash does not cover everything that they run.
fn unhashed(presets: &[Arc<Preset>]) -> impl Iterator<Item = String> {
    presets.iter().flat_map(|preset| preset.servers().map(|server| (&preset.name, server))).map(
        |(name, server)| {
            format!("{name} asks {server}: what that server does is not part of the preset's hash")
        },
    )
}

impl Arguments {
    fn replicates(&self) -> u32 {
        self.replicates.unwrap_or(if self.seating.has_compactor() { 3 } else { 1 })
    }

    fn reading(&self) -> LoadOptions {
        LoadOptions { sidechains: self.sidechains, ..self.reading.options() }
    }

    /// Cells that wait for a model take no core.
    fn jobs(&self) -> usize {
        let waiting = self.seating.has_models().then(|| self.seating.line.concurrency());
        self.jobs.map_or_else(|| wire::cores().max(waiting.unwrap_or(1)), usize::from)
    }
}

fn finish(
    arguments: &Arguments,
    folder: &Folder,
    (manifest, finished): (Manifest, Finished),
    rules: &gating::GateRules,
    models_answered: bool,
) -> Result<Exit, Failure> {
    let Finished { transcripts, cells, cuts, calls, texts } = finished;
    let mut measured = report::measured(manifest, transcripts, (cells, cuts), calls);
    rules.apply(&mut measured)?;
    report::write(folder, &measured, (!arguments.no_text).then_some(&texts), &arguments.format)?;
    show(arguments, &measured, folder)?;
    let complete = rules.is_complete(&measured) && models_answered;
    Ok(gating::ending(measured.gate.as_ref(), complete))
}

fn show(arguments: &Arguments, measured: &Report, folder: &Folder) -> Result<(), Failure> {
    report::show(measured, folder, arguments.json)
}

/// Each word once, in the order typed.
fn unique(typed: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let words = typed.iter().map(|t| t.trim().to_owned());
    words.filter(|t| seen.insert(t.clone())).collect()
}

fn samples(datasets: &[Dataset], limit: Option<usize>) -> Result<Vec<Sample>, Failure> {
    let mut seen = BTreeSet::new();
    let mut samples = Vec::new();
    for dataset in datasets {
        let mut probes: BTreeMap<String, Vec<Probe>> = BTreeMap::new();
        for probe in &dataset.probes {
            probes.entry(probe.transcript.clone()).or_default().push(probe.clone());
        }
        for transcript in dataset.transcripts.iter().take(limit.unwrap_or(usize::MAX)) {
            if !seen.insert((dataset.name.clone(), transcript.id.clone())) {
                return Err(Failure::usage(format!(
                    "transcript `{}` of `{}` is given twice",
                    transcript.id, dataset.name
                ))
                .help("name each input once"));
            }
            samples.push(Sample {
                dataset: dataset.name.clone(),
                transcript: transcript.clone(),
                probes: probes.remove(&transcript.id).unwrap_or_default(),
            });
        }
    }
    if samples.is_empty() {
        return Err(Failure::with_code(Exit::Nothing, "no transcript is selected")
            .help("raise --limit, or give an input that holds a session"));
    }
    Ok(samples)
}

fn verbosity(arguments: &Arguments) -> Verbosity {
    if arguments.quiet || arguments.json {
        Verbosity::Quiet
    } else if arguments.verbose {
        Verbosity::Verbose
    } else {
        Verbosity::Normal
    }
}
