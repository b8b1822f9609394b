//! Spans of model calls in OTLP JSON.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("otel"), input));
