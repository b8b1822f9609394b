//! Runs whose models answer in batches, played by a provider that behaves like
//! OpenAI's and Anthropic's.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};

use crate::batch_provider::{Asked, Fate, Provider, Submitted, Whose};
use crate::desk::{Desk, Ran, assert_same, session};
use crate::interrupted::{signal, start};
use crate::questions::author_of;
use crate::seats::{folder, reply_of, talk};
use crate::server::{Act, Received, Server};

/// $4 a million tokens of prompts, $20 of replies, and no prices of batches.
const PRICES: &str = r#"{
    "openai/m": {"input_cost_per_token": 4e-6, "output_cost_per_token": 2e-5, "mode": "chat"},
    "anthropic/m": {"input_cost_per_token": 4e-6, "output_cost_per_token": 2e-5, "mode": "chat"}
}"#;

fn knows(asked: &Asked) -> Fate {
    Fate::Says(reply_of(&asked.system, &asked.text, asked.schema.is_some()))
}

/// A desk with the talk and the prices.
fn desk() -> Desk {
    let desk = Desk::new();
    talk(&desk);
    desk.file("prices.json", PRICES);
    desk
}

fn variables(base: &str) -> [(&'static str, String); 4] {
    [
        ("OPENAI_BASE_URL", base.to_owned()),
        ("OPENAI_API_KEY", "sk-canary-4471".to_owned()),
        ("ANTHROPIC_BASE_URL", base.to_owned()),
        ("ANTHROPIC_API_KEY", "sk-canary-4471".to_owned()),
    ]
}

fn recap(desk: &Desk, base: &str, arguments: &[&str]) -> Ran {
    let variables = variables(base);
    let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
    desk.recap_with(&variables, arguments)
}

/// A run on the talk that is answered and graded by a model.
fn run<'a>(model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let what =
        ["bench", "talk", "--window", "50%", "--strategy", "fifo", "--prices", "prices.json"];
    [&what[..], &["--answerer", model, "--judge", model], more].concat()
}

const BATCH: [&str; 3] = ["--batch", "--batch-poll", "0.1"];

/// The calls of a run by key, each with some of its columns.
fn calls(desk: &Desk, run: &str, columns: &[&str]) -> BTreeMap<String, Vec<String>> {
    let rows = desk.csv(&format!("{run}/calls.csv")).into_iter();
    rows.map(|row| (row["key"].clone(), columns.iter().map(|c| row[*c].clone()).collect()))
        .collect()
}

/// No call was submitted twice.
#[track_caller]
fn each_once(batches: &[Submitted], calls: usize) {
    let names = batches.iter().flat_map(|batch| &batch.asked).map(|asked| &asked.name);
    assert_eq!((names.clone().count(), names.collect::<BTreeSet<_>>().len()), (calls, calls));
}

#[test]
fn a_run_in_batches_has_the_same_results_at_half_the_price() {
    let direct = Server::start(|request: &Received| {
        let system = request.body["messages"][0]["content"].as_str().unwrap();
        let schema = request.body.get("response_format").is_some();
        Act::chat(&reply_of(system, &request.text(), schema))
    });
    let desk = desk();
    let ran = recap(&desk, &direct.base(), &run("openai/m", &["--out", "direct"]));
    assert_eq!(ran.code, 0, "{ran:?}");
    for (whose, model) in [(Whose::OpenAi, "openai/m"), (Whose::Anthropic, "anthropic/m")] {
        let provider = Provider::start(whose, knows);
        let out = format!("run-{model}").replace('/', "-");
        let more = [&BATCH[..], &["--out", &out]].concat();
        let ran = recap(&desk, &provider.base(), &run(model, &more));
        assert_eq!(ran.code, 0, "{ran:?}");
        for file in ["probes.csv", "requests.csv", "references.csv", "cuts.csv", "facts.csv"] {
            let [direct, own] = ["direct", &out].map(|run| desk.read(&format!("{run}/{file}")));
            assert_eq!(own.replace(model, "openai/m"), direct, "{file}");
        }
        // 10 tokens at $4 and 5 at $20 a million are $0.00014; in batches half.
        let columns = ["outcome", "cost_usd", "attempts", "latency_source"];
        let of = |cost: &str, source: &str| ["replied", cost, "1", source].map(str::to_owned);
        let own = calls(&desk, &out, &columns);
        assert!(own.values().all(|row| row[..] == of("0.00007", "batch")), "{own:?}");
        let before = calls(&desk, "direct", &columns);
        assert!(before.values().all(|row| row[..] == of("0.00014", "live")), "{before:?}");
        assert_eq!(own.len(), before.len());
        let times = calls(&desk, &out, &["queue_ms", "first_byte_ms", "total_ms"]);
        assert!(times.values().flatten().all(String::is_empty), "{times:?}");
        if whose == Whose::OpenAi {
            assert!(own.keys().eq(before.keys()), "the same requests");
        }
        let batches = provider.submitted();
        each_once(&batches, own.len());
        assert!(batches.len() < own.len() / 2, "{} for {} calls", batches.len(), own.len());
        assert!(ran.err.contains("batch batch_0 of "), "{}", ran.err);
        assert!(
            ran.out.contains("in batches, at their price, which have no latency"),
            "{}",
            ran.out
        );
        let left = desk.list(&out);
        assert!(!left.iter().any(|name| name.contains("replies")), "{left:?}");
    }
}

