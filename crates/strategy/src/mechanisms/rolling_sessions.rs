//! Rolling sessions: each compaction closes the session with a summary of its
//! own and opens a new one.
//!
//! Source: Lis, "Context Compaction & Sessions". Summaries are never
//! merged: only the one of the session before is injected, and what is older
//! leaves the context.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::folding::{Cuts, headings, kept_from, recorded_before, task_messages};
use super::notices::{Makeup, compacted};
use crate::compactor::{Asked, CompactorError, MESSAGES, Task};
use crate::context::{Context, EntryId, InsertAt, Op, OpError};
use crate::mechanism::{
    Build, BuildError, Fallback, Host, Mechanism, MechanismError, MechanismSpec, Outcome,
    StoredFile, Work,
};
use crate::prompt::Prompt;
use crate::state::{ChainLink, PastSession, Rest, StrategyState};
use recap_core::model::{MessageIndex, Role};

/// Closes sessions and opens new ones.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "rolling-sessions",
    summary: "Closes the session with a summary of its own and goes on in a new one",
    uses_compactor: true,
    scales: &["keep_recent", "max_tokens"],
    build: |build| Ok(Box::new(action(build)?)),
    ..MechanismSpec::PLAIN
};

#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case", deny_unknown_fields)]
enum Parameters {
    /// Summarises all but the newest messages, which go to the new session.
    Compact {
        prompt: String,
        /// Newest tokens that stay verbatim.
        keep_recent: u64,
        /// Largest size of the reply, in tokens.
        max_tokens: u64,
        /// Whether the user is told.
        #[serde(default = "super::yes")]
        notify: bool,
    },
    /// Leaves all messages to the old session (`/new`, `/clear`).
    New {},
    /// Writes the summaries that closed sessions still lack.
    Summarise { prompt: String, max_tokens: u64 },
    /// Goes back to a closed session (`/resume`).
    Resume {
        /// Reopens it completely up to this share of the budget.
        within: f64,
    },
}

/// The action of a stage.
#[derive(Clone)]
enum Action {
    Compact { writer: Writer, keep_recent: u64, notify: bool },
    New,
    Summarise { writer: Writer },
    Resume { within: f64 },
}

fn action(build: &Build<'_>) -> Result<Action, BuildError> {
    let writer = |prompt: &str, max_tokens| match max_tokens {
        0 => Err(BuildError::from("`max_tokens` must be at least 1")),
        _ => Ok(Writer { prompt: build.prompt(prompt, &["messages"])?, max_tokens }),
    };
    Ok(match build.read()? {
        Parameters::Compact { prompt, keep_recent, max_tokens, notify } => {
            Action::Compact { writer: writer(&prompt, max_tokens)?, keep_recent, notify }
        }
        Parameters::New {} => Action::New,
        Parameters::Summarise { prompt, max_tokens } => {
            Action::Summarise { writer: writer(&prompt, max_tokens)? }
        }
        Parameters::Resume { within } if within > 0.0 && within <= 1.0 => Action::Resume { within },
        Parameters::Resume { .. } => {
            return Err("`within` is a share of the budget, such as 0.7".into());
        }
    })
}

/// The heading of the summary of the session before.
const PARENT: &str = "[Summary of the previous session]";

/// The heading of a reopened session's own summary.
const OWN: &str = "[Summary of this session]";

/// Replaces entries by a summary after the other summaries.
fn fold(
    context: &mut Context,
    range: Vec<EntryId>,
    marker: &str,
    summary: &str,
) -> Result<(), OpError> {
    let into = vec![(Role::User, format!("{marker}\n\n{summary}"))];
    context.apply(Op::Fold { range, into, at: InsertAt::Head })?;
    Ok(())
}

/// The summaries in the context: all stored entries that were not recorded.
fn summaries(context: &Context) -> Vec<EntryId> {
    context.stored().filter(|id| id.index().is_none()).collect()
}

fn entries(messages: impl IntoIterator<Item = MessageIndex>) -> Vec<EntryId> {
    messages.into_iter().map(EntryId::message).collect()
}

