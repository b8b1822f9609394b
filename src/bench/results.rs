//! A measured run, and writing the files of it.

use std::borrow::Cow;

use recap_core::model::Report;
use recap_measure::gate;
use recap_measure::measure;
use recap_replay::run::{Folder, FolderError, GATE, REPLIES, RunRecord, RunTexts};
use recap_report::{self as report, FORMATS, RenderInput, Screen, Texts};

/// The summary of a run that is small enough to be committed: gates of later
/// runs compare with it.
const BASELINE: &str = "baseline.json";

/// Texts that an earlier run left.
const TEXTS: &str = "texts.jsonl";

/// A measured run.
#[derive(Clone, Debug)]
pub struct Results {
    /// Measures, ranking and findings.
    pub report: Report,
    /// Texts of messages and summaries by hash; `None` keeps the sessions' words
    /// out of the rendered files.
    pub texts: Option<RunTexts>,
}

impl Results {
    /// The table for a terminal.
    pub fn table(&self, screen: Screen) -> String {
        report::table(&self.report, screen)
    }

    /// Renders the named formats ([`report::format_names`]) into the run folder;
    /// all of them where none is named. What a gate found is written too, and so
    /// is the baseline for later runs, with the format `json`.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Folder, formats: &[&str]) -> Result<(), FolderError> {
        let texts = self.texts.as_ref().map(PageTexts);
        let texts = texts.as_ref().map(|texts| texts as &dyn Texts);
        let source = RenderInput { report: &self.report, texts };
        for format in report::formats(formats) {
            folder.write_with(format.file, |out| (format.render)(&source, out))?;
        }
        if let Some(gate) = &self.report.gate {
            folder.write_gate(gate)?;
        }
        // Later runs must not be compared with an incomplete run.
        if self.report.missing.is_some() {
            return folder.remove(BASELINE);
        }
        if formats.is_empty() || formats.contains(&"json") {
            folder.write_with(BASELINE, |out| gate::write_baseline(&self.report, out))?;
        }
        Ok(())
    }
}

/// Measures what a run left, without its gate; what reading its data had to tell is
/// among the findings.
impl From<RunRecord> for Results {
    fn from(run: RunRecord) -> Self {
        let RunRecord { manifest, sessions, results, calls, texts, .. } = run;
        let texts = (!manifest.no_text).then_some(RunTexts::Held(texts));
        let title = manifest.title.clone();
        let mut report = measure(manifest, title, sessions, results);
        report.calls = calls;
        Self { report, texts }
    }
}

/// The texts of a run, for its page.
struct PageTexts<'a>(&'a RunTexts);

impl Texts for PageTexts<'_> {
    fn get(&self, hash: &str) -> Option<Cow<'_, str>> {
        self.0.get(hash)
    }
}

/// Removes the files of an earlier run from a folder: its page and its texts
/// must not be mistaken for those of this one, least of all where text is left
/// out.
///
/// # Errors
/// If a file cannot be removed.
pub fn clear(folder: &Folder) -> Result<(), FolderError> {
    [TEXTS, REPLIES].into_iter().try_for_each(|name| folder.remove(name))?;
    clear_rendered(folder)
}

/// Removes what was rendered from the results so far.
pub(super) fn clear_rendered(folder: &Folder) -> Result<(), FolderError> {
    let mut names = FORMATS.iter().map(|f| f.file).chain([GATE, BASELINE]);
    names.try_for_each(|name| folder.remove(name))
}
