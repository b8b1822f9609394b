//! The inputs and settings of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{Grid, Planned, Shard, Source, TimeProfile};

/// Where an input came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Name or file name (never a whole path of the machine).
    pub name: String,
    /// BLAKE3 of the content, hex.
    pub hash: String,
}

/// The price list of a run, with the entries that the run needs, so that a
/// report can be made again without the list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The name of the list, or its file name.
    pub name: String,
    /// The date on which it was fetched, where known (`YYYY-MM-DD`).
    pub date: Option<String>,
    /// BLAKE3 of its content, hex.
    pub hash: String,
    /// Its entries for the models that bill the run or were recorded, as the
    /// list writes them.
    pub models: BTreeMap<String, Json>,
}

/// The inputs and settings of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Names of the data sets, as in the heading of the report.
    pub title: String,
    /// Version of this program.
    pub version: String,
    /// Version of the instrument: mining rules, offline roles, judge prompts.
    pub instrument: u32,
    /// Seed of every random stream.
    pub seed: u64,
    /// Name of the tokeniser that counts tokens.
    pub tokens: String,
    /// The windows of the run, as typed on the command line.
    pub windows: Vec<String>,
    /// Whether thresholds scale with the window.
    pub scaled: bool,
    /// Where compactions were forced: a number of places a session, `all`,
    /// `recorded` or `none`.
    #[serde(default = "none")]
    pub cuts: String,
    /// Depth of the cuts: 1 for a first compaction, above it the size of the
    /// session before the cut in windows. 0 without cuts.
    #[serde(default)]
    pub depth: u32,
    /// The questions that are asked at cuts: `auto` (made from sessions without
    /// questions of their own), `none`, or the hash of the file that holds them.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub questions: String,
    /// How often each strategy with a model was repeated.
    pub replicates: u32,
    /// Sessions, each with the hash of its content.
    pub sessions: Vec<Provenance>,
    /// Sizes of the prompt at which the agent's own compaction is to fire, in tokens, where some
    /// are named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compact_at: Vec<u64>,
    /// The settings of one strategy that the run searches, where it is a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grid: Option<Grid>,
    /// The agent that made the recordings, by the name of their format, where all
    /// are of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Strategies, each with the hash of its file, prompts and overrides.
    pub strategies: Vec<Provenance>,
    /// Names of those among them that are token savers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub savers: Vec<String>,
    /// The model that wrote the summaries, or `offline`.
    pub compactor: String,
    /// The model that answered the questions, or `offline`.
    pub answerer: String,
    /// The model that graded the answers, or `offline`.
    pub judge: String,
    /// What ranked closed sessions in searches: a model that embeds them, or
    /// the offline embedder, which compares words (BM25); none where no strategy searches
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<String>,
    /// How the scores were obtained: `Model` only where answerer and judge both
    /// are models.
    pub source: Source,
    /// The models whose prices and cache rules bill the sessions, as asked for.
    pub agent_models: Vec<String>,
    /// The price list that bills the run.
    pub prices: Prices,
    /// Assumed speeds of people, tools and models where nothing was timed.
    pub profile: TimeProfile,
    /// Strategies that the user named: rules of a gate without a strategy apply to
    /// these (how-it-works §41).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<String>,
    /// The strategy that others are tested against, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparator: Option<String>,
    /// How much worse still counts as non-inferior, as a share of the primary
    /// measure's range (reference §7).
    #[serde(default = "margin")]
    pub margin: f64,
    /// Whether the texts of the sessions are left out of the run folder.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub no_text: bool,
    /// Which part of a run this is, where it is one of several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// The cells and cuts that the complete run has, or the complete part.
    pub planned: Planned,
    /// Warnings from reading the data: what was left out, and what is doubtful.
    pub warnings: Vec<String>,
}

/// The margin where none is given (reference §7).
pub const MARGIN: f64 = 0.05;

fn none() -> String {
    "none".to_owned()
}

fn is_none(questions: &str) -> bool {
    questions == "none"
}

fn margin() -> f64 {
    MARGIN
}

/// Name of the program's own part in a role.
pub const OFFLINE: &str = "offline";

impl Manifest {
    /// How the summaries were written.
    pub fn compacted_by(&self) -> Source {
        source_of(&self.compactor)
    }

    /// How the answers were found.
    pub fn answered_by(&self) -> Source {
        source_of(&self.answerer)
    }

    /// How they were graded: by a model where any judge of a panel is one.
    pub fn graded_by(&self) -> Source {
        source_of(&self.judge)
    }

    /// Whether no role is filled by a model.
    pub fn is_offline(&self) -> bool {
        let roles = [self.compacted_by(), self.answered_by(), self.graded_by()];
        let embedded_by = self.embedder.as_deref().map(source_of);
        roles.into_iter().chain(embedded_by).all(|source| source == Source::Lexical)
    }

    /// The judges, a single one or those of a panel.
    pub fn judges(&self) -> impl Iterator<Item = &str> {
        self.judge.split(PANEL)
    }
}

/// Separator between the judges of a panel in its name.
pub const PANEL: &str = " + ";

fn source_of(role: &str) -> Source {
    if role.split(PANEL).all(|name| name == OFFLINE) { Source::Lexical } else { Source::Model }
}
