//! Replays a recording through a preset, request by request, as the agent
//! would have run it.
//!
//! Invariant: replay is linear. Work per request does not grow with the
//! history; what depends on the transcript alone (`Subject`) is shared by
//! all presets, windows and replicates.

mod loss;
mod session;
mod stage;
mod subject;
mod view;
mod window;

pub use session::{Plan, Replayed, SavedSession, Session, replay};
pub use subject::Subject;
pub use window::{WindowError, WindowSpec};
