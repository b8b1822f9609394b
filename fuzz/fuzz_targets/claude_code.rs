//! Logs of Claude Code, with and without their sidechains.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("claude-code"), input));
