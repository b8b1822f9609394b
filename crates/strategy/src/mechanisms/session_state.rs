//! Session state: the oldest messages are folded into a structured state.
//!
//! Source: Arachne, "Session State Compression". Evaluated once per
//! user message, before the call to the model. When the compactor fails,
//! nothing is folded and nothing dropped: what is left is the FIFO stage of
//! the strategy above its own limit, and the fold is tried again next time.
//! Roles take turns after the synthetic pair, for which Arachne has it
//! ("PydanticAI's expected alternating message pattern").

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Deserialize;

use super::folding::{Cuts, set_note, task_messages};
use crate::compactor::{Asked, MESSAGES, SessionState, Task};
use crate::context::{Context, EntryId, InsertAt, Op};
use crate::mechanism::{
    Build, BuildError, Host, Mechanism, MechanismError, MechanismSpec, Outcome, StoredFile, Work,
};
use crate::prompt::Prompt;
use crate::state::StrategyState;
use recap_core::model::{MessageIndex, Role};
use recap_core::tokens::Weight;

/// Folds the oldest messages into a SessionState.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "session-state",
    summary: "Folds the oldest messages into a structured state, merged each time",
    uses_compactor: true,
    scales: &["max_tokens", "reserve"],
    build: |build| Ok(Box::new(Folder::new(build)?)),
    ..MechanismSpec::PLAIN
};

/// The note that explains to the model what a `<session_state>` block is.
const AWARENESS: &str = "session-state-awareness";

/// The note with the state, where it is in the system prompt.
const STATE_NOTE: &str = "session-state";

/// The assistant's message of the synthetic pair.
const ACKNOWLEDGED: &str = "Understood.";

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Prompt for the first fold.
    prompt: String,
    /// Prompt for folding into a state that exists.
    merge_prompt: String,
    /// Note that is always in the system prompt.
    awareness_prompt: String,
    /// The position of the state.
    placement: Placement,
    /// Largest size of the first state: "output = structured JSON (~200-500 tokens)".
    max_tokens: u64,
    /// Size reserved for the state, and largest size of a merged one: "~200-800 tokens".
    reserve: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Placement {
    /// A user and assistant pair at the head of the history.
    History,
    /// A note in the system prompt.
    System,
}

#[derive(Clone)]
struct Folder {
    prompt: Prompt,
    merge_prompt: Prompt,
    awareness: String,
    parameters: Parameters,
    /// The state of the conversation; `None` until the first fold.
    state: Option<SessionState>,
    /// Id of the last message that it covers.
    through: Option<String>,
    /// The entries that carry it in the history.
    entries: Vec<EntryId>,
}

impl Folder {
    fn new(build: &Build<'_>) -> Result<Self, BuildError> {
        let parameters: Parameters = build.read()?;
        if parameters.max_tokens == 0 || parameters.max_tokens > parameters.reserve {
            return Err("`max_tokens` must be between 1 and `reserve`".into());
        }
        Ok(Self {
            prompt: build.prompt(&parameters.prompt, &["messages"])?,
            merge_prompt: build
                .prompt(&parameters.merge_prompt, &["previous_state", "messages"])?,
            awareness: build.prompt(&parameters.awareness_prompt, &[])?.source().trim().to_owned(),
            parameters,
            state: None,
            through: None,
            entries: Vec::new(),
        })
    }

    /// The stored entries that carry the state now.
    fn carriers(&self, context: &Context) -> Vec<EntryId> {
        self.entries.iter().copied().filter(|&id| context.contains(id)).collect()
    }

    /// The fewest oldest messages without which the rest, with the reserve,
    /// meets the target (how-it-works §17): "select oldest N messages (enough to
    /// get under 60%)". A call goes with its results; the current user message
    /// and the newest message stay. Where the assistant's message would come
    /// next, it is folded too, if a user's follows on it.
    fn oldest(&self, context: &Context, host: &Host<'_>) -> Vec<EntryId> {
        let Some(believed) = host.believed else { return Vec::new() };
        let excess = (believed + self.parameters.reserve).saturating_sub(host.target);
        let mut removed = self.carried_size(context, host);
        let current = context.exchanges().last().copied();
        let cuts = Cuts::of(context);
        let mut stored = context.stored().filter_map(EntryId::index).peekable();
        let (mut oldest, mut whole, mut enough) = (Vec::new(), 0, false);
        while let Some(index) = stored.next() {
            let Some(&next) = stored.peek() else { break };
            if Some(index) != current {
                let id = EntryId::message(index);
                removed += size(context, host, id);
                oldest.push(id);
            }
            if oldest.len() == whole || !cuts.is_whole(next) {
                continue;
            }
            let answered = is_assistants(context, current.filter(|&at| at <= index).or(Some(next)));
            if !(enough && answered) {
                whole = oldest.len();
            }
            if enough || removed >= excess && !answered {
                break;
            }
            enough = removed >= excess;
        }
        oldest.truncate(whole);
        oldest
    }

