//! Strategies with `--set` and their prompts. No command of a strategy is ever run,
//! and no server asked: a strategy is only read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap_fuzz::{files, home, put, text, told};
use recap_strategy::{Scaling, Strategy};

const WINDOWS: [u64; 3] = [1, 25_000, 2_000_000];

fn read(strategy: &str, overrides: &[(String, String)], prompt: &str) {
    let fetch = |name: &str| (!name.is_empty()).then(|| prompt.to_owned());
    match Strategy::parse(None, "input.toml", strategy, overrides, &fetch) {
        Ok(strategy) => whole(&strategy),
        Err(error) => told(error),
    }
}

/// What the command line asks a strategy before it runs.
fn whole(strategy: &Strategy) {
    for window in WINDOWS {
        for scaling in [Scaling::AsWritten, Scaling::Named, Scaling::All] {
            if let Err(error) = strategy.build(window, scaling) {
                told(error);
            }
            assert!(
                strategy.output_reserve(window, scaling) <= strategy.output_limit.max(1) * window
            );
            assert!(strategy.usable(window, scaling) <= window);
            assert!(strategy.budget_tokens(window, scaling) <= window);
            for at in 0..strategy.stages.len() {
                strategy.trigger(at, window, scaling);
                strategy.effective(at, window, scaling);
            }
        }
    }
    assert_eq!(
        strategy.without_summary().is_some(),
        strategy.uses_compactor() && !strategy.control
    );
    strategy.commands().for_each(drop);
    strategy.prompts().for_each(drop);
}

fuzz_target!(|input: &[u8]| {
    let Some(input) = text(input) else { return };
    let [strategy, overrides, prompt] =
        files(input.as_bytes()).map(|part| text(part).unwrap_or(""));
    let pairs = overrides.lines().filter_map(|line| line.split_once('='));
    let overrides: Vec<_> =
        pairs.take(4).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    read(strategy, &overrides, prompt);
    // A strategy of a folder names files in it. Here it may name none elsewhere.
    if !strategy.contains(['/', '\\']) && overrides.iter().all(|(_, v)| !v.contains(['/', '\\'])) {
        let home = home();
        put(&home.join("prompt.md"), prompt.as_bytes());
        let file = home.join("input.toml");
        put(&file, strategy.as_bytes());
        match Strategy::load(&file, &overrides) {
            Ok(strategy) => whole(&strategy),
            Err(error) => told(error),
        }
    }
});
