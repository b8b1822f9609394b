use super::*;

fn of(transcripts: &[&[&[f64]]]) -> Vec<VariancePart> {
    let figures: Vec<Vec<Figures>> = transcripts
        .iter()
        .map(|replicates| {
            replicates.iter().map(|r| r.iter().copied().map(Some).collect()).collect()
        })
        .collect();
    let by_unit = figures.iter().enumerate().map(|(at, r)| (at, r.iter().collect())).collect();
    parts(&by_unit, Judged::default(), 1.0)
}

#[track_caller]
fn known(parts: &[VariancePart], of: ChanceOf, variance: f64, freedom: u64) {
    let part = parts.iter().find(|part| part.of == of).unwrap();
    let found = part.variance.number().unwrap_or_else(|| panic!("{part:?}"));
    assert!((found - variance).abs() < 1e-9, "{part:?}, expected {variance}");
    assert_eq!(part.freedom, freedom, "{part:?}");
}

#[track_caller]
fn absent(parts: &[VariancePart], of: ChanceOf, because: &str) {
    let part = parts.iter().find(|part| part.of == of).unwrap();
    let Value::Absent(reason) = &part.variance else { panic!("{part:?}") };
    assert!(reason.to_string().contains(because), "{reason}");
    assert_eq!(part.freedom, 0);
}

#[test]
fn without_replicates_only_probes_and_transcripts_are_separated() {
    // Means 1 and 5; within, squares of 2 + 2 over 1 + 1 degrees of freedom: 2.
    // Between: 8, minus 2/2: 7.
    let parts = of(&[&[&[0.0, 2.0]], &[&[4.0, 6.0]]]);
    known(&parts, ChanceOf::Probe, 2.0, 2);
    known(&parts, ChanceOf::Transcript, 7.0, 1);
    absent(&parts, ChanceOf::Compaction, "compacted once");
    absent(&parts, ChanceOf::Answer, "answered once");
    absent(&parts, ChanceOf::Judge, "single judge");
}

#[test]
fn replicates_separate_the_compaction_from_the_probes() {
    // One transcript, probes 0 and 4 apart by 4, replicates apart by 2, nothing
    // else: SS_probe = 2·(2² + 2²) = 16 = 2σ², SS_compaction = 2·(1 + 1) = 4 = 2σ².
    let parts = of(&[&[&[0.0, 4.0], &[2.0, 6.0]]]);
    known(&parts, ChanceOf::Probe, 8.0, 1);
    known(&parts, ChanceOf::Compaction, 2.0, 1);
    absent(&parts, ChanceOf::Transcript, "one session");
    absent(&parts, ChanceOf::Answer, "it is 0.0000");
}

#[test]
fn an_estimate_below_zero_is_zero() {
    // Both transcripts have one mean, so that only the probes differ.
    let parts = of(&[&[&[0.0, 2.0]], &[&[0.0, 2.0]]]);
    known(&parts, ChanceOf::Transcript, 0.0, 1);
}

#[test]
fn a_probe_without_a_figure_in_some_replicate_is_left_out() {
    let first: Figures = vec![Some(0.0), Some(9.0), Some(4.0)];
    let second: Figures = vec![Some(2.0), None, Some(6.0)];
    let parts = parts(&BTreeMap::from([(0, vec![&first, &second])]), Judged::default(), 1.0);
    known(&parts, ChanceOf::Probe, 8.0, 1);
}

#[test]
fn two_judges_of_one_answer_show_the_variance_of_one_judge() {
    // The judges differ on one of four answers: half of 1/4, in points of a
    // hundred.
    let judged = Judged { answers: 4, apart: 1 };
    let parts = parts(&BTreeMap::new(), judged, 100.0);
    known(&parts, ChanceOf::Judge, 1_250.0, 4);
}

#[test]
fn judges_are_apart_if_only_one_of_the_first_two_finds_an_answer_right() {
    let mut judged = Judged::default();
    // One half is right; the third judge and answers with one grade do not count.
    for (first, second) in
        [(Some(1.0), Some(0.5)), (Some(1.0), Some(0.4)), (Some(0.0), Some(0.4)), (Some(1.0), None)]
    {
        let mut row = crate::measure::testkit::answered(0, 'R');
        crate::measure::testkit::vote(&mut row.judgement, "rrw");
        row.judgement.votes[0].score = first;
        row.judgement.votes[1].score = second;
        judged.add(&row);
    }
    assert_eq!((judged.answers, judged.apart), (3, 1));
}
