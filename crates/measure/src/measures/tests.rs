//! Rules of single measures at their limits, with values worked out by hand.

use super::*;
use crate::spec::{Compute, Contribution};
use crate::testkit::{cell, facts, sample};
use recap_core::model::{Absent, Cell, QuestionKind, SessionFacts};

/// What a measure reads from a cell beside `full`, whatever the size of the exam.
fn beside(id: &str, facts: &SessionFacts, cell: &Cell, full: Option<&Cell>) -> Contribution {
    let spec = MEASURES.iter().find(|spec| spec.id() == id).unwrap();
    let Compute::Cell(compute) = spec.compute else { panic!("{id}") };
    compute(&CellInput { full, ..sample(facts, cell) })
}

fn read(id: &str, facts: &SessionFacts, cell: &Cell) -> Contribution {
    beside(id, facts, cell, None)
}

#[test]
fn did_without_is_share_of_use_behind_boundary() {
    let cell = cell("s", "x").sent(&[100]).build();
    let of = |boundary: Option<u32>, references: usize| {
        let made = facts("s").requests(&[100]);
        let made = (0..references).fold(made, |made, _| made.reference(0, 5_000, None));
        let made = match boundary {
            Some(without) => made.boundary(without),
            None => made,
        };
        read("did_without", &made.build(), &cell)
    };
    assert_eq!(of(Some(2), 6), Contribution::One(0.25));
    assert_eq!(of(Some(2), 0), Contribution::One(1.0));
    assert_eq!(of(Some(0), 0), Contribution::Absent(Absent::NoReferences));
    assert_eq!(of(None, 6), Contribution::Absent(Absent::NoRecordedBoundary));
}

#[test]
fn estimate_of_empty_request_has_no_error() {
    let facts = facts("s").requests(&[100, 100, 100]).build();
    let of = |sent: [u64; 3]| {
        let estimates = [Some(5), Some(150), None];
        read("estimator_error", &facts, &cell("s", "x").sent(&sent).estimates(&estimates).build())
    };
    assert_eq!(of([0, 100, 100]), Contribution::Many(vec![0.5]));
    assert_eq!(of([0, 0, 100]), Contribution::Absent(Absent::NoEstimate));
}

#[test]
fn only_successful_nonempty_compaction_has_a_ratio() {
    let facts = facts("s").requests(&[100]).build();
    let made = cell("s", "x").sent(&[100]).compaction(1_000, 250).compaction(0, 7);
    let made = made.compaction(800, 400).with_compaction(|row| row.error = Some("no".into()));
    let made = made.compaction(500, 500).build();
    assert_eq!(read("compression_ratio", &facts, &made), Contribution::Many(vec![0.25, 1.0]));
    assert_eq!(read("compactions", &facts, &made), Contribution::One(3.0));
    assert_eq!(
        read("inflated", &facts, &made),
        Contribution::One(1.0),
        "the same size is not longer"
    );
}

#[test]
fn message_ratio_needs_a_request_after_a_message() {
    let of = |requests: &[u64], message: Option<u32>| {
        let made = facts("s").requests(requests).with(|facts| {
            if let (Some(last), Some(message)) = (facts.requests.last_mut(), message) {
                last.message = message;
            }
        });
        read("message_ratio", &made.build(), &cell("s", "x").sent(requests).build())
    };
    assert_eq!(of(&[10, 10, 10], None), Contribution::One(0.4));
    assert_eq!(of(&[10, 10], Some(8)), Contribution::One(0.25));
    assert_eq!(of(&[10, 10], Some(0)), Contribution::Absent(Absent::NoMessageBefore));
    assert_eq!(of(&[], None), Contribution::Absent(Absent::NoRequest));
}

