//! The texts of a run, one a line in `texts.jsonl`, sorted by their hashes.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use super::folder::{FolderError, TEXTS, io};
use super::journal::Text;
use recap_core::text::json_error;

/// Texts of messages and summaries by hash.
#[derive(Clone, Debug)]
pub enum RunTexts {
    /// Those of a run that was just made.
    Held(BTreeMap<String, String>),
    /// Those of a finished run, read one by one when they are asked for.
    Filed(Arc<TextFile>),
}

/// A file of texts, with the place of each.
#[derive(Debug)]
pub struct TextFile {
    file: Mutex<File>,
    /// First 64 bits of each hash and the place of its line, sorted.
    index: Vec<(u64, u64)>,
}

impl RunTexts {
    /// The texts of the finished run in a folder; none where it has no file of
    /// them.
    ///
    /// # Errors
    /// The file cannot be read, or a line has another format than a run writes.
    pub fn of_run(folder: &Path) -> Result<Self, FolderError> {
        let path = folder.join(TEXTS);
        if !path.exists() {
            return Ok(RunTexts::Held(BTreeMap::new()));
        }
        let mut index = Vec::new();
        // Hashes are checked when a text is asked for.
        each_text(&path, |text, at| index.push((prefix(&text.hash), at)))?;
        index.sort_unstable();
        let file = Mutex::new(File::open(&path).map_err(io(&path))?);
        Ok(RunTexts::Filed(Arc::new(TextFile { file, index })))
    }

    /// The text with this hash.
    pub fn get(&self, hash: &str) -> Option<Cow<'_, str>> {
        match self {
            RunTexts::Held(texts) => texts.get(hash).map(|text| Cow::Borrowed(text.as_str())),
            RunTexts::Filed(file) => file.get(hash).map(Cow::Owned),
        }
    }
}

/// Calls `each` with every text of `texts.jsonl` and the place of its line.
///
/// # Errors
/// The file cannot be read, or a line has another format than a run writes.
pub(super) fn each_text(path: &Path, mut each: impl FnMut(Text, u64)) -> Result<(), FolderError> {
    let text = |line: &mut [u8], at| {
        each(serde_json::from_slice(line).map_err(|e| json_error(&e.to_string()))?, at);
        Ok(())
    };
    each_line(path, text).map(drop)
}

/// Calls `each` with every line without its newline, and where it begins; gives the length
/// of all in bytes. An incomplete last line is ignored: it was being written when the run
/// was killed.
///
/// # Errors
/// The file cannot be read, or what `each` says of a line.
pub(super) fn each_line(
    path: &Path,
    mut each: impl FnMut(&mut [u8], u64) -> Result<(), String>,
) -> Result<u64, FolderError> {
    let mut reader = BufReader::new(File::open(path).map_err(io(path))?);
    let mut at = 0;
    for number in 1.. {
        let Some(mut line) = line(&mut reader, path)? else { break };
        let length = line.len();
        each(&mut line[..length - 1], at).map_err(|problem| FolderError::Line {
            path: path.to_owned(),
            line: number,
            problem,
        })?;
        at += length as u64;
    }
    Ok(at)
}

impl TextFile {
    fn get(&self, hash: &str) -> Option<String> {
        let wanted = prefix(hash);
        let first = self.index.partition_point(|(known, _)| *known < wanted);
        let same = self.index[first..].iter().take_while(|(known, _)| *known == wanted);
        let mut file = self.file.lock().expect("no holder panics");
        same.copied().find_map(|(_, at)| {
            file.seek(SeekFrom::Start(at)).ok()?;
            let mut line = Vec::new();
            BufReader::new(Read::by_ref(&mut *file)).read_until(b'\n', &mut line).ok()?;
            let text: Text = serde_json::from_slice(&line).ok()?;
            (text.hash == hash).then_some(text.text)
        })
    }
}

