//! The text of a strategy, from which changed strategies are made, and the keys that a run
//! overrides (`--set`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::read::{changed, prompt_text};
use super::{Strategy, StrategyError};
use recap_core::model::suggest;
use recap_strategies::{PROMPTS, SAVERS, STRATEGIES};

/// The text of a strategy, and where it is from.
#[derive(Clone, Debug)]
pub struct StrategyText {
    /// The file as errors name it.
    file: String,
    /// The folder of a file of the user's own, where its programs run; `None`
    /// for a built-in strategy.
    folder: Option<PathBuf>,
    text: String,
}

impl StrategyText {
    /// The text of a built-in strategy.
    pub fn builtin(name: &str) -> Option<Self> {
        let (_, text) = STRATEGIES.iter().chain(SAVERS).find(|(known, _)| *known == name)?;
        let folder = if saver_names().any(|saver| saver == name) { "savers/" } else { "" };
        Some(Self {
            file: format!("strategies/{folder}{name}.toml"),
            folder: None,
            text: (*text).to_owned(),
        })
    }

    /// The text that `filter:COMMAND` and `proxy:URL` stand for; `None` for all other names. The
    /// command is run by the shell in the working directory.
    pub fn saver(name: &str) -> Option<Self> {
        let (kind, what) = name.split_once(':')?;
        let keys = match kind {
            "filter" => format!("command = {}", Value::from(vec!["sh", "-c", what])),
            "proxy" => format!("url = {}", Value::from(what)),
            _ => return None,
        };
        let text = format!(
            "version = 1\nname = {}\nsummary = \"A token saver of your own.\"\n\
             source = \"the command line\"\n\n[[stage]]\nmechanism = \"{kind}\"\n\
             at = \"request\"\nwhen = \"always\"\n{keys}\n",
            Value::from(name)
        );
        let folder = Path::new(".").canonicalize().ok();
        Some(Self { file: name.to_owned(), folder, text })
    }

    /// Reads a strategy file of the user's own.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(path: &Path) -> Result<Self, StrategyError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|e| StrategyError {
            place: file.clone(),
            problem: format!("cannot be read: {e}"),
        })?;
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        // Programs run in that folder, whatever the working directory.
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        Ok(Self { file, folder: Some(folder), text })
    }

    /// The strategy with changed values by key. `prompts` are texts of prompts by
    /// name, which are used before those of the strategy itself.
    ///
    /// # Errors
    /// If the strategy or a changed value is wrong.
    pub fn strategy(
        &self,
        overrides: &[(String, String)],
        prompts: &BTreeMap<String, String>,
    ) -> Result<Strategy, StrategyError> {
        let prompt = |name: &str| prompts.get(name).cloned().or_else(|| self.prompt(name));
        Strategy::parse(self.folder.as_deref(), &self.file, &self.text, overrides, &prompt)
    }

    /// The text of a prompt of the strategy itself. Where a file of the user's own
    /// has no such file beside it, it is the built-in prompt of that name, so
    /// that the text of a built-in strategy can be changed without its prompts.
    pub fn prompt(&self, name: &str) -> Option<String> {
        let builtin = || {
            let found = PROMPTS.iter().find(|(known, _)| *known == name);
            found.map(|(_, text)| (*text).to_owned())
        };
        let Some(folder) = &self.folder else { return builtin() };
        match prompt_text(folder, name) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => builtin(),
            Err(_) => None,
        }
    }

    /// Whether a file of the user's own takes this prompt from the built-in ones.
    pub fn borrows(&self, name: &str) -> bool {
        self.folder.as_ref().is_some_and(|folder| !folder.join(name).exists())
    }

    /// The text as it is written.
    pub fn as_written(&self) -> &str {
        &self.text
    }

    /// The table of the strategy with changed values by key.
    ///
    /// # Errors
    /// If the text is not TOML, or there is no such key.
    pub fn table(&self, overrides: &[(String, String)]) -> Result<Table, StrategyError> {
        changed(&self.file, &self.text, overrides)
    }
}

/// Names of the built-in strategies, in the order of their files.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    STRATEGIES.iter().map(|(name, _)| *name)
}

/// Names of the token savers that are known. Each runs a program, which has to be installed.
pub fn saver_names() -> impl Iterator<Item = &'static str> {
    SAVERS.iter().map(|(name, _)| *name)
}

/// A built-in strategy, with overrides.
pub fn builtin(
    name: &str,
    overrides: &[(String, String)],
) -> Option<Result<Strategy, StrategyError>> {
    Some(StrategyText::builtin(name)?.strategy(overrides, &BTreeMap::new()))
}

// `--set`: keys of a strategy that a run overrides.

/// Keys that every strategy may have, also where its file leaves them out.
const OPTIONAL: &str = "native_window scales output_limit estimator budget compact_at \
    cache_breakpoints explicit_cache recovery";

