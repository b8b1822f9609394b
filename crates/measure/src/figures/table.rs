//! The table of session figures: what each session of a run contributes to each measure, in each
//! row. Rows, intervals, verdicts, pairs of runs and searches over settings are folds of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::ALL;
use crate::figures::PackedFigures;
use crate::figures::exams::{Exams, kinds_by_dataset};
use crate::figures::money::{self, BillingModels};
use crate::figures::spec::{Basis, CellInput, Contribution, Pool, Spec};
use crate::measures::MEASURES;
use crate::statistics::pooling::{Scores, owner};
use recap_billing::pricing::PriceList;
use recap_core::model::{
    Absent, Cell, CellOutcome, CellRows, FULL, LatencySource, Manifest, QuestionKind, RECORDED,
    RepeatedTexts, RowKind, RunResults, SessionFacts, SessionResults, UnusableReplies, catalogue,
};
use recap_core::text::counted;

/// What identifies a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey {
    /// Name of the data set, or [`ALL`].
    pub dataset: String,
    /// Label of the window, as typed.
    pub window: String,
    /// As in [`recap_core::model::Bill::billed_as`].
    pub billing_model: String,
    /// Id of the strategy.
    pub strategy: String,
}

/// A row of one data set, session by session.
#[derive(Default)]
pub(crate) struct TableRow {
    row_kind: RowKind,
    /// Sessions with a cell that reached its end, by their position in the facts.
    pub sessions: Vec<usize>,
    /// For each of [`MEASURES`], the contributions of these sessions.
    figures: Vec<PackedFigures>,
    /// Sources of the times of its compactions.
    pub latencies: BTreeSet<LatencySource>,
    pub failed: Vec<String>,
    /// Number of its cells that reached their end.
    pub cells: u64,
    /// Sum of the windows of these cells, in tokens.
    pub window_tokens: u64,
    /// Whether one of its cells compacted or hid a message.
    pub acted: bool,
    /// Replies of the compactor in all of its cells.
    pub replies: UnusableReplies,
}

/// The figures of every session of a run, by the rows of single data sets.
pub(crate) struct SessionTable<'a> {
    facts: &'a [SessionFacts],
    /// The billing models of the run.
    pub billing_models: BillingModels,
    rows: BTreeMap<RowKey, TableRow>,
}

/// What the cells of a run are measured with.
struct RunInputs<'a> {
    depth: u32,
    prices: PriceList,
    kinds: BTreeMap<String, BTreeSet<QuestionKind>>,
    /// Repeated texts of the compactor, by strategy and window.
    repeated: RepeatedTexts,
    facts: &'a [SessionFacts],
}

impl<'a> SessionTable<'a> {
    /// The table of sorted sessions and all results.
    pub fn of(manifest: &Manifest, facts: &'a [SessionFacts], results: &RunResults) -> Self {
        let run = RunInputs {
            depth: manifest.depth,
            prices: PriceList::from(&manifest.prices),
            kinds: kinds_by_dataset(facts),
            repeated: RepeatedTexts::of(results),
            facts,
        };
        let billing_models = BillingModels::of(manifest, results);
        let mut table = SessionTable { facts, billing_models, rows: BTreeMap::new() };
        results.iter().for_each(|session| table.add(&run, &session));
        table
    }