#[test]
fn the_dry_run_and_the_cap_go_by_the_price_of_batches() {
    let desk = desk();
    let provider = Provider::start(Whose::OpenAi, knows);
    let worst = |more: &[&str]| -> f64 {
        let ran =
            recap(&desk, &provider.base(), &run("openai/m", &[more, &["--dry-run"]].concat()));
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(ran.out.contains("answerer openai/m in batches: "), !more.is_empty(), "{ran:?}");
        let line = ran.out.lines().find(|line| line.starts_with("at list prices")).unwrap();
        let dollars = line.split('$').nth(2).unwrap().split(' ').next().unwrap();
        dollars.parse().unwrap()
    };
    let (full, half) = (worst(&[]), worst(&["--batch"]));
    assert!((half - full / 2.0).abs() < 0.0101, "{half} of {full}");
    assert_eq!(provider.log().len(), 0);
    // Enough for one call at a time, and not for all.
    let more = [&BATCH[..], &["--max-cost", "0.0001", "--out", "poor"]].concat();
    let ran = recap(&desk, &provider.base(), &run("openai/m", &more));
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("nothing was spent: the next call could cost up to"), "{}", ran.err);
    assert_eq!(provider.submitted().len(), 0);
}

/// A provider that lets its first batch end only once this is true, and does
/// something at the first look at it.
fn waiting(
    whose: Whose,
    goes_on: &Arc<AtomicBool>,
    at_first_look: impl Fn() + Send + Sync + 'static,
) -> Provider {
    let (goes_on, looked) = (Arc::clone(goes_on), AtomicBool::new(false));
    Provider::with(whose, knows, move |request: &Received, _: &[Submitted]| {
        if goes_on.load(SeqCst) || request.method != "GET" || !request.path.ends_with("/batch_0") {
            return None;
        }
        if !looked.swap(true, SeqCst) {
            at_first_look();
        }
        let running = serde_json::json!({"id": "batch_0", "status": "in_progress",
            "processing_status": "in_progress"});
        Some(Act::json(200, &running))
    })
}

