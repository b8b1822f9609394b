//! Chunked summary: the newest tokens stay, the rest is summarised chunk by
//! chunk, with memories beside it.
//!
//! Source: seed 004 (GSV), "Context Compaction and Memory". Three tiers: every
//! chunk; without the oversized chunks; a plain sentence. The summary of the
//! last compaction is old text at the next. Left open by the seed and ours: the
//! newest message always stays, a preset's defaults, the bound of a reply, and
//! that nothing is done where a summary alone is old.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::folding::{Cuts, in_shape, set_note, task_messages};
use super::memories::{self, Memories};
use crate::model::Role;
use crate::strategy::compactor::{CompactorError, Digest, MESSAGES, Produced, Task, TaskMessage};
use crate::strategy::context::{Context, EntryId, Op, Place};
use crate::strategy::host::{
    Fallback, Host, Outcome, PresetState, Record, Strategy, StrategyError, restored,
};
use crate::strategy::preset::{Build, MechanismSpec};
use crate::strategy::prompt::Prompt;

/// Summarises old messages in chunks.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "chunked-summary",
    summary: "Keeps the newest tokens, summarises the rest in chunks with rolling context and memories",
    uses_compactor: true,
    is_view: false,
    scales: &["keep_recent"],
    build: |build| Ok(Box::new(ChunkedSummary::new(build)?)),
};

/// What the synthetic message begins with.
const MARKER: &str = "[Conversation summary from automatic context compaction]";

/// The note that holds the memories of today and yesterday.
const MEMORY_NOTE: &str = "daily-memory";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    prompt: String,
    /// Newest tokens that stay verbatim, by the preset's estimator.
    keep_recent: u64,
    /// Size of a chunk as a share of the window.
    chunk: f64,
    /// Chunks above this share of the window are skipped by tier 2.
    skip_above: f64,
    /// Bound of one reply; an output limit, so it does not scale.
    max_tokens: u64,
}

/// What is saved with the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Folded {
    /// Images among all the messages that were compacted so far.
    images: u32,
}

struct ChunkedSummary {
    prompt: Prompt,
    keep_recent: u64,
    parameters: Parameters,
    folded: Folded,
}

/// Old messages that are summarised in one call.
struct Chunk {
    messages: Vec<TaskMessage>,
    /// By the preset's estimator.
    size: u64,
}

/// What a tier came to.
struct Summarised {
    tier: u8,
    text: String,
    memories: Vec<String>,
}

impl ChunkedSummary {
    fn new(build: &Build<'_>) -> Result<Self, String> {
        let parameters: Parameters = build.read()?;
        let is_share = |share: f64| share > 0.0 && share <= 1.0;
        if !is_share(parameters.chunk) || !is_share(parameters.skip_above) {
            return Err(
                "`chunk` and `skip_above` are shares of the window, such as 0.25".to_owned()
            );
        }
        if parameters.max_tokens == 0 {
            return Err("`max_tokens` must be at least 1".to_owned());
        }
        let allowed = ["chunk", "chunks", "previous_summary", "existing_memories", "messages"];
        Ok(Self {
            prompt: build.prompt(&parameters.prompt, &allowed)?,
            keep_recent: build.scale.tokens(parameters.keep_recent),
            parameters,
            folded: Folded::default(),
        })
    }

    /// Old entries: a walk back from the newest keeps messages until the
    /// budget is exhausted. The newest message always stays (ours), and a tail
    /// that would begin with a result moves back to its call.
    fn old(&self, context: &Context, host: &Host<'_>) -> Vec<EntryId> {
        let mut sum = 0;
        let mut first_kept = None;
        for id in context.stored().rev() {
            sum += context.entry(id).map_or(0, |entry| host.size(entry.weight));
            if first_kept.is_some() && sum > self.keep_recent {
                break;
            }
            first_kept = Some(id);
        }
        // Nothing recorded is older than a summary that is kept.
        let Some(cut) = first_kept.and_then(EntryId::index) else {
            return Vec::new();
        };
        let cut = Cuts::of(context).back_to_whole(cut);
        let old: Vec<EntryId> =
            context.stored().filter(|id| id.index().is_none_or(|i| i < cut)).collect();
        let has_new = old.iter().any(|id| id.index().is_some());
        if has_new { old } else { Vec::new() }
    }

