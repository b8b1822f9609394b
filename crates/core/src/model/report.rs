//! The report that reporters and the gate read: measured values with their reasons.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Absent, CallRow, Family, Finding, Gate, Manifest, Measure, Missing, NoCurve, PanelAgreement,
    Primary, QuestionKind, Receipt, Recommendation, RecordedRow, RowKind, RunResults, SaverRow,
    SessionFacts, SizeCurve, Tuned, Value, catalogue,
};

/// Version of the instrument: mining rules, offline roles, judge prompts.
/// Reports of different versions are never compared.
pub const INSTRUMENT: u32 = 18;

/// Whether the exam itself is doubtful: the share of the references that the
/// recorded agent did without is a tenth or more.
pub fn is_exam_doubtful(did_without: f64) -> bool {
    did_without >= 0.1
}

/// Share of unusable replies of the compactor up to which a row is ranked: beyond it,
/// what the row keeps is what its fallback keeps (how-it-works §47).
pub(super) const UNUSABLE_WITHIN: f64 = 0.05;

/// The value that stands for the reason why a row of a ranked kind has no rank.
pub const UNRANKED: &str = "unranked";

/// The kind of an interval and its bounds (reference §7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Interval {
    /// Two to five: every value, no interval.
    Dots {
        /// Values by cluster, ascending.
        values: Vec<f64>,
    },
    /// Six or more: a 95 % interval over clusters, from twenty on the wider of t and BCa.
    Bounds {
        /// Lower bound of the interval.
        lo: f64,
        /// Upper bound of the interval.
        hi: f64,
    },
}

impl Interval {
    /// Both bounds, where there is an interval.
    pub fn bounds(&self) -> Option<(f64, f64)> {
        match self {
            Interval::Bounds { lo, hi } => Some((*lo, *hi)),
            Interval::Dots { .. } => None,
        }
    }

    /// The same, or the lowest and the highest of few values.
    pub fn ends(&self) -> Option<(f64, f64)> {
        match self {
            Interval::Dots { values } => Some((*values.first()?, *values.last()?)),
            interval => interval.bounds(),
        }
    }
}

/// How a strategy compares with `full`, as far as n allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AgainstFull {
    /// Too few sessions for more than a description.
    Descriptive,
    /// The interval leaves the margin open.
    Undecided,
    /// Worse than `full` by more than the margin.
    Inferior,
    /// Within the margin, at 10 sessions or more; rare, heavy losses may
    /// have been missed.
    #[strum(serialize = "provisional non-inferior")]
    ProvisionalNonInferior,
    /// Within the margin, at 20 or more, and enough for such losses to show.
    NonInferior,
}

/// One row of the comparison: data set × strategy × window × agent model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StrategyRow {
    /// Data set, or `ALL`.
    pub dataset: String,
    /// The strategy's id, without markup.
    pub strategy: String,
    /// Window label as typed.
    pub window: String,
    /// The billing model whose prices and cache rules are used: [`super::Bill::billed_as`].
    pub agent_model: String,
    /// Whether the row is ranked.
    pub row_kind: RowKind,
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
    /// The cells that failed, with their errors.
    pub failed: Vec<String>,
}

impl StrategyRow {
    /// Whether the row still sent everything that its primary measure asks for
    /// exactly as recorded: no fact was needed, and the figure says nothing
    /// about quality (how-it-works §46).
    pub fn risked_nothing(&self, primary: Primary) -> bool {
        let exposed = match primary {
            Primary::FactsKept => catalogue::EXPOSED_SHARE,
            Primary::ReferenceRecall => catalogue::REFERENCE_EXPOSED,
            Primary::Continuity => return false,
        };
        self.number(exposed) == Some(0.0)
    }

    /// Requests that are larger than the window, where a provider would have refused
    /// more than one in a hundred; any, where the row does not count its requests.
    pub fn refused_often(&self) -> Option<f64> {
        let over = self.number(catalogue::OVERFLOWS)?;
        let requests = self.number(catalogue::REQUESTS).unwrap_or(0.0);
        (over > 0.01 * requests).then_some(over)
    }

    /// Whether of its bill only the storage of an explicit cache is unknown: what is not billed
    /// is not saved.
    pub fn lacks_storage(&self) -> bool {
        matches!(self.values.get(catalogue::COST_USD.id), Some(Value::Absent(Absent::Storage(_))))
    }

    /// What the texts of the row's model add to what it keeps, with the bounds of
    /// its interval where there is one.
    pub fn added(&self) -> Option<(f64, Option<(f64, f64)>)> {
        let [lo, hi] = [catalogue::ADDED_AT_CUT_LO, catalogue::ADDED_AT_CUT_HI];
        Some((self.number(catalogue::ADDED_AT_CUT)?, self.number(lo).zip(self.number(hi))))
    }

    /// A measure's number, if it is there.
    pub fn number(&self, measure: &Measure) -> Option<f64> {
        self.number_of(measure.id)
    }

