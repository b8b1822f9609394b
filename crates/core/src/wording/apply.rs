//! How the recorded agent is told to do what is advised, in a sentence.

use crate::model::Setting;

/// How a setting is written: the agent and the file, the line, what else is to be known, and where
/// that was read.
pub fn apply(setting: &Setting) -> String {
    let Setting { agent, line, file, note, source, version, checked, .. } = setting;
    let note = note.as_ref().map(|note| format!("{note} ")).unwrap_or_default();
    format!(
        "To apply it, set for {agent}, in {file}: {line} – {note}recap changes no settings itself. \
         Read on {checked} in {source} ({version})."
    )
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
