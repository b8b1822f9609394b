//! Sorts cells into the rows that they belong to, measured one by one.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    Cell, CellOutcome, CellRows, LatencySource, Manifest, ProbeKind, Repeated, Source, Standing,
    TranscriptFacts, VoidReplies, repeated,
};
use crate::text::counted;

use super::aggregate::Observation;
use super::exams::Exams;
use super::measures::{MEASURES, RESAMPLED};
use super::money::{self, Terms};
use super::payers::Payers;
use super::probed::kinds_by_dataset;
use super::rows::{ALL, BASELINE, RECORDED};
use super::spec::{Basis, Parts, Sample};
use super::variance::Judged;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowKey<'a> {
    pub dataset: &'a str,
    pub window: &'a str,
    pub payer: &'a str,
    pub strategy: &'a str,
}

/// What belongs to one row, gathered cell by cell.
pub struct Gathered<'a> {
    pub standing: Standing,
    /// Transcripts with a cell that ran through.
    pub units: BTreeSet<usize>,
    /// The series of each of [`RESAMPLED`], by transcript, one per replicate.
    pub series: BTreeMap<usize, Vec<Series>>,
    /// What a panel's judges made of its answers.
    pub judged: Judged,
    /// First reason met for each measure without a figure.
    pub reasons: BTreeMap<&'static str, &'static str>,
    /// First reason met for each measure of which some cell's figure is unknown.
    pub unknown: BTreeMap<&'static str, String>,
    /// How the times of its compactions came about.
    pub latencies: BTreeSet<LatencySource>,
    pub failed: Vec<String>,
    /// Window of every cell that ran through.
    pub windows: Vec<u64>,
    pub acted: bool,
    /// Replies of the compactor in all of its cells.
    pub replies: VoidReplies,
    pub key: RowKey<'a>,
}

/// Sorts cells into rows: for each payer one for the data set, one for all.
pub fn gather<'a>(
    facts: &[TranscriptFacts],
    cells: &'a [Cell],
    payers: &Payers<'a>,
    exams: &'a Exams<'a>,
    manifest: &Manifest,
) -> (Vec<Gathered<'a>>, Vec<Observation>) {
    let units: BTreeMap<(&str, &str), usize> = (facts.iter().enumerate())
        .map(|(at, f)| ((f.dataset.as_str(), f.transcript.as_str()), at))
        .collect();
    let keys = |cell: &'a Cell| keys(cell, payers);
    let keyed: BTreeSet<RowKey<'a>> = cells.iter().flat_map(keys).map(|(_, key)| key).collect();
    let codes: BTreeMap<RowKey<'a>, usize> =
        keyed.iter().enumerate().map(|(code, key)| (key.clone(), code)).collect();
    let mut rows: Vec<Gathered<'a>> = keyed.into_iter().map(Gathered::new).collect();
    let mut observations = Vec::new();
    let terms = Terms::of(manifest);
    let scene = Scene::new(facts, cells, (payers, exams), &terms, manifest.answered_by());
    for cell in cells {
        let unit = units.get(&(cell.key.dataset.as_str(), cell.key.transcript.as_str())).copied();
        let taken = match unit {
            Some(unit) => scene.taken(unit, &facts[unit], cell),
            None => Err("its transcript is not among the facts of the run".to_owned()),
        };
        for (payer, key) in keys(cell) {
            let code = codes[&key];
            rows[code].standing = cell.standing;
            match &taken {
                Ok(taken) => {
                    rows[code].take(taken, payer, scene.repeated(cell));
                    rows[code].failed.extend(exams.failures(cell));
                    let replies = exams.replies(cell);
                    replies.for_each(|reply| rows[code].replies.add(reply, scene.repeated(cell)));
                    observations.push(taken.observation(code, payer));
                }
                Err(error) => rows[code].failed.push(failure(cell, error)),
            }
        }
    }
    rows.iter_mut().for_each(Gathered::settle);
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
    /// By payer.
    parts: Vec<Vec<Parts>>,
}

impl<'a> Taken<'a> {
    /// Measures a cell as its payers see it: the bill for each, all else once.
    fn new(unit: usize, samples: &[Sample<'a>]) -> Self {
        let first = &samples[0];
        let series = RESAMPLED.each_ref().map(|resampled| (resampled.series)(first));
        let shared: Vec<Parts> = MEASURES.iter().map(|spec| spec.of(first)).collect();
        let others = samples[1..].iter().map(|sample| {
            let billed = MEASURES.iter().zip(&shared).map(|(spec, part)| match spec.basis {
                Basis::Bill => spec.of(sample),
                _ => part.clone(),
            });
            billed.collect()
        });
        let others: Vec<Vec<Parts>> = others.collect();
        Taken { unit, cell: first.cell, series, parts: [vec![shared], others].concat() }
    }

    fn observation(&self, row: usize, payer: usize) -> Observation {
        Observation { row: row as u32, unit: self.unit as u32, parts: self.parts[payer].clone() }
    }
}

/// The rows of a cell, each with the position of its payer.
fn keys<'a>(cell: &'a Cell, payers: &Payers<'a>) -> Vec<(usize, RowKey<'a>)> {
    let row = |dataset, payer| RowKey {
        dataset,
        window: &cell.key.window,
        payer,
        strategy: &cell.key.strategy,
    };
    let each = payers.names().iter().enumerate();
    each.flat_map(|(at, payer)| [&*cell.key.dataset, ALL].map(|d| (at, row(d, *payer)))).collect()
}

fn failure(cell: &Cell, error: &str) -> String {
    format!("{} (replicate {}): {error}", cell.key.transcript, cell.key.replicate)
}

/// Cells of one control, by data set, transcript and window.
type Beside<'a> = BTreeMap<(&'a str, &'a str, &'a str), &'a Cell>;