#[test]
fn a_killed_run_goes_on_with_its_batches_and_submits_nothing_twice() {
    for (whose, model, cassette) in [
        (Whose::OpenAi, "openai/m", &[][..]),
        (Whose::Anthropic, "anthropic/m", &[]),
        (Whose::OpenAi, "openai/m", &["--cassette", "tape.jsonl", "--record"]),
    ] {
        let desk = desk();
        let goes_on = Arc::new(AtomicBool::new(false));
        let process = Arc::new(AtomicU32::new(0));
        let killed = Arc::clone(&process);
        let provider = waiting(whose, &goes_on, move || {
            // The program may look before the test has its number.
            while killed.load(SeqCst) == 0 {
                std::thread::yield_now();
            }
            signal("-KILL", killed.load(SeqCst));
        });
        let options = run(model, &[&BATCH[..], cassette, &["--out", "run"]].concat());
        let variables = variables(&provider.base());
        let variables = variables.each_ref().map(|(name, value)| (*name, value.as_str()));
        let mut started = start(&desk, &variables, &options);
        process.store(started.id(), SeqCst);
        assert_eq!(started.wait().unwrap().code(), None, "it was killed");
        assert_eq!(provider.submitted().len(), 1);
        let list =
            if cassette.is_empty() { "run/replies.jsonl.batches" } else { "tape.jsonl.batches" };
        assert!(desk.read(list).contains("batch_0"));
        if cassette.is_empty() {
            let ran = recap(&desk, &provider.base(), &options);
            assert_eq!(ran.code, 2, "{ran:?}");
            assert!(ran.err.contains("run: an interrupted run has batches under way"), "{ran:?}");
        }
        goes_on.store(true, SeqCst);
        let resumed = recap(&desk, &provider.base(), &[&options[..], &["--resume"]].concat());
        assert_eq!(resumed.code, 0, "{resumed:?}");
        assert!(resumed.err.contains("going on with the batch batch_0 of "), "{}", resumed.err);
        each_once(&provider.submitted(), desk.csv("run/calls.csv").len());
        assert!(!desk.path(list).exists(), "a whole run needs it no more");
        // As if nothing had happened.
        let whole = run(model, &[&BATCH[..], &["--out", "whole"]].concat());
        let whole = recap(&desk, &provider.base(), &whole);
        assert_eq!(whole.code, 0, "{whole:?}");
        if cassette.is_empty() {
            assert_same(&desk, "run", "whole");
        }
    }
}

#[test]
fn an_interrupted_run_says_which_batches_go_on_and_how_to_get_them() {
    let desk = desk();
    let goes_on = Arc::new(AtomicBool::new(false));
    let process = Arc::new(AtomicU32::new(0));
    let interrupted = Arc::clone(&process);
    let provider = waiting(Whose::OpenAi, &goes_on, move || {
        while interrupted.load(SeqCst) == 0 {
            std::thread::yield_now();
        }
        signal("-INT", interrupted.load(SeqCst));
    });
    let child = Command::new(assert_cmd::cargo::cargo_bin!("recap"))
        .args(run("openai/m", &[&BATCH[..], &["--out", "run"]].concat()))
        .current_dir(desk.path("."))
        .envs(variables(&provider.base()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process.store(child.id(), SeqCst);
    let ended = child.wait_with_output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(130), "{said}");
    let calls = provider.submitted()[0].asked.len();
    let told = format!("these batches go on at the provider: batch_0 of {calls} calls");
    assert!(said.contains(&told), "{said}");
    assert!(said.contains("with --out and --resume takes their results"), "{said}");
}

#[test]
fn what_a_batch_leaves_unanswered_is_unscored_and_the_run_is_incomplete() {
    let desk = desk();
    let provider =
        Provider::start(Whose::Anthropic, |asked| match asked.text.contains("invoice") {
            true if asked.schema.is_none() => Fate::Expires,
            _ => knows(asked),
        });
    let more = [&BATCH[..], &["--attempts", "2", "--out", "run"]].concat();
    let ran = recap(&desk, &provider.base(), &run("anthropic/m", &more));
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("it was not answered within a day"), "{}", ran.err);
    let probes = desk.csv("run/probes.csv");
    for row in &probes {
        let unanswered = row["probe"] == "p1";
        assert_eq!(row["score"].is_empty(), unanswered, "never a wrong answer: {row:?}");
    }
    assert!(probes.iter().any(|row| row["score"] == "1"));
}

#[test]
fn a_batch_that_is_refused_is_one_error_with_the_providers_words() {
    let desk = desk();
    let provider = Provider::with(Whose::OpenAi, knows, |request, _| {
        let failed = serde_json::json!({"id": "batch_0", "status": "failed", "errors": {"data": [
            {"code": "model_not_found", "line": 1, "message": "The provided model is not supported."},
        ]}});
        request.path.ends_with("/batch_0").then(|| Act::json(200, &failed))
    });
    let more = [&BATCH[..], &["--out", "run"]].concat();
    let ran = recap(&desk, &provider.base(), &run("openai/m", &more));
    assert_eq!(ran.code, 2, "{ran:?}");
    let words = "the batch batch_0 was refused: line 1: The provided model is not supported.";
    assert!(ran.err.contains(words) && ran.err.contains("help: "), "{}", ran.err);
    assert_eq!(ran.err.matches("is not supported").count(), 1, "{}", ran.err);
}