/// The position before the newest message, where a session may end so that this
/// message opens the next one: a call without a result yet is not separated
/// from it.
fn before_newest(context: &Context) -> Option<MessageIndex> {
    let newest = context.seen_count().checked_sub(1)?;
    Some(Cuts::of(context).back_to_whole(newest))
}

#[async_trait]
impl Mechanism for Action {
    fn prepare(&mut self, work: Work<'_>) -> Result<(), MechanismError> {
        let Work { context, shared, host } = work;
        if shared.chain.open.is_none() {
            shared.start_session(None, Rest::from(context.seen_count()), host.now);
        }
        Ok(())
    }

    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        match self {
            Action::Compact { writer, keep_recent, notify } => {
                compact_fully(writer, *keep_recent, *notify, work).await
            }
            Action::New => new_session(work),
            Action::Summarise { writer } => summarise(writer, work).await,
            Action::Resume { within } => resume(*within, work),
        }
    }

    fn stored(&self, context: &Context, shared: &StrategyState) -> Vec<StoredFile> {
        files(context, shared)
    }
}

// Full compaction: "finalize current session → reassign kept messages to new
// session → set chat.CurrentSessionId to new session".

/// Closes the session with a summary of all but the newest tokens.
async fn compact_fully(
    writer: &Writer,
    keep_recent: u64,
    notify: bool,
    work: Work<'_>,
) -> Result<Outcome, MechanismError> {
    let Work { context, shared, host } = work;
    let recorded = context.stored().rev().filter(|id| id.index().is_some());
    let split = kept_from(context, host, recorded, keep_recent).unwrap_or(0);
    let old = recorded_before(context, split);
    let Some(last) = old.last().and_then(|id| id.index()) else {
        return Ok(Outcome::default());
    };
    let before = host.believed.unwrap_or_else(|| context.weight().tokens);
    let summary = match writer.write(context, shared, host, &old).await {
        Ok(summary) => summary,
        Err(error) => return Ok(Outcome::fell_back(Fallback::NONE, error)),
    };
    let older = summaries(context);
    if !older.is_empty() {
        context.apply(Op::Evict(older))?;
    }
    fold(context, old, PARENT, &summary)?;
    shared.boundary = Some(last);
    let (closed, rest) = shared.close_session(split, Some(summary), host.now);
    shared.start_session(closed, rest, host.now);
    let notice = notify.then(|| compacted(before, Makeup::of(context), host.budget));
    Ok(Outcome { notices: notice.into_iter().collect(), ..Outcome::default() })
}

// The effects of the user's commands `/new`, `/clear` and `/resume`.
//
// The message with the command opens the next session (ours): Lis answers
// commands itself, but a recording continues with a response, which needs a
// message to answer.

/// Closes the session; its messages stay with it.
fn new_session(work: Work<'_>) -> Result<Outcome, MechanismError> {
    let Work { context, shared, host } = work;
    let Some(cut) = before_newest(context) else { return Ok(Outcome::default()) };
    if leave(context, cut)? {
        let (closed, rest) = shared.close_session(cut, None, host.now);
        shared.start_session(closed, rest, host.now);
    }
    Ok(Outcome::default())
}

/// Drops the entries before a message; returns whether messages were among them.
fn leave(context: &mut Context, cut: MessageIndex) -> Result<bool, MechanismError> {
    let old = recorded_before(context, cut);
    if old.is_empty() {
        return Ok(false);
    }
    context.apply(Op::Evict([old, summaries(context)].concat()))?;
    Ok(true)
}

