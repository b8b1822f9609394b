//! Reads a file, a folder or a stream into a [`Dataset`].

use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

use recap_datasets::BUNDLED;

use super::error::{DatasetError, Problem};
use super::format::{Description, Format, Head, MAX_HEAD, Tried, describe};
use super::formats::FORMATS;
use super::gathered::{Gathered, stem_of};
use super::native::{self, CARD_FILE, QUESTIONS_FILE, SESSIONS_FILE, read_card};
use super::source::{FIRST, HEAD, Source};
use super::walk::{self, Found, Subagents};
use super::{Dataset, LoadOptions, questions};
use recap_core::text::{counted, excerpt};

/// The reason for a recognised file without a session.
const NO_MESSAGE: &str = "it contains no message";

/// Reads `input`: a native data set folder, or a file or folder of any known
/// session format. Folders are read with everything below them, in the
/// order of relative paths.
///
/// # Errors
/// The first thing that is wrong, with file, line and remedy. In a folder of
/// logs, files of no known format and broken sessions are no error as long
/// as one session can be read: they are named in the warnings, broken ones
/// with what is wrong. A native data set must be right as a whole.
pub fn load(input: &Path, options: &LoadOptions) -> Result<Dataset, DatasetError> {
    let mut gathered = Gathered::new(*options);
    let name = read_into(&mut gathered, input)?;
    gathered.whole(&name)
}

/// Reads files as the sessions of one data set, in which what they share counts once. A broken
/// file is set aside and named in the warnings, as in a folder.
///
/// # Errors
/// Why each file was set aside, where none is left.
pub fn load_files(
    name: &str,
    files: &[&Path],
    options: &LoadOptions,
) -> Result<Dataset, Vec<String>> {
    let mut gathered = Gathered::new(*options);
    for file in files {
        let shown = file.display().to_string();
        gathered.or_set_aside(&shown, |gathered| read_into(gathered, file).map(|_| true));
    }
    if gathered.sessions.is_empty() {
        return Err(gathered.set_aside);
    }
    gathered.warn_of_set_aside();
    gathered.whole(name).map_err(|error| vec![error.to_string()])
}

/// Reads one session file from a stream or from memory: standard input, an
/// archive.
///
/// # Errors
/// As [`load`] for a file.
pub fn load_reader(
    name: &str,
    bytes: impl Read,
    options: &LoadOptions,
) -> Result<Dataset, DatasetError> {
    let stem = stem_of(name);
    let source = Source::new(name, stem, bytes, *options)?;
    let mut gathered = Gathered::new(*options);
    gathered.only(name, source)?;
    gathered.whole(stem)
}

/// Reads a native data set from memory: its card, its sessions and its questions,
/// which are empty where there are none.
fn load_native(
    name: &str,
    [card, sessions, questions]: [&str; 3],
) -> Result<Dataset, DatasetError> {
    let mut gathered = Gathered::default();
    let shown = |file: &str| format!("{name}/{file}");
    let open =
        |file, text| Source::new(&shown(file), name, str::as_bytes(text), LoadOptions::default());
    gathered.beside_sessions(CARD_FILE, open(CARD_FILE, card)?)?;
    if !questions.is_empty() {
        gathered.beside_sessions(QUESTIONS_FILE, open(QUESTIONS_FILE, questions)?)?;
    }
    let mut source = open(SESSIONS_FILE, sessions)?;
    gathered.sessions(&native::FORMAT, SESSIONS_FILE, &mut source)?;
    gathered.done(SESSIONS_FILE, source)?;
    gathered.whole(name)
}

/// Reads a file or a folder, session by session, into `gathered`; returns the
/// name of the data set.
///
/// # Errors
/// As [`load`].
pub(super) fn read_into(gathered: &mut Gathered, input: &Path) -> Result<String, DatasetError> {
    let metadata = std::fs::metadata(input).map_err(|e| walk::unreadable(input, e))?;
    gathered.relations.inputs += 1;
    if metadata.is_dir() {
        return read_folder(gathered, input);
    }
    let name = input.file_name().unwrap_or(input.as_os_str()).to_string_lossy().into_owned();
    let found = Found { relative: name.clone(), path: input.to_owned() };
    let source = open_session(&found, &Subagents::beside(input), gathered.options)?;
    gathered.only(&name, source)?;
    Ok(stem_of(&name).to_owned())
}

