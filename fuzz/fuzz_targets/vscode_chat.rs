//! Chats of VS Code with Copilot.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| recap_fuzz::import(Some("vscode-chat"), input));
