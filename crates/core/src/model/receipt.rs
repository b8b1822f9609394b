//! What recorded sessions cost, by what providers reported, and what filled their
//! contexts.

use std::collections::BTreeMap;

use derive_more::AddAssign;
use serde::{Deserialize, Serialize};

use super::{Absent, MessageIndex, RecordedCall, RecordedTrigger, RequestFacts, SessionTotal};

/// What the receipt of a session needs beside its other facts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReceiptFacts {
    /// The compactions of the recorded agent, in order.
    pub compactions: Vec<CompactionFacts>,
    /// For how many idle seconds a cache without reported writes lives, by
    /// [`RequestFacts::model`](super::RequestFacts::model); absent where no rules of a cache are
    /// known.
    pub lifetimes: Vec<Option<u32>>,
    /// What the contexts held.
    pub contents: Vec<Content>,
    /// Calls of subagents that answered, where no record tells what they used.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub missing_subagents: u64,
    /// The responses that another session counts, in order: they fill this one's context.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copied: Vec<RequestFacts>,
    /// The sessions that share history with it; absent where there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<String>,
    /// What each model used in all, where the recording says that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub totals: Vec<SessionTotal>,
}

/// A compaction of the recorded agent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompactionFacts {
    /// Messages `0..after` had been recorded when it happened.
    pub after: MessageIndex,
    /// The call that wrote its summary, where the recording reports it.
    pub call: Option<RecordedCall>,
    /// What triggered it.
    #[serde(default)]
    pub trigger: RecordedTrigger,
    /// Whether messages were removed; else only results of tools were cleared.
    #[serde(default)]
    pub folds: bool,
    /// Tokens of the context just before it, as the agent reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
    /// Tokens of its summary, as the run counts them.
    #[serde(default)]
    pub summary_tokens: u64,
    /// Whether that is all that the call wrote: the analysis in front of it was not stripped.
    #[serde(default)]
    pub whole: bool,
    /// Milliseconds that it took, where the recording tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<f64>,
    /// Calls that read or search in the [`AROUND`] requests before it and behind it; absent where
    /// there are fewer on one side, or another compaction among them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reads: Option<(u32, u32)>,
    /// Whether another session counts it, since this one continues a copy of that.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub copied: bool,
    /// Where the identifiers came from that the agent used again; absent where its summary cannot
    /// be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_again: Option<UsedAgain>,
}

/// Identifiers that stood before a compaction and that one of the 40 requests behind it used, by
/// where they were at their first use: the first of these places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedAgain {
    /// In the summary.
    pub summary: u32,
    /// In a message that was kept.
    pub kept: u32,
    /// In a message since: a call or the user brought it back.
    pub came_back: u32,
    /// Nowhere that the log shows.
    pub nowhere: u32,
}

impl UsedAgain {
    /// How many were used again.
    pub fn all(&self) -> u32 {
        self.summary + self.kept + self.came_back + self.nowhere
    }
}

/// Requests on either side of a compaction in which is counted what is read again.
pub const AROUND: usize = 20;

/// One kind of content, in tokens as the run counts them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Content {
    /// Whose it is.
    pub origin: Origin,
    /// Name of the tool whose results these are, where it is known.
    pub tool: Option<String>,
    /// Texts of this kind.
    pub texts: u64,
    /// Their tokens, each text once.
    pub tokens: u64,
    /// The same, each text as often as a request sent it.
    pub sent: u64,
}

/// Whose content it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Origin {
    /// System prompt, definitions of tools, and what is sent before the first message.
    System,
    /// The user, or the harness on behalf of them.
    User,
    /// The agent: its texts, its calls, and the reasoning that is sent again.
    Agent,
    /// A tool.
    Result,
    /// A compaction: what took the place of messages.
    Summary,
}

/// Who sent a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Sender {
    /// The agent of a session.
    Main,
    /// A subagent on a conversation of its own.
    Subagent,
    /// A compaction that asked a model for a summary.
    Compaction,
}

/// What tokens are billed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum TokenKind {
    /// Prompt tokens read from the provider's cache.
    CacheRead,
    /// Prompt tokens written to it for its shorter lifetime, five minutes.
    #[strum(serialize = "cache_write_5m")]
    CacheWrite5m,
    /// Prompt tokens written to it for an hour.
    #[strum(serialize = "cache_write_1h")]
    CacheWrite1h,
    /// Prompt tokens past the cache.
    Input,
    /// Prompt tokens of which the recording does not say whether a cache held them.
    PromptUnsplit,
    /// Tokens that the model wrote, reasoning included, as reported.
    Output,
    /// The same as recap counts them, where what was reported is not final: Claude Code writes
    /// down a placeholder that is low by 4–144×.
    OutputCounted,
}

/// Why a prefix that had been cached was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Cause {
    /// The agent had compacted.
    Compaction,
    /// Another model was asked.
    ModelChange,
    /// Nothing was sent for longer than the cache lives.
    IdleGap,
    /// The provider says that the system prompt is another.
    SystemChanged,
    /// It says that the tools are others.
    ToolsChanged,
    /// It says that an earlier message is another.
    MessagesChanged,
    /// It does not have the request before any more.
    PreviousMessageNotFound,
    /// It says that it did not compare the prompts.
    Unavailable,
    /// Anything else: an edited prompt, or a loss at the provider.
    ChangedPrompt,
    /// The recording lacks the times that would tell.
    Unknown,
}

/// Tokens and what they cost. What has no price is counted apart and never taken for free.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Amount {
    /// Every token.
    pub tokens: u64,
    /// USD of those that have a price.
    pub usd: f64,
    /// Why others have none; absent where all have a price.
    pub unpriced: Option<Absent>,
}

