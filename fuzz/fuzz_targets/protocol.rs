//! What a user's program answers to `compact`. No program is started.

#![no_main]

use std::sync::{Arc, OnceLock};

use libfuzzer_sys::fuzz_target;
use recap_core::tokens::Counter;
use recap_formats::{LoadOptions, load_reader};
use recap_fuzz::{text, told_text};
use recap_strategy::{Recording, take_answer};

/// Six messages: `m0` to `m5`, with a call `c1` in `m1`.
const TALK: &str = r#"{"messages": [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Which port?"},
    {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "c1", "type": "function",
        "function": {"name": "read", "arguments": "{\"path\": \"a.toml\"}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "port = 8080"},
    {"role": "assistant", "content": "It is 8080."},
    {"role": "user", "content": "Make it 9090."},
    {"role": "assistant", "content": "Done."}]}"#;

fn recording() -> Recording {
    static RECORDING: OnceLock<Recording> = OnceLock::new();
    let read = || {
        let dataset = load_reader("talk.json", TALK.as_bytes(), &LoadOptions::default());
        let talk = dataset.expect("it is a session").sessions.remove(0);
        Recording::new(Arc::new(talk), Arc::new(Counter::default()))
    };
    RECORDING.get_or_init(read).clone()
}

fuzz_target!(|input: &[u8]| {
    let Some(line) = text(input) else { return };
    if let Err(problem) = take_answer(recording(), line) {
        told_text(&problem);
        let length = problem.chars().count();
        assert!(length < 2_000, "an error of {length} characters in a cell");
    }
});