#[test]
fn fewer_uncached_tokens_than_full_save_time() {
    // 500 + 300 against 100 + 50 tokens, at 10,000 a second.
    let facts = facts("s").requests(&[1_000]).build();
    let billed = |name: &str, request| {
        cell("s", name).sent(&[1_000]).bill("recorded", "cheap", &[request]).build()
    };
    let (full, own) = (billed("full", (500, 0, 300)), billed("x", (100, 900, 50)));
    assert_eq!(beside("prefill_ms_saved", &facts, &own, Some(&full)), Contribution::One(65.0));
    assert_eq!(read("prefill_ms_saved", &facts, &own), Contribution::Absent(Absent::NoBillOfFull));
}

#[test]
fn whole_evidence_answers_compare_if_graded_and_unrefused() {
    let facts = (0..6)
        .fold(facts("s").requests(&[1_000]), |made, _| made.question(QuestionKind::Fact, 0, 100));
    let facts = facts.build();
    // Whole evidence of the first, third, fourth, fifth and sixth question; the last
    // two have no grade in one of the runs.
    let full = cell("s", "full").control().sent(&[1_000]).snapshot(0, 0).answers("RRWRUR");
    let (full, own) = (full.build(), || cell("s", "x").sent(&[500]).snapshot(0, 1));
    let of = |own: &Cell| {
        let figure = |id| beside(id, &facts, own, Some(&full));
        (figure("recall_verbatim"), figure("recall_verbatim_full"))
    };
    let (whole, three) =
        (own().answers("RrWHRU").build(), |of| Contribution::Fraction { of, to: 3.0 });
    assert_eq!(of(&whole), (three(1.5), three(2.0)));
    let none = || Contribution::Absent(Absent::NoWholeEvidence);
    assert_eq!(of(&own().over().answers("RrWHRU").build()), (none(), none()));
    assert_eq!(of(&own().answers("rrwhru").build()), (none(), none()));
}

#[test]
fn series_has_figure_per_referencing_request_and_question() {
    let made = facts("s").requests(&[100, 100, 100]).reference(0, 10, None);
    let made = made.reference(0, 10, None).reference(2, 10, None).reference(2, 10, None);
    let made = made.question(QuestionKind::Fact, 0, 10).question(QuestionKind::Abstain, 0, 10);
    let facts =
        made.question(QuestionKind::Plan, 0, 10).question(QuestionKind::Fact, 0, 10).build();
    let cell = cell("s", "x").sent(&[100; 3]).states("klkv").snapshot(0, 1).answers("rrhu").build();
    let sample = sample(&facts, &cell);
    let of = |id: &str| {
        let resampled = RESAMPLED.iter().find(|resampled| resampled.id == id).unwrap();
        (resampled.series)(&sample)
    };
    assert_eq!(of("reference_recall"), [Some(0.5), Some(1.0)]);
    assert_eq!(of("recall"), [Some(1.0), Some(0.5), None]);
}

#[test]
fn evidence_state_is_share_of_questions_naming_evidence() {
    let made = (0..4)
        .fold(facts("s").requests(&[100]), |made, _| made.question(QuestionKind::Fact, 0, 100));
    let facts = made.build();
    let cell = cell("s", "x").sent(&[50]).snapshot(0, 1).answers("RwRW").build();
    let shares = ["evidence_verbatim", "evidence_gone", "evidence_folded"];
    let shares = shares.map(|id| read(id, &facts, &cell));
    assert_eq!(shares, [0.75, 0.25, 0.0].map(Contribution::One));
}

#[test]
fn shares_of_nothing_are_absent() {
    let facts = facts("s").requests(&[1_000]).build();
    let billed =
        |name: &str| cell("s", name).sent(&[1_000]).bill("recorded", "cheap", &[(1_000, 0, 0)]);
    let nothing = billed("full").with_bill(|bill| bill.requests = vec![None]).build();
    let own = billed("x").build();
    let saved = |full: &Cell| beside("cost_savings", &facts, &own, Some(full));
    assert_eq!(saved(&nothing), Contribution::Absent(Absent::NothingBilled));
    assert!(matches!(saved(&billed("full").build()), Contribution::Fraction { of: 0.0, .. }));
}