/// Writes the summaries of closed sessions that have none, the oldest first.
/// The parent's summary is put into the context.
async fn summarise(writer: &Writer, work: Work<'_>) -> Result<Outcome, MechanismError> {
    let Work { context, shared, host } = work;
    let parent = shared.chain.open.and_then(|open| shared.chain.known.get(&open.number)?.parent);
    for at in 0..shared.sessions.len() {
        let PastSession { number, summary, .. } = &shared.sessions[at];
        let number = *number;
        if summary.is_some() {
            continue;
        }
        let messages = shared.session_messages(number, context.seen_count());
        match writer.write(context, shared, host, &entries(messages)).await {
            Ok(summary) => {
                shared.sessions[at].summary = Some(summary);
                if parent == Some(number) && summaries(context).is_empty() {
                    inject(context, shared, number)?;
                }
            }
            Err(error) => return Ok(Outcome::fell_back(Fallback::NONE, error)),
        }
    }
    Ok(Outcome::default())
}

/// Puts the summary of a closed session into the context, in place of its messages.
fn inject(
    context: &mut Context,
    shared: &StrategyState,
    number: u32,
) -> Result<(), MechanismError> {
    let Some(summary) = shared.session_summary(number) else { return Ok(()) };
    let messages = shared.session_messages(number, context.seen_count());
    context.apply(Op::Recall(messages.clone()))?;
    fold(context, entries(messages), PARENT, summary)?;
    Ok(())
}

/// Returns to a closed session: completely where it is small enough, else in a
/// new session that continues from its summary.
fn resume(within: f64, work: Work<'_>) -> Result<Outcome, MechanismError> {
    let Work { context, shared, host } = work;
    let Some(cut) = before_newest(context) else { return Ok(Outcome::default()) };
    let Some(target) = target(context, shared) else { return Ok(Outcome::default()) };
    let messages = shared.session_messages(target, context.seen_count());
    let tokens = messages.iter().map(|&m| context.weight_of(EntryId::message(m)).tokens).sum();
    if leave(context, cut)? {
        shared.close_session(cut, None, host.now);
    } else {
        // The abandoned session is empty; its message belongs to another one now.
        context.apply(Op::Evict(summaries(context)))?;
    }
    if fits(tokens, host.budget, within) {
        reopen(context, shared, target, messages)?;
        shared.reopen_session(target, cut);
    } else {
        inject(context, shared, target)?;
        shared.start_session(Some(target), Rest::from(cut), host.now);
    }
    Ok(Outcome::default())
}

/// Whether a session is reopened in full (`LIS_RESUME_TOKEN_BUDGET`: at most).
fn fits(tokens: u64, budget: u64, within: f64) -> bool {
    tokens <= (budget as f64 * within) as u64
}

/// Restores a session: its parent's summary, its own, its messages.
fn reopen(
    context: &mut Context,
    shared: &StrategyState,
    target: u32,
    messages: Vec<MessageIndex>,
) -> Result<(), MechanismError> {
    if let Some(parent) = shared.chain.known.get(&target).and_then(|facts| facts.parent) {
        inject(context, shared, parent)?;
    }
    context.apply(Op::Recall(messages.clone()))?;
    if let Some(own) = shared.session_summary(target) {
        // Next to the messages themselves, the summary stands for none of them.
        fold(context, entries(messages.iter().copied()), OWN, own)?;
        context.apply(Op::Recall(messages))?;
    }
    Ok(())
}

/// The session that a user names by its number, or the one closed last.
fn target(context: &Context, shared: &StrategyState) -> Option<u32> {
    let newest = context.original(EntryId::message(context.seen_count().checked_sub(1)?))?;
    let number = match newest.first_text().split_whitespace().nth(1) {
        Some(word) => word.parse().ok()?,
        None => shared.sessions.last()?.number,
    };
    shared.past_session(number).map(|_| number)
}

// Requests for a session's summary.

/// Requests the summaries of sessions from the compactor.
#[derive(Clone)]
struct Writer {
    prompt: Prompt,
    max_tokens: u64,
}