    /// The number of a measure whose id was read from a text, if it is there.
    pub fn number_of(&self, id: &str) -> Option<f64> {
        self.values.get(id).and_then(Value::number)
    }
}

/// Questions of one kind at cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answered {
    /// Answered right with the whole conversation; one in the same words at
    /// several cuts of a session counts once.
    pub before: u64,
    /// Of these, still answered right; one at several cuts by its share of them.
    pub after: f64,
}

/// Which kinds of questions a strategy still answers at cuts, of those that the
/// whole conversation answers right.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweredAtCuts {
    /// The strategy's id, without markup.
    pub strategy: String,
    /// Whether the row is ranked.
    pub row_kind: RowKind,
    /// The questions of each kind; none of a kind is left out.
    pub kinds: BTreeMap<QuestionKind, Answered>,
}

/// The whole comparison: everything that reporters and the gate read.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What the run was made of.
    pub manifest: Manifest,
    /// Names of the data sets.
    pub title: String,
    /// Id of the measure that ranks: `continuity` where there are questions, else
    /// `reference_recall` (how-it-works §40).
    pub primary: Primary,
    /// Rows in printing order.
    pub rows: Vec<StrategyRow>,
    /// Questions at cuts by kind; empty where none was asked.
    pub answered_at_cuts: Vec<AnsweredAtCuts>,
    /// The one confirmatory family; absent where there is nothing to compare.
    pub family: Option<Family>,
    /// The findings of the gate, where there is one.
    pub gate: Option<Gate>,
    /// Which strategy to use and how certain that is; absent in a run without rows.
    pub recommendation: Option<Recommendation>,
    /// What sessions would have cost had their agent compacted at other sizes, or why that is not
    /// known; absent for data sets of questions.
    pub curve: Option<Result<SizeCurve, NoCurve>>,
    /// The row of the recorded agent's own strategy at recorded compactions alone.
    pub twin: Option<StrategyRow>,
    /// Every compaction on record, session by session.
    pub recorded_compactions: Vec<RecordedRow>,
    /// What an interrupted run lacks; absent where the run is complete.
    pub missing: Option<Missing>,
    /// What the figures show, and what a reader must know before using them: problems,
    /// observations, limits; of each those first that change figures, then the heaviest.
    pub findings: Vec<Finding>,
    /// Facts of every session, sorted by data set and id.
    pub sessions: Vec<SessionFacts>,
    /// What the sessions cost as recorded.
    pub receipt: Receipt,
    /// The same of each of [`Report::sessions`].
    pub receipts: Vec<Receipt>,
    /// What a search over settings came to; absent in a run that is none.
    pub tuned: Option<Tuned>,
    /// What token savers come to; empty in a run without one.
    pub savers: Vec<SaverRow>,
    /// Figures of each session under each strategy, in the order of the table.
    pub session_rows: Vec<SessionRow>,
    /// Every cell and every cut, session by session.
    pub results: RunResults,
    /// Calls of real models, each once, by role, model and key; none where every
    /// role is offline.
    pub calls: Vec<CallRow>,
    /// How far the judges of a panel agree; absent for a single judge.
    pub panel: Option<PanelAgreement>,
}

/// The measures of a [`SessionRow`].
pub const SESSION_MEASURES: [&Measure; 15] = [
    catalogue::COST_USD,
    catalogue::COST_SAVINGS,
    catalogue::TOKENS_SENT,
    catalogue::COMPACTIONS,
    catalogue::OVERFLOWS,
    catalogue::REFERENCE_RECALL,
    catalogue::FACTS_NEEDED,
    catalogue::FACTS_KEPT,
    catalogue::QUESTIONS_AT_CUT,
    catalogue::CONTINUITY_AT_CUT,
    catalogue::COST_USD_REFETCH,
    catalogue::REFERENCES,
    catalogue::REFERENCES_KEPT,
    catalogue::QUESTIONS,
    catalogue::RECALL,
];

/// Figures of a session under a strategy, at a window and as one billing model is billed.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    /// Position of the session among [`Report::sessions`].
    pub unit: usize,
    /// Id of the strategy.
    pub strategy: String,
    /// Label of the window, as typed.
    pub window: String,
    /// Name of the billing model: [`crate::model::Bill::billed_as`].
    pub billed_as: String,
    /// The figures of [`SESSION_MEASURES`].
    pub figures: Vec<Option<f64>>,
}

impl SessionRow {
    /// The figure of one of [`SESSION_MEASURES`].
    pub fn figure(&self, measure: &Measure) -> Option<f64> {
        let at = SESSION_MEASURES.iter().position(|of| of.id == measure.id)?;
        *self.figures.get(at)?
    }
}

impl Report {
    /// The facts of a session.
    pub fn facts_of(&self, dataset: &str, session: &str) -> Option<&SessionFacts> {
        let key =
            |facts: &SessionFacts| (&*facts.dataset, &*facts.session).cmp(&(dataset, session));
        self.sessions.binary_search_by(key).ok().map(|at| &self.sessions[at])
    }
}
