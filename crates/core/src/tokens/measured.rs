//! Sizes by what the provider counted (reference §0).
//!
//! From one request to the next a prompt grows by the messages in between. So
//! the provider's own count of every step is known, and messages weigh by it:
//! what the tokeniser makes of them, what the model thought and keeps sending
//! within a turn, and text that harnesses add and recordings do not show. A
//! prompt that is smaller than the one before lost something on the way. Only
//! what no report covers is counted with the vocabulary and the session's
//! factor: messages behind the last request, and what a strategy writes. Where no
//! prompt is reported at all, the sizes that the agent noted at its compactions stand
//! for them.

use super::calibration::{COLD_BELOW, KnownMessages, is_believable, reported_prompt};
use super::unseen::LEAST;
use super::weight::{Shrink, Sizes, reported_output};
use super::{Counter, scale};
use crate::model::{Message, MessageIndex, Role, Session};

/// The sizes of a session's messages that follow from the reported prompts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Measured {
    /// Tokens of each message, and the part of them that is hidden text of the
    /// harness.
    pub messages: Vec<(u64, u64)>,
    /// Tokens before the first message that the recording does not show.
    pub hidden: u64,
    /// What messages lost while they stayed in the context, in the order of the requests.
    pub shrinks: Vec<Shrink>,
    /// For each recorded compaction the tokens of what replaced messages;
    /// `None` where nothing did, or no request shows it.
    pub put_back: Vec<Option<u64>>,
}

/// Weighs a session by its reported prompts. `exact` are the sizes by the
/// vocabulary; `factor` is the session's: the provider's tokens for one of ours.
///
/// What stands before the first message and is not shown is the preamble. A
/// session that goes on with an earlier one also has that conversation there,
/// until a compaction takes it away: what the prompt behind one has no room for
/// came with the first message.
pub(super) fn measure(
    session: &Session,
    exact: &Sizes,
    factor: f64,
    counter: &Counter,
) -> Measured {
    let found = walk(session, exact, factor, counter, 0);
    // A session may begin with a response, of which no prompt is known.
    let begins = session.messages.first().is_some_and(|first| !first.is_request());
    match found.earlier {
        0 => found.measured,
        _ if !begins => found.measured,
        earlier => walk(session, exact, factor, counter, earlier).measured,
    }
}

/// What one walk over a session found.
struct Walked {
    measured: Measured,
    /// Tokens before the first message that a compaction took away.
    earlier: u64,
}

/// Walks over the session. `earlier`: tokens that came with the first message.
fn walk(session: &Session, exact: &Sizes, factor: f64, counter: &Counter, earlier: u64) -> Walked {
    let counter = counter.scaled(factor);
    let estimates: Vec<u64> = exact.messages.iter().map(|w| scale(w.tokens, factor)).collect();
    let mut walk = Walk {
        silent: session.messages.iter().all(|message| reported_prompt(message).is_none()),
        messages: &session.messages,
        thought: vec![0; estimates.len()],
        lost: vec![0; estimates.len()],
        added: estimates.iter().map(|&tokens| (tokens, 0)).collect(),
        had: KnownMessages::new(session, estimates, &counter),
        hidden: None,
        preamble: scale(exact.preamble.tokens, factor),
        last: 0,
        step: 0,
        boundary: None,
        earlier: 0,
        shrinks: Vec::new(),
        put_back: vec![None; session.compactions.len()],
    };
    if earlier > 0 {
        walk.add(0, earlier, earlier);
    }
    // The last size that was noted may be the only one.
    let end = walk.silent.then_some(None);
    let mut boundaries = session.compactions.iter().enumerate().peekable();
    let mut changes = session.preamble_changes.iter().zip(&exact.preamble_changes).peekable();
    for (index, message) in (0..).zip(session.messages.iter().map(Some).chain(end)) {
        while let Some((number, boundary)) = boundaries.next_if(|(_, b)| b.after <= index) {
            // Nothing can have been compacted before the first message.
            if boundary.after > 0 {
                walk.told(index, boundary.tokens_before);
                if walk.had.compact(boundary) {
                    walk.boundary = Some(number);
                }
                walk.told(index, boundary.tokens_after);
            }
        }
        let Some(message) = message else { break };
        while let Some((_, weight)) = changes.next_if(|(change, _)| change.before <= index) {
            walk.preamble = scale(weight.tokens, factor);
        }
        if let (Some(prompt), Some(usage)) = (reported_prompt(message), message.usage) {
            walk.reported(index, prompt, usage.cache_read);
        }
        walk.had.append();
    }
    let Walk { added, hidden, shrinks, put_back, earlier, .. } = walk;
    let measured = Measured { messages: added, hidden: hidden.unwrap_or(0), shrinks, put_back };
    Walked { measured, earlier }
}

