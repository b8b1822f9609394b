//! States of recorded messages in a context.

use serde::{Deserialize, Serialize};

/// The state of a recorded message in a context (semantics §24), best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum LedgerState {
    /// Sent exactly as recorded.
    Verbatim,
    /// Sent with part of it replaced or removed.
    Edited,
    /// Covered by a summary that is sent.
    Folded,
    /// Not sent in any form, even if only for this request.
    Gone,
}

impl LedgerState {
    /// The lower-case name used in files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
