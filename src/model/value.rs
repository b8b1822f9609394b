//! A number, or why there is none.

use serde::Serialize;

use super::Absent;

/// A number, or the reason why there is none.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Value {
    /// A measured or modelled number; `*_source` columns say which.
    Known(f64),
    /// No number, with the reason.
    Absent(Absent),
    /// A word instead of a number, such as a source or a verdict.
    Text(String),
}

impl Value {
    /// The number, if there is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Known(x) => Some(*x),
            _ => None,
        }
    }
}
