//! The questions of a data set (reference §4 to §6): how many are answered right or
//! findable, how many still are after compression, where their evidence went, and why
//! wrong answers are wrong. Measures of answers are absent where no model answers.
//!
//! Unanswerable questions have a column of their own (`recall_abstain`). A question at
//! a request that the provider would have refused has score 0, except for
//! controls.

use std::collections::BTreeMap;

use crate::asked::{QuestionResult, Wrong};
use crate::spec::{Basis, CellInput, Compute, Contribution, Pool, Spec, mean};
use recap_core::model::{
    Absent, Agreement, LedgerState, Measure, QuestionKind, Recovered, Verdict, catalogue,
};

/// The measures of this subject.
pub(super) const ALL: &[Spec] = &[
    QUESTIONS,
    UNSCORED,
    EXPOSED,
    RECALL,
    RECALL_RECOVERY,
    RECOVERY_CALLS,
    RECOVERY_TOKENS,
    CONTINUITY,
    KEPT,
    CONTINUITY_LOST,
    GAINED,
    NEITHER,
    FINDABLE,
    EVIDENCE_VERBATIM,
    EVIDENCE_EDITED,
    EVIDENCE_FOLDED,
    EVIDENCE_GONE,
    LOST,
    GARBLED,
    UNUSED,
    ABSTENTION,
    FABRICATION,
    RECALL_VERBATIM[0],
    RECALL_VERBATIM[1],
];

const fn sum(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    Spec::of_cell(measure, Pool::Sum, Basis::Questions, compute)
}

/// The share of hits, or the reason why there is none.
fn share(hits: impl Iterator<Item = bool>, reason: Absent) -> Contribution {
    Contribution::one(mean(hits.map(|hit| f64::from(u8::from(hit)))), reason)
}

/// Number of questions that were asked.
const QUESTIONS: Spec =
    sum(catalogue::QUESTIONS, |sample| Contribution::One(sample.question_results().count() as f64));

/// Number of questions without a grade or, where no model answers, a value to find.
const UNSCORED: Spec = sum(catalogue::UNSCORED, |sample| {
    let unscored = |result: &QuestionResult<'_>| result.row.score().is_none();
    Contribution::One(sample.question_results().filter(unscored).count() as f64)
});

/// Those that compression had a chance to hurt.
const EXPOSED: Spec = Spec::of_questions(catalogue::EXPOSED, |sample| {
    share(sample.answered().map(|result| result.exposed), Absent::NothingSaid)
});

/// The mean score according to the judge, over every kind but abstain.
const RECALL: Spec = Spec::of_questions(catalogue::RECALL, |sample| {
    Contribution::one(mean(scores(sample).into_iter().flatten()), ungraded(sample))
});

/// The score of every answer, in the order of the questions.
pub(super) fn scores(sample: &CellInput<'_>) -> Vec<Option<f64>> {
    sample.answered().map(|result| result.answer_score()).collect()
}

/// Why no answer has a grade.
fn ungraded(sample: &CellInput<'_>) -> Absent {
    let is_answered = |result: QuestionResult<'_>| result.row.answered.is_some();
    match sample.question_results().any(is_answered) {
        true => Absent::NoneGraded,
        false => Absent::NoAnswerer,
    }
}

/// The mean score for each kind of question.
pub(super) fn recall_by_kind() -> impl Iterator<Item = Spec> {
    let measures = catalogue::RECALL_BY_KIND.iter().chain([catalogue::RECALL_ABSTAIN]);
    measures.map(|measure| Spec {
        measure,
        pool: Pool::Mean,
        basis: Basis::Questions,
        compute: Compute::OfKind(|sample, kind| {
            let of_kind = sample.question_results().filter(|result| result.kind() == kind);
            Contribution::one(
                mean(of_kind.filter_map(|result| result.answer_score())),
                match ungraded(sample) {
                    Absent::NoneGraded => Absent::NoneOfKindGraded,
                    no_answerer => no_answerer,
                },
            )
        }),
    })
}

/// `recall` with a channel to dropped messages.
const RECALL_RECOVERY: Spec = Spec::of_questions(catalogue::RECALL_RECOVERY, |sample| {
    if sample.question_results().all(|result| result.row.recovered.is_none()) {
        return Contribution::Absent(no_search(sample));
    }
    let scores = sample.answered().filter_map(|result| sample.cell.recovered_score(result.row));
    Contribution::one(mean(scores), Absent::NoneGraded)
});

/// Searches made over that channel.
const RECOVERY_CALLS: Spec = Spec::of_questions(catalogue::RECOVERY_CALLS, |sample| {
    taken(sample, |recovered| f64::from(recovered.calls))
});

/// What they gave.
const RECOVERY_TOKENS: Spec = Spec::of_questions(catalogue::RECOVERY_TOKENS, |sample| {
    taken(sample, |recovered| recovered.tokens as f64)
});

