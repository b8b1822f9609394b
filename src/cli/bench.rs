//! `recap bench` and `recap replay`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::exit::{Exit, Failure};
use super::progress::{Progress, Verbosity};
use super::report::print;
use super::strategies::{self, Holds};
use super::{inputs, models, report, wire};
use crate::clock::PROFILE;
use crate::dataset::Dataset;
use crate::model::{INSTRUMENT, Manifest, Prices, Probe, Provenance, Report, Source};
use crate::pricing::Agents;
use crate::replay::WindowSpec;
use crate::run::{Finished, Folder, RunSpec, Sample, Seats, prepare, run as run_cells};
use crate::strategy::Preset;
use crate::tokens::Counter;

/// Options of `recap bench` and `recap replay`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// A bundled data set, a native data set folder, or any file or folder of a known transcript
    /// format; `-` reads standard input [default: quickstart]
    #[arg(value_name = "INPUT")]
    inputs: Vec<String>,

    #[command(flatten)]
    selection: strategies::Selection,

    /// Context limit to assume: tokens (16000, 16k) or a share of each transcript's messages;
    /// repeat for a sweep
    #[arg(long, value_name = "TOKENS|SHARE", default_value = "25%")]
    window: Vec<String>,

    /// Keep thresholds as written instead of scaling them to the window
    #[arg(long)]
    no_scale: bool,

    /// Repetitions of presets that call a compactor
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    replicates: u32,

    /// Seed of every random stream
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Cells at a time [default: the number of cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Model whose prices and cache rules bill the sessions; repeat for a row each [default: the
    /// model that each recording names; where that has no price, one of its family]
    #[arg(long, value_name = "MODEL")]
    agent_model: Vec<String>,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,

    /// How tokens are counted [default: each transcript calibrated where its own usage shows an
    /// error of at most 3 %, else exact]
    #[arg(long, value_enum)]
    tokens: Option<wire::Tokens>,

    /// Use only the first N transcripts of each input
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Make every sidechain (subagent) a transcript of its own
    #[arg(long)]
    sidechains: bool,

    /// Run folder; an earlier run in it is replaced [default: reports/TIME-NAME]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Files to render: a list of html, csv, json
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "html,csv,json")]
    format: Vec<String>,

    /// Leave the sessions' messages, and what was asked, expected and answered, out of the page
    /// and the run folder: these fields of probes.csv are empty; the identifiers in references.csv
    /// and cells.jsonl stay
    #[arg(long)]
    no_text: bool,

    /// Print the plan and stop; nothing is written
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
}

/// Whether probes are put to the contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// All that the data sets hold.
    Probes,
    /// None: the part that needs neither answerer nor judge.
    Nothing,
}

pub(super) fn run(arguments: &Arguments, ask: Ask) -> Result<Exit, Failure> {
    report::check_formats(&arguments.format)?;
    let windows = windows(&arguments.window)?;
    let mut datasets = inputs::load(&arguments.inputs, arguments.sidechains)?;
    if ask == Ask::Nothing {
        datasets.iter_mut().for_each(|dataset| dataset.probes.clear());
    }
    let samples = samples(&datasets, arguments.limit)?;
    let holds = Holds {
        probes: samples.iter().any(|s| !s.probes.is_empty()),
        compactions: samples.iter().any(|s| !s.transcript.compactions.is_empty()),
    };
    let presets = arguments.selection.presets(holds)?;
    let prices = Arc::new(models::prices(arguments.prices.as_deref())?);
    let spec = RunSpec {
        agents: Arc::new(Agents::new(prices, unique(&arguments.agent_model))),
        compactor: None,
        presets,
        windows,
        replicates: arguments.replicates,
        seed: arguments.seed,
        scaled: !arguments.no_scale,
        jobs: arguments.jobs.map_or_else(wire::cores, usize::from),
    };
    if arguments.dry_run {
        print(&plan(&spec, &samples))?;
        return Ok(Exit::Done);
    }
    let counter = wire::counter(arguments.tokens);
    let seats = wire::seats(&counter);
    let manifest = manifest(&spec, &datasets, &counter, &seats);
    let runtime = wire::runtime(spec.jobs)?;
    let prepared = runtime.block_on(prepare(&spec, samples, &seats, counter))?;
    let folder = Folder::create(&out(arguments, &manifest.title), &manifest)?;
    let mut folder = if arguments.no_text { folder.without_words() } else { folder };
    report::clear(&folder)?;
    let progress = Progress::new(verbosity(arguments));
    let path = folder.path().to_owned();
    let ran = runtime.block_on(async {
        let cells = run_cells(&spec, prepared, &seats, &mut folder, &progress);
        tokio::select! {
            finished = cells => finished.map_err(Failure::from),
            _ = tokio::signal::ctrl_c() => Err(Failure::with_code(
                Exit::Interrupted,
                format!("interrupted; what finished is in {}", path.display()),
            )
            .help(format!("`recap report {}` renders it", path.display()))),
        }
    });
    // Cells that were cut off must not keep the program waiting.
    runtime.shutdown_background();
    progress.finish();
    finish(arguments, &folder, manifest, ran?)
}

