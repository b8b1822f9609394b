//! Chunked summary: the newest tokens stay, the rest is summarised chunk by
//! chunk, with memories beside it.
//!
//! Source: GSV, "Context Compaction and Memory". Three tiers: every
//! chunk; without the oversized chunks; a plain sentence. The summary of the
//! last compaction is old text at the next. Left open by GSV and ours: the
//! newest message always stays, a strategy's defaults, the bound of a reply, and
//! that nothing is done where a summary alone is old.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;

use super::archive::{self, Agent, Memories};
use super::folding::{kept_from, task_messages};
use crate::compactor::{Asked, CompactorError, Digest, MESSAGES, Task, TaskMessage};
use crate::context::{Context, EntryId, InsertAt, Op};
use crate::mechanism::{
    Build, BuildError, Fallback, Host, Mechanism, MechanismError, MechanismSpec, Outcome,
    StoredFile, Work,
};
use crate::prompt::Prompt;
use crate::state::StrategyState;
use recap_core::model::{MessageIndex, Role};

/// Summarises old messages in chunks.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "chunked-summary",
    summary: "Keeps the newest tokens, summarises the rest in chunks with rolling context and memories",
    uses_compactor: true,
    scales: &["keep_recent", "max_tokens"],
    build: |build| Ok(Box::new(ChunkedSummary::new(build)?)),
    ..MechanismSpec::PLAIN
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

#[derive(Clone)]
struct ChunkedSummary {
    digester: Digester,
    keep_recent: u64,
    agent: Agent,
    /// Images among all the messages of this session that were compacted so far.
    images: u32,
    /// The recorded messages that each compaction took out of the context, with their session.
    parts: Vec<(u32, Vec<MessageIndex>)>,
}

/// The result of a tier.
struct Summarised {
    text: String,
    memories: Vec<String>,
    /// Why the tier before failed.
    fallback: Option<Fallback>,
}

impl ChunkedSummary {
    fn new(build: &Build<'_>) -> Result<Self, BuildError> {
        let parameters: Parameters = build.read()?;
        let Parameters { prompt, keep_recent, chunk, skip_above, max_tokens, agent } = parameters;
        Ok(Self {
            digester: Digester::new(build, &prompt, (chunk, skip_above), max_tokens)?,
            keep_recent,
            agent,
            images: 0,
            parts: Vec::new(),
        })
    }

