//! What the session ran: failing tests, the last commit and branch.
//! The answers stand in the recorded results.

use std::collections::BTreeMap;

use super::acts::Act;
use super::draft::Draft;
use super::view::View;
use recap_core::model::QuestionKind;
use recap_core::model::call::CallEffect;
use recap_core::text::{Pattern, pattern};

/// The name of a test that failed: Go, cargo, pytest.
static FAILED: Pattern = pattern!(
    r"(?m)^\s*(?:--- FAIL: (?P<go>\w[\w/.-]+)|test (?P<rust>[\w:]+) \.\.\. FAILED|FAILED (?P<py>[\w./-]+::[\w:\[\]-]+))"
);

/// What git says of a new commit: its branch, its hash and its subject.
static COMMITTED: Pattern =
    pattern!(r"(?m)^\[\S+ (?:\(root-commit\) )?[0-9a-f]{7,40}\] (?<subject>.{8,})$");

/// The first line of the message of a commit, where git was told to be quiet.
static COMMIT: Pattern = pattern!(
    r#"(?s)\bgit commit\b[^\n]*? -\w*m\s*(?:"\$\(cat <<-?\s*'?\w+'?\n|["'])\s*(?P<subject>[^\n"]{8,120})"#
);

/// The branch that a command creates.
static BRANCH: Pattern =
    pattern!(r"\b(git (?:checkout -[bB]|switch -[cC]|worktree add -b)) ([\w./-]{4,})");

/// Most characters of a branch's name.
const LONGEST_BRANCH: usize = 80;

/// Longest command line in a question, in characters.
const LONGEST: usize = 120;

/// The questions about commands.
pub(super) fn questions(view: &View<'_>) -> Vec<Vec<Draft>> {
    let runs = runs(view);
    vec![
        runs.iter().filter_map(|(command, act)| failed(command, act)).collect(),
        committed(view).into_iter().collect(),
        branched(view).into_iter().collect(),
    ]
}

/// The message of the last commit outside of scratch folders, if it is known.
fn committed(view: &View<'_>) -> Option<Draft> {
    let is_commit = |line: &str| {
        line.contains("git commit") && !line.contains("/tmp") && !line.contains("mktemp")
    };
    let (act, line) = done(view).filter(|(_, line)| is_commit(line)).last()?;
    let printed = COMMITTED.captures_iter(act.output).last();
    let message = printed.or_else(|| COMMIT.captures_iter(line).last())?["subject"].to_owned();
    let message = message.trim().trim_end_matches(['\'', '"']).to_owned();
    let question =
        "What is the subject of the last commit that the agent made with `git commit`?".to_owned();
    Some(Draft::new(QuestionKind::Artifact, question, [message], act.evidence()))
}

/// The branch that was created last.
fn branched(view: &View<'_>) -> Option<Draft> {
    let made = done(view).filter_map(|(act, line)| Some((act, BRANCH.captures_iter(line).last()?)));
    let (act, found) = made.last()?;
    let (command, branch) = (&found[1], found[2].chars().take(LONGEST_BRANCH).collect::<String>());
    let question = format!("Which git branch did the agent create last with `{command}`?");
    Some(Draft::new(QuestionKind::Artifact, question, [branch], act.evidence()))
}

/// The command lines that did not fail.
fn done<'a>(view: &'a View<'a>) -> impl Iterator<Item = (&'a Act<'a>, &'a str)> {
    view.acts.iter().filter(|act| act.is_done()).filter_map(|act| match &act.what {
        CallEffect::Ran(line) => Some((*act, line.as_str())),
        _ => None,
    })
}

/// The last run of each command line.
fn runs<'a>(view: &View<'a>) -> BTreeMap<String, &'a Act<'a>> {
    let mut runs: BTreeMap<String, &Act<'_>> = BTreeMap::new();
    for act in &view.acts {
        let CallEffect::Ran(line) = &act.what else { continue };
        if let Some(command) = command(line).filter(|_| act.result.is_some()) {
            runs.insert(command, act);
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

/// Which test failed at the last run.
fn failed(command: &str, last: &Act<'_>) -> Option<Draft> {
    let names: Vec<String> = FAILED
        .captures_iter(last.output)
        .filter_map(|found| found.iter().flatten().nth(1).map(|name| name.as_str().to_owned()))
        .map(|name| name.rsplit("::").next().unwrap_or_default().to_owned())
        .collect();
    let question = format!("Which test failed when `{command}` was last run?");
    (1..=4)
        .contains(&names.len())
        .then(|| Draft::new(QuestionKind::Artifact, question, names, last.evidence()))
}
