//! Requests to the Gemini API.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("gemini-api"), input));
