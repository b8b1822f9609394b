//! The files of GSV: archived messages and daily memories.
//!
//! Source: GSV's paths `agents/{agentId}/sessions/{sessionId}.jsonl.gz`
//! and `agents/{agentId}/memory/{YYYY-MM-DD}.md`. A session has one archive of
//! all its messages once it was reset, and a partial one for each compaction
//! (ours: `{sessionId}-part{n}`). A line is a message as `datasets/` describes
//! it (ours: GSV says JSON lines).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::Deserialize;

use super::folding::set_note;
use crate::context::{Context, EntryId, OpError};
use crate::mechanism::StoredFile;
use crate::state::{PastSession, StrategyState};
use recap_core::model::MessageIndex;

/// Recorded messages as they were, one a line, packed.
fn pack(context: &Context, messages: impl Iterator<Item = MessageIndex>) -> Vec<u8> {
    let never = "memory takes every byte";
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    for message in messages.filter_map(|index| context.original(EntryId::message(index))) {
        serde_json::to_writer(&mut packed, message).expect("plain data serialises");
        packed.write_all(b"\n").expect(never);
    }
    packed.finish().expect(never)
}

/// The number of the open session, which names its files, so that the same run
/// writes the same ones.
pub(super) fn current_session(shared: &StrategyState) -> u32 {
    shared.sessions.len() as u32 + 1
}

/// The agent that owns the files, as one part of a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Agent(String);

impl Default for Agent {
    fn default() -> Self {
        Self("main".to_owned())
    }
}

impl TryFrom<String> for Agent {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if !name.is_empty() && name.chars().all(fits) {
            Ok(Self(name))
        } else {
            Err(format!("`{name}` is no agent id; write letters, digits, - and _"))
        }
    }
}

impl Agent {
    /// The archive of every closed session.
    pub(super) fn sessions(&self, context: &Context, shared: &StrategyState) -> Vec<StoredFile> {
        let archive =
            |past: &PastSession| self.archive(past.number, "", pack(context, past.from..past.to));
        shared.sessions.iter().map(archive).collect()
    }

    /// The partial archive of a session's `number`th compaction.
    pub(super) fn part(
        &self,
        context: &Context,
        session: u32,
        number: u32,
        messages: &[MessageIndex],
    ) -> StoredFile {
        let content = pack(context, messages.iter().copied());
        self.archive(session, &format!("-part{number}"), content)
    }

    fn archive(&self, session: u32, part: &str, content: Vec<u8>) -> StoredFile {
        let path = format!("agents/{}/sessions/session-{session}{part}.jsonl.gz", self.0);
        StoredFile { path, content }
    }

    /// The daily memory files.
    pub(super) fn memories(&self, days: &BTreeMap<String, Vec<String>>) -> Vec<StoredFile> {
        let file = |(day, lines): (&String, &Vec<String>)| StoredFile {
            path: format!("agents/{}/memory/{day}.md", self.0),
            content: file(lines).into_bytes(),
        };
        days.iter().map(file).collect()
    }
}

// Daily memory files: what compactions extracted, by simulated day (UTC).
//
// Source: GSV, "Memory Extraction": appended under a header with
// the time, several a day to one file; today's and yesterday's are loaded
// into every system prompt.

/// The note that holds the memories of today and yesterday.
const MEMORY_NOTE: &str = "daily-memory";

/// Lines of the daily files by day.
type Days = BTreeMap<String, Vec<String>>;

/// The memory files at one moment.
pub(super) struct Memories {
    /// The current day, as `YYYY-MM-DD`.
    day: String,
    yesterday: Option<String>,
    header: String,
}

impl Memories {
    /// At a moment of simulated time.
    pub(super) fn at(now: Timestamp) -> Self {
        let zoned = now.to_zoned(TimeZone::UTC);
        let today: Date = zoned.date();
        Self {
            day: today.to_string(),
            yesterday: today.checked_sub(1.day()).ok().map(|day| day.to_string()),
            header: format!(
                "### Extracted from context compaction ({:02}:{:02})",
                zoned.hour(),
                zoned.minute()
            ),
        }
    }

    /// The same moment, but writing to another day's file.
    pub(super) fn of_day(self, at: Timestamp) -> Self {
        Self { day: at.to_zoned(TimeZone::UTC).date().to_string(), ..self }
    }

    /// Memories that the day's file already contains, without its headers.
    pub(super) fn known(&self, days: &Days) -> Vec<String> {
        days.get(&self.day).into_iter().flatten().filter_map(|line| memory(line)).collect()
    }

    /// Appends under one header what the day's file, which the model was shown,
    /// does not contain yet. What an older file contains is recorded anew: it
    /// leaves the prompts before this day's.
    pub(super) fn record(&self, days: &mut Days, mut found: Vec<String>) {
        let mut known: BTreeSet<String> =
            self.known(days).iter().map(|memory| normalised(memory)).collect();
        found.retain(|memory| {
            let key = normalised(memory);
            !key.is_empty() && known.insert(key)
        });
        if !found.is_empty() {
            let lines = days.entry(self.day.clone()).or_default();
            if lines.last() != Some(&self.header) {
                lines.push(self.header.clone());
            }
            lines.extend(found.iter().map(|memory| format!("- {}", one_line(memory))));
        }
    }

    /// Puts yesterday's and today's files into the system prompt.
    pub(super) fn show(&self, context: &mut Context, days: &Days) -> Result<(), OpError> {
        set_note(context, MEMORY_NOTE, self.note(days))
    }

