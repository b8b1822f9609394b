//! Rows of the comparison: every figure of a preset on a data set at a window.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    AgainstFull, Cell, CellOutcome, Interval, PresetRow, Standing, TranscriptFacts, Value,
};

use super::MeasureOptions;
use super::against_full::{Difference, judge};
use super::aggregate::{Observation, Pooled, pool};
use super::bootstrap::blocks;
use super::measures::{MEASURES, reference_recall};
use super::spec::{Parts, Sample, Support};
use super::statistics::{Clusters, Confidence};

/// The data set of rows over all transcripts of a run.
pub const ALL: &str = "ALL";
/// The measure that ranks (`semantics` 40).
pub const PRIMARY: &str = "reference_recall";
/// The control that presets are compared with.
pub const BASELINE: &str = "full";

/// A row with what is needed to arrange and to talk about it.
pub struct Entry {
    /// The row.
    pub row: PresetRow,
    /// Reference recall of each of its transcripts, by their position in the facts.
    pub recall: BTreeMap<usize, f64>,
    /// Mean window of its cells in tokens; 0 where every cell failed.
    pub window_tokens: f64,
    /// Whether some cell of it compacted or hid a message.
    pub acted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct RowKey<'a> {
    dataset: &'a str,
    window: &'a str,
    strategy: &'a str,
}

/// What belongs to one row, gathered cell by cell.
struct Gathered<'a> {
    standing: Standing,
    /// Transcripts with a cell that ran through.
    units: BTreeSet<usize>,
    /// Reference recall by request, by transcript, one list per replicate.
    by_request: BTreeMap<usize, Vec<Vec<f64>>>,
    /// First reason met for each measure without a figure.
    reasons: BTreeMap<&'static str, &'static str>,
    failed: Vec<String>,
    /// Window of every cell that ran through.
    windows: Vec<u64>,
    acted: bool,
    key: RowKey<'a>,
}

/// Every row, in the order of their keys. Transcripts and cells come sorted.
pub fn table(facts: &[TranscriptFacts], cells: &[Cell], options: &MeasureOptions) -> Vec<Entry> {
    let (gathered, observations) = gather(facts, cells);
    let pooled = pool(&observations);
    let baseline = |row: &Gathered<'_>| {
        let key = RowKey { strategy: BASELINE, ..row.key.clone() };
        gathered.binary_search_by(|other| other.key.cmp(&key)).ok()
    };
    let entry = |(code, row): (usize, &Gathered<'_>)| {
        Builder { facts, row, code, baseline: baseline(row), pooled: &pooled, options }.entry()
    };
    gathered.iter().enumerate().map(entry).collect()
}

