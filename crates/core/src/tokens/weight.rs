//! The size of a message in every unit that a trigger may use, and sums over
//! ranges of messages.

use derive_more::{Add, AddAssign, Sub, SubAssign};
use serde::{Deserialize, Serialize};

use super::calibration::{is_believable, reported_prompt};
use super::measured::measure;
use super::{Counter, scale};
use crate::model::{Message, MessageIndex, Session};

/// The size of a text in every unit.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    Add,
    AddAssign,
    Sub,
    SubAssign,
)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// Exact tokens of text and canonical calls.
    pub tokens: u64,
    /// Length in UTF-16 units, as JavaScript's `length` counts (GenCode).
    pub units: u64,
    /// Length of the message as JSON, in UTF-16 units (GSV).
    pub json_units: u64,
    /// Tokens of tool output that has not been replaced.
    pub tool_tokens: u64,
    /// Messages: one for each, so that sums count them.
    pub messages: u64,
}

impl Weight {
    /// The weight of a message as it is sent.
    pub fn of(message: &Message, counter: &Counter) -> Self {
        let text = Self::of_text(message.role.as_str(), &message.sent(), counter);
        let tool_tokens = if message.tool_result().is_some() { text.tokens } else { 0 };
        Self { tool_tokens, ..text }
    }

    /// The weight of a plain text in a role.
    pub fn of_text(role: &str, text: &str, counter: &Counter) -> Self {
        let units = units(text);
        Self {
            tokens: counter.count(text),
            units,
            json_units: json_units(role, text, units),
            tool_tokens: 0,
            messages: 1,
        }
    }

    /// The same in the provider's tokens; lengths in characters stay.
    fn scaled(self, factor: f64) -> Self {
        Self {
            tokens: scale(self.tokens, factor),
            tool_tokens: scale(self.tool_tokens, factor),
            ..self
        }
    }
}

fn units(text: &str) -> u64 {
    // One for each character, and one more for those that take four bytes.
    sum(text, |byte| u8::from(byte & 0xc0 != 0x80) + u8::from(byte >= 0xf0))
}

/// The sum over a text's bytes of a figure up to five. The sum of a part fits into a byte, so that
/// many are made at once.
fn sum(text: &str, figure: impl Fn(u8) -> u8) -> u64 {
    let parts = text.as_bytes().chunks(48);
    parts.map(|part| u64::from(part.iter().map(|&byte| figure(byte)).sum::<u8>())).sum()
}

/// `JSON.stringify({role, content}).length`: 24 units of frame, the role, the
/// content of `length` units with its escapes, all of which are ASCII.
fn json_units(role: &str, text: &str, length: u64) -> u64 {
    let escapes = sum(text, |byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 8 | 12 => 1,
        0..0x20 => 5,
        _ => 0,
    });
    const FRAME: u64 = r#"{"role":"","content":""}"#.len() as u64;
    FRAME + units(role) + length + escapes
}

/// All sizes of a session, which strategies share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sizes {
    /// Weight of each message.
    pub messages: Vec<Weight>,
    /// Weight of the visible preamble at the start.
    pub preamble: Weight,
    /// Weight of the preamble from each of the session's changes on.
    pub preamble_changes: Vec<Weight>,
    /// Tokens that the provider counted before the first message and the
    /// recording does not show (system prompt, tool definitions).
    pub hidden_tokens: u64,
    /// Output tokens of each message; 0 for those that are no requests.
    pub output: Vec<u64>,
    /// What messages lose while they stay, in the order of the requests; known
    /// where sizes are the provider's.
    pub shrinks: Vec<Shrink>,
    /// For each recorded compaction the tokens of what took the place of
    /// messages, where the provider reported the prompt behind it.
    pub put_back: Vec<Option<u64>>,
}

/// A reduction of a message's size from a request on: the model's reasoning
/// within a turn is dropped when the user speaks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shrink {
    /// The response of that request.
    pub before: MessageIndex,
    /// The message that becomes smaller.
    pub message: MessageIndex,
    /// By how many tokens; never more than it has.
    pub tokens: u64,
}

