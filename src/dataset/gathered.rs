//! Collects what is read of an input into one data set.

use std::collections::{BTreeMap, BTreeSet};

use super::Dataset;
use super::check::Draft;
use super::error::{DatasetError, Problem};
use super::native::Card;
use super::probes::{self, Placed};
use super::usage;
use crate::model::{Probe, Transcript};

/// File name without its last extension; that of a packed file is the one before `.gz` or `.zst`.
pub(super) fn stem_of(name: &str) -> &str {
    let packed = [".gz", ".zst"].into_iter().find_map(|end| name.strip_suffix(end));
    let name = packed.unwrap_or(name);
    match name.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    }
}

/// Most names in one warning, before it says "and more".
const NAMED: usize = 3;

/// The data set of an input, with all problems of its probes.
pub(super) struct Loaded {
    /// The data set, without its probes.
    pub(super) dataset: Dataset,
    /// Its probes with their positions in the file.
    pub(super) probes: Vec<Placed>,
    /// The problems that keep the data set from loading, by file and line.
    pub(super) problems: Vec<DatasetError>,
}

impl Loaded {
    /// The data set with its probes.
    ///
    /// # Errors
    /// The first problem.
    pub(super) fn whole(self) -> Result<Dataset, DatasetError> {
        match self.problems.into_iter().next() {
            Some(first) => Err(first),
            None => {
                let probes = self.probes.into_iter().map(|placed| placed.probe).collect();
                Ok(Dataset { probes, ..self.dataset })
            }
        }
    }
}

/// The transcripts and probes of a data set that is being read.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) drafts: Vec<Kept>,
    pub(super) warnings: Vec<String>,
    pub(super) files: Vec<(String, String)>,
    pub(super) card: Option<Card>,
    /// Probes of a native file, which name their transcripts.
    pub(super) probes: Vec<Placed>,
    /// The problems in the lines of that file.
    pub(super) problems: Vec<DatasetError>,
    /// Files that could not be read, each with the reason.
    pub(super) set_aside: Vec<String>,
    /// The first file of no known format that looks like something.
    pub(super) first_unknown: Option<(String, String)>,
}

/// A transcript with the questions that came with it.
pub(super) struct Kept {
    /// Path below the input.
    file: String,
    transcript: Transcript,
    probes: Vec<Probe>,
    /// The name of the questions' file in errors.
    asked_in: String,
}

impl Gathered {
    pub(super) fn keep(&mut self, relative: &str, draft: Draft, shown: &str) {
        let Draft { mut transcript, probes, .. } = draft;
        usage::settle(&mut transcript);
        // Readers cannot reserve the right size beforehand, and many sessions
        // are held in memory.
        transcript.messages.iter_mut().for_each(|message| message.blocks.shrink_to_fit());
        transcript.messages.shrink_to_fit();
        let (file, asked_in) = (relative.to_owned(), shown.to_owned());
        self.drafts.push(Kept { file, transcript, probes, asked_in });
    }

    /// Adds what `read` reads of a file. A broken file is set aside with its
    /// reason, and nothing of it is kept.
    pub(super) fn or_set_aside(
        &mut self,
        relative: &str,
        read: impl FnOnce(&mut Self) -> Result<bool, DatasetError>,
    ) -> bool {
        let (drafts, warnings, files) = (self.drafts.len(), self.warnings.len(), self.files.len());
        match read(self) {
            Ok(known) => known,
            Err(error) => {
                self.drafts.truncate(drafts);
                self.warnings.truncate(warnings);
                self.files.truncate(files);
                let name = |path: &str| path.rsplit(['/', '\\']).next().map(str::to_owned);
                // The broken file may be the one with the questions.
                let other =
                    name(&error.file).filter(|other| Some(other) != name(relative).as_ref());
                let other = other.map_or_else(String::new, |other| format!("{other}: "));
                self.set_aside.push(format!("{relative}: {other}{}", error.reason()));
                true
            }
        }
    }

    /// Adds a warning for each file that was set aside.
    pub(super) fn warn_of_set_aside(&mut self) {
        let aside = self.set_aside.drain(..);
        self.warnings.extend(aside.map(|file| format!("set aside: {file}")));
    }

    pub(super) fn warn_of_others(&mut self, others: &[&str], hidden: u64) {
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

    pub(super) fn into_loaded(mut self, name: &str) -> Result<Loaded, DatasetError> {
        self.disambiguate_ids();
        let mut ids = BTreeSet::new();
        for Kept { file, transcript, .. } in &self.drafts {
            if !ids.insert(transcript.id.as_str()) {
                let id = transcript.id.clone();
                return Err(DatasetError::whole(file.clone(), Problem::RepeatedTranscript { id }));
            }
        }
        let mut placed = self.probes;
        let mut transcripts = Vec::new();
        for kept in self.drafts {
            placed.extend(kept.probes.into_iter().map(|probe| Placed {
                probe: Probe {
                    id: format!("{}/{}", kept.transcript.id, probe.id),
                    transcript: kept.transcript.id.clone(),
                    ..probe
                },
                file: kept.asked_in.clone(),
                line: None,
            }));
            transcripts.push(kept.transcript);
        }
        let mut problems = self.problems;
        problems.extend(probes::broken(&transcripts, &placed));
        problems.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        let card = self.card.unwrap_or_else(|| Card::named(name));
        let dataset = Dataset {
            name: card.name,
            version: card.version,
            licence: card.licence,
            origin: card.origin,
            description: card.description,
            transcripts,
            warnings: self.warnings,
            files: self.files,
            probes: Vec::new(),
        };
        Ok(Loaded { dataset, probes: placed, problems })
    }

    /// Prefixes an id that several files use with the path of each file.
    fn disambiguate_ids(&mut self) {
        let mut files_of: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for Kept { file, transcript, .. } in &self.drafts {
            files_of.entry(&transcript.id).or_default().insert(file);
        }
        let shared: BTreeSet<String> = files_of
            .into_iter()
            .filter(|(_, files)| files.len() > 1)
            .map(|(id, _)| id.to_owned())
            .collect();
        for Kept { file, transcript, .. } in &mut self.drafts {
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
