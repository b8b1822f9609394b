//! A preset: a named row of the comparison, as a TOML file with its prompts.
//!
//! Invariant: a preset is data. Its content hash (file, prompts, overrides)
//! goes into the manifest, so two rows of one name are never mixed up.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::{Table, Value};

use super::host::Strategy;
use super::mechanisms::MECHANISMS;
use super::prompt::Prompt;
use super::trigger::{At, Of, When};
use crate::tokens::Estimator;

/// Output limit that a preset without one is taken to reserve from its usable
/// context at most (GenCode: `min(outputLimit, 32k)`).
const LARGEST_RESERVE: u64 = 32_000;

/// What a preset lets itself use of the window (`semantics` 12).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// All of it.
    Window,
    /// A share of it.
    Share(f64),
    /// The window less min(output limit, 32,000).
    Usable,
}

/// One stage: a trigger, a mechanism and its parameters as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// Which mechanism.
    pub mechanism: &'static MechanismSpec,
    /// When it is looked at.
    pub at: At,
    /// On which condition, in the numbers of the preset's native window.
    pub when: When,
    /// Size to shrink to; `None`: the trigger's own threshold.
    pub target: Option<(Of, f64)>,
    /// Whether tool calls and results may be separated (Zoea's window).
    pub breaks_pairs: bool,
    /// The mechanism's own parameters, unscaled.
    pub parameters: Table,
}

/// A named row of the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// Kebab-case id.
    pub name: String,
    /// One sentence.
    pub summary: String,
    /// Where the numbers come from.
    pub source: String,
    /// Whether it is a control (never ranked).
    pub control: bool,
    /// Window for which absolute numbers are meant; without one they do not scale.
    pub native_window: Option<u64>,
    /// Output limit of the preset's model.
    pub output_limit: u64,
    /// How it sizes its context.
    pub estimator: Estimator,
    /// What it lets itself use.
    pub budget: Budget,
    /// Its stages in order.
    pub stages: Vec<Stage>,
    /// Hash of file, prompts and overrides.
    pub hash: String,
    prompts: BTreeMap<String, String>,
}

/// What a mechanism is built from.
pub struct Build<'a> {
    /// Its parameters as written.
    pub parameters: &'a Table,
    /// Scale of token numbers: run window over native window.
    pub scale: Scale,
    /// Assumed context limit.
    pub window: u64,
    prompts: &'a BTreeMap<String, String>,
}

/// A factor for absolute token numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    window: u64,
    native: u64,
}

impl Scale {
    /// No scaling.
    pub const ONE: Scale = Scale { window: 1, native: 1 };

    /// Scales a number of tokens: rounded down, at least 1 (`semantics` 14).
    pub fn tokens(self, tokens: u64) -> u64 {
        if tokens == 0 {
            return 0;
        }
        let scaled = u128::from(tokens) * u128::from(self.window) / u128::from(self.native);
        (scaled as u64).max(1)
    }
}

impl Build<'_> {
    /// Reads the mechanism's parameters into its own struct, which refuses
    /// unknown keys.
    pub fn read<T: for<'de> Deserialize<'de>>(&self) -> Result<T, String> {
        keyed(Value::Table(self.parameters.clone()))
    }

    /// A prompt file by the name that a parameter gives.
    pub fn prompt(&self, file: &str, allowed: &[&str]) -> Result<Prompt, String> {
        let text = self.prompts.get(file).ok_or_else(|| format!("prompt `{file}` is not there"))?;
        Prompt::new(text, allowed).map_err(|e| format!("prompt `{file}`: {e}"))
    }
}

/// Reads a value; what is wrong is said with the key where it stands.
fn keyed<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, String> {
    serde_path_to_error::deserialize(value).map_err(|e| {
        let (key, problem) = (e.path().to_string(), e.inner().message());
        // An unknown key is named by the message itself.
        if key == "." || problem.contains(&format!("`{key}`")) {
            problem.to_owned()
        } else {
            format!("{key}: {problem}")
        }
    })
}

/// A mechanism: one file, one constant, one line in the slice.
pub struct MechanismSpec {
    /// Kebab-case id.
    pub name: &'static str,
    /// One sentence for `--help` and documentation.
    pub summary: &'static str,
    /// Whether it calls the compactor.
    pub uses_compactor: bool,
    /// Whether what it hides is lifted when the stage is looked at again.
    pub is_view: bool,
    /// Makes a mechanism for one cell; the error is a sentence without a place.
    pub build: fn(&Build<'_>) -> Result<Box<dyn Strategy>, String>,
}

impl std::fmt::Debug for MechanismSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "MechanismSpec({})", self.name)
    }
}

