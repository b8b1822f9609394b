//! What a measure is: an id, what it counts, and how one cell yields it.

use std::collections::BTreeSet;

use super::exams::{Depth, Exams};
use super::terms::Terms;
use crate::model::{
    Absent, Cell, CellRows, CompactionRow, Measure, ProbeKind, Reference, ReferenceState, Repeated,
    Source, Support, TranscriptFacts,
};

/// How the values of cells become the value of a row (measures §7).
///
/// Replicates of one transcript are averaged first, except under [`Pool::Max`],
/// [`Pool::Median`] and [`Pool::Percentile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// Mean over transcripts: every transcript weighs the same.
    Mean,
    /// Sum over transcripts.
    Sum,
    /// Largest of all cells.
    Max,
    /// Sum of the numerators over sum of the denominators.
    RatioOfSums,
    /// Median of everything that the cells list.
    Median,
    /// Within a cluster a ratio of sums, over clusters a mean weighted by the
    /// facts at stake (cuts §3).
    AtCuts,
    /// Kaplan–Meier median of everything that the cells list.
    WaitMedian,
    /// That percentile, by nearest rank, of everything that the cells list.
    Percentile(u8),
}

/// What one cell contributes to a measure.
#[derive(Clone, Debug, PartialEq)]
pub enum Parts {
    /// One figure, for [`Pool::Mean`], [`Pool::Sum`] and [`Pool::Max`].
    One(f64),
    /// A fraction kept in two, for [`Pool::RatioOfSums`] and [`Pool::AtCuts`].
    Fraction {
        /// Numerator.
        of: f64,
        /// Denominator.
        to: f64,
    },
    /// Several figures, for [`Pool::Median`] and [`Pool::Percentile`].
    Many(Vec<f64>),
    /// Waiting times, each with whether its end was seen, for
    /// [`Pool::WaitMedian`].
    Waits(Vec<(f64, bool)>),
    /// Nothing, and why: never zero. The row is made of the other cells.
    Absent(Absent),
    /// There is a figure and nobody knows it (a price, a time): the row has
    /// none either, for a sum over the rest would pass for the whole.
    Unknown(Absent),
}

impl Parts {
    /// A figure, or the reason why there is none.
    pub fn one(value: Option<f64>, reason: Absent) -> Self {
        value.map_or(Parts::Absent(reason), Parts::One)
    }
}

/// Which part of the exam a measure rests on, of one transcript.
pub type SupportOf = fn(&TranscriptFacts) -> Support;

/// How a measure is computed and pooled.
#[derive(Clone, Copy)]
pub struct Spec {
    /// Which measure.
    pub measure: &'static Measure,
    /// How cells become a row.
    pub pool: Pool,
    /// What the figure rests on.
    pub basis: Basis,
    /// What one cell contributes, however small its exam.
    pub compute: Compute,
}

