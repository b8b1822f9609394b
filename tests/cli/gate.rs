//! The gate end to end, where its rules rest on figures of the run itself.

use crate::desk::Desk;

#[test]
fn all_names_every_strategy_but_the_controls() {
    let desk = Desk::new();
    desk.good("bench SESSION --quiet --out run --strategy all --fail-on 'requests < 0'");
    let gate = desk.json("run/gate.json");
    let checks = gate["rules"][0]["checks"].as_array().unwrap();
    let rows = desk.csv("run/summary.csv");
    let controls = ["full", "empty", "id-list", "id-list-words", "recorded", "evidence"];
    let judged = |name: &str| !controls.contains(&name) && !name.starts_with("no-summary:");
    let rest = rows.iter().filter(|row| judged(&row["strategy"]));
    assert_eq!(checks.len(), rest.filter(|row| row["dataset"] != "ALL").count());
}

#[test]
fn every_number_of_the_summary_can_be_gated() {
    let desk = Desk::new();
    desk.good(&["bench", "--quiet", "--out", "run", "--strategy", "prune"]);
    let summary = desk.json("run/summary.json");
    let row = summary["rows"].as_array().unwrap().iter().find(|row| row["strategy"] == "prune");
    let values = row.unwrap()["values"].as_object().unwrap();
    let rules: Vec<String> = (values.iter())
        .filter(|(_, value)| value.is_number())
        .map(|(id, _)| format!("{id} < -1000000"))
        .collect();
    assert!(rules.len() > 45, "{rules:?}");
    let rules = rules.iter().filter(|rule| !rule.starts_with("continuity"));
    let rules: String = rules.map(|rule| format!(" --fail-on '{rule}'")).collect();
    desk.good(&format!("report run{rules}"));
}

/// A strategy of the user's that keeps so many messages.
fn keeps(desk: &Desk, last: u32) {
    let strategy = format!(
        "version = 1\nname = \"mine\"\nsummary = \"The last {last} messages.\"\nsource = \"mine\"\n\n\
         [[stage]]\nmechanism = \"sliding-window\"\nat = \"request\"\nwhen = \"always\"\n\
         last = {last}\nkeep_pairs = true\n"
    );
    desk.file("mine.toml", strategy);
}

#[test]
fn worse_strategy_fails_and_undecided_one_is_reported() {
    let desk = Desk::new();
    for (last, out) in [(4, "base"), (60, "run")] {
        keeps(&desk, last);
        // No question is asked: that is the slow part.
        desk.good(&format!("replay quickstart --quiet --strategy mine.toml --out {out}"));
    }
    let report = |rule: &str| {
        let common = "report run --format json --baseline base/baseline.json --fail-on";
        desk.recap(&format!("{common} {rule}"))
    };
    let ran = report("'tokens_sent > baseline * 1.05'");
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains(" over 6 sessions; +"), "{}", ran.out);
    assert!(desk.read("run/summary.json").contains("\"failed\""));
    // It overflows as little as before: unchanged, or fewer.
    let ran = report("'token_savings > baseline + 0.5'");
    assert_eq!(ran.code, 0, "{ran:?}");
    // A total decides up to its last token.
    let difference = |rule: &str| {
        report(rule);
        let gate = desk.json("run/gate.json");
        let check = &gate["rules"][0]["checks"][0];
        check["value"].as_f64().unwrap() - check["baseline"].as_f64().unwrap()
    };
    let more = difference("'tokens_sent > baseline'");
    for (allowed, code) in [(more - 1.0, 1), (more + 1.0, 0)] {
        let ran = report(&format!("'tokens_sent > baseline + {allowed}'"));
        assert_eq!(ran.code, code, "{allowed}: {ran:?}");
    }
    // What changed is named, also where it may.
    let allowed = report("'tokens_sent > baseline * 1000'");
    let line = "  passed    tokens_sent > baseline * 1000 · mine · 50% · quickstart: ";
    assert!(allowed.code == 0 && allowed.out.contains(line), "{allowed:?}");
    // Where one of few sessions is better a share is left open, and the policy decides.
    let mut baseline = desk.json("base/baseline.json");
    let mut rows = baseline["rows"].as_array_mut().unwrap().iter_mut();
    let row = rows.find(|row| row["strategy"] == "mine").unwrap();
    row["figures"]["token_savings"][0][0] = 0.into();
    desk.file("base/baseline.json", baseline.to_string());
    let open = "'token_savings < baseline'";
    for (policy, code) in [("", 3), ("--undecided pass", 0), ("--undecided fail", 1)] {
        let ran = report(&format!("{open} {policy}"));
        assert_eq!(ran.code, code, "{policy:?}: {ran:?}");
        assert!(ran.out.contains("undecided token_savings"), "{}", ran.out);
    }
}

/// In a workflow of GitHub an error is an annotation, and a name with a line end forges none.
#[test]
fn no_name_forges_an_annotation() {
    let desk = Desk::new();
    let name = "a\n::error::forged\r::error::too.jsonl";
    let ran = desk.recap_with(&[("GITHUB_ACTIONS", "true")], &["bench", name]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let commands = ran.err.lines().filter(|line| line.trim_start().starts_with("::")).count();
    assert!(ran.err.starts_with("::error::") && commands == 1, "{ran:?}");
    let ran = desk.recap_with(&[], &["bench", name]);
    assert!(ran.err.starts_with("error: "), "{ran:?}");
}
