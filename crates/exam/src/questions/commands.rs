//! What the session ran: tests with their results, errors, and the change that
//! made an error go away. The answers stand in the recorded results.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::acts::{Act, What};
use super::draft::Draft;
use super::view::View;
use recap_core::model::{MessageIndex, QuestionKind};

/// How many tests passed, as the runners say it: pytest and cargo, mocha, Jest
/// and Vitest.
static PASSED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(\d+) (?:passed|passing)\b").expect("it is valid"));

/// The name of a test that failed: Go, cargo, pytest.
static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)^\s*(?:--- FAIL: (?P<go>\w[\w/.-]+)|test (?P<rust>[\w:]+) \.\.\. FAILED|FAILED (?P<py>[\w./-]+::[\w:\[\]-]+))",
    )
    .expect("it is valid")
});

/// A line that reports an error.
static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)^(?:\S+:\d+(?::\d+)?:? )?(?:\w*(?:Error|Exception)|error(?:\[\w+\])?|fatal|panic): (?P<message>.{12,160})$",
    )
    .expect("it is valid")
});

/// What only says that something failed, and not why.
static CONSEQUENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?xi) exit(?:ed)? \s (?: with \s )? (?: non-zero | code | status ) | previous\ error
        | exit\ successfully | \b(?:command|build|script|task|job)\ failed | aborting\ due\ to
        | lifecycle | could\ not\ compile | \d+\ errors?\b",
    )
    .expect("it is valid")
});

/// The first line of the message of a commit.
static COMMIT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?s)\bgit commit\b[^\n]*? -\w*m\s*(?:"\$\(cat <<-?\s*'?\w+'?\n|["'])\s*(?P<subject>[^\n"]{8,120})"#,
    )
    .expect("it is valid")
});

/// The branch that a command creates.
static BRANCH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(git (?:checkout -[bB]|switch -[cC]|worktree add -b)) ([\w./-]{4,})")
        .expect("it is valid")
});

/// Most characters of a branch's name.
const LONGEST_BRANCH: usize = 80;

/// Longest command line in a question, in characters.
const LONGEST: usize = 120;

/// The questions about commands.
pub(super) fn questions(view: &View<'_>) -> Vec<Vec<Draft>> {
    let runs = runs(view);
    let of = |ask: &dyn Fn(&str, &[&Act<'_>]) -> Option<Draft>| {
        runs.iter().filter_map(|(command, acts)| ask(command, acts)).collect()
    };
    vec![
        of(&passed),
        of(&failed),
        of(&|command, acts| error(view, command, acts)),
        of(&|command, acts| mended(view, command, acts)),
        committed(view).into_iter().collect(),
        branched(view).into_iter().collect(),
    ]
}

/// The message of the last commit.
fn committed(view: &View<'_>) -> Option<Draft> {
    let made =
        done(view).filter_map(|(act, line)| Some((act, COMMIT.captures(line)?[1].to_owned())));
    let (act, message) = made.last()?;
    let message = message.trim().to_owned();
    let question =
        "What is the subject of the last commit that the agent made with `git commit`?".to_owned();
    Some(Draft::new(QuestionKind::Artifact, question, [message], evidence(act)))
}

/// The branch that was created last.
fn branched(view: &View<'_>) -> Option<Draft> {
    let made = done(view).filter_map(|(act, line)| Some((act, BRANCH.captures(line)?)));
    let (act, found) = made.last()?;
    let (command, branch) = (&found[1], found[2].chars().take(LONGEST_BRANCH).collect::<String>());
    let question = format!("Which git branch did the agent create last with `{command}`?");
    Some(Draft::new(QuestionKind::Artifact, question, [branch], evidence(act)))
}

/// The command lines that did not fail.
fn done<'a>(view: &'a View<'a>) -> impl Iterator<Item = (&'a Act<'a>, &'a str)> {
    let acts = view.acts.iter().filter(|act| !act.failed && act.result.is_some());
    acts.filter_map(|act| match &act.what {
        What::Ran(line) => Some((*act, line.as_ref())),
        _ => None,
    })
}

/// The runs of each command line, in order.
fn runs<'a>(view: &View<'a>) -> BTreeMap<String, Vec<&'a Act<'a>>> {
    let mut runs: BTreeMap<String, Vec<&Act<'_>>> = BTreeMap::new();
    for act in &view.acts {
        let What::Ran(line) = &act.what else { continue };
        if let Some(command) = command(line).filter(|_| act.result.is_some()) {
            runs.entry(command).or_default().push(act);
        }
    }
    runs
}

/// A command line without the change of folder before it and what only cuts
/// its output; `None` if it is a script or too long to be named.
fn command(line: &str) -> Option<String> {
    let line = line.trim();
    let line = match line.split_once("&&") {
        Some((before, rest)) if before.trim_start().starts_with("cd ") => rest.trim(),
        _ => line,
    };
    let line = line.split(" | tail").next().unwrap_or(line);
    let line = line.split(" | head").next().unwrap_or(line);
    let line = line.strip_suffix("2>&1").unwrap_or(line).trim();
    let one = !line.contains('\n') && !line.contains("<<");
    (one && line.len() >= 4 && line.chars().count() <= LONGEST).then(|| line.to_owned())
}