    /// The size of the old state, which the new one replaces.
    fn carried_size(&self, context: &Context, host: &Host<'_>) -> u64 {
        match self.parameters.placement {
            Placement::History => {
                self.carriers(context).into_iter().map(|id| size(context, host, id)).sum()
            }
            Placement::System => {
                let note = context.notes().find(|(key, _)| *key == STATE_NOTE);
                let counter = &context.recording().counter;
                note.map_or(0, |(_, text)| host.size(Weight::of_text("system", text, counter)))
            }
        }
    }

    fn task(&self, context: &Context, range: &[EntryId]) -> Task {
        let messages = MESSAGES.to_owned();
        let previous = self.state.clone();
        let (prompt, bound) = match &previous {
            None => {
                let values = BTreeMap::from([("messages", messages)]);
                (self.prompt.render(&values), self.parameters.max_tokens)
            }
            Some(state) => {
                let values =
                    BTreeMap::from([("previous_state", json(state)), ("messages", messages)]);
                (self.merge_prompt.render(&values), self.parameters.reserve)
            }
        };
        Task {
            prompt,
            messages: task_messages(context, range),
            max_tokens: bound.saturating_sub(frame_tokens(context)).max(1),
            asked: Asked::SessionState { previous },
        }
    }

    fn place(
        &mut self,
        context: &mut Context,
        mut range: Vec<EntryId>,
        state: &SessionState,
    ) -> Result<(), MechanismError> {
        let block = format!("<session_state>{}</session_state>", json(state));
        let carriers = self.carriers(context);
        let (into, at) = match self.parameters.placement {
            Placement::History => {
                let answered = is_assistants(context, first_kept(context, &range));
                let answer = (!answered).then(|| (Role::Assistant, ACKNOWLEDGED.to_owned()));
                ([(Role::User, block)].into_iter().chain(answer).collect(), InsertAt::Head)
            }
            Placement::System => {
                (vec![(Role::System, block)], InsertAt::Note(STATE_NOTE.to_owned()))
            }
        };
        range.splice(0..0, carriers);
        self.entries = context.apply(Op::Fold { range, into, at })?;
        Ok(())
    }
}

/// The first message that stays where these are folded.
fn first_kept(context: &Context, folded: &[EntryId]) -> Option<MessageIndex> {
    let last = folded.last().and_then(|id| id.index())?;
    let current = context.exchanges().last().copied().filter(|&at| at < last);
    current.or_else(|| context.stored().filter_map(EntryId::index).find(|&at| at > last))
}

fn is_assistants(context: &Context, message: Option<MessageIndex>) -> bool {
    let message = message.and_then(|at| context.original(EntryId::message(at)));
    message.is_some_and(|message| message.role == Role::Assistant)
}

/// A visible entry's size in the strategy's measure; 0 for a hidden one.
fn size(context: &Context, host: &Host<'_>, id: EntryId) -> u64 {
    if context.is_hidden(id) {
        return 0;
    }
    host.size(context.weight_of(id))
}

fn json(state: &SessionState) -> String {
    serde_json::to_string(state).expect("plain data serialises")
}

/// Tokens that the tags and the acknowledgement add to the state: two more than
/// counted separately, since a tag may merge with its neighbour otherwise.
fn frame_tokens(context: &Context) -> u64 {
    let counter = &context.recording().counter;
    counter.count("<session_state>")
        + counter.count("</session_state>")
        + counter.count(ACKNOWLEDGED)
        + 2
}

