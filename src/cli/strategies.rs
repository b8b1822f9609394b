//! `recap strategies`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::Arc;

use clap::{Args, Subcommand};

use super::wire;
use super::work::Work;
use crate::bench::{self, strategy};
use crate::failure::{Exit, Failure};
use recap_core::text::{counted, one_line};
use recap_formats::bundled;
use recap_replay::run::{ConformanceReport, ModelRoles, check_conformance};
use recap_replay::{Plan, PreparedSession, UNKNOWN_LIMIT, WindowSpec};
use recap_strategy::{Scaling, Strategy, builtin_names, saver_names};

/// The bundled data set on which `check` runs a strategy.
const TRIED_ON: &str = "quickstart";

/// Number of consecutive sessions of one kind in it.
const PER_KIND: usize = 2;

/// The window at which `check` runs a strategy.
const TRIED_AT: &str = "25%";

/// Options of `recap strategies`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the built-in strategies (the default)
    List,
    /// Print a strategy: its stages, prompts, and effective numbers at a window
    Show {
        /// A built-in strategy, or a file of your own
        name: String,
        /// The window for which its numbers are printed: tokens (200k), or a share (25%) of the
        /// window that it is written for [default: native, that window, else 200k]
        #[arg(long, value_name = "TOKENS|SHARE|native")]
        window: Option<WindowSpec>,
        /// Print its file instead, to save and change
        #[arg(long, conflicts_with = "window")]
        toml: bool,
    },
    /// Check a strategy, and try it on bundled sessions: it runs through, keeps calls with their
    /// results, and does the same twice and after being restored; a command is run
    Check {
        /// A file of your own, or a built-in strategy
        #[arg(value_name = "NAME|FILE")]
        name: String,
    },
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let text = match &arguments.action {
        None | Some(Action::List) => list()?,
        Some(Action::Show { name, toml: true, .. }) => {
            bench::strategy_text(name)?.as_written().to_owned()
        }
        Some(Action::Show { name, window, .. }) => described(name, window.as_ref())?,
        Some(Action::Check { name }) => check(name)?,
    };
    wire::print(&text)?;
    Ok(Exit::Done)
}

/// Checks a strategy by running it on bundled sessions, one of each kind.
fn check(name: &str) -> Result<String, Failure> {
    let strategy = Arc::new(strategy(name, &[])?);
    let stages = counted(strategy.stages.len(), "stage");
    let mut text = format!("{}: {stages}, no error\n", strategy.name);
    if strategy.stages.is_empty() {
        return Ok(text);
    }
    let dataset = bundled(TRIED_ON).expect("it ships with the program")?;
    let (counter, mut work) = (wire::counter(None), Work::new(1)?);
    let roles = ModelRoles::offline(&counter);
    let window: WindowSpec = TRIED_AT.parse().expect("it is a share");
    let mut all = Vec::new();
    for session in dataset.sessions.into_iter().step_by(PER_KIND) {
        let prepared = PreparedSession::new(&dataset.name, session, Arc::clone(&counter));
        let tokens =
            window.tokens(&prepared.recording.sizes, UNKNOWN_LIMIT).map_err(wire::too_small)?;
        let names = (&*dataset.name, &*prepared.facts.session);
        let at = (window.label(), tokens);
        let plan = Plan { seed: 0, ..Plan::new(names, Arc::clone(&strategy), at) };
        let tried = work.run(check_conformance(&prepared, &plan, roles.compactor.as_ref()))?;
        let id = &prepared.facts.session;
        all.push(tried.map_err(|e| {
            Failure::with_code(Exit::Incomplete, format!("{}, tried on {id}: {e}", strategy.name))
        })?);
    }
    describe(&mut text, &all);
    Ok(text)
}

/// The result of the check, in words.
fn describe(text: &mut String, all: &[ConformanceReport]) {
    let sum = |count: fn(&ConformanceReport) -> u64| all.iter().map(count).sum::<u64>();
    let compactions = sum(|one| one.compactions);
    let _ = writeln!(
        text,
        "tried on {} of {TRIED_ON} at {TRIED_AT} of their tokens: {}, {} over the window",
        counted(all.len(), "session"),
        counted(sum(|one| one.requests), "request"),
        sum(|one| one.overflows),
    );
    if compactions == 0 {
        text.push_str("no stage ever changed anything there\n");
    } else {
        let each = |tokens: u64| tokens / compactions;
        let _ = writeln!(
            text,
            "{}, on average from {} to {} tokens",
            counted(compactions, "compaction"),
            each(sum(|one| one.tokens_before)),
            each(sum(|one| one.tokens_after)),
        );
    }
    if let Some(differs) = all.iter().find_map(|one| one.differs.as_ref()) {
        let _ = writeln!(
            text,
            "two runs differ ({differs}): it calls models of its own, so rows differ from run to \
             run; saving and restoring was not tried"
        );
    } else {
        text.push_str("the same twice, and the same after being saved and restored\n");
    }
}

fn list() -> Result<String, Failure> {
    let mut text = String::new();
    let width = builtin_names().map(str::len).max().unwrap_or_default();
    for name in builtin_names().chain(saver_names()) {
        let strategy = strategy(name, &[])?;
        let kind = match (strategy.control, strategy.uses_compactor()) {
            _ if strategy.is_saver() => "token saver",
            (true, _) => "control",
            (_, true) => "compactor",
            _ => "model-free",
        };
        let _ = writeln!(text, "{name:width$}  {kind:11} {}", strategy.summary);
    }
    Ok(text)
}

