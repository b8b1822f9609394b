//! Gives the search for references access to a context.

use crate::model::{LedgerState, MessageIndex};
use crate::probes::{Carrier, ContextView, Written};
use crate::strategy::Context;

impl ContextView for Context {
    fn verbatim(&self, message: MessageIndex) -> bool {
        self.state(message) == LedgerState::Verbatim
    }

    fn edited(&self, message: MessageIndex) -> Option<&str> {
        self.edited_text(message)
    }

    fn oldest_sent(&self) -> MessageIndex {
        Context::oldest_sent(self)
    }

    fn written_since(&self, read: &mut Written, each: &mut dyn FnMut(u32, &str)) {
        self.each_written(read.entries, read.notes, each);
        (read.entries, read.notes) = self.written();
    }

    fn carrier(&self, id: u32) -> Carrier<'_> {
        match self.written_text(id) {
            Some((text, true)) => Carrier::Sent(text),
            Some((_, false)) => Carrier::Hidden,
            None => Carrier::Gone,
        }
    }
}