/// The format of an input that must be a session.
fn known(source: &mut Source<'_>) -> Result<&'static Format, DatasetError> {
    let only = source.options.only;
    let named = only.and_then(|name| FORMATS.iter().find(|format| format.name == name));
    if let Some(format) = named
        && !source.read_head(HEAD)?.0.is_blank()
    {
        return Ok(format);
    }
    detect(source)?.ok_or_else(|| unknown(source))
}

/// Why no format recognised an input: the most precise reason.
fn unknown(source: &mut Source<'_>) -> DatasetError {
    let (is_blank, seen) = match source.head(MAX_HEAD) {
        Ok(bytes) => {
            // One head after the other: each holds the records.
            let is_blank = Head::new(bytes).is_blank();
            (is_blank, describe(bytes))
        }
        Err(error) => return error,
    };
    if is_blank {
        return source.error(None, empty());
    }
    // Reading the lines detects invalid text and lines that are too long.
    while seen.as_ref().is_none_or(|found| found.is_text) {
        match source.next_line() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => return error,
        }
    }
    let (what, advice) = seen.map(|Description { what, advice, .. }| (what, advice)).unzip();
    let known = known_formats();
    source.error(None, Problem::UnknownFormat { known, what, advice: advice.flatten() })
}

/// The problem of a file without content.
pub(super) fn empty() -> Problem {
    let remedy = "give a recorded session; this one may not have been written yet";
    Problem::other("the file is empty", remedy)
}

fn known_formats() -> String {
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    names.join(", ")
}

fn read_folder(gathered: &mut Gathered, root: &Path) -> Result<String, DatasetError> {
    let (mut found, hidden) = walk::files(root)?;
    walk::drop_companions(&mut found);
    let has = |name: &str| found.iter().any(|f| f.relative == name);
    let (card, native) = (has(CARD_FILE), has(CARD_FILE) && has(SESSIONS_FILE));
    if native {
        // A data set's folder may contain a datasheet, a licence and the like.
        let own = [CARD_FILE, SESSIONS_FILE, QUESTIONS_FILE];
        found.retain(|f| own.contains(&f.relative.as_str()));
    }
    let (mut others, before) = (Vec::new(), gathered.sessions.len());
    gathered.relations.open = true;
    gathered.subagents = Subagents::among(&found);
    for file in &found {
        let read = match file.relative.as_str() {
            own @ (CARD_FILE | QUESTIONS_FILE) if native || card && own == CARD_FILE => {
                gathered.beside_sessions(own, Source::open(&file.path, gathered.options)?)?;
                true
            }
            SESSIONS_FILE if native => gathered.file(file, Some(&native::FORMAT))?,
            _ => gathered.or_set_aside(&file.relative, |gathered| gathered.file(file, None)),
        };
        if !read {
            others.push(file.relative.as_str());
        }
    }
    for deferred in gathered.relations.close() {
        let Some(file) = found.iter().find(|file| file.relative == deferred) else { continue };
        gathered.or_set_aside(&file.relative, |gathered| gathered.file(file, None));
    }
    let shown = root.display().to_string();
    if gathered.sessions.len() == before && !gathered.set_aside.is_empty() {
        let problem = Problem::NoneReadable(gathered.set_aside.join("; "));
        return Err(DatasetError::whole(shown, problem));
    }
    if gathered.sessions.len() == before {
        return Err(DatasetError::whole(shown, no_session(gathered, found.len())));
    }
    // Files of questions are read together with their chat.
    others.retain(|file| gathered.files.iter().all(|(read, _)| read != file));
    gathered.warn_of_set_aside();
    gathered.warn_of_others(&others, if native { 0 } else { hidden });
    let name = root
        .canonicalize()
        .ok()
        .and_then(|p| p.file_name().map(|n| n.to_string_lossy().into_owned()))
        .unwrap_or(shown);
    Ok(name)
}

