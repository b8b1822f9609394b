//! Continuation: everything since the last summary, up to the last messages,
//! becomes a prompt for going on.
//!
//! Source: GenCode, layer 2, "Compaction". GenCode names no
//! fallback: when the compactor fails, the context stays as it is (recorded).

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::extraction::{FileTools, extract};
use super::folding::{Cuts, in_shape, recorded_before, task_messages};
use super::gencode_session::{GencodeSession, Summary};
use crate::compactor::{
    Compactor, CompactorError, FailedCall, Live, MESSAGES, Produced, Reply, Task,
};
use crate::context::{Context, EntryId, InsertAt, Op};
use crate::host::{
    Fallback, Host, Mechanism, MechanismError, Outcome, Record, StoredFile, Work, restored,
};
use crate::mechanism::{Build, BuildError, MechanismSpec};
use crate::prompt::Prompt;
use crate::state::StrategyState;
use recap_core::model::Role;
use recap_core::tokens::{Estimator, Weight};

/// Folds all but the last messages into a continuation prompt.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "continuation",
    summary: "Folds what came since the last summary, but for the last messages, into a prompt for going on",
    uses_compactor: true,
    is_view: false,
    scales: &["max_tokens"],
    build: |build| Ok(Box::new(Continuation::new(build)?)),
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    prompt: String,
    /// Whether the stage does anything (`enabled`, `enableCompaction`).
    #[serde(default = "yes")]
    enabled: bool,
    /// Number of newest messages that stay verbatim.
    keep_last: u32,
    /// Whether the first of them moves back to its call where it is a result.
    #[serde(default = "yes")]
    keep_pairs: bool,
    keep_summaries: KeepSummaries,
    request: Request,
    /// Largest size of the reply, in tokens.
    max_tokens: u64,
    #[serde(default)]
    file_tools: FileTools,
}

