//! Requests to Anthropic's Messages API.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("anthropic"), input));
