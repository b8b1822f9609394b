use proptest::prelude::*;

use super::*;

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..1.0, 0.0..1e6, Just(0.0), Just(80.0), (0u32..1_000_000).prop_map(f64::from)]
}

fn amount(least: f64) -> impl Strategy<Value = Amount> {
    let sign =
        if least < 0.0 { prop_oneof![Just(1.0), Just(-1.0)].boxed() } else { Just(1.0).boxed() };
    (number(), sign, 0..Mark::ALL.len())
        .prop_map(|(number, sign, mark)| Amount { number: number * sign, mark: Mark::ALL[mark] })
}

fn limit() -> impl Strategy<Value = Limit> {
    prop_oneof![
        amount(-1.0).prop_map(Limit::Figure),
        Just(Limit::Baseline),
        amount(0.0).prop_map(Limit::BaselineLess),
        amount(0.0).prop_map(Limit::BaselinePlus),
        number().prop_map(Limit::BaselineTimes),
    ]
}

fn rule() -> impl Strategy<Value = Rule> {
    let ids: Vec<&'static str> = measures::ids().collect();
    let name = || proptest::option::of("\\PC{1,12}|[a-z\"' <>\\[\\]=]{1,9}");
    (0..ids.len(), name(), name(), name(), 0..Operator::ALL.len(), limit()).prop_map(
        move |(id, preset, dataset, window, operator, limit)| Rule {
            measure: ids[id].to_owned(),
            preset,
            dataset,
            window,
            operator: Operator::ALL[operator],
            limit,
        },
    )
}

proptest! {
    #[test]
    fn a_printed_rule_is_parsed_as_the_same_rule(rule in rule()) {
        let text = rule.to_string();
        let read = parse(&text).map_err(|e| TestCaseError::fail(format!("{text}: {e}")))?;
        prop_assert_eq!(read.rule, rule, "{}", text);
    }

    #[test]
    fn text_is_parsed_or_refused_at_one_of_its_columns(text in "\\PC{0,40}|[a-z@ <>=\"'0-9.%*+-]{0,40}") {
        if let Err(error) = parse(&text) {
            prop_assert!(error.column >= 1 && error.column <= text.chars().count() + 1, "{}", error);
            prop_assert!(!error.help.is_empty());
        }
    }
}

#[test]
fn the_example_rules_are_parsed_as_documented() {
    let figure = |number| Limit::Figure(Amount { number, mark: Mark::Plain });
    let any = |measure: &str, operator, limit| Rule {
        measure: measure.to_owned(),
        preset: None,
        dataset: None,
        window: None,
        operator,
        limit,
    };
    let read = |text: &str| parse(text).unwrap().rule;
    let lis = any("continuity", Operator::Below, figure(80.0));
    assert_eq!(read("continuity@lis < 80"), Rule { preset: Some("lis".into()), ..lis });
    let constraint = any("recall_constraint", Operator::Below, figure(0.95));
    assert_eq!(read("recall[constraint] < 0.95"), constraint);
    assert_eq!(read("recall_constraint<0.95"), constraint);
    assert_eq!(read("overflows > 0"), any("overflows", Operator::Above, figure(0.0)));
    let full = read(" recall@fifo on 'my data' at 16k <= 50% ");
    assert_eq!((full.dataset.as_deref(), full.window.as_deref()), (Some("my data"), Some("16k")));
    assert_eq!(full.limit, Limit::Figure(Amount { number: 50.0, mark: Mark::Percent }));
    let less = Amount { number: 0.02, mark: Mark::Plain };
    assert_eq!(read("recall < baseline - 0.02").limit, Limit::BaselineLess(less));
    assert_eq!(read("cost_usd>baseline*1.1").limit, Limit::BaselineTimes(1.1));
    let more = Amount { number: 5.0, mark: Mark::Percent };
    assert_eq!(read("tokens_sent > baseline + 5%").limit, Limit::BaselinePlus(more));
    assert_eq!(read("recall@\"a \"\"b\"\"\" < 1").preset.as_deref(), Some("a \"b\""));
}

#[test]
fn amounts_are_in_the_unit_of_their_measure() {
    let amount =
        |id: &str, number, mark| measures::find(id).ok().unwrap().amount(Amount { number, mark });
    assert_eq!(amount("recall", 80.0, Mark::Percent), Ok(0.8));
    assert_eq!(amount("continuity", 80.0, Mark::Percent), Ok(80.0));
    assert_eq!(amount("tokens_sent", 20.0, Mark::Thousand), Ok(20_000.0));
    assert_eq!(amount("tokens_sent", 1.5, Mark::Million), Ok(1_500_000.0));
    assert_eq!(amount("blocking_ms_p95", 2.0, Mark::Seconds), Ok(2_000.0));
    assert_eq!(amount("blocking_ms_p95", 1_500.0, Mark::Milliseconds), Ok(1_500.0));
    for (id, mark) in [
        ("cost_usd", Mark::Percent),
        ("recall", Mark::Thousand),
        ("tokens_sent", Mark::Seconds),
        ("blocking_ms_p95", Mark::Thousand),
        ("retention", Mark::Milliseconds),
    ] {
        assert!(amount(id, 1.0, mark).is_err(), "{id} {mark:?}");
    }
}

