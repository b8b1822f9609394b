//! Names of controls, and of the rows over all data sets.

/// The data set of rows over all transcripts of a run.
pub const ALL: &str = "ALL";

/// The control that presets are compared with: the ceiling.
pub const BASELINE: &str = "full";

/// The control that repeats what the vendor's agent really sent.
pub const RECORDED: &str = "recorded";

/// The control without any history: the floor.
pub(super) const FLOOR: &str = "empty";
