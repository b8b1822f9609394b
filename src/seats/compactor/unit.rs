//! A sentence, line or call that a summary may hold.

/// What a unit is to a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The user asks or tells.
    Request,
    /// How the user wants things.
    Preference,
    /// Something was settled.
    Decision,
    /// Something went wrong, or why.
    Problem,
    /// Something was achieved.
    Done,
    /// Something is still to do.
    Plan,
    /// What something is.
    Definition,
    /// A call that changed a file.
    Change,
    /// Another call.
    Action,
    /// Anything else that was said.
    Statement,
}

/// One sentence, line or call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// Trimmed, on one line, of bounded length.
    pub text: String,
    pub kind: Kind,
    /// Whether the user said it.
    pub user: bool,
    /// Whether an earlier summary says it.
    pub distilled: bool,
    /// Position of its message in the task.
    pub message: usize,
    /// For a call: the file that it changed or read.
    pub file: Option<String>,
}
