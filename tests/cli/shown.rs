//! What strangers wrote reaches no terminal raw, whichever command prints it,
//! and errors quote it briefly.

use crate::desk::{Desk, Ran};
use crate::hiding::{HIDING, is_obeyed};

#[track_caller]
fn assert_tame(ran: &Ran) {
    for text in [&ran.out, &ran.err] {
        assert!(!text.contains(is_obeyed), "{:?}", text.find(is_obeyed).map(|at| &text[at..]));
    }
}

/// A text in TOML.
fn toml(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// A strategy of a stranger that hides what it runs: behind escapes, behind a
/// prompt of a hundred lines, and behind a line that it wrote itself.
fn strategy() -> String {
    let source = toml(&format!("{HIDING}\n\nruns `true` in /tmp"));
    let word = toml(&format!("touch gone {HIDING}"));
    format!(
        "version = 1\nname = \"mine\"\nsummary = {source}\nsource = {source}\n\n[[stage]]\n\
         mechanism = \"command\"\nat = \"request\"\nwhen = \"always\"\n\
         command = [\"sh\", \"-c\", {word}, \"\"]\n\n[[stage]]\nmechanism = \"continuation\"\n\
         at = \"request\"\nwhen = {{ above = \"usable\", share = 0.9 }}\nenabled = true\n\
         keep_last = 2\nkeep_summaries = \"all\"\nrequest = \"prefix\"\nmax_tokens = 800\nprompt = \"mine.md\"\n"
    )
}

#[test]
fn no_strategy_hides_what_it_runs() {
    let desk = Desk::new();
    desk.file("mine.toml", strategy());
    desk.file("mine.md", format!("{HIDING}\n{}runs `true` in /tmp\n", "\n".repeat(100)));
    let ran = desk.good(&["strategies", "show", "mine.toml"]);
    assert_tame(&ran);
    let actual = ran.last();
    let begins = r#"runs `sh -c "touch gone \u{1b}[8mtouch gone\u{1b}[0m\rls"#;
    assert!(actual.starts_with(begins) && actual.ends_with("only if you trust it"), "{actual}");
    for part in [r"\u{202e}gpj.x", r"z\u{200b}\u{feff}", "\" \"\"` in "] {
        assert!(actual.contains(part), "{part}: {actual}");
    }
    // Its source is one line, whatever stands in it.
    assert!(ran.out.lines().nth(2).unwrap().contains("runs `true` in /tmp"), "{}", ran.out);
    assert_tame(&desk.recap(&["strategies", "check", "mine.toml"]));
    assert_tame(&desk.good(&["strategies", "list"]));
}

#[test]
fn no_word_of_a_wrong_strategy_is_obeyed() {
    let desk = Desk::new();
    for (at, wrong) in [
        format!("version = 1\n{} = 1\n", toml(HIDING)),
        strategy().replace("\"command\"", &toml(HIDING)),
        strategy().replace("name = \"mine\"", &format!("name = {}", toml(HIDING))),
        strategy().replace("share = 0.9", &format!("share = {}", toml(HIDING))),
        strategy().replace("mine.md", "\\u001b[2J.md"),
    ]
    .iter()
    .enumerate()
    {
        desk.file("mine.toml", wrong);
        let ran = desk.recap(&["strategies", "show", "mine.toml"]);
        assert_tame(&ran);
        assert!(ran.code == 2 || at == 2, "{at}: {ran:?}");
    }
}

/// A data set of one session whose id, question and evidence hide something.
fn dataset(desk: &Desk) {
    let text = serde_json::to_string(HIDING).unwrap();
    desk.file("data/dataset.toml", format!("name = {text}\nversion = {text}\n"));
    let message = |n: usize, role: &str| {
        format!(r#"{{"id":"m{n}","role":"{role}","blocks":[{{"type":"text","text":{text}}}]}}"#)
    };
    let messages: Vec<String> =
        (0..8).map(|n| message(n, if n % 2 == 0 { "user" } else { "assistant" })).collect();
    let session = format!(r#"{{"id":{text},"messages":[{}]}}"#, messages.join(","));
    desk.file("data/sessions.jsonl", session + "\n");
    let question = format!(
        r#"{{"id":{text},"session":{text},"asked_at":7,"kind":"fact","question":{text},"expect":{{"any_of":["port 8443 {0}"]}},"evidence":["m1"],"stale":[]}}"#,
        &text[1..text.len() - 1]
    );
    desk.file("data/questions.jsonl", question + "\n");
}

#[test]
fn no_command_obeys_data_set_text() {
    let desk = Desk::new();
    dataset(&desk);
    let checked = desk.recap(&["questions", "check", "data"]);
    assert_eq!(checked.code, 2, "the evidence does not say it");
    assert_tame(&checked);
    std::fs::remove_file(desk.path("data/questions.jsonl")).unwrap();
    for run in ["a", "b"] {
        assert_tame(&desk.recap(&["bench", "data", "--window", "8k", "--out", run]));
    }
    assert_tame(&desk.recap(&["bench", "data", "--dry-run"]));
    for line in ["compare a b", "compare a b --format md", "report a"] {
        assert_tame(&desk.recap(line));
    }
    let show = ["show", "data", "--strategy", "full", "--request", "99", "--session"];
    for session in [HIDING, "other"] {
        assert_tame(&desk.recap(&[&show[..], &[session]].concat()));
    }
    for file in desk.list("a").iter().filter(|name| name.ends_with(".csv")) {
        let text = desk.read(&format!("a/{file}"));
        let obeyed = |c: char| c.is_control() && !"\r\n\t".contains(c) || c == '\u{202e}';
        assert!(!text.contains(obeyed) && !text.replace("\r\n", "").contains('\r'), "{file}");
    }
}

#[test]
fn text_of_labels_prices_settings_is_never_obeyed() {
    let desk = Desk::new();
    let text = serde_json::to_string(HIDING).unwrap();
    desk.file("cases.jsonl", format!(
        r#"{{"id":{text},"question":{text},"expect":{{"any_of":[{text}]}},"answer":{text},"label":true,"answered_by":{text}}}"#
    ));
    assert_tame(&desk.good(&["judge", "calibrate", "cases.jsonl"]));
    desk.file("broken.jsonl", format!("{{\"id\":{text},\"label\":{text}}}"));
    assert_tame(&desk.recap(&["judge", "calibrate", "broken.jsonl"]));
    desk.file("prices.json", format!(r#"{{{text}:{{"input_cost_per_token":1e-6,"output_cost_per_token":1e-6,"litellm_provider":{text},"source":{text}}}}}"#));
    let listed = desk.good(&["models", "list", "--prices", "prices.json"]);
    assert!(listed.out.contains("touch gone"), "{listed:?}");
    assert_tame(&listed);
    assert_tame(&desk.recap(&["models", "show", HIDING, "--prices", "prices.json"]));
    desk.file("recap.toml", format!("strategy = {text}\n"));
    assert_tame(&desk.recap(&["bench", "--dry-run"]));
    desk.file("recap.toml", format!("{text} = 1\n"));
    assert_tame(&desk.recap(&["bench", "--dry-run"]));
}

#[test]
fn no_name_of_a_file_is_obeyed() {
    let desk = Desk::with_sessions();
    let name = format!("--{HIDING}.txt").replace('/', "");
    for command in [
        &["bench", &name[..]][..],
        &["bench", "pi.jsonl", "--seed", &name],
        &["show", &name[2..], "--strategy", "full"],
        &["import", "auto", &name[2..], "-o", "out"],
        &["report", &name[2..]],
        &["strategies", "show", &name[2..]],
        &["datasets", "show", &name[2..]],
        &[&name[2..]],
    ] {
        let ran = desk.recap(command);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert_tame(&ran);
    }
}

#[test]
fn error_quotes_at_most_200_characters_of_value() {
    let desk = Desk::with_sessions();
    let long = "x".repeat(20_000);
    let head = "version = 1\nname = \"a\"\nsummary = \"\"\nsource = \"\"\n[[stage]]\n";
    let stage = "mechanism = \"LONG\"\nat = \"request\"\nwhen = \"always\"\n";
    for (name, text) in [
        ("role.json", r#"[{"role":"user","content":"a"},{"role":"LONG","content":"a"}]"#),
        (
            "call.jsonl",
            r#"{"id":"a","messages":[{"id":"m0","role":"tool","blocks":[{"type":"tool_result","call":"LONG","text":"x"}]}]}"#,
        ),
        (
            "shape.json",
            r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b","tool_calls":"LONG"}]"#,
        ),
        ("mine.toml", "version = \"LONG\""),
        ("unknown.toml", "version = 1\nLONG = 1\n"),
        ("mechanism.toml", &format!("{head}{stage}")),
    ] {
        desk.file(name, text.replace("LONG", &long));
    }
    for line in [
        "bench role.json",
        "bench call.jsonl",
        "bench shape.json",
        "strategies show mine.toml",
        "strategies show unknown.toml",
        "strategies show mechanism.toml",
        "bench pi.jsonl --strategy LONG",
        "bench pi.jsonl --set LONG=1",
        "bench pi.jsonl --format LONG",
        "bench pi.jsonl --window LONG",
        "bench pi.jsonl --answerer LONG",
        "bench pi.jsonl --fail-on 'LONG < 1'",
        "bench pi.jsonl --seed LONG",
        "bench pi.jsonl --tokens LONG",
        "show pi.jsonl --strategy full --session LONG",
        "datasets show LONG",
        "models show LONG",
        "import LONG pi.jsonl -o out",
        "LONG",
    ] {
        let ran = desk.recap(&line.replace("LONG", &long));
        assert_eq!(ran.code, 2, "{}", &ran.err[..ran.err.len().min(2_000)]);
        let longest = ran.err.split(|c| c != 'x').map(str::len).max().unwrap();
        assert!((0..=200).contains(&longest), "{longest}: {line}");
    }
    let refused = desk.refused(&["bench", "role.json"]);
    assert!(refused.contains(&format!("unknown role `{}…`", "x".repeat(200))), "{refused}");
}
