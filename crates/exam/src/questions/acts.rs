//! What an agent did with its calls, whatever its tools are called: the shape
//! of the arguments decides, so that Claude Code, Codex, OpenCode, Gemini and
//! tools of others are read alike.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value as Json;

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
    let patch = patch.or(command.as_deref()).map(changes).unwrap_or_default();
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

// Patches in the form that Codex and OpenCode give to `apply_patch`.

const BEGIN: &str = "*** Begin Patch";
const ADD: &str = "*** Add File: ";
const UPDATE: &str = "*** Update File: ";
const DELETE: &str = "*** Delete File: ";
const MOVE: &str = "*** Move to: ";
const END: &str = "*** End";

/// The changes that a text with such a patch describes; empty where there is
/// none.
pub(super) fn changes(text: &str) -> Vec<Change<'static>> {
    let Some(begin) = text.find(BEGIN) else { return Vec::new() };
    let mut changes: Vec<Change<'static>> = Vec::new();
    for line in text[begin + BEGIN.len()..].lines() {
        let opened = [
            (ADD, ChangeKind::Written),
            (UPDATE, ChangeKind::Edited),
            (DELETE, ChangeKind::Deleted),
        ];
        let opened = opened
            .into_iter()
            .find_map(|(mark, kind)| Some((line.strip_prefix(mark)?.trim().to_owned(), kind)));
        if let Some((path, kind)) = opened {
            let (removed, added) = (Cow::Borrowed(""), Cow::Borrowed(""));
            changes.push(Change { path: Cow::Owned(path), kind, removed, added });
            continue;
        }
        let Some(change) = changes.last_mut() else { continue };
        if let Some(to) = line.strip_prefix(MOVE) {
            change.kind = ChangeKind::Moved(to.trim().to_owned());
        } else if line.starts_with(END) {
            break;
        } else if let Some(line) = line.strip_prefix('+') {
            push(&mut change.added, line);
        } else if let Some(line) = line.strip_prefix('-') {
            push(&mut change.removed, line);
        }
    }
    changes.retain(|change| !change.path.is_empty());
    changes
}

fn push(text: &mut Cow<'static, str>, line: &str) {
    let text = text.to_mut();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

// Where files are now: what patches and commands that move or delete made of
// the paths before them.

/// A command of a shell that enters a folder, moves or deletes.
static FILE_COMMAND: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)(?:^|&&|;|\|\|)[ \t]*(?:git[ \t]+)?(?<verb>cd|mv|rm)[ \t]+(?<words>[^\n;&|<>]+)",
    )
    .expect("the pattern is constant and valid")
});

/// A word of a command, in quotes or not.
static WORD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#""([^"]*)"|'([^']*)'|([^\s"']+)"#).expect("it is valid"));

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
            What::Changed(changes) => found.extend(changes.iter().filter_map(|c| match &c.kind {
                ChangeKind::Moved(to) => Some((below(&c.path), Some(below(to)))),
                ChangeKind::Deleted => Some((below(&c.path), None)),
                ChangeKind::Written | ChangeKind::Edited => None,
            })),
            What::Ran(line) => {
                let each = of_shell(line).into_iter();
                found.extend(each.map(|(from, to)| (below(&from), to.map(|to| below(&to)))));
            }
            What::Other => {}
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

    #[test]
    fn a_patch_is_one_change_for_each_file() {
        let text = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: new.rs\n+fn a() {}\n+\n\
                    *** Update File: old.rs\n*** Move to: moved.rs\n@@ fn b\n-let x = 1;\n+let x = 2;\n \
                    kept\n*** Delete File: gone.rs\n*** End Patch\nEOF";
        let found = changes(text);
        let actual: Vec<_> = found
            .iter()
            .map(|c| (c.path.as_ref(), c.kind.clone(), c.removed.as_ref(), c.added.as_ref()))
            .collect();
        assert_eq!(
            actual,
            [
                ("new.rs", ChangeKind::Written, "", "fn a() {}\n"),
                ("old.rs", ChangeKind::Moved("moved.rs".into()), "let x = 1;", "let x = 2;"),
                ("gone.rs", ChangeKind::Deleted, "", ""),
            ]
        );
    }

    #[test]
    fn broken_patches_are_read_as_far_as_possible() {
        for text in
            ["", "*** Update File: a", "*** Begin Patch", "*** Begin Patch\n+a\n*** Move to: b"]
        {
            assert!(changes(text).is_empty(), "{text}");
        }
        assert!(changes("*** Begin Patch\n*** Add File: \n+x").is_empty());
        assert_eq!(changes("*** Begin Patch\n*** Add File: a").len(), 1);
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
