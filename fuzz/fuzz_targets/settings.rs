//! `recap.toml`, with the rules of a gate and the windows in it. What it says is
//! put together to a command line and read as one; nothing of it is run.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap::cli::{Failure, bench_with};
use recap_fuzz::{text, told, told_text};
use recap_measure::gate;
use recap_replay::WindowSpec;

fuzz_target!(|input: &[u8]| {
    let Some(input) = text(input) else { return };
    let line = match bench_with(input) {
        Ok(line) => line,
        Err(failure) => return told(failure),
    };
    for word in line.iter().filter_map(|word| word.to_str()) {
        if let Some(rule) = word.strip_prefix("--fail-on=") {
            if let Err(error) = gate::parse(rule) {
                told_text(&error.help);
                told(Failure::usage(error.to_string()).help(error.help));
            }
        }
        if let Some(Err(error)) = word.strip_prefix("--window=").map(str::parse::<WindowSpec>) {
            told_text(&error.to_string());
        }
    }
});
