//! Chunked summary: the newest tokens stay, the rest is summarised chunk by
//! chunk, with memories beside it.
//!
//! Source: GSV, "Context Compaction and Memory". Three tiers: every
//! chunk; without the oversized chunks; a plain sentence. The summary of the
//! last compaction is old text at the next. Left open by GSV and ours: the
//! newest message always stays, a strategy's defaults, the bound of a reply, and
//! that nothing is done where a summary alone is old.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

use super::archive::{self, Agent};
use super::digest::{Chunk, Digester};
use super::folding::Cuts;
use super::memories::Memories;
use crate::compactor::{CompactorError, Digest};
use crate::context::{Context, EntryId, InsertAt, Op};
use crate::host::{
    Fallback, Host, Mechanism, MechanismError, Outcome, Record, StoredFile, Work, restored,
};
use crate::mechanism::{Build, BuildError, MechanismSpec};
use crate::state::StrategyState;
use recap_core::model::{MessageIndex, Role};

/// Summarises old messages in chunks.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "chunked-summary",
    summary: "Keeps the newest tokens, summarises the rest in chunks with rolling context and memories",
    uses_compactor: true,
    is_view: false,
    scales: &["keep_recent", "max_tokens"],
    build: |build| Ok(Box::new(ChunkedSummary::new(build)?)),
};

/// The first words of the synthetic message.
const MARKER: &str = "[Conversation summary from automatic context compaction]";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    prompt: String,
    /// Newest tokens that stay verbatim, by the strategy's estimator.
    keep_recent: u64,
    /// Size of a chunk as a share of the window.
    chunk: f64,
    /// Chunks above this share of the window are skipped by tier 2.
    skip_above: f64,
    /// Bound of one reply, in tokens.
    max_tokens: u64,
    /// The agent that owns the archives and memories.
    #[serde(default)]
    agent: Agent,
}

/// The state that is saved with the session.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Folded {
    /// Images among all the messages of this session that were compacted so far.
    images: u32,
    /// The archived messages, by compaction.
    parts: Vec<RemovedMessages>,
}

/// The recorded messages that one compaction took out of the context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RemovedMessages {
    session: String,
    messages: Vec<MessageIndex>,
}

struct ChunkedSummary {
    digester: Digester,
    keep_recent: u64,
    agent: Agent,
    folded: Folded,
}

/// The result of a tier.
struct Summarised {
    tier: u8,
    text: String,
    memories: Vec<String>,
}