    /// Old entries: all before the newest that are kept.
    fn old(&self, context: &Context, host: &Host<'_>) -> Vec<EntryId> {
        // Nothing recorded is older than a summary that is kept.
        let kept = kept_from(context, host, context.stored().rev(), self.keep_recent);
        let Some(cut) = kept else { return Vec::new() };
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
                let count = chunk.messages.len();
                skipped.push(format!("[Messages skipped as too large to summarize: {count}.]"));
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
    async fn summarise(&self, chunks: &[Chunk], known: &[String], host: &Host<'_>) -> Summarised {
        let first = match self.pass(chunks, known, false, host).await {
            Ok((text, memories)) => return Summarised { text, memories, fallback: None },
            Err(error) => error,
        };
        let second = match self.pass(chunks, known, true, host).await {
            Ok((text, memories)) => {
                let fallback = Some(Fallback::new("tier 2", first));
                return Summarised { text, memories, fallback };
            }
            Err(error) => error,
        };
        let count: usize = chunks.iter().map(|chunk| chunk.messages.len()).sum();
        let text = format!(
            "[Context contained {count} messages that were compacted. \
             Summary unavailable due to size limits.]"
        );
        let fallback = Some(Fallback::new("tier 3", second));
        Summarised { text, memories: Vec::new(), fallback }
    }

    /// Archives the messages that a compaction removes. A session that was
    /// reset since has no more summaries with images.
    fn archive(&mut self, shared: &StrategyState, old: &[EntryId], images: u32) {
        let session = archive::current_session(shared);
        if self.parts.last().is_some_and(|(last, _)| *last != session) {
            self.images = 0;
        }
        self.images += images;
        let messages = old.iter().filter_map(|id| id.index()).collect();
        self.parts.push((session, messages));
    }

    fn text(&self, summarised: &Summarised) -> String {
        let mut text = format!("{MARKER}\n\n{}", summarised.text);
        if self.images > 0 {
            text.push_str(&format!(
                "\n\n[Images in the compacted messages: {}. What they showed is gone.]",
                self.images
            ));
        }
        text
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
        let summarised = self.summarise(&chunks, &known, host).await;
        self.archive(shared, &old, images);
        shared.boundary = old.iter().filter_map(|id| id.index()).max().or(shared.boundary);
        let into = vec![(Role::User, self.text(&summarised))];
        outcome.fallback = summarised.fallback;
        context.apply(Op::Fold { range: old, into, at: InsertAt::Head })?;
        clock.record(&mut shared.memories, summarised.memories);
        clock.show(context, &shared.memories)?;
        Ok(outcome)
    }

    fn stored(&self, context: &Context, shared: &StrategyState) -> Vec<StoredFile> {
        let mut files = self.agent.memories(&shared.memories);
        let mut number = 0;
        for (at, (session, messages)) in self.parts.iter().enumerate() {
            let goes_on = at > 0 && self.parts[at - 1].0 == *session;
            number = if goes_on { number + 1 } else { 1 };
            files.push(self.agent.part(context, *session, number, messages));
        }
        files
    }
}

// Messages in chunks, each put to the compactor for a summary and memories:
// what compaction and reset share.
//
// Source: GSV, "Chunk the Old Messages" and "Three-Tier
// Summarization": chunks of a quarter of the window, in order, each with the
// summary of those before and the memories that are recorded already.

/// How messages are split into chunks and summarised, as a stage's parameters say.
#[derive(Clone)]
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
            ("existing_memories", archive::bullets(&known)),
            ("messages", MESSAGES.to_owned()),
        ]);
        let task = Task {
            prompt: self.prompt.render(&values),
            messages: chunk.messages.clone(),
            max_tokens: self.max_tokens,
            asked: Asked::Digest { rolling, known },
        };
        host.compactor.digest(&task).await
    }
}

