//! What is searched: a strategy, and the values that its keys may take.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Spanned, Table, Value};

use super::derived;
use crate::bench::{SelectionError, strategy_text};
use recap_core::model::OFFLINE;
use recap_core::text::json_error;
use recap_replay::WindowSpec;
use recap_strategy::StrategyText;

/// Largest number of values of one key.
const MOST_VALUES: usize = 100;
/// Largest number of settings.
const MOST_SETTINGS: u64 = 1_000;
/// Longest prompt that is read, in bytes.
const LONGEST_PROMPT: usize = 16 << 20;

/// A key of a strategy with the values that it may take.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The key as `--set` has it.
    pub key: String,
    /// Its values, each once.
    pub values: Vec<Value>,
}

/// What is searched.
#[derive(Clone, Debug)]
pub struct Space {
    /// The base as typed: the name of a strategy, or its file.
    pub base: String,
    /// The text of the base.
    pub text: StrategyText,
    /// The keys that vary, in the order of their names.
    pub axes: Vec<Axis>,
    /// Windows to choose from; empty: that of the run.
    pub windows: Vec<WindowSpec>,
    /// Compactors to choose from, as typed, the first being that of the author's
    /// setting; empty: that of the run.
    pub compactors: Vec<String>,
    /// Texts of prompts that the space brings, by name.
    pub prompts: BTreeMap<String, String>,
    /// Largest number of settings, if the space says so.
    pub most: Option<usize>,
    /// Whether the values follow from the strategy's own numbers.
    pub derived: bool,
}

/// Why a space cannot be searched.
#[derive(Debug, thiserror::Error)]
pub enum SpaceError {
    /// The strategy cannot be found or read.
    #[error(transparent)]
    Base(#[from] SelectionError),
    /// Something in the file is wrong.
    #[error("{place}: {problem}")]
    File {
        /// File and line.
        place: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    version: Spanned<i64>,
    base: Spanned<String>,
    settings: Option<Spanned<i64>>,
    #[serde(default)]
    windows: Vec<Spanned<String>>,
    #[serde(default)]
    compactors: Vec<Spanned<String>>,
    #[serde(default)]
    vary: BTreeMap<Spanned<String>, Spanned<Value>>,
}

impl Space {
    /// The space in a file, or that which follows from the numbers of a strategy.
    /// A file with the key `base` is a space, any other one is a strategy.
    ///
    /// # Errors
    /// If there is no such strategy, or the file is wrong.
    pub fn find(name: &str) -> Result<Self, SpaceError> {
        let path = Path::new(name);
        if name.ends_with(".toml") || path.is_file() {
            let text = std::fs::read_to_string(path).map_err(|e| SpaceError::File {
                place: name.to_owned(),
                problem: format!("cannot be read: {e}"),
            })?;
            let is_space = text.parse::<Table>().is_ok_and(|table| table.contains_key("base"));
            let looks_so = text.lines().any(|line| line.trim_start().starts_with("[vary]"));
            if is_space || looks_so {
                let folder = path.parent().unwrap_or(Path::new("")).to_owned();
                return Self::parse(name, &text, &folder);
            }
        }
        Self::of_strategy(name, &strategy_text(name)?)
    }

    /// The space that follows from a strategy's own numbers ([`derived`]).
    fn of_strategy(name: &str, text: &StrategyText) -> Result<Self, SpaceError> {
        let table = text.table(&[]).map_err(SelectionError::Strategy)?;
        let axes = derived::axes(&table);
        if axes.is_empty() {
            let problem = "no stage of this strategy has a number that could be varied: write a \
                           space with `base` and `[vary]`";
            return Err(SpaceError::File { place: name.to_owned(), problem: problem.to_owned() });
        }
        Ok(Self {
            base: name.to_owned(),
            text: text.clone(),
            axes,
            windows: Vec::new(),
            compactors: Vec::new(),
            prompts: BTreeMap::new(),
            most: None,
            derived: true,
        })
    }

    /// Reads a space. Strategies and prompts are files beside it, or built in.
    ///
    /// # Errors
    /// If something in it is wrong; the first such thing is named with its line.
    pub fn parse(file: &str, text: &str, folder: &Path) -> Result<Self, SpaceError> {
        let source = SpaceText { file, text, folder };
        let wire: Wire = toml::from_str(text).map_err(|e| {
            let line = e.span().map_or(0, |span| span.start);
            source.wrong(line, e.message())
        })?;
        if *wire.version.get_ref() != 1 {
            let known = format!("version {} is not known; write 1", wire.version.get_ref());
            return Err(source.wrong(wire.version.span().start, known));
        }
        let base = source.base(&wire.base)?;
        let mut prompts = BTreeMap::new();
        let mut axes = Vec::new();
        for (key, value) in &wire.vary {
            let axis =
                Axis { key: key.get_ref().clone(), values: source.values(key.get_ref(), value)? };
            if is_prompt(&axis.key) {
                source.prompts(&axis, value.span().start, &base.1, &mut prompts)?;
            }
            source.is_key(&axis, &base.1, key.span().start)?;
            axes.push(axis);
        }
        let windows = source.windows(&wire.windows)?;
        let compactors = source.compactors(&wire.compactors)?;
        if axes.is_empty() && windows.len() < 2 && compactors.len() < 2 {
            let problem = "nothing varies: give `[vary]` a key with values, or two `windows` or \
                           `compactors`";
            return Err(source.wrong(wire.base.span().start, problem));
        }
        let uses_compactor = base.1.strategy(&[], &BTreeMap::new());
        let uses_compactor = uses_compactor.map_err(SelectionError::Strategy)?.uses_compactor();
        if let (false, Some(first)) = (uses_compactor, wire.compactors.first()) {
            let problem = format!("`{}` calls no compactor: leave them out", base.0);
            return Err(source.wrong(first.span().start, problem));
        }
        let most = wire.settings.as_ref().map(|most| source.most(most)).transpose()?;
        Ok(Self {
            base: base.0,
            text: base.1,
            axes,
            windows,
            compactors,
            prompts,
            most,
            derived: false,
        })
    }

    /// The number of combinations of all values, the author's included where it
    /// is one of them; saturating.
    pub fn size(&self) -> u64 {
        let axes = self.axes.iter().map(|axis| axis.values.len());
        let others = [self.windows.len().max(1), self.compactors.len().max(1)];
        axes.chain(others).fold(1, |size: u64, n| size.saturating_mul(n as u64))
    }
}

/// Whether a key names a prompt file.
fn is_prompt(key: &str) -> bool {
    let key = key.rsplit('.').next().unwrap_or(key);
    key == "prompt" || key.ends_with("_prompt")
}

/// The text that is read, for errors with their line.
struct SpaceText<'a> {
    file: &'a str,
    text: &'a str,
    folder: &'a Path,
}

impl SpaceText<'_> {
    fn wrong(&self, at: usize, problem: impl Into<String>) -> SpaceError {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = 1 + memchr::memchr_iter(b'\n', before).count();
        SpaceError::File { place: format!("{}, line {line}", self.file), problem: problem.into() }
    }

