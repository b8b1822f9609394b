//! Sessions of a format that is not named: the format is told by the first
//! bytes, and gzip and zstd are unpacked.

#![no_main]

use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use recap_formats::{LoadOptions, load_reader};
use recap_fuzz::{import, told};

fuzz_target!(|input: &[u8]| {
    import(None, input);
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(input).expect("memory takes every byte");
    let packed = packed.finish().expect("memory takes every byte");
    let options = LoadOptions { max_unpacked: Some(1 << 16), ..LoadOptions::default() };
    let by_zstd = zstd::stream::encode_all(input, 1).expect("memory takes every byte");
    let is_packed =
        [&[0x1f, 0x8b][..], &[0x28, 0xb5, 0x2f, 0xfd]].iter().any(|m| input.starts_with(m));
    for packed in [&packed, &by_zstd] {
        let plain = load_reader("input", input, &options);
        match (plain, load_reader("input", &packed[..], &options)) {
            (Ok(plain), Ok(unpacked)) => assert_eq!(plain.sessions, unpacked.sessions),
            (Err(plain), Err(unpacked)) => [plain, unpacked].into_iter().for_each(told),
            // Plain inputs are not bounded.
            (Ok(_), Err(error)) => told(error),
            // What is packed twice is unpacked once: lines of it may be readable, and
            // the rest is told.
            (Err(error), Ok(_)) if is_packed => told(error),
            (Err(error), Ok(_)) => panic!("only the packed one can be read: {error}"),
        }
    }
});
