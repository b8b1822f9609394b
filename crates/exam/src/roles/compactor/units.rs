//! Splits a conversation into sentences from which a summary can be made.

use serde_json::Value as Json;

use super::cues::{Cue, cues};
use super::files;
use recap_core::model::Role;
use recap_strategy::TaskMessage;

/// What a unit is to a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The user asks or tells.
    Request,
    /// How the user wants things.
    Preference,
    /// Something was settled.
    Decision,
    /// Something went wrong, or why.
    Problem,
    /// Something was achieved.
    Done,
    /// Something is still to do.
    Plan,
    /// What something is.
    Definition,
    /// A call that changed a file.
    Change,
    /// Another call.
    Action,
    /// Anything else that was said.
    Statement,
}

/// One sentence, line or call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// Trimmed, on one line, of bounded length.
    pub text: String,
    pub kind: Kind,
    /// Whether the user said it.
    pub user: bool,
    /// Whether an earlier summary says it.
    pub distilled: bool,
    /// Position of its message in the task.
    pub message: usize,
    /// For a call: the file that it changed or read.
    pub file: Option<String>,
}

/// Length in characters of the longest unit: a summary copies no very long
/// lines.
const LONGEST: usize = 240;

/// Number of characters of a message that are read at each end; the middle is
/// bulk (a listing, a file), not conversation.
const READ: usize = 12_000;

/// Largest number of lines about problems in one tool result.
const PROBLEMS_A_RESULT: usize = 4;

/// Every unit in order; the calls about files are gathered.
pub(super) fn read(messages: &[TaskMessage]) -> Vec<Unit> {
    let mut units = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        match message.role {
            Role::Tool => result(at, &message.text, &mut units),
            role => spoken(at, role, &message.text, &mut units),
        }
    }
    files::gathered(units)
}

/// The units in the text of an earlier summary.
pub(super) fn distilled(text: &str) -> Vec<Unit> {
    let mut units = Vec::new();
    for line in text.lines() {
        if let Some(text) = clean(line).filter(|_| !line.trim_start().starts_with('#')) {
            let kind = kind_of(&text, false);
            units.push(Unit { text, kind, user: false, distilled: true, message: 0, file: None });
        }
    }
    units
}

fn spoken(at: usize, role: Role, text: &str, units: &mut Vec<Unit>) {
    if let Some((head, summary)) = text.split_once('\n')
        && is_summary_marker(head)
    {
        units.extend(distilled(summary).into_iter().map(|unit| Unit { message: at, ..unit }));
        return;
    }
    let mut fenced = false;
    for (start, part) in ends(text) {
        let mut at_byte = start;
        for line in part.split_inclusive('\n') {
            let user = role == Role::User && is_own(at_byte, text.len());
            at_byte += line.len();
            let line = line.trim_end();
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            } else if role == Role::Assistant && line.starts_with(r#"{"name":"#) {
                units.extend(call(at, line));
            } else if !fenced {
                for text in sentences(line) {
                    let kind = kind_of(&text, user);
                    let (distilled, file) = (false, None);
                    units.push(Unit { text, kind, user, distilled, message: at, file });
                }
            }
        }
    }
}

/// Whether a place in a user's message is probably in the user's own words: the
/// middle of a long message was pasted.
fn is_own(at: usize, length: usize) -> bool {
    length < 3_000 || at < 1_000 || at + 1_000 > length
}

/// Whether a line is a marker like `[Conversation summary …]`.
fn is_summary_marker(line: &str) -> bool {
    let line = line.trim();
    line.starts_with('[') && line.ends_with(']') && line.contains("onversation")
}

fn result(at: usize, text: &str, units: &mut Vec<Unit>) {
    let mut problems = 0;
    for (_, part) in ends(text) {
        for line in part.lines().filter(|line| line.len() < 2 * LONGEST && is_report(line)) {
            if problems == PROBLEMS_A_RESULT {
                return;
            }
            if let Some(text) = clean(line) {
                problems += 1;
                let (kind, file) = (Kind::Problem, None);
                units.push(Unit { text, kind, user: false, distilled: false, message: at, file });
            }
        }
    }
}

/// Whether a line of a result reports a problem at its beginning. Listings of
/// code contain the same words at other places.
fn is_report(line: &str) -> bool {
    const WORDS: [&str; 9] = [
        "error",
        "fatal",
        "fail",
        "panic",
        "exception",
        "traceback",
        "denied",
        "cannot",
        "--- fail",
    ];
    let line = line.trim_start_matches([' ', '\t', 'E', '>']);
    let head = cut(line, 60);
    let is = |text: Option<&[u8]>, word: &str| {
        text.is_some_and(|text| text.eq_ignore_ascii_case(word.as_bytes()))
    };
    let bytes = head.as_bytes();
    let begins = |word: &&str| is(bytes.get(..word.len()), word);
    let tells = |at: usize| at.checked_sub(5).is_some_and(|from| is(bytes.get(from..at), "error"));
    WORDS.iter().any(begins)
        || memchr::memchr_iter(b':', bytes).any(|at| tells(at) && bytes.get(at + 1) == Some(&b' '))
            && !head.contains(['=', '→', '"'])
}

/// The text, or the two ends of a long text, each with its position.
fn ends(text: &str) -> Vec<(usize, &str)> {
    if text.len() <= 2 * READ {
        return vec![(0, text)];
    }
    let head = text.floor_char_boundary(READ);
    let tail = text.ceil_char_boundary(text.len() - READ);
    vec![(0, &text[..head]), (tail, &text[tail..])]
}

