//! A program of the user's: it is started, exchanges lines, and is ended
//! together with everything that it started.
//!
//! Invariant: no process outlives the value. On Unix the program leads a
//! process group of its own, and the group is killed before its leader is
//! waited for, so that the number of the group cannot have been reused.

#![allow(clippy::disallowed_types, reason = "programs of the user's are started here")]

use std::collections::VecDeque;
use std::fmt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::mechanism::BuildError;
use recap_core::text::is_command;

/// Separates an error from the program's last output, which may quote the
/// conversation.
pub const ITS_WORDS: &str = "; its words: ";

/// Longest timeout in seconds: a day.
const LONGEST_WAIT: f64 = 86_400.0;

/// Refuses a timeout that is no number of seconds above 0, or longer than a day.
pub(super) fn check_timeout(seconds: f64) -> Result<(), BuildError> {
    if seconds > 0.0 && seconds <= LONGEST_WAIT {
        return Ok(());
    }
    Err(format!("a timeout is a number of seconds above 0, at most {LONGEST_WAIT}").into())
}

/// Refuses a command that names no program.
pub(super) fn check_command(command: &[String]) -> Result<(), BuildError> {
    match command.first() {
        Some(program) if !program.is_empty() => Ok(()),
        _ => Err("`command` must name a program, such as [\"python3\", \"mine.py\"]".into()),
    }
}

/// A program's output on one line, without control characters.
pub(super) fn harmless(text: &str) -> String {
    text.trim().chars().map(|c| if is_command(c) { ' ' } else { c }).collect()
}

/// Longest answer in bytes, including its line feed.
const LONGEST: u64 = 64 << 20;

/// Number of bytes kept of the end of standard error.
const KEPT: usize = 1_000;

/// Time in which data in a pipe is noticed.
const GLANCE: Duration = Duration::from_millis(1);

/// Time that a program gets to end by itself.
const MOMENT: Duration = Duration::from_secs(1);

/// How to start a program. No shell is involved.
#[derive(Clone, Debug, Default)]
pub(super) struct Launch {
    /// The program, a name to look up in `PATH` or a path from the folder, and its arguments.
    pub command: Vec<String>,
    /// Its working directory: the strategy's folder.
    pub folder: PathBuf,
    /// Variables of its environment besides those of this process.
    pub environment: Vec<(String, String)>,
    /// Variables of this process that it does not get.
    pub hidden: Vec<String>,
}

impl Launch {
    /// A name without a separator is looked up in `PATH`.
    fn path(&self) -> PathBuf {
        let program = &self.command[0];
        if program.contains(std::path::is_separator) {
            self.folder.join(program)
        } else {
            PathBuf::from(program)
        }
    }

    /// Starts it as the leader of a process group, with pipes for what it writes. Needs a runtime
    /// with time and I/O.
    fn start(&self, input: Stdio) -> Result<(Child, ChildStdout, Words), Fault> {
        let mut command = Command::new(self.path());
        command.args(&self.command[1..]).current_dir(&self.folder);
        self.hidden.iter().for_each(|name| {
            command.env_remove(name);
        });
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command.kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| {
            Fault::Other(format!(
                "`{}` cannot be started: {e} (a name is looked up in PATH, a path from the \
                 strategy's folder)",
                self.command[0]
            ))
        })?;
        let (Some(output), Some(error)) = (child.stdout.take(), child.stderr.take()) else {
            unreachable!("both are pipes");
        };
        Ok((child, output, Words::listen(error)))
    }
}

impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.command.join(" "))
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("no answer within {0} s")]
    Late(f64),
    #[error("it ended without an answer")]
    Ended,
    /// It has more than [`LONGEST`] bytes.
    #[error("its answer is longer than {} MB", LONGEST >> 20)]
    TooLong,
    #[error("its answer is not UTF-8")]
    NoText,
    #[error("{0}")]
    Other(String),
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Fault::Ended,
            _ => Fault::Other(format!("its pipes broke: {error}")),
        }
    }
}

/// A running program with its pipes.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    words: Words,
}

