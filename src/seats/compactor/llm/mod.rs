//! A model as compactor: it is given the preset's own prompt.

mod digest;
mod request;

use std::sync::Arc;

use async_trait::async_trait;

use crate::llm::{self, Answered, CallError, FaultKind, Question};
use crate::model::Seat;
use crate::seats::ask::{self, Failure, Line, Said};
use crate::strategy::{CallUsage, Compactor, CompactorError, Produced, Reply, SessionState, Task};
use crate::tokens::Counter;

pub(crate) use request::question;

/// A model in the compactor's seat.
///
/// A reply in a wrong shape is sent back once; what both calls took is added
/// up. A state that is cut off is no state, and fails. A continuation or a
/// summary that is cut off stands as far as it goes: the seeds bound the reply
/// and take what came, without asking how it ended (001, "Layer 2"; 004,
/// "Three-Tier Summarization").
pub struct Llm {
    llm: Arc<dyn llm::Llm>,
    name: String,
    counter: Arc<Counter>,
    replicate: u32,
}

impl Llm {
    /// Whoever summarises through this line. Where the provider tells no
    /// tokens, calls are counted by this counter: close to what was billed, and
    /// never for nothing.
    pub fn new(llm: Arc<dyn llm::Llm>, counter: Arc<Counter>) -> Self {
        let name = llm.model().id();
        Self { llm, name, counter, replicate: 0 }
    }

    fn with(&self, counter: &Arc<Counter>, replicate: u32) -> Self {
        let (llm, name) = (Arc::clone(&self.llm), self.name.clone());
        Self { llm, name, counter: Arc::clone(counter), replicate }
    }

    /// The tokens of one call: the whole prompt, whatever of it was cached.
    fn usage(&self, question: &Question, answered: &Answered) -> CallUsage {
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
    async fn run(&self, task: &Task) -> Result<Reply, CompactorError> {
        let line = Line { llm: &*self.llm, seat: Seat::Compactor, replicate: self.replicate };
        let (mut usage, mut latency_ms, mut recorded) = (CallUsage::default(), 0.0, true);
        let seen = |question: &Question, answered: &Answered| {
            let call = self.usage(question, answered);
            usage.input += call.input;
            usage.output += call.output;
            latency_ms += answered.timing.total_ms;
            recorded &= answered.recorded;
        };
        let read = |said: Said<'_>| read(task, said);
        let produced = line.ask(question(task), read, seen).await.map_err(error)?;
        Ok(Reply { produced, usage, latency_ms: Some(latency_ms), recorded })
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

/// The reply in the shape that the task asks for, or what is wrong with it.
fn read(task: &Task, said: Said<'_>) -> Result<Produced, String> {
    match task {
        Task::SessionState { .. } => {
            let state: SessionState = ask::object(said.text)?;
            if state == SessionState::default() {
                return Err("every field is empty".to_owned());
            }
            Ok(Produced::SessionState(state))
        }
        Task::Continuation { .. } if said.text.is_empty() => Err("it is empty".to_owned()),
        Task::Continuation { .. } => Ok(Produced::Continuation(said.text.to_owned())),
        Task::Digest { .. } => digest::read(said).map(Produced::Digest),
    }
}

fn error(failure: Failure) -> CompactorError {
    let why = failure.to_string();
    if failure.is_of_the_run() {
        return CompactorError::Unavailable(why);
    }
    match failure {
        Failure::Refused | Failure::Filtered => CompactorError::Refused(why),
        Failure::Call(CallError::Rejected(fault)) => match fault.kind {
            FaultKind::Filtered => CompactorError::Refused(why),
            FaultKind::ContextTooLong => CompactorError::TooLarge(why),
            _ => CompactorError::Malformed(why),
        },
        Failure::CutOff(bound) => CompactorError::Malformed(format!("cut off at {bound} tokens")),
        Failure::Misshapen(why) => CompactorError::Malformed(why),
        Failure::Ended(_) | Failure::Call(_) => CompactorError::Malformed(why),
    }
}

#[cfg(test)]
mod tests;
