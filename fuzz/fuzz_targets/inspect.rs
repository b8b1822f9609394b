//! Logs of Inspect, as documents and as archives.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("inspect"), input));
