//! The rows of a comparison: every figure of a strategy on a data set at a
//! window.

use std::collections::{BTreeMap, BTreeSet};

use recap_core::model::{
    Absent, Cut, FULL, Interval, Manifest, Measure, Primary, RowKind, RunResults, SessionFacts,
    SessionResults, StrategyRow, UnusableReplies, Value, catalogue,
};

use crate::advice::agent_settings::own_strategy;
use crate::figures::against_full::{Difference, judge};
use crate::figures::money::BillingModels;
use crate::figures::spec::{Basis, Spec};
use crate::figures::table::{RowKey, RowView, SessionTable};
use crate::findings::Evidence;
use crate::measures::{MEASURES, spec_of};
use crate::statistics::pooling::{Scores, paired, weighed};
use crate::statistics::{Bounds, Clusters, within};

/// The measure that ranks: continuity where there are questions, else what is kept
/// at cuts (how-it-works §45), and reference recall in a run without cuts.
pub fn primary(facts: &[SessionFacts], results: &RunResults) -> Primary {
    let with_facts = |session: SessionResults<'_>| {
        session.cuts().iter().any(|cut| !cut.facts.is_empty() && !cut.rows.is_empty())
    };
    if facts.iter().any(|f| !f.questions.is_empty()) {
        Primary::Continuity
    } else if results.iter().any(with_facts) {
        Primary::FactsKept
    } else {
        Primary::ReferenceRecall
    }
}

/// A row with further data for sorting it and for findings.
pub struct Entry {
    /// The row as it is printed.
    pub row: StrategyRow,
    /// The primary measure of each of the row's sessions, by their position
    /// in the facts.
    pub scores: Scores,
    /// Number of questions or facts behind the primary measure.
    pub asked: usize,
    /// Mean window of the row's cells in tokens; 0 if every cell failed.
    pub window_tokens: f64,
    /// Whether one of its cells compacted or hid a message.
    pub acted: bool,
    /// Numbers of all replies of the compactor and of unusable ones.
    pub replies: UnusableReplies,
}

impl Entry {
    /// Its scores less those of another row, over the sessions that both have.
    pub(crate) fn less(&self, other: &Entry, facts: &[SessionFacts]) -> Clusters {
        weighed(facts, &paired(&self.scores, &other.scores))
    }
}

/// All rows, in the order of their keys.
pub fn rows(table: &SessionTable<'_>, primary: Primary, manifest: &Manifest) -> Vec<Entry> {
    let views = table.views();
    let entry = |(key, view): (&RowKey, &RowView<'_>)| {
        let full = views.get(&RowKey { strategy: FULL.to_owned(), ..key.clone() });
        let (facts, billing_models) = (table.facts(), &table.billing_models);
        Builder { facts, key, view, full, billing_models, primary, manifest }.entry()
    };
    views.iter().map(entry).collect()
}

/// The row of the strategy that does what the recorded agent does, with offline summaries, at its
/// recorded compactions alone, since only there it stands beside what the agent kept; `None` where
/// nothing was compacted or that strategy did not run.
pub(crate) fn twin(run: &Evidence<'_>) -> Option<StrategyRow> {
    let Evidence { manifest, primary, facts, results, .. } = run;
    let own = own_strategy(manifest.agent.as_ref()?)?;
    let (mut cells, mut cuts) = (Vec::new(), Vec::new());
    for session in results.iter() {
        cells.extend(session.cells().iter().filter(|cell| cell.key.strategy == own).cloned());
        let recorded = session.cuts().iter().filter(|cut| cut.recorded);
        cuts.extend(recorded.map(|cut| Cut {
            rows: cut.rows.iter().filter(|row| row.strategy == own).cloned().collect(),
            ..cut.clone()
        }));
    }
    if cuts.is_empty() {
        return None;
    }
    let results = RunResults::new(cells, cuts);
    let table = SessionTable::of(manifest, facts, &results);
    let rows = rows(&table, *primary, manifest);
    rows.into_iter().map(|entry| entry.row).find(|row| row.strategy == own)
}

/// Figures of a row by the ids of their measures.
type Values = BTreeMap<String, Value>;

