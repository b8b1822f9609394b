//! What the panel says of those who answer and grade.

use super::{Check, Run, State};
use crate::model::{Problem, Source, catalogue};
use crate::report::{number, panel, plain};

/// The same question twice.
pub(super) fn a_a(run: &Run<'_>) -> Check {
    let figures: Vec<f64> =
        run.of("full").filter_map(|row| row.number(catalogue::CONTINUITY)).collect();
    let mut found: Vec<String> = figures.iter().map(|x| format!("continuity {x:.0}")).collect();
    found.dedup();
    let manifest = &run.report.manifest;
    let chance = [manifest.answered_by(), manifest.graded_by()].contains(&Source::Model);
    let state = match figures.iter().copied().reduce(f64::min) {
        None => State::Absent,
        Some(least) if least < 100.0 => State::Look,
        Some(_) if chance => State::Absent,
        Some(_) => State::Fine,
    };
    if found.is_empty() {
        found.push(run.reason("full", catalogue::CONTINUITY.id));
    }
    let means = if chance {
        "A/A: the whole conversation against itself. Each question is asked once and its grade \
         stands for both, so this is 100 by construction: how much a model’s own answers differ \
         from one time to the next is not measured"
    } else {
        "A/A: the whole conversation against itself. The offline seats give the same answer to the \
         same question every time, so it is 100 by construction: no difference between strategies \
         is chance of the instrument"
    };
    Check { name: "the same twice (A/A)", found, means, state }
}

/// Questions that need no memory.
pub(super) fn leaks(run: &Run<'_>) -> Check {
    let (found, means) = match run.report.manifest.answered_by() {
        Source::Lexical => (
            "takes a model as answerer",
            "questions that a model answers without any memory, from what it learnt elsewhere; the \
             offline reader knows nothing but the context, so it cannot tell",
        ),
        Source::Model => (
            "takes three answers to each question, and one is asked for",
            "questions that the model answers without any memory, from what it learnt elsewhere; \
             one answer may be a lucky guess, so none is called leaked. What an empty memory gets \
             right stands above, under what can be guessed",
        ),
    };
    Check { name: "leaked questions", found: vec![found.to_owned()], means, state: State::Absent }
}

/// Who they are.
pub(super) fn judge(run: &Run<'_>) -> Check {
    let manifest = &run.report.manifest;
    let means = match (manifest.answered_by(), manifest.graded_by()) {
        (Source::Lexical, Source::Lexical) => {
            "words and dates, without a model: ranks of strategies that use no model are \
             supported, what a model would answer is not estimated. The offline judge is not \
             trusted: it accepts too many of the answers that people find wrong (recap judge \
             calibrate)"
        }
        (Source::Model, Source::Lexical) => {
            "a model answers, and words and dates are compared to grade it: what is right in other \
             words may count as wrong. The offline judge is not trusted: it accepts too many of \
             the answers that people find wrong (recap judge calibrate)"
        }
        (Source::Lexical, Source::Model) => {
            "a reader without a model copies from the context and a model grades what it copied: \
             what a model would answer is not estimated. How often the judge is wrong, recap judge \
             calibrate measures"
        }
        (Source::Model, Source::Model) => {
            "a model answers and a model grades. How often the judge is wrong this run cannot \
             tell; recap judge calibrate measures it"
        }
    };
    Check {
        name: "who answers and who grades",
        found: vec![format!(
            "answerer {}, judge {}, recap {}, instrument {}",
            plain::line(&manifest.answerer),
            plain::line(&manifest.judge),
            plain::line(&manifest.version),
            manifest.instrument
        )],
        means,
        state: match manifest.graded_by() {
            Source::Lexical => State::Scale,
            Source::Model => State::Look,
        },
    }
}

/// How far the judges of a panel agree; nothing for a single judge.
pub(super) fn panel(run: &Run<'_>) -> Option<Check> {
    let figures = run.report.panel.as_ref()?;
    let state = match figures.kappa {
        None => State::Absent,
        Some(_) => run.state(|problem| matches!(problem, Problem::JudgesDisagree { .. })),
    };
    let kappa = figures.kappa.map(number::share);
    let kappa = kappa.map_or_else(|| "no kappa".to_owned(), |kappa| format!("kappa {kappa}"));
    Some(Check {
        name: "whether the judges agree",
        found: vec![kappa, panel::agreed(figures), panel::settled(figures)],
        means: "Cohen’s kappa of the first two judges on right and not right: 1 is the same \
                verdict every time, 0 no more agreement than by chance; below 0.70 the scores hang \
                on who grades. Two judges that agree can be wrong together",
        state,
    })
}
