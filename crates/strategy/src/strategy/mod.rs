//! A strategy: a named row of the comparison, as a TOML file with its prompts.
//!
//! Invariant: a strategy is data. Its content hash (file, prompts, programs, overrides)
//! goes into the manifest, so two rows of one name are never mixed up.
//!
//! One file each: reading the file ([`read`]), changing its text and the strategies that ship
//! with the program ([`text`]), and making mechanisms of it ([`build`]).

mod build;
mod read;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use toml::Table;

use super::mechanisms::{COMMAND, SAVERS};
use super::recovery::RecoverySpec;
use super::trigger::{At, Of, When};
use crate::mechanism::MechanismSpec;
use build::OUTPUT_LIMIT;
use recap_core::model::NO_SUMMARY;
use recap_core::tokens::Estimator;

pub use build::{BuiltStage, Scaling};
pub use text::{StrategyText, builtin, builtin_names, saver_names};

/// Largest output reserve of a strategy, in tokens (GenCode: `min(outputLimit, 32k)`).
const LARGEST_RESERVE: u64 = 32_000;

/// The part of the window that a strategy uses (how-it-works §12).
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub enum Budget {
    /// The whole context window.
    #[default]
    Window,
    /// A share of the window.
    Share(f64),
    /// The window less the output reserve ([`Strategy::output_reserve`]).
    Usable,
}

/// A position of a cache breakpoint in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Breakpoint {
    /// After tools and system prompt, including its notes.
    Preamble,
    /// After everything before the conversation, including what harnesses put
    /// there (memory files, reminders).
    Head,
    /// After the summaries at the beginning of the history.
    Summary,
    /// After the last entry whose tool output was considered for pruning.
    PruneBoundary,
    /// At the newest breakpoint of the request before, so that a turn of more
    /// blocks than the provider looks back over finds it.
    Previous,
    /// After the newest message: it moves with every request.
    Newest,
}

/// The breakpoints of strategies that do not name any.
fn breakpoints() -> Vec<Breakpoint> {
    vec![Breakpoint::Preamble, Breakpoint::Previous, Breakpoint::Newest]
}

/// The context in which questions are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskedFrom {
    /// The context that the strategy would send.
    #[default]
    Context,
    /// The question's own evidence and its neighbours: nothing is replayed.
    Evidence,
}

/// One stage: a trigger, a mechanism and its parameters as written.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The mechanism that the stage runs.
    pub mechanism: &'static MechanismSpec,
    /// The point at which it is checked.
    pub at: At,
    /// Its condition, with numbers for the strategy's native window.
    pub when: When,
    /// Size to shrink to; `None`: the trigger's own threshold.
    pub target: Option<(Of, f64)>,
    /// Whether tool calls and results may be separated (Zoea's window).
    pub breaks_pairs: bool,
    /// Whether the conversation continues while it works (how-it-works §25).
    pub background: bool,
    /// The mechanism's own parameters, unscaled.
    pub parameters: Table,
}

impl Stage {
    /// Whether it runs a program of the user's.
    fn runs_program(&self) -> bool {
        self.mechanism == &COMMAND || SAVERS.contains(&self.mechanism)
    }
}

