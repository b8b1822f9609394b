//! Assigns cells to the rows that they belong to.

use std::collections::{BTreeMap, BTreeSet};

use super::ALL;
use super::asked::kinds_by_dataset;
use super::billing_models::BillingModels;
use super::column::PackedFigures;
use super::exams::Exams;
use super::measures::{MEASURES, RESAMPLED};
use super::money;
use super::spec::Assumptions;
use super::spec::{Basis, CellInput, Contribution, Figures, Spec};
use recap_core::model::{
    Absent, Cell, CellOutcome, CellRows, LatencySource, Manifest, QuestionKind, RepeatedTexts,
    RowKind, RunResults, SessionFacts, SessionResults, UnusableReplies,
};
use recap_core::model::{FULL, RECORDED};
use recap_core::text::counted;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowKey {
    pub dataset: String,
    pub window: String,
    pub billing_model: String,
    pub strategy: String,
}

/// The data of one row, collected from its cells.
pub struct Gathered {
    pub row_kind: RowKind,
    /// Sessions with a cell that reached its end.
    pub units: BTreeSet<usize>,
    /// The session of each such cell, in the order of the cells.
    unit_of: Vec<u32>,
    /// For each of [`MEASURES`], the contributions of these cells.
    parts: Vec<PackedFigures>,
    /// For each of [`RESAMPLED`], and behind them for each series that was asked
    /// for, the figures of these cells.
    series: Vec<PackedFigures>,
    /// Sources of the times of its compactions.
    pub latencies: BTreeSet<LatencySource>,
    pub failed: Vec<String>,
    /// Sum of the windows of these cells, in tokens.
    window_tokens: u64,
    pub acted: bool,
    /// Replies of the compactor in all of its cells.
    pub replies: UnusableReplies,
    pub key: RowKey,
}

/// A function that returns the figures of a cell's requests or questions.
pub(super) type Series = fn(&CellInput<'_>) -> Figures;

/// The contributions of each session's replicates to one measure.
pub(super) type ByUnit = BTreeMap<u32, Vec<Contribution>>;

fn failure(cell: &Cell, error: &str) -> String {
    format!("{} (replicate {}): {error}", cell.key.session, cell.key.replicate)
}

/// Cells of one control of a session, by window.
type Beside<'a> = BTreeMap<&'a str, &'a Cell>;

/// The results of a run, with the data that their measures need.
pub(super) struct CellIndex<'a> {
    facts: &'a [SessionFacts],
    results: &'a RunResults,
    manifest: &'a Manifest,
    kinds: BTreeMap<String, BTreeSet<QuestionKind>>,
    /// Repeated texts of the compactor, by strategy and window.
    repeated: RepeatedTexts,
    billing_models: &'a BillingModels,
    terms: Assumptions,
}

impl<'a> CellIndex<'a> {
    /// Creates a scene from sorted sessions and all results.
    pub fn new(
        facts: &'a [SessionFacts],
        results: &'a RunResults,
        billing_models: &'a BillingModels,
        manifest: &'a Manifest,
    ) -> Self {
        CellIndex {
            facts,
            results,
            manifest,
            kinds: kinds_by_dataset(facts),
            repeated: RepeatedTexts::of(results),
            billing_models,
            terms: Assumptions::of(manifest),
        }
    }

    /// Assigns the cells to rows: for each billing model one row for the data set and
    /// one for all. Rows are in the order of their keys.
    pub fn gather(&self) -> Vec<Gathered> {
        self.gather_with(&[])
    }

    /// The same with more series of figures, as each billing model is billed.
    pub fn gather_with(&self, more: &[Series]) -> Vec<Gathered> {
        let keyed: BTreeSet<RowKey> = (self.billing_models.places().iter())
            .flat_map(|place| self.keys(&place.dataset, &place.window, &place.strategy))
            .collect();
        let mut rows: Vec<Gathered> =
            keyed.into_iter().map(|key| Gathered::new(key, more.len())).collect();
        for session in self.results.iter() {
            self.take(&session, &mut rows, more);
        }
        rows.iter_mut().for_each(Gathered::settle);
        rows
    }

