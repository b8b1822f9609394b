//! Sessions of Qwen Code.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("qwen-code"), input));
