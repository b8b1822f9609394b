//! A run whose cells are planned, what it leaves, and writing the files of it.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::{BenchPlan, manifest};
use crate::failure::Failure;
use recap_core::model::{Manifest, Report};
use recap_measure::{gate, measure};
use recap_replay::run::{
    Conceal, Folder, FolderError, GATE, Observer, Prepared, REPLIES, RunRecord, RunTexts, SPENT,
    prepare, run as run_cells,
};
use recap_report as report;
use recap_report::{FORMATS, RenderInput, Screen, Texts};

/// A run that is ready to begin.
pub struct BenchRun {
    prepared: Prepared,
    manifest: Manifest,
    conceal: Option<Arc<Conceal>>,
}

impl BenchPlan {
    /// Counts the tokens, looks for references and plans the cells. Nothing is
    /// written.
    ///
    /// # Errors
    /// If no window fits any session.
    pub async fn prepare(self) -> Result<BenchRun, Failure> {
        let BenchPlan { spec, sessions, manifest, counter, roles, conceal, .. } = self;
        let mut manifest = manifest::with_roles(manifest, &spec, &roles);
        let prepared = prepare(spec, sessions, roles, counter).await?;
        // Another shard may have sessions that fit.
        if manifest.shard.is_none() {
            prepared.refuse_nothing()?;
        }
        manifest.warnings.extend(prepared.set_aside());
        manifest.planned = prepared.planned.clone();
        if let Some(conceal) = &conceal {
            manifest.no_text = true;
            manifest = conceal.manifest(&manifest);
        }
        Ok(BenchRun { prepared, manifest, conceal })
    }

    /// Replays everything and keeps nothing, so that the calls of the roles can
    /// be counted.
    ///
    /// # Errors
    /// As for [`BenchPlan::prepare`].
    pub async fn dry_run(self) -> Result<RunRecord, Failure> {
        self.prepare().await?.run(&mut Folder::discard(), &()).await
    }
}

impl BenchRun {
    /// What the run is made of.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Makes a run folder; an earlier run in it is replaced.
    ///
    /// # Errors
    /// If it holds something else, another program writes to it, or it cannot be
    /// written.
    pub fn create(&self, path: &Path) -> Result<Folder, Failure> {
        let folder = Folder::create(path, &self.manifest)?;
        clear(&folder)?;
        Ok(folder.concealing(self.conceal.clone()))
    }

    /// Goes on with the interrupted run in a folder; where there is none, one
    /// begins.
    ///
    /// # Errors
    /// As for [`BenchRun::create`], and if that run used other settings.
    pub fn resume(&mut self, path: &Path) -> Result<Folder, Failure> {
        let (folder, manifest) = Folder::resume(path, self.manifest.clone())?;
        clear_rendered(&folder)?;
        self.manifest = manifest;
        Ok(folder.concealing(self.conceal.clone()))
    }

    /// Replays every cell, on the caller's tokio runtime. Each result is in the folder before the
    /// observer hears of the next one: where the future is dropped, [`BenchRun::resume`] goes on
    /// with what finished.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub async fn run(
        self,
        folder: &mut Folder,
        observer: &dyn Observer,
    ) -> Result<RunRecord, Failure> {
        let Self { prepared, manifest, .. } = self;
        Ok(RunRecord::new(manifest, run_cells(prepared, folder, observer).await?))
    }
}

// A measured run, and writing the files of it.

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
        std::thread::scope(|scope| {
            let write = |format: &'static report::Format| {
                scope.spawn(|| folder.write_with(format.file, |out| (format.render)(&source, out)))
            };
            let files: Vec<_> = report::formats(formats).map(write).collect();
            let mut written = files.into_iter().map(|file| file.join().expect("no file panics"));
            written.try_for_each(|written| written)
        })?;
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
pub fn measure_run(record: RunRecord) -> Results {
    let RunRecord { manifest, sessions, results, calls, texts, .. } = record;
    let texts = (!manifest.no_text).then_some(RunTexts::Held(texts));
    let title = manifest.title.clone();
    let mut report = measure(manifest, title, sessions, results);
    report.calls = calls;
    Results { report, texts }
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
    [TEXTS, REPLIES, SPENT].into_iter().try_for_each(|name| folder.remove(name))?;
    clear_rendered(folder)
}

/// Removes what was rendered from the results so far.
fn clear_rendered(folder: &Folder) -> Result<(), FolderError> {
    let mut names = FORMATS.iter().map(|f| f.file).chain([GATE, BASELINE]);
    names.try_for_each(|name| folder.remove(name))
}