    /// Adds the cells of a session to their rows.
    fn take(&self, session: &SessionResults<'_>, rows: &mut [Gathered], more: &[Series]) {
        let key = |facts: &SessionFacts| {
            (&*facts.dataset, &*facts.session).cmp(&(session.dataset, session.id))
        };
        let unit = self.facts.binary_search_by(key).ok();
        let exams = Exams::of(session.cuts(), self.manifest);
        let beside = |strategy: &str| -> Beside<'_> {
            let cells = session.cells().iter();
            let those = cells.filter(|c| c.key.strategy == strategy && c.rows().is_some());
            those.map(|cell| (cell.key.window.as_str(), cell)).collect()
        };
        let controls = [beside(FULL), beside(RECORDED)];
        for cell in session.cells() {
            let of = &cell.key;
            let at = |key: RowKey| rows.binary_search_by(|row| row.key.cmp(&key)).expect("keyed");
            let codes: Vec<usize> =
                self.keys(&of.dataset, &of.window, &of.strategy).map(at).collect();
            let samples = match unit {
                Some(unit) => self.samples(&self.facts[unit], cell, &controls, &exams),
                None => Err("its session is not among the facts of the run".to_owned()),
            };
            match samples {
                Ok(samples) => take(rows, &codes, unit.unwrap_or_default(), &samples, more),
                Err(error) => {
                    let failure = failure(cell, &error);
                    codes.iter().for_each(|code| rows[*code].fail(cell, failure.clone()));
                }
            }
        }
    }

    /// The rows of a cell: for each billing model that of the data set and that of all.
    fn keys(&self, dataset: &str, window: &str, strategy: &str) -> impl Iterator<Item = RowKey> {
        let row = |dataset: &str, billing_model: &str| RowKey {
            dataset: dataset.to_owned(),
            window: window.to_owned(),
            billing_model: billing_model.to_owned(),
            strategy: strategy.to_owned(),
        };
        let billing_models = self.billing_models.names().iter();
        billing_models.flat_map(move |billing_model| {
            [dataset, ALL].map(|dataset| row(dataset, billing_model))
        })
    }

    /// The cell with its facts for each billing model, if it reached its end and fits
    /// the facts.
    fn samples<'s>(
        &'s self,
        facts: &'s SessionFacts,
        cell: &'s Cell,
        [full, recorded]: &[Beside<'s>; 2],
        exams: &'s Exams<'s>,
    ) -> Result<Vec<CellInput<'s>>, String> {
        let rows = match &cell.outcome {
            CellOutcome::Done(rows) => rows,
            CellOutcome::Failed { error } => return Err(error.clone()),
        };
        fits(facts, rows).map_err(|unfit| unfit.to_string())?;
        let sample = |billing_model: &'s String| CellInput {
            facts,
            cell,
            rows,
            full: beside(full, facts, cell),
            recorded: beside(recorded, facts, cell),
            billing_model,
            terms: &self.terms,
            kinds: &self.kinds[&facts.dataset],
            exams,
            repeated: self.repeated.of_row(&cell.key.strategy, &cell.key.window),
        };
        Ok(self.billing_models.names().iter().map(sample).collect())
    }
}

/// The cell of a control at the window of this cell, if it fits the session
/// too.
fn beside<'a>(cells: &Beside<'a>, facts: &SessionFacts, cell: &Cell) -> Option<&'a Cell> {
    let found = cells.get(cell.key.window.as_str()).copied()?;
    fits(facts, found.rows()?).is_ok().then_some(found)
}

