//! How far to trust the run: its gate, its self-check, and how sure it is.

pub(in crate::report::html) mod blind;
pub(in crate::report::html) mod certainty;
pub(in crate::report::html) mod checks;
pub(in crate::report::html) mod gate;
pub(in crate::report::html) mod validation;
