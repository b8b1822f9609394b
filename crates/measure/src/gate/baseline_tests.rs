use super::*;
use crate::testkit::{cell, facts, manifest, run, unit_row};
use recap_core::model::RowKind;

fn head(cuts: &str, depth: u32) -> Head {
    let mut made = manifest(&["25%"]);
    (made.cuts, made.depth) = (cuts.to_owned(), depth);
    Head::of(&made)
}

#[test]
fn cuts_are_equal_if_places_and_depth_are() {
    let one = head("5", 1);
    assert!(one.same_cuts(&head("5", 1)));
    assert!(!one.same_cuts(&head("5", 3)), "another depth");
    assert!(!one.same_cuts(&head("6", 1)), "other places");
}

/// Runs in which one strategy had another standing are not compared for it.
#[test]
fn offline_summary_on_one_side_is_a_difference() {
    let session = facts("s").requests(&[1_000, 2_000]).build();
    let cells = vec![
        cell("s", "full").control().sent(&[1_000, 2_000]).build(),
        cell("s", "x").sent(&[1_000, 500]).build(),
    ];
    let report = run(vec![session], cells);
    let mut baseline = Baseline::of("before".to_owned(), &report);
    let own = baseline.run.clone();
    let parsed = crate::gate::parse("tokens_sent@x > baseline").unwrap();
    let x: Vec<_> = report.rows.iter().filter(|row| row.strategy == "x").collect();
    let found = |baseline: &Baseline| {
        differences(baseline, &report.manifest, &own, &[(&parsed, x.clone())])
    };
    assert_eq!(found(&baseline), [""; 0]);
    let x = baseline.run.rows.iter_mut().filter(|row| row.strategy == "x");
    x.for_each(|row| row.row_kind = RowKind::OfflineSummary);
    let actual = found(&baseline);
    assert!(actual.len() == 1 && actual[0].starts_with("`x` was measured"), "{actual:?}");
}

#[test]
fn windows_only_in_other_data_sets_are_ignored() {
    let at = |dataset: &str, window: &str| UnitRow {
        window: window.into(),
        ..unit_row(dataset, "x", &[])
    };
    let rows = vec![at("d", "25%"), at("e", "25%"), at("e", "50%")];
    let run = BySession { sessions: Vec::new(), rows };
    let baseline = Baseline { name: "before".into(), head: head("none", 0), run };
    let all = ["25%", "50%", "75%"].map(str::to_owned);
    // Nobody has a row at 75 %: whether one is missing there is told later.
    let windows = |rule: &str| {
        let rule = crate::gate::parse(rule).unwrap();
        baseline.windows_of(&rule, &all).join(" ")
    };
    assert_eq!(windows("recall@x on d < baseline"), "25% 75%");
    assert_eq!(windows("recall@x on e < baseline"), "25% 50% 75%");
    assert_eq!(windows("recall@x < baseline"), "25% 50% 75%");
    assert_eq!(windows("recall@x on d at 50% < baseline"), "50%");
}

#[test]
fn run_is_described_by_its_cut_options() {
    assert_eq!(head("none", 0).cut_by(), "--cuts none");
    assert_eq!(head("5", 3).cut_by(), "--cuts 5 --depth 3");
}

/// A run of `x` over these sessions, and the baseline that it leaves.
fn run_of(sessions: &[&str]) -> (Report, Baseline) {
    let session = sessions.iter().map(|id| facts(id).requests(&[1_000, 2_000]).build());
    let cells = sessions.iter().flat_map(|id| {
        let full = cell(id, "full").control().sent(&[1_000, 2_000]).build();
        [full, cell(id, "x").sent(&[1_000, 500]).build()]
    });
    let mut report = run(session.collect(), cells.collect());
    report.manifest.instrument = INSTRUMENT;
    let baseline = Baseline::of("before".to_owned(), &report);
    (report, baseline)
}

#[test]
fn only_differences_a_rule_depends_on_are_told() {
    let (report, baseline) = run_of(&["s"]);
    let ids = [("d", "s")];
    let actual = |rule: &str, change: fn(&mut Manifest)| {
        let rule = crate::gate::parse(rule).unwrap();
        let mut manifest = report.manifest.clone();
        change(&mut manifest);
        comparable(&baseline, &manifest, &ids, &[rule.clone(), rule])
    };
    let [tokens, cost, kept] =
        ["tokens_sent@x > baseline", "cost_usd@x > baseline", "facts_kept@x < baseline"];
    for rule in [tokens, cost, kept] {
        assert_eq!(actual(rule, |_| {}), [""; 0], "{rule}");
        let counted = "tokens are counted by o200k in one, by cl100k in the other";
        assert_eq!(actual(rule, |manifest| manifest.tokens = "cl100k".into()), [counted]);
    }
    let other_prices = |manifest: &mut Manifest| manifest.prices.models.clear();
    assert_eq!(actual(cost, other_prices), ["the prices, or who is billed, differ"]);
    assert_eq!(actual(tokens, other_prices), [""; 0]);
    let other_cuts = |manifest: &mut Manifest| (manifest.cuts, manifest.depth) = ("5".into(), 3);
    let cuts = "it was made with `--cuts none`, this run with `--cuts 5 --depth 3`: the cuts \
                differ, so that `facts_kept` has no counterpart";
    assert_eq!(actual(kept, other_cuts), [cuts]);
    assert_eq!(actual(cost, other_cuts), [""; 0]);
}

