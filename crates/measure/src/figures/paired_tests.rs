use super::*;
use crate::testkit::{by_rows, unit_row};

impl std::ops::Deref for Paired {
    type Target = ComparedMeasure;

    fn deref(&self) -> &ComparedMeasure {
        &self.compared
    }
}

/// A run of sessions `t0`, `t1`, … of data set `d` with one measure.
fn run(id: &str, figures: &[Option<Figure>]) -> BySession {
    let figures = [(id.to_owned(), figures.to_vec())].into();
    by_rows(vec![UnitRow { figures, ..unit_row("d", "x", &[]) }])
}

fn ones(figures: &[f64]) -> Vec<Option<Figure>> {
    figures.iter().map(|figure| Some(Figure::One(*figure))).collect()
}

fn pair(id: &str, a: &BySession, b: &BySession) -> Result<Paired, Unpaired> {
    let side = |run| Side::find(run, ALL, "x", "25%", None).unwrap();
    paired(id, &side(a), &side(b), 7)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn unpaired_sessions_are_counted_and_left_out() {
    let a = run("recall", &[Some(Figure::One(0.8)), Some(Figure::One(0.6)), None]);
    let b = run("recall", &[Some(Figure::One(0.7)), None, Some(Figure::One(0.1))]);
    let found = pair("recall", &a, &b).unwrap();
    assert!(near(found.a, 0.8) && near(found.b, 0.7) && near(found.difference, -0.1));
    assert_eq!((found.sessions, found.only_a), (1, 1));
    assert_eq!((found.higher_lower, found.alike), ((0, 1), 0));
    assert_eq!((found.interval, found.p, found.mde), (None, None, None));
}

#[test]
fn six_clusters_give_t_interval_and_exact_p() {
    // Differences 1…6: mean 3.5, s = √3.5, se = √(3.5/6) = 0.763763, t.975(5) =
    // 2.570582: 3.5 ± 1.963315. All positive: p = 2/64.
    let a = run("recall", &ones(&[0.0; 6]));
    let b = run("recall", &ones(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
    let found = pair("recall", &a, &b).unwrap();
    let bounds = found.interval.unwrap();
    assert!((bounds.0 - 1.536_685).abs() < 1e-5 && (bounds.1 - 5.463_315).abs() < 1e-5);
    assert_eq!(found.p, Some(2.0 / 64.0));
    // (2.570582 + 0.919544) · 0.763763
    assert!((found.mde.unwrap() - 2.665_629).abs() < 1e-4, "{found:?}");
}

#[test]
fn sums_are_compared_as_sums_with_their_interval() {
    let a = run("tokens_sent", &ones(&[100.0; 6]));
    let b = run("tokens_sent", &ones(&[101.0, 102.0, 103.0, 104.0, 105.0, 106.0]));
    let found = pair("tokens_sent", &a, &b).unwrap();
    assert!(near(found.a, 600.0) && near(found.difference, 21.0));
    let bounds = found.interval.unwrap();
    assert!((bounds.0 - 6.0 * 1.536_685).abs() < 1e-4, "{bounds:?}");
    assert!((bounds.1 - 6.0 * 5.463_315).abs() < 1e-4, "{bounds:?}");
    assert!((found.mde.unwrap() - 6.0 * 2.665_629).abs() < 1e-3, "{found:?}");
}

#[test]
fn ratio_of_sums_is_compared_by_linearised_values() {
    // A: (10 + 90) / (100 + 100) = 0.5. B: (20 + 90) / 200 = 0.55.
    let fractions = |of: [f64; 2]| of.map(|of| Some(Figure::Fraction(of, 100.0)));
    let a = run("token_savings", &fractions([10.0, 90.0]));
    let b = run("token_savings", &fractions([20.0, 90.0]));
    let found = pair("token_savings", &a, &b).unwrap();
    assert!(near(found.a, 0.5) && near(found.b, 0.55), "{found:?}");
    // 0.55 + (20 − 55)/100 − (0.5 + (10 − 50)/100) = 0.1, and 0.
    assert!(near(found.dots[0], 0.0) && near(found.dots[1], 0.1), "{found:?}");
    assert_eq!((found.higher_lower, found.alike), ((1, 0), 1));
}

/// Fractions of facts.
fn facts(of: &[(f64, f64)]) -> Vec<Option<Figure>> {
    of.iter().map(|(of, to)| Some(Figure::Fraction(*of, *to))).collect()
}

fn kept(of: &[(f64, f64)]) -> BySession {
    run("facts_kept", &facts(of))
}

#[test]
fn shares_at_cuts_weigh_their_facts() {
    // 0.5 and 0.9 against 0.4 and 1, weights 30 and 10:
    // (15 + 9)/40, (12 + 10)/40, (−0.1·30 + 0.1·10)/40.
    let (a, b) = (kept(&[(15.0, 30.0), (9.0, 10.0)]), kept(&[(12.0, 30.0), (10.0, 10.0)]));
    let found = pair("facts_kept", &a, &b).unwrap();
    assert!(near(found.a, 0.6) && near(found.b, 0.55), "{found:?}");
    assert!(near(found.difference, -0.05), "{found:?}");
    assert_eq!((found.sessions, found.clusters), (2, 2));
    assert_eq!(found.higher_lower, (1, 1));
    assert!(near(found.dots[0], -0.1) && near(found.dots[1], 0.1), "{found:?}");
    // With twice the facts, the first session has twice the weight: (−0.1·60 + 0.1·10)/70.
    let (a, b) = (kept(&[(30.0, 60.0), (9.0, 10.0)]), kept(&[(24.0, 60.0), (10.0, 10.0)]));
    assert!(near(pair("facts_kept", &a, &b).unwrap().difference, -5.0 / 70.0));
}

#[test]
fn projects_are_clusters_of_both_figures_and_difference() {
    // Project p: (10 + 20)/40 against (10 + 10)/40 at weight 40; q: 0.5 against
    // 1 at weight 10. (30 + 5)/50 and (20 + 10)/50.
    let with_projects = |of: &[(f64, f64)]| {
        let mut run = kept(of);
        for (session, name) in run.sessions.iter_mut().zip(["p", "p", "q"]) {
            session.cluster = Some(name.to_owned());
        }
        run
    };
    let a = with_projects(&[(10.0, 20.0), (20.0, 20.0), (5.0, 10.0)]);
    let b = with_projects(&[(10.0, 20.0), (10.0, 20.0), (10.0, 10.0)]);
    let found = pair("facts_kept", &a, &b).unwrap();
    assert!(near(found.a, 0.7) && near(found.b, 0.6), "{found:?}");
    assert!(near(found.difference, -0.1) && found.clusters == 2, "{found:?}");
}

#[test]
fn different_facts_are_unpaired_unless_allowed_to_differ() {
    let (a, b) = (kept(&[(15.0, 30.0)]), kept(&[(15.0, 29.0)]));
    assert_eq!(pair("facts_kept", &a, &b), Err(Unpaired::OtherFacts));
    assert_eq!(pair("facts_kept", &a, &kept(&[])), Err(Unpaired::NoPair));
    // Exposed 20 and 40 facts, at weight 30 in the mean; 10 and 10:
    // (0.5·30 + 0.5·10)/40 against (0.75·30 + 0)/40.
    let carried = |of: &[(f64, f64)]| run("carried_share", &facts(of));
    let (a, b) = (carried(&[(10.0, 20.0), (5.0, 10.0)]), carried(&[(30.0, 40.0), (0.0, 10.0)]));
    let found = pair("carried_share", &a, &b).unwrap();
    assert!(near(found.a, 0.5) && near(found.b, 0.5625), "{found:?}");
    assert!(near(found.difference, 0.0625), "{found:?}");
}

#[test]
fn side_is_one_strategy_window_row_per_dataset() {
    let mut run = run("recall", &ones(&[0.5]));
    let row = |dataset: &str, strategy: &str, window: &str, billing_model: &str| UnitRow {
        dataset: dataset.into(),
        strategy: strategy.into(),
        window: window.into(),
        billed_as: billing_model.into(),
        ..run.rows[0].clone()
    };
    let rows = vec![
        row("d", "x", "25%", "cheap"),
        row("d", "x", "25%", "dear"),
        row("d", "x", "50%", "cheap"),
        row("d", "y", "25%", "cheap"),
        row("e", "x", "25%", "cheap"),
        row("e", "x", "25%", "dear"),
    ];
    run.rows = rows;
    let found = |dataset: &str, strategy: &str, window: &str, billing_model| {
        let side = Side::find(&run, dataset, strategy, window, billing_model)?;
        let at = |row: &&UnitRow| run.rows.iter().position(|own| std::ptr::eq(own, *row)).unwrap();
        Some(side.rows().iter().map(at).collect::<Vec<_>>())
    };
    assert_eq!(found(ALL, "x", "25%", None), Some(vec![0, 4]), "without a billing model the first");
    assert_eq!(found(ALL, "x", "25%", Some("dear")), Some(vec![1, 5]));
    assert_eq!(found("e", "x", "25%", Some("cheap")), Some(vec![4]));
    assert_eq!(found("d", "x", "50%", None), Some(vec![2]));
    assert_eq!(found("d", "y", "25%", None), Some(vec![3]));
    assert_eq!(found("e", "y", "25%", None), None);
    assert_eq!(found("d", "x", "50%", Some("dear")), None);
}

#[test]
fn row_has_session_figures_of_its_data_set() {
    // Sessions 0 and 2 are of d, and 1 of e.
    let both = |of_d: [f64; 2], of_e: f64| {
        let mut run = run("recall", &ones(&[0.0; 3]));
        run.sessions[1].dataset = "e".into();
        let row = |dataset: &str, figures: &[f64]| UnitRow {
            dataset: dataset.into(),
            figures: [("recall".to_owned(), ones(figures))].into(),
            ..run.rows[0].clone()
        };
        run.rows = vec![row("d", &of_d), row("e", &[of_e])];
        run
    };
    let found = pair("recall", &both([0.1, 0.3], 0.8), &both([0.2, 0.6], 0.4)).unwrap();
    assert_eq!((found.sessions, found.higher_lower), (3, (2, 1)));
    assert!(near(found.a, 0.4) && near(found.b, 0.4), "{found:?}");
}

#[test]
fn fractions_with_different_denominators_compare_by_shares() {
    // A half against three tenths, and one of five against four of ten.
    let of = |fractions: [(f64, f64); 2]| run("carried_share", &facts(&fractions));
    let found =
        pair("carried_share", &of([(1.0, 2.0), (1.0, 5.0)]), &of([(3.0, 10.0), (4.0, 10.0)]));
    assert_eq!(found.unwrap().higher_lower, (1, 1));
    let fallen =
        pair("carried_share", &of([(2.0, 4.0), (1.0, 5.0)]), &of([(3.0, 30.0), (2.0, 30.0)]));
    assert_eq!(fallen.unwrap().higher_lower, (0, 2));
}
