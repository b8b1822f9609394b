//! What sessions would have cost if their agent's own compaction had fired at other sizes of the
//! prompt. `wording` turns it into sentences.

use serde::{Deserialize, Serialize};

use super::CompactionFacts;

/// What one compaction changes, in tokens. Each is a median, `read_again` and `calls` are means.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantities {
    /// The first prompt behind a compaction, less the first prompt of the session: the summary,
    /// the messages that are kept, and files that are put back.
    pub added: Quantity,
    /// Of that prompt, what is read from the provider's cache: system prompt and tools.
    pub cached: Quantity,
    /// Output of the call that writes the summary, with what the agent strips from it.
    pub output: Quantity,
    /// What is read again: growth of the prompt in the twenty requests behind a compaction, less
    /// that in the twenty before it.
    pub read_again: Quantity,
    /// Calls that read or search in the twenty requests behind it, less those before it.
    pub calls: Quantity,
    /// Milliseconds that the user waits for it.
    pub wait_ms: Quantity,
}

/// A figure with its range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantity {
    /// The median, or the mean.
    pub value: f64,
    /// Lower end: of a median the lower quartile, of a mean the lower end of its 95 % interval.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Compactions that it was measured at.
    pub n: u64,
    /// Whether these are the input's own; else they are public recordings of the same agent.
    #[serde(default)]
    pub own: bool,
}

/// What the sessions of an input cost at each size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeCurve {
    /// The agent: the format that its recordings were detected as.
    pub agent: String,
    /// Sessions that are billed here, subagents aside.
    pub sessions: u64,
    /// Sessions that are left out, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// Families of sessions: forks and what they come from are one.
    pub families: u64,
    /// Projects that are known.
    pub projects: u64,
    /// Noun for what is drawn: `family` or `project`.
    pub unit: &'static str,
    /// Requests of these sessions.
    pub requests: u64,
    /// What they cost: the receipt with [`SizeCurve::estimated`].
    pub today_usd: f64,
    /// Of that, compactions whose calls are not on record, and what these are taken to have cost.
    pub estimated: (u64, f64),
    /// Compactions on record.
    pub compactions: u64,
    /// Tokens of the largest prompt.
    pub largest: u64,
    /// What one compaction changes.
    pub quantities: Quantities,
    /// Every size, ascending.
    pub sizes: Vec<SizeRow>,
    /// Position of the size that is advised, or why none is.
    pub advised: Result<usize, Kept>,
    /// The setting of the agent for the advised size.
    pub apply: Option<Setting>,
}

impl SizeCurve {
    /// The advised size.
    pub fn chosen(&self) -> Option<&SizeRow> {
        self.sizes.get(*self.advised.as_ref().ok()?)
    }
}

/// All sessions at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeRow {
    /// The size of the prompt at which the compaction fires, in tokens.
    pub size: u64,
    /// The bill of all sessions, subagents included.
    pub usd: f64,
    /// Share of today's bill that is saved; below 0 where it is dearer.
    pub saving: f64,
    /// Lower end of its 95 % interval.
    pub lo: f64,
    /// Upper end of its 95 % interval.
    pub hi: f64,
    /// Lower end where what is read again is taken at the upper end of its own interval.
    pub lo_read_again: f64,
    /// Compactions in all sessions.
    pub compactions: u64,
    /// Sessions that get cheaper by more than 1 %.
    pub cheaper: u64,
    /// Sessions that get dearer by more than 1 %.
    pub dearer: u64,
    /// Sessions that have no room at this size: behind a compaction they would soon be there
    /// again.
    pub no_room: u64,
    /// Share of the saving that comes from the three families that save most; absent where
    /// no more than 1 % is saved.
    pub three_families: Option<f64>,
    /// Milliseconds that the user waits for the additional compactions.
    pub wait_ms: f64,
    /// The line of the agent's setting for this size; absent where it has none.
    pub line: Option<String>,
    /// Each session, in the order of the run's.
    #[serde(skip)]
    pub by_session: Vec<SessionAtSize>,
}

