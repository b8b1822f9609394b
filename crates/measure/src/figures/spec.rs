//! The definition of a measure: its id, its pooling, and its computation from
//! one cell.

use std::collections::BTreeSet;

use crate::figures::exams::Exams;
use recap_billing::pricing::PriceList;
use recap_core::model::{
    Absent, Cell, CellRows, CompactionRow, Measure, QuestionKind, Reference, ReferenceState,
    Repeated, SessionFacts, Support,
};

/// How the figures of sessions are pooled to the figure of a row (reference §7).
///
/// Replicates of one session are averaged first, except under [`Pool::Max`] and
/// [`Pool::Percentile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// Mean over sessions, all with the same weight.
    Mean,
    /// Sum over all sessions.
    Sum,
    /// Largest value of all cells.
    Max,
    /// Sum of the numerators over sum of the denominators.
    RatioOfSums,
    /// Within a cluster a ratio of sums, over clusters a mean weighted by the
    /// facts (how-it-works §46).
    AtCuts,
    /// Percentile, by nearest rank, of all values of all cells.
    Percentile(u8),
}

/// The contribution of one cell to a measure, or of one session with its replicates.
#[derive(Clone, Debug, PartialEq)]
pub enum Contribution {
    /// One figure, for [`Pool::Mean`], [`Pool::Sum`] and [`Pool::Max`].
    One(f64),
    /// A fraction as two numbers, for [`Pool::RatioOfSums`] and
    /// [`Pool::AtCuts`].
    Fraction {
        /// Numerator of the fraction.
        of: f64,
        /// Denominator of the fraction.
        to: f64,
    },
    /// Several figures, for [`Pool::Percentile`].
    Many(Vec<f64>),
    /// No figure, and the reason; never zero. The row is computed from the
    /// other cells.
    Absent(Absent),
    /// A figure that exists but is unknown (a price, a time). The row has no
    /// figure either, because a sum over the rest would be incomplete.
    Unknown(Absent),
}

impl Contribution {
    /// A figure, or the reason why there is none.
    pub fn one(value: Option<f64>, reason: Absent) -> Self {
        value.map_or(Contribution::Absent(reason), Contribution::One)
    }

    /// `of` divided by `to`, or the reason why there is nothing to divide by.
    pub fn fraction(of: f64, to: f64, reason: Absent) -> Self {
        if to == 0.0 { Contribution::Absent(reason) } else { Contribution::Fraction { of, to } }
    }
}

