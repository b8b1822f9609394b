//! The control that replays the recorded agent's own compactions, so that its
//! summaries are one more row of the table (how-it-works §6).

use async_trait::async_trait;
use serde::Deserialize;

use crate::compactor::{CallUsage, ModelCall};
use crate::context::{Context, EntryId, InsertAt, Op, OpError};
use crate::mechanism::{Mechanism, MechanismError, MechanismSpec, Outcome, Work};
use recap_core::model::{CLEARED, CallId, Piece, RecordedCall, RecordedCompaction, Role};
use recap_core::tokens::Counter;

/// Repeats what the recorded agent did.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "recorded",
    summary: "Repeats the compactions that the recorded agent made, with its own summaries",
    build: |build| Ok(Box::new(build.read::<Recorded>()?)),
    ..MechanismSpec::PLAIN
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {}

#[async_trait]
impl Mechanism for Recorded {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, host, .. } = work;
        let Some(compaction) = host.recorded else {
            return Ok(Outcome::default());
        };
        // A row without the summary would show a context that the agent did not have.
        if let Some(reason) = &compaction.unreadable {
            let problem = format!("the recording cannot be repeated: {reason}");
            return Err(MechanismError::Outside(problem));
        }
        clear(context, compaction)?;
        let gives_way = |id: &EntryId| id.index().is_none_or(|index| !compaction.keeps(index));
        let range: Vec<EntryId> = context.stored().filter(gives_way).collect();
        if range.is_empty() || !compaction.folds() {
            return Ok(Outcome::default());
        }
        let before = context.weight().tokens;
        let written = fold(context, compaction, range)?;
        let session = &context.recording().session;
        let number = session.compactions.iter().position(|other| other == compaction);
        let put_back = number.and_then(|number| context.recording().sizes.put_back[number]);
        if let Some(tokens) = put_back {
            context.size_written(&written, tokens);
        }
        let on_record = compaction.call.as_ref().map(call);
        let estimated = || estimated(compaction, before, &context.recording().counter);
        let took_ms = match &on_record {
            // The call says how long it took.
            Some(call) if call.latency_ms.is_some() => compaction.duration_ms,
            _ => context.recording().session.compaction_ms(compaction),
        };
        let calls = on_record.or_else(estimated).into_iter().collect();
        Ok(Outcome { calls, took_ms, ..Outcome::default() })
    }
}

/// Clears results as a micro-compaction did.
fn clear(context: &mut Context, boundary: &RecordedCompaction) -> Result<(), OpError> {
    let calls = &context.recording().calls;
    let cleared: Vec<CallId> = (0u32..)
        .zip(calls.iter())
        .filter(|(_, call)| boundary.cleared.contains(&call.id))
        .filter(|(_, call)| call.result.is_some_and(|r| context.contains(EntryId::message(r))))
        .map(|(at, _)| CallId(at))
        .collect();
    for call in cleared {
        context.apply(Op::EditResult(call, CLEARED.to_owned()))?;
    }
    Ok(())
}

/// Consecutive texts, after a message that was kept.
type Group = (Option<EntryId>, Vec<(Role, String)>);

/// Replaces `range` by the boundary's texts. If there are several groups, each
/// takes one entry of the range, and the last, with the summary, the rest.
fn fold(
    context: &mut Context,
    boundary: &RecordedCompaction,
    mut range: Vec<EntryId>,
) -> Result<Vec<EntryId>, OpError> {
    let mut groups = groups(context, boundary);
    let Some((at, mut into)) = groups.pop() else {
        return context.apply(Op::Evict(range));
    };
    let mut written = Vec::new();
    for (at, texts) in groups {
        if range.len() > 1 {
            let first = vec![range.remove(0)];
            written.extend(context.apply(Op::Fold { range: first, into: texts, at: place(at) })?);
        } else {
            into.splice(0..0, texts);
        }
    }
    written.extend(context.apply(Op::Fold { range, into, at: place(at) })?);
    Ok(written)
}

fn place(preceding: Option<EntryId>) -> InsertAt {
    preceding.map_or(InsertAt::Head, InsertAt::Behind)
}