impl Program {
    /// Starts it.
    pub fn start(launch: &Launch) -> Result<Self, Fault> {
        let (mut child, output, words) = launch.start(Stdio::piped())?;
        let (input, output) = (child.stdin.take(), BufReader::new(output));
        Ok(Self { child, input, output, words })
    }

    /// Sends a line and waits for the answer. After an error the program cannot
    /// be used any more.
    pub async fn ask(&mut self, line: &str, limit: Duration) -> Result<String, Fault> {
        // Output after its last answer would be mistaken for the next one.
        if let Ok(early) = timeout(GLANCE, self.output.fill_buf()).await {
            let unasked = "it wrote a line without being asked; standard output is for answers \
                           only, one per request";
            let ended = early?.is_empty();
            return Err(if ended { Fault::Ended } else { Fault::Other(unasked.to_owned()) });
        }
        let Some(input) = &mut self.input else { return Err(Fault::Ended) };
        let talk = async {
            let send = async {
                input.write_all(line.as_bytes()).await?;
                input.write_all(b"\n").await?;
                input.flush().await.map_err(Fault::from)
            };
            // Both at once: its answer may fill the pipe before it has read everything.
            tokio::try_join!(send, answer(&mut self.output)).map(|((), answer)| answer)
        };
        match timeout(limit, talk).await {
            Err(_) => Err(Fault::Late(limit.as_secs_f64())),
            Ok(answer) => answer,
        }
    }

    /// Describes the fault, ends the program, and returns its last output.
    pub(super) async fn post_mortem(mut self, fault: &Fault) -> (String, String) {
        if matches!(fault, Fault::Ended) {
            // It may be about to end: its output is closed shortly before.
            self.drain().await;
        }
        kill_group(&mut self.child);
        let status = timeout(MOMENT, self.child.wait()).await;
        let why = match (fault, status) {
            (Fault::Ended, Ok(Ok(status))) => {
                format!("it ended without an answer ({})", describe_exit(status))
            }
            _ => fault.to_string(),
        };
        (why, self.words.last().await)
    }

    /// Ends it: its input is closed after a last line, then it gets a moment.
    pub async fn close(mut self, line: &str) {
        if let Some(mut input) = self.input.take() {
            let farewell = async {
                let _ = input.write_all(line.as_bytes()).await;
                let _ = input.write_all(b"\n").await;
                let _ = input.flush().await;
            };
            let _ = timeout(MOMENT, farewell).await;
        }
        self.drain().await;
        kill_group(&mut self.child);
        let _ = timeout(MOMENT, self.child.wait()).await;
    }

    /// Reads its remaining output, for a moment, until that ends.
    async fn drain(&mut self) {
        let rest = async {
            let mut sink = tokio::io::sink();
            let _ = tokio::io::copy(&mut self.output, &mut sink).await;
        };
        let _ = timeout(MOMENT, rest).await;
    }
}

/// Kills a process and everything that it started. No effect once it was waited for.
fn kill_group(child: &mut Child) {
    let Some(id) = child.id() else { return };
    #[cfg(unix)]
    {
        let group = nix::unistd::Pid::from_raw(id.cast_signed());
        let _ = nix::sys::signal::killpg(group, nix::sys::signal::Signal::SIGKILL);
    }
    #[cfg(not(unix))]
    let _ = (id, child.start_kill());
}

impl Drop for Program {
    fn drop(&mut self) {
        kill_group(&mut self.child);
    }
}

/// A program that serves others, and is neither asked nor heard over its pipes.
#[derive(Debug)]
pub(super) struct Service {
    child: Child,
    /// The ends of its standard output and standard error.
    log: [Words; 2],
}

impl Service {
    /// Starts it.
    pub fn start(launch: &Launch) -> Result<Self, Fault> {
        let (child, output, words) = launch.start(Stdio::null())?;
        Ok(Self { child, log: [Words::listen(output), words] })
    }

    /// Whether it has ended by itself, and how.
    pub fn ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(describe_exit)
    }

    /// Ends it and everything that it started, and returns the end of its log.
    pub async fn end(mut self) -> String {
        kill_group(&mut self.child);
        let _ = timeout(MOMENT, self.child.wait()).await;
        let mut log = Vec::new();
        for words in &mut self.log {
            log.push(words.last().await);
        }
        log.retain(|words| !words.is_empty());
        log.join(" | ")
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        kill_group(&mut self.child);
    }
}

