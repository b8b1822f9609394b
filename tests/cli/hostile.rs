//! A recording is written by strangers: nothing in it may run anywhere.

#[path = "../common/hostile.rs"]
mod corpus;

use std::path::PathBuf;
use std::sync::LazyLock;

use recap_report::FORMATS;

use crate::desk::{Desk, Ran, fixture};

/// Markup, a formula, a terminal escape and a direction override.
const EVIL: &str =
    "<script>alert(4711)</script> =cmd('calc') \u{1b}[31mred\u{1b}]0;t\u{7} \u{202e}x";

/// A run over a session whose name, ids and texts are hostile.
fn run() -> Desk {
    let desk = Desk::new();
    let call = serde_json::json!({"id": "=c1", "type": "function",
        "function": {"name": "=cmd()<script>alert(4712)", "arguments": "{\"x\":\"<img src=x>\"}"}});
    let mut messages = vec![serde_json::json!({"role": "system", "content": EVIL})];
    for turn in 0..14 {
        let mut call = call.clone();
        call["id"] = format!("=c{turn}").into();
        let text = format!("{EVIL} @handle_{turn}_9931 -flag_{turn}_8823 =SUM_{turn}(A1)");
        messages.extend([
            serde_json::json!({"role": "user", "content": text}),
            serde_json::json!({"role": "assistant", "content": text, "tool_calls": [call]}),
            serde_json::json!({"role": "tool", "tool_call_id": format!("=c{turn}"), "content": text}),
            serde_json::json!({"role": "assistant", "content": text}),
        ]);
    }
    desk.file("=cmd()<script>alert(4713).json", serde_json::to_string(&messages).unwrap());
    let ran = desk.good(&["bench", "=cmd()<script>alert(4713).json", "--out", "run"]);
    assert!(!ran.out.chars().any(|c| c.is_control() && c != '\n'), "{:?}", ran.out);
    assert!(!ran.err.chars().any(|c| c.is_control() && c != '\n'), "{:?}", ran.err);
    desk
}

