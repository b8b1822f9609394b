//! The gate end to end: what is found, and what the program ends with.

use crate::desk::{Desk, Ran, session};

/// A small run with rules.
fn bench(desk: &Desk, more: &[&str]) -> Ran {
    let session = session();
    let common = ["bench", &session, "--quiet", "--out", "run", "--strategy", "fifo"];
    desk.recap(&[&common[..], more].concat())
}

#[test]
fn gate_exits_0_unless_a_rule_holds() {
    let desk = Desk::new();
    let ran =
        bench(&desk, &["--fail-on", "overflows > 0", "--fail-on", "reference_recall@full < 1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.out.contains("gate: passed; 2 of 2 checks passed"), "{}", ran.out);
    assert!(ran.last().starts_with(" page     "), "{}", ran.out);
    let ran = bench(&desk, &["--fail-on", "overflows > 0", "--fail-on", "reference_recall < 95%"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("gate: failed; 1 of 2 checks passed"), "{}", ran.out);
    let line = ran.out.lines().find(|line| line.starts_with("  failed")).unwrap();
    assert!(line.contains("reference_recall < 95% · fifo · 50% · invoice-export: 0."), "{line}");
    assert!(line.ends_with(" is below 0.95"), "{line}");
}

#[test]
fn gate_findings_are_stored_and_shown_again() {
    let desk = Desk::new();
    let ran = bench(&desk, &["--fail-on", "reference_recall < 95%"]);
    let gate = desk.json("run/gate.json");
    assert_eq!(gate["rules"][0]["checks"][0]["finding"], "failed");
    assert_eq!(desk.json("run/summary.json")["gate"], gate);
    let page = desk.read("run/report.html");
    let again = desk.recap(&["report", "run"]);
    assert_eq!((again.code, &again.out), (0, &ran.out), "rendering again is done when rendered");
    assert_eq!(desk.read("run/report.html"), page);
    // Another gate replaces it; a run without one leaves none.
    let other = desk.recap(&["report", "run", "--fail-on", "reference_recall < 0.01"]);
    assert_eq!(other.code, 0, "{other:?}");
    assert_eq!(desk.json("run/gate.json")["rules"][0]["checks"][0]["finding"], "passed");
    assert_eq!(bench(&desk, &[]).code, 0);
    assert!(!desk.path("run/gate.json").exists());
}

#[test]
fn a_figure_that_is_missing_never_passes() {
    let desk = Desk::new();
    // The session has no questions.
    for undecided in [&[][..], &["--undecided", "pass"], &["--undecided", "fail"]] {
        let ran = bench(&desk, &[&["--fail-on", "recall < 0.5"], undecided].concat());
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.out.contains("missing   recall < 0.5"), "{}", ran.out);
    }
    // A failure on a complete row stands beside it.
    let ran = bench(&desk, &["--fail-on", "recall < 0.5", "--fail-on", "overflows < 1"]);
    assert_eq!(ran.code, 1, "{ran:?}");
}

#[test]
fn offline_summary_is_gated_by_size_not_quality() {
    let desk = Desk::new();
    let rules = ["--strategy", "lis", "--fail-on", "reference_recall@lis < 0.1"];
    let ran = bench(&desk, &rules);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("offline summary"), "{}", ran.out);
    let ran = desk.recap(&["report", "run", "--fail-on", "facts_kept@lis < 0.1"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("offline summary"), "{}", ran.out);
    let ran = bench(&desk, &["--strategy", "lis", "--fail-on", "tokens_sent@lis > 1000M"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn unreadable_or_unfit_rules_are_refused_before_running() {
    // All of them are cases of `rules.txt` of the gate.
    for (rule, actual) in [
        ("recall@fife < 0.5", "rule `recall@fife < 0.5`: the run has no strategy `fife`"),
        ("recall = 0.5", "rule `recall = 0.5`: `=` is not expected here"),
        ("recall < baseline - 0.02", "there is no baseline"),
    ] {
        let desk = Desk::new();
        let error = desk.refused(&["bench", &session(), "--strategy", "fifo", "--fail-on", rule]);
        assert!(error.contains(actual), "{rule}: {error}");
    }
    let error = Desk::new().refused(&["bench", &session(), "--fail-on", "recall < 0.5"]);
    assert!(error.contains("names no strategy") && error.contains("`recall@STRATEGY`"), "{error}");
    let suggested = Desk::new().refused(&["bench", "--fail-on", "reference_recal@fifo < 1"]);
    assert!(suggested.contains("did you mean `reference_recall`"), "{suggested}");
}

#[test]
fn all_names_every_strategy_but_the_controls() {
    let desk = Desk::new();
    let ran = desk.recap(&[
        "bench",
        &session(),
        "--quiet",
        "--out",
        "run",
        "--strategy",
        "all",
        "--fail-on",
        "requests < 0",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
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
    let mut arguments = vec!["report", "run"];
    for rule in rules.iter().filter(|rule| !rule.starts_with("continuity")) {
        arguments.extend(["--fail-on", rule]);
    }
    let ran = desk.recap(&arguments);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn comparator_must_run_and_is_never_ceiling() {
    let desk = Desk::new();
    let refuse = |more: &[&str]| {
        desk.refused(&[&["bench", &session(), "--strategy", "fifo"], more].concat())
    };
    assert!(refuse(&["--comparator", "full"]).contains("`full` is the ceiling"));
    assert!(refuse(&["--comparator", "prune"]).contains("`prune` is not among the strategies"));
    for margin in ["0", "0.5", "x", "-1"] {
        let margin = format!("--margin={margin}");
        let ran = desk.recap(&["bench", &margin]);
        assert_eq!(ran.code, 2, "{ran:?}");
    }
    let ran = bench(&desk, &["--comparator", "fifo", "--margin", "0.1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let manifest = desk.json("run/manifest.json");
    assert_eq!((&manifest["comparator"], &manifest["margin"]), (&"fifo".into(), &0.1.into()));
    desk.good(&["report", "run", "--margin", "0.2"]);
    assert_eq!(desk.json("run/manifest.json")["margin"], 0.2);
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

fn mine(desk: &Desk, input: &str, out: &str, more: &[&str]) -> Ran {
    // No question is asked: that is the slow part.
    let common = ["replay", input, "--quiet", "--strategy", "mine.toml", "--out", out];
    desk.recap(&[&common[..], more].concat())
}

#[test]
fn run_is_unchanged_against_own_folder_or_file() {
    let desk = Desk::new();
    keeps(&desk, 20);
    assert_eq!(mine(&desk, "quickstart", "base", &[]).code, 0);
    let rules =
        ["tokens_sent > baseline", "cost_usd > baseline * 1.1", "tokens_sent > baseline + 5%"];
    let rules = rules.map(|rule| ["--fail-on", rule]).concat();
    for baseline in ["base", "base/baseline.json"] {
        let gate = [&["--baseline", baseline], &rules[..]].concat();
        let ran = mine(&desk, "quickstart", "run", &gate);
        assert_eq!(ran.code, 0, "{ran:?}");
        let actual = desk.json("run/gate.json");
        let reason = actual["rules"][0]["checks"][0]["reason"].as_str().unwrap();
        assert!(reason.ends_with("unchanged in 6 sessions"), "{reason}");
        let name = baseline.rsplit('/').next().unwrap();
        assert_eq!(actual["baseline"], name, "a name and no path");
    }
    assert_eq!(desk.read("base/baseline.json"), desk.read("run/baseline.json"));
}

#[test]
fn worse_strategy_fails_and_undecided_one_is_reported() {
    let desk = Desk::new();
    keeps(&desk, 4);
    assert_eq!(mine(&desk, "quickstart", "base", &[]).code, 0);
    keeps(&desk, 60);
    assert_eq!(mine(&desk, "quickstart", "run", &[]).code, 0);
    let report = |rules: &[&str]| {
        let common = ["report", "run", "--format", "json", "--baseline", "base/baseline.json"];
        desk.recap(&[&common, rules].concat())
    };
    let ran = report(&["--fail-on", "tokens_sent > baseline + 5%"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains(" over 6 sessions; +"), "{}", ran.out);
    assert!(desk.read("run/summary.json").contains("\"failed\""));
    // It overflows as little as before: unchanged, or fewer.
    let ran = report(&["--fail-on", "token_savings > baseline + 0.5"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    // A total decides up to its last token; a share is left open at the difference itself, and
    // the policy decides.
    let difference = |rule: &str| {
        report(&["--fail-on", rule]);
        let gate = desk.json("run/gate.json");
        let check = &gate["rules"][0]["checks"][0];
        check["value"].as_f64().unwrap() - check["baseline"].as_f64().unwrap()
    };
    let more = difference("tokens_sent > baseline");
    for (allowed, code) in [(more - 1.0, 1), (more + 1.0, 0)] {
        let ran = report(&["--fail-on", &format!("tokens_sent > baseline + {allowed}")]);
        assert_eq!(ran.code, code, "{allowed}: {ran:?}");
    }
    // What changed is named, also where it may.
    let allowed = report(&["--fail-on", "tokens_sent > baseline * 1000"]);
    let line = "  passed    tokens_sent > baseline * 1000 · mine · 50% · quickstart: ";
    assert!(allowed.code == 0 && allowed.out.contains(line), "{allowed:?}");
    let less = difference("token_savings < baseline - 0.5");
    let open = format!("token_savings < baseline - {}", 0.001 - less);
    for (policy, code) in
        [(&[][..], 3), (&["--undecided", "pass"][..], 0), (&["--undecided", "fail"][..], 1)]
    {
        let ran = report(&[&["--fail-on", open.as_str()], policy].concat());
        assert_eq!(ran.code, code, "{policy:?}: {ran:?}");
        assert!(ran.out.contains("undecided token_savings"), "{}", ran.out);
    }
}

/// Two bundled sessions, cut at three places each.
fn cut(desk: &Desk, out: &str, more: &[&str]) -> Ran {
    let sessions = ["bench", "quickstart", "--limit", "2", "--quiet", "--strategy", "mine.toml"];
    let options = ["--cuts", "3", "--depth", "1", "--out", out];
    desk.recap(&[&sessions[..], &options, more].concat())
}

#[test]
fn facts_kept_is_gated_against_number_and_baseline() {
    let desk = Desk::new();
    keeps(&desk, 240);
    assert_eq!(cut(&desk, "base", &[]).code, 0);
    keeps(&desk, 60);
    let baseline = ["--baseline", "base/baseline.json"];
    let rule = ["--fail-on", "facts_kept < baseline - 0.02"];
    let ran = cut(&desk, "run", &[&baseline[..], &rule].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.contains("on these sessions only (2 sessions); -0.02 is allowed"), "{ran:?}");
    let report = |rule: &str| {
        let baseline = if rule.contains("baseline") { &baseline[..] } else { &[] };
        desk.recap(&[&["report", "run", "--format", "json", "--fail-on", rule], baseline].concat())
    };
    for (rule, code) in [
        ("facts_kept@mine < 0.5", 1),
        ("facts_kept < 1%", 0),
        ("tokens_at_cut > 50%", 0),
        ("tokens_at_cut > baseline", 0),
        ("carried_share < baseline", 0),
        // It would allow more than everything.
        ("facts_kept < baseline - 0.9", 0),
        ("added_at_cut < 0", 3),
    ] {
        let ran = report(rule);
        assert_eq!(ran.code, code, "{rule}: {ran:?}");
    }
}

#[test]
fn baseline_needs_same_cuts_and_figure_needs_any() {
    let desk = Desk::new();
    keeps(&desk, 20);
    let run = |out: &str, cuts: &[&str], more: &[&str]| {
        mine(&desk, &session(), out, &[cuts, more].concat())
    };
    let twice = ["--cuts", "2", "--depth", "1"];
    assert_eq!(run("base", &twice, &[]).code, 0);
    let rule = ["--baseline", "base/baseline.json", "--fail-on", "facts_kept < baseline"];
    assert_eq!(run("same", &twice, &rule).code, 0);
    let ran = run("other", &["--cuts", "3", "--depth", "3"], &rule);
    assert_eq!(ran.code, 2, "{ran:?}");
    let actual = "it was made with `--cuts 2 --depth 1`, this run with `--cuts 3 --depth 3`: the \
                cuts differ, so that `facts_kept` has no counterpart";
    assert!(ran.err.contains(actual) && !desk.path("other").exists(), "{ran:?}");
    // Other measures are none of their business.
    let sizes = ["--baseline", "base/baseline.json", "--fail-on", "tokens_sent > baseline"];
    let none = run("none", &["--cuts", "none"], &sizes);
    assert_eq!(none.code, 0, "{none:?}");
    let ran = desk.recap(&["report", "none", "--fail-on", "facts_kept < 0.5"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("no session of it was cut"), "{ran:?}");
}

#[test]
fn single_session_gates_requests_and_claims_nothing_more() {
    let desk = Desk::new();
    let window = ["--window", "25%"];
    keeps(&desk, 60);
    assert_eq!(mine(&desk, &session(), "base", &window).code, 0);
    keeps(&desk, 4);
    let rules = ["--baseline", "base", "--fail-on", "reference_recall < baseline - 0.05"];
    let ran = mine(&desk, &session(), "run", &[&window[..], &rules].concat());
    assert_eq!(ran.code, 3, "a loss at 17 requests is not sure: {ran:?}");
    assert!(ran.out.contains("on these sessions only (1 session)"), "{}", ran.out);
    let back = ["--baseline", "run", "--fail-on", "tokens_sent > baseline + 1%"];
    keeps(&desk, 60);
    let ran = mine(&desk, &session(), "again", &[&window[..], &back].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    // A measure without a figure for each request is left open where it is worse.
    let ran = desk.recap(&[
        "report",
        "again",
        "--baseline",
        "run/baseline.json",
        "--fail-on",
        "peak_tokens > baseline",
    ]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("too few for an interval"), "{}", ran.out);
}

#[test]
fn foreign_baseline_is_refused_by_name_before_running() {
    let desk = Desk::new();
    keeps(&desk, 20);
    assert_eq!(mine(&desk, &session(), "base", &["--strategy", "fifo"]).code, 0);
    let base = desk.read("base/baseline.json");
    let refuse = |more: &[&str], actual: &str| {
        let common = ["replay", &session(), "--quiet", "--strategy", "mine.toml"];
        let rule = ["--baseline", "base/baseline.json", "--fail-on", "cost_usd > baseline * 1.1"];
        let error = desk.refused(&[&common[..], &rule, more].concat());
        assert!(error.contains(actual), "`{actual}` is missing in {error}");
    };
    refuse(&["--window", "16k"], "no row of `mine` at `16k`");
    refuse(&["--strategy", "prune"], "no row of `prune`");
    refuse(&["--tokens", "exact"], "tokens are counted by");
    refuse(&["--agent-model", "claude-opus-4-6"], "prices, or who is billed, differ");
    refuse(&["quickstart"], "only this run has the session");
    let own = format!("\"instrument\":{}", recap_core::model::INSTRUMENT);
    desk.file("base/baseline.json", base.replacen(&own, "\"instrument\":4", 1));
    refuse(&[], "version 4 of the instrument");
    desk.file("base/baseline.json", "{}");
    refuse(&[], "it is no baseline.json");
    // Other words of the same sessions are seen once they are measured.
    desk.file("base/baseline.json", base.replacen("\"content\":\"", "\"content\":\"0", 1));
    let rule = ["--baseline", "base/baseline.json", "--fail-on", "cost_usd > baseline"];
    let ran = mine(&desk, &session(), "run", &rule);
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("the messages of"), "{}", ran.err);
    // A baseline that no rule refers to is a mistake.
    let idle = ["--baseline", "base/baseline.json", "--fail-on", "overflows > 0"];
    let error = desk.refused(&[&["bench", "--strategy", "fifo"], &idle[..]].concat());
    assert!(error.contains("no rule refers to the baseline"), "{error}");
}

#[test]
fn failed_cell_leaves_only_its_row_without_finding() {
    let desk = Desk::with_sessions();
    // Cuts a result from its call: the cell fails.
    keeps(&desk, 1);
    let broken = desk.read("mine.toml").replace("keep_pairs = true", "keep_pairs = false");
    desk.file("mine.toml", broken);
    let run = |rules: &[&str]| {
        let common = ["bench", "pi.jsonl", "--quiet", "--out", "run", "--strategy", "mine.toml"];
        desk.recap(&[&common[..], &["--strategy", "fifo"], rules].concat())
    };
    let ran = run(&["--fail-on", "tokens_sent@mine > 1"]);
    assert_eq!(ran.code, 3, "never a failure on an incomplete row: {ran:?}");
    assert!(ran.out.contains("missing   tokens_sent@mine > 1") && ran.out.contains("1 cell of"));
    let ran = run(&["--fail-on", "tokens_sent@fifo > 1"]);
    assert_eq!(ran.code, 1, "a complete row is measured: {ran:?}");
    let ran = run(&["--fail-on", "tokens_sent@fifo > 100M"]);
    assert_eq!(ran.code, 3, "what passed does not make the run whole: {ran:?}");
    let ran = desk.recap(&["report", "run", "--fail-on", "tokens_sent@fifo > 100M"]);
    assert_eq!(ran.code, 3, "{ran:?}");
}

/// In a workflow of GitHub what did not pass is an annotation: on standard error, one line each.
#[test]
fn workflow_is_annotated_with_what_did_not_pass() {
    let desk = Desk::new();
    let rules = ["--fail-on", "reference_recall < 95%", "--fail-on", "recall < 0.5"];
    let run = ["bench", &session(), "--json", "--out", "run", "--strategy", "fifo"];
    let workflow = [("GITHUB_ACTIONS", "true")];
    let ran = desk.recap_with(&workflow, &[&run[..], &rules].concat());
    assert_eq!(ran.code, 1, "{ran:?}");
    let lines: Vec<&str> = ran.err.lines().collect();
    let [failed, missing] = lines[..] else { panic!("{ran:?}") };
    let row = "fifo · 50%25 · invoice-export: ";
    let start = format!("::error::gate failed: reference_recall < 95%25 · {row}0.");
    assert!(failed.starts_with(&start) && failed.ends_with(" is below 0.95"), "{failed}");
    let start = format!("::warning::gate missing: recall < 0.5 · {row}no figure: ");
    assert!(missing.starts_with(&start), "{missing}");
    serde_json::from_str::<serde_json::Value>(&ran.out).unwrap();
    // A name with a line end forges no command.
    let name = "a\n::error::forged\r::error::too.jsonl";
    let ran = desk.recap_with(&workflow, &["bench", name]);
    assert_eq!(ran.code, 2, "{ran:?}");
    let commands = ran.err.lines().filter(|line| line.trim_start().starts_with("::")).count();
    assert!(ran.err.starts_with("::error::") && commands == 1, "{ran:?}");
    let ran = desk.recap_with(&[], &["bench", name]);
    assert!(ran.err.starts_with("error: "), "{ran:?}");
}
