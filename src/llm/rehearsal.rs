//! A model that is not asked: what a run would ask is counted, and nothing sent.

use std::sync::Arc;

use async_trait::async_trait;

use super::cassette::key;
use super::{Answered, Call, CallError, Finish, Llm, Model, Reply, Tokens};
use crate::model::{Seat, Timing, Usage};
use crate::tokens::Counter;

/// Stands in for a model in `--dry-run`. Its replies take as many tokens as
/// they may at most. Answers differ from one another, so that each is graded;
/// all texts have the same embedding; the other seats are refused, since only
/// a real reply has their shape.
pub struct Rehearsal {
    model: Model,
    counter: Arc<Counter>,
}

impl Rehearsal {
    /// Stands in for this model; prompts are counted by this counter.
    pub fn new(model: Model, counter: Arc<Counter>) -> Self {
        Self { model, counter }
    }
}

#[async_trait]
impl Llm for Rehearsal {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn call(&self, call: Call) -> Result<Answered, CallError> {
        let request = &call.request;
        let texts = request.messages.iter().map(|message| message.text.as_str());
        let texts = std::iter::once(request.system.as_str()).chain(texts);
        let usage = Usage {
            input: texts.map(|text| self.counter.count(text)).sum(),
            output: request.max_tokens,
            output_final: true,
            ..Usage::default()
        };
        let (text, finish) = match call.seat {
            Seat::Answerer => (key(&self.model, &call), Finish::Done),
            Seat::Embedder => ("[1]".to_owned(), Finish::Done),
            Seat::Compactor | Seat::Judge => (String::new(), Finish::Refused),
        };
        let usage = Ok(Tokens { usage, reasoning: None });
        let reply = Reply { text, finish, usage, model: None };
        Ok(Answered { reply, timing: Timing::default(), recorded: false })
    }
}
