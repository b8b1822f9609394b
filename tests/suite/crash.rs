//! Roles that fail: a compactor that panics, since no strategy can be made to,
//! and a provider that is down.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use recap_core::model::{
    Cell, CellOutcome, CellRows, Expectation, Judgement, Question, QuestionKind, RunResults,
    Source, Verdict,
};
use recap_core::tokens::Counter;
use recap_exam::facts::Cuts;
use recap_exam::roles::answerer::{AnswerContext, Answerer, Searched};
use recap_exam::roles::finder::Finder;
use recap_exam::roles::judge::{Grading, Judge};
use recap_formats::bundled;
use recap_replay::run::{
    Event, Folder, ModelRoles, NamedSession, Observer, RunRecord, RunSpec, Windows, prepare, run,
};
use recap_strategy::{Compactor, FailedCall, Reply, Task, builtin};

use crate::asking::manifest;
use crate::resume;

struct Panicking;

#[async_trait]
impl Compactor for Panicking {
    async fn run(&self, _: &Task) -> Result<Reply, FailedCall> {
        panic!("out of cheese")
    }

    fn name(&self) -> &str {
        "panicking"
    }
}

#[derive(Default)]
struct Errors(Mutex<Vec<String>>);

impl Observer for Errors {
    fn event(&self, event: &Event<'_>) {
        if let Event::Cell { error: Some(error), .. } = event {
            self.0.lock().unwrap().push((*error).to_owned());
        }
    }
}

/// A provider that is down, in both roles.
struct Mute;

#[async_trait]
impl Answerer for Mute {
    async fn answer(&self, _: &AnswerContext, questions: &[&str]) -> Vec<Result<String, String>> {
        questions.iter().map(|_| Err("the provider is down".to_owned())).collect()
    }

    async fn search(&self, _: &AnswerContext, _: &[&str], _: &Finder<'_>) -> Vec<Searched> {
        unreachable!("no strategy of these runs has a recovery channel")
    }

    fn name(&self) -> &str {
        "mute"
    }
}

#[async_trait]
impl Judge for Mute {
    async fn grade(&self, grading: &Grading<'_>) -> Judgement {
        panic!("there is no answer to grade: {grading:?}");
    }

    fn name(&self) -> &str {
        "mute"
    }

    fn source(&self) -> Source {
        Source::Model
    }
}

/// A run of these strategies at a window, without cuts.
fn spec(window: &str, strategies: &[&str]) -> RunSpec {
    let strategy = |name: &&str| Arc::new(builtin(name, &[]).unwrap().unwrap());
    RunSpec {
        strategies: strategies.iter().map(strategy).collect(),
        windows: Windows::Same(vec![window.parse().unwrap()]),
        cuts: Cuts::None,
        depth: 0,
        ..resume::spec()
    }
}

fn roles() -> ModelRoles {
    ModelRoles {
        compactor: Arc::new(Panicking),
        answerer: Some(Arc::new(Mute)),
        judge: Arc::new(Mute),
        ..ModelRoles::offline(&Arc::default())
    }
}

/// The first bundled session, asked these questions.
fn quickstart(questions: Vec<Question>) -> NamedSession {
    let session = bundled("quickstart").unwrap().unwrap().sessions.remove(0);
    NamedSession { dataset: "quickstart".into(), session, questions }
}

#[tokio::test(flavor = "multi_thread")]
async fn panicking_cell_fails_alone_and_others_are_kept() {
    let desk = tempfile::tempdir().unwrap();
    let samples = vec![quickstart(Vec::new())];
    let spec = spec("25%", &["full", "fifo", "session-state"]);
    let counter = Arc::new(Counter::default());
    let mut folder = Folder::create(&desk.path().join("run"), &manifest()).unwrap();
    let errors = Errors::default();
    let prepared = prepare(spec, samples, roles(), counter).await.unwrap();
    let finished = run(prepared, &mut folder, &errors).await.unwrap();

    let failed = |o: &CellOutcome| matches!(o, CellOutcome::Failed { .. });
    let outcomes = finished.results.cells().map(|c| (failed(&c.outcome), c.key.strategy));
    let outcomes: Vec<(bool, String)> = outcomes.collect();
    let expected = [(false, "fifo"), (false, "full"), (true, "session-state")];
    assert_eq!(outcomes, expected.map(|(failed, name)| (failed, name.to_owned())));
    let errors = errors.0.into_inner().unwrap();
    assert!(errors.len() == 1 && errors[0].contains("out of cheese"), "{errors:?}");
    let stored = RunRecord::read(&desk.path().join("run")).unwrap();
    let kept = |sessions: &RunResults| {
        let rows = |cell: Cell| match cell.outcome {
            // Own times stand in a file of their own.
            CellOutcome::Done(rows) => Ok(CellRows { cpu_ms: 0.0, ..*rows }),
            CellOutcome::Failed { error } => Err(error),
        };
        sessions.cells().map(rows).collect::<Vec<_>>()
    };
    assert_eq!(kept(&stored.results), kept(&finished.results));
}

#[tokio::test(flavor = "multi_thread")]
async fn too_small_window_is_found_before_folder_creation() {
    let samples = vec![quickstart(Vec::new())];
    let counter = Arc::new(Counter::default());
    let prepared = prepare(spec("300", &["full"]), samples, roles(), counter).await.unwrap();
    let refused = prepared.refuse_nothing().unwrap_err();
    assert!(refused.to_string().contains("at least 2000"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn unavailable_provider_leaves_questions_unscored_never_wrong() {
    let desk = tempfile::tempdir().unwrap();
    let session = quickstart(Vec::new()).session;
    let question = Question {
        id: "p1".into(),
        session: session.id.clone(),
        asked_at: 20,
        kind: QuestionKind::Fact,
        question: "Which port?".into(),
        expect: Expectation::AnyOf(vec!["8443".into()]),
        evidence: vec![session.messages[3].id.clone()],
        stale: Vec::new(),
    };
    let samples = vec![quickstart(vec![question])];
    let spec = spec("25%", &["full", "empty"]);
    let counter = Arc::new(Counter::default());
    let mut folder = Folder::create(&desk.path().join("run"), &manifest()).unwrap();
    let prepared = prepare(spec, samples, roles(), counter).await.unwrap();
    let finished = run(prepared, &mut folder, &()).await.unwrap();
    for cell in finished.results.cells() {
        let rows = &cell.rows().unwrap().questions;
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].score(), None);
        let Some(Verdict::Unscored(reason)) = rows[0].verdict() else { panic!("{rows:?}") };
        assert!(reason.to_string().contains("the provider is down"), "{reason}");
    }
}