/// Runs a program to its end, with a text as its input; returns its standard output.
///
/// # Errors
/// It cannot be started, fails, or has not ended in time; with the end of its standard error.
pub(super) async fn run(launch: &Launch, input: &str, limit: Duration) -> Result<String, String> {
    let program = Program::start(launch).map_err(|fault| fault.to_string())?;
    let talk = async {
        let mut program = program;
        let mut inlet = program.input.take().expect("it was just started");
        let send = async {
            // It may end, or close its input, before it has read everything.
            let _ = inlet.write_all(input.as_bytes()).await;
            drop(inlet);
        };
        let mut output = Vec::new();
        let mut limited = (&mut program.output).take(LONGEST);
        let (_, read) = tokio::join!(send, limited.read_to_end(&mut output));
        read.map_err(|e| e.to_string())?;
        if output.len() as u64 == LONGEST {
            return Err(Fault::TooLong.to_string());
        }
        until_ended(&program.child).await;
        let status = end_group(&mut program.child).await?;
        if !status.success() {
            let words = program.words.last().await;
            if !words.is_empty() || !is_ordinary(status) {
                return Err(format!("it ended with {}{ITS_WORDS}{words}", describe_exit(status)));
            }
        }
        text_of(output).map_err(|fault| fault.to_string())
    };
    let ran = timeout(limit, talk).await;
    ran.unwrap_or_else(|_| Err(Fault::Late(limit.as_secs_f64()).to_string()))
}

/// Whether a program that says nothing of an error has just ended so: `grep` found nothing, `diff`
/// something (1), or what read from it had enough (a signal, or as a shell passes it on).
fn is_ordinary(status: ExitStatus) -> bool {
    const SIGPIPE: i32 = 13;
    #[cfg(unix)]
    if std::os::unix::process::ExitStatusExt::signal(&status) == Some(SIGPIPE) {
        return true;
    }
    status.code().is_some_and(|code| code == 1 || code == 128 + SIGPIPE)
}

/// The text of an output, without the pieces of characters that are left where a program cuts at
/// a number of bytes (`head -c`, `tail -c`, `fold`, `cut`).
fn text_of(output: Vec<u8>) -> Result<String, Fault> {
    let bytes = match String::from_utf8(output) {
        Ok(text) => return Ok(text),
        Err(error) => error.into_bytes(),
    };
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        // No character has any other byte (RFC 3629, section 1).
        if !chunk.invalid().iter().all(|byte| matches!(byte, 0x80..=0xbf | 0xc2..=0xf4)) {
            return Err(Fault::NoText);
        }
    }
    Ok(text)
}

/// Waits until a process has ended, without giving back its number.
#[cfg(unix)]
async fn until_ended(child: &Child) {
    use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
    let Some(id) = child.id() else { return };
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let process = nix::unistd::Pid::from_raw(id.cast_signed());
    while matches!(waitid(Id::Pid(process), flags), Ok(WaitStatus::StillAlive)) {
        tokio::time::sleep(GLANCE).await;
    }
}

/// Waiting gives back the number; the group of a process is known on Unix alone.
#[cfg(not(unix))]
async fn until_ended(_child: &Child) {}

/// Ends what a process that has ended left running, and returns how it ended itself.
async fn end_group(child: &mut Child) -> Result<ExitStatus, String> {
    #[cfg(unix)]
    kill_group(child);
    child.wait().await.map_err(|e| e.to_string())
}

/// Reads one line of at most [`LONGEST`] bytes.
async fn answer(output: &mut BufReader<ChildStdout>) -> Result<String, Fault> {
    let mut line = Vec::new();
    output.take(LONGEST).read_until(b'\n', &mut line).await?;
    if line.last() != Some(&b'\n') {
        return Err(if line.len() as u64 == LONGEST { Fault::TooLong } else { Fault::Ended });
    }
    String::from_utf8(line).map_err(|_| Fault::NoText)
}

