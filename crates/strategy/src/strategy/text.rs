//! The text of a strategy, from which changed strategies are made.

use recap_strategies::{PROMPTS, SAVERS, STRATEGIES};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::read::{changed, prompt_text};
use super::{Strategy, StrategyError};

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
        let text = builtin_text(name)?.to_owned();
        let folder = if saver_names().any(|saver| saver == name) { "savers/" } else { "" };
        Some(Self { file: format!("strategies/{folder}{name}.toml"), folder: None, text })
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
        Strategy::parse_in(self.folder.as_deref(), &self.file, &self.text, overrides, &prompt)
    }

    /// The text of a prompt of the strategy itself. Where a file of the user's own
    /// has no such file beside it, it is the built-in prompt of that name, so
    /// that the text of a built-in strategy can be changed without its prompts.
    pub fn prompt(&self, name: &str) -> Option<String> {
        let builtin = || builtin_prompt(name).map(str::to_owned);
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

/// The text of a built-in strategy, or of a token saver that is known.
pub(super) fn builtin_text(name: &str) -> Option<&'static str> {
    STRATEGIES.iter().chain(SAVERS).find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The text of a prompt of the built-in strategies.
pub(super) fn builtin_prompt(file: &str) -> Option<&'static str> {
    PROMPTS.iter().find(|(known, _)| *known == file).map(|(_, text)| *text)
}

/// A built-in strategy, with overrides.
pub fn builtin(
    name: &str,
    overrides: &[(String, String)],
) -> Option<Result<Strategy, StrategyError>> {
    Some(StrategyText::builtin(name)?.strategy(overrides, &BTreeMap::new()))
}
