//! `recap init`: what it writes runs, parses, and never overwrites anything.

use std::path::Path;

use serde_json::Value as Json;

use crate::desk::{Desk, fixture, session};
use crate::recordings::shared;

const WORKFLOW: &str = ".github/workflows/recap.yml";

fn yaml(desk: &Desk) -> Json {
    serde_saphyr::from_str(&desk.read(WORKFLOW)).unwrap()
}

#[test]
fn written_files_are_listed_and_run_at_once() {
    let desk = Desk::new();
    let ran = desk.good(&["init"]);
    let wrote = format!("wrote recap.toml\nwrote {WORKFLOW}\n");
    assert!(
        ran.out.starts_with(&wrote) && ran.last().starts_with("next: recap bench (the first run"),
        "{}",
        ran.out
    );
    let ran = desk.good(&["bench", "--out", "run"]);
    assert!(ran.err.contains("settings of recap.toml"), "{}", ran.err);
    assert!(ran.out.contains("quickstart: 6 sessions"), "{}", ran.out);
    for file in ["report.md", "junit.xml", "report.html"] {
        assert!(desk.list("run").contains(&file.to_owned()), "{file}");
    }
}

#[test]
fn every_setting_that_it_proposes_is_one() {
    let desk = Desk::new();
    desk.good(&["init"]);
    // What stands behind `# key =` holds if the mark is taken away.
    let text = desk.read("recap.toml");
    let open: String = text
        .lines()
        .map(|line| match line.strip_prefix("# ").filter(|rest| rest.contains(" = ")) {
            Some(rest) => format!("{rest}\n"),
            None => format!("{line}\n"),
        })
        .collect();
    assert_ne!(open, text);
    desk.file("open.toml", open);
    let ran = desk.recap(&["bench", "--config", "open.toml", "--dry-run", "--strategy", "full"]);
    assert!(!ran.err.contains("open.toml:"), "{}", ran.err);
}

#[test]
fn the_settings_and_the_workflow_are_these() {
    let desk = Desk::with_sessions();
    desk.good(&["init", "./pi.jsonl", "--comment"]);
    let golden = |name: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/init");
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        text.replace("VERSION", env!("CARGO_PKG_VERSION"))
    };
    assert_eq!(desk.read("recap.toml"), golden("recap.toml"));
    assert_eq!(desk.read(WORKFLOW), golden("recap.yml"));
}

#[test]
fn no_file_is_overwritten_unless_forced() {
    let desk = Desk::new();
    desk.file(WORKFLOW, "mine");
    let error = desk.refused(&["init"]);
    assert!(error.contains(&format!("{WORKFLOW} exists already")), "{error}");
    assert_eq!(desk.read(WORKFLOW), "mine");
    assert!(!desk.path("recap.toml").exists(), "all or nothing");
    desk.good(&["init", "--force"]);
    assert!(desk.read(WORKFLOW).contains("recap bench"));
}

#[test]
fn input_is_read_first_and_any_name_quoted() {
    let desk = Desk::new();
    let error = desk.refused(&["init", "absent.jsonl"]);
    assert!(error.contains("no such file"), "{error}");
    let error = desk.refused(&["init", "-"]);
    assert!(error.contains("standard input"), "{error}");
    let name = "it's \"}}\" ${{ x }} \\.jsonl";
    std::fs::copy(fixture("pi.jsonl"), desk.path(name)).unwrap();
    desk.good(&["init", name]);
    let settings: toml::Table = desk.read("recap.toml").parse().unwrap();
    assert_eq!(settings["inputs"].as_array().unwrap()[0].as_str(), Some(name));
    assert!(!desk.read(WORKFLOW).contains("${{ x }}"));
    desk.good(&["bench", "--out", "run"]);
    let outside = fixture("pi.jsonl").display().to_string();
    let ran = desk.good(&["init", "--force", &outside]);
    assert!(ran.out.contains("lies outside this folder"), "{}", ran.out);
}

