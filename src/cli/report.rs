//! `recap report RUN`, and writing the files of a run.

use std::path::{Path, PathBuf};

use clap::Args;

use super::config;
use super::{gating, headings, wire};
use crate::bench::{Results, measure_run};
use crate::failure::{Exit, Failure};
use recap_core::model::{Report, suggest};
use recap_replay::run::{Folder, RunRecord, RunTexts};
use recap_report::{self as report, RenderInput, format_names};

/// Options of `recap report`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The run folder
    run: PathBuf,

    #[command(flatten)]
    rendering: Rendering,
}

/// What a run leaves for people: files, table and page.
#[derive(Debug, Args)]
pub(super) struct Output {
    /// Files to render: a list of names
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values = format_names(),
          help_heading = headings::REPORT)]
    format: Vec<String>,

    /// Open the page
    #[arg(long, help_heading = headings::REPORT)]
    open: bool,

    /// Show every column, note and limit
    #[arg(long, help_heading = headings::REPORT)]
    wide: bool,
}

/// How a finished run is rendered.
#[derive(Debug, Args)]
pub struct Rendering {
    #[command(flatten)]
    settings: config::ConfigFile,

    #[command(flatten)]
    pub(super) output: Output,

    /// Leave the sessions' words out of the rendered files; the run's journal stays as it is
    #[arg(long, help_heading = headings::REPORT)]
    no_text: bool,

    #[command(flatten, next_help_heading = headings::GATE)]
    gating: gating::GateOptions,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    arguments.rendering.output.check()?;
    render(&arguments.run, &arguments.rendering)
}

/// Measures the run in a folder, renders it and prints its table.
pub(super) fn render(path: &Path, arguments: &Rendering) -> Result<Exit, Failure> {
    let mut run = RunRecord::without_texts(path)?;
    if let Some(shard) = run.manifest.shard {
        return Err(Failure::usage(format!("{} is shard {shard} of a run", path.display()))
            .help("put all shards together: recap merge SHARD... --out RUN"));
    }
    refuse_unfinished(&run, path)?;
    let sessions = run.sessions.iter().map(|facts| (&*facts.dataset, &*facts.session));
    let rules = arguments.gating.rules(&mut run.manifest, sessions)?;
    let worded = !run.manifest.no_text;
    let folder = Folder::open(path)?;
    folder.write_manifest(&run.manifest)?;
    if arguments.no_text && worded {
        // The texts tell what is secret.
        run.texts = RunRecord::read(path)?.texts;
        run = run.concealed();
    }
    let gate = run.gate.take();
    let mut results = measure_run(run);
    let report = &mut results.report;
    match gate {
        // Findings about the whole run do not apply to a part of it.
        Some(gate) if rules.is_empty() => {
            report.gate = Some(gate).filter(|_| report.missing.is_none());
        }
        _ => rules.apply(report)?,
    }
    let worded = worded && !arguments.no_text;
    results.texts = worded.then(|| RunTexts::of_run(path)).transpose()?;
    arguments.output.leave(&results, &folder, false)?;
    let measured = &results.report;
    // Without rules, rendering a complete run again always succeeds.
    if rules.is_empty() && measured.missing.is_none() {
        return Ok(Exit::Done);
    }
    let complete = rules.is_complete(measured);
    rules.leave_baseline(measured, complete)?;
    Ok(gating::ending(measured.gate.as_ref(), complete))
}

/// Refuses a run of which nothing finished.
pub(super) fn refuse_unfinished(run: &RunRecord, path: &Path) -> Result<(), Failure> {
    if run.results.cells().next().is_some() {
        return Ok(());
    }
    let what = format!("{} has no finished cell", path.display());
    Err(Failure::with_code(Exit::Nothing, what).help("run `recap bench` again"))
}

impl Output {
    /// Refuses unknown formats before anything runs.
    pub(super) fn check(&self) -> Result<(), Failure> {
        let known = format_names();
        let Some(unknown) = self.format.iter().find(|name| !known.contains(&name.as_str())) else {
            return Ok(());
        };
        let help = match unknown.as_str() {
            "parquet" => {
                "this recap is built without Parquet: install it with `--features parquet`"
            }
            _ => &suggest(unknown, known),
        };
        Err(Failure::usage(format!("format `{unknown}` is not known")).help(help))
    }

    /// Writes the files of a run, prints its table or the summary, and opens its page.
    pub(super) fn leave(
        &self,
        results: &Results,
        folder: &Folder,
        json: bool,
    ) -> Result<(), Failure> {
        let names: Vec<&str> = self.format.iter().map(String::as_str).collect();
        results.write(folder, &names)?;
        show(&results.report, folder, (json, self.wide))?;
        let page = folder.path().join("report.html");
        // A machine without a browser is told where the page lies; the run is done either way.
        if self.open
            && let Err(error) = open::that_detached(&page)
        {
            wire::say(&format!("warning: {} could not be opened: {error}", page.display()));
        }
        Ok(())
    }
}

/// Prints the table, or the summary for `--json`.
pub(super) fn show(
    measured: &Report,
    folder: &Folder,
    (json, wide): (bool, bool),
) -> Result<(), Failure> {
    if json || wire::is_workflow() {
        measured.gate.iter().for_each(gating::say_open);
    }
    if json {
        wire::print_json(&summary_json(measured))
    } else {
        wire::print_table(&table(measured, folder, wide))
    }
}

/// The table, with the path of the report in its last line.
fn table(measured: &Report, folder: &Folder, wide: bool) -> String {
    let page = folder.path().join("report.html");
    let last = if page.exists() { page } else { folder.path().to_owned() };
    let screen = wire::screen(wide);
    let table = recap_report::table(measured, screen);
    let gate = measured.gate.as_ref().map(gating::describe).unwrap_or_default();
    format!("{table}{gate} page     {}\n", last.display())
}

/// The summary, for `--json`.
fn summary_json(measured: &Report) -> String {
    let source = RenderInput { report: measured, texts: None };
    let files = report::formats(&["json"]).map(|format| format.bytes(&source));
    files.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).collect()
}
