//! Runs that a signal, a full disk or a kill ends, and what is left of them.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::desk::{Desk, assert_same, at, session};
use crate::server::{Act, Received, Server, chat};
use serde_json::json;

/// Starts the program; nobody reads what it says.
pub fn start(desk: &Desk, variables: &[(&str, &str)], arguments: &[&str]) -> Child {
    Command::new(assert_cmd::cargo::cargo_bin!("recap"))
        .args(arguments)
        .current_dir(desk.path("."))
        .envs(variables.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

pub fn signal(name: &str, process: u32) {
    assert_ne!(process, 0, "0 would be every process of the tests");
    assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
}

/// Waits for something, at most for minutes.
fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..30_000 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("it never came to this: {what}");
}

/// Cells and cuts that stand in the journal of `run`.
fn ended(desk: &Desk) -> usize {
    let journal = std::fs::read_to_string(desk.path("run/cells.jsonl")).unwrap_or_default();
    let whole = |line: &&str| line.ends_with("\"}") && !line.starts_with("{\"session\"");
    journal.lines().filter(whole).count()
}

const MANY: [&str; 8] =
    ["bench", "--strategy", "all", "--window", "20%", "--window", "30%", "--jobs=1"];

#[test]
fn signal_leaves_partial_report_and_resumable_run() {
    let desk = Desk::new();
    let session = session();
    let rule = ["--fail-on", "overflows > 1000000", "--out"];
    let run = |out| [&MANY[..], &[session.as_str(), "--cuts=2"], &rule, &[out]].concat();
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let _ = std::fs::remove_dir_all(desk.path("run"));
        let mut started = start(&desk, &[], &run("run"));
        until("a cell ended", || ended(&desk) > 0);
        signal(name, started.id());
        assert_eq!(started.wait().unwrap().code(), Some(code));
        assert!(desk.read("run/report.html").contains("this run is incomplete: "));
        assert!(!desk.path("run/gate.json").exists());
        let gated = desk.recap(&["report", "run", "--fail-on", "overflows > 1000000"]);
        assert_eq!(gated.code, 3, "{gated:?}");
    }
    let begun = ended(&desk);
    desk.good(&[&run("run")[..], &["--resume", "--quiet"]].concat());
    desk.good(&[&run("whole")[..], &["--quiet"]].concat());
    assert!(begun < ended(&desk));
    assert_same(&desk, "run", "whole");
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let desk = Desk::new();
    let mut started = start(&desk, &[], &[&MANY[..], &["--out", "run"]].concat());
    until("a cell ended", || ended(&desk) > 0);
    signal("-TERM", started.id());
    // Until it is gone, whatever it does then: at most once it is noticed.
    until("it ends", || {
        let _ = Command::new("kill").args(["-INT", &started.id().to_string()]).output();
        std::thread::sleep(Duration::from_millis(50));
        matches!(Command::new("ps").args(["-o", "stat=", "-p", &started.id().to_string()]).output(),
                 Ok(out) if String::from_utf8_lossy(&out.stdout).trim().starts_with('Z'))
    });
    let code = started.wait().unwrap().code();
    assert!(matches!(code, Some(130 | 143)), "{code:?}");
}

#[test]
fn run_stopped_by_full_disk_resumes_with_room() {
    let desk = Desk::new();
    let session = session();
    let options = [&MANY[..], &[session.as_str(), "--cuts=none", "--quiet", "--out"]].concat();
    desk.good(&[&options[..], &["whole"]].concat());
    // No file may grow beyond so many blocks of 512 bytes, as on a full disk.
    let blocks = desk.read("whole/cells.jsonl").len() / 2 / 512;
    let program = assert_cmd::cargo::cargo_bin!("recap");
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let full = Command::new("sh")
        .args(["-c", &script])
        .arg(program)
        .args(&options)
        .arg("run")
        .current_dir(desk.path("."))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&full.stderr);
    assert_eq!(full.status.code(), Some(2), "{said}");
    assert!(said.contains("run/cells.jsonl") && said.contains("File too large"), "{said}");
    assert!(said.contains("help: this system limits the size of files"), "{said}");
    let cells = |run: &str| {
        let journal = desk.read(&format!("{run}/cells.jsonl"));
        journal.lines().filter(|line| line.starts_with("{\"cell\"")).count()
    };
    let (begun, all) = (cells("run"), cells("whole"));
    assert!(0 < begun && begun < all, "{begun} of {all}");
    desk.good(&[&options[..], &["run", "--resume"]].concat());
    assert_same(&desk, "run", "whole");
}

