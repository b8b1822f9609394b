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

/// Least likeness of a name that is suggested.
const LIKE: f64 = 0.75;
/// Names suggested at most.
const SUGGESTED: usize = 3;

/// Known names that are like one that is not; all of them where none is and
/// they are few.
pub fn suggest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let lower = name.to_lowercase();
    let likeness = |other: &str| strsim::jaro_winkler(&other.to_lowercase(), &lower);
    let mut like: Vec<(f64, &str)> = known.iter().map(|name| (likeness(name), *name)).collect();
    like.retain(|(likeness, _)| *likeness >= LIKE);
    like.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    let quoted = |names: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let like: Vec<&str> = like.into_iter().take(SUGGESTED).map(|(_, name)| name).collect();
    match (like.is_empty(), known.is_empty()) {
        (false, _) => format!("did you mean {}?", quoted(&like)),
        (true, false) => format!("known are {}", quoted(&known)),
        (true, true) => "there is none".to_owned(),
    }
}
