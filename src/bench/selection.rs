//! Which strategies run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::Selection;
use crate::failure::Failure;
use recap_core::model::suggest;
use recap_strategy::{Strategy, StrategyText, builtin_names, saver_names};

/// The mechanisms, from simple to elaborate (how-it-works §40).
const MECHANISMS: &[&str] = &[
    "fifo",
    "sliding-window",
    "snapshot-dedup",
    "prune",
    "session-state",
    "continuation",
    "chunked-summary",
];

/// The published systems that combine them.
const SYSTEMS: &[&str] = &["arachne", "gencode", "lis", "zoea", "gsv"];

/// What agents and providers that many people use do.
const AGENTS: &[&str] =
    &["claude-code", "codex", "opencode", "gemini-cli", "anthropic-context-editing"];

/// Token savers that install from PyPI.
const SAVERS: &[&str] = &["headroom", "distil", "foveance"];

/// Names that stand for several strategies.
const GROUPS: [(&str, &[&str]); 4] =
    [("mechanisms", MECHANISMS), ("systems", SYSTEMS), ("agents", AGENTS), ("savers", SAVERS)];

/// Controls without which the other rows cannot be interpreted.
const ALWAYS: &[&str] = &["full", "empty", "id-list", WITH_QUESTIONS, WITH_COMPACTIONS];

/// The control that needs questions.
const WITH_QUESTIONS: &str = "evidence";

/// The control that equals `full` where no compaction is recorded.
const WITH_COMPACTIONS: &str = "recorded";

/// What the data of a run contain.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataContents {
    /// Whether there are questions.
    pub questions: bool,
    /// Whether there are compactions of the recorded agent.
    pub compactions: bool,
    /// Whether they are somebody's recordings, and no published data set.
    pub recordings: bool,
}

impl DataContents {
    fn fit(self, name: &str) -> bool {
        match name {
            WITH_QUESTIONS => self.questions,
            WITH_COMPACTIONS => self.compactions,
            _ => true,
        }
    }
}

impl Selection {
    /// The strategies of the run, controls included, in the order in which they were named; and
    /// the names of those that were named or made by a change, where `all` stands for every
    /// strategy but the controls.
    pub(super) fn load(
        &self,
        data: DataContents,
    ) -> Result<(Vec<Arc<Strategy>>, Vec<String>), Failure> {
        let asked = self.each_name();
        let names = with_controls(&asked, data)?;
        let (mut strategies, mut named_ones) = (Vec::new(), Vec::new());
        for name in &names {
            let one = strategy(name, &[])?;
            if asked.contains(&name.as_str()) || (asked.contains(&"all") && !one.control) {
                named_ones.push(one.name.clone());
            }
            strategies.push(one);
        }
        for change in &self.changes {
            for (name, changes) in rows(change, &names)? {
                let mut one = strategy(name, &changes)?;
                one.name = named(&one.name, &changes);
                named_ones.push(one.name.clone());
                strategies.push(one);
            }
        }
        strategies.iter_mut().for_each(|strategy| strategy.redacts = self.redact);
        unique(&strategies)?;
        Ok((strategies.into_iter().map(Arc::new).collect(), named_ones))
    }

    /// The names one by one, those of a group for the group's. The command of a filter may hold
    /// commas, so it ends its list.
    fn each_name(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for list in &self.names {
            let mut rest = Some(list.as_str());
            while let Some(list) = rest {
                let is_whole = ["filter:", "proxy:"].iter().any(|kind| list.starts_with(kind));
                let parted = list.split_once(',').filter(|_| !is_whole);
                let name = parted.map_or(list, |(name, _)| name);
                match GROUPS.iter().find(|(group, _)| *group == name) {
                    Some((_, members)) => names.extend(*members),
                    None => names.push(name),
                }
                rest = parted.map(|(_, rest)| rest);
            }
        }
        names
    }
}

/// The names with the controls first, each once. `evidence` runs only where there are questions;
/// `recorded`, unless named, only where a compaction is recorded.
fn with_controls(asked: &[&str], data: DataContents) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
    };
    ALWAYS.iter().filter(|name| data.fit(name)).for_each(|name| add(name));
    if asked.is_empty() {
        let others = if data.recordings { AGENTS } else { SYSTEMS };
        MECHANISMS.iter().chain(others).for_each(|name| add(name));
    }
    for name in asked {
        match *name {
            "all" => builtin_names().filter(|name| data.fit(name)).for_each(&mut add),
            WITH_QUESTIONS if !data.questions => {
                return Err(Failure::usage("the control `evidence` needs questions")
                    .help("leave it out, or give a data set with a questions.jsonl"));
            }
            name => add(name),
        }
    }
    Ok(names)
}

