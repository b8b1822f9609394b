//! What test runners and status scripts print, worked out from the files.

use super::project::{Language, Task};
use super::repo::Repo;
use crate::Stream;

/// The outcome of a test run.
pub struct Run {
    /// The command line.
    pub command: String,
    /// What it printed.
    pub output: String,
    /// Whether a test failed.
    pub failed: bool,
}

/// How often a file defines a test.
fn tests_in(language: Language, text: &str) -> usize {
    match language {
        Language::Python => text.matches("def test_").count(),
        Language::Go => text.matches("\nfunc Test").count(),
    }
}

fn is_test_file(language: Language, path: &str) -> bool {
    match language {
        Language::Python => path.starts_with("tests/test_"),
        Language::Go => path.ends_with("_test.go"),
    }
}

/// Whether the fault that `task` is about is still there.
fn is_broken(repo: &Repo, task: &Task) -> bool {
    repo.holds(task.old_file(), &task.old)
}

/// Runs the test file of a task.
pub fn run_file(language: Language, repo: &Repo, task: &Task, random: &mut Stream) -> Run {
    let failed = is_broken(repo, task);
    let n = tests_in(language, repo.file(&task.test_file)).max(1);
    let (path, test) = (&task.test_file, &task.test);
    let took = format!("0.{:02}", random.number(11..=97));
    match language {
        Language::Python => {
            let command = format!("python -m pytest {path} -q");
            let output = if failed {
                let head = format!("{}F{:>width$}", ".".repeat(n - 1), "[100%]", width = 79 - n);
                let line = repo.line_of(path, test) + task.test_code.matches('\n').count() - 2;
                let rule = |text: &str, sign: &str| {
                    let side = sign.repeat(78usize.saturating_sub(text.len()) / 2);
                    format!("{side} {text} {side}")
                };
                let passed = if n > 1 { format!(", {} passed", n - 1) } else { String::new() };
                let cause = task.failure.lines().find_map(|l| l.strip_prefix("E       "));
                format!(
                    "{head}\n{}\n{}\n\n{}\n\n{path}:{line}: AssertionError\n{}\nFAILED {path}::{test} - {}\n1 failed{passed} in {took}s",
                    rule("FAILURES", "="),
                    rule(test, "_"),
                    task.failure,
                    rule("short test summary info", "="),
                    cause.unwrap_or("see above").trim(),
                )
            } else {
                let dots = ".".repeat(n);
                format!("{dots}{:>width$}\n{n} passed in {took}s", "[100%]", width = 79 - n)
            };
            Run { command, output, failed }
        }
        Language::Go => {
            let package = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
            let command = format!("go test ./{package}");
            let output = if failed {
                format!(
                    "--- FAIL: {test} (0.00s)\n    {}\nFAIL\nFAIL\t./{package}\t{took}s\nFAIL",
                    task.failure
                )
            } else {
                format!("ok  \t./{package}\t{took}s")
            };
            Run { command, output, failed }
        }
    }
}

/// Runs everything, with coverage where `coverage` says so.
pub fn run_all(language: Language, repo: &Repo, coverage: bool, random: &mut Stream) -> Run {
    let took = format!("{}.{:02}", random.number(3..=19), random.number(10..=99));
    let files: Vec<&str> = repo.paths().filter(|path| is_test_file(language, path)).collect();
    let quiet = coverage || random.chance(50);
    let output = match language {
        Language::Python => {
            let n: usize = files.iter().map(|path| tests_in(language, repo.file(path))).sum();
            let table = if coverage { covered(repo, ".py", random) } else { String::new() };
            let listed =
                if coverage { format!("{}\n", ".".repeat(n)) } else { passed(repo, &files) };
            format!("{listed}\n{table}{n} passed in {took}s")
        }
        Language::Go if !quiet => verbose(repo, &files, random),
        Language::Go => packages(repo)
            .iter()
            .map(|package| {
                let has_tests = files
                    .iter()
                    .any(|file| file.rsplit_once('/').is_some_and(|(folder, _)| folder == package));
                let share = format!("{}.{}%", random.number(58..=97), random.number(0..=9));
                // What did not change since the last run comes from the cache.
                let cached = !coverage && random.chance(80);
                let took = if cached {
                    "(cached)".to_owned()
                } else {
                    format!("0.{:03}s", random.number(4..=890))
                };
                match (has_tests, coverage) {
                    (false, _) => format!("?   \t{package}\t[no test files]\n"),
                    (true, false) => format!("ok  \t{package}\t{took}\n"),
                    (true, true) => {
                        format!("ok  \t{package}\t{took}\tcoverage: {share} of statements\n")
                    }
                }
            })
            .collect(),
    };
    let command = match (language, coverage, quiet) {
        (Language::Python, true, _) => "python -m pytest -q --cov --cov-report=term",
        (Language::Python, false, true) => "python -m pytest -q",
        (Language::Python, false, false) => "python -m pytest -v",
        (Language::Go, false, true) => "go test ./...",
        (Language::Go, false, false) => "go test -v ./...",
        (Language::Go, true, _) => "go test -cover ./...",
    };
    Run { command: command.to_owned(), output: output.trim_end().to_owned(), failed: false }
}

