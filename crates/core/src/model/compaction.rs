//! One compaction: its trigger, its effect, its cost, and the replies of its compactor.
//!
//! Unusable replies (how-it-works §47): after one, the context holds what the strategy's fallback
//! keeps, which says nothing about the strategy. A text that is returned for several inputs is
//! found among all replies to one strategy at one window, in any order of its cells. Asking the
//! same again is not a different input.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::report::UNUSABLE_WITHIN;
use super::{LatencySource, RunResults};

/// The result of one compaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompactionRow {
    /// Ordinal of the first request that sees it (the number of requests made before it).
    pub request: u32,
    /// Requests that had been made when it began: fewer than `request` where
    /// the conversation continued meanwhile.
    pub begun: u32,
    /// Messages that had arrived when it ran.
    pub messages_seen: u32,
    /// Made only for the questions at the end, not for a request of the recording:
    /// it is recorded, but neither counted nor billed (how-it-works §28).
    pub at_end: bool,
    /// Position of the stage in the strategy, from 0.
    pub stage: u32,
    /// Mechanism of the stage.
    pub mechanism: Arc<str>,
    /// The trigger, as written in the strategy.
    pub trigger: Arc<str>,
    /// Tokens of the context before. What a stage that hides (a window, `fifo`)
    /// had hidden the last time is shown again by then, so this is all it hides from.
    pub tokens_before: u64,
    /// Tokens of the context after.
    pub tokens_after: u64,
    /// Messages that a summary covers from here on.
    pub messages_folded: u32,
    /// Messages that were removed without a replacement.
    pub messages_evicted: u32,
    /// Messages of which a part was replaced or removed.
    pub messages_edited: u32,
    /// Calls to the compactor's model.
    pub model_calls: u32,
    /// Tokens that the compactor read.
    pub input_tokens: u64,
    /// Tokens that it wrote.
    pub output_tokens: u64,
    /// Latency of the model calls; absent where there were none.
    pub latency_ms: Option<f64>,
    /// How the latency was obtained; absent where there is none.
    pub latency_source: Option<LatencySource>,
    /// Whether it ran while the conversation continued.
    pub background: bool,
    /// What it fell back to, and why.
    pub fallback: Option<String>,
    /// The error, if it failed and the conversation continued unchanged.
    pub error: Option<String>,
    /// Texts that replaced the folded messages: hashes into `texts.jsonl`.
    pub texts: Vec<String>,
    /// The compactor's replies, call by call; without calls that bypassed the
    /// role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<ReplyFacts>,
    /// Whether it only selected what is sent, and left the stored context as it is.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub view: bool,
}

/// Why a compactor's reply is unusable: it says nothing about the strategy (how-it-works
/// §47).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Unusable {
    /// None came, at any attempt.
    NoReply,
    /// The reply holds no text.
    Empty,
    /// The model declined, or its provider rejected the request or withheld the
    /// reply.
    Refused,
    /// It ended before it was complete, whether or not its beginning was used.
    CutOff,
    /// Neither it nor the second reply had the requested shape.
    WrongShape,
    /// It is far shorter than a summary of what it replaces could be.
    TooShort,
    /// The same text came back for several different inputs.
    Repeated,
}

impl Unusable {
    /// The words after a count of such replies.
    pub fn words(self) -> &'static str {
        match self {
            Unusable::NoReply => "that never came",
            Unusable::Empty => "empty",
            Unusable::Refused => "refused",
            Unusable::CutOff => "cut off",
            Unusable::WrongShape => "of the wrong shape",
            Unusable::TooShort => "too short for what they replace",
            Unusable::Repeated => "the same text for different inputs",
        }
    }
}

/// Facts about one reply of a compactor: enough to tell whether it is unusable,
/// without its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyFacts {
    /// Hash of the input: prompt, messages, and the earlier summary.
    pub input: u64,
    /// Hash of the text that was used; absent where none could be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<u64>,
    /// Tokens of the messages that it is to replace.
    pub replaced: u64,
    /// Tokens of the text, without the model's reasoning; 0 where none was used.
    pub written: u64,
    /// Tokens that it was allowed to have.
    pub bound: u64,
    /// Why it is unusable, as far as this reply alone shows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unusable: Option<Unusable>,
}

impl ReplyFacts {
    /// Tokens from which a reply is never too short (how-it-works §47).
    const SHORT: u64 = 50;
    /// Divisor of the size of what is replaced: a reply of at least that share
    /// is never too short either (how-it-works §47: 1 %).
    const PART: u64 = 100;

    /// Whether the reply is too short for what it replaces: under 1 % of it and
    /// under 50 tokens, though its bound allowed for twice as many.
    pub fn is_too_short(&self) -> bool {
        let short =
            |tokens: u64| tokens < Self::SHORT && tokens.saturating_mul(Self::PART) < self.replaced;
        short(self.written) && self.bound >= 2 * Self::SHORT
    }
}