    /// The note with yesterday's and today's files; `None` where both are empty.
    fn note(&self, days: &Days) -> Option<String> {
        let shown = self.yesterday.iter().chain([&self.day]);
        let files: Vec<String> = shown
            .filter_map(|day| Some(format!("## Memory of {day}\n{}", days.get(day)?.join("\n"))))
            .collect();
        (!files.is_empty()).then(|| files.join("\n\n"))
    }
}

/// A day's file as Markdown: each header a paragraph, each memory an item.
pub(super) fn file(lines: &[String]) -> String {
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        let is_header = memory(line).is_none();
        text.push_str(if is_header && number > 0 { "\n" } else { "" });
        text.push_str(line);
        text.push_str(if is_header { "\n\n" } else { "\n" });
    }
    text
}

/// Memories as the lines of a prompt.
pub(super) fn bullets(memories: &[String]) -> String {
    memories.iter().map(|memory| format!("- {memory}")).collect::<Vec<_>>().join("\n")
}

fn memory(line: &str) -> Option<String> {
    line.strip_prefix("- ").map(str::to_owned)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Memories that differ only in case, punctuation and spacing are the same.
fn normalised(text: &str) -> String {
    let words = text
        .split(|c: char| !c.is_alphanumeric() && !"+#".contains(c))
        .filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seed 004: `agents/{agentId}/…`
    #[test]
    fn an_agent_is_one_part_of_a_path() {
        for name in ["main", "Agent_7-b"] {
            assert!(Agent::try_from(name.to_owned()).is_ok(), "{name}");
        }
        for name in ["", "..", "a/b", "a\\b", "a.b", "ä", "C:"] {
            assert!(Agent::try_from(name.to_owned()).is_err(), "{name}");
        }
    }

    #[test]
    fn sessions_are_numbered_from_one() {
        let mut shared = StrategyState::default();
        assert_eq!(current_session(&shared), 1);
        let closed = "2026-01-18T14:30:00Z".parse().unwrap();
        let past = PastSession { number: 1, from: 0, to: 3, summary: None, closed };
        shared.sessions.push(past);
        assert_eq!(current_session(&shared), 2);
    }

    fn at(time: &str) -> Memories {
        Memories::at(time.parse().unwrap())
    }

    fn facts(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    /// Seed 004: `### Extracted from context compaction (HH:MM)`
    #[test]
    fn each_extraction_has_a_header_with_its_time() {
        let mut days = Days::new();
        at("2026-01-18T14:30:00Z").record(&mut days, facts(&["Uses pnpm, not npm."]));
        at("2026-01-18T16:05:59Z").record(&mut days, facts(&["Tests run with vitest."]));
        let file = [
            "### Extracted from context compaction (14:30)",
            "- Uses pnpm, not npm.",
            "### Extracted from context compaction (16:05)",
            "- Tests run with vitest.",
        ];
        assert_eq!(days, Days::from([("2026-01-18".to_owned(), facts(&file))]));
    }

    /// Seed 004: `agents/{agentId}/memory/{YYYY-MM-DD}.md`
    #[test]
    fn day_file_is_markdown_with_section_per_extraction() {
        let mut days = Days::new();
        at("2026-01-18T14:30:00Z").record(&mut days, facts(&["Uses pnpm.", "Likes tea."]));
        at("2026-01-18T16:05:00Z").record(&mut days, facts(&["Tests run with vitest."]));
        let expected = "### Extracted from context compaction (14:30)\n\n\
                        - Uses pnpm.\n- Likes tea.\n\n\
                        ### Extracted from context compaction (16:05)\n\n\
                        - Tests run with vitest.\n";
        assert_eq!(file(&days["2026-01-18"]), expected);
    }

    /// Seed 004: avoids duplicating already-recorded facts of the day (ours: it is held to it)
    #[test]
    fn recorded_memory_is_not_recorded_again_that_day() {
        let mut days = Days::new();
        at("2026-01-17T10:00:00Z").record(&mut days, facts(&["Uses pnpm, not npm."]));
        let found = facts(&["Likes C++", "Likes C#", "likes c++!"]);
        at("2026-01-18T10:00:00Z").record(&mut days, found);
        assert_eq!(days["2026-01-18"][1..], ["- Likes C++", "- Likes C#"]);
        at("2026-01-18T11:00:00Z").record(&mut days, facts(&["Likes C#."]));
        assert_eq!(days["2026-01-18"].len(), 3, "no header without a memory");
        // Another day's file does not count.
        at("2026-01-18T12:00:00Z").record(&mut days, facts(&["uses PNPM not npm"]));
        assert_eq!(days["2026-01-18"][4..], ["- uses PNPM not npm"]);
    }

    /// Seed 004: today's and yesterday's notes
    #[test]
    fn the_note_shows_yesterday_and_today_by_utc() {
        let mut days = Days::new();
        at("2026-01-17T23:59:00Z").record(&mut days, facts(&["old"]));
        at("2026-01-18T00:00:00Z").record(&mut days, facts(&["new"]));
        let note = at("2026-01-18T23:00:00Z").note(&days).unwrap();
        let (yesterday, today) = (note.find("- old").unwrap(), note.find("- new").unwrap());
        assert!(yesterday < today, "{note}");
        let note = at("2026-01-19T01:00:00Z").note(&days).unwrap();
        assert!(!note.contains("- old") && note.contains("- new"), "{note}");
        assert_eq!(at("2026-01-20T00:00:00Z").note(&days), None);
    }
}