/// The rules of the settings that are on, and those that are not.
fn rules(desk: &Desk) -> (Vec<String>, String) {
    let text = desk.read("recap.toml");
    let settings: toml::Table = text.parse().unwrap();
    let on = settings["fail-on"].as_array().unwrap().iter().map(|rule| rule.as_str().unwrap());
    (on.map(str::to_owned).collect(), text)
}

const KEPT: &str = "reference_recall < baseline - 0.05";
const BILL: &str = "cost_usd > baseline * 1.1";
const SENT: &str = "tokens_sent > baseline * 1.1";
const REFUSED: &str = "overflows > baseline";

/// A strategy of the user's that drops the oldest messages above a share of the window.
fn drops_above(desk: &Desk, share: &str, more: &str) {
    let strategy = format!(
        "version = 1\nname = \"mine\"\nsummary = \"x\"\nsource = \"x\"\n{more}[[stage]]\nmechanism = \"fifo\"\n\
         at = \"request\"\nunit = \"message\"\nwhen = {{ above = \"window\", share = {share} }}\n"
    );
    desk.file("mine.toml", strategy);
}

#[test]
fn first_run_sets_baseline_and_regression_fails() {
    let desk = Desk::new();
    desk.good(&["init", &session()]);
    let (on, text) = rules(&desk);
    desk.file("recap.toml", text.replace("[\"fifo\"]", "[\"mine.toml\"]"));
    drops_above(&desk, "0.4", "");
    assert_eq!(on, [KEPT, BILL, REFUSED]);
    assert!(text.contains("window = [\"50%\"]"), "{text}");
    let first = desk.good(&["bench", "--quiet", "--out", "first"]);
    let made = "wrote recap-baseline.json, which later runs are compared with: commit it\n";
    assert!(first.err.contains(made), "{}", first.err);
    assert!(
        first.out.contains("gate against recap-baseline.json, made by this run: unchecked; 0 of 3")
    );
    let baseline = desk.read("recap-baseline.json");
    assert_eq!(baseline, desk.read("first/baseline.json"));

    let second = desk.good(&["bench", "--quiet", "--out", "second"]);
    assert!(second.out.contains("gate against recap-baseline.json: passed; 3 of 3"), "{second:?}");
    // Without a cache it costs more, and a lower threshold keeps less: neither shows at
    // cuts, where a compaction is forced.
    for (share, more, rule) in [("0.4", "cache_breakpoints = []\n", BILL), ("0.2", "", KEPT)] {
        drops_above(&desk, share, more);
        let ran = desk.recap(&["bench", "--quiet", "--out", "changed"]);
        assert_eq!(ran.code, 1, "{share}: {ran:?}");
        assert!(ran.out.contains(&format!("failed    {rule}")), "{share}: {}", ran.out);
    }
    assert_eq!(desk.read("recap-baseline.json"), baseline, "it is made once");
}

/// A run that makes its own baseline compares nothing, which in CI is a mistake.
#[test]
fn gate_without_its_baseline_is_an_error_in_ci() {
    let desk = Desk::new();
    desk.good(&["init", &session()]);
    let ci = [("CI", "true")];
    for command in [&["bench", "--out", "it's a run"][..], &["bench", "--strategy", "fifo"]] {
        let before = desk.list(".");
        let ran = desk.recap_with(&ci, command);
        assert_eq!((ran.code, desk.list(".")), (2, before), "nothing ran: {ran:?}");
        let error = "error: the baseline recap-baseline.json is not there, so that in CI";
        assert!(ran.err.contains(error), "{}", ran.err);
    }
    let ran = desk.recap_with(&ci, &["bench", "--out", "it's a run"]);
    let help = r"commit it: CI= recap bench --out 'it'\''s a run' && git add recap-baseline.json";
    assert!(ran.err.contains(help), "{}", ran.err);
    let first = desk.recap_with(&[("CI", "false")], &["bench", "--quiet", "--out", "run"]);
    assert_eq!(first.code, 0, "{first:?}");
    for text in [&first.out, &desk.read("run/report.md"), &desk.read("run/junit.xml")] {
        assert!(text.contains("nothing was compared: this run makes the baseline"), "{text}");
        assert!(!text.contains("gate passed") && !text.contains(": passed"), "{text}");
    }
    let second = desk.recap_with(&ci, &["bench", "--quiet"]);
    assert!(second.code == 0 && second.out.contains(": passed; 3 of 3 checks"), "{second:?}");
    let asked = Desk::new();
    let ran = asked.recap_with(&ci, &["init", &session(), "--baseline"]);
    assert!(ran.code == 0 && asked.path("recap-baseline.json").exists(), "{ran:?}");
}

