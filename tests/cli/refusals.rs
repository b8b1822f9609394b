//! Bad input and bad usage: exit 2, one clear error, nothing written.

use crate::desk::{Desk, session};

const USER: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hello"}}"#;

const ASSISTANT: &str = r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","message":{"id":"m1","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"hello"}]}}"#;

/// The error that `recap bench FILE` gives on a file with these bytes.
#[track_caller]
fn bad(bytes: impl AsRef<[u8]>) -> String {
    let desk = Desk::new();
    desk.file("session.jsonl", bytes);
    let error = desk.refused(&["bench", "session.jsonl"]);
    assert!(error.contains("--> session.jsonl"), "{error}");
    error
}

#[track_caller]
fn assert_says(error: &str, parts: &[&str]) {
    for part in parts {
        assert!(error.contains(part), "`{part}` is missing in\n{error}");
    }
}

/// What `recap bench FILE` says of a file with these bytes and an answer, one of whose
/// records is set aside.
#[track_caller]
fn aside(bytes: impl AsRef<[u8]>) -> String {
    let desk = Desk::new();
    desk.file("session.jsonl", [bytes.as_ref(), b"\n", ASSISTANT.as_bytes(), b"\n"].concat());
    let out = desk.good(&["bench", "session.jsonl"]).out;
    let out = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_says(&out, &["session.jsonl: set aside: 1 record that cannot be read, first line 2: "]);
    out
}

#[test]
fn a_missing_file_is_named() {
    let error = Desk::new().refused(&["bench", "absent.jsonl"]);
    assert_says(&error, &["no such file", "absent.jsonl"]);
}

#[test]
fn an_empty_file_is_refused() {
    assert_says(&bad(""), &["empty"]);
    assert_says(&bad(" \n\n"), &["empty"]);
}

#[test]
fn empty_standard_input_is_refused() {
    let error = Desk::new().refused(&["bench", "-"]);
    assert_says(&error, &["empty", "stdin"]);
}

#[test]
fn non_utf8_bytes_are_set_aside_with_line() {
    let bytes = [USER.as_bytes(), b"\n{\"a\":\"\xff\xfe\"}\n", USER.as_bytes()].concat();
    assert_says(&aside(bytes), &["not UTF-8"]);
}

#[test]
fn truncated_middle_line_is_set_aside_with_line() {
    let said = aside(format!("{USER}\n{{\"type\":\"user\",\"uu\n{}\n", USER.replace("u1", "u2")));
    assert_says(&said, &["broken JSON"]);
}

#[test]
fn torn_last_line_is_omitted_and_reported() {
    let desk = Desk::with_sessions();
    let torn = desk.read("pi.jsonl") + "{\"type\":\"message\",\"mess";
    desk.file("torn.jsonl", torn);
    let ran = desk.good(&["bench", "torn.jsonl"]);
    assert!(ran.out.contains("line 10 is torn and was left out"), "{}", ran.out);
}

