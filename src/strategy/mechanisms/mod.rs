//! The mechanisms, one per file. Adding one is adding a file and two lines.

mod chunked_summary;
mod clip;
mod command;
mod continuation;
mod empty;
mod extraction;
mod fifo;
mod folding;
mod id_list;
mod mask;
mod memories;
mod prune;
mod recorded;
mod session_state;
mod sliding_window;
mod snapshot_dedup;
mod summary;
mod trim;

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
    &mask::SPEC,
    &prune::SPEC,
    &recorded::SPEC,
    &session_state::SPEC,
    &sliding_window::SPEC,
    &snapshot_dedup::SPEC,
    &summary::SPEC,
    &trim::SPEC,
];
