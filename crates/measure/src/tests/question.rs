//! The measures of questions, compared with values computed by hand.

use super::*;
use crate::testkit::{absent, cell, close, facts, manifest, run};
use recap_core::model::{AgainstFull, Interval, Primary, QuestionKind, SessionFacts, StrategyRow};

/// Three facts and an unanswerable one, all asked at request 1.
fn four(id: &str) -> SessionFacts {
    let mut builder = facts(id).requests(&[1_000, 2_000]);
    for _ in 0..3 {
        builder = builder.question(QuestionKind::Fact, 1, 3_000);
    }
    builder.question(QuestionKind::Abstain, 1, 3_000).build()
}

fn full(id: &str, outcomes: &str) -> Cell {
    let cell = cell(id, "full").control().sent(&[1_000, 2_000]);
    cell.snapshot(1, 0).answers(outcomes).build()
}

fn compacted(id: &str, outcomes: &str) -> Cell {
    cell(id, "x").sent(&[1_000, 500]).snapshot(1, 1).answers(outcomes).build()
}

fn row<'a>(report: &'a Report, strategy: &str) -> &'a StrategyRow {
    report.rows.iter().find(|r| r.dataset == ALL && r.strategy == strategy).unwrap()
}

#[test]
fn recall_is_mean_score_without_abstain_questions() {
    // Facts have scores 1, 0.5 and 0; the unanswerable question has score 1 and is
    // separate.
    let report = run(vec![four("s")], vec![full("s", "RRRr"), compacted("s", "RhwR")]);
    let x = row(&report, "x");
    close(x, "questions", 4.0);
    close(x, "recall", 0.5);
    close(x, "unscored", 0.0);
    assert_eq!(report.primary, Primary::Continuity);
}

#[test]
fn unscored_questions_are_counted_but_change_no_mean() {
    let report = run(vec![four("s")], vec![full("s", "RRRr"), compacted("s", "RuwR")]);
    let x = row(&report, "x");
    close(x, "recall", 0.5);
    close(x, "unscored", 1.0);
    // The unscored question is in neither graded pair: one kept, one lost.
    close(x, "continuity", 50.0);
}

#[test]
fn continuity_is_kept_share_of_kept_and_lost() {
    // Before: right, right, wrong. After: right, wrong, right.
    let report = run(vec![four("s")], vec![full("s", "RRWr"), compacted("s", "RwRR")]);
    let x = row(&report, "x");
    close(x, "continuity", 50.0);
    close(row(&report, "full"), "continuity", 100.0);
}

#[test]
fn a_score_of_one_half_is_right() {
    let report = run(vec![four("s")], vec![full("s", "hhWr"), compacted("s", "hwWR")]);
    close(row(&report, "x"), "continuity", 50.0);
}

#[test]
fn session_never_compacted_has_no_continuity() {
    let idle = cell("s", "x").sent(&[1_000, 2_000]).snapshot(1, 0).answers("RRRR").build();
    let report = run(vec![four("s")], vec![full("s", "RRRr"), idle]);
    let x = row(&report, "x");
    absent(x, "continuity", "nothing was compacted");
    close(x, "recall", 1.0);
    assert_eq!((x.rank, x.verdict), (None, None));
}

