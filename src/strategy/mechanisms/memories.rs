//! Daily memory files: what compactions extracted, by simulated day (UTC).
//!
//! Source: seed 004 (GSV), "Memory Extraction": appended under a header with
//! the time, several a day to one file; today's and yesterday's are loaded
//! into every system prompt.

use std::collections::{BTreeMap, BTreeSet};

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// Lines of the daily files by day.
type Days = BTreeMap<String, Vec<String>>;

/// The memory files as seen at one moment.
pub(super) struct Memories {
    /// Today, `YYYY-MM-DD`.
    pub day: String,
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

    /// Memories that the day's file holds already, without its headers.
    pub(super) fn known(&self, days: &Days) -> Vec<String> {
        days.get(&self.day).into_iter().flatten().filter_map(|line| memory(line)).collect()
    }

    /// Appends what no file says yet under one header; returns what was added.
    pub(super) fn record(&self, days: &mut Days, found: Vec<String>) -> Vec<String> {
        let mut known: BTreeSet<String> =
            days.values().flatten().filter_map(|line| Some(normalised(&memory(line)?))).collect();
        let mut added = found;
        added.retain(|memory| {
            let key = normalised(memory);
            !key.is_empty() && known.insert(key)
        });
        if !added.is_empty() {
            let lines = days.entry(self.day.clone()).or_default();
            if lines.last() != Some(&self.header) {
                lines.push(self.header.clone());
            }
            lines.extend(added.iter().map(|memory| format!("- {}", one_line(memory))));
        }
        added
    }

    /// The note with yesterday's and today's files; `None` where both are empty.
    pub(super) fn note(&self, days: &Days) -> Option<String> {
        let shown = self.yesterday.iter().chain([&self.day]);
        let files: Vec<String> = shown
            .filter_map(|day| Some(format!("## Memory of {day}\n{}", days.get(day)?.join("\n"))))
            .collect();
        (!files.is_empty()).then(|| files.join("\n\n"))
    }
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

/// Case, punctuation and spacing make no other memory.
fn normalised(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect::<Vec<_>>().join(" ")
}
