//! What is wrong with a rule, where, and how to mend it.

use std::fmt;

/// A rule that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The rule as typed.
    pub rule: String,
    /// Where it goes wrong: the character, from 1.
    pub column: usize,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub help: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule `{}`, column {}: {}", self.rule, self.column, self.problem)
    }
}

impl std::error::Error for RuleError {}
