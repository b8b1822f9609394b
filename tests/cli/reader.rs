//! A model that reads, played by a script: it answers with the line of its context that shares
//! most words with the question, after a search or two where it may search.

use crate::server::{Act, Received};

/// Its answer to a request.
pub fn reads(request: &Received) -> Act {
    let system = request.body["messages"][0]["content"].as_str().unwrap_or_default();
    let all = request.body["messages"].as_array().unwrap();
    let asked = all[1]["content"].as_str().unwrap_or_default();
    let last = request.text();
    let offered = asked.split_once("The searches are:").map(|(_, tools)| tools);
    if let Some(tools) = offered {
        let name = tools.split('`').nth(1).unwrap();
        let question = asked.lines().next().unwrap();
        let words = question.split(|c: char| !c.is_alphanumeric());
        let longest = words.max_by_key(|word| word.len()).unwrap();
        // Where the whole question finds nothing, its longest word may.
        match all.len() {
            2 => return Act::chat(&format!("{name}: {question}")),
            4 if last.starts_with("No message was found") => {
                return Act::chat(&format!("{name}: {longest}"));
            }
            _ => {}
        }
    }
    let question = asked.split("\n---").next().unwrap();
    let context =
        if last.contains("<found ") { format!("{system}\n{last}") } else { system.to_owned() };
    Act::chat(&best_line(&context, question))
}

/// The line of a text that shares most words with a question; nothing known without one.
fn best_line(text: &str, question: &str) -> String {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 3);
        words.map(str::to_lowercase).collect()
    };
    let sought = words(question);
    let shared = |line: &&str| words(line).iter().filter(|word| sought.contains(word)).count();
    // The prompt itself stands before the conversation.
    let told = text.split_once("\n<conversation ").map_or("", |(_, told)| told);
    let best = told.lines().max_by_key(shared).filter(|line| shared(line) > 0);
    best.map_or("I don't know.", |line| line).chars().take(400).collect()
}
