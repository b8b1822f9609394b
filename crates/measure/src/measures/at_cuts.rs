//! What is kept of the facts that the recorded agent used next, at places where
//! a compaction is forced (how-it-works §45).
//!
//! Shares are pooled by how-it-works §46: within a session or project as a ratio of
//! sums, over these as a mean weighted by min(facts, 30).

use std::collections::BTreeMap;

use crate::figures::exams::AtCut;
use crate::figures::spec::{Basis, CellInput, Contribution, Pool, Spec};
use crate::figures::table::position_of;
use crate::findings::Evidence;
use recap_core::model::{
    Absent, AnsweredAtCuts, CutExam, CutRow, FULL, Measure, NO_SUMMARY, QuestionKind, QuestionRow,
    RIGHT, ReferenceState, SessionFacts, catalogue, counts_refusals,
};

/// The measures of this subject.
pub(super) const ALL: &[Spec] = &[
    // `cuts`: how many cuts were examined.
    at_cuts(catalogue::CUTS, Pool::Sum, |input| {
        each(input, |exams| Contribution::One(exams.len() as f64))
    }),
    // `facts_needed`: how many facts were needed.
    at_cuts(catalogue::FACTS_NEEDED, Pool::Sum, |input| {
        each(input, |exams| Contribution::One(facts(exams)))
    }),
    // `sessions_with_facts`: how many sessions had a fact.
    at_cuts(catalogue::SESSIONS_WITH_FACTS, Pool::Sum, |input| {
        each(input, |exams| Contribution::One(if facts(exams) > 0.0 { 1.0 } else { 0.0 }))
    }),
    // `facts_kept`: share of the facts that the context still contains.
    at_cuts(catalogue::FACTS_KEPT, Pool::AtCuts, |input| share(input, kept)).with_interval(),
    // `exposed_share`: share of the facts whose recorded text is no longer sent.
    at_cuts(catalogue::EXPOSED_SHARE, Pool::AtCuts, |input| share(input, exposed)),
    // `carried_share`: share of the exposed facts that are carried.
    at_cuts(catalogue::CARRIED_SHARE, Pool::AtCuts, carried),
    // `added_at_cut`: what is kept minus what the same strategy keeps without its summaries.
    at_cuts(catalogue::ADDED_AT_CUT, Pool::AtCuts, added).with_interval(),
    // `gain_at_cut`: what is kept minus what the newest messages of the same size
    // keep.
    at_cuts(catalogue::GAIN_AT_CUT, Pool::AtCuts, |input| {
        share(input, |at| kept(at) - at.cut.recency(at.exam) as f64)
    }),
    // `tokens_at_cut`: tokens after the compaction / tokens before it.
    at_cuts(catalogue::TOKENS_AT_CUT, Pool::RatioOfSums, |input| {
        each(input, |exams| Contribution::Fraction {
            of: sum(exams, |at| at.exam.tokens_after as f64),
            to: sum(exams, |at| at.cut.tokens_before as f64),
        })
    }),
    // `continuity_at_cut`: continuity of the questions at the cuts.
    at_cuts(catalogue::CONTINUITY_AT_CUT, Pool::AtCuts, continuity),
    // `questions_at_cut`: how many questions are answered right without
    // compression.
    at_cuts(catalogue::QUESTIONS_AT_CUT, Pool::Sum, |input| match continuity(input) {
        Contribution::Fraction { to, .. } => Contribution::One(to),
        other => other,
    }),
];

/// A measure at cuts.
const fn at_cuts(
    measure: &'static Measure,
    pool: Pool,
    compute: fn(&CellInput<'_>) -> Contribution,
) -> Spec {
    Spec::of_cell(measure, pool, Basis::Cuts, compute)
}

/// The result of `of` for the exams of a cell; absent if the cell has none.
fn each(input: &CellInput<'_>, of: impl Fn(&[AtCut<'_>]) -> Contribution) -> Contribution {
    let exams = &input.exams.own;
    if exams.is_empty() { Contribution::Absent(Absent::NotCut) } else { of(exams) }
}

/// A share of the facts.
fn share(input: &CellInput<'_>, of: impl Fn(&AtCut<'_>) -> f64) -> Contribution {
    each(input, |exams| Contribution::fraction(sum(exams, &of), facts(exams), Absent::NoFacts))
}

fn sum(exams: &[AtCut<'_>], of: impl Fn(&AtCut<'_>) -> f64) -> f64 {
    exams.iter().map(of).sum()
}