/// The data from which one row is built.
struct Builder<'a> {
    facts: &'a [SessionFacts],
    key: &'a RowKey,
    view: &'a RowView<'a>,
    /// The row of `full` on the same data set and window, for the same billing model.
    full: Option<&'a RowView<'a>>,
    billing_models: &'a BillingModels,
    /// The measure that ranks.
    primary: Primary,
    manifest: &'a Manifest,
}

impl Builder<'_> {
    fn entry(&self) -> Entry {
        let rows = &self.view.rows;
        let asked = self.view.facts().any(|facts| !facts.questions.is_empty());
        let of_row = MEASURES.iter().filter(|s| asked || !matches!(s.basis, Basis::Questions));
        let mut values: Values =
            of_row.map(|spec| (spec.id().to_owned(), self.value(spec))).collect();
        let intervals = self.intervals(&mut values);
        let ranking = self.ranking();
        let measured = number(&values, ranking.measure).is_some();
        let scores = if measured { self.view.scores(ranking) } else { Scores::default() };
        let difference = if measured { self.difference(&scores) } else { None };
        self.counts(&scores, &mut values);
        self.sources(&mut values);
        if let Some(difference) = &difference {
            self.difference_values(difference, &mut values);
        }
        let row_kind = self.view.row_kind();
        // Controls are a scale, offline summaries measure the offline compactor, and unusable
        // rows a fallback.
        let ranked = difference.filter(|_| row_kind == RowKind::Ranked);
        let verdict = ranked.map(|difference| difference.verdict);
        if let Some(verdict) = verdict {
            values.insert(catalogue::VERDICT_VS_FULL.id.into(), text(verdict.as_str()));
        }
        let RowKey { dataset, window, billing_model, strategy } = self.key.clone();
        let agent_model = self.billing_models.shown(&dataset, &billing_model).to_owned();
        let row = StrategyRow {
            dataset,
            strategy,
            window,
            agent_model,
            row_kind,
            rank: None,
            values,
            intervals,
            verdict,
            failed: rows.iter().flat_map(|row| row.failed.iter().cloned()).collect(),
        };
        let window_tokens: u64 = rows.iter().map(|row| row.window_tokens).sum();
        let cells: u64 = rows.iter().map(|row| row.cells).sum();
        Entry {
            row,
            asked: self.asked(),
            scores,
            window_tokens: window_tokens as f64 / cells.max(1) as f64,
            acted: rows.iter().any(|row| row.acted),
            replies: self.view.replies(),
        }
    }

    /// The measure that ranks.
    fn ranking(&self) -> &'static Spec {
        spec_of(self.primary.id()).expect("it is computed from cells")
    }

    /// Number of questions or facts behind the measure that ranks.
    fn asked(&self) -> usize {
        let counts: Vec<&Measure> = match self.primary {
            Primary::Continuity => catalogue::CONTINUITY_BY_KIND.iter().collect(),
            Primary::FactsKept => vec![catalogue::FACTS_NEEDED],
            Primary::ReferenceRecall => vec![catalogue::REFERENCES],
        };
        let specs = counts.into_iter().filter_map(|measure| spec_of(measure.id));
        specs.map(|spec| self.view.counted(spec)).sum::<f64>().round() as usize
    }

    /// The figure of a measure, or why there is none.
    fn value(&self, spec: &Spec) -> Value {
        if self.view.sessions().next().is_none() {
            return Value::Absent(Absent::CellsFailed);
        }
        self.view.figure(spec).map_or_else(Value::Absent, Value::Known)
    }

    /// The intervals of the row, whose bounds are added to its figures.
    fn intervals(&self, values: &mut Values) -> BTreeMap<String, Interval> {
        let mut intervals = BTreeMap::new();
        for spec in MEASURES.iter().filter(|spec| spec.has_interval) {
            let is_known = number(values, spec.measure).is_some();
            if let Some(interval) = is_known.then(|| self.interval(spec)).flatten() {
                insert_bounds(spec.id(), interval.bounds(), values);
                intervals.insert(spec.id().to_owned(), interval);
            }
        }
        intervals
    }

    /// The interval that the number of clusters allows (reference §7).
    fn interval(&self, spec: &Spec) -> Option<Interval> {
        let clusters = weighed(self.facts, &self.view.scores(spec));
        let (least, most) = spec.measure.unit.range();
        match clusters.n() {
            0..=1 => None,
            2..=5 => Some(Interval::Dots { values: clusters.means() }),
            _ => {
                let (lo, hi) = within(clusters.confidence(self.manifest.seed)?, least, most);
                Some(Interval::Bounds { lo, hi })
            }
        }
    }

    /// The paired difference to `full`, over the sessions of both.
    fn difference(&self, scores: &Scores) -> Option<Difference> {
        if self.key.strategy == FULL {
            return None;
        }
        let pairs = paired(scores, &self.full?.scores(self.ranking()));
        let (most, seed) = (self.primary.most(), self.manifest.seed);
        judge(&weighed(self.facts, &pairs), self.manifest.margin * most, most, seed)
    }

    fn difference_values(&self, difference: &Difference, values: &mut Values) {
        let id = catalogue::DIFFERENCE_TO_FULL.id;
        let most = self.primary.most();
        values.insert(id.into(), Value::Known(difference.mean));
        insert_bounds(id, difference.interval.map(|bounds| within(bounds, -most, most)), values);
        if let Some(mde) = difference.minimal_detectable {
            values.insert(catalogue::MDE.id.into(), Value::Known(mde));
        }
    }

    /// Adds the columns that describe the row and are not measures.
    fn counts(&self, scores: &Scores, values: &mut Values) {
        let all: Scores = self.view.sessions().map(|at| (at, (0.0, None))).collect();
        let mut add = |of: &Measure, value: Value| values.insert(of.id.to_owned(), value);
        add(catalogue::SESSIONS, Value::Known(all.len() as f64));
        let clusters = weighed(self.facts, if scores.is_empty() { &all } else { scores }).n();
        add(catalogue::N_CLUSTERS, Value::Known(clusters as f64));
        if self.manifest.depth > 0 {
            add(catalogue::DEPTH, Value::Known(f64::from(self.manifest.depth)));
        }
        let offline_summary = self.view.row_kind() == RowKind::OfflineSummary;
        add(catalogue::OFFLINE_SUMMARY, text(&offline_summary.to_string()));
    }

    /// Adds where times come from, and leaves out figures that mix them.
    fn sources(&self, values: &mut Values) {
        let sources = self.view.rows.iter().flat_map(|row| &row.latencies);
        let words: BTreeSet<&str> = sources.map(|source| source.as_str()).collect();
        let words: Vec<&str> = words.into_iter().collect();
        // Without a model there is no latency and no source of it.
        let source = match words[..] {
            [] => Value::Absent(Absent::NoModelCalled),
            [only] => text(only),
            _ => {
                let reason = Absent::MixedTimes(words.join(" and "));
                withhold(catalogue::BLOCKING_MS_P95.id, &reason, values);
                text("mixed")
            }
        };
        values.insert(catalogue::LATENCY_SOURCE.id.to_owned(), source);
        if self.view.facts().all(|facts| facts.exam.references.is_empty()) {
            withhold(catalogue::COST_USD_REFETCH.id, &Absent::NothingToFetch, values);
        }
    }
}

fn number(values: &Values, measure: &Measure) -> Option<f64> {
    values.get(measure.id).and_then(Value::number)
}

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

fn insert_bounds(id: &str, bounds: Option<Bounds>, values: &mut Values) {
    if let Some((lo, hi)) = bounds {
        values.insert(format!("{id}_lo"), Value::Known(lo));
        values.insert(format!("{id}_hi"), Value::Known(hi));
    }
}

/// Replaces a figure by a reason. A figure that is already absent keeps its own
/// reason.
fn withhold(id: &str, reason: &Absent, values: &mut Values) {
    if let Some(value @ Value::Known(_)) = values.get_mut(id) {
        *value = Value::Absent(reason.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;
    use recap_core::model::{CutExam, ReferenceState};

    /// A cut with this many facts, and the state of all of them under `x`.
    fn cut(session: &str, facts: usize, state: Option<ReferenceState>) -> Cut {
        let exam = |state| CutExam::of_states(8_000, 3_000, vec![state; facts]);
        let row = state.map(|state| testkit::examined("x", exam(state)));
        let facts = (1..).map(|later| testkit::fact(later, 100)).take(facts).collect();
        testkit::cut(session, facts, row.into_iter().collect())
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
}