#[test]
fn unknown_role_is_set_aside_with_line() {
    let robot = USER.replace("u1", "u2").replace(r#""role":"user""#, r#""role":"robot""#);
    assert_says(&aside(format!("{USER}\n{robot}\n")), &["unknown role `robot`"]);
}

#[test]
fn result_without_call_is_refused_with_line() {
    let orphan = r#"{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"x"}]}}"#;
    assert_says(&bad(format!("{USER}\n{orphan}\n")), &["toolu_9", "session.jsonl:2"]);
}

#[test]
fn json_of_another_type_is_refused() {
    for json in ["42", "{\"a\":1}", "[1,2]", "null", "\"text\"", "[]", "{}", "[[]]"] {
        bad(json);
    }
    let misshapen = r#"{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"role":"user","content":7}}"#;
    assert_says(&aside(format!("{USER}\n{misshapen}\n")), &["wrong shape at `message.content`"]);
}

#[test]
fn a_folder_without_sessions_is_refused() {
    let desk = Desk::new();
    desk.file("folder/notes.txt", "nothing").file("folder/data.csv", "a,b\n");
    let error = desk.refused(&["bench", "folder"]);
    assert_says(&error, &["no session", "folder", "2 files"]);
}

#[test]
fn unknown_strategy_is_refused_with_known_ones() {
    let error = Desk::new().refused(&["bench", "--strategy", "sliding-windows"]);
    assert_says(&error, &["`sliding-windows`", "did you mean `sliding-window`", "TOML"]);
}

#[test]
fn unreadable_window_is_refused_with_allowed_values() {
    for window in ["huge", "0", "101%", "-5", ""] {
        let error = Desk::new().refused(&["bench", &format!("--window={window}")]);
        assert_says(&error, &[&format!("`{window}` is not a window"), "16k", "25%"]);
    }
}

#[test]
fn too_small_window_is_refused_before_writing() {
    let error = Desk::new().refused(&["bench", &session(), "--window", "500"]);
    assert_says(&error, &["500", "at least 2000", "invoice-export"]);
    let show = ["show", &session(), "--strategy", "fifo", "--window", "500"];
    assert_says(&Desk::new().refused(&show), &["at least 2000"]);
}

#[test]
fn unknown_format_is_refused_with_known_ones() {
    let error = Desk::new().refused(&["bench", "--format", "csv,docx"]);
    assert_says(&error, &["`docx`", "csv", "json", "html"]);
    let error = Desk::with_sessions().refused(&["import", "word", "pi.jsonl", "-o", "native"]);
    assert_says(&error, &["`word`", "auto", "claude-code", "recap datasets formats"]);
}

#[test]
fn wrong_override_is_refused_with_allowed_values() {
    let refuse = |set: &str| Desk::new().refused(&["bench", "--set", set]);
    assert_says(&refuse("prune.protekt=1"), &["strategies/prune.toml", "protekt", "protect"]);
    assert_says(&refuse("prune.protect=many"), &["strategies/prune.toml", "protect"]);
    assert_says(&refuse("prune"), &["STRATEGY.KEY=VALUE", "prune.protect=20000"]);
    assert_says(&refuse("pruned.protect=1"), &["`pruned`", "prune"]);
    assert_says(&refuse("prune.9.protect=1"), &["strategies/prune.toml"]);
    assert_says(&refuse("prune.protect="), &["strategies/prune.toml", "protect"]);
}

#[test]
fn one_session_given_twice_is_refused() {
    let error = Desk::with_sessions().refused(&["bench", "pi.jsonl", "pi.jsonl"]);
    assert_says(&error, &["`pi`", "twice"]);
}

#[test]
fn a_run_folder_that_is_none_is_refused() {
    let desk = Desk::with_sessions();
    assert_says(&desk.refused(&["report", "absent"]), &["absent/manifest.json"]);
    assert_says(&desk.refused(&["report", "pi.jsonl"]), &["pi.jsonl"]);
}

#[test]
fn an_out_that_is_a_file_is_refused() {
    let error = Desk::with_sessions().refused(&["bench", "pi.jsonl", "--out", "pi.jsonl"]);
    assert_says(&error, &["pi.jsonl"]);
}

#[test]
fn oversized_pack_is_refused_until_allowed() {
    let desk = Desk::new();
    let chat = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]"#;
    let text = chat.replace("},{", &format!("}},{}{{", "\n".repeat(9 << 20)));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    desk.file("chat.json.gz", packed.finish().unwrap());
    let show = ["show", "chat.json.gz", "--strategy", "full", "--window", "8k"];
    let error = desk.refused(&show);
    assert!(error.contains("unpacks to more than 8388608 bytes, 50 times"), "{error}");
    assert!(error.contains("help: ") && error.contains("--max-unpacked SIZE"), "{error}");
    desk.good(&[&show[..], &["--max-unpacked", "10M"]].concat());
    let error = desk.recap(&[&show[..], &["--max-unpacked", "10 MB"]].concat());
    assert_eq!(error.code, 2);
    assert!(error.err.contains("a size is expected, such as 500M or 2G"), "{}", error.err);
}
