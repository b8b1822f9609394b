//! Probes that a transcript holds in itself.
//!
//! Invariant: what is mined depends on the transcript alone, never on a
//! window or a preset, so every preset sits the same exam.

mod candidates;
mod declared;
mod history;
mod mining;
mod occurrences;
mod place;
mod rereads;
mod support;
mod survival;

pub use mining::{Mining, MiningRules, mine};
pub use place::{Cuts, Kept, Place, Places, places};
pub use survival::{Carrier, ContextView, Survival, Written};

#[cfg(test)]
mod mining_tests;
#[cfg(test)]
mod tests;