/// What cells are looked at beside.
struct Scene<'a> {
    full: Beside<'a>,
    recorded: Beside<'a>,
    kinds: BTreeMap<String, BTreeSet<ProbeKind>>,
    /// By strategy and window.
    repeated: BTreeMap<(&'a str, &'a str), Repeated>,
    payers: &'a [&'a str],
    terms: &'a Terms,
    /// How answers were found.
    answered_by: Source,
    exams: &'a Exams<'a>,
}

impl<'a> Scene<'a> {
    fn new(
        facts: &[TranscriptFacts],
        cells: &'a [Cell],
        (payers, exams): (&'a Payers<'_>, &'a Exams<'a>),
        terms: &'a Terms,
        answered_by: Source,
    ) -> Self {
        let beside = |strategy: &str| -> Beside<'a> {
            let those = cells.iter().filter(|c| c.key.strategy == strategy && c.rows().is_some());
            those.map(|cell| (place(cell), cell)).collect()
        };
        Scene {
            full: beside(BASELINE),
            recorded: beside(RECORDED),
            kinds: kinds_by_dataset(facts),
            repeated: repeated(cells, exams.cuts()),
            payers: payers.names(),
            terms,
            answered_by,
            exams,
        }
    }

    /// What the compactor repeated under the preset of a cell, at its window.
    fn repeated<'s>(&'s self, cell: &'s Cell) -> &'s Repeated {
        &self.repeated[&(cell.key.strategy.as_str(), cell.key.window.as_str())]
    }

    /// The cell with its facts, if it ran through and fits them, measured for
    /// each payer.
    fn taken<'s>(
        &'s self,
        unit: usize,
        facts: &'s TranscriptFacts,
        cell: &'s Cell,
    ) -> Result<Taken<'s>, String> {
        let rows = match &cell.outcome {
            CellOutcome::Done(rows) => rows,
            CellOutcome::Failed { error } => return Err(error.clone()),
        };
        let sample = |payer: &&'s str| Sample {
            facts,
            cell,
            rows,
            full: beside(&self.full, facts, cell),
            recorded: beside(&self.recorded, facts, cell),
            payer,
            terms: self.terms,
            kinds: &self.kinds[&facts.dataset],
            answered_by: self.answered_by,
            exams: self.exams,
            repeated: self.repeated(cell),
        };
        fits(facts, rows)?;
        let samples: Vec<Sample<'s>> = self.payers.iter().map(sample).collect();
        Ok(Taken::new(unit, &samples))
    }
}

fn place(cell: &Cell) -> (&str, &str, &str) {
    (&cell.key.dataset, &cell.key.transcript, &cell.key.window)
}

/// The cell of a control beside this one, if it fits the transcript as well.
fn beside<'a>(cells: &Beside<'a>, facts: &TranscriptFacts, cell: &Cell) -> Option<&'a Cell> {
    let found = cells.get(&place(cell)).copied()?;
    fits(facts, found.rows()?).is_ok().then_some(found)
}

/// Whether a cell has the rows that its transcript asks for: a run folder is a
/// file that somebody may have edited.
pub fn fits(facts: &TranscriptFacts, rows: &CellRows) -> Result<(), String> {
    let counts = |requests: usize, references: usize, probes: usize| {
        let (requests, references) =
            (counted(requests, "request"), counted(references, "reference"));
        format!("{requests}, {references} and {}", counted(probes, "probe"))
    };
    let has = (rows.requests.len(), rows.references.len(), rows.probes.len());
    let due = (facts.requests.len(), facts.exam.references.len(), facts.probes.len());
    // A null is examined at cuts and neither sends nor is asked anything else.
    let whole = has == due || has == (0, 0, due.2) || has == (0, 0, 0);
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
    let bills = rows.bills.iter().all(|bill| money::sound(bill, rows));
    if !bills || !sound(facts) || rows.probes.iter().any(|p| p.snapshot as usize >= snapshots) {
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
            judged: Judged::default(),
            reasons: BTreeMap::new(),
            unknown: BTreeMap::new(),
            latencies: BTreeSet::new(),
            failed: Vec::new(),
            windows: Vec::new(),
            acted: false,
            replies: VoidReplies::default(),
            key,
        }
    }

    /// What the row is, once all of its cells are known.
    fn settle(&mut self) {
        if self.standing == Standing::Ranked && self.replies.are_too_many() {
            self.standing = Standing::Void;
        }
    }

    fn take(&mut self, taken: &Taken<'_>, payer: usize, repeated: &Repeated) {
        let Some(rows) = taken.cell.rows() else { return };
        self.units.insert(taken.unit);
        self.series.entry(taken.unit).or_default().push(taken.series.clone());
        rows.probes.iter().for_each(|probe| self.judged.add(probe));
        self.windows.push(rows.window);
        let replies = rows.compactions.iter().flat_map(|compaction| &compaction.replies);
        replies.for_each(|reply| self.replies.add(reply, repeated));
        self.acted |= !rows.compactions.is_empty() || !rows.loss.is_empty();
        let session = rows.compactions.iter().filter(|compaction| !compaction.at_end);
        self.latencies.extend(session.filter_map(|compaction| compaction.latency_source));
        for (spec, part) in MEASURES.iter().zip(&taken.parts[payer]) {
            match part {
                Parts::Absent(reason) => {
                    self.reasons.entry(spec.id).or_insert(reason);
                }
                Parts::Unknown(reason) => {
                    self.unknown.entry(spec.id).or_insert_with(|| reason.clone());
                }
                Parts::One(_) | Parts::Fraction { .. } | Parts::Many(_) | Parts::Waits(_) => {}
            }
        }
    }
}
