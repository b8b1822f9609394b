//! How far a packed input may unpack.
//!
//! A gzip of a hundred kilobytes may hold a hundred megabytes of blank lines or
//! of brackets, and what is read of those takes many times as much memory.

use std::io::{BufReader, Read};

use flate2::bufread::MultiGzDecoder;

/// Bytes that an input may unpack to, unless more are allowed.
const MOST: u64 = 1 << 30;

/// Times its packed size that an input may unpack to. Recorded sessions pack 5
/// to 18 times; gzip reaches 1,000 on what says nothing.
const RATIO: u64 = 50;

/// Bytes to which any input may unpack, however few it is packed in: a short
/// session may well repeat itself.
const FREE: u64 = 8 << 20;

/// An input that unpacks to more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// More bytes than are allowed.
    #[error("it unpacks to more than {0} bytes")]
    Bytes(u64),
    /// More than so many times its packed size.
    #[error("it unpacks to more than {unpacked} bytes, {RATIO} times the {packed} that are packed")]
    Ratio {
        /// Packed bytes that were read.
        packed: u64,
        /// Bytes to which these may unpack.
        unpacked: u64,
    },
}

impl TooMuch {
    /// The reason behind an error of reading, if this is it.
    pub(super) fn of(error: &std::io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref::<Self>().copied()
    }
}

/// Bytes that were read from where the input is stored.
pub(super) trait Counting {
    /// How many.
    fn count(&self) -> u64;
}

/// Unpacks an input until that is too much.
pub(super) struct Unpacking<R: Read> {
    decoder: MultiGzDecoder<BufReader<R>>,
    unpacked: u64,
    /// Bytes that are allowed, whatever they are packed in.
    allowed: Option<u64>,
}

impl<R: Read + Counting> Unpacking<R> {
    /// Unpacks to `allowed` bytes; by itself to [`MOST`], and to [`RATIO`] times
    /// what is packed where that is more than [`FREE`].
    pub fn new(stored: BufReader<R>, allowed: Option<u64>) -> Self {
        Self { decoder: MultiGzDecoder::new(stored), unpacked: 0, allowed }
    }

    /// Where the input is stored.
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