#[test]
fn continuity_averages_kinds_and_pools_small_ones() {
    // Three sessions with four facts and one update each: twelve facts have
    // a figure of their own, three updates are pooled with two plans of one
    // session.
    let session = |id: &str, plans: usize| {
        let mut builder = facts(id).requests(&[1_000, 2_000]);
        for _ in 0..4 {
            builder = builder.question(QuestionKind::Fact, 1, 3_000);
        }
        builder = builder.question(QuestionKind::Update, 1, 3_000);
        for _ in 0..plans {
            builder = builder.question(QuestionKind::Plan, 1, 3_000);
        }
        builder.build()
    };
    let sessions = vec![session("a", 2), session("b", 0), session("c", 0)];
    let cells = vec![
        full("a", "RRRRRRR"),
        full("b", "RRRRR"),
        full("c", "RRRRR"),
        // Facts 1/4; update and plans together 2/3.
        compacted("a", "RwwwRRw"),
        // Facts 4/4, update 0/1.
        compacted("b", "RRRRw"),
        // Facts 2/4, update 1/1.
        compacted("c", "RRwwR"),
    ];
    let report = run(sessions, cells);
    let a = (25.0 + 200.0 / 3.0) / 2.0;
    let (b, c) = (50.0, 75.0);
    let x = row(&report, "x");
    close(x, "continuity", (a + b + c) / 3.0);
    close(x, "continuity_fact", 100.0 * 7.0 / 12.0);
    let dots = Interval::Dots { values: vec![a, b, c] };
    assert_eq!(x.intervals["continuity"], dots);
    assert_eq!(x.verdict, Some(AgainstFull::Descriptive));
}

#[test]
fn question_at_refused_request_fails_except_for_controls() {
    let over = cell("s", "x").sent(&[1_000, 9_000]).snapshot(1, 1).over().answers("RRRR").build();
    let control = cell("s", "recorded").control().sent(&[1_000, 9_000]);
    let control = control.snapshot(1, 1).over().answers("RRRR").build();
    let report = run(vec![four("s")], vec![full("s", "RRRr"), over, control]);
    let x = row(&report, "x");
    close(x, "recall", 0.0);
    close(x, "continuity", 0.0);
    close(x, "findable", 0.0);
    // The ledger describes the context, whether it is sent or not.
    close(row(&report, "recorded"), "recall", 1.0);
}

#[test]
fn fabrication_is_counted_for_models_only() {
    // Two questions tempt to fabricate: the lost first fact and the unanswerable
    // question. One answer asserts something.
    let cells = || vec![full("s", "RRRr"), compacted("s", "wRRD")];
    let found = vec![full("s", "+++?"), compacted("s", "-++?")];
    let report = run(vec![four("s")], found);
    absent(row(&report, "x"), "fabrication_rate", "no model answers");
    // The judge makes no difference: the answers are a model's.
    for judge in ["offline", "openai/j"] {
        let mut made = manifest(&["25%"]);
        (made.answerer, made.judge) = ("openai/a".into(), judge.into());
        let report = measure(made, "d".into(), vec![four("s")], RunResults::new(cells(), []));
        close(row(&report, "x"), "fabrication_rate", 0.5);
    }
}

/// Where no model answers, a question is right if it is findable: two of three facts
/// are in `x`, and of the two in `full` one still is.
#[test]
fn findable_questions_count_where_no_model_answers() {
    let report = run(vec![four("s")], vec![full("s", "++-?"), compacted("s", "+-+?")]);
    let x = row(&report, "x");
    close(x, "findable", 2.0 / 3.0);
    close(x, "continuity", 50.0);
    close(x, "unscored", 1.0);
    for id in ["recall", "recall_recovery", "recovery_calls"] {
        absent(x, id, "no model answers the questions");
    }
    // Nothing is found in a prompt that the provider refuses, except in controls.
    let over = |name: &str| cell("s", name).sent(&[1_000, 9_000]).snapshot(1, 1).over();
    let cells = vec![
        full("s", "++-?"),
        over("x").answers("+-+?").build(),
        over("recorded").control().answers("+-+?").build(),
    ];
    let report = run(vec![four("s")], cells);
    close(row(&report, "x"), "findable", 0.0);
    close(row(&report, "x"), "continuity", 0.0);
    close(row(&report, "recorded"), "findable", 2.0 / 3.0);
}

