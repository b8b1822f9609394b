use super::*;
use crate::measure::testkit::{cell, facts, run_at};
use crate::model::{Cell, Report, TranscriptFacts};

const WINDOWS: [&str; 3] = ["1k", "2k", "4k"];

fn session() -> TranscriptFacts {
    let mut builder = facts("s").requests(&[9_000; 10]);
    for request in 0..10 {
        builder = builder.reference(request, 5_000, None).reference(request, 5_000, None);
    }
    builder.build()
}

/// A cell of this size that keeps this many of twenty references.
fn at(strategy: &str, window: &str, tokens: u64, kept: usize) -> Cell {
    let states = "k".repeat(kept) + &"l".repeat(20 - kept);
    cell("s", strategy).window(window, 10_000).sent(&[tokens; 10]).states(&states).build()
}

fn compared(cells: Vec<Cell>) -> Report {
    run_at(&WINDOWS, vec![session()], cells)
}

/// Name and figure of each preset, or the reason.
fn told(report: &Report) -> Vec<(String, Result<f64, String>)> {
    let [comparison] = report.equal_size.as_slice() else { panic!("{:?}", report.equal_size) };
    let value = |value: &Value| match value {
        Value::Known(figure) => Ok((figure * 1e9).round() / 1e9),
        Value::Absent(reason) => Err(reason.to_string()),
        Value::Text(_) => unreachable!(),
    };
    comparison.presets.iter().map(|p| (p.strategy.clone(), value(&p.value))).collect()
}

#[test]
fn sweeps_are_interpolated_at_the_geometric_middle_of_their_common_range() {
    let report = compared(vec![
        at("wide", "1k", 1_000, 4),
        at("wide", "2k", 2_000, 8),
        at("wide", "4k", 8_000, 20),
        at("narrow", "1k", 2_000, 10),
        at("narrow", "2k", 8_000, 14),
    ]);
    assert_eq!(report.equal_size[0].size, "mean_tokens");
    // √(2,000 · 8,000) = 4,000, half of the way on the logarithm.
    assert!((report.equal_size[0].at - 4_000.0).abs() < 1e-6);
    // (8 + 20)/2 and (10 + 14)/2 of twenty.
    assert_eq!(told(&report), [("wide".into(), Ok(0.7)), ("narrow".into(), Ok(0.6))]);
}

#[test]
fn nothing_is_extrapolated() {
    let report = compared(vec![
        at("a", "1k", 1_000, 4),
        at("a", "2k", 4_000, 8),
        at("b", "1k", 1_000, 6),
        at("b", "2k", 4_000, 10),
        at("above", "1k", 5_000, 20),
        at("above", "2k", 8_000, 20),
        at("constant", "1k", 2_000, 12),
        at("constant", "2k", 2_000, 12),
        at("once", "1k", 2_000, 12),
    ]);
    let told = told(&report);
    assert_eq!(told[0], ("b".into(), Ok(0.4)));
    assert_eq!(told[1], ("a".into(), Ok(0.3)));
    assert_eq!(told[2], ("above".into(), Err("its sweep does not reach this size".into())));
    assert_eq!(told[3], ("constant".into(), Err("it is of one size at every window".into())));
    assert!(told[4].1.as_ref().is_err_and(|why| why.contains("one window")), "{told:?}");
}

#[test]
fn windows_with_overflows_are_not_points_of_a_sweep() {
    let over = |window: &str, tokens| {
        let states = "k".repeat(20);
        let built = cell("s", "over").window(window, 10_000).sent(&[tokens; 10]);
        built.overflow(0).states(&states).build()
    };
    let report = compared(vec![
        at("a", "1k", 1_000, 4),
        at("a", "2k", 4_000, 8),
        at("b", "1k", 1_000, 6),
        at("b", "2k", 4_000, 10),
        over("1k", 1_000),
        over("2k", 4_000),
    ]);
    let told = told(&report);
    assert!(told[2].1.as_ref().is_err_and(|why| why.contains("requests fit")), "{told:?}");
}

#[test]
fn sweeps_without_a_common_range_are_not_compared() {
    let report = compared(vec![
        at("small", "1k", 1_000, 4),
        at("small", "2k", 2_000, 8),
        at("large", "1k", 3_000, 6),
        at("large", "2k", 4_000, 10),
    ]);
    assert!(report.equal_size.is_empty());
}

#[test]
fn stand_ins_and_controls_are_left_out() {
    let states = "k".repeat(20);
    let built = |name: &str, window: &str, tokens| {
        cell("s", name).window(window, 10_000).sent(&[tokens; 10]).states(&states)
    };
    let report = compared(vec![
        at("a", "1k", 1_000, 4),
        at("a", "2k", 4_000, 8),
        built("stand-in", "1k", 1_000).stand_in().build(),
        built("stand-in", "2k", 4_000).stand_in().build(),
        built("control", "1k", 1_000).control().build(),
        built("control", "2k", 4_000).control().build(),
    ]);
    assert!(report.equal_size.is_empty());
}
