//! `recap questions`: `check`, and `generate` with or without a model.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::authoring::{self, CutSession, with_cuts};
use super::model_session::ModelSession;
use super::roles::CallOptions;
use super::{headings, inputs, models, wire};
use crate::failure::{Exit, Failure, violation};
use recap_core::model::{OFFLINE, Question, QuestionKind};
use recap_core::text::counted;
use recap_exam::facts::Cuts;
use recap_exam::questions::{self, Controls, controls};
use recap_formats::{
    Dataset, KindCoverage, QuestionAudit, audit_file, audit_questions, bundled, load_questions,
    write_questions,
};
use recap_report::document::{Part, TableOf, figures, terminal, words};

/// Options of `recap questions`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List every violation with file and line, and what the questions cover; exit 2 where there is
    /// one
    ///
    /// Violations are broken references, evidence that stands behind the question or does not say
    /// any of the answers, repeated ids and questions, empty questions, answers that the question
    /// gives away, and stale values that equal an answer. Evidence is searched for the answer
    /// without regard to case, punctuation and the spelling of numbers. Kinds whose answers are
    /// worked out or shown by behaviour (temporal, multi-hop, constraint and so on) are searched
    /// for the table only.
    ///
    /// Then the answer to every question is looked for: without the conversation, beside its
    /// evidence, and in everything that the agent had. One that is findable without the
    /// conversation is a violation too. Ambiguous are those of which a stale value is said again
    /// behind the newest evidence.
    Check {
        /// A data set with questions: a bundled or native data set, LoCoMo, BEAM
        input: String,

        /// Check the questions of this file on the sessions of INPUT, as `recap questions generate`
        /// writes them
        #[arg(long, value_name = "FILE")]
        questions: Option<PathBuf>,

        #[command(flatten)]
        reading: inputs::ReadOptions,
    },
    /// Make questions from recordings: files, commands, rules, decisions, changed values, plans
    ///
    /// The answers are in the recording itself, so that no model is needed and the same recording
    /// gives the same questions. They are asked at the cuts of a comparison, right behind a
    /// compaction. `recap bench` makes the same questions for sessions without their own; write
    /// them to a file to review or edit them, and give that file to `recap bench --questions`.
    Generate(GenerateArguments),
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.action {
        Action::Check { input, questions, reading } => check(input, questions.as_deref(), *reading),
        Action::Generate(arguments) => generate_questions(arguments),
    }
}

fn check(
    input: &str,
    questions: Option<&Path>,
    reading: inputs::ReadOptions,
) -> Result<Exit, Failure> {
    let load = || inputs::load(&[input.to_owned()], &reading.options());
    let (audit, loaded) = match questions {
        Some(file) => {
            let mut datasets = load()?;
            (audit_file(file, &mut datasets)?, Ok(datasets))
        }
        None => (audit(input, reading)?, load()),
    };
    wire::warn(&audit.warnings);
    if audit.questions() == 0 && audit.violations.is_empty() {
        let place = questions.map_or_else(|| input.to_owned(), |file| file.display().to_string());
        return Err(Failure::with_code(Exit::Nothing, format!("{place} has no questions")).help(
            "a native data set keeps them in questions.jsonl; `recap questions generate INPUT` \
             prints some as they are written there",
        ));
    }
    wire::print(&violations(&audit))?;
    let mut parts = covered(&audit);
    let mut given = Vec::new();
    match loaded {
        Ok(datasets) => {
            let looked = looked_for(&datasets);
            parts.extend(looked.0);
            given = looked.1;
        }
        Err(_) => wire::say("the answers are not looked for: the data set does not load"),
    }
    wire::print_table(&terminal(&parts, wire::screen(true)))?;
    wire::print(&given.concat())?;
    let is_valid = given.is_empty() && audit.violations.is_empty();
    Ok(if is_valid { Exit::Done } else { Exit::Usage })
}

fn audit(input: &str, reading: inputs::ReadOptions) -> Result<QuestionAudit, Failure> {
    // A file on disk takes precedence over a bundled name.
    if !Path::new(input).exists()
        && let Some(bundled) = bundled(input)
    {
        return Ok(QuestionAudit::of(&bundled?));
    }
    audit_questions(Path::new(input), &reading.options()).map_err(|error| {
        match load_questions(Path::new(input), &[]) {
            Ok(alone) if !alone.is_empty() => Failure::usage(format!(
                "{input} holds questions without their sessions"
            ))
            .help(format!("name these too: recap questions check SESSIONS --questions {input}")),
            _ => error.into(),
        }
    })
}

