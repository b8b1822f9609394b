//! Replays recorded sessions through strategies, request by request, as the agent would have
//! run them.
//!
//! In: a session and a strategy ([`Plan`]). Out: a cell for each session under each strategy:
//! its requests, compactions, cuts, answers and bills. [`run`] makes all cells of a run, side by
//! side, and keeps them in a folder that can be resumed and merged.
//!
//! `session` is the loop of one cell: `stage` and `background` run the strategy, `bill` what it
//! costs, and `cut` what it lost at a compaction.
//!
//! Invariant: replay is linear. Work per request does not grow with the history; data that depend
//! only on the session (`PreparedSession`) are shared by all strategies, windows and replicates.
//!
//! Next: `recap-measure` makes a report of the cells.

mod asked;
mod background;
mod bill;
mod cut;
mod exogenous;
mod loss;
mod prepared;
mod receipt;
pub mod run;
mod session;
mod stage;
mod validate;
mod window;

pub use asked::PendingQuestion;
pub use cut::{CutSegment, ExaminedCut, RequestInspector, carrier, examine};
pub use prepared::PreparedSession;
pub use session::{Plan, ReplayError, ReplaySession, Replayed, replay};
pub use validate::validate;
pub use window::{
    NativeFrom, NativeWindow, SharedLimit, UNKNOWN_LIMIT, WindowError, WindowSpec, share_limits,
};
