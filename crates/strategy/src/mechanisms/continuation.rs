//! Continuation: everything since the last summary, up to the last messages,
//! becomes a prompt for going on.
//!
//! Source: GenCode, layer 2, "Compaction". GenCode names no
//! fallback: when the compactor fails, the context stays as it is (recorded).

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;

use super::folding::{Cuts, Request, headings, live, recorded_before, task_messages};
use super::gencode_session::{Summary, extract, session_file};
use crate::compactor::{Asked, CompactorError, MESSAGES, Task};
use crate::context::{Context, EntryId, InsertAt, Op};
use crate::mechanism::{
    Build, BuildError, Fallback, Host, Mechanism, MechanismError, MechanismSpec, Outcome,
    StoredFile, Work,
};
use crate::prompt::Prompt;
use crate::state::StrategyState;
use recap_core::model::Role;
use recap_core::tokens::{Estimator, Weight};

/// Folds all but the last messages into a continuation prompt.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "continuation",
    summary: "Folds what came since the last summary, but for the last messages, into a prompt for going on",
    uses_compactor: true,
    scales: &["max_tokens"],
    build: |build| Ok(Box::new(Continuation::new(build)?)),
    ..MechanismSpec::PLAIN
};

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    prompt: String,
    /// Whether the stage does anything (`enabled`, `enableCompaction`).
    #[serde(default = "super::yes")]
    enabled: bool,
    /// Number of newest messages that stay verbatim.
    keep_last: u32,
    /// Whether the first of them moves back to its call where it is a result.
    #[serde(default = "super::yes")]
    keep_pairs: bool,
    keep_summaries: KeepSummaries,
    request: Request,
    /// Largest size of the reply, in tokens.
    max_tokens: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KeepSummaries {
    /// Every summary stays, each for its own range.
    All,
    /// "System prompt, summary system message, last 10 messages".
    Last,
}

#[derive(Clone)]
struct Continuation {
    prompt: Prompt,
    parameters: Parameters,
    /// `session.summaries`.
    summaries: Vec<Summary>,
    /// Their entries that are still in the conversation.
    entries: Vec<EntryId>,
}

impl Continuation {
    fn new(build: &Build<'_>) -> Result<Self, BuildError> {
        let parameters: Parameters = build.read()?;
        if parameters.keep_last == 0 || parameters.max_tokens == 0 {
            return Err("`keep_last` and `max_tokens` must be at least 1".into());
        }
        let prompt = build.prompt(&parameters.prompt, &["messages"])?;
        Ok(Self { prompt, parameters, summaries: Vec::new(), entries: Vec::new() })
    }

    /// From after the last summary to the length less `keep_last`.
    fn range(&self, context: &Context) -> Vec<EntryId> {
        let keep = self.parameters.keep_last as usize;
        let tail = context.stored().rev().take(keep).filter_map(|id| id.index()).min();
        let Some(cut) = tail else {
            return Vec::new();
        };
        let cut =
            if self.parameters.keep_pairs { Cuts::of(context).back_to_whole(cut) } else { cut };
        recorded_before(context, cut)
    }

    /// The text of a call, which has to fit the model's window with its reply: where the
    /// live conversation does not, the folded messages are sent alone.
    async fn content(
        &self,
        context: &Context,
        range: &[EntryId],
        host: &Host<'_>,
    ) -> Result<String, CompactorError> {
        let values = BTreeMap::from([("messages", MESSAGES.to_owned())]);
        let prompt = self.prompt.render(&values);
        let max_tokens = self.parameters.max_tokens;
        let own = context.recording().counter.count(&prompt.replace(MESSAGES, "")) + max_tokens;
        let fits = |tokens: u64| tokens + own <= host.window;
        let messages = task_messages(context, range);
        let folded: u64 = messages.iter().map(|message| message.tokens).sum();
        let is_live = self.parameters.request == Request::Prefix && fits(context.weight().tokens);
        if !is_live && !fits(folded) {
            let window = host.window;
            return Err(CompactorError::TooLarge(format!(
                "{folded} tokens, and {own} for prompt and reply, are over the window of {window}"
            )));
        }
        let live = is_live.then(|| live(context, host.compactor));
        let headings = headings(&self.prompt);
        let asked = Asked::Continuation { headings, live };
        let task = Task { prompt, messages, max_tokens, asked };
        host.compactor.text(&task).await
    }