    /// The sessions of the run.
    pub fn facts(&self) -> &'a [SessionFacts] {
        self.facts
    }

    /// The rows of single data sets, in the order of their keys.
    pub fn rows(&self) -> impl Iterator<Item = (&RowKey, &TableRow)> {
        self.rows.iter()
    }

    /// The rows of a comparison: those of single data sets, and those of all of them together.
    pub fn views(&self) -> BTreeMap<RowKey, RowView<'_>> {
        let mut views: BTreeMap<RowKey, RowView<'_>> = BTreeMap::new();
        for (key, row) in &self.rows {
            for dataset in [key.dataset.as_str(), ALL] {
                let of = RowKey { dataset: dataset.to_owned(), ..key.clone() };
                let view = || RowView { facts: self.facts, rows: Vec::new() };
                views.entry(of).or_insert_with(view).rows.push(row);
            }
        }
        views
    }

    /// Adds the cells of a session to their rows, replicates together.
    fn add(&mut self, run: &RunInputs<'_>, session: &SessionResults<'_>) {
        let place = |cell: &Cell| (cell.key.strategy.clone(), cell.key.window.clone());
        for replicates in session.cells().chunk_by(|a, b| place(a) == place(b)) {
            let exams = replicates.iter().map(|cell| Exams::of(cell, session.cuts(), run.depth));
            let exams: Vec<Exams<'_>> = exams.collect();
            let (mut inputs, mut failed) = (Vec::new(), Vec::new());
            for (cell, exams) in replicates.iter().zip(&exams) {
                match run.input(session, cell, exams) {
                    Ok(input) => {
                        inputs.push(input);
                        failed.extend(exams.failures());
                    }
                    Err(error) => {
                        let (id, replicate) = (&cell.key.session, cell.key.replicate);
                        failed.push(format!("{id} (replicate {replicate}): {error}"));
                    }
                }
            }
            self.add_replicates(run, &replicates[0], &inputs, &failed);
        }
    }

    /// Adds the replicates of a session to its rows, one for each billing model: the cells that
    /// reached their end, and what failed.
    fn add_replicates(
        &mut self,
        run: &RunInputs<'_>,
        cell: &Cell,
        inputs: &[CellInput<'_>],
        failed: &[String],
    ) {
        let mut first: Vec<Contribution> = Vec::new();
        for (at, billing_model) in self.billing_models.names().iter().enumerate() {
            let key = RowKey {
                dataset: cell.key.dataset.clone(),
                window: cell.key.window.clone(),
                billing_model: billing_model.clone(),
                strategy: cell.key.strategy.clone(),
            };
            let row = self.rows.entry(key).or_insert_with(|| TableRow {
                figures: vec![PackedFigures::default(); MEASURES.len()],
                ..TableRow::default()
            });
            row.row_kind = cell.row_kind;
            row.failed.extend_from_slice(failed);
            let Some(input) = inputs.first() else { continue };
            row.sessions.extend(position_of(run.facts, &input.facts.dataset, &input.facts.session));
            let inputs: Vec<CellInput<'_>> =
                inputs.iter().map(|input| CellInput { billing_model, ..*input }).collect();
            let figure =
                |spec: &Spec| spec.pool.over_replicates(inputs.iter().map(|one| spec.of(one)));
            if at == 0 {
                first = MEASURES.iter().map(figure).collect();
            }
            for (nth, spec) in MEASURES.iter().enumerate() {
                // Only bills differ between billing models.
                match spec.basis {
                    Basis::Bill if at > 0 => row.figures[nth].push(&figure(spec)),
                    _ => row.figures[nth].push(&first[nth]),
                }
            }
            inputs.iter().for_each(|input| row.describe(input));
        }
    }
}

/// Position of a session among the facts, which are sorted; `None` if it is not there.
pub(crate) fn position_of(facts: &[SessionFacts], dataset: &str, session: &str) -> Option<usize> {
    let key = |of: &SessionFacts| (&*of.dataset, &*of.session).cmp(&(dataset, session));
    facts.binary_search_by(key).ok()
}

impl RunInputs<'_> {
    /// The cell with its facts, if it reached its end and fits the facts.
    fn input<'s>(
        &'s self,
        session: &'s SessionResults<'_>,
        cell: &'s Cell,
        exams: &'s Exams<'s>,
    ) -> Result<CellInput<'s>, String> {
        let Some(at) = position_of(self.facts, session.dataset, session.id) else {
            return Err("its session is not among the facts of the run".to_owned());
        };
        let facts = &self.facts[at];
        let rows = match &cell.outcome {
            CellOutcome::Done(rows) => rows,
            CellOutcome::Failed { error } => return Err(error.clone()),
        };
        fits(facts, rows)?;
        // The cell of a control at the same window, if it fits the session too.
        let control = |strategy: &str| {
            let is_it = |other: &&Cell| {
                (&*other.key.strategy, &other.key.window) == (strategy, &cell.key.window)
                    && other.rows().is_some()
            };
            let found = session.cells().iter().rfind(is_it)?;
            fits(facts, found.rows()?).is_ok().then_some(found)
        };
        Ok(CellInput {
            facts,
            cell,
            rows,
            full: control(FULL),
            recorded: control(RECORDED),
            // Each row takes another one.
            billing_model: "",
            prices: &self.prices,
            kind: None,
            kinds: &self.kinds[&facts.dataset],
            exams,
            repeated: self.repeated.of_row(&cell.key.strategy, &cell.key.window),
        })
    }
}

