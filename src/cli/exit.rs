//! Exit codes as documented, and errors that say what is wrong, where, and what
//! to do about it.

use std::path::Path;
use std::{fmt, io};

use crate::bench::{BenchError, SelectionError};
use recap_core::text::{brief, harmless, io_remedy};
use recap_formats::{DatasetError, Problem};
use recap_llm::LiveError;
use recap_llm::cassette::CassetteError;
use recap_replay::run::{FolderError, RunError};
use recap_strategy::StrategyError;

/// How the program ends, with the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The run is complete, and the gate passed.
    Done,
    /// The gate failed: a measured regression.
    Failed,
    /// Usage, data or configuration error.
    Usage,
    /// Cells failed, so that there is no verdict.
    Incomplete,
    /// The inputs and options select nothing to run.
    Nothing,
    /// Interrupted (SIGINT); finished results are kept.
    Interrupted,
    /// Terminated (SIGTERM); finished results are kept.
    Terminated,
}

impl Exit {
    /// The process's exit status.
    pub fn number(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Incomplete => 3,
            Exit::Nothing => 4,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        }
    }
}

/// An error for the user, with an exit code and a hint.
#[derive(Debug)]
pub struct Failure {
    code: Exit,
    message: String,
    help: Option<String>,
}

impl Failure {
    /// A usage, data or configuration error.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { code: Exit::Usage, message: message.into(), help: None }
    }

    /// An error with another exit code.
    pub fn with_code(code: Exit, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), help: None }
    }

    /// A folder or file of this path cannot be written.
    pub fn unwritable(path: &Path, error: &io::Error) -> Self {
        Self::usage(format!("cannot write {}: {error}", path.display()))
            .help(io_remedy(error, "give a place that may be written to"))
    }

    /// Adds what the user can do.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The exit code that the error ends the program with.
    pub fn code(&self) -> Exit {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "error: {}", harmless(&brief(&self.message)))?;
        match &self.help {
            Some(help) => writeln!(f, "help: {}", harmless(&brief(help))),
            None => Ok(()),
        }
    }
}

impl From<DatasetError> for Failure {
    fn from(error: DatasetError) -> Self {
        // If every session of a folder is broken, there is nothing to measure.
        let code = match error.problem {
            Problem::NoneReadable { .. } => Exit::Incomplete,
            _ => Exit::Usage,
        };
        Failure::with_code(code, error.to_string()).help(error.help())
    }
}

/// Where strategies and their keys are listed.
const STRATEGIES: &str =
    "`recap strategies list` names the built-in ones, `recap strategies show NAME` their keys";

impl From<StrategyError> for Failure {
    fn from(error: StrategyError) -> Self {
        Failure::usage(error.to_string()).help(STRATEGIES)
    }
}

impl From<SelectionError> for Failure {
    fn from(error: SelectionError) -> Self {
        let help = match &error {
            SelectionError::Unknown { suggestion, .. } => &format!(
                "`recap strategies list` names all, and one of your own is a TOML file; {suggestion}"
            ),
            SelectionError::NoQuestions => {
                "leave it out, or give a data set with a questions.jsonl"
            }
            SelectionError::SameName(_) => "give yours another `name`",
            SelectionError::Change(_) => {
                "for example `--set prune.protect=20000`, `--set arachne.2.when.share=0.9` for its \
                 second stage, or `--set 'gencode: 1.enabled=false; 2.keep_last=5'`"
            }
            SelectionError::Values(_) => {
                "for example `recap tune --strategy gencode --set 2.keep_last=5,10,20`"
            }
            SelectionError::NoStrategy => {
                "name it: `recap tune INPUT --strategy NAME`; `recap strategies list` names all"
            }
            SelectionError::ManySettings { .. } => "give fewer values",
            SelectionError::NoSetting(_) => "give other values: --set, --compact-at",
            SelectionError::Strategy(_) => STRATEGIES,
        };
        Failure::usage(error.to_string()).help(help)
    }
}

impl From<BenchError> for Failure {
    fn from(error: BenchError) -> Self {
        let message = error.to_string();
        match error {
            BenchError::GivenTwice { .. } => Failure::usage(message).help("name each input once"),
            BenchError::NoSession => Failure::with_code(Exit::Nothing, message)
                .help("raise --limit, or give an input that holds a session"),
            BenchError::NoRequest { .. } => {
                Failure::usage(message).help("give recordings in which the agent's model answered")
            }
            BenchError::AgentModel(unpriced) => {
                let like = unpriced.suggestion().map_or_else(String::new, |like| like + " ");
                Failure::usage(message)
                    .help(format!("{like}--prices takes a list that has a model of your own"))
            }
            BenchError::Selection(error) => error.into(),
            BenchError::Run(error) => error.into(),
            BenchError::Folder(error) => error.into(),
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Windows { sessions, .. } => {
                let code = if sessions == 1 { Exit::Usage } else { Exit::Incomplete };
                Failure::with_code(code, error.to_string())
                    .help("widen --window, or give a share such as 25%")
            }
            RunError::Folder(error) => error.into(),
            RunError::Worker(_) => Failure::with_code(Exit::Incomplete, error.to_string())
                .help("this is a bug of recap; `--limit` and `--strategy` narrow it down"),
        }
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        let help = match &error {
            FolderError::Io { path, source } => io_remedy(
                source,
                if path.ends_with("manifest.json") {
                    "give the folder of a run that `recap bench` wrote"
                } else {
                    "check that path, and whether it may be read and written"
                },
            ),
            FolderError::Instrument { .. } => "run `recap bench` again on the same data",
            FolderError::Busy { .. } => "wait for its end, or give another --out",
            FolderError::NoRun { .. } => {
                "give --out a new folder, an empty one, or that of an earlier run"
            }
            FolderError::Unlike { .. } => {
                "resume with the inputs and options of that run, or leave out --resume"
            }
            FolderError::Line { .. } => "delete that line, or run `recap bench` again",
        };
        Failure::usage(error.to_string()).help(help)
    }
}

impl From<CassetteError> for Failure {
    fn from(problem: CassetteError) -> Self {
        Failure::usage(problem.to_string()).help(problem.help())
    }
}

impl From<LiveError> for Failure {
    fn from(problem: LiveError) -> Self {
        match problem {
            LiveError::Unpriced(_) => Failure::usage(problem.to_string()).help(
                "give it a price with --prices (0 for a server of your own), or leave out \
                 --max-cost",
            ),
            LiveError::Start(problem) => Failure::with_code(Exit::Incomplete, problem.to_string())
                .help(
                    "check the certificates of this machine, or use an http: address on loopback",
                ),
        }
    }
}
