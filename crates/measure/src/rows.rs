//! The rows of a comparison: every figure of a strategy on a data set at a
//! window.

mod questions;

use super::FLOOR;
use recap_core::model::FULL;
use std::collections::{BTreeMap, BTreeSet};

use recap_core::model::{
    Absent, AgainstFull, Interval, Manifest, Primary, RowKind, RunResults, SessionFacts,
    SessionResults, StrategyRow, Support, UnusableReplies, Value, catalogue,
};

use super::against_full::{Difference, Margin, judge};
use super::aggregate::{ByUnit, Pooled, pool};
use super::billing_models::BillingModels;
use super::bootstrap::blocks;
use super::cluster::{clusters, owner, paired, weighed};
use super::gather::{CellIndex, Gathered, RowKey};
use super::measures::{MEASURES, RESAMPLED, WAITS};
use super::pooling::{FactsInOrder, Owner, these_sessions};
use super::spec::{Basis, Figures};
use super::statistics::{Bounds, Clusters, Confidence};

/// The measure that ranks: continuity where there are questions, else what is kept
/// at cuts (how-it-works §45), and reference recall in a run without cuts.
pub fn primary(facts: &[SessionFacts], results: &RunResults) -> Primary {
    let questions = facts.iter().any(|f| !f.questions.is_empty());
    let with_facts = |session: SessionResults<'_>| {
        session.cuts().iter().any(|cut| !cut.facts.is_empty() && !cut.rows.is_empty())
    };
    match questions {
        true => Primary::Continuity,
        false if results.iter().any(with_facts) => Primary::FactsKept,
        false => Primary::ReferenceRecall,
    }
}

/// A row with further data for sorting it and for findings.
pub struct Entry {
    /// The row as it is printed.
    pub row: StrategyRow,
    /// The primary measure of each of the row's sessions, by their position
    /// in the facts.
    pub scores: BTreeMap<usize, f64>,
    /// The facts behind each of these scores; empty if scores are not
    /// weighted by them.
    pub facts: BTreeMap<usize, f64>,
    /// Number of questions or facts behind the primary measure.
    pub asked: usize,
    /// Mean window of the row's cells in tokens; 0 if every cell failed.
    pub window_tokens: f64,
    /// Whether one of its cells compacted or hid a message.
    pub acted: bool,
    /// Numbers of all replies of the compactor and of unusable ones.
    pub replies: UnusableReplies,
}

/// All rows, in the order of their keys. Sessions must be sorted.
pub fn table(
    facts: &[SessionFacts],
    results: &RunResults,
    primary: Primary,
    manifest: &Manifest,
) -> Vec<Entry> {
    let billing_models = BillingModels::of(manifest, results);
    let gathered = CellIndex::new(facts, results, &billing_models, manifest).gather();
    let owners: Vec<Option<Owner<'_>>> = facts.iter().map(owner).collect();
    let pooled = pool(&gathered, &owners);
    let named = |row: &Gathered, strategy: &'static str| {
        let key = RowKey { strategy: strategy.to_owned(), ..row.key.clone() };
        gathered.binary_search_by(|other| other.key.cmp(&key)).ok()
    };
    let entry = |(code, row): (usize, &Gathered)| {
        let (baseline, floor) = (named(row, FULL), named(row, FLOOR));
        let (pooled, billing_models) = (&pooled, &billing_models);
        Builder { facts, row, code, baseline, floor, pooled, billing_models, primary, manifest }
            .entry()
    };
    gathered.iter().enumerate().map(entry).collect()
}

/// The data from which one row is built.
struct Builder<'a> {
    facts: &'a [SessionFacts],
    row: &'a Gathered,
    code: usize,
    /// Number of the baseline's row on the same data set and window, for the
    /// same billing model.
    baseline: Option<usize>,
    /// Number of the floor's row, likewise.
    floor: Option<usize>,
    pooled: &'a Pooled,
    billing_models: &'a BillingModels,
    /// The measure that ranks.
    primary: Primary,
    manifest: &'a Manifest,
}