/// A session at one size.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SessionAtSize {
    /// Position of the session in the run.
    pub session: usize,
    /// Its bill today.
    pub today_usd: f64,
    /// Its bill at this size.
    pub usd: f64,
    /// Its compactions today.
    pub recorded: u64,
    /// Its compactions at this size.
    pub compactions: u64,
    /// Whether it has room.
    pub room: bool,
}

/// Why the agent is best left as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// Few sessions become long enough for a smaller size to pay.
    NoSaving,
    /// A saving is there, and chance may have made it.
    Unsure,
    /// What is read again may cost more than is saved.
    ReadAgain,
    /// More than a fifth of the sessions would be dearer.
    ManyDearer,
    /// No more than a twentieth of the bill is saved.
    Small,
}

/// Why there is no curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "reason")]
pub enum NoCurve {
    /// The input is of several agents, or of none that is known.
    Agents,
    /// No request reports its tokens.
    NoUsage,
    /// Too few families of sessions.
    Few {
        /// Families.
        families: u64,
    },
    /// The agent has no setting for the size.
    NoSetting {
        /// The agent.
        agent: String,
    },
    /// Nobody measured what a compaction of the agent changes, and the input has too few.
    Unmeasured {
        /// The agent.
        agent: String,
        /// Compactions of the input.
        compactions: u64,
    },
    /// No session comes to a size.
    Short {
        /// Tokens of the largest prompt.
        largest: u64,
        /// The smallest size with room, in tokens.
        least: u64,
    },
    /// Too few sessions have a price.
    NoPrice {
        /// Why the first of them has none.
        why: String,
    },
    /// At every size more than a fifth of the sessions would have no room.
    NoRoom {
        /// The smallest size with room, in tokens.
        least: u64,
    },
}

/// A compaction of the recorded agent that removed messages, with what the requests around it
/// report.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRow {
    /// Position of the session in the run.
    pub session: usize,
    /// Number of the first request behind it, from 0, among those that report their tokens.
    pub request: usize,
    /// What the recording tells of it.
    pub facts: CompactionFacts,
    /// Tokens of the first prompt of the session; absent where the session goes on from elsewhere.
    pub first: Option<u64>,
    /// Tokens of the last prompt before it.
    pub before: Option<u64>,
    /// Tokens of the first prompt behind it.
    pub behind: u64,
    /// Of these, tokens that were read from the cache; absent where that is not told.
    pub read: Option<u64>,
    /// Tokens by which the prompt grew in the [`AROUND`](super::AROUND) requests before it.
    pub growth_before: Option<i64>,
    /// Tokens by which it grew in as many behind it.
    pub growth_behind: Option<i64>,
}

impl RecordedRow {
    /// What it added to the first prompt of the session.
    pub fn added(&self) -> Option<f64> {
        Some(self.behind as f64 - self.first? as f64)
    }

    /// Output of the call that wrote its summary, where all of it is on record.
    pub fn output(&self) -> Option<f64> {
        let reported = self.facts.call.as_ref().map(|call| call.usage.output);
        let written = Some(self.facts.summary_tokens).filter(|_| self.facts.whole);
        reported.or(written).filter(|tokens| *tokens > 0).map(|tokens| tokens as f64)
    }

    /// By how much more the prompt grew behind it than before it.
    pub fn read_again(&self) -> Option<f64> {
        Some((self.growth_behind? - self.growth_before?) as f64)
    }

    /// Calls that read or search behind it, less those before it.
    pub fn calls(&self) -> Option<f64> {
        let (before, behind) = self.facts.reads?;
        Some(f64::from(behind) - f64::from(before))
    }
}

/// A setting of the recorded agent and what to write there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// The agent: the format that its recordings were detected as.
    pub agent: String,
    /// Name of the setting.
    pub name: String,
    /// The line to write.
    pub line: String,
    /// Where it is written.
    pub file: String,
    /// What else is to be known of it.
    pub note: Option<String>,
    /// Address of the public source that it was read in.
    pub source: String,
    /// Version or commit of that source.
    pub version: String,
    /// The day on which it was read: `2026-11-27`.
    pub checked: String,
}