fn share(host: &Host<'_>, share: f64) -> u64 {
    (host.window as f64 * share) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::SignedDuration;
    use serde_json::json;

    use crate::compactor::{Asked, Task};
    use crate::testkit::{Rig, Scripted, Talk, words};
    use recap_core::model::Role;

    // What GSV's design says.

    const MARKER: &str = "[Conversation summary from automatic context compaction]";

    /// A user message of 40 tokens is 24 + 4 + 200 units of JSON, 69 by the
    /// heuristic; an assistant message 70. The window of 1,000 has chunks of 250
    /// (three such messages), tier 2 skips above 500, and the threshold is 100.
    const OVERRIDES: [(&str, &str); 2] = [("when", "{ reserve = 900 }"), ("keep_recent", "75")];

    fn rig(talk: Talk, compactor: Arc<Scripted>) -> Rig {
        Rig::new("chunked-summary", &OVERRIDES, 1_000, talk, compactor)
    }

    /// User messages alone: the first request, and so the first look, is the last.
    fn users(count: usize) -> Talk {
        (0..count).fold(Talk::new("S"), |talk, _| talk.user(&words(40)))
    }

    fn digest(task: &Task) -> (&str, usize, Option<&str>, &[String]) {
        match task {
            Task { prompt, messages, asked: Asked::Digest { rolling, known }, .. } => {
                (prompt, messages.len(), rolling.as_deref(), known)
            }
            _ => panic!("a digest is asked for"),
        }
    }

    /// Seed 004: last reported input tokens
    #[test]
    fn the_reported_figure_lags_by_one_response() {
        // 41 were sent at the first request, 121 at the second, 201 at the third,
        // which is the first that knows of more than 100.
        let talk = Talk::new("S").user(&words(40)).assistant(&words(40)).user(&words(40));
        let talk = talk.assistant(&words(40)).user(&words(40)).assistant(&words(40));
        let mut rig = rig(talk, Scripted::failing_at([]));
        rig.feed(5);
        assert!(rig.context.weight().tokens > 100 && rig.outcomes.is_empty());
        rig.feed(1);
        // Message 4 stays (69; with message 3 it would be 139 > 75).
        assert_eq!(rig.ledger(), "ffffvv");
    }

    /// Seed 004: heuristic only without a report
    #[test]
    fn the_heuristic_counts_only_at_the_first_call() {
        // JSON length / 4 × 1.2 of preamble and one message: 78; of two: 147.
        for (count, compacted) in [(1, false), (2, true)] {
            let mut rig = rig(users(count), Scripted::failing_at([]));
            rig.finish();
            assert_eq!(!rig.outcomes.is_empty(), compacted, "{count} messages");
        }
    }

    /// Seed 004: single user message with the literal marker
    #[test]
    fn summary_is_one_user_message_with_marker() {
        let mut rig = rig(users(3), Scripted::failing_at([]));
        rig.finish();
        let sent = rig.sent();
        assert_eq!(rig.ledger(), "ffv");
        assert_eq!(sent.len(), 2);
        assert_eq!(sent[0], (Role::User, format!("{MARKER}\n\nsummary 0")));
        assert_eq!(rig.shared.boundary, Some(1));
    }

    /// Seed 004: keep recent messages until the budget is exhausted
    #[test]
    fn recent_messages_are_kept_until_budget_is_exhausted() {
        for (keep, ledger) in
            [("68", "ffffv"), ("137", "ffffv"), ("138", "fffvv"), ("207", "ffvvv")]
        {
            let overrides = [OVERRIDES[0], ("keep_recent", keep)];
            let compactor = Scripted::failing_at([]);
            let mut rig = Rig::new("chunked-summary", &overrides, 1_000, users(5), compactor);
            rig.finish();
            assert_eq!(rig.ledger(), ledger, "keep_recent {keep}");
        }
    }

    /// Seed 004: call and result together (ours)
    #[test]
    fn tail_starting_with_result_moves_back_to_call() {
        // 155 were sent at the second request. The newest 75 are the last result.
        let calls = |id: &'static str| [(id, "Bash", json!({"command": "ls"}))];
        let talk = users(1).calls(&calls("c1")).result("c1", &words(100));
        let talk = talk.calls(&calls("c2")).result("c2", &words(40));
        let mut rig = rig(talk, Scripted::failing_at([]));
        rig.finish();
        assert_eq!(rig.ledger(), "fffvv");
    }

    /// Seed 004: chunks of 25 % of the window, rolling context
    #[test]
    fn quarter_window_chunks_carry_the_previous_summary() {
        let compactor = Scripted::failing_at([]);
        let mut rig = rig(users(7), Arc::clone(&compactor));
        rig.finish();
        let tasks = compactor.tasks();
        let seen: Vec<_> = tasks.iter().map(|t| (digest(t).1, digest(t).2)).collect();
        assert_eq!(seen, [(3, None), (3, Some("summary 0"))]);
        assert!(digest(&tasks[1]).0.contains("<previous_summary>\nsummary 0\n</previous_summary>"));
        assert_eq!(rig.sent()[0].1, format!("{MARKER}\n\nsummary 0 summary 1"));
        assert_eq!(rig.ledger(), "ffffffv");
        assert!(rig.fallbacks().is_empty());
    }

    /// Seed 004: chunks of roughly 25 % of the context window each
    #[test]
    fn chunk_takes_at_most_a_quarter_of_window() {
        // Thirty-six messages of 68.4, each counted as 69 tokens, are 2,484: a
        // quarter of 9,936, and one more than a quarter of 9,932.
        for (window, first) in [(9_936, 36), (9_932, 35)] {
            let compactor = Scripted::failing_at([]);
            let overrides = [("2.when", "{ reserve = 9_900 }"), ("2.keep_recent", "75")];
            let role = Arc::<Scripted>::clone(&compactor);
            Rig::new("gsv", &overrides, window, users(40), role).finish();
            assert_eq!(digest(&compactor.tasks()[0]).1, first, "{window}");
        }
    }

    /// Seed 004: oversized chunks (more than 50% of the context window) are skipped
    #[test]
    fn tier_two_skips_only_messages_over_half_window() {
        // The large message is 608.4 by the heuristic, 609 tokens: half of 1,218.
        for (window, skipped) in [(1_218, false), (1_216, true)] {
            let overrides = [("2.when", "{ reserve = 1_100 }"), ("2.keep_recent", "75")];
            let mut rig =
                Rig::new("gsv", &overrides, window, oversized(), Scripted::failing_at([1]));
            rig.finish();
            assert_eq!(rig.fallbacks(), [(1, "tier 2".to_owned())]);
            assert_eq!(
                rig.sent()[0].1.contains("[Messages skipped as too large"),
                skipped,
                "{window}"
            );
        }
    }

    /// Seed 004: when the estimate exceeds contextWindow - reserveTokens; keepRecentTokens
    #[test]
    fn compacts_above_window_less_reserve_keeping_recent_tokens() {
        // Of a window of 20,000 a tenth of the strategy's numbers: 1,600 are reserved,
        // 2,000 kept. The first request is reported at 1 + 18,399, or one more.
        for (tokens, ledger) in [(18_399, "vvv"), (18_400, "fvv")] {
            let talk = Talk::new("S").user(&words(tokens)).assistant(&words(1)).user(&words(1));
            let mut rig = Rig::scaled("gsv", &[], 20_000, talk, Scripted::failing_at([]));
            rig.finish();
            assert_eq!(rig.ledger(), ledger, "{tokens}");
        }
        // By the heuristic the last message is 9.9, counted as 10; 1,320 words of the
        // answer before it are 1,988.7, and one word more is past 1,990.
        for (tokens, ledger) in [(1_320, "fvv"), (1_321, "ffv")] {
            let talk =
                Talk::new("S").user(&words(18_400)).assistant(&words(tokens)).user(&words(1));
            let mut rig = Rig::scaled("gsv", &[], 20_000, talk, Scripted::failing_at([]));
            rig.finish();
            assert_eq!(rig.ledger(), ledger, "{tokens}");
        }
    }

    /// A small, an oversized (24 + 4 + 2,000 units: 609 > 500) and a small message.
    fn oversized() -> Talk {
        let talk = Talk::new("S").user(&words(40)).user(&words(400)).user(&words(40));
        talk.user(&words(40))
    }

    /// Seed 004: tier 1 comes first
    #[test]
    fn an_oversized_chunk_is_summarised_by_tier_one() {
        let compactor = Scripted::failing_at([]);
        let mut rig = rig(oversized(), Arc::clone(&compactor));
        rig.finish();
        assert_eq!(compactor.tasks().len(), 3);
        assert!(rig.fallbacks().is_empty());
    }

    /// Seed 004: tier 2 skips oversized chunks
    #[test]
    fn tier_two_replaces_oversized_chunks_by_placeholder() {
        let compactor = Scripted::failing_at([1]);
        let mut rig = rig(oversized(), Arc::clone(&compactor));
        rig.finish();
        // Calls 0 and 1 were tier one's; its summary and memories are not used.
        let sizes: Vec<_> =
            compactor.tasks().iter().map(|t| digest(t).2.map(str::to_owned)).collect();
        assert_eq!(sizes, [None, Some("summary 0".to_owned()), None, Some("summary 2".to_owned())]);
        let expected = "summary 2 summary 3\n\n[Messages skipped as too large to summarize: 1.]";
        assert_eq!(rig.sent()[0].1, format!("{MARKER}\n\n{expected}"));
        assert_eq!(rig.fallbacks(), [(0, "tier 2".to_owned())]);
        let memories = &rig.notes()["daily-memory"];
        assert!(memories.ends_with(")\n- memory 2\n- memory 3"), "{memories}");
    }

    /// Seed 004: tier 3: the plain-text placeholder with the count
    #[test]
    fn tier_three_is_literal_sentence_with_count() {
        let mut rig = rig(oversized(), Scripted::failing_at([0, 1]));
        rig.finish();
        let sentence = "[Context contained 3 messages that were compacted. Summary unavailable due to size limits.]";
        assert_eq!(rig.sent()[0].1, format!("{MARKER}\n\n{sentence}"));
        assert_eq!(rig.fallbacks(), [(0, "tier 3".to_owned())]);
        assert!(rig.shared.memories.is_empty());
        assert_eq!(rig.ledger(), "fffv");
    }

    /// Seed 004: each tier only after the one before failed
    #[test]
    fn failed_calls_end_in_the_tier_they_report() {
        // Two chunks: tier one makes calls 0 and 1; where it fails, tier two two more.
        for (failing, tiers) in [
            (vec![0], 2),
            (vec![1], 2),
            (vec![0, 1], 3),
            (vec![0, 2], 3),
            (vec![1, 3], 3),
            (vec![2], 1),
        ] {
            let mut rig = rig(users(7), Scripted::failing_at(failing.clone()));
            rig.finish();
            let fell_back: Vec<_> =
                (tiers > 1).then(|| (0, format!("tier {tiers}"))).into_iter().collect();
            assert_eq!(rig.fallbacks(), fell_back, "{failing:?}");
            assert_eq!(rig.ledger(), "ffffffv", "{failing:?}");
        }
    }

    /// Seed 004: images are counted and noted
    #[test]
    fn images_are_counted_and_noted() {
        let talk = Talk::new("S").image().image().user(&words(40)).user(&words(40)).image();
        let mut rig = rig(talk.user(&words(40)), Scripted::failing_at([]));
        rig.finish();
        // The newest 75: the last message and, with 8.4 units, not even the image.
        assert!(rig.ledger().starts_with("ffff"), "{}", rig.ledger());
        let text = &rig.sent()[0].1;
        assert!(text.contains("[Images in the compacted messages: 3."), "{text}");
    }

    /// Seed 004: the old summary counts as old text
    #[test]
    fn old_summary_is_old_text_next_time() {
        let compactor = Scripted::failing_at([]);
        let mut talk = users(3);
        for _ in 0..4 {
            talk = talk.assistant(&words(40)).user(&words(40));
        }
        let mut rig = rig(talk, Arc::clone(&compactor));
        rig.finish();
        assert!(compactor.tasks().len() >= 2);
        let messages = &compactor.tasks()[1].messages;
        assert!(messages[0].text.starts_with(MARKER), "{:?}", messages[0].text);
        let markers = rig.sent().iter().filter(|(_, text)| text.starts_with(MARKER)).count();
        assert_eq!(markers, 1);
        assert!(!rig.ledger().contains('-'), "a fold of a fold covers the union");
        let part = |number| format!("agents/main/sessions/session-1-part{number}.jsonl.gz");
        assert_eq!(rig.stored()[1..], [part(1), part(2), part(3), part(4)]);
    }

    /// Seed 004: memories in the daily file, existing ones in the prompt
    #[test]
    fn memories_enter_daily_note_and_next_prompt() {
        let compactor = Scripted::failing_at([]);
        let mut rig = rig(users(7), Arc::clone(&compactor));
        rig.finish();
        let note = "## Memory of 2026-01-18\n### Extracted from context compaction (14:37)\n- memory 0\n- memory 1";
        assert_eq!(rig.notes()["daily-memory"], note);
        let tasks = compactor.tasks();
        assert!(digest(&tasks[0]).3.is_empty());
        assert_eq!(digest(&tasks[1]).3, ["memory 0"]);
        assert!(
            digest(&tasks[1]).0.contains("<existing_memories>\n- memory 0\n</existing_memories>")
        );
        // Loaded today and tomorrow by the simulated clock, then no more.
        for (days, loaded) in [(1, true), (1, false)] {
            rig.now += SignedDuration::from_hours(24 * days);
            rig.prepare();
            assert_eq!(rig.notes().contains_key("daily-memory"), loaded);
        }
    }
}