impl Builder<'_> {
    fn entry(&self) -> Entry {
        let asked = self.row.units.iter().any(|unit| !self.facts[*unit].questions.is_empty());
        let of_row = MEASURES.iter().filter(|s| asked || !matches!(s.basis, Basis::Questions));
        let mut values: BTreeMap<String, Value> =
            of_row.map(|spec| (spec.id().to_owned(), self.value(spec))).collect();
        let known = |values: &BTreeMap<String, Value>, id: &str| {
            values.get(id).is_some_and(|v| v.number().is_some())
        };
        let mut intervals = BTreeMap::new();
        for (at, resampled) in RESAMPLED.iter().enumerate() {
            let found = known(&values, resampled.id).then(|| self.interval(at)).flatten();
            if let Some(interval) = found {
                bounds(resampled.id, interval.bounds(), &mut values);
                intervals.insert(resampled.id.to_owned(), interval);
            }
        }
        let measured = known(&values, self.primary.id());
        let scores =
            if measured { self.each(self.code, self.primary.id()).clone() } else { ByUnit::new() };
        let weights = if measured {
            self.facts_each(self.code, self.primary.id()).clone()
        } else {
            ByUnit::new()
        };
        let difference = if measured { self.difference(&scores) } else { None };
        self.counts(&scores, &mut values);
        if asked {
            self.of_questions(&mut values);
        }
        if let Some(difference) = &difference {
            difference_values(difference, self.unit(), &mut values);
        }
        let verdict = self.verdict(difference.as_ref());
        if let Some(verdict) = verdict {
            values
                .insert(catalogue::VERDICT_VS_FULL.id.into(), Value::Text(verdict.as_str().into()));
        }
        let row = StrategyRow {
            dataset: self.row.key.dataset.clone(),
            strategy: self.row.key.strategy.clone(),
            window: self.row.key.window.clone(),
            agent_model: self
                .billing_models
                .shown(&self.row.key.dataset, &self.row.key.billing_model)
                .to_owned(),
            row_kind: self.row.row_kind,
            rank: None,
            values,
            intervals,
            verdict,
            failed: self.row.failed.clone(),
        };
        let window_tokens = self.row.mean_window();
        let at = RESAMPLED.iter().position(|resampled| resampled.id == self.primary.id());
        let series = at.map(|at| self.row.series(at)).unwrap_or_default();
        let (acted, replies) = (self.row.acted, self.row.replies.clone());
        let asked = was_asked(&scores, &series);
        Entry { row, scores, facts: weights, asked, window_tokens, acted, replies }
    }

    /// The figure of a measure, or why there is none.
    fn value(&self, spec: &super::Spec) -> Value {
        if self.row.units.is_empty() {
            return Value::Absent(Absent::CellsFailed);
        }
        if let Some(reason) = self.pooled.unknown(self.code as u32, spec.id()) {
            return Value::Absent(reason.clone());
        }
        let Some(figure) = self.pooled.row(self.code as u32, spec.id()) else {
            let reason = self.pooled.reason(self.code as u32, spec.id());
            return Value::Absent(reason.cloned().unwrap_or(Absent::NothingMeasured));
        };
        let Basis::References(of) = spec.basis else { return Value::Known(figure) };
        let matching = self.row.units.iter().map(|unit| &self.facts[*unit]);
        let each = matching.filter(|facts| Support::whole(facts).suffices()).map(of);
        match each.fold(Support::default(), Support::plus) {
            support if support.suffices() => Value::Known(figure),
            support => Value::Absent(Absent::FewReferences(support)),
        }
    }

    /// A measure of each session of a row, averaged over replicates.
    fn each(&self, code: usize, id: &'static str) -> &ByUnit {
        self.pooled.units(code as u32, id)
    }

    /// The facts behind these figures, if they are weighted by them.
    fn facts_each(&self, code: usize, id: &'static str) -> &ByUnit {
        self.pooled.facts(code as u32, id)
    }

    fn clusters(&self, values: &BTreeMap<usize, f64>) -> Clusters {
        clusters(self.facts, values)
    }

    /// The clusters of a measure, by its pooling rule.
    fn clusters_of(&self, id: &'static str, values: &BTreeMap<usize, f64>) -> Clusters {
        weighed(self.facts, values, self.facts_each(self.code, id))
    }

    /// The interval that the number of clusters allows (reference §7), for one
    /// of [`RESAMPLED`].
    fn interval(&self, at: usize) -> Option<Interval> {
        let resampled = &RESAMPLED[at];
        let each = self.each(self.code, resampled.id);
        let clusters = self.clusters_of(resampled.id, each);
        let at_cuts = !self.facts_each(self.code, resampled.id).is_empty();
        let within = |bounds: Bounds| bounds.within(resampled.least, resampled.most);
        match clusters.n() {
            1..=2 => {
                let series = self.row.series(at);
                let replicates = each.keys().map(|unit| &series[unit]);
                let sessions: Vec<Vec<f64>> = replicates.map(|series| averaged(series)).collect();
                let bounds = match at_cuts {
                    true => self.of_these_sessions(each.keys(), &sessions)?,
                    false => blocks(&sessions, self.manifest.seed)?,
                };
                Some(Interval::ThisSessionOnly { lo: bounds.lo, hi: bounds.hi })
            }
            3..=5 => Some(Interval::Dots { values: clusters.means() }),
            _ => clusters.confidence(self.manifest.seed).map(|confidence| match confidence {
                Confidence::Student(bounds) => {
                    let bounds = within(bounds);
                    Interval::Student { lo: bounds.lo, hi: bounds.hi }
                }
                Confidence::Wider(bounds) => {
                    let bounds = within(bounds);
                    Interval::Wider { lo: bounds.lo, hi: bounds.hi }
                }
            }),
        }
    }

    /// The interval within these sessions only, by resampling facts.
    fn of_these_sessions<'u>(
        &self,
        units: impl Iterator<Item = &'u usize>,
        sessions: &[Vec<f64>],
    ) -> Option<Bounds> {
        let each = units
            .zip(sessions)
            .map(|(unit, kept)| FactsInOrder { owner: owner(&self.facts[*unit]), kept });
        let bounds = these_sessions(&each.collect::<Vec<_>>(), self.manifest.seed)?;
        Some(bounds)
    }

    /// The paired difference to the baseline, over the sessions of both.
    fn difference(&self, scores: &BTreeMap<usize, f64>) -> Option<Difference> {
        if self.row.key.strategy == FULL {
            return None;
        }
        let baseline = self.each(self.baseline?, self.primary.id());
        let pairs = paired(scores, baseline);
        let (most, seed) = (self.unit(), self.manifest.seed);
        let terms = Margin { margin: self.manifest.margin * most, most, seed };
        judge(&self.clusters_of(self.primary.id(), &pairs), terms)
    }

    /// The largest value of the primary measure.
    fn unit(&self) -> f64 {
        self.primary.most()
    }

    /// The verdict; absent for controls, which are a scale, for offline summaries,
    /// which measure the offline compactor, and for unusable rows, which measure a
    /// fallback.
    fn verdict(&self, difference: Option<&Difference>) -> Option<AgainstFull> {
        match self.row.row_kind {
            RowKind::Ranked => difference.map(|d| d.verdict),
            RowKind::Control | RowKind::OfflineSummary | RowKind::Unusable => None,
        }
    }

    /// Adds the columns that describe the row and are not measures.
    fn counts(&self, scores: &BTreeMap<usize, f64>, values: &mut BTreeMap<String, Value>) {
        let units = &self.row.units;
        let all: BTreeMap<usize, f64> = units.iter().map(|unit| (*unit, 0.0)).collect();
        let counted = if scores.is_empty() { &all } else { scores };
        let offline_summary = self.row.row_kind == RowKind::OfflineSummary;
        values.insert(catalogue::SESSIONS.id.into(), Value::Known(units.len() as f64));
        let clusters = self.clusters_of(self.primary.id(), counted);
        values.insert(catalogue::N_CLUSTERS.id.into(), Value::Known(clusters.n() as f64));
        self.stakes(values);
        values
            .insert(catalogue::OFFLINE_SUMMARY.id.into(), Value::Text(offline_summary.to_string()));
        let facts: Vec<&SessionFacts> = units.iter().map(|unit| &self.facts[*unit]).collect();
        sources(self.row, &facts, values);
    }

    /// Adds the numbers behind the figures of cuts.
    fn stakes(&self, values: &mut BTreeMap<String, Value>) {
        if self.manifest.depth > 0 {
            let depth = f64::from(self.manifest.depth);
            values.insert(catalogue::DEPTH.id.into(), Value::Known(depth));
        }
        let kept = self.each(self.code, catalogue::FACTS_KEPT.id);
        let share = self.clusters_of(catalogue::FACTS_KEPT.id, kept).largest_share();
        values.insert(
            catalogue::LARGEST_SHARE.id.into(),
            match share.filter(|_| !kept.is_empty()) {
                Some(share) => Value::Known(share),
                None => Value::Absent(Absent::NoFactsNeeded),
            },
        );
    }
}

