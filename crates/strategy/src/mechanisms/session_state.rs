//! Session state: the oldest messages are folded into a structured state.
//!
//! Source: Arachne, "Session State Compression". Evaluated once per
//! user message, before the call to the model. When the compactor fails,
//! nothing is folded and nothing dropped: what is left is the FIFO stage of
//! the strategy above its own limit, and the fold is tried again next time.
//! Roles take turns behind the synthetic pair, for which Arachne has it
//! ("PydanticAI's expected alternating message pattern").

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::folding::{Cuts, in_shape, set_note, task_messages};
use crate::compactor::{MESSAGES, Produced, SessionState, Task};
use crate::context::{Context, EntryId, InsertAt, Op};
use crate::host::{Fallback, Host, Mechanism, MechanismError, Outcome, StoredFile, Work, restored};
use crate::mechanism::{Build, BuildError, MechanismSpec};
use crate::prompt::Prompt;
use crate::state::StrategyState;
use recap_core::model::{MessageIndex, Role};
use recap_core::tokens::Weight;

/// Folds the oldest messages into a SessionState.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "session-state",
    summary: "Folds the oldest messages into a structured state, merged each time",
    uses_compactor: true,
    is_view: false,
    scales: &["max_tokens", "reserve"],
    build: |build| Ok(Box::new(Folder::new(build)?)),
};

/// The note that explains to the model what a `<session_state>` block is.
const AWARENESS: &str = "session-state-awareness";

/// The note with the state, where it is in the system prompt.
const STATE_NOTE: &str = "session-state";

/// The assistant's message of the synthetic pair.
const ACKNOWLEDGED: &str = "Understood.";

#[derive(Deserialize)]
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

/// The state that is saved with the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Folded {
    /// Null until the first fold.
    compressed_state: Option<SessionState>,
    /// Id of the last message that it covers.
    compressed_at_message_id: Option<String>,
    /// The entries that carry it in the history.
    entries: Vec<EntryId>,
}

struct Folder {
    prompt: Prompt,
    merge_prompt: Prompt,
    awareness: String,
    parameters: Parameters,
    folded: Folded,
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
            folded: Folded::default(),
        })
    }

    /// The stored entries that carry the state now.
    fn carriers(&self, context: &Context) -> Vec<EntryId> {
        self.folded.entries.iter().copied().filter(|&id| context.contains(id)).collect()
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
        let previous = self.folded.compressed_state.clone();
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
        Task::SessionState {
            prompt,
            messages: task_messages(context, range),
            previous,
            max_tokens: bound.saturating_sub(frame_tokens(context)).max(1),
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
        self.folded.entries = context.apply(Op::Fold { range, into, at })?;
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
        let mut outcome = Outcome::default();
        let range = self.oldest(context, host);
        if range.is_empty() {
            return Ok(outcome);
        }
        let task = self.task(context, &range);
        let reply = host.compactor.run(&task).await;
        let state = in_shape(reply, "SessionState", |produced| match produced {
            Produced::SessionState(state) => Some(state),
            _ => None,
        });
        match state {
            Ok(state) => {
                let last = range.last().and_then(|id| id.index());
                self.place(context, range, &state)?;
                shared.boundary = last;
                let message = last.and_then(|i| context.original(EntryId::message(i)));
                self.folded.compressed_at_message_id = message.map(|m| m.id.clone());
                self.folded.compressed_state = Some(state);
            }
            Err(error) => {
                outcome.fallback =
                    Some(Fallback { to: "fifo".to_owned(), reason: error.to_string() });
            }
        }
        Ok(outcome)
    }

    /// The two columns that Arachne adds to the conversation.
    fn stored(&self, context: &Context, _shared: &StrategyState) -> Vec<StoredFile> {
        let Folded { compressed_state, compressed_at_message_id, .. } = &self.folded;
        let columns = serde_json::json!({
            "compressed_state": compressed_state,
            "compressed_at_message_id": compressed_at_message_id,
        });
        let content = serde_json::to_vec_pretty(&columns).expect("plain data serialises");
        let id = &context.recording().session.id;
        vec![StoredFile { path: format!("conversations/{id}.json"), content }]
    }

    fn state(&self) -> Json {
        serde_json::to_value(&self.folded).expect("plain data serialises")
    }

    fn restore(&mut self, state: Json) -> Result<(), MechanismError> {
        self.folded = restored(SPEC.name, state)?;
        Ok(())
    }
}
