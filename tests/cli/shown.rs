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
    assert!(
        actual.starts_with(r#"runs `sh -c "touch gone \u{1b}[8mtouch gone\u{1b}[0m\rls"#),
        "{actual}"
    );
    assert!(
        actual.contains(r"\u{202e}gpj.x") && actual.contains(r#"z\u{200b}\u{feff}"#),
        "{actual}"
    );
    assert!(
        actual.contains("\" \"\"` in ") && actual.ends_with("only if you trust it"),
        "{actual}"
    );
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
        assert_tame(&desk.recap(&["bench", "data", "--verbose", "--window", "8k", "--out", run]));
    }
    assert_tame(&desk.recap(&["bench", "data", "--dry-run"]));
    for command in [&["compare", "a", "b"][..], &["compare", "a", "b", "--format", "md"]] {
        assert_tame(&desk.recap(command));
    }
    assert_tame(&desk.recap(&["report", "a"]));
    assert_tame(&desk.recap(&[
        "show",
        "data",
        "--strategy",
        "full",
        "--session",
        HIDING,
        "--request",
        "99",
    ]));
    assert_tame(&desk.recap(&["show", "data", "--strategy", "full", "--session", "other"]));
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
    let message = |role: &str, more: &str| format!(r#"{{"role":"{role}","content":"a"{more}}}"#);
    let files = [
        ("role.json", format!("[{},{}]", message("user", ""), message(&long, ""))),
        (
            "call.jsonl",
            format!(
                r#"{{"id":"a","messages":[{{"id":"m0","role":"tool","blocks":[{{"type":"tool_result","call":"{long}","text":"x"}}]}}]}}"#
            ),
        ),
        (
            "shape.json",
            format!(
                r#"[{{"role":"user","content":"a"}},{{"role":"assistant","content":"b","tool_calls":"{long}"}}]"#
            ),
        ),
        ("mine.toml", format!("version = \"{long}\"")),
        ("unknown.toml", format!("version = 1\n{long} = 1\n")),
        (
            "mechanism.toml",
            format!(
                "version = 1\nname = \"a\"\nsummary = \"\"\nsource = \"\"\n[[stage]]\nmechanism = \"{long}\"\nat = \"request\"\nwhen = \"always\"\n"
            ),
        ),
    ];
    for (name, text) in &files {
        desk.file(name, text);
    }
    let typed = long.as_str();
    let set = format!("{typed}=1");
    let rule = format!("{typed} < 1");
    for command in [
        &["bench", "role.json"][..],
        &["bench", "call.jsonl"],
        &["bench", "shape.json"],
        &["strategies", "show", "mine.toml"],
        &["strategies", "show", "unknown.toml"],
        &["strategies", "show", "mechanism.toml"],
        &["bench", "pi.jsonl", "--strategy", typed],
        &["bench", "pi.jsonl", "--set", &set],
        &["bench", "pi.jsonl", "--format", typed],
        &["bench", "pi.jsonl", "--window", typed],
        &["bench", "pi.jsonl", "--answerer", typed],
        &["bench", "pi.jsonl", "--fail-on", &rule],
        &["bench", "pi.jsonl", "--seed", typed],
        &["bench", "pi.jsonl", "--tokens", typed],
        &["show", "pi.jsonl", "--strategy", "full", "--session", typed],
        &["datasets", "show", typed],
        &["models", "show", typed],
        &["import", typed, "pi.jsonl", "-o", "out"],
        &[typed],
    ] {
        let ran = desk.recap(command);
        assert_eq!(ran.code, 2, "{}", &ran.err[..ran.err.len().min(2_000)]);
        let longest = ran.err.split(|c| c != 'x').map(str::len).max().unwrap();
        assert!((0..=200).contains(&longest), "{longest}: {:?}", &command[..1]);
    }
    let refused = desk.refused(&["bench", "role.json"]);
    assert!(refused.contains(&format!("unknown role `{}…`", "x".repeat(200))), "{refused}");
}