/// The token budgets of a strategy at a window.
fn budgets(strategy: &Strategy, window: u64, scaling: Scaling) -> String {
    let [reserve, own] =
        [scaling, Scaling::AsWritten].map(|scaling| strategy.output_reserve(window, scaling));
    let written = if reserve == own { String::new() } else { format!(" (written: {own})") };
    format!(
        "at a window of {window}: budget {}, usable {}, output reserve {reserve}{written}\n",
        strategy.budget_tokens(window, scaling),
        strategy.usable(window, scaling),
    )
}

/// Which numbers are scaled from the native window to another one.
fn scales(strategy: &Strategy, scaling: Scaling, (window, native): (u64, u64)) -> String {
    let all = "numbers of tokens and characters".to_owned();
    let named = strategy.scales.as_ref().filter(|_| scaling == Scaling::Named);
    let which =
        named.map_or(all, |named| Vec::from_iter(named.iter().map(String::as_str)).join(", "));
    if which.is_empty() {
        return format!(
            "\nwritten for a window of {native}; no number scales at a model's window\n"
        );
    }
    format!(
        "\n{which}: written for a window of {native}; above they are scaled by {window}/{native}\n"
    )
}

/// The stages of a strategy with the numbers for a window.
fn stages(
    text: &mut String,
    strategy: &Strategy,
    window: u64,
    scaling: Scaling,
) -> Result<(), Failure> {
    let limits = strategy.limits(window, scaling);
    let in_tokens = |tokens: u64| format!(" ({tokens} tokens)");
    let built = strategy.build(window, scaling).map_err(|e| Failure::usage(e.to_string()))?;
    for (number, (stage, built)) in strategy.stages.iter().zip(built).enumerate() {
        let _ = writeln!(
            text,
            "\nstage {}: {} ({})",
            number + 1,
            stage.mechanism.name,
            stage.mechanism.summary
        );
        let threshold = built.when.threshold(&limits).map(in_tokens).unwrap_or_default();
        let _ = writeln!(text, "  at {}, {}{threshold}", stage.at, built.when);
        if let Some((of, share)) = stage.target {
            let target = in_tokens(limits.share(of, share));
            let _ = writeln!(text, "  down to {share} of {of}{target}");
        }
        let effective = strategy.effective(number, window, scaling);
        for (key, value) in &effective {
            let written = stage.parameters.get(key).filter(|written| *written != value);
            let written = written.map_or_else(String::new, |w| format!("  (written: {w})"));
            let _ = writeln!(text, "{}", one_line(&format!("  {key} = {value}{written}")));
        }
    }
    Ok(())
}

/// The programs that the strategy runs. This is printed last, where the strategy's
/// own texts cannot push it off the screen or continue it.
fn programs(text: &mut String, strategy: &Strategy) {
    for (folder, command) in strategy.commands() {
        let _ = writeln!(
            text,
            "\nruns `{}`{} with your rights: run it only if you trust it",
            command_line(&command),
            folder
                .map(|f| format!(" in {}", one_line(&f.display().to_string())))
                .unwrap_or_default()
        );
    }
}

/// A command as it would be typed.
pub(super) fn command_line(command: &[&str]) -> String {
    command.iter().map(|word| typed(word)).collect::<Vec<_>>().join(" ")
}

/// A word of a command, quoted and escaped where it is not plain, so that
/// invisible characters and the ends of words show.
fn typed(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        Cow::Borrowed(word)
    } else {
        Cow::Owned(format!("{word:?}"))
    }
}

/// The strategy with its numbers at a window, and its prompts.
fn described(name: &str, window: Option<&WindowSpec>) -> Result<String, Failure> {
    let file = bench::strategy_text(name)?;
    let strategy = bench::strategy(name, &[])?;
    let written = strategy.native_window.unwrap_or(UNKNOWN_LIMIT);
    let scaling = window.map_or(Scaling::Named, |window| window.scaling(true));
    let window = window.map_or(written, |window| window.of_strategy(written));
    let [name, summary, source] =
        [&strategy.name, &strategy.summary, &strategy.source].map(|t| one_line(t));
    let mut text = format!("{name}\n{summary}\nsource: {source}\n");
    let _ = writeln!(text, "hash: {}  estimator: {}", strategy.hash, strategy.estimator.as_str());
    let breakpoints: Vec<String> = strategy.breakpoints.iter().map(ToString::to_string).collect();
    let _ = writeln!(text, "cache breakpoints: {}", breakpoints.join(", "));
    if strategy.explicit_cache {
        let _ = writeln!(text, "explicit cache content where there is any (Gemini): the preamble");
    }
    if let Some(channel) = strategy.recovery {
        let _ = writeln!(text, "recovery channel: {} ({})", channel.name, channel.summary);
    }
    text.push_str(&budgets(&strategy, window, scaling));
    stages(&mut text, &strategy, window, scaling)?;
    if let Some(native) = strategy.native_window.filter(|n| *n != window) {
        text.push_str(&scales(&strategy, scaling, (window, native)));
    }
    for (name, prompt) in strategy.prompts() {
        let from = if file.borrows(name) { " (built-in)" } else { "" };
        let _ = writeln!(text, "\n--- {}{from}\n{}", one_line(name), prompt.trim_end());
    }
    programs(&mut text, &strategy);
    Ok(text)
}
