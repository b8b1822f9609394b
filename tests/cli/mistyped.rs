//! A name that is not known is answered with the one that was perhaps meant.

use crate::desk::{Desk, session};

#[test]
fn mistyped_name_gets_intended_one_suggested() {
    let desk = Desk::with_run(&["--strategy", "fifo", "--cuts", "none"]);
    let copied = desk.good(&["bench", &session(), "--quiet", "--out", "b", "--strategy", "prune"]);
    assert_eq!(copied.code, 0);
    desk.file("mine.toml", desk_strategy("fifa")).file("gone.toml", desk_strategy("fifo"));
    desk.file("settings.toml", "stratgy = [\"fifo\"]\n");
    let session = session();
    for (arguments, meant) in [
        (&["bench", "--strategy", "slidingwindow"][..], "`sliding-window`"),
        (&["show", &session, "--strategy", "prunne"], "`prune`"),
        (&["strategies", "show", "gencod"], "`gencode`"),
        (&["strategies", "check", "mine.toml"], "`fifo`"),
        (&["bench", "--set", "lis.recovery=sesions"], "`sessions`"),
        (&["bench", "quickstrat"], "`quickstart`"),
        (&["datasets", "show", "quikstart"], "`quickstart`"),
        (&["models", "show", "claude-haiku-55"], "haiku-5-5"),
        (&["bench", "--answerer", "opnai/gpt-5.4"], "`openai`"),
        (&["bench", "--answerer", "openai/m?temprature=0"], "`temperature`"),
        (&["import", "claud-code", "x", "-o", "new"], "`claude-code`"),
        (&["bench", "--format", "jsn"], "`json`"),
        (&["bench", "--comparator", "fifi"], "`fifo`"),
        (&["bench", "--config", "settings.toml"], "`strategy`"),
        (
            &["show", "quickstart", "--session", "parcel-servce", "--strategy", "fifo"],
            "`parcel-service`",
        ),
        (&["report", "run", "--fail-on", "facts_keep < 1"], "`facts_kept`"),
        (&["report", "run", "--fail-on", "facts_kept@fifu < 1"], "`fifo`"),
        (&["report", "run", "--fail-on", "continuity[fct] < 1"], "`fact`"),
        (&["report", "run", "--fail-on", "facts_kept at 51% < 1"], "`50%`"),
        (
            &["compare", "run", "b", "--strategy", "fifa=prune"],
            "A has no `fifa`: did you mean `fifo`?",
        ),
    ] {
        let ran = desk.recap(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:?}");
        let actual = ran.err.contains("did you mean") && ran.err.contains(meant);
        assert!(actual, "{arguments:?}: {}", ran.err);
    }
}

#[test]
fn unknown_billing_model_is_refused_with_intended_one() {
    let desk = Desk::with_sessions();
    let own = r#"{"my-own-model": {"input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6}}"#;
    desk.file("prices.json", own);
    let run = ["replay", "pi.jsonl", "--quiet", "--out", "run", "--strategy", "full"];
    let run = |more: &[&str]| desk.recap(&[&run[..], more].concat());
    for (model, help) in [
        ("gpt-5.4-mimi", "help: did you mean gpt-5.4-mini"),
        ("my-own-model", "help: --prices takes a list that has a model of your own"),
    ] {
        let ran = run(&["--agent-model", "gpt-5.4", "--agent-model", model]);
        ran.is_refused();
        let error = format!("error: --agent-model: no price is known for `{model}`\n{help}");
        assert!(ran.err.contains(&error) && !desk.path("run").exists(), "{ran:?}");
    }
    let ran = run(&["--agent-model", "my-own-model", "--prices", "prices.json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

#[test]
fn misspelt_variable_is_refused() {
    let desk = Desk::new();
    let ran = desk.recap_with(&[("RECAP_FAIL_IN", "recall < 1")], &["bench", "--dry-run"]);
    ran.is_refused();
    assert!(
        ran.err.contains("RECAP_FAIL_IN: no such setting\nhelp: did you mean `RECAP_FAIL_ON`?")
    );
    let theirs = [("RECAP_REPOSITORY", "x"), ("RECAP_FAIL_IN", "")];
    assert_eq!(desk.recap_with(&theirs, &["bench", "--dry-run"]).code, 0);
}

/// A help is of use to whoever installed the program: what it proposes works, and what it names is
/// there.
#[test]
fn help_proposes_what_works() {
    let desk = Desk::with_sessions();
    let set = |key: &str| desk.recap(&["bench", "--set", &format!("{key}=5"), "--dry-run"]);
    let refused = set("arachne.when.and_over");
    let proposed =
        refused.err.split("is missing: write ").nth(1).and_then(|rest| rest.lines().next());
    let proposed = format!("arachne.{}", proposed.unwrap_or_else(|| panic!("{refused:?}")));
    assert_eq!(set(&proposed).code, 0, "{proposed}");
    desk.file("empty/a.txt", "x").file("a.json", "{\"a\": 1}");
    for (arguments, says) in [
        (&["bench", "empty"][..], "(1 file looked at"),
        (&["bench", "a.json"], "as `recap import FORMAT FILE -o DIR` does"),
        (&["questions", "check", "pi.jsonl"], "`recap questions generate INPUT` prints some"),
    ] {
        let ran = desk.recap(arguments);
        assert!(ran.code != 0 && ran.err.contains(says), "{arguments:?}: {}", ran.err);
        let help =
            ran.err.split("help: ").nth(1).unwrap_or_else(|| panic!("{arguments:?}: {ran:?}"));
        assert!(!help.contains(".schema.json") && !help.contains("docs/"), "{help}");
    }
}

#[test]
fn a_list_of_names_stays_short() {
    let ran = Desk::new().refused(&["bench", "--strategy", "xyzzy"]);
    assert!(ran.contains("known are `anchored-summary`") && ran.contains(" more"), "{ran}");
    assert!(ran.contains("`recap strategies list` names all"), "{ran}");
    assert!(ran.lines().all(|line| line.len() < 400), "{ran}");
}

/// A strategy of one stage.
fn desk_strategy(mechanism: &str) -> String {
    format!(
        "version = 1\nname = \"mine\"\nsummary = \"s\"\nsource = \"own\"\n\n[[stage]]\n\
         mechanism = \"{mechanism}\"\nat = \"request\"\nwhen = {{ above = \"window\", share = 0.9 }}\n"
    )
}
