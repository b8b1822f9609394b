//! Assigns cells to the rows that they belong to.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::model::{
    Cell, CellOutcome, CellRows, LatencySource, Manifest, ProbeKind, Repeated, Source, Standing,
    TranscriptFacts, VoidReplies, repeated,
};
use crate::text::counted;

use super::exams::Exams;
use super::measures::RESAMPLED;
use super::money;
use super::names::{ALL, BASELINE, RECORDED};
use super::payers::Payers;
use super::probed::kinds_by_dataset;
use super::spec::{Basis, Parts, Sample, Spec};
use super::terms::Terms;
use super::variance::{Figures, Judged};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowKey<'a> {
    pub dataset: &'a str,
    pub window: &'a str,
    pub payer: &'a str,
    pub strategy: &'a str,
}

/// The data of one row, collected from its cells.
pub struct Gathered<'a> {
    pub standing: Standing,
    /// Transcripts with a cell that reached its end.
    pub units: BTreeSet<usize>,
    /// The series of each of [`RESAMPLED`], by transcript, one per replicate.
    pub series: BTreeMap<usize, Vec<Rc<Series>>>,
    /// Number of the row's answers that a panel's judges graded, and on how
    /// many they differ.
    pub judged: Judged,
    /// Sources of the times of its compactions.
    pub latencies: BTreeSet<LatencySource>,
    pub failed: Vec<String>,
    /// Window of every cell that reached its end.
    pub windows: Vec<u64>,
    pub acted: bool,
    /// Replies of the compactor in all of its cells.
    pub replies: VoidReplies,
    pub key: RowKey<'a>,
}

/// A cell that reached its end, for each of its payers. It consists of
/// references, so that all cells of a run fit into memory.
pub(super) struct Observed<'a> {
    unit: usize,
    /// For each payer: the cell as that payer is billed, and the rows that it
    /// belongs to.
    payers: Vec<(Sample<'a>, [u32; 2])>,
}

impl<'a> Observed<'a> {
    /// For each payer: the row of the data set, the transcript's position, and
    /// the cell.
    pub fn samples(&'a self) -> impl Iterator<Item = (usize, usize, &'a Sample<'a>)> {
        self.payers.iter().map(|(sample, rows)| (rows[0] as usize, self.unit, sample))
    }
}

/// The contribution of one cell to a measure of one row.
pub(super) struct Contribution {
    /// Number of the row.
    pub row: u32,
    /// The transcript, so that replicates are averaged before transcripts.
    pub unit: u32,
    /// The figure or figures of the cell.
    pub parts: Parts,
}

/// The contributions of the cells to one measure, in the order of the cells.
/// Measures are processed one by one: all contributions at once are many times
/// as large as the cells.
pub(super) fn contributions(spec: &Spec, observed: &[Observed<'_>]) -> Vec<Contribution> {
    let size = observed.iter().map(|cell| 2 * cell.payers.len()).sum();
    let mut found = Vec::with_capacity(size);
    for Observed { unit, payers } in observed {
        // Only bills differ between payers.
        let first = spec.of(&payers[0].0);
        for (at, (sample, rows)) in payers.iter().enumerate() {
            let parts = match spec.basis {
                Basis::Bill if at > 0 => spec.of(sample),
                _ => first.clone(),
            };
            let unit = *unit as u32;
            found.push(Contribution { row: rows[0], unit, parts: parts.clone() });
            found.push(Contribution { row: rows[1], unit, parts });
        }
    }
    found
}

/// One list of figures for each of [`RESAMPLED`].
pub type Series = [Figures; RESAMPLED.len()];

fn failure(cell: &Cell, error: &str) -> String {
    format!("{} (replicate {}): {error}", cell.key.transcript, cell.key.replicate)
}

/// Cells of one control, by data set, transcript and window.
type Beside<'a> = BTreeMap<(&'a str, &'a str, &'a str), &'a Cell>;

/// The cells of a run, with the data that their measures need.
pub(super) struct Scene<'a> {
    facts: &'a [TranscriptFacts],
    cells: &'a [Cell],
    full: Beside<'a>,
    recorded: Beside<'a>,
    kinds: BTreeMap<String, BTreeSet<ProbeKind>>,
    /// Repeated texts of the compactor, by strategy and window.
    repeated: BTreeMap<(&'a str, &'a str), Repeated>,
    payers: &'a Payers<'a>,
    terms: Terms,
    /// Whether answers come from a model or from the offline reader.
    answered_by: Source,
    exams: &'a Exams<'a>,
}