/// One line a test, as `pytest -v` lists them.
fn passed(repo: &Repo, files: &[&str]) -> String {
    let names = files.iter().flat_map(|path| {
        let tests = repo.file(path).lines().filter_map(|line| line.strip_prefix("def test_"));
        tests.map(move |test| format!("{path}::test_{}", test.split('(').next().unwrap_or(test)))
    });
    let names: Vec<String> = names.collect();
    let share = |at: usize| format!("[{:>3}%]", (at + 1) * 100 / names.len());
    let line = |(at, name): (usize, &String)| format!("{name} PASSED {}\n", share(at));
    names.iter().enumerate().map(line).collect()
}

/// Two lines a test, as `go test -v` lists them.
fn verbose(repo: &Repo, files: &[&str], random: &mut Stream) -> String {
    let mut listed = String::new();
    for path in files {
        for line in repo.file(path).lines() {
            let test = line.strip_prefix("func Test").and_then(|rest| rest.split('(').next());
            if let Some(test) = test {
                let took = format!("0.{:02}s", random.number(0..=40));
                listed.push_str(&format!("=== RUN   Test{test}\n--- PASS: Test{test} ({took})\n"));
            }
        }
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let took = format!("0.{:03}s", random.number(4..=890));
        listed.push_str(&format!("PASS\nok  \t{folder}\t{took}\n"));
    }
    listed
}

fn packages(repo: &Repo) -> Vec<String> {
    let sources = repo.paths().filter(|path| path.ends_with(".go"));
    let mut found: Vec<String> =
        sources.filter_map(|path| Some(path.rsplit_once('/')?.0.to_owned())).collect();
    found.dedup();
    found
}

fn covered(repo: &Repo, ending: &str, random: &mut Stream) -> String {
    let mut table = format!("{:<34}{:>8}{:>8}{:>8}\n", "Name", "Stmts", "Miss", "Cover");
    let line = "-".repeat(58);
    table.push_str(&format!("{line}\n"));
    let (mut all, mut missed) = (0, 0);
    for path in repo.paths().filter(|path| path.ends_with(ending) && !path.starts_with("tests/")) {
        let is_statement =
            |line: &&str| !line.trim().is_empty() && !line.trim().starts_with(['#', '"']);
        let n = repo.file(path).lines().filter(is_statement).count().max(1);
        let miss = random.number(0..=n as u64 / 4) as usize;
        let share = format!("{}%", (n - miss) * 100 / n);
        table.push_str(&format!("{path:<34}{n:>8}{miss:>8}{share:>8}\n"));
        (all, missed) = (all + n, missed + miss);
    }
    let share = format!("{}%", (all - missed) * 100 / all.max(1));
    table.push_str(&format!("{line}\n{:<34}{all:>8}{missed:>8}{share:>8}\n\n", "TOTAL"));
    table
}

/// The first run hit a busy machine: an unrelated test timed out.
pub fn flaky(language: Language, command: &str, random: &mut Stream) -> Run {
    let port = random.number(31_000..=59_000);
    let output = match language {
        Language::Python => format!(
            "E       OSError: [Errno 98] Address already in use: ('127.0.0.1', {port})\n\ntests/conftest.py:41: OSError\n=========================== short test summary info ============================\nERROR tests/test_api.py::test_metrics_are_text - OSError: [Errno 98] Address already in use\n1 error in 20.{:02}s",
            random.number(10..=99)
        ),
        Language::Go => format!(
            "--- FAIL: TestMetricsAreText (20.00s)\n    server_test.go:41: listen tcp 127.0.0.1:{port}: bind: address already in use\nFAIL\t./internal/api\t20.{:03}s",
            random.number(10..=990)
        ),
    };
    Run { command: command.to_owned(), output, failed: true }
}
