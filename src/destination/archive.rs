//! The object of a shard: the files that its results are read from, behind one
//! another, packed with zstd. The first line is JSON and says which they are,
//! how long, and with which BLAKE3 hash, so that an object that is cut off,
//! damaged or not ours is never taken for a shard.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};
use zstd::stream::{read::Decoder, write::Encoder};

use super::DestinationError;
use crate::run::RESULT_FILES;

/// Version of the layout.
const VERSION: u32 = 1;

/// Level of compression.
const LEVEL: i32 = 9;

/// Largest object: S3 takes 5 GiB in one request, Azure 5,000 MiB.
const MOST_PACKED: u64 = 4 << 30;

/// Longest first line.
const MOST_HEAD: u64 = 4096;

/// Largest ratio of unpacked to packed size, above [`FREE`]. A run of the bundled
/// sessions packs 12 times.
const RATIO: u64 = 300;

/// Bytes to which any object may unpack.
const FREE: u64 = 64 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    /// Version of the layout; named so that the object says what it is.
    recap_shard: u32,
    files: Vec<Packed>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Packed {
    name: String,
    bytes: u64,
    blake3: String,
}

/// Packs the shard in a folder.
///
/// # Errors
/// A file cannot be read, or the shard is larger than an object may be.
pub(super) fn pack(folder: &Path) -> Result<Vec<u8>, DestinationError> {
    let names = RESULT_FILES.iter().filter(|name| folder.join(name).exists());
    let files = names.map(|name| described(folder, name)).collect::<Result<_, _>>()?;
    let head = Head { recap_shard: VERSION, files };
    let memory = "memory takes every byte";
    let mut out = Encoder::new(Vec::new(), LEVEL).expect("the level is one that there is");
    out.include_checksum(true).expect("it is a known parameter");
    serde_json::to_writer(&mut out, &head).expect("plain data serialises");
    out.write_all(b"\n").expect(memory);
    for file in &head.files {
        let path = folder.join(&file.name);
        let copy = File::open(&path).and_then(|mut from| std::io::copy(&mut from, &mut out));
        copy.map_err(io(&path))?;
    }
    let packed = out.finish().expect(memory);
    match packed.len() as u64 {
        bytes if bytes > MOST_PACKED => {
            Err(DestinationError::TooLarge { path: folder.to_owned(), bytes, most: MOST_PACKED })
        }
        _ => Ok(packed),
    }
}

fn described(folder: &Path, name: &str) -> Result<Packed, DestinationError> {
    let path = folder.join(name);
    let mut hasher = blake3::Hasher::new();
    let hashed = File::open(&path).and_then(|file| hasher.update_reader(file).map(drop));
    hashed.map_err(io(&path))?;
    let (bytes, blake3) = (hasher.count(), hasher.finalize().to_hex().to_string());
    Ok(Packed { name: name.to_owned(), bytes, blake3 })
}

/// Unpacks an object of so many bytes into a folder, which is made.
///
/// # Errors
/// It is not a whole shard, or a file cannot be written. What was written then
/// is of no use.
pub(super) fn unpack(
    object: impl Read,
    bytes: u64,
    folder: &Path,
    at: &str,
) -> Result<(), DestinationError> {
    let damaged = |problem: String| DestinationError::Damaged { at: at.to_owned(), problem };
    let torn = |e: std::io::Error| damaged(e.to_string());
    let mut unpacked = BufReader::new(Decoder::new(object).map_err(torn)?);
    let head = head(&mut unpacked, bytes).map_err(damaged)?;
    std::fs::create_dir_all(folder).map_err(io(folder))?;
    for file in &head.files {
        let path = folder.join(&file.name);
        let mut out = BufWriter::new(File::create(&path).map_err(io(&path))?);
        let hash = copy(&mut unpacked, &mut out, file.bytes).map_err(|e| match e {
            Copying::Read(problem) => torn(problem),
            Copying::Write(problem) => io(&path)(problem),
        })?;
        if hash.to_hex().as_str() != file.blake3 {
            return Err(damaged(format!("{} has another hash than it should have", file.name)));
        }
    }
    match unpacked.fill_buf() {
        Ok([]) => Ok(()),
        Ok(_) => Err(damaged("there is something behind its files".to_owned())),
        Err(problem) => Err(torn(problem)),
    }
}

/// The first line, which names files that a shard has, and no more bytes than
/// such an object unpacks to.
fn head(unpacked: &mut impl BufRead, bytes: u64) -> Result<Head, String> {
    let mut line = Vec::new();
    let read = unpacked.take(MOST_HEAD).read_until(b'\n', &mut line);
    read.map_err(|e| e.to_string())?;
    let head: Head = serde_json::from_slice(&line)
        .map_err(|e| format!("its first line is not that of a shard: {e}"))?;
    if head.recap_shard != VERSION {
        return Err(format!(
            "it has version {} of the layout, this recap knows {VERSION}",
            head.recap_shard
        ));
    }
    let mut names: Vec<&str> = head.files.iter().map(|file| file.name.as_str()).collect();
    if let Some(foreign) = names.iter().find(|name| !RESULT_FILES.contains(name)) {
        return Err(format!("it holds `{foreign}`, which is no file of a shard"));
    }
    names.sort_unstable();
    names.dedup();
    if names.len() != head.files.len() {
        return Err("it holds a file twice".to_owned());
    }
    let sizes = head.files.iter().map(|file| file.bytes);
    let unpacked = sizes.fold(0, u64::saturating_add);
    let most = bytes.saturating_mul(RATIO).max(FREE);
    if unpacked > most {
        return Err(format!("it would unpack to {unpacked} bytes, and may to {most}"));
    }
    Ok(head)
}

