//! Reads a file, a folder or a stream into a [`Dataset`].

use std::fs::File;
use std::path::Path;

use super::check::{Draft, check};
use super::detect::{Head, detect};
use super::error::{DatasetError, Problem};
use super::formats::{FORMATS, Format};
use super::gathered::{Gathered, Loaded};
use super::native::{CARD_FILE, Native, PROBES_FILE, TRANSCRIPTS_FILE, read_card};
use super::probes;
use super::source::Source;
use super::walk::{self, Found};
use super::{Dataset, LoadOptions};

/// Said of a recognised file that gave no transcript.
const NO_MESSAGE: &str = "no message stands in it";

/// Reads `input`: a native data set folder, or a file or folder of any known
/// transcript format. Folders are read with everything below them, in the
/// order of relative paths.
///
/// # Errors
/// The first thing that is wrong, with file, line and remedy. In a folder,
/// files of no known format are no error: they are named in the warnings.
pub fn load(input: &Path, options: &LoadOptions) -> Result<Dataset, DatasetError> {
    gather(input, options)?.whole()
}

/// Reads `input` and does not stop at probes that are wrong.
pub(super) fn gather(input: &Path, options: &LoadOptions) -> Result<Loaded, DatasetError> {
    let metadata = std::fs::metadata(input).map_err(|e| walk::unreadable(input, e))?;
    if metadata.is_dir() { load_folder(input, options) } else { load_file(input, options) }
}

/// Reads one transcript file from memory: standard input, an archive.
///
/// # Errors
/// As [`load`] for a file.
pub fn load_reader(
    name: &str,
    bytes: &[u8],
    options: &LoadOptions,
) -> Result<Dataset, DatasetError> {
    let stem = stem_of(name);
    let mut source = Source::new(name, stem, Box::new(bytes));
    single(&mut source, options).and_then(|(_, drafts)| {
        let mut gathered = Gathered::default();
        gathered.add(name, drafts, source, None)?;
        gathered.into_loaded(stem)?.whole()
    })
}

/// Reads a native data set from memory: its card and its transcripts.
pub(super) fn load_native(
    name: &str,
    card: &str,
    transcripts: &[u8],
    options: &LoadOptions,
) -> Result<Dataset, DatasetError> {
    let mut gathered = Gathered::default();
    let whole = |file: &str, problem| DatasetError::whole(format!("{name}/{file}"), problem);
    gathered.card = Some(read_card(card).map_err(|(_, problem)| whole(CARD_FILE, problem))?);
    for (file, bytes) in [(CARD_FILE, card.as_bytes()), (TRANSCRIPTS_FILE, transcripts)] {
        gathered.files.push((file.to_owned(), blake3::hash(bytes).to_hex().to_string()));
    }
    let shown = format!("{name}/{TRANSCRIPTS_FILE}");
    let mut source = Source::new(&shown, name, Box::new(transcripts));
    for draft in Native.read(&mut source, options)? {
        check(&draft).map_err(|(line, problem)| source.error(line, problem))?;
        gathered.keep(TRANSCRIPTS_FILE, draft, &shown);
    }
    gathered.into_loaded(name)?.whole()
}

fn load_file(input: &Path, options: &LoadOptions) -> Result<Loaded, DatasetError> {
    let shown = input.display().to_string();
    let name =
        input.file_name().map_or_else(|| shown.clone(), |n| n.to_string_lossy().into_owned());
    let file = File::open(input).map_err(|e| walk::unreadable(input, e))?;
    let mut source = Source::new(&shown, stem_of(&name), Box::new(file));
    let (format, mut drafts) = single(&mut source, options)?;
    let mut gathered = Gathered::default();
    let mut asked_in = None;
    if let Some(beside) = format.probes_file().map(|file| input.with_file_name(file))
        && beside.is_file()
    {
        let file = beside.file_name().map(|n| n.to_string_lossy().into_owned());
        let found = Found { relative: file.unwrap_or_default(), path: beside };
        asked_in = Some(gathered.beside(&found, format, &mut drafts)?);
    }
    gathered.add(&name, drafts, source, asked_in)?;
    gathered.into_loaded(stem_of(&name))
}

/// Reads an input that must be a transcript.
fn single(
    source: &mut Source<'_>,
    options: &LoadOptions,
) -> Result<(&'static dyn Format, Vec<Draft>), DatasetError> {
    let head = Head::new(source.head()?);
    let Some(format) = detect(&head, options.only) else {
        return Err(unknown(source, &head));
    };
    let drafts = format.read(source, options)?;
    if drafts.is_empty() {
        let why = match source.warnings() {
            [] => NO_MESSAGE.to_owned(),
            warnings => warnings.join("; "),
        };
        return Err(source.error(None, Problem::NoConversation { why }));
    }
    Ok((format, drafts))
}

/// Why no format recognised an input: the most precise reason there is.
fn unknown(source: &mut Source<'_>, head: &Head) -> DatasetError {
    if head.is_blank() {
        return source.error(None, Problem::Empty);
    }
    // Reading the lines finds text that is none and lines without an end.
    loop {
        match source.next_line() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => return error,
        }
    }
    let known = known_formats();
    source.error(None, Problem::UnknownFormat { known })
}

