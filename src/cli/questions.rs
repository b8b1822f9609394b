//! `recap questions`.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Args, Subcommand};

use super::exit::{Exit, Failure};
use super::work::Work;
use super::{generate, inputs, wire};
use recap_core::model::{Question, QuestionKind};
use recap_core::text::counted;
use recap_exam::questions::{Controls, controls};
use recap_formats::{Dataset, KindCoverage, QuestionAudit, audit_questions, bundled};

/// Options of `recap questions`.
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
    ///
    /// Then every question is asked of the offline reader: without the conversation, with its
    /// evidence, and with everything that the agent had. One that is right without the conversation
    /// is a violation too. Ambiguous are those of which a stale value is said again behind the
    /// newest evidence.
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
    Generate(generate::GenerateArguments),
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Check { input, reading } => check(input, *reading),
        Action::Generate(arguments) => generate::run(arguments),
    }
}

fn check(input: &str, reading: inputs::ReadOptions) -> Result<Exit, Failure> {
    let audit = audit(input, reading)?;
    for warning in &audit.warnings {
        wire::say(&format!("warning: {warning}"));
    }
    if audit.questions() == 0 && audit.violations.is_empty() {
        return Err(Failure::with_code(Exit::Nothing, format!("{input} has no questions")).help(
            "a native data set keeps them in questions.jsonl: datasets/question.schema.json",
        ));
    }
    wire::print(&shown(&audit))?;
    let invalid = match inputs::load(&[input.to_owned()], &reading.options()) {
        Ok(datasets) => {
            let asked = Work::new(1)?.run(asked(&datasets))?;
            wire::print(&asked.table())?;
            asked.invalid
        }
        Err(_) => {
            wire::say("its questions are not asked: the data set does not load");
            0
        }
    };
    Ok(if invalid == 0 && audit.violations.is_empty() { Exit::Done } else { Exit::Usage })
}

fn audit(input: &str, reading: inputs::ReadOptions) -> Result<QuestionAudit, Failure> {
    // A file on disk takes precedence over a bundled name.
    if !Path::new(input).exists()
        && let Some(bundled) = bundled(input)
    {
        return Ok(QuestionAudit::of(&bundled?));
    }
    Ok(audit_questions(Path::new(input), &reading.options())?)
}

fn shown(audit: &QuestionAudit) -> String {
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
    text.push_str(&row(["kind", "questions", "first", "middle", "last", "without", "answer in"]));
    text.push_str(&row(["", "", "third", "third", "third", "evidence", "evidence"]));
    for kind in &audit.coverage {
        let [first, middle, last] = kind.thirds.map(|n| n.to_string());
        let (questions, without) = (kind.questions.to_string(), kind.without_evidence.to_string());
        let name = kind.kind.as_str();
        text.push_str(&row([
            name,
            &questions,
            &first,
            &middle,
            &last,
            &without,
            &share_found(kind),
        ]));
    }
    let uncovered: Vec<&str> = audit.uncovered().into_iter().map(|kind| kind.as_str()).collect();
    if !uncovered.is_empty() {
        text.push_str(&format!("not covered: {}\n", uncovered.join(", ")));
    }
    let violations = counted(audit.violations.len(), "violation");
    text.push_str(&format!("{}, {violations}\n", counted(audit.questions(), "question")));
    text
}

/// Questions of one kind as the offline reader answers them.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    graded: u64,
    /// Right without the conversation, with the evidence, and with everything.
    right: [u64; 3],
    ambiguous: u64,
    /// For a model only.
    ungraded: u64,
}

impl Tally {
    fn add(&mut self, controls: Controls) {
        self.ambiguous += u64::from(controls.ambiguous);
        let Some(right) = controls.right else {
            self.ungraded += 1;
            return;
        };
        self.graded += 1;
        self.right.iter_mut().zip(right).for_each(|(sum, right)| *sum += u64::from(right));
    }

    fn line(&self, name: &str) -> String {
        // Who has no conversation rightly says that it is not known.
        let trivial = name == QuestionKind::Abstain.as_str();
        let share = |right: u64| match self.graded {
            0 => "–".to_owned(),
            all => format!("{:.2}", right as f64 / all as f64),
        };
        let [empty, evidence, full] = self.right.map(share);
        let empty = if trivial { "–".to_owned() } else { empty };
        let cells = format!(
            "{name:16}{:>8}{empty:>8}{evidence:>10}{full:>8}{:>11}{:>12}",
            self.graded, self.ambiguous, self.ungraded
        );
        format!("{cells}\n")
    }
}

/// The questions of data sets as the offline reader answers them.
#[derive(Default)]
struct AnsweredQuestions {
    kinds: BTreeMap<QuestionKind, Tally>,
    /// Those that are right without the conversation, in words.
    given: Vec<String>,
    invalid: usize,
}

async fn asked(datasets: &[Dataset]) -> AnsweredQuestions {
    let mut asked = AnsweredQuestions::default();
    for dataset in datasets {
        for session in &dataset.sessions {
            let own = dataset.questions.iter().filter(|question| question.session == session.id);
            let own: Vec<&Question> = own.collect();
            for (question, controls) in own.iter().zip(controls(session, &own).await) {
                asked.kinds.entry(question.kind).or_default().add(controls);
                let free = controls.right.is_some_and(|right| right[0]);
                if free && question.kind != QuestionKind::Abstain {
                    asked.given.push(format!(
                        "{}: question `{}` is answered right without the conversation\n",
                        dataset.name, question.id
                    ));
                }
            }
        }
    }
    asked.invalid = asked.given.len();
    asked
}

impl AnsweredQuestions {
    /// A line for each kind and one for all with a known answer, behind the
    /// questions that need no conversation.
    fn table(&self) -> String {
        let mut text = format!(
            "\nasked of the offline reader: the share that is right\n{:16}{:>8}{:>8}{:>10}{:>8}{:>11}{:>12}\n",
            "kind", "graded", "empty", "evidence", "full", "ambiguous", "for a model"
        );
        let mut all = Tally::default();
        for (kind, tally) in &self.kinds {
            text += &tally.line(kind.as_str());
            if *kind != QuestionKind::Abstain {
                all.graded += tally.graded;
                all.ambiguous += tally.ambiguous;
                all.ungraded += tally.ungraded;
                all.right.iter_mut().zip(tally.right).for_each(|(sum, right)| *sum += right);
            }
        }
        text += &all.line("all but abstain");
        text += "empty: without the conversation; evidence: with the messages that answer and two on \
                 each side;\nfull: with everything that the agent had. Good questions: empty below \
                 0.05, evidence 0.85, full 0.75.\n";
        text + &self.given.concat()
    }
}

/// A line of the table.
fn row([kind, questions, first, middle, last, without, said]: [&str; 7]) -> String {
    let cells =
        format!("{kind:16}{questions:>8}{first:>8}{middle:>8}{last:>8}{without:>10}{said:>14}");
    format!("{}\n", cells.trim_end())
}

/// The share of the checked answers that are found in the evidence.
fn share_found(row: &KindCoverage) -> String {
    match row.searched {
        0 => "–".to_owned(),
        searched => format!("{} of {searched}", row.said),
    }
}
