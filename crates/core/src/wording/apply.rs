//! How the recorded agent is told to do what is advised, in a sentence.

use crate::model::Setting;

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

/// How a setting is written.
pub fn to_apply(setting: &Setting) -> Apply {
    let Setting { agent, line, file, note, source, version, checked, .. } = setting;
    let note = note.as_ref().map(|note| format!("{note} ")).unwrap_or_default();
    Apply {
        before: format!("set for {agent}, in {file}:"),
        line: line.clone(),
        behind: format!(
            "{note}recap changes no settings itself. Read on {checked} in {source} ({version})."
        ),
    }
}

/// The same as one line.
pub fn apply(setting: &Setting) -> String {
    let Apply { before, line, behind } = to_apply(setting);
    format!("To apply it, {before} {line} – {behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_names_file_line_note_and_source() {
        let mut setting = Setting {
            agent: "codex".into(),
            name: "limit".into(),
            line: "limit = 96000".into(),
            file: "~/.codex/config.toml".into(),
            note: Some("It stands above the tables.".into()),
            source: "https://example.com/config".into(),
            version: "commit 00e9f06".into(),
            checked: "2026-11-27".into(),
        };
        let read = "recap changes no settings itself. Read on 2026-11-27 in \
                    https://example.com/config (commit 00e9f06).";
        let head = "To apply it, set for codex, in ~/.codex/config.toml: limit = 96000 –";
        let noted = format!("{head} It stands above the tables. {read}");
        assert_eq!(apply(&setting), noted);
        setting.note = None;
        assert_eq!(apply(&setting), format!("{head} {read}"));
    }
}