/// Rules that are typed replace those of the settings, with the baseline where they need none.
#[test]
fn finished_run_is_gated_in_an_initiated_folder() {
    let desk = Desk::new();
    desk.good(&["init", &session()]);
    desk.good(&["bench", "--quiet", "--out", "run"]);
    let rules = [("RECAP_FAIL_ON", "tokens_sent < 1")];
    for (variables, typed, code, found) in [
        (&[][..], &["--fail-on", "tokens_sent > 1"][..], 1, "gate: failed; 0 of 1"),
        (&[], &["--fail-on", "tokens_sent < 1"], 0, "gate: passed; 1 of 1"),
        (&[], &["--fail-on", "cost_usd > baseline"], 0, "gate against recap-baseline.json: passed"),
        (&[], &[], 0, "gate against recap-baseline.json: passed; 3 of 3"),
        (&rules, &[], 0, "gate: passed; 1 of 1"),
    ] {
        let ran = desk.recap_with(variables, &[&["report", "run"], typed].concat());
        assert!(ran.code == code && ran.out.contains(found), "{typed:?}: {ran:?}");
    }
    let idle = ["--fail-on", "tokens_sent > 1", "--baseline", "recap-baseline.json"];
    let ran = desk.recap(&[&["report", "run"], &idle[..]].concat());
    assert!(ran.code == 2 && ran.err.contains("no rule refers to the baseline"), "{ran:?}");
}

#[test]
fn requested_baseline_is_made_at_once() {
    let desk = Desk::new();
    let ran = desk.good(&["init", &session(), "--baseline"]);
    assert!(ran.err.contains("wrote recap-baseline.json"), "{ran:?}");
    let again = desk.good(&["bench", "--quiet"]);
    assert!(again.out.contains("gate against recap-baseline.json: passed"), "{again:?}");
}

#[test]
fn rule_typo_is_refused_with_or_without_baseline() {
    let desk = Desk::new();
    desk.good(&["init", &session()]);
    let written = desk.read("recap.toml");
    for made in [false, true] {
        for (rule, typo, actual) in [
            (BILL, "cost_us > baseline * 1.1", "`cost_us` is no measure"),
            (BILL, "cost_usd@fife > baseline * 1.1", "the run has no strategy `fife`"),
            (REFUSED, "overflows > base", "a number, or `baseline`, is missing"),
        ] {
            desk.file("recap.toml", written.replace(rule, typo));
            let ran = desk.recap(&["bench", "--out", "run"]);
            assert!(ran.code == 2 && ran.err.contains(actual), "{made} {typo}: {ran:?}");
            assert!(!desk.path("run").exists(), "nothing ran");
        }
        assert_eq!(desk.path("recap-baseline.json").exists(), made);
        desk.file("recap.toml", &written);
        desk.good(&["bench", "--quiet", "--out", "other"]);
    }
    // A folder that is not there is a typo as well, and so is a run that is none.
    for path in ["none/recap-baseline.json", "none"] {
        let ran = desk.recap(&["bench", "--out", "run", "--baseline", path]);
        assert!(ran.code == 2 && ran.err.contains(&format!("error: {path}")), "{ran:?}");
    }
}

#[test]
fn incomplete_run_makes_no_baseline() {
    let desk = Desk::new();
    let breaks = "version = 1\nname = \"mine\"\nsummary = \"x\"\nsource = \"x\"\n[[stage]]\n\
                  mechanism = \"command\"\nat = \"request\"\nwhen = \"always\"\n\
                  command = [\"false\"]\n";
    desk.file("mine.toml", breaks);
    let rule = ["--fail-on", SENT, "--baseline", "made.json"];
    let run = ["bench", &session(), "--quiet", "--out", "run", "--strategy", "mine.toml"];
    let ran = desk.recap(&[&run[..], &rule].concat());
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("warning: made.json was not made"), "{}", ran.err);
    assert!(!desk.path("made.json").exists());
}