/// Number of questions or facts behind the primary measure of these sessions;
/// replicates have the same exam and count once.
fn was_asked(scores: &BTreeMap<usize, f64>, series: &BTreeMap<usize, Vec<Figures>>) -> usize {
    let of = |series: &Vec<Figures>| {
        series.iter().map(|figures| figures.iter().flatten().count()).max().unwrap_or(0)
    };
    scores.keys().filter_map(|unit| series.get(unit)).map(of).sum()
}

/// At each position the mean over the replicates that have a figure there;
/// replicates have the same exam.
fn averaged(replicates: &[Figures]) -> Vec<f64> {
    let places = replicates.iter().map(|figures| figures.len()).max().unwrap_or(0);
    let mean = |at: usize| {
        let figures: Vec<f64> =
            replicates.iter().filter_map(|figures| figures.get(at).copied().flatten()).collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / figures.len() as f64)
    };
    (0..places).filter_map(mean).collect()
}

fn bounds(id: &str, bounds: Option<(f64, f64)>, values: &mut BTreeMap<String, Value>) {
    if let Some((lo, hi)) = bounds {
        values.insert(format!("{id}_lo"), Value::Known(lo));
        values.insert(format!("{id}_hi"), Value::Known(hi));
    }
}

fn difference_values(difference: &Difference, unit: f64, values: &mut BTreeMap<String, Value>) {
    let id = catalogue::DIFFERENCE_TO_FULL.id;
    values.insert(id.into(), Value::Known(difference.mean));
    let interval = difference.interval.map(|i| i.bounds().within(-unit, unit));
    bounds(id, interval.map(|b| (b.lo, b.hi)), values);
    if let Some(mde) = difference.minimal_detectable {
        values.insert(catalogue::MDE.id.into(), Value::Known(mde));
    }
}

