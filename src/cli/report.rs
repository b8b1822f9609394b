//! `recap report RUN`, and writing the files of a run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;

use super::config;
use super::exit::{Exit, Failure};
use super::{gating, headings, wire};
use crate::gate;
use crate::measure::measure;
use crate::model::{CallRow, Cell, Cut, Manifest, Report, TranscriptFacts, suggest};
use crate::report::{self, FORMATS, Source, Texts, format_names};
use crate::run::{Folder, GATE, Loaded, REPLIES};

/// Options of `recap report`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The run folder
    run: PathBuf,

    #[command(flatten)]
    settings: config::Settings,

    /// Files to render: a list of names
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values = format_names(),
          help_heading = headings::REPORT)]
    format: Vec<String>,

    /// Keep the sessions' words out of the files that are rendered, as in `recap bench --no-text`;
    /// what the run kept stays in cells.jsonl, texts.jsonl and manifest.json
    #[arg(long, help_heading = headings::REPORT)]
    no_text: bool,

    #[command(flatten, next_help_heading = headings::GATE)]
    gating: gating::GateOptions,
}

/// The summary of a run that is small enough to be committed: gates of later
/// runs compare with it.
const BASELINE: &str = "baseline.json";

struct Stored<'a>(&'a BTreeMap<String, String>);

impl Texts for Stored<'_> {
    fn get(&self, hash: &str) -> Option<&str> {
        self.0.get(hash).map(String::as_str)
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    check_formats(&arguments.format)?;
    let mut run = Loaded::read(&arguments.run)?;
    if run.cells.is_empty() {
        return Err(Failure::with_code(Exit::Nothing, "the run has no finished cell")
            .help("run `recap bench` again"));
    }
    let rules = arguments.gating.of_run(&mut run.manifest, &run.transcripts)?;
    let worded = !run.texts.is_empty() || asks_in_words(&run.transcripts);
    let folder = Folder::open(&arguments.run)?;
    folder.write_manifest(&run.manifest)?;
    let run = if arguments.no_text && worded { run.concealed() } else { run };
    let Loaded { manifest, transcripts, cells, cuts, calls, gate, texts, .. } = run;
    let mut measured = measured(manifest, transcripts, (cells, cuts), calls);
    match gate {
        // Findings about the whole run do not apply to a part of it.
        Some(gate) if rules.is_empty() => {
            measured.gate = Some(gate).filter(|_| measured.missing.is_none());
        }
        _ => rules.apply(&mut measured)?,
    }
    let texts = (!arguments.no_text && worded).then_some(&texts);
    write(&folder, &measured, texts, &arguments.format)?;
    show(&measured, &folder, false)?;
    // Without rules, rendering a complete run again always succeeds.
    if rules.is_empty() && measured.missing.is_none() {
        return Ok(Exit::Done);
    }
    let complete = rules.is_complete(&measured);
    Ok(gating::ending(measured.gate.as_ref(), complete))
}

/// Whether the run kept the texts of its questions: a run with --no-text did not.
fn asks_in_words(transcripts: &[TranscriptFacts]) -> bool {
    transcripts.iter().flat_map(|t| &t.probes).any(|asked| !asked.probe.question.is_empty())
}

/// Refuses unknown formats before anything runs.
pub(super) fn check_formats(names: &[String]) -> Result<(), Failure> {
    let known = format_names();
    let Some(unknown) = names.iter().find(|name| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    let help = match unknown.as_str() {
        "parquet" => "this recap is built without Parquet: install it with `--features parquet`",
        _ => &suggest(unknown, known),
    };
    Err(Failure::usage(format!("format `{unknown}` is not known")).help(help))
}

/// Measures a run; what its data had to leave out is added to the warnings.
pub(super) fn measured(
    manifest: Manifest,
    transcripts: Vec<TranscriptFacts>,
    (cells, cuts): (Vec<Cell>, Vec<Cut>),
    calls: Vec<CallRow>,
) -> Report {
    let (title, warnings) = (manifest.title.clone(), manifest.warnings.clone());
    let mut report = measure(manifest, title, transcripts, cells, cuts);
    report.warnings.extend(warnings);
    report.calls = calls;
    report
}

/// Whether enough probes were answered and graded; prints a message if not.
pub(super) fn mostly_graded(measured: &Report, max_unscored: f64) -> bool {
    let share = gate::unscored(&measured.manifest, &measured.cells);
    if share > max_unscored {
        wire::say(&format!(
            "error: {:.0} % of the probes were not answered or not graded; probes.csv says why",
            share * 100.0
        ));
    }
    share <= max_unscored
}

/// Renders a report into its run folder, with the findings of its gate.
pub(super) fn write(
    folder: &Folder,
    measured: &Report,
    texts: Option<&BTreeMap<String, String>>,
    formats: &[String],
) -> Result<(), Failure> {
    let stored = texts.map(Stored);
    let source = Source { report: measured, texts: stored.as_ref().map(|s| s as &dyn Texts) };
    let names: Vec<&str> = formats.iter().map(String::as_str).collect();
    for format in report::formats(&names) {
        folder.write_with(format.file, |out| (format.render)(&source, out))?;
    }
    if let Some(gate) = &measured.gate {
        folder.write_gate(gate)?;
    }
    // Later runs must not be compared with an incomplete run.
    if measured.missing.is_some() {
        folder.remove(BASELINE)?;
    } else if names.contains(&"json") {
        folder.write_with(BASELINE, |out| gate::write_baseline(measured, out))?;
    }
    Ok(())
}

/// Removes the files of an earlier run from the folder: its page and its texts
/// must not be mistaken for those of this one, least of all where text is left
/// out.
pub(super) fn clear(folder: &Folder) -> Result<(), Failure> {
    ["texts.jsonl", REPLIES].into_iter().try_for_each(|name| folder.remove(name))?;
    clear_rendered(folder)
}

/// Removes what was rendered from the results so far.
pub(super) fn clear_rendered(folder: &Folder) -> Result<(), Failure> {
    for name in FORMATS.iter().map(|f| f.file).chain([GATE, BASELINE]) {
        folder.remove(name)?;
    }
    Ok(())
}

/// Prints the table, or the summary for `--json`.
pub(super) fn show(measured: &Report, folder: &Folder, json: bool) -> Result<(), Failure> {
    match json {
        true => wire::print_exact(&summary_json(measured)),
        false => wire::print_table(&table(measured, folder)),
    }
}

/// The table, with the path of the report in its last line.
fn table(measured: &Report, folder: &Folder) -> String {
    let page = folder.path().join("report.html");
    let last = if page.exists() { page } else { folder.path().to_owned() };
    let table = crate::report::table(measured, wire::width(), wire::color());
    let gate = measured.gate.as_ref().map(gating::describe).unwrap_or_default();
    format!("{table}{gate}\nreport: {}\n", last.display())
}

/// The summary, for `--json`.
fn summary_json(measured: &Report) -> String {
    let source = Source { report: measured, texts: None };
    let files = report::formats(&["json"]).map(|format| format.bytes(&source));
    files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}
