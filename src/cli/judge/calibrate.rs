//! `recap judge calibrate`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::super::exit::{Exit, Failure};
use super::super::wire;
use super::{JudgeRole, ProgressJudge, wait};
use recap_core::model::LabelledCase;
use recap_formats::{DatasetError, load_labels};
use recap_measure::{Graded, agreement};
use recap_replay::run::{grade, sample};
use recap_report::{
    calibration_csv, calibration_json, calibration_table, calls_csv, calls_table, verdicts_csv,
};

/// Most violations that are printed: a file with the wrong format has one a line.
const PRINTED: usize = 100;

/// Options of `recap judge calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArguments {
    /// Answers that people graded: JSON lines (datasets/labelled.schema.json)
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Grade at most so many of the answers, of every group its share
    #[arg(long, value_name = "N")]
    sample: Option<usize>,

    /// Seed of the sample and of the intervals
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Folder for calibration.csv and verdicts.csv
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print JSON in place of the table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    role: JudgeRole,
}

pub(in crate::cli) fn run(arguments: &CalibrateArguments) -> Result<Exit, Failure> {
    let (judge, model_session) = arguments.role.fill(arguments.seed)?;
    let cases = labelled_cases(arguments)?;
    if cases.is_empty() {
        return Err(Failure::with_code(Exit::Nothing, "there is no answer to grade")
            .help("give a file with labelled answers, or a higher --sample"));
    }
    let counted = ProgressJudge::new(Arc::clone(&judge), cases.len());
    let at_once = arguments.role.line.concurrency();
    let judgements = wait(grade(&counted, &cases, at_once))?;
    let (calls, ended) = match model_session {
        Some(model_session) => {
            model_session.save()?;
            (model_session.calls.take(), model_session.ended(false)?)
        }
        None => (Vec::new(), Exit::Done),
    };
    let report = agreement(&Graded {
        judge: judge.name(),
        source: judge.source(),
        seed: arguments.seed,
        cases: &cases,
        judgements: &judgements,
    });
    if let Some(folder) = &arguments.out {
        let verdicts = verdicts_csv(&cases, &judgements);
        let mut files =
            vec![("calibration.csv", calibration_csv(&report)), ("verdicts.csv", verdicts)];
        if !calls.is_empty() {
            files.push(("calls.csv", calls_csv(&calls)));
        }
        write(folder, &files)?;
    }
    if arguments.json {
        wire::print_exact(&calibration_json(&report))?;
    } else {
        let screen = wire::screen(true);
        let table = calibration_table(&report, screen);
        wire::print_table(&(table + &calls_table(&calls, screen)))?;
    }
    Ok(ended)
}

/// The answers that the judge grades.
fn labelled_cases(arguments: &CalibrateArguments) -> Result<Vec<LabelledCase>, Failure> {
    let (mut cases, mut errors, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for file in &arguments.files {
        if !seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())) {
            return Err(Failure::usage(format!("`{}` is given twice", file.display()))
                .help("give every file once, or its answers would count twice"));
        }
        match load_labels(file) {
            Ok(more) => cases.extend(more),
            Err(found) => errors.extend(found),
        }
    }
    if !errors.is_empty() {
        return Err(refusal(&errors));
    }
    Ok(match arguments.sample {
        Some(most) => sample(cases, most, arguments.seed),
        None => cases,
    })
}

/// The error for invalid files: a line for each violation.
fn refusal(errors: &[DatasetError]) -> Failure {
    if let [error] = errors {
        return Failure::usage(error.to_string()).help(error.help());
    }
    let mut text = String::new();
    for error in errors.iter().take(PRINTED) {
        let line = error.line.map_or_else(String::new, |line| format!(":{line}"));
        // One violation a line, whatever the data contain.
        let what = error.problem.to_string().replace(['\n', '\r'], " ");
        let _ =
            write!(text, "{}{}{line}: {what}", if text.is_empty() { "" } else { "\n" }, error.file);
    }
    if errors.len() > PRINTED {
        let _ = write!(text, "\nand {} more", errors.len() - PRINTED);
    }
    Failure::usage(text).help(errors[0].help())
}

fn write(folder: &Path, files: &[(&str, Vec<u8>)]) -> Result<(), Failure> {
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        files.iter().try_for_each(|(name, bytes)| std::fs::write(folder.join(name), bytes))
    });
    written.map_err(|error| Failure::unwritable(folder, &error))
}