#[test]
fn non_run_never_replaced_other_run_never_resumed() {
    let desk = Desk::new();
    let session = session();
    desk.file("notes/todo.txt", "buy milk");
    let run = ["bench", session.as_str(), "--strategy", "fifo", "--cuts=none", "--quiet", "--out"];
    for resume in [&[][..], &["--resume"]] {
        let refused = desk.refused(&[&run[..], &["notes"], resume].concat());
        assert!(refused.contains("notes: this folder is not empty and holds no run"), "{refused}");
    }
    assert_eq!(desk.list("notes"), ["todo.txt"]);
    // Nothing to resume: the run begins. All there: nothing is left to do.
    desk.good(&[&run[..], &["run", "--resume"]].concat());
    let before = desk.read("run/cells.jsonl");
    let times = desk.read("run/times.jsonl");
    desk.good(&[&run[..], &["run", "--resume"]].concat());
    assert_eq!(desk.read("run/cells.jsonl"), before);
    assert_eq!(desk.read("run/times.jsonl"), times, "nothing is replayed");
    let other = desk.refused(&[&run[..], &["run", "--resume", "--seed", "2"]].concat());
    assert!(other.contains("seed (1 there, 2 here)"), "{other}");
    let manifest = desk.read("run/manifest.json");
    desk.file("run/manifest.json", manifest.replacen("\"instrument\": ", "\"instrument\": 1", 1));
    let version = desk.refused(&[&run[..], &["run", "--resume"]].concat());
    assert!(version.contains("this run was made by version 1"), "{version}");
    assert_eq!(desk.read("run/cells.jsonl"), before);
}

/// Answers each question with a word of its own.
fn actual(request: &Received) -> Act {
    let number = request.text().bytes().map(u32::from).sum::<u32>();
    Act::chat(&format!("The word is w{number}. It was said before, and it holds until now."))
}

#[test]
fn arrived_reply_is_never_requested_again() {
    for cassette in [&[][..], &["--cassette", "tape.jsonl", "--record"]] {
        let desk = Desk::new();
        let process = Arc::new(AtomicU32::new(0));
        let (killed, asked) = (Arc::clone(&process), Arc::new(AtomicU32::new(0)));
        let count = Arc::clone(&asked);
        let server = Server::start(move |request| {
            // The eighth and the twentieth request end the program that made them, before
            // they are answered.
            if matches!(count.fetch_add(1, Ordering::SeqCst), 7 | 19) {
                signal("-KILL", killed.swap(0, Ordering::SeqCst));
            }
            actual(request)
        });
        let base = server.base();
        let variables = at(&base);
        let session = session();
        let common = ["bench", &session, "--strategy", "continuation", "--strategy", "codex"];
        let models = ["--compactor", "openai/m", "--cuts=2", "--window", "25%", "--concurrency=1"];
        let options =
            [&common[..], &models, cassette, &["--replicates=2", "--out", "run"]].concat();
        let resume = [&options[..], &["--resume"]].concat();
        for options in [&options, &resume] {
            let mut started = start(&desk, &variables, options);
            process.store(started.id(), Ordering::SeqCst);
            assert_eq!(started.wait().unwrap().code(), None, "it was killed");
        }
        let resumed = desk.recap_at(&base, &resume);
        assert_eq!(resumed.code, 0, "{resumed:?}");
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for request in server.log() {
            *times.entry(request.body.to_string()).or_default() += 1;
        }
        // Repetitions put the same request to the model: as often as the run has calls of it.
        let calls = desk.csv("run/calls.csv");
        assert_eq!(times.values().sum::<usize>(), calls.len() + 2, "two were lost on their way");
        assert!(calls.len() > 20);
        let source = if cassette.is_empty() { "live" } else { "recorded" };
        assert!(calls.iter().all(|call| call["latency_source"] == source));
        assert!(!desk.path("run/replies.jsonl").exists(), "a whole run needs it no more");
    }
}

