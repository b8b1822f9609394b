//! Observations and traces that Langfuse exports.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("langfuse"), input));
