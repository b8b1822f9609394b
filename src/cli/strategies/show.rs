//! `recap strategies show`.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::super::exit::Failure;
use crate::bench;
use recap_core::text::one_line;
use recap_replay::{UNKNOWN_LIMIT, WindowSpec};
use recap_strategy::{Gauge, Scaling, Strategy};

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
    let gauge = Gauge {
        believed: None,
        window,
        budget: strategy.budget_tokens(window, scaling),
        usable: strategy.usable(window, scaling),
        tool_tokens: 0,
        messages: 0,
        turn: None,
        recorded: false,
    };
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
        let threshold = built.when.threshold(&gauge).map(in_tokens).unwrap_or_default();
        let _ = writeln!(text, "  at {}, {}{threshold}", stage.at.as_str(), built.when);
        if let Some((of, share)) = stage.target {
            let target = in_tokens(gauge.share(of, share));
            let _ = writeln!(text, "  down to {share} of {}{target}", of.as_str());
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
        let words: Vec<Cow<'_, str>> = command.iter().map(|word| typed(word)).collect();
        let _ = writeln!(
            text,
            "\nruns `{}`{} with your rights: run it only if you trust it",
            words.join(" "),
            folder
                .map(|f| format!(" in {}", one_line(&f.display().to_string())))
                .unwrap_or_default()
        );
    }
}

/// A word of a command, quoted and escaped where it is not plain, so that
/// invisible characters and the ends of words show.
fn typed(word: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("{word:?}")),
    }
}

/// The file of a strategy, as it is written.
pub(super) fn file(name: &str) -> Result<String, Failure> {
    Ok(bench::strategy_text(name)?.as_written().to_owned())
}

/// The strategy with its numbers at a window, and its prompts.
pub(super) fn show(name: &str, window: Option<&WindowSpec>) -> Result<String, Failure> {
    let file = bench::strategy_text(name)?;
    let strategy = bench::strategy(name, &[])?;
    let written = strategy.native_window.unwrap_or(UNKNOWN_LIMIT);
    let scaling = window.map_or(Scaling::Named, |window| window.scaling(true));
    let window = window.map_or(written, |window| window.of_strategy(written));
    let [name, summary, source] =
        [&strategy.name, &strategy.summary, &strategy.source].map(|t| one_line(t));
    let mut text = format!("{name}\n{summary}\nsource: {source}\n");
    let _ = writeln!(text, "hash: {}  estimator: {}", strategy.hash, strategy.estimator.as_str());
    let breakpoints: Vec<&str> = strategy.breakpoints.iter().map(|b| b.as_str()).collect();
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