fn evidence(act: &Act<'_>) -> impl Iterator<Item = MessageIndex> {
    [Some(act.message), act.result].into_iter().flatten()
}

/// How many tests passed at the last run; nobody asks that of a run that failed.
fn passed(command: &str, acts: &[&Act<'_>]) -> Option<Draft> {
    let counts: Vec<(&Act<'_>, String)> =
        acts.iter().filter_map(|act| Some((*act, count(act.output)?))).collect();
    let (last, now) = counts.last().filter(|(act, _)| !act.failed)?;
    let before = counts.iter().map(|(_, count)| count.clone()).filter(|count| count != now);
    let question = format!("How many tests passed when `{command}` was last run?");
    let kind = if counts.iter().any(|(_, count)| count != now) {
        QuestionKind::Update
    } else {
        QuestionKind::Artifact
    };
    // A count of one digit is guessed too easily.
    (now.len() > 1)
        .then(|| Draft::new(kind, question, [now.clone()], evidence(last)).with_stale(before))
}

/// The number of passed tests, where the output gives one number.
fn count(output: &str) -> Option<String> {
    let mut counts = PASSED.captures_iter(output).map(|found| found[1].to_owned());
    let first = counts.next()?;
    counts.all(|other| other == first).then_some(first)
}

/// Which test failed at the last run.
fn failed(command: &str, acts: &[&Act<'_>]) -> Option<Draft> {
    let last = acts.last()?;
    let names: Vec<String> = FAILED
        .captures_iter(last.output)
        .filter_map(|found| found.iter().flatten().nth(1).map(|name| name.as_str().to_owned()))
        .map(|name| name.rsplit("::").next().unwrap_or_default().to_owned())
        .collect();
    let question = format!("Which test failed when `{command}` was last run?");
    (1..=4)
        .contains(&names.len())
        .then(|| Draft::new(QuestionKind::Artifact, question, names, evidence(last)))
}

/// The cause of the error that a command ended with, where it reported one alone.
fn error(view: &View<'_>, command: &str, acts: &[&Act<'_>]) -> Option<Draft> {
    let last = acts.last()?;
    let message = only_error(last.output)?;
    let question = format!("Which error did `{command}` report when it was last run?");
    let at = [message.to_owned()];
    // An error that several commands reported does not tell them apart.
    let reported = view.text.matches(message).count();
    (reported <= 3).then(|| Draft::new(QuestionKind::Artifact, question, at, evidence(last)))
}

/// The one cause that an output names: the deepest of a chain, else the only
/// error that says more than that something failed.
fn only_error(output: &str) -> Option<&str> {
    if let Some((_, chain)) = output.rsplit_once("Caused by:\n") {
        let indented = chain.lines().take_while(|line| line.starts_with([' ', '\t']));
        let deepest = indented.last()?.trim();
        return Some(
            deepest.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(": "),
        );
    }
    let messages = ERROR.captures_iter(output);
    let messages = messages.filter_map(|found| Some(found.name("message")?.as_str().trim()));
    let mut causes = messages.filter(|message| !CONSEQUENCE.is_match(message));
    let first = causes.next()?;
    causes.all(|other| other == first).then_some(first)
}

/// The file that was changed between the last run that failed and the next one
/// that did not, where it is one alone.
fn mended(view: &View<'_>, command: &str, acts: &[&Act<'_>]) -> Option<Draft> {
    let is_bad = |act: &Act<'_>| {
        act.failed || FAILED.is_match(act.output) || only_error(act.output).is_some()
    };
    let at = (1..acts.len()).rev().find(|&at| is_bad(acts[at - 1]) && !is_bad(acts[at]))?;
    let (bad, good) = (acts[at - 1], acts[at]);
    let between =
        view.changes().filter(|made| (bad.message..=good.message).contains(&made.act.message));
    let changes: Vec<(&str, MessageIndex)> =
        between.map(|made| (made.path, made.act.message)).collect();
    let (path, _) = *changes.first()?;
    if changes.iter().any(|(other, _)| *other != path) {
        return None;
    }
    let name = path.rsplit('/').next().unwrap_or(path).to_owned();
    let stem = name.split('.').next().unwrap_or_default();
    if command.contains(stem) {
        return None;
    }
    let question = format!("Which file did the agent change to make `{command}` succeed?");
    let seen = changes.iter().map(|(_, at)| *at).chain(evidence(bad)).chain(evidence(good));
    // The change, the failure and the success stand in several messages: only a
    // model puts them together.
    let part = format!("It names the file {name}");
    Some(Draft::rubric(QuestionKind::Artifact, question, vec![part], seen))
}
