//! The mechanisms, one per file. Adding one is adding a file and two lines.

mod empty;
mod fifo;
mod id_list;
mod prune;
mod recorded;
mod sliding_window;
mod snapshot_dedup;

use super::preset::MechanismSpec;

/// Every mechanism.
pub static MECHANISMS: &[&MechanismSpec] = &[
    &empty::SPEC,
    &fifo::SPEC,
    &id_list::SPEC,
    &prune::SPEC,
    &recorded::SPEC,
    &sliding_window::SPEC,
    &snapshot_dedup::SPEC,
];
