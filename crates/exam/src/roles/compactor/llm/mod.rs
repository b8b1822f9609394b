//! A model as compactor: it gets the strategy's own prompt.

mod digest;
mod request;

use std::sync::Arc;

use async_trait::async_trait;

use crate::roles::ask::{self, ModelClient, ReplyError, ReplyText};
use recap_core::model::{ModelRole, NoReply};
use recap_core::tokens::Counter;
use recap_llm::{self as llm, Answered, CallError, FaultKind, ModelRequest};
use recap_strategy::{
    CallUsage, Compactor, CompactorError, FailedCall, Produced, Reply, SessionState, Task,
};

pub(crate) use request::question;

/// A model in the compactor's role.
///
/// A reply in a wrong format is sent back once; the usage of both calls is
/// added up. A state that is cut off cannot be used, and fails. A continuation
/// or a summary that is cut off is used as it is: the published designs limit
/// the reply and use what arrives, without checking how it ended (001, "Layer
/// 2"; 004, "Three-Tier Summarization").
pub struct Llm {
    llm: Arc<dyn llm::Llm>,
    name: String,
    counter: Arc<Counter>,
    replicate: u32,
}

impl Llm {
    /// A compactor that calls the model behind `llm`. If the provider reports
    /// no usage, `counter` counts the tokens: close to the billed number, and
    /// never zero.
    pub fn new(llm: Arc<dyn llm::Llm>, counter: Arc<Counter>) -> Self {
        let name = llm.model().id();
        Self { llm, name, counter, replicate: 0 }
    }

    fn with(&self, counter: &Arc<Counter>, replicate: u32) -> Self {
        let (llm, name) = (Arc::clone(&self.llm), self.name.clone());
        Self { llm, name, counter: Arc::clone(counter), replicate }
    }

    /// The tokens of one call: the whole prompt, including its cached part.
    fn usage(&self, question: &ModelRequest, answered: &Answered) -> CallUsage {
        match &answered.reply.usage {
            Ok(tokens) => CallUsage { input: tokens.usage.prompt(), output: tokens.usage.output },
            Err(_) => {
                let messages = question.messages.iter().map(|message| &message.text);
                let texts = messages.chain([&question.system]);
                let input = texts.map(|text| self.counter.count(text)).sum();
                CallUsage { input, output: self.counter.count(&answered.reply.text) }
            }
        }
    }
}

#[async_trait]
impl Compactor for Llm {
    async fn run(&self, task: &Task) -> Result<Reply, FailedCall> {
        let line =
            ModelClient { llm: &*self.llm, role: ModelRole::Compactor, replicate: self.replicate };
        let (mut usage, mut latency_ms, mut recorded) = (CallUsage::default(), None, true);
        let seen = |question: &ModelRequest, answered: &Answered| {
            let call = self.usage(question, answered);
            usage.input += call.input;
            usage.output += call.output;
            *latency_ms.get_or_insert(0.0) += answered.timing.total_ms;
            recorded &= answered.recorded;
        };
        let read =
            |said: ReplyText<'_>| Ok((read(task, said)?, self.counter.count(said.text), said.cut));
        let taken = line.ask(question(task), read, seen).await;
        recorded &= latency_ms.is_some();
        match taken {
            Ok((produced, written, cut)) => {
                Ok(Reply { produced, usage, written, cut, latency_ms, recorded })
            }
            Err(why) => {
                if let ReplyError::Call(CallError::Unavailable { took, .. }) = &why {
                    *latency_ms.get_or_insert(0.0) += took.as_secs_f64() * 1e3;
                    recorded = false;
                }
                Err(FailedCall { error: error(why), usage, latency_ms, recorded })
            }
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn reads_live(&self) -> bool {
        true
    }

    fn repeated(&self, replicate: u32) -> Option<Arc<dyn Compactor>> {
        Some(Arc::new(self.with(&self.counter, replicate)))
    }

    fn counting(&self, counter: &Arc<Counter>) -> Option<Arc<dyn Compactor>> {
        Some(Arc::new(self.with(counter, self.replicate)))
    }
}

/// The error in a reply without text.
const EMPTY: &str = "it is empty";
/// The error in a state without an entry.
const NO_ENTRY: &str = "every field is empty";

/// Parses a reply into the format that the task asks for.
fn read(task: &Task, said: ReplyText<'_>) -> Result<Produced, String> {
    match task {
        _ if said.text.is_empty() => Err(EMPTY.to_owned()),
        Task::SessionState { .. } => {
            let state: SessionState = ask::object(said.text)?;
            if state == SessionState::default() {
                return Err(NO_ENTRY.to_owned());
            }
            Ok(Produced::SessionState(state))
        }
        Task::Continuation { .. } => Ok(Produced::Continuation(said.text.to_owned())),
        Task::Digest { .. } => digest::read(said).map(Produced::Digest),
    }
}

fn error(failure: ReplyError) -> CompactorError {
    let why = failure.to_string();
    if matches!(failure, ReplyError::Call(CallError::Unavailable { .. })) {
        return CompactorError::NoReply(why);
    }
    if failure.is_systemic() {
        return CompactorError::Unavailable(why);
    }
    match failure {
        ReplyError::Call(CallError::Rejected(fault)) if fault.kind == FaultKind::ContextTooLong => {
            CompactorError::TooLarge(why)
        }
        ReplyError::Call(CallError::Rejected(_)) => CompactorError::Refused(why),
        ReplyError::Call(_) => CompactorError::Malformed(why),
        ReplyError::Reply(reply) => match reply {
            NoReply::Refused | NoReply::Filtered => CompactorError::Refused(why),
            NoReply::CutOff(bound) => CompactorError::CutOff(format!("cut off at {bound} tokens")),
            NoReply::Ended(_) => CompactorError::CutOff(why),
            NoReply::Misshapen(why) if [EMPTY, NO_ENTRY].contains(&&*why) => {
                CompactorError::Empty(why)
            }
            NoReply::Misshapen(why) | NoReply::Other(why) => CompactorError::Malformed(why),
        },
    }
}

#[cfg(test)]
mod tests;
