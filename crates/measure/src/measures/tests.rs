//! Rules of single measures at their limits, with values worked out by hand.

use super::*;
use crate::figures::spec::{CellInput, Contribution};
use crate::testkit::{cell, facts, input};
use recap_core::model::{Absent, Cell, QuestionKind, SessionFacts};

/// What a measure reads from a cell beside `full`, whatever the size of the exam.
fn beside(id: &str, facts: &SessionFacts, cell: &Cell, full: Option<&Cell>) -> Contribution {
    let compute = spec_of(id).unwrap().compute;
    compute(&CellInput { full, ..input(facts, cell) })
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
fn only_successful_compactions_of_the_session_are_counted() {
    let facts = facts("s").requests(&[100]).build();
    let made = cell("s", "x").sent(&[100]).compaction(1_000, 250).compaction(0, 7);
    let made = made.compaction(800, 400).with_compaction(|row| row.error = Some("no".into()));
    // What is made for the questions at the end of the session is no part of it.
    let made = made.compaction(900, 100).with_compaction(|row| row.at_end = true);
    let made = made.compaction(500, 500).build();
    assert_eq!(read("compactions", &facts, &made), Contribution::One(3.0));
}

#[test]
fn evidence_state_is_share_of_questions_naming_evidence() {
    let made = (0..4)
        .fold(facts("s").requests(&[100]), |made, _| made.question(QuestionKind::Fact, 0, 100));
    let facts = made.build();
    let cell = cell("s", "x").sent(&[50]).snapshot(0, 1).answers("RwRW").build();
    assert_eq!(read("evidence_gone", &facts, &cell), Contribution::One(0.25));
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
