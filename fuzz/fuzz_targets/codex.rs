//! Rollouts of the Codex CLI.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("codex"), input));
