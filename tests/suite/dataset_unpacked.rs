//! A packed input may unpack so far and no further, whatever is in it.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use recap_formats::{Dataset, DatasetError, LoadOptions, Problem, TooMuch, load_reader};

const MIB: u64 = 1 << 20;

/// A pack by zstd of a text and what is read behind it.
fn by_zstd(text: &str, more: impl Read) -> Vec<u8> {
    zstd::stream::encode_all(text.as_bytes().chain(more), 3).unwrap()
}

/// A pack of a text and what is read behind it.
fn packed(text: &str, more: impl Read) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    std::io::copy(&mut text.as_bytes().chain(more), &mut encoder).unwrap();
    encoder.flush().unwrap();
    encoder.finish().unwrap()
}

fn read(bytes: &[u8], max_unpacked: Option<u64>) -> Result<Dataset, DatasetError> {
    let options = LoadOptions { max_unpacked, ..LoadOptions::default() };
    load_reader("log.json.gz", bytes, &options)
}

/// A chat of two messages, in the middle of which blanks may stand.
const HEAD: &str = "[{\"role\":\"user\",\"content\":\"a\"},\n";
const TAIL: &str = "{\"role\":\"assistant\",\"content\":\"b\"}]";

/// The same, written out as some programs do, with a value that says nothing.
fn pretty(lines: usize) -> String {
    let nothing = "    [\n    ],\n".repeat(lines);
    format!("{HEAD}{{\"role\": \"assistant\", \"content\": \"b\", \"x\": [\n{nothing}    []]}}]")
}

fn repeated(byte: u8, mebibytes: u64) -> impl Read {
    std::io::repeat(byte).take(mebibytes * MIB)
}

#[test]
fn small_pack_unpacking_a_thousandfold_is_refused() {
    let blanks = |n| packed(HEAD, repeated(b'\n', n).chain(TAIL.as_bytes()));
    for (name, bytes) in [
        ("zeros", packed("", repeated(0, 40))),
        (
            "blank lines behind a log",
            packed(&format!("{{\"messages\":{}{TAIL}}}\n", HEAD.trim()), repeated(b'\n', 40)),
        ),
        ("blank lines in a document", blanks(40)),
        ("a line without an end", packed("{\"a\":\"", repeated(b'x', 40))),
        ("a document that is written out", packed(&pretty(3_000_000), std::io::empty())),
        ("zeros by zstd", by_zstd("", repeated(0, 40))),
        ("blank lines by zstd", by_zstd(HEAD, repeated(b'\n', 40).chain(TAIL.as_bytes()))),
    ] {
        assert!(bytes.len() < 250_000, "{name}: {}", bytes.len());
        let error = read(&bytes, None).expect_err(name);
        let Problem::Unpacked(TooMuch::Ratio { packed, unpacked }) = error.problem else {
            panic!("{name}: {error}");
        };
        assert!(packed <= bytes.len() as u64 && unpacked == 32 * MIB, "{name}: {error}");
        assert!(error.help().contains("--max-unpacked"), "{name}");
    }
}

/// As the log of an agent whose tools print the same again and again.
#[test]
fn short_session_that_packs_a_hundred_times_is_read() {
    let line = "test result: ok. 120 passed; 0 failed; 0 ignored; finished in 0.31s\\n";
    let said = format!("{{\"role\":\"user\",\"content\":\"{}\"}},", line.repeat(50));
    let text = format!("[{}{TAIL}", said.repeat(7_000));
    let bytes = packed(&text, std::io::empty());
    let unpacked = text.len() as u64;
    assert!(unpacked > 20 * MIB && unpacked > 100 * bytes.len() as u64, "{}", bytes.len());
    assert_eq!(read(&bytes, None).unwrap().sessions[0].messages.len(), 7_001);
}

#[test]
fn what_is_allowed_is_read_and_no_more() {
    let blanks = packed(HEAD, repeated(b'\n', 24).chain(TAIL.as_bytes()));
    let dataset = read(&blanks, Some(25 * MIB)).unwrap();
    assert_eq!(dataset.sessions[0].messages.len(), 2);
    let error = read(&blanks, Some(20 * MIB)).unwrap_err();
    assert!(matches!(error.problem, Problem::Unpacked(TooMuch::Bytes(n)) if n == 20 * MIB));
    // A pack that is not small for what is in it needs no word.
    for text in [pretty(1_000), pretty(400_000)] {
        assert_eq!(read(&packed(&text, std::io::empty()), None).unwrap().sessions.len(), 1);
    }
}

#[test]
fn zstd_is_recognised_by_magic_bytes_like_gzip() {
    let text = format!("{HEAD}{TAIL}");
    let whole = by_zstd(&text, std::io::empty());
    let plain = read(text.as_bytes(), None).unwrap();
    // Frames that follow one another are one text.
    let (head, tail) = (by_zstd(HEAD, std::io::empty()), by_zstd(TAIL, std::io::empty()));
    for bytes in [whole.clone(), [head, tail].concat()] {
        let dataset = read(&bytes, None).unwrap();
        assert_eq!(dataset.sessions, plain.sessions);
        assert_eq!(dataset.files[0].1, blake3::hash(&bytes).to_hex().to_string());
    }
    for end in 4..whole.len() {
        assert!(read(&whole[..end], None).is_err(), "cut at {end}");
    }
    let blanks = by_zstd(HEAD, repeated(b'\n', 24).chain(TAIL.as_bytes()));
    assert_eq!(read(&blanks, Some(25 * MIB)).unwrap().sessions.len(), 1);
    let error = read(&blanks, Some(20 * MIB)).unwrap_err();
    assert!(matches!(error.problem, Problem::Unpacked(TooMuch::Bytes(n)) if n == 20 * MIB));
}

#[test]
fn packed_file_is_named_after_its_content() {
    let bytes = by_zstd(&format!("{HEAD}{TAIL}"), std::io::empty());
    let options = LoadOptions::default();
    let dataset = load_reader("talk.json.zst", &bytes[..], &options).unwrap();
    assert_eq!(dataset.sessions[0].id, "talk");
}

#[test]
fn any_number_of_blank_lines_is_no_recording() {
    let error = read(&packed("", repeated(b'\n', 40)), None).unwrap_err();
    assert!(error.to_string().starts_with("the file is empty"), "{error}");
}
