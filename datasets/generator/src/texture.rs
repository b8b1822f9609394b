//! The texture of a session, beside that of real ones: how long its texts are,
//! how much of them stands in tool results, how much is said again.

use std::collections::HashSet;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use recap_core::model::{Block, Role, Session, sent};
use recap_core::tokens::Counter;

/// The names of the measures, in the order of [`Texture::values`].
pub const MEASURES: [&str; 6] = [
    "user message, characters",
    "agent text, characters",
    "tool result, characters",
    "share of tool output",
    "repetition",
    "gzip ratio",
];

/// Smallest and largest value of each measure.
pub type Bounds = [(f64, f64); 6];

/// First and third quartile of 15 sessions with at least ten tool results:
/// Claude Code (14), pi (1).
pub const CODING: Bounds = [
    (89.25, 183.0),
    (86.5, 115.25),
    (140.5, 335.25),
    (0.687, 0.891),
    (0.078, 0.181),
    (0.223, 0.240),
];

/// First and third quartile of 99 conversations of tau-bench (airline) with a
/// tool result: an assistant with tools.
pub const ASSISTANT: Bounds = [
    (72.5, 114.25),
    (224.25, 334.0),
    (496.5, 697.0),
    (0.441, 0.711),
    (0.016, 0.097),
    (0.225, 0.404),
];

/// The bounds for a kind: the quartiles of real coding sessions, and for the
/// other kinds, of which there are no recordings, the span of both lists.
pub fn bounds(kind: &str) -> Bounds {
    if kind == "coding-agent" {
        return CODING;
    }
    std::array::from_fn(|row| {
        (CODING[row].0.min(ASSISTANT[row].0), CODING[row].1.max(ASSISTANT[row].1))
    })
}

/// The texture of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Texture {
    /// Characters of the median user message.
    pub user: f64,
    /// Characters of the median text of the agent.
    pub agent: f64,
    /// Characters of the median tool result.
    pub result: f64,
    /// Share of the tokens that stand in tool results (o200k).
    pub tool_share: f64,
    /// Share of the windows of eight words that stood before.
    pub repetition: f64,
    /// Compressed size (gzip, level 6) by size.
    pub gzip: f64,
}

impl Texture {
    /// Measures a session.
    pub fn of(session: &Session) -> Texture {
        let counter = Counter::default();
        let (mut user, mut agent, mut result) = (Vec::new(), Vec::new(), Vec::new());
        let (mut all, mut tool) = (0, 0);
        let mut texts = Vec::new();
        let chars = |text: &str| text.chars().count() as f64;
        for message in &session.messages {
            for block in &message.blocks {
                let sent = sent(std::slice::from_ref(block));
                let tokens = counter.count(&sent);
                all += tokens;
                match block {
                    Block::Text { text } if message.role == Role::User => user.push(chars(text)),
                    Block::Text { text } => agent.push(chars(text)),
                    Block::ToolResult { text, .. } => {
                        tool += tokens;
                        result.push(chars(text));
                    }
                    _ => {}
                }
                texts.push(sent);
            }
        }
        let text = texts.join("\n");
        Texture {
            user: quantile(&mut user, 0.5),
            agent: quantile(&mut agent, 0.5),
            result: quantile(&mut result, 0.5),
            tool_share: tool as f64 / all as f64,
            repetition: repetition(&text),
            gzip: gzip(&text),
        }
    }

    /// The measures in the order of [`MEASURES`].
    pub fn values(&self) -> [f64; 6] {
        [self.user, self.agent, self.result, self.tool_share, self.repetition, self.gzip]
    }

    /// The measures that lie outside the bounds, by name and value.
    pub fn misses(&self, bounds: &Bounds) -> Vec<(&'static str, f64)> {
        let rows = MEASURES.into_iter().zip(self.values()).zip(bounds);
        let outside = rows.filter(|((_, value), (low, high))| !(*low..=*high).contains(value));
        outside.map(|(row, _)| row).collect()
    }
}

/// Linear between neighbours (type 7 of Hyndman and Fan 1996).
pub fn quantile(values: &mut [f64], q: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let at = q * last as f64;
    let (low, high) = (values[at.floor() as usize], values[at.ceil() as usize]);
    low + (high - low) * at.fract()
}

fn repetition(text: &str) -> f64 {
    let words: Vec<&str> = text.split_whitespace().collect();
    let all = words.windows(8).len();
    let distinct: HashSet<&[&str]> = words.windows(8).collect();
    1.0 - distinct.len() as f64 / all.max(1) as f64
}

fn gzip(text: &str) -> f64 {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(text.as_bytes()).expect("memory takes every byte");
    encoder.finish().expect("memory takes every byte").len() as f64 / text.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_linear_between_neighbours() {
        assert_eq!(quantile(&mut [4.0, 1.0, 3.0, 2.0], 0.5), 2.5);
        assert_eq!(quantile(&mut [10.0, 20.0, 30.0], 0.25), 15.0);
        assert_eq!(quantile(&mut [], 0.5), 0.0);
    }

    #[test]
    fn repetition_is_share_of_windows_seen_before() {
        // Sixteen words have nine windows of eight; the last repeats the first.
        let said = "a b c d e f g h";
        assert!((repetition(&format!("{said} {said}")) - 1.0 / 9.0).abs() < 1e-9);
        assert_eq!(repetition(said), 0.0);
    }

    #[test]
    fn measure_at_bound_fits_and_beyond_is_named() {
        let [user, agent, result, tool_share, repetition, gzip] = CODING.map(|(low, _)| low);
        let texture = Texture { user, agent, result, tool_share, repetition, gzip };
        assert_eq!(texture.misses(&CODING), []);
        let coarse = Texture { gzip: 0.241, user: 89.0, ..texture };
        let expected = [("user message, characters", 89.0), ("gzip ratio", 0.241)];
        assert_eq!(coarse.misses(&CODING), expected);
    }

    #[test]
    fn kinds_without_recordings_use_span_of_both_lists() {
        assert_eq!(bounds("coding-agent"), CODING);
        let span = bounds("assistant");
        assert_eq!(span[0], (72.5, 183.0));
        assert_eq!(span[5], (0.223, 0.404));
        assert_eq!(bounds("game-agent"), span);
    }
}
