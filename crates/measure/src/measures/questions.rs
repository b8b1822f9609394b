//! The questions of a data set (reference §4 to §6): how many are answered right or
//! findable, how many still are after compression, and whether their evidence went. Measures
//! of answers are absent where no model answers.
//!
//! A question at a request that the provider would have refused has score 0, except for
//! controls.

use std::collections::BTreeMap;

use crate::figures::exams::QuestionResult;
use crate::figures::spec::{Basis, CellInput, Contribution, Pool, Spec, mean};
use recap_core::model::{
    Absent, Agreement, LedgerState, Measure, QuestionKind, RIGHT, Recovered, catalogue,
};

/// The measures of this subject.
pub(super) const ALL: &[Spec] = &[
    // Number of questions that were asked.
    sum(catalogue::QUESTIONS, |input| Contribution::One(input.question_results().count() as f64)),
    // Number of questions without a grade or, where no model answers, a value to find.
    sum(catalogue::UNSCORED, |input| {
        let unscored = |result: &QuestionResult<'_>| result.row.score().is_none();
        Contribution::One(input.question_results().filter(unscored).count() as f64)
    }),
    // The mean score according to the judge, over every kind but abstain.
    Spec::of_questions(catalogue::RECALL, |input| {
        let scores = input.answered().filter_map(|result| result.answer_score());
        Contribution::one(mean(scores), ungraded(input))
    })
    .with_interval(),
    // `recall` with a channel to dropped messages.
    Spec::of_questions(catalogue::RECALL_RECOVERY, |input| {
        if input.question_results().all(|result| result.row.recovered.is_none()) {
            return Contribution::Absent(no_search(input));
        }
        let scores = input.answered().filter_map(|result| input.cell.recovered_score(result.row));
        Contribution::one(mean(scores), Absent::NoneGraded)
    }),
    // Searches made over that channel.
    Spec::of_questions(catalogue::RECOVERY_CALLS, |input| {
        taken(input, |recovered| f64::from(recovered.calls))
    }),
    // What they gave.
    Spec::of_questions(catalogue::RECOVERY_TOKENS, |input| {
        taken(input, |recovered| recovered.tokens as f64)
    }),
    // How many of the questions that are right without compression (answered right or, where no
    // model answers, findable) still are: 100 × the mean over kinds of kept / (kept + lost), on
    // exposed questions, per session, then averaged. Kinds with fewer than 10 questions or 3
    // sessions in the data set are pooled. `full` is compared with itself (A/A).
    Spec::of_questions(catalogue::CONTINUITY, continuity).with_interval(),
    // Whether one of the three best passages states the answer.
    Spec::of_questions(catalogue::FINDABLE, |input| {
        share(input.answered().filter_map(|result| result.is_findable()), Absent::NoValueExpected)
    }),
    // The share of questions of whose evidence something is not sent in any form (how-it-works
    // §29). It needs no answerer and no judge.
    Spec::of_questions(catalogue::EVIDENCE_GONE, |input| {
        let states = input.answered().filter_map(|result| result.row.evidence);
        share(states.map(|worst| worst == LedgerState::Gone), Absent::NoEvidenceNamed)
    }),
    // Asserted wrong / (abstain + update + lost questions), stale values included.
    Spec::of_questions(catalogue::FABRICATION_RATE, |input| {
        if ungraded(input) == Absent::NoAnswerer {
            return Contribution::Absent(Absent::NoAnswerer);
        }
        let tempting = input.question_results().filter(|result| {
            let changed = matches!(result.kind(), QuestionKind::Abstain | QuestionKind::Update);
            let lost = result.is_findable() == Some(false);
            let is_counted = |score| changed || lost && score < RIGHT;
            result.answer_score().is_some_and(is_counted)
        });
        share(tempting.map(|result| result.is_asserted_wrong()), Absent::NoTemptation)
    }),
];

const fn sum(measure: &'static Measure, compute: fn(&CellInput<'_>) -> Contribution) -> Spec {
    Spec::of_cell(measure, Pool::Sum, Basis::Questions, compute)
}

/// The share of hits, or the reason why there is none.
fn share(hits: impl Iterator<Item = bool>, reason: Absent) -> Contribution {
    Contribution::one(mean(hits.map(|hit| f64::from(u8::from(hit)))), reason)
}

/// Why no answer has a grade.
fn ungraded(input: &CellInput<'_>) -> Absent {
    let is_answered = |result: QuestionResult<'_>| result.row.answered.is_some();
    if input.question_results().any(is_answered) { Absent::NoneGraded } else { Absent::NoAnswerer }
}

fn taken(input: &CellInput<'_>, figure: fn(&Recovered) -> f64) -> Contribution {
    let recovered = input.question_results().filter_map(|result| result.row.recovered.as_ref());
    Contribution::one(mean(recovered.map(figure)), no_search(input))
}

/// Why nothing was searched.
fn no_search(input: &CellInput<'_>) -> Absent {
    match ungraded(input) {
        Absent::NoneGraded => Absent::NoChannel,
        no_answerer => no_answerer,
    }
}

fn continuity(input: &CellInput<'_>) -> Contribution {
    // The small kinds form the group without a kind.
    let mut groups: BTreeMap<Option<QuestionKind>, (f64, f64)> = BTreeMap::new();
    for (kind, agreement) in input.agreements() {
        let alone = input.kinds.contains(&kind).then_some(kind);
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

/// Continuity for each kind of question that can be answered.
pub(super) fn continuity_by_kind() -> impl Iterator<Item = Spec> {
    let (pool, basis) = (Pool::RatioOfSums, Basis::Questions);
    let kinds = catalogue::CONTINUITY_BY_KIND.iter();
    kinds.map(move |measure| Spec::of_cell(measure, pool, basis, continuity_of_kind))
}

fn continuity_of_kind(input: &CellInput<'_>) -> Contribution {
    let (mut kept, mut before) = (0.0, 0.0);
    for (_, agreement) in input.agreements().filter(|(of, _)| Some(*of) == input.kind) {
        kept += f64::from(u8::from(agreement == Agreement::Kept));
        let right = matches!(agreement, Agreement::Kept | Agreement::Lost);
        before += f64::from(u8::from(right));
    }
    Contribution::fraction(100.0 * kept, before, Absent::NoneCompactedBeforeRight)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{cell, facts, input};

    #[test]
    fn only_questions_after_a_compaction_count() {
        let facts = (0..6).fold(facts("s").requests(&[1_000, 2_000]), |made, at| {
            made.question(QuestionKind::Fact, u32::from(at > 1), 100)
        });
        let facts = facts.build();
        let full = cell("s", "full").control().sent(&[1_000, 2_000]);
        let full = full.snapshot(1, 0).answers("rrrrwr").build();
        let own = cell("s", "x").sent(&[1_000, 500]).snapshot(0, 0).answers("rw");
        let own = own.snapshot(1, 1).answers("rwru").build();
        let input = CellInput { full: Some(&full), ..input(&facts, &own) };
        assert_eq!(continuity(&input), Contribution::One(50.0));
    }
}
