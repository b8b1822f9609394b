//! `recap probes`.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use super::exit::{Exit, Failure};
use super::{inputs, wire};
use crate::dataset::{KindCoverage, LoadOptions, ProbeAudit, audit_probes, bundled, write_probes};
use crate::model::{Probe, ProbeKind};
use crate::probes::{Cuts, places};
use crate::questions;
use crate::text::counted;
use crate::tokens::{Counter, Sizes};

/// Options of `recap probes`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List every violation with file and line, and what the questions cover; exit 2 where there is one
    ///
    /// Violations are broken references, evidence that stands behind the question or does not say
    /// any of the answers, repeated ids and questions, empty questions, answers that the question
    /// gives away, and stale values that equal an answer. Evidence is searched for the answer
    /// without regard to case, punctuation and the spelling of numbers. Kinds whose answers are
    /// worked out or shown by behaviour (temporal, multi-hop, constraint and so on) are searched
    /// for the table only.
    Check {
        /// A data set with questions: a bundled or native data set, LoCoMo, BEAM
        input: String,

        #[command(flatten)]
        reading: inputs::ReadOptions,
    },
    /// Make questions from recordings: files, commands, rules, decisions, changed values, plans
    ///
    /// The answers are in the recording itself, so that no model is needed and the same recording
    /// gives the same questions. They are asked at the cuts of a comparison, right behind a
    /// compaction. `recap bench` makes the same questions for sessions without their own; write
    /// them to a file to review or edit them, and give that file to `recap bench --questions`.
    Generate {
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
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Check { input, reading } => check(input, *reading),
        Action::Generate { input, cuts, out, reading } => {
            generate(input, *cuts, out.as_deref(), &reading.options())
        }
    }
}

/// Depths of the cuts that questions are made for: those that `recap bench`
/// examines by default.
const DEPTHS: [u32; 2] = [1, 3];

fn generate(
    input: &str,
    cuts: Cuts,
    out: Option<&Path>,
    options: &LoadOptions,
) -> Result<Exit, Failure> {
    let datasets = inputs::load(&[input.to_owned()], options)?;
    let counter = Counter::default();
    let (mut probes, mut without): (Vec<Probe>, u64) = (Vec::new(), 0);
    for transcript in datasets.iter().flat_map(|dataset| &dataset.transcripts) {
        let sizes = Sizes::of(transcript, &counter);
        let tokens: Vec<u64> = sizes.messages.iter().map(|weight| weight.tokens).collect();
        let own = match places(transcript, &tokens, cuts, &DEPTHS) {
            Ok(places) => questions::generate(transcript, &places),
            Err(_) => Vec::new(),
        };
        without += u64::from(own.is_empty());
        probes.extend(own);
    }
    if probes.is_empty() {
        return Err(Failure::with_code(Exit::Nothing, format!("{input} gives no questions"))
            .help("a session needs 5 requests before a cut and 5 behind it, and 4,000 tokens"));
    }
    let mut lines = Vec::new();
    write_probes(&probes, &mut lines).expect("memory takes every line");
    match out {
        None => wire::print(&String::from_utf8_lossy(&lines))?,
        Some(path) => save(path, &lines)?,
    }
    wire::say(&summary(&probes, without));
    Ok(Exit::Done)
}

/// Writes a new file: questions that somebody edited are not overwritten.
fn save(path: &Path, lines: &[u8]) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let saved = file.and_then(|mut file| file.write_all(lines));
    saved.map_err(|error| {
        let failure = Failure::usage(format!("{}: {error}", path.display()));
        match error.kind() {
            ErrorKind::AlreadyExists => failure.help("name another file, or remove this one"),
            _ => failure,
        }
    })
}

/// How many questions there are, by kind.
fn summary(probes: &[Probe], without: u64) -> String {
    let mut kinds: BTreeMap<ProbeKind, usize> = BTreeMap::new();
    probes.iter().for_each(|probe| *kinds.entry(probe.kind).or_default() += 1);
    let each = kinds.iter().map(|(kind, count)| format!("{} {count}", kind.as_str()));
    let mut text =
        format!("{}: {}", counted(probes.len(), "question"), each.collect::<Vec<_>>().join(", "));
    if without > 0 {
        text += &format!("; none for {}", counted(without, "session"));
    }
    text
}

fn check(input: &str, reading: inputs::ReadOptions) -> Result<Exit, Failure> {
    let audit = audit(input, reading)?;
    for warning in &audit.warnings {
        wire::say(&format!("warning: {warning}"));
    }
    if audit.probes() == 0 && audit.violations.is_empty() {
        return Err(Failure::with_code(Exit::Nothing, format!("{input} has no probes"))
            .help("a native data set keeps them in probes.jsonl: datasets/probe.schema.json"));
    }
    wire::print(&shown(&audit))?;
    Ok(if audit.violations.is_empty() { Exit::Done } else { Exit::Usage })
}

fn audit(input: &str, reading: inputs::ReadOptions) -> Result<ProbeAudit, Failure> {
    // A file on disk takes precedence over a bundled name.
    if !Path::new(input).exists()
        && let Some(bundled) = bundled(input)
    {
        return Ok(ProbeAudit::of(&bundled?));
    }
    Ok(audit_probes(Path::new(input), &reading.options())?)
}

fn shown(audit: &ProbeAudit) -> String {
    let mut text = String::new();
    for violation in &audit.violations {
        let at = violation.line.map_or_else(String::new, |line| format!(":{line}"));
        // One violation a line, whatever the data contain.
        let what = violation.problem.to_string().replace(['\n', '\r'], " ");
        text.push_str(&format!("{}{at}: {what}\n", violation.file));
    }
    if !audit.violations.is_empty() {
        text.push('\n');
    }
    text.push_str(&row(["kind", "probes", "first", "middle", "last", "without", "answer in"]));
    text.push_str(&row(["", "", "third", "third", "third", "evidence", "evidence"]));
    for kind in &audit.coverage {
        let [first, middle, last] = kind.thirds.map(|n| n.to_string());
        let (probes, without) = (kind.probes.to_string(), kind.without_evidence.to_string());
        let name = kind.kind.as_str();
        text.push_str(&row([name, &probes, &first, &middle, &last, &without, &share_found(kind)]));
    }
    let uncovered: Vec<&str> = audit.uncovered().into_iter().map(|kind| kind.as_str()).collect();
    if !uncovered.is_empty() {
        text.push_str(&format!("not covered: {}\n", uncovered.join(", ")));
    }
    let violations = counted(audit.violations.len(), "violation");
    text.push_str(&format!("{}, {violations}\n", counted(audit.probes(), "probe")));
    text
}

/// A line of the table.
fn row([kind, probes, first, middle, last, without, said]: [&str; 7]) -> String {
    let cells =
        format!("{kind:16}{probes:>8}{first:>8}{middle:>8}{last:>8}{without:>10}{said:>14}");
    format!("{}\n", cells.trim_end())
}

/// The share of the checked answers that are found in the evidence.
fn share_found(row: &KindCoverage) -> String {
    match row.searched {
        0 => "–".to_owned(),
        searched => format!("{} of {searched}", row.said),
    }
}