    fn summary(
        &self,
        context: &Context,
        host: &Host<'_>,
        range: &[EntryId],
        content: String,
    ) -> Summary {
        let place = |id: Option<&EntryId>| id.and_then(|id| id.index()).map_or(0, |i| i + 1);
        let weight = Weight::of_text("system", &content, &context.recording().counter);
        Summary {
            id: host.id("sum"),
            kind: "compaction".to_owned(),
            covering_messages: [place(range.first()), place(range.last())],
            content,
            extraction: extract(context, range),
            generated_at: host.now.to_string(),
            estimated_tokens: Estimator::CharsOverFour.fallback(weight),
        }
    }

    /// The new array: (older summaries,) this summary, the last messages.
    fn place(
        &mut self,
        context: &mut Context,
        range: Vec<EntryId>,
        content: &str,
    ) -> Result<(), MechanismError> {
        let count = range.len();
        let text = format!("[Earlier conversation - {count} messages summarized]\n\n{content}");
        self.entries.retain(|&id| context.contains(id));
        if self.parameters.keep_summaries == KeepSummaries::Last && !self.entries.is_empty() {
            context.apply(Op::Evict(std::mem::take(&mut self.entries)))?;
        }
        let into = vec![(Role::System, text)];
        self.entries.extend(context.apply(Op::Fold { range, into, at: InsertAt::Head })?);
        Ok(())
    }
}

