//! Summary: everything except a tail is replaced by one summary, as production
//! agents do it.
//!
//! The strategies say which agent does what, with their sources. They differ in
//! what stays verbatim ([`tail`], `keep_first`, `keep_user_messages`), in what
//! the summariser is sent, in what happens to an earlier summary, and in a
//! second call that checks the first. Where a call fails, the context is not
//! changed and the failure is recorded.

mod sections;
mod tail;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use serde::Deserialize;

use super::folding::{Cuts, Request, headings, live, task_messages};
use super::mask::{Clip, clipped};
use crate::compactor::{Asked, CompactorError, MESSAGES, Task, TaskMessage};
use crate::context::{Context, EntryId, InsertAt, Op, SentText};
use crate::mechanism::{
    Build, BuildError, Fallback, Host, Mechanism, MechanismError, MechanismSpec, Outcome, Work,
};
use crate::prompt::Prompt;
use recap_core::model::Role;
use recap_core::tokens::Weight;
use sections::merged;
use tail::Tail;

/// Folds all but a tail into a summary.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "summary",
    summary: "Folds all but a tail, and the user's newest words, into one summary",
    uses_compactor: true,
    scales: &[
        "max_tokens",
        "max_summary",
        "keep_user_messages",
        "keep.tokens",
        "keep.at_least",
        "keep.at_most",
        "tool_text",
    ],
    build: |build| Ok(Box::new(Summary::new(build)?)),
    ..MechanismSpec::PLAIN
};

/// The summary that stands.
#[derive(Clone, Debug, Default, PartialEq)]
struct Standing {
    /// The summary without its marker.
    text: Option<String>,
    /// The entries that carry it, opening and reply included.
    entries: Vec<EntryId>,
    /// Shortened user messages that were too long to stay.
    clipped: Vec<EntryId>,
    /// Whether a summary was refused, so that no more are tried.
    given_up: bool,
}

#[derive(Clone)]
struct Summary {
    prompt: Prompt,
    update_prompt: Option<Prompt>,
    check_prompt: Option<Prompt>,
    parameters: Parameters,
    standing: Standing,
}

/// What to do with the entries before the tail.
struct Plan {
    /// The entries that the summary replaces.
    range: Vec<EntryId>,
    /// A user message that is shortened to its two ends.
    clip: Option<(EntryId, String)>,
}

impl Summary {
    fn new(build: &Build<'_>) -> Result<Self, BuildError> {
        let parameters = Parameters::read(build)?;
        let prompt = |file: &Option<String>, allowed: &[&str]| {
            file.as_ref().map(|file| build.prompt(file, allowed)).transpose()
        };
        Ok(Self {
            prompt: build.prompt(&parameters.prompt, &["messages"])?,
            update_prompt: prompt(&parameters.update_prompt, &["messages"])?,
            check_prompt: prompt(&parameters.check_prompt, &["messages", "draft"])?,
            parameters,
            standing: Standing::default(),
        })
    }

    /// Whether enough responses are stored for a fold. This avoids walking over
    /// the conversation in a stage that is always run.
    fn may_have_enough(&self, context: &Context) -> bool {
        let fold = self.parameters.fold_responses;
        let need = fold + self.parameters.keep.responses.unwrap_or(0);
        let is_response = |id: &EntryId| {
            context.original(*id).is_some_and(|message| message.role == Role::Assistant)
        };
        fold == 0 || context.stored().filter(is_response).take(need).count() == need
    }

    /// Everything between the first messages and the tail, without the user's
    /// newest messages; `None` where nothing of it is new, or too little.
    fn plan(&self, context: &Context, host: &Host<'_>) -> Option<Plan> {
        if !self.may_have_enough(context) {
            return None;
        }
        let bound = self.parameters.max_summary.unwrap_or(self.parameters.max_tokens);
        let cut = self.parameters.keep.cut(context, host, bound);
        let first = Cuts::of(context).back_to_whole(self.parameters.keep_first.min(cut));
        let is_old = |id: &EntryId| id.index().is_none_or(|index| (first..cut).contains(&index));
        let mut range: Vec<EntryId> = context.stored().filter(is_old).collect();
        let (users, clip) = self.users(context, host, &range);
        range.retain(|id| !users.contains(id));
        let new = |id: &&EntryId| id.index().is_some();
        let role = |id: &EntryId| context.original(*id).map(|message| message.role);
        let responses = range.iter().filter(|id| role(id) == Some(Role::Assistant)).count();
        let enough = range.iter().any(|id| new(&id)) && responses >= self.parameters.fold_responses;
        enough.then_some(Plan { range, clip })
    }

