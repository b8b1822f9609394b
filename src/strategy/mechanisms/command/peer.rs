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

#[cfg(test)]
mod tests {
    use super::*;

    fn program(program: &str, arguments: &[&str]) -> Way {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let (program, folder) = (program.to_owned(), std::env::temp_dir());
        Way::Program(Launch { program, arguments, folder })
    }

    #[test]
    fn the_other_side_is_named_by_its_command_or_its_address() {
        assert_eq!(
            program("python3", &["mine.py", "--fast"]).to_string(),
            "python3 mine.py --fast"
        );
        let server = Way::Server(Address::new("http://me:secret@host:9/compact").unwrap());
        assert_eq!(server.to_string(), "http://host:9/compact");
    }

    #[test]
    fn a_timeout_of_either_kind_is_late_and_nothing_else_is() {
        assert!(Fault::Program(process::Fault::Late(1.0)).is_late());
        assert!(Fault::Server(server::Fault::Late(1.0)).is_late());
        assert!(!Fault::Program(process::Fault::Ended).is_late());
        assert!(!Fault::Server(server::Fault::Long).is_late());
    }

    #[tokio::test]
    async fn what_a_server_said_with_its_status_are_its_words() {
        let told = async |fault: server::Fault| {
            let way = Way::Server(Address::new("http://127.0.0.1:9/").unwrap());
            Peer::start(&way).unwrap().post_mortem(&Fault::Server(fault)).await
        };
        let status = |code: u16| server::Fault::Status {
            status: reqwest::StatusCode::from_u16(code).unwrap(),
            words: "no room".to_owned(),
        };
        let (why, words) = told(status(500)).await;
        assert_eq!(why, "it answered with status 500 Internal Server Error");
        assert_eq!(words, "no room");
        let (why, _) = told(status(302)).await;
        assert_eq!(why, "it answered with status 302 Found; redirects are not followed");
        let late = ("no whole answer within 2 s".to_owned(), String::new());
        assert_eq!(told(server::Fault::Late(2.0)).await, late);
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_program_is_asked_through_its_pipes() {
        let way = program("sh", &["-c", "read a; echo \"got $a\"; echo why >&2; exit 4"]);
        let mut peer = Peer::start(&way).unwrap();
        let limit = Duration::from_secs(60);
        assert_eq!(peer.ask("x", limit).await.unwrap(), "got x\n");
        let fault = peer.ask("y", limit).await.unwrap_err();
        let (why, words) = peer.post_mortem(&fault).await;
        assert_eq!((&*why, &*words), ("it ended without an answer (exit status: 4)", "why"));
    }
}
