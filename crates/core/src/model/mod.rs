//! The shared data types: plain data that every other module uses, without I/O.
//!
//! Invariant: nothing here reads a file, a clock or the environment, and
//! nothing here knows a session format, a strategy or a report.
//!
//! Of the rows of a run folder, which recap alone writes, fields that are not known are left
//! aside; what users write ([`Session`]) may have none.
//!
//! # Terms
//!
//! All crates use these words alike:
//!
//! - *Session* ([`Session`]): a recording as it was read, with the compactions that the *recorded
//!   agent* made of it. A *request* is a call of that agent's model: there is one before each
//!   message that the model wrote.
//! - *Strategy*: what decides which part of a conversation a request sends, in *stages*; the work of
//!   a stage is done by a *mechanism*. A *control* is a strategy that is shown and never ranked.
//! - *Window*: the context limit that a replay assumes.
//! - *Cell* ([`Cell`]): one session under one strategy at one window; a *replicate* is one of
//!   several equal cells whose summaries a model writes anew.
//! - *Reference* ([`Reference`]): an identifier that the recorded agent used at a request and could
//!   know only from far back. The references of a session are its *exam* ([`Exam`]).
//! - *Cut* ([`Cut`]): a place at which a compaction is forced. Its *material* is what may be
//!   compacted there. A *fact* ([`Fact`]) is an identifier that the agent used after the cut and
//!   could know only from the material.
//! - *Roles*: *compactor* (writes summaries), *answerer* (answers questions from a context), *judge*
//!   (grades answers) and *embedder*. *Offline* is a role that no model fills.
//! - *Measure* ([`Measure`]): one figure of the comparison. A *row* of it ([`StrategyRow`]) is a
//!   strategy over the sessions of a data set at one window, as one model bills them. *Clusters*
//!   (projects or developers, else sessions) are the units of its intervals.
//!
//! Types named `…Facts` hold what all strategies of a session share, types named `…Row` what one of
//! them did.

/// Has reasons written as their words.
macro_rules! written_as_words {
    ($($reason:ty)*) => {
        $(impl serde::Serialize for $reason {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        })*
    };
}

/// Gives enums the name of each variant.
macro_rules! named {
    ($($type:ty)*) => {
        $(impl $type {
            /// Its name in files and tables.
            pub fn as_str(self) -> &'static str {
                self.into()
            }
        })*
    };
}

/// Whether a value is the one that files leave out.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

mod answer;
mod bill;
mod calibration;
pub mod call;
pub mod catalogue;
mod cell;
mod compaction;
mod comparison;
mod facts;
mod finding;
mod gate;
mod judge;
mod manifest;
mod measure;
mod planned;
mod question;
mod reasons;
mod receipt;
mod recommendation;
mod report;
mod results;
mod saver;
mod session;
mod sizes;
mod suggest;
#[cfg(any(test, feature = "testkit"))]
mod testkit;
mod tuned;
mod usage;

pub use crate::text::IdentifierClass;
pub use answer::*;
pub use bill::*;
pub use calibration::*;
pub use cell::*;
pub use compaction::*;
pub use comparison::*;
pub use facts::*;
pub use finding::*;
pub use gate::*;
pub use judge::*;
pub use manifest::*;
pub use measure::*;
pub use planned::*;
pub use question::*;
pub use reasons::*;
pub use receipt::*;
pub use recommendation::*;
pub use report::*;
pub use results::*;
pub use saver::*;
pub use session::*;
pub use sizes::*;
pub use suggest::*;
pub use tuned::*;
pub use usage::*;

named! {
    Admission AgainstFull Agreement CacheRules CallOutcome CheckOutcome Direction IdentifierClass
    Label LatencySource LedgerState ModelRole Operator Outcome QuestionKind ReferenceState Role
    Source TestOutcome TokensSource Trust Unit Unusable
}