    /// A strategy beside the space where there is such a file, else a built-in
    /// one.
    fn base(&self, base: &Spanned<String>) -> Result<(String, StrategyText), SpaceError> {
        let beside = self.beside(base.get_ref());
        let name = if base.get_ref().ends_with(".toml") || beside.is_file() {
            beside.to_string_lossy().into_owned()
        } else {
            base.get_ref().clone()
        };
        match strategy_text(&name) {
            Ok(text) => Ok((name, text)),
            Err(SelectionError::Unknown { name, suggestion }) => {
                let problem = format!("strategy `{name}` is not known; {suggestion}");
                Err(self.wrong(base.span().start, problem))
            }
            Err(other) => Err(self.wrong(base.span().start, other.to_string())),
        }
    }

    fn beside(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The values of a key: a list, or a range.
    fn values(&self, key: &str, value: &Spanned<Value>) -> Result<Vec<Value>, SpaceError> {
        let at = value.span().start;
        let wrong = |problem: String| self.wrong(at, format!("{key}: {problem}"));
        let values = match value.get_ref() {
            Value::Array(values) => values.clone(),
            Value::Table(range) => {
                let range: Range = Value::Table(range.clone())
                    .try_into()
                    .map_err(|e: toml::de::Error| wrong(json_error(e.message())))?;
                range.values().map_err(wrong)?
            }
            other => {
                return Err(wrong(format!(
                    "`{other}` is neither a list such as [1, 2] nor a range such as {{ from = 1, \
                     to = 9, steps = 3 }}"
                )));
            }
        };
        if values.is_empty() {
            return Err(wrong("the list is empty".to_owned()));
        }
        if values.len() > MOST_VALUES {
            return Err(wrong(format!("a key has at most {MOST_VALUES} values")));
        }
        let twice = (1..values.len()).find(|at| values[..*at].contains(&values[*at]));
        match twice {
            Some(at) => Err(wrong(format!("{} is listed twice", values[at]))),
            None => Ok(values),
        }
    }

    /// Reads the prompts that a key may name.
    fn prompts(
        &self,
        axis: &Axis,
        at: usize,
        base: &StrategyText,
        prompts: &mut BTreeMap<String, String>,
    ) -> Result<(), SpaceError> {
        for value in &axis.values {
            let wrong = |problem: String| self.wrong(at, format!("{}: {problem}", axis.key));
            let name = value.as_str().ok_or_else(|| wrong(format!("{value} is no file name")))?;
            let own = base.prompt(name);
            let read = std::fs::read_to_string(self.beside(name));
            match (own, read) {
                (Some(own), Ok(text)) if own != text => {
                    return Err(wrong(format!(
                        "`{name}` is also the name of a prompt of the base: rename the file"
                    )));
                }
                (Some(_), _) => {}
                (None, Ok(text)) if text.len() <= LONGEST_PROMPT => {
                    prompts.insert(name.to_owned(), text);
                }
                (None, Ok(_)) => return Err(wrong(format!("prompt `{name}` is too long"))),
                (None, Err(e)) => {
                    return Err(wrong(format!("prompt `{name}` cannot be read: {e}")));
                }
            }
        }
        Ok(())
    }

    /// Refuses a key that the base does not have. What single values are
    /// refused for is found when the settings are made.
    fn is_key(&self, axis: &Axis, base: &StrategyText, at: usize) -> Result<(), SpaceError> {
        let Some(first) = axis.values.first() else { return Ok(()) };
        match base.table(&[(axis.key.clone(), first.to_string())]) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.wrong(at, format!("{}: {}", axis.key, error.problem))),
        }
    }

    fn windows(&self, typed: &[Spanned<String>]) -> Result<Vec<WindowSpec>, SpaceError> {
        let mut windows: Vec<WindowSpec> = Vec::new();
        for one in typed {
            let wrong = |problem: String| self.wrong(one.span().start, problem);
            let window: WindowSpec = one
                .get_ref()
                .parse()
                .map_err(|e: recap_replay::WindowError| wrong(e.to_string()))?;
            if windows.iter().any(|known| known.label() == window.label()) {
                return Err(wrong(format!("window {} is listed twice", window.label())));
            }
            windows.push(window);
        }
        Ok(windows)
    }

    fn compactors(&self, typed: &[Spanned<String>]) -> Result<Vec<String>, SpaceError> {
        let mut names: Vec<String> = Vec::new();
        for one in typed {
            let name = one.get_ref();
            let wrong = |problem: String| self.wrong(one.span().start, problem);
            if name != OFFLINE && !name.contains('/') {
                return Err(wrong(format!(
                    "`{name}` is no model: write offline, or provider/model"
                )));
            }
            if names.contains(name) {
                return Err(wrong(format!("compactor {name} is listed twice")));
            }
            names.push(name.clone());
        }
        Ok(names)
    }

    fn most(&self, most: &Spanned<i64>) -> Result<usize, SpaceError> {
        let n = *most.get_ref();
        let fits = u64::try_from(n).is_ok_and(|n| (2..=MOST_SETTINGS).contains(&n));
        match usize::try_from(n) {
            Ok(n) if fits => Ok(n),
            _ => Err(self.wrong(
                most.span().start,
                format!("settings: {n} is not between 2 and {MOST_SETTINGS}"),
            )),
        }
    }
}

