//! Exit codes as documented, and errors that say what is wrong, where, and what
//! to do about it.

use std::path::Path;
use std::{fmt, io};

use recap_core::text::{brief, harmless, io_remedy};
use recap_formats::{DatasetError, Problem};
use recap_llm::LiveError;
use recap_llm::cassette::CassetteError;
use recap_replay::run::{FolderError, RunError};
use recap_strategy::StrategyError;

/// How the program ends, with the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// The run is complete, and the gate passed.
    Done = 0,
    /// The gate failed: a measured regression.
    Failed = 1,
    /// Usage, data or configuration error.
    Usage = 2,
    /// Cells failed, so that there is no verdict.
    Incomplete = 3,
    /// The inputs and options select nothing to run.
    Nothing = 4,
    /// Interrupted (SIGINT); finished results are kept.
    Interrupted = 130,
    /// Terminated (SIGTERM); finished results are kept.
    Terminated = 143,
}

impl Exit {
    /// The process's exit status.
    pub fn number(self) -> u8 {
        self as u8
    }
}

/// An error for the user, with an exit code and a hint.
#[derive(Debug)]
pub struct Failure {
    /// The exit code that it ends the program with.
    pub code: Exit,
    /// What is wrong, and where.
    pub message: String,
    /// What the user can do about it.
    pub help: Option<String>,
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

impl std::error::Error for Failure {}

impl From<DatasetError> for Failure {
    fn from(error: DatasetError) -> Self {
        // If every session of a folder is broken, there is nothing to measure.
        let code = match error.problem {
            Problem::NoneReadable(_) => Exit::Incomplete,
            _ => Exit::Usage,
        };
        Failure::with_code(code, error.to_string()).help(error.help())
    }
}

/// What is wrong with a data set and where, in one line whatever the data contain.
pub(crate) fn violation(error: &DatasetError) -> String {
    let line = error.line.map_or_else(String::new, |line| format!(":{line}"));
    let what = error.problem.to_string().replace(['\n', '\r'], " ");
    format!("{}{line}: {what}", error.file)
}

/// Most violations that are told: a file with the wrong format has one a line.
const TOLD: usize = 100;

/// The error for invalid files, which have at least one violation: a line for each.
pub(crate) fn refused(errors: &[DatasetError]) -> Failure {
    if let [error] = errors {
        return Failure::usage(error.to_string()).help(error.help());
    }
    let mut lines: Vec<String> = errors.iter().take(TOLD).map(violation).collect();
    if errors.len() > TOLD {
        lines.push(format!("and {} more", errors.len() - TOLD));
    }
    Failure::usage(lines.join("\n")).help(errors[0].help())
}

/// Where strategies and their keys are listed.
const STRATEGIES: &str =
    "`recap strategies list` names the built-in ones, `recap strategies show NAME` their keys";

impl From<StrategyError> for Failure {
    fn from(error: StrategyError) -> Self {
        Failure::usage(error.to_string()).help(STRATEGIES)
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
        Failure::usage(problem.to_string()).help(problem.help)
    }
}

impl From<LiveError> for Failure {
    fn from(problem: LiveError) -> Self {
        match problem {
            LiveError::Unpriced(_) => Failure::usage(problem.to_string()).help(
                "give it a price with --prices (0 for a server of your own), or leave out \
                 --max-cost",
            ),
            LiveError::Tls(_) => Failure::with_code(Exit::Incomplete, problem.to_string()).help(
                "check the certificates of this machine, or use an http: address on loopback",
            ),
        }
    }
}
