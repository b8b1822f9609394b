//! Bad input and bad usage: exit 2, one clear error, nothing written.

use crate::desk::{Desk, session};

const USER: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hello"}}"#;

const ASSISTANT: &str = r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","message":{"id":"m1","role":"assistant","model":"claude-opus-4-6","content":[{"type":"text","text":"hello"}]}}"#;

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

/// Command lines, with what is said of each.
const REFUSED: &[(&str, &[&str])] = &[
    ("bench absent.jsonl", &["no such file", "absent.jsonl"]),
    ("bench -", &["empty", "stdin"]),
    ("bench folder", &["no session", "folder", "2 files"]),
    ("bench pi.jsonl pi.jsonl", &["`pi`", "twice"]),
    ("bench pi.jsonl --out pi.jsonl", &["pi.jsonl"]),
    ("bench --format csv,docx", &["`docx`", "csv", "json", "html"]),
    ("bench --window=101%", &["`101%` is not a window", "16k", "25%"]),
    ("bench SESSION --window 500", &["500", "at least 2000", "invoice-export"]),
    ("bench --set prune.protekt=1", &["strategies/prune.toml", "protekt", "protect"]),
    ("bench --set prune.protect=many", &["strategies/prune.toml", "protect"]),
    ("bench --set prune", &["STRATEGY.KEY=VALUE", "prune.protect=20000"]),
    ("bench --set pruned.protect=1", &["`pruned`", "prune"]),
    ("bench --set prune.9.protect=1", &["strategies/prune.toml"]),
    ("bench --set prune.protect=", &["strategies/prune.toml", "protect"]),
    ("report absent", &["absent/manifest.json"]),
    ("report pi.jsonl", &["pi.jsonl"]),
    ("show SESSION --strategy fifo --window 500", &["at least 2000"]),
    ("show pi.jsonl --strategy nothing", &["`nothing`", "recap strategies list"]),
    (
        "show pi.jsonl --strategy full --request 4",
        &["request 4 is not there: the session has 4, from 0"],
    ),
    ("import word pi.jsonl -o native", &["`word`", "auto", "recap datasets formats"]),
    ("import auto pi.jsonl other/pi.jsonl -o native", &["`pi` is given twice"]),
    ("import pi openai-chat.json -o native", &["openai-chat.json"]),
    ("strategies show nothing", &["`nothing`"]),
    ("strategies show prune --window=naitve", &["is not a window", "25%"]),
    ("datasets show nothing", &["`nothing`", "quickstart"]),
    ("models list --prices broken.json", &["broken.json: "]),
    ("models --prices absent.json", &["absent.json"]),
];

#[test]
fn a_wrong_command_is_refused_with_what_is_allowed() {
    let desk = Desk::with_sessions();
    desk.file("folder/notes.txt", "nothing").file("folder/data.csv", "a,b\n");
    desk.file("other/pi.jsonl", desk.read("pi.jsonl").replace("2026-", "2025-"));
    desk.file("broken.json", "[1]");
    let session = session();
    for (line, parts) in REFUSED {
        let words = line.split(' ').map(|word| if word == "SESSION" { &session } else { word });
        assert_says(&desk.refused(&words.collect::<Vec<&str>>()), parts);
    }
}

#[test]
fn a_file_that_is_no_session_is_refused_with_its_place() {
    let orphan = r#"{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"x"}]}}"#;
    let orphan = format!("{USER}\n{orphan}\n");
    let mut cases =
        vec![("", vec!["empty"]), (" \n\n", vec!["empty"]), (&orphan, vec!["toolu_9", "jsonl:2"])];
    let others = ["42", "{\"a\":1}", "[1,2]", "null", "\"text\"", "[]", "{}", "[[]]"];
    cases.extend(others.map(|json| (json, Vec::new())));
    for (bytes, parts) in cases {
        let desk = Desk::new();
        desk.file("session.jsonl", bytes);
        let error = desk.refused(&["bench", "session.jsonl"]);
        assert_says(&error, &[&["--> session.jsonl"], &parts[..]].concat());
    }
}

#[test]
fn a_record_that_cannot_be_read_is_set_aside_with_its_line() {
    let other = USER.replace("u1", "u2");
    let robot = other.replace(r#""role":"user""#, r#""role":"robot""#);
    let misshapen = r#"{"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"role":"user","content":7}}"#;
    let bytes = [USER.as_bytes(), b"\n{\"a\":\"\xff\xfe\"}\n", USER.as_bytes()].concat();
    assert_says(&aside(bytes), &["not UTF-8"]);
    for (record, said) in [
        (format!("{{\"type\":\"user\",\"uu\n{other}"), "broken JSON"),
        (robot, "unknown role `robot`"),
        (misshapen.to_owned(), "wrong shape at `message.content`"),
    ] {
        assert_says(&aside(format!("{USER}\n{record}\n")), &[said]);
    }
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
fn oversized_pack_is_refused_until_allowed() {
    let desk = Desk::new();
    let chat = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]"#;
    let text = chat.replace("},{", &format!("}},{}{{", "\n".repeat(33 << 20)));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    desk.file("chat.json.gz", packed.finish().unwrap());
    let show = ["show", "chat.json.gz", "--strategy", "full", "--window", "8k"];
    let error = desk.refused(&show);
    assert!(error.contains("unpacks to more than 33554432 bytes, 50 times"), "{error}");
    assert!(error.contains("help: ") && error.contains("--max-unpacked SIZE"), "{error}");
    desk.good(&[&show[..], &["--max-unpacked", "40M"]].concat());
    let error = desk.recap(&[&show[..], &["--max-unpacked", "10 MB"]].concat());
    assert_eq!(error.code, 2);
    assert!(error.err.contains("a size is expected, such as 500M or 2G"), "{}", error.err);
}
