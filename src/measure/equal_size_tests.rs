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

#[test]
fn the_size_is_the_middle_of_the_longest_range_that_most_sweeps_cover() {
    let of = |ranges: &[(f64, f64)]| {
        let sweep = |(from, to): &(f64, f64)| vec![(*from, 0.0), (*to, 1.0)];
        let sweeps: Vec<Vec<(f64, f64)>> = ranges.iter().map(sweep).collect();
        size_of_most(sweeps.iter()).map(f64::round)
    };
    let (low, high) = ((1_000.0, 4_000.0), (10_000.0, 15_000.0));
    // Four times the size is longer than 1.5 times, and of equal ranges the
    // smaller sizes come first.
    assert_eq!(of(&[low, low, high, high]), Some(2_000.0));
    assert_eq!(of(&[low, low, (10_000.0, 40_000.0), (10_000.0, 40_000.0)]), Some(2_000.0));
    // √(10,000 · 12,100), which three cover.
    let short = (10_000.0, 12_100.0);
    assert_eq!(of(&[low, low, short, short, short]), Some(11_000.0));
    // Only 2,000 to 4,000 are common: √8,000,000.
    assert_eq!(of(&[low, (2_000.0, 8_000.0)]), Some(2_828.0));
    assert_eq!(of(&[low, (4_000.0, 8_000.0)]), None);
}

#[test]
fn between_two_points_a_figure_grows_with_the_logarithm_of_the_size() {
    let points = [(100.0, 2.0), (1_000.0, 5.0), (10_000.0, 20.0)];
    let half = 10.0_f64.sqrt();
    for (at, expected) in [
        (100.0, 2.0),
        (100.0 * half, 3.5),
        (1_000.0, 5.0),
        (1_000.0 * half, 12.5),
        (10_000.0, 20.0),
    ] {
        let found = interpolated(&points, at).unwrap();
        assert!((found - expected).abs() < 1e-9, "{at}: {found}");
    }
    assert_eq!(interpolated(&points, 99.0), Err(Absent::OutOfReach));
    assert_eq!(interpolated(&points, 10_001.0), Err(Absent::OutOfReach));
    assert_eq!(interpolated(&[], 100.0), Err(Absent::OutOfReach));
}

#[test]
fn windows_of_one_size_are_one_point_with_their_mean() {
    let report = compared(vec![
        at("a", "1k", 2_000, 4),
        at("a", "2k", 8_000, 8),
        at("twice", "1k", 2_000, 12),
        at("twice", "2k", 2_000, 16),
        at("twice", "4k", 8_000, 18),
    ]);
    // (0.7 + 0.9) / 2 and (0.2 + 0.4) / 2.
    assert_eq!(told(&report), [("twice".into(), Ok(0.8)), ("a".into(), Ok(0.3))]);
}

#[test]
fn a_row_with_failed_cells_and_an_empty_context_are_no_points() {
    let failed = |window| cell("t", "bad").window(window, 10_000).failed("it broke");
    let report = compared(vec![
        at("a", "1k", 1_000, 4),
        at("a", "2k", 4_000, 8),
        at("b", "1k", 1_000, 6),
        at("b", "2k", 4_000, 10),
        at("bad", "1k", 1_000, 20),
        at("bad", "2k", 4_000, 20),
        failed("1k"),
        failed("2k"),
        at("nothing", "1k", 0, 4),
        at("nothing", "2k", 2_000, 8),
    ]);
    let told = told(&report);
    let why = |at: usize| (told[at].0.as_str(), told[at].1.clone().unwrap_err());
    let few = "at fewer than two windows do all of its requests fit";
    assert_eq!(why(2), ("bad", few.into()));
    assert_eq!(why(3), ("nothing", "it has both figures at fewer than two windows".into()));
}

#[test]
fn dollars_are_a_size_as_well_even_if_they_differ_by_cents() {
    // At $1 a million tokens and $5 of output, 10 tokens of it: $0.0105 and $0.0405.
    let billed = |strategy: &str, window: &str, tokens, kept: usize| {
        let states = "k".repeat(kept) + &"l".repeat(20 - kept);
        let built = cell("s", strategy).window(window, 10_000).sent(&[tokens; 10]);
        built.states(&states).bill("recorded", "cheap", &[(tokens, 0, 0); 10]).build()
    };
    let report = compared(vec![
        billed("a", "1k", 1_000, 4),
        billed("a", "2k", 4_000, 8),
        billed("b", "1k", 1_000, 6),
        billed("b", "2k", 4_000, 10),
    ]);
    let [tokens, dollars] = report.equal_size.as_slice() else { panic!("{report:?}") };
    assert_eq!((tokens.size.as_str(), dollars.size.as_str()), ("mean_tokens", "cost_usd"));
    assert!((dollars.at - (0.0105_f64 * 0.0405).sqrt()).abs() < 1e-9, "{}", dollars.at);
    let figures: Vec<f64> = dollars.presets.iter().filter_map(|p| p.value.number()).collect();
    assert!((figures[0] - 0.4).abs() < 1e-9 && (figures[1] - 0.3).abs() < 1e-9, "{figures:?}");
}

#[test]
fn each_data_set_is_compared_and_all_of_them_only_if_there_are_several() {
    let set = |name: &str| {
        let mut facts = session();
        facts.dataset = name.into();
        let cells = [("a", "1k", 1_000, 4), ("a", "2k", 4_000, 8), ("b", "1k", 1_000, 6)];
        let cells = cells.into_iter().chain([("b", "2k", 4_000, 10)]);
        let of = |(strategy, window, tokens, kept)| {
            let mut cell = at(strategy, window, tokens, kept);
            cell.key.dataset = name.into();
            cell
        };
        (facts, cells.map(of).collect::<Vec<Cell>>())
    };
    let sets = |names: &[&str]| {
        let (facts, cells): (Vec<_>, Vec<_>) = names.iter().map(|name| set(name)).unzip();
        let report = run_at(&WINDOWS, facts, cells.concat());
        let of = |one: &EqualSize| (one.dataset.clone(), one.agent_model.clone());
        report.equal_size.iter().map(of).collect::<Vec<_>>()
    };
    let row = |name: &str| (name.to_owned(), "recorded".to_owned());
    assert_eq!(sets(&["d"]), [row("d")]);
    assert_eq!(sets(&["d", "e"]), [row("d"), row("e"), row("ALL")]);
}
