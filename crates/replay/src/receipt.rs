//! What the receipt of a session needs of its recording: its compactions, how long its caches
//! live, and what filled its contexts.

use rustc_hash::FxHashMap;

use crate::prepared::PreparedSession;
use recap_billing::pricing::BillingModels;
use recap_billing::prompt_cache::Rules;
use recap_core::model::{
    AROUND, Block, CLEARED, CompactionFacts, Content, Message, MessageIndex, Origin, ReceiptFacts,
    RecordedCompaction, Role, call,
};
use recap_strategy::Recording;

/// Reads it off a recording.
pub(crate) fn receipt_facts(
    prepared: &PreparedSession,
    billing_models: &BillingModels,
) -> ReceiptFacts {
    let (facts, recording) = (&prepared.facts, &prepared.recording);
    let lifetime = |named: Option<&str>| {
        let life = Rules::of(billing_models.list().priced(named?)?, false).life()?;
        u32::try_from(life.as_secs()).ok()
    };
    let others = facts.other_models.iter().map(|named| Some(named.as_str()));
    let session = &recording.session;
    let copied = prepared.responses.iter().filter(|one| session.copied.contains(&one.message));
    ReceiptFacts {
        compactions: compactions(prepared),
        lifetimes: std::iter::once(facts.model.as_deref()).chain(others).map(lifetime).collect(),
        contents: Contents::of(recording),
        missing_subagents: missing_subagents(recording),
        copied: copied.copied().collect(),
        family: session.family.clone(),
        totals: recording.session.totals.clone(),
    }
}

/// The compactions of the recorded agent, with what it read around each.
fn compactions(prepared: &PreparedSession) -> Vec<CompactionFacts> {
    let Recording { session, counter, .. } = &prepared.recording;
    let responses: Vec<MessageIndex> = session.responses().collect();
    let reads = |requests: &[MessageIndex]| {
        let messages = requests.iter().map(|&at| &session.messages[at as usize]);
        let is_read = |block: &&Block| match block {
            Block::ToolCall { name, arguments, .. } => call::reads(name, arguments),
            _ => false,
        };
        messages.flat_map(|message| &message.blocks).filter(is_read).count() as u32
    };
    let around = |made: &RecordedCompaction| {
        let at = responses.partition_point(|&response| response < made.after);
        let (start, end) = (at.checked_sub(AROUND)?, at + AROUND);
        let (first, last) = (*responses.get(start)?, *responses.get(end - 1)?);
        let folding = session.compactions.iter().filter(|made| made.folds());
        let among = folding.filter(|other| (first + 1..=last).contains(&other.after)).count();
        (among <= 1).then(|| (reads(&responses[start..at]), reads(&responses[at..end])))
    };
    let mut facts = Vec::with_capacity(session.compactions.len());
    for (made, used_again) in session.compactions.iter().zip(&prepared.used_again) {
        facts.push(CompactionFacts {
            after: made.after,
            call: made.call.clone(),
            trigger: made.trigger,
            folds: made.folds(),
            tokens_before: made.tokens_before,
            whole: made.summary.as_ref().is_some_and(|text| text.contains(ANALYSIS)),
            summary_tokens: made.summary.as_ref().map_or(0, |text| counter.count(text)),
            wait_ms: session.compaction_ms(made),
            reads: around(made),
            copied: made.copied,
            used_again: *used_again,
        });
    }
    facts
}

/// How the analysis begins that Claude Code asks for in front of a summary; releases of 2026 strip
/// it.
const ANALYSIS: &str = "nalysis:";

/// Tools that start a subagent: of Claude Code (`Task` up to 2.1.6x), Codex, and of OpenCode and
/// Copilot.
const SUBAGENT_TOOLS: [&str; 4] = ["Agent", "Task", "spawn_agent", "task"];

