//! The headings of options in `--help`. A heading applies to all options after
//! it, so those of a flattened struct are given with the flattened field, and
//! single options name theirs.

/// Options of the replay.
pub(super) const REPLAY: &str = "Replay";
/// Options that select the models in the roles.
pub(super) const ROLES: &str = "Model roles";
/// Options of model calls.
pub(super) const CALLS: &str = "Calls of models";
/// Options that select the prices of the sessions.
pub(super) const BILL: &str = "Bill";
/// Options of the output files.
pub(super) const REPORT: &str = "Report";
/// Options of the gate.
pub(super) const GATE: &str = "Gate";
/// Options of statistical tests.
pub(super) const COMPARISON: &str = "Comparison";
