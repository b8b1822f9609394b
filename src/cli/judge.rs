//! `recap judge RUN`, which grades the answers of a finished run with another judge, and
//! `recap judge calibrate`.

#![allow(clippy::disallowed_methods, reason = "shows what has passed")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::{Args, Subcommand};

use super::gating::mostly_graded;
use super::model_session::ModelSession;
use super::roles::{CallOptions, judges};
use super::{headings, models, report, wire};
use crate::bench::{self, measure_run};
use crate::failure::{Exit, Failure, refused};
use recap_core::model::{
    CallRow, LabelledCase, Manifest, ModelRole, OFFLINE, RunResults, SessionFacts, Source,
};
use recap_core::text::counted;
use recap_exam::roles::judge::Judge;
use recap_formats::load_labels;
use recap_measure::gate::MAX_UNSCORED;
use recap_measure::{Graded, agreement};
use recap_replay::run::{Finished, Folder, RunRecord, grade, judge_again, sample};
use recap_report::{
    calibration_csv, calibration_json, calibration_table, calls_csv, calls_table, verdicts_csv,
};

/// Options of `recap judge`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    again: RegradeArguments,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Measure a judge: its agreement with people
    ///
    /// Prints agreement, Cohen's kappa, false accepts and false rejects, by file and by who
    /// answered.
    Calibrate(CalibrateArguments),
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.action {
        Some(Action::Calibrate(arguments)) => calibrate(arguments),
        None => regrade(&arguments.again),
    }
}

/// Saves what is recorded; the calls that were made, and how they ended.
fn ended(model_session: &ModelSession) -> Result<(Vec<CallRow>, Exit), Failure> {
    model_session.calls.save()?;
    Ok((model_session.calls.take(), model_session.ended(false)?))
}

/// Shortest time between two lines of progress.
const EVERY: Duration = Duration::from_secs(5);

/// Says every few seconds how many of so many answers are graded, if it is called at each.
fn progress() -> impl Fn(usize) + Sync {
    let state = Mutex::new((0, Instant::now()));
    move |of| {
        let (graded, last_shown) = &mut *state.lock().expect("showing does not panic");
        *graded += 1;
        if last_shown.elapsed() >= EVERY {
            *last_shown = Instant::now();
            wire::say(&format!("{graded} of {} graded", counted(of, "answer")));
        }
    }
}

/// The judge's role.
#[derive(Debug, Args)]
struct JudgeRole {
    /// Who grades the answers; two are a panel, a third decides where they disagree
    #[arg(long, value_name = "MODEL", default_values_t = [OFFLINE.to_owned()],
          help_heading = headings::ROLES)]
    judge: Vec<String>,

    #[command(flatten)]
    calls: CallOptions,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", help_heading = headings::BILL)]
    prices: Option<PathBuf>,
}

impl JudgeRole {
    /// The judge or the panel, and the models behind it.
    fn fill(&self, seed: u64) -> Result<(Arc<dyn Judge>, ModelSession), Failure> {
        let prices = Arc::new(models::prices(self.prices.as_deref())?);
        let typed: Vec<&str> = self.judge.iter().map(String::as_str).collect();
        let mut model_session = ModelSession::open(&self.calls, &typed, &prices, seed)?;
        wire::warn(&model_session.warnings);
        Ok((judges(&self.judge, &mut model_session)?, model_session))
    }
}

/// Options of `recap judge RUN`.
#[derive(Debug, Args)]
pub struct RegradeArguments {
    /// Folder of the run whose answers are graded again; it stays as it is
    #[arg(required = true)]
    run: Option<PathBuf>,

    /// Folder of the new run; an earlier run in it is replaced [default: RUN-judged]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print only the summary, as JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    role: JudgeRole,
}

