//! The mechanisms, one per file. Adding one is adding a file and two lines.

mod chunked_summary;
mod command;
mod continuation;
mod empty;
mod extraction;
mod fifo;
mod folding;
mod id_list;
mod memories;
mod notices;
mod prune;
mod recorded;
mod rolling_sessions;
mod session_state;
mod sliding_window;
mod snapshot_dedup;

#[cfg(test)]
mod tests;

pub use command::ITS_WORDS;
pub(crate) use command::{SPEC as COMMAND, named_files};

use super::preset::MechanismSpec;

/// Every mechanism.
pub static MECHANISMS: &[&MechanismSpec] = &[
    &chunked_summary::SPEC,
    &command::SPEC,
    &continuation::SPEC,
    &empty::SPEC,
    &fifo::SPEC,
    &id_list::SPEC,
    &prune::SPEC,
    &recorded::SPEC,
    &rolling_sessions::SPEC,
    &session_state::SPEC,
    &sliding_window::SPEC,
    &snapshot_dedup::SPEC,
];