/// One violation a line, whatever the data contain.
fn violations(audit: &QuestionAudit) -> String {
    let lines = audit.violations.iter().map(|error| violation(error) + "\n");
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { lines + "\n" }
}

/// What the questions of each kind cover, and how many there are.
fn covered(audit: &QuestionAudit) -> Vec<Part> {
    let said = |kind: &&KindCoverage| match kind.searched {
        0 => "–".to_owned(),
        searched => format!("{} of {searched}", kind.said),
    };
    let table = TableOf::new("Questions by kind", &audit.coverage)
        .column(words("kind"), |kind| kind.kind.as_str())
        .column(figures("questions"), |kind| kind.questions.to_string())
        .column(figures("first\nthird"), |kind| kind.thirds[0].to_string())
        .column(figures("middle\nthird"), |kind| kind.thirds[1].to_string())
        .column(figures("last\nthird"), |kind| kind.thirds[2].to_string())
        .column(figures("without\nevidence"), |kind| kind.without_evidence.to_string())
        .column(figures("answer in\nevidence"), said);
    let uncovered: Vec<&str> = audit.uncovered().into_iter().map(|kind| kind.as_str()).collect();
    let uncovered = (!uncovered.is_empty())
        .then(|| Part::Text(format!("not covered: {}", uncovered.join(", "))));
    let counts = format!(
        "{}, {}",
        counted(audit.questions(), "question"),
        counted(audit.violations.len(), "violation")
    );
    [table.part()].into_iter().chain(uncovered).chain([Part::Text(counts)]).collect()
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

    /// The share of the questions that are findable in one of these places.
    fn share(&self, place: usize) -> String {
        match self.valued {
            0 => "–".to_owned(),
            all => format!("{:.2}", self.findable[place] as f64 / all as f64),
        }
    }
}

/// The questions of data sets whose answers were looked for, by kind and all together, and those
/// that need no conversation, in words.
fn looked_for(datasets: &[Dataset]) -> (Vec<Part>, Vec<String>) {
    let mut kinds: BTreeMap<QuestionKind, Tally> = BTreeMap::new();
    let (mut all, mut given) = (Tally::default(), Vec::new());
    for dataset in datasets {
        for session in &dataset.sessions {
            let own = dataset.questions.iter().filter(|question| question.session == session.id);
            let own: Vec<&Question> = own.collect();
            for (question, controls) in own.iter().zip(controls(session, &own)) {
                kinds.entry(question.kind).or_default().add(controls);
                all.add(controls);
                if controls.findable.is_some_and(|found| found[0]) {
                    given.push(format!(
                        "{}: the answer to question `{}` is findable without the conversation\n",
                        dataset.name, question.id
                    ));
                }
            }
        }
    }
    let rows = kinds.iter().map(|(kind, tally)| (kind.as_str(), *tally)).chain([("all", all)]);
    let table = TableOf::new("Where the answers are findable", rows)
        .column(words("kind"), |(kind, _)| *kind)
        .column(figures("valued"), |(_, tally)| tally.valued.to_string())
        .column(figures("empty"), |(_, tally)| tally.share(0))
        .column(figures("evidence"), |(_, tally)| tally.share(1))
        .column(figures("full"), |(_, tally)| tally.share(2))
        .column(figures("ambiguous"), |(_, tally)| tally.ambiguous.to_string())
        .column(figures("for a model"), |(_, tally)| tally.others.to_string());
    let about = "empty: without the conversation; evidence: in the messages that answer and two on \
                 each side; full: in everything that the agent had. Good questions: empty below \
                 0.05, evidence 0.85, full 0.75.";
    let title = "where the answers are findable: the share of the questions";
    (vec![Part::heading(title), table.part(), Part::text(about)], given)
}

/// Depth of the cuts that questions are made for: that which `recap bench`
/// examines by default.
const DEPTH: u32 = 1;

/// Options of `recap questions generate`.
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

    /// Who writes the questions: `offline`, from the recording alone, or provider/model, which also
    /// answers them with and without the conversation, so that only those stay that need it
    #[arg(long, value_name = "MODEL", default_value = OFFLINE, help_heading = headings::ROLES)]
    model: String,

    /// Tell what the model would cost, and call none
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    calls: CallOptions,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", help_heading = headings::BILL)]
    prices: Option<PathBuf>,
}

