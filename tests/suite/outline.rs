//! What tests compare of an imported session.

use recap::model::Transcript;

/// Roles and texts, a result with its call.
pub fn outline(transcript: &Transcript) -> Vec<String> {
    let messages = transcript.messages.iter();
    let line = messages.map(|message| match message.tool_result() {
        Some((call, text)) => format!("{call}: {text}"),
        None => format!("{}: {}", message.role.as_str(), message.first_text()),
    });
    line.collect()
}

/// What each response used: input, read from a cache, written to it, output.
pub fn usages(transcript: &Transcript) -> Vec<[u64; 4]> {
    let usages = transcript.messages.iter().filter_map(|message| message.usage);
    usages.map(|u| [u.input, u.cache_read, u.written(), u.output]).collect()
}
