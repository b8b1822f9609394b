//! What an agent did with its calls.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use recap_core::model::call::{CallEffect, ChangeKind};
use recap_core::model::{Block, Call, MessageIndex, Session};
use recap_core::text::{Pattern, pattern};

/// How results say that a call failed, where the record has no field for it: a
/// command's exit, an edit that was not made.
static FAILURE: Pattern = pattern!(
    r#"(?xi) (?: process\ exited\ with\ code | \bexit\ code:? | "exit_code": ) \s* -?[1-9]
        | ^\s* (?: <tool_use_error> | apply_patch\ verification\ failed | failed\ to\ find\ expected
            | exec_command\ failed | execution\ error: | aborted | timed?\ ?out )"#
);

/// Bytes at the head of a result that may say so.
const HEAD: usize = 300;

/// A call with its result.
#[derive(Debug)]
pub(super) struct Act<'a> {
    /// The message that made the call.
    pub message: MessageIndex,
    /// The message with its result; absent for a call that was interrupted.
    pub result: Option<MessageIndex>,
    /// Name of the tool.
    pub tool: String,
    /// The arguments as recorded.
    pub arguments: &'a Json,
    /// Text of the result; empty where there is none.
    pub output: &'a str,
    /// Whether the result says that the call failed.
    pub failed: bool,
    /// What the call did.
    pub what: CallEffect,
}

impl Act<'_> {
    /// Whether the call has a result and did not fail.
    pub fn is_done(&self) -> bool {
        !self.failed && self.result.is_some()
    }

    /// The messages of the call and its result.
    pub fn evidence(&self) -> impl Iterator<Item = MessageIndex> + use<> {
        [Some(self.message), self.result].into_iter().flatten()
    }
}

/// Every call of a session, in order.
pub(super) fn acts(session: &Session) -> Vec<Act<'_>> {
    let each = session.calls().into_iter().map(|call| {
        let arguments = session.arguments(&call);
        let (output, failed) = call.result.map_or(("", false), |at| result(session, at));
        let what = CallEffect::of(arguments);
        let Call { message, result, tool, .. } = call;
        Act { message, result, tool, arguments, output, failed, what }
    });
    each.collect()
}

fn result(session: &Session, at: MessageIndex) -> (&str, bool) {
    let blocks = session.messages[at as usize].blocks.iter();
    let mut found = blocks.filter_map(|block| match block {
        Block::ToolResult { text, is_error, .. } => {
            let head = &text[..text.floor_char_boundary(HEAD)];
            Some((text.as_str(), *is_error || FAILURE.is_match(head)))
        }
        _ => None,
    });
    found.next().unwrap_or_default()
}

// Where files are now: what patches and commands that move or delete made of
// the paths before them.

/// A command of a shell that enters a folder, moves or deletes.
static FILE_COMMAND: Pattern = pattern!(
    r"(?m)(?:^|&&|;|\|\|)[ \t]*(?:git[ \t]+)?(?<verb>cd|mv|rm)[ \t]+(?<words>[^\n;&|<>]+)"
);

