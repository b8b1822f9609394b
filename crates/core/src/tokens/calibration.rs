//! What recorded usage tells about the provider's count (reference §0).
//!
//! A provider counts with a vocabulary of its own and in front of more than a
//! recording shows. Both follow from the prompts that it reported: prompt ≈
//! hidden + factor × counted, a least-squares line over the requests between
//! two recorded boundaries. Least squares, and not a robust line, since its
//! errors sum to zero: sums of simulated reads and writes stay right. Text that
//! came in between and is not shown (`unseen`) is counted for the message that
//! carries it.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{Counter, Sizes, unseen};
use crate::model::{
    CLEARED, Calibration, Fit, MOST_TOKENS, Message, MessageIndex, RecordedCompaction, Session,
};

/// Plausible factors between two vocabularies. The widest gap that OpenAI names
/// is 4.4 (o200k against cl100k on Gujarati, "Hello GPT-4o", 2024-05-13).
/// Outside, the prompts do not depend on the messages.
pub(super) const FACTORS: std::ops::RangeInclusive<f64> = 0.2..=5.0;

/// Fewest readings for a meaningful error: a line fits two exactly.
const FEWEST_FITTED: usize = 3;
/// Fewest readings for fitting a line to each half.
const FEWEST_HALVED: usize = 4;

/// A prompt that reads less than this share of what was read and written before
/// has lost its cache (reference §2).
pub(super) const COLD_BELOW: f64 = 0.9;
/// Reads that differ by less than this share are of one prefix.
const SAME_READ: f64 = 0.01;
/// How far a read may exceed the fitted hidden part, which is only an estimate.
const HIDDEN_SLACK: f64 = 0.05;

/// A recorded request: the provider's count, and ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Position of the response in the session.
    pub message: MessageIndex,
    /// First message of its stretch: 0, or the position of a recorded boundary.
    pub from: MessageIndex,
    /// Tokens of the context that the recorded agent had, by the vocabulary:
    /// visible preamble and messages.
    pub counted: u64,
    /// Tokens of the prompt that the provider reported.
    pub prompt: u64,
    /// Of those, read from its cache.
    pub read: u64,
    /// Of those, written to it.
    pub written: u64,
    /// Of the prompt, hidden text that came with messages
    /// ([`Calibration::unseen`]).
    pub unseen: u64,
}

/// Whether a reported figure can be a count of tokens.
pub(super) fn is_believable(tokens: u64) -> bool {
    tokens <= MOST_TOKENS
}

/// The prompt that the provider reported for a request. Aborted requests
/// report none.
pub(super) fn reported_prompt(message: &Message) -> Option<u64> {
    let usage = message.usage.filter(|_| message.is_request())?;
    Some(usage.prompt()).filter(|&prompt| prompt > 0 && is_believable(prompt))
}

/// Fits the provider's counts to ours. `sizes` are exact. `None` without usage.
pub fn calibrate(session: &Session, sizes: &Sizes, counter: &Counter) -> Option<Calibration> {
    let (readings, unseen) = read(session, sizes, counter);
    let stretches: Vec<&[Reading]> = readings.chunk_by(|a, b| a.from == b.from).collect();
    let first = stretches.first()?;
    let line = FitLine::through(first);
    let fits = stretches.iter().enumerate().map(|(number, stretch)| {
        // One size for the whole run: that of the first stretch.
        let sized = stretch.iter().map(|reading| reading.sized(line.factor)).collect::<Vec<_>>();
        let FitLine { hidden, factor } = if number == 0 { line } else { FitLine::through(&sized) };
        Fit { from: stretch[0].from, hidden, factor, requests: stretch.len() as u32 }
    });
    Some(Calibration {
        fits: fits.collect(),
        unseen,
        global: global_part(&readings, line.hidden),
        in_sample: Some(first).filter(|f| f.len() >= FEWEST_FITTED).and_then(|f| line.error_on(f)),
        forward: forward(first, &session.messages),
        after_boundary: line.error_on(&readings[first.len()..]),
    })
}

/// Error on the second half of a stretch when only the first half is fitted,
/// and only its hidden text is known.
fn forward(stretch: &[Reading], messages: &[Message]) -> Option<f64> {
    if stretch.len() < FEWEST_HALVED {
        return None;
    }
    let plain: Vec<Reading> = stretch.iter().map(|r| Reading { unseen: 0, ..*r }).collect();
    let (first, second) = plain.split_at(plain.len() / 2);
    let (mut first, mut second) = (first.to_vec(), second.to_vec());
    let unseen: u64 = unseen::mark(&mut first, messages).iter().map(|(_, tokens)| tokens).sum();
    second.iter_mut().for_each(|reading| reading.unseen = unseen);
    FitLine::through(&first).error_on(&second)
}

/// Every request with usage. The context is what the recorded agent had, as
/// the strategy `recorded` sends it, counted by the vocabulary alone: `sizes` are
/// exact, and a counter's scale is left aside.
pub fn readings(session: &Session, sizes: &Sizes, counter: &Counter) -> Vec<Reading> {
    read(session, sizes, counter).0
}

