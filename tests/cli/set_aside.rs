//! A session that cannot be measured is set aside with its reason, and the
//! others are measured.

use std::collections::BTreeSet;

use crate::desk::{Desk, session};

const BROKEN: &str = "{\"type\":\"user\",\n{\"type\":\"user\"}\n";

const QUICK: [&str; 5] = ["--strategy", "full", "--cuts", "none", "--quiet"];

/// A chat whose system prompt takes `tokens` tokens and more.
fn chat(tokens: usize) -> String {
    let system = "stock ".repeat(tokens);
    format!(
        r#"{{"messages":[{{"role":"system","content":"{system}"}},
            {{"role":"user","content":"Mend it."}},{{"role":"assistant","content":"Done."}},
            {{"role":"user","content":"Thanks."}},{{"role":"assistant","content":"Bye."}}]}}"#
    )
}

/// The sessions that were measured.
fn measured(desk: &Desk) -> Vec<String> {
    let rows = desk.csv("run/requests.csv").into_iter();
    let all: BTreeSet<String> = rows.map(|mut row| row.remove("session").unwrap()).collect();
    all.into_iter().collect()
}

#[test]
fn broken_file_in_folder_stops_no_others() {
    let desk = Desk::new();
    desk.file("logs/good.json", chat(10)).file("logs/bad.json", BROKEN);
    desk.file("logs/bad.jsonl", r#"{"type":"user","uuid":"1","sessionId":"s"}"#);
    let ran = desk.good(&[&["replay", "logs", "--out", "run"], &QUICK[..]].concat());
    assert_eq!(measured(&desk), ["good"]);
    let said = "set aside: bad.jsonl: line 1: wrong shape";
    assert!(ran.out.contains(said), "{}", ran.out);
    assert!(desk.read("run/manifest.json").contains(said));
    assert!(desk.read("run/report.html").contains(said));
}

#[test]
fn broken_file_among_inputs_stops_no_others() {
    let desk = Desk::new();
    desk.file("good.json", chat(10))
        .file("bad.jsonl", r#"{"type":"user","uuid":"1","sessionId":"s"}"#);
    let out = &["--out", "run"];
    let ran = desk.good(&[&["replay", "bad.jsonl", "good.json"], &out[..], &QUICK].concat());
    assert_eq!(measured(&desk), ["good"]);
    assert!(ran.out.contains("set aside: bad.jsonl: line 1: wrong shape"), "{}", ran.out);
    // A name that is none is a mistake in what was typed.
    let error = desk.refused(&["replay", "good.json", "absent.json"]);
    assert!(error.contains("no such file"), "{error}");
}

#[test]
fn preamble_exceeding_window_sets_session_aside() {
    let desk = Desk::new();
    desk.file("logs/large.json", chat(20_000)).file("logs/small.json", chat(10));
    let window = &["--window", "16k", "--window", "64k", "--out", "run"];
    let ran = desk.good(&[&["replay", "logs"], &window[..], &QUICK].concat());
    let mut rows = desk.csv("run/requests.csv");
    let mut key = |row: &str| -> Vec<String> { rows.iter_mut().map(|r| r[row].clone()).collect() };
    let keys: Vec<(String, String)> = key("window").into_iter().zip(key("session")).collect();
    let known =
        |window: &str, session: &str| keys.contains(&(window.to_owned(), session.to_owned()));
    assert!(known("16k", "small") && known("64k", "small") && known("64k", "large"), "{keys:?}");
    assert!(!known("16k", "large"), "{keys:?}");
    let said = "set aside: large: a window of 16000 tokens leaves 0 for messages";
    assert!(ran.out.contains(said), "{}", ran.out);
    assert!(desk.read("run/manifest.json").contains(said));
}

#[test]
fn run_with_nothing_measured_is_incomplete() {
    let desk = Desk::new();
    desk.file("logs/a.json", chat(20_000)).file("logs/b.json", chat(30_000));
    desk.file("broken/a.jsonl", r#"{"type":"user","uuid":"1","sessionId":"s"}"#);
    let windows = desk.recap(&["replay", "logs", "--window", "16k", "--out", "run"]);
    assert_eq!(windows.code, 3, "{windows:?}");
    assert!(windows.err.contains("a: a window of 16000") && windows.err.contains("b: a window"));
    assert!(!desk.path("run").exists());
    let broken = desk.recap(&["replay", "broken"]);
    assert_eq!(broken.code, 3, "{broken:?}");
    assert!(broken.err.contains("a.jsonl: line 1: wrong shape"), "{broken:?}");
    let several = desk.recap(&["replay", "broken/a.jsonl", "broken/a.jsonl"]);
    assert_eq!(several.code, 3, "{several:?}");
    // One session that was named is a mistake in what was typed.
    desk.refused(&["replay", "broken/a.jsonl"]);
    desk.refused(&["replay", &session(), "--window", "500"]);
}
