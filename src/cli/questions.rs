//! `recap questions`.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Args, Subcommand};

use super::exit::{Exit, Failure};
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
    /// Then the answer to every question is looked for: without the conversation, beside its
    /// evidence, and in everything that the agent had. One that is findable without the conversation
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
            let looked = looked_for(&datasets);
            wire::print(&looked.table())?;
            looked.given.len()
        }
        Err(_) => {
            wire::say("the answers are not looked for: the data set does not load");
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

/// Questions of one kind whose answers were looked for.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    valued: u64,
    /// Findable without the conversation, beside the evidence, and in everything.
    findable: [u64; 3],
    ambiguous: u64,
    /// Without a value to find: for a model only.
    others: u64,
}

impl Tally {
    fn add(&mut self, controls: Controls) {
        self.ambiguous += u64::from(controls.ambiguous);
        let Some(findable) = controls.findable else {
            self.others += 1;
            return;
        };
        self.valued += 1;
        self.findable.iter_mut().zip(findable).for_each(|(sum, own)| *sum += u64::from(own));
    }

    fn line(&self, name: &str) -> String {
        let share = |found: u64| match self.valued {
            0 => "–".to_owned(),
            all => format!("{:.2}", found as f64 / all as f64),
        };
        let [empty, evidence, full] = self.findable.map(share);
        format!(
            "{name:16}{:>8}{empty:>8}{evidence:>10}{full:>8}{:>11}{:>13}\n",
            self.valued, self.ambiguous, self.others
        )
    }
}

/// The questions of data sets whose answers were looked for.
#[derive(Default)]
struct LookedFor {
    kinds: BTreeMap<QuestionKind, Tally>,
    /// Those that need no conversation, in words.
    given: Vec<String>,
}

fn looked_for(datasets: &[Dataset]) -> LookedFor {
    let mut found = LookedFor::default();
    for dataset in datasets {
        for session in &dataset.sessions {
            let own = dataset.questions.iter().filter(|question| question.session == session.id);
            let own: Vec<&Question> = own.collect();
            for (question, controls) in own.iter().zip(controls(session, &own)) {
                found.kinds.entry(question.kind).or_default().add(controls);
                if controls.findable.is_some_and(|found| found[0]) {
                    found.given.push(format!(
                        "{}: the answer to question `{}` is findable without the conversation\n",
                        dataset.name, question.id
                    ));
                }
            }
        }
    }
    found
}

impl LookedFor {
    /// A line for each kind and one for all, behind the questions that need no
    /// conversation.
    fn table(&self) -> String {
        let mut text = format!(
            "\nwhere the answers are findable: the share of the questions\n{:16}{:>8}{:>8}{:>10}{:>8}{:>11}{:>13}\n",
            "kind", "valued", "empty", "evidence", "full", "ambiguous", "for a model"
        );
        let mut all = Tally::default();
        for (kind, tally) in &self.kinds {
            text += &tally.line(kind.as_str());
            all.valued += tally.valued;
            all.ambiguous += tally.ambiguous;
            all.others += tally.others;
            all.findable.iter_mut().zip(tally.findable).for_each(|(sum, own)| *sum += own);
        }
        text += &all.line("all");
        text += "empty: without the conversation; evidence: in the messages that answer and two on \
                 each side;\nfull: in everything that the agent had. Good questions: empty below \
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
