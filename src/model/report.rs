//! What reporters and the gate read: measured values with their reasons.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    CallRow, Cell, Cut, EqualSize, Family, Gate, Manifest, Missing, PanelAgreement, RecencyCurve,
    Standing, TranscriptFacts, Variance,
};

/// Version of the instrument: mining rules, offline seats, judge prompts.
/// Reports of different versions are never compared.
pub const INSTRUMENT: u32 = 7;

/// Whether the exam itself is in doubt: the recorded agent did without this share
/// of the references that it would ask for, and that is a tenth or more.
pub fn is_exam_doubtful(did_without: f64) -> bool {
    did_without >= 0.1
}

/// Share of void replies of the compactor up to which a row is ranked: beyond it,
/// what the row keeps is what its fallback keeps (`cuts` §5).
pub const VOID_WITHIN: f64 = 0.05;

/// How far apart the reader may be from itself under `full` where all of the
/// evidence is at hand (`measures` §6).
pub const VALID_WITHIN: f64 = 0.05;

/// How far the whole conversation must lie above an empty memory for a figure
/// between the two to mean anything (`measures` §5, retention).
pub const SPREAD: f64 = 0.2;

/// The value of a row that says why it has no rank although it is of a kind
/// that is ranked.
pub const UNRANKED: &str = "unranked";

/// Why a number is not there. Absence is never zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent(pub String);

/// A number, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// Measured or modelled; `*_source` columns say which.
    Known(f64),
    /// Not computable.
    Absent(String),
    /// A word (a source, a verdict).
    Text(String),
}

impl Value {
    /// The number, if there is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Known(x) => Some(*x),
            _ => None,
        }
    }
}

/// What an interval rests on (`measures` §7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Interval {
    /// One or two transcripts: a block bootstrap over requests, this session only.
    ThisSessionOnly {
        /// Lower bound.
        lo: f64,
        /// Upper bound.
        hi: f64,
    },
    /// Three to five: every value, no interval.
    Dots {
        /// Values by cluster, ascending.
        values: Vec<f64>,
    },
    /// Six or more: 95 % t interval over clusters.
    Student {
        /// Lower bound.
        lo: f64,
        /// Upper bound.
        hi: f64,
    },
    /// Twenty or more: the wider of BCa and t.
    Wider {
        /// Lower bound.
        lo: f64,
        /// Upper bound.
        hi: f64,
    },
}

impl Interval {
    /// Both bounds, where there is an interval.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match self {
            Interval::ThisSessionOnly { lo, hi }
            | Interval::Student { lo, hi }
            | Interval::Wider { lo, hi } => Some((*lo, *hi)),
            Interval::Dots { .. } => None,
        }
    }
}

/// How a preset stands against `full`, as far as n allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AgainstFull {
    /// Too few transcripts to say more than what was seen.
    Descriptive,
    /// The interval leaves the margin open.
    Undecided,
    /// Worse than `full` by more than the margin.
    Inferior,
    /// Within the margin, at 10 transcripts or more; losses that are rare and
    /// heavy may have been missed.
    ProvisionalNonInferior,
    /// Within the margin, at 20 or more, and enough for such losses to show.
    NonInferior,
}

impl AgainstFull {
    /// Words for the table.
    pub fn as_str(self) -> &'static str {
        match self {
            AgainstFull::Descriptive => "descriptive",
            AgainstFull::Undecided => "undecided",
            AgainstFull::Inferior => "inferior",
            AgainstFull::ProvisionalNonInferior => "provisional non-inferior",
            AgainstFull::NonInferior => "non-inferior",
        }
    }
}

/// One row of the comparison: data set × strategy × window × agent model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PresetRow {
    /// Data set, or `ALL`.
    pub dataset: String,
    /// Plain preset id.
    pub strategy: String,
    /// Window label as typed.
    pub window: String,
    /// Whose prices and cache rules bill it: [`super::Bill::billed_as`].
    pub agent_model: String,
    /// Whether the row is ranked.
    pub standing: Standing,
    /// Place among the ranked rows of its window, from 1.
    pub rank: Option<u32>,
    /// Every measure by its id (the column name).
    pub values: BTreeMap<String, Value>,
    /// Intervals of `reference_recall`, `recall` and `continuity`, by id;
    /// absent where the measure is.
    pub intervals: BTreeMap<String, Interval>,
    /// Paired difference to `full` in the report's primary measure, as far as
    /// n allows.
    pub verdict: Option<AgainstFull>,
    /// Cells that failed, with their errors.
    pub failed: Vec<String>,
}