#[test]
fn signal_waits_for_the_reply_under_way() {
    let desk = Desk::new();
    crate::roles::talk(&desk);
    let process = Arc::new(AtomicU32::new(0));
    let (tell, told) = std::sync::mpsc::channel();
    let (signalled, told) = (Arc::clone(&process), std::sync::Mutex::new(told));
    let server = Server::start(move |request| {
        if request.number == 1 {
            signal("-INT", signalled.load(Ordering::SeqCst));
            told.lock().unwrap().recv().unwrap();
        }
        actual(request)
    });
    let base = server.base();
    let variables = [("OPENAI_BASE_URL", base.as_str()), ("OPENAI_API_KEY", "sk-test")];
    let data = ["bench", "talk", "--window", "50%", "--strategy", "fifo", "--out", "run"];
    let options = [&data[..], &["--answerer", "openai/m", "--concurrency=1", "--resume"]].concat();
    let mut started = Command::new(assert_cmd::cargo::cargo_bin!("recap"))
        .args(&options)
        .current_dir(desk.path("."))
        .envs(variables)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process.store(started.id(), Ordering::SeqCst);
    for line in BufReader::new(started.stderr.take().unwrap()).lines() {
        if line.unwrap().starts_with("waiting for 1 call under way, 120 s (--timeout) at most") {
            tell.send(()).unwrap();
        }
    }
    assert_eq!((started.wait().unwrap().code(), server.requests()), (Some(130), 2));
    desk.recap_with(&variables, &options);
    let calls = desk.csv("run/calls.csv");
    assert!(calls.iter().all(|call| call["outcome"] == "replied"));
    assert_eq!(server.requests(), calls.len(), "no reply was lost");
}

/// A server that reports no tokens, a price of $1.20 at most for each call, a cap that six of
/// them fit into, and a signal during the third.
#[test]
fn cap_holds_over_signals_and_resumption() {
    for name in ["-KILL", "-INT"] {
        let desk = Desk::new();
        crate::roles::talk(&desk);
        let price = json!({"openai/m": {"input_cost_per_token": 0, "output_cost_per_token": 0.01,
            "mode": "chat", "litellm_provider": "openai"}});
        desk.file("prices.json", price.to_string());
        let process = Arc::new(AtomicU32::new(0));
        let signalled = Arc::clone(&process);
        let server = Server::start(move |request| {
            if request.number == 2 {
                signal(name, signalled.load(Ordering::SeqCst));
                return Act::Hang;
            }
            let mut reply = chat("heron", "stop");
            reply.as_object_mut().unwrap().remove("usage");
            Act::json(200, &reply)
        });
        let base = server.base();
        let variables = at(&base);
        let data = ["bench", "talk", "--window", "50%", "--strategy", "fifo", "--out", "run"];
        let money = ["--prices", "prices.json", "--max-cost", "7.3", "--answerer", "openai/m"];
        let options = [&data[..], &money, &["--concurrency=1", "--timeout=2", "--resume"]].concat();
        let mut started = Command::new(assert_cmd::cargo::cargo_bin!("recap"));
        started.args(&options).current_dir(desk.path(".")).envs(variables);
        let started = started.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        process.store(started.id(), Ordering::SeqCst);
        let ended = started.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let resumable =
            said.contains("--resume finishes the run; replies of models so far are kept in run");
        assert_eq!(resumable, name == "-INT", "{name}: {said}");
        assert_eq!(desk.read("run/spent.txt").trim(), "3.600000000000", "{name}");
        let resumed = desk.recap_at(&base, &options);
        assert_eq!((resumed.code, server.requests()), (3, 6), "{name}: {resumed:?}");
        assert!(resumed.err.contains("the budget is used up"), "{name}: {}", resumed.err);
    }
}

