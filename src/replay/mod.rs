//! Replays a recording through a preset, request by request, as the agent would
//! have run it.
//!
//! Invariant: replay is linear. Work per request does not grow with the
//! history; data that depend only on the transcript (`Subject`) are shared by
//! all presets, windows and replicates.

mod background;
mod bill;
mod break_even;
mod cut;
mod exogenous;
mod loss;
mod native;
mod plan;
mod probed;
mod receipt;
mod saved;
mod session;
mod stage;
mod subject;
mod validate;
mod view;
mod window;

pub use cut::{Baseline, CutSegment, ExaminedCut, RequestInspector, examine, examine_and_look};
pub use native::{NativeFrom, NativeWindow, UNKNOWN_LIMIT};
pub use plan::{Plan, ReplayError};
pub use probed::Probed;
pub use receipt::receipt_facts;
pub use saved::SavedSession;
pub use session::{ReplaySession, Replayed, replay};
pub use subject::Subject;
pub use validate::validate;
pub use window::{LEAST_FOR_MESSAGES, WindowError, WindowSpec};
