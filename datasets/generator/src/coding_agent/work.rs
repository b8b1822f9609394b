//! One session at work: the world, what is said, and the tools.

use serde_json::json;

use super::agenda::Agenda;
use super::facts::Shapes;
use super::ops::Environment;
use super::project::Checkout;
use super::runner::Run;
use crate::voice::Voice;
use crate::{Act, Phrases, Place, Script, Stream};

/// Lines that a long file is read in at a time.
const READ_LINES: usize = 160;

/// A session while it is being written.
pub struct Work<'a> {
    pub script: &'a mut Script,
    pub random: Stream,
    pub voice: Voice,
    pub shapes: Shapes,
    pub checkout: Checkout,
    pub environments: Vec<Environment>,
    pub facts: Phrases,
    pub rules: Phrases,
    pub lines: Phrases,
    pub asks: Phrases,
    pub agenda: Agenda,
    /// Files that were read.
    pub read: Vec<String>,
    /// Facts and rules that were acted on, by key.
    pub used: Vec<&'static str>,
    /// Services whose log was read.
    pub logged: Vec<&'static str>,
    /// Looks at each environment, and what was seen.
    pub seen: Vec<Vec<Place>>,
    pub snapshots: Vec<Vec<Environment>>,
    /// Topics of what is done, with the commit's place.
    pub done: Vec<(String, Place)>,
}

impl Work<'_> {
    /// A line of the agent.
    pub fn line(&mut self, section: &str, gaps: &[(&str, &str)]) -> String {
        self.lines.say(&mut self.random, section, gaps)
    }

    /// A line of the agent, or often none: agents call tools without a word.
    pub fn maybe(&mut self, section: &str, gaps: &[(&str, &str)]) -> String {
        if self.random.chance(35) { String::new() } else { self.line(section, gaps) }
    }

    /// The user writes `text`, with what is on the agenda; `keep` is typed
    /// without slips.
    pub fn user(&mut self, text: &str, remarks: usize, keep: &[String]) -> Place {
        let remarks = self.remarks(remarks);
        let mut parts = Vec::new();
        if !text.is_empty() {
            parts.push(self.voice.typed(&mut self.random, text, keep));
        }
        for remark in &remarks {
            parts.push(self.voice.typed(&mut self.random, &remark.text, &[]));
        }
        let joint = if self.random.chance(25) { "\n\n" } else { " " };
        let ended: Vec<String> = parts.iter().map(|part| ended(part)).collect();
        let mut said = ended.join(joint);
        if parts.len() == 1 {
            said.clone_from(&parts[0]);
        }
        let place = self.script.user(said);
        for remark in remarks {
            self.register(remark, place);
        }
        place
    }

    /// The agent calls tools.
    pub fn act(&mut self, text: String, acts: Vec<Act>) -> (Place, Vec<Place>) {
        self.script.act(text, acts)
    }

    /// Reads a whole file, or the part of a long one around `at`.
    pub fn reading(&mut self, path: &str, at: Option<usize>) -> Act {
        self.read.push(path.to_owned());
        let lines = self.checkout.repo.lines(path);
        match at {
            Some(at) => {
                let first = at.saturating_sub(8).max(1);
                let arguments = json!({"path": self.absolute(path), "offset": first, "limit": 40});
                Act::new("read_file", arguments, self.checkout.repo.read(path, first, 40))
            }
            None => {
                let text = self.checkout.repo.read(path, 1, READ_LINES);
                let rest = lines.saturating_sub(READ_LINES);
                let more = if rest > 0 { format!("\n({rest} more lines)") } else { String::new() };
                Act::new("read_file", json!({"path": self.absolute(path)}), text + &more)
            }
        }
    }

    /// A path as the tools take it.
    pub fn absolute(&self, path: &str) -> String {
        format!("/srv/{}/{path}", self.checkout.name)
    }

    /// Notes what is to be done; the tool answers with a word.
    pub fn noting(&self, items: &[(&str, &str)]) -> Act {
        let item = |(text, state): &(&str, &str)| json!({"content": text, "status": state});
        let todos: Vec<_> = items.iter().map(item).collect();
        let said =
            format!("Saved the list: {} items. Go on with what is in progress.", todos.len());
        Act::new("todo_write", json!({"todos": todos}), said)
    }

    /// Searches the files below `folder`.
    pub fn searching(&self, needle: &str, folder: &str) -> Act {
        let found = self.checkout.repo.grep(needle, folder, &self.absolute(""));
        let arguments = if folder.is_empty() {
            json!({"pattern": needle})
        } else {
            json!({"pattern": needle, "path": folder})
        };
        Act::new("grep", arguments, found)
    }

    /// Replaces text in a file.
    pub fn editing(&mut self, path: &str, old: &str, new: &str) -> Act {
        let line = self.checkout.repo.edit(path, old, new);
        let shown =
            self.checkout.repo.read(path, line.saturating_sub(2).max(1), new.lines().count() + 4);
        let path = self.absolute(path);
        let arguments = json!({"path": path, "old_string": old, "new_string": new});
        Act::new(
            "edit_file",
            arguments,
            format!(
                "{path} has been updated. The place with line numbers:
{shown}"
            ),
        )
    }

    /// Writes a file.
    pub fn writing(&mut self, path: &str, text: &str) -> Act {
        self.checkout.repo.write(path, text);
        let path = self.absolute(path);
        let said = format!("Wrote {} lines to {path}.", text.lines().count());
        Act::new("write_file", json!({"path": path, "content": text}), said)
    }

    /// Runs a command.
    pub fn running(&mut self, run: Run) -> Act {
        let seconds = self.random.number(1..=24);
        self.shell(&run.command, run.output).takes(seconds).failed(run.failed)
    }

    /// A command whose output is known.
    pub fn shell(&self, command: &str, output: String) -> Act {
        Act::new("bash", json!({"command": command}), output)
    }

    /// `n` questions about one thing have different wordings; this is one.
    pub fn question(&mut self, section: &str, gaps: &[(&str, &str)]) -> String {
        self.asks.say(&mut self.random, section, gaps)
    }
}

/// A sentence that another one can follow.
fn ended(text: &str) -> String {
    let closed = text.ends_with(['.', '!', '?', ':']);
    if closed { text.to_owned() } else { format!("{text}.") }
}
