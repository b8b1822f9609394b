//! Tells the format of an input from its first bytes.

use serde::de::IgnoredAny;
use serde_json::Value as Json;

use super::error::DatasetError;
use super::formats::{FORMATS, Format};
use super::source::{HEAD, Source, is_cut};

/// Most bytes that are looked at to tell the format of an input. A log may
/// begin with any number of records that are no messages (a Claude Code log
/// with thousands of summaries): as long as no format recognises the first
/// mebibyte, all of these are looked at.
pub const MAX_HEAD: usize = 8 << 20;

/// The first bytes of an input, as the formats see them.
pub struct Head {
    /// The first bytes as text; bytes that are no text are replaced.
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

    /// Whether there is nothing but blanks.
    pub fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Whether one of the records satisfies `test`.
    pub fn any(&self, test: impl Fn(&Json) -> bool) -> bool {
        self.records.iter().any(test)
    }

    /// Whether the first bytes hold all of `keys` as member names, for inputs
    /// whose first line is longer than what is looked at.
    pub fn mentions(&self, keys: &[&str]) -> bool {
        keys.iter().all(|key| {
            let quoted = format!("\"{key}\"");
            self.text
                .match_indices(&quoted)
                .any(|(at, _)| self.text[at + quoted.len()..].trim_start().starts_with(':'))
        })
    }

    /// First character that is no blank.
    pub fn first_char(&self) -> Option<char> {
        self.text.trim_start_matches('\u{feff}').trim_start().chars().next()
    }
}

/// What the first bytes of an input tell: its format, or that nothing but
/// blanks stands there.
pub(crate) enum Looked {
    Known(&'static dyn Format),
    Unknown { is_blank: bool },
}

/// Looks at the first bytes of an input until a format recognises it, among
/// one or all, or [`MAX_HEAD`] are looked at.
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
