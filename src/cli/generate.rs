//! `recap probes generate`.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::dry_run::Estimate;
use super::exchange::{CallOptions, Exchange};
use super::exit::{Exit, Failure};
use super::work::Work;
use super::{headings, inputs, models, wire};
use crate::dataset::{Dataset, write_probes};
use crate::llm::DryRunCalls;
use crate::model::{OFFLINE, Probe, ProbeKind, Transcript};
use crate::probes::{Cuts, Place, places};
use crate::questions::{self, Author};
use crate::text::counted;
use crate::tokens::{Counter, Sizes};

/// Depths of the cuts that questions are made for: those that `recap bench`
/// examines by default.
const DEPTHS: [u32; 2] = [1, 3];

/// Options of `recap probes generate`.
#[derive(Debug, Args)]
pub struct GenerateArguments {
    /// A file or folder with recordings, or a bundled data set
    input: String,

    /// Where the questions are asked: a number of cuts for each session, all, or recorded
    #[arg(long, value_name = "CUTS", default_value = "5")]
    cuts: Cuts,

    /// The file to write, in the form of a native data set; standard output otherwise
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,

    #[command(flatten)]
    reading: inputs::ReadOptions,

    /// Who writes the questions: `offline`, from the recorded calls alone, or provider/model, which
    /// also answers its questions with and without the conversation, so that only those stay that
    /// need it; the cost is told before the first call
    #[arg(long, value_name = "MODEL", default_value = OFFLINE, help_heading = headings::SEATS)]
    model: String,

    /// Tell what the model would cost, and call none
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    line: CallOptions,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", help_heading = headings::BILL)]
    prices: Option<PathBuf>,
}

/// Questions, and what else there is to say of them.
struct Generated {
    probes: Vec<Probe>,
    notes: Vec<String>,
    ended: Exit,
}

pub(super) fn run(arguments: &GenerateArguments) -> Result<Exit, Failure> {
    let datasets =
        inputs::load(std::slice::from_ref(&arguments.input), &arguments.reading.options())?;
    let sessions = sessions(&datasets, arguments.cuts);
    let generated = if arguments.model == OFFLINE {
        arguments.line.refuse_idle()?;
        let all = sessions.iter().flat_map(|(one, places)| questions::generate(one, places));
        Generated { probes: all.collect(), notes: Vec::new(), ended: Exit::Done }
    } else {
        match by_model(arguments, &sessions)? {
            Some(generated) => generated,
            None => return Ok(Exit::Done),
        }
    };
    let Generated { probes, notes, ended } = generated;
    notes.iter().for_each(|note| wire::say(note));
    if probes.is_empty() {
        let nothing = format!("{} gives no questions", arguments.input);
        return Err(Failure::with_code(Exit::Nothing, nothing)
            .help("a session needs 5 requests before a cut and 5 behind it, and 4,000 tokens"));
    }
    let mut lines = Vec::new();
    write_probes(&probes, &mut lines).expect("memory takes every line");
    match &arguments.out {
        None => wire::print(&String::from_utf8_lossy(&lines))?,
        Some(path) => save(path, &lines)?,
    }
    wire::say(&summary(&probes, &datasets));
    Ok(ended)
}

/// Every session with its cuts; those without a cut are left out.
fn sessions(datasets: &[Dataset], cuts: Cuts) -> Vec<(&Transcript, Vec<Place>)> {
    let counter = Counter::default();
    let all = datasets.iter().flat_map(|dataset| &dataset.transcripts);
    let with_places = all.filter_map(|transcript| {
        let sizes = Sizes::of(transcript, &counter);
        let tokens: Vec<u64> = sizes.messages.iter().map(|weight| weight.tokens).collect();
        Some((transcript, places(transcript, &tokens, cuts, &DEPTHS).ok()?))
    });
    with_places.collect()
}

/// The questions of a model, after its price was told; `None` in a dry run.
fn by_model(
    arguments: &GenerateArguments,
    sessions: &[(&Transcript, Vec<Place>)],
) -> Result<Option<Generated>, Failure> {
    let (line, model) = (&arguments.line, arguments.model.as_str());
    let prices = Arc::new(models::prices(arguments.prices.as_deref())?);
    let planned = Arc::new(DryRunCalls::default());
    let counter = Arc::new(Counter::default());
    let mut rehearsal = Exchange::dry_run(line, &prices, &counter, &planned)?;
    let recorded = if rehearsal.has_cassette() { " that are not on the cassette" } else { "" };
    if let Some(llm) = rehearsal.llm(model)? {
        let author = Author::new(&llm);
        Work::new(1)?.run(async {
            for (transcript, places) in sessions {
                author.rehearse(transcript, places).await;
            }
        })?;
    }
    let estimate = Estimate::of(&planned, &prices, wire::now()).describe(recorded);
    if arguments.dry_run {
        wire::print(&estimate)?;
        return Ok(None);
    }
    wire::say(estimate.trim_end());
    let mut exchange = Exchange::open(line, &[model], &prices, 0)?;
    exchange.warnings.iter().for_each(|warning| wire::say(&format!("warning: {warning}")));
    let Some(llm) = exchange.llm(model)? else { return Ok(None) };
    let author = Author::new(&llm);
    let mut probes = Vec::new();
    let mut left_out: BTreeMap<String, u64> = BTreeMap::new();
    Work::new(1)?.run(async {
        for (transcript, places) in sessions {
            let written = author.write(transcript, places).await;
            wire::say(&format!("{}: {}", transcript.id, counted(written.probes.len(), "question")));
            probes.extend(written.probes);
            written
                .left_out
                .into_iter()
                .for_each(|(why, n)| *left_out.entry(why).or_default() += n);
        }
    })?;
    exchange.save()?;
    let notes = left_out.into_iter().map(|(why, n)| format!("left out: {n}: {why}")).collect();
    let ended = exchange.ended()?;
    Ok(Some(Generated { probes, notes, ended }))
}

/// Writes a new file: questions that somebody edited are not overwritten.
fn save(path: &Path, lines: &[u8]) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let saved = file.and_then(|mut file| file.write_all(lines));
    saved.map_err(|error| {
        let shown = path.display();
        match error.kind() {
            ErrorKind::AlreadyExists => Failure::usage(format!("{shown} exists already"))
                .help("name another file, or remove this one"),
            _ => Failure::usage(format!("cannot write {shown}: {error}"))
                .help("check the path and its permissions"),
        }
    })
}

/// How many questions there are, by kind, and how many sessions have none.
fn summary(probes: &[Probe], datasets: &[Dataset]) -> String {
    let mut kinds: BTreeMap<ProbeKind, usize> = BTreeMap::new();
    probes.iter().for_each(|probe| *kinds.entry(probe.kind).or_default() += 1);
    let each = kinds.iter().map(|(kind, count)| format!("{} {count}", kind.as_str()));
    let each = each.collect::<Vec<_>>().join(", ");
    let asked: std::collections::BTreeSet<&str> =
        probes.iter().map(|probe| probe.transcript.as_str()).collect();
    let all: usize = datasets.iter().map(|dataset| dataset.transcripts.len()).sum();
    let without = match all.saturating_sub(asked.len()) {
        0 => String::new(),
        n => format!("; none for {}", counted(n, "session")),
    };
    format!("{}: {each}{without}", counted(probes.len(), "question"))
}
