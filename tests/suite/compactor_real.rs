//! The offline compactor on real recordings, which are not part of the
//! repository.

use std::sync::Arc;
use std::time::Instant;

use crate::common::shared;
use recap_core::model::Session;
use recap_core::tokens::{Counter, Sizes};
use recap_exam::roles::compactor::Offline;
use recap_formats::{LoadOptions, load};
use recap_strategy::{Asked, Compactor, Produced, SentText, Task, TaskMessage};

const HEADINGS: [&str; 5] = [
    "What we accomplished so far",
    "What we're currently working on",
    "Which files we modified and key changes made",
    "What we plan to do next",
    "Any important context or decisions that would be needed",
];

/// The messages of a session up to so many tokens.
fn head(session: &Session, counter: &Counter, tokens: u64) -> Vec<TaskMessage> {
    let sizes = Sizes::of(session, counter);
    let mut sum = 0;
    let messages = session.messages.iter().zip(&sizes.messages);
    let taken = messages.take_while(|(_, weight)| {
        sum += weight.tokens;
        sum <= tokens
    });
    let task =
        |(m, weight): (&recap_core::model::Message, &recap_core::tokens::Weight)| TaskMessage {
            role: m.role,
            text: SentText::new(m.sent()),
            images: m.images(),
            tokens: weight.tokens,
        };
    taken.map(task).collect()
}

fn tasks(messages: &[TaskMessage], max_tokens: u64) -> Vec<Task> {
    let headings = HEADINGS.map(str::to_owned).to_vec();
    let kinds = [
        Asked::SessionState { previous: None },
        Asked::Continuation { headings, live: None },
        Asked::Digest { rolling: None, known: Vec::new() },
    ];
    let messages = || messages.to_vec();
    let task = |asked| Task { prompt: String::new(), messages: messages(), max_tokens, asked };
    kinds.map(task).to_vec()
}

#[test]
fn real_sessions_are_folded_within_the_bound() {
    let Some(path) = shared("data/claude-code-sessions") else { return };
    let dataset = load(&path, &LoadOptions::default()).expect("the recordings are readable");
    let counter = Arc::new(Counter::default());
    let offline = Offline::new(Arc::clone(&counter));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    for session in &dataset.sessions {
        let messages = head(session, &counter, 160_000);
        let read: u64 = messages.iter().map(|m| m.tokens).sum();
        for (task, bound) in tasks(&messages, 1_500).into_iter().zip([1_500; 3]) {
            let start = Instant::now();
            let reply = runtime.block_on(offline.run(&task)).expect("it fits");
            let took = start.elapsed();
            assert_eq!(reply.usage.input, read);
            assert!(reply.usage.output <= bound, "{}", reply.usage.output);
            // Long sessions have more to say than the bound takes.
            let shown = &session.id[..8.min(session.id.len())];
            eprintln!("{shown} {read} tokens -> {} in {took:?}", reply.usage.output);
            if let Produced::Continuation(text) = &reply.produced {
                let found = text.lines().filter_map(|line| line.strip_prefix("## "));
                assert_eq!(found.collect::<Vec<_>>(), HEADINGS, "every heading stands");
            }
        }
    }
}