#[test]
fn a_rule_against_a_baseline_allows_a_change_for_the_worse_and_nothing_else() {
    let names = ["fifo".to_owned()];
    let scope =
        Scope { presets: &names, named: &names, windows: &[], datasets: &[], baseline: true };
    let told = |text: &str| fits(&parse(text).unwrap(), &scope).err().map(|e| e.problem);
    for good in [
        "recall < baseline - 0.02",
        "recall < baseline",
        "recall < baseline * 0.98",
        "cost_usd > baseline * 1.1",
        "tokens_sent >= baseline + 5%",
        "blocking_ms_p95 > baseline + 2s",
    ] {
        assert_eq!(told(good), None, "{good}");
    }
    for bad in ["recall < baseline + 0.02", "cost_usd > baseline - 1", "cost_usd > baseline * 0.9"]
    {
        assert!(told(bad).unwrap().contains("as good as the baseline"), "{bad}");
    }
    assert!(told("recall < baseline - 2%").unwrap().contains("points of a hundred"));
    assert!(told("retention < baseline").unwrap().contains("in pairs"));
    assert!(told("cpu_ms > baseline").unwrap().contains("in pairs"));
}

#[test]
fn measures_at_cuts_have_their_unit_and_are_quality_only_if_text_decides_them() {
    let known = |id: &str| measures::find(id).ok().unwrap();
    let amount = |id: &str, number, mark| known(id).amount(Amount { number, mark });
    assert_eq!(amount("kept_at_cut", 50.0, Mark::Percent), Ok(0.5));
    assert_eq!(amount("added_at_cut_first", 5.0, Mark::Percent), Ok(0.05));
    assert_eq!(amount("tokens_at_cut", 40.0, Mark::Percent), Ok(0.4));
    assert_eq!(amount("first_miss", 3.0, Mark::Plain), Ok(3.0));
    assert_eq!(amount("continuity_at_cut", 80.0, Mark::Percent), Ok(80.0));
    assert!(amount("cut_cost_usd", 5.0, Mark::Percent).is_err());
    assert!(known("cut_cost_usd").is_billed() && !known("kept_at_cut").is_billed());
    assert!(known("continuity_at_cut").rests_on_probes());
    assert!(!known("kept_at_cut").rests_on_probes());
    for id in
        ["kept_at_cut", "kept_at_cut_first", "carried_share", "added_at_cut", "first_miss_first"]
    {
        assert!(known(id).is_quality(), "{id}");
    }
    for id in ["tokens_at_cut", "exposed_share_first", "cut_cost_usd", "pays_after", "cuts"] {
        assert!(!known(id).is_quality(), "{id}");
    }
}

#[test]
fn every_measure_at_cuts_has_a_depth() {
    use crate::measure::{Basis, Depth, MEASURES, depth_of};
    for spec in MEASURES.iter() {
        let at_cuts = matches!(spec.basis, Basis::Cuts);
        assert!(!at_cuts || depth_of(spec.id()).is_some(), "{}", spec.id());
    }
    assert_eq!(depth_of("cut_cost_usd"), Some(Depth::Greatest));
    assert_eq!(depth_of("pays_after_first"), Some(Depth::First));
    assert_eq!(depth_of("kept_at_cut_6_20"), Some(Depth::Greatest));
    assert_eq!((depth_of("reference_recall"), depth_of("cost_usd")), (None, None));
}

#[test]
fn a_rule_forbids_its_limit_itself_only_if_it_says_or_equal() {
    use crate::model::Operator::{Above, AtLeast, AtMost, Below};
    let held = |figure| [Below, AtMost, Above, AtLeast].map(|o| o.holds(figure, 0.5));
    assert_eq!(held(0.4), [true, true, false, false]);
    assert_eq!(held(0.5), [false, true, false, true]);
    assert_eq!(held(0.6), [false, false, true, true]);
}

/// Semantics §41: a row with more than this share of ungraded probes has no
/// verdict; with exactly this share it has one.
#[test]
fn one_ungraded_probe_of_twenty_is_allowed_and_two_are_not() {
    use crate::measure::testkit::{cell, facts, manifest};
    use crate::model::{ProbeKind, Sessions};
    let doubted = |ungraded: usize| {
        let sat = (0..20).fold(facts("s").requests(&[1_000, 2_000]), |sat, _| {
            sat.probe(ProbeKind::Fact, 1, 3_000)
        });
        let outcomes = "R".repeat(20 - ungraded) + &"U".repeat(ungraded);
        let full = cell("s", "full").control().sent(&[1_000, 2_000]).snapshot(1, 0);
        let x = cell("s", "x").sent(&[1_000, 500]).snapshot(1, 1).answers(&outcomes);
        let cells = vec![full.answers(&"R".repeat(20)).build(), x.build()];
        let mut made = manifest(&["25%"]);
        made.judge = "openai/j".into();
        let sessions = Sessions::new(cells, []);
        let report = crate::measure::measure(made, "d".into(), vec![sat.build()], sessions);
        // Both presets were asked twenty times.
        assert!((unscored(&report) - ungraded as f64 / 40.0).abs() < 1e-12);
        let row = report.rows.iter().find(|row| row.strategy == "x").unwrap();
        doubt(&report, row, &parse("recall < 0.5").unwrap().rule, MAX_UNSCORED)
    };
    assert_eq!(doubted(0), None);
    assert_eq!(doubted(1), None);
    assert_eq!(doubted(2), Some(Ground::Ungraded { share: 0.1, most: 0.05 }));
}
