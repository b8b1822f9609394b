use super::*;
use crate::measure;
use crate::testkit::{self, manifest, run, run_at, twenty_references};
use recap_core::model::{Cell, Family, Report, RunResults, SessionFacts, TestOutcome};

/// A cell that keeps this many of the twenty references.
fn keeps(id: &str, strategy: &str, kept: usize) -> Cell {
    testkit::keeps(id, strategy, kept).build()
}

fn sessions(n: usize) -> Vec<SessionFacts> {
    (0..n).map(|at| twenty_references(&format!("s{at:02}"))).collect()
}

/// A strategy, and the number of references that it keeps of each session.
type Keeps = (&'static str, fn(usize) -> usize);

/// Strategies that keep in each of `n` sessions what the functions return.
fn kept(n: usize, strategies: &[Keeps]) -> Report {
    let of = |at: usize| {
        strategies.iter().map(move |(name, kept)| keeps(&format!("s{at:02}"), name, kept(at)))
    };
    run(sessions(n), (0..n).flat_map(of).collect())
}

fn family(report: &Report) -> &Family {
    report.family.as_ref().unwrap()
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn strategies_are_compared_with_fifo_by_default() {
    let report = kept(8, &[("fifo", |_| 10), ("prune", |at| 12 + at % 2)]);
    let family = family(&report);
    assert_eq!((family.comparator.as_str(), family.measure.id()), ("fifo", "reference_recall"));
    let [test] = family.tests.as_slice() else { panic!("{family:?}") };
    assert_eq!((test.strategy.as_str(), test.clusters), ("prune", 8));
    // (2 + 3) / 2 of twenty references more.
    close(test.difference, 0.125);
    // All eight differences are gains: 2 of the 256 patterns of signs.
    assert_eq!(test.p, Some(2.0 / 256.0));
    assert_eq!(test.outranks, TestOutcome::Better);
    assert_eq!(family.limit, None);
}

#[test]
fn another_comparator_may_be_requested_but_never_full() {
    let strategies: [Keeps; 3] = [("fifo", |_| 10), ("prune", |at| 12 + at % 2), ("full", |_| 20)];
    let with = |comparator: &str| {
        let cells =
            (0..8).flat_map(|at| strategies.map(|(n, k)| keeps(&format!("s{at:02}"), n, k(at))));
        let mut manifest = manifest(&["25%"]);
        manifest.comparator = Some(comparator.into());
        measure(manifest, "d".into(), sessions(8), RunResults::new(cells, [])).family
    };
    let against_prune = with("prune").unwrap();
    let fifo = against_prune.tests.iter().find(|test| test.strategy == "fifo").unwrap();
    assert_eq!(fifo.outranks, TestOutcome::Worse);
    close(fifo.difference, -0.125);
    assert_eq!(with("full"), None);
    assert_eq!(with("nobody"), None);
}

#[test]
fn recorded_row_is_the_second_choice_of_comparator() {
    let recorded = |at: usize| {
        let id = format!("s{at:02}");
        [testkit::keeps(&id, "recorded", 10).control().build(), keeps(&id, "prune", 12)]
    };
    let report = run(sessions(3), (0..3).flat_map(recorded).collect());
    assert_eq!(family(&report).comparator, "recorded");
    assert_eq!(kept(3, &[("prune", |_| 12)]).family, None);
}

#[test]
fn below_six_sessions_nothing_is_tested() {
    let report = kept(5, &[("fifo", |_| 10), ("prune", |at| 12 + at % 2)]);
    let test = &family(&report).tests[0];
    assert_eq!((test.p, test.interval, test.mde), (None, None, None));
    assert_eq!(test.outranks, TestOutcome::Descriptive);
}

#[test]
fn with_many_comparisons_six_sessions_cannot_be_significant() {
    // 2/2⁶ = 0.031: one comparison may be significant, two may not.
    let one = kept(6, &[("fifo", |_| 10), ("prune", |at| 12 + at % 2)]);
    assert_eq!(family(&one).tests[0].p, Some(2.0 / 64.0));
    assert_eq!(family(&one).tests[0].outranks, TestOutcome::Better);
    let two =
        kept(6, &[("fifo", |_| 10), ("prune", |at| 12 + at % 2), ("window", |at| 11 + at % 2)]);
    let tests = &family(&two).tests;
    assert!(tests.iter().all(|test| test.p.is_none() && test.interval.is_some()), "{tests:?}");
    assert!(tests.iter().all(|test| test.outranks == TestOutcome::Undecided && test.mde.is_some()));
    // Two tests with eight sessions: 2/256 each, times two.
    let eight =
        kept(8, &[("fifo", |_| 10), ("prune", |at| 12 + at % 2), ("window", |at| 6 + at % 2)]);
    for test in &family(&eight).tests {
        assert_eq!(test.p_holm, Some(4.0 / 256.0), "{test:?}");
    }
}

#[test]
fn equal_pairs_are_a_tie_whatever_their_number() {
    for n in [1, 4, 8] {
        let report = kept(n, &[("fifo", |at| 10 + at), ("prune", |at| 10 + at)]);
        let test = &family(&report).tests[0];
        assert_eq!(test.outranks, TestOutcome::Tie, "{n}");
        close(test.difference, 0.0);
    }
}

#[test]
fn controls_offline_summaries_and_failed_rows_are_untested() {
    let each = |at: usize| {
        let id = format!("s{at:02}");
        let built = |name: &str| testkit::keeps(&id, name, 20);
        let failing = match at {
            0 => built("failing").failed("it broke"),
            _ => built("failing").build(),
        };
        [
            keeps(&id, "fifo", 10),
            built("x").control().build(),
            built("y").offline_summary().build(),
            failing,
        ]
    };
    assert_eq!(run(sessions(6), (0..6).flat_map(each).collect()).family, None);
}

#[test]
fn windows_are_compared_separately_and_replicates_are_averaged() {
    let at = |window: &str, strategy: &str, replicate: u32, kept: usize| {
        testkit::keeps("s00", strategy, kept).window(window, 10_000).replicate(replicate).build()
    };
    let cells = vec![
        at("25%", "fifo", 0, 10),
        at("50%", "fifo", 0, 14),
        at("25%", "prune", 0, 12),
        at("25%", "prune", 1, 16),
        at("50%", "prune", 0, 12),
    ];
    let report = run_at(&["25%", "50%"], sessions(1), cells);
    let tests = &family(&report).tests;
    // (12 + 16) / 2 − 10 and 12 − 14 of twenty.
    assert_eq!(tests.iter().map(|t| t.window.as_str()).collect::<Vec<_>>(), ["25%", "50%"]);
    close(tests[0].difference, 0.2);
    close(tests[1].difference, -0.1);
}

#[test]
fn datasets_are_tested_together_for_one_billing_model() {
    let of = |at: usize| {
        let (set, id) = (if at < 4 { "d" } else { "e" }, format!("s{at:02}"));
        let cells = [("fifo", 10), ("prune", 12 + at % 2)].map(|(name, kept)| {
            let mut cell = keeps(&id, name, kept);
            cell.key.dataset = set.into();
            cell
        });
        (SessionFacts { dataset: set.into(), ..twenty_references(&id) }, cells)
    };
    let (facts, cells): (Vec<_>, Vec<_>) = (0..8).map(of).unzip();
    let mut manifest = manifest(&["25%"]);
    manifest.agent_models = vec!["cheap".into(), "dear".into()];
    let report = measure(manifest, "d".into(), facts, RunResults::new(cells.concat(), []));
    let [test] = family(&report).tests.as_slice() else { panic!("{report:?}") };
    assert_eq!((test.strategy.as_str(), test.clusters), ("prune", 8));
    assert_eq!(test.p_holm, Some(2.0 / 256.0));
}

#[test]
fn limits_of_the_numbers_are_stated_with_counts() {
    // Eight sessions of `prune`, six of `window` and three of `mask`.
    let of = |own: &[(&str, usize)]| {
        let fifo = (0..8).map(|at| keeps(&format!("s{at:02}"), "fifo", 10));
        let others = own
            .iter()
            .flat_map(|(name, n)| (0..*n).map(|at| keeps(&format!("s{at:02}"), name, 12 + at % 2)));
        let report = run(sessions(8), fifo.chain(others).collect());
        let tests = family(&report).tests.iter();
        let ps = tests.map(|test| (test.strategy.clone(), test.p_holm)).collect::<Vec<_>>();
        (ps, family(&report).limit.clone().unwrap())
    };
    let few = "on fewer than 6 sessions or projects: what was seen is described, and nothing is \
               tested";
    let no = "with 6 sessions or projects and 2 comparisons the smallest possible p is 0.062: no \
              difference";
    let (ps, limit) = of(&[("mask", 3), ("prune", 8), ("window", 6)]);
    assert_eq!(
        limit,
        format!("{no} in 1 of them can be significant; 1 of 3 comparisons rests {few}")
    );
    // The other two cost the one test that is made nothing.
    let prune = ("prune".to_owned(), Some(2.0 / 256.0));
    assert!(ps.contains(&prune) && ps.iter().filter(|(_, p)| p.is_none()).count() == 2, "{ps:?}");
    let (_, limit) = of(&[("prune", 6), ("window", 6)]);
    assert_eq!(limit, format!("{no} can be significant"));
    let (_, limit) = of(&[("mask", 3), ("prune", 8), ("window", 2)]);
    assert_eq!(limit, format!("2 of 3 comparisons rest {few}"));
    let (_, limit) = of(&[("mask", 3)]);
    assert_eq!(limit, format!("1 of 1 comparison rests {few}"));
}

#[test]
fn difference_needs_small_p_and_interval_without_zero() {
    // Five gains of 1 and one of 10 of twenty references: 2/64 = 0.031, but
    // 0.125 ± 2.57 · 0.075 includes 0.
    let gains = kept(6, &[("fifo", |_| 10), ("prune", |at| if at == 0 { 20 } else { 11 })]);
    let test = &family(&gains).tests[0];
    assert_eq!((test.p_holm, test.outranks), (Some(2.0 / 64.0), TestOutcome::Undecided));
    let (lo, hi) = test.interval.unwrap();
    assert!(lo < 0.0 && hi > 0.25, "{lo} {hi}");
    let losses = kept(6, &[("fifo", |_| 10), ("prune", |at| if at == 0 { 0 } else { 9 })]);
    let test = &family(&losses).tests[0];
    assert_eq!((test.p_holm, test.outranks), (Some(2.0 / 64.0), TestOutcome::Undecided));
}

#[test]
fn strategy_sharing_no_session_with_comparator_is_untested() {
    let cells = vec![keeps("s00", "fifo", 10), keeps("s01", "prune", 12)];
    assert_eq!(run(sessions(2), cells).family, None);
}

#[test]
fn outcome_needs_a_small_p_and_an_interval_on_one_side() {
    use TestOutcome::{Better, Descriptive, Tie, Undecided, Worse};
    let (above, below, around) = ((0.1, 0.9), (-0.9, -0.1), (-0.1, 0.9));
    for (interval, p, expected) in [
        (Some(above), Some(0.05), Better),
        (Some(above), Some(0.051), Undecided),
        (Some(above), None, Undecided),
        (Some(below), Some(0.05), Worse),
        (Some(around), Some(0.01), Undecided),
        (None, Some(0.01), Descriptive),
    ] {
        assert_eq!(outranks(false, interval, p), expected, "{interval:?} {p:?}");
    }
    assert_eq!(outranks(true, Some((0.0, 0.0)), Some(1.0)), Tie);
}
