//! What is kept of the facts that the recorded agent used next, at places where
//! a compaction is forced (how-it-works §45).
//!
//! Shares are pooled by how-it-works §46: within a session or project as a ratio of
//! sums, over these as a mean weighted by min(facts, 30).

use std::collections::{BTreeMap, BTreeSet};

use crate::exams::AtCut;
use crate::spec::{Basis, CellInput, Compute, Contribution, Pool, Spec};
use recap_core::model::{
    Absent, CutExam, FULL, Fact, Measure, MessageIndex, QuestionKind, QuestionRow, RIGHT,
    ReferenceState, SessionFacts, catalogue, counts_refusals,
};

/// The measures of this subject.
pub(super) const ALL: &[Spec] = &[
    CUTS,
    FACTS,
    SESSIONS,
    KEPT,
    EXPOSED,
    CARRIED,
    ADDED,
    GAIN,
    TOKENS,
    PER_1K,
    FIRST_MISS,
    IRRECOVERABLE,
    REFETCH,
    RECOVERED,
    BARE,
    CONTINUITY,
    QUESTIONS,
    NEAR,
    MIDDLE,
    FAR,
];

/// A measure at cuts.
const fn at_cuts(
    measure: &'static Measure,
    pool: Pool,
    basis: Basis,
    compute: fn(&CellInput<'_>) -> Contribution,
) -> Spec {
    Spec { measure, pool, basis, compute: Compute::AtCuts(compute) }
}

/// `cuts`: how many cuts were examined.
pub const CUTS: Spec = at_cuts(catalogue::CUTS, Pool::Sum, Basis::Cuts, |sample| {
    each(sample, |exams| Contribution::One(exams.len() as f64))
});
/// `facts_needed`: how many facts were needed.
pub const FACTS: Spec = at_cuts(catalogue::FACTS_NEEDED, Pool::Sum, Basis::Cuts, |sample| {
    each(sample, |exams| Contribution::One(facts(exams)))
});
/// `sessions_with_facts`: how many sessions had a fact.
pub const SESSIONS: Spec =
    at_cuts(catalogue::SESSIONS_WITH_FACTS, Pool::Sum, Basis::Cuts, |sample| {
        each(sample, |exams| Contribution::One(if facts(exams) > 0.0 { 1.0 } else { 0.0 }))
    });
/// `facts_kept`: share of the facts that the context still contains.
pub const KEPT: Spec = at_cuts(catalogue::FACTS_KEPT, Pool::AtCuts, Basis::Cuts, |sample| {
    share(sample, |at| at.kept())
});
/// `exposed_share`: share of the facts whose recorded text is no longer sent.
pub const EXPOSED: Spec =
    at_cuts(catalogue::EXPOSED_SHARE, Pool::AtCuts, Basis::Cuts, |sample| share(sample, exposed));
/// `carried_share`: share of the exposed facts that are carried.
pub const CARRIED: Spec = at_cuts(catalogue::CARRIED_SHARE, Pool::AtCuts, Basis::Cuts, carried);
/// `added_at_cut`: what is kept minus what the same strategy keeps without its summaries.
pub const ADDED: Spec = at_cuts(catalogue::ADDED_AT_CUT, Pool::AtCuts, Basis::Cuts, added);
/// `gain_at_cut`: what is kept minus what the newest messages of the same size
/// keep.
pub const GAIN: Spec = at_cuts(catalogue::GAIN_AT_CUT, Pool::AtCuts, Basis::Cuts, |sample| {
    share(sample, |at| at.kept() - at.recency())
});
/// `tokens_at_cut`: tokens after the compaction / tokens before it.
pub const TOKENS: Spec =
    at_cuts(catalogue::TOKENS_AT_CUT, Pool::RatioOfSums, Basis::Cuts, |sample| {
        each(sample, |exams| Contribution::Fraction {
            of: sum(exams, |at| at.exam.tokens_after as f64),
            to: sum(exams, |at| at.cut.tokens_before as f64),
        })
    });
/// `kept_per_1k`: kept facts per 1,000 tokens.
pub const PER_1K: Spec =
    at_cuts(catalogue::KEPT_PER_1K, Pool::RatioOfSums, Basis::Cuts, |sample| {
        each(sample, |exams| Contribution::Fraction {
            of: sum(exams, |at| at.kept()),
            to: sum(exams, |at| at.exam.tokens_after as f64) / 1_000.0,
        })
    });
/// `first_miss`: median number of requests until the first missing fact.
pub const FIRST_MISS: Spec =
    at_cuts(catalogue::FIRST_MISS, Pool::WaitMedian, Basis::Cuts, |sample| {
        each(sample, |exams| {
            Contribution::Waits(
                exams.iter().filter(|at| !at.cut.facts.is_empty()).map(first_miss).collect(),
            )
        })
    });
/// `irrecoverable_at_cut`: share of facts that are lost and not in any tool
/// result.
pub const IRRECOVERABLE: Spec =
    at_cuts(catalogue::IRRECOVERABLE_AT_CUT, Pool::AtCuts, Basis::Cuts, |sample| {
        share(sample, |at| lost(at).filter(|fact| fact.refetch.is_none()).count() as f64)
    });
/// `refetch_at_cut`: mean tokens per cut of the tool results to be fetched again
/// for the lost facts.
pub const REFETCH: Spec =
    at_cuts(catalogue::REFETCH_AT_CUT, Pool::RatioOfSums, Basis::Cuts, |sample| {
        each(sample, |exams| Contribution::Fraction {
            of: exams.iter().map(|at| refetch(sample, at)).sum::<u64>() as f64,
            to: exams.len() as f64,
        })
    });
/// `recovered_at_cut`: share of the facts that only the strategy's own search
/// finds.
pub const RECOVERED: Spec =
    at_cuts(catalogue::RECOVERED_AT_CUT, Pool::AtCuts, Basis::Cuts, |sample| {
        share(sample, |at| at.count(|s| s == ReferenceState::Recovered))
    });
/// `bare_at_cut`: share of the facts that are named without support.
pub const BARE: Spec = at_cuts(catalogue::BARE_AT_CUT, Pool::AtCuts, Basis::Cuts, |sample| {
    share(sample, |at| at.count(|s| s == ReferenceState::Bare))
});
/// `continuity_at_cut`: continuity of the questions at the cuts.
pub const CONTINUITY: Spec =
    at_cuts(catalogue::CONTINUITY_AT_CUT, Pool::AtCuts, Basis::Cuts, continuity);
/// `questions_at_cut`: how many questions are answered right without
/// compression.
pub const QUESTIONS: Spec =
    at_cuts(catalogue::QUESTIONS_AT_CUT, Pool::Sum, Basis::Cuts, |sample| {
        match continuity(sample) {
            Contribution::Fraction { to, .. } => Contribution::One(to),
            other => other,
        }
    });

/// Kept at cuts, of the facts that were used 1 to 5 requests after the cut.
pub const NEAR: Spec = behind(catalogue::FACTS_KEPT_1_5, |sample| between(sample, 1, 5));
/// Kept at cuts, of the facts that were used 6 to 20 requests after the cut.
pub const MIDDLE: Spec = behind(catalogue::FACTS_KEPT_6_20, |sample| between(sample, 6, 20));
/// Kept at cuts, of the facts that were used 21 to 40 requests after the cut.
pub const FAR: Spec = behind(catalogue::FACTS_KEPT_21_40, |sample| between(sample, 21, 40));

/// Kept at cuts, by the number of requests between the cut and the use of the
/// fact.
const fn behind(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    at_cuts(measure, Pool::AtCuts, Basis::Cuts, compute)
}

/// 1 for each fact that is kept and 0 for each that is not, in the order of the
/// session.
pub fn kept_series(sample: &CellInput<'_>) -> Vec<Option<f64>> {
    let exams = sample.exams.at(sample.cell);
    let states = exams.iter().flat_map(|at| &at.exam.states);
    states.map(|state| Some(kept(*state))).collect()
}

/// The values of [`kept_series`] minus those without its summaries.
pub fn added_series(sample: &CellInput<'_>) -> Vec<Option<f64>> {
    let (own, without_summary) =
        (sample.exams.at(sample.cell), sample.exams.without_summary(sample.cell));
    let states = |exams: &[AtCut<'_>]| {
        let states = exams.iter().flat_map(|at| at.exam.states.clone());
        states.map(kept).collect::<Vec<f64>>()
    };
    let (own, without_summary) = (states(&own), states(&without_summary));
    if own.len() != without_summary.len() {
        return Vec::new();
    }
    own.iter()
        .zip(without_summary)
        .map(|(own, without_summary)| Some(own - without_summary))
        .collect()
}

fn kept(state: ReferenceState) -> f64 {
    if state.is_kept() { 1.0 } else { 0.0 }
}

/// The result of `of` for the exams of a cell; absent if the cell has none.
fn each(sample: &CellInput<'_>, of: impl Fn(&[AtCut<'_>]) -> Contribution) -> Contribution {
    let exams = sample.exams.at(sample.cell);
    if exams.is_empty() { Contribution::Absent(Absent::NotCut) } else { of(&exams) }
}

