//! Conversations with a role and a text a turn.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("role-content"), input));