/// Adds the columns of sources.
fn sources(row: &Gathered, facts: &[&SessionFacts], values: &mut BTreeMap<String, Value>) {
    let requests = facts.iter().flat_map(|f| &f.requests).filter(|r| r.billed);
    let outputs = requests.map(|r| if r.output_recorded { "recorded" } else { "counted" });
    let counts = facts.iter().map(|f| f.tokens_source.as_str());
    let latencies: BTreeSet<&str> = row.latencies.iter().map(|source| source.as_str()).collect();
    if latencies.len() > 1 {
        let mixed: Vec<&str> = latencies.iter().copied().collect();
        let reason = Absent::MixedTimes(mixed.join(" and "));
        WAITS.iter().for_each(|id| withhold(id, &reason, values));
    }
    if facts.iter().all(|f| f.exam.references.is_empty()) {
        withhold(catalogue::COST_USD_REFETCH.id, &Absent::NothingToFetch, values);
    }
    // Without a model there is no latency and no source of it.
    let sources = [
        (catalogue::OUTPUT_SOURCE.id, one_word(outputs.collect(), Absent::NoRequestBilled)),
        (catalogue::TOKENS_SOURCE.id, one_word(counts.collect(), Absent::CellsFailed)),
        (catalogue::LATENCY_SOURCE.id, one_word(latencies, Absent::NoModelCalled)),
    ];
    values.extend(sources.map(|(id, source)| (id.to_owned(), source)));
}