fn yes() -> bool {
    true
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KeepSummaries {
    /// Every summary stays, each for its own range.
    All,
    /// "System prompt, summary system message, last 10 messages".
    Last,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Request {
    /// The template is appended to the live conversation.
    Prefix,
    /// The messages to fold alone.
    Fresh,
}

/// The state that is saved with the session: `session.summaries`, and the
/// entries that are still in the conversation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Summaries {
    records: Vec<Summary>,
    entries: Vec<EntryId>,
}

struct Continuation {
    prompt: Prompt,
    parameters: Parameters,
    summaries: Summaries,
}

impl Continuation {
    fn new(build: &Build<'_>) -> Result<Self, BuildError> {
        let parameters: Parameters = build.read()?;
        if parameters.keep_last == 0 || parameters.max_tokens == 0 {
            return Err("`keep_last` and `max_tokens` must be at least 1".into());
        }
        let prompt = build.prompt(&parameters.prompt, &["messages"])?;
        Ok(Self { prompt, parameters, summaries: Summaries::default() })
    }

    /// From after the last summary to the length less `keep_last`.
    fn range(&self, context: &Context) -> Vec<EntryId> {
        let keep = self.parameters.keep_last as usize;
        let tail = context.stored().rev().take(keep).filter_map(|id| id.index()).min();
        let Some(cut) = tail else {
            return Vec::new();
        };
        let cut = match self.parameters.keep_pairs {
            true => Cuts::of(context).back_to_whole(cut),
            false => cut,
        };
        recorded_before(context, cut)
    }

    /// The call, which has to fit the model's window with its reply: where the
    /// live conversation does not, the folded messages are sent alone.
    fn task(
        &self,
        context: &Context,
        range: &[EntryId],
        host: &Host<'_>,
    ) -> Result<Task, CompactorError> {
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
        Ok(Task::Continuation {
            prompt,
            messages,
            headings: headings(self.prompt.source()),
            live: is_live.then(|| live(context, host.compactor)),
            max_tokens,
        })
    }

    fn summary(
        &self,
        context: &Context,
        host: &Host<'_>,
        range: &[EntryId],
        content: String,
    ) -> Summary {
        let extraction = extract(context, range, &self.parameters.file_tools);
        let place = |id: Option<&EntryId>| id.and_then(|id| id.index()).map_or(0, |i| i + 1);
        let weight = Weight::of_text("system", &content, &context.recording().counter);
        Summary {
            id: host.id("sum"),
            kind: "compaction".to_owned(),
            covering_messages: [place(range.first()), place(range.last())],
            content,
            key_decisions: extraction.key_decisions,
            files_modified: extraction.files_modified,
            tools_used: extraction.tools_used,
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
        self.summaries.entries.retain(|&id| context.contains(id));
        if self.parameters.keep_summaries == KeepSummaries::Last
            && !self.summaries.entries.is_empty()
        {
            context.apply(Op::Evict(std::mem::take(&mut self.summaries.entries)))?;
        }
        let into = vec![(Role::System, text)];
        let new = context.apply(Op::Fold { range, into, at: InsertAt::Head })?;
        self.summaries.entries.extend(new);
        Ok(())
    }

    /// GenCode's `getCompressionStats()`.
    fn stats(&self, context: &Context, shared: &StrategyState) -> Record {
        let stats = GencodeSession::of(context, shared, &self.summaries.records).stats();
        let body = serde_json::to_value(stats).expect("plain data serialises");
        Record { kind: "stats".to_owned(), body }
    }
}

fn continuation_of(reply: Result<Reply, FailedCall>) -> Result<String, CompactorError> {
    in_shape(reply, "continuation prompt", |produced| match produced {
        Produced::Continuation(text) => Some(text),
        _ => None,
    })
}

/// The conversation as it would be sent now, for a compactor that reads it.
pub(super) fn live(context: &Context, compactor: &dyn Compactor) -> Live {
    let tokens = context.weight().tokens;
    if !compactor.reads_live() {
        return Live { tokens, ..Live::default() };
    }
    let visible: Vec<EntryId> = context.visible().collect();
    Live { tokens, system: context.head(), messages: task_messages(context, &visible) }
}

/// The numbered points of the template, which are the headings of the reply.
pub(super) fn headings(template: &str) -> Vec<String> {
    let numbered = |line: &str| {
        let (number, rest) = line.trim().split_once(". ")?;
        number.bytes().all(|b| b.is_ascii_digit()).then(|| rest.trim().to_owned())
    };
    template.lines().filter_map(numbered).collect()
}

#[async_trait]
impl Mechanism for Continuation {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, shared, host } = work;
        let mut outcome = Outcome::default();
        if !self.parameters.enabled {
            return Ok(outcome);
        }
        let range = self.range(context);
        if range.is_empty() {
            return Ok(outcome);
        }
        let content = match self.task(context, &range, host) {
            Ok(task) => continuation_of(host.compactor.run(&task).await),
            Err(error) => Err(error),
        };
        match content {
            Ok(content) => {
                let summary = self.summary(context, host, &range, content);
                shared.boundary = range.last().and_then(|id| id.index());
                self.place(context, range, &summary.content)?;
                let body = serde_json::to_value(&summary).expect("plain data serialises");
                outcome.records.push(Record { kind: "summary".to_owned(), body });
                self.summaries.records.push(summary);
                outcome.records.push(self.stats(context, shared));
            }
            Err(error) => {
                outcome.fallback =
                    Some(Fallback { to: Fallback::NONE.to_owned(), reason: error.to_string() });
            }
        }
        Ok(outcome)
    }

    /// The session file, as GenCode's example shows it.
    fn stored(&self, context: &Context, shared: &StrategyState) -> Vec<StoredFile> {
        let session = GencodeSession::of(context, shared, &self.summaries.records);
        let content = serde_json::to_vec_pretty(&session).expect("plain data serialises");
        vec![StoredFile { path: format!("sessions/{}.json", session.metadata.id), content }]
    }

    fn state(&self) -> Json {
        serde_json::to_value(&self.summaries).expect("plain data serialises")
    }

    fn restore(&mut self, state: Json) -> Result<(), MechanismError> {
        self.summaries = restored(SPEC.name, state)?;
        Ok(())
    }
}
