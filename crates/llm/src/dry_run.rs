//! The place of a model in a dry run: calls are counted instead of sent.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use super::{Answered, Call, CallError, Finish, Llm, Model, Reply, Tokens};
use crate::cassette::key;
use recap_core::model::{ModelRole, Timing, Usage};
use recap_core::tokens::Counter;

/// A call that a run would make.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DryRunCall {
    /// The role that would make the call.
    pub role: ModelRole,
    /// The model, as `provider/model`.
    pub model: String,
    /// Tokens of the prompt.
    pub prompt: u64,
    /// Largest number of tokens of the reply itself.
    pub bound: u64,
    /// Tokens allowed for reasoning in addition to the reply.
    pub room: u64,
}

/// The calls that all the models of a dry run would get.
#[derive(Debug, Default)]
pub struct DryRunCalls {
    calls: Mutex<Vec<DryRunCall>>,
    /// Tokens of the summaries that the offline compactor wrote in place of a model.
    summaries: Mutex<Vec<u64>>,
}

impl DryRunCalls {
    /// Every call, in an order that does not depend on when it was made.
    pub fn calls(&self) -> Vec<DryRunCall> {
        let mut calls = self.calls.lock().expect(HELD).clone();
        calls.sort();
        calls
    }

    /// Adds a call that would be made.
    pub fn add(&self, call: DryRunCall) {
        self.calls.lock().expect(HELD).push(call);
    }

    /// Records the length of a summary that the offline compactor wrote in
    /// place of a model.
    pub fn add_summary(&self, tokens: u64) {
        self.summaries.lock().expect(HELD).push(tokens);
    }

    /// Mean tokens of these summaries, rounded up; `None` where none was written.
    pub fn mean_summary(&self) -> Option<u64> {
        let summaries = self.summaries.lock().expect(HELD);
        let count = summaries.len() as u64;
        (count > 0).then(|| summaries.iter().sum::<u64>().div_ceil(count))
    }
}

const HELD: &str = "no thread panics while it holds the counts";

/// Stands in for a model in `--dry-run`. Its replies have the largest number of
/// tokens that they may have. Answers differ from one another, so that each is
/// graded; all texts have the same embedding; the other roles get an error,
/// since only a real reply has the shape that they need.
pub struct DryRunModel {
    /// The model in whose place it stands.
    pub model: Model,
    /// Counts the prompts.
    pub counter: Arc<Counter>,
    /// The calls are added here, but for those that a recording has.
    pub planned: Arc<DryRunCalls>,
    /// A model that replays a recording.
    pub recorded: Option<Arc<dyn Llm>>,
}

#[async_trait]
impl Llm for DryRunModel {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn call(&self, call: Call) -> Result<Answered, CallError> {
        if let Some(recorded) = &self.recorded {
            match recorded.call(call.clone()).await {
                Err(CallError::NotRecorded(_)) => {}
                outcome => return outcome,
            }
        }
        let request = &call.request;
        let texts = request.messages.iter().map(|message| message.text.as_str());
        let texts = std::iter::once(request.system.as_str()).chain(texts);
        let prompt = texts.map(|text| self.counter.count(text)).sum();
        let room = self.model.settings.room.min(request.max_tokens);
        self.planned.add(DryRunCall {
            role: call.role,
            model: self.model.id(),
            prompt,
            bound: request.max_tokens - room,
            room,
        });
        let usage = Usage {
            input: prompt,
            output: request.max_tokens,
            output_final: true,
            ..Usage::default()
        };
        let (text, finish) = match call.role {
            ModelRole::Answerer => (key(&self.model, &call), Finish::Done),
            ModelRole::Embedder => ("[1]".to_owned(), Finish::Done),
            ModelRole::Compactor | ModelRole::Judge | ModelRole::Author => {
                (String::new(), Finish::Refused)
            }
        };
        let usage = Ok(Tokens { usage, reasoning: None });
        let reply = Reply { text, finish, usage, model: None };
        Ok(Answered { reply, timing: Timing::default(), recorded: false })
    }
}
