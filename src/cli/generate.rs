//! `recap questions generate`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::authoring::{self, CutSession, with_cuts};
use super::call_options::CallOptions;
use super::exit::{Exit, Failure};
use super::model_session::ModelSession;
use super::{headings, inputs, models, wire};
use recap_core::model::{OFFLINE, Question, QuestionKind};
use recap_core::text::counted;
use recap_exam::facts::Cuts;
use recap_exam::questions;
use recap_formats::{Dataset, write_questions};

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
    line: CallOptions,

    /// Price list in litellm's field names to read instead of the bundled one
    #[arg(long, value_name = "FILE", help_heading = headings::BILL)]
    prices: Option<PathBuf>,
}

pub(super) fn run(arguments: &GenerateArguments) -> Result<Exit, Failure> {
    let datasets =
        inputs::load(std::slice::from_ref(&arguments.input), &arguments.reading.options())?;
    let sessions = datasets.iter().flat_map(|dataset| &dataset.sessions);
    let all_sessions = with_cuts(sessions, arguments.cuts, DEPTH);
    let (questions, ended) = if arguments.model == OFFLINE {
        arguments.line.refuse_idle()?;
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
    let (line, model) = (&arguments.line, arguments.model.as_str());
    let prices = Arc::new(models::prices(arguments.prices.as_deref())?);
    let (estimate, words) = authoring::estimate((line, model), &prices, sessions)?;
    if arguments.dry_run {
        wire::print(&words)?;
        return Ok(None);
    }
    if let Some(cap) = line.max_cost().filter(|_| !line.is_replay()) {
        estimate.within(cap, "give fewer sessions")?;
    }
    wire::say(words.trim_end());
    let mut model_session = ModelSession::open(line, &[model], &prices, 0)?;
    model_session.warnings.iter().for_each(|warning| wire::say(&format!("warning: {warning}")));
    let Some(llm) = model_session.llm(model)? else { return Ok(None) };
    model_session.read_secrets(sessions.iter().map(|(session, _)| *session));
    let questions = authoring::write(&llm, sessions)?;
    model_session.save()?;
    Ok(Some((questions, model_session.ended(false)?)))
}

/// Writes a new file: questions that somebody edited are not overwritten.
fn save(path: &Path, lines: &[u8]) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let saved = file.and_then(|mut file| file.write_all(lines));
    saved.map_err(|error| {
        let shown = path.display();
        match error.kind() {
            ErrorKind::AlreadyExists => Failure::usage(format!("{shown} exists already"))
                .help("name another file, or remove this one"),
            _ => Failure::usage(format!("cannot write {shown}: {error}"))
                .help("check the path and its permissions"),
        }
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