/// A named row of the comparison, as its file has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Strategy {
    version: u32,
    /// The kebab-case name of the row.
    pub name: String,
    /// A description in one sentence.
    pub summary: String,
    /// The source of its numbers.
    pub source: String,
    /// Whether it is a control (never ranked).
    #[serde(default)]
    pub control: bool,
    /// The context in which its questions are asked.
    #[serde(default)]
    pub asked_from: AskedFrom,
    /// Window for which absolute numbers are meant; without one they do not scale.
    pub native_window: Option<u64>,
    /// Keys of the numbers that scale at a window that a model may have; `None`: all.
    pub scales: Option<BTreeSet<String>>,
    /// Output limit of the strategy's model, in tokens.
    #[serde(skip)]
    pub output_limit: u64,
    /// Other output limits, by the beginning of the model's name.
    #[serde(default, rename = "output_limit", deserialize_with = "read::output_limits")]
    output_limits: BTreeMap<String, u64>,
    /// How it estimates the size of its context.
    #[serde(default)]
    pub estimator: Estimator,
    /// The part of the window that it uses.
    #[serde(default)]
    pub budget: Budget,
    /// Size of the prompt at which it compacts, in place of its own where that is larger.
    pub compact_at: Option<u64>,
    /// The positions of cache breakpoints in its requests.
    #[serde(default = "breakpoints", rename = "cache_breakpoints")]
    pub breakpoints: Vec<Breakpoint>,
    /// Whether it caches its preamble explicitly where a provider offers that
    /// (Gemini), and nothing else.
    #[serde(default)]
    pub explicit_cache: bool,
    /// The channel by which an answerer can search what was dropped.
    #[serde(default, deserialize_with = "read::channel")]
    pub recovery: Option<&'static RecoverySpec>,
    /// Its stages in order.
    #[serde(skip)]
    pub stages: Vec<Stage>,
    /// Whether secrets and e-mail addresses are replaced in what a token saver is sent.
    #[serde(skip)]
    pub redacts: bool,
    /// Hash of file, prompts, programs and overrides.
    #[serde(skip)]
    pub hash: String,
    /// Folder of its file, if it is one of the user's own.
    #[serde(skip)]
    pub(crate) folder: Option<PathBuf>,
    /// The texts of its prompts, by file.
    #[serde(skip)]
    pub(crate) prompts: BTreeMap<String, String>,
}

/// What is wrong with a strategy, where, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct StrategyError {
    /// File, and the key where there is one.
    pub place: String,
    /// What is wrong and what is allowed.
    pub problem: String,
}

impl Strategy {
    /// Its no-summary: the same strategy, to be run with nothing in the place of what
    /// its model writes. `None` where no model writes text for it.
    pub fn without_summary(&self) -> Option<Self> {
        let written = self.uses_compactor() && !self.control;
        written.then(|| {
            let name = format!("{NO_SUMMARY}{}", self.name);
            Self { name, control: true, ..self.clone() }
        })
    }

    /// The prompts that it names, by file.
    pub fn prompts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.prompts.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The folder in which it runs programs, if it has one, and the command of each stage that
    /// does: of built-in strategies, token savers alone.
    pub fn commands(&self) -> impl Iterator<Item = (Option<&Path>, Vec<&str>)> {
        let runs = self.stages.iter().filter(|stage| stage.runs_program());
        let commands = runs.map(|stage| words(&stage.parameters));
        let folder = self.folder.as_deref();
        commands.filter(|words| !words.is_empty()).map(move |words| (folder, words))
    }

    /// Whether it is a token saver: a program between the agent and its provider or its tools,
    /// which every request passes from the first one on.
    pub fn is_saver(&self) -> bool {
        self.stages.iter().any(|stage| SAVERS.contains(&stage.mechanism))
    }

    /// Whether a stage calls the compactor.
    pub fn uses_compactor(&self) -> bool {
        self.stages.iter().any(|s| s.mechanism.uses_compactor)
    }

    /// Whether a stage replays the recorded agent's own compactions.
    pub fn replays_recording(&self) -> bool {
        self.stages.iter().any(|s| s.when == When::Recorded)
    }

    /// Whether its recovery channel ranks closed sessions, which can be by meaning.
    pub fn searches_sessions(&self) -> bool {
        self.recovery.is_some_and(|spec| spec.by_meaning.is_some())
    }

    /// The strategy for a model: with the output limit under the longest name
    /// with which the model's own begins, a seller's before a `/` left out.
    #[must_use]
    pub fn for_model(strategy: &Arc<Self>, model: &str) -> Arc<Self> {
        let model = model.rsplit('/').next().unwrap_or_default().to_lowercase();
        let named = strategy.output_limits.iter().filter(|(name, _)| model.starts_with(*name));
        match named.max_by_key(|(name, _)| name.len()) {
            Some((_, &output_limit)) => Arc::new(Self { output_limit, ..Self::clone(strategy) }),
            None => Arc::clone(strategy),
        }
    }