/// Reference §5: an updated fact tempts to assert its stale value.
#[test]
fn fabrication_counts_unanswerable_and_tempting_updated_facts() {
    let facts = || {
        facts("s")
            .requests(&[1_000, 2_000])
            .question(QuestionKind::Fact, 1, 3_000)
            .question(QuestionKind::Update, 1, 3_000)
            .question(QuestionKind::Update, 1, 3_000)
            .question(QuestionKind::Abstain, 1, 3_000)
            .build()
    };
    // The fact was kept: it does not tempt. One of three others is asserted wrong.
    let fabricated = |outcomes: &str| {
        let mut made = manifest(&["25%"]);
        made.answerer = "openai/a".into();
        let cells = vec![full("s", "RRRr"), compacted("s", outcomes)];
        let report = measure(made, "d".into(), vec![facts()], RunResults::new(cells, []));
        row(&report, "x").number_of("fabrication_rate")
    };
    assert_eq!(fabricated("RWRr"), Some(1.0 / 3.0), "an updated fact");
    assert_eq!(fabricated("RRRw"), Some(1.0 / 3.0), "an unanswerable one");
    assert_eq!(fabricated("RDRr"), Some(0.0), "not to know asserts nothing");
    assert_eq!(fabricated("WRRr"), Some(0.0), "a fact that was there does not tempt");
    assert_eq!(fabricated("wRRr"), Some(0.25), "a lost one does");
}

#[test]
fn a_control_without_replayed_requests_has_no_sizes() {
    let evidence = cell("s", "evidence").control().snapshot(1, 0).answers("RRRR").build();
    let report = run(vec![four("s")], vec![full("s", "RRRr"), evidence]);
    let control = row(&report, "evidence");
    close(control, "recall", 1.0);
    close(control, "continuity", 100.0);
    absent(control, "tokens_sent", "asked and sends no requests");
    absent(control, "peak_tokens", "asked and sends no requests");
}

#[test]
fn recovery_channel_changes_only_its_own_three_figures() {
    // Without the channel the facts have scores 1, 0 and 0. With it they have
    // 1, 0.5 and 1; the unanswerable question counts only among calls and tokens.
    let searched = [(5, 400), (5, 200), (3, 0), (1, 10)];
    let plain = || cell("s", "x").sent(&[1_000, 500]).snapshot(1, 1).answers("RwwR");
    let with = plain().recovers("rhrw", &searched).build();
    let figures = |x: Cell| {
        let report = run(vec![four("s")], vec![full("s", "RRRr"), x]);
        row(&report, "x").clone()
    };
    let (without, with) = (figures(plain().build()), figures(with));
    close(&with, "recall_recovery", 2.5 / 3.0);
    close(&with, "recovery_calls", 3.5);
    close(&with, "recovery_tokens", 152.5);
    for (id, value) in &without.values {
        if ["recall_recovery", "recovery_calls", "recovery_tokens"].contains(&id.as_str()) {
            absent(&without, id, "the strategy has no recovery channel");
        } else {
            assert_eq!(with.values[id], *value, "{id}");
        }
    }
}

#[test]
fn recovery_channel_does_not_help_a_refused_request() {
    let over = cell("s", "x").sent(&[1_000, 9_000]).snapshot(1, 1).over().answers("wwww");
    let over = over.recovers("rrrr", &[(1, 1); 4]).build();
    let report = run(vec![four("s")], vec![full("s", "RRRr"), over]);
    close(row(&report, "x"), "recall_recovery", 0.0);
}

#[test]
fn continuity_difference_uses_a_margin_of_five_points() {
    let compared = |lost: usize| {
        let (mut all, mut cells) = (Vec::new(), Vec::new());
        for name in ["a", "b", "c", "d", "e", "f"] {
            let asking = (0..100).fold(facts(name).requests(&[1_000, 2_000]), |built, _| {
                built.question(QuestionKind::Fact, 1, 3_000)
            });
            all.push(asking.build());
            let own = "R".repeat(100 - lost) + &"w".repeat(lost);
            cells.extend([full(name, &"R".repeat(100)), compacted(name, &own)]);
        }
        let report = run(all, cells);
        let x = row(&report, "x").clone();
        close(&x, "difference_to_full", -(lost as f64));
        close(&x, "difference_to_full_lo", -(lost as f64));
        close(&x, "difference_to_full_hi", -(lost as f64));
        x.verdict.unwrap()
    };
    assert_eq!(compared(3), AgainstFull::Undecided);
    assert_eq!(compared(10), AgainstFull::Inferior);
}
