//! The sample programs under `strategies/samples`, and the published schema of
//! the protocol against what is really said.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{offline, plan, prepared, sent};
use crate::test_tools::tool;
use jsonschema::Validator;
use recap_core::model::{CellOutcome, CellRows, Session};
use recap_replay::{PreparedSession, ReplaySession, WindowSpec, replay};
use recap_strategy::Strategy;
use serde_json::{Value as Json, json};

/// Runs a program and writes down what is said, as `< line` to it and `> line` from it.
const TAP: &str = r#"
import subprocess, sys
log = open(sys.argv[1], "a")
inner = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for line in sys.stdin:
    log.write("< " + line)
    inner.stdin.write(line)
    inner.stdin.flush()
    if '"type":"close"' not in line:
        answer = inner.stdout.readline()
        log.write("> " + answer)
        sys.stdout.write(answer)
        sys.stdout.flush()
    log.flush()
inner.stdin.close()
inner.wait()
"#;

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("strategies/samples")
}

fn sample(name: &str) -> Strategy {
    Strategy::load(&samples().join(name).with_extension("toml"), &[]).unwrap()
}

fn go<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Whether an interpreter is there. The continuous integration has them all.
fn there(program: &str) -> bool {
    let found = std::process::Command::new(program).arg("--version").output().is_ok();
    if !found {
        println!("skipped: there is no {program}");
    }
    found
}

/// A synthetic coding session with calls, results and reported usage.
fn session() -> Session {
    let dataset = recap_formats::bundled("quickstart").unwrap().unwrap();
    dataset.sessions.into_iter().next().unwrap()
}

fn tokens(prepared: &PreparedSession) -> u64 {
    "25%".parse::<WindowSpec>().unwrap().tokens(&prepared.recording.sizes, 0).unwrap()
}

#[track_caller]
fn rows(strategy: Strategy) -> CellRows {
    let prepared = prepared(session());
    let plan = plan(strategy, tokens(&prepared));
    let mut rows = match go(replay(&prepared, &plan, &offline())).cell.outcome {
        CellOutcome::Done(rows) => *rows,
        CellOutcome::Failed { error } => panic!("{error}"),
    };
    rows.cpu_ms = 0.0;
    rows
}

/// What is sent at the end.
fn last(strategy: Strategy) -> Vec<(String, String)> {
    let prepared = prepared(session());
    let (plan, compactor) = (plan(strategy, tokens(&prepared)), offline());
    let mut session = ReplaySession::open(&prepared, &plan, &compactor).unwrap();
    go(async {
        session.run_to_end().await.unwrap();
        session.close().await;
    });
    sent(&session)
}

#[test]
fn python_sample_keeps_newest_and_counts_dropped_messages() {
    if !there("python3") {
        return;
    }
    let rows = rows(sample("keep-last-python"));
    assert!(rows.compactions.len() > 1, "{:?}", rows.compactions);
    for row in &rows.compactions {
        // The line that says what was dropped is the only thing beyond the target.
        let target = rows.window / 2 + 30;
        assert!(row.tokens_after <= target, "{} of {target}", row.tokens_after);
        assert!(row.messages_folded > 0 && row.messages_evicted == 0);
    }
    let sent = last(sample("keep-last-python"));
    assert!(sent[0].1.starts_with("[Earlier messages were dropped: "), "{}", sent[0].1);
    let count: usize = sent[0]
        .1
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|n| n.parse::<usize>().ok())
        .sum();
    assert_eq!(
        count + sent.len() - 1,
        session().messages.len(),
        "every message is counted or sent"
    );
}

#[test]
fn node_sample_behaves_like_python_sample() {
    if !there("node") || !there("python3") {
        return;
    }
    assert_eq!(rows(sample("keep-last-node")), rows(sample("keep-last-python")));
    assert_eq!(last(sample("keep-last-node")), last(sample("keep-last-python")));
}

/// A strategy in a folder of its own whose program is a sample behind the tap.
fn tapped(folder: &Path, program: &str) -> Strategy {
    fs::write(folder.join("tap.py"), TAP).unwrap();
    let program = samples().join(program);
    let text = fs::read_to_string(samples().join("keep-last-python.toml")).unwrap();
    let command = json!(["python3", "tap.py", "log", "python3", program]);
    let own = "command = [\"python3\", \"keep_last.py\"]";
    assert!(text.contains(own));
    let text = text.replace(own, &format!("command = {command}"));
    fs::write(folder.join("tapped.toml"), text).unwrap();
    Strategy::load(&folder.join("tapped.toml"), &[]).unwrap()
}