    /// Tokens of a window that are left to the response: min(output limit,
    /// 32,000), which may scale (how-it-works §12 and §14).
    pub fn output_reserve(&self, window: u64, scaling: Scaling) -> u64 {
        let scale = self.scale(|| OUTPUT_LIMIT.to_owned(), window, scaling);
        scale.number(self.output_limit.min(LARGEST_RESERVE))
    }

    /// The window that the strategy takes for its own: where it is told to compact at a smaller
    /// size, smaller in that ratio, so that shares of the window follow the size and numbers of
    /// tokens stay.
    pub fn believed_window(&self, window: u64, scaling: Scaling) -> u64 {
        self.moved(window, scaling).map_or(window, |moved| moved.of(window))
    }

    /// Tokens of a window less its output reserve.
    pub fn usable(&self, window: u64, scaling: Scaling) -> u64 {
        window.saturating_sub(self.output_reserve(window, scaling))
    }

    /// The part of the window that the strategy uses, in tokens.
    pub fn budget_tokens(&self, window: u64, scaling: Scaling) -> u64 {
        match self.budget {
            Budget::Window => window,
            Budget::Share(share) => (window as f64 * share) as u64,
            Budget::Usable => self.usable(window, scaling),
        }
    }
}

/// The words of a stage's command.
fn words(stage: &Table) -> Vec<&str> {
    let command = stage.get("command").and_then(toml::Value::as_array);
    command.into_iter().flatten().filter_map(toml::Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_and_recovery_determine_strategy_needs() {
        let of = |name| builtin(name, &[]).unwrap().unwrap();
        let needs = |name| {
            let strategy: Strategy = of(name);
            [strategy.uses_compactor(), strategy.searches_sessions(), strategy.replays_recording()]
        };
        assert_eq!(needs("prune"), [false, false, false]);
        assert_eq!(needs("continuation"), [true, false, false]);
        // Sessions are ranked by meaning; texts of messages are searched by words.
        assert_eq!(needs("lis"), [true, true, false]);
        assert_eq!(needs("sliding-window-search"), [false, false, false]);
        assert!(of("recorded").replays_recording());
    }

    #[test]
    fn command_words_come_from_its_list() {
        let stage = |text: &str| text.parse::<Table>().unwrap();
        assert_eq!(words(&stage("command = ['python3', 'mine.py']")), ["python3", "mine.py"]);
        assert!(words(&stage("keep = 3")).is_empty());
    }

    #[test]
    fn mechanisms_are_the_same_by_their_names() {
        let of = |name| builtin(name, &[]).unwrap().unwrap().stages[0].mechanism;
        assert_eq!(of("fifo"), of("fifo"));
        assert_ne!(of("fifo"), of("prune"));
    }

    #[test]
    fn last_trigger_moves_to_named_size_and_shares_of_window_with_it() {
        let of = |name, size: u64| {
            let set = [("compact_at".to_owned(), size.to_string())];
            let strategy = builtin(name, &set).unwrap().unwrap();
            let at = |stage| strategy.threshold(stage, 200_000, Scaling::AsWritten);
            let stages: Vec<Option<u64>> = (0..strategy.stages.len()).map(at).collect();
            (stages, strategy.believed_window(200_000, Scaling::AsWritten))
        };
        // 33,000 below the window: 167,000 of 200,000, which moves to 100/167 of itself.
        assert_eq!(of("claude-code", 100_000), (vec![Some(100_000)], 119_760));
        // Later than its own trigger it does not fire.
        assert_eq!(of("claude-code", 180_000), (vec![Some(167_000)], 200_000));
        // Both layers are at the usable 191,808.
        assert_eq!(of("gencode", 95_904), (vec![Some(95_904); 2], 100_000));
        // A number of tokens is no share, and gives way alone.
        assert_eq!(of("anthropic-context-editing", 60_000), (vec![Some(60_000)], 120_000));
        for (name, size) in [("sliding-window", "9000"), ("codex", "0")] {
            let set = [("compact_at".to_owned(), size.to_owned())];
            let refused = builtin(name, &set).unwrap().unwrap_err().to_string();
            assert!(refused.contains("compact_at: it is a number of tokens above 0"), "{refused}");
        }
    }

    /// A strategy with these keys, and a stage with numbers of every kind.
    fn with(keys: &str) -> Result<Strategy, String> {
        let text = format!(
            "version = 1\nname = \"x\"\nsummary = \"x\"\nsource = \"x\"\n{keys}\n[[stage]]\n\
             mechanism = \"prune\"\nat = \"append\"\nprotect = 800\n\
             when = {{ above = \"usable\", and_over = 400 }}\n"
        );
        Strategy::parse(None, "x.toml", &text, &[], &|_| None).map_err(|error| error.to_string())
    }

    #[test]
    fn only_listed_numbers_scale_at_a_models_window() {
        let numbers = |keys: &str, scaling| {
            let strategy = with(&format!("native_window = 2_000\n{keys}")).unwrap();
            let protect = strategy.effective(0, 1_000, scaling)["protect"].as_integer().unwrap();
            let When::Above { and_over, .. } = strategy.trigger(0, 1_000, scaling) else {
                panic!("it is above a size")
            };
            (strategy.output_reserve(1_000, scaling), protect, and_over)
        };
        for (keys, named) in [
            ("", (100, 400, 200)),
            ("scales = []", (200, 800, 400)),
            ("scales = [\"1.protect\"]", (200, 400, 400)),
            ("scales = [\"output_limit\", \"1.when.and_over\"]", (100, 800, 200)),
        ] {
            let keys = format!("output_limit = 200\n{keys}");
            assert_eq!(numbers(&keys, Scaling::Named), named, "{keys}");
            assert_eq!(numbers(&keys, Scaling::All), (100, 400, 200), "{keys}");
            assert_eq!(numbers(&keys, Scaling::AsWritten), (200, 800, 400), "{keys}");
        }
        let refused = with("native_window = 2_000\nscales = [\"1.protekt\"]").unwrap_err();
        assert!(refused.contains("x.toml, scales: `1.protekt` is no number"), "{refused}");
        assert!(refused.contains("`1.protect`"), "{refused}");
        let refused = with("scales = [\"1.protect\"]").unwrap_err();
        assert!(refused.ends_with("without a `native_window` nothing scales"), "{refused}");
    }

    #[test]
    fn output_limit_is_that_of_the_longest_beginning_of_the_name() {
        let limits = "output_limit = { default = 8, gpt = 4, \"gpt-4o\" = 2, \"GPT-4o-mini\" = 1 }";
        let strategy = Arc::new(with(limits).unwrap());
        let of = |model: &str| Strategy::for_model(&strategy, model).output_limit;
        for (model, limit) in [
            ("gpt-5", 4),
            ("gpt-4o", 2),
            ("openai/GPT-4o-2024-08-06", 2),
            ("gpt-4o-mini", 1),
            ("my-gpt-4o", 8),
            ("", 8),
        ] {
            assert_eq!(of(model), limit, "{model}");
        }
        assert_eq!(with("output_limit = { gpt = 4 }").unwrap().output_limit, 8_192);
        for wrong in ["\"many\"", "0.5", "{ default = \"many\" }", "[8]"] {
            let refused = with(&format!("output_limit = {wrong}")).unwrap_err();
            assert!(refused.contains("output_limit"), "{refused}");
            assert!(refused.contains("write a number of tokens, such as 8_192"), "{refused}");
        }
    }

    #[test]
    fn only_model_written_strategies_have_without_summary_control() {
        let of = |name| builtin(name, &[]).unwrap().unwrap();
        let (strategy, without_summary): (Strategy, _) =
            (of("continuation"), of("continuation").without_summary().unwrap());
        assert_eq!(
            (without_summary.name.as_str(), without_summary.control),
            ("no-summary:continuation", true)
        );
        assert_eq!(
            (&without_summary.stages, &without_summary.hash),
            (&strategy.stages, &strategy.hash)
        );
        assert_eq!(
            (without_summary.without_summary(), of("prune").without_summary()),
            (None, None)
        );
    }
}
