//! Runs that a signal, a full disk or a kill ends, and what is left of them.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::desk::{Desk, Line as _, assert_same, at};
use crate::server::{Act, Received, Server, chat};
use serde_json::json;

/// Starts the program; nobody reads what it prints, nor perhaps what it says.
fn start_with(desk: &Desk, variables: &[(&str, &str)], line: &str, said: Stdio) -> Child {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("recap"));
    command.args(line.words()).current_dir(desk.path(".")).envs(variables.iter().copied());
    command.stdout(Stdio::null()).stderr(said).spawn().unwrap()
}

fn start(desk: &Desk, line: &str) -> Child {
    start_with(desk, &[], line, Stdio::null())
}

/// Runs the program where no file may grow beyond so many blocks of 512 bytes, as on a full disk;
/// its exit code and what it said.
fn limited(desk: &Desk, blocks: &str, base: &str, line: &str) -> (Option<i32>, String) {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"")]);
    command.arg(assert_cmd::cargo::cargo_bin!("recap")).args(line.words());
    let ran = command.envs(at(base)).current_dir(desk.path(".")).output().unwrap();
    (ran.status.code(), String::from_utf8(ran.stderr).unwrap())
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

const MANY: &str = "bench --strategy all --window 20% --window 30% --jobs 1";

#[test]
fn signal_leaves_partial_report_and_resumable_run() {
    let desk = Desk::new();
    let run = format!("{MANY} SESSION --cuts 2 --fail-on 'overflows > 1000000' --out");
    for (name, code) in [("-INT", 130), ("-TERM", 143)] {
        let _ = std::fs::remove_dir_all(desk.path("run"));
        let mut started = start(&desk, &format!("{run} run"));
        until("a cell ended", || ended(&desk) > 0);
        signal(name, started.id());
        assert_eq!(started.wait().unwrap().code(), Some(code));
        assert!(desk.read("run/report.html").contains("this run is incomplete: "));
        assert!(!desk.path("run/gate.json").exists());
        let gated = desk.recap("report run --fail-on 'overflows > 1000000'");
        assert_eq!(gated.code, 3, "{gated:?}");
    }
    let begun = ended(&desk);
    desk.good(&format!("{run} run --resume --quiet"));
    desk.good(&format!("{run} whole --quiet"));
    assert!(begun < ended(&desk));
    assert_same(&desk, "run", "whole");
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let desk = Desk::new();
    let mut started = start(&desk, &format!("{MANY} --out run"));
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
    let run = format!("{MANY} SESSION --cuts none --quiet --out");
    desk.good(&format!("{run} whole"));
    let blocks = desk.read("whole/cells.jsonl").len() / 2 / 512;
    let (code, said) = limited(&desk, &blocks.to_string(), "", &format!("{run} run"));
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("run/cells.jsonl") && said.contains("File too large"), "{said}");
    assert!(said.contains("help: this system limits the size of files"), "{said}");
    let cells = |run: &str| {
        let journal = desk.read(&format!("{run}/cells.jsonl"));
        journal.lines().filter(|line| line.starts_with("{\"cell\"")).count()
    };
    let (begun, all) = (cells("run"), cells("whole"));
    assert!(0 < begun && begun < all, "{begun} of {all}");
    desk.good(&format!("{run} run --resume"));
    assert_same(&desk, "run", "whole");
}