#[test]
fn written_rules_match_figures_sessions_have() {
    let desk = Desk::with_sessions();
    // A model that no list has.
    desk.good(&["init", "pi.jsonl"]);
    let (on, text) = rules(&desk);
    assert_eq!(on, [SENT, REFUSED], "few references, and no price");
    assert!(text.contains("(unknown here: a session's model has no price; --prices"), "{text}");
    desk.file("pi.jsonl", desk.read("pi.jsonl").replace("claude-x", "claude-opus-4-5"));
    desk.good(&["init", "--force", "pi.jsonl"]);
    let (on, text) = rules(&desk);
    assert_eq!(on, [BILL, REFUSED]);
    assert!(text.contains("window = [\"native\"]"), "{text}");
    // Questions say more than references.
    desk.good(&["init", "--force"]);
    assert_eq!(rules(&desk).0, ["continuity < baseline - 5", BILL, REFUSED]);
    // Whatever the sessions, the first run passes.
    for (at, input) in ["pi.jsonl", "opencode.json", "openai-chat.json"].iter().enumerate() {
        desk.good(&["init", "--force", input]);
        let run = format!("run-{at}");
        desk.good(&["bench", "--quiet", "--out", &run]);
        std::fs::remove_file(desk.path("recap-baseline.json")).unwrap();
    }
    // Both at once: each data set keeps its own window.
    desk.file("other/chat.json", desk.read("openai-chat.json"));
    desk.good(&["init", "--force", "pi.jsonl", "other"]);
    assert!(rules(&desk).1.contains("\n# window = [\"native\"]"));
}

#[test]
fn recap_installs_from_repository_not_registry() {
    let desk = Desk::new();
    let ran = desk.good(&["init"]);
    let step_of = |desk: &Desk, at: usize| yaml(desk)["jobs"]["recap"]["steps"][at].clone();
    assert_eq!(yaml(&desk)["permissions"], serde_json::json!({"contents": "read"}));
    let key = "recap-calls-${{ hashFiles('recap.toml', 'strategies/**') }}";
    assert_eq!(step_of(&desk, 3)["with"]["key"], key);
    let step = step_of(&desk, 2);
    assert_eq!(step["env"]["SOURCE"], "${{ vars.RECAP_REPOSITORY }}");
    let run = step["run"].as_str().unwrap();
    assert!(run.starts_with("cargo install --locked --git \"${SOURCE:?"), "{run}");
    assert!(run.ends_with("\" recap-bench") && !run.contains("recap-bench@"), "{run}");
    assert!(ran.out.contains("note: recap is in no registry: give --source URL"), "{}", ran.out);
    let ran = desk.good(&["init", "--force", "--source", "https://example.com/you/recap"]);
    assert!(!ran.out.contains("note:"), "{}", ran.out);
    let run = "cargo install --locked --git https://example.com/you/recap recap-bench";
    assert_eq!(step_of(&desk, 2)["run"], run);
}

#[test]
fn written_gate_passes_recordings_from_first_run() {
    for name in [
        "codex-rollouts/agentcmd-rollout-2025-09-24T20-12-23.jsonl",
        "claude-code-sessions/ae68c513-db90-451f-940d-804a1d3d0986.jsonl",
    ] {
        let Some(recording) = shared(&format!("data/{name}")) else { return };
        let desk = Desk::new();
        desk.good(&["init", recording.to_str().unwrap()]);
        let (on, text) = rules(&desk);
        assert!(text.contains("window = [\"native\"]"), "{text}");
        assert!(!on.is_empty(), "{name}: {text}");
        for out in ["first", "second"] {
            desk.good(&["bench", "--quiet", "--out", out]);
        }
    }
}
