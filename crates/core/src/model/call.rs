//! What a call of a tool did, whatever the tool is called: the shape of the arguments decides, so
//! that Claude Code, Codex, OpenCode, Gemini and tools of others are read alike.

use serde_json::Value as Json;

/// Arguments that hold the path of a file.
pub const PATH: [&str; 9] = [
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

/// Tools that read or search: of Claude Code, Codex, Gemini CLI, OpenCode, pi and OpenHands.
const READING_TOOLS: &str = "Read Grep Glob LS NotebookRead WebFetch WebSearch read grep glob list \
    ls find read_file read_many_files list_directory search_file_content grep_search list_dir view \
    view_image glob_search";

/// Commands that read or search and change nothing.
const READING_COMMANDS: &str = "cat head tail less nl sed grep rg egrep find fd ls tree wc";

/// What a call did.
#[derive(Debug)]
pub enum CallEffect {
    /// Changed files.
    Changed(Vec<Change>),
    /// Ran a command line.
    Ran(String),
    /// Anything else.
    Other,
}

/// A change of one file.
#[derive(Debug, PartialEq)]
pub struct Change {
    /// Path of the file, as the call names it.
    pub path: String,
    /// How it was changed.
    pub kind: ChangeKind,
    /// Text that was taken away.
    pub removed: String,
    /// Text that was added.
    pub added: String,
}

/// How a file was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Written as a whole.
    Written,
    /// Changed in part.
    Edited,
    /// Deleted.
    Deleted,
    /// Moved to this path.
    Moved(String),
}

impl CallEffect {
    /// What a call with these arguments did.
    pub fn of(arguments: &Json) -> Self {
        let command = command_line(arguments);
        let path = text_argument(arguments, &PATH);
        if let Some(path) = path.filter(|path| !path.trim().is_empty()) {
            let changes = changes_of_file(path, arguments);
            if !changes.is_empty() {
                return CallEffect::Changed(changes);
            }
        }
        // Some agents hand a patch to a tool of its own, some to the shell.
        let patch = text_argument(arguments, &PATCH).or_else(|| arguments.as_str());
        let changes = patch.or(command.as_deref()).map(changes_of_patch).unwrap_or_default();
        match command {
            _ if !changes.is_empty() => CallEffect::Changed(changes),
            // Some editors name what they do in an argument `command`.
            Some(line) if path.is_none() => CallEffect::Ran(line),
            _ => CallEffect::Other,
        }
    }
}

/// Whether a call reads or searches.
pub fn reads(tool: &str, arguments: &Json) -> bool {
    READING_TOOLS.split(' ').any(|name| name == tool)
        || command_line(arguments).is_some_and(|line| is_reading_command(&line))
}

/// Whether the first command, after changes of the folder, reads or searches.
fn is_reading_command(line: &str) -> bool {
    let mut parts = line.split("&&").map(str::trim_start);
    let Some(first) = parts.find(|part| !part.starts_with("cd ")) else { return false };
    let name = first.split_whitespace().next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or(name);
    let writes = first.contains("> ") || first.contains("<<") || first.contains("sed -i");
    READING_COMMANDS.split(' ').any(|command| command == name) && !writes
}

/// The first of these arguments that is a text.
pub fn text_argument<'a>(arguments: &'a Json, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| arguments.get(key)?.as_str())
}

/// The command line of a call: a text, or a list of words whose last one is
/// the script of a shell (`bash -lc …`).
pub fn command_line(arguments: &Json) -> Option<String> {
    let value = COMMAND.iter().find_map(|key| arguments.get(key))?;
    if let Some(line) = value.as_str() {
        return Some(line.to_owned());
    }
    let words: Vec<&str> = value.as_array()?.iter().map(Json::as_str).collect::<Option<_>>()?;
    let is_shell = words.first().is_some_and(|first| first.ends_with("sh"));
    let script = words.iter().position(|word| word.starts_with('-') && word.ends_with('c'));
    let script = script.filter(|_| is_shell).and_then(|at| words.get(at + 1));
    Some(script.map_or_else(|| words.join(" "), |script| (*script).to_owned()))
}

