//! Sessions of Kimi Code.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("kimi-code"), input));