fn known_formats() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
    names.join(", ")
}

fn load_folder(root: &Path, options: &LoadOptions) -> Result<Loaded, DatasetError> {
    let (mut found, hidden) = walk::files(root)?;
    let has = |name: &str| found.iter().any(|f| f.relative == name);
    let (card, native) = (has(CARD_FILE), has(CARD_FILE) && has(TRANSCRIPTS_FILE));
    if native {
        // Beside them stand a datasheet, a licence and the like.
        let own = [CARD_FILE, TRANSCRIPTS_FILE, PROBES_FILE];
        found.retain(|f| own.contains(&f.relative.as_str()));
    }
    let mut gathered = Gathered::default();
    let mut others = Vec::new();
    for file in &found {
        let read = match file.relative.as_str() {
            CARD_FILE if card => gathered.card(file),
            PROBES_FILE if native => gathered.probes(file),
            TRANSCRIPTS_FILE if native => gathered.file(file, &[], options, Some(&Native)),
            _ => gathered.file(file, &found, options, None),
        };
        if !read? {
            others.push(file.relative.as_str());
        }
    }
    let shown = root.display().to_string();
    if gathered.drafts.is_empty() {
        let files = found.len() as u64;
        let known = known_formats();
        let problem = Problem::NoTranscripts { known, files };
        return Err(DatasetError::whole(shown, problem));
    }
    // Questions are read with the chat that they stand beside.
    others.retain(|file| gathered.files.iter().all(|(read, _)| read != file));
    gathered.warn_of_others(&others, if native { 0 } else { hidden });
    let name = root
        .canonicalize()
        .ok()
        .and_then(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()))
        .unwrap_or(shown);
    gathered.into_loaded(&name)
}

fn open(file: &Found) -> Result<Source<'static>, DatasetError> {
    let open = File::open(&file.path).map_err(|e| walk::unreadable(&file.path, e))?;
    let shown = file.path.display().to_string();
    let base = file.relative.rsplit('/').next().unwrap_or(&file.relative);
    Ok(Source::new(&shown, stem_of(base), Box::new(open)))
}

/// File name without its last extension; that of a packed file is the one before `.gz`.
pub(super) fn stem_of(name: &str) -> &str {
    let name = name.strip_suffix(".gz").unwrap_or(name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

impl Gathered {
    /// Reads a file of a folder; says whether it was a transcript.
    fn file(
        &mut self,
        file: &Found,
        others: &[Found],
        options: &LoadOptions,
        format: Option<&'static dyn Format>,
    ) -> Result<bool, DatasetError> {
        let mut source = open(file)?;
        let format = match format {
            Some(format) => Some(format),
            None => detect(&Head::new(source.head()?), options.only),
        };
        let Some(format) = format else {
            return Ok(false);
        };
        let mut drafts = format.read(&mut source, options)?;
        if drafts.is_empty() && source.warnings().is_empty() {
            source.warn(NO_MESSAGE);
        }
        let mut asked_in = None;
        if let Some(name) = format.probes_file() {
            let beside = file.path.with_file_name(name);
            if let Some(found) = others.iter().find(|other| other.path == beside) {
                asked_in = Some(self.beside(found, format, &mut drafts)?);
            }
        }
        self.add(&file.relative, drafts, source, asked_in)?;
        Ok(true)
    }

    fn card(&mut self, file: &Found) -> Result<bool, DatasetError> {
        let mut source = open(file)?;
        let text = source.text()?;
        let card = read_card(&text).map_err(|(line, problem)| source.error(line, problem))?;
        self.card = Some(card);
        self.add(&file.relative, Vec::new(), source, None)?;
        Ok(true)
    }

    /// Reads the probes of a native data set.
    fn probes(&mut self, file: &Found) -> Result<bool, DatasetError> {
        let mut source = open(file)?;
        self.probes = probes::read(&mut source, &mut self.problems)?;
        self.add(&file.relative, Vec::new(), source, None)?;
        Ok(true)
    }

    /// Reads the questions that stand beside a transcript; what errors call
    /// their file.
    fn beside(
        &mut self,
        file: &Found,
        format: &dyn Format,
        drafts: &mut [Draft],
    ) -> Result<String, DatasetError> {
        let mut source = open(file)?;
        format.read_probes(&mut source, drafts)?;
        let shown = source.name().to_owned();
        self.add(&file.relative, Vec::new(), source, None)?;
        Ok(shown)
    }

    fn add(
        &mut self,
        relative: &str,
        drafts: Vec<Draft>,
        source: Source<'_>,
        asked_in: Option<String>,
    ) -> Result<(), DatasetError> {
        for draft in drafts {
            check(&draft).map_err(|(line, problem)| source.error(line, problem))?;
            self.keep(relative, draft, asked_in.as_deref().unwrap_or(source.name()));
        }
        let (hash, warnings) = source.finish()?;
        let named = warnings.iter().map(|w| format!("{relative}: {w}"));
        self.warnings.extend(named);
        self.files.push((relative.to_owned(), hash));
        Ok(())
    }
}
