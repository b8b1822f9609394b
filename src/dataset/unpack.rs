//! Limits how far a packed input may unpack.
//!
//! A pack of a hundred kilobytes may contain a hundred megabytes of blank lines
//! or of brackets, and what is read of those takes many times as much memory.

use std::io::{BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use zstd::stream::read::Decoder as ZstdDecoder;

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

/// How far packed inputs may unpack.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Allowance {
    /// Limit in bytes, if one was given; otherwise [`MOST`], and [`RATIO`] times
    /// the packed size where that is more than [`FREE`].
    pub bytes: Option<u64>,
}

impl Allowance {
    /// Most bytes to which so many packed bytes may unpack.
    pub fn most(self, packed: u64) -> u64 {
        self.bytes.unwrap_or_else(|| packed.saturating_mul(RATIO).clamp(FREE, MOST))
    }

    /// Whether so many packed bytes may unpack to so many.
    ///
    /// # Errors
    /// The limit that this exceeds.
    pub fn check(self, packed: u64, unpacked: u64) -> Result<(), TooMuch> {
        if let Some(most) = self.bytes {
            return if unpacked > most { Err(TooMuch::Bytes(most)) } else { Ok(()) };
        }
        let most = packed.saturating_mul(RATIO).max(FREE);
        match unpacked {
            n if n > MOST => Err(TooMuch::Bytes(MOST)),
            n if n > most => Err(TooMuch::Ratio { packed, unpacked: most }),
            _ => Ok(()),
        }
    }
}

/// A kind of packed input.
#[derive(Clone, Copy)]
pub(super) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    /// Tells a packed input by its first bytes: those of a gzip member (RFC
    /// 1952, 2.3.1), or of a frame of zstd (RFC 8878, 3.1.1).
    pub fn of(first: &[u8]) -> Option<Packing> {
        if first.starts_with(&[0x1f, 0x8b]) {
            Some(Packing::Gzip)
        } else if first.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Packing::Zstd)
        } else {
            None
        }
    }
}

enum Decoder<R: BufRead> {
    Gzip(Box<MultiGzDecoder<R>>),
    Zstd(ZstdDecoder<'static, R>),
}

/// Unpacks an input up to a limit.
pub(super) struct Unpacking<R: Read> {
    decoder: Decoder<BufReader<R>>,
    unpacked: u64,
    allowance: Allowance,
}

impl<R: Read + Counting> Unpacking<R> {
    /// Unpacks as far as `allowance` goes.
    ///
    /// # Errors
    /// A decoder that cannot be made.
    pub fn new(
        stored: BufReader<R>,
        packing: Packing,
        allowance: Allowance,
    ) -> std::io::Result<Self> {
        let decoder = match packing {
            Packing::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(stored))),
            Packing::Zstd => Decoder::Zstd(ZstdDecoder::with_buffer(stored)?),
        };
        Ok(Self { decoder, unpacked: 0, allowance })
    }

    fn buffered(&self) -> &BufReader<R> {
        match &self.decoder {
            Decoder::Gzip(decoder) => decoder.get_ref(),
            Decoder::Zstd(decoder) => decoder.get_ref(),
        }
    }

    /// The packed input that is read.
    pub fn stored(&self) -> &R {
        self.buffered().get_ref()
    }
}

impl<R: Read + Counting> Read for Unpacking<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.read(buffer)?,
            Decoder::Zstd(decoder) => decoder.read(buffer)?,
        };
        self.unpacked += n as u64;
        let packed = self.stored().count() - self.buffered().buffer().len() as u64;
        self.allowance.check(packed, self.unpacked).map_err(std::io::Error::other)?;
        Ok(n)
    }
}
