use std::collections::BTreeSet;

use super::*;
use crate::figures::spec::{Basis, Contribution, Pool, Spec};
use crate::testkit::{absent, cell, close, facts, input, run, run_at, warnings};
use recap_core::model::{AgainstFull, Interval, RowKind, StrategyRow, catalogue};

mod coverage;
mod cut;
mod fixtures;
mod money;
mod question;
mod references;

fn row<'a>(report: &'a Report, dataset: &str, strategy: &str) -> &'a StrategyRow {
    report.rows.iter().find(|r| r.dataset == dataset && r.strategy == strategy).unwrap()
}

/// Ten requests of 1,000 to 10,000 tokens (55,000 in all) with two references
/// each: one 5,000 tokens back, in tool result 2, and one 20,000 tokens back,
/// in no tool result.
fn ten_requests(id: &str) -> SessionFacts {
    let full: Vec<u64> = (1..=10).map(|k| k * 1_000).collect();
    let mut builder = facts(id).requests(&full);
    for request in 0..10 {
        builder = builder.reference(request, 5_000, Some(2)).reference(request, 20_000, None);
    }
    builder.build()
}

/// Keeps the near reference and loses the far one at each of the ten requests.
const HALF: &str = "klklklklklklklklklkl";
const WHOLE: &str = "kkkkkkkkkkkkkkkkkkkk";

fn full(id: &str) -> Cell {
    let tokens: Vec<u64> = (1..=10).map(|k| k * 1_000).collect();
    cell(id, "full").control().sent(&tokens).states(WHOLE).build()
}

fn strategy(id: &str, name: &str, states: &str) -> testkit::CellBuilder {
    cell(id, name).sent(&[1_100; 10]).states(states)
}

#[test]
fn full_has_recall_one_and_savings_zero() {
    let report = run(vec![ten_requests("s")], vec![full("s")]);
    let row = row(&report, "d", "full");
    assert_eq!(row.number(catalogue::REFERENCE_RECALL), Some(1.0));
    assert_eq!(row.number(catalogue::TOKEN_SAVINGS), Some(0.0));
    assert_eq!(row.number(catalogue::RECENCY_GAIN), Some(0.0));
    assert_eq!(row.verdict, None, "full is not compared with itself");
}

#[test]
fn size_is_counted_over_every_request() {
    let one = facts("s").requests(&[1_000, 2_000, 3_000]).build();
    let sent = cell("s", "x")
        .sent(&[1_000, 500, 900])
        .compaction(2_000, 500)
        .compaction(1_000, 600)
        .compaction(1_000, 1_200)
        .overflow(2)
        .build();
    let report = run(vec![one], vec![sent]);
    let row = row(&report, "d", "x");
    close(row, "requests", 3.0);
    close(row, "tokens_full", 6_000.0);
    close(row, "tokens_sent", 2_400.0);
    close(row, "token_savings", 0.6);
    close(row, "peak_tokens", 1_000.0);
    close(row, "compactions", 3.0);
    close(row, "overflows", 1.0);
}

#[test]
fn failed_cell_contributes_nothing_and_prevents_rank() {
    let cells = vec![
        strategy("s", "x", HALF).build(),
        strategy("t", "x", HALF).failed("the strategy lost a tool call"),
        strategy("s", "y", HALF).build(),
        strategy("t", "y", WHOLE).build(),
        strategy("s", "z", HALF).failed("broken"),
    ];
    let report = run(vec![ten_requests("s"), ten_requests("t")], cells);
    let x = row(&report, "d", "x");
    close(x, "reference_recall", 0.5);
    close(x, "tokens_full", 55_000.0);
    assert_eq!(x.failed, ["t (replicate 0): the strategy lost a tool call"]);
    assert_eq!(x.rank, None);
    assert_eq!(row(&report, "d", "y").rank, Some(1));
    absent(row(&report, "d", "z"), "reference_recall", "every cell failed");
}

#[test]
fn cell_that_does_not_fit_its_session_fails() {
    let short = cell("s", "x").sent(&[10; 3]).states(HALF).build();
    let stray = strategy("elsewhere", "x", HALF).build();
    let report = run(vec![ten_requests("s")], vec![short, stray]);
    let x = row(&report, "d", "x");
    assert_eq!(x.failed.len(), 2);
    assert!(x.failed[1].contains("3 requests, 20 references and 0 questions"), "{:?}", x.failed);
    assert!(x.failed[0].contains("not among the facts"), "{:?}", x.failed);
}

