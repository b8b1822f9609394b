use super::*;
use crate::measure::testkit::{cell, facts, run};

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
}

#[test]
fn sizes_are_spaced_on_a_logarithmic_scale_and_end_with_the_largest_context() {
    let ladder = ladder(1_000_000.0);
    assert_eq!(ladder.len(), 24);
    close(ladder[0], 1_000.0);
    assert_eq!(ladder[23].to_bits(), 1_000_000.0_f64.to_bits());
    // A factor of 1,000 in 23 steps.
    close(ladder[1] / ladder[0], 1_000.0_f64.powf(1.0 / 23.0));
    // The curve of a short session begins at a tenth of its size.
    close(super::ladder(500.0)[0], 50.0);
    assert!(super::ladder(0.0).is_empty());
}

#[test]
fn references_nearer_than_the_newest_tokens_are_kept() {
    let mut builder = facts("s").preamble(100).requests(&[20_100; 10]);
    for request in 0..10 {
        builder = builder.reference(request, 5_000, None).reference(request, 10_000, None);
    }
    let facts = builder.build();
    let exam = Exam { facts: &facts, asked: references(&facts) };
    // At exactly its distance a reference is not kept yet, as in
    // `recency_gain`.
    for (tokens, kept) in [(5_000.0, 0.0), (5_001.0, 0.5), (10_000.0, 0.5), (10_001.0, 1.0)] {
        close(exam.kept(tokens).unwrap(), kept);
    }
    // min(20,100, 100 + 5,000) at every request.
    close(mean_size(&[&exam], 5_000.0).unwrap(), 5_100.0);
}

#[test]
fn an_exam_that_is_too_small_has_no_curve() {
    let thin = facts("s").requests(&[20_000]).reference(0, 5_000, None).build();
    let states = cell("s", "x").sent(&[20_000]).states("k").build();
    assert!(run(vec![thin], vec![states]).recency.is_empty());
}

#[test]
fn the_curve_ends_where_everything_is_kept() {
    let mut builder = facts("s").requests(&[20_000; 10]);
    for request in 0..10 {
        builder = builder.reference(request, 5_000, None).reference(request, 10_000, None);
    }
    let states = cell("s", "x").sent(&[20_000; 10]).states(&"k".repeat(20)).build();
    let report = run(vec![builder.build()], vec![states]);
    let names: Vec<&str> = report.recency.iter().map(|curve| curve.dataset.as_str()).collect();
    assert_eq!(names, ["d", "ALL"]);
    let points = &report.recency[0].points;
    assert_eq!(points.last(), Some(&(20_000.0, 1.0)));
    assert!(points.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1));
}

/// A probe about the first of three messages of 10, 20, … tokens before request
/// 1.
fn probed() -> (TranscriptFacts, Cell) {
    // Messages 0…3 have 10, 20, 30, 40 tokens; request 1 is before message 3.
    let facts = facts("s").requests(&[10, 60]).probe(ProbeKind::Fact, 1, 50).build();
    let full = cell("s", "full").control().sent(&[10, 60]).snapshot(1, 0).answers("R").build();
    (facts, full)
}

#[test]
fn a_probe_is_kept_if_all_of_its_evidence_is_within_reach() {
    let (facts, full) = probed();
    let alone = BTreeSet::new();
    let exam = Exam { facts: &facts, asked: probes(&facts, Some(&full), &alone) };
    // The context has 60 tokens and begins with the evidence: only the whole
    // context keeps the probe, and then nothing is dropped.
    assert_eq!(exam.kept(59.0), Some(0.0));
    assert_eq!(exam.kept(60.0), None);
}

#[test]
fn evidence_in_the_newest_message_is_kept_at_every_size_from_its_own_on() {
    let (mut facts, full) = probed();
    facts.probes[0].evidence = vec![2];
    let exam = Exam { facts: &facts, asked: probes(&facts, Some(&full), &BTreeSet::new()) };
    // Message 2 is the newest message, with 30 tokens.
    assert_eq!((exam.kept(29.0), exam.kept(30.0)), (Some(0.0), Some(1.0)));
    facts.probes[0].evidence = vec![0, 2];
    let exam = Exam { facts: &facts, asked: probes(&facts, Some(&full), &BTreeSet::new()) };
    assert_eq!(exam.kept(30.0), Some(0.0), "half of the evidence is not enough");
}

#[test]
fn probes_that_full_answers_wrong_are_left_out() {
    let (facts, _) = probed();
    let wrong = cell("s", "full").control().sent(&[10, 60]).snapshot(1, 0).answers("W").build();
    for full in [Some(&wrong), None] {
        let exam = Exam { facts: &facts, asked: probes(&facts, full, &BTreeSet::new()) };
        assert_eq!(exam.kept(30.0), None);
    }
}