impl Sizes {
    /// Counts a session, each message once.
    pub fn of(session: &Session, counter: &Counter) -> Self {
        let messages: Vec<Weight> =
            session.messages.iter().map(|m| Weight::of(m, counter)).collect();
        let preamble = |change| {
            let text = session.preamble_since(change);
            let weight = || Weight::of_text("system", &text, counter);
            if text.is_empty() { Weight::default() } else { weight() }
        };
        let changes = 0..session.preamble_changes.len();
        let preamble_changes = changes.map(|change| preamble(Some(change))).collect();
        let preamble = preamble(None);
        let output = (session.messages.iter().zip(&messages))
            .map(|(message, weight)| output_tokens(message, weight, counter))
            .collect();
        let hidden_tokens = hidden_tokens(session, preamble.tokens, &messages);
        let put_back = vec![None; session.compactions.len()];
        let shrinks = Vec::new();
        Self { messages, preamble, preamble_changes, hidden_tokens, output, shrinks, put_back }
    }

    /// The same in the provider's tokens: messages weigh by the prompts that it
    /// reported, and what no report covers is scaled by the session's `factor`.
    /// Hidden text that came with a message counts with it, but is no tool's
    /// output.
    #[must_use]
    pub fn measured(&self, session: &Session, factor: f64, counter: &Counter) -> Self {
        let found = measure(session, self, factor, counter);
        let weigh = |(weight, (tokens, hidden)): (&Weight, &(u64, u64))| Weight {
            tokens: *tokens,
            tool_tokens: if weight.tool_tokens > 0 { tokens - hidden } else { 0 },
            ..*weight
        };
        let output = session.messages.iter().zip(&self.output).map(|(message, &counted)| {
            let least = least_output(message);
            let scaled = if counted > least { scale(counted, factor) } else { counted };
            reported_output(message).unwrap_or(scaled.max(least))
        });
        Self {
            messages: self.messages.iter().zip(&found.messages).map(weigh).collect(),
            preamble: self.preamble.scaled(factor),
            preamble_changes: self.preamble_changes.iter().map(|w| w.scaled(factor)).collect(),
            hidden_tokens: found.hidden,
            output: output.collect(),
            shrinks: found.shrinks,
            put_back: found.put_back,
        }
    }

    /// The sizes of some of the messages, in order, as `part` holds them: those
    /// with a text in the place of their result are counted, all else is known.
    /// `changed` counts the changes of the preamble that hold from the start,
    /// `boundaries` are the session's numbers of the part's compactions.
    #[must_use]
    pub fn part(
        &self,
        messages: &[(MessageIndex, Option<&str>)],
        part: &Session,
        (changed, boundaries): (usize, &[usize]),
        counter: &Counter,
    ) -> Self {
        let weights =
            messages.iter().zip(&part.messages).map(|(&(at, replaced), message)| match replaced {
                None => self.messages[at as usize],
                Some(_) => Weight { tool_tokens: 0, ..Weight::of(message, counter) },
            });
        let (first, later) = self.preamble_changes.split_at(changed);
        let shrinks = self.shrinks.iter().filter_map(|shrink| {
            let at = messages.binary_search_by_key(&shrink.message, |(m, _)| *m).ok()?;
            messages[at].1.is_none().then(|| Shrink {
                before: messages.partition_point(|(m, _)| *m < shrink.before) as MessageIndex,
                message: at as MessageIndex,
                tokens: shrink.tokens,
            })
        });
        Self {
            messages: weights.collect(),
            preamble: first.last().copied().unwrap_or(self.preamble),
            preamble_changes: later.to_vec(),
            hidden_tokens: self.hidden_tokens,
            output: messages.iter().map(|(at, _)| self.output[*at as usize]).collect(),
            shrinks: shrinks.collect(),
            put_back: boundaries.iter().map(|&number| self.put_back[number]).collect(),
        }
    }

    /// Tokens of every message together.
    pub fn all_messages(&self) -> u64 {
        self.messages.iter().map(|w| w.tokens).sum()
    }

    /// The largest output of any request.
    pub fn largest_output(&self) -> u64 {
        self.output.iter().copied().max().unwrap_or(0)
    }

