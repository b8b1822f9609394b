//! Presets with `--set` and their prompts. No command of a preset is ever run,
//! and no server asked: a preset is only read.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap::strategy::Preset;
use recap_fuzz::{files, home, put, text, told};

const WINDOWS: [u64; 3] = [1, 25_000, 2_000_000];

fn read(preset: &str, overrides: &[(String, String)], prompt: &str) {
    let fetch = |name: &str| (!name.is_empty()).then(|| prompt.to_owned());
    match Preset::parse("input.toml", preset, overrides, &fetch) {
        Ok(preset) => whole(&preset),
        Err(error) => told(error),
    }
}

/// What the command line asks a preset before it runs.
fn whole(preset: &Preset) {
    for window in WINDOWS {
        for scaled in [false, true] {
            if let Err(error) = preset.build(window, scaled) {
                told(error);
            }
            assert!(preset.output_reserve(window, scaled) <= preset.output_limit.max(1) * window);
            assert!(preset.usable(window, scaled) <= window);
            assert!(preset.budget_tokens(window, scaled) <= window);
            for (at, stage) in preset.stages.iter().enumerate() {
                preset.trigger(at, window, scaled);
                preset.effective(stage, window, scaled);
            }
        }
    }
    assert_eq!(preset.null().is_some(), preset.uses_compactor() && !preset.control);
    preset.commands().for_each(drop);
    preset.prompts().for_each(drop);
}

fuzz_target!(|input: &[u8]| {
    let Some(input) = text(input) else { return };
    let [preset, overrides, prompt] = files(input.as_bytes()).map(|part| text(part).unwrap_or(""));
    let pairs = overrides.lines().filter_map(|line| line.split_once('='));
    let overrides: Vec<_> =
        pairs.take(4).map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    read(preset, &overrides, prompt);
    // A preset of a folder names files in it. Here it may name none elsewhere.
    if !preset.contains(['/', '\\']) && overrides.iter().all(|(_, v)| !v.contains(['/', '\\'])) {
        let home = home();
        put(&home.join("prompt.md"), prompt.as_bytes());
        let file = home.join("input.toml");
        put(&file, preset.as_bytes());
        match Preset::load(&file, &overrides) {
            Ok(preset) => whole(&preset),
            Err(error) => told(error),
        }
    }
});
