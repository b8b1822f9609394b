//! What a text names: specific identifiers, and where they stand again.
//!
//! Invariant: every function here is a pure function of its arguments and
//! takes time linear in the text.

pub mod bounded;
pub mod calendar;
pub mod generic;
pub mod identifiers;
pub mod normal;
pub mod redact;
mod shapes;

pub use bounded::{Needle, NeedleSet, contains_bounded};
pub use calendar::{DateSpan, PartialDate, dates};
pub use generic::{is_generic, recompiled, restyled};
pub use identifiers::{Identifier, IdentifierOptions, identifiers};
pub use normal::Normal;

#[cfg(test)]
mod tests;