/// Number of different inputs for which the same text makes all of the replies
/// unusable (how-it-works §47).
const INPUTS: usize = 3;
/// Tokens from which an input deserves an account of its own (ours). Two short
/// messages, folded one pair after the other, may well come to the same.
const LARGE: u64 = 1_000;
/// Smallest ratio of such an input to its reply (our choice). A standing
/// summary to which nothing was added comes back as it was, and is most of what
/// it replaces.
const TIMES: u64 = 2;

/// Bounds from which a reply that is cut off is held against its model (ours).
/// Bounds scale with the window, and no model is told its own: one that is
/// given less room is cut off for no fault of its own.
const ROOM: u64 = 500;

/// Texts that were returned for too many different inputs: for three large
/// ones, or for three of any size and more than half of the time. Such a text
/// is unusable wherever it occurs.
#[derive(Clone, Debug, Default)]
pub struct Repeated(BTreeSet<u64>);

/// No text was returned for several inputs.
static NOTHING: Repeated = Repeated(BTreeSet::new());

/// Where one text was returned.
#[derive(Default)]
struct Uses {
    replies: usize,
    inputs: BTreeSet<u64>,
    large: BTreeSet<u64>,
}

impl Repeated {
    /// Finds them among the replies to one strategy at one window.
    pub fn among<'a>(replies: impl IntoIterator<Item = &'a ReplyFacts>) -> Self {
        let mut all = 0;
        let mut texts: BTreeMap<u64, Uses> = BTreeMap::new();
        for reply in replies {
            all += 1;
            let Some(text) = reply.text else { continue };
            let uses = texts.entry(text).or_default();
            uses.replies += 1;
            uses.inputs.insert(reply.input);
            if reply.replaced >= LARGE && reply.replaced >= TIMES * reply.written {
                uses.large.insert(reply.input);
            }
        }
        let too_often = |uses: &Uses| {
            uses.large.len() >= INPUTS || uses.inputs.len() >= INPUTS && uses.replies * 2 > all
        };
        Self(texts.into_iter().filter(|(_, uses)| too_often(uses)).map(|(text, _)| text).collect())
    }

    /// The reasons why a reply is unusable: none, one or two.
    pub fn reasons(&self, reply: &ReplyFacts) -> impl Iterator<Item = Unusable> + use<> {
        let repeated = reply.text.is_some_and(|text| self.0.contains(&text));
        let own = reply.unusable.filter(|why| *why != Unusable::CutOff || reply.bound >= ROOM);
        own.into_iter().chain(repeated.then_some(Unusable::Repeated))
    }
}

/// The texts that the compactor repeated, by strategy and window, cuts included.
#[derive(Clone, Debug, Default)]
pub struct RepeatedTexts(BTreeMap<String, BTreeMap<String, Repeated>>);

impl RepeatedTexts {
    /// Finds them among all replies of a run.
    pub fn of(results: &RunResults) -> Self {
        let mut in_sessions: BTreeMap<String, BTreeMap<String, Vec<ReplyFacts>>> = BTreeMap::new();
        let mut at_cuts: BTreeMap<String, Vec<ReplyFacts>> = BTreeMap::new();
        for session in results.iter() {
            for cell in session.cells() {
                let of_strategy = in_sessions.entry(cell.key.strategy.clone()).or_default();
                let own = of_strategy.entry(cell.key.window.clone()).or_default();
                let compactions = cell.rows().into_iter().flat_map(|rows| &rows.compactions);
                own.extend(compactions.flat_map(|compaction| &compaction.replies).cloned());
            }
            for row in session.cuts().iter().flat_map(|cut| &cut.rows) {
                let replies = row.exam().into_iter().flat_map(|exam| &exam.replies);
                at_cuts.entry(row.strategy.clone()).or_default().extend(replies.cloned());
            }
        }
        // A cut belongs to every window of its strategy.
        let found = in_sessions.into_iter().map(|(strategy, windows)| {
            let of_cuts = at_cuts.remove(&strategy).unwrap_or_default();
            let each = windows.into_iter();
            let each =
                each.map(|(window, own)| (window, Repeated::among(own.iter().chain(&of_cuts))));
            (strategy, each.collect())
        });
        Self(found.collect())
    }

    /// Those of a strategy at a window.
    pub fn of_row(&self, strategy: &str, window: &str) -> &Repeated {
        self.0.get(strategy).and_then(|windows| windows.get(window)).unwrap_or(&NOTHING)
    }

    /// Those of a strategy at its first window: what was repeated at cuts is among
    /// those of every window.
    pub fn at_cuts(&self, strategy: &str) -> &Repeated {
        self.0.get(strategy).and_then(|windows| windows.values().next()).unwrap_or(&NOTHING)
    }
}

