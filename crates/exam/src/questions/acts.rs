//! What an agent did with its calls, whatever its tools are called: the shape
//! of the arguments decides, so that Claude Code, Codex, OpenCode, Gemini and
//! tools of others are read alike.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

use super::patch;
use recap_core::model::{Block, MessageIndex, Session};

/// Arguments that hold the path of a file.
pub(super) const PATH: [&str; 9] = [
    "file_path",
    "filePath",
    "absolute_path",
    "path",
    "filename",
    "target_file",
    "TargetFile",
    "notebook_path",
    "relative_path",
];
/// Arguments that hold the text that an edit takes away.
const OLD: [&str; 5] = ["old_string", "oldString", "old_str", "oldText", "old_text"];
/// Arguments that hold the text that an edit puts in its place.
const NEW: [&str; 6] = ["new_string", "newString", "new_str", "newText", "new_text", "new_source"];
/// Arguments that hold the whole text of a file.
const WHOLE: [&str; 5] = ["content", "contents", "file_text", "CodeContent", "code"];
/// Arguments that hold a command line.
const COMMAND: [&str; 3] = ["command", "cmd", "CommandLine"];
/// Arguments that hold a patch.
const PATCH: [&str; 4] = ["input", "patch", "patchText", "diff"];

/// How results say that a call failed, where the record has no field for it: a
/// command's exit, an edit that was not made.
static FAILURE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?xi) (?: process\ exited\ with\ code | \bexit\ code:? | "exit_code": ) \s* -?[1-9]
        | ^\s* (?: <tool_use_error> | apply_patch\ verification\ failed | failed\ to\ find\ expected
            | exec_command\ failed | execution\ error: | aborted | timed?\ ?out )"#,
    )
    .expect("the pattern is constant and valid")
});

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
    pub tool: &'a str,
    /// The arguments as recorded.
    pub arguments: &'a Json,
    /// Text of the result; empty where there is none.
    pub output: &'a str,
    /// Whether the result says that the call failed.
    pub failed: bool,
    /// What the call did.
    pub what: What<'a>,
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

/// What a call did.
#[derive(Debug)]
pub(super) enum What<'a> {
    /// Changed files.
    Changed(Vec<Change<'a>>),
    /// Ran a command line.
    Ran(Cow<'a, str>),
    /// Anything else.
    Other,
}

/// A change of one file.
#[derive(Debug, PartialEq)]
pub(super) struct Change<'a> {
    /// Path of the file, as the call names it.
    pub path: Cow<'a, str>,
    pub kind: ChangeKind,
    /// Text that was taken away.
    pub removed: Cow<'a, str>,
    /// Text that was added.
    pub added: Cow<'a, str>,
}

/// How a file was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ChangeKind {
    /// Written as a whole.
    Written,
    Edited,
    Deleted,
    /// Moved to this path.
    Moved(String),
}

/// Every call of a session, in order.
pub(super) fn acts(session: &Session) -> Vec<Act<'_>> {
    let each = session.calls().into_iter().filter_map(|call| {
        let block = &session.messages[call.message as usize].blocks[call.block as usize];
        let Block::ToolCall { name, arguments, .. } = block else { return None };
        let (output, failed) = call.result.map_or(("", false), |at| result(session, at));
        let (message, result) = (call.message, call.result);
        let what = what(arguments);
        Some(Act { message, result, tool: name, arguments, output, failed, what })
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

/// The first of these arguments that is a text.
pub(super) fn text<'a>(arguments: &'a Json, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| arguments.get(key)?.as_str())
}

fn what(arguments: &Json) -> What<'_> {
    let command = command(arguments);
    if let Some(path) = text(arguments, &PATH).filter(|path| !path.trim().is_empty()) {
        let changes = of_file(path, arguments);
        if !changes.is_empty() {
            return What::Changed(changes);
        }
    }
    // Some agents hand a patch to a tool of its own, some to the shell.
    let patch = text(arguments, &PATCH).or_else(|| arguments.as_str());
    let patch = patch.or(command.as_deref()).map(patch::changes).unwrap_or_default();
    if !patch.is_empty() {
        return What::Changed(patch.into_iter().map(Change::owned).collect());
    }
    match command {
        // Some editors name what they do in an argument `command`.
        Some(line) if text(arguments, &PATH).is_none() => What::Ran(line),
        _ => What::Other,
    }
}

