//! Limits how far a packed input may unpack.
//!
//! A gzip of a hundred kilobytes may contain a hundred megabytes of blank lines
//! or of brackets, and what is read of those takes many times as much memory.

use std::io::{BufReader, Read};

use flate2::bufread::MultiGzDecoder;

/// Most bytes that an input may unpack to, unless more are allowed.
const MOST: u64 = 1 << 30;

/// Largest ratio of unpacked to packed size. Recorded sessions pack 5 to 18
/// times; gzip reaches 1,000 on repeated bytes.
const RATIO: u64 = 50;

/// Bytes to which any input may unpack, whatever its packed size: a short
/// session may well repeat itself.
const FREE: u64 = 8 << 20;

/// An input that unpacks to more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// More bytes than the limit.
    #[error("it unpacks to more than {0} bytes")]
    Bytes(u64),
    /// More than the allowed multiple of its packed size.
    #[error("it unpacks to more than {unpacked} bytes, {RATIO} times the {packed} that are packed")]
    Ratio {
        /// Packed bytes that were read.
        packed: u64,
        /// Bytes to which these may unpack.
        unpacked: u64,
    },
}

impl TooMuch {
    /// The limit that caused an I/O error, if it was one.
    pub(super) fn of(error: &std::io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Self>().copied()
    }
}

/// Counts the bytes that were read from the stored input.
pub(super) trait Counting {
    /// Number of bytes read so far.
    fn count(&self) -> u64;
}

/// Unpacks an input up to a limit.
pub(super) struct Unpacking<R: Read> {
    decoder: MultiGzDecoder<BufReader<R>>,
    unpacked: u64,
    /// Limit in bytes, if one was given.
    allowed: Option<u64>,
}

impl<R: Read + Counting> Unpacking<R> {
    /// Unpacks up to `allowed` bytes; by default up to [`MOST`], and up to
    /// [`RATIO`] times the packed size where that is more than [`FREE`].
    pub fn new(stored: BufReader<R>, allowed: Option<u64>) -> Self {
        Self { decoder: MultiGzDecoder::new(stored), unpacked: 0, allowed }
    }

    /// The packed input that is read.
    pub fn stored(&self) -> &R {
        self.decoder.get_ref().get_ref()
    }

    fn check(&self) -> Result<(), TooMuch> {
        if let Some(most) = self.allowed {
            return if self.unpacked > most { Err(TooMuch::Bytes(most)) } else { Ok(()) };
        }
        let stored = self.decoder.get_ref();
        let packed = stored.get_ref().count() - stored.buffer().len() as u64;
        let most = (packed * RATIO).max(FREE);
        match self.unpacked {
            n if n > MOST => Err(TooMuch::Bytes(MOST)),
            n if n > most => Err(TooMuch::Ratio { packed, unpacked: most }),
            _ => Ok(()),
        }
    }
}

impl<R: Read + Counting> Read for Unpacking<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.decoder.read(buffer)?;
        self.unpacked += n as u64;
        self.check().map_err(std::io::Error::other)?;
        Ok(n)
    }
}