/// Refuses two strategies with the same name, which could not be told apart.
fn unique(strategies: &[Strategy]) -> Result<(), Failure> {
    for (at, strategy) in strategies.iter().enumerate() {
        if strategies[..at].iter().any(|p| p.name == strategy.name) {
            return Err(Failure::usage(format!("two strategies are named `{}`", strategy.name))
                .help("give yours another `name`"));
        }
    }
    Ok(())
}

/// Changed values by key.
pub(super) type Changes = Vec<(String, String)>;

/// The name of a strategy with changed values.
pub(super) fn named(strategy: &str, values: &Changes) -> String {
    format!("{strategy}[{}]", described(values, " "))
}

/// Changed values in one text, with this between them.
pub(super) fn described(changes: &Changes, between: &str) -> String {
    let each: Vec<String> = changes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    each.join(between)
}

/// The rows of `STRATEGY.KEY=VALUE` or `STRATEGY: KEY=VALUE; KEY=VALUE`: one for each
/// combination of values, of which commas separate several.
fn rows<'a>(change: &'a str, selected: &'a [String]) -> Result<Vec<(&'a str, Changes)>, Failure> {
    let malformed = || {
        Failure::usage(format!("`--set {change}` is not STRATEGY.KEY=VALUE")).help(
            "for example `--set prune.protect=20000`, `--set arachne.2.when.share=0.9` for its \
             second stage, or `--set 'gencode: 1.enabled=false; 2.keep_last=5'`",
        )
    };
    let (name, mark, changes) = strategy_of(change, selected).ok_or_else(malformed)?;
    let changes = if mark == ':' { parts(changes, ';') } else { vec![changes] };
    let axes: Option<Vec<_>> = changes.into_iter().map(axis).collect();
    let rows = combinations(&axes.ok_or_else(malformed)?);
    Ok(rows.into_iter().map(|changes| (name, changes)).collect())
}

/// The key and the values of `KEY=V1,V2`.
pub(super) fn axis(change: &str) -> Option<(&str, Vec<&str>)> {
    let (key, values) = change.split_once('=')?;
    Some((key.trim(), parts(values, ',').into_iter().map(str::trim).collect()))
}

/// Every combination of one value for each key.
pub(super) fn combinations(axes: &[(&str, Vec<&str>)]) -> Vec<Changes> {
    axes.iter().fold(vec![Changes::new()], |all, (key, values)| {
        let with = |changes: &Changes, value: &str| {
            changes.iter().cloned().chain([((*key).to_owned(), value.to_owned())]).collect()
        };
        all.iter().flat_map(|one| values.iter().map(move |value| with(one, value))).collect()
    })
}

/// Whose values are changed, the mark after its name, and what follows on it. The names that
/// were typed come first, since those of files hold dots, and colons too.
fn strategy_of<'a>(change: &'a str, selected: &'a [String]) -> Option<(&'a str, char, &'a str)> {
    let changed = |name: &'a str| {
        let rest = change.strip_prefix(name)?;
        let mark = rest.chars().next().filter(|mark| [':', '.'].contains(mark))?;
        Some((name, mark, &rest[mark.len_utf8()..]))
    };
    let typed = selected.iter().filter_map(|name| changed(name));
    typed.max_by_key(|(name, ..)| name.len()).or_else(|| {
        let (path, _) = change.split_once('=')?;
        changed(&path[..path.find([':', '.'])?])
    })
}

/// The parts of a text between marks that stand neither in quotes nor in brackets.
pub(super) fn parts(text: &str, mark: char) -> Vec<&str> {
    let (mut parts, mut from) = (Vec::new(), 0);
    let (mut quote, mut depth) = (None, 0);
    for (at, c) in text.char_indices() {
        match c {
            _ if quote.is_some() => quote = quote.filter(|open| *open != c),
            '"' | '\'' => quote = Some(c),
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            _ if c == mark && depth == 0 => {
                parts.push(&text[from..at]);
                from = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    parts
}

/// A built-in strategy, or one in a TOML file, with changed values by key.
///
/// # Errors
/// If there is no such strategy, or it is wrong.
pub fn strategy(name: &str, overrides: &[(String, String)]) -> Result<Strategy, Failure> {
    Ok(strategy_text(name)?.strategy(overrides, &BTreeMap::new())?)
}

/// The text of a built-in strategy, or of one in a TOML file.
///
/// # Errors
/// If there is no such strategy, or its file cannot be read.
pub fn strategy_text(name: &str) -> Result<StrategyText, Failure> {
    if let Some(found) = StrategyText::builtin(name).or_else(|| StrategyText::saver(name)) {
        return Ok(found);
    }
    if name.ends_with(".toml") || Path::new(name).is_file() {
        return Ok(StrategyText::read(Path::new(name))?);
    }
    let like = suggest(name, builtin_names().chain(saver_names()));
    Err(Failure::usage(format!("strategy `{name}` is not known")).help(format!(
        "`recap strategies list` names all, and one of your own is a TOML file; {like}"
    )))
}
