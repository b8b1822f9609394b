//! A run that is stopped anywhere and resumed leaves what an uninterrupted one
//! leaves, and does nothing twice.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use recap_billing::pricing::{BillingModels, PriceList};
use recap_core::model::{CellKey, Manifest, Planned};
use recap_core::tokens::Counter;
use recap_replay::run::{
    Event, Finished, Folder, FolderError, ModelRoles, NamedSession, Observer, Prepared, RunRecord,
    RunSpec, Windows, prepare, run,
};
use recap_strategy::builtin;
use tokio::sync::Notify;

use crate::asking::manifest;
use crate::outline::{dataset, root};

/// Stops a run at an event, by its number, and notes what ended.
#[derive(Default)]
struct Stop {
    at: Option<usize>,
    seen: Mutex<(usize, BTreeSet<CellKey>, usize)>,
    reached: Notify,
}

impl Observer for Stop {
    fn event(&self, event: &Event<'_>) {
        let mut seen = self.seen.lock().unwrap();
        seen.0 += 1;
        match event {
            Event::Cell { key, .. } => assert!(seen.1.insert((*key).clone()), "{key:?} twice"),
            Event::Cut { .. } => seen.2 += 1,
            _ => {}
        }
        if Some(seen.0) == self.at {
            self.reached.notify_one();
        }
    }
}

/// Three strategies at two windows and two cuts.
pub fn spec() -> RunSpec {
    let strategies = ["full", "fifo", "continuation"];
    RunSpec {
        strategies: strategies.map(|name| Arc::new(builtin(name, &[]).unwrap().unwrap())).to_vec(),
        windows: Windows::Same(vec!["25%".parse().unwrap(), "40%".parse().unwrap()]),
        without_summaries: true,
        cuts: "2".parse().unwrap(),
        depth: 1,
        replicates: 1,
        seed: 1,
        scaled: true,
        questions: recap_replay::run::CutQuestions::None,
        jobs: 2,
        billing_models: Arc::new(BillingModels::new(Arc::new(PriceList::bundled()), Vec::new())),
        compactor: None,
    }
}

/// One session of 46 requests, ready to be replayed.
async fn ready() -> Prepared {
    let counter = Arc::new(Counter::default());
    let dataset = dataset(root("tests/fixtures/invoice-export"));
    let samples = dataset.sessions.into_iter().map(|session| NamedSession {
        dataset: dataset.name.clone(),
        session,
        questions: Vec::new(),
    });
    prepare(spec(), samples.collect(), ModelRoles::offline(&counter), counter).await.unwrap()
}

fn planned(prepared: &Prepared) -> Manifest {
    let (answerer, judge) = ("offline".to_owned(), "offline".to_owned());
    Manifest { planned: prepared.planned.clone(), answerer, judge, ..manifest() }
}

/// Goes on with the run in a folder, up to an event; `None`: it was stopped.
async fn go_on(path: &Path, ready: &Prepared, stop: &Stop) -> Option<Finished> {
    let (mut folder, _) = Folder::resume(path, planned(ready)).unwrap();
    tokio::select! {
        biased;
        () = stop.reached.notified() => None,
        ran = run(ready.clone(), &mut folder, stop) => Some(ran.unwrap()),
    }
}

/// What lies in a folder.
fn left(path: &Path) -> impl PartialEq + use<> {
    let there = RunRecord::read(path).unwrap();
    let RunRecord { manifest, sessions, results, calls, texts, .. } = there;
    (manifest, sessions, results.into_lists(), calls, texts)
}

/// A generator of numbers from a seed.
fn chance(state: &mut u64, below: usize) -> usize {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    ((*state >> 33) as usize) % below
}