impl PartialEq for MechanismSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// What is wrong with a preset, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct PresetError {
    /// File, and the key where there is one.
    pub place: String,
    /// What is wrong and what is allowed.
    pub problem: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    version: u32,
    name: String,
    summary: String,
    source: String,
    #[serde(default)]
    control: bool,
    native_window: Option<u64>,
    #[serde(default = "default_output_limit")]
    output_limit: u64,
    #[serde(default)]
    estimator: Estimator,
    budget: Option<Value>,
    #[serde(default)]
    stage: Vec<Table>,
}

fn default_output_limit() -> u64 {
    8_192
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireWhen {
    above: Option<Of>,
    share: Option<f64>,
    and_over: Option<u64>,
    reserve: Option<u64>,
    tool_tokens: Option<u64>,
    messages: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WireTarget {
    of: Of,
    share: f64,
}

impl Preset {
    /// Reads a preset and the prompts that it names. `prompt` fetches a file
    /// by its path relative to the preset.
    pub fn parse(
        file: &str,
        text: &str,
        overrides: &[(String, String)],
        prompt: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, PresetError> {
        let at = |key: &str, problem: String| PresetError {
            place: if key.is_empty() { file.to_owned() } else { format!("{file}, {key}") },
            problem,
        };
        let mut table: Table = text
            .parse()
            .map_err(|e: toml::de::Error| at(&line_of(text, &e), e.message().to_owned()))?;
        for (key, value) in overrides {
            set(&mut table, key, value).map_err(|problem| at(key, problem))?;
        }
        let canonical = table.to_string();
        let wire: Wire = serde_path_to_error::deserialize(Value::Table(table)).map_err(|e| {
            match e.path().to_string() {
                // The file as a whole has no key.
                path if path == "." => at("", e.inner().message().to_owned()),
                path => at(&path, e.inner().message().to_owned()),
            }
        })?;
        if wire.version != 1 {
            return Err(at("version", format!("version {} is not known; write 1", wire.version)));
        }
        let budget = budget(wire.budget.as_ref()).map_err(|problem| at("budget", problem))?;
        let mut prompts = BTreeMap::new();
        let mut stages = Vec::new();
        for (number, stage) in wire.stage.into_iter().enumerate() {
            let key = format!("stage {}", number + 1);
            let stage = read_stage(stage).map_err(|problem| at(&key, problem))?;
            for name in prompt_names(&stage.parameters) {
                let text = prompt(&name)
                    .ok_or_else(|| at(&key, format!("prompt `{name}` cannot be read")))?;
                prompts.insert(name, text);
            }
            stages.push(stage);
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(canonical.as_bytes());
        for (name, text) in &prompts {
            hasher.update(name.as_bytes()).update(text.as_bytes());
        }
        let preset = Self {
            name: wire.name,
            summary: wire.summary,
            source: wire.source,
            control: wire.control,
            native_window: wire.native_window,
            output_limit: wire.output_limit,
            estimator: wire.estimator,
            budget,
            stages,
            hash: hasher.finalize().to_hex()[..16].to_owned(),
            prompts,
        };
        // Building once finds bad parameters before anything runs.
        preset.build(preset.native_window.unwrap_or(200_000), true).map_err(|e| at(&e.0, e.1))?;
        Ok(preset)
    }

    /// Reads a preset file of the user's own.
    pub fn load(path: &Path, overrides: &[(String, String)]) -> Result<Self, PresetError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|e| PresetError {
            place: file.clone(),
            problem: format!("cannot be read: {e}"),
        })?;
        let folder = path.parent().map(PathBuf::from).unwrap_or_default();
        Self::parse(&file, &text, overrides, &|name| {
            std::fs::read_to_string(folder.join(name)).ok()
        })
    }

    /// The prompts that it names, by file.
    pub fn prompts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.prompts.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// Whether a stage calls the compactor.
    pub fn uses_compactor(&self) -> bool {
        self.stages.iter().any(|s| s.mechanism.uses_compactor)
    }

    /// Whether a stage replays the vendor's own compactions.
    pub fn replays_recording(&self) -> bool {
        self.stages.iter().any(|s| s.when == When::Recorded)
    }

    /// The factor for absolute numbers at a window.
    pub fn scale(&self, window: u64, scaled: bool) -> Scale {
        match self.native_window {
            Some(native) if scaled => Scale { window, native },
            _ => Scale::ONE,
        }
    }

    /// Window less min(output limit, 32,000).
    pub fn usable(&self, window: u64) -> u64 {
        window.saturating_sub(self.output_limit.min(LARGEST_RESERVE))
    }

    /// What the preset lets itself use.
    pub fn budget_tokens(&self, window: u64) -> u64 {
        match self.budget {
            Budget::Window => window,
            Budget::Share(share) => (window as f64 * share) as u64,
            Budget::Usable => self.usable(window),
        }
    }

    /// The triggers in the numbers of a window, and a fresh mechanism each.
    /// The error names the stage and says what is wrong.
    pub fn build(
        &self,
        window: u64,
        scaled: bool,
    ) -> Result<Vec<(When, Box<dyn Strategy>)>, (String, String)> {
        let scale = self.scale(window, scaled);
        let mut built = Vec::new();
        for (number, stage) in self.stages.iter().enumerate() {
            let build =
                Build { parameters: &stage.parameters, scale, window, prompts: &self.prompts };
            let key = format!("stage {} ({})", number + 1, stage.mechanism.name);
            let mechanism = (stage.mechanism.build)(&build).map_err(|e| (key, e))?;
            built.push((scale_when(&stage.when, scale), mechanism));
        }
        Ok(built)
    }
}

/// Where broken TOML is broken, as far as the parser tells.
fn line_of(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.as_bytes().get(..span.start));
    before.map_or_else(String::new, |before| {
        format!("line {}", 1 + memchr::memchr_iter(b'\n', before).count())
    })
}

fn scale_when(when: &When, scale: Scale) -> When {
    match when {
        When::Above { of, share, and_over } => {
            When::Above { of: *of, share: *share, and_over: scale.tokens(*and_over) }
        }
        When::AboveReserve { reserve } => When::AboveReserve { reserve: scale.tokens(*reserve) },
        When::ToolTokens(tokens) => When::ToolTokens(scale.tokens(*tokens)),
        other => other.clone(),
    }
}

/// `--set PRESET.KEY=VALUE`: a key of the preset, or of the first stage that
/// has it, or `N.key` for stage N.
fn set(table: &mut Table, key: &str, value: &str) -> Result<(), String> {
    let parsed = parse_value(value)?;
    let (stage, key) = match key.split_once('.') {
        Some((number, key)) => match number.parse::<usize>() {
            Ok(number) if number >= 1 => (Some(number - 1), key),
            _ => return Err(format!("`{number}` is no stage number; write 1.{key}")),
        },
        None => (None, key),
    };
    if stage.is_none() && table.contains_key(key) && key != "stage" {
        table.insert(key.to_owned(), parsed);
        return Ok(());
    }
    let stages = table.get_mut("stage").and_then(Value::as_array_mut);
    let mut stages: Vec<&mut Table> =
        stages.into_iter().flatten().filter_map(Value::as_table_mut).collect();
    let known: Vec<String> = stages.iter().flat_map(|t| t.keys().cloned()).collect();
    let target = match stage {
        Some(at) => stages.get_mut(at),
        None => stages.iter_mut().find(|t| t.contains_key(key)),
    };
    match target {
        Some(stage) => {
            stage.insert(key.to_owned(), parsed);
            Ok(())
        }
        None => Err(format!("no such key (its stages have: {})", known.join(", "))),
    }
}

fn parse_value(value: &str) -> Result<Value, String> {
    let as_toml = format!("value = {value}").parse::<Table>();
    match as_toml {
        Ok(mut table) => table.remove("value").ok_or_else(|| "empty value".to_owned()),
        Err(_) => Ok(Value::String(value.to_owned())),
    }
}

fn budget(value: Option<&Value>) -> Result<Budget, String> {
    match value {
        None => Ok(Budget::Window),
        Some(Value::String(word)) if word == "window" => Ok(Budget::Window),
        Some(Value::String(word)) if word == "usable" => Ok(Budget::Usable),
        Some(Value::Float(share)) if *share > 0.0 && *share <= 1.0 => Ok(Budget::Share(*share)),
        Some(other) => Err(format!(
            "`{other}` is no budget; write \"window\", \"usable\" or a share such as 0.85"
        )),
    }
}

fn read_stage(mut table: Table) -> Result<Stage, String> {
    let name = take_string(&mut table, "mechanism")?;
    let mechanism = MECHANISMS.iter().find(|m| m.name == name).ok_or_else(|| {
        let known: Vec<&str> = MECHANISMS.iter().map(|m| m.name).collect();
        format!("mechanism `{name}` is not known (known: {})", known.join(", "))
    })?;
    let at =
        table.remove("at").ok_or("`at` is missing (open, append, user-turn, request, response)")?;
    let at = At::deserialize(at).map_err(|e| format!("at: {}", e.message()))?;
    let when = table.remove("when").ok_or("`when` is missing, such as \"always\"")?;
    let when = read_when(when)?;
    let target = match table.remove("target") {
        Some(value) => Some(keyed::<WireTarget>(value).map_err(|e| format!("target: {e}"))?),
        None => None,
    };
    let target = target.map(|t| (t.of, t.share));
    if let (Some((of, share)), When::Above { of: trigger, share: above, .. }) = (target, &when)
        && of == *trigger
        && share > *above
    {
        return Err(format!("the threshold {above} is below its target {share}"));
    }
    let breaks_pairs = match table.remove("breaks_pairs") {
        Some(value) => value.as_bool().ok_or("`breaks_pairs` must be true or false")?,
        None => false,
    };
    Ok(Stage { mechanism, at, when, target, breaks_pairs, parameters: table })
}

fn take_string(table: &mut Table, key: &str) -> Result<String, String> {
    match table.remove(key) {
        Some(Value::String(value)) => Ok(value),
        Some(other) => Err(format!("`{key}` must be a string, not `{other}`")),
        None => Err(format!("`{key}` is missing")),
    }
}

fn read_when(value: Value) -> Result<When, String> {
    if let Value::String(word) = &value {
        return match word.as_str() {
            "always" => Ok(When::Always),
            "recorded" => Ok(When::Recorded),
            other => {
                Err(format!("`when = \"{other}\"` is not known (always, recorded, or a table)"))
            }
        };
    }
    let wire = WireWhen::deserialize(value).map_err(|e| format!("when: {}", e.message()))?;
    let share = wire.share.unwrap_or(1.0);
    if !(0.0..=1.0).contains(&share) {
        return Err(format!("when: share {share} is not between 0 and 1"));
    }
    match wire {
        WireWhen { above: Some(of), reserve: None, tool_tokens: None, messages: None, .. } => {
            Ok(When::Above { of, share, and_over: wire.and_over.unwrap_or(0) })
        }
        WireWhen {
            above: None, reserve: Some(reserve), tool_tokens: None, messages: None, ..
        } => Ok(When::AboveReserve { reserve }),
        WireWhen {
            above: None, reserve: None, tool_tokens: Some(tokens), messages: None, ..
        } => Ok(When::ToolTokens(tokens)),
        WireWhen {
            above: None, reserve: None, tool_tokens: None, messages: Some(count), ..
        } => Ok(When::Messages(count)),
        _ => Err("when: give one of above, reserve, tool_tokens, messages".to_owned()),
    }
}

/// Parameters that name prompt files: those whose key is `prompt` or ends in `_prompt`.
fn prompt_names(parameters: &Table) -> Vec<String> {
    let is_prompt = |key: &str| key == "prompt" || key.ends_with("_prompt");
    let named = parameters.iter().filter(|(key, _)| is_prompt(key));
    named.filter_map(|(_, value)| value.as_str().map(str::to_owned)).collect()
}

include!(concat!(env!("OUT_DIR"), "/builtin_presets.rs"));

/// Names of the built-in presets, in the order of their files.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    PRESET_FILES.iter().map(|(name, _)| *name)
}

/// A built-in preset, with overrides.
pub fn builtin(name: &str, overrides: &[(String, String)]) -> Option<Result<Preset, PresetError>> {
    let (_, text) = PRESET_FILES.iter().find(|(known, _)| *known == name)?;
    let prompt = |file: &str| {
        PROMPT_FILES.iter().find(|(known, _)| *known == file).map(|(_, text)| (*text).to_owned())
    };
    Some(Preset::parse(&format!("strategies/{name}.toml"), text, overrides, &prompt))
}
