//! Messages as OpenAI's chat completions take them.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("openai-chat"), input));
