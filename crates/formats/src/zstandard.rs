//! Unpacks zstd (RFC 8878): all frames of an input, one after the other.

use std::io::{BufRead, Error, Read, Result};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

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
    fn begin(&mut self) -> Result<bool> {
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
                Err(error) => return Err(Error::other(error)),
            }
        }
        Ok(false)
    }

    /// Holds the text of a frame against the checksum behind it, if there is one.
    fn check(&self) -> Result<()> {
        match (self.frame.get_checksum_from_data(), self.frame.get_calculated_checksum()) {
            (Some(stored), Some(found)) if stored != found => {
                Err(Error::other("the checksum of a frame differs from its content"))
            }
            _ => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            if !self.open {
                self.open = self.begin()?;
                if !self.open {
                    return Ok(0);
                }
            }
            while self.frame.can_collect() == 0 && !self.frame.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.frame.decode_blocks(&mut self.source, one).map_err(Error::other)?;
            }
            if self.frame.can_collect() > 0 {
                return self.frame.read(buffer);
            }
            self.check()?;
            self.open = false;
        }
    }
}
