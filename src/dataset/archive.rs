//! The members of a zip archive, within the limits of packed inputs.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::error::{DatasetError, Problem};
use super::source::{MAX_DOCUMENT, Source};
use super::unpack::{Allowance, TooMuch};

/// A zip archive in memory.
pub(super) struct Archive {
    zip: ZipArchive<Cursor<Vec<u8>>>,
    names: Vec<String>,
    packed: u64,
    unpacked: u64,
    allowance: Allowance,
}

impl Archive {
    /// Takes the rest of an input for an archive.
    ///
    /// # Errors
    /// Something that is no zip archive, or is longer than a document may be.
    pub fn open(source: &mut Source<'_>) -> Result<Archive, DatasetError> {
        let bytes = source.bytes()?;
        let (packed, allowance) = (bytes.len() as u64, source.allowance());
        let zip = ZipArchive::new(Cursor::new(bytes));
        let zip = zip.map_err(|error| source.error(None, broken(&error)))?;
        let names: Result<Vec<String>, ZipError> =
            zip.file_names().map(|name| name.map(Into::into)).collect();
        let names = names.map_err(|error| source.error(None, broken(&error)))?;
        Ok(Archive { zip, names, packed, unpacked: 0, allowance })
    }

    /// The names of all members.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The text of a member.
    ///
    /// # Errors
    /// A member that is damaged, no text, or unpacks to too much.
    pub fn text(&mut self, name: &str) -> Result<String, Problem> {
        let member = self.zip.by_name(name).map_err(|error| broken(&error))?;
        let (packed, allowance) = (self.packed, self.allowance);
        let mut bounded = Bounded { member, packed, unpacked: &mut self.unpacked, allowance };
        let mut bytes = Vec::new();
        bounded.read_to_end(&mut bytes).map_err(|error| match TooMuch::of(&error) {
            Some(too_much) => Problem::Unpacked(too_much),
            None => Problem::Archive { message: format!("{name}: {error}") },
        })?;
        if bytes.len() as u64 > MAX_DOCUMENT {
            return Err(Problem::DocumentTooLong { limit: MAX_DOCUMENT });
        }
        String::from_utf8(bytes).map_err(|error| {
            let byte = error.utf8_error().valid_up_to();
            Problem::Archive { message: format!("{name}: not UTF-8 text (byte {byte})") }
        })
    }
}

fn broken(error: &ZipError) -> Problem {
    Problem::Archive { message: error.to_string() }
}

/// A member that stops where the archive has unpacked to too much.
struct Bounded<'a, R> {
    member: R,
    packed: u64,
    unpacked: &'a mut u64,
    allowance: Allowance,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.member.read(buffer)?;
        *self.unpacked += n as u64;
        self.allowance.check(self.packed, *self.unpacked).map_err(std::io::Error::other)?;
        Ok(n)
    }
}
