//! The mechanisms, one per file. Adding one takes a file and two lines.

mod archive;
mod chunked_summary;
mod clip;
mod command;
mod continuation;
mod digest;
mod empty;
mod extraction;
mod fifo;
mod folding;
mod gencode_session;
mod guidance;
mod id_list;
mod mask;
mod memories;
mod notices;
mod process;
mod prune;
mod recorded;
mod reset;
mod rolling_sessions;
mod saver;
mod session_state;
mod sliding_window;
mod snapshot_dedup;
mod summary;
mod trim;

#[cfg(test)]
mod tests;

pub use archive::{ArchiveError, read_archive};
pub use command::ITS_WORDS;
#[doc(hidden)]
pub use command::{BadAnswer, take_answer};
pub(crate) use command::{SPEC as COMMAND, named_files};
pub use extraction::ToolUsage;
pub use gencode_session::Summary as GencodeSummary;
pub use gencode_session::{
    CompressionStats, Content, ContentPart, GencodeSession, Metadata, SessionMessage,
};

use super::mechanism::MechanismSpec;

/// The mechanisms that stand between an agent and its provider or its tools from the first request on.
pub(crate) const SAVERS: [&MechanismSpec; 2] = [&saver::FILTER, &saver::PROXY];

/// Every mechanism, by the name used in strategies.
pub static MECHANISMS: &[&MechanismSpec] = &[
    &chunked_summary::SPEC,
    &command::SPEC,
    &continuation::SPEC,
    &empty::SPEC,
    &fifo::SPEC,
    &saver::FILTER,
    &guidance::SPEC,
    &id_list::SPEC,
    &mask::SPEC,
    &saver::PROXY,
    &prune::SPEC,
    &recorded::SPEC,
    &reset::SPEC,
    &rolling_sessions::SPEC,
    &session_state::SPEC,
    &sliding_window::SPEC,
    &snapshot_dedup::SPEC,
    &summary::SPEC,
    &trim::SPEC,
];