    fn chunks(&self, context: &Context, host: &Host<'_>, old: &[EntryId]) -> Vec<Chunk> {
        let limit = share(host, self.parameters.chunk);
        let sizes = old.iter().map(|&id| context.entry(id).map_or(0, |e| host.size(e.weight)));
        let mut chunks: Vec<Chunk> = Vec::new();
        for (message, size) in task_messages(context, old).into_iter().zip(sizes) {
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

    /// One pass over the chunks with rolling context. `skip_above` skips the
    /// larger ones with a placeholder note.
    async fn pass(
        &self,
        chunks: &[Chunk],
        known: &[String],
        skip_above: Option<u64>,
        host: &Host<'_>,
    ) -> Result<(String, Vec<String>), CompactorError> {
        let mut rolling: Option<String> = None;
        let mut fresh: Vec<String> = Vec::new();
        let mut skipped = Vec::new();
        for (number, chunk) in chunks.iter().enumerate() {
            if skip_above.is_some_and(|limit| chunk.size > limit) {
                skipped.push(placeholder(chunk));
                continue;
            }
            let known: Vec<String> = known.iter().chain(&fresh).cloned().collect();
            let place = (number + 1, chunks.len());
            let reply = host.compactor.run(&self.task(chunk, rolling.take(), known, place)).await;
            let digest = in_shape(reply, "digest", |produced| match produced {
                Produced::Digest(digest) => Some(digest),
                _ => None,
            })?;
            let Digest { summary, memories } = digest;
            rolling = Some(summary);
            fresh.extend(memories);
        }
        let parts: Vec<String> = rolling.into_iter().chain(skipped).collect();
        Ok((parts.join("\n\n"), fresh))
    }

    fn task(
        &self,
        chunk: &Chunk,
        rolling: Option<String>,
        known: Vec<String>,
        (number, of): (usize, usize),
    ) -> Task {
        let values = BTreeMap::from([
            ("chunk", number.to_string()),
            ("chunks", of.to_string()),
            ("previous_summary", rolling.clone().unwrap_or_default()),
            ("existing_memories", memories::bullets(&known)),
            ("messages", MESSAGES.to_owned()),
        ]);
        Task::Digest {
            prompt: self.prompt.render(&values),
            messages: chunk.messages.clone(),
            rolling,
            known,
            max_tokens: self.parameters.max_tokens,
        }
    }

    /// The three tiers, each only after the one before failed. Errors say why.
    async fn summarise(
        &self,
        chunks: &[Chunk],
        known: &[String],
        host: &Host<'_>,
    ) -> (Summarised, Option<Fallback>) {
        let first = match self.pass(chunks, known, None, host).await {
            Ok((text, memories)) => return (Summarised { tier: 1, text, memories }, None),
            Err(error) => error,
        };
        let limit = share(host, self.parameters.skip_above);
        match self.pass(chunks, known, Some(limit), host).await {
            Ok((text, memories)) => {
                let fallback = Fallback { to: "tier 2".to_owned(), reason: first.to_string() };
                (Summarised { tier: 2, text, memories }, Some(fallback))
            }
            Err(error) => {
                let count: usize = chunks.iter().map(|chunk| chunk.messages.len()).sum();
                let text = format!(
                    "[Context contained {count} messages that were compacted. \
                     Summary unavailable due to size limits.]"
                );
                let fallback = Fallback { to: "tier 3".to_owned(), reason: error.to_string() };
                (Summarised { tier: 3, text, memories: Vec::new() }, Some(fallback))
            }
        }
    }

    fn text(&self, summarised: &Summarised) -> String {
        let mut text = format!("{MARKER}\n\n{}", summarised.text);
        if self.folded.images > 0 {
            text.push_str(&format!(
                "\n\n[Images in the compacted messages: {}. What they showed is gone.]",
                self.folded.images
            ));
        }
        text
    }
}

fn share(host: &Host<'_>, share: f64) -> u64 {
    (host.window as f64 * share) as u64
}

fn placeholder(chunk: &Chunk) -> String {
    format!("[Messages skipped as too large to summarize: {}.]", chunk.messages.len())
}

/// What went to the archive: ids of the recorded messages, the tier, images.
fn archive(context: &Context, old: &[EntryId], tier: u8, images: u32) -> Record {
    let ids: Vec<&str> =
        old.iter().filter_map(|&id| Some(context.original(id)?.id.as_str())).collect();
    Record {
        kind: "archive".to_owned(),
        body: json!({"messages": ids, "tier": tier, "images": images}),
    }
}

#[async_trait]
impl Strategy for ChunkedSummary {
    fn prepare(
        &mut self,
        context: &mut Context,
        shared: &mut PresetState,
        host: &Host<'_>,
    ) -> Result<(), StrategyError> {
        let note = Memories::at(host.now).note(&shared.memories);
        Ok(set_note(context, MEMORY_NOTE, note)?)
    }

    async fn compact(
        &mut self,
        context: &mut Context,
        shared: &mut PresetState,
        host: &Host<'_>,
    ) -> Result<Outcome, StrategyError> {
        let mut outcome = Outcome::default();
        let old = self.old(context, host);
        if old.is_empty() {
            return Ok(outcome);
        }
        let clock = Memories::at(host.now);
        let known = clock.known(&shared.memories);
        let chunks = self.chunks(context, host, &old);
        let images = chunks.iter().flat_map(|c| &c.messages).map(|m| m.images).sum::<u32>();
        let (summarised, fallback) = self.summarise(&chunks, &known, host).await;
        self.folded.images += images;
        outcome.records.push(archive(context, &old, summarised.tier, images));
        outcome.fallback = fallback;
        shared.boundary = old.iter().filter_map(|id| id.index()).max().or(shared.boundary);
        let into = vec![(Role::User, self.text(&summarised))];
        context.apply(Op::Fold { range: old, into, at: Place::Head })?;
        let added = clock.record(&mut shared.memories, summarised.memories);
        if !added.is_empty() {
            let body = json!({"day": clock.day, "memories": added});
            outcome.records.push(Record { kind: "memory".to_owned(), body });
            set_note(context, MEMORY_NOTE, clock.note(&shared.memories))?;
        }
        Ok(outcome)
    }

    fn state(&self) -> Json {
        serde_json::to_value(&self.folded).expect("plain data serialises")
    }

    fn restore(&mut self, state: Json) -> Result<(), StrategyError> {
        self.folded = restored(SPEC.name, state)?;
        Ok(())
    }
}
