//! Facts: identifiers that the recorded agent needed, mined from a session.
//!
//! Invariant: the facts depend on the session alone, never on a window or a
//! strategy, so every strategy is tested on the same ones.
//!
//! `mining` finds them among the `candidates` of each request, `place` says where a compaction is
//! forced, and `survival` whether a context still holds them.

mod candidates;
mod copies;
mod declared;
mod mining;
mod place;
mod rarity;
mod survival;

pub(crate) use candidates::texts;
pub use mining::{Mining, mine};
pub use place::{CompactableMessage, CutPlace, Cuts, Places, places};
pub use survival::{LastComponents, Survival};

#[cfg(test)]
mod mining_tests;
#[cfg(test)]
mod tests;