#[test]
fn distances_are_in_tokens_of_the_run_request_by_request() {
    let mut facts = crate::measure::testkit::twenty_references("s");
    facts.exam.references[1].distance_tokens = 7_000;
    let of = |facts: &TranscriptFacts| match references(facts) {
        Asked::References(requests) => requests,
        Asked::Probes(_) => panic!("references are asked for"),
    };
    let plain = of(&facts);
    assert_eq!(
        (plain.len(), &plain[0], &plain[9]),
        (10, &vec![5_000.0, 7_000.0], &vec![5_000.0; 2])
    );
    let fit = crate::model::Fit { from: 0, hidden: 0.0, factor: 1.5, requests: 10 };
    facts.tokens_source = crate::model::TokensSource::Calibrated;
    facts.calibration = Some(crate::model::Calibration {
        fits: vec![fit],
        unseen: Vec::new(),
        global: None,
        in_sample: None,
        forward: None,
        after_boundary: None,
    });
    assert_eq!(of(&facts)[0], [7_500.0, 10_500.0]);
}

#[test]
fn what_is_asked_behind_the_last_request_has_the_whole_session_before_it() {
    let (mut facts, full) = probed();
    facts.probes[0].request = 2;
    let exam = Exam { facts: &facts, asked: probes(&facts, Some(&full), &BTreeSet::new()) };
    // All four messages have 100 tokens.
    assert_eq!((exam.kept(99.0), exam.kept(100.0)), (Some(0.0), None));
}

#[test]
fn a_right_answer_that_nothing_is_known_is_not_kept_by_any_message() {
    let (mut facts, full) = probed();
    facts.probes[0].probe.kind = ProbeKind::Abstain;
    let exam = Exam { facts: &facts, asked: probes(&facts, Some(&full), &BTreeSet::new()) };
    assert_eq!(exam.kept(30.0), None);
}

#[test]
fn probes_are_those_that_the_whole_conversation_answers_right() {
    // `empty` comes before `full` and is wrong; `full` failed at the first window.
    let (facts, full) = probed();
    let empty = cell("s", "empty").control().sent(&[1, 1]).snapshot(1, 0).answers("w").build();
    let failed = cell("s", "full").control().window("12%", 9).failed("broken");
    let sessions = Sessions::new([empty, failed, full], []);
    let all = [facts];
    let found = exams(&all, &sessions, Primary::Continuity);
    assert_eq!(found[0].kept(59.0), Some(0.0));
    let Asked::Probes(kinds) = &found[0].asked else { panic!("probes are asked") };
    assert_eq!(kinds.values().map(Vec::len).sum::<usize>(), 1);
}

#[test]
fn each_data_set_has_a_curve_of_its_own_and_all_have_one_together() {
    let session = |id: &str, dataset: &str, distance| {
        let mut builder = facts(id).dataset(dataset).requests(&[20_000; 10]);
        for request in 0..10 {
            builder = builder.reference(request, distance, None).reference(request, 1, None);
        }
        builder.build()
    };
    // The far references of d are never reached before the whole context.
    let all = [session("s", "d", 19_999), session("t", "e", 1)];
    let curves = curves(&all, &Sessions::default(), Primary::ReferenceRecall);
    let told: Vec<(&str, f64)> =
        curves.iter().map(|curve| (curve.dataset.as_str(), curve.points[0].1)).collect();
    assert_eq!(told, [("d", 0.5), ("e", 1.0), ("ALL", 0.75)]);
    assert!(curves.iter().all(|curve| curve.points.len() == STEPS));
    assert!(curves.iter().all(|curve| curve.points[STEPS - 1] == (20_000.0, 1.0)));
}

#[test]
fn a_curve_of_continuity_is_in_points_of_a_hundred() {
    let (mut facts, full) = probed();
    facts.probes[0].evidence = vec![2];
    let asked = probes(&facts, Some(&full), &BTreeSet::new());
    let exam = Exam { facts: &facts, asked };
    let points = points(&[&exam]);
    // From 30 tokens on the newest message is there; at 60 nothing is dropped.
    let kept: Vec<f64> = points.iter().map(|(_, kept)| *kept).collect();
    assert!(kept.contains(&0.0) && kept.contains(&100.0), "{points:?}");
    assert!(kept.iter().all(|kept| [0.0, 100.0].contains(kept)), "{points:?}");
    assert_eq!(points.len(), STEPS - 1);
}