/// Compactions that asked the compactor, and those of them that ended in the
/// strategy's fallback because no reply could be used (how-it-works §27).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, derive_more::AddAssign,
)]
pub struct Fallbacks {
    /// Number of compactions that asked.
    pub asked: u64,
    /// Number of those that fell back.
    pub fell_back: u64,
}

impl Fallbacks {
    /// Counts them among some compactions.
    pub fn among<'a>(compactions: impl IntoIterator<Item = &'a CompactionRow>) -> Self {
        let mut found = Self::default();
        for row in compactions.into_iter().filter(|row| !row.replies.is_empty()) {
            let failed = row.replies.iter().any(|reply| reply.unusable.is_some());
            found.asked += 1;
            found.fell_back += u64::from(failed && row.fallback.is_some());
        }
        found
    }

    /// Share of the compactions that fell back; `None` where none asked.
    pub fn share(&self) -> Option<f64> {
        (self.asked > 0).then(|| self.fell_back as f64 / self.asked as f64)
    }
}

/// Numbers of unusable replies, by reason, and of what came of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnusableReplies {
    /// Number of all replies.
    pub replies: u64,
    /// Number of the unusable replies.
    pub unusable: u64,
    /// Number of unusable replies for each reason; a reply may have two.
    pub reasons: BTreeMap<Unusable, u64>,
    /// The compactions that they were for.
    pub fallbacks: Fallbacks,
}

impl UnusableReplies {
    /// Counts one more reply.
    pub fn add(&mut self, reply: &ReplyFacts, repeated: &Repeated) {
        self.replies += 1;
        self.unusable += u64::from(repeated.reasons(reply).next().is_some());
        for reason in repeated.reasons(reply) {
            *self.reasons.entry(reason).or_default() += 1;
        }
    }

    /// Share of the replies that are unusable; `None` without replies.
    pub fn share(&self) -> Option<f64> {
        (self.replies > 0).then(|| self.unusable as f64 / self.replies as f64)
    }

    /// Whether more of them are unusable, or more compactions fell back, than a
    /// ranked row may have.
    pub fn are_too_many(&self) -> bool {
        let shares = [self.share(), self.fallbacks.share()];
        shares.into_iter().flatten().any(|share| share > UNUSABLE_WITHIN)
    }
}

impl std::ops::AddAssign<&UnusableReplies> for UnusableReplies {
    fn add_assign(&mut self, other: &Self) {
        self.replies += other.replies;
        self.unusable += other.unusable;
        other.reasons.iter().for_each(|(why, n)| *self.reasons.entry(*why).or_default() += n);
        self.fallbacks += other.fallbacks;
    }
}

#[cfg(test)]
mod reply_tests {
    use super::*;

    fn reply(written: u64, replaced: u64, bound: u64) -> ReplyFacts {
        ReplyFacts { input: 1, text: Some(2), replaced, written, bound, unusable: None }
    }

    #[test]
    fn reply_below_1_percent_and_50_tokens_is_too_short() {
        for (written, replaced, bound, short) in [
            (49, 4_901, 1_000, true),
            (49, 4_900, 1_000, false),
            (50, 1_000_000, 1_000, false),
            (5, 501, 1_000, true),
            (5, 500, 1_000, false),
            // A bound below 100 tokens allows it.
            (5, 100_000, 100, true),
            (5, 100_000, 99, false),
        ] {
            let found = reply(written, replaced, bound).is_too_short();
            assert_eq!(found, short, "{written} of {replaced}, {bound}");
        }
    }

    #[test]
    fn names_are_those_that_are_written() {
        let all = [
            Unusable::NoReply,
            Unusable::Empty,
            Unusable::Refused,
            Unusable::CutOff,
            Unusable::WrongShape,
            Unusable::TooShort,
            Unusable::Repeated,
        ];
        for unusable in all {
            let written = serde_json::to_value(unusable).unwrap();
            assert_eq!(written, unusable.as_str());
        }
    }
}

#[cfg(test)]
mod unusable_tests {
    use super::*;

    fn reply(input: u64, text: u64) -> ReplyFacts {
        let (replaced, written, bound) = (1_000, 100, 500);
        ReplyFacts { input, text: Some(text), replaced, written, bound, unusable: None }
    }

    fn failed(input: u64, why: Unusable) -> ReplyFacts {
        ReplyFacts { text: None, written: 0, unusable: Some(why), ..reply(input, 0) }
    }