    /// The user's messages that stay, newest first within the bound, and the
    /// first one that is too long, shortened.
    fn users(
        &self,
        context: &Context,
        host: &Host<'_>,
        range: &[EntryId],
    ) -> (BTreeSet<EntryId>, Option<(EntryId, String)>) {
        let mut room = self.parameters.keep_user_messages;
        let mut users = BTreeSet::new();
        let is_users = |id: &&EntryId| {
            let opens = context.original(**id).is_some_and(|message| message.opens_exchange());
            opens || self.standing.clipped.contains(id)
        };
        for &id in range.iter().rev().filter(is_users) {
            let size = host.size(context.weight_of(id));
            if room == 0 {
                break;
            }
            if size > room {
                let text = context.entry(id).and_then(|entry| ends(entry.text, room));
                return (users, text.map(|text| (id, text)));
            }
            users.insert(id);
            room -= size;
        }
        (users, None)
    }

    fn messages(&self, context: &Context, range: &[EntryId]) -> Vec<TaskMessage> {
        let own = &self.standing.entries;
        let merges = self.parameters.merge == Merge::Sections;
        let shown: Vec<EntryId> =
            range.iter().copied().filter(|id| !(merges && own.contains(id))).collect();
        let mut messages = task_messages(context, &shown);
        let Some(characters) = self.parameters.tool_text else { return messages };
        let counter = &context.recording().counter;
        for message in messages.iter_mut().filter(|message| message.role == Role::Tool) {
            let clip = Clip { head: characters, tail: 0 };
            if let Some(text) = clipped(&message.text, clip, "[shortened]") {
                message.tokens = counter.count(&text);
                message.text = SentText::new(text);
            }
        }
        messages
    }

    async fn ask(
        &self,
        prompt: &Prompt,
        draft: &str,
        messages: Vec<TaskMessage>,
        context: &Context,
        host: &Host<'_>,
    ) -> Result<String, CompactorError> {
        let live = match self.parameters.request {
            Request::Prefix => Some(live(context, host.compactor)),
            Request::Fresh => None,
        };
        let values =
            BTreeMap::from([("messages", MESSAGES.to_owned()), ("draft", draft.to_owned())]);
        let task = Task {
            prompt: prompt.render(&values),
            messages,
            max_tokens: self.parameters.max_tokens,
            asked: Asked::Continuation { headings: headings(&self.prompt), live },
        };
        host.compactor.text(&task).await
    }

    /// One call, or two where a second one checks the first.
    async fn summarise(
        &self,
        context: &Context,
        host: &Host<'_>,
        range: &[EntryId],
    ) -> Result<String, CompactorError> {
        let messages = self.messages(context, range);
        let stands = self.standing.text.is_some();
        let prompt = self.update_prompt.as_ref().filter(|_| stands).unwrap_or(&self.prompt);
        let draft = self.ask(prompt, "", messages.clone(), context, host).await?;
        let Some(check) = &self.check_prompt else { return Ok(draft) };
        let checked = self.ask(check, &draft, messages, context, host).await?;
        Ok(if checked.trim().is_empty() { draft } else { checked })
    }

    /// The entries that replace the range, and the summary in them.
    fn entries(&self, context: &Context, reply: &str) -> (String, Vec<(Role, String)>) {
        let before = self.standing.text.as_deref().unwrap_or_default();
        let counter = &context.recording().counter;
        let text = match self.parameters.max_summary {
            Some(most) => merged(before, reply, most, counter),
            None => reply.trim().to_owned(),
        };
        let summary = format!("{}\n\n{text}", self.parameters.marker);
        let opening = self.parameters.opening.clone().map(|text| (Role::User, text));
        let answer = self.parameters.reply.clone().map(|text| (Role::Assistant, text));
        let parts = [opening, Some((self.parameters.role, summary)), answer];
        (text, parts.into_iter().flatten().collect())
    }

    /// Whether the new entries are larger than what they replace.
    fn is_larger(context: &Context, host: &Host<'_>, plan: &Plan, into: &[(Role, String)]) -> bool {
        let counter = &context.recording().counter;
        let new = into.iter().map(|(role, text)| Weight::of_text(role.as_str(), text, counter));
        let new: u64 = new.map(|weight| host.size(weight)).sum();
        let old: u64 = plan.range.iter().map(|&id| host.size(context.weight_of(id))).sum();
        new > old
    }