fn regrade(arguments: &RegradeArguments) -> Result<Exit, Failure> {
    let path = arguments.run.as_deref().expect("clap requires it");
    let record = RunRecord::read(path)?;
    report::refuse_unfinished(&record, path)?;
    check(&record)?;
    let out = out(path, arguments.out.as_deref())?;
    let (judge, model_session) = arguments.role.fill(record.manifest.seed)?;
    let RunRecord { manifest, sessions, results, calls, texts, .. } = record;
    let (mut cells, mut cuts) = results.into_lists();
    let at_once = arguments.role.calls.concurrency();
    let told = progress();
    let grading = judge_again(&sessions, (&mut cells, &mut cuts), &*judge, at_once, &told);
    model_session.wait(grading)?;
    let (made, ended) = ended(&model_session)?;
    let manifest = judged(manifest, judge.as_ref());
    // Those of the other roles, and those of this judge.
    let others = calls.into_iter().filter(|call| call.role != ModelRole::Judge);
    let calls = others.chain(made).collect();
    let mut folder = Folder::create(&out, &manifest)?;
    bench::clear(&folder)?;
    let results = RunResults::new(cells, cuts);
    let mut finished = Finished { sessions, results, calls, texts };
    folder.sort_journal(&mut finished)?;
    folder.write_texts(&finished.texts)?;
    let results = measure_run(RunRecord::new(manifest, finished));
    results.write(&folder, &[])?;
    report::show(&results.report, &folder, (arguments.json, false))?;
    Ok(if mostly_graded(&results.report, MAX_UNSCORED) { ended } else { Exit::Incomplete })
}

/// Refuses a run without answers to grade.
fn check(run: &RunRecord) -> Result<(), Failure> {
    let mut asked = run.sessions.iter().flat_map(SessionFacts::all_questions);
    if asked.clone().next().is_none() {
        return Err(Failure::usage("the run asked no questions")
            .help("give a run of `recap bench` on a data set with questions"));
    }
    if run.manifest.answered_by() == Source::Lexical {
        return Err(Failure::usage("no model answered the questions of the run")
            .help("run `recap bench` with --answerer MODEL"));
    }
    if asked.all(|asked| asked.question.question.is_empty()) {
        return Err(Failure::usage(
            "the run was made with --no-text: it has no questions and answers that could be graded",
        )
        .help("run `recap bench` again without --no-text, or with another --judge"));
    }
    Ok(())
}

/// The folder of the new run, which must not be the old one's.
fn out(run: &Path, asked: Option<&Path>) -> Result<PathBuf, Failure> {
    // A path such as `..` has no name of its own.
    let whole = run.canonicalize().unwrap_or_else(|_| run.to_owned());
    if let Some(out) = asked {
        return match out.canonicalize() {
            Ok(same) if same == whole => {
                Err(Failure::usage(format!("--out is the run itself: `{}`", out.display()))
                    .help("give another folder: the verdicts of the run are not overwritten"))
            }
            _ => Ok(out.to_owned()),
        };
    }
    let name = run.file_name().or(whole.file_name()).unwrap_or_default().to_string_lossy();
    let folder = if run.file_name().is_some() { run } else { &whole };
    let first = folder.with_file_name(format!("{name}-judged"));
    let later = (2..).map(|n| folder.with_file_name(format!("{name}-judged-{n}")));
    Ok(std::iter::once(first).chain(later).find(|p| !p.exists()).expect("numbers do not end"))
}

/// The manifest of the new run.
fn judged(mut manifest: Manifest, judge: &dyn Judge) -> Manifest {
    let before = std::mem::replace(&mut manifest.judge, judge.name().to_owned());
    manifest.source = match (manifest.answered_by(), judge.source()) {
        (Source::Model, Source::Model) => Source::Model,
        _ => Source::Lexical,
    };
    manifest.warnings.push(format!(
        "judged again: {} graded the answers of a run that {before} had graded; nothing was \
         replayed or answered anew",
        judge.name()
    ));
    manifest
}

/// Options of `recap judge calibrate`.
#[derive(Debug, Args)]
pub struct CalibrateArguments {
    /// Answers that people graded: JSON lines with `id`, `question`, `expect`, `answer` and
    /// `label`
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

fn calibrate(arguments: &CalibrateArguments) -> Result<Exit, Failure> {
    let (judge, model_session) = arguments.role.fill(arguments.seed)?;
    let cases = labelled_cases(arguments)?;
    if cases.is_empty() {
        return Err(Failure::with_code(Exit::Nothing, "there is no answer to grade")
            .help("give a file with labelled answers, or a higher --sample"));
    }
    let at_once = arguments.role.calls.concurrency();
    let judgements = model_session.wait(grade(&*judge, &cases, at_once, &progress()))?;
    let (calls, ended) = ended(&model_session)?;
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
        for (name, bytes) in files {
            wire::write_file(&folder.join(name), &bytes)?;
        }
    }
    if arguments.json {
        wire::print_json(&calibration_json(&report))?;
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
        return Err(refused(&errors));
    }
    Ok(match arguments.sample {
        Some(most) => sample(cases, most, arguments.seed),
        None => cases,
    })
}