    /// Counts the unusable ones among all replies to one strategy at one window.
    fn unusable_replies<'a>(replies: impl IntoIterator<Item = &'a ReplyFacts>) -> UnusableReplies {
        let replies: Vec<&ReplyFacts> = replies.into_iter().collect();
        let repeated = Repeated::among(replies.iter().copied());
        let mut found = UnusableReplies::default();
        replies.into_iter().for_each(|reply| found.add(reply, &repeated));
        found
    }

    fn found(replies: &[ReplyFacts]) -> (u64, u64, Vec<(Unusable, u64)>) {
        let found = unusable_replies(replies);
        (found.replies, found.unusable, found.reasons.into_iter().collect())
    }

    #[test]
    fn reported_unusable_replies_are_counted_by_reason() {
        let replies = [
            reply(1, 1),
            failed(2, Unusable::Empty),
            failed(3, Unusable::Empty),
            failed(4, Unusable::Refused),
            failed(5, Unusable::CutOff),
            failed(6, Unusable::WrongShape),
            ReplyFacts { unusable: Some(Unusable::TooShort), ..reply(7, 7) },
            reply(8, 8),
        ];
        let reasons = vec![
            (Unusable::Empty, 2),
            (Unusable::Refused, 1),
            (Unusable::CutOff, 1),
            (Unusable::WrongShape, 1),
            (Unusable::TooShort, 1),
        ];
        assert_eq!(found(&replies), (8, 6, reasons));
    }

    #[test]
    fn same_text_for_three_different_inputs_is_unusable() {
        let others = (10..20).map(|at| reply(at, at));
        let mut replies = vec![reply(1, 9), reply(2, 9), reply(3, 9), reply(3, 9)];
        replies.extend(others);
        assert_eq!(found(&replies), (14, 4, vec![(Unusable::Repeated, 4)]));
        replies.reverse();
        assert_eq!(found(&replies), (14, 4, vec![(Unusable::Repeated, 4)]));
        let two = &[reply(1, 9), reply(2, 9), reply(3, 3), reply(4, 4), reply(5, 5)];
        assert_eq!(found(two), (5, 0, vec![]));
    }

    #[test]
    fn same_input_may_repeat_the_same_text() {
        assert_eq!(found(&[reply(1, 9), reply(1, 9), reply(1, 9), reply(2, 9)]), (4, 0, vec![]));
    }

    #[test]
    fn small_inputs_may_share_text_up_to_half() {
        let small = |input, text| ReplyFacts { replaced: 999, ..reply(input, text) };
        let half = [1, 2, 3].map(|input| small(input, 9));
        let others = [4, 5, 6].map(|input| small(input, input));
        assert_eq!(found(&[half, others].concat()), (6, 0, vec![]));
        assert_eq!(
            found(&[&half[..], &others[..2]].concat()),
            (5, 3, vec![(Unusable::Repeated, 3)])
        );
        // What is repeated for large inputs is unusable for small ones as well.
        let large = [1, 2, 3].map(|input| reply(input, 9));
        let mixed = [&large[..], &[small(7, 9)], &others].concat();
        assert_eq!(found(&mixed), (7, 4, vec![(Unusable::Repeated, 4)]));
    }

    #[test]
    fn summary_with_little_new_input_may_be_repeated() {
        let row_kind = |input| ReplyFacts { replaced: 1_199, written: 600, ..reply(input, 9) };
        let others = [4, 5, 6].map(|input| reply(input, input));
        let stands = [1, 2, 3].map(row_kind);
        assert_eq!(found(&[stands, others].concat()), (6, 0, vec![]));
        let shorter = stands.map(|reply| ReplyFacts { replaced: 1_200, ..reply });
        assert_eq!(found(&[shorter, others].concat()), (6, 3, vec![(Unusable::Repeated, 3)]));
    }

    #[test]
    fn replies_without_a_text_repeat_nothing() {
        let replies = [1, 2, 3].map(|input| failed(input, Unusable::Refused));
        assert_eq!(found(&replies), (3, 3, vec![(Unusable::Refused, 3)]));
    }

    #[test]
    fn reply_with_two_reasons_counts_as_one_unusable() {
        let short = |input| ReplyFacts { unusable: Some(Unusable::TooShort), ..reply(input, 9) };
        let replies = [short(1), short(2), reply(3, 9)];
        assert_eq!(found(&replies), (3, 3, vec![(Unusable::TooShort, 2), (Unusable::Repeated, 3)]));
    }

    #[test]
    fn at_most_one_unusable_reply_in_twenty_passes() {
        let of = |all: u64| {
            let good = (1..all).map(|at| reply(at, at));
            unusable_replies(&good.chain([failed(0, Unusable::Empty)]).collect::<Vec<_>>())
        };
        assert!(!of(20).are_too_many());
        assert!(of(19).are_too_many());
        assert_eq!(unusable_replies(&[]).share(), None);
        assert!(!unusable_replies(&[]).are_too_many());
    }
}
