//! `recap judge RUN`: grades the answers of a finished run with another judge.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::super::exit::{Exit, Failure};
use super::super::gating::mostly_graded;
use super::super::report;
use super::{JudgeRole, ProgressJudge, wait};
use crate::bench::{self, Results};
use recap_core::model::{
    Answer, CallRow, Cell, Manifest, ModelRole, RunResults, SessionFacts, Source,
};
use recap_exam::roles::judge::Judge;
use recap_measure::gate::MAX_UNSCORED;
use recap_replay::run::{Finished, Folder, RunRecord, judge_again};

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

pub(in crate::cli) fn run(arguments: &RegradeArguments) -> Result<Exit, Failure> {
    let path = arguments.run.as_deref().expect("clap requires it");
    let record = RunRecord::read(path)?;
    check(&record)?;
    let out = out(path, arguments.out.as_deref())?;
    let (judge, model_session) = arguments.role.fill(record.manifest.seed)?;
    let RunRecord { manifest, mut sessions, results, calls, texts, .. } = record;
    let (mut cells, mut cuts) = results.into_lists();
    let at_once = arguments.role.line.concurrency();
    let counted = ProgressJudge::new(Arc::clone(&judge), answers_to_grade(&cells));
    let grading = judge_again(&sessions, (&mut cells, &mut cuts), &counted, at_once);
    wait(grading)?;
    let (made, ended) = match &model_session {
        Some(model_session) => {
            model_session.save()?;
            (model_session.calls.take(), model_session.ended(false)?)
        }
        None => (Vec::new(), Exit::Done),
    };
    let manifest = judged(manifest, judge.as_ref());
    let calls = with_calls(calls, made);
    // In the order of a run without interruptions.
    sessions.sort_by(|a, b| (&a.dataset, &a.session).cmp(&(&b.dataset, &b.session)));
    let mut folder = Folder::create(&out, &manifest)?;
    bench::clear(&folder)?;
    let results = RunResults::new(cells, cuts);
    folder.sort_journal(&sessions, &results, &calls)?;
    folder.write_texts(&texts)?;
    let finished = Finished { sessions, results, calls, texts };
    let results = Results::from(RunRecord::new(manifest, finished));
    results.write(&folder, &[])?;
    report::show(&results.report, &folder, (arguments.json, false))?;
    Ok(match mostly_graded(&results.report, MAX_UNSCORED) {
        true => ended,
        false => Exit::Incomplete,
    })
}

/// Refuses a run without answers to grade.
fn check(run: &RunRecord) -> Result<(), Failure> {
    if run.results.cells().next().is_none() {
        return Err(Failure::with_code(Exit::Nothing, "the run has no finished cell")
            .help("run `recap bench` again"));
    }
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

/// Number of distinct answers to grade.
fn answers_to_grade(cells: &[Cell]) -> usize {
    let mut distinct = BTreeSet::new();
    for cell in cells {
        for row in cell.rows().into_iter().flat_map(|rows| &rows.questions) {
            if let Some(Answer::Said(text)) = row.answered.as_ref().map(|own| &own.answer) {
                distinct.insert((&cell.key.dataset, &cell.key.session, row.question, text));
            }
        }
    }
    distinct.len()
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

/// The calls of the new run: those of the other roles, and those of this judge.
fn with_calls(before: Vec<CallRow>, made: Vec<CallRow>) -> Vec<CallRow> {
    let others = before.into_iter().filter(|call| call.role != ModelRole::Judge);
    let mut calls: Vec<CallRow> = others.chain(made).collect();
    calls.sort_by(|a, b| (a.role, &a.model, &a.key).cmp(&(b.role, &b.model, &b.key)));
    calls
}