struct Walk<'a> {
    /// Whether no request reports its prompt: then the agent's own figures at its compactions
    /// are all that is known.
    silent: bool,
    messages: &'a [Message],
    had: KnownMessages<'a>,
    added: Vec<(u64, u64)>,
    /// Of those, tokens that each has lost since.
    lost: Vec<u64>,
    /// For each response, the tokens that the provider keeps sending although
    /// the recording does not show them.
    thought: Vec<u64>,
    /// `None` before the first report.
    hidden: Option<u64>,
    preamble: u64,
    /// The last prompt that was reported.
    last: u64,
    /// First message since then.
    step: MessageIndex,
    /// Recorded compaction since the last report.
    boundary: Option<usize>,
    /// Tokens before the first message that a compaction took away.
    earlier: u64,
    shrinks: Vec<Shrink>,
    put_back: Vec<Option<u64>>,
}

impl Walk<'_> {
    /// The size of the context that the agent itself noted at a compaction.
    fn told(&mut self, next: MessageIndex, tokens: Option<u64>) {
        match tokens.filter(|&tokens| tokens > 0 && is_believable(tokens)) {
            _ if !self.silent => {}
            Some(tokens) => self.reported(next, tokens, 0),
            // The next figure tells nothing of what took the place of messages.
            None => self.boundary = None,
        }
    }

    /// A request whose prompt the provider counted, before its response.
    /// `read`: the part that was read from a cache.
    fn reported(&mut self, request: MessageIndex, prompt: u64, read: u64) {
        // A request that reads the whole last prompt has it unchanged.
        let unchanged = read as f64 >= COLD_BELOW * self.last as f64;
        let shown = self.preamble + self.had.tokens;
        let hidden = *self.hidden.get_or_insert(prompt.saturating_sub(shown));
        let mut off = prompt as i64 - (hidden + shown) as i64;
        if let Some(number) = self.boundary.take() {
            let over = off.min(0).unsigned_abs();
            off = self.size_what_was_put_back(number, off);
            // Not even an empty replacement leaves room for what was hidden.
            if off < 0 && !self.had.holds(0) && over > self.least(prompt) {
                self.earlier = self.earlier.max(over.min(hidden));
            }
        }
        match off {
            0 => {}
            1.. => self.grow(request, off as u64, prompt),
            _ => self.shrink(request, off.unsigned_abs(), unchanged),
        }
        self.last = prompt;
        self.step = request;
    }

    /// The first prompt after a compaction gives the size of the agent's
    /// replacement. If that would be negative, the rest is returned.
    fn size_what_was_put_back(&mut self, number: usize, off: i64) -> i64 {
        let written = self.had.summary.unwrap_or(0) as i64;
        let sized = (written + off).max(0);
        self.had.tokens = self.had.tokens - written as u64 + sized as u64;
        self.had.summary = Some(sized as u64);
        self.put_back[number] = Some(sized as u64);
        written + off - sized
    }

    /// Tokens up to which a prompt may differ from what was counted.
    fn least(&self, prompt: u64) -> u64 {
        LEAST.0.max(LEAST.1 * prompt as f64) as u64
    }

    /// The messages of the step are larger than counted: by the reasoning of
    /// the response, where its output is known; else all of them by a little,
    /// or, if it is much, the last one that is not the model's, which carried
    /// hidden text.
    fn grow(&mut self, request: MessageIndex, mut more: u64, prompt: u64) {
        let step: Vec<MessageIndex> =
            (self.step..request).filter(|&message| self.had.holds(message)).collect();
        for &message in &step {
            let output = reported_output(&self.messages[message as usize]).unwrap_or(0);
            let thought = output.saturating_sub(self.had.size(message)).min(more);
            self.thought[message as usize] += thought;
            self.add(message, thought, 0);
            more -= thought;
        }
        let is_models =
            |message: &MessageIndex| self.messages[*message as usize].role == Role::Assistant;
        let carrier = step.iter().rfind(|message| !is_models(message)).or(step.last());
        let Some(&carrier) = carrier else {
            // No message came: the preamble itself grew, and may shrink again.
            return;
        };
        if more > self.least(prompt) && !self.silent {
            return self.add(carrier, more, more);
        }
        for (message, share) in self.shares(&step, more) {
            self.add(message, share, 0);
        }
    }

    /// The prompt is smaller than counted: the reasoning of earlier responses
    /// is dropped when the user speaks, if the cache shows a change further up;
    /// else the messages of the step are smaller; else something was removed
    /// that the recording does not show, the newest first.
    fn shrink(&mut self, request: MessageIndex, mut less: u64, unchanged: bool) {
        let step: Vec<MessageIndex> =
            (self.step..request).filter(|&message| self.had.holds(message)).collect();
        let opens_turn =
            step.iter().any(|&message| self.messages[message as usize].role == Role::User);
        let older: Vec<MessageIndex> =
            self.had.newest_first().filter(|message| *message < self.step).collect();
        if opens_turn && !unchanged {
            for &message in &older {
                let thought = self.thought[message as usize].min(less);
                self.thought[message as usize] -= thought;
                less -= self.lose(request, message, thought);
            }
        }
        let all: u64 = step.iter().map(|&message| self.had.size(message)).sum();
        let own = less.min(all);
        for (message, share) in self.shares(&step, own) {
            let left = self.had.size(message) - share;
            self.had.resize(message, left);
            self.added[message as usize].0 -= share.min(self.added[message as usize].0);
        }
        less -= own;
        for message in older {
            if less == 0 {
                return;
            }
            less -= self.lose(request, message, less);
        }
    }

    /// Distributes tokens over messages in proportion to their sizes, without a
    /// remainder; no message gets more than its size if the total allows it.
    fn shares(&self, step: &[MessageIndex], tokens: u64) -> Vec<(MessageIndex, u64)> {
        let all: u64 = step.iter().map(|&message| self.had.size(message)).sum();
        let (mut sizes, mut given) = (0, 0);
        let each = step.iter().enumerate().map(|(at, &message)| {
            sizes += self.had.size(message);
            let upto = match all {
                // Without any size the last message takes it.
                0 => tokens * u64::from(at + 1 == step.len()),
                _ => (u128::from(tokens) * u128::from(sizes) / u128::from(all)) as u64,
            };
            let share = upto - given;
            given = upto;
            (message, share)
        });
        each.collect()
    }

    /// A message came with additional tokens, some of which are hidden text.
    fn add(&mut self, message: MessageIndex, tokens: u64, hidden: u64) {
        self.had.resize(message, self.had.size(message) + tokens);
        let added = &mut self.added[message as usize];
        *added = (added.0 + tokens, added.1 + hidden);
    }

    /// From a request on, a message has `tokens` fewer tokens, but not less
    /// than none. Returns by how many it was reduced.
    fn lose(&mut self, request: MessageIndex, message: MessageIndex, tokens: u64) -> u64 {
        let at = message as usize;
        // A cleared result may be larger than the replacement.
        let tokens = tokens.min(self.had.size(message)).min(self.added[at].0 - self.lost[at]);
        if tokens > 0 {
            self.lost[at] += tokens;
            self.had.resize(message, self.had.size(message) - tokens);
            self.shrinks.push(Shrink { before: request, message, tokens });
        }
        tokens
    }
}

#[cfg(test)]
#[path = "measured_tests.rs"]
mod tests;
