//! A context as the reference look-up sees it.

use crate::model::{LedgerState, MessageIndex};
use crate::probes::ContextView;
use crate::strategy::Context;

impl ContextView for Context {
    fn verbatim(&self, message: MessageIndex) -> bool {
        self.state(message) == LedgerState::Verbatim
    }

    fn edited(&self, message: MessageIndex) -> Option<&str> {
        self.edited_text(message)
    }

    fn synthetic(&self, each: &mut dyn FnMut(u32, &str)) {
        self.each_synthetic(each);
    }
}