#[async_trait]
impl Mechanism for Continuation {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, shared, host } = work;
        let range = if self.parameters.enabled { self.range(context) } else { Vec::new() };
        if range.is_empty() {
            return Ok(Outcome::default());
        }
        let content = match self.content(context, &range, host).await {
            Ok(content) => content,
            Err(error) => return Ok(Outcome::fell_back(Fallback::NONE, error)),
        };
        let summary = self.summary(context, host, &range, content);
        shared.boundary = range.last().and_then(|id| id.index());
        self.place(context, range, &summary.content)?;
        self.summaries.push(summary);
        Ok(Outcome::default())
    }

    /// The session file, as GenCode's example shows it.
    fn stored(&self, context: &Context, shared: &StrategyState) -> Vec<StoredFile> {
        let path = format!("sessions/{}.json", context.recording().session.id);
        vec![StoredFile::json(path, &session_file(context, shared, &self.summaries))]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value as Json, json};

    use crate::compactor::{Asked, Live, Task};
    use crate::mechanisms::compression_stats;
    use crate::testkit::{OffShape, Rig, Scripted, Talk, words};
    use recap_core::model::Role;

    // What GenCode's design says.

    /// usable = 9,492 - 8,192 = 1,300.
    const WINDOW: u64 = 9_492;

    /// Turns of 100 tokens (500 characters, 125 by chars/4), the user's first.
    fn turns(count: usize) -> Talk {
        (0..count).fold(Talk::new("S"), |talk, at| {
            if at % 2 == 0 { talk.user(&words(100)) } else { talk.assistant(&words(100)) }
        })
    }

    /// `session.summaries`.
    fn summaries_of(rig: &Rig) -> Vec<Json> {
        rig.session_file()["summaries"].as_array().unwrap().clone()
    }

    fn rig(talk: Talk, overrides: &[(&str, &str)], compactor: Arc<Scripted>) -> Rig {
        Rig::new("continuation", overrides, WINDOW, talk, compactor)
    }

    /// Seed 001: compaction on addMessage(), over usable
    #[test]
    fn evaluated_on_append_and_strictly_above_usable() {
        // Reported at message 11: 1 + 11 × 100 = 1,101. At message 13: 1,301, which
        // is over 9,492 - 8,192 and not over 9,493 - 8,192.
        for (window, ledger) in [(WINDOW, "ffffvvvvvvvvvv"), (WINDOW + 1, "vvvvvvvvvvvvvv")] {
            let compactor = Scripted::failing_at([]);
            let mut rig = Rig::new("continuation", &[], window, turns(14), compactor);
            rig.feed(13);
            assert_eq!(rig.outcomes.len(), 0);
            rig.feed(1);
            assert_eq!(rig.ledger(), ledger, "{window}");
        }
    }

    /// Seed 001: estimate all messages, chars / 4
    #[test]
    fn size_before_first_response_is_characters_over_four() {
        // 1 + 10 × 500 characters: 1,251. One more message: 1,376 > 1,300.
        let talk = (0..11).fold(Talk::new("S"), |talk, _| talk.user(&words(100)));
        let mut rig = rig(talk, &[], Scripted::failing_at([]));
        rig.feed(10);
        assert_eq!(rig.outcomes.len(), 0);
        rig.feed(1);
        assert_eq!(rig.ledger(), "fvvvvvvvvvv");
    }

    /// Seed 001: new array: system prompt, summary system message, last 10
    #[test]
    fn new_array_is_system_summary_and_last_ten() {
        let mut rig = rig(turns(14), &[], Scripted::failing_at([]));
        rig.finish();
        let sent = rig.sent();
        assert_eq!(sent.len(), 11);
        assert_eq!(sent[0].0, Role::System);
        assert_eq!(sent[0].1, "[Earlier conversation - 4 messages summarized]\n\ncontinuation 0");
        assert_eq!(rig.shared.boundary, Some(3));
    }

    /// Seed 001: range starts after the last summary, array has one summary
    #[test]
    fn as_written_second_compaction_drops_first_summary() {
        // After the first, 1,013 + the new messages: reported above 1,300 at message 17.
        for (strategy, ledger, summaries) in [
            ("continuation", "ffffffffvvvvvvvvvv", 2),
            ("continuation-as-written", "----ffffvvvvvvvvvv", 1),
        ] {
            let mut rig = Rig::new(strategy, &[], WINDOW, turns(18), Scripted::failing_at([]));
            rig.feed(18);
            assert_eq!(rig.outcomes.len(), 2, "{strategy}");
            assert_eq!(rig.ledger(), ledger, "{strategy}");
            let sent = rig.sent();
            assert_eq!(sent.len(), 10 + summaries, "{strategy}");
            assert!(sent[summaries - 1].1.ends_with("continuation 1"), "{strategy}");
            // The range starts after the last summary: each counts its own.
            assert!(sent[summaries - 1].1.starts_with("[Earlier conversation - 4 messages"));
            let ranges: Vec<Json> =
                summaries_of(&rig).iter().map(|s| s["coveringMessages"].clone()).collect();
            assert_eq!(ranges, [json!([1, 4]), json!([5, 8])], "{strategy}");
        }
    }

    /// Seed 001: enabled, enableCompaction
    #[test]
    fn a_disabled_stage_does_nothing() {
        let compactor = Scripted::failing_at([]);
        let mut rig = rig(turns(30), &[("enabled", "false")], Arc::clone(&compactor));
        rig.finish();
        assert_eq!(rig.ledger(), "v".repeat(30));
        assert!(compactor.tasks().is_empty());
    }

    /// Seed 001: last 10 messages (ours: back to the call)
    #[test]
    fn tail_starting_with_result_moves_back_to_call() {
        // Above usable at message 13 only; the last ten begin with the second
        // result of message 2.
        let read = json!({"path": "a.rs"});
        let calls = [("c1", "Read", read.clone()), ("c2", "Read", read)];
        let talk = Talk::new("S").user("one").assistant("two").calls(&calls);
        let talk = talk.result("c1", "a").result("c2", "b");
        let talk =
            (0..7).fold(talk, |talk, _| talk.user("more")).user(&words(1_300)).assistant("end");
        let mut rig = rig(talk, &[], Scripted::failing_at([]));
        rig.finish();
        assert_eq!(rig.ledger(), "ffvvvvvvvvvvvv");
    }

    /// Seed 001: a call without its result yet (ours)
    #[test]
    fn a_call_that_still_runs_is_not_folded() {
        // The last ten begin after message 1, whose result is still to come.
        let talk = Talk::new("S").user("one").calls(&[("c1", "Bash", json!({"command": "x"}))]);
        let talk = (0..10).fold(talk, |talk, _| talk.user("more")).user(&words(1_300));
        let mut rig =
            rig(talk.assistant("end").result("c1", "done"), &[], Scripted::failing_at([]));
        rig.finish();
        assert_eq!(rig.ledger(), "fvvvvvvvvvvvvvv");
    }

    /// Seed 001: end: current length − 10
    #[test]
    fn fewer_messages_than_the_tail_are_left_alone() {
        let compactor = Scripted::failing_at([]);
        let talk = (0..10).fold(Talk::new("S"), |talk, _| talk.user(&words(500)));
        let mut rig = rig(talk, &[], Arc::clone(&compactor));
        rig.finish();
        assert_eq!(rig.ledger(), "vvvvvvvvvv");
        assert!(compactor.tasks().is_empty());
    }

    /// Seed 001: "continuing our conversation above"
    #[test]
    fn template_follows_live_conversation_or_messages_alone() {
        // Above usable at message 13: preamble 1 + 14 × 100 tokens are read.
        for (request, expected) in [("prefix", Some((1_401, 0))), ("fresh", None)] {
            let compactor = Scripted::failing_at([]);
            let mut rig = rig(turns(14), &[("request", request)], Arc::clone(&compactor));
            rig.finish();
            let Task {
                prompt,
                messages,
                max_tokens,
                asked: Asked::Continuation { headings, live },
            } = &compactor.tasks()[0]
            else {
                panic!("a continuation is asked for");
            };
            let live = live.as_ref().map(|live| (live.tokens, live.messages.len()));
            assert_eq!((live, messages.len(), *max_tokens), (expected, 4, 1_500));
            let seed = "Provide a detailed prompt for continuing our conversation above.

Focus on information that would be helpful for continuing the conversation:
1. What we accomplished so far
2. What we're currently working on
3. Which files we modified and key changes made
4. What we plan to do next
5. Any important context or decisions that would be needed

Remember: The new session will NOT have access to our full conversation history,
so include all essential context needed to continue working effectively.

Be technical and specific. Use structured bullet points.";
            assert_eq!(prompt.trim(), seed);
            assert_eq!(headings[0], "What we accomplished so far");
            assert_eq!(headings.len(), 5);
        }
    }

    /// Seed 001: "Provide a detailed prompt for continuing our conversation above": a model is
    /// given the conversation as sent, and the template after it
    #[test]
    fn reading_compactor_is_given_conversation_as_sent() {
        // Above usable at messages 13 and 17, the second time after a summary.
        let compactor = Scripted::reading();
        let talk = turns(14).system("S2");
        let talk = (0..2).fold(talk, |talk, _| talk.user(&words(100)).assistant(&words(100)));
        let mut rig = rig(talk, &[], Arc::clone(&compactor));
        rig.finish();
        let tasks = compactor.tasks();
        let live: Vec<&Live> = tasks
            .iter()
            .map(|task| match task {
                Task { asked: Asked::Continuation { live: Some(live), .. }, .. } => live,
                _ => panic!("a continuation is asked for"),
            })
            .collect();
        assert_eq!(live.len(), 2);
        assert_eq!((live[0].system.as_str(), live[0].messages.len()), ("S", 14));
        assert_eq!(
            (live[0].messages[0].role, &**live[0].messages[0].text),
            (Role::User, &*words(100))
        );
        assert_eq!((live[1].system.as_str(), live[1].messages.len()), ("S2", 15));
        assert_eq!(live[1].messages[0].role, Role::System);
        assert!(live[1].messages[0].text.starts_with("[Earlier conversation - 4 messages"));
        for live in live {
            let sum: u64 = live.messages.iter().map(|message| message.tokens).sum();
            assert!(live.tokens > sum && live.tokens < sum + 4, "and the preamble");
        }
    }

    /// Work on a JWT login: files written by several tools, decisions, uses.
    fn work() -> Talk {
        let talk =
            Talk::new("S").user("We need a login. We decided on JWT. Keep src/old.ts as it is.");
        let talk = talk.calls(&[
            ("c1", "Write", json!({"file_path": "src/auth.ts", "content": "x"})),
            (
                "c2",
                "Edit",
                json!({"file_path": "src/login.tsx", "old_string": "a", "new_string": "b"}),
            ),
            ("c3", "Read", json!({"file_path": "src/old.ts"})),
            (
                "c4",
                "apply_patch",
                json!({"input": "*** Begin Patch\n*** Update File: src/db.rs\n@@"}),
            ),
        ]);
        let talk =
            ["c1", "c2", "c3", "c4"].iter().fold(talk, |talk, id| talk.result(id, "I chose ok"));
        let edit = |id, path: &str| {
            (id, "Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"}))
        };
        let talk = talk.calls(&[
            edit("d1", "src/b.ts"),
            edit("d2", "src/login.tsx"),
            edit("d3", "src/c.ts"),
            edit("d4", "src/d.ts"),
        ]);
        let talk = ["d1", "d2", "d3", "d4"].iter().fold(talk, |talk, id| talk.result(id, "ok"));
        let talk = talk.assistant("I chose refresh tokens. The rest is plain. We will use bcrypt.");
        (0..9).fold(talk, |talk, _| talk.user(&words(200))).assistant("ok")
    }

    /// Seed 001: files modified, tool counts, key decisions
    #[test]
    fn extraction_is_in_record_but_not_in_context() {
        let mut rig = rig(work(), &[], Scripted::failing_at([]));
        rig.finish();
        let summary = &summaries_of(&rig)[0];
        assert_eq!(
            summary["filesModified"],
            json!([
                "src/auth.ts",
                "src/login.tsx",
                "src/db.rs",
                "src/b.ts",
                "src/c.ts",
                "src/d.ts"
            ])
        );
        assert_eq!(
            summary["keyDecisions"],
            json!(["We decided on JWT.", "I chose refresh tokens.", "We will use bcrypt."])
        );
        assert_eq!(
            summary["toolsUsed"][0],
            json!({"tool": "Edit", "count": 5, "notableUses":
                ["Modified src/login.tsx", "Modified src/b.ts", "Modified src/c.ts"]})
        );
        assert_eq!(summary["toolsUsed"].as_array().unwrap().len(), 4);
        assert!(!rig.sent()[0].1.contains("auth.ts"));
    }

    /// Seed 001: ConversationSummary
    #[test]
    fn the_summary_record_has_the_seeds_fields() {
        let mut rig = rig(turns(14), &[], Scripted::failing_at([]));
        rig.finish();
        let summary = &summaries_of(&rig)[0];
        // 14:30 and 13 minutes: the message at which it happened.
        assert_eq!(summary["generatedAt"], "2026-01-18T14:43:00Z");
        let id = summary["id"].as_str().unwrap();
        let random = id.strip_prefix("sum-1768747380000-").unwrap();
        assert!(random.len() == 6 && random.bytes().all(|b| b.is_ascii_hexdigit()), "{id}");
        assert_eq!(summary["type"], "compaction");
        assert_eq!(summary["content"], "continuation 0");
        assert_eq!(summary["estimatedTokens"], 4, "14 characters");
        assert_eq!(summary.as_object().unwrap().len(), 9);
    }

    /// Seed 001: compressionRatio = active / total
    #[test]
    fn the_compression_ratio_is_active_over_total_messages() {
        let mut rig = rig(turns(14), &[], Scripted::failing_at([]));
        rig.finish();
        let stats = compression_stats(&rig.session_file());
        // Of 14 messages and the system prompt, that, the summary and ten are left.
        assert_eq!(stats["totalMessages"], 15);
        assert_eq!(stats["activeMessages"], 12);
        assert_eq!(stats["summaryCount"], 1);
        assert_eq!(stats["compressionRatio"], 0.8);
    }

    /// Seed 001: a failed summary (ours)
    #[test]
    fn failed_call_leaves_context_unchanged() {
        for failing in 0..4 {
            let compactor = Scripted::failing_at([failing]);
            let mut rig = rig(turns(26), &[], Arc::clone(&compactor));
            rig.finish();
            assert!(compactor.tasks().len() >= 4, "a failed one is tried again");
            assert_eq!(rig.fallbacks(), [(0, "none".to_owned())], "call {failing}");
            assert_eq!(summaries_of(&rig).len(), compactor.tasks().len() - 1);
            assert!(rig.ledger().ends_with("vvvvvvvvvv"));
        }
    }

    /// Seed 001: a reply in another shape (ours)
    #[test]
    fn a_reply_in_another_shape_is_a_failure() {
        let mut rig = Rig::new("continuation", &[], WINDOW, turns(14), Arc::new(OffShape));
        rig.finish();
        assert_eq!(rig.ledger(), "v".repeat(14));
        assert_eq!(rig.fallbacks()[0], (0, "none".to_owned()));
    }

    /// Seed 001: id: sum-{timestamp}-{random}
    #[test]
    fn ids_are_the_same_in_every_run() {
        let run = || {
            let mut rig = rig(turns(30), &[], Scripted::failing_at([]));
            rig.finish();
            summaries_of(&rig)
        };
        assert_eq!(run(), run());
        let ids: std::collections::BTreeSet<String> =
            run().iter().map(|summary| summary["id"].to_string()).collect();
        assert_eq!(ids.len(), run().len(), "and each its own");
    }

    /// Seed 001: the parts of a summary are the numbered points of its prompt (ours)
    #[test]
    fn reply_headings_are_numbered_points_of_its_template() {
        let template = "Write:\n1. Goal\n  2. Files modified \nNote. None\n2) other\n10. Last step";
        let template = crate::prompt::Prompt::new(template, &[]).unwrap();
        assert_eq!(super::headings(&template), ["Goal", "Files modified", "Last step"]);
    }
}