/// A share of the facts.
fn share(sample: &CellInput<'_>, of: impl Fn(&AtCut<'_>) -> f64) -> Contribution {
    each(sample, |exams| match facts(exams) {
        0.0 => Contribution::Absent(Absent::NoFacts),
        to => Contribution::Fraction { of: sum(exams, &of), to },
    })
}

fn sum(exams: &[AtCut<'_>], of: impl Fn(&AtCut<'_>) -> f64) -> f64 {
    exams.iter().map(of).sum()
}

fn facts(exams: &[AtCut<'_>]) -> f64 {
    sum(exams, |at| at.cut.facts.len() as f64)
}

fn exposed(at: &AtCut<'_>) -> f64 {
    at.count(|state| state != ReferenceState::Verbatim)
}

fn carried(sample: &CellInput<'_>) -> Contribution {
    each(sample, |exams| match sum(exams, exposed) {
        0.0 => Contribution::Absent(Absent::NothingExposed),
        to => {
            let of = sum(exams, |at| at.count(|state| state == ReferenceState::Carried));
            Contribution::Fraction { of, to }
        }
    })
}

fn added(sample: &CellInput<'_>) -> Contribution {
    let without_summary = sample.exams.without_summary(sample.cell);
    each(sample, |exams| {
        // What failed at some cut without its summaries has another exam.
        let same =
            without_summary.iter().map(|at| at.cut.key()).eq(exams.iter().map(|at| at.cut.key()));
        match facts(exams) {
            _ if without_summary.is_empty() => Contribution::Absent(Absent::NoSummary),
            _ if !same => Contribution::Absent(Absent::WithoutSummaryFailed),
            0.0 => Contribution::Absent(Absent::NoFacts),
            to => Contribution::Fraction {
                of: sum(exams, |at| at.kept()) - sum(&without_summary, |at| at.kept()),
                to,
            },
        }
    })
}

/// Requests until the first fact that is missing, and whether a fact is
/// missing.
fn first_miss(at: &AtCut<'_>) -> (f64, bool) {
    let facts = at.cut.facts.iter().zip(&at.exam.states);
    let missed = facts.filter(|(_, state)| !state.is_kept()).map(|(fact, _)| fact.request);
    match missed.min() {
        Some(request) => (f64::from(request - at.cut.request + 1), true),
        None => (f64::from(at.cut.requests), false),
    }
}

fn lost<'a>(at: &AtCut<'a>) -> impl Iterator<Item = &'a Fact> {
    let facts = at.cut.facts.iter().zip(&at.exam.states);
    facts.filter(|(_, state)| **state == ReferenceState::Lost).map(|(fact, _)| fact)
}

