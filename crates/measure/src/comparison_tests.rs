use super::*;
use crate::figures::by_session::{Figure, UnitRow};
use crate::testkit::{by_rows as by, run_at, unit_row};
use recap_core::model::{Provenance, TestOutcome};

const ID: &str = catalogue::REFERENCE_RECALL.id;
const LOW: [f64; 8] = [0.1; 8];
/// Less `LOW` the differences are 0.1, 0.2, …, 0.8.
const HIGH: [f64; 8] = [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

fn report(strategies: &[&str]) -> Report {
    let mut report = run_at(&["25%"], Vec::new(), Vec::new());
    let strategy = |name: &&str| Provenance { name: (*name).into(), hash: String::new() };
    report.manifest.strategies = strategies.iter().map(strategy).collect();
    report
}

/// Compares two runs of these strategies; without pairs those of the same name.
fn compared(
    (strategies_a, a): (&[&str], &BySession),
    (strategies_b, b): (&[&str], &BySession),
    pairs: &[(&str, &str)],
    left_out: &[&str],
) -> Comparison {
    let (report_a, mut report_b) = (report(strategies_a), report(strategies_b));
    report_b.title = "sessions".into();
    let pairs: Vec<(String, String)> =
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    compare(
        Run { name: "old", report: &report_a, by_session: a },
        Run { name: "new", report: &report_b, by_session: b },
        &pairs,
        left_out,
    )
}

fn ids(row: &ComparedRow) -> Vec<&str> {
    row.measures.iter().map(|measure| measure.measure.as_str()).collect()
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn same_named_strategies_are_compared_and_others_named() {
    let a = by(vec![unit_row("d", "fifo", &[(ID, &LOW)]), unit_row("d", "prune", &[(ID, &LOW)])]);
    let b = by(vec![unit_row("d", "fifo", &[(ID, &HIGH)]), unit_row("d", "mask", &[(ID, &LOW)])]);
    let found = compared((&["fifo", "prune"], &a), (&["mask", "fifo"], &b), &[], &[]);
    assert_eq!((&*found.a, &*found.b, &*found.title), ("old", "new", "sessions"));
    assert_eq!((found.sessions, found.family, found.limit), (8, 1, None));
    assert_eq!((found.only_a, found.only_b), (vec!["prune".into()], vec!["mask".into()]));
    let [row] = &found.rows[..] else { panic!("{:?}", found.rows) };
    assert_eq!((&*row.dataset, &*row.window, row.row_kind), ("d", "25%", RowKind::Ranked));
    assert_eq!((&*row.strategy_a, &*row.strategy_b), ("fifo", "fifo"));
    let [one] = &row.measures[..] else { panic!("{row:?}") };
    assert_eq!((one.measure.as_str(), one.sessions, one.clusters), (ID, 8, 8));
    close(one.a, 0.1);
    close(one.b, 0.55);
    close(one.difference, 0.45);
    assert_eq!((one.better, one.worse, one.alike), (8, 0, 0));
    // All eight are gains: 2 of the 256 patterns of signs.
    assert_eq!((one.p, one.p_holm), (Some(2.0 / 256.0), Some(2.0 / 256.0)));
    assert_eq!(one.outcome, Some(TestOutcome::Better));
    // s = √0.06, t(0.975; 7) = 2.364624: 0.45 ± 2.364624 · √(0.06 / 8).
    let (lo, hi) = one.interval.unwrap();
    assert!((lo - 0.245_218).abs() < 1e-5 && (hi - 0.654_782).abs() < 1e-5, "{lo} {hi}");
}

#[test]
fn several_data_sets_are_tested_only_together() {
    let of = |each: &[f64]| by(["d", "e"].map(|set| unit_row(set, "fifo", &[(ID, each)])).to_vec());
    let found = compared((&["fifo"], &of(&LOW)), (&["fifo"], &of(&HIGH)), &[], &[]);
    let actual: Vec<(&str, u64, bool, bool, bool)> = (found.rows.iter())
        .map(|row| (row.dataset.as_str(), &row.measures[0]))
        .map(|(set, m)| (set, m.sessions, m.p.is_some(), m.p_holm.is_some(), m.outcome.is_some()))
        .collect();
    let (all, one) = (("ALL", 16, true, true, true), |set| (set, 8, false, false, false));
    assert_eq!(actual, [all, one("d"), one("e")]);
    assert_eq!((found.sessions, found.family), (16, 1));
}

#[test]
fn controls_are_compared_only_across_strategies_but_untested() {
    let full =
        |each| UnitRow { row_kind: RowKind::Control, ..unit_row("d", "full", &[(ID, each)]) };
    let a = by(vec![unit_row("d", "fifo", &[(ID, &LOW)]), full(&LOW)]);
    let b = by(vec![unit_row("d", "fifo", &[(ID, &HIGH)]), full(&HIGH)]);
    let pairs = [
        ("full", "full"),
        ("fifo", "full"),
        ("fifo", "fifo"),
        ("nobody", "fifo"),
        ("fifo", "nobody"),
    ];
    let found = compared((&["fifo", "full"], &a), (&["fifo", "full"], &b), &pairs, &[]);
    let actual: Vec<(&str, RowKind, Option<TestOutcome>)> = (found.rows.iter())
        .map(|row| (row.strategy_b.as_str(), row.row_kind, row.measures[0].outcome))
        .collect();
    let fifo = ("fifo", RowKind::Ranked, Some(TestOutcome::Better));
    assert_eq!(actual, [("full", RowKind::Control, None), fifo]);
    assert_eq!((found.family, found.rows[0].measures[0].p), (1, None));
}

#[test]
fn listed_and_kind_measures_are_compared_unless_excluded() {
    let with = |plain: &[&str]| {
        let own: Vec<(&str, &[f64])> = plain.iter().map(|id| (*id, &LOW[..])).collect();
        let mut row = unit_row("d", "fifo", &own);
        let answers = LOW.iter().map(|right| Some(Figure::Fraction(*right, 1.0)));
        row.figures.insert("continuity_fact".to_owned(), answers.collect());
        by(vec![row])
    };
    let all = with(&["requests", "tokens_sent", "recall"]);
    let some = with(&["tokens_sent"]);
    let ids_of = |b: &BySession, left_out: &[&str]| {
        let found = compared((&["fifo"], &all), (&["fifo"], b), &[], left_out);
        ids(&found.rows[0]).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let without = ["tokens_sent", "continuity_fact"];
    assert_eq!(ids_of(&all, &[]), ["recall", "tokens_sent", "continuity_fact"]);
    assert_eq!(ids_of(&all, &["recall"]), without);
    assert_eq!(ids_of(&some, &[]), without, "the other run has no recall");
}

#[test]
fn cuts_with_different_facts_are_excluded_with_note() {
    let kept = |name: &str, to| {
        let mut row = unit_row("d", name, &[]);
        let figures = vec![Some(Figure::Fraction(3.0, to))];
        row.figures.insert(catalogue::FACTS_KEPT.id.into(), figures.clone());
        row.figures.insert(catalogue::CARRIED_SHARE.id.into(), figures);
        by(vec![row])
    };
    let (a, b) = (kept("fifo", 7.0), kept("prune", 5.0));
    let found = compared((&["fifo"], &a), (&["prune"], &b), &[("fifo", "prune")], &[]);
    assert_eq!(
        found.notes,
        ["prune at 25% on d: facts_kept is left out, for its cuts have other facts in A than \
          in B"]
    );
    assert_eq!(ids(&found.rows[0]), ["carried_share"]);
}

#[test]
fn fewer_tokens_are_better_and_less_recall_worse() {
    let run = |each: &[f64]| {
        by(vec![unit_row("d", "x", &[("recall", each), ("tokens_sent", each), (ID, each)])])
    };
    let (a, b) = (run(&[100.0; 4]), run(&[80.0, 90.0, 107.0, 100.0]));
    let found = compared((&["x"], &a), (&["x"], &b), &[], &[]);
    let of = |id: &str| found.rows[0].measures.iter().find(|m| m.measure == id).unwrap();
    let counts = |id| (of(id).better, of(id).worse, of(id).alike);
    assert_eq!((counts("tokens_sent"), counts("recall")), ((2, 1, 1), (1, 2, 1)));
    // Fewer than six sessions are shown one by one.
    assert_eq!(of("recall").dots, [-20.0, -10.0, 0.0, 7.0]);
    assert_eq!(of("recall").interval, None);
    assert_eq!(of(ID).outcome, Some(TestOutcome::Descriptive));
    let (a, b) = (run(&LOW[..6]), run(&HIGH[..6]));
    let found = compared((&["x"], &a), (&["x"], &b), &[], &[]);
    let six = &found.rows[0].measures[0];
    assert!(six.dots.is_empty() && six.interval.is_some() && six.mde.is_some(), "{six:?}");
}

/// A gain in every one of so many clusters.
fn measured(clusters: u64, p: Option<f64>) -> ComparedMeasure {
    ComparedMeasure {
        measure: ID.into(),
        a: 0.0,
        b: 0.5,
        difference: 0.5,
        interval: None,
        dots: Vec::new(),
        sessions: clusters,
        clusters,
        better: clusters,
        worse: 0,
        alike: 0,
        p,
        p_holm: None,
        mde: None,
        outcome: None,
    }
}

fn row_of(dataset: &str, measures: Vec<ComparedMeasure>) -> ComparedRow {
    ComparedRow {
        dataset: dataset.into(),
        strategy_a: "x".into(),
        strategy_b: "x".into(),
        window: "25%".into(),
        row_kind: RowKind::Ranked,
        measures,
    }
}

/// Which tests are made is tested with the family of a run.
#[test]
fn difference_is_tested_with_sufficient_clusters() {
    let p = Some(2.0 / 64.0);
    let mut rows = [8, 6].map(|n| row_of("d", vec![measured(n, p)]));
    let (family, limit) = test(&mut rows, "d", Primary::ReferenceRecall);
    let found = rows.map(|row| (row.measures[0].p, row.measures[0].p_holm));
    assert_eq!((found, family, limit.is_some()), ([(p, p), (None, None)], 2, true));
}

#[test]
fn other_measures_data_sets_and_controls_lack_p() {
    let other = ComparedMeasure { measure: "recall".into(), ..measured(8, Some(0.01)) };
    let mut rows = [
        row_of("d", vec![measured(8, Some(0.01)), other]),
        row_of("e", vec![measured(8, Some(0.01))]),
        row_of("d", vec![measured(8, Some(0.01))]),
    ];
    rows[2].row_kind = RowKind::Control;
    assert_eq!(test(&mut rows, "d", Primary::ReferenceRecall), (1, None));
    let actual = rows.iter().flat_map(|row| &row.measures);
    let actual: Vec<(Option<f64>, bool)> = actual.map(|m| (m.p, m.outcome.is_some())).collect();
    assert_eq!(actual, [(Some(0.01), true), (None, false), (None, false), (None, false)]);
}