#[tokio::test(flavor = "multi_thread")]
async fn resuming_from_100_points_gives_the_same_files() {
    let desk = tempfile::tempdir().unwrap();
    let ready = ready().await;
    let whole = desk.path().join("whole");
    let all = Stop::default();
    go_on(&whole, &ready, &all).await.expect("nothing stops it");
    let expected = left(&whole);
    let (events, cells, cuts) = {
        let seen = all.seen.lock().unwrap();
        (seen.0, seen.1.clone(), seen.2)
    };
    assert!(cells.len() == 6 && cuts == 2, "{cells:?} {cuts}");
    let mut state = 17;
    for point in 0..100 {
        let path = desk.path().join(format!("{point}"));
        let stop = Stop { at: Some(1 + chance(&mut state, events)), ..Stop::default() };
        go_on(&path, &ready, &stop).await;
        // Killed in the middle of a line, somewhere.
        let journal = path.join("cells.jsonl");
        let bytes = std::fs::read(&journal).unwrap();
        let kept = bytes.len() - chance(&mut state, 1 + bytes.len() / 2);
        std::fs::write(&journal, &bytes[..kept]).unwrap();
        let there = RunRecord::read(&path).unwrap();
        let ended: BTreeSet<CellKey> = there.results.cells().map(|cell| cell.key).collect();
        let again = Stop::default();
        go_on(&path, &ready, &again).await.expect("nothing stops it");
        assert!(left(&path) == expected, "point {point}");
        assert_eq!(
            std::fs::read(path.join("texts.jsonl")).unwrap(),
            std::fs::read(whole.join("texts.jsonl")).unwrap()
        );
        let seen = again.seen.lock().unwrap();
        assert!(seen.1.is_disjoint(&ended), "point {point}: a finished cell ran again");
        assert_eq!(seen.1.len() + ended.intersection(&cells).count(), cells.len());
        assert_eq!(seen.2 + there.results.cuts().count(), cuts, "point {point}: cuts");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_planned_is_what_a_run_brings() {
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("run");
    let finished = go_on(&path, &ready().await, &Stop::default()).await.unwrap();
    let planned: Planned = RunRecord::read(&path).unwrap().manifest.planned;
    let keys: BTreeSet<CellKey> = planned.cells().map(|(key, _)| key).collect();
    let there: BTreeSet<CellKey> = finished.results.cells().map(|cell| cell.key).collect();
    assert_eq!(keys, there);
    assert_eq!(planned.cells().count(), there.len(), "none is planned twice");
    assert_eq!(planned.count(), there.len() as u64);
    let row_kind = planned.cells().all(|(key, row_kind)| {
        finished.results.cells().any(|cell| cell.key == key && cell.row_kind == row_kind)
    });
    assert!(row_kind);
    assert_eq!(planned.missing(&finished.results), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_of_billions_of_cells_is_refused() {
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join("run");
    go_on(&path, &ready().await, &Stop::default()).await.unwrap();
    let mut manifest = RunRecord::read(&path).unwrap().manifest;
    manifest.planned.strategies[0].replicates = u32::MAX;
    Folder::open(&path).unwrap().write_manifest(&manifest).unwrap();
    let error = RunRecord::read(&path).unwrap_err().to_string();
    assert!(error.ends_with("it plans more than 2000000 cells"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn folder_belongs_to_exactly_one_run() {
    let desk = tempfile::tempdir().unwrap();
    let plan = planned(&ready().await);
    let path = desk.path().join("run");
    let folder = Folder::create(&path, &plan).unwrap();
    let busy = |opened: Result<Folder, FolderError>| {
        assert!(matches!(opened, Err(FolderError::Busy { .. })), "{opened:?}");
    };
    busy(Folder::create(&path, &plan));
    busy(Folder::open(&path));
    busy(Folder::resume(&path, plan.clone()).map(|(folder, _)| folder));
    drop(folder);
    let other = Manifest { seed: 2, version: "9.9".into(), ..plan.clone() };
    let error = Folder::resume(&path, other).unwrap_err().to_string();
    assert!(error.contains("seed (1 there, 2 here)"), "{error}");
    assert!(error.contains("version (\"0\" there, \"9.9\" here)"), "{error}");
    // What somebody else put somewhere stays there.
    let foreign = desk.path().join("photos");
    std::fs::create_dir(&foreign).unwrap();
    std::fs::write(foreign.join("cells.jsonl"), "mine").unwrap();
    std::fs::write(foreign.join("cat.jpg"), "a cat").unwrap();
    for opened in [Folder::create(&foreign, &plan), Folder::resume(&foreign, plan).map(|r| r.0)] {
        assert!(matches!(opened, Err(FolderError::NoRun { .. })), "{opened:?}");
    }
    assert_eq!(std::fs::read_to_string(foreign.join("cells.jsonl")).unwrap(), "mine");
}