/// A word of a command, in quotes or not.
static WORD: Pattern = pattern!(r#""([^"]*)"|'([^']*)'|([^\s"']+)"#);

/// The last place of each path that was moved, `None` if it was deleted, with
/// the message that did it.
#[derive(Default)]
pub(super) struct Moves(BTreeMap<String, (Option<String>, MessageIndex)>);

impl Moves {
    /// What became of a path, or of the folder around it; `None` if it is deleted.
    pub fn now(&self, path: &str) -> Option<String> {
        let ends = path.match_indices('/').map(|(at, _)| at).filter(|at| *at > 0);
        let parts = std::iter::once(path.len()).chain(ends.rev());
        match parts.into_iter().find_map(|end| Some((end, self.0.get(&path[..end])?))) {
            None => Some(path.to_owned()),
            Some((end, (to, _))) => Some(format!("{}{}", to.as_ref()?, &path[end..])),
        }
    }

    /// The files that were moved and are still there: the path before, the one
    /// now, and the message.
    pub fn files(&self) -> impl Iterator<Item = (&str, &str, MessageIndex)> {
        let is_file = |path: &str| !path.starts_with('/') && name(path).contains('.');
        let each = self.0.iter().filter(move |(from, _)| is_file(from));
        each.filter_map(|(from, (to, at))| Some((from.as_str(), to.as_deref()?, *at)))
    }

    /// Puts the moves of a call before those that are known: calls are read from
    /// the last to the first. `below` names a path as the session does.
    pub fn put_before(&mut self, act: &Act<'_>, below: impl Fn(&str) -> String) {
        let mut found: Vec<(String, Option<String>)> = Vec::new();
        match &act.what {
            CallEffect::Changed(changes) => {
                found.extend(changes.iter().filter_map(|c| match &c.kind {
                    ChangeKind::Moved(to) => Some((below(&c.path), Some(below(to)))),
                    ChangeKind::Deleted => Some((below(&c.path), None)),
                    ChangeKind::Written | ChangeKind::Edited => None,
                }))
            }
            CallEffect::Ran(line) => {
                let each = of_shell(line).into_iter();
                found.extend(each.map(|(from, to)| (below(&from), to.map(|to| below(&to)))));
            }
            CallEffect::Other => {}
        }
        for (from, to) in found.into_iter().rev() {
            let now = to.and_then(|to| self.now(&to));
            self.0.insert(from, (now, act.message));
        }
    }
}

/// The moves and deletions of a command line, of words that stand for themselves.
fn of_shell(line: &str) -> Vec<(String, Option<String>)> {
    let (mut found, mut folder) = (Vec::new(), String::new());
    // The text after `<<` is no command.
    let script = line.split("<<").next().unwrap_or_default();
    for command in FILE_COMMAND.captures_iter(script) {
        let part = command.name("words").expect("no match is without it");
        // The number in `2>` is no word.
        let text = if script[part.end()..].starts_with('>') {
            part.as_str().trim_end_matches(|c: char| c.is_ascii_digit())
        } else {
            part.as_str()
        };
        if text.contains(['$', '*', '?', '{', '`', '(', '~']) {
            continue;
        }
        let words = WORD.find_iter(text).map(|word| word.as_str().trim_matches(['"', '\'']));
        let words: Vec<&str> = words.filter(|word| !word.starts_with('-')).collect();
        let path = |word: &str| {
            if word.starts_with('/') || folder.is_empty() {
                word.trim_end_matches('/').to_owned()
            } else {
                format!("{folder}/{}", word.trim_end_matches('/'))
            }
        };
        match (&command["verb"], words.as_slice()) {
            ("cd", [into]) => folder = path(into),
            ("rm", gone) => found.extend(gone.iter().map(|word| (path(word), None))),
            ("mv", [sources @ .., to]) => {
                // A file goes into what has no name of a file.
                let into = sources.len() > 1
                    || to.ends_with('/')
                    || !name(to).contains('.')
                        && sources.iter().any(|from| name(from).contains('.'));
                found.extend(sources.iter().map(|from| {
                    let to = if into { format!("{}/{}", path(to), name(from)) } else { path(to) };
                    (path(from), Some(to))
                }));
            }
            _ => {}
        }
    }
    found
}

/// The last part of a path.
pub(super) fn name(path: &str) -> &str {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_says_that_its_call_failed() {
        for text in [
            "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 101\nOutput:\n",
            "Exit code: 2\nWall time: 0.1 seconds\nOutput:\n",
            r#"{"output":"x","metadata":{"exit_code":1}}"#,
            "<tool_use_error>String to replace not found",
            "apply_patch verification failed: Failed to find expected lines",
        ] {
            assert!(FAILURE.is_match(text), "{text}");
        }
        for text in ["", "Process exited with code 0", "Exit code: 0", "The exit code is checked"] {
            assert!(!FAILURE.is_match(text), "{text}");
        }
    }

    #[test]
    fn commands_that_move_and_delete_are_read() {
        let moved = |line: &str| {
            let of = |(from, to): (String, Option<String>)| {
                format!("{from}>{}", to.as_deref().unwrap_or("-"))
            };
            of_shell(line).into_iter().map(of).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(moved("git mv a.rs src/b.rs && rm -rf old"), "a.rs>src/b.rs old>-");
        assert_eq!(
            moved("cd web && mv 'a b.ts' c.ts lib"),
            "web/a b.ts>web/lib/a b.ts web/c.ts>web/lib/c.ts"
        );
        assert_eq!(
            moved("mv a.ts lib; mv one two; mv x.ts y/ 2>/dev/null"),
            "a.ts>lib/a.ts one>two x.ts>y/x.ts"
        );
        for line in [
            "mv *.rs src",
            "mv $A b",
            "cat <<E\nmv a b\nE",
            "echo mv a b",
            "mv",
            "mv a",
            "rm",
            "cd",
        ] {
            assert_eq!(moved(line), "", "{line}");
        }
    }
}