fn generate_questions(arguments: &GenerateArguments) -> Result<Exit, Failure> {
    let datasets =
        inputs::load(std::slice::from_ref(&arguments.input), &arguments.reading.options())?;
    let sessions = datasets.iter().flat_map(|dataset| &dataset.sessions);
    let all_sessions = with_cuts(sessions, arguments.cuts, DEPTH);
    let (questions, ended) = if arguments.model == OFFLINE {
        arguments.calls.refuse_idle()?;
        let all = all_sessions.iter().flat_map(|(one, places)| questions::generate(one, places));
        (all.collect(), Exit::Done)
    } else {
        match by_model(arguments, &all_sessions)? {
            Some(written) => written,
            None => return Ok(Exit::Done),
        }
    };
    if questions.is_empty() {
        let nothing = format!("{} gives no questions", arguments.input);
        return Err(Failure::with_code(Exit::Nothing, nothing)
            .help("a session needs 5 requests before a cut and 5 behind it, and 4,000 tokens"));
    }
    let mut lines = Vec::new();
    write_questions(&questions, &mut lines).expect("memory takes every line");
    match &arguments.out {
        None => wire::print(&String::from_utf8_lossy(&lines))?,
        Some(path) => save(path, &lines)?,
    }
    wire::say(&summary(&questions, &datasets));
    Ok(ended)
}

/// The questions of a model, after its price was told; `None` in a dry run.
fn by_model(
    arguments: &GenerateArguments,
    sessions: &[CutSession<'_>],
) -> Result<Option<(Vec<Question>, Exit)>, Failure> {
    let (options, model) = (&arguments.calls, arguments.model.as_str());
    let prices = Arc::new(models::prices(arguments.prices.as_deref())?);
    let estimate = authoring::estimate((options, model), &prices, sessions)?;
    if arguments.dry_run {
        wire::print(&estimate.describe())?;
        return Ok(None);
    }
    if let Some(cap) = options.max_cost.filter(|_| !options.replay) {
        estimate.within(cap, "give fewer sessions")?;
    }
    wire::say(estimate.describe().trim_end());
    let mut model_session = ModelSession::open(options, &[model], &prices, 0)?;
    wire::warn(&model_session.warnings);
    let Some(llm) = model_session.llm(model)? else { return Ok(None) };
    model_session.read_secrets(sessions.iter().map(|(session, _)| *session));
    let questions = authoring::write((&llm, &model_session), sessions)?;
    model_session.calls.save()?;
    Ok(Some((questions, model_session.ended(false)?)))
}

/// Writes a new file: questions that somebody edited are not overwritten.
fn save(path: &Path, lines: &[u8]) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let saved = file.and_then(|mut file| file.write_all(lines));
    saved.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::usage(format!("{} exists already", path.display()))
            .help("name another file, or remove this one"),
        _ => Failure::unwritable(path, &error),
    })
}

/// How many questions there are, by kind, and how many sessions have none. What is
/// asked of a session in the same words at several cuts is one question.
fn summary(questions: &[Question], datasets: &[Dataset]) -> String {
    let texts: BTreeSet<(QuestionKind, &str, &str)> =
        questions.iter().map(|one| (one.kind, &*one.session, &*one.question)).collect();
    let mut kinds: BTreeMap<QuestionKind, usize> = BTreeMap::new();
    texts.iter().for_each(|(kind, ..)| *kinds.entry(*kind).or_default() += 1);
    let each = kinds.iter().map(|(kind, count)| format!("{} {count}", kind.as_str()));
    let each = each.collect::<Vec<_>>().join(", ");
    let asked: BTreeSet<&str> = texts.iter().map(|(_, session, _)| *session).collect();
    let all: usize = datasets.iter().map(|dataset| dataset.sessions.len()).sum();
    let without = match all.saturating_sub(asked.len()) {
        0 => String::new(),
        n => format!("; none for {}", counted(n, "session")),
    };
    let times = match questions.len() {
        times if times == texts.len() => String::new(),
        times => format!(", asked {} at the cuts", counted(times, "time")),
    };
    format!("{}{times}: {each}{without}", counted(texts.len(), "question"))
}
