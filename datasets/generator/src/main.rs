//! The binary: writes synthetic sessions with questions as a native data set.

#![forbid(unsafe_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use recap::cli::{Exit, Failure, print};
use recap_core::model::suggest;
use recap_core::text::counted;
use recap_core::tokens::Counter;
use recap_formats::write_native;
use recap_generator::{
    GenerateError, KINDS, Recipe, RecipeError, RecipeSession, WrittenSession, kind,
};

/// What a data set without a recipe says of itself.
const LICENCE: &str = "MIT OR Apache-2.0";

/// Write synthetic sessions with questions, from a seed
#[derive(Debug, Parser)]
#[command(name = "recap-generator", version)]
struct Arguments {
    /// Kind of session (coding-agent …), or a recipe: a TOML file such as
    /// datasets/quickstart/recipe.toml that lists sessions
    #[arg(value_name = "KIND")]
    kind: String,

    /// Seed: the same one gives the same sessions
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// Tokens in the messages of each session (o200k), within a tenth
    #[arg(long, value_name = "N", default_value_t = 40_000)]
    tokens: u64,

    /// Sessions to write, with seeds that count up from --seed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1000))]
    sessions: u64,

    /// Folder of the native data set; it must be empty or not be there
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(code) => ExitCode::from(code.number()),
        Err(failure) => {
            // Where nobody reads standard error, the exit code still speaks.
            let _ = write!(std::io::stderr(), "{failure}");
            ExitCode::from(failure.code.number())
        }
    }
}

fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let recipe = if Path::new(&arguments.kind).extension().is_some_and(|e| e == "toml") {
        read(Path::new(&arguments.kind))?
    } else {
        order(arguments)?
    };
    refuse_a_full_folder(&arguments.out)?;
    let sessions = recipe.sessions().map_err(failure)?;
    let summary = summary(&sessions, &arguments.out);
    write_native(&recipe.dataset_of(sessions), &arguments.out)?;
    print(&summary)?;
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<Recipe, Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("cannot read {shown}: {error}")).help(format!(
            "give a kind, or a recipe file; {}",
            suggest(&shown.to_string(), names())
        ))
    })?;
    Recipe::read(&text).map_err(failure)
}

/// The recipe that the options stand for.
fn order(arguments: &Arguments) -> Result<Recipe, Failure> {
    let Some(kind) = kind(&arguments.kind) else {
        return Err(Failure::usage(format!("`{}` is no kind of session", arguments.kind)).help(
            format!("give a kind, or a recipe file (.toml); {}", suggest(&arguments.kind, names())),
        ));
    };
    let Some(last) = arguments.seed.checked_add(arguments.sessions - 1) else {
        return Err(Failure::usage("the seeds would count past the largest number")
            .help("give a smaller --seed"));
    };
    let sessions = (arguments.seed..=last).map(|seed| RecipeSession {
        id: format!("{}-{seed}", kind.name),
        kind: kind.name.to_owned(),
        seed: Some(seed),
        tokens: arguments.tokens,
        about: None,
    });
    let name = arguments.out.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(Recipe {
        name: name.unwrap_or_else(|| kind.name.to_owned()),
        version: None,
        licence: Some(LICENCE.to_owned()),
        origin: Some(format!(
            "recap-generator {} {} --seed {} --tokens {} --sessions {}",
            env!("CARGO_PKG_VERSION"),
            kind.name,
            arguments.seed,
            arguments.tokens,
            arguments.sessions
        )),
        description: Some(kind.about.to_owned()),
        sessions: sessions.collect(),
    })
}

fn refuse_a_full_folder(folder: &Path) -> Result<(), Failure> {
    let holds_something = match std::fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        // A file in its place; what is missing will be made.
        Err(_) => folder.exists(),
    };
    if holds_something {
        let shown = folder.display();
        return Err(Failure::usage(format!("{shown} is not an empty folder"))
            .help("name a folder that is empty or not there"));
    }
    Ok(())
}

fn failure(error: RecipeError) -> Failure {
    let help = match &error {
        RecipeError::Shape(_) => "datasets/quickstart/recipe.toml shows how one looks".to_owned(),
        RecipeError::UnknownKind { kind, .. } => suggest(kind, names()),
        RecipeError::RepeatedId(_) => "give every session an id of its own".to_owned(),
        RecipeError::Empty => "add a [[session]] with id, kind and tokens".to_owned(),
        RecipeError::NoSeed { .. } => "give other `tokens`, or a `seed` yourself".to_owned(),
        RecipeError::Session { error: GenerateError::Size { .. }, .. } => {
            "give --tokens within that range".to_owned()
        }
        RecipeError::Session { .. } => "this is a bug of recap; another --seed may work".to_owned(),
    };
    Failure::usage(error.to_string()).help(help)
}

fn names() -> impl Iterator<Item = &'static str> {
    KINDS.iter().map(|kind| kind.name)
}

fn summary(sessions: &[WrittenSession], folder: &Path) -> String {
    let counter = Counter::default();
    let mut text = String::new();
    for WrittenSession { seed, passed, session, questions } in sessions {
        let (messages, requests) = (session.messages.len(), session.requests().count());
        let tokens = session.messages.iter().map(|message| counter.count(&message.sent()));
        text.push_str(&format!(
            "{}: seed {seed}, {}, {}, {}, {}\n",
            session.id,
            counted(tokens.sum::<u64>(), "token"),
            counted(messages, "message"),
            counted(requests, "request"),
            counted(questions.len(), "question")
        ));
        for (seed, why) in passed {
            text.push_str(&format!("  passed over seed {seed}: {why}\n"));
        }
    }
    let sessions = counted(sessions.len(), "session");
    text.push_str(&format!("{sessions} in {}\n", folder.display()));
    text
}