#[test]
fn hostile_text_is_escaped_and_shown_in_page() {
    let page = run().read("run/report.html");
    for number in ["4711", "4712", "4713"] {
        assert!(!page.contains(&format!("<script>alert({number}")), "{number}");
    }
    assert!(!page.contains("<img"), "markup of an argument");
    assert!(page.contains("script&#62;alert(4713)") || page.contains("script&gt;alert(4713)"));
    assert!(!page.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')));
    assert!(!page.contains('\u{202e}'));
}

#[test]
fn formulas_are_defused_in_every_csv() {
    let desk = run();
    for name in desk.list("run").iter().filter(|n| n.ends_with(".csv")) {
        for row in desk.csv(&format!("run/{name}")) {
            for (column, field) in row {
                let number = field.parse::<f64>().is_ok();
                let armed = field.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']) && !number;
                assert!(!armed, "{name}, {column}: {field}");
            }
        }
    }
    let rows = desk.csv("run/requests.csv");
    assert!(rows.iter().all(|r| r["session"].starts_with("'=cmd()")), "{:?}", rows[0]);
}

#[test]
fn error_quoting_recording_sends_terminal_no_escape() {
    let desk = Desk::new();
    let odd = r#"[{"role":"user","content":"a"},{"role":"\u001b[31mx","content":"b"}]"#;
    desk.file("s.json", odd);
    let error = desk.refused(&["bench", "s.json"]);
    assert!(error.contains("unknown role") && !error.contains('\u{1b}'), "{error:?}");
}

#[test]
fn file_name_warnings_send_terminal_no_escape() {
    let desk = Desk::with_sessions();
    desk.file("all/\u{1b}[31m.txt", "x");
    std::fs::copy(desk.path("pi.jsonl"), desk.path("all/pi.jsonl")).unwrap();
    let ran = desk.good(&["bench", "all"]);
    assert!(ran.out.contains("no session") && !ran.out.contains('\u{1b}'), "{:?}", ran.out);
    let ran = desk.good(&["import", "auto", "all", "-o", "native"]);
    assert!(ran.err.contains("no session") && !ran.err.contains('\u{1b}'), "{:?}", ran.err);
}

#[test]
fn long_hostile_name_makes_run_folder_below_reports() {
    let desk = Desk::with_sessions();
    let name = format!("..{}.jsonl", "é".repeat(90));
    std::fs::copy(desk.path("pi.jsonl"), desk.path(&name)).unwrap();
    let ran = desk.good(&["bench", &name, "--quiet", "--strategy", "full"]);
    let page = PathBuf::from(ran.last().strip_prefix(" page     ").unwrap());
    assert_eq!(page.components().count(), 3, "{page:?}");
    assert!(desk.path("reports").is_dir());
}

/// What programs read is the text as it is, and shows as it is wherever it is looked at.
#[test]
fn json_on_standard_output_escapes_what_turns_text() {
    let desk = Desk::new();
    let name = "a\u{202e}b\u{2067}c\u{200f}.jsonl";
    std::fs::copy(fixture("pi.jsonl"), desk.path(name)).unwrap();
    let run = ["bench", name, "--strategy", "full", "--cuts", "none", "--out", "run", "--json"];
    let out = desk.good(&run).out;
    assert_plain("output", &out);
    assert!(!out.contains(['\u{2067}', '\u{200f}']), "{out}");
    let read: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(read.to_string().contains("a\u{202e}b\u{2067}c\u{200f}"), "{out}");
}

/// A run over a native data set in which every word is hostile, with a strategy
/// file that is too, and what the program printed.
static CORPUS: LazyLock<(Desk, Ran)> = LazyLock::new(|| {
    let desk = Desk::new();
    corpus::dataset(&desk.path("data"));
    desk.file(corpus::STRATEGY_FILE, corpus::strategy());
    let chosen = format!("full,fifo,continuation,{}", corpus::STRATEGY_FILE);
    let ran =
        desk.good(&["bench", "data", "--out", "run", "--window", "8k", "--strategy", &chosen]);
    (desk, ran)
});

/// What a file or a terminal must not hold, whatever reads it.
fn assert_plain(name: &str, text: &str) {
    let control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    assert!(!text.contains(control), "{name}: a control character");
    let turned = ['\u{202E}', '\u{2066}', '\u{2028}', '\u{2029}'];
    assert!(!text.contains(turned), "{name}: a character that turns or breaks lines");
}

#[test]
fn terminal_obeys_no_corpus_text() {
    let (_, ran) = &*CORPUS;
    for (name, text) in [("output", &ran.out), ("errors", &ran.err)] {
        assert_plain(name, text);
        assert!(!text.contains('\t'), "{name}");
    }
}

#[test]
fn no_word_of_the_corpus_breaks_a_format() {
    let (desk, _) = &*CORPUS;
    let left = desk.list("run");
    let mut seen = 0;
    for format in FORMATS.iter().filter(|format| left.contains(&format.file.to_owned())) {
        let (name, file) = (format.file, format!("run/{}", format.file));
        seen += 1;
        match name.rsplit('.').next().unwrap() {
            "csv" => assert_table(desk, &file),
            "json" => drop(desk.json(&file)),
            "parquet" => {}
            kind => {
                let mut text = desk.read(&file);
                assert_plain(name, &text);
                // What is shown as code in Markdown is markup to nobody but its source.
                if kind == "md" {
                    text = rendered(&text);
                }
                for markup in
                    ["<script>window", "<img", "<iframe", "<svg onload", "<details open ont"]
                {
                    assert!(!text.contains(markup), "{name}: {markup}");
                }
            }
        }
    }
    assert!(seen >= 9, "{left:?}");
}

/// Markdown as GitHub shows it, raw markup let through.
fn rendered(markdown: &str) -> String {
    let mut options = comrak::Options::default();
    options.extension.table = true;
    options.extension.autolink = true;
    options.render.r#unsafe = true;
    comrak::markdown_to_html(markdown, &options)
}

/// Every row has as many fields as the head, and no cell begins a formula.
fn assert_table(desk: &Desk, file: &str) {
    let mut reader = csv::Reader::from_path(desk.path(file)).unwrap();
    let fields = reader.headers().unwrap().len();
    for record in reader.records() {
        let record = record.unwrap_or_else(|why| panic!("{file}: {why}"));
        assert_eq!(record.len(), fields, "{file}");
        for field in &record {
            let armed = field.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
            assert!(!armed || field.parse::<f64>().is_ok(), "{file}: {field:?}");
        }
    }
}

#[test]
fn every_corpus_text_survives_in_questions_csv() {
    let (desk, _) = &*CORPUS;
    let rows = desk.csv("run/questions.csv");
    let formula = rows.iter().filter(|row| row["question_id"].starts_with("'=cmd|")).count();
    assert!(rows.len() >= 12 * 4, "{} rows", rows.len());
    assert_eq!(formula * 12, rows.len(), "one question of twelve begins as a formula");
    for (name, text) in &corpus::CORPUS[7..19] {
        let actual = rows.iter().any(|row| row["expected"].contains(text.trim()));
        assert!(actual, "{name} is not among what is expected");
    }
}

#[test]
fn half_of_a_character_ends_no_run_badly() {
    let desk = Desk::new();
    let line = |text: &str| {
        let call = r#"{"role":"assistant","content":"ok"}"#;
        format!("[{{\"role\":\"user\",\"content\":\"{text}\"}},{call}]")
    };
    for half in ["\\ud800", "\\udfff x", "\\ud800\\ud800"] {
        desk.file("s.json", line(half));
        let ran = desk.recap(&["bench", "s.json", "--strategy", "full", "--out", "run"]);
        assert_eq!((ran.code, ran.err.contains("set aside")), (0, false), "{ran:?}");
        assert_plain("output", &format!("{}{}", ran.out, ran.err));
        let _ = std::fs::remove_dir_all(desk.path("run"));
    }
}