impl Writer {
    /// A summary of messages alone, never of another summary. They are shown
    /// as they are sent: pruned output is one line, but for the tools whose
    /// originals are to be summarised.
    async fn write(
        &self,
        context: &Context,
        shared: &StrategyState,
        host: &Host<'_>,
        range: &[EntryId],
    ) -> Result<String, CompactorError> {
        let mut messages = task_messages(context, range);
        for (message, id) in messages.iter_mut().zip(range) {
            let Some(index) = id.index().filter(|index| shared.originals.contains(index)) else {
                continue;
            };
            let Some(original) = context.original(*id) else { continue };
            message.text = Arc::clone(context.recording().text(index));
            message.images = original.images();
            message.tokens = context.recording().sizes.messages[index as usize].tokens;
        }
        let values = BTreeMap::from([("messages", MESSAGES.to_owned())]);
        let task = Task {
            prompt: self.prompt.render(&values),
            messages,
            max_tokens: self.max_tokens,
            asked: Asked::Continuation { headings: headings(&self.prompt), live: None },
        };
        host.compactor.text(&task).await
    }
}

// The files that Lis would keep: a row of its session table each, and the chat
// with the current session.
//
// They lack embeddings and cache statistics: replay has no embedding model,
// and cache reads are known to the bill only, not to a strategy.

/// The files `chat.json` and `sessions/N.json`.
fn files(context: &Context, shared: &StrategyState) -> Vec<StoredFile> {
    let current = shared.chain.open.map(|open| open.number);
    let chat = file("chat.json".to_owned(), &json!({"current_session_id": current}));
    let session = |(&number, facts): (&u32, &ChainLink)| {
        file(format!("sessions/{number}.json"), &session(context, shared, number, facts))
    };
    std::iter::once(chat).chain(shared.chain.known.iter().map(session)).collect()
}

fn file(path: String, body: &Json) -> StoredFile {
    let mut file = StoredFile::json(path, body);
    file.content.push(b'\n');
    file
}