/// What one cell contributes to a measure.
#[derive(Clone, Copy)]
pub enum Compute {
    /// Of the whole cell.
    Cell(fn(&Sample<'_>) -> Parts),
    /// Of its probes of the measure's kind.
    OfKind(fn(&Sample<'_>, ProbeKind) -> Parts),
    /// Of its cuts at a depth.
    AtDepth(fn(&Sample<'_>, Depth) -> Parts, Depth),
}

/// What a figure rests on.
#[derive(Clone, Copy)]
pub enum Basis {
    /// The requests of the recording.
    Requests,
    /// The part of the exam that this function finds.
    ///
    /// Transcripts whose whole exam does not suffice are left out: two lucky
    /// references must not weigh like a hundred. A row's figure is absent
    /// where this part, over the transcripts that are left, does not suffice.
    References(SupportOf),
    /// The probes of the data set.
    Probes,
    /// The cuts of the run.
    Cuts,
    /// The bill: the only figures that differ between agent models.
    Bill,
}

impl Spec {
    /// That of a measure which is computed of the whole cell.
    pub const fn of_cell(
        measure: &'static Measure,
        pool: Pool,
        basis: Basis,
        compute: fn(&Sample<'_>) -> Parts,
    ) -> Self {
        Self { measure, pool, basis, compute: Compute::Cell(compute) }
    }

    /// The same of a mean over the probes.
    pub const fn of_probes(measure: &'static Measure, compute: fn(&Sample<'_>) -> Parts) -> Self {
        Self::of_cell(measure, Pool::Mean, Basis::Probes, compute)
    }

    /// The id of the measure.
    pub fn id(&self) -> &'static str {
        self.measure.id
    }

    /// At which depth it looks at cuts; `None`: it does not.
    pub fn depth(&self) -> Option<Depth> {
        match self.compute {
            Compute::AtDepth(_, depth) => Some(depth),
            Compute::Cell(_) | Compute::OfKind(_) => None,
        }
    }

    /// What one cell contributes; nothing where what the measure rests on is
    /// not there or does not suffice.
    pub fn of(&self, sample: &Sample<'_>) -> Parts {
        match self.basis {
            Basis::Probes if sample.facts.probes.is_empty() => Parts::Absent(Absent::NoProbes),
            Basis::Requests | Basis::References(_) | Basis::Bill
                if sample.is_asked_only() && self.pool != Pool::WaitMedian =>
            {
                Parts::Absent(Absent::AskedOnly)
            }
            Basis::References(_) if !Support::whole(sample.facts).suffices() => {
                Parts::Absent(Absent::NoWorkingSession)
            }
            _ => match (self.compute, self.measure.kind) {
                (Compute::OfKind(compute), Some(kind)) => compute(sample, kind),
                (Compute::OfKind(_), None) => unreachable!("its measure has a kind"),
                (Compute::Cell(compute), _) => compute(sample),
                (Compute::AtDepth(compute, depth), _) => compute(sample, depth),
            },
        }
    }
}

/// One cell that ran through, with the facts of its transcript.
#[derive(Clone, Copy)]
pub struct Sample<'a> {
    /// What all presets of the transcript share.
    pub facts: &'a TranscriptFacts,
    /// The cell.
    pub cell: &'a Cell,
    /// What it left behind; as many request, reference and probe rows as
    /// `facts` has, but for cells that are asked only.
    pub rows: &'a CellRows,
    /// The cell of `full` on the same transcript at the same window.
    pub full: Option<&'a Cell>,
    /// That of the control `recorded`.
    pub recorded: Option<&'a Cell>,
    /// Whose bill is looked at: [`crate::model::Bill::billed_as`].
    pub payer: &'a str,
    /// Prices and speeds of the run.
    pub terms: &'a Terms,
    /// Kinds of probes with enough of them to stand alone.
    pub kinds: &'a BTreeSet<ProbeKind>,
    /// How answers were found.
    pub answered_by: Source,
    /// Every exam at a cut.
    pub exams: &'a Exams<'a>,
    /// Texts that the compactor gave for too many inputs, over all cells of the
    /// preset at the window.
    pub repeated: &'a Repeated,
}

/// A request that asks for references, and what became of them.
pub struct Asked<'a> {
    /// Whether the provider would have refused the request, so that the
    /// preset scores nothing there (measures §1). Controls are exempt.
    pub refused: bool,
    /// Its references, with their states.
    pub references: Vec<(&'a Reference, ReferenceState)>,
}

impl Asked<'_> {
    /// Share of the references for which `counts` holds.
    pub fn share(&self, counts: impl Fn(&Reference, ReferenceState) -> bool) -> f64 {
        let hits = self.references.iter().filter(|(r, s)| counts(r, *s)).count();
        hits as f64 / self.references.len() as f64
    }

    /// Share that the context still tells, nothing where the request was refused.
    pub fn share_kept(&self) -> f64 {
        if self.refused { 0.0 } else { self.share(|_, state| state.is_kept()) }
    }

    /// Share in `state`, nothing where the request was refused.
    pub fn share_in(&self, state: ReferenceState) -> f64 {
        if self.refused { 0.0 } else { self.share(|_, s| s == state) }
    }
}

impl<'a> Sample<'a> {
    /// The requests that ask for a reference that `select` lets through, in order.
    pub fn asked(&self, select: impl Fn(&Reference) -> bool) -> Vec<Asked<'a>> {
        let outcomes = self.rows.references.iter().map(|o| o.state);
        let chosen: Vec<(&Reference, ReferenceState)> =
            self.facts.exam.references.iter().zip(outcomes).filter(|(r, _)| select(r)).collect();
        chosen
            .chunk_by(|(a, _), (b, _)| a.request == b.request)
            .map(|group| Asked {
                refused: self.refused(group[0].0.request),
                references: group.to_vec(),
            })
            .collect()
    }

    /// Whether the preset answers for an overflow at this request.
    fn refused(&self, request: u32) -> bool {
        self.cell.refuses_request(request)
    }

    /// Whether nothing was replayed, and probes only were put to chosen messages.
    pub fn is_asked_only(&self) -> bool {
        self.rows.requests.is_empty() && !self.facts.requests.is_empty()
    }

    /// The compactions that the session made: those for the probes at its end
    /// are no part of it (semantics §28).
    pub fn compactions(&self) -> impl Iterator<Item = &'a CompactionRow> + use<'a> {
        self.rows.compactions.iter().filter(|compaction| !compaction.at_end)
    }

    /// References in the state `lost`, in the order of the exam.
    ///
    /// Overflows do not matter here: what the context holds is asked, not
    /// whether the provider would have read it.
    pub fn lost(&self) -> impl Iterator<Item = &'a Reference> {
        let references = &self.facts.exam.references;
        references
            .iter()
            .zip(&self.rows.references)
            .filter(|(_, outcome)| outcome.state == ReferenceState::Lost)
            .map(|(reference, _)| reference)
    }
}

/// Mean of the figures; `None` of none.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut n) = (0.0, 0u64);
    for value in values {
        sum += value;
        n += 1;
    }
    (n > 0).then(|| sum / n as f64)
}
