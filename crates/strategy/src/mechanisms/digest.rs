//! Messages in chunks, each put to the compactor for a summary and memories:
//! what compaction and reset share.
//!
//! Source: GSV, "Chunk the Old Messages" and "Three-Tier
//! Summarization": chunks of a quarter of the window, in order, each with the
//! summary of those before and the memories that are recorded already.

use std::collections::BTreeMap;

use super::folding::{in_shape, task_messages};
use super::memories;
use crate::compactor::{CompactorError, Digest, MESSAGES, Produced, Task, TaskMessage};
use crate::context::{Context, EntryId};
use crate::host::Host;
use crate::mechanism::{Build, BuildError};
use crate::prompt::Prompt;

/// How messages are split into chunks and summarised, as a stage's parameters say.
pub(super) struct Digester {
    prompt: Prompt,
    /// Size of a chunk as a share of the window.
    chunk: f64,
    /// Chunks above this share of the window are oversized.
    skip_above: f64,
    /// Largest size of one reply, in tokens.
    max_tokens: u64,
}

/// Messages that are sent to the compactor in one call.
pub(super) struct Chunk {
    pub messages: Vec<TaskMessage>,
    /// The size by the strategy's estimator.
    pub size: u64,
}

impl Digester {
    /// Checks the parameters, of which `prompt` names a file.
    pub(super) fn new(
        build: &Build<'_>,
        prompt: &str,
        (chunk, skip_above): (f64, f64),
        max_tokens: u64,
    ) -> Result<Self, BuildError> {
        let is_share = |share: f64| share > 0.0 && share <= 1.0;
        if !is_share(chunk) || !is_share(skip_above) {
            return Err("`chunk` and `skip_above` are shares of the window, such as 0.25".into());
        }
        if max_tokens == 0 {
            return Err("`max_tokens` must be at least 1".into());
        }
        let allowed = ["chunk", "chunks", "previous_summary", "existing_memories", "messages"];
        Ok(Self { prompt: build.prompt(prompt, &allowed)?, chunk, skip_above, max_tokens })
    }

    /// Splits entries into chunks of at most the size; a larger message is a
    /// chunk of its own.
    pub(super) fn chunks(
        &self,
        context: &Context,
        host: &Host<'_>,
        entries: &[EntryId],
    ) -> Vec<Chunk> {
        let limit = share(host, self.chunk);
        let sizes = entries.iter().map(|&id| host.size(context.weight_of(id)));
        let mut chunks: Vec<Chunk> = Vec::new();
        for (message, size) in task_messages(context, entries).into_iter().zip(sizes) {
            match chunks.last_mut().filter(|chunk| chunk.size + size <= limit) {
                Some(chunk) => {
                    chunk.messages.push(message);
                    chunk.size += size;
                }
                None => chunks.push(Chunk { messages: vec![message], size }),
            }
        }
        chunks
    }

    /// Whether a chunk is too large for a model.
    pub(super) fn is_oversized(&self, chunk: &Chunk, host: &Host<'_>) -> bool {
        chunk.size > share(host, self.skip_above)
    }

    /// Summary and memories of one chunk, given the summary of those before,
    /// the memories recorded already, and the chunk's number among all.
    pub(super) async fn ask(
        &self,
        chunk: &Chunk,
        rolling: Option<String>,
        known: Vec<String>,
        (number, of): (usize, usize),
        host: &Host<'_>,
    ) -> Result<Digest, CompactorError> {
        let values = BTreeMap::from([
            ("chunk", number.to_string()),
            ("chunks", of.to_string()),
            ("previous_summary", rolling.clone().unwrap_or_default()),
            ("existing_memories", memories::bullets(&known)),
            ("messages", MESSAGES.to_owned()),
        ]);
        let task = Task::Digest {
            prompt: self.prompt.render(&values),
            messages: chunk.messages.clone(),
            rolling,
            known,
            max_tokens: self.max_tokens,
        };
        in_shape(host.compactor.run(&task).await, "digest", |produced| match produced {
            Produced::Digest(digest) => Some(digest),
            _ => None,
        })
    }
}

fn share(host: &Host<'_>, share: f64) -> u64 {
    (host.window as f64 * share) as u64
}