#[test]
fn sessions_and_rows_one_side_lacks_appear_once() {
    let (report, baseline) = run_of(&["s"]);
    let manifest = Manifest { named: vec!["y".into()], ..report.manifest.clone() };
    let actual = |ids: &[(&str, &str)], rules: &[&str]| {
        let rules: Vec<Rule> = rules.iter().map(|rule| crate::gate::parse(rule).unwrap()).collect();
        comparable(&baseline, &manifest, ids, &rules)
    };
    let s = ("d", "s");
    assert_eq!(actual(&[], &[]), ["only the baseline has the session `s` of `d`"]);
    assert_eq!(actual(&[s, ("d", "t")], &[]), ["only this run has the session `t` of `d`"]);
    assert_eq!(
        actual(&[s, ("d", "t"), ("e", "u"), ("e", "v")], &[]),
        ["only this run has the session `t` of `d` and 2 more"]
    );
    let rules = [
        "tokens_sent@y on d > baseline",
        "cost_usd@y on d > baseline",
        "tokens_sent@x at 50% > baseline",
        "tokens_sent@x > baseline",
        "tokens_sent@x on d > baseline",
        "tokens_sent > baseline",
        "tokens_sent@gone > 1",
    ];
    assert_eq!(
        actual(&[s], &rules),
        [
            "it has no row of `y` at `25%` on `d`",
            "it has no row of `x` at `50%`",
            "it has no row of `y` at `25%`",
        ]
    );
}

#[test]
fn different_answerer_or_judge_concerns_only_answer_measures() {
    let (report, mut baseline) = run_of(&["s"]);
    baseline.head.answerer = "openai/a".into();
    baseline.head.judge = "openai/j".into();
    let own = baseline.run.clone();
    let actual = |rule: &str| {
        let rule = crate::gate::parse(rule).unwrap();
        differences(&baseline, &report.manifest, &own, &[(&rule, Vec::new())])
    };
    let both = ["its answerer is openai/a, here offline", "its judge is openai/j, here offline"];
    assert_eq!(actual("recall@x < baseline"), both);
    assert_eq!(actual("tokens_sent@x > baseline"), [""; 0]);
}

#[test]
fn differing_sessions_are_described_by_what_differs() {
    let (_, mut before) = run_of(&["s", "t", "u"]);
    before.run.sessions.iter_mut().for_each(|session| session.words = Some("w".into()));
    let actual = |change: fn(usize, &mut SessionFingerprint)| {
        let mut after = Baseline { name: "after".into(), ..before.clone() };
        (0..).zip(&mut after.run.sessions).for_each(|(at, session)| change(at, session));
        unlike(&before, &after)
    };
    assert_eq!(actual(|_, _| {}), [""; 0]);
    let all = |_: usize, session: &mut SessionFingerprint| session.content.push('x');
    assert_eq!(actual(all), ["the messages of `s` and 2 more differ"]);
    assert_eq!(
        actual(|at, session| (0..at).for_each(|_| session.questions.push('x'))),
        ["the questions of `t` and 1 more differ"]
    );
    let counts = |at: usize, session: &mut SessionFingerprint| {
        if at == 2 {
            session.tokens.push('x');
        }
    };
    assert_eq!(actual(counts), ["the token counts of `u` differ"]);
    assert_eq!(actual(|_, session| session.words = None), [""; 0], "a run may not keep the words");
    let worded = |_: usize, session: &mut SessionFingerprint| {
        session.words.iter_mut().for_each(|words| words.push('x'));
    };
    assert_eq!(actual(worded), ["the questions of `s` and 2 more differ"]);
    let renamed = |at: usize, session: &mut SessionFingerprint| {
        if at == 0 {
            session.session = "v".into();
        }
    };
    assert_eq!(
        actual(renamed),
        ["only before has the session `s` of `d`", "only after has the session `v` of `d`"]
    );
}

#[test]
fn baseline_is_read_unless_row_or_version_mismatches() {
    let (report, baseline) = run_of(&["s", "t"]);
    let mut written = Vec::new();
    write_baseline(&report, &mut written).unwrap();
    let text = String::from_utf8(written).unwrap();
    // The head, two sessions and two rows; six lines begin and end the lists.
    assert_eq!(text.lines().count(), 1 + 2 + 2 + 6, "{text}");
    assert_eq!(Baseline::parse("before".into(), &text).unwrap(), baseline);
    let read = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        change(&mut json);
        Baseline::parse("before".into(), &json.to_string())
    };
    let no_row = Err("its row of x at 25% has not one figure for each session".to_owned());
    let emptied = read(&|json| {
        let mut rows = json["rows"].as_array_mut().unwrap().iter_mut();
        let x = rows.find(|row| row["strategy"] == "x").unwrap();
        x["figures"]["tokens_sent"] = serde_json::json!([]);
    });
    assert_eq!(emptied, no_row);
    for key in ["version", "instrument"] {
        let actual = read(&|json| json["baseline"][key] = 1.into()).unwrap_err();
        assert!(actual.contains("their figures cannot be compared"), "{key}: {actual}");
    }
}
