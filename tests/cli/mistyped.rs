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
        (&["bench", "--set", "prune.protekt=1"], "`protect`"),
        (&["bench", "--set", "lis.recovery=sesions"], "`sessions`"),
        (&["bench", "quickstrat"], "`quickstart`"),
        (&["datasets", "show", "quikstart"], "`quickstart`"),
        (&["models", "show", "claude-opus-4-6x"], "claude-opus-4-6"),
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
fn unpriced_billing_model_gets_intended_one_suggested() {
    let desk = Desk::with_sessions();
    let model = ["--agent-model", "gpt-5.4-mimi", "--agent-model", "my-own-model"];
    let run = ["replay", "pi.jsonl", "--quiet", "--out", "run", "--strategy", "full"];
    let ran = desk.good(&[&run[..], &model].concat());
    let actual = ran.out.replace("\n ", " ");
    assert!(actual.contains("did you mean gpt-5.4-mini"), "{actual}");
    assert_eq!(actual.matches("did you mean").count(), 1, "{actual}");
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