/// A run with two data sets, two windows, replicates, a failure and controls.
fn mixed() -> (Vec<SessionFacts>, Vec<Cell>) {
    let mut all = Vec::new();
    let mut cells = Vec::new();
    for (at, name) in ["a", "b", "c", "d", "e", "f", "g"].iter().enumerate() {
        all.push(ten_requests(name));
        cells.push(full(name));
        let states = if at % 3 == 0 { WHOLE } else { HALF };
        for window in ["25%", "50%"] {
            for replicate in 0..2 {
                cells.push(
                    strategy(name, "x", states)
                        .window(window, 3_000)
                        .replicate(replicate)
                        .compaction(900 + at as u64, 333)
                        .build(),
                );
            }
            cells.push(strategy(name, "y", HALF).window(window, 3_000).build());
            cells.push(strategy(name, "z", WHOLE).window(window, 3_000).offline_summary().build());
        }
    }
    cells.push(strategy("a", "w", HALF).failed("broken"));
    (all, cells)
}

#[test]
fn cell_order_does_not_change_report_bytes() {
    let (facts, cells) = mixed();
    let bytes = |facts: Vec<SessionFacts>, cells: Vec<Cell>| {
        format!("{:?}", run_at(&["50%", "25%"], facts, cells))
    };
    let first = bytes(facts.clone(), cells.clone());
    let reversed =
        bytes(facts.iter().rev().cloned().collect(), cells.iter().rev().cloned().collect());
    let mut interleaved = cells.clone();
    let half = interleaved.len() / 2;
    interleaved.rotate_left(half);
    interleaved.swap(0, 3);
    assert_eq!(first, reversed);
    assert_eq!(first, bytes(facts, interleaved));
}

#[test]
fn replicates_count_as_one_session() {
    let cells = vec![
        strategy("s", "x", WHOLE).build(),
        strategy("s", "x", HALF).replicate(1).build(),
        strategy("t", "x", HALF).build(),
    ];
    let report = run(vec![ten_requests("s"), ten_requests("t")], cells);
    let x = row(&report, "d", "x");
    close(x, "reference_recall", 0.625);
    close(x, "tokens_sent", 22_000.0);
    close(x, "references", 40.0);
}

#[test]
fn rows_are_ordered_full_ranked_offline_summaries_controls() {
    let thrifty = cell("s", "thrifty").sent(&[900; 10]).states(HALF).build();
    let cells = vec![
        strategy("s", "recorded", WHOLE).control().build(),
        strategy("s", "id-list", HALF).control().build(),
        strategy("s", "empty", HALF).control().build(),
        strategy("s", "summary", WHOLE).offline_summary().build(),
        strategy("s", "lavish", HALF).build(),
        thrifty,
        strategy("s", "best", WHOLE).build(),
        strategy("s", "broken", WHOLE).failed("the strategy lost a tool call"),
        full("s"),
    ];
    let report = run(vec![ten_requests("s")], cells);
    let order: Vec<(&str, Option<u32>)> = report
        .rows
        .iter()
        .filter(|r| r.dataset == ALL)
        .map(|r| (r.strategy.as_str(), r.rank))
        .collect();
    let expected = [
        ("full", None),
        ("best", Some(1)),
        ("thrifty", Some(2)),
        ("lavish", Some(2)),
        ("broken", None),
        ("summary", None),
        ("empty", None),
        ("id-list", None),
        ("recorded", None),
    ];
    assert_eq!(order, expected);
}

#[test]
fn windows_keep_typed_order_and_all_comes_last() {
    let (facts, cells) = mixed();
    let report = run_at(&["50%", "25%"], facts, cells);
    let mut order: Vec<(&str, &str)> =
        report.rows.iter().map(|r| (r.dataset.as_str(), r.window.as_str())).collect();
    order.dedup();
    assert_eq!(order, [("d", "50%"), ("d", "25%"), (ALL, "50%"), (ALL, "25%")]);
}

#[test]
fn the_number_of_sessions_decides_the_conclusions() {
    let interval = |n: usize| {
        let names: Vec<String> = (0..n).map(|i| format!("s{i:02}")).collect();
        let states = |i: usize| if i.is_multiple_of(2) { HALF } else { WHOLE };
        let mut cells: Vec<Cell> = names.iter().map(|name| full(name)).collect();
        cells.extend(names.iter().enumerate().map(|(i, s)| strategy(s, "x", states(i)).build()));
        let report = run(names.iter().map(|name| ten_requests(name)).collect(), cells);
        let x = row(&report, ALL, "x").clone();
        (x.intervals["reference_recall"].clone(), x.verdict.unwrap())
    };
    for (n, values) in [(2, vec![0.5, 1.0]), (3, vec![0.5, 0.5, 1.0])] {
        assert_eq!(interval(n), (Interval::Dots { values }, AgainstFull::Descriptive));
    }
    assert!(matches!(interval(6), (Interval::Bounds { .. }, AgainstFull::Undecided)));
    assert!(matches!(interval(12), (Interval::Bounds { .. }, AgainstFull::Inferior)));
    assert!(matches!(interval(20), (Interval::Bounds { .. }, AgainstFull::Inferior)));
}