fn kind_of(text: &str, user: bool) -> Kind {
    let has = cues(text);
    let order: &[(Cue, Kind)] = if user {
        &[(Cue::Decision, Kind::Decision), (Cue::Preference, Kind::Preference)]
    } else {
        &[
            (Cue::Decision, Kind::Decision),
            (Cue::Problem, Kind::Problem),
            (Cue::Done, Kind::Done),
            (Cue::Plan, Kind::Plan),
            (Cue::Definition, Kind::Definition),
        ]
    };
    if is_data(text) || (!user && is_chatter(text)) {
        return Kind::Action;
    }
    let known = order.iter().find(|(cue, _)| has(*cue)).map(|(_, kind)| *kind);
    match known {
        Some(kind) => kind,
        None if user && has(Cue::Definition) => Kind::Definition,
        None if user => Kind::Request,
        None => Kind::Statement,
    }
}

/// Whether a text is a log line or a record that somebody pasted.
fn is_data(text: &str) -> bool {
    text.starts_with('{') || text.matches('=').count() >= 3
}

/// Whether a text only announces what the agent's calls show.
fn is_chatter(text: &str) -> bool {
    const OPENINGS: [&str; 6] = ["let me", "now let me", "now i", "let's", "i'll", "first, let me"];
    let head = cut(text, 16).to_lowercase();
    text.ends_with(':') || OPENINGS.iter().any(|opening| head.starts_with(opening))
}

/// Sentences of a line: a full stop ends one if a space follows it, so that
/// `src/auth.ts` and `0.70` stay whole.
fn sentences(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut start = 0;
    let bytes = line.as_bytes();
    for at in memchr::memchr3_iter(b'.', b'!', b'?', bytes) {
        let ends = bytes.get(at + 1) == Some(&b' ') && at - start >= 12;
        if ends {
            found.extend(clean(&line[start..=at]));
            start = at + 1;
        }
    }
    found.extend(clean(&line[start..]));
    found
}

/// A text on one line, without list marks, cut if it is long; `None` if it has
/// no content (rules, tags, brackets).
fn clean(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches(['-', '*', '#', '>', '|', '•', ' ']).trim();
    let text = text.trim_end_matches(['|', ' ']).replace("**", "");
    let is_tag = text.starts_with('<') && text.ends_with('>');
    let letters = text.chars().take(2 * LONGEST).filter(|c| c.is_alphanumeric()).count();
    if is_tag || letters < 4 || letters * 3 < text.chars().take(2 * LONGEST).count() {
        return None;
    }
    let mut out = String::new();
    for word in text.split_whitespace().filter(|word| *word != "|") {
        if out.len() + word.len() > LONGEST {
            let room = LONGEST.saturating_sub(out.len());
            // A single very long word is data; a long sentence ends at a word.
            if out.is_empty() {
                out.push_str(&word[..word.floor_char_boundary(room)]);
            }
            out.push('…');
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    Some(out)
}

/// A call as a sentence.
fn call(at: usize, line: &str) -> Option<Unit> {
    let parsed: Json = serde_json::from_str(line).ok()?;
    let (name, arguments) = (parsed.get("name")?.as_str()?, parsed.get("arguments")?);
    let argument = |keys: &[&str]| keys.iter().find_map(|key| arguments.get(key)?.as_str());
    let path = argument(&["file_path", "path", "notebook_path", "filename", "target_file"]);
    let wrote =
        argument(&["new_string", "new_str", "content", "new_source", "file_text", "newText"]);
    let (text, kind, file) = match (path, wrote, argument(&["command", "cmd"])) {
        (Some(path), Some(new), _) => {
            let old = argument(&["old_string", "old_str", "oldText"]).unwrap_or_default();
            (changed(path, old, new), Kind::Change, Some(path.to_owned()))
        }
        (_, _, Some(command)) => (format!("Ran `{}`", first_line(command)), Kind::Action, None),
        (Some(path), None, None) => {
            let pattern = argument(&["pattern", "query"]);
            let what = pattern.map(|p| format!(" for `{}`", first_line(p))).unwrap_or_default();
            (format!("{name} of {path}{what}"), Kind::Action, Some(path.to_owned()))
        }
        _ => {
            let any = || arguments.as_object()?.values().find_map(Json::as_str);
            let about = argument(&["pattern", "query", "url", "description"]).or_else(any)?;
            (format!("{name}: {}", first_line(about)), Kind::Action, None)
        }
    };
    let text = clean(&text)?;
    Some(Unit { text, kind, user: false, distilled: false, message: at, file })
}

/// The name of the file and the first new line in it.
fn changed(path: &str, old: &str, new: &str) -> String {
    let old_lines: Vec<&str> = old.lines().take(200).map(str::trim).collect();
    let fresh = new
        .lines()
        .take(200)
        .map(str::trim)
        .find(|line| line.len() > 8 && !old_lines.contains(line));
    match fresh {
        Some(line) => format!("Modified {path}: `{}`", cut(line, 90)),
        None => format!("Modified {path}"),
    }
}

fn first_line(text: &str) -> &str {
    cut(text.trim().lines().next().unwrap_or_default(), 160)
}

/// At most this many bytes of a text, cut between characters.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
