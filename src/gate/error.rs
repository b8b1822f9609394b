//! An error in a rule: its place, its cause and a way to correct it.

use std::fmt;

/// An error in a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleError {
    /// The rule as typed.
    pub rule: String,
    /// Column of the error, in characters from 1.
    pub column: usize,
    /// What is wrong with the rule.
    pub problem: String,
    /// How to correct the rule.
    pub help: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule `{}`, column {}: {}", self.rule, self.column, self.problem)
    }
}

impl std::error::Error for RuleError {}