/// Adds a cell, as each billing model is billed for it, to its rows: two for each billing model.
fn take(
    rows: &mut [Gathered],
    codes: &[usize],
    unit: usize,
    samples: &[CellInput<'_>],
    more: &[Series],
) {
    let series = RESAMPLED.each_ref().map(|of| (of.series)(&samples[0]));
    for (sample, pair) in samples.iter().zip(codes.chunks(2)) {
        let more: Vec<Figures> = more.iter().map(|of| of(sample)).collect();
        pair.iter().for_each(|code| rows[*code].take(unit, sample, series.iter().chain(&more)));
    }
    for (at, spec) in MEASURES.iter().enumerate() {
        // Only bills differ between billing models.
        let first = spec.of(&samples[0]);
        for (billing_model, (sample, pair)) in samples.iter().zip(codes.chunks(2)).enumerate() {
            let parts = match spec.basis {
                Basis::Bill if billing_model > 0 => &spec.of(sample),
                _ => &first,
            };
            pair.iter().for_each(|code| rows[*code].parts[at].push(parts));
        }
    }
}

/// Numbers of requests, references and questions.
type Counts = (usize, usize, usize);

/// Why a cell does not fit its session.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    /// The cell has other numbers of rows than the session requires.
    #[error(
        "the cell has {}, its session {}: it is from another version of the data; run it again",
        describe(.0), describe(.1)
    )]
    Counts(Counts, Counts),
    /// A row points at something that is not there.
    #[error("a row of its session points outside it: run it again")]
    Outside,
}

fn describe((requests, references, questions): &Counts) -> String {
    let (requests, references) = (counted(*requests, "request"), counted(*references, "reference"));
    format!("{requests}, {references} and {}", counted(*questions, "question"))
}

/// Checks that a cell has the rows that its session requires: a run folder
/// may have been edited.
pub fn fits(facts: &SessionFacts, rows: &CellRows) -> Result<(), Unfit> {
    let has = (rows.requests.len(), rows.references.len(), rows.questions.len());
    let due = (facts.requests.len(), facts.exam.references.len(), facts.questions.len());
    // A strategy without its summaries is only examined at cuts; it has no requests and no questions.
    let whole = has == due || has == (0, 0, due.2) || has == (0, 0, 0);
    let in_order = (0u32..).zip(&rows.references).all(|(at, o)| o.reference == at)
        && (0u32..).zip(&rows.questions).all(|(at, p)| p.question == at);
    if !in_order || !whole {
        return Err(Unfit::Counts(has, due));
    }
    let snapshots = rows.snapshots.len();
    let bills = rows.bills.iter().all(|bill| money::sound(bill, rows));
    if !bills || !sound(facts) || rows.questions.iter().any(|p| p.snapshot as usize >= snapshots) {
        return Err(Unfit::Outside);
    }
    Ok(())
}

/// Whether references are sorted and refer to positions in their session: a
/// run folder may have been edited.
fn sound(facts: &SessionFacts) -> bool {
    let references = &facts.exam.references;
    references.is_sorted_by_key(|r| r.request)
        && references.iter().all(|r| {
            (r.request as usize) < facts.requests.len()
                && r.refetch.is_none_or(|at| (at as usize) < facts.messages.len())
        })
}

impl Gathered {
    fn new(key: RowKey, more: usize) -> Self {
        Gathered {
            row_kind: RowKind::Ranked,
            units: BTreeSet::new(),
            unit_of: Vec::new(),
            parts: MEASURES.iter().map(|_| PackedFigures::default()).collect(),
            series: vec![PackedFigures::default(); RESAMPLED.len() + more],
            latencies: BTreeSet::new(),
            failed: Vec::new(),
            window_tokens: 0,
            acted: false,
            replies: UnusableReplies::default(),
            key,
        }
    }

    /// All contributions to a measure, each with its session.
    fn contributions(&self, spec: &Spec) -> impl Iterator<Item = (u32, Contribution)> {
        let at = MEASURES.iter().position(|other| other.id() == spec.id());
        let column = &self.parts[at.expect("every measure is listed")];
        self.unit_of.iter().copied().zip(column.parts())
    }

    /// All contributions to a measure by session, those without a figure
    /// included.
    pub fn all_parts(&self, spec: &Spec) -> ByUnit {
        let mut found = ByUnit::new();
        for (unit, parts) in self.contributions(spec) {
            found.entry(unit).or_default().push(parts);
        }
        found
    }

