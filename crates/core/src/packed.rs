//! Bytes that are held compressed in memory.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;

/// Compresses bytes as fast as possible: the JSON of a session's results becomes
/// some ten times smaller.
pub fn pack(bytes: &[u8]) -> Box<[u8]> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    packed.expect("memory takes every byte").into()
}

/// The bytes of which [`pack`] made these.
pub fn unpack(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    DeflateDecoder::new(packed).read_to_end(&mut bytes).expect("`pack` compressed them");
    bytes
}
