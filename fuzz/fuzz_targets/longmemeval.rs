//! Histories of LongMemEval with their questions.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("longmemeval"), input));