/// The same, and the messages that carry hidden text.
fn read(
    session: &Session,
    sizes: &Sizes,
    counter: &Counter,
) -> (Vec<Reading>, Vec<(MessageIndex, u64)>) {
    let mut readings: Vec<Reading> = Vec::new();
    let mut unseen = Vec::new();
    if session.messages.iter().all(|message| reported_prompt(message).is_none()) {
        return (readings, unseen);
    }
    let counter = counter.scaled(1.0);
    let each = sizes.messages.iter().map(|weight| weight.tokens).collect();
    let mut had = KnownMessages::new(session, each, &counter);
    let mut boundaries = session.compactions.iter().peekable();
    let mut changes = session.preamble_changes.iter().zip(&sizes.preamble_changes).peekable();
    let mut preamble = sizes.preamble.tokens;
    // First message and first reading of the stretch.
    let (mut from, mut first) = (0, 0);
    // Hidden text of earlier stretches that is still in the context.
    let mut still = 0;
    for (index, message) in (0..).zip(&session.messages) {
        while let Some(boundary) = boundaries.next_if(|boundary| boundary.after <= index) {
            // Nothing can have been compacted before the first message.
            if boundary.after > 0 {
                let found = unseen::mark(&mut readings[first..], &session.messages);
                had.unseen.extend(found.iter().copied());
                unseen.extend(found);
                (from, first) = (boundary.after, readings.len());
                had.compact(boundary);
                still = had.unseen.values().sum();
            }
        }
        while let Some((_, weight)) = changes.next_if(|(change, _)| change.before <= index) {
            preamble = weight.tokens;
        }
        if let (Some(usage), Some(prompt)) = (message.usage, reported_prompt(message)) {
            readings.push(Reading {
                message: index,
                from,
                counted: preamble + had.tokens,
                prompt,
                read: usage.cache_read,
                written: usage.cache_write_5m + usage.cache_write_1h,
                unseen: still,
            });
        }
        had.append();
    }
    unseen.extend(unseen::mark(&mut readings[first..], &session.messages));
    (readings, unseen)
}

/// The messages in the recorded agent's context, at one point of a walk over
/// the session.
pub(super) struct KnownMessages<'a> {
    session: &'a Session,
    counter: &'a Counter,
    /// Tokens of each message, as far as the walk knows them.
    pub(super) each: Vec<u64>,
    /// Message of each call's result.
    results: FxHashMap<String, MessageIndex>,
    /// Recorded messages before the tail that the agent kept.
    kept: Vec<MessageIndex>,
    /// Recorded messages `from..seen` are in the context.
    from: MessageIndex,
    seen: MessageIndex,
    /// Size of what the recorded agent put in the place of removed messages.
    pub(super) summary: Option<u64>,
    /// Tokens of the whole context.
    pub(super) tokens: u64,
    /// Hidden text of earlier stretches, by the message that carries it.
    unseen: BTreeMap<MessageIndex, u64>,
}

impl<'a> KnownMessages<'a> {
    /// An empty context. `each`: tokens of each message; `counter` counts what
    /// replaces others.
    pub(super) fn new(session: &'a Session, each: Vec<u64>, counter: &'a Counter) -> Self {
        Self {
            session,
            counter,
            each,
            results: session.results(),
            kept: Vec::new(),
            from: 0,
            seen: 0,
            summary: None,
            tokens: 0,
            unseen: BTreeMap::new(),
        }
    }

    /// Adds the next message.
    pub(super) fn append(&mut self) {
        self.tokens += self.size(self.seen);
        self.seen += 1;
    }

    pub(super) fn size(&self, message: MessageIndex) -> u64 {
        self.each[message as usize]
    }

    /// Gives a message another size.
    pub(super) fn resize(&mut self, message: MessageIndex, tokens: u64) {
        let old = std::mem::replace(&mut self.each[message as usize], tokens);
        if self.holds(message) {
            self.tokens = self.tokens - old + tokens;
        }
    }

    /// The messages in the context, newest first.
    pub(super) fn newest_first(&self) -> impl Iterator<Item = MessageIndex> + use<> {
        let kept = self.kept.clone().into_iter().rev();
        (self.from..self.seen).rev().chain(kept)
    }

    /// Applies a recorded boundary. Returns whether something replaced
    /// messages.
    pub(super) fn compact(&mut self, boundary: &RecordedCompaction) -> bool {
        for call in &boundary.cleared {
            let result = self.results.get(call).copied();
            if let Some(result) = result.filter(|&r| self.holds(r)) {
                self.clear(result);
            }
        }
        let goes = |message: &MessageIndex| !boundary.keeps(*message);
        let covers = self.summary.is_some()
            || self.kept.iter().any(goes)
            || (self.from..boundary.kept_from.min(self.seen)).any(|message| goes(&message));
        if !(covers && boundary.folds()) {
            return false;
        }
        let to = boundary.kept_from.clamp(self.from, self.seen);
        let before: Vec<MessageIndex> = self.kept.drain(..).chain(self.from..to).collect();
        for message in before {
            if boundary.keeps(message) {
                self.kept.push(message);
            } else {
                self.tokens -= self.size(message);
                self.unseen.remove(&message);
            }
        }
        self.from = to;
        self.tokens -= self.summary.take().unwrap_or(0);
        let texts = boundary.texts().map(|(_, text)| self.counter.count(text));
        self.summary = texts.reduce(|a, b| a + b);
        self.tokens += self.summary.unwrap_or(0);
        true
    }