enum Copying {
    Read(std::io::Error),
    Write(std::io::Error),
}

/// Copies so many bytes, and hashes them.
fn copy(from: &mut impl BufRead, to: &mut impl Write, bytes: u64) -> Result<blake3::Hash, Copying> {
    let mut hasher = blake3::Hasher::new();
    let mut left = bytes;
    while left > 0 {
        let there = from.fill_buf().map_err(Copying::Read)?;
        if there.is_empty() {
            return Err(Copying::Read(std::io::ErrorKind::UnexpectedEof.into()));
        }
        let n = usize::try_from(left).map_or(there.len(), |left| left.min(there.len()));
        hasher.update(&there[..n]);
        to.write_all(&there[..n]).map_err(Copying::Write)?;
        from.consume(n);
        left -= n as u64;
    }
    to.flush().map_err(Copying::Write)?;
    Ok(hasher.finalize())
}

pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> DestinationError + '_ {
    move |source| DestinationError::Io { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            [("manifest.json", "{}\n"), ("cells.jsonl", "1\n2\n"), ("texts.jsonl", "")]
        {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn unpacked(object: &[u8]) -> Result<Vec<(String, String)>, String> {
        let folder = tempfile::tempdir().unwrap();
        let (into, bytes) = (folder.path().join("shard"), object.len() as u64);
        unpack(object, bytes, &into, "s3://b/o").map_err(|e| e.to_string())?;
        let entries = std::fs::read_dir(&into).unwrap().map(|entry| entry.unwrap());
        let file = |entry: std::fs::DirEntry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read_to_string(entry.path()).unwrap())
        };
        let mut files: Vec<_> = entries.map(file).collect();
        files.sort();
        Ok(files)
    }

    /// An object with this first line, and this behind it.
    fn made(head: &str, rest: &[u8]) -> Vec<u8> {
        zstd::encode_all(&[head.as_bytes(), b"\n", rest].concat()[..], 1).unwrap()
    }

    #[test]
    fn a_shard_comes_back_with_the_files_of_its_results_and_no_others() {
        let folder = shard();
        std::fs::write(folder.path().join("replies.jsonl"), "a reply").unwrap();
        std::fs::write(folder.path().join("report.html"), "a page").unwrap();
        let object = pack(folder.path()).unwrap();
        let files = unpacked(&object).unwrap();
        let files: Vec<_> = files.iter().map(|(n, t)| (n.as_str(), t.as_str())).collect();
        assert_eq!(
            files,
            [("cells.jsonl", "1\n2\n"), ("manifest.json", "{}\n"), ("texts.jsonl", "")]
        );
        assert_eq!(pack(folder.path()).unwrap(), object, "the same files make the same object");
    }

    #[test]
    fn an_object_that_is_cut_off_or_damaged_anywhere_is_refused() {
        let object = pack(shard().path()).unwrap();
        for end in 0..object.len() {
            assert!(unpacked(&object[..end]).is_err(), "cut off after {end} bytes");
        }
        for at in 0..object.len() {
            for flipped in [0x01, 0x80] {
                let mut damaged = object.clone();
                damaged[at] ^= flipped;
                let told = unpacked(&damaged);
                // Some bits of a frame of zstd mean nothing: then nothing is lost.
                assert!(told.is_err() || told == unpacked(&object), "byte {at}");
            }
        }
        let longer = [&object[..], &zstd::encode_all(&b"more"[..], 1).unwrap()].concat();
        assert!(unpacked(&longer).unwrap_err().contains("behind its files"));
    }

    #[test]
    fn names_and_sizes_of_a_hostile_object_are_refused() {
        let empty = blake3::hash(b"").to_hex();
        let file = |name: &str, bytes: u64| {
            format!(r#"{{"name":{name:?},"bytes":{bytes},"blake3":"{empty}"}}"#)
        };
        let head = |version: u32, files: &[String]| {
            format!(r#"{{"recap_shard":{version},"files":[{}]}}"#, files.join(","))
        };
        let one = file("cells.jsonl", 0);
        assert_eq!(unpacked(&made(&head(1, std::slice::from_ref(&one)), b"")).unwrap().len(), 1);
        for (head, says) in [
            (head(1, &[file("../cells.jsonl", 0)]), "which is no file of a shard"),
            (head(1, &[file("/etc/passwd", 0)]), "which is no file of a shard"),
            (head(1, &[file("report.html", 0)]), "which is no file of a shard"),
            (head(1, &[one.clone(), one.clone()]), "twice"),
            (head(2, std::slice::from_ref(&one)), "version 2 of the layout"),
            (head(1, &[file("cells.jsonl", u64::MAX), file("texts.jsonl", u64::MAX)]), "unpack to"),
            (head(1, &[file("cells.jsonl", FREE + 1)]), "unpack to"),
            (head(1, &[file("cells.jsonl", 1)]), "end of file"),
            ("[]".to_owned(), "its first line is not that of a shard"),
            (" ".repeat(100_000), "its first line is not that of a shard"),
        ] {
            let told = unpacked(&made(&head, b"")).unwrap_err();
            assert!(told.contains(says), "{head:.80}: {told}");
        }
        let told = unpacked(&made(&head(1, &[file("cells.jsonl", 1)]), b"x")).unwrap_err();
        assert!(told.contains("another hash"), "{told}");
        for foreign in [&b""[..], b"PK\x03\x04", b"{\"recap_shard\":1,\"files\":[]}\n"] {
            assert!(unpacked(foreign).is_err());
        }
    }
}
