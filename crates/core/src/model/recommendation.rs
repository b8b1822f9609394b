//! The recommendation of a run, in sentences: what to use, how sure that is, and what was tested.

/// A row over all sessions, named by strategy and window.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowName {
    /// Id of the strategy.
    pub strategy: String,
    /// Label of the window, as typed.
    pub window: String,
}

/// The recommendation of a run; each text is one or more sentences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recommendation {
    /// The row to use at the windows of the run; absent where none is recommended.
    pub row: Option<RowName>,
    /// What to do: the strategy to use with what it keeps and costs, or the size at which to
    /// compact; or why nothing is recommended.
    pub answer: String,
    /// The conclusion that chance allows; without one, the largest doubt.
    pub how_sure: String,
    /// The finding that questions the answer most, unless `how_sure` is that.
    pub doubt: Option<String>,
    /// What else a reader should know before choosing: savings that vanish, rivals.
    pub also: Vec<String>,
    /// The command of a further run, and what that run would show; a clause.
    pub next: Option<String>,
    /// What a replay at the windows of the run tells those who build a harness of their own,
    /// where the answer is the size at which the recorded agent compacts.
    pub harness: Option<String>,
}
