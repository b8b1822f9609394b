//! Detects the format of an input from its first bytes.

use serde::de::IgnoredAny;
use serde_json::Value as Json;

use super::error::DatasetError;
use super::formats::{FORMATS, Format};
use super::source::{HEAD, Source, is_cut};

/// Most bytes that are read to detect the format of an input. A log may begin
/// with any number of records that are not messages (a Claude Code log with
/// thousands of summaries): if no format recognises the first mebibyte, this
/// many bytes are tried.
pub const MAX_HEAD: usize = 8 << 20;

/// The first bytes of an input, as the formats see them.
pub struct Head {
    /// The first bytes as text; invalid bytes are replaced.
    pub text: String,
    /// The first complete lines that are JSON; the document, where the input
    /// is one over several lines and short enough.
    pub records: Vec<Json>,
    /// Whether the input is one JSON document over several lines.
    pub spread: bool,
}

impl Head {
    /// Looks at the first bytes of an input.
    pub fn new(bytes: &[u8]) -> Head {
        let whole = String::from_utf8_lossy(bytes).into_owned();
        let text = whole.trim_start_matches('\u{feff}');
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let spread = lines.clone().next().is_some_and(is_cut)
            && text.trim().contains('\n')
            && (is_cut(text) || serde_json::from_str::<IgnoredAny>(text).is_ok());
        let records = if spread {
            serde_json::from_str(text).into_iter().collect()
        } else {
            lines.filter_map(|l| serde_json::from_str(l).ok()).collect()
        };
        Head { text: whole, records, spread }
    }

    /// Whether there is nothing but white space.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether one of the records satisfies `test`.
    pub fn any(&self, test: impl Fn(&Json) -> bool) -> bool {
        self.records.iter().any(test)
    }

    /// Whether the first bytes contain all of `keys` as member names, for
    /// inputs whose first line is longer than what is read for detection.
    pub fn mentions(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| {
            let quoted = format!("\"{key}\"");
            self.text
                .match_indices(&quoted)
                .any(|(at, _)| self.text[at + quoted.len()..].trim_start().starts_with(':'))
        })
    }

    /// The first character that is not white space.
    pub fn first_char(&self) -> Option<char> {
        self.text.trim_start_matches('\u{feff}').trim_start().chars().next()
    }
}

/// The result of detection: the format, or that the input is blank.
pub(crate) enum Looked {
    Known(&'static dyn Format),
    Unknown { is_blank: bool },
}

/// Reads the first bytes of an input until a format recognises them (any
/// format, or only the named one), up to [`MAX_HEAD`].
pub(crate) fn look(source: &mut Source<'_>, only: Option<&str>) -> Result<Looked, DatasetError> {
    let mut is_blank = true;
    for most in [HEAD, MAX_HEAD] {
        let bytes = source.head(most)?;
        let head = Head::new(bytes);
        let mut asked =
            FORMATS.iter().copied().filter(|f| only.is_none_or(|name| name == f.name()));
        if let Some(format) = asked.find(|format| format.sniff(&head)) {
            return Ok(Looked::Known(format));
        }
        is_blank = head.is_blank();
        if bytes.len() < most {
            break;
        }
    }
    Ok(Looked::Unknown { is_blank })
}