fn taken(sample: &CellInput<'_>, figure: fn(&Recovered) -> f64) -> Contribution {
    let recovered = sample.question_results().filter_map(|result| result.row.recovered.as_ref());
    Contribution::one(mean(recovered.map(figure)), no_search(sample))
}

/// Why nothing was searched.
fn no_search(sample: &CellInput<'_>) -> Absent {
    match ungraded(sample) {
        Absent::NoneGraded => Absent::NoChannel,
        no_answerer => no_answerer,
    }
}

/// How many of the questions that are right without compression (answered right or,
/// where no model answers, findable) still are: 100 × the mean over kinds of kept / (kept + lost), on
/// exposed questions, per session, then averaged. Kinds with fewer than 10 questions
/// or 3 sessions in the data set are pooled. `full` is compared with itself
/// (A/A).
const CONTINUITY: Spec = Spec::of_questions(catalogue::CONTINUITY, continuity);

/// 100 for each question that is still right and 0 for each that no longer is.
/// Their mean is `continuity` if no kind has a figure of its own, as with one
/// or two sessions.
pub(super) fn continuity_series(sample: &CellInput<'_>) -> Vec<Option<f64>> {
    let points = sample.answered().map(|result| match result.agreement() {
        Some(Agreement::Kept) if result.exposed => Some(100.0),
        Some(Agreement::Lost) if result.exposed => Some(0.0),
        _ => None,
    });
    points.collect()
}

fn continuity(sample: &CellInput<'_>) -> Contribution {
    // The small kinds form the group without a kind.
    let mut groups: BTreeMap<Option<QuestionKind>, (f64, f64)> = BTreeMap::new();
    for (kind, agreement) in sample.agreements() {
        let alone = sample.kinds.contains(&kind).then_some(kind);
        let (kept, lost) = match agreement {
            Agreement::Kept => (1.0, 0.0),
            Agreement::Lost => (0.0, 1.0),
            Agreement::Gained | Agreement::Neither => continue,
        };
        let group = groups.entry(alone).or_default();
        *group = (group.0 + kept, group.1 + lost);
    }
    let shares = groups.values().map(|(kept, lost)| 100.0 * kept / (kept + lost));
    Contribution::one(mean(shares), Absent::NoneCompactedBeforeRight)
}

/// The share of exposed questions that compression changed so.
fn changed(sample: &CellInput<'_>, agreement: Agreement) -> Contribution {
    let hits = sample.agreements().map(|(_, found)| found == agreement);
    share(hits, Absent::NoneCompactedBeforeGraded)
}

/// Right before and after.
const KEPT: Spec = Spec::of_questions(catalogue::KEPT, |sample| changed(sample, Agreement::Kept));
/// Right before and wrong after.
const CONTINUITY_LOST: Spec =
    Spec::of_questions(catalogue::CONTINUITY_LOST, |sample| changed(sample, Agreement::Lost));
/// Wrong before and right after.
const GAINED: Spec =
    Spec::of_questions(catalogue::GAINED, |sample| changed(sample, Agreement::Gained));
/// Wrong before and after.
const NEITHER: Spec =
    Spec::of_questions(catalogue::NEITHER, |sample| changed(sample, Agreement::Neither));

/// Continuity for each kind of question that can be answered.
pub(super) fn continuity_by_kind() -> impl Iterator<Item = Spec> {
    catalogue::CONTINUITY_BY_KIND.iter().map(|measure| Spec {
        measure,
        pool: Pool::RatioOfSums,
        basis: Basis::Questions,
        compute: Compute::OfKind(continuity_of_kind),
    })
}

fn continuity_of_kind(sample: &CellInput<'_>, kind: QuestionKind) -> Contribution {
    let (mut kept, mut before) = (0.0, 0.0);
    for (_, agreement) in sample.agreements().filter(|(of, _)| *of == kind) {
        kept += f64::from(u8::from(agreement == Agreement::Kept));
        let right = matches!(agreement, Agreement::Kept | Agreement::Lost);
        before += f64::from(u8::from(right));
    }
    if before == 0.0 {
        return Contribution::Absent(Absent::NoneCompactedBeforeRight);
    }
    Contribution::Fraction { of: 100.0 * kept, to: before }
}

/// The share of questions whose evidence is at worst in this state (how-it-works §29).
/// It needs no answerer and no judge.
fn evidence(sample: &CellInput<'_>, state: LedgerState) -> Contribution {
    let states = sample.answered().filter_map(|result| result.row.evidence);
    share(states.map(|worst| worst == state), Absent::NoEvidenceNamed)
}

/// Share of questions whose evidence is sent as recorded.
const EVIDENCE_VERBATIM: Spec = Spec::of_questions(catalogue::EVIDENCE_VERBATIM, |sample| {
    evidence(sample, LedgerState::Verbatim)
});
/// Sent with a part replaced.
const EVIDENCE_EDITED: Spec =
    Spec::of_questions(catalogue::EVIDENCE_EDITED, |sample| evidence(sample, LedgerState::Edited));
