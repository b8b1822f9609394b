//! The files of GSV: archived messages and daily memories.
//!
//! Source: GSV's paths `agents/{agentId}/sessions/{sessionId}.jsonl.gz`
//! and `agents/{agentId}/memory/{YYYY-MM-DD}.md`. A session has one archive of
//! all its messages once it was reset, and a partial one for each compaction
//! (ours: `{sessionId}-part{n}`). A line is a message as `datasets/` describes
//! it (ours: GSV says JSON lines).

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::Deserialize;

use super::memories;
use crate::context::{Context, EntryId};
use crate::host::StoredFile;
use crate::state::StrategyState;
use recap_core::model::{Message, MessageIndex};

/// Longest line that is read, in bytes; as for a data set.
const MAX_LINE: u64 = 64 << 20;

/// Most bytes that are unpacked of one archive; as for a document.
const MAX_UNPACKED: u64 = 512 << 20;

/// Why an archive cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArchiveError {
    /// It is not a gzip file, or a broken one.
    #[error("the archive cannot be unpacked: {0}")]
    Packed(String),
    /// A line is not a message.
    #[error("line {line} of the archive is not a message: {problem}")]
    Line {
        /// The number of the line, from 1.
        line: u64,
        /// The problem of the line.
        problem: String,
    },
    /// A line is longer than the limit.
    #[error("line {line} of the archive is longer than {limit} bytes")]
    LineTooLong {
        /// The number of the line, from 1.
        line: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// It unpacks to more than the limit.
    #[error("the archive unpacks to more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
}

/// The messages of an archive (`…/sessions/….jsonl.gz`), in their order.
///
/// # Errors
/// Bytes that are no gzip, cut off, hold a line that is no message, or unpack
/// to more than 512 MiB in all or 64 MiB in a line.
pub fn read_archive(bytes: &[u8]) -> Result<Vec<Message>, ArchiveError> {
    read_within(bytes, MAX_LINE, MAX_UNPACKED)
}

fn read_within(bytes: &[u8], line_limit: u64, limit: u64) -> Result<Vec<Message>, ArchiveError> {
    // Reading one byte more than the limit shows whether there is more.
    let mut unpacked = BufReader::new(MultiGzDecoder::new(bytes).take(limit + 1));
    let mut messages = Vec::new();
    let mut text = Vec::new();
    let mut total = 0;
    for line in 1.. {
        text.clear();
        let read = (&mut unpacked).take(line_limit + 1).read_until(b'\n', &mut text);
        let read = read.map_err(|e| ArchiveError::Packed(e.to_string()))? as u64;
        total += read;
        if total > limit {
            return Err(ArchiveError::TooLarge { limit });
        }
        if read == 0 {
            break;
        }
        if read > line_limit {
            return Err(ArchiveError::LineTooLong { line, limit: line_limit });
        }
        let message = serde_json::from_slice(&text);
        messages.push(message.map_err(|e| ArchiveError::Line { line, problem: e.to_string() })?);
    }
    Ok(messages)
}

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

/// The id of the open session: they are numbered, so that the same run writes
/// the same files.
pub(super) fn current_session(shared: &StrategyState) -> String {
    format!("session-{}", shared.sessions.len() + 1)
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
        match !name.is_empty() && name.chars().all(fits) {
            true => Ok(Self(name)),
            false => Err(format!("`{name}` is no agent id; write letters, digits, - and _")),
        }
    }
}

impl Agent {
    /// The archive of every closed session.
    pub(super) fn sessions(&self, context: &Context, shared: &StrategyState) -> Vec<StoredFile> {
        let archive = |id: &str, messages| self.archive(id, pack(context, messages));
        shared.sessions.iter().map(|past| archive(&past.id, past.from..past.to)).collect()
    }

    /// The partial archive of a session's `number`th compaction.
    pub(super) fn part(
        &self,
        context: &Context,
        session: &str,
        number: u32,
        messages: &[MessageIndex],
    ) -> StoredFile {
        let content = pack(context, messages.iter().copied());
        self.archive(&format!("{session}-part{number}"), content)
    }

    fn archive(&self, name: &str, content: Vec<u8>) -> StoredFile {
        StoredFile { path: format!("agents/{}/sessions/{name}.jsonl.gz", self.0), content }
    }

