//! Requests to OpenAI's Responses API.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("openai-responses"), input));
