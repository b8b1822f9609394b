//! `recap-ray` on a Ray cluster of three nodes on this machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value as Json;

use crate::desk::{Desk, assert_same};
use crate::test_tools::tool;

/// Five small sessions, one in each task.
const JOB: &str = "bench claude-code.jsonl pi.jsonl codex.jsonl opencode.json openai-chat.json \
                   --strategy fifo --cuts 1 --window 40%";

/// The Python with Ray.
fn python() -> Option<PathBuf> {
    tool("RECAP_RELEASE_TOOLS", "python")
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// What became of the command of `tests/cli/ray_cluster.py`, and of one without a cluster.
fn run(desk: &Desk, command: &mut Command) -> Output {
    let program = assert_cmd::cargo::cargo_bin!("recap");
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", program.parent().unwrap().display());
    command.current_dir(desk.path(".")).env("PATH", path).output().unwrap()
}

/// Starts a cluster, and runs jobs on it; what became of each by its name.
fn on_a_cluster(desk: &Desk, python: &Path, jobs: &[(&str, String)]) -> BTreeMap<String, Json> {
    let mut command = Command::new(python);
    command.arg(source("tests/cli/ray_cluster.py")).arg(source("python/scripts/recap-ray"));
    command.args(jobs.iter().map(|(name, words)| format!("{name}:{words}")));
    let ran = run(desk, &mut command);
    let (out, err) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{out}{err}");
    print!("{out}");
    let actual = out.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
    actual.map(|job| (job["name"].as_str().unwrap().to_owned(), job)).collect()
}

#[test]
fn cluster_losing_node_reproduces_single_process_run() {
    let Some(python) = python() else { return };
    let desk = Desk::with_sessions();
    let words: Vec<&str> = JOB.split_whitespace().collect();
    desk.good(&[&words[..], &["--quiet", "--out", "whole"]].concat());
    let jobs = [
        ("wrong", "bench not-there.jsonl --tasks 2 --out wrong".to_owned()),
        ("stop", format!("{JOB} --tasks 5 --out run")),
        ("kill", format!("{JOB} --tasks 5 --out run")),
        ("ship", format!("{JOB} --cells-per-task 12 --out sent --ship --fail-on tokens_sent>1")),
    ];
    let actual = on_a_cluster(&desk, &python, &jobs);
    let ended = |name: &str, code: i32, says: &[&str]| {
        let err = actual[name]["err"].as_str().unwrap();
        assert_eq!(
            (&actual[name]["code"], &actual[name]["left"]),
            (&code.into(), &false.into()),
            "{err}"
        );
        says.iter().for_each(|part| assert!(err.contains(part), "{name}: {part}\n{err}"));
    };
    // What every task would say is said once, with the exit code of recap.
    ended("wrong", 2, &["shard ", "no such file or folder", "error: 1 of 2 tasks failed\nhelp: "]);
    // An interrupted job leaves no program behind, and the next one finds its folder.
    ended("stop", 130, &["error: interrupted\nhelp: the same command goes on"]);
    ended("kill", 0, &["5 of 5 tasks, 5 begun, ", "s per task around it"]);
    // What the lost node was at begins again: one task, or two where one had just been given to it.
    let err = actual["kill"]["err"].as_str().unwrap();
    assert!(!err.contains("5 of 5 tasks, 5 begun, 0 begun again"), "{err}");
    assert_eq!(actual["kill"]["nodes"], 2, "a node is gone");
    assert_same(&desk, "whole", "run");
    // 5 sessions × 5 strategies in 3 tasks; the options of a gate are those of the whole run.
    ended("ship", 1, &["3 of 3 tasks, 3 begun, 0 begun again"]);
    let read = |run: &str| desk.read(&format!("{run}/facts.csv"));
    assert_eq!(read("sent"), read("whole"));
    assert!(!desk.path("run.parts").exists() && !desk.path("sent.parts").exists());
}

#[test]
fn impossible_job_is_refused_before_contacting_cluster() {
    let Some(python) = python() else { return };
    let desk = Desk::with_sessions();
    desk.file("run.parts/shard-1/manifest.json", "{}").file("run.parts/job.json", "{}");
    for (words, says) in [
        ("pi.jsonl", "the following arguments are required: --out"),
        ("pi.jsonl --out run --shard 1/2", "recap-ray does not take --shard"),
        ("- --out run", "recap-ray does not take -"),
        ("pi.jsonl --out run --task-attempts 0", "--task-attempts takes a number from 1"),
        ("absent.jsonl --out other", "error: no such file or folder"),
        ("pi.jsonl --out run --fail-on better", "error: rule `better`"),
        ("pi.jsonl --out run --strategy fifo", "run.parts holds shards of another job"),
        ("pi.jsonl --out other --address 127.0.0.1:1", "error: Ray at 127.0.0.1:1: "),
    ] {
        let mut command = Command::new(&python);
        command.arg(source("python/scripts/recap-ray")).arg("bench");
        let ran = run(&desk, command.args(words.split_whitespace()));
        let err = String::from_utf8_lossy(&ran.stderr);
        assert_eq!((ran.status.code(), ran.stdout.len()), (Some(2), 0), "{words}: {err}");
        assert!(err.contains(says) && !err.contains("Traceback"), "{words}: {err}");
    }
    assert!(!desk.path("run").exists() && !desk.path("other").exists());
}

/// The long options that a help text lists.
fn options(help: &str) -> Vec<String> {
    let rows = help.lines().map(str::trim_start).filter(|row| row.starts_with('-'));
    let words = rows.flat_map(|row| row.split([' ', '=', '.']).take(2));
    let names = words.filter_map(|word| word.strip_prefix("--"));
    names.map(|name| name.trim_end_matches(|c: char| !c.is_alphanumeric()).to_owned()).collect()
}

#[test]
fn recap_ray_options_mean_the_same_in_recap() {
    let script = std::fs::read_to_string(source("python/scripts/recap-ray")).unwrap();
    assert!(script.lines().count() <= 300, "it stays short");
    let list = |name: &str| -> Vec<String> {
        let line = script.lines().find(|line| line.starts_with(&format!("{name} = ["))).unwrap();
        line.split('"').skip(1).step_by(2).map(|word| word.trim_start_matches('-').into()).collect()
    };
    let own =
        script.split("add(\"--").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned());
    let own: Vec<String> = own.collect();
    let both = ["config", "no-text", "out", "quiet", "help", "version"].map(str::to_owned);
    let of = |command: &str| options(&Desk::new().good(&[command, "--help"]).out);
    let merge = of("merge");
    assert!(own.len() > 5 && merge.len() > 8, "{own:?} {merge:?}");
    // What `recap merge` takes goes to it, or is refused; `--no-text` is an option of each shard.
    let known = [list("OF_MERGE"), list("REFUSED"), both.to_vec()].concat();
    let lost: Vec<&String> = merge.iter().filter(|name| !known.contains(name)).collect();
    assert!(lost.is_empty(), "recap-ray gives these to the shards: {lost:?}");
    let bench = of("bench");
    let hidden = own.iter().filter(|name| bench.contains(name) && !both.contains(name));
    let hidden: Vec<&String> = hidden.collect();
    assert!(hidden.is_empty(), "recap bench has options of these names: {hidden:?}");
}
