//! Lines that tell the user what was done (Lis, "Notification
//! Formats"), literally.

use crate::context::{Context, EntryId};
use recap_core::model::{Block, MessageIndex};
use recap_core::tokens::Counter;

/// After a run of pruning: the tool output after the last boundary before and
/// after, and the size of the whole context, counted exactly. Lis gives
/// the latter as its provider reported it last.
pub(super) fn pruned(before: u64, after: u64, context: u64, budget: u64) -> String {
    let saved = percent(before.saturating_sub(after), before);
    format!(
        "🔧 Tool outputs pruned ({} → {}, -{saved}%)\n  📊 Context: {}",
        short(before),
        short(after),
        of_budget(context, budget)
    )
}

/// The composition of a context, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Makeup {
    /// System prompt, pinned content and notes, and the part of them that the
    /// recording does not show.
    system: u64,
    /// Tokens of the definitions of the tools.
    definitions: u64,
    /// Tokens of the summaries.
    summary: u64,
    /// Tokens of messages that neither call a tool nor are its result.
    kept: u64,
    /// Tokens of calls and results.
    calls: u64,
}

impl Makeup {
    /// Computes the composition of a context. The parts add up to its size.
    pub(super) fn of(context: &Context) -> Self {
        let recording = context.recording();
        let preamble = context.preamble_weight().tokens;
        let definitions = definitions(context, &recording.counter).min(preamble);
        let mut makeup = Self { system: preamble - definitions, definitions, ..Self::default() };
        for id in context.visible() {
            let tokens = context.weight_of(id).tokens;
            let part = match id.index() {
                None => &mut makeup.summary,
                Some(message) if is_of_tools(context, message) => &mut makeup.calls,
                Some(_) => &mut makeup.kept,
            };
            *part += tokens;
        }
        makeup
    }

    fn total(self) -> u64 {
        self.system + self.definitions + self.summary + self.kept + self.calls
    }
}

/// Tool definitions as they are sent.
fn definitions(context: &Context, counter: &Counter) -> u64 {
    let tools = &context.recording().session.preamble.tools;
    let alone = recap_core::model::Preamble { tools: tools.clone(), ..Default::default() };
    counter.count(&alone.sent())
}

/// Whether a message calls a tool or is a result. A call is counted with the
/// text around it: messages are not counted in parts.
fn is_of_tools(context: &Context, message: MessageIndex) -> bool {
    let Some(original) = context.original(EntryId::message(message)) else { return false };
    let of_tool = |b: &Block| matches!(b, Block::ToolCall { .. } | Block::ToolResult { .. });
    original.blocks.iter().any(of_tool)
}

/// After a full compaction: the size that triggered it, and the composition of
/// the context now.
pub(super) fn compacted(before: u64, now: Makeup, budget: u64) -> String {
    let tools = now.definitions + now.calls;
    [
        format!("⚙️ Compacted ({} → {})", short(before), short(now.total())),
        format!("  🔧 System: {} tokens", short(now.system)),
        format!("  📝 Summary: {} tokens", short(now.summary)),
        format!("  💬 Kept context: {} tokens", short(now.kept)),
        format!(
            "  🛠️ Tools: {} tokens ({} defs + {} calls)",
            short(tools),
            short(now.definitions),
            short(now.calls)
        ),
        format!("  📊 Total: {}", of_budget(now.total(), budget)),
    ]
    .join("\n")
}

fn of_budget(tokens: u64, budget: u64) -> String {
    format!("{}/{} ({}%)", short(tokens), short(budget), percent(tokens, budget))
}

/// Percent, rounded half up.
fn percent(part: u64, whole: u64) -> u64 {
    (part * 200 + whole).checked_div(whole * 2).unwrap_or(0)
}

/// `300`, `2.1k`, `150k`: thousands with one decimal place, rounded half up; a
/// zero after the point is left out.
fn short(tokens: u64) -> String {
    if tokens < 1_000 {
        return tokens.to_string();
    }
    let tenths = (tokens + 50) / 100;
    match (tenths / 10, tenths % 10) {
        (whole, 0) => format!("{whole}k"),
        (whole, tenth) => format!("{whole}.{tenth}k"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::context::{Context, EntryId, InsertAt, Op, Recording};
    use crate::testkit::{Talk, words};
    use recap_core::model::{Role, ToolDefinition};

    /// Seed 002: notification format: tool pruning, its numbers to the letter
    #[test]
    fn the_pruning_notice_is_the_seeds() {
        let expected =
            "🔧 Tool outputs pruned (12.4k → 2.1k, -83%)\n  📊 Context: 18.5k/150k (12%)";
        assert_eq!(pruned(12_400, 2_100, 18_500, 150_000), expected);
    }

    /// Seed 002: notification format: full compaction, its numbers to the letter
    #[test]
    fn the_compaction_notice_is_the_seeds() {
        let now =
            Makeup { system: 1_800, definitions: 1_100, summary: 3_200, kept: 2_700, calls: 300 };
        let expected = "⚙️ Compacted (157k → 9.1k)\n  🔧 System: 1.8k tokens\n  \
                        📝 Summary: 3.2k tokens\n  💬 Kept context: 2.7k tokens\n  \
                        🛠️ Tools: 1.4k tokens (1.1k defs + 300 calls)\n  \
                        📊 Total: 9.1k/150k (6%)";
        assert_eq!(compacted(157_000, now, 150_000), expected);
    }

    #[test]
    fn thousands_have_one_decimal_unless_zero() {
        let shown = [0, 999, 1_000, 1_049, 1_050, 12_350, 99_960, 156_849].map(short);
        assert_eq!(shown, ["0", "999", "1k", "1k", "1.1k", "12.4k", "100k", "156.8k"]);
    }

    #[test]
    fn percent_rounds_half_up_and_handles_zero_total() {
        assert_eq!(
            [percent(1, 200), percent(1, 201), percent(5, 0), percent(9, 9)],
            [1, 0, 0, 100]
        );
    }

    /// Every token of the context belongs to one of five parts.
    #[test]
    fn context_parts_are_counted_separately_and_add_up() {
        let talk = Talk::new(&words(20)).user(&words(30)).assistant(&words(40)).user(&words(50));
        let talk = talk.calls(&[("c", "Read", json!({"path": "a"}))]).result("c", &words(60));
        let mut session = talk.assistant(&words(70)).end();
        let tool = ToolDefinition {
            name: "Read".to_owned(),
            description: "Reads a file.".to_owned(),
            parameters: json!({"type": "object"}),
        };
        session.preamble.tools = vec![tool];
        let mut context = Context::new(Recording::new(Arc::new(session), Arc::default()));
        (0..6).for_each(|_| context.append());
        let range = vec![EntryId::message(0), EntryId::message(1)];
        let into = vec![(Role::User, words(25))];
        context.apply(Op::Fold { range, into, at: InsertAt::Head }).unwrap();
        let makeup = Makeup::of(&context);
        // The summary; the question of 50 and the answer of 70; the call and its result of 60.
        assert_eq!((makeup.summary, makeup.kept), (25, 120));
        let call = context.weight_of(EntryId::message(3)).tokens;
        assert_eq!(makeup.calls, call + 60);
        // Beside 20 tokens of the system prompt there are the definitions of tools.
        assert_eq!(makeup.system + makeup.definitions, context.preamble_weight().tokens);
        assert!((20..24).contains(&makeup.system), "{makeup:?}");
        assert_eq!(makeup.total(), context.weight().tokens);
    }
}