/// Sorts cells into rows: one for the data set, one for all.
fn gather<'a>(
    facts: &[TranscriptFacts],
    cells: &'a [Cell],
) -> (Vec<Gathered<'a>>, Vec<Observation>) {
    let units: BTreeMap<(&str, &str), usize> = (facts.iter().enumerate())
        .map(|(at, f)| ((f.dataset.as_str(), f.transcript.as_str()), at))
        .collect();
    let keyed: BTreeSet<RowKey<'a>> = cells.iter().flat_map(keys).collect();
    let codes: BTreeMap<RowKey<'a>, usize> =
        keyed.iter().enumerate().map(|(code, key)| (key.clone(), code)).collect();
    let mut rows: Vec<Gathered<'a>> = keyed.into_iter().map(Gathered::new).collect();
    let mut observations = Vec::new();
    for cell in cells {
        let unit = units.get(&(cell.key.dataset.as_str(), cell.key.transcript.as_str())).copied();
        let taken = match unit {
            Some(unit) => sample(&facts[unit], cell).map(|sample| Taken::new(unit, sample)),
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

/// A cell that ran through, measured.
struct Taken<'a> {
    unit: usize,
    sample: Sample<'a>,
    by_request: Vec<f64>,
    parts: Vec<Parts>,
}

impl<'a> Taken<'a> {
    fn new(unit: usize, sample: Sample<'a>) -> Self {
        let by_request = reference_recall::by_request(&sample);
        let parts = MEASURES.iter().map(|spec| spec.of(&sample)).collect();
        Taken { unit, sample, by_request, parts }
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

/// The cell with its facts, if it ran through and fits them.
fn sample<'a>(facts: &'a TranscriptFacts, cell: &'a Cell) -> Result<Sample<'a>, String> {
    let rows = match &cell.outcome {
        CellOutcome::Done(rows) => rows,
        CellOutcome::Failed { error } => return Err(error.clone()),
    };
    let in_order = (0u32..).zip(&rows.references).all(|(at, o)| o.reference == at);
    let whole = rows.requests.len() == facts.requests.len()
        && rows.references.len() == facts.exam.references.len();
    if !in_order || !whole {
        return Err(format!(
            "the cell has {} requests and {} references, its transcript {} and {}: \
             it is from another version of the data; run it again",
            rows.requests.len(),
            rows.references.len(),
            facts.requests.len(),
            facts.exam.references.len(),
        ));
    }
    if !sound(facts) {
        return Err("a reference of its transcript points outside it: run it again".to_owned());
    }
    Ok(Sample { facts, standing: cell.standing, rows })
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
            by_request: BTreeMap::new(),
            reasons: BTreeMap::new(),
            failed: Vec::new(),
            windows: Vec::new(),
            acted: false,
            key,
        }
    }

    fn take(&mut self, taken: &Taken<'_>) {
        let rows = taken.sample.rows;
        self.units.insert(taken.unit);
        self.by_request.entry(taken.unit).or_default().push(taken.by_request.clone());
        self.windows.push(rows.window);
        self.acted |= !rows.compactions.is_empty() || !rows.loss.is_empty();
        for (spec, part) in MEASURES.iter().zip(&taken.parts) {
            if let Parts::Absent(reason) = part {
                self.reasons.entry(spec.id).or_insert(reason);
            }
        }
    }
}

/// Builds one row.
struct Builder<'a> {
    facts: &'a [TranscriptFacts],
    row: &'a Gathered<'a>,
    code: usize,
    /// Row of the baseline on the same data set and window.
    baseline: Option<usize>,
    pooled: &'a Pooled,
    options: &'a MeasureOptions,
}

impl Builder<'_> {
    fn entry(&self) -> Entry {
        let mut values: BTreeMap<String, Value> =
            MEASURES.iter().map(|spec| (spec.id.to_owned(), self.value(spec))).collect();
        let measured = values.get(PRIMARY).is_some_and(|v| v.number().is_some());
        let recall = if measured { self.recall(self.code) } else { BTreeMap::new() };
        let interval = self.interval(&recall);
        let difference = if measured { self.difference(&recall) } else { None };
        self.counts(&recall, &mut values);
        bounds("reference_recall", interval.as_ref().and_then(Interval::bounds), &mut values);
        if let Some(difference) = &difference {
            difference_values(difference, &mut values);
        }
        let verdict = self.verdict(difference.as_ref());
        if let Some(verdict) = verdict {
            values.insert("verdict_vs_full".into(), Value::Text(verdict.as_str().into()));
        }
        let row = PresetRow {
            dataset: self.row.key.dataset.to_owned(),
            strategy: self.row.key.strategy.to_owned(),
            window: self.row.key.window.to_owned(),
            standing: self.row.standing,
            rank: None,
            values,
            reference_interval: interval,
            verdict,
            failed: self.row.failed.clone(),
        };
        let windows = &self.row.windows;
        let window_tokens = windows.iter().sum::<u64>() as f64 / windows.len().max(1) as f64;
        Entry { row, recall, window_tokens, acted: self.row.acted }
    }

    /// A measure's figure, or why there is none.
    fn value(&self, spec: &super::Spec) -> Value {
        if self.row.units.is_empty() {
            return Value::Absent("every cell failed".into());
        }
        let Some(figure) = self.pooled.row(self.code as u32, spec.id) else {
            let reason = self.row.reasons.get(spec.id).copied();
            return Value::Absent(reason.unwrap_or("nothing to measure").into());
        };
        let support = spec.support.map(|of| {
            let sat = self.row.units.iter().map(|unit| &self.facts[*unit]);
            let each = sat.filter(|facts| Support::whole(facts).suffices()).map(of);
            each.fold(Support::default(), Support::plus)
        });
        match support.and_then(Support::too_little) {
            Some(reason) => Value::Absent(reason),
            None => Value::Known(figure),
        }
    }

    /// Reference recall of each transcript of a row, replicates averaged.
    fn recall(&self, code: usize) -> BTreeMap<usize, f64> {
        let of = |unit: usize| self.pooled.unit(code as u32, unit as u32, PRIMARY);
        (0..self.facts.len()).filter_map(|unit| Some((unit, of(unit)?))).collect()
    }

    /// Values grouped by project or developer where several are known. With
    /// one only, nothing could be resampled: the transcript is the unit then,
    /// and a warning says that there is one project.
    fn clusters(&self, values: &BTreeMap<usize, f64>) -> Clusters {
        let named = |unit: usize| {
            let facts = &self.facts[unit];
            facts.cluster.as_deref().map(|name| (facts.dataset.as_str(), name))
        };
        let several = {
            let names: BTreeSet<_> = values.keys().map(|unit| named(*unit)).collect();
            names.len() > 1
        };
        let mut groups: BTreeMap<_, Vec<f64>> = BTreeMap::new();
        for (unit, value) in values {
            let key = match named(*unit) {
                Some(name) if several => (Some(name), 0),
                _ => (None, *unit),
            };
            groups.entry(key).or_default().push(*value);
        }
        Clusters::new(groups.into_values().collect())
    }

    /// What the number of clusters allows (`measures` §7).
    fn interval(&self, recall: &BTreeMap<usize, f64>) -> Option<Interval> {
        let clusters = self.clusters(recall);
        match clusters.n() {
            0 => None,
            1..=2 => {
                let sessions: Vec<Vec<f64>> =
                    recall.keys().map(|unit| averaged(&self.row.by_request[unit])).collect();
                let bounds = blocks(&sessions, self.options.seed)?;
                Some(Interval::ThisSessionOnly { lo: bounds.lo, hi: bounds.hi })
            }
            3..=5 => Some(Interval::Dots { values: clusters.means() }),
            _ => clusters.confidence(self.options.seed).map(|confidence| match confidence {
                Confidence::Student(bounds) => {
                    let bounds = bounds.within(0.0, 1.0);
                    Interval::Student { lo: bounds.lo, hi: bounds.hi }
                }
                Confidence::Wider(bounds) => {
                    let bounds = bounds.within(0.0, 1.0);
                    Interval::Wider { lo: bounds.lo, hi: bounds.hi }
                }
            }),
        }
    }

    /// The paired difference to the baseline, over the transcripts of both.
    fn difference(&self, recall: &BTreeMap<usize, f64>) -> Option<Difference> {
        if self.row.key.strategy == BASELINE {
            return None;
        }
        let baseline = self.recall(self.baseline?);
        let pairs: BTreeMap<usize, f64> = recall
            .iter()
            .filter_map(|(unit, value)| Some((*unit, value - baseline.get(unit)?)))
            .collect();
        judge(&self.clusters(&pairs), self.options.margin, self.options.seed)
    }

    /// Controls are a scale and stand-ins measure us: neither is judged.
    fn verdict(&self, difference: Option<&Difference>) -> Option<AgainstFull> {
        match self.row.standing {
            Standing::Ranked => difference.map(|d| d.verdict),
            Standing::Control | Standing::StandIn => None,
        }
    }

    /// Columns that describe the row rather than measure it.
    fn counts(&self, recall: &BTreeMap<usize, f64>, values: &mut BTreeMap<String, Value>) {
        let units = &self.row.units;
        let all: BTreeMap<usize, f64> = units.iter().map(|unit| (*unit, 0.0)).collect();
        let counted = if recall.is_empty() { &all } else { recall };
        let stand_in = self.row.standing == Standing::StandIn;
        values.insert("transcripts".into(), Value::Known(units.len() as f64));
        values.insert("n_clusters".into(), Value::Known(self.clusters(counted).n() as f64));
        values.insert("stand_in".into(), Value::Text(stand_in.to_string()));
        if let Some(source) = output_source(units.iter().map(|unit| &self.facts[*unit])) {
            values.insert("output_source".into(), Value::Text(source.into()));
        }
    }
}