/// The ends of a range, its number of steps, and how they lie.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    from: Value,
    to: Value,
    steps: i64,
    #[serde(default)]
    scale: Scale,
}

/// How the steps of a range lie.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios.
    Log,
}

impl Range {
    /// The steps, both ends included. Whole ends give whole steps, rounded, each
    /// once.
    fn values(&self) -> Result<Vec<Value>, String> {
        let number = |name: &str, value: &Value| match value {
            Value::Integer(n) => Ok(*n as f64),
            Value::Float(x) if x.is_finite() => Ok(*x),
            other => Err(format!("{name}: {other} is no number")),
        };
        let (from, to) = (number("from", &self.from)?, number("to", &self.to)?);
        if from >= to {
            return Err(format!("from {} is not below to {}", self.from, self.to));
        }
        if !(2..=MOST_VALUES as i64).contains(&self.steps) {
            return Err(format!("steps: {} is not between 2 and {MOST_VALUES}", self.steps));
        }
        let log = matches!(self.scale, Scale::Log);
        if log && from <= 0.0 {
            return Err(format!(
                "a range with scale = \"log\" begins above 0, not at {}",
                self.from
            ));
        }
        let whole = self.from.is_integer() && self.to.is_integer();
        let last = (self.steps - 1) as f64;
        let step = |at: i64| {
            let share = at as f64 / last;
            let x = match log {
                true => from * (to / from).powf(share),
                false => from + (to - from) * share,
            };
            if whole { Value::Integer(x.round() as i64) } else { Value::Float(significant(x)) }
        };
        let mut values: Vec<Value> = (0..self.steps).map(step).collect();
        values.dedup();
        Ok(values)
    }
}

/// A number with six significant digits, so that names of settings stay short.
pub(super) fn significant(x: f64) -> f64 {
    format!("{x:.5e}").parse().expect("a number that was printed is one")
}

#[cfg(test)]
#[path = "space_tests.rs"]
mod tests;
