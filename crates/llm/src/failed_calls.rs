//! Remembers the calls of a run that failed: such a run is incomplete, whatever
//! the roles did instead.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;

use super::{Answered, Call, CallError, Llm, Model};
use recap_core::model::ModelRole;

/// Calls of a run that brought no reply because of the run or the provider.
#[derive(Debug, Default)]
pub struct FailedCalls {
    errors: Mutex<Vec<(ModelRole, CallError)>>,
}

impl FailedCalls {
    /// The number of failed calls and the first of them in the order of their
    /// messages; `None` if there is none. The order in which they failed
    /// depends on the machine, their messages do not. A missing recording comes
    /// first: it is the only error that a second attempt cannot remedy.
    ///
    /// `fell_back`: where the compactor gave no reply, its strategies fell back as
    /// their designs say, and nothing is missing.
    pub fn first(&self, fell_back: bool) -> Option<(usize, CallError)> {
        let errors = self.errors.lock().expect("no thread panics while it holds the lock");
        let counts = |(role, error): &&(ModelRole, CallError)| {
            let unanswered = matches!(error, CallError::Unavailable { .. });
            !(fell_back && *role == ModelRole::Compactor && unanswered)
        };
        let missing = |error: &CallError| matches!(error, CallError::NotRecorded(_));
        let rank = |error: &CallError| (!missing(error), error.to_string());
        let failed = || errors.iter().filter(counts).map(|(_, error)| error);
        let first = failed().min_by_key(|error| rank(error))?;
        Some((failed().count(), first.clone()))
    }

    fn note(&self, role: ModelRole, error: &CallError) {
        if !error.is_request_error() {
            let mut errors = self.errors.lock().expect("no thread panics while it holds the lock");
            errors.push((role, error.clone()));
        }
    }
}

/// A model whose failed calls are recorded.
pub struct FailureRecorder {
    inner: Arc<dyn Llm>,
    failed: Arc<FailedCalls>,
}

impl FailureRecorder {
    /// Records the failed calls of a model in `failed`.
    pub fn new(inner: Arc<dyn Llm>, failed: Arc<FailedCalls>) -> Self {
        Self { inner, failed }
    }
}

#[async_trait]
impl Llm for FailureRecorder {
    fn model(&self) -> &Model {
        self.inner.model()
    }

    async fn call(&self, call: Call) -> Result<Answered, CallError> {
        let role = call.role;
        let outcome = self.inner.call(call).await;
        if let Err(error) = &outcome {
            self.failed.note(role, error);
        }
        outcome
    }

    fn discard(&self, call: Call) {
        self.inner.discard(call);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fault, FaultKind, Finish, ModelRequest, NoUsage, Reply, Settings};
    use recap_core::model::Timing;

    /// Fails as told, or says one word.
    struct Scripted {
        model: Model,
        outcome: Result<&'static str, CallError>,
    }

    #[async_trait]
    impl Llm for Scripted {
        fn model(&self) -> &Model {
            &self.model
        }

        async fn call(&self, _: Call) -> Result<Answered, CallError> {
            let text = self.outcome.clone()?.to_owned();
            let usage = Err(NoUsage::Missing);
            let reply = Reply { text, finish: Finish::Done, usage, model: None };
            Ok(Answered { reply, timing: Timing::default(), recorded: true })
        }
    }

    fn model(outcome: Result<&'static str, CallError>) -> Arc<Scripted> {
        let settings = Settings::default();
        let model = Model { provider: "p".into(), name: "m".into(), settings };
        Arc::new(Scripted { model, outcome })
    }

    async fn ask(llm: &dyn Llm) -> Result<String, CallError> {
        let request = llm.model().request(ModelRequest::of("", "What?", 9));
        let call = Call { role: ModelRole::Judge, replicate: 0, request };
        llm.call(call).await.map(|answered| answered.reply.text)
    }

    #[tokio::test]
    async fn only_failures_caused_by_the_run_are_remembered() {
        let failed = Arc::new(FailedCalls::default());
        let fault = Fault { kind: FaultKind::BadRequest, status: 400, message: "no".to_owned() };
        for outcome in [Ok("yes"), Err(CallError::Rejected(fault))] {
            let _ = ask(&FailureRecorder::new(model(outcome), Arc::clone(&failed))).await;
        }
        assert_eq!(failed.first(false), None, "a rejected request says something of itself");
        let halted = CallError::Halted("a wrong key".to_owned());
        let missing = CallError::NotRecorded("judge of p/m".to_owned());
        for error in [halted.clone(), missing.clone(), halted] {
            let watched = FailureRecorder::new(model(Err(error)), Arc::clone(&failed));
            assert!(ask(&watched).await.is_err());
        }
        assert_eq!(failed.first(false), Some((3, missing)));
    }

    #[test]
    fn compactor_without_reply_counts_unless_strategies_fell_back() {
        let failed = FailedCalls::default();
        let (why, took) = ("down".to_owned(), std::time::Duration::ZERO);
        let unanswered = CallError::Unavailable { attempts: 1, why, took };
        failed.note(ModelRole::Compactor, &unanswered);
        assert_eq!(
            (failed.first(true), failed.first(false)),
            (None, Some((1, unanswered.clone())))
        );
        failed.note(ModelRole::Judge, &unanswered);
        assert_eq!(failed.first(true), Some((1, unanswered)));
        let halted = CallError::Halted("gone".to_owned());
        failed.note(ModelRole::Compactor, &halted);
        assert_eq!(failed.first(true), Some((2, halted)), "by their messages");
    }
}