/// Covered by a summary.
const EVIDENCE_FOLDED: Spec =
    Spec::of_questions(catalogue::EVIDENCE_FOLDED, |sample| evidence(sample, LedgerState::Folded));
/// Not sent in any form.
const EVIDENCE_GONE: Spec =
    Spec::of_questions(catalogue::EVIDENCE_GONE, |sample| evidence(sample, LedgerState::Gone));

/// Whether one of the three best passages states the answer.
const FINDABLE: Spec = Spec::of_questions(catalogue::FINDABLE, |sample| {
    share(sample.answered().filter_map(|result| result.is_findable()), Absent::NoValueExpected)
});

/// The share of graded questions that expect a value and are wrong for this reason.
fn wrong(sample: &CellInput<'_>, why: Wrong) -> Contribution {
    let graded = sample.answered().filter_map(|result| result.wrong());
    let none = match ungraded(sample) {
        Absent::NoneGraded => Absent::NoGradedValue,
        no_answerer => no_answerer,
    };
    share(graded.map(|wrong| wrong == Some(why)), none)
}

/// The answer went.
const LOST: Spec = Spec::of_questions(catalogue::LOST, |sample| wrong(sample, Wrong::Lost));
/// It is findable and was understood before.
const GARBLED: Spec =
    Spec::of_questions(catalogue::GARBLED, |sample| wrong(sample, Wrong::Garbled));
/// It is findable and nobody finds it.
const UNUSED: Spec = Spec::of_questions(catalogue::UNUSED, |sample| wrong(sample, Wrong::Unused));

/// Answers that say that they do not know, of what could have been answered.
const ABSTENTION: Spec = Spec::of_questions(catalogue::ABSTENTION_RATE, |sample| {
    let graded = sample.answered().filter(|result| result.answer_score().is_some());
    share(graded.map(|result| result.row.verdict() == Some(&Verdict::Abstained)), ungraded(sample))
});

/// Asserted wrong / (abstain + update + lost questions), stale values included.
const FABRICATION: Spec = Spec::of_questions(catalogue::FABRICATION_RATE, |sample| {
    if ungraded(sample) == Absent::NoAnswerer {
        return Contribution::Absent(Absent::NoAnswerer);
    }
    let tempting = sample.question_results().filter(|result| {
        let lost = result.wrong() == Some(Some(Wrong::Lost));
        result.answer_score().is_some()
            && (matches!(result.kind(), QuestionKind::Abstain | QuestionKind::Update) || lost)
    });
    share(tempting.map(|result| result.is_asserted_wrong()), Absent::NoTemptation)
});

/// Mean score of the questions whose evidence is all sent as recorded and that were
/// right or not both times, under the strategy and under `full`. This checks the
/// instrument (reference §6): a smaller context makes finding easier, so that a
/// difference is not due to the strategy.
const RECALL_VERBATIM: [Spec; 2] = [
    verbatim(catalogue::RECALL_VERBATIM, |sample| {
        fraction(both_scores(sample).iter().map(|(own, _)| *own))
    }),
    verbatim(catalogue::RECALL_VERBATIM_FULL, |sample| {
        fraction(both_scores(sample).iter().map(|(_, full)| *full))
    }),
];

const fn verbatim(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    Spec::of_cell(measure, Pool::RatioOfSums, Basis::Questions, compute)
}

fn both_scores(sample: &CellInput<'_>) -> Vec<(f64, f64)> {
    let whole =
        sample.answered().filter(|p| p.row.evidence == Some(LedgerState::Verbatim) && !p.refused);
    whole.filter_map(|result| Some((result.score?, result.before?))).collect()
}

fn fraction(scores: impl ExactSizeIterator<Item = f64>) -> Contribution {
    match scores.len() {
        0 => Contribution::Absent(Absent::NoWholeEvidence),
        n => Contribution::Fraction { of: scores.sum(), to: n as f64 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{cell, facts, sample};

    #[test]
    fn series_contains_only_questions_after_a_compaction() {
        let facts = (0..6).fold(facts("s").requests(&[1_000, 2_000]), |made, at| {
            made.question(QuestionKind::Fact, u32::from(at > 1), 100)
        });
        let facts = facts.build();
        let full = cell("s", "full").control().sent(&[1_000, 2_000]);
        let full = full.snapshot(1, 0).answers("rrrrwr").build();
        let own = cell("s", "x").sent(&[1_000, 500]).snapshot(0, 0).answers("rw");
        let own = own.snapshot(1, 1).answers("rwru").build();
        let sample = CellInput { full: Some(&full), ..sample(&facts, &own) };
        let (kept, lost) = (Some(100.0), Some(0.0));
        assert_eq!(continuity_series(&sample), [None, None, kept, lost, None, None]);
        assert_eq!(continuity(&sample), Contribution::One(50.0));
    }
}
