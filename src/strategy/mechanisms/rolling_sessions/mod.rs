//! Rolling sessions: each compaction closes the session with a summary of its
//! own and opens a new one.
//!
//! Source: Lis, "Context Compaction & Sessions". Summaries are never
//! merged: only the one of the session before is injected, and what is older
//! leaves the context. One file each: what a stage does ([`compact`], [`turn`]),
//! how a summary is asked for ([`summary`]), and the files ([`stored`]).

mod compact;
mod stored;
mod summary;
mod turn;

use async_trait::async_trait;
use serde::Deserialize;

use super::folding::Cuts;
use crate::model::{MessageIndex, Role};
use crate::strategy::chain::Rest;
use crate::strategy::context::{Context, EntryId, Op, OpError, Place};
use crate::strategy::host::{Outcome, StoredFile, Strategy, StrategyError, Work};
use crate::strategy::mechanism::{Build, BuildError, MechanismSpec};
use crate::strategy::state::PresetState;
use summary::Writer;

/// Closes sessions and opens new ones.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "rolling-sessions",
    summary: "Closes the session with a summary of its own and goes on in a new one",
    uses_compactor: true,
    is_view: false,
    scales: &["keep_recent", "max_tokens"],
    build: |build| Ok(Box::new(RollingSessions { action: action(build)? })),
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
        #[serde(default = "yes")]
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

fn yes() -> bool {
    true
}

/// The action of a stage.
enum Action {
    Compact { writer: Writer, keep_recent: u64, notify: bool },
    New,
    Summarise { writer: Writer },
    Resume { within: f64 },
}

struct RollingSessions {
    action: Action,
}

fn action(build: &Build<'_>) -> Result<Action, BuildError> {
    let writer = |prompt: &str, max_tokens| match max_tokens {
        0 => Err(BuildError::from("`max_tokens` must be at least 1")),
        _ => Ok(Writer::new(build.prompt(prompt, &["messages"])?, max_tokens)),
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
    context.apply(Op::Fold { range, into, at: Place::Head })?;
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
impl Strategy for RollingSessions {
    fn prepare(&mut self, work: Work<'_>) -> Result<(), StrategyError> {
        let Work { context, shared, host } = work;
        if shared.chain.open.is_none() {
            shared.start_session(None, Rest::from(context.seen_count()), host.now);
        }
        Ok(())
    }

    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, StrategyError> {
        match &self.action {
            Action::Compact { writer, keep_recent, notify } => {
                compact::run(writer, *keep_recent, *notify, work).await
            }
            Action::New => turn::new(work),
            Action::Summarise { writer } => turn::summarise(writer, work).await,
            Action::Resume { within } => turn::resume(*within, work),
        }
    }

    fn stored(&self, context: &Context, shared: &PresetState) -> Vec<StoredFile> {
        stored::files(context, shared)
    }
}
