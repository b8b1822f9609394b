//! A run whose cells are planned, and what it leaves.

use std::path::Path;
use std::sync::Arc;

use super::results::clear_rendered;
use super::{BenchError, BenchPlan, clear, manifest};
use recap_core::model::Manifest;
use recap_replay::run::{
    Conceal, Folder, Observer, Prepared, RunRecord, prepare, run as run_cells,
};

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
    pub async fn prepare(self) -> Result<BenchRun, BenchError> {
        let BenchPlan { spec, samples, manifest, counter, roles, conceal, .. } = self;
        let mut manifest = manifest::with_roles(manifest, &spec, &roles);
        let prepared = prepare(spec, samples, roles, counter).await?;
        // Another shard may have sessions that fit.
        if manifest.shard.is_none() {
            prepared.refuse_nothing()?;
        }
        manifest.warnings.extend(prepared.set_aside());
        manifest.planned = prepared.planned().clone();
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
    pub async fn dry_run(self) -> Result<RunRecord, BenchError> {
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
    pub fn create(&self, path: &Path) -> Result<Folder, BenchError> {
        let folder = Folder::create(path, &self.manifest)?;
        clear(&folder)?;
        Ok(folder.concealing(self.conceal.clone()))
    }

    /// Goes on with the interrupted run in a folder; where there is none, one
    /// begins.
    ///
    /// # Errors
    /// As for [`BenchRun::create`], and if that run used other settings.
    pub fn resume(&mut self, path: &Path) -> Result<Folder, BenchError> {
        let (folder, manifest) = Folder::resume(path, self.manifest.clone())?;
        clear_rendered(&folder)?;
        self.manifest = manifest;
        Ok(folder.concealing(self.conceal.clone()))
    }

    /// Replays every cell, on the caller's tokio runtime. Each result is in the folder before the observer hears of the next one: where the future is
    /// dropped, [`BenchRun::resume`] goes on with what finished.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub async fn run(
        self,
        folder: &mut Folder,
        observer: &dyn Observer,
    ) -> Result<RunRecord, BenchError> {
        let Self { prepared, manifest, .. } = self;
        Ok(RunRecord::new(manifest, run_cells(prepared, folder, observer).await?))
    }
}
