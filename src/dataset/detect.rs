//! Detects the format of an input from its first bytes.

use super::error::DatasetError;
use super::format::{Format, Head, MAX_HEAD};
use super::formats::FORMATS;
use super::source::{HEAD, Source};

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
        let (read, mut head) = (bytes.len(), Head::new(bytes));
        if head.tables().is_some() {
            head.add_tables(&source.log_head(most)?);
        }
        let mut asked =
            FORMATS.iter().copied().filter(|f| only.is_none_or(|name| name == f.name()));
        if let Some(format) = asked.find(|format| format.sniff(&head)) {
            return Ok(Looked::Known(format));
        }
        is_blank = head.is_blank();
        if read < most {
            break;
        }
    }
    Ok(Looked::Unknown { is_blank })
}