/// The first 64 bits of a hash in hex; 0 of anything else.
fn prefix(hash: &str) -> u64 {
    hash.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

/// Number of files that are read side by side. Systems let a program open at
/// least 256.
const SIDE_BY_SIDE: usize = 100;

/// Writes the texts of several runs, each sorted and once. Their files are sorted
/// already, so that no more than a line of each is held.
///
/// # Errors
/// What reading and writing say, with the file.
pub(super) fn merge(folders: &[PathBuf], out: &mut dyn Write) -> Result<(), FolderError> {
    let files = folders.iter().map(|folder| folder.join(TEXTS)).filter(|file| file.exists());
    merge_lines(&files.collect::<Vec<PathBuf>>(), out)
}

/// Writes the lines of sorted files in their order, equal ones once.
fn merge_lines(files: &[PathBuf], out: &mut dyn Write) -> Result<(), FolderError> {
    if files.len() > SIDE_BY_SIDE {
        let held = tempfile::tempdir().map_err(io(Path::new("a temporary folder")))?;
        let mut fewer = Vec::new();
        for (at, some) in files.chunks(SIDE_BY_SIDE).enumerate() {
            let path = held.path().join(at.to_string());
            let mut file = std::io::BufWriter::new(File::create(&path).map_err(io(&path))?);
            merge_lines(some, &mut file)?;
            file.flush().map_err(io(&path))?;
            fewer.push(path);
        }
        return merge_lines(&fewer, out);
    }
    let mut readers = Vec::with_capacity(files.len());
    let mut next = BinaryHeap::new();
    for (at, path) in files.iter().enumerate() {
        readers.push(BufReader::new(File::open(path).map_err(io(path))?));
        next.extend(line(&mut readers[at], path)?.map(|line| Reverse((line, at))));
    }
    let mut last = Vec::new();
    while let Some(Reverse((own, at))) = next.pop() {
        next.extend(line(&mut readers[at], &files[at])?.map(|line| Reverse((line, at))));
        if own != last {
            out.write_all(&own).map_err(io(&files[at]))?;
            last = own;
        }
    }
    Ok(())
}

/// The next whole line, with its newline, as bytes: an incomplete one may end within a
/// character.
fn line(reader: &mut impl BufRead, path: &Path) -> Result<Option<Vec<u8>>, FolderError> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line).map_err(io(path))?;
    Ok(Some(line).filter(|line| line.ends_with(b"\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(at: usize) -> String {
        blake3::hash(at.to_string().as_bytes()).to_hex().to_string()
    }

    /// A run folder with these texts.
    fn folder(root: &Path, name: usize, texts: impl IntoIterator<Item = usize>) -> PathBuf {
        let path = root.join(name.to_string());
        std::fs::create_dir(&path).unwrap();
        let texts: BTreeMap<String, String> =
            texts.into_iter().map(|at| (hash(at), format!("text \"{at}\"\n"))).collect();
        let lines = texts
            .iter()
            .map(|(hash, text)| serde_json::to_string(&Text { hash, text }).unwrap() + "\n");
        std::fs::write(path.join(TEXTS), lines.collect::<String>()).unwrap();
        path
    }

    #[test]
    fn merged_texts_are_sorted_unique_and_all_found() {
        let root = tempfile::tempdir().unwrap();
        // More files than are read side by side; each text is in three of them.
        let folders: Vec<PathBuf> =
            (0..250).map(|at| folder(root.path(), at, [at, at + 1, at + 2])).collect();
        let merged = root.path().join("merged");
        std::fs::create_dir(&merged).unwrap();
        merge(&folders, &mut File::create(merged.join(TEXTS)).unwrap()).unwrap();
        let whole = folder(root.path(), 999, 0..252);
        let read = |folder: &Path| std::fs::read_to_string(folder.join(TEXTS)).unwrap();
        assert_eq!(read(&merged), read(&whole));
        let texts = RunTexts::of_run(&merged).unwrap();
        for at in [0, 1, 100, 251] {
            assert_eq!(texts.get(&hash(at)).unwrap(), format!("text \"{at}\"\n"));
        }
        assert!(texts.get(&hash(252)).is_none() && texts.get("").is_none());
        let none = RunTexts::of_run(root.path()).unwrap();
        assert!(none.get(&hash(0)).is_none());
    }

    #[test]
    fn only_incomplete_last_line_is_ignored() {
        let root = tempfile::tempdir().unwrap();
        let path = folder(root.path(), 0, [1]);
        let whole = std::fs::read_to_string(path.join(TEXTS)).unwrap();
        std::fs::write(path.join(TEXTS), format!("{whole}{{\"hash\":\"00")).unwrap();
        assert!(RunTexts::of_run(&path).unwrap().get(&hash(1)).is_some());
        std::fs::write(path.join(TEXTS), format!("{whole}{{\"hash\":\"00\n{whole}")).unwrap();
        let error = RunTexts::of_run(&path).unwrap_err().to_string();
        assert!(error.contains("texts.jsonl, line 2"), "{error}");
    }
}
