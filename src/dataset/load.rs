//! Reads a file, a folder or a stream into a [`Dataset`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::Path;

use crate::model::Transcript;

use super::check::{Draft, check};
use super::detect::{Probe, detect};
use super::error::{DatasetError, Problem};
use super::formats::{FORMATS, Format};
use super::native::{CARD_FILE, Card, Native, PROBES_FILE, TRANSCRIPTS_FILE, read_card};
use super::source::Source;
use super::walk::{self, Found};
use super::{Dataset, LoadOptions};

/// Names listed in one warning before it says "and more".
const NAMED: usize = 3;

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
    single(&mut source, options).and_then(|drafts| {
        let mut gathered = Gathered::default();
        gathered.add(name, drafts, source)?;
        gathered.into_dataset(stem)
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
        gathered.drafts.push((TRANSCRIPTS_FILE.to_owned(), draft.transcript));
    }
    gathered.into_dataset(name)
}

fn load_file(input: &Path, options: &LoadOptions) -> Result<Dataset, DatasetError> {
    let shown = input.display().to_string();
    let name =
        input.file_name().map_or_else(|| shown.clone(), |n| n.to_string_lossy().into_owned());
    let file = File::open(input).map_err(|e| walk::unreadable(input, e))?;
    let mut source = Source::new(&shown, stem_of(&name), Box::new(file));
    let drafts = single(&mut source, options)?;
    let mut gathered = Gathered::default();
    gathered.add(&name, drafts, source)?;
    gathered.into_dataset(stem_of(&name))
}

/// Reads an input that must be a transcript.
fn single(source: &mut Source<'_>, options: &LoadOptions) -> Result<Vec<Draft>, DatasetError> {
    let probe = Probe::new(source.head()?);
    let Some(format) = detect(&probe, options.only) else {
        return Err(unknown(source, &probe));
    };
    let drafts = format.read(source, options)?;
    if drafts.is_empty() {
        let why = match source.warnings() {
            [] => NO_MESSAGE.to_owned(),
            warnings => warnings.join("; "),
        };
        return Err(source.error(None, Problem::NoConversation { why }));
    }
    Ok(drafts)
}

/// Why no format recognised an input: the most precise reason there is.
fn unknown(source: &mut Source<'_>, probe: &Probe) -> DatasetError {
    if probe.is_blank() {
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

fn load_folder(root: &Path, options: &LoadOptions) -> Result<Dataset, DatasetError> {
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
            TRANSCRIPTS_FILE if native => gathered.file(file, options, Some(&Native)),
            _ => gathered.file(file, options, None),
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
    gathered.warn_of_others(&others, if native { 0 } else { hidden });
    let name = root
        .canonicalize()
        .ok()
        .and_then(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()))
        .unwrap_or(shown);
    gathered.into_dataset(&name)
}

fn open(file: &Found) -> Result<Source<'static>, DatasetError> {
    let open = File::open(&file.path).map_err(|e| walk::unreadable(&file.path, e))?;
    let shown = file.path.display().to_string();
    let base = file.relative.rsplit('/').next().unwrap_or(&file.relative);
    Ok(Source::new(&shown, stem_of(base), Box::new(open)))
}

/// File name without its last extension.
fn stem_of(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

#[derive(Default)]
struct Gathered {
    drafts: Vec<(String, Transcript)>,
    warnings: Vec<String>,
    files: Vec<(String, String)>,
    card: Option<Card>,
    probes: u64,
}

impl Gathered {
    /// Reads a file of a folder; says whether it was a transcript.
    fn file(
        &mut self,
        file: &Found,
        options: &LoadOptions,
        format: Option<&'static dyn Format>,
    ) -> Result<bool, DatasetError> {
        let mut source = open(file)?;
        let format = match format {
            Some(format) => Some(format),
            None => detect(&Probe::new(source.head()?), options.only),
        };
        let Some(format) = format else {
            return Ok(false);
        };
        let drafts = format.read(&mut source, options)?;
        if drafts.is_empty() && source.warnings().is_empty() {
            source.warn(NO_MESSAGE);
        }
        self.add(&file.relative, drafts, source)?;
        Ok(true)
    }

    fn card(&mut self, file: &Found) -> Result<bool, DatasetError> {
        let mut source = open(file)?;
        let text = source.text()?;
        let card = read_card(&text).map_err(|(line, problem)| source.error(line, problem))?;
        self.card = Some(card);
        self.add(&file.relative, Vec::new(), source)?;
        Ok(true)
    }

    /// Counts the probes; what they say is their own reader's matter.
    fn probes(&mut self, file: &Found) -> Result<bool, DatasetError> {
        let mut source = open(file)?;
        while source.next_line()?.is_some() {
            self.probes += 1;
        }
        self.add(&file.relative, Vec::new(), source)?;
        Ok(true)
    }

    fn add(
        &mut self,
        relative: &str,
        drafts: Vec<Draft>,
        source: Source<'_>,
    ) -> Result<(), DatasetError> {
        for draft in drafts {
            check(&draft).map_err(|(line, problem)| source.error(line, problem))?;
            self.drafts.push((relative.to_owned(), draft.transcript));
        }
        let (hash, warnings) = source.finish()?;
        let named = warnings.iter().map(|w| format!("{relative}: {w}"));
        self.warnings.extend(named);
        self.files.push((relative.to_owned(), hash));
        Ok(())
    }

    fn warn_of_others(&mut self, others: &[&str], hidden: u64) {
        if !others.is_empty() {
            let named = others[..others.len().min(NAMED)].join(", ");
            let more = others.len().saturating_sub(NAMED);
            let more = match more {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            let verb = if others.len() == 1 {
                "file is no transcript"
            } else {
                "files are no transcripts"
            };
            self.warnings.push(format!("{} {verb}: {named}{more}", others.len()));
        }
        if hidden > 0 {
            self.warnings.push(format!(
                "hidden folders, links to folders and the like, not entered: {hidden}"
            ));
        }
    }

    fn into_dataset(mut self, name: &str) -> Result<Dataset, DatasetError> {
        self.tell_ids_apart();
        let mut ids = BTreeSet::new();
        for (file, transcript) in &self.drafts {
            if !ids.insert(transcript.id.as_str()) {
                let id = transcript.id.clone();
                return Err(DatasetError::whole(file.clone(), Problem::RepeatedTranscript { id }));
            }
        }
        let card = self.card.unwrap_or_else(|| Card::named(name));
        Ok(Dataset {
            name: card.name,
            version: card.version,
            licence: card.licence,
            origin: card.origin,
            description: card.description,
            transcripts: self.drafts.into_iter().map(|(_, t)| t).collect(),
            warnings: self.warnings,
            files: self.files,
            probes: self.probes,
        })
    }

    /// An id that several files use is preceded by the path of each file.
    fn tell_ids_apart(&mut self) {
        let mut files_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (file, transcript) in &self.drafts {
            files_of.entry(&transcript.id).or_default().insert(file);
        }
        let shared: BTreeSet<String> = files_of
            .into_iter()
            .filter(|(_, files)| files.len() > 1)
            .map(|(id, _)| id.to_owned())
            .collect();
        for (file, transcript) in &mut self.drafts {
            if !shared.contains(&transcript.id) {
                continue;
            }
            let path = stem_of(file);
            transcript.id = if path.rsplit('/').next() == Some(transcript.id.as_str()) {
                path.to_owned()
            } else {
                format!("{path}/{}", transcript.id)
            };
        }
    }
}
