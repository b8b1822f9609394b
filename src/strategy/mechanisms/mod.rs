//! The mechanisms, one per file. Adding one is adding a file and two lines.

mod chunked_summary;
mod continuation;
mod empty;
mod extraction;
mod fifo;
mod folding;
mod id_list;
mod memories;
mod prune;
mod recorded;
mod session_state;
mod sliding_window;
mod snapshot_dedup;

#[cfg(test)]
mod tests;

use super::preset::MechanismSpec;

/// Every mechanism.
pub static MECHANISMS: &[&MechanismSpec] = &[
    &chunked_summary::SPEC,
    &continuation::SPEC,
    &empty::SPEC,
    &fifo::SPEC,
    &id_list::SPEC,
    &prune::SPEC,
    &recorded::SPEC,
    &session_state::SPEC,
    &sliding_window::SPEC,
    &snapshot_dedup::SPEC,
];
