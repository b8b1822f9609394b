//! Shrinking a conversation: the context that is sent, one mechanism per file that changes it,
//! and the strategies that combine mechanisms with numbers.
//!
//! In: the messages of a session as they come, and a strategy as a file ([`Strategy`]). Out: the
//! [`Context`] of each request, with a ledger that says of every recorded message whether it is
//! sent, edited, covered by a summary or gone. The trait of a mechanism is [`Mechanism`].
//!
//! Invariant: nothing here can see a question, an answer or a verdict, so no strategy can tune
//! itself to the test.
//!
//! Next: `recap-exam`, what is asked of a context.

mod compactor;
mod context;
mod mechanism;
mod prompt;
mod recovery;
mod state;
mod strategy;
mod trigger;
mod validity;

mod mechanisms;

#[cfg(any(test, feature = "testkit"))]
pub mod testkit;

pub use compactor::{
    Asked, CallUsage, Compactor, CompactorError, Digest, FailedCall, Live, MESSAGES, Metered,
    ModelCall, Produced, Reply, SessionState, Task, TaskMessage,
};
pub use context::{
    AllHidden, Applied, Context, Entry, EntryId, InsertAt, Op, OpError, Recording, Sent, SentText,
    Step,
};
pub use mechanism::{
    Build, BuildError, Copied, Fallback, Host, Mechanism, MechanismError, MechanismSpec, Outcome,
    StoredFile, Work,
};
#[doc(hidden)]
pub use mechanisms::compression_stats;
#[cfg(any(test, feature = "testkit"))]
pub use mechanisms::take_answer;
pub use mechanisms::{ITS_WORDS, MECHANISMS};
pub use prompt::Prompt;
pub use recovery::{
    Archived, ArchivedSession, Channel, Past, RECOVERIES, RecoverySpec, Search, Tool,
};
pub use state::{Chain, ChainLink, ClosedSession, OpenSession, PastSession, StrategyState};
pub use strategy::{
    AskedFrom, Breakpoint, Budget, BuiltStage, Scaling, Stage, Strategy, StrategyError,
    StrategyText, builtin, builtin_names, saver_names,
};
pub use trigger::{At, Gauge, Limits, Of, Turn, When};
pub use validity::{Pairs, pairs_are_whole};