/// Calls of subagents that answered, in a session without any record of what subagents used.
fn missing_subagents(recording: &Recording) -> u64 {
    let session = &recording.session;
    if !session.sidechains.is_empty() {
        return 0;
    }
    let answered = |result: MessageIndex| {
        let blocks = &session.messages[result as usize].blocks;
        !blocks.iter().any(|block| matches!(block, Block::ToolResult { is_error: true, .. }))
    };
    let calls = recording.calls.iter().filter(|call| SUBAGENT_TOOLS.contains(&&*call.tool));
    calls.filter(|call| call.result.is_some_and(answered)).count() as u64
}

/// The context of the recorded agent by kinds of content, as it grows and is compacted.
struct Contents<'a> {
    recording: &'a Recording,
    /// Message of each call's result.
    results: FxHashMap<String, MessageIndex>,
    kinds: Vec<Content>,
    /// Tokens of each kind that the context holds.
    held: Vec<u64>,
    /// Kind and tokens of each message so far; no tokens where it is gone.
    messages: Vec<(usize, u64)>,
}

impl<'a> Contents<'a> {
    /// What filled the contexts of a session, request by request.
    fn of(recording: &'a Recording) -> Vec<Content> {
        let Recording { session, sizes, .. } = recording;
        let results = session.results();
        let (kinds, held, messages) = (Vec::new(), Vec::new(), Vec::new());
        let mut contents = Contents { recording, results, kinds, held, messages };
        contents.preamble(sizes.preamble_tokens());
        let mut changes = session.preamble_changes.iter().zip(&sizes.preamble_changes).peekable();
        let mut compactions = session.compactions.iter().zip(&sizes.put_back).peekable();
        let mut shrinks = sizes.shrinks.iter().peekable();
        let own = session.copied.last().map_or(0, |&last| last + 1);
        for (index, message) in (0..).zip(&session.messages) {
            while let Some((made, put_back)) = compactions.next_if(|(made, _)| made.after <= index)
            {
                contents.compact(made, *put_back);
            }
            while let Some((_, size)) = changes.next_if(|(change, _)| change.before <= index) {
                contents.preamble(size.tokens + sizes.hidden_tokens);
            }
            while let Some(shrink) = shrinks.next_if(|shrink| shrink.before <= index) {
                let left = contents.messages[shrink.message as usize].1;
                contents.resize(shrink.message, left.saturating_sub(shrink.tokens));
            }
            let aborted = message.usage.is_some_and(|usage| usage.prompt() == 0);
            if message.is_request() && !aborted && !session.copied.contains(&index) {
                let each = contents.kinds.iter_mut().zip(&contents.held);
                each.for_each(|(kind, held)| kind.sent += held);
            }
            let kind = contents.kind_of(index, message);
            let tokens = sizes.messages[index as usize].tokens;
            contents.add(kind, tokens, index >= own);
            contents.messages.push((kind, tokens));
        }
        contents.kinds
    }

    /// Another text in front of the conversation.
    fn preamble(&mut self, tokens: u64) {
        let kind = self.kind(Origin::System, None);
        // What is said within the conversation stays.
        let within = self.messages.iter().filter(|(other, _)| *other == kind);
        self.held[kind] = within.map(|(_, tokens)| tokens).sum();
        if tokens > 0 {
            self.add(kind, tokens, true);
        }
    }

    fn kind_of(&mut self, index: MessageIndex, message: &Message) -> usize {
        match message.role {
            Role::System => self.kind(Origin::System, None),
            Role::User => self.kind(Origin::User, None),
            Role::Assistant => self.kind(Origin::Agent, None),
            Role::Tool => {
                let call = self.recording.call_of(index);
                let tool = call.map(|call| self.recording.calls[call.0 as usize].tool.clone());
                self.kind(Origin::Result, tool)
            }
        }
    }

    fn kind(&mut self, origin: Origin, tool: Option<String>) -> usize {
        let known = self.kinds.iter().position(|kind| kind.origin == origin && kind.tool == tool);
        known.unwrap_or_else(|| {
            self.kinds.push(Content { origin, tool, texts: 0, tokens: 0, sent: 0 });
            self.held.push(0);
            self.kinds.len() - 1
        })
    }

