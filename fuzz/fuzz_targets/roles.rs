//! What models say in their roles: the judge, the answerer with and without
//! searches, the compactor and the embedder. Nobody is called: the replies are
//! those of the input.

#![no_main]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use libfuzzer_sys::fuzz_target;
use recap_core::model::{Expectation, QuestionKind, Role, Timing};
use recap_core::tokens::Counter;
use recap_exam::roles::answerer::{self, AnswerContext, Answerer};
use recap_exam::roles::compactor;
use recap_exam::roles::embedder::Embedder;
use recap_exam::roles::finder::Finder;
use recap_exam::roles::judge::{self, Grading, Judge};
use recap_fuzz::{block_on, files, text, told_text};
use recap_llm::{Answered, Call, CallError, Finish, Llm, Model, NoUsage, Reply, Settings};
use recap_strategy::{Archived, Asked, Channel, Compactor, RECOVERIES, Task};

/// Says one reply after the other, and the last one again and again.
struct Says {
    model: Model,
    replies: [String; 3],
    finish: Finish,
    said: AtomicUsize,
}

#[async_trait]
impl Llm for Says {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn call(&self, _: Call) -> Result<Answered, CallError> {
        let at = self.said.fetch_add(1, Ordering::Relaxed).min(2);
        let (text, finish) = (self.replies[at].clone(), self.finish.clone());
        let reply = Reply { text, finish, usage: Err(NoUsage::Missing), model: None };
        let timing = Timing { queue_ms: 0.0, first_byte_ms: 1.0, total_ms: 1.0, attempts: 1 };
        Ok(Answered { reply, timing, recorded: true })
    }
}

fn judged(llm: Arc<Says>) {
    let judge = judge::Llm::new(llm);
    let (values, stale) = (vec!["8080".to_owned(), "it".to_owned()], ["80".to_owned()]);
    let expected = [
        Expectation::AnyOf(values.clone()),
        Expectation::Rubric(values),
        Expectation::Unanswerable,
    ];
    for expect in &expected {
        let (question, kind, answer) = ("Which port?", QuestionKind::Fact, "It is 8080.");
        let grading = Grading { question, kind, expect, stale: &stale, answer };
        let judgement = block_on(judge.grade(&grading));
        assert!(judgement.score.is_none_or(|score| (0.0..=1.0).contains(&score)));
    }
}

fn answered(llm: Arc<Says>) {
    let answerer = answerer::Llm::new(llm);
    let shown = AnswerContext::default();
    for answer in block_on(answerer.answer(&shown, &["Which port?", "Why?"])) {
        answer.unwrap_or_else(|why| {
            told_text(&why.to_string());
            String::new()
        });
    }
    let message = Archived {
        message: 0,
        role: Role::User,
        source: None,
        content: "The port is 8080.".into(),
        reasoning: None,
        broadcast: false,
        at: None,
        tokens: 6,
        terms: std::sync::OnceLock::new(),
    };
    for spec in RECOVERIES {
        let finder = Finder::new(Channel::new(spec, std::slice::from_ref(&message)), None);
        for searched in block_on(answerer.search(&shown, &["Which port?"], &finder)) {
            assert!(searched.calls <= 4);
        }
    }
}

fn compacted(llm: Arc<Says>) {
    let counter = Arc::new(Counter::default());
    let compactor = compactor::Llm::new(llm, counter);
    let asked = [
        Asked::SessionState { previous: None },
        Asked::Continuation { headings: vec!["Goal".to_owned()], live: None },
        Asked::Digest { rolling: None, known: Vec::new() },
    ];
    let tasks = asked.map(|asked| Task {
        prompt: "Fold this.".to_owned(),
        messages: Vec::new(),
        max_tokens: 500,
        asked,
    });
    for task in &tasks {
        if let Err(failed) = block_on(compactor.run(task)) {
            told_text(&failed.error.to_string());
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let replies: [&[u8]; 3] = files(input);
    if text(input).is_none() {
        return;
    }
    let replies = replies.map(|reply| text(reply).unwrap_or_default().to_owned());
    for finish in [Finish::Done, Finish::Length] {
        let says = || {
            let (provider, name) = ("openai".to_owned(), "m".to_owned());
            let model = Model { provider, name, settings: Settings::default() };
            let (replies, finish) = (replies.clone(), finish.clone());
            Arc::new(Says { model, replies, finish, said: AtomicUsize::new(0) })
        };
        judged(says());
        answered(says());
        compacted(says());
        if let Err(why) = block_on(Embedder::new(says()).nearness("a", &["b", "c"])) {
            told_text(&why.to_string());
        }
    }
});