/// The computation and pooling of a measure.
#[derive(Clone, Copy)]
pub struct Spec {
    /// The measure in the catalogue.
    pub measure: &'static Measure,
    /// How the figures of sessions are pooled.
    pub pool: Pool,
    /// The data that the measure is computed from.
    pub basis: Basis,
    /// The computation for one cell, whatever the size of its exam.
    pub compute: fn(&CellInput<'_>) -> Contribution,
    /// Whether its rows have an interval.
    pub has_interval: bool,
}

/// The data that a figure is computed from.
#[derive(Clone, Copy)]
pub enum Basis {
    /// The requests of the recording.
    Requests,
    /// The exam. Sessions whose exam is too small are left out: two references must not weigh as
    /// much as a hundred.
    References,
    /// The questions of the data set.
    Questions,
    /// The cuts of the run.
    Cuts,
    /// The bill: the only figures that differ between agent models.
    Bill,
}

impl Spec {
    /// The definition of a measure that is computed from the whole cell.
    pub(crate) const fn of_cell(
        measure: &'static Measure,
        pool: Pool,
        basis: Basis,
        compute: fn(&CellInput<'_>) -> Contribution,
    ) -> Self {
        Self { measure, pool, basis, compute, has_interval: false }
    }

    /// The same of a mean over the questions.
    pub(crate) const fn of_questions(
        measure: &'static Measure,
        compute: fn(&CellInput<'_>) -> Contribution,
    ) -> Self {
        Self::of_cell(measure, Pool::Mean, Basis::Questions, compute)
    }

    /// The same with an interval.
    pub(crate) const fn with_interval(self) -> Self {
        Self { has_interval: true, ..self }
    }

    /// The id of the measure.
    pub fn id(&self) -> &'static str {
        self.measure.id
    }

    /// Whether the measure is computed at cuts.
    pub fn is_at_cuts(&self) -> bool {
        matches!(self.basis, Basis::Cuts)
    }

    /// The contribution of one cell; absent if its data are missing or too few.
    pub fn of(&self, input: &CellInput<'_>) -> Contribution {
        match self.basis {
            Basis::Questions if input.facts.questions.is_empty() => {
                Contribution::Absent(Absent::NoQuestions)
            }
            Basis::Requests | Basis::References | Basis::Bill if input.is_asked_only() => {
                Contribution::Absent(Absent::AskedOnly)
            }
            Basis::References if !Support::whole(input.facts).suffices() => {
                Contribution::Absent(Absent::NoWorkingSession)
            }
            _ => (self.compute)(&CellInput { kind: self.measure.kind, ..*input }),
        }
    }
}

/// One cell that reached its end, with the facts of its session.
#[derive(Clone, Copy)]
pub struct CellInput<'a> {
    /// The facts that all strategies of the session share.
    pub facts: &'a SessionFacts,
    /// The cell with its key and its outcome.
    pub cell: &'a Cell,
    /// The rows of the cell; as many request, reference and question rows as
    /// `facts` has, except for cells without replayed requests.
    pub rows: &'a CellRows,
    /// The cell of `full` on the same session at the same window.
    pub full: Option<&'a Cell>,
    /// The cell of the control `recorded` at the same place.
    pub recorded: Option<&'a Cell>,
    /// The billing model whose bill is used: [`recap_core::model::Bill::billed_as`].
    pub billing_model: &'a str,
    /// The prices of the run.
    pub prices: &'a PriceList,
    /// The kind of questions that the measure is restricted to.
    pub kind: Option<QuestionKind>,
    /// Kinds of questions with enough questions for a figure of their own.
    pub kinds: &'a BTreeSet<QuestionKind>,
    /// All exams at cuts.
    pub exams: &'a Exams<'a>,
    /// Texts that the compactor returned for too many inputs, over all cells of
    /// the strategy at the window.
    pub repeated: &'a Repeated,
}

/// A request that uses references, with their states.
pub struct ReferencingRequest<'a> {
    /// Whether the provider would have refused the request, so that the strategy
    /// has score 0 there (reference §1). Controls are exempt.
    pub refused: bool,
    /// The references of the request, with their states.
    pub references: Vec<(&'a Reference, ReferenceState)>,
}

impl ReferencingRequest<'_> {
    /// Share of the references for which `counts` holds.
    pub fn share(&self, counts: impl Fn(&Reference, ReferenceState) -> bool) -> f64 {
        let hits = self.references.iter().filter(|(r, s)| counts(r, *s)).count();
        hits as f64 / self.references.len() as f64
    }

    /// Share of the references that the context still contains; 0 if the
    /// request was refused.
    pub(crate) fn share_kept(&self) -> f64 {
        if self.refused { 0.0 } else { self.share(|_, state| state.is_kept()) }
    }
}

impl<'a> CellInput<'a> {
    /// The requests that use a reference, in order.
    pub fn asked(&self) -> Vec<ReferencingRequest<'a>> {
        let outcomes = self.rows.references.iter().map(|outcome| outcome.state);
        let references: Vec<(&Reference, ReferenceState)> =
            self.facts.exam.references.iter().zip(outcomes).collect();
        references
            .chunk_by(|(a, _), (b, _)| a.request == b.request)
            .map(|group| ReferencingRequest {
                refused: self.cell.refuses_request(group[0].0.request),
                references: group.to_vec(),
            })
            .collect()
    }

    /// Whether the cell has no replayed requests, only questions asked with chosen
    /// messages.
    pub(crate) fn is_asked_only(&self) -> bool {
        self.rows.requests.is_empty() && !self.facts.requests.is_empty()
    }

    /// The compactions of the session, without those for the questions at its end
    /// (how-it-works §28).
    pub fn compactions(&self) -> impl Iterator<Item = &'a CompactionRow> + use<'a> {
        self.rows.compactions.iter().filter(|compaction| !compaction.at_end)
    }

    /// References in the state `lost`, in the order of the exam.
    ///
    /// Overflows do not matter here: the state describes the context, whether
    /// the provider would have read it or not.
    pub fn lost(&self) -> impl Iterator<Item = &'a Reference> {
        let references = &self.facts.exam.references;
        references
            .iter()
            .zip(&self.rows.references)
            .filter(|(_, outcome)| outcome.state == ReferenceState::Lost)
            .map(|(reference, _)| reference)
    }
}

/// Mean of the figures; `None` without figures.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0u64);
    for value in values {
        sum += value;
        n += 1;
    }
    (n > 0).then(|| sum / n as f64)
}