/// `--set STRATEGY.KEY=VALUE`: a key of the strategy, or of the first stage that
/// has it, or `N.key` for stage N; a key of one of its tables is `table.key`.
pub(super) fn set(table: &mut Table, key: &str, value: &str) -> Result<(), String> {
    let parsed = parse_value(value)?;
    let numbered = key
        .split_once('.')
        .and_then(|(number, key)| Some((number.parse::<usize>().ok()?.checked_sub(1)?, key)));
    let (stage, key) = numbered.map_or((None, key), |(stage, key)| (Some(stage), key));
    let outer = key.split('.').next().unwrap_or(key);
    let has = |own: &Value| outer == key || own.is_table();
    let of_strategy =
        (table.contains_key(key) || OPTIONAL.split(' ').any(|own| own == key)) && key != "stage";
    if stage.is_none() && of_strategy {
        table.insert(key.to_owned(), parsed);
        return Ok(());
    }
    let stages = table.get_mut("stage").and_then(Value::as_array_mut);
    let mut stages: Vec<&mut Table> =
        stages.into_iter().flatten().filter_map(Value::as_table_mut).collect();
    let known: Vec<String> = stages.iter().flat_map(|t| t.keys().cloned()).collect();
    let count = stages.len();
    let target = match stage {
        Some(at) => stages.get_mut(at),
        None => stages.iter_mut().find(|t| t.get(outer).is_some_and(has)),
    };
    match target {
        Some(stage) => insert(stage, key, parsed),
        None if stage.is_some() => Err(format!("the strategy has {count} stages")),
        None => {
            let own = table.keys().filter(|key| *key != "stage").map(String::as_str);
            let known: BTreeSet<&str> =
                own.chain(OPTIONAL.split(' ')).chain(known.iter().map(String::as_str)).collect();
            Err(format!("no such key: {}", suggest(key, known)))
        }
    }
}

/// Sets a key of a stage, or with `when.share` a key of one of its tables.
fn insert(table: &mut Table, key: &str, value: Value) -> Result<(), String> {
    let Some((outer, rest)) = key.split_once('.') else {
        table.insert(key.to_owned(), value);
        return Ok(());
    };
    match table.get_mut(outer).and_then(Value::as_table_mut) {
        Some(inner) => insert(inner, rest, value),
        None => Err(format!("`{outer}` has no keys of its own here")),
    }
}

fn parse_value(value: &str) -> Result<Value, String> {
    let as_toml = format!("value = {value}").parse::<Table>();
    match as_toml {
        Ok(mut table) => table.remove("value").ok_or_else(|| "empty value".to_owned()),
        Err(_) => Ok(Value::String(value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Breakpoint, builtin};

    fn prune(value: &str) -> Result<crate::Strategy, String> {
        let overrides = [("cache_breakpoints".to_owned(), value.to_owned())];
        let strategy = builtin("prune", &overrides).expect("it ships with the program");
        strategy.map_err(|e| e.to_string())
    }

    #[test]
    fn key_absent_from_file_can_be_set() {
        let strategy = prune(r#"["preamble", "newest"]"#).unwrap();
        assert_eq!(strategy.breakpoints, [Breakpoint::Preamble, Breakpoint::Newest]);
        let plain = builtin("prune", &[]).unwrap().unwrap();
        assert_ne!(strategy.hash, plain.hash, "two plans are two strategies");
        let refused = prune(r#"["tail"]"#).unwrap_err();
        assert!(refused.contains("cache_breakpoints") && refused.contains("prune-boundary"));
    }

    #[test]
    fn override_sets_nested_stage_key_and_keeps_others() {
        let set = |key: &str, value: &str| {
            let overrides = [(key.to_owned(), value.to_owned())];
            let strategy = builtin("gencode", &overrides).expect("it ships with the program");
            strategy.map_err(|e| e.to_string())
        };
        let trigger = |strategy: &crate::Strategy, at: usize| strategy.stages[at].when.to_string();
        assert_eq!(trigger(&set("2.when.share", "0.7").unwrap(), 1), "above 0.7 of usable");
        let changed = set("1.when.and_over", "9_000").unwrap();
        assert_eq!(trigger(&changed, 0), "above 1 of usable and over 9000");
        assert_eq!(trigger(&changed, 1), "above 1 of usable");
        let first = set("when.share", "0.7").unwrap();
        assert_eq!(
            [0, 1].map(|at| trigger(&first, at)),
            ["above 0.7 of usable and over 20000", "above 1 of usable"]
        );
        let none = set("whem.share", "0.7").unwrap_err();
        assert!(none.contains("no such key"), "{none}");
        let refused = set("1.protect.share", "0.7").unwrap_err();
        assert!(refused.ends_with("`protect` has no keys of its own here"), "{refused}");
        assert!(set("2.when.share", "1.7").unwrap_err().contains("between 0 and 1"));
    }

    #[test]
    fn every_strategy_accepts_any_known_recovery_channel() {
        let prune = |name: &str| {
            let overrides = [("recovery".to_owned(), name.to_owned())];
            builtin("prune", &overrides).expect("it ships with the program")
        };
        assert_eq!(prune("search").unwrap().recovery.map(|spec| spec.name), Some("search"));
        let refused = prune("grep").unwrap_err().to_string();
        let known = "known are `search`, `zoea-search`, `sessions`";
        assert!(refused.ends_with(&format!("recovery: `grep` is no recovery channel: {known}")));
    }
}