#[test]
fn a_recording_in_batches_is_replayed_to_the_same_bytes() {
    let desk = desk();
    let provider = Provider::start(Whose::OpenAi, knows);
    let tape = ["--cassette", "tape.jsonl"];
    let more = [&BATCH[..], &tape, &["--record", "--out", "a"]].concat();
    let recorded = recap(&desk, &provider.base(), &run("openai/m", &more));
    assert_eq!(recorded.code, 0, "{recorded:?}");
    assert!(!desk.path("tape.jsonl.batches").exists());
    drop(provider);
    for (out, batch) in [("b", &[][..]), ("c", &["--batch"])] {
        let more = [batch, &tape, &["--replay", "--out", out]].concat();
        let replayed = desk.recap(&run("openai/m", &more));
        assert_eq!(replayed.code, 0, "{replayed:?}");
        assert_eq!(folder(&desk, out), folder(&desk, "a"), "the same bytes");
    }
    let sources = calls(&desk, "b", &["latency_source", "cost_usd"]);
    assert!(sources.values().all(|row| row[..] == ["batch", "0.00007"]), "{sources:?}");
}

#[test]
fn answers_are_graded_again_in_a_batch() {
    let desk = desk();
    let provider = Provider::start(Whose::OpenAi, knows);
    let data = ["bench", "talk", "--window", "50%", "--strategy", "fifo", "--out", "run"];
    desk.good(&data);
    let judge =
        ["judge", "run", "--judge", "openai/m", "--prices", "prices.json", "--out", "again"];
    let unkept = recap(&desk, &provider.base(), &[&judge[..], &BATCH].concat());
    unkept.is_refused();
    assert!(unkept.err.contains("--batch without a cassette"), "{unkept:?}");
    let kept = ["--cassette", "tape.jsonl", "--record"];
    let ran = recap(&desk, &provider.base(), &[&judge[..], &BATCH, &kept].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(provider.submitted().len(), 1, "all answers are graded in one batch");
    each_once(&provider.submitted(), desk.csv("again/calls.csv").len());
}

#[test]
fn questions_are_written_in_batches() {
    let desk = Desk::new();
    let session = session();
    let provider = Provider::start(Whose::OpenAi, |asked| {
        Fate::Says(author_of(&asked.system, &asked.text, asked.schema.as_deref()))
    });
    let written = |out: &str, more: &[&str]| {
        let what = ["probes", "generate", &session, "--model", "openai/m", "--out", out];
        let tape = format!("{out}.tape");
        let kept = ["--cassette", &tape, "--record"];
        let ran = recap(&desk, &provider.base(), &[&what[..], &kept, more].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        ran
    };
    written("batch.jsonl", &BATCH);
    assert!(desk.read("batch.jsonl").contains("On which host did the refused job run?"));
    // Written; answered without and twice with the conversation; graded.
    let sizes: Vec<usize> = provider.submitted().iter().map(|b| b.asked.len()).collect();
    assert!(sizes.len() <= 4 && sizes[0] >= 5, "{sizes:?}");
    assert!(!desk.path("batch.jsonl.tape.batches").exists());
}

#[test]
fn batches_that_would_be_none_or_be_lost_are_refused() {
    let desk = desk();
    for (arguments, says) in [
        (&["bench", "talk", "--batch"][..], "--batch without a model"),
        (
            &["bench", "talk", "--batch", "--answerer", "ollama/m"],
            "--batch without a model that is asked in batches",
        ),
        (
            &["bench", "talk", "--batch", "--no-text", "--answerer", "openai/m"],
            "without a cassette",
        ),
        (&["bench", "talk", "--batch-poll", "0"], "not between 0 and 3600 seconds"),
        (&["bench", "talk", "--batch-poll", "x"], "not a number"),
    ] {
        let ran = recap(&desk, "http://127.0.0.1:9", arguments);
        assert!(ran.code == 2 && ran.err.contains(says), "{arguments:?}: {ran:?}");
    }
    desk.file("tape.jsonl", "").file("tape.jsonl.batches", "no list\n");
    let more = [&BATCH[..], &["--cassette", "tape.jsonl", "--record"]].concat();
    let ran = recap(&desk, "http://127.0.0.1:9", &run("openai/m", &more));
    ran.is_refused();
    assert!(ran.err.contains("tape.jsonl.batches:1"), "{ran:?}");
    assert_eq!(desk.read("tape.jsonl.batches"), "no list\n");
}