/// The problem of a folder of so many files without a session.
fn no_session(gathered: &Gathered, files: usize) -> Problem {
    let looks = gathered
        .first_unknown
        .as_ref()
        .map(|(name, what)| format!("; {} looks like {what}", excerpt(name)));
    let what = format!(
        "the folder holds no session ({} looked at{}; known formats: {})",
        counted(files, "file"),
        looks.unwrap_or_default(),
        known_formats()
    );
    let remedy = "give the folder in which an agent keeps its sessions; `recap bench --latest` \
                  finds those on this machine";
    Problem::other(what, remedy)
}

/// Opens a file that may be a session, with the logs of its subagents.
///
/// # Errors
/// The log of a subagent, which is read with its session and never alone.
fn open_session(
    file: &Found,
    subagents: &Subagents,
    options: LoadOptions,
) -> Result<Source<'static>, DatasetError> {
    let mut source = Source::open(&file.path, options)?;
    match walk::session_of(&file.path) {
        Some(session) => {
            let session = session.display();
            let what = format!("the log of a subagent: it is part of the session {session}");
            let remedy = "give the session, or the folder that holds both";
            Err(source.error(None, Problem::other(what, remedy)))
        }
        None => {
            source.subagents = subagents.of(&file.path);
            Ok(source)
        }
    }
}

impl Gathered {
    /// Reads a file of a folder; returns whether it was a session.
    fn file(
        &mut self,
        file: &Found,
        format: Option<&'static Format>,
    ) -> Result<bool, DatasetError> {
        // It is read with its session.
        if self.subagents.owns(&file.path) {
            return Ok(true);
        }
        let mut source = open_session(file, &self.subagents, self.options)?;
        source.in_folder = true;
        let detected = match format {
            Some(format) => Some(format),
            None => detect(&mut source)?,
        };
        let Some(format) = detected else {
            if self.first_unknown.is_none() {
                let seen = describe(source.head(HEAD)?);
                self.first_unknown = seen.map(|found| (file.relative.clone(), found.what));
            }
            return Ok(false);
        };
        let read = self.sessions(format, &file.relative, &mut source)?;
        if self.relations.has_deferred(&file.relative) {
            return Ok(true);
        }
        if read == 0 && source.warnings().is_empty() {
            source.warn(NO_MESSAGE);
        }
        self.done(&file.relative, source)?;
        Ok(true)
    }

    /// Reads a file that must be a session.
    fn only(&mut self, relative: &str, mut source: Source<'_>) -> Result<(), DatasetError> {
        let format = known(&mut source)?;
        if self.sessions(format, relative, &mut source)? == 0 {
            let why = match source.warnings() {
                [] => NO_MESSAGE.to_owned(),
                warnings => warnings.join("; "),
            };
            let remedy = if why.contains("sidechain") {
                "a file of sidechain records alone is read with sidechains switched on"
            } else {
                "give a session in which something was said; this one may only have been opened"
            };
            let what = format!("no conversation in this file: {why}");
            return Err(source.error(None, Problem::other(what, remedy)));
        }
        self.done(relative, source)
    }

    /// Reads every session of a file; returns their number.
    fn sessions(
        &mut self,
        format: &Format,
        relative: &str,
        source: &mut Source<'_>,
    ) -> Result<usize, DatasetError> {
        let mut ids = BTreeSet::new();
        let is_own = format.tried == Tried::Own;
        format.read(source, &mut |source, draft| {
            let id = draft.session.id.clone();
            if !ids.insert(id.clone()) {
                return Err(source.error(None, Problem::RepeatedSession(id)));
            }
            self.keep(relative, draft, source, is_own)
        })?;
        let read = ids.len();
        source.settle_aside(read)?;
        let is_first = read > 0 && self.formats.insert(format.name);
        if is_first && format.tried == Tried::Documentation {
            self.warnings.push(format!(
                "the format {} was written from its documentation, without recordings at hand: \
                 check what was read, and report what is wrong",
                format.name
            ));
        }
        Ok(read)
    }

