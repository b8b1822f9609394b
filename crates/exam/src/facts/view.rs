//! Gives the search for references access to a context.

use super::{Carrier, ContextView, Written};
use recap_core::model::{LedgerState, MessageIndex};
use recap_strategy::{Context, EntryId};

impl ContextView for Context {
    fn verbatim(&self, message: MessageIndex) -> bool {
        self.state(message) == LedgerState::Verbatim
    }

    fn edited(&self, message: MessageIndex) -> Option<&str> {
        self.edited_text(message)
    }

    fn was_recorded(&self, message: MessageIndex, line: &str) -> bool {
        let original = self.original(EntryId::message(message));
        original.is_some_and(|original| original.sent().contains(line))
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
            Some((text, true)) => {
                let of = match self.covered_by(EntryId(id)) {
                    [only] => Some(*only),
                    _ => None,
                };
                Carrier::Sent(text, of)
            }
            Some((_, false)) => Carrier::Hidden,
            None => Carrier::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use recap_core::model::Role;
    use recap_strategy::testkit::Talk;
    use recap_strategy::{InsertAt, Op, Recording};

    #[test]
    fn written_text_is_sent_until_hidden_or_removed() {
        let talk = (0..4).fold(Talk::new("S"), |talk, _| talk.user("look")).end();
        let mut context = Context::new(Recording::new(Arc::new(talk), Arc::default()));
        (0..4).for_each(|_| context.append());
        let range = vec![EntryId::message(0), EntryId::message(1)];
        let into = vec![(Role::User, "so far".to_owned())];
        let ids = context.apply(Op::Fold { range, into, at: InsertAt::InPlace }).unwrap();
        let mut read = Written::default();
        let mut texts = Vec::new();
        for _ in 0..2 {
            let mut each = |id: u32, text: &str| texts.push((id, text.to_owned()));
            ContextView::written_since(&context, &mut read, &mut each);
        }
        let [(id, text)] = texts.as_slice() else { panic!("{texts:?}") };
        assert_eq!((text.as_str(), read.entries), ("so far", 1));
        assert_eq!(context.carrier(*id), Carrier::Sent("so far", None));
        assert_eq!(ContextView::oldest_sent(&context), 2);
        assert!(context.verbatim(2) && !context.verbatim(1));
        context.apply(Op::Hide { before: 0, except: Vec::new(), also: ids.clone() }).unwrap();
        assert_eq!(context.carrier(*id), Carrier::Hidden);
        context.apply(Op::Evict(ids)).unwrap();
        assert_eq!(context.carrier(*id), Carrier::Gone);
    }
}
