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
use super::source::{BUFFER, MAX_DOCUMENT, Source};
use recap_core::text::{brief, counted};

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

/// What a frame of zstd begins with (RFC 8878, 3.1.1).
pub(super) const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

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

    /// Unpacks a part of an input of so many bytes, and adds its length to what was unpacked.
    ///
    /// # Errors
    /// More than the input, or a document, may unpack to; and `broken` of what cannot be read.
    pub fn read(
        self,
        part: impl Read,
        packed: u64,
        unpacked: &mut u64,
        broken: impl Fn(std::io::Error) -> Problem,
    ) -> Result<Vec<u8>, Problem> {
        let most = self.bytes.unwrap_or_else(|| packed.saturating_mul(RATIO).clamp(FREE, MOST));
        let left = most.saturating_sub(*unpacked).min(MAX_DOCUMENT);
        let mut bytes = Vec::new();
        part.take(left + 1).read_to_end(&mut bytes).map_err(broken)?;
        *unpacked = unpacked.saturating_add(bytes.len() as u64);
        self.check(packed, *unpacked).map_err(Problem::Unpacked)?;
        if bytes.len() as u64 > MAX_DOCUMENT {
            return Err(Problem::too_long());
        }
        Ok(bytes)
    }
}

/// The stored bytes of an input.
type Stored<'a> = BufReader<Hashing<'a>>;

enum Decoder<'a> {
    Plain(Box<Stored<'a>>),
    Gzip(Box<MultiGzDecoder<Stored<'a>>>),
    Zstd(Box<Frames<Stored<'a>>>),
}

/// The bytes of an input, where they are packed unpacked up to a limit.
pub(super) struct Unpacking<'a> {
    decoder: Decoder<'a>,
    unpacked: u64,
    allowance: Allowance,
}

impl<'a> Unpacking<'a> {
    /// Tells a packed input by its first bytes: those of a gzip member (RFC 1952, 2.3.1), or of
    /// a frame of zstd.
    pub fn open(inner: Box<dyn Read + 'a>, allowance: Allowance) -> std::io::Result<Self> {
        let mut stored = BufReader::with_capacity(BUFFER, Hashing::new(inner));
        let first = stored.fill_buf()?;
        let decoder = if first.starts_with(&[0x1f, 0x8b]) {
            Decoder::Gzip(Box::new(MultiGzDecoder::new(stored)))
        } else if first.starts_with(&ZSTD) {
            Decoder::Zstd(Box::new(Frames::new(stored)))
        } else {
            Decoder::Plain(Box::new(stored))
        };
        Ok(Self { decoder, unpacked: 0, allowance })
    }

    fn stored(&self) -> &Stored<'a> {
        match &self.decoder {
            Decoder::Plain(stored) => stored,
            Decoder::Gzip(decoder) => decoder.get_ref(),
            Decoder::Zstd(decoder) => &decoder.source,
        }
    }

    /// The hash of the stored bytes that were read.
    pub fn hash(&self) -> blake3::Hash {
        self.stored().get_ref().hasher.finalize()
    }
}

impl Read for Unpacking<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = match &mut self.decoder {
            Decoder::Plain(stored) => return stored.read(buffer),
            Decoder::Gzip(decoder) => decoder.read(buffer)?,
            Decoder::Zstd(decoder) => decoder.read(buffer)?,
        };
        self.unpacked += n as u64;
        let stored = self.stored();
        let packed = stored.get_ref().hasher.count() - stored.buffer().len() as u64;
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
        let zip = zip.map_err(|error| source.error(None, broken(&error.to_string())))?;
        let names: Result<Vec<String>, ZipError> =
            zip.file_names().map(|name| name.map(Into::into)).collect();
        let names = names.map_err(|error| source.error(None, broken(&error.to_string())))?;
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
        let raw =
            self.zip.by_name_raw(name.as_bytes()).map_err(|error| broken(&error.to_string()))?;
        // The crate zip would unpack these by a library in C.
        let zstd = raw.compression() == CompressionMethod::ZSTD;
        let sum = zstd.then(|| raw.crc32());
        let member: Box<dyn Read + '_> = if zstd {
            Box::new(Frames::new(BufReader::new(raw)))
        } else {
            drop(raw);
            Box::new(self.zip.by_name(name).map_err(|error| broken(&error.to_string()))?)
        };
        let failed = |error| broken(&format!("{name}: {error}"));
        let bytes = self.allowance.read(member, self.packed, &mut self.unpacked, failed)?;
        let mut crc = Crc::new();
        crc.update(if sum.is_some() { &bytes } else { &[] });
        if sum.is_some_and(|sum| sum != crc.sum()) {
            return Err(broken(&format!("{name}: Invalid checksum")));
        }
        String::from_utf8(bytes).map_err(|error| {
            let byte = error.utf8_error().valid_up_to();
            broken(&format!("{name}: not UTF-8 text (byte {byte})"))
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

fn broken(message: &str) -> Problem {
    let remedy = "check that the file is whole, or write the log again";
    Problem::other(format!("broken archive: {}", brief(message)), remedy)
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
