//! A search over the parameters of a strategy: which setting keeps how much, for
//! how many dollars, and how that holds on sessions that the search never saw.
//!
//! What is searched (`space`, `derived`, `settings`), who takes part (`split`),
//! the runs (`runs`), what they tell (`figures`), and what comes of it
//! (`recommend`, `held_back`, `result`, `strategy_file`).
//!
//! Invariant: no session of the held-back part is replayed before a setting is
//! recommended by the others.

mod derived;
mod figures;
mod held_back;
mod recommend;
mod result;
mod runs;
mod settings;
mod space;
mod split;
mod strategy_file;

pub use figures::{Figures, Objective};
pub use held_back::held_back;
pub use recommend::{AUTHOR, Recommended, Searched};
pub use result::{Search, tuned};
pub use runs::{Group, Runs};
pub use settings::{Setting, Settings};
pub use space::{Space, SpaceError};
pub use split::{Cluster, SessionKey, Split, SplitError, split};
pub use strategy_file::{StrategyFile, strategy_file};