fn facts(exams: &[AtCut<'_>]) -> f64 {
    sum(exams, |at| at.cut.facts.len() as f64)
}

fn exposed(at: &AtCut<'_>) -> f64 {
    at.exam.count(|state| state != ReferenceState::Verbatim) as f64
}

fn kept(at: &AtCut<'_>) -> f64 {
    at.exam.count(ReferenceState::is_kept) as f64
}

fn carried(input: &CellInput<'_>) -> Contribution {
    each(input, |exams| {
        let of = sum(exams, |at| at.exam.count(|state| state == ReferenceState::Carried) as f64);
        Contribution::fraction(of, sum(exams, exposed), Absent::NothingExposed)
    })
}

fn added(input: &CellInput<'_>) -> Contribution {
    let without_summary = &input.exams.without_summary;
    if without_summary.is_empty() {
        return each(input, |_| Contribution::Absent(Absent::NoSummary));
    }
    each(input, |exams| {
        // What failed at some cut without its summaries has another exam.
        let places = without_summary.iter().map(|at| at.cut.key());
        if !places.eq(exams.iter().map(|at| at.cut.key())) {
            return Contribution::Absent(Absent::WithoutSummaryFailed);
        }
        let added = sum(exams, kept) - sum(without_summary, kept);
        Contribution::fraction(added, facts(exams), Absent::NoFacts)
    })
}

/// 100 × kept / (kept + lost), over the questions asked at the cuts of a
/// session.
fn continuity(input: &CellInput<'_>) -> Contribution {
    let (full, cell) = (&input.exams.full, input.cell);
    let answers = counts_refusals(&cell.key.strategy, cell.row_kind, input.exams.depth);
    each(input, |exams| {
        let mut asked = AskedAtCuts::default();
        for at in exams {
            if let Some(whole) = full.iter().find(|other| other.cut.key() == at.cut.key()) {
                asked.add(input.facts, whole.exam, at.exam, answers);
            }
        }
        // A question without an answer is no continuity (how-it-works §30).
        let answered = asked.kept().filter(|(kind, _)| *kind != QuestionKind::Abstain);
        let kept: Vec<f64> = answered.map(|(_, kept)| kept).collect();
        let points = 100.0 * kept.iter().sum::<f64>();
        Contribution::fraction(points, kept.len() as f64, Absent::NoQuestionAtCut)
    })
}

/// The questions of a session at its cuts that are answered right without
/// compression: how often, and how often they still are. What is asked in the
/// same words at several cuts is one question (how-it-works §45).
#[derive(Default)]
struct AskedAtCuts<'a>(BTreeMap<(QuestionKind, &'a str), [f64; 2]>);

impl<'a> AskedAtCuts<'a> {
    /// Adds the questions of a cut that were asked and graded both times. Where the
    /// strategy `answers` for its overflows, a refused request answers nothing.
    pub fn add(&mut self, facts: &'a SessionFacts, full: &CutExam, own: &CutExam, answers: bool) {
        let refused = answers && own.snapshot.as_ref().is_some_and(|snapshot| snapshot.overflow);
        let right = |row: &QuestionRow| Some(row.score()? >= RIGHT);
        for row in &own.questions {
            let before = full.questions.iter().find(|other| other.question == row.question);
            let (Some(asked), Some(true), Some(after)) =
                (facts.question(row.question), before.and_then(right), right(row))
            else {
                continue;
            };
            let question = &asked.question;
            let counts = self.0.entry((question.kind, &question.question)).or_default();
            counts[0] += 1.0;
            counts[1] += f64::from(u8::from(after && !refused));
        }
    }

    /// The kind of each question, and the share of its cuts at which it is kept.
    pub fn kept(&self) -> impl Iterator<Item = (QuestionKind, f64)> {
        self.0.iter().map(|((kind, _), [before, after])| (*kind, after / before))
    }
}

/// Which kinds of questions a strategy still answers at cuts, of those that the whole
/// conversation answers right: `continuity_at_cut` by kind, over all cuts and over repetitions.
/// Questions that the session does not answer count where the strategy says so.
///
/// Every strategy whose answers at cuts were graded, in the order of their names; empty if no
/// question was asked there. Sessions must be sorted.
pub(crate) fn answered_at_cuts(run: &Evidence<'_>) -> Vec<AnsweredAtCuts> {
    let Evidence { manifest, facts, results, .. } = run;
    let mut strategies: BTreeMap<String, AnsweredAtCuts> = BTreeMap::new();
    for session in results.iter() {
        let Some(at) = position_of(facts, session.dataset, session.id) else { continue };
        let mut asked: BTreeMap<&str, (&CutRow, AskedAtCuts<'_>)> = BTreeMap::new();
        for cut in session.cuts() {
            let full = cut.rows.iter().find(|row| row.strategy == FULL).and_then(CutRow::exam);
            let rows = cut.rows.iter().filter(|row| !row.strategy.starts_with(NO_SUMMARY));
            for (row, exam) in rows.filter_map(|row| Some((row, row.exam()?))) {
                let answers = counts_refusals(&row.strategy, row.row_kind, manifest.depth);
                let own = asked.entry(&row.strategy).or_insert_with(|| (row, Default::default()));
                full.into_iter().for_each(|full| own.1.add(&facts[at], full, exam, answers));
            }
        }
        for (name, (row, asked)) in asked {
            let strategy = strategies.entry(name.to_owned()).or_insert_with(|| AnsweredAtCuts {
                strategy: name.to_owned(),
                row_kind: row.row_kind,
                kinds: BTreeMap::new(),
            });
            for (kind, kept) in asked.kept() {
                let of_kind = strategy.kinds.entry(kind).or_default();
                of_kind.before += 1;
                of_kind.after += kept;
            }
        }
    }
    strategies.into_values().filter(|strategy| !strategy.kinds.is_empty()).collect()
}
