//! The shared data types: plain data that every other module uses, without I/O.
//!
//! Invariant: nothing here reads a file, a clock or the environment, and
//! nothing here knows a session format, a strategy or a report.
//!
//! Of the rows of a run folder, which recap alone writes, fields that are not known are left
//! aside; what users write ([`Session`]) may have none.

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
    LatencySource LedgerState ModelRole Outcome QuestionKind ReferenceState Role Source TestOutcome
    TokensSource Trust Unit Unusable
}