#[async_trait]
impl Mechanism for Folder {
    fn prepare(&mut self, work: Work<'_>) -> Result<(), MechanismError> {
        let Work { context, .. } = work;
        Ok(set_note(context, AWARENESS, Some(self.awareness.clone()))?)
    }

    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, shared, host } = work;
        let range = self.oldest(context, host);
        if range.is_empty() {
            return Ok(Outcome::default());
        }
        let state = match host.compactor.state(&self.task(context, &range)).await {
            Ok(state) => state,
            Err(error) => return Ok(Outcome::fell_back("fifo", error)),
        };
        let last = range.last().and_then(|id| id.index());
        self.place(context, range, &state)?;
        shared.boundary = last;
        let message = last.and_then(|i| context.original(EntryId::message(i)));
        self.through = message.map(|m| m.id.clone());
        self.state = Some(state);
        Ok(Outcome::default())
    }

    /// The two columns that Arachne adds to the conversation.
    fn stored(&self, context: &Context, _shared: &StrategyState) -> Vec<StoredFile> {
        let columns = serde_json::json!({
            "compressed_state": self.state,
            "compressed_at_message_id": self.through,
        });
        let id = &context.recording().session.id;
        vec![StoredFile::json(format!("conversations/{id}.json"), &columns)]
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value as Json, json};

    use crate::compactor::{Asked, MESSAGES, Task};
    use crate::context::EntryId;
    use crate::testkit::{OffShape, Rig, Scripted, Talk, words};
    use recap_core::model::Role;

    // What Arachne's design says.

    /// Exchanges of 1,000 and 1,500 tokens, then a last user message. With the
    /// preamble (3, and 115 of the awareness block), the size at the user messages is
    /// 1,118, 3,618, 6,118, 8,618 and, where nothing more was asked, 7,621 after
    /// three exchanges.
    fn long_talk(exchanges: usize) -> Talk {
        exchanges_of(Talk::new("Be brief."), exchanges).user("And now?")
    }

    fn exchanges_of(talk: Talk, exchanges: usize) -> Talk {
        (0..exchanges).fold(talk, |talk, _| talk.user(&words(1000)).assistant(&words(1500)))
    }

    fn rig(talk: Talk, compactor: Arc<Scripted>) -> Rig {
        Rig::new("arachne", &[], 10_000, talk, compactor)
    }

    fn state_of(rig: &Rig) -> Json {
        let (role, text) = rig.sent().swap_remove(0);
        assert_eq!(role, Role::User);
        let inner = text.strip_prefix("<session_state>").unwrap();
        serde_json::from_str(inner.strip_suffix("</session_state>").unwrap()).unwrap()
    }

    /// Seed 000: oldest N messages, enough to get under 60 %
    #[test]
    fn the_fewest_oldest_messages_are_folded() {
        // 7,621 > 7,000. To reach 6,000 with 800 reserved, 2,421 must go: the first
        // two messages have 2,500.
        let mut rig = rig(long_talk(3), Scripted::failing_at([]));
        rig.finish();
        assert_eq!(rig.ledger(), "ffvvvvv");
        assert_eq!(rig.sent().len(), 7);
        assert_eq!(rig.shared.boundary, Some(1));
        assert!(rig.context.weight().tokens <= 6_000);
    }

    /// The size of [`long_talk`] at its last user message, where nothing happens.
    fn size_of(talk: Talk) -> u64 {
        let mut rig = Rig::new("arachne", &[], 1_000_000, talk, Scripted::failing_at([]));
        rig.finish();
        assert!(!rig.ledger().contains('f'));
        rig.context.weight().tokens
    }

    /// Seed 000: total context > 70% of budget
    #[test]
    fn folds_above_70_percent_but_not_at_it() {
        let size = size_of(long_talk(3));
        let ledger = |window| {
            let compactor = Scripted::failing_at([]);
            let mut rig = Rig::new("arachne", &[], window, long_talk(3), compactor);
            rig.finish();
            rig.ledger()
        };
        // The smallest window of which the size is at most 70 %, and the next smaller.
        let window = (size * 10).div_ceil(7);
        assert_eq!(ledger(window), "vvvvvvv");
        assert!(ledger(window - 1).starts_with("ff"));
    }

    /// Seed 000: > 85%: hard FIFO fallback
    #[test]
    fn failed_fold_is_cut_only_above_85_percent() {
        let size = size_of(long_talk(3));
        let ledger = |window| {
            let compactor = Scripted::failing_at(0..9);
            let mut rig = Rig::new("arachne", &[], window, long_talk(3), compactor);
            rig.finish();
            rig.ledger()
        };
        let window = (size * 100).div_ceil(85);
        assert_eq!(ledger(window), "vvvvvvv");
        assert!(ledger(window - 1).starts_with("-v"));
    }

    /// Seed 000: enough to get under 60 %; a state of 200-800 tokens
    #[test]
    fn fold_leaves_60_percent_including_800_token_state() {
        let talk =
            (0..90).fold(Talk::new("S"), |talk, _| talk.user(&words(40)).assistant(&words(40)));
        let mut all = Rig::new("arachne", &[], 1_000_000, talk.clone(), Scripted::failing_at([]));
        let mut rig = rig(talk, Scripted::failing_at([]));
        while !rig.ledger().contains('f') {
            rig.feed(1);
            all.feed(1);
        }
        let folded = rig.ledger().matches('f').count();
        let size = |number: usize| all.context.weight_of(EntryId::message(number as u32)).tokens;
        let rest = all.context.weight().tokens - (0..folded).map(size).sum::<u64>();
        assert!(rest + 800 <= 6_000, "{rest} and the state");
        assert!(rest + size(folded - 1) + 800 > 6_000, "one message less is not enough");
    }

    /// Seed 000: enough to get under 60 %, not more
    #[test]
    fn messages_that_are_just_enough_are_folded_alone() {
        let all = size_of(long_talk(3));
        let ledger = |window| {
            let mut rig = Rig::new("arachne", &[], window, long_talk(3), Scripted::failing_at([]));
            rig.finish();
            rig.ledger()
        };
        // Without the first two messages, of 2,500 tokens, and with 800 for the state,
        // the rest is exactly 60 % of the window; and one token above 60 % of a smaller
        // one, where the assistant's message goes with the third.
        let rest = all - 2_500 + 800;
        let window = (rest * 10).div_ceil(6);
        assert_eq!(window * 6 / 10, rest);
        assert_eq!(ledger(window), "ffvvvvv");
        assert_eq!(ledger(window - 2), "ffffvvv");
    }

    /// Seed 000: the merged state takes the place of the old one
    #[test]
    fn second_fold_counts_the_whole_replaced_pair() {
        // After the first fold five messages are left beside the pair. An answer of
        // `answer` tokens and a question follow.
        let talk = |answer: usize| long_talk(3).assistant(&words(answer)).user("Go.");
        let mut first = rig(talk(2_000), Scripted::failing_at([]));
        first.feed(7);
        assert_eq!(first.ledger(), "ffvvvvv");
        let pair: u64 =
            first.context.visible().take(2).map(|id| first.context.weight_of(id).tokens).sum();
        let question = first.context.recording().sizes.messages[8].tokens;
        // The pair and the next two messages, of 2,500 tokens, are what must go.
        let believed = 6_000 - 800 + pair + 2_500;
        let answer = (believed - first.context.weight().tokens - question) as usize;
        let ledger = |answer| {
            let mut rig = rig(talk(answer), Scripted::failing_at([]));
            rig.finish();
            rig.ledger()
        };
        assert_eq!(ledger(answer), "ffffvvvvv");
        assert_eq!(ledger(answer + 1), "ffffffvvv");
    }

    /// Seed 000: oldest messages, not exchanges; the current user message is always sent
    #[test]
    fn agent_rounds_after_one_message_fold_before_overflow() {
        let round = |talk: Talk, n: usize| {
            let id: &str = Box::leak(format!("c{n}").into_boxed_str());
            talk.calls(&[(id, "Read", json!({"path": "a.rs"}))]).result(id, &words(900))
        };
        let talk = (0..16).fold(Talk::new("S").user("Fix the tests."), round).assistant("Done.");
        let mut rig = Rig::new("session-state", &[], 10_000, talk, Scripted::failing_at([]));
        for _ in 0..34 {
            rig.feed(1);
            assert!(rig.context.weight().tokens <= 8_000, "{}", rig.ledger());
        }
        let ledger = rig.ledger();
        assert!(ledger.starts_with("vff"), "what the user asked for stays: {ledger}");
        assert!(!ledger.contains('-'), "nothing is cut: {ledger}");
        let sent: Vec<String> = rig.sent().into_iter().map(|(_, text)| text).collect();
        assert!(sent[0].starts_with("<session_state>") && sent[2] == "Fix the tests.", "{sent:?}");
    }

    /// Seed 000: user message: `<session_state>{…}</session_state>`, assistant: Understood.
    #[test]
    fn state_is_a_literal_pair_at_head() {
        let mut rig = rig(long_talk(3), Scripted::failing_at([]));
        rig.finish();
        let state = r#"{"logos":["fact 0"],"pathos":[],"abstract":[],"conversation_summary":"They talked. It goes on."}"#;
        let sent = rig.sent();
        assert_eq!(sent[0], (Role::User, format!("<session_state>{state}</session_state>")));
        assert_eq!(sent[1], (Role::Assistant, "Understood.".to_owned()));
        assert_eq!(sent[6], (Role::User, "And now?".to_owned()));
    }

    /// Seed 000: optimize_context_window() runs when the user sends a message
    #[test]
    fn it_is_evaluated_once_per_user_message() {
        let read = |id: &'static str| [(id, "Read", json!({"path": "a.rs"}))];
        let talk = Talk::new("Be brief.").user("Go.").calls(&read("c1")).result("c1", &words(4000));
        let talk =
            talk.calls(&read("c2")).result("c2", &words(4500)).assistant("Done.").user("Next.");
        let mut rig = rig(talk, Scripted::failing_at([]));
        rig.feed(6);
        assert!(rig.context.weight().tokens > 8_500 && rig.outcomes.is_empty());
        rig.feed(1);
        // The first result, of 4,000 tokens, is enough; its call goes with it.
        assert_eq!(rig.ledger(), "fffvvvv");
        assert_eq!(rig.outcomes.len(), 1, "the fold left nothing for the FIFO");
    }

    /// Seed 000: very first message: no compression
    #[test]
    fn the_first_message_is_never_compressed() {
        let compactor = Scripted::failing_at([]);
        let mut rig = rig(Talk::new("S").user(&words(9_000)), Arc::clone(&compactor));
        rig.finish();
        assert_eq!((rig.ledger().as_str(), compactor.tasks().len()), ("v", 0));
    }

    /// Seed 000: the current user message stands last
    #[test]
    fn the_current_user_message_is_never_folded() {
        // Nothing short of everything meets the target; the last message stays all the same.
        let talk = exchanges_of(Talk::new("S"), 1).user(&words(6_500));
        let mut rig = rig(talk, Scripted::failing_at([]));
        rig.finish();
        assert_eq!(rig.ledger(), "ffv");
    }

    /// Seed 000: budgets of the window at 85 % (two readings)
    #[test]
    fn shares_of_the_budget_are_a_switch() {
        // 6,118 at the third user message: under 0.70 of the window, above 0.595 of it.
        let of_budget = [
            ("budget", "0.85"),
            ("1.when", "{ above = \"budget\", share = 0.70 }"),
            ("1.target", "{ of = \"budget\", share = 0.60 }"),
            ("2.when", "{ above = \"budget\", share = 0.85 }"),
        ];
        for (overrides, ledger) in [(&of_budget[..], "ffvvv"), (&[], "vvvvv")] {
            let talk = long_talk(3);
            let mut rig = Rig::new("arachne", overrides, 10_000, talk, Scripted::failing_at([]));
            rig.feed(5);
            assert_eq!(rig.ledger(), ledger);
        }
    }

    /// Seed 000: a failed call: graceful fallback to FIFO with a warning
    #[test]
    fn failed_fold_below_fifo_limit_is_just_retried() {
        let talk = long_talk(3).assistant("Wait.").user("Again?");
        let mut rig = rig(talk, Scripted::failing_at([0]));
        rig.feed(7);
        assert_eq!(rig.ledger(), "vvvvvvv");
        assert_eq!(rig.fallbacks(), [(0, "fifo".to_owned())]);
        assert_eq!(rig.shared.boundary, None);
        rig.finish();
        assert_eq!(rig.ledger(), "ffvvvvvvv");
        assert_eq!(rig.fallbacks().len(), 1);
    }

    /// Seed 000: above 85 % the FIFO cuts
    #[test]
    fn failed_fold_above_fifo_limit_leaves_fifo_cutting() {
        // 8,618 > 8,500: one message of 1,000 goes, for this turn.
        let mut rig = rig(long_talk(5), Scripted::failing_at([0]));
        rig.feed(7);
        assert_eq!(rig.ledger(), "-vvvvvv");
        assert_eq!(rig.fallbacks(), [(0, "fifo".to_owned())]);
        // What the FIFO hid may still be folded: it frees nothing, 4,918 must go. The
        // next four messages have 5,000, and after them the assistant's goes too.
        rig.feed(2);
        assert_eq!(rig.ledger(), "ffffffvvv");
    }

    /// Seed 000: an alternating message pattern, also where the FIFO cuts after the pair
    #[test]
    fn fifo_hides_the_pairs_answer_before_an_assistants_message() {
        let talk = exchanges_of(Talk::new("Be brief."), 3).user(&words(1000));
        let talk = talk.assistant(&words(5000)).user("And now?");
        let mut rig = rig(talk, Scripted::failing_at([1]));
        rig.feed(7);
        assert_eq!(rig.ledger(), "ffffvvv");
        assert_eq!(rig.sent()[1], (Role::Assistant, "Understood.".to_owned()));
        // 8,656 > 8,500, the pair among them: the third question goes.
        rig.finish();
        assert_eq!(rig.ledger(), "ffff-vvvv");
        let roles: Vec<Role> = rig.sent().into_iter().map(|(role, _)| role).collect();
        use Role::{Assistant, User};
        assert_eq!(
            roles,
            [User, Assistant, User, Assistant, User],
            "the state, and no answer to it"
        );
    }

    /// Seed 000: constrained decoding gives the four fields
    #[test]
    fn a_reply_in_another_shape_is_a_failure() {
        let mut rig = Rig::new("arachne", &[], 10_000, long_talk(3), Arc::new(OffShape));
        rig.finish();
        assert_eq!(rig.ledger(), "vvvvvvv");
        let reason = &rig.outcomes[0].1.fallback.as_ref().unwrap().reason;
        assert!(reason.contains("a SessionState was asked for"), "{reason}");
    }

    /// Seed 000: no message loss whichever call fails
    #[test]
    fn the_context_holds_whole_at_every_failing_call() {
        for failing in 0..4 {
            let compactor = Scripted::failing_at([failing]);
            let mut rig = rig(long_talk(9), Arc::clone(&compactor));
            rig.finish();
            let calls = compactor.tasks().len();
            assert!(calls >= 3, "{calls} calls");
            let expected: Vec<_> =
                (failing < calls).then(|| (0, "fifo".to_owned())).into_iter().collect();
            assert_eq!(rig.fallbacks(), expected, "call {failing} of {calls} fails");
            assert!(rig.ledger().ends_with('v'));
        }
    }

    /// Seed 000: a merged SessionState replaces the previous one
    #[test]
    fn a_state_that_exists_is_merged_and_replaced() {
        // At the fourth user message 8,618: 3,418 must go, which three messages have;
        // the fourth is the assistant's. At the sixth 7,656: the pair and two messages.
        let compactor = Scripted::failing_at([]);
        let mut rig = rig(long_talk(5), Arc::clone(&compactor));
        rig.feed(7);
        assert_eq!(rig.ledger(), "ffffvvv");
        rig.finish();
        assert_eq!(rig.ledger(), "ffffffvvvvv");
        assert_eq!(rig.sent().len(), 7, "one pair, not two");
        assert_eq!(state_of(&rig)["logos"], json!(["fact 0", "fact 1"]));
        let Task { prompt, messages, max_tokens, asked: Asked::SessionState { previous } } =
            &compactor.tasks()[1]
        else {
            panic!("a SessionState is asked for");
        };
        // 800 less the tags and the acknowledgement, and two for what merges with its neighbour.
        let count = |text| rig.context.recording().counter.count(text);
        let frame = count("<session_state>") + count("</session_state>") + count("Understood.");
        assert_eq!(max_tokens + frame + 2, 800);
        assert_eq!(previous.as_ref().unwrap().logos, ["fact 0"]);
        assert_eq!(messages.len(), 2, "the pair is in the prompt, not among the messages");
        let seed = r#"You are a conversation state compiler. You have an existing session state
from earlier compression and new messages to incorporate.

<previous_state>
{existing SessionState JSON}
</previous_state>

<new_messages>
{messages to compress}
</new_messages>

Produce a MERGED SessionState that combines the previous state with new
information. Update fields that have changed, keep fields still relevant,
drop anything contradicted or no longer applicable. Do not duplicate entries."#;
        let state = serde_json::to_string(previous.as_ref().unwrap()).unwrap();
        let seed = seed.replace("{existing SessionState JSON}", &state);
        assert_eq!(prompt.trim(), seed.replace("{messages to compress}", MESSAGES));
    }

    /// Seed 000: the initial prompt
    #[test]
    fn the_first_prompt_is_the_seeds() {
        let compactor = Scripted::failing_at([]);
        let mut rig = rig(long_talk(3), Arc::clone(&compactor));
        rig.finish();
        let Task { prompt, max_tokens, asked: Asked::SessionState { previous }, .. } =
            &compactor.tasks()[0]
        else {
            panic!("a SessionState is asked for");
        };
        let seed = r#"You are a conversation state compiler. Analyze the following conversation
and produce a SessionState object.

Extract:
- "logos": Hard facts established - user details, decisions made, technical
  constraints, code discussed, specific values/names. Zero loss tolerance.
  When in doubt, include it.
- "pathos": Current emotional tone and direction (improving/stable/worsening),
  active metaphors or running jokes, communication style preferences,
  implicit needs.
- "abstract": Shared intellectual frameworks, concepts the user clearly
  understands (these should not be re-explained), agreed-upon premises.
- "conversation_summary": 2-3 sentence narrative of what happened and where
  things left off."#;
        let behind = prompt.strip_prefix(seed).unwrap_or_else(|| panic!("{prompt}"));
        assert_eq!(behind.trim(), MESSAGES, "nothing but the conversation follows");
        assert_eq!(*previous, None);
        // 500 less the tags and the acknowledgement, and two for what merges with its neighbour.
        let count = |text| rig.context.recording().counter.count(text);
        let frame = count("<session_state>") + count("</session_state>") + count("Understood.");
        assert_eq!(max_tokens + frame + 2, 500);
    }

    /// Seed 000: the awareness block, always
    #[test]
    fn awareness_block_is_permanent_and_exceeds_seed_size() {
        let mut rig = rig(long_talk(3), Scripted::failing_at([]));
        let before = rig.notes();
        let block = &before["session-state-awareness"];
        let seed = "### Compressed Memory
When you see a <session_state> block at the start of conversation history,
it contains compressed context from earlier in this conversation. Use it as
follows:
- `logos`: Hard facts (user details, decisions, constraints). Treat as ground truth.
- `pathos`: Emotional tone and active metaphors. Match your tone to this state.
- `abstract`: Shared intellectual context. Do not re-explain concepts listed here.

Continue the conversation naturally as if you remember everything. Never
reference the compression or acknowledge that context was compressed.";
        assert_eq!(block, seed);
        let tokens = rig.context.recording().counter.count(block);
        assert_eq!(tokens, 115, "the seed says about 50");
        rig.finish();
        assert_eq!(rig.notes(), before);
    }

    /// Seed 000: a system prompt that changes has no interaction
    #[test]
    fn a_system_prompt_may_change_in_mid_session() {
        let talk = exchanges_of(Talk::new("Be brief."), 2).system("Be long and kind.");
        let mut rig = rig(exchanges_of(talk, 1).user("And now?"), Scripted::failing_at([]));
        rig.finish();
        assert_eq!(rig.ledger(), "ffvvvvv");
        assert_eq!(rig.notes().len(), 1);
    }

    /// Seed 000: calls and results stay together (ours)
    #[test]
    fn a_call_is_never_parted_from_its_result() {
        // The result comes after the user spoke again, so cutting there is refused:
        // the first message is not enough, all up to the result are. The assistant's
        // message after it goes too.
        let talk =
            Talk::new("S").user(&words(1000)).calls(&[("c1", "Bash", json!({"command": "x"}))]);
        let talk =
            talk.user("Wait.").result("c1", &words(3000)).assistant(&words(3500)).user("And?");
        let mut rig = rig(talk, Scripted::failing_at([]));
        rig.finish();
        assert_eq!(rig.ledger(), "fffffv");
    }

    /// Seed 000: the alternative placement in the system prompt
    #[test]
    fn system_placement_keeps_state_in_note_covering_folds() {
        let talk = long_talk(5);
        let mut rig = Rig::new("session-state-system", &[], 10_000, talk, Scripted::failing_at([]));
        rig.finish();
        assert_eq!(rig.ledger(), "ffffffvvvvv");
        assert_eq!(rig.sent().len(), 5, "no synthetic pair");
        let note = &rig.notes()["session-state"];
        assert!(note.starts_with(r#"<session_state>{"logos":["fact 0","fact 1"]"#), "{note}");
    }
}
