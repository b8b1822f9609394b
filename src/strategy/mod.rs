//! Shrinking a conversation: the trait, the context it works on, the presets
//! that combine mechanisms, and one mechanism per file.
//!
//! Invariant: nothing here can see a probe, an answer or a verdict, so no
//! strategy can tune itself to the test.

mod chain;
mod compactor;
mod context;
mod host;
mod mechanism;
mod metered;
mod preset;
mod prompt;
mod recovery;
mod state;
mod trigger;
mod validity;

mod mechanisms;

#[cfg(test)]
pub(crate) mod testkit;

pub use chain::{Chain, ClosedSession, OpenSession, SessionFacts};
pub use compactor::{
    CallUsage, Compactor, CompactorError, Digest, FailedCall, Live, MESSAGES, Produced, Reply,
    SessionState, Task, TaskMessage,
};
pub use context::{
    Applied, Context, Entry, EntryId, Op, OpError, Place, Recording, Saved, Sent, Step,
};
pub use host::{Fallback, Host, Outcome, Record, StoredFile, Strategy, StrategyError, Work};
pub use mechanism::{Build, BuildError, MechanismSpec};
pub use mechanisms::{
    ArchiveError, CompressionStats, Content, ContentPart, GencodeSession, GencodeSummary,
    ITS_WORDS, MECHANISMS, Metadata, SessionMessage, ToolUsage, read_archive,
};
#[doc(hidden)]
pub use mechanisms::{BadAnswer, take_answer};
pub use metered::{Metered, ModelCall};
pub use preset::{
    AskedFrom, Breakpoint, Budget, BuiltStage, Preset, PresetError, PresetText, Scale, Stage,
    builtin, builtin_names,
};
pub use prompt::{Prompt, PromptError};
pub use recovery::{
    Archived, ArchivedSession, ByMeaning, Channel, Nearest, Past, RECOVERIES, Recovery,
    RecoverySpec, Tool,
};
pub use state::{PastSession, PresetState};
pub use trigger::{At, Gauge, Of, Turn, When};
pub use validity::{BrokenPair, Pairs, pairs_are_whole};