impl<'a> Scene<'a> {
    /// Creates a scene from sorted transcripts and cells.
    pub fn new(
        facts: &'a [TranscriptFacts],
        cells: &'a [Cell],
        (payers, exams): (&'a Payers<'a>, &'a Exams<'a>),
        manifest: &Manifest,
    ) -> Self {
        let beside = |strategy: &str| -> Beside<'a> {
            let those = cells.iter().filter(|c| c.key.strategy == strategy && c.rows().is_some());
            those.map(|cell| (place(cell), cell)).collect()
        };
        Scene {
            facts,
            cells,
            full: beside(BASELINE),
            recorded: beside(RECORDED),
            kinds: kinds_by_dataset(facts),
            repeated: repeated(cells, exams.cuts()),
            payers,
            terms: Terms::of(manifest),
            answered_by: manifest.answered_by(),
            exams,
        }
    }

    /// Assigns the cells to rows: for each payer one row for the data set and
    /// one for all.
    pub fn gather(&self) -> (Vec<Gathered<'_>>, Vec<Observed<'_>>) {
        let units: BTreeMap<(&str, &str), usize> = (self.facts.iter().enumerate())
            .map(|(at, f)| ((f.dataset.as_str(), f.transcript.as_str()), at))
            .collect();
        let keyed: BTreeSet<RowKey<'_>> = self.cells.iter().flat_map(|c| self.keys(c)).collect();
        let mut rows: Vec<Gathered<'_>> = keyed.into_iter().map(Gathered::new).collect();
        let mut observed = Vec::new();
        // Most sessions of a large run have no series, and share this one.
        let none: Rc<Series> = Rc::default();
        for cell in self.cells {
            let at =
                |key: RowKey<'_>| rows.binary_search_by(|row| row.key.cmp(&key)).expect("keyed");
            let codes: Vec<usize> = self.keys(cell).map(at).collect();
            let unit = units.get(&(cell.key.dataset.as_str(), cell.key.transcript.as_str()));
            let samples = match unit {
                Some(unit) => {
                    self.samples(&self.facts[*unit], cell).map(|samples| (*unit, samples))
                }
                None => Err("its transcript is not among the facts of the run".to_owned()),
            };
            let (unit, samples) = match samples {
                Ok(samples) => samples,
                Err(error) => {
                    let failure = failure(cell, &error);
                    codes.iter().for_each(|code| rows[*code].fail(cell, failure.clone()));
                    continue;
                }
            };
            let series = RESAMPLED.each_ref().map(|of| (of.series)(&samples[0]));
            let series = match series.iter().all(Vec::is_empty) {
                true => Rc::clone(&none),
                false => Rc::new(series),
            };
            for code in &codes {
                rows[*code].take(unit, &samples[0], Rc::clone(&series));
            }
            let pairs = codes.chunks(2).map(|pair| [pair[0] as u32, pair[1] as u32]);
            observed.push(Observed { unit, payers: samples.into_iter().zip(pairs).collect() });
        }
        rows.iter_mut().for_each(Gathered::settle);
        (rows, observed)
    }

    /// The rows of a cell: for each payer that of the data set and that of all.
    fn keys<'c>(&'c self, cell: &'c Cell) -> impl Iterator<Item = RowKey<'c>> {
        let row = |dataset, payer| RowKey {
            dataset,
            window: &cell.key.window,
            payer,
            strategy: &cell.key.strategy,
        };
        let payers = self.payers.names().iter();
        payers.flat_map(move |payer| [&*cell.key.dataset, ALL].map(|dataset| row(dataset, *payer)))
    }

    /// The texts that the compactor repeated for the preset of a cell, at its
    /// window.
    fn repeated<'s>(&'s self, cell: &'s Cell) -> &'s Repeated {
        &self.repeated[&(cell.key.strategy.as_str(), cell.key.window.as_str())]
    }

    /// The cell with its facts for each payer, if it reached its end and fits
    /// the facts.
    fn samples<'s>(
        &'s self,
        facts: &'s TranscriptFacts,
        cell: &'s Cell,
    ) -> Result<Vec<Sample<'s>>, String> {
        let rows = match &cell.outcome {
            CellOutcome::Done(rows) => rows,
            CellOutcome::Failed { error } => return Err(error.clone()),
        };
        fits(facts, rows).map_err(|unfit| unfit.to_string())?;
        let sample = |payer: &&'s str| Sample {
            facts,
            cell,
            rows,
            full: beside(&self.full, facts, cell),
            recorded: beside(&self.recorded, facts, cell),
            payer,
            terms: &self.terms,
            kinds: &self.kinds[&facts.dataset],
            answered_by: self.answered_by,
            exams: self.exams,
            repeated: self.repeated(cell),
        };
        Ok(self.payers.names().iter().map(sample).collect())
    }
}

