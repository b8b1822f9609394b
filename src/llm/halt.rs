//! When a model is asked nothing more.

use std::future::Future;
use std::sync::{Mutex, MutexGuard};

use tokio::sync::watch;

use super::FaultKind;

/// Calls in a row without any answer after which a server counts as gone. One
/// may be bad luck; each has made all its attempts.
const IN_A_ROW: u32 = 3;

/// Why a model is asked nothing more in this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halt {
    /// What kind of reason.
    pub cause: HaltCause,
    /// The reason, for the user.
    pub reason: String,
    /// Whether any call succeeded before: a key that never worked is a mistake
    /// of the set-up, one that stopped working is not.
    pub after_success: bool,
}

/// Kinds of reasons to halt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HaltCause {
    /// The provider will turn every request down.
    Fault(FaultKind),
    /// The provider does not answer.
    Outage,
    /// What it answers cannot be kept.
    Unkept,
}

/// Passes calls until it is thrown.
#[derive(Debug, Default)]
pub(super) struct HaltSwitch {
    state: Mutex<State>,
    thrown: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    halt: Option<Halt>,
    succeeded: bool,
    unavailable: u32,
}

impl HaltSwitch {
    /// The reason, once it is thrown.
    pub(super) fn halt(&self) -> Option<Halt> {
        self.state().halt.clone()
    }

    /// Waits for something, or for the reason not to.
    pub(super) async fn unless<T>(&self, waiting: impl Future<Output = T>) -> Result<T, Halt> {
        let mut thrown = self.thrown.subscribe();
        tokio::select! {
            biased;
            _ = thrown.wait_for(|thrown| *thrown) => {
                Err(self.halt().expect("it is thrown with a reason"))
            }
            waited = waiting => Ok(waited),
        }
    }

    /// A call was answered, with a reply or with a word on its request.
    pub(super) fn answered(&self, replied: bool) {
        let mut state = self.state();
        state.unavailable = 0;
        state.succeeded |= replied;
    }

    /// A call found nobody.
    pub(super) fn unavailable(&self, reason: impl FnOnce() -> String) {
        let mut state = self.state();
        state.unavailable += 1;
        if state.unavailable >= IN_A_ROW {
            self.throw(&mut state, HaltCause::Outage, reason());
        }
    }

    /// A call learnt that none can succeed.
    pub(super) fn hopeless(&self, kind: FaultKind, reason: String) -> Halt {
        self.throw(&mut self.state(), HaltCause::Fault(kind), reason)
    }

    /// What is answered cannot be kept, and would have to be paid again.
    pub(super) fn unkept(&self, reason: &str) {
        self.throw(&mut self.state(), HaltCause::Unkept, reason.to_owned());
    }

    /// The first reason stays.
    fn throw(&self, state: &mut State, cause: HaltCause, reason: String) -> Halt {
        let after_success = state.succeeded;
        let halt = state.halt.get_or_insert(Halt { cause, reason, after_success }).clone();
        self.thrown.send_replace(true);
        halt
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics with the lock")
    }
}

impl FaultKind {
    /// Whether it is of the model or the account, so that no request to this
    /// model can succeed.
    pub fn is_permanent(self) -> bool {
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
    fn three_calls_in_a_row_without_an_answer_are_an_outage() {
        let switch = HaltSwitch::default();
        unavailable(&switch, 2);
        switch.answered(true);
        unavailable(&switch, 2);
        assert_eq!(switch.halt(), None);
        unavailable(&switch, 1);
        let reason = "gone".to_owned();
        let expected = Halt { cause: HaltCause::Outage, reason, after_success: true };
        assert_eq!(switch.halt(), Some(expected));
    }

    #[test]
    fn the_first_reason_stays() {
        let switch = HaltSwitch::default();
        switch.answered(false);
        let first = switch.hopeless(FaultKind::Auth, "wrong key".to_owned());
        assert!(!first.after_success);
        unavailable(&switch, 3);
        assert_eq!(switch.hopeless(FaultKind::Quota, "broke".to_owned()), first);
        assert_eq!(switch.halt(), Some(first));
    }

    #[tokio::test]
    async fn who_waits_is_told() {
        let switch = HaltSwitch::default();
        assert_eq!(switch.unless(async { 1 }).await, Ok(1));
        let waits = switch.unless(std::future::pending::<()>());
        let halts = async { switch.hopeless(FaultKind::Auth, "wrong key".to_owned()) };
        let (waited, halt) = tokio::join!(waits, halts);
        assert_eq!(waited, Err(halt));
    }
}
