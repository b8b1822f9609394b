//! The other side of the protocol: a running program, or a session of a server.

use std::fmt;
use std::time::Duration;

use super::process::{self, Launch, Program};
use super::server::{self, Address, Server};

/// How to reach the other side.
pub(super) enum Way {
    Program(Launch),
    Server(Address),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Program(launch) => {
                f.write_str(&launch.program)?;
                launch.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
            }
            Way::Server(address) => address.fmt(f),
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error(transparent)]
    Program(#[from] process::Fault),
    #[error(transparent)]
    Server(#[from] server::Fault),
}

impl Fault {
    /// Whether it was a timeout.
    pub fn is_late(&self) -> bool {
        let program = matches!(self, Fault::Program(process::Fault::Late(_)));
        program || matches!(self, Fault::Server(server::Fault::Late(_)))
    }
}

/// A running program or a session of a server.
#[derive(Debug)]
pub(super) enum Peer {
    Program(Box<Program>),
    Server(Server),
}

impl Peer {
    /// Starts the program, or a session of the server. Needs a runtime with
    /// time and I/O.
    pub fn start(way: &Way) -> Result<Self, Fault> {
        Ok(match way {
            Way::Program(launch) => Self::Program(Box::new(Program::start(launch)?)),
            Way::Server(address) => Self::Server(Server::open(address)?),
        })
    }

    /// Sends one message. After an error it cannot be used any more.
    pub async fn ask(&mut self, line: &str, limit: Duration) -> Result<String, Fault> {
        Ok(match self {
            Self::Program(program) => program.ask(line, limit).await?,
            Self::Server(server) => server.ask(line, limit).await?,
        })
    }

    /// The CPU time since the last call, where that is known.
    pub(super) fn computed(&mut self) -> Option<Duration> {
        match self {
            Self::Program(program) => program.computed(),
            Self::Server(_) => None,
        }
    }

    /// Describes the fault, ends the other side, and returns its last output.
    pub(super) async fn post_mortem(self, fault: &Fault) -> (String, String) {
        match (self, fault) {
            (Self::Program(program), Fault::Program(fault)) => program.post_mortem(fault).await,
            (Self::Server(server), fault) => {
                let words = match fault {
                    Fault::Server(server::Fault::Status { words, .. }) => words.clone(),
                    _ => String::new(),
                };
                drop(server);
                (fault.to_string(), words)
            }
            (Self::Program(_), fault) => (fault.to_string(), String::new()),
        }
    }

    /// Ends it, with a last message.
    pub async fn close(self, line: &str) {
        match self {
            Self::Program(program) => program.close(line).await,
            Self::Server(server) => server.close(line).await,
        }
    }
}