/// The texts that a boundary put into the context, grouped by position.
fn groups(context: &Context, boundary: &RecordedCompaction) -> Vec<Group> {
    if boundary.pieces.is_empty() {
        let bare: Vec<_> = boundary.texts().map(|(role, text)| (role, text.to_owned())).collect();
        return if bare.is_empty() { Vec::new() } else { vec![(None, bare)] };
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut preceding = None;
    for piece in &boundary.pieces {
        match piece {
            Piece::Message(index) => {
                let id = EntryId::message(*index);
                preceding = Some(id).filter(|&id| context.contains(id)).or(preceding);
            }
            Piece::Text { role, text } => match groups.last_mut() {
                Some((at, texts)) if *at == preceding => texts.push((*role, text.clone())),
                _ => groups.push((preceding, vec![(*role, text.clone())])),
            },
        }
    }
    groups
}

/// The recorded agent's call. One that read from a cache was appended to the live
/// conversation; how much it reads here depends on the strategy's own cache.
fn call(recorded: &RecordedCall) -> ModelCall {
    let usage = recorded.usage;
    ModelCall {
        usage: CallUsage { input: usage.prompt(), output: usage.output },
        latency_ms: recorded.latency_ms,
        recorded: true,
        live: usage.cache_read > usage.prompt() / 2,
        reply: None,
    }
}

/// What a call costs that wrote a summary and is not on record: as in every other row it reads
/// the live conversation of `before` tokens, and writes the summary. Without a summary no model
/// was called.
fn estimated(compaction: &RecordedCompaction, before: u64, counter: &Counter) -> Option<ModelCall> {
    let output = counter.count(compaction.summary.as_ref()?);
    let usage = CallUsage { input: before, output };
    Some(ModelCall { usage, latency_ms: None, recorded: false, live: true, reply: None })
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::Usage;

    #[test]
    fn call_that_is_not_on_record_reads_conversation_and_writes_summary() {
        let counter = Counter::default();
        let of = |compaction: &RecordedCompaction| {
            let made = estimated(compaction, 5_000, &counter)?;
            assert!(made.live && !made.recorded && made.latency_ms.is_none());
            Some((made.usage.input, made.usage.output))
        };
        let summary = Some("The port is 8417, and no other.".to_owned());
        let told = RecordedCompaction { summary, ..RecordedCompaction::default() };
        let words = counter.count("The port is 8417, and no other.");
        assert_eq!(of(&told), Some((5_000, words)));
        // Messages were dropped, and nothing was written.
        assert_eq!(of(&RecordedCompaction::default()), None);
    }

    /// A call that read most of its prompt went on from the live conversation.
    #[test]
    fn recorded_call_is_live_above_half_prompt_read() {
        let of = |cache_read, input| {
            let usage = Usage { input, cache_read, output: 7, ..Usage::default() };
            let made = call(&RecordedCall { model: None, usage, latency_ms: Some(2_500.0) });
            assert!(made.recorded && made.reply.is_none() && made.latency_ms == Some(2_500.0));
            assert_eq!((made.usage.input, made.usage.output), (100, 7));
            made.live
        };
        assert!(of(51, 49));
        assert!(!of(50, 50));
        assert!(!of(0, 100));
    }

    fn say(text: &str) -> Piece {
        Piece::Text { role: Role::User, text: text.to_owned() }
    }

    /// What is sent after five messages, of which these are folded.
    fn sent(folded: &[u32], pieces: Vec<Piece>, summary: Option<&str>) -> (Vec<String>, usize) {
        use std::sync::Arc;

        use crate::context::Recording;
        use crate::testkit::Talk;
        let talk = (0..5).fold(Talk::new("S"), |talk, at| talk.user(&format!("m{at}")));
        let mut context = Context::new(Recording::new(Arc::new(talk.end()), Arc::default()));
        (0..5).for_each(|_| context.append());
        let boundary = RecordedCompaction {
            after: 5,
            kept_from: 3,
            summary: summary.map(str::to_owned),
            pieces,
            ..RecordedCompaction::default()
        };
        let range = folded.iter().map(|&at| EntryId::message(at)).collect();
        let written = fold(&mut context, &boundary, range).unwrap().len();
        let text = |id: EntryId| context.entry(id).unwrap().text.to_owned();
        (context.visible().map(text).collect(), written)
    }

    #[test]
    fn texts_follow_the_message_sent_before_them() {
        let pieces = || vec![say("a"), say("b"), Piece::Message(1), say("c")];
        let (texts, written) = sent(&[0, 2], pieces(), None);
        assert_eq!(
            (texts, written),
            (["a", "b", "m1", "c", "m3", "m4"].map(str::to_owned).to_vec(), 3)
        );
        // A single message gives way to all of them, where the last belongs.
        let (texts, written) = sent(&[2], pieces(), None);
        let all = ["m0", "m1", "a", "b", "c", "m3", "m4"].map(str::to_owned).to_vec();
        assert_eq!((texts, written), (all, 3));
    }

    #[test]
    fn bare_summary_comes_first_or_messages_are_gone() {
        let (texts, written) = sent(&[0, 1, 2], Vec::new(), Some("summary"));
        assert_eq!((&*texts[0], texts.len(), written), ("summary", 3, 1));
        assert_eq!(sent(&[0, 1, 2], Vec::new(), None).0, ["m3", "m4"]);
    }

    #[test]
    fn results_cleared_by_agent_are_cleared_if_present() {
        use std::sync::Arc;

        use crate::context::Recording;
        use crate::testkit::Talk;
        let talk = ["a", "b", "c"].iter().fold(Talk::new("S").user("u"), |talk, &id| {
            talk.calls(&[(id, "read", serde_json::json!({}))]).result(id, "long")
        });
        let mut context = Context::new(Recording::new(Arc::new(talk.end()), Arc::default()));
        (0..7).for_each(|_| context.append());
        context.apply(Op::Evict(vec![EntryId::message(5), EntryId::message(6)])).unwrap();
        let cleared = vec!["a".to_owned(), "c".to_owned()];
        let boundary = RecordedCompaction { cleared, ..RecordedCompaction::default() };
        clear(&mut context, &boundary).unwrap();
        let text = |at| context.entry(EntryId::message(at)).unwrap().text.to_owned();
        assert_eq!((&*text(2), &*text(4)), (CLEARED, "long"));
        assert!(!context.is_edited(EntryId::message(6)));
    }
}
