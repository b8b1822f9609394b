//! Requests for a session's summary.

use std::collections::BTreeMap;

use crate::compactor::{CompactorError, MESSAGES, Produced, Task};
use crate::context::{Context, EntryId};
use crate::host::Host;
use crate::mechanisms::continuation::headings;
use crate::mechanisms::folding::{in_shape, task_messages};
use crate::prompt::Prompt;
use crate::state::StrategyState;

/// Requests the summaries of sessions from the compactor.
pub(super) struct Writer {
    prompt: Prompt,
    max_tokens: u64,
}

impl Writer {
    pub(super) fn new(prompt: Prompt, max_tokens: u64) -> Self {
        Self { prompt, max_tokens }
    }

    /// A summary of messages alone, never of another summary. They are shown
    /// as they are sent: pruned output is one line, but for the tools whose
    /// originals are to be summarised.
    pub(super) async fn write(
        &self,
        context: &Context,
        shared: &StrategyState,
        host: &Host<'_>,
        range: &[EntryId],
    ) -> Result<String, CompactorError> {
        let mut messages = task_messages(context, range);
        for (message, id) in messages.iter_mut().zip(range) {
            let Some(index) = id.index().filter(|index| shared.originals.contains(index)) else {
                continue;
            };
            let Some(original) = context.original(*id) else { continue };
            message.text = original.sent();
            message.images = original.images();
            message.tokens = context.recording().sizes.messages[index as usize].tokens;
        }
        let values = BTreeMap::from([("messages", MESSAGES.to_owned())]);
        let task = Task::Continuation {
            prompt: self.prompt.render(&values),
            messages,
            headings: headings(self.prompt.source()),
            live: None,
            max_tokens: self.max_tokens,
        };
        in_shape(host.compactor.run(&task).await, "summary", |produced| match produced {
            Produced::Continuation(text) => Some(text),
            _ => None,
        })
    }
}