    /// Preamble at the start, the hidden part included.
    pub fn preamble_tokens(&self) -> u64 {
        self.preamble.tokens + self.hidden_tokens
    }
}

/// The recorded output where it is final, else text, calls and visible
/// thinking counted, and no less than what was reported so far (reference §0).
fn output_tokens(message: &Message, weight: &Weight, counter: &Counter) -> u64 {
    if !message.is_request() {
        return 0;
    }
    reported_output(message).unwrap_or_else(|| {
        let counted = weight.tokens + counter.count(&message.reasoning());
        counted.max(least_output(message))
    })
}

/// What a response was reported to have written before its figure was final.
fn least_output(message: &Message) -> u64 {
    let usage = message.usage.filter(|_| message.is_request());
    usage.map(|usage| usage.output).filter(|&output| is_believable(output)).unwrap_or(0)
}

/// The provider's own figure of a response, where it is final.
pub(super) fn reported_output(message: &Message) -> Option<u64> {
    let usage = message.usage.filter(|usage| message.is_request() && usage.output_final)?;
    Some(usage.output).filter(|&output| output > 0 && is_believable(output))
}

/// The hidden preamble, read off the first recorded request: its prompt less
/// what the recording shows. Few messages stand before it, so the error of
/// counting them with another vocabulary is small. Zero without usage.
fn hidden_tokens(session: &Session, preamble: u64, messages: &[Weight]) -> u64 {
    let mut before = preamble;
    for (message, weight) in session.messages.iter().zip(messages) {
        if let Some(prompt) = reported_prompt(message) {
            return prompt.saturating_sub(before);
        }
        before += weight.tokens;
    }
    0
}

/// Prefix sums of weights that can change cheaply: a Fenwick tree. Append,
/// change and prefix sum take time logarithmic in the length.
#[derive(Clone, Debug, Default)]
pub struct WeightTree {
    nodes: Vec<Weight>,
}

impl WeightTree {
    /// A tree over the given weights.
    pub fn new(weights: impl IntoIterator<Item = Weight>) -> Self {
        let mut tree = Self::default();
        for weight in weights {
            tree.push(weight);
        }
        tree
    }

    /// Number of weights in the tree.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// Adds one at the end.
    pub fn push(&mut self, weight: Weight) {
        let at = self.nodes.len() + 1;
        let mut sum = weight;
        // A node covers the weights from `at - lowbit(at) + 1`: gather its children.
        let floor = at - (at & at.wrapping_neg());
        let mut child = at - 1;
        while child > floor {
            sum += self.nodes[child - 1];
            child -= child & child.wrapping_neg();
        }
        self.nodes.push(sum);
    }

    /// Replaces `old` by `new` at a position.
    pub fn change(&mut self, position: usize, old: Weight, new: Weight) {
        let mut at = position + 1;
        while at <= self.nodes.len() {
            let node = &mut self.nodes[at - 1];
            *node = *node + new - old;
            at += at & at.wrapping_neg();
        }
    }

    /// Sum of the first `count` weights.
    pub fn prefix(&self, count: usize) -> Weight {
        let mut sum = Weight::default();
        let mut at = count.min(self.nodes.len());
        while at > 0 {
            sum += self.nodes[at - 1];
            at -= at & at.wrapping_neg();
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weight(tokens: u64) -> Weight {
        Weight { tokens, units: tokens * 4, json_units: tokens * 5, tool_tokens: 0, messages: 1 }
    }

    #[test]
    fn a_tree_answers_like_plain_sums() {
        let mut plain: Vec<u64> = (1..40).map(|i| i * 7 % 13).collect();
        let mut tree = WeightTree::new(plain.iter().map(|&t| weight(t)));
        tree.change(17, weight(plain[17]), weight(100));
        plain[17] = 100;
        for count in 0..=plain.len() {
            assert_eq!(tree.prefix(count).tokens, plain[..count].iter().sum::<u64>());
        }
    }

    #[test]
    fn json_length_is_that_of_json_stringify() {
        let text = "a \"quoted\"\nline\u{1}é😀";
        let json = serde_json::json!({"role": "user", "content": text}).to_string();
        assert_eq!(json_units("user", text, units(text)), json.encode_utf16().count() as u64);
    }
}