    /// The contributions to a measure by session, and the first reasons why
    /// one of them is unknown or absent.
    pub fn parts(&self, spec: &Spec) -> Contributions {
        let mut found = Contributions::default();
        for (unit, parts) in self.contributions(spec) {
            found.add(unit, parts);
        }
        found
    }

    /// The figures of one of [`RESAMPLED`], or of a series behind them, by
    /// session, one list per replicate.
    pub fn series(&self, at: usize) -> BTreeMap<usize, Vec<Figures>> {
        let mut found: BTreeMap<usize, Vec<Figures>> = BTreeMap::new();
        for (unit, figures) in self.unit_of.iter().zip(self.series[at].figures()) {
            found.entry(*unit as usize).or_default().push(figures);
        }
        found
    }

    /// Mean window of the cells in tokens; 0 without any.
    pub fn mean_window(&self) -> f64 {
        self.window_tokens as f64 / self.unit_of.len().max(1) as f64
    }

    /// Sets the standing of the row, once all of its cells are known.
    fn settle(&mut self) {
        if self.row_kind == RowKind::Ranked && self.replies.are_too_many() {
            self.row_kind = RowKind::Unusable;
        }
    }

    fn fail(&mut self, cell: &Cell, failure: String) {
        self.row_kind = cell.row_kind;
        self.failed.push(failure);
    }

    fn take<'f>(
        &mut self,
        unit: usize,
        sample: &CellInput<'_>,
        series: impl Iterator<Item = &'f Figures>,
    ) {
        let CellInput { rows, exams, cell, .. } = sample;
        self.row_kind = cell.row_kind;
        self.units.insert(unit);
        self.unit_of.push(unit as u32);
        self.series.iter_mut().zip(series).for_each(|(column, own)| column.push_figures(own));
        self.window_tokens += rows.window;
        let replies = rows.compactions.iter().flat_map(|compaction| &compaction.replies);
        let replies = replies.chain(exams.replies(cell));
        replies.for_each(|reply| self.replies.add(reply, sample.repeated));
        self.replies.fallbacks += sample.fallbacks();
        self.acted |= !rows.compactions.is_empty() || !rows.loss.is_empty();
        let session = rows.compactions.iter().filter(|compaction| !compaction.at_end);
        self.latencies.extend(session.filter_map(|compaction| compaction.latency_source));
        self.failed.extend(exams.failures(cell));
    }
}

/// The contributions of a row's cells to a measure.
#[derive(Default)]
pub(super) struct Contributions {
    /// Those with a figure.
    pub by_unit: ByUnit,
    /// The first reason why a cell has no figure.
    pub absent: Option<Absent>,
    /// The first reason why a figure of a cell is unknown.
    pub unknown: Option<Absent>,
}

