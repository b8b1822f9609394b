//! Calls of tools as a person would read them: the file that is changed in front
//! of each new line, a list with an item a line. Text that an edit takes away is
//! left out, since it no longer holds.

use std::borrow::Cow;
use std::fmt::Write as _;

use serde_json::{Map, Value as Json};

/// How a message with a call begins, or a line of it.
const BEGINS: &str = r#"{"name":""#;

/// A text with its calls written as lines.
pub(super) fn rendered(text: &str) -> Cow<'_, str> {
    if !text.contains(BEGINS) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let call = line.starts_with(BEGINS).then(|| serde_json::from_str::<Json>(line).ok());
        match call.flatten().as_ref().and_then(parts) {
            Some((name, arguments)) => call_lines(name, arguments, &mut out),
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    Cow::Owned(out)
}

fn parts(call: &Json) -> Option<(&str, &Map<String, Json>)> {
    Some((call.get("name")?.as_str()?, call.get("arguments")?.as_object()?))
}

fn call_lines(name: &str, arguments: &Map<String, Json>, out: &mut String) {
    // What the call is about stands in front of every line of it.
    let about = arguments.iter().find(|(key, value)| is_path(key) && value.is_string());
    let head = match about.and_then(|(_, value)| value.as_str()) {
        Some(path) => format!("{name} {path}"),
        None => name.to_owned(),
    };
    let before = out.len();
    for (key, value) in arguments {
        if about.is_some_and(|(path, _)| path == key) || is_old(key) {
            continue;
        }
        match value {
            Json::String(text) => text_lines(&head, key, text, out),
            Json::Array(items) => items.iter().for_each(|item| match item.as_str() {
                // A script, as a word of a command.
                Some(text) if text.contains('\n') => text_lines(&head, key, text, out),
                _ => _ = writeln!(out, "{head}: {}", flat(item)),
            }),
            // A flag says how a tool works, not what it did.
            Json::Bool(_) | Json::Null => {}
            other => {
                let _ = writeln!(out, "{head} {key}: {}", flat(other));
            }
        }
    }
    if out.len() == before {
        let _ = writeln!(out, "{head}");
    }
}

/// The lines of an argument; of a patch without those that it takes away.
fn text_lines(head: &str, key: &str, text: &str, out: &mut String) {
    let is_patch = text.contains("*** Begin Patch");
    if !text.contains('\n') && text.len() < 200 && !is_new(key) {
        let _ = writeln!(out, "{head} {key}: {text}");
        return;
    }
    let mut file = "";
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if is_patch && line.starts_with('-') {
            continue;
        }
        let named = ["*** Update File: ", "*** Add File: "];
        if let Some(path) = named.iter().find_map(|mark| line.strip_prefix(mark)) {
            file = path;
        }
        let _ = match file {
            "" => writeln!(out, "{head}: {}", line.trim()),
            path => writeln!(out, "{head} {path}: {}", line.trim_start_matches('+').trim()),
        };
    }
}

/// A value in one line.
fn flat(value: &Json) -> String {
    match value {
        Json::Object(fields) => {
            let fields = fields.iter().filter(|(key, _)| !is_old(key));
            let fields = fields.map(|(key, value)| format!("{key}: {}", flat(value)));
            fields.collect::<Vec<_>>().join("; ")
        }
        Json::Array(items) => items.iter().map(flat).collect::<Vec<_>>().join(", "),
        Json::String(text) => text.replace('\n', " "),
        other => other.to_string(),
    }
}

fn is_path(key: &str) -> bool {
    matches!(key, "file_path" | "filePath" | "absolute_path" | "path" | "filename" | "target_file")
}

fn is_old(key: &str) -> bool {
    matches!(key, "old_string" | "oldString" | "old_str" | "oldText" | "old_text")
}

fn is_new(key: &str) -> bool {
    key.starts_with("new") || matches!(key, "content" | "file_text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_is_shown_as_file_and_new_lines() {
        let call = r#"{"name":"Edit","arguments":{"file_path":"a.rs","old_string":"x = 1","new_string":"x = 2\n\ny = 3","replace_all":false}}"#;
        let text = format!("I change it.\n{call}\nDone.");
        assert_eq!(rendered(&text), "I change it.\nEdit a.rs: x = 2\nEdit a.rs: y = 3\nDone.\n");
    }

    #[test]
    fn list_shows_items_by_line_patch_only_additions() {
        let list = r#"{"name":"TodoWrite","arguments":{"todos":[{"content":"Test it","status":"pending"},7]}}"#;
        assert_eq!(rendered(list), "TodoWrite: content: Test it; status: pending\nTodoWrite: 7\n");
        let patch = r#"{"name":"apply_patch","arguments":{"input":"*** Begin Patch\n*** Update File: b.rs\n-x\n+y\n*** End Patch"}}"#;
        assert!(rendered(patch).contains("apply_patch b.rs: y\n"));
        assert!(!rendered(patch).contains("-x"));
        assert_eq!(rendered(r#"{"name":"ls","arguments":{}}"#), "ls\n");
        let script = r#"{"name":"shell","arguments":{"command":["sh","apply <<'P'\n*** Begin Patch\n*** Update File: c.rs\n+z\nP"]}}"#;
        assert!(rendered(script).contains("shell: sh\n") && rendered(script).contains("c.rs: z\n"));
    }

    #[test]
    fn other_text_and_broken_calls_are_unchanged() {
        for text in ["plain", "{\"name\":\"cut off", "{\"name\":\"x\",\"arguments\":7}"] {
            assert_eq!(rendered(text).trim_end(), text);
        }
    }
}
