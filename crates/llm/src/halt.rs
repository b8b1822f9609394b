//! Stops the calls to a model when no further call can succeed.

use std::future::Future;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch;

use super::FaultKind;

/// Consecutive calls without an answer after which a server counts as
/// unreachable. One may be bad luck; each has made all its attempts.
const IN_A_ROW: u32 = 3;

/// Why calls to a model were stopped in this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halt {
    /// The reason, for the user.
    pub reason: String,
    /// The fault that every request would get; `None` where the provider does
    /// not answer, or the replies cannot be stored.
    pub fault: Option<FaultKind>,
    /// Whether any call succeeded before: a key that never worked is a
    /// configuration error, one that stopped working is not.
    pub after_success: bool,
}

/// Lets calls pass until a reason to stop them occurs.
#[derive(Debug, Default)]
pub(super) struct HaltSwitch {
    halt: watch::Sender<Option<Halt>>,
    answers: Mutex<Answers>,
}

#[derive(Debug, Default)]
struct Answers {
    succeeded: bool,
    /// Calls without any answer since the last one that had one.
    missing: u32,
}

impl HaltSwitch {
    /// The reason, once calls were stopped.
    pub(super) fn halt(&self) -> Option<Halt> {
        self.halt.borrow().clone()
    }

    /// Waits for a future, or for calls to be stopped.
    pub(super) async fn unless<T>(&self, waiting: impl Future<Output = T>) -> Result<T, Halt> {
        let mut halt = self.halt.subscribe();
        tokio::select! {
            biased;
            halt = halt.wait_for(Option::is_some) => {
                let halt = halt.expect("the sender is not dropped");
                Err(halt.clone().expect("it was waited for"))
            }
            waited = waiting => Ok(waited),
        }
    }

    /// Records that a call was answered, by a reply or by a rejection of the request.
    pub(super) fn answered(&self, replied: bool) {
        let mut answers = self.answers();
        answers.missing = 0;
        answers.succeeded |= replied;
    }

    /// Records that a call got no answer at all.
    pub(super) fn unavailable(&self, reason: impl FnOnce() -> String) {
        let mut answers = self.answers();
        answers.missing += 1;
        let is_outage = answers.missing >= IN_A_ROW;
        drop(answers);
        if is_outage {
            self.stop(None, reason());
        }
    }

    /// Stops calls, unless an earlier reason already did: because of a fault that every call
    /// would get, or for a reason outside of the provider. Returns the reason that counts.
    pub(super) fn stop(&self, fault: Option<FaultKind>, reason: String) -> Halt {
        let after_success = self.answers().succeeded;
        self.halt.send_if_modified(|halt| {
            let is_first = halt.is_none();
            halt.get_or_insert(Halt { reason, fault, after_success });
            is_first
        });
        self.halt().expect("it was just stopped")
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.answers.lock().expect("no thread panics while it holds the lock")
    }
}

impl FaultKind {
    /// Whether the fault concerns the model or the account, so that no request
    /// to this model can succeed.
    pub(super) fn is_permanent(self) -> bool {
        matches!(self, FaultKind::Auth | FaultKind::Quota | FaultKind::NotFound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unavailable(switch: &HaltSwitch, times: usize) {
        for _ in 0..times {
            switch.unavailable(|| "gone".to_owned());
        }
    }

    #[test]
    fn three_consecutive_unanswered_calls_are_an_outage() {
        let switch = HaltSwitch::default();
        unavailable(&switch, 2);
        switch.answered(true);
        unavailable(&switch, 2);
        assert_eq!(switch.halt(), None);
        unavailable(&switch, 1);
        let reason = "gone".to_owned();
        let expected = Halt { reason, fault: None, after_success: true };
        assert_eq!(switch.halt(), Some(expected));
    }

    #[test]
    fn the_first_reason_stays() {
        let switch = HaltSwitch::default();
        switch.answered(false);
        let first = switch.stop(Some(FaultKind::Auth), "wrong key".to_owned());
        assert!(!first.after_success);
        unavailable(&switch, 3);
        assert_eq!(switch.stop(Some(FaultKind::Quota), "broke".to_owned()), first);
        assert_eq!(switch.halt(), Some(first));
    }

    #[tokio::test]
    async fn who_waits_is_told() {
        let switch = HaltSwitch::default();
        assert_eq!(switch.unless(async { 1 }).await, Ok(1));
        let waits = switch.unless(std::future::pending::<()>());
        let halts = async { switch.stop(Some(FaultKind::Auth), "wrong key".to_owned()) };
        let (waited, halt) = tokio::join!(waits, halts);
        assert_eq!(waited, Err(halt));
    }

    /// Calls fail on one thread while others notice the halt: each side takes
    /// the lock of the reason.
    #[test]
    fn calls_failing_while_others_are_halted_also_end() {
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).build();
            runtime.unwrap().block_on(async {
                for _ in 0..2_000 {
                    let switch = std::sync::Arc::new(HaltSwitch::default());
                    let mut calls = tokio::task::JoinSet::new();
                    for _ in 0..4 {
                        let waits = std::sync::Arc::clone(&switch);
                        calls.spawn(async move {
                            let waited = waits.unless(std::future::pending::<()>()).await;
                            assert!(waited.is_err());
                        });
                        let fails = std::sync::Arc::clone(&switch);
                        calls.spawn(async move { unavailable(&fails, 8) });
                    }
                    calls.join_all().await;
                }
            });
            done.send(()).unwrap();
        });
        let limit = std::time::Duration::from_secs(60);
        ended.recv_timeout(limit).expect("no two calls wait for each other");
    }
}