#[test]
fn langchains_trim_messages_runs_as_a_strategy() {
    let Some(python) = tool("RECAP_PYTHON_TOOLS", "python") else { return };
    let folder = tempfile::tempdir().unwrap();
    for file in ["langchain_trim.py", "langchain-trim.toml"] {
        fs::copy(samples().join(file), folder.path().join(file)).unwrap();
    }
    let path = folder.path().join("langchain-trim.toml");
    let text = fs::read_to_string(&path).unwrap();
    let own = "[\"python3\", \"langchain_trim.py\"]";
    assert!(text.contains(own));
    let command = json!([python, "langchain_trim.py"]).to_string();
    fs::write(&path, text.replace(own, &command)).unwrap();
    let rows = rows(Strategy::load(&path, &[]).unwrap());
    assert!(rows.compactions.len() > 1, "{:?}", rows.compactions);
    for row in &rows.compactions {
        assert!(row.tokens_after <= rows.window / 2, "{} of {}", row.tokens_after, rows.window);
        assert!(row.messages_evicted > 0 && row.messages_folded == 0);
    }
}

fn schema() -> Json {
    let path = samples().join("../protocol.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The schema of one side of the protocol.
fn side(name: &str) -> Validator {
    let mut schema = schema();
    let object = schema.as_object_mut().unwrap();
    object.remove("oneOf");
    object.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
    jsonschema::draft202012::new(&schema).unwrap()
}

#[track_caller]
fn assert_valid(schema: &Validator, line: &str) {
    let value: Json = serde_json::from_str(line).unwrap();
    if let Err(error) = schema.validate(&value) {
        panic!("{error} at {} in\n{line}", error.instance_path());
    }
}

#[test]
fn actual_exchange_validates_against_the_published_schema() {
    if !there("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    rows(tapped(folder.path(), "keep_last.py"));
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let (request, answer) = (side("request"), side("answer"));
    let (mut asked, mut answered) = (Vec::new(), 0);
    for line in log.lines() {
        match line.split_at(2) {
            ("< ", line) => {
                assert_valid(&request, line);
                let value: Json = serde_json::from_str(line).unwrap();
                asked.push(value["type"].as_str().unwrap().to_owned());
            }
            (_, line) => {
                assert_valid(&answer, line);
                answered += 1;
            }
        }
    }
    assert_eq!(answered, asked.len() - 1, "nothing answers `close`");
    let middle = asked.len() - 1;
    assert_eq!((asked[0].as_str(), asked[middle].as_str()), ("open", "close"));
    assert!(middle > 2 && asked[1..middle].iter().all(|kind| kind == "compact"));
}

#[test]
fn every_answer_form_validates_and_mistakes_do_not() {
    let answer = side("answer");
    let new = json!({"role": "user", "text": "x", "covers": ["m1", "s0"]});
    for good in [
        json!({"type": "ready"}),
        json!({"type": "context", "messages": [{"id": "m0"}, {"id": "m1", "text": "x"}, new]}),
        json!({"type": "context", "messages": [], "usage": [{"input": 1, "output": 2, "latency_ms": 0.5}], "notice": "n", "state": [1]}),
        json!({"type": "error", "message": "no key"}),
    ] {
        assert!(answer.is_valid(&good), "{good}");
    }
    for bad in [
        json!({"type": "open"}),
        json!({"type": "ready", "protocol": 1}),
        json!({"type": "context"}),
        json!({"type": "context", "messages": [{"text": "x"}]}),
        json!({"type": "context", "messages": [{"role": "tool", "text": "x"}]}),
        json!({"type": "context", "messages": [{"id": "12"}]}),
        json!({"type": "context", "messages": [{"id": "m0", "covers": []}]}),
        json!({"type": "context", "messages": [], "message": []}),
        json!({"type": "operations", "operations": []}),
        json!({"type": "context", "messages": [], "usage": [{"input": -1, "output": 0}]}),
        json!({"type": "error"}),
    ] {
        assert!(!answer.is_valid(&bad), "{bad}");
    }
}

/// The first block of a language behind a heading of the documentation.
fn block(heading: &str, language: &str) -> String {
    let page = samples().join("../../docs/program.md");
    let page = fs::read_to_string(page).unwrap();
    let section = page.split(heading).nth(1).unwrap();
    let fenced = section.split(&format!("```{language}\n")).nth(1).unwrap();
    fenced.split("```").next().unwrap().to_owned()
}

const SECTION: &str = "# Your own program\n";

#[test]
fn documented_program_runs_and_splits_pair_as_stated() {
    if !there("python3") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("mine.toml"), block(SECTION, "toml")).unwrap();
    fs::write(folder.path().join("mine.py"), block(SECTION, "python")).unwrap();
    let strategy = Strategy::load(&folder.path().join("mine.toml"), &[]).unwrap();
    let prepared = prepared(session());
    let plan = plan(strategy, tokens(&prepared));
    let CellOutcome::Failed { error } = go(replay(&prepared, &plan, &offline())).cell.outcome
    else {
        panic!("ten messages never begin with a result");
    };
    assert!(error.starts_with("strategy bug at request"), "{error}");
    assert!(error.ends_with("is sent without its call"), "{error}");
}

#[test]
fn the_request_of_the_documentation_validates() {
    assert_valid(&side("request"), &block(SECTION, "json"));
}