impl ChunkedSummary {
    fn new(build: &Build<'_>) -> Result<Self, BuildError> {
        let parameters: Parameters = build.read()?;
        let Parameters { prompt, keep_recent, chunk, skip_above, max_tokens, agent } = parameters;
        Ok(Self {
            digester: Digester::new(build, &prompt, (chunk, skip_above), max_tokens)?,
            keep_recent,
            agent,
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
            sum += host.size(context.weight_of(id));
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

    /// One pass over the chunks, with the summary so far as context. On
    /// request, it replaces oversized chunks by a placeholder.
    async fn pass(
        &self,
        chunks: &[Chunk],
        known: &[String],
        skips: bool,
        host: &Host<'_>,
    ) -> Result<(String, Vec<String>), CompactorError> {
        let mut rolling: Option<String> = None;
        let mut fresh: Vec<String> = Vec::new();
        let mut skipped = Vec::new();
        for (number, chunk) in chunks.iter().enumerate() {
            if skips && self.digester.is_oversized(chunk, host) {
                skipped.push(placeholder(chunk));
                continue;
            }
            let known: Vec<String> = known.iter().chain(&fresh).cloned().collect();
            let place = (number + 1, chunks.len());
            let asked = self.digester.ask(chunk, rolling.take(), known, place, host);
            let Digest { summary, memories } = asked.await?;
            rolling = Some(summary);
            fresh.extend(memories);
        }
        let parts: Vec<String> = rolling.into_iter().chain(skipped).collect();
        Ok((parts.join("\n\n"), fresh))
    }

    /// The three tiers, each only if the one before failed. Errors contain the reasons.
    async fn summarise(
        &self,
        chunks: &[Chunk],
        known: &[String],
        host: &Host<'_>,
    ) -> (Summarised, Option<Fallback>) {
        let first = match self.pass(chunks, known, false, host).await {
            Ok((text, memories)) => return (Summarised { tier: 1, text, memories }, None),
            Err(error) => error,
        };
        match self.pass(chunks, known, true, host).await {
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

    /// Archives the messages that a compaction removes. A session that was
    /// reset since has no more summaries with images.
    fn archive(&mut self, shared: &StrategyState, old: &[EntryId], images: u32) {
        let session = archive::current_session(shared);
        if self.folded.parts.last().is_some_and(|last| last.session != session) {
            self.folded.images = 0;
        }
        self.folded.images += images;
        let messages = old.iter().filter_map(|id| id.index()).collect();
        self.folded.parts.push(RemovedMessages { session, messages });
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

fn placeholder(chunk: &Chunk) -> String {
    format!("[Messages skipped as too large to summarize: {}.]", chunk.messages.len())
}

/// The record of an archive: ids of the recorded messages, the tier, images.
fn record(context: &Context, old: &[EntryId], tier: u8, images: u32) -> Record {
    let ids: Vec<&str> =
        old.iter().filter_map(|&id| Some(context.original(id)?.id.as_str())).collect();
    Record {
        kind: "archive".to_owned(),
        body: json!({"messages": ids, "tier": tier, "images": images}),
    }
}

#[async_trait]
impl Mechanism for ChunkedSummary {
    fn prepare(&mut self, work: Work<'_>) -> Result<(), MechanismError> {
        let Work { context, shared, host } = work;
        Ok(Memories::at(host.now).show(context, &shared.memories)?)
    }

    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, shared, host } = work;
        let mut outcome = Outcome::default();
        let old = self.old(context, host);
        if old.is_empty() {
            return Ok(outcome);
        }
        let clock = Memories::at(host.now);
        let known = clock.known(&shared.memories);
        let chunks = self.digester.chunks(context, host, &old);
        let images = chunks.iter().flat_map(|c| &c.messages).map(|m| m.images).sum::<u32>();
        let (summarised, fallback) = self.summarise(&chunks, &known, host).await;
        self.archive(shared, &old, images);
        outcome.records.push(record(context, &old, summarised.tier, images));
        outcome.fallback = fallback;
        shared.boundary = old.iter().filter_map(|id| id.index()).max().or(shared.boundary);
        let into = vec![(Role::User, self.text(&summarised))];
        context.apply(Op::Fold { range: old, into, at: InsertAt::Head })?;
        let added = clock.record(&mut shared.memories, summarised.memories);
        if !added.is_empty() {
            let body = json!({"day": clock.day, "memories": added});
            outcome.records.push(Record { kind: "memory".to_owned(), body });
            clock.show(context, &shared.memories)?;
        }
        Ok(outcome)
    }

    fn stored(&self, context: &Context, shared: &StrategyState) -> Vec<StoredFile> {
        let mut files = self.agent.memories(&shared.memories);
        let mut number = 0;
        for (at, part) in self.folded.parts.iter().enumerate() {
            let goes_on = at > 0 && self.folded.parts[at - 1].session == part.session;
            number = if goes_on { number + 1 } else { 1 };
            files.push(self.agent.part(context, &part.session, number, &part.messages));
        }
        files
    }

    fn state(&self) -> Json {
        serde_json::to_value(&self.folded).expect("plain data serialises")
    }

    fn restore(&mut self, state: Json) -> Result<(), MechanismError> {
        self.folded = restored(SPEC.name, state)?;
        Ok(())
    }
}