impl Amount {
    /// Tokens with their price, or why they have none.
    pub fn new(tokens: u64, usd: Result<f64, Absent>) -> Self {
        let unpriced = usd.as_ref().err().filter(|_| tokens > 0).cloned();
        Self { tokens, usd: usd.unwrap_or(0.0), unpriced }
    }

    /// The dollars, where every token has a price.
    pub fn whole(&self) -> Option<f64> {
        self.unpriced.is_none().then_some(self.usd)
    }

    /// The same, or why some have none.
    pub fn priced(self) -> Result<f64, Absent> {
        self.unpriced.map_or(Ok(self.usd), Err)
    }
}

impl std::ops::AddAssign<&Amount> for Amount {
    fn add_assign(&mut self, other: &Self) {
        // A recording may claim anything: an absurd sum must not end the program.
        self.tokens = self.tokens.saturating_add(other.tokens);
        self.usd += other.usd;
        if self.unpriced.is_none() {
            self.unpriced.clone_from(&other.unpriced);
        }
    }
}

impl<'a> std::iter::Sum<&'a Amount> for Amount {
    fn sum<I: Iterator<Item = &'a Amount>>(amounts: I) -> Self {
        amounts.fold(Self::default(), |mut sum, one| {
            sum += one;
            sum
        })
    }
}

/// What the requests of one sender to one model cost.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spent {
    /// Requests whose tokens are in the sums.
    pub reported: u64,
    /// Of these, requests that do not report them: a total of their session does.
    pub in_totals: u64,
    /// Requests that do not: their tokens and dollars are in no sum.
    pub silent: u64,
    /// Of the reported ones, those whose output is not final, and whose words are not there to be
    /// counted: their output is too low.
    pub unfinished: u64,
    /// By kind.
    pub kinds: BTreeMap<TokenKind, Amount>,
    /// USD that the agent or its provider wrote down, at whatever prices; absent where nothing
    /// of that kind is recorded.
    pub written_down: Option<f64>,
}

impl Spent {
    /// Everything together. Requests that report nothing were not free.
    pub fn total(&self) -> Amount {
        let mut sum: Amount = self.kinds.values().sum();
        if self.kinds.is_empty() && self.silent > 0 {
            sum.unpriced = Some(Absent::NoUsage);
        }
        sum
    }
}

impl std::ops::AddAssign<&Spent> for Spent {
    fn add_assign(&mut self, other: &Self) {
        self.reported = self.reported.saturating_add(other.reported);
        self.in_totals = self.in_totals.saturating_add(other.in_totals);
        self.silent += other.silent;
        self.unfinished += other.unfinished;
        for (kind, amount) in &other.kinds {
            *self.kinds.entry(*kind).or_default() += amount;
        }
        let usd = other.written_down;
        self.written_down = self.written_down.map(|sum| sum + usd.unwrap_or(0.0)).or(usd);
    }
}

/// Caches that were rebuilt for one cause.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rebuilt {
    /// Requests that did not read what had been cached.
    pub requests: u64,
    /// The tokens that they did not read, and what these cost above a read.
    pub lost: Amount,
}

/// What a cache that lives an hour would have changed.
#[derive(Clone, Debug, Default, PartialEq, AddAssign)]
pub struct Hour {
    /// Caches that an idle gap of an hour at most would not have ended.
    pub spared: u64,
    /// USD that rebuilding these cost above a read.
    pub saved: f64,
    /// USD by which all other writes would have been dearer.
    pub dearer: f64,
}

/// What recorded sessions cost, by what providers reported, at list prices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Receipt {
    /// By sender and model as recorded; no model where the recording names none.
    pub spent: BTreeMap<(Sender, Option<String>), Spent>,
    /// Compactions whose call no record reports, if they made one.
    pub silent_compactions: u64,
    /// How many of these made a call, and what they are taken to have cost in USD, where that is
    /// known of compactions of the agent.
    pub estimated: Option<(u64, f64)>,
    /// Calls of subagents whose logs are not there.
    pub missing_subagents: u64,
    /// Caches of the conversations that were rebuilt, by cause. Requests of subagents without a
    /// conversation of their own have no order and are not looked at.
    pub rebuilt: BTreeMap<Cause, Rebuilt>,
    /// What a cache that lives an hour would have changed; absent where there is no such choice.
    pub hour: Option<Hour>,
    /// Why some sessions, or all that report tokens, are not in that figure.
    pub without_hour: Option<Absent>,
    /// What filled the contexts, by what was sent most.
    pub contents: Vec<Content>,
    /// Tokens of the largest prompt that was reported.
    pub largest_prompt: u64,
}

impl Receipt {
    /// What one sender spent, at all models.
    pub fn of(&self, sender: Sender) -> Spent {
        self.sum(|(other, _)| *other == sender)
    }

    /// What all spent, with what calls are taken to have cost that are not on record.
    pub fn today(&self) -> Amount {
        let reported = self.all().total();
        Amount { usd: reported.usd + self.estimated.map_or(0.0, |(_, usd)| usd), ..reported }
    }

    /// What all spent.
    pub fn all(&self) -> Spent {
        self.sum(|_| true)
    }

    fn sum(&self, counts: impl Fn(&(Sender, Option<String>)) -> bool) -> Spent {
        let mut sum = Spent::default();
        let own = self.spent.iter().filter(|(key, _)| counts(key));
        own.for_each(|(_, spent)| sum += spent);
        sum
    }
}