#[test]
fn non_run_never_replaced_other_run_never_resumed() {
    let desk = Desk::new();
    desk.file("notes/todo.txt", "buy milk");
    let run = "bench SESSION --strategy fifo --cuts none --quiet --out";
    let resume = &format!("{run} run --resume");
    for out in ["notes", "notes --resume"] {
        let refused = desk.refused(&format!("{run} {out}"));
        assert!(refused.contains("notes: this folder is not empty and holds no run"), "{refused}");
    }
    assert_eq!(desk.list("notes"), ["todo.txt"]);
    // Nothing to resume: the run begins. All there: nothing is left to do.
    desk.good(resume);
    let before = desk.read("run/cells.jsonl");
    let times = desk.read("run/times.jsonl");
    desk.good(resume);
    assert_eq!(desk.read("run/cells.jsonl"), before);
    assert_eq!(desk.read("run/times.jsonl"), times, "nothing is replayed");
    let other = desk.refused(&format!("{resume} --seed 2"));
    assert!(other.contains("seed (1 there, 2 here)"), "{other}");
    let manifest = desk.read("run/manifest.json");
    desk.file("run/manifest.json", manifest.replacen("\"instrument\": ", "\"instrument\": 1", 1));
    let version = desk.refused(resume);
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
    for cassette in ["", "--cassette tape.jsonl --record"] {
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
        let bench = "bench SESSION --strategy continuation,codex --compactor openai/m --cuts 2 \
                     --window 25% --concurrency 1 --replicates 2 --out run";
        let resume = format!("{bench} {cassette} --resume");
        for line in [&format!("{bench} {cassette}"), &resume] {
            let mut started = start_with(&desk, &at(&base), line, Stdio::null());
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
    let line = "bench talk --window 50% --strategy fifo --out run --answerer openai/m \
                --concurrency 1 --resume";
    let mut started = start_with(&desk, &at(&base), line, Stdio::piped());
    process.store(started.id(), Ordering::SeqCst);
    for line in BufReader::new(started.stderr.take().unwrap()).lines() {
        if line.unwrap().starts_with("waiting for 1 call under way, 120 s (--timeout) at most") {
            tell.send(()).unwrap();
        }
    }
    assert_eq!((started.wait().unwrap().code(), server.requests()), (Some(130), 2));
    desk.recap_at(&base, line);
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
        let line = "bench talk --window 50% --strategy fifo --out run --prices prices.json \
                    --max-cost 7.3 --answerer openai/m --concurrency 1 --timeout 2 --resume";
        let started = start_with(&desk, &at(&base), line, Stdio::piped());
        process.store(started.id(), Ordering::SeqCst);
        let ended = started.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        let resumable =
            said.contains("--resume finishes the run; replies of models so far are kept in run");
        assert_eq!(resumable, name == "-INT", "{name}: {said}");
        assert_eq!(desk.read("run/spent.txt").trim(), "3.600000000000", "{name}");
        let resumed = desk.recap_at(&base, line);
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
    for (command, name, code) in [
        ("bench SESSION --strategy mine.toml --out run", "-INT", 130),
        ("show SESSION --strategy mine.toml", "-TERM", 143),
        ("strategies check mine.toml", "-TERM", 143),
    ] {
        let _ = std::fs::remove_file(desk.path("pid"));
        let mut started = start(&desk, command);
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
    for content in ["{\"name\": \"mine\"}", "{", "notes", "{\"key\":\"not hex"] {
        desk.file("mine.json", content);
        let bench = "bench SESSION --compactor openai/m --cassette mine.json --record";
        let ran = desk.recap_at("http://127.0.0.1:9/v1", bench);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.err.contains("mine.json:1"), "{}", ran.err);
        assert_eq!(desk.read("mine.json"), content);
    }
}

#[test]
fn failure_to_keep_reply_stops_further_paid_calls() {
    let desk = Desk::new();
    let server = Server::start(actual);
    // The cassette is as large as a file may get but for 100 bytes; the others are small.
    desk.file("tape.jsonl", "\n".repeat(8_192 * 512 - 100));
    let line = "bench SESSION --strategy continuation --compactor openai/m --cuts none \
                --concurrency 1 --cassette tape.jsonl --record --quiet --out run";
    let run = |blocks: &str| limited(&desk, blocks, &server.base(), line);
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
    let run = "bench SESSION --strategy fifo,continuation --cuts 2 --quiet --out";
    desk.good(&format!("{run} whole --no-text"));
    let journal = desk.read("whole/cells.jsonl");
    let lines = journal.lines().count();
    for kept in [2, lines - 1] {
        desk.file("run/manifest.json", desk.read("whole/manifest.json"));
        let kept: String = journal.lines().take(kept).flat_map(|line| [line, "\n"]).collect();
        desk.file("run/cells.jsonl", kept);
        desk.good(&format!("{run} run --resume --no-text"));
        assert_same(&desk, "run", "whole");
    }
    let worded = desk.refused(&format!("{run} run --resume"));
    assert!(worded.contains("no_text"), "a run is one or the other");
}