fn finish(
    arguments: &Arguments,
    folder: &Folder,
    manifest: Manifest,
    finished: Finished,
) -> Result<Exit, Failure> {
    let Finished { transcripts, cells, calls, texts } = finished;
    let failed = cells.iter().filter(|c| c.rows().is_none()).count();
    let measured = report::measured(manifest, transcripts, cells, calls);
    if !arguments.no_text {
        folder.write_texts(&texts)?;
    }
    report::write(folder, &measured, (!arguments.no_text).then_some(&texts), &arguments.format)?;
    show(arguments, &measured, folder)?;
    Ok(if failed > 0 { Exit::Incomplete } else { Exit::Done })
}

fn show(arguments: &Arguments, measured: &Report, folder: &Folder) -> Result<(), Failure> {
    let text = if arguments.json {
        report::summary_json(measured)
    } else {
        report::table(measured, folder)
    };
    print(&text)
}

fn windows(typed: &[String]) -> Result<Vec<WindowSpec>, Failure> {
    unique(typed).iter().map(|t| wire::window(t)).collect()
}

/// Each word once, in the order typed.
fn unique(typed: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let words = typed.iter().map(|t| t.trim().to_owned());
    words.filter(|t| seen.insert(t.clone())).collect()
}

/// What of the price list the run needs: the models that pay, and those that
/// the recordings name.
fn priced(agents: &Agents, datasets: &[Dataset]) -> Prices {
    let list = agents.list();
    let transcripts = datasets.iter().flat_map(|d| &d.transcripts);
    let payers = transcripts.flat_map(|t| {
        let recorded = t.model.as_deref();
        let aside = t.sidechains.iter().filter_map(|request| request.model.as_deref());
        let aside = aside.map(|model| agents.recorded(Some(model)));
        agents.of(recorded).into_iter().chain([agents.recorded(recorded)]).chain(aside)
    });
    let models =
        payers.filter_map(|agent| Some((agent.model.clone(), list.entry(&agent.model)?.clone())));
    Prices {
        name: list.name.clone(),
        date: list.date.clone(),
        hash: list.hash.clone(),
        models: models.collect(),
    }
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

fn title(datasets: &[Dataset]) -> String {
    let names: Vec<&str> = datasets.iter().map(|d| d.name.as_str()).collect();
    names.join("+")
}

fn manifest(spec: &RunSpec, datasets: &[Dataset], counter: &Counter, seats: &Seats) -> Manifest {
    let preset = |p: &Arc<Preset>| Provenance { name: p.name.clone(), hash: p.hash.clone() };
    let files = datasets.iter().flat_map(|d| &d.files);
    Manifest {
        title: title(datasets),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        instrument: INSTRUMENT,
        seed: spec.seed,
        tokens: counter.describe(),
        windows: spec.windows.iter().map(|w| w.label().to_owned()).collect(),
        scaled: spec.scaled,
        replicates: spec.replicates,
        transcripts: files
            .map(|(name, hash)| Provenance { name: name.clone(), hash: hash.clone() })
            .collect(),
        presets: spec.presets.iter().map(preset).collect(),
        compactor: seats.compactor.name().to_owned(),
        answerer: seats.answerer.name().to_owned(),
        judge: seats.judge.name().to_owned(),
        source: match (seats.answerer.source(), seats.judge.source()) {
            (Source::Model, Source::Model) => Source::Model,
            _ => Source::Lexical,
        },
        agent_models: spec.agents.names(),
        prices: priced(&spec.agents, datasets),
        profile: PROFILE,
        warnings: datasets.iter().flat_map(|d| d.warnings.clone()).collect(),
    }
}

fn out(arguments: &Arguments, title: &str) -> PathBuf {
    if let Some(out) = &arguments.out {
        return out.clone();
    }
    let time = wire::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = title.chars().map(safe).take(60).collect();
    let first = PathBuf::from("reports").join(format!("{time}-{name}"));
    // Two runs within a second must not share a folder.
    let later = (2..).map(|n| PathBuf::from("reports").join(format!("{time}-{name}-{n}")));
    std::iter::once(first).chain(later).find(|p| !p.exists()).expect("numbers do not end")
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

fn plan(spec: &RunSpec, samples: &[Sample]) -> String {
    let requests: usize = samples.iter().map(|s| s.transcript.requests().count()).sum();
    let cells: u32 = spec
        .presets
        .iter()
        .map(|p| if p.uses_compactor() { spec.replicates } else { 1 })
        .sum::<u32>()
        * (spec.windows.len() * samples.len()) as u32;
    let asked: usize = samples.iter().map(|s| s.probes.len()).sum();
    let probes = match asked {
        0 => String::new(),
        n => format!("{n} probes, each put to one context a cell and graded\n"),
    };
    format!(
        "{} transcripts with {requests} requests\n{} presets × {} windows: {cells} cells\n\
         {probes}0 calls to a model: every seat is offline, nothing is spent\n",
        samples.len(),
        spec.presets.len(),
        spec.windows.len(),
    )
}