    pub(super) fn holds(&self, message: MessageIndex) -> bool {
        (self.from..self.seen).contains(&message) || self.kept.contains(&message)
    }

    fn clear(&mut self, result: MessageIndex) {
        let mut left = self.session.messages[result as usize].clone();
        left.replace_result(CLEARED);
        self.resize(result, self.counter.count(&left.sent()));
        self.unseen.remove(&result);
    }
}

impl Reading {
    /// The same with its hidden text converted to our tokens, at `factor` of
    /// the provider's tokens for one of ours.
    fn sized(&self, factor: f64) -> Self {
        let unseen = (self.unseen as f64 / factor).round() as u64;
        Self { counted: self.counted + unseen, unseen: 0, ..*self }
    }

    /// The prompt without hidden text.
    fn shown(&self) -> f64 {
        self.prompt as f64 - self.unseen as f64
    }
}

/// The fitted line `prompt = hidden + factor × counted + unseen`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FitLine {
    hidden: f64,
    factor: f64,
}

impl FitLine {
    /// The least-squares line without a negative hidden part: through the
    /// origin where it would be negative. The factor is 1 where the readings do
    /// not determine it: with a single size, or for a slope that no vocabulary
    /// has.
    pub(super) fn through(readings: &[Reading]) -> Self {
        let points = || readings.iter().map(|r| (r.counted as f64, r.shown()));
        let mean = |value: fn((f64, f64)) -> f64| {
            points().map(value).sum::<f64>() / readings.len().max(1) as f64
        };
        let (counted, prompt) = (mean(|p| p.0), mean(|p| p.1));
        let squares: f64 = points().map(|(x, _)| (x - counted).powi(2)).sum();
        let products: f64 = points().map(|(x, y)| (x - counted) * (y - prompt)).sum();
        let factor = if squares > 0.0 { products / squares } else { 1.0 };
        let free = Self { hidden: prompt - factor * counted, factor };
        let line = if free.hidden < 0.0 { Self::through_origin(points()) } else { free };
        if FACTORS.contains(&line.factor) {
            line
        } else {
            Self { hidden: (prompt - counted).max(0.0), factor: 1.0 }
        }
    }

    fn through_origin(points: impl Iterator<Item = (f64, f64)>) -> Self {
        let (products, squares) =
            points.fold((0.0, 0.0), |(xy, xx), (x, y)| (xy + x * y, xx + x * x));
        Self { hidden: 0.0, factor: products / squares }
    }

    /// The predicted prompt minus the reported one, in tokens.
    fn error(self, reading: &Reading) -> f64 {
        self.hidden + self.factor * reading.counted as f64 - reading.shown()
    }

    /// Sum of absolute errors.
    pub(super) fn errors_on(self, readings: &[Reading]) -> f64 {
        readings.iter().map(|reading| self.error(reading).abs()).sum()
    }

    /// Median relative error; `None` on no readings.
    fn error_on(self, readings: &[Reading]) -> Option<f64> {
        let relative = |r: &Reading| self.error(r).abs() / r.prompt as f64;
        median(readings.iter().map(relative).collect())
    }
}

pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    let upper = *values.get(middle)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[middle - 1], upper) })
}

/// The part of the hidden preamble that sessions share and that stays in the
/// cache after a restart: the most frequent read after the cache was lost or
/// the context was compacted, of several the smallest. Without one, what the
/// very first request read. It cannot be larger than the hidden preamble.
fn global_part(readings: &[Reading], hidden: f64) -> Option<u64> {
    let restarted = readings.windows(2).filter(|pair| {
        let before = (pair[0].read + pair[0].written) as f64;
        pair[1].from != pair[0].from || (pair[1].read as f64) < COLD_BELOW * before
    });
    let most = hidden * (1.0 + HIDDEN_SLACK);
    let reads = restarted.map(|pair| pair[1].read);
    let mut reads: Vec<u64> = reads.filter(|&r| r > 0 && r as f64 <= most).collect();
    reads.sort_unstable();
    let like = |read: u64| {
        let near = read as f64 * SAME_READ;
        let from = reads.partition_point(|&other| (other as f64) < read as f64 - near);
        reads.partition_point(|&other| other as f64 <= read as f64 + near) - from
    };
    let most_frequent = reads.iter().copied().max_by_key(|&r| (like(r), std::cmp::Reverse(r)));
    let first = readings.first().map(|r| r.read);
    most_frequent.or_else(|| first.filter(|&r| r > 0 && r as f64 <= hidden))
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
