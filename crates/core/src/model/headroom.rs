//! Which sessions come to the context limit of their model.

/// The context limits of the recorded models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The smallest one, in tokens.
    pub least: u64,
    /// The largest one, in tokens.
    pub most: u64,
}

/// How many sessions stay below the context limit, so that nothing has to be compacted
/// in them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// Sessions that were replayed.
    pub sessions: u64,
    /// Those that the recorded agent never compacted and whose contexts all fit the
    /// window.
    pub fit: u64,
    /// Largest context of a session between two recorded compactions, in tokens.
    pub largest_tokens: u64,
    /// Context limits that were assumed; absent where every replay failed.
    pub limits: Option<Limits>,
}

impl Headroom {
    /// Whether nothing has to be compacted in any session.
    pub fn is_whole(&self) -> bool {
        self.fit == self.sessions
    }
}
