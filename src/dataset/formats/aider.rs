//! Chat histories of Aider, Markdown (`.aider.chat.history.md`): a session
//! begins with a heading, what the user said stands behind `#### `, what aider
//! itself printed behind `> `, and all else is the model's. Read from the
//! agent's public source (Aider-AI/aider, `aider/io.py`: `append_chat_history`
//! and its callers), without recordings at hand. Every line of an input is
//! marked, blank ones too, so that any other line ends it; a response ends where
//! aider printed its tokens. The file has neither calls nor exact usage.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use super::prelude::*;

/// The first words of a session.
const START: &str = "# aider chat started at ";

/// The format of Aider's chat histories.
pub(super) const FORMAT: Format = Format {
    name: "aider",
    describe: "Aider chat history (Markdown, .aider.chat.history.md)",
    tried: Tried::Documentation,
    sniff,
    read: Read::All(read),
    beside: None,
};

fn sniff(head: &Head) -> bool {
    let text = head.text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with(START)
}

fn read(source: &mut Source<'_>, _: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let stem = source.stem().to_owned();
    let mut sessions: Vec<Session> = Vec::new();
    let text = source.text()?;
    let text = text.trim_start_matches('\u{feff}');
    let whole = without_torn_mark(text);
    for (number, line) in (1..).zip(whole.lines()) {
        if let Some(at) = line.strip_prefix(START) {
            let id = format!("{stem}-{}", sessions.len() + 1);
            sessions.push(Session::new(&id, at));
        } else if let Some(session) = sessions.last_mut() {
            session.line(number, line);
        }
    }
    if let Some(session) = sessions.last_mut() {
        let torn = u64::from(whole.len() < text.len());
        session.recorder.draft.leave_out("torn last line", torn);
    }
    Ok(sessions.into_iter().map(Session::finish).collect())
}

/// The text without a last line that is cut within the mark it begins with,
/// which would be taken for the model's. Aider ends every line that it writes.
fn without_torn_mark(text: &str) -> &str {
    let (before, last) = text.split_at(text.rfind('\n').map_or(0, |at| at + 1));
    let is_torn = !last.is_empty()
        && ["#### ", "> ", START]
            .iter()
            .any(|mark| mark.len() > last.len() && mark.starts_with(last));
    if is_torn { before } else { text }
}

struct Session {
    recorder: Recorder,
    at: Option<Timestamp>,
    /// Whose lines are open, the first of them, and their text.
    open: Option<(Role, u64, String)>,
}

impl Session {
    fn new(id: &str, at: &str) -> Session {
        // The local time of the user, whose zone is not written.
        let at = DateTime::strptime("%Y-%m-%d %H:%M:%S", at.trim());
        let at = at.and_then(|at| at.to_zoned(TimeZone::UTC)).map(|at| at.timestamp());
        Session { recorder: Recorder::new(id), at: at.ok(), open: None }
    }

    fn line(&mut self, number: u64, line: &str) {
        if let Some(text) = line.strip_prefix("####").filter(|text| !text.starts_with('#')) {
            self.add(Role::User, number, text.strip_prefix(' ').unwrap_or(text).trim_end());
        } else if line.starts_with("> ") || line.trim_end() == ">" {
            self.recorder.draft.leave_out("line that aider itself printed", 1);
            if self.is_open(Role::User) || line.starts_with("> Tokens: ") {
                self.close();
            }
        } else {
            if self.is_open(Role::User) {
                self.close();
            }
            self.add(Role::Assistant, number, line);
        }
    }

    fn add(&mut self, role: Role, number: u64, line: &str) {
        match &mut self.open {
            Some((open, _, text)) if *open == role => {
                text.push('\n');
                text.push_str(line);
            }
            // Blank lines stand around what the user says.
            _ if line.trim().is_empty() => {}
            _ => {
                self.close();
                self.open = Some((role, number, line.to_owned()));
            }
        }
    }

    fn is_open(&self, role: Role) -> bool {
        self.open.as_ref().is_some_and(|(open, ..)| *open == role)
    }

    fn close(&mut self) {
        if let Some((role, number, text)) = self.open.take() {
            let mut turn = Turn::new(role);
            turn.line = Some(number);
            // Only the first message has a time.
            turn.at = self.at.filter(|_| self.recorder.count() == 0);
            turn.text(text.trim_end());
            self.recorder.turn(turn);
        }
    }

    fn finish(mut self) -> Draft {
        self.close();
        self.recorder.finish()
    }
}