impl Contributions {
    pub fn add(&mut self, unit: u32, parts: Contribution) {
        match parts {
            Contribution::Absent(reason) => drop(self.absent.get_or_insert(reason)),
            Contribution::Unknown(reason) => drop(self.unknown.get_or_insert(reason)),
            parts => self.by_unit.entry(unit).or_default().push(parts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{CellBuilder, cell, facts, manifest};
    use recap_core::model::{LedgerState, LossRow};

    fn three() -> SessionFacts {
        let made = facts("s").requests(&[100; 3]).reference(0, 10, None);
        made.reference(1, 10, Some(5)).question(QuestionKind::Fact, 1, 10).build()
    }

    fn built(made: CellBuilder, change: impl FnOnce(&mut CellRows)) -> Cell {
        let mut cell = made.build();
        if let CellOutcome::Done(rows) = &mut cell.outcome {
            change(rows);
        }
        cell
    }

    fn actual(facts: &SessionFacts, cell: &Cell) -> Result<(), String> {
        fits(facts, cell.rows().unwrap()).map_err(|unfit| unfit.to_string())
    }

    #[test]
    fn cell_has_all_rows_only_questions_or_nothing() {
        let of = |requests: usize, states: &str, outcomes: &str| {
            let made = cell("s", "x").sent(&vec![100; requests]).states(states);
            actual(&three(), &made.snapshot(1, 0).answers(outcomes).build())
        };
        for (requests, states, outcomes) in [(3, "kl", "r"), (0, "", "r"), (0, "", "")] {
            assert_eq!(of(requests, states, outcomes), Ok(()), "{requests} {states} {outcomes}");
        }
        for (requests, states, outcomes) in [
            (3, "kl", ""),
            (3, "", "r"),
            (3, "k", "r"),
            (0, "kl", "r"),
            (2, "kl", "r"),
            (0, "", "rr"),
        ] {
            assert!(of(requests, states, outcomes).is_err(), "{requests} {states} {outcomes}");
        }
        assert_eq!(
            of(2, "kl", "").unwrap_err(),
            "the cell has 2 requests, 2 references and 0 questions, its session 3 requests, 2 \
             references and 1 question: it is from another version of the data; run it again"
        );
    }

    #[test]
    fn unordered_or_out_of_range_row_is_refused() {
        let whole = || cell("s", "x").sent(&[100; 3]).states("kl").snapshot(1, 0).answers("r");
        let of = |change: fn(&mut CellRows)| actual(&three(), &built(whole(), change));
        assert_eq!(of(|_| {}), Ok(()));
        assert!(of(|rows| rows.references.reverse()).is_err());
        assert!(of(|rows| rows.questions[0].question = 1).is_err());
        let outside = Err("a row of its session points outside it: run it again".to_owned());
        assert_eq!(of(|rows| rows.questions[0].snapshot = 1), outside);
        let spoiled = |spoil: fn(&mut SessionFacts)| {
            let mut facts = three();
            spoil(&mut facts);
            actual(&facts, &whole().build())
        };
        assert_eq!(spoiled(|facts| facts.exam.references[1].request = 3), outside);
        // There are six messages.
        assert_eq!(spoiled(|facts| facts.exam.references[1].refetch = Some(6)), outside);
        assert_eq!(spoiled(|facts| facts.exam.references.reverse()), outside);
    }

    #[test]
    fn row_acted_if_any_cell_compacted_or_hid() {
        let both = ["s", "t"].map(|id| facts(id).requests(&[100]).build());
        let plain = |id: &str, name: &str| cell(id, name).sent(&[100]);
        let modelled = plain("s", "compacts").compaction(900, 300);
        let modelled = modelled.called(7.0, LatencySource::Modelled).compaction(300, 200);
        let modelled = modelled.called(9.0, LatencySource::Live);
        let hidden = LossRow { message: 0, request: 0, state: LedgerState::Gone };
        let cells = [
            modelled.with_compaction(|row| row.at_end = true).build(),
            plain("t", "compacts").window("25%", 40_000).build(),
            built(plain("s", "hides"), |rows| rows.loss.push(hidden)),
            plain("s", "idles").build(),
        ];
        let (manifest, sessions) = (manifest(&["25%"]), RunResults::new(cells, []));
        let billing_models = BillingModels::of(&manifest, &sessions);
        let rows = CellIndex::new(&both, &sessions, &billing_models, &manifest).gather();
        let own = rows.iter().filter(|row| row.key.dataset == "d");
        let actual: Vec<(&str, bool, usize, f64)> = own
            .map(|row| (&*row.key.strategy, row.acted, row.units.len(), row.mean_window()))
            .collect();
        assert_eq!(
            actual,
            [
                ("compacts", true, 2, 25_000.0),
                ("hides", true, 1, 10_000.0),
                ("idles", false, 1, 10_000.0)
            ]
        );
        let compacts = rows.iter().find(|row| row.key.strategy == "compacts").unwrap();
        let sources: Vec<LatencySource> = compacts.latencies.iter().copied().collect();
        assert_eq!(sources, [LatencySource::Modelled], "not those at the end of a session");
    }
}