    fn place(
        &mut self,
        context: &mut Context,
        plan: Plan,
        (text, into): (String, Vec<(Role, String)>),
    ) -> Result<(), MechanismError> {
        let Plan { mut range, clip } = plan;
        if let Some((id, ends)) = clip {
            let single =
                Op::Fold { range: vec![id], into: vec![(Role::User, ends)], at: InsertAt::InPlace };
            self.standing.clipped.extend(context.apply(single)?);
            range.retain(|&other| other != id);
        }
        if let Some(&last) = range.last() {
            // The user's messages stay before the summary.
            let follows = self.parameters.keep_user_messages > 0;
            let at = if follows { InsertAt::Behind(last) } else { InsertAt::InPlace };
            self.standing.entries = context.apply(Op::Fold { range, into, at })?;
            self.standing.text = Some(text);
        }
        self.standing.clipped.retain(|&id| context.contains(id));
        Ok(())
    }
}

/// The two ends of a text, together about `tokens` tokens of four characters
/// each; `None` for a shorter text.
fn ends(text: &str, tokens: u64) -> Option<String> {
    let half = (tokens as usize) * 2;
    let clip = Clip { head: half, tail: half };
    clipped(text, clip, "[…]")
}

#[async_trait]
impl Mechanism for Summary {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, shared, host } = work;
        self.standing.entries.retain(|&id| context.contains(id));
        if self.standing.entries.is_empty() {
            // Another stage has dropped the summary.
            self.standing.text = None;
        }
        let Some(plan) = self.plan(context, host).filter(|_| !self.standing.given_up) else {
            return Ok(Outcome::default());
        };
        let reply = match self.summarise(context, host, &plan.range).await {
            Ok(reply) => reply,
            Err(error) => return Ok(Outcome::fell_back(Fallback::NONE, error)),
        };
        let entries = self.entries(context, &reply);
        if self.parameters.refuse_larger && Self::is_larger(context, host, &plan, &entries.1) {
            self.standing.given_up = true;
            let reason = "the summary is larger than what it sums up";
            return Ok(Outcome::fell_back(Fallback::NONE, reason));
        }
        let newest = plan.range.iter().filter_map(|id| id.index()).max();
        shared.boundary = newest.or(shared.boundary);
        self.place(context, plan, entries)?;
        Ok(Outcome::default())
    }
}

// The parameters of a summary in a strategy.

/// The parameters as written.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    pub prompt: String,
    /// The prompt used instead of `prompt` once there is a summary.
    pub update_prompt: Option<String>,
    /// The prompt of a second call, which gets the same messages and `{{draft}}`.
    pub check_prompt: Option<String>,
    pub request: Request,
    /// Largest size of a reply, in tokens.
    pub max_tokens: u64,
    /// The newest messages that stay.
    #[serde(default)]
    pub keep: Tail,
    /// Number of recorded messages at the beginning that stay.
    #[serde(default)]
    pub keep_first: u32,
    /// Tokens of the newest user messages among the rest that stay.
    #[serde(default)]
    pub keep_user_messages: u64,
    /// Nothing is done unless at least this many responses of the agent would be folded.
    #[serde(default)]
    pub fold_responses: usize,
    /// Characters of each tool output that the summariser is sent.
    pub tool_text: Option<usize>,
    #[serde(default)]
    pub merge: Merge,
    /// Largest size of a summary merged by sections, in tokens.
    pub max_summary: Option<u64>,
    /// The role of the summary's message.
    #[serde(default = "users")]
    pub role: Role,
    /// First line of the summary.
    #[serde(default = "marker")]
    pub marker: String,
    /// A user's message before the summary, if any.
    pub opening: Option<String>,
    /// The agent's answer to the summary, if any.
    pub reply: Option<String>,
    /// Whether a summary that does not shrink the context is refused, and none
    /// is tried from then on.
    #[serde(default)]
    pub refuse_larger: bool,
}

impl Parameters {
    /// Refuses combinations that make no sense.
    fn read(build: &Build<'_>) -> Result<Self, BuildError> {
        let parameters: Parameters = build.read()?;
        parameters.keep.check()?;
        if parameters.max_tokens == 0 {
            return Err("`max_tokens` must be at least 1".into());
        }
        if parameters.request == Request::Prefix && parameters.tool_text.is_some() {
            return Err("`tool_text` shortens messages, and a prefix is sent as it is".into());
        }
        if parameters.role == Role::Tool {
            return Err("role: a summary is no result of a tool".into());
        }
        if (parameters.merge == Merge::Sections) != parameters.max_summary.is_some() {
            return Err("`merge = \"sections\"` and `max_summary` go together".into());
        }
        Ok(parameters)
    }
}

fn users() -> Role {
    Role::User
}

fn marker() -> String {
    "[Conversation summary]".to_owned()
}

/// What happens to the existing summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Merge {
    /// It is the oldest of the messages that the summariser gets.
    #[default]
    Rewrite,
    /// Only new messages are summarised, and the result is added to its sections.
    Sections,
}
