//! The mechanisms, one per file. Adding one is adding a file and two lines.

mod archive;
mod chunked_summary;
mod command;
mod continuation;
mod digest;
mod empty;
mod extraction;
mod fifo;
mod folding;
mod guidance;
mod id_list;
mod memories;
mod prune;
mod recorded;
mod reset;
mod session_state;
mod sliding_window;
mod snapshot_dedup;

#[cfg(test)]
mod tests;

pub use archive::{ArchiveError, read_archive};
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
    &guidance::SPEC,
    &id_list::SPEC,
    &prune::SPEC,
    &recorded::SPEC,
    &reset::SPEC,
    &session_state::SPEC,
    &sliding_window::SPEC,
    &snapshot_dedup::SPEC,
];