/// The changes of one file that the arguments describe.
fn of_file<'a>(path: &'a str, arguments: &'a Json) -> Vec<Change<'a>> {
    let edit = |one: &'a Json| {
        let (old, new) = (text(one, &OLD), text(one, &NEW));
        if old.is_none() && new.is_none() {
            return None;
        }
        Some(Change {
            path: Cow::Borrowed(path),
            kind: ChangeKind::Edited,
            removed: Cow::Borrowed(old.unwrap_or_default()),
            added: Cow::Borrowed(new.unwrap_or_default()),
        })
    };
    if let Some(edits) = arguments.get("edits").and_then(Json::as_array) {
        return edits.iter().filter_map(edit).collect();
    }
    if let Some(change) = edit(arguments) {
        return vec![change];
    }
    let whole = text(arguments, &WHOLE).map(|added| Change {
        path: Cow::Borrowed(path),
        kind: ChangeKind::Written,
        removed: Cow::Borrowed(""),
        added: Cow::Borrowed(added),
    });
    whole.into_iter().collect()
}

/// The command line of a call: a text, or a list of words whose last one is
/// the script of a shell (`bash -lc …`).
fn command(arguments: &Json) -> Option<Cow<'_, str>> {
    let value = COMMAND.iter().find_map(|key| arguments.get(key))?;
    if let Some(line) = value.as_str() {
        return Some(Cow::Borrowed(line));
    }
    let words: Option<Vec<&str>> = value.as_array()?.iter().map(Json::as_str).collect();
    let words = words?;
    let is_shell = words.first().is_some_and(|first| first.ends_with("sh"));
    let script = words.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
    match script.filter(|_| is_shell).and_then(|at| words.get(at + 1)) {
        Some(script) => Some(Cow::Borrowed(script)),
        None => Some(Cow::Owned(words.join(" "))),
    }
}

impl Change<'_> {
    fn owned(self) -> Change<'static> {
        Change {
            path: Cow::Owned(self.path.into_owned()),
            kind: self.kind,
            removed: Cow::Owned(self.removed.into_owned()),
            added: Cow::Owned(self.added.into_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed(arguments: &Json) -> Vec<(String, ChangeKind, String, String)> {
        let What::Changed(changes) = what(arguments) else { return Vec::new() };
        let one = |c: Change<'_>| {
            (c.path.into_owned(), c.kind, c.removed.into_owned(), c.added.into_owned())
        };
        changes.into_iter().map(one).collect()
    }

    #[test]
    fn five_agents_edits_yield_the_same_change() {
        let edit =
            || vec![("a.rs".to_owned(), ChangeKind::Edited, "one".to_owned(), "two".to_owned())];
        for arguments in [
            json!({"file_path": "a.rs", "old_string": "one", "new_string": "two"}),
            json!({"filePath": "a.rs", "oldString": "one", "newString": "two"}),
            json!({"path": "a.rs", "oldText": "one", "newText": "two"}),
            json!({"command": "str_replace", "path": "a.rs", "old_str": "one", "new_str": "two"}),
            json!({"file_path": "a.rs", "edits": [{"old_string": "one", "new_string": "two"}]}),
            json!({"input": "*** Begin Patch\n*** Update File: a.rs\n@@\n-one\n+two\n*** End Patch"}),
        ] {
            assert_eq!(changed(&arguments), edit(), "{arguments}");
        }
        let written = json!({"file_path": "a.rs", "content": "two"});
        let whole = ("a.rs".to_owned(), ChangeKind::Written, String::new(), "two".to_owned());
        assert_eq!(changed(&written), [whole]);
    }

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
    fn command_is_a_line_or_shell_script() {
        let line = |arguments: &Json| match what(arguments) {
            What::Ran(line) => Some(line.into_owned()),
            _ => None,
        };
        assert_eq!(line(&json!({"command": "ls -l"})).as_deref(), Some("ls -l"));
        assert_eq!(line(&json!({"cmd": "ls"})).as_deref(), Some("ls"));
        let shell = json!({"command": ["bash", "-lc", "cargo test"]});
        assert_eq!(line(&shell).as_deref(), Some("cargo test"));
        assert_eq!(line(&json!({"command": ["git", "status"]})).as_deref(), Some("git status"));
        assert_eq!(line(&json!({"command": "view", "path": "a.rs"})), None);
        for hostile in [json!(null), json!([]), json!({"command": [1]}), json!({"command": {}})] {
            assert_eq!(line(&hostile), None);
        }
    }
}
