use super::*;
use crate::model::Standing;

/// A run of transcripts `t0`, `t1`, … of data set `d` with one measure.
fn run(id: &str, figures: &[Option<Figure>], series: Option<&[Figures]>) -> ByTranscript {
    let sat = |at: usize| super::super::by_transcript::Sat {
        dataset: "d".into(),
        transcript: format!("t{at}"),
        cluster: None,
        session: String::new(),
        probes: String::new(),
        words: None,
        tokens: "exact 1".into(),
    };
    let row = UnitRow {
        dataset: "d".into(),
        strategy: "x".into(),
        window: "25%".into(),
        billed_as: "recorded".into(),
        standing: Standing::Ranked,
        failed: 0,
        figures: [(id.to_owned(), figures.to_vec())].into(),
        series: series.map(|series| (id.to_owned(), series.to_vec())).into_iter().collect(),
    };
    ByTranscript { transcripts: (0..figures.len()).map(sat).collect(), rows: vec![row] }
}

fn ones(figures: &[f64]) -> Vec<Option<Figure>> {
    figures.iter().map(|figure| Some(Figure::One(*figure))).collect()
}

fn pair(id: &str, a: &ByTranscript, b: &ByTranscript) -> Option<Difference> {
    let side = |run| Side::find(run, ALL, "x", "25%", None).unwrap();
    paired(id, &side(a), &side(b), 7)
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn transcripts_are_paired_and_those_of_one_run_are_counted_and_left_out() {
    let a = run("recall", &[Some(Figure::One(0.8)), Some(Figure::One(0.6)), None], None);
    let b = run("recall", &[Some(Figure::One(0.7)), None, Some(Figure::One(0.1))], None);
    let found = pair("recall", &a, &b).unwrap();
    assert!(near(found.a, 0.8) && near(found.b, 0.7) && near(found.difference, -0.1));
    assert_eq!((found.transcripts, found.only_a, found.only_b), (1, 1, 1));
    assert_eq!(found.higher_lower_alike, (0, 1, 0));
    assert_eq!((found.spread, found.p, found.mde), (None, None, None));
}

#[test]
fn six_clusters_give_the_t_interval_and_an_exact_p() {
    // Differences 1…6: mean 3.5, s = √3.5, se = √(3.5/6) = 0.763763, t.975(5) =
    // 2.570582: 3.5 ± 1.963315. All positive: p = 2/64.
    let a = run("recall", &ones(&[0.0; 6]), None);
    let b = run("recall", &ones(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), None);
    let found = pair("recall", &a, &b).unwrap();
    let Some(Spread::OverClusters(bounds)) = found.spread else { panic!("{found:?}") };
    assert!((bounds.lo - 1.536_685).abs() < 1e-5 && (bounds.hi - 5.463_315).abs() < 1e-5);
    assert_eq!(found.p, Some(2.0 / 64.0));
    // (2.570582 + 0.919544) · 0.763763
    assert!((found.mde.unwrap() - 2.665_629).abs() < 1e-4, "{found:?}");
}

#[test]
fn sums_are_summed_and_so_is_their_interval() {
    let a = run("tokens_sent", &ones(&[100.0; 6]), None);
    let b = run("tokens_sent", &ones(&[101.0, 102.0, 103.0, 104.0, 105.0, 106.0]), None);
    let found = pair("tokens_sent", &a, &b).unwrap();
    assert!(near(found.a, 600.0) && near(found.difference, 21.0));
    let bounds = found.spread.unwrap().bounds();
    assert!((bounds.lo - 6.0 * 1.536_685).abs() < 1e-4, "{bounds:?}");
}

#[test]
fn a_ratio_of_sums_is_compared_by_its_linearised_values() {
    // A: (10 + 90) / (100 + 100) = 0.5. B: (20 + 90) / 200 = 0.55.
    let fractions = |of: [f64; 2]| of.map(|of| Some(Figure::Fraction(of, 100.0)));
    let a = run("token_savings", &fractions([10.0, 90.0]), None);
    let b = run("token_savings", &fractions([20.0, 90.0]), None);
    let found = pair("token_savings", &a, &b).unwrap();
    assert!(near(found.a, 0.5) && near(found.b, 0.55), "{found:?}");
    // 0.55 + (20 − 55)/100 − (0.5 + (10 − 50)/100) = 0.1, and 0.
    assert!(near(found.dots[0], 0.0) && near(found.dots[1], 0.1), "{found:?}");
    assert_eq!(found.higher_lower_alike, (1, 0, 1));
}

#[test]
fn one_session_is_looked_at_request_by_request_and_says_so() {
    let figures = |x: f64| -> Figures { vec![Some(x); 20] };
    let a = run("recall", &ones(&[1.0]), Some(&[figures(1.0)]));
    let b = run("recall", &ones(&[0.0]), Some(&[figures(0.0)]));
    let found = pair("recall", &a, &b).unwrap();
    assert_eq!(found.spread, Some(Spread::TheseSessions(Bounds { lo: -1.0, hi: -1.0 })));
    assert!(!found.unchanged && pair("recall", &a, &a).unwrap().unchanged);
    // Nine pairs are too few, and so is a run without them.
    let short = |x: f64| run("recall", &ones(&[x]), Some(&[vec![Some(x); 9]]));
    assert_eq!(pair("recall", &short(1.0), &short(0.0)).unwrap().spread, None);
    assert_eq!(pair("recall", &a, &run("recall", &ones(&[0.0]), None)).unwrap().spread, None);
}

#[test]
fn a_sum_over_requests_is_resampled_as_a_sum() {
    // Ten requests of 5 tokens more each in one session, ten of 1 in the other.
    let series = |x: f64| -> Figures { vec![Some(x); 10] };
    let a = run("tokens_sent", &ones(&[100.0, 100.0]), Some(&[series(10.0), series(10.0)]));
    let b = run("tokens_sent", &ones(&[150.0, 110.0]), Some(&[series(15.0), series(11.0)]));
    let bounds = pair("tokens_sent", &a, &b).unwrap().spread.unwrap().bounds();
    assert!(near(bounds.lo, 60.0) && near(bounds.hi, 60.0), "{bounds:?}");
}

#[test]
fn the_same_mean_over_other_probes_is_a_change() {
    let half = |first: f64| -> Vec<Figures> {
        vec![(0..10).map(|at| Some(if at < 5 { first } else { 1.0 - first })).collect()]
    };
    let a = run("recall", &ones(&[0.5]), Some(&half(1.0)));
    let b = run("recall", &ones(&[0.5]), Some(&half(0.0)));
    let found = pair("recall", &a, &b).unwrap();
    assert!(near(found.difference, 0.0) && !found.unchanged, "{found:?}");
}

#[test]
fn clusters_count_where_several_are_known_and_transcripts_where_one_is() {
    let named = |names: [Option<&'static str>; 3]| {
        grouped(&names.map(|name| (name.map(|name| ("d", name)), 1.0))).n()
    };
    assert_eq!(named([Some("p"), Some("p"), Some("q")]), 2);
    assert_eq!(named([Some("p"), Some("p"), Some("p")]), 3);
    assert_eq!(named([None, None, None]), 3);
}