impl TableRow {
    /// Adds what else is known of a cell.
    fn describe(&mut self, input: &CellInput<'_>) {
        let rows = input.rows;
        self.cells += 1;
        self.window_tokens += rows.window;
        input.replies().for_each(|reply| self.replies.add(reply, input.repeated));
        self.replies.fallbacks += input.fallbacks();
        self.acted |= !rows.compactions.is_empty() || !rows.loss.is_empty();
        self.latencies.extend(input.compactions().filter_map(|of| of.latency_source));
    }

    /// The role of the row, with all of its cells known.
    pub fn row_kind(&self) -> RowKind {
        row_kind_with(self.row_kind, &self.replies)
    }

    /// Whether a measure is a wait, and the waits of the row have several sources.
    pub fn mixes_times(&self, spec: &Spec) -> bool {
        spec.measure == catalogue::BLOCKING_MS_P95 && self.latencies.len() > 1
    }

    /// The contribution of each of its sessions to a measure.
    pub fn contributions(&self, spec: &Spec) -> impl Iterator<Item = (usize, Contribution)> {
        self.sessions.iter().copied().zip(self.figures[place_of(spec)].contributions())
    }
}

/// Position of a measure in [`MEASURES`].
fn place_of(spec: &Spec) -> usize {
    let place = MEASURES.iter().position(|other| other.id() == spec.id());
    place.expect("every measure is listed")
}

/// A row of a comparison: one of a single data set, or those of all together.
pub(crate) struct RowView<'a> {
    facts: &'a [SessionFacts],
    /// In the order of their data sets.
    pub rows: Vec<&'a TableRow>,
}

impl<'a> RowView<'a> {
    /// Its sessions with a cell that reached its end, by their position in the facts.
    pub fn sessions(&self) -> impl Iterator<Item = usize> {
        self.rows.iter().flat_map(|row| row.sessions.iter().copied())
    }

    /// The facts of these sessions.
    pub fn facts(&self) -> impl Iterator<Item = &'a SessionFacts> {
        self.sessions().map(|at| &self.facts[at])
    }

    /// The figure of a measure, or the first reason why there is none.
    pub fn figure(&self, spec: &Spec) -> Result<f64, Absent> {
        let each = self.rows.iter().flat_map(|row| row.contributions(spec));
        spec.pool.over_sessions(each.map(|(at, own)| (owner(&self.facts[at]), own)))
    }

    /// What its sessions score in a measure.
    pub fn scores(&self, spec: &Spec) -> Scores {
        let is_weighted = spec.pool == Pool::AtCuts;
        let score = |(at, own)| match own {
            Contribution::One(value) => Some((at, (value, None))),
            Contribution::Fraction { of, to } => {
                Some((at, (of / to, Some(to).filter(|_| is_weighted))))
            }
            Contribution::Many(_) | Contribution::Absent(_) | Contribution::Unknown(_) => None,
        };
        self.rows.iter().flat_map(|row| row.contributions(spec)).filter_map(score).collect()
    }

    /// The sum over its sessions of a count, or of what a fraction is of.
    pub fn counted(&self, spec: &Spec) -> f64 {
        let each = self.rows.iter().flat_map(|row| row.contributions(spec));
        let counts = each.map(|(_, own)| match own {
            Contribution::One(count) | Contribution::Fraction { to: count, .. } => count,
            _ => 0.0,
        });
        counts.sum()
    }

    /// Replies of the compactor in all of its cells.
    pub fn replies(&self) -> UnusableReplies {
        let mut all = UnusableReplies::default();
        self.rows.iter().for_each(|row| all += &row.replies);
        all
    }

    /// The role of the row, with all of its cells known.
    pub fn row_kind(&self) -> RowKind {
        let last = self.rows.last().map_or(RowKind::Ranked, |row| row.row_kind);
        row_kind_with(last, &self.replies())
    }
}

