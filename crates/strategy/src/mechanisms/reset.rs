//! Reset: the session is archived and a new one begins with the message that
//! asked for it.
//!
//! Source: GSV, "Session Reset and Archival". Before it is
//! archived, memories are extracted from what the session holds; then messages
//! and token counters are cleared. `when` is the policy: a command (manual), an
//! hour (daily), a silence (idle). From GSV's own code: memories go to the file
//! of the day of the session's last activity, oversized chunks are skipped, and
//! a chunk that fails is gone without. Ours: a call whose result is still
//! awaited stays, with what follows it.

use async_trait::async_trait;
use serde::Deserialize;

use super::archive::{self, Agent, Memories};
use super::chunked_summary::Digester;
use super::folding::Cuts;
use crate::compactor::Digest;
use crate::context::{Context, EntryId, Op};
use crate::mechanism::{
    Build, BuildError, Fallback, Host, Mechanism, MechanismError, MechanismSpec, Outcome,
    StoredFile, Work,
};
use crate::state::{PastSession, StrategyState};
use recap_core::model::{MessageIndex, Role};

/// Closes the session and begins a new one.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "reset",
    summary: "Archives the session with a last extraction of memories, and begins a new one",
    uses_compactor: true,
    scales: &["max_tokens"],
    build: |build| Ok(Box::new(Reset::new(build)?)),
    ..MechanismSpec::PLAIN
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Whether memories are extracted: "if compaction is enabled".
    #[serde(default = "super::yes")]
    extract: bool,
    prompt: String,
    /// Size of a chunk as a share of the window.
    chunk: f64,
    /// Chunks above this share of the window are skipped.
    skip_above: f64,
    /// Largest size of one reply, in tokens.
    max_tokens: u64,
    /// The agent that owns the archives and memories.
    #[serde(default)]
    agent: Agent,
}

#[derive(Clone)]
struct Reset {
    /// `None` where nothing is extracted.
    digester: Option<Digester>,
    agent: Agent,
}

impl Reset {
    fn new(build: &Build<'_>) -> Result<Self, BuildError> {
        let Parameters { extract, prompt, chunk, skip_above, max_tokens, agent } = build.read()?;
        let digester = Digester::new(build, &prompt, (chunk, skip_above), max_tokens)?;
        Ok(Self { digester: extract.then_some(digester), agent })
    }

    /// The last extraction, chunk by chunk; a chunk that fails is left out.
    async fn extract(
        &self,
        context: &Context,
        host: &Host<'_>,
        entries: &[EntryId],
        known: Vec<String>,
    ) -> (Vec<String>, Option<Fallback>) {
        let Some(digester) = self.digester.as_ref().filter(|_| has_content(context, entries))
        else {
            return (Vec::new(), None);
        };
        let chunks = digester.chunks(context, host, entries);
        let (mut found, mut rolling) = (Vec::new(), None);
        let mut missed: Vec<String> = Vec::new();
        for (number, chunk) in (1..).zip(&chunks) {
            if digester.is_oversized(chunk, host) {
                missed.push(format!("part {number} is too large"));
                continue;
            }
            let known: Vec<String> = known.iter().chain(&found).cloned().collect();
            let place = (number, chunks.len());
            match digester.ask(chunk, rolling.clone(), known, place, host).await {
                Ok(Digest { summary, memories }) => {
                    rolling = Some(summary);
                    found.extend(memories);
                }
                Err(error) => missed.push(error.to_string()),
            }
        }
        let to = format!("a reset without the memories of {} of {}", missed.len(), chunks.len());
        let fallback = missed.into_iter().next().map(|reason| Fallback::new(&to, reason));
        (found, fallback)
    }
}

/// Whether there is any text.
fn has_content(context: &Context, entries: &[EntryId]) -> bool {
    entries.iter().filter_map(|&id| context.entry(id)).any(|entry| {
        matches!(entry.role, Role::User | Role::Assistant) && !entry.text.trim().is_empty()
    })
}

/// The time of the last of some recorded messages, as far as it was recorded.
fn last_activity(
    context: &Context,
    messages: std::ops::Range<MessageIndex>,
) -> Option<jiff::Timestamp> {
    messages.rev().find_map(|index| context.original(EntryId::message(index))?.at)
}