/// Replaces a figure by a reason. A figure that is already absent keeps its own
/// reason.
fn withhold(id: &str, reason: &Absent, values: &mut BTreeMap<String, Value>) {
    if let Some(value @ Value::Known(_)) = values.get_mut(id) {
        *value = Value::Absent(reason.clone());
    }
}

/// The only word, or `mixed` if there are several.
fn one_word(words: BTreeSet<&str>, without: Absent) -> Value {
    match (words.len(), words.first()) {
        (0, _) | (_, None) => Value::Absent(without),
        (1, Some(word)) => Value::Text((*word).to_owned()),
        _ => Value::Text("mixed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure;
    use crate::testkit::{self, cell, close, facts, manifest};
    use recap_core::model::{
        Cut, CutExam, CutOutcome, CutRow, Fact, IdentifierClass, ReferenceState,
    };

    #[test]
    fn replicates_are_averaged_at_each_position_with_figure() {
        let replicates = [
            vec![Some(1.0), None, Some(3.0), None],
            vec![Some(2.0), None],
            vec![Some(6.0), None, None, Some(5.0)],
        ];
        assert_eq!(averaged(&replicates), [3.0, 3.0, 5.0]);
        assert!(averaged(&[]).is_empty());
    }

    #[test]
    fn questions_count_once_across_replicates_with_score() {
        let (some, none) = (Some(0.0), None);
        let series = BTreeMap::from([
            (0, vec![vec![some, none], vec![some, some, none]]),
            (1, vec![vec![some; 3]]),
            (2, vec![vec![some; 50]]),
        ]);
        assert_eq!(was_asked(&BTreeMap::from([(0, 0.5), (1, 0.0), (7, 1.0)]), &series), 5);
    }

    /// A cut with this many facts, and the state of all of them under `x`.
    fn cut(session: &str, facts: usize, state: Option<ReferenceState>) -> Cut {
        let fact = |at: usize| Fact {
            request: 10,
            text: format!("src/{at}.rs"),
            class: IdentifierClass::Path,
            last_seen: 0,
            newest_tokens: 100,
            refetch: None,
            reread: false,
        };
        let row = state.map(|state| CutRow {
            strategy: "x".into(),
            replicate: 0,
            row_kind: RowKind::Ranked,
            outcome: CutOutcome::Done(Box::new(CutExam::of_states(
                8_000,
                3_000,
                vec![state; facts],
            ))),
        });
        testkit::cut(session, (0..facts).map(fact).collect(), row.into_iter().collect())
    }

    #[test]
    fn facts_kept_ranks_if_cut_facts_have_row() {
        let of = |facts, state| primary(&[], &RunResults::new([], [cut("s", facts, state)]));
        let lost = Some(ReferenceState::Lost);
        assert_eq!(of(1, lost), Primary::FactsKept);
        for (facts, state) in [(1, None), (0, lost), (0, None)] {
            assert_eq!(of(facts, state), Primary::ReferenceRecall);
        }
    }

    #[test]
    fn resampled_facts_keep_weight_of_their_session() {
        // All of 30 facts are kept, and none of ten: every resample keeps 30 of 40.
        let (all, none) = (ReferenceState::Carried, ReferenceState::Lost);
        let cuts = [cut("s", 30, Some(all)), cut("t", 10, Some(none))];
        let ids = ["s", "t"];
        let cells = ids.map(|id| cell(id, "x").sent(&[500; 60]).compaction(900, 500).build());
        let facts = ids.map(|id| facts(id).requests(&[1_000; 60]).build()).to_vec();
        let manifest = Manifest { cuts: "5".into(), depth: 1, ..manifest(&["25%"]) };
        let report = measure(manifest, "d".into(), facts, RunResults::new(cells, cuts));
        let row = &report.rows[0];
        close(row, "facts_kept", 0.75);
        let Interval::ThisSessionOnly { lo, hi } = row.intervals["facts_kept"] else {
            panic!("{:?}", row.intervals)
        };
        assert!((lo - 0.75).abs() < 1e-9 && (hi - 0.75).abs() < 1e-9, "{lo} to {hi}");
    }
}
