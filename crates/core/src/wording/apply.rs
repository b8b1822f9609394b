//! How the recorded agent is told to do what is advised, in a sentence.

use crate::model::{Report, Setting};

/// The sentence in parts, so that a page can set the line apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Apply {
    /// The agent and where its setting stands.
    pub before: String,
    /// The line to write there.
    pub line: String,
    /// What else is to be known, and where that was read.
    pub behind: String,
}

/// How the advice of a run is applied; `None` where nothing is advised, or the
/// recorded agent has no setting for it.
pub fn to_apply(report: &Report) -> Option<Apply> {
    let Setting { agent, line, file, note, source, version, checked, .. } =
        report.advice.as_ref()?.apply.as_ref()?;
    let note = note.as_ref().map(|note| format!("{note} ")).unwrap_or_default();
    Some(Apply {
        before: format!("set for {agent}, in {file}:"),
        line: line.clone(),
        behind: format!(
            "{note}recap changes no settings itself. Read on {checked} in {source} ({version})."
        ),
    })
}

/// The same as one line.
pub fn apply(report: &Report) -> Option<String> {
    let Apply { before, line, behind } = to_apply(report)?;
    Some(format!("To apply it, {before} {line} – {behind}"))
}