impl PresetRow {
    /// Whether the row still sent everything that its primary measure asks for
    /// as it was recorded: nothing was at stake, and the figure says nothing of
    /// quality (`cuts` §3).
    pub fn risked_nothing(&self, primary: &str) -> bool {
        let exposed = match primary {
            "kept_at_cut" => "exposed_share",
            "reference_recall" => "reference_exposed",
            _ => return false,
        };
        self.number(exposed) == Some(0.0)
    }

    /// What the texts of the row's model add to what it keeps, with the bounds of
    /// its interval where there is one. After the first compaction, where the run
    /// has it: over a longer session the null, whose texts take no room, also
    /// compacts less often, so that a difference is not the texts' alone.
    pub fn added(&self) -> Option<(f64, Option<(f64, f64)>)> {
        let of = |id: &str| {
            let bounds = self.number(&format!("{id}_lo")).zip(self.number(&format!("{id}_hi")));
            Some((self.number(id)?, bounds))
        };
        of("added_at_cut_first").or_else(|| of("added_at_cut"))
    }

    /// A measure's number, if it is there.
    pub fn number(&self, id: &str) -> Option<f64> {
        self.values.get(id).and_then(Value::number)
    }
}

/// A sentence that a careful colleague would say, with the measures it rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sentence(pub String);

/// What an age is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgeUnit {
    /// Compactions since it was last said.
    Compactions,
    /// Tokens of messages since it was last said.
    Tokens,
}

/// What is right of everything of one age.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgeBin {
    /// Smallest age.
    pub from: u64,
    /// First age that is too large; `None`: open.
    pub to: Option<u64>,
    /// Graded probes of that age.
    pub probes: u64,
    /// Their mean score.
    pub recall: Option<f64>,
    /// References of that age.
    pub references: u64,
    /// Share of them that is kept and supported.
    pub reference_recall: Option<f64>,
}

/// Recall against age: the forgetting curve of one preset at one window, over
/// everything that was asked in the run (`measures` §5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forgetting {
    /// Plain preset id.
    pub strategy: String,
    /// Window label as typed.
    pub window: String,
    /// What the age is counted in.
    pub age: AgeUnit,
    /// Bins by age; those without anything are left out.
    pub bins: Vec<AgeBin>,
}

/// The whole comparison: all that reporters and the gate read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// What the run was made of.
    pub manifest: Manifest,
    /// Names of the data sets.
    pub title: String,
    /// Id of the measure that ranks: `continuity` where there are probes, else
    /// `reference_recall` (`semantics` 40).
    pub primary: String,
    /// Rows in printing order.
    pub rows: Vec<PresetRow>,
    /// Forgetting curves, by window as typed, preset and unit of age.
    pub forgetting: Vec<Forgetting>,
    /// The one confirmatory family; absent where there is nothing to compare.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<Family>,
    /// What plain recency keeps, by data set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recency: Vec<RecencyCurve>,
    /// Presets at equal size, where a sweep allows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub equal_size: Vec<EqualSize>,
    /// Parts of the variance of the primary measure, row by row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variance: Vec<Variance>,
    /// What the gate found, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// The verdict in one paragraph, as a person would write it: what to use,
    /// what it keeps and costs, and how sure that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Sentence>,
    /// What an interrupted run lacks; absent where it is whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Missing>,
    /// One or two sentences derived from the measures.
    pub sentences: Vec<Sentence>,
    /// Limits and doubts that a reader must know.
    pub warnings: Vec<String>,
    /// Facts of every transcript, sorted by data set and id.
    pub transcripts: Vec<TranscriptFacts>,
    /// Every cell, sorted by key.
    pub cells: Vec<Cell>,
    /// Every cut, sorted by key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cuts: Vec<Cut>,
    /// Calls of real models, each once, by seat, model and key; none where every
    /// seat is offline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallRow>,
    /// How far the judges of a panel agree; absent for a single judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub panel: Option<PanelAgreement>,
}

impl Report {
    /// The facts of a transcript.
    pub fn facts_of(&self, dataset: &str, transcript: &str) -> Option<&TranscriptFacts> {
        let key = |facts: &TranscriptFacts| {
            (&*facts.dataset, &*facts.transcript).cmp(&(dataset, transcript))
        };
        self.transcripts.binary_search_by(key).ok().map(|at| &self.transcripts[at])
    }

    /// The cells of a transcript.
    pub fn cells_of(&self, dataset: &str, transcript: &str) -> &[Cell] {
        let key =
            |cell: &Cell| (&*cell.key.dataset, &*cell.key.transcript).cmp(&(dataset, transcript));
        let from = self.cells.partition_point(|cell| key(cell).is_lt());
        let cells = self.cells[from..].partition_point(|cell| key(cell).is_eq());
        &self.cells[from..from + cells]
    }
}
