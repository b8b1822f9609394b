//! `recap strategies show`.

use std::fmt::Write as _;

use super::super::exit::Failure;
use super::super::wire;
use super::load;
use crate::replay::UNKNOWN_LIMIT;
use crate::strategy::{Gauge, Preset};

/// What a preset lets itself use of a window.
fn budgets(preset: &Preset, window: u64) -> String {
    let (reserve, own) =
        (preset.output_reserve(window, true), preset.output_reserve(window, false));
    let written = if reserve == own { String::new() } else { format!(" (written: {own})") };
    format!(
        "at a window of {window}: budget {}, usable {}, output reserve {reserve}{written}\n",
        preset.budget_tokens(window, true),
        preset.usable(window, true),
    )
}

/// The stages of a preset in the numbers of a window.
fn stages(text: &mut String, preset: &Preset, window: u64) -> Result<(), Failure> {
    let gauge = Gauge {
        believed: None,
        window,
        budget: preset.budget_tokens(window, true),
        usable: preset.usable(window, true),
        tool_tokens: 0,
        messages: 0,
        turn: None,
        recorded: false,
    };
    let in_tokens = |tokens: u64| format!(" ({tokens} tokens)");
    let built = preset.build(window, true).map_err(|e| Failure::usage(e.to_string()))?;
    for (number, (stage, built)) in preset.stages.iter().zip(built).enumerate() {
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
        // An address may hold a password, and is told below without it.
        let told = |key: &str| !(stage.mechanism.name == "http" && key == "url");
        let effective = preset.effective(stage, window, true);
        for (key, value) in effective.iter().filter(|(key, _)| told(key)) {
            let written = stage.parameters.get(key).filter(|written| *written != value);
            let written = written.map_or_else(String::new, |w| format!("  (written: {w})"));
            let _ = writeln!(text, "  {key} = {value}{written}");
        }
    }
    Ok(())
}

/// The preset with its numbers at a window, and its prompts.
pub(super) fn show(name: &str, window: Option<&str>) -> Result<String, Failure> {
    let preset = load(name, &[])?;
    let written = preset.native_window.unwrap_or(UNKNOWN_LIMIT);
    let window = window.map(wire::window).transpose()?;
    let window = window.map_or(written, |window| window.of_preset(written));
    let mut text = format!("{}\n{}\nsource: {}\n", preset.name, preset.summary, preset.source);
    let _ = writeln!(text, "hash: {}  estimator: {}", preset.hash, preset.estimator.as_str());
    let breakpoints: Vec<&str> = preset.breakpoints.iter().map(|b| b.as_str()).collect();
    let _ = writeln!(text, "cache breakpoints: {}", breakpoints.join(", "));
    if preset.explicit_cache {
        let _ = writeln!(text, "explicit cache content where there is any (Gemini): the preamble");
    }
    if let Some(channel) = preset.recovery {
        let _ = writeln!(text, "recovery channel: {} ({})", channel.name, channel.summary);
    }
    text.push_str(&budgets(&preset, window));
    stages(&mut text, &preset, window)?;
    for (folder, command) in preset.commands() {
        let _ = writeln!(
            text,
            "\nruns `{}` in {} with your rights: run it only if you trust it",
            command.join(" "),
            folder.display()
        );
    }
    for server in preset.servers() {
        let _ = writeln!(
            text,
            "\nsends the conversation to {server}: run it only if you trust it; the hash of the \
             preset does not cover what it does"
        );
    }
    if let Some(native) = preset.native_window.filter(|n| *n != window) {
        let _ = writeln!(
            text,
            "\nnumbers of tokens and characters are written for a window of {native}; above they are \
             scaled by {window}/{native}"
        );
    }
    for (name, prompt) in preset.prompts() {
        let _ = writeln!(text, "\n--- {name}\n{}", prompt.trim_end());
    }
    Ok(text)
}
