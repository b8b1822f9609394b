//! Limits how far a packed input may unpack.
//!
//! A pack of a hundred kilobytes may contain a hundred megabytes of blank lines
//! or of brackets, and what is read of those takes many times as much memory.

use std::io::{BufRead, BufReader, Cursor, Read};

use flate2::Crc;
use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

use super::error::{DatasetError, Problem};
use super::source::{MAX_DOCUMENT, Source};
use recap_core::text::counted;

/// Most bytes that an input may unpack to, unless more are allowed.
const MOST: u64 = 1 << 30;

/// Largest ratio of unpacked to packed size. Recorded sessions pack 5 to 18
/// times; gzip reaches 1,000 on repeated bytes.
const RATIO: u64 = 50;

/// Bytes to which any input may unpack, whatever its packed size: a session whose
/// tools print the same again and again packs a hundred times.
const FREE: u64 = 32 << 20;

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

/// The stored bytes of an input, all of which are part of the hash.
pub(super) struct Hashing<'a> {
    inner: Box<dyn Read + 'a>,
    pub(super) hasher: blake3::Hasher,
}

impl<'a> Hashing<'a> {
    pub(super) fn new(inner: Box<dyn Read + 'a>) -> Self {
        Hashing { inner, hasher: blake3::Hasher::new() }
    }
}

impl Read for Hashing<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.hasher.update(&buffer[..n]);
        Ok(n)
    }
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

enum Decoder<'a> {
    Gzip(Box<MultiGzDecoder<BufReader<Hashing<'a>>>>),
    Zstd(Box<Frames<BufReader<Hashing<'a>>>>),
}

/// Unpacks an input up to a limit.
pub(super) struct Unpacking<'a> {
    decoder: Decoder<'a>,
    unpacked: u64,
    allowance: Allowance,
}

impl<'a> Unpacking<'a> {
    /// Unpacks as far as `allowance` goes.
    pub fn new(stored: BufReader<Hashing<'a>>, packing: Packing, allowance: Allowance) -> Self {
        let decoder = match packing {
            Packing::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(stored))),
            Packing::Zstd => Decoder::Zstd(Box::new(Frames::new(stored))),
        };
        Self { decoder, unpacked: 0, allowance }
    }

    fn buffered(&self) -> &BufReader<Hashing<'a>> {
        match &self.decoder {
            Decoder::Gzip(decoder) => decoder.get_ref(),
            Decoder::Zstd(decoder) => decoder.get_ref(),
        }
    }

    /// The packed input that is read.
    pub fn stored(&self) -> &Hashing<'a> {
        self.buffered().get_ref()
    }
}

impl Read for Unpacking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.read(buffer)?,
            Decoder::Zstd(decoder) => decoder.read(buffer)?,
        };
        self.unpacked += n as u64;
        let packed = self.stored().hasher.count() - self.buffered().buffer().len() as u64;
        self.allowance.check(packed, self.unpacked).map_err(std::io::Error::other)?;
        Ok(n)
    }
}

// The members of a zip archive, within the limits of packed inputs.

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
        let (packed, allowance) = (bytes.len() as u64, source.allowance);
        let listed = listed(&bytes);
        let zip = ZipArchive::new(Cursor::new(bytes));
        let zip = zip.map_err(|error| source.error(None, broken(&error)))?;
        let names: Result<Vec<String>, ZipError> =
            zip.file_names().map(|name| name.map(Into::into)).collect();
        let names = names.map_err(|error| source.error(None, broken(&error)))?;
        let hidden = listed.saturating_sub(names.len());
        if hidden > 0 {
            let members = counted(hidden, "member");
            source.warn(format!("left out: {members} of the archive with the name of another"));
        }
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
        let (packed, allowance) = (self.packed, self.allowance);
        let raw = self.zip.by_name_raw(name.as_bytes()).map_err(|error| broken(&error))?;
        // The crate zip would unpack these by a library in C.
        let zstd = raw.compression() == CompressionMethod::ZSTD;
        let sum = zstd.then(|| raw.crc32());
        let member: Box<dyn Read + '_> = if zstd {
            Box::new(Frames::new(BufReader::new(raw)))
        } else {
            drop(raw);
            Box::new(self.zip.by_name(name).map_err(|error| broken(&error))?)
        };
        let mut bounded = Bounded { member, packed, unpacked: &mut self.unpacked, allowance };
        let mut bytes = Vec::new();
        bounded.read_to_end(&mut bytes).map_err(|error| match TooMuch::of(&error) {
            Some(too_much) => Problem::Unpacked(too_much),
            None => Problem::Archive { message: format!("{name}: {error}") },
        })?;
        if bytes.len() as u64 > MAX_DOCUMENT {
            return Err(Problem::DocumentTooLong { limit: MAX_DOCUMENT });
        }
        if sum.is_some_and(|sum| sum != crc(&bytes)) {
            return Err(Problem::Archive { message: format!("{name}: Invalid checksum") });
        }
        String::from_utf8(bytes).map_err(|error| {
            let byte = error.utf8_error().valid_up_to();
            Problem::Archive { message: format!("{name}: not UTF-8 text (byte {byte})") }
        })
    }
}

/// How many members the end of an archive says that it lists: of several with one
/// name the last is read. Very large archives say it elsewhere.
fn listed(archive: &[u8]) -> usize {
    let end = memchr::memmem::rfind(archive, b"PK\x05\x06");
    let count = end.and_then(|end| archive.get(end + 10..end + 12));
    count.map_or(0, |n| usize::from(n[0]) | usize::from(n[1]) << 8)
}

/// The checksum of a member, as zip archives state it.
fn crc(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
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

// Unpacks zstd (RFC 8878): all frames of an input, one after the other.

/// What is packed in the frames of an input.
pub(super) struct Frames<R> {
    source: R,
    frame: FrameDecoder,
    /// Whether a frame has begun whose end was not reached.
    open: bool,
}

impl<R: BufRead> Frames<R> {
    /// Reads from the first byte of a frame, or from the end of an input.
    pub fn new(source: R) -> Self {
        Frames { source, frame: FrameDecoder::new(), open: false }
    }

    /// The packed input.
    pub fn get_ref(&self) -> &R {
        &self.source
    }

    /// Begins the next frame; false at the end of the input.
    fn begin(&mut self) -> std::io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.frame.init(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped =
                        std::io::copy(&mut (&mut self.source).take(length), &mut std::io::sink())?;
                    if skipped < length {
                        return Err(std::io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(std::io::Error::other(error)),
            }
        }
        Ok(false)
    }

    /// Holds the text of a frame against the checksum behind it, if there is one.
    fn check(&self) -> std::io::Result<()> {
        match (self.frame.get_checksum_from_data(), self.frame.get_calculated_checksum()) {
            (Some(stored), Some(found)) if stored != found => {
                Err(std::io::Error::other("the checksum of a frame differs from its content"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            if !self.open {
                self.open = self.begin()?;
                if !self.open {
                    return Ok(0);
                }
            }
            while self.frame.can_collect() == 0 && !self.frame.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.frame.decode_blocks(&mut self.source, one).map_err(std::io::Error::other)?;
            }
            if self.frame.can_collect() > 0 {
                return self.frame.read(buffer);
            }
            self.check()?;
            self.open = false;
        }
    }
}
