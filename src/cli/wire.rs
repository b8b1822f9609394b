//! The composition root: creates the roles, the clock and the terminal output.

#![allow(
    clippy::disallowed_methods,
    reason = "the only place that reads environment and wall clock"
)]

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use clap::ValueEnum;
use jiff::Timestamp;

use crate::failure::Failure;
use recap_core::text::{brief, harmless, is_command};
use recap_core::tokens::Counter;
use recap_replay::WindowError;
use recap_report::document::{Part, terminal};
use recap_report::{STYLES, Screen};

/// Columns assumed where the output is not a terminal.
const DEFAULT_WIDTH: usize = 100;

/// How tokens are counted, as typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum TokenCounting {
    /// o200k
    Exact,
    /// The provider's count where a recording reports usage, else o200k
    Calibrated,
}

/// The counter of a run. By default, a session is sized by the usage that
/// its recording reports, where it does.
pub(super) fn counter(tokens: Option<TokenCounting>) -> Arc<Counter> {
    Arc::new(match tokens {
        Some(TokenCounting::Exact) => Counter::default(),
        None | Some(TokenCounting::Calibrated) => Counter::where_reported(),
    })
}

/// The command line, the program's name included.
pub(super) fn arguments() -> Vec<OsString> {
    std::env::args_os().collect()
}

/// The names of the environment variables that are not empty.
pub(super) fn variables() -> Vec<String> {
    let all = std::env::vars_os().filter(|(_, value)| !value.is_empty());
    all.filter_map(|(name, _)| name.into_string().ok()).collect()
}

/// An environment variable: settings, keys and addresses of providers. An empty
/// one counts as not set.
pub(super) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// Whether nobody watches and nothing that the run leaves is kept.
pub(super) fn is_ci() -> bool {
    variable("CI").is_some_and(|value| !["false", "0"].contains(&value.trim()))
}

/// The time of day: for the names of run folders, prices that change by the
/// hour, and servers that name a time to come back.
pub(super) fn now() -> Timestamp {
    Timestamp::now()
}

/// The error for a window that a session does not fit.
pub(super) fn too_small(error: WindowError) -> Failure {
    Failure::usage(error.to_string()).help("widen --window, or give a share such as 25%")
}

/// Prints a line on standard error; a closed pipe is ignored.
pub(super) fn say(line: &str) {
    tell(&harmless(&brief(line)));
}

/// Prints an error with its help on standard error.
pub fn complain(failure: &Failure) {
    tell(failure.to_string().trim_end());
}

fn tell(text: &str) {
    let text = if is_workflow() { in_workflow(text) } else { text.into() };
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Whether GitHub reads what is printed.
pub(super) fn is_workflow() -> bool {
    variable("GITHUB_ACTIONS").is_some()
}

/// A message in a workflow: an error or a warning annotates it, and nothing else commands GitHub.
fn in_workflow(text: &str) -> Cow<'_, str> {
    for kind in ["error", "warning"] {
        let is_it = |rest: &&str| rest.starts_with(": ");
        if let Some(rest) = text.strip_prefix(kind).filter(is_it) {
            let data = rest[2..].replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
            return Cow::Owned(format!("::{kind}::{data}"));
        }
    }
    inert(text)
}

/// Text without GitHub's commands: lines that begin with `::`, and `##[` anywhere.
fn inert(text: &str) -> Cow<'_, str> {
    let is_command = |line: &str| line.trim_start().starts_with("::");
    if !text.contains("##[") && !text.lines().any(is_command) {
        return Cow::Borrowed(text);
    }
    let lines = text.replace("##[", "## [");
    let lines = lines.split_inclusive(['\n', '\r']);
    Cow::Owned(
        lines
            .map(|line| if is_command(line) { format!("\\{line}") } else { line.into() })
            .collect(),
    )
}

/// Prints warnings on standard error, a line each.
pub(super) fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
}

/// Prints text for people, without control characters of foreign text.
///
/// # Errors
/// If standard output cannot be written. A closed pipe is ignored.
pub fn print(text: &str) -> Result<(), Failure> {
    let text = harmless(text);
    write_stdout(&if is_workflow() { inert(&text) } else { text.as_ref().into() })
}

/// The same for a table whose cells are harmless: on a terminal with colour,
/// the styles of its rows are kept.
pub(super) fn print_table(text: &str) -> Result<(), Failure> {
    if color() { write_stdout(&styled(text)) } else { print(text) }
}