/// The changes of one file that the arguments describe.
fn changes_of_file(path: &str, arguments: &Json) -> Vec<Change> {
    let change = |kind, removed: &str, added: &str| {
        let [path, removed, added] = [path, removed, added].map(str::to_owned);
        Change { path, kind, removed, added }
    };
    let edit = |one: &Json| {
        let (old, new) = (text_argument(one, &OLD), text_argument(one, &NEW));
        let is_edit = old.is_some() || new.is_some();
        let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
        is_edit.then(|| change(ChangeKind::Edited, old, new))
    };
    if let Some(edits) = arguments.get("edits").and_then(Json::as_array) {
        return edits.iter().filter_map(edit).collect();
    }
    let written = || Some(change(ChangeKind::Written, "", text_argument(arguments, &WHOLE)?));
    edit(arguments).or_else(written).into_iter().collect()
}

/// The changes that a text with a patch describes, in the form that Codex and OpenCode give to
/// `apply_patch`; empty where there is none.
fn changes_of_patch(text: &str) -> Vec<Change> {
    const BEGIN: &str = "*** Begin Patch";
    let Some(begin) = text.find(BEGIN) else { return Vec::new() };
    let mut changes: Vec<Change> = Vec::new();
    for line in text[begin + BEGIN.len()..].lines() {
        let opened = [
            ("*** Add File: ", ChangeKind::Written),
            ("*** Update File: ", ChangeKind::Edited),
            ("*** Delete File: ", ChangeKind::Deleted),
        ];
        let opened = opened.into_iter().find_map(|(mark, kind)| {
            let path = line.strip_prefix(mark)?.trim().to_owned();
            Some(Change { path, kind, removed: String::new(), added: String::new() })
        });
        if let Some(opened) = opened {
            changes.push(opened);
            continue;
        }
        let Some(change) = changes.last_mut() else { continue };
        if let Some(to) = line.strip_prefix("*** Move to: ") {
            change.kind = ChangeKind::Moved(to.trim().to_owned());
        } else if line.starts_with("*** End") {
            break;
        } else if let Some(line) = line.strip_prefix('+') {
            push_line(&mut change.added, line);
        } else if let Some(line) = line.strip_prefix('-') {
            push_line(&mut change.removed, line);
        }
    }
    changes.retain(|change| !change.path.is_empty());
    changes
}

fn push_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changed(arguments: &Json) -> Vec<(String, ChangeKind, String, String)> {
        let CallEffect::Changed(changes) = CallEffect::of(arguments) else { return Vec::new() };
        changes.into_iter().map(|c| (c.path, c.kind, c.removed, c.added)).collect()
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
    fn command_is_a_line_or_shell_script() {
        let line = |arguments: &Json| match CallEffect::of(arguments) {
            CallEffect::Ran(line) => Some(line),
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
        let found = changes_of_patch(text);
        let actual: Vec<_> =
            found.iter().map(|c| (&*c.path, c.kind.clone(), &*c.removed, &*c.added)).collect();
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
            assert!(changes_of_patch(text).is_empty(), "{text}");
        }
        assert!(changes_of_patch("*** Begin Patch\n*** Add File: \n+x").is_empty());
        assert_eq!(changes_of_patch("*** Begin Patch\n*** Add File: a").len(), 1);
    }

    #[test]
    fn reading_is_told_by_the_tool_or_by_the_first_command() {
        let runs = |command: &str| reads("Bash", &json!({"command": command}));
        assert!(reads("Read", &json!({})) && reads("shell", &json!({"cmd": ["sh", "-c", "ls"]})));
        assert!(runs("cd web && /usr/bin/rg -n pool") && runs("sed -n 1,9p a.rs"));
        assert!(!runs("sed -i s/a/b/ a.rs") && !runs("cat > a.rs") && !runs("cargo test"));
        assert!(!reads("Edit", &json!({"file_path": "a.rs"})) && !runs("cd web"));
    }
}
