//! Sorts cells into the rows that they belong to, measured one by one.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Cell, CellOutcome, ProbeKind, Source, Standing, TranscriptFacts};

use super::aggregate::Observation;
use super::measures::{MEASURES, RESAMPLED};
use super::probed::kinds_by_dataset;
use super::rows::{ALL, BASELINE};
use super::spec::{Parts, Sample};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey<'a> {
    pub dataset: &'a str,
    pub window: &'a str,
    pub strategy: &'a str,
}

/// What belongs to one row, gathered cell by cell.
pub struct Gathered<'a> {
    pub standing: Standing,
    /// Transcripts with a cell that ran through.
    pub units: BTreeSet<usize>,
    /// The series of each of [`RESAMPLED`], by transcript, one per replicate.
    pub series: BTreeMap<usize, Vec<Series>>,
    /// First reason met for each measure without a figure.
    pub reasons: BTreeMap<&'static str, &'static str>,
    pub failed: Vec<String>,
    /// Window of every cell that ran through.
    pub windows: Vec<u64>,
    pub acted: bool,
    pub key: RowKey<'a>,
}

/// Sorts cells into rows: one for the data set, one for all.
pub fn gather<'a>(
    facts: &[TranscriptFacts],
    cells: &'a [Cell],
    source: Source,
) -> (Vec<Gathered<'a>>, Vec<Observation>) {
    let units: BTreeMap<(&str, &str), usize> = (facts.iter().enumerate())
        .map(|(at, f)| ((f.dataset.as_str(), f.transcript.as_str()), at))
        .collect();
    let keyed: BTreeSet<RowKey<'a>> = cells.iter().flat_map(keys).collect();
    let codes: BTreeMap<RowKey<'a>, usize> =
        keyed.iter().enumerate().map(|(code, key)| (key.clone(), code)).collect();
    let mut rows: Vec<Gathered<'a>> = keyed.into_iter().map(Gathered::new).collect();
    let mut observations = Vec::new();
    let scene = Scene::new(facts, cells, source);
    for cell in cells {
        let unit = units.get(&(cell.key.dataset.as_str(), cell.key.transcript.as_str())).copied();
        let taken = match unit {
            Some(unit) => scene.sample(&facts[unit], cell).map(|sample| Taken::new(unit, &sample)),
            None => Err("its transcript is not among the facts of the run".to_owned()),
        };
        for key in keys(cell) {
            let code = codes[&key];
            rows[code].standing = cell.standing;
            match &taken {
                Ok(taken) => {
                    rows[code].take(taken);
                    observations.push(taken.observation(code));
                }
                Err(error) => rows[code].failed.push(failure(cell, error)),
            }
        }
    }
    (rows, observations)
}

/// One figure per request or probe; `None` where there is none.
pub type Figures = Vec<Option<f64>>;

/// One list of figures for each of [`RESAMPLED`].
pub type Series = [Figures; RESAMPLED.len()];

/// A cell that ran through, measured.
struct Taken<'a> {
    unit: usize,
    cell: &'a Cell,
    series: Series,
    parts: Vec<Parts>,
}

impl<'a> Taken<'a> {
    fn new(unit: usize, sample: &Sample<'a>) -> Self {
        let series = RESAMPLED.each_ref().map(|resampled| (resampled.series)(sample));
        let parts = MEASURES.iter().map(|spec| spec.of(sample)).collect();
        Taken { unit, cell: sample.cell, series, parts }
    }

    fn observation(&self, row: usize) -> Observation {
        Observation { row: row as u32, unit: self.unit as u32, parts: self.parts.clone() }
    }
}

fn keys(cell: &Cell) -> [RowKey<'_>; 2] {
    [cell.key.dataset.as_str(), ALL].map(|dataset| RowKey {
        dataset,
        window: &cell.key.window,
        strategy: &cell.key.strategy,
    })
}

fn failure(cell: &Cell, error: &str) -> String {
    format!("{} (replicate {}): {error}", cell.key.transcript, cell.key.replicate)
}

/// What cells are looked at beside.
struct Scene<'a> {
    /// The cells of `full`, by data set, transcript and window.
    full: BTreeMap<(&'a str, &'a str, &'a str), &'a Cell>,
    kinds: BTreeMap<String, BTreeSet<ProbeKind>>,
    source: Source,
}

impl<'a> Scene<'a> {
    fn new(facts: &[TranscriptFacts], cells: &'a [Cell], source: Source) -> Self {
        let full = cells.iter().filter(|c| c.key.strategy == BASELINE && c.rows().is_some());
        let key = |c: &'a Cell| (&*c.key.dataset, &*c.key.transcript, &*c.key.window);
        let full = full.map(|cell| (key(cell), cell)).collect();
        Scene { full, kinds: kinds_by_dataset(facts), source }
    }

    /// The cell with its facts, if it ran through and fits them.
    fn sample<'s>(
        &'s self,
        facts: &'s TranscriptFacts,
        cell: &'s Cell,
    ) -> Result<Sample<'s>, String> {
        let rows = match &cell.outcome {
            CellOutcome::Done(rows) => rows,
            CellOutcome::Failed { error } => return Err(error.clone()),
        };
        let key = (&*cell.key.dataset, &*cell.key.transcript, &*cell.key.window);
        let kinds = &self.kinds[&facts.dataset];
        let full = self.full.get(&key).copied();
        let sample = Sample { facts, cell, rows, full, kinds, source: self.source };
        fits(&sample)?;
        Ok(sample)
    }
}

/// Whether a cell has the rows that its transcript asks for: a run folder is a
/// file that somebody may have edited.
fn fits(sample: &Sample<'_>) -> Result<(), String> {
    let Sample { facts, rows, .. } = sample;
    let counts = |requests, references, probes| {
        format!("{requests} requests, {references} references and {probes} probes")
    };
    let has = (rows.requests.len(), rows.references.len(), rows.probes.len());
    let due = (facts.requests.len(), facts.exam.references.len(), facts.probes.len());
    let whole = has == due || has == (0, 0, due.2);
    let in_order = (0u32..).zip(&rows.references).all(|(at, o)| o.reference == at)
        && (0u32..).zip(&rows.probes).all(|(at, p)| p.probe == at);
    if !in_order || !whole {
        return Err(format!(
            "the cell has {}, its transcript {}: it is from another version of the data; run it \
             again",
            counts(has.0, has.1, has.2),
            counts(due.0, due.1, due.2),
        ));
    }
    let snapshots = rows.snapshots.len();
    if !sound(facts) || rows.probes.iter().any(|p| p.snapshot as usize >= snapshots) {
        return Err("a row of its transcript points outside it: run it again".to_owned());
    }
    Ok(())
}

/// Whether references come in order and point into their transcript: a run
/// folder is a file that somebody may have edited.
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
            reasons: BTreeMap::new(),
            failed: Vec::new(),
            windows: Vec::new(),
            acted: false,
            key,
        }
    }

    fn take(&mut self, taken: &Taken<'_>) {
        let Some(rows) = taken.cell.rows() else { return };
        self.units.insert(taken.unit);
        self.series.entry(taken.unit).or_default().push(taken.series.clone());
        self.windows.push(rows.window);
        self.acted |= !rows.compactions.is_empty() || !rows.loss.is_empty();
        for (spec, part) in MEASURES.iter().zip(&taken.parts) {
            if let Parts::Absent(reason) = part {
                self.reasons.entry(spec.id).or_insert(reason);
            }
        }
    }
}