fn place(cell: &Cell) -> (&str, &str, &str) {
    (&cell.key.dataset, &cell.key.transcript, &cell.key.window)
}

/// The cell of a control at the place of this cell, if it fits the transcript
/// too.
fn beside<'a>(cells: &Beside<'a>, facts: &TranscriptFacts, cell: &Cell) -> Option<&'a Cell> {
    let found = cells.get(&place(cell)).copied()?;
    fits(facts, found.rows()?).is_ok().then_some(found)
}

/// Numbers of requests, references and probes.
type Counts = (usize, usize, usize);

/// Why a cell does not fit its transcript.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unfit {
    /// The cell has other numbers of rows than the transcript requires.
    #[error(
        "the cell has {}, its transcript {}: it is from another version of the data; run it again",
        told(.0), told(.1)
    )]
    Counts(Counts, Counts),
    /// A row points at something that is not there.
    #[error("a row of its transcript points outside it: run it again")]
    Outside,
}

fn told((requests, references, probes): &Counts) -> String {
    let (requests, references) = (counted(*requests, "request"), counted(*references, "reference"));
    format!("{requests}, {references} and {}", counted(*probes, "probe"))
}

/// Checks that a cell has the rows that its transcript requires: a run folder
/// may have been edited.
pub fn fits(facts: &TranscriptFacts, rows: &CellRows) -> Result<(), Unfit> {
    let has = (rows.requests.len(), rows.references.len(), rows.probes.len());
    let due = (facts.requests.len(), facts.exam.references.len(), facts.probes.len());
    // A null is only examined at cuts; it has no requests and no questions.
    let whole = has == due || has == (0, 0, due.2) || has == (0, 0, 0);
    let in_order = (0u32..).zip(&rows.references).all(|(at, o)| o.reference == at)
        && (0u32..).zip(&rows.probes).all(|(at, p)| p.probe == at);
    if !in_order || !whole {
        return Err(Unfit::Counts(has, due));
    }
    let snapshots = rows.snapshots.len();
    let bills = rows.bills.iter().all(|bill| money::sound(bill, rows));
    if !bills || !sound(facts) || rows.probes.iter().any(|p| p.snapshot as usize >= snapshots) {
        return Err(Unfit::Outside);
    }
    Ok(())
}

/// Whether references are sorted and refer to positions in their transcript: a
/// run folder may have been edited.
fn sound(facts: &TranscriptFacts) -> bool {
    let references = &facts.exam.references;
    references.is_sorted_by_key(|r| r.request)
        && references.iter().all(|r| {
            (r.request as usize) < facts.requests.len()
                && r.refetch.is_none_or(|at| (at as usize) < facts.messages.len())
        })
}

impl<'a> Gathered<'a> {
    fn new(key: RowKey<'a>) -> Self {
        Gathered {
            standing: Standing::Ranked,
            units: BTreeSet::new(),
            series: BTreeMap::new(),
            judged: Judged::default(),
            latencies: BTreeSet::new(),
            failed: Vec::new(),
            windows: Vec::new(),
            acted: false,
            replies: VoidReplies::default(),
            key,
        }
    }

    /// Sets the standing of the row, once all of its cells are known.
    fn settle(&mut self) {
        if self.standing == Standing::Ranked && self.replies.are_too_many() {
            self.standing = Standing::Void;
        }
    }

    fn fail(&mut self, cell: &Cell, failure: String) {
        self.standing = cell.standing;
        self.failed.push(failure);
    }

    fn take(&mut self, unit: usize, sample: &Sample<'_>, series: Rc<Series>) {
        let Sample { rows, exams, cell, .. } = sample;
        self.standing = cell.standing;
        self.units.insert(unit);
        self.series.entry(unit).or_default().push(series);
        rows.probes.iter().for_each(|probe| self.judged.add(probe));
        self.windows.push(rows.window);
        let replies = rows.compactions.iter().flat_map(|compaction| &compaction.replies);
        let replies = replies.chain(exams.replies(cell));
        replies.for_each(|reply| self.replies.add(reply, sample.repeated));
        self.acted |= !rows.compactions.is_empty() || !rows.loss.is_empty();
        let session = rows.compactions.iter().filter(|compaction| !compaction.at_end);
        self.latencies.extend(session.filter_map(|compaction| compaction.latency_source));
        self.failed.extend(exams.failures(cell));
    }
}