#[test]
fn started_program_ends_with_run() {
    let desk = Desk::new();
    desk.file(
        "mine.py",
        "import os, time\nopen('pid', 'w').write(str(os.getpid()))\ntime.sleep(600)\n",
    );
    let stage = "[[stage]]\nmechanism = \"command\"\ncommand = [\"python3\", \"mine.py\"]\n";
    let strategy = format!(
        "version = 1\nname = \"mine\"\nsummary = \"Sleeps.\"\nsource = \"a test\"\n\n{stage}\
         at = \"request\"\nwhen = \"always\"\n"
    );
    desk.file("mine.toml", strategy);
    let session = session();
    let commands: [&[&str]; 3] = [
        &["bench", &session, "--strategy", "mine.toml", "--out", "run"],
        &["show", &session, "--strategy", "mine.toml"],
        &["strategies", "check", "mine.toml"],
    ];
    for (command, (name, code)) in
        commands.into_iter().zip([("-INT", 130), ("-TERM", 143), ("-TERM", 143)])
    {
        let _ = std::fs::remove_file(desk.path("pid"));
        let mut started = start(&desk, &[], command);
        let pid = || std::fs::read_to_string(desk.path("pid")).unwrap_or_default();
        until("the program was started", || !pid().is_empty());
        signal(name, started.id());
        assert_eq!(started.wait().unwrap().code(), Some(code), "{command:?}");
        let state = Command::new("ps").args(["-o", "stat=", "-p", &pid()]).output().unwrap().stdout;
        let state = String::from_utf8(state).unwrap();
        assert!(state.trim().is_empty() || state.trim().starts_with('Z'), "{command:?}: {state}");
    }
}

#[test]
fn what_is_no_cassette_stays_as_it_is() {
    let desk = Desk::new();
    let session = session();
    for content in ["{\"name\": \"mine\"}", "{", "notes", "{\"key\":\"not hex"] {
        desk.file("mine.json", content);
        let record = ["bench", &session, "--compactor", "openai/m", "--cassette", "mine.json"];
        let ran = desk.recap_at("http://127.0.0.1:9/v1", &[&record[..], &["--record"]].concat());
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("mine.json:1"), "{}", ran.err);
        assert_eq!(desk.read("mine.json"), content);
    }
}

#[test]
fn failure_to_keep_reply_stops_further_paid_calls() {
    let desk = Desk::new();
    let server = Server::start(actual);
    let session = session();
    // The cassette is as large as a file may get but for 100 bytes; the others are small.
    desk.file("tape.jsonl", "\n".repeat(8_192 * 512 - 100));
    let run = |limit: &str| {
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$0\" \"$@\"");
        let ran = Command::new("sh")
            .args(["-c", &script])
            .arg(assert_cmd::cargo::cargo_bin!("recap"))
            .args(["bench", &session, "--strategy", "continuation", "--compactor", "openai/m"])
            .args(["--cuts=none", "--concurrency=1", "--cassette", "tape.jsonl", "--record"])
            .args(["--quiet", "--out", "run"])
            .envs(at(&server.base()))
            .current_dir(desk.path("."))
            .output()
            .unwrap();
        (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
    };
    let (code, said) = run("8192");
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("tape.jsonl cannot store another reply (File too large"), "{said}");
    // The next one may be on its way by the time it is known.
    assert!(server.requests() <= 2, "{}", server.requests());
    // What is there is written, and with room the rest is asked for.
    assert!(desk.read("run/report.html").contains("continuation"));
    let (code, said) = run("unlimited");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(server.requests(), desk.csv("run/calls.csv").len());
    assert!(server.requests() > 5, "{}", server.requests());
}

#[test]
fn run_without_text_resumes_to_same_files() {
    let desk = Desk::new();
    let session = session();
    let run = ["bench", session.as_str(), "--strategy", "fifo", "--strategy", "continuation"];
    let run = [&run[..], &["--cuts=2", "--no-text", "--quiet", "--out"]].concat();
    desk.good(&[&run[..], &["whole"]].concat());
    let journal = desk.read("whole/cells.jsonl");
    let lines = journal.lines().count();
    for kept in [2, lines - 1] {
        desk.file("run/manifest.json", desk.read("whole/manifest.json"));
        let kept: String = journal.lines().take(kept).flat_map(|line| [line, "\n"]).collect();
        desk.file("run/cells.jsonl", kept);
        desk.good(&[&run[..], &["run", "--resume"]].concat());
        assert_same(&desk, "run", "whole");
    }
    let mut worded = [&run[..], &["run", "--resume"]].concat();
    worded.retain(|word| *word != "--no-text");
    assert!(desk.refused(&worded).contains("no_text"), "a run is one or the other");
}
