use super::*;
use crate::measure::testkit::{cell, facts, manifest, run};
use crate::model::Standing;

fn head(cuts: &str, depths: &[u32]) -> Head {
    let mut made = manifest(&["25%"]);
    (made.cuts, made.depths) = (cuts.to_owned(), depths.to_vec());
    Head::of(&made)
}

#[test]
fn cuts_are_the_same_if_places_and_the_examined_depth_are() {
    let one = head("5", &[1]);
    let same = |other: &Head, depth| one.same_cuts(other, depth);
    assert!(same(&head("5", &[1]), Depth::Greatest));
    assert!(!same(&head("5", &[1, 3]), Depth::Greatest), "another greatest depth");
    assert!(same(&head("5", &[1, 3]), Depth::First), "the first compaction is in both");
    assert!(!same(&head("6", &[1]), Depth::First), "other places");
}

/// Runs in which one preset had another standing are not compared for it.
#[test]
fn a_stand_in_on_one_side_only_is_a_difference() {
    let sat = facts("s").requests(&[1_000, 2_000]).build();
    let cells = vec![
        cell("s", "full").control().sent(&[1_000, 2_000]).build(),
        cell("s", "x").sent(&[1_000, 500]).build(),
    ];
    let report = run(vec![sat], cells);
    let mut baseline = Baseline::of("before".to_owned(), &report);
    let own = baseline.run.clone();
    let parsed = crate::gate::parse("tokens_sent@x > baseline").unwrap();
    let rows = vec![("d", "x", "25%")];
    let found = |baseline: &Baseline| {
        let asked = [Asked { rule: &parsed.rule, rows: rows.clone() }];
        differences_measured(baseline, &report.manifest, &own, &asked)
    };
    assert_eq!(found(&baseline), [""; 0]);
    let x = baseline.run.rows.iter_mut().filter(|row| row.strategy == "x");
    x.for_each(|row| row.standing = Standing::StandIn);
    let told = found(&baseline);
    assert!(told.len() == 1 && told[0].starts_with("`x` was measured"), "{told:?}");
}

#[test]
fn windows_that_only_other_data_sets_have_are_left_out() {
    let at = |dataset: &str, window: &str| UnitRow {
        dataset: dataset.into(),
        strategy: "x".into(),
        window: window.into(),
        billed_as: "recorded".into(),
        standing: Standing::Ranked,
        failed: 0,
        figures: BTreeMap::new(),
        series: BTreeMap::new(),
    };
    let rows = vec![at("d", "25%"), at("e", "25%"), at("e", "50%")];
    let run = ByTranscript { transcripts: Vec::new(), rows };
    let baseline = Baseline { name: "before".into(), head: head("none", &[]), run };
    let all = ["25%", "50%", "75%"].map(str::to_owned);
    // Nobody has a row at 75 %: whether one is missing there is told later.
    assert_eq!(baseline.windows_of("d", &all), ["25%", "75%"]);
    assert_eq!(baseline.windows_of("e", &all), all);
}