    /// Adds a text to the context. One that another session counts (not `own`) is only sent.
    fn add(&mut self, kind: usize, tokens: u64, own: bool) {
        if own {
            self.kinds[kind].texts += 1;
            self.kinds[kind].tokens += tokens;
        }
        self.held[kind] += tokens;
    }

    fn resize(&mut self, message: MessageIndex, tokens: u64) {
        let (kind, size) = &mut self.messages[message as usize];
        self.held[*kind] = self.held[*kind] - *size + tokens;
        *size = tokens;
    }

    /// Takes away what a compaction took away, and adds what it put there. `put_back`: the size
    /// of that by the provider's count.
    fn compact(&mut self, made: &RecordedCompaction, put_back: Option<u64>) {
        let marker = self.recording.counter.count(CLEARED);
        for call in &made.cleared {
            let seen = self.results.get(call).copied().filter(|&at| at < made.after);
            let result = seen.and_then(|at| Some((at, self.messages.get(at as usize)?.1)));
            if let Some((result, size)) = result {
                self.resize(result, size.min(marker));
            }
        }
        if !made.folds() {
            return;
        }
        for message in (0..made.after).filter(|&message| !made.keeps(message)) {
            self.resize(message, 0);
        }
        let written = made.texts().map(|(_, text)| self.recording.counter.count(text));
        let tokens = put_back.unwrap_or_else(|| written.sum());
        let kind = self.kind(Origin::Summary, None);
        // It covers the summary before, too.
        self.held[kind] = 0;
        self.add(kind, tokens, !made.copied);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use recap_billing::pricing::PriceList;
    use recap_core::model::{Preamble, PreambleChange, Session, SidechainRequest, Usage};
    use recap_core::tokens::Counter;

    fn says(n: usize, role: Role, block: Block) -> Message {
        Message::new(format!("m{n}"), role, None, vec![block])
    }

    /// A question, a call of `Read`, its result, an answer, and the same again.
    fn session() -> Session {
        let text = |words: &str| Block::Text { text: words.to_owned() };
        let call = |n: usize| {
            let (id, name, arguments) = (format!("c{n}"), "Read".to_owned(), serde_json::json!({}));
            Block::ToolCall { id, name, arguments }
        };
        let result = |n: usize| {
            let (call, text) = (format!("c{n}"), "one two three ".repeat(20));
            Block::ToolResult { call, text, images: 0, is_error: false }
        };
        let turn = |n: usize| {
            [
                says(4 * n, Role::User, text("Which port is it, please?")),
                says(4 * n + 1, Role::Assistant, call(n)),
                says(4 * n + 2, Role::Tool, result(n)),
                says(4 * n + 3, Role::Assistant, text("It is the first one.")),
            ]
        };
        Session {
            preamble: Preamble { system: vec!["Be brief.".to_owned()], ..Preamble::default() },
            messages: [turn(0), turn(1)].concat(),
            ..Session::default()
        }
    }

    fn prepared(session: Session) -> PreparedSession {
        PreparedSession::new("d", session, Arc::new(Counter::default()))
    }

    fn facts_of(prepared: &PreparedSession) -> ReceiptFacts {
        let list = Arc::new(PriceList::bundled());
        receipt_facts(prepared, &BillingModels::new(list, Vec::new()))
    }

    fn sent(facts: &ReceiptFacts, origin: Origin) -> u64 {
        facts.contents.iter().find(|content| content.origin == origin).map_or(0, |c| c.sent)
    }

    #[test]
    fn without_compaction_contents_equal_what_full_sends() {
        let change = PreambleChange { before: 5, system: vec!["Be brief and kind.".to_owned()] };
        let prepared = prepared(Session { preamble_changes: vec![change], ..session() });
        let facts = facts_of(&prepared);
        let all: u64 = facts.contents.iter().map(|content| content.sent).sum();
        let full: u64 = prepared.facts.requests.iter().map(|request| request.tokens_full).sum();
        assert_eq!(all, full);
        let actual: Vec<_> =
            facts.contents.iter().map(|c| (c.origin, c.tool.as_deref(), c.texts)).collect();
        let read = (Origin::Result, Some("Read"), 2);
        let expected =
            [(Origin::System, None, 2), (Origin::User, None, 2), (Origin::Agent, None, 4)];
        assert_eq!(actual, [&expected[..], &[read]].concat());
        // The first result stands in the three requests after it, the second in one.
        let one = prepared.recording.sizes.messages[2].tokens;
        assert_eq!(sent(&facts, Origin::Result), 4 * one);
    }

    #[test]
    fn compaction_sends_summary_instead_of_what_it_removed() {
        let compaction = RecordedCompaction {
            after: 4,
            kept_from: 4,
            summary: Some("The first port.".to_owned()),
            ..RecordedCompaction::default()
        };
        let prepared = prepared(Session { compactions: vec![compaction], ..session() });
        let (facts, sizes) = (facts_of(&prepared), &prepared.recording.sizes.messages);
        // Each result in one request; the summary in the two behind it.
        assert_eq!(sent(&facts, Origin::Result), 2 * sizes[2].tokens);
        let summary = prepared.recording.counter.count("The first port.");
        assert_eq!(sent(&facts, Origin::Summary), 2 * summary);
        let [made] = facts.compactions.as_slice() else { panic!("{:?}", facts.compactions) };
        assert_eq!((made.after, made.folds, &made.call, made.reads), (4, true, &None, None));
        assert_eq!((made.summary_tokens, made.whole), (4, false));
    }

    #[test]
    fn a_cleared_result_is_sent_as_its_marker() {
        let clearing = RecordedCompaction {
            after: 4,
            cleared: vec!["c0".to_owned(), "unknown".to_owned()],
            ..RecordedCompaction::default()
        };
        let prepared = prepared(Session { compactions: vec![clearing], ..session() });
        let (facts, result) = (facts_of(&prepared), prepared.recording.sizes.messages[2].tokens);
        let marker = prepared.recording.counter.count(CLEARED);
        assert!(marker < result);
        assert_eq!(sent(&facts, Origin::Result), 2 * result + 2 * marker);
    }

    #[test]
    fn subagents_that_answered_are_missing_without_their_records() {
        let call = |n: usize, name: &str| {
            let (id, arguments) = (format!("s{n}"), serde_json::json!({}));
            says(n, Role::Assistant, Block::ToolCall { id, name: name.to_owned(), arguments })
        };
        let result = |n: usize, is_error| {
            let (call, text) = (format!("s{n}"), "It is done.".to_owned());
            let block = Block::ToolResult { call, text, images: 0, is_error };
            says(100 + n, Role::Tool, block)
        };
        let messages = vec![
            call(1, "Task"),
            result(1, false),
            call(2, "Agent"),
            result(2, true),
            call(3, "Agent"),
            call(4, "Read"),
            result(4, false),
        ];
        let session = Session { messages, ..Session::default() };
        assert_eq!(facts_of(&prepared(session.clone())).missing_subagents, 1);
        let usage = Usage { input: 9, ..Usage::default() };
        let sidechains = vec![SidechainRequest { at: None, model: None, usage }];
        let known = Session { sidechains, ..session };
        assert_eq!(facts_of(&prepared(known)).missing_subagents, 0);
    }

    #[test]
    fn automatic_caches_have_fixed_lifetimes_and_others_none() {
        let named = |model: &str| {
            let model = Some(model.to_owned());
            facts_of(&prepared(Session { model, ..session() })).lifetimes
        };
        assert_eq!(named("gpt-5.4"), [Some(600)]);
        assert_eq!(named("gpt-6.1-sol"), [Some(1_800)]);
        assert_eq!(named("gemini-3.8-flash"), [Some(3_600)]);
        assert_eq!(named("deepseek-v4-pro"), [Some(14_400)]);
        assert_eq!(named("claude-opus-4-6"), [None]);
        assert_eq!(named("a-local-model"), [None]);
        assert_eq!(facts_of(&prepared(session())).lifetimes, [None]);
    }
}