#[test]
fn projects_are_the_unit_where_there_are_several() {
    let of = |id: &str, project: &str| {
        let mut facts = ten_requests(id);
        facts.cluster = Some(project.into());
        facts
    };
    let cells = || ["a", "b", "c"].map(|s| strategy(s, "x", HALF).build()).to_vec();
    let report = run(vec![of("a", "p"), of("b", "p"), of("c", "q")], cells());
    close(row(&report, ALL, "x"), "n_clusters", 2.0);
    let report = run(vec![of("a", "p"), of("b", "p"), of("c", "p")], cells());
    close(row(&report, ALL, "x"), "n_clusters", 3.0);
}

#[test]
fn every_measure_has_one_computation_and_catalogue_entry() {
    let ids: BTreeSet<&str> = MEASURES.iter().map(Spec::id).collect();
    assert_eq!(ids.len(), MEASURES.len());
    for spec in MEASURES.iter() {
        assert_eq!(catalogue::find(spec.id()), Some(spec.measure));
    }
}

#[test]
fn every_measure_yields_parts_that_fit_its_pool() {
    let mut facts = ten_requests("s");
    facts.recorded_compactions = 1;
    let cell = strategy("s", "x", HALF)
        .compaction(2_000, 1_000)
        .bill("recorded", "dear", &[(1_000, 0, 0); 10])
        .build();
    let (full, recorded) = (Some(&cell), Some(&cell));
    let input = crate::figures::spec::CellInput { full, recorded, ..input(&facts, &cell) };
    for spec in MEASURES.iter() {
        let fits = match spec.of(&input) {
            Contribution::One(_) => matches!(spec.pool, Pool::Mean | Pool::Sum | Pool::Max),
            Contribution::Fraction { .. } => spec.pool == Pool::RatioOfSums,
            Contribution::Many(_) => matches!(spec.pool, Pool::Percentile(_)),
            Contribution::Absent(_) => matches!(spec.basis, Basis::Questions | Basis::Cuts),
            Contribution::Unknown(_) => false,
        };
        assert!(fits, "{}", spec.id());
    }
}

#[test]
fn an_empty_run_gives_an_empty_report() {
    let report = run(Vec::new(), Vec::new());
    assert!(report.rows.is_empty());
    assert_eq!(
        warnings(&report).len(),
        1,
        "only the limits of the method: {:?}",
        warnings(&report)
    );
}

#[test]
fn all_gives_sessions_equal_weight_and_sums_tokens() {
    let mut other = ten_requests("s");
    other.dataset = "e".into();
    other.requests.iter_mut().for_each(|r| r.tokens_full *= 10);
    let third = facts("t").dataset("e").requests(&[1_000]).build();
    let cells = vec![
        strategy("s", "x", WHOLE).build(),
        strategy("s", "x", HALF).dataset("e").build(),
        cell("t", "x").dataset("e").sent(&[500]).build(),
    ];
    let report = run(vec![ten_requests("s"), other, third], cells);
    let all = row(&report, ALL, "x");
    close(all, "reference_recall", 0.75);
    close(all, "token_savings", 1.0 - 22_500.0 / 606_000.0);
    close(all, "sessions", 3.0);
    close(row(&report, "e", "x"), "token_savings", 1.0 - 11_500.0 / 551_000.0);
}

#[test]
fn missing_cells_of_prepared_sessions_count_as_failed() {
    use recap_core::model::{Planned, PlannedSession, PlannedStrategy};
    let planned = |id: &str| PlannedSession {
        dataset: "d".into(),
        session: id.into(),
        windows: vec!["25%".into()],
        cuts: Vec::new(),
    };
    let mut manifest = testkit::manifest(&["25%"]);
    manifest.planned = Planned {
        strategies: vec![PlannedStrategy {
            name: "x".into(),
            row_kind: RowKind::Ranked,
            replicates: 1,
        }],
        at_cuts: Vec::new(),
        sessions: ["s", "t", "u"].map(planned).to_vec(),
    };
    let cells = [strategy("s", "x", HALF).build()];
    let facts = vec![ten_requests("s"), ten_requests("t")];
    let report = measure(manifest, "d".into(), facts, RunResults::new(cells, []));
    let missing = report.missing.as_ref().unwrap();
    assert_eq!((missing.cells, missing.planned_cells), (2, 3));
    let failed = &row(&report, ALL, "x").failed;
    assert_eq!(failed.len(), 1, "nothing is known of u: {failed:?}");
    assert!(failed[0].starts_with("t (replicate 0): missing"), "{failed:?}");
}