    /// The daily memory files.
    pub(super) fn memories(&self, days: &BTreeMap<String, Vec<String>>) -> Vec<StoredFile> {
        let file = |(day, lines): (&String, &Vec<String>)| StoredFile {
            path: format!("agents/{}/memory/{day}.md", self.0),
            content: memories::file(lines).into_bytes(),
        };
        days.iter().map(file).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::{Block, Role};

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(text).unwrap();
        packed.finish().unwrap()
    }

    fn message(text: &str) -> Message {
        Message {
            id: "m0".to_owned(),
            role: Role::User,
            at: "2026-01-18T14:30:00Z".parse().ok(),
            blocks: vec![Block::Text { text: text.to_owned() }],
            usage: None,
            synthetic: false,
            broadcast: false,
        }
    }

    fn line(text: &str) -> String {
        serde_json::to_string(&message(text)).unwrap() + "\n"
    }

    /// Seed 004: an archive can be read
    #[test]
    fn arbitrary_messages_are_read_back_line_by_line() {
        let texts = ["one\ntwo", "\u{0} 😀 \"quoted\" \\", ""];
        let lines: String = texts.iter().map(|text| line(text)).collect();
        let expected: Vec<Message> = texts.iter().map(|text| message(text)).collect();
        assert_eq!(read_archive(&packed(lines.as_bytes())), Ok(expected.clone()));
        // The last line may lack its end.
        assert_eq!(read_archive(&packed(lines.trim_end().as_bytes())), Ok(expected));
        assert_eq!(read_archive(&packed(b"")), Ok(Vec::new()));
    }

    /// Seed 004: an archive can be read; what is no gzip or is cut off is refused (ours)
    #[test]
    fn non_gzip_or_truncated_input_is_always_refused() {
        let whole = packed(line("hello").as_bytes());
        for length in 0..whole.len() {
            let read = read_archive(&whole[..length]);
            assert!(matches!(read, Err(ArchiveError::Packed(_))), "{length}: {read:?}");
        }
        for bytes in [b"plain text".as_slice(), &[0x1f, 0x8b], &[0xff; 64]] {
            assert!(matches!(read_archive(bytes), Err(ArchiveError::Packed(_))), "{bytes:?}");
        }
        let followed = [whole, b"junk".to_vec()].concat();
        assert!(matches!(read_archive(&followed), Err(ArchiveError::Packed(_))));
    }

    /// Seed 004: an archive can be read; a line that is no message is named (ours)
    #[test]
    fn a_line_that_is_no_message_is_named() {
        let good = line("hello");
        for bad in ["not json", "[]", "{}", "\u{feff}{}", "\n", "{\"id\": \"m\"", "null"] {
            let read = read_archive(&packed(format!("{good}{bad}\n").as_bytes()));
            assert!(matches!(read, Err(ArchiveError::Line { line: 2, .. })), "{bad:?}: {read:?}");
        }
        let deep = "[".repeat(100_000);
        let read = read_archive(&packed(format!("{good}{deep}").as_bytes()));
        assert!(matches!(read, Err(ArchiveError::Line { line: 2, .. })), "{read:?}");
        let read = read_archive(&packed(b"{\"id\": \"\xff\"}"));
        assert!(matches!(read, Err(ArchiveError::Line { line: 1, .. })), "{read:?}");
    }

    /// Seed 004: an archive can be read; a huge one is unpacked no further than its limits
    /// (ours)
    #[test]
    fn huge_lines_and_archives_stop_at_unpack_limits() {
        let bomb = packed(&vec![b'a'; 10 << 20]);
        assert!(bomb.len() < 100_000, "{}", bomb.len());
        let read = read_within(&bomb, 1 << 20, 64 << 20);
        assert_eq!(read, Err(ArchiveError::LineTooLong { line: 1, limit: 1 << 20 }));
        let one = line("hello");
        let many = packed(one.repeat(1_000).as_bytes());
        let limit = one.len() as u64 * 999;
        assert_eq!(read_within(&many, 1 << 20, limit), Err(ArchiveError::TooLarge { limit }));
        let all = read_within(&many, one.len() as u64, one.len() as u64 * 1_000);
        assert_eq!(all.map(|messages| messages.len()), Ok(1_000), "the limits themselves fit");
    }

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
        assert_eq!(current_session(&shared), "session-1");
        let closed = "2026-01-18T14:30:00Z".parse().unwrap();
        let (id, summary) = (current_session(&shared), None);
        let past = crate::state::PastSession { id, from: 0, to: 3, summary, closed };
        shared.sessions.push(past);
        assert_eq!(current_session(&shared), "session-2");
    }
}