/// Prints recorded text among what is said about it: exact for programs, without
/// control characters on a terminal.
pub(super) fn print_document(parts: &[Part]) -> Result<(), Failure> {
    let text = terminal(parts, screen(false));
    if std::io::stdout().is_terminal() { print_table(&text) } else { write_stdout(&text) }
}

/// Prints text that programs read: exact for them, without control characters
/// on a terminal.
pub(super) fn print_exact(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() { print(text) } else { write_stdout(text) }
}

/// Prints JSON. What turns or breaks lines wherever it is shown stands escaped: within strings,
/// where alone it can be, that is the same text.
pub(super) fn print_json(text: &str) -> Result<(), Failure> {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if is_command(c) && c != '\n' {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    print_exact(&escaped)
}

/// Text without control characters except for the styles of tables.
fn styled(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let mut shown = harmless(parts.next().unwrap_or_default()).into_owned();
    for part in parts {
        let style = STYLES.iter().find_map(|style| part.strip_prefix(style).map(|_| style.len()));
        shown.push(if style.is_some() { '\u{1b}' } else { '\u{FFFD}' });
        let (style, rest) = part.split_at(style.unwrap_or(0));
        shown.push_str(style);
        shown.push_str(&harmless(rest));
    }
    shown
}

/// Writes a file, and makes its folder where that is missing.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder
        .map_or(Ok(()), std::fs::create_dir_all)
        .and_then(|()| std::fs::write(path, bytes))
        .map_err(|error| Failure::unwritable(path, &error))
}

/// Writes to standard output; a closed pipe is not an error.
fn write_stdout(text: &str) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::usage(format!("standard output: {e}")).help("check where the output goes"))
        }
        _ => Ok(()),
    }
}

/// What standard output is like, and whether everything is shown on it.
pub(super) fn screen(wide: bool) -> Screen {
    Screen { width: width(), color: color(), wide }
}

/// Whether standard output gets colour.
fn color() -> bool {
    colored(is_terminal(), std::env::var_os("NO_COLOR").as_deref())
}

/// Whether a person looks at what is printed.
pub(super) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// A terminal whose user did not set `NO_COLOR` to anything (no-color.org).
fn colored(terminal: bool, no_color: Option<&OsStr>) -> bool {
    terminal && no_color.is_none_or(OsStr::is_empty)
}

/// Width of the terminal in columns. `COLUMNS` is not used: shells seldom
/// export it, and it may belong to another terminal.
fn width() -> usize {
    let size = terminal_size::terminal_size_of(std::io::stdout());
    size.map_or(DEFAULT_WIDTH, |(width, _)| usize::from(width.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_styles_of_tables_reach_a_terminal() {
        let own = "\u{1b}[1mhead\u{1b}[0m\n\u{1b}[33mwarning:\u{1b}[0m x";
        assert_eq!(styled(own), own);
        for escape in
            ["\u{1b}[8mx", "\u{1b}[2J", "\u{1b}[1;1H", "\u{1b}]0;t\u{7}", "\u{1b}", "\u{9b}1m"]
        {
            assert!(!styled(escape).contains(['\u{1b}', '\u{9b}', '\u{7}']), "{escape:?}");
        }
        assert_eq!(styled("a\u{1b}[1m\u{1b}[8mb"), "a\u{1b}[1m\u{FFFD}[8mb");
    }

    /// GitHub reads one line a command, and `%` as the beginning of an escape.
    #[test]
    fn workflow_is_annotated_and_commanded_by_nothing_else() {
        for (text, shown) in [
            ("error: 3 % of a\nhelp: b", "::error::3 %25 of a%0Ahelp: b"),
            ("warning: a\r\n::error::b.jsonl", "::warning::a%0D%0A::error::b.jsonl"),
            ("errors: none", "errors: none"),
            ("failed: a\n  ::error::b", "failed: a\n\\  ::error::b"),
            ("::error::a ::b", "\\::error::a ::b"),
            ("a ##[error]b", "a ## [error]b"),
            ("note: a::b", "note: a::b"),
        ] {
            assert_eq!(in_workflow(text), shown);
        }
    }

    #[test]
    fn only_a_terminal_without_no_color_takes_colour() {
        assert!(colored(true, None));
        assert!(colored(true, Some(OsStr::new(""))));
        assert!(!colored(true, Some(OsStr::new("1"))));
        assert!(!colored(false, None));
    }
}