/// Where the recorded outputs behind `overflows` come from (`measures` §0).
fn output_source<'a>(facts: impl Iterator<Item = &'a TranscriptFacts>) -> Option<&'static str> {
    let sources: BTreeSet<bool> =
        facts.flat_map(|f| &f.requests).map(|r| r.output_recorded).collect();
    match (sources.contains(&true), sources.contains(&false)) {
        (true, true) => Some("mixed"),
        (true, false) => Some("recorded"),
        (false, true) => Some("counted"),
        (false, false) => None,
    }
}

/// Request by request the mean over replicates, which sit the same exam.
fn averaged(replicates: &[Vec<f64>]) -> Vec<f64> {
    let requests = replicates.first().map_or(0, Vec::len);
    let mean = |at: usize| replicates.iter().map(|r| r[at]).sum::<f64>() / replicates.len() as f64;
    (0..requests).map(mean).collect()
}

fn bounds(id: &str, bounds: Option<(f64, f64)>, values: &mut BTreeMap<String, Value>) {
    if let Some((lo, hi)) = bounds {
        values.insert(format!("{id}_lo"), Value::Known(lo));
        values.insert(format!("{id}_hi"), Value::Known(hi));
    }
}

fn difference_values(difference: &Difference, values: &mut BTreeMap<String, Value>) {
    let id = "difference_to_full";
    values.insert(id.into(), Value::Known(difference.mean));
    let interval = difference.interval.map(|i| i.bounds().within(-1.0, 1.0));
    bounds(id, interval.map(|b| (b.lo, b.hi)), values);
    if let Some(mde) = difference.minimal_detectable {
        values.insert("mde".into(), Value::Known(mde));
    }
}