fn session(context: &Context, shared: &StrategyState, number: u32, facts: &ChainLink) -> Json {
    let past = shared.past_session(number);
    let summary = shared.session_summary(number);
    let messages = shared.session_messages(number, context.seen_count());
    let recording = context.recording();
    let id = |&message: &u32| Some(context.original(EntryId::message(message))?.id.as_str());
    let ids: Vec<&str> = messages.iter().filter_map(id).collect();
    let sizes = &recording.sizes;
    json!({
        "id": number,
        "parent_session_id": facts.parent,
        "summary": summary,
        "created_at": facts.opened.to_string(),
        "closed_at": past.map(|past| past.closed.to_string()),
        "message_ids": ids,
        "message_tokens": messages.iter().map(|&m| sizes.messages[m as usize].tokens).sum::<u64>(),
        "output_tokens": messages.iter().map(|&m| sizes.output[m as usize]).sum::<u64>(),
        "summary_tokens": summary.map(|text| recording.counter.count(text)),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value as Json, json};

    use super::*;
    use crate::testkit::{Rig, Scripted, Talk, words};

    fn stage(action: &str, when: &str, more: &str) -> String {
        format!(
            "[[stage]]\nmechanism = \"rolling-sessions\"\naction = \"{action}\"\n\
             at = \"user-turn\"\nwhen = {when}\n{more}\n"
        )
    }

    fn writing(action: &str, when: &str, more: &str) -> String {
        stage(action, when, &format!("prompt = \"p.md\"\nmax_tokens = 50\n{more}"))
    }

    /// `/new`, `/resume` up to a share of a window of 1,000, and the summaries.
    fn commands(within: &str, talk: Talk, compactor: Arc<Scripted>) -> Rig {
        let stages = [
            stage("new", "{ command = [\"/new\"] }", ""),
            stage("resume", "{ command = [\"/resume\"] }", &format!("within = {within}")),
            writing("summarise", "{ command = [\"/new\", \"/resume\"] }", ""),
        ];
        Rig::stages(&stages.concat(), 1_000, talk, compactor)
    }

    /// Two messages of ten tokens, and two of another session.
    fn parted() -> Talk {
        let talk = Talk::new("S").user(&words(10)).assistant(&words(10)).user("/new");
        talk.assistant("ok")
    }

    fn texts(rig: &Rig) -> Vec<String> {
        rig.sent().into_iter().map(|(_, text)| text).collect()
    }

    fn compacting(keep: u64, talk: Talk, compactor: Arc<Scripted>) -> Rig {
        let more = format!("keep_recent = {keep}");
        let mut rig = Rig::stages(&writing("compact", "\"always\"", &more), 1_000, talk, compactor);
        rig.finish();
        rig
    }

    /// 10, 10, 10 and 5 tokens, of which the last come from the user.
    fn tens() -> Talk {
        let talk = Talk::new("S").user(&words(10)).assistant(&words(10)).assistant(&words(10));
        talk.user(&words(5))
    }

    #[test]
    fn newest_and_older_messages_stay_within_kept_tokens() {
        let kept = [
            (0, "fffv"),
            (14, "fffv"),
            (15, "ffvv"),
            (24, "ffvv"),
            (25, "fvvv"),
            (34, "fvvv"),
            (35, "vvvv"),
        ];
        for (keep, ledger) in kept {
            let rig = compacting(keep, tens(), Scripted::failing_at([]));
            assert_eq!(rig.ledger(), ledger, "{keep}");
            assert_eq!(rig.shared.sessions.is_empty(), keep == 35, "{keep}");
        }
    }

    #[test]
    fn first_message_closes_no_session() {
        let mut first = commands("0.5", Talk::new("S").user("/new"), Scripted::failing_at([]));
        first.feed(1);
        assert!(first.shared.sessions.is_empty(), "there is nothing to close");
    }

    #[test]
    fn failed_summary_is_written_at_next_command() {
        let mut rig = commands("0.5", parted().user("/new"), Scripted::failing_at([0]));
        rig.feed(3);
        assert_eq!(
            (texts(&rig), rig.fallbacks()),
            (vec!["/new".to_owned()], vec![(2, "none".to_owned())])
        );
        rig.feed(2);
        let summaries = [1, 2].map(|number| rig.shared.session_summary(number));
        assert_eq!(summaries, [Some("continuation 1"), Some("continuation 2")]);
        // The first session is not the parent of the third.
        let parent = "[Summary of the previous session]\n\ncontinuation 2";
        assert_eq!(
            (texts(&rig), rig.ledger().as_str()),
            (vec![parent.to_owned(), "/new".to_owned()], "--ffv")
        );
    }

    #[test]
    fn each_session_has_file_and_chat_names_open() {
        let mut rig = commands("0.5", parted(), Scripted::failing_at([]));
        rig.feed(4);
        let files = Action::New.stored(&rig.context, &rig.shared);
        let paths: Vec<&str> = files.iter().map(|file| &*file.path).collect();
        assert_eq!(paths, ["chat.json", "sessions/1.json", "sessions/2.json"]);
        let read = |at: usize| serde_json::from_slice::<Json>(&files[at].content).unwrap();
        assert!(
            files.iter().all(|file| file.content.ends_with(b"\n}\n") || file.path == "chat.json")
        );
        assert_eq!(read(0), json!({"current_session_id": 2}));
        let (first, second) = (read(1), read(2));
        let count = |text: &str| rig.context.recording().counter.count(text);
        assert_eq!(
            first,
            json!({
                "id": 1, "parent_session_id": null, "summary": "continuation 0",
                "created_at": "2026-01-18T14:30:00Z", "closed_at": "2026-01-18T14:32:00Z",
                "message_ids": ["m0", "m1"], "message_tokens": 20, "output_tokens": 10,
                "summary_tokens": count("continuation 0"),
            })
        );
        assert_eq!((&second["id"], &second["parent_session_id"]), (&json!(2), &json!(1)));
        assert_eq!((&second["closed_at"], &second["summary_tokens"]), (&Json::Null, &Json::Null));
        assert_eq!(second["message_ids"], json!(["m2", "m3"]));
    }

    /// Seed 002: LIS_RESUME_TOKEN_BUDGET, 70 % of budget
    #[test]
    fn session_reopens_in_full_up_to_70_percent() {
        assert!(fits(105_000, 150_000, 0.7));
        assert!(!fits(105_001, 150_000, 0.7));
    }
}
