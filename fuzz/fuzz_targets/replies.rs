//! Bodies of HTTP responses, as each provider writes them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap_fuzz::{text, told_text};
use recap_llm::Provider;
use recap_llm::providers::{OpenAiEmbeddings, PROVIDERS};

const STATUS: [u16; 5] = [200, 400, 429, 500, 529];

fuzz_target!(|input: &[u8]| {
    for provider in PROVIDERS.iter().copied().chain([&OpenAiEmbeddings as &dyn Provider]) {
        for status in STATUS {
            match provider.decode(status, input) {
                Ok(reply) => {
                    assert!((200..300).contains(&status));
                    assert!(text(input).is_some());
                    match reply.usage {
                        Ok(tokens) => {
                            let usage = tokens.usage;
                            assert!(usage.prompt().checked_add(usage.output).is_some());
                            assert!(tokens.reasoning.is_none_or(|n| n <= usage.output));
                        }
                        Err(why) => told_text(&why.to_string()),
                    }
                }
                Err(error) => told_text(&error.to_string()),
            }
        }
    }
});
