//! A scripted model for tests.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;

use recap_core::model::{Timing, Usage};
use recap_llm::{
    Answered, Call, CallError, Fault, FaultKind, Finish, Llm, Model, NoUsage, Reply, Settings,
    Tokens,
};

/// Returns its replies in order and stores the requests.
pub(super) struct Scripted {
    model: Model,
    replies: Mutex<VecDeque<Result<Reply, CallError>>>,
    calls: Mutex<Vec<Call>>,
    /// Number of calls in flight, and its largest value so far.
    open: Mutex<(usize, usize)>,
}

impl Scripted {
    pub(super) fn new(replies: impl IntoIterator<Item = Result<Reply, CallError>>) -> Self {
        let (provider, name) = ("test".to_owned(), "scripted".to_owned());
        Self {
            model: Model { provider, name, settings: Settings::default() },
            replies: Mutex::new(replies.into_iter().collect()),
            calls: Mutex::default(),
            open: Mutex::default(),
        }
    }

    /// A model that replies with these texts.
    pub(super) fn saying<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(texts.into_iter().map(said))
    }

    /// Allows the model this many tokens besides its reply.
    pub(super) fn room(&mut self, tokens: u64) {
        self.model.settings.room = tokens;
    }

    pub(super) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }

    /// The largest number of calls that were in flight at once.
    pub(super) fn most_open(&self) -> usize {
        self.open.lock().unwrap().1
    }
}

#[async_trait]
impl Llm for Scripted {
    fn model(&self) -> &Model {
        &self.model
    }

    async fn call(&self, call: Call) -> Result<Answered, CallError> {
        self.calls.lock().unwrap().push(call);
        {
            let mut open = self.open.lock().unwrap();
            open.0 += 1;
            open.1 = open.1.max(open.0);
        }
        let reply = self.replies.lock().unwrap().pop_front().expect("no call too many");
        tokio::task::yield_now().await;
        self.open.lock().unwrap().0 -= 1;
        let timing = Timing { queue_ms: 1_000.0, first_byte_ms: 5.0, total_ms: 40.0, attempts: 1 };
        Ok(Answered { reply: reply?, timing, recorded: false })
    }
}

/// A complete reply that read 100 tokens, 60 of them cached, and wrote 7.
pub(super) fn said(text: &str) -> Result<Reply, CallError> {
    ended(text, Finish::Done)
}

/// A reply with this end.
pub(super) fn ended(text: &str, finish: Finish) -> Result<Reply, CallError> {
    let usage = Usage {
        input: 30,
        cache_read: 60,
        cache_write_5m: 10,
        cache_write_1h: 0,
        output: 7,
        output_final: true,
        ..Usage::default()
    };
    let usage = Ok(Tokens { usage, reasoning: None });
    Ok(Reply { text: text.to_owned(), finish, usage, model: None })
}

/// A complete reply without usage.
pub(super) fn uncounted(text: &str) -> Result<Reply, CallError> {
    let reply = said(text)?;
    Ok(Reply { usage: Err(NoUsage::Missing), ..reply })
}

/// A request that the provider refused.
pub(super) fn rejected(kind: FaultKind) -> Result<Reply, CallError> {
    Err(CallError::Rejected(Fault { kind, status: 400, message: "no".to_owned() }))
}

/// A call to a provider that is unavailable.
pub(super) fn down() -> Result<Reply, CallError> {
    let (why, took) = ("connection refused".to_owned(), Duration::from_secs(8));
    Err(CallError::Unavailable { attempts: 5, why, took })
}