#[async_trait]
impl Mechanism for Reset {
    fn prepare(&mut self, work: Work<'_>) -> Result<(), MechanismError> {
        let Work { context, shared, host } = work;
        Ok(Memories::at(host.now).show(context, &shared.memories)?)
    }

    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, shared, host } = work;
        let newest = context.seen_count().saturating_sub(1);
        let to = Cuts::of(context).back_to_whole(newest);
        let over: Vec<EntryId> =
            context.stored().filter(|id| id.index().is_none_or(|i| i < to)).collect();
        if over.is_empty() {
            return Ok(Outcome::default());
        }
        let from = shared.sessions.last().map_or(0, |last| last.to);
        let active = last_activity(context, from..to).unwrap_or(host.now);
        let clock = Memories::at(host.now).of_day(active);
        let known = clock.known(&shared.memories);
        let (found, fallback) = self.extract(context, host, &over, known).await;
        clock.record(&mut shared.memories, found);
        let number = archive::current_session(shared);
        shared.sessions.push(PastSession { number, from, to, summary: None, closed: host.now });
        context.apply(Op::Evict(over))?;
        Ok(Outcome { fallback, forgets_usage: true, ..Outcome::default() })
    }

    fn stored(&self, context: &Context, shared: &StrategyState) -> Vec<StoredFile> {
        let mut files = self.agent.memories(&shared.memories);
        files.extend(self.agent.sessions(context, shared));
        files
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::context::Recording;
    use crate::testkit::{Rig, Scripted, Talk, words};

    #[test]
    fn session_was_last_active_at_last_timed_message() {
        let mut talk = Talk::new("S").user("a").assistant(" ").user("c").user("d").end();
        let time = |text: &str| Some(text.parse::<jiff::Timestamp>().unwrap());
        let (first, third) = (time("2026-01-18T14:30:00Z"), time("2026-01-19T15:00:00Z"));
        (talk.messages[0].at, talk.messages[2].at) = (first, third);
        let mut context = Context::new(Recording::new(Arc::new(talk), Arc::default()));
        (0..4).for_each(|_| context.append());
        let last = |messages| last_activity(&context, messages);
        assert_eq!([last(0..4), last(0..2), last(1..2), last(3..4)], [third, first, None, None]);
        let says = |messages: &[u32]| {
            let entries: Vec<EntryId> = messages.iter().map(|&at| EntryId::message(at)).collect();
            has_content(&context, &entries)
        };
        assert!(says(&[1, 2]) && !says(&[1]) && !says(&[]));
    }

    /// Two messages of ten tokens, one of thirty, and the command.
    fn reset(parameters: &str, compactor: Arc<Scripted>) -> Rig {
        let talk = Talk::new("S").user(&words(10)).assistant(&words(10)).assistant(&words(30));
        let talk = talk.user("/reset").assistant("ok").user("/reset");
        let stage = "[[stage]]\nmechanism = \"reset\"\nat = \"user-turn\"\n\
                     when = { command = [\"/reset\"] }\nmax_tokens = 50\nprompt = \"p.md\"\n";
        Rig::stages(&format!("{stage}{parameters}"), 1_000, talk, compactor)
    }

    const SHARES: &str = "chunk = 0.02\nskip_above = 0.02";

    #[test]
    fn reset_keeps_command_and_archives_messages_since_last() {
        let mut rig = reset("chunk = 0.5\nskip_above = 0.5", Scripted::failing_at([]));
        rig.feed(4);
        assert_eq!(rig.ledger(), "---v");
        let outcome = &rig.outcomes.last().unwrap().1;
        assert!(outcome.forgets_usage && outcome.fallback.is_none());
        rig.feed(2);
        assert_eq!(rig.ledger(), "-----v");
        assert!(rig.notes()["daily-memory"].contains("- memory 0"), "{:?}", rig.notes());
        let lines = &rig.shared.memories["2026-01-18"];
        assert!(lines.iter().any(|line| line == "- memory 1"), "{lines:?}");
        let past = rig.shared.sessions.iter().map(|past| (past.number, past.from, past.to));
        assert_eq!(past.collect::<Vec<_>>(), [(1, 0, 3), (2, 3, 5)]);
    }

    #[test]
    fn oversized_or_failed_part_goes_without_memories() {
        let actual = |compactor: &Arc<Scripted>| {
            let mut rig = reset(SHARES, Arc::clone(compactor));
            rig.feed(4);
            let fallback = rig.outcomes.last().unwrap().1.fallback.clone().unwrap();
            (fallback.to, fallback.reason, rig.shared.memories.len())
        };
        let large = Scripted::failing_at([]);
        let to = "a reset without the memories of 1 of 2".to_owned();
        assert_eq!(actual(&large), (to, "part 2 is too large".to_owned(), 1));
        assert_eq!(large.tasks()[0].messages.len(), 2);
        let to = "a reset without the memories of 2 of 2".to_owned();
        let failed = actual(&Scripted::failing_at([0]));
        assert_eq!(failed, (to, "no reply: call 0 fails".to_owned(), 0));
    }

    #[test]
    fn nothing_is_asked_where_nothing_is_extracted() {
        let compactor = Scripted::failing_at([]);
        let mut rig = reset(&format!("{SHARES}\nextract = false"), Arc::clone(&compactor));
        rig.feed(4);
        assert_eq!((rig.ledger().as_str(), compactor.tasks().len()), ("---v", 0));
    }
}
