//! A search over the parameters of a preset: which setting keeps how much, for
//! how many dollars, and how that holds on sessions that the search never saw.
//!
//! One file each: what is searched (`space`, `range`, `derived`, `settings`), who
//! takes part (`split`), which settings are dropped when (`race`,
//! `schedule`, `figures`), the work of a round (`round`), what is kept of
//! it (`journal`), and what comes of it (`recommend`, `held_back`,
//! `result`, `preset_file`).
//!
//! Invariant: no session of the held-back part is replayed before the search
//! has ended, and nothing is searched after that.

mod derived;
mod figures;
mod held_back;
mod journal;
mod preset_file;
mod race;
mod range;
mod recommend;
mod result;
mod round;
mod schedule;
mod settings;
mod space;
mod split;

pub use figures::Figures;
pub use journal::{Closed, Header, Journal, JournalError};
pub use preset_file::{PresetFile, preset_file};
pub use race::{Fate, Next, Objective, Race, Round, Rule, Work};
pub use recommend::{Recommended, recommend};
pub use result::{Search, tuned};
pub use round::{Group, RoundError, Rounds, has_shards};
pub use settings::{Setting, Settings};
pub use space::{Space, SpaceError};
pub use split::{Cluster, SessionKey, Split, SplitError, split};

#[cfg(test)]
mod race_tests;
#[cfg(test)]
mod simulation_tests;