/// The role of a row with these replies of its compactor.
fn row_kind_with(row_kind: RowKind, replies: &UnusableReplies) -> RowKind {
    let too_many = row_kind == RowKind::Ranked && replies.are_too_many();
    if too_many { RowKind::Unusable } else { row_kind }
}

/// Checks that a cell has the rows that its session requires: a run folder
/// may have been edited.
pub fn fits(facts: &SessionFacts, rows: &CellRows) -> Result<(), String> {
    let has = (rows.requests.len(), rows.references.len(), rows.questions.len());
    let due = (facts.requests.len(), facts.exam.references.len(), facts.questions.len());
    // A strategy without its summaries is only examined at cuts; it has no requests and no
    // questions.
    let whole = has == due || has == (0, 0, due.2) || has == (0, 0, 0);
    let in_order = (0u32..).zip(&rows.references).all(|(at, o)| o.reference == at)
        && (0u32..).zip(&rows.questions).all(|(at, p)| p.question == at);
    let snapshots = rows.snapshots.len();
    let inside = sound(facts)
        && rows.bills.iter().all(|bill| money::sound(bill, rows))
        && rows.questions.iter().all(|p| (p.snapshot as usize) < snapshots);
    if whole && in_order && inside {
        return Ok(());
    }
    Err(format!(
        "the cell has {}, {} and {}, and does not fit its session: it is from another version of \
         the data; run it again",
        counted(has.0, "request"),
        counted(has.1, "reference"),
        counted(has.2, "question")
    ))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{CellBuilder, cell, facts, manifest, rows_of};
    use recap_core::model::{LedgerState, LossRow, Primary, Value};

    fn three() -> SessionFacts {
        let made = facts("s").requests(&[100; 3]).reference(0, 10, None);
        made.reference(1, 10, Some(5)).question(QuestionKind::Fact, 1, 10).build()
    }

    fn built(made: CellBuilder, change: impl FnOnce(&mut CellRows)) -> Cell {
        let mut cell = made.build();
        change(rows_of(&mut cell));
        cell
    }

    fn actual(facts: &SessionFacts, cell: &Cell) -> Result<(), String> {
        fits(facts, cell.rows().unwrap())
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
            "the cell has 2 requests, 2 references and 0 questions, and does not fit its session: \
             it is from another version of the data; run it again"
        );
    }

    #[test]
    fn unordered_or_out_of_range_row_is_refused() {
        let whole = || cell("s", "x").sent(&[100; 3]).states("kl").snapshot(1, 0).answers("r");
        let of = |change: fn(&mut CellRows)| actual(&three(), &built(whole(), change));
        assert_eq!(of(|_| {}), Ok(()));
        assert!(of(|rows| rows.references.reverse()).is_err());
        assert!(of(|rows| rows.questions[0].question = 1).is_err());
        assert!(of(|rows| rows.questions[0].snapshot = 1).is_err());
        let spoiled = |spoil: fn(&mut SessionFacts)| {
            let mut facts = three();
            spoil(&mut facts);
            actual(&facts, &whole().build())
        };
        assert!(spoiled(|facts| facts.exam.references[1].request = 3).is_err());
        // There are six messages.
        assert!(spoiled(|facts| facts.exam.references[1].refetch = Some(6)).is_err());
        assert!(spoiled(|facts| facts.exam.references.reverse()).is_err());
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
        let (manifest, results) = (manifest(&["25%"]), RunResults::new(cells, []));
        let table = SessionTable::of(&manifest, &both, &results);
        let rows = crate::figures::rows::rows(&table, Primary::FactsKept, &manifest);
        let own: Vec<_> = rows.iter().filter(|entry| entry.row.dataset == "d").collect();
        let actual: Vec<(&str, bool, f64)> = own
            .iter()
            .map(|entry| (&*entry.row.strategy, entry.acted, entry.window_tokens))
            .collect();
        let expected =
            [("compacts", true, 25_000.0), ("hides", true, 10_000.0), ("idles", false, 10_000.0)];
        assert_eq!(actual, expected);
        let source = &own[0].row.values["latency_source"];
        let modelled = Value::Text("modelled".to_owned());
        assert_eq!(*source, modelled, "not those at the end of a session");
    }
}