    /// Reads the card or the questions of a native data set.
    fn beside_sessions(
        &mut self,
        relative: &str,
        mut source: Source<'_>,
    ) -> Result<(), DatasetError> {
        if relative == CARD_FILE {
            let text = source.text()?;
            let card = read_card(&text).map_err(|(line, problem)| source.error(line, problem))?;
            self.card = Some(card);
        } else {
            self.questions = questions::read(&mut source, &mut self.problems)?;
        }
        self.done(relative, source)
    }

    /// Reads the rest of a file for its hash, and keeps its warnings.
    fn done(&mut self, relative: &str, mut source: Source<'_>) -> Result<(), DatasetError> {
        let beside = std::mem::take(&mut source.beside);
        let folder =
            source.origin.as_ref().and_then(|origin| origin.path.parent()).map(Path::to_owned);
        let above =
            relative.rsplit_once('/').map_or(String::new(), |(above, _)| format!("{above}/"));
        for (log, hash) in std::mem::take(&mut source.read_with) {
            let below = folder.as_deref().and_then(|folder| log.strip_prefix(folder).ok());
            let below = below.unwrap_or(&log).to_string_lossy().replace('\\', "/");
            self.files.push((format!("{above}{below}"), hash));
        }
        let (hash, warnings) = source.finish()?;
        let named = warnings.iter().map(|w| format!("{relative}: {w}"));
        self.warnings.extend(named);
        self.files.push((relative.to_owned(), hash));
        self.files.extend(beside.into_iter().map(|(end, hash)| (format!("{relative}{end}"), hash)));
        Ok(())
    }
}

// Detects the format of an input from its first bytes.

/// Reads the first bytes of an input until a format recognises them (any
/// format, or only the named one), up to [`MAX_HEAD`]; a value that is longer, to
/// its end.
fn detect(source: &mut Source<'_>) -> Result<Option<&'static Format>, DatasetError> {
    let only = source.options.only;
    let recognise = |head: &Head| {
        let mut named = FORMATS.iter().filter(|f| only.is_none_or(|name| name == f.name));
        named.find(|format| (format.sniff)(head)).copied()
    };
    for least in [FIRST, HEAD, MAX_HEAD] {
        let (mut head, has_more) = source.read_head(least)?;
        if head.tables().is_some() {
            head.add_tables(&source.log_head(least)?);
        }
        let mut found = recognise(&head);
        if found.is_none() && head.spread {
            found = recognise(&head.into_lines());
        }
        if found.is_some() || !has_more {
            return Ok(found);
        }
    }
    Ok(None)
}

// Data sets that are part of the program.

/// Names of the bundled data sets.
pub fn bundled_names() -> impl Iterator<Item = &'static str> {
    BUNDLED.iter().map(|(name, ..)| *name)
}

/// A bundled data set; `None` if there is none with that name.
pub fn bundled(name: &str) -> Option<Result<Dataset, DatasetError>> {
    let bundled = BUNDLED.iter().find(|(known, ..)| *known == name)?;
    let (name, card, sessions, questions) = *bundled;
    Some(load_native(name, [card, sessions, questions]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundled_data_set_brings_its_questions() {
        let folder =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/dataset/native");
        let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        let (card, sessions) = (text(CARD_FILE), text(SESSIONS_FILE));
        let read = |questions: &str| load_native("small", [&card, &sessions, questions]);
        let from_disk = load(&folder, &LoadOptions::default()).unwrap();
        assert_eq!(read(&text(QUESTIONS_FILE)).unwrap(), from_disk);
        assert_eq!(read("").unwrap().questions, []);
        let error = read("{}\n").unwrap_err();
        assert_eq!((error.file.as_str(), error.line), ("small/questions.jsonl", Some(1)));
    }
}