/// The exit status of a process, in words.
fn describe_exit(status: ExitStatus) -> String {
    #[cfg(unix)]
    if std::os::unix::process::ExitStatusExt::signal(&status) == Some(9) {
        return "killed, or it closed its standard output".to_owned();
    }
    status.to_string()
}

/// The end of what a program writes.
#[derive(Debug)]
struct Words {
    kept: Arc<Mutex<VecDeque<u8>>>,
    listener: JoinHandle<()>,
}

impl Words {
    fn listen(mut from: impl AsyncRead + Send + Unpin + 'static) -> Self {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let shared = Arc::clone(&kept);
        let listener = tokio::spawn(async move {
            let mut read = [0; 4_096];
            while let Ok(count @ 1..) = from.read(&mut read).await {
                let mut kept = shared.lock().expect("nothing panics while listening");
                kept.extend(&read[..count]);
                let over = kept.len().saturating_sub(KEPT);
                kept.drain(..over);
            }
        });
        Self { kept, listener }
    }

    /// The last lines, joined to one. The program has ended.
    async fn last(&mut self) -> String {
        let _ = timeout(MOMENT, &mut self.listener).await;
        let kept = self.kept.lock().expect("nothing panics while listening");
        let bytes: Vec<u8> = kept.iter().copied().collect();
        drop(kept);
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
        lines.collect::<Vec<_>>().join(" | ")
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Nothing here waits as long as this.
    const LONG: Duration = Duration::from_secs(60);

    fn launch(program: &str, arguments: &[&str]) -> Launch {
        let command = [program].iter().chain(arguments).map(|&word| word.to_owned()).collect();
        Launch { command, folder: std::env::temp_dir(), ..Launch::default() }
    }

    fn shell(script: &str) -> Program {
        Program::start(&launch("sh", &["-c", script])).unwrap()
    }

    #[test]
    fn bare_name_is_searched_and_path_uses_folder() {
        let path =
            |program: &str| Launch { folder: PathBuf::from("/f"), ..launch(program, &[]) }.path();
        assert_eq!(path("python3"), PathBuf::from("python3"));
        assert_eq!(path("bin/mine"), PathBuf::from("/f/bin/mine"));
        assert_eq!(path("mine/"), PathBuf::from("/f/mine/"));
        let command = launch("python3", &["mine.py", "--fast"]);
        assert_eq!(command.to_string(), "python3 mine.py --fast");
    }

    #[tokio::test]
    async fn killed_program_is_reported_with_last_thousand_bytes() {
        let mut program = shell("read a; printf '%01500d' 7 >&2; kill -9 $$");
        let fault = program.ask("x", LONG).await.unwrap_err();
        let (why, words) = program.post_mortem(&fault).await;
        let killed = "it ended without an answer (killed, or it closed its standard output)";
        assert_eq!(why, killed);
        assert_eq!(words, format!("{}7", "0".repeat(999)));
    }

    #[tokio::test]
    async fn program_gets_closing_line_and_may_end_itself() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("heard");
        let arguments = ["-c", "read a; echo ok; cat > \"$0\"", file.to_str().unwrap()];
        let mut program = Program::start(&launch("sh", &arguments)).unwrap();
        assert_eq!(program.ask("x", LONG).await.unwrap(), "ok\n");
        program.close("bye").await;
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "bye\n");
    }

    /// What [`run`] returns for a shell script.
    async fn ran(script: &str, input: &str, limit: Duration) -> Result<String, String> {
        run(&launch("sh", &["-c", script]), input, limit).await
    }

    #[tokio::test]
    async fn run_returns_output_or_why_there_is_none() {
        let large = "x".repeat(1 << 20);
        let cases = [
            ("cat", "a text", Ok("a text")),
            ("cat", large.as_str(), Ok(large.as_str())),
            ("exit 0", large.as_str(), Ok("")),
            ("exec <&-; echo unread", large.as_str(), Ok("unread\n")),
            ("echo two >&2; exit 3", "", Err("it ended with exit status: 3; its words: two")),
            ("printf '\\377'", "", Err("its answer is not UTF-8")),
            ("head -c 5", "aé€b", Ok("aé")),
            ("tail -c 3", "aé€b", Ok("b")),
            ("head -c 2; echo '…'", "é€", Ok("é…\n")),
            ("head -c 4; echo '…'", "é€", Ok("é…\n")),
            ("grep nothing", "a\n", Ok("")),
            ("grep '['", "a\n", Err("it ended with exit status: 2; its words: ")),
            ("echo half; exit 1", "", Ok("half\n")),
            ("exit 2", "", Err("it ended with exit status: 2; its words: ")),
            ("echo half; kill -13 $$", large.as_str(), Ok("half\n")),
            ("echo half; exit 141", "", Ok("half\n")),
            ("head -n 1", large.as_str(), Ok(large.as_str())),
        ];
        for (script, input, expected) in cases {
            let ran = ran(script, input, LONG).await;
            let is_so = match (&ran, expected) {
                (Ok(text), Ok(expected)) => text == expected,
                (Err(problem), Err(expected)) => problem.starts_with(expected),
                _ => false,
            };
            assert!(is_so, "{script}");
        }
        let absent = run(&launch("absent-program", &[]), "", LONG).await.unwrap_err();
        assert!(absent.starts_with("`absent-program` cannot be started: "), "{absent}");
    }

    #[tokio::test]
    async fn hidden_variables_are_taken_away_and_own_set() {
        let hidden = vec!["PATH".to_owned(), "OWN".to_owned()];
        let environment = vec![("OWN".to_owned(), "mine".to_owned())];
        let launch = Launch { hidden, environment, ..launch("/usr/bin/env", &[]) };
        let variables = run(&launch, "", LONG).await.unwrap();
        assert!(variables.lines().any(|line| line == "OWN=mine"), "{variables}");
        assert!(!variables.lines().any(|line| line.starts_with("PATH=")), "{variables}");
    }

    /// Waits, not for ever, until no process has this number; one that was not waited for counts
    /// as ended.
    async fn assert_gone(pid: &str) {
        for _ in 0..3_000 {
            let mut ps = Command::new("ps");
            let state = ps.args(["-o", "stat=", "-p", pid.trim()]).output().await.unwrap().stdout;
            if state.is_empty() || state.starts_with(b"Z") {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("the process {pid} runs");
    }

    /// Waits, not for ever, until a program has written its file.
    async fn assert_written(file: &Path) -> String {
        for _ in 0..3_000 {
            if let Ok(text) = std::fs::read_to_string(file) {
                return text;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("{} was not written", file.display());
    }

    #[tokio::test]
    async fn run_leaves_no_process_behind() {
        let started = |script: &str| format!("sleep 600 <&- >&- 2>&- & echo $!; {script}");
        let pid = ran(&started("true"), "", LONG).await.unwrap();
        assert_gone(&pid).await;
        let error = ran(&started("cat >&2; exit 1"), "words", LONG).await.unwrap_err();
        assert_eq!(error, "it ended with exit status: 1; its words: words");
        let late = ran("exec sleep 600", "", Duration::from_millis(50)).await;
        assert_eq!(late, Err("no answer within 0.05 s".to_owned()));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pids");
        let script = started("echo $! $$ > \"$0.new\"; mv \"$0.new\" \"$0\"; exec sleep 600");
        let launch = launch("sh", &["-c", &script, file.to_str().unwrap()]);
        let running = tokio::spawn(async move { run(&launch, "", LONG).await });
        let pids = assert_written(&file).await;
        running.abort();
        for pid in pids.split_whitespace() {
            assert_gone(pid).await;
        }
    }

    #[tokio::test]
    async fn service_is_ended_with_what_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pids");
        let script = "echo out; echo err >&2; sleep 600 & echo $! $$ > \"$0.new\"; \
                      mv \"$0.new\" \"$0\"; exec sleep 600";
        let launch = launch("sh", &["-c", script, file.to_str().unwrap()]);
        let mut service = Service::start(&launch).unwrap();
        let pids = assert_written(&file).await;
        assert_eq!(service.ended(), None);
        assert_eq!(service.end().await, "out | err");
        for pid in pids.split_whitespace() {
            assert_gone(pid).await;
        }
    }
}