/// Tokens of the sources of lost facts, each counted once; a source that the
/// recording fetched again anyway is not counted.
fn refetch(sample: &CellInput<'_>, at: &AtCut<'_>) -> u64 {
    let sources: BTreeSet<MessageIndex> =
        lost(at).filter(|fact| !fact.reread).filter_map(|fact| fact.refetch).collect();
    let tokens = |source: MessageIndex| sample.facts.messages.get(source as usize);
    sources.into_iter().filter_map(tokens).map(|message| message.tokens).sum()
}

fn between(sample: &CellInput<'_>, from: u32, to: u32) -> Contribution {
    each(sample, |exams| {
        let (mut kept_tokens, mut all) = (0.0, 0.0);
        for at in exams {
            for (fact, state) in at.cut.facts.iter().zip(&at.exam.states) {
                if (from..=to).contains(&(fact.request - at.cut.request + 1)) {
                    all += 1.0;
                    kept_tokens += kept(*state);
                }
            }
        }
        if all == 0.0 {
            Contribution::Absent(Absent::NoFacts)
        } else {
            Contribution::Fraction { of: kept_tokens, to: all }
        }
    })
}

/// 100 × kept / (kept + lost), over the questions asked at the cuts of a
/// session.
fn continuity(sample: &CellInput<'_>) -> Contribution {
    let full = sample.exams.beside(sample.cell, FULL);
    let cell = sample.cell;
    let answers = counts_refusals(&cell.key.strategy, cell.row_kind, sample.exams.depth);
    each(sample, |exams| {
        let mut asked = AskedAtCuts::default();
        for at in exams {
            if let Some(whole) = full.iter().find(|other| other.cut.key() == at.cut.key()) {
                asked.add(sample.facts, whole.exam, at.exam, answers);
            }
        }
        // A question without an answer is no continuity (how-it-works §30).
        let kept: Vec<f64> = asked
            .kept()
            .filter(|(kind, _)| *kind != QuestionKind::Abstain)
            .map(|of| of.1)
            .collect();
        match kept.len() {
            0 => Contribution::Absent(Absent::NoQuestionAtCut),
            before => {
                Contribution::Fraction { of: 100.0 * kept.iter().sum::<f64>(), to: before as f64 }
            }
        }
    })
}

/// The questions of a session at its cuts that are answered right without
/// compression: how often, and how often they still are. What is asked in the
/// same words at several cuts is one question (how-it-works §45).
#[derive(Default)]
pub(crate) struct AskedAtCuts<'a>(BTreeMap<(QuestionKind, &'a str), [f64; 2]>);

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
