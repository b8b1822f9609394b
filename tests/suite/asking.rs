//! Questions and the contexts that they are put to: when, to what, and how often
//! somebody is asked.

use std::sync::{Arc, Mutex};

use crate::common::{block_on, offline, plan, small, strategy};
use async_trait::async_trait;
use recap_core::clock::PROFILE;
use recap_core::model::{
    Answer, Cell, CellOutcome, CellRows, Expectation, Judgement, LedgerState, Manifest, Planned,
    Prices, Question, QuestionKind, SnapshotPart, Source, Verdict,
};
use recap_core::tokens::Counter;
use recap_exam::roles::answerer::{AnswerContext, Answerer, Searched};
use recap_exam::roles::finder::Finder;
use recap_exam::roles::judge::{Grading, Judge};
use recap_replay::run::{
    Finished, Folder, ModelRoles, NamedSession, RunSpec, Windows, judge_again, prepare, run,
};
use recap_replay::{PendingQuestion, PreparedSession, Replayed, replay};
use recap_strategy::builtin;

/// A question that message `evidence` of `small` answers, asked after `asked_at`.
fn question(id: &str, asked_at: u32, evidence: &[u32]) -> Question {
    Question {
        id: id.into(),
        session: "small".into(),
        asked_at,
        kind: QuestionKind::Fact,
        question: format!("What was read for {id}?"),
        expect: Expectation::AnyOf(vec!["read".into()]),
        evidence: evidence.iter().map(|m| format!("m{m}")).collect(),
        stale: Vec::new(),
    }
}

fn with_questions(questions: Vec<Question>) -> PreparedSession {
    PreparedSession::new("test", small(), Arc::new(Counter::default())).with_questions(questions)
}

fn replayed(
    prepared: &PreparedSession,
    toml: &str,
    window: u64,
) -> (CellRows, Vec<PendingQuestion>) {
    let Replayed { cell, asked, .. } =
        block_on(replay(prepared, &plan(strategy(toml), window), &offline()));
    (cell.rows().unwrap_or_else(|| panic!("{:?}", cell.outcome)).clone(), asked)
}

const LAST_TWO: &str = "[[stage]]\nmechanism = \"sliding-window\"\nat = \"request\"\n\
                          when = \"always\"\nlast = 2\n";

#[test]
fn rule_28_question_sees_context_of_next_request() {
    // Message 5 makes the third request: it follows message 4.
    let prepared = with_questions(vec![question("p", 4, &[0])]);
    let facts = &prepared.facts.questions[0];
    assert_eq!((facts.request, facts.evidence.as_slice()), (2, [0].as_slice()));
    // Messages 1 to 4 lie between: a call, 100, 10 and 10 tokens.
    let call = prepared.facts.messages[1].tokens;
    assert_eq!(facts.age_tokens, Some(120 + call));

    let (rows, asked) = replayed(&prepared, "", 1_000);
    assert_eq!(rows.snapshots.len(), 1);
    assert_eq!(rows.snapshots[0].request, 2);
    assert_eq!(rows.snapshots[0].parts, [SnapshotPart::Messages { from: 0, to: 5 }]);
    assert_eq!(rows.snapshots[0].tokens, rows.requests[2].tokens_sent);
    assert_eq!(asked[0].evidence, Some(LedgerState::Verbatim));
    assert_eq!(asked[0].age_compactions, Some(0));
}

#[test]
fn rule_28_assistant_question_waits_for_next_request() {
    let prepared = with_questions(vec![question("p", 5, &[0]), question("q", 3, &[0])]);
    let requests: Vec<u32> = prepared.facts.questions.iter().map(|p| p.request).collect();
    assert_eq!(requests, [3, 2]);
}

#[test]
fn rule_28_final_question_gets_separate_virtual_request() {
    let prepared = with_questions(vec![question("p", 10, &[0]), question("q", 10, &[9])]);
    let (rows, asked) = replayed(&prepared, LAST_TWO, 1_000);
    assert_eq!(rows.requests.len(), 5, "no request is added");
    let end = &rows.snapshots[0];
    assert_eq!((rows.snapshots.len(), end.request), (1, 5));
    assert_eq!(end.parts, [SnapshotPart::Messages { from: 9, to: 11 }]);
    let (at_end, before): (Vec<_>, Vec<_>) = rows.compactions.iter().partition(|c| c.at_end);
    assert_eq!(at_end.len(), 1);
    assert!(before.iter().all(|c| c.request < 5) && at_end[0].request == 5);
    let states: Vec<Option<LedgerState>> = asked.iter().map(|p| p.evidence).collect();
    assert_eq!(states, [Some(LedgerState::Gone), Some(LedgerState::Verbatim)]);

    // Nobody asks at the end: nothing is done there.
    let (rows, _) = replayed(&with_questions(vec![question("p", 4, &[0])]), LAST_TWO, 1_000);
    assert!(rows.compactions.iter().all(|c| !c.at_end));
}

#[test]
fn rule_29_multi_message_evidence_takes_worst_state() {
    let prepared = with_questions(vec![question("p", 10, &[0, 9]), question("q", 10, &[])]);
    let (_, asked) = replayed(&prepared, LAST_TWO, 1_000);
    assert_eq!(asked[0].evidence, Some(LedgerState::Gone));
    assert_eq!((asked[1].evidence, asked[1].age_compactions), (None, None));
}

#[test]
fn compaction_age_counts_from_last_mention_of_evidence() {
    let four = "[[stage]]\nmechanism = \"sliding-window\"\nat = \"request\"\nwhen = \"always\"\n\
                 last = 4\n";
    let prepared = with_questions(vec![question("old", 9, &[0]), question("new", 9, &[9])]);
    let (rows, asked) = replayed(&prepared, four, 1_000);
    let all = rows.compactions.iter().filter(|c| !c.at_end).count() as u32;
    assert!(all > 0);
    let ages: Vec<Option<u32>> = asked.iter().map(|p| p.age_compactions).collect();
    // By id: `new` first. The request that asks hides messages after 9 came.
    assert_eq!(ages, [Some(1), Some(all)]);
}

#[test]
fn evidence_control_shows_two_messages_on_each_side() {
    let prepared = with_questions(vec![
        question("p", 9, &[3]),
        question("q", 9, &[0, 9]),
        question("r", 9, &[]),
    ]);
    let control = builtin("evidence", &[]).unwrap().unwrap();
    let Replayed { cell, asked, .. } =
        block_on(replay(&prepared, &plan(control, 1_000), &offline()));
    let rows = cell.rows().unwrap();
    assert!(rows.requests.is_empty() && rows.compactions.is_empty());
    let parts: Vec<&[SnapshotPart]> = rows.snapshots.iter().map(|s| s.parts.as_slice()).collect();
    let stretch = |from, to| SnapshotPart::Messages { from, to };
    // Nothing after 9, when they are asked.
    assert_eq!(parts[0], [stretch(1, 6)]);
    assert_eq!(parts[1], [stretch(0, 3), stretch(7, 10)]);
    assert_eq!(parts[2], []);
    assert_eq!(asked[2].evidence, None);
}

/// Answers with the number of passages that it was shown, and counts.
#[derive(Default)]
struct Counting {
    asked: Mutex<Vec<usize>>,
    searched: Mutex<Vec<usize>>,
    broadcasts: Mutex<Vec<u32>>,
    graded: Mutex<usize>,
}

#[async_trait]
impl Answerer for Counting {
    async fn answer(
        &self,
        shown: &AnswerContext,
        questions: &[&str],
    ) -> Vec<Result<String, String>> {
        self.asked.lock().unwrap().push(questions.len());
        questions.iter().map(|_| Ok(format!("{} passages", shown.passages.len()))).collect()
    }

    /// Answers with the number of the newest message that is found; all of
    /// them hold an `a`.
    async fn search(
        &self,
        _: &AnswerContext,
        questions: &[&str],
        finder: &Finder<'_>,
    ) -> Vec<Searched> {
        self.searched.lock().unwrap().push(questions.len());
        let broadcasts = finder.call("search_broadcasts", "a").await.unwrap();
        self.broadcasts.lock().unwrap().extend(broadcasts.iter().map(|hit| hit.message));
        let hits = finder.call("search_messages", "a").await.unwrap();
        let tokens = hits.iter().map(|hit| hit.tokens).sum();
        let newest = hits.first().expect("something is found").message;
        let one = |_| Searched { answer: Ok(format!("up to {newest}")), calls: 1, tokens };
        questions.iter().map(one).collect()
    }

    fn name(&self) -> &str {
        "counting"
    }
}

#[async_trait]
impl Judge for Counting {
    async fn grade(&self, grading: &Grading<'_>) -> Judgement {
        *self.graded.lock().unwrap() += 1;
        assert_eq!(grading.kind, QuestionKind::Fact);
        let right = grading.answer == "11 passages";
        let verdict = if right { Verdict::Correct } else { Verdict::Incorrect };
        let score = Some(f64::from(u8::from(right)));
        Judgement { verdict, score, rationale: "counted".into(), votes: Vec::new() }
    }

    fn name(&self) -> &str {
        "counting"
    }

    fn source(&self) -> Source {
        Source::Model
    }
}

pub fn manifest() -> Manifest {
    serde_json::from_value(serde_json::json!({
        "title": "small", "version": "0", "instrument": recap_core::model::INSTRUMENT, "seed": 1,
        "tokens": "o200k", "windows": [], "scaled": true, "replicates": 1, "sessions": [],
        "strategies": [], "compactor": "offline", "answerer": "counting", "judge": "counting",
        "source": "model", "agent_models": [], "prices": Prices::default(), "profile": PROFILE,
        "planned": Planned::default(), "warnings": [],
    }))
    .unwrap()
}

/// What a run over `small` left, with this role as answerer and judge.
fn run_with(role: &Arc<Counting>, strategies: &[&str], questions: Vec<Question>) -> Finished {
    let counter = Arc::new(Counter::default());
    let (answerer, judge) = (Arc::clone(role), Arc::clone(role));
    let roles = ModelRoles { answerer: Some(answerer), judge, ..ModelRoles::offline(&counter) };
    let strategy = |name: &&str| Arc::new(builtin(name, &[]).unwrap().unwrap());
    let spec = RunSpec {
        strategies: strategies.iter().map(strategy).collect(),
        windows: Windows::Same(vec!["100k".parse().unwrap(), "200k".parse().unwrap()]),
        cuts: recap_exam::facts::Cuts::None,
        depth: 0,
        ..crate::resume::spec()
    };
    let mut session = small();
    session.messages[4].broadcast = true;
    let samples = vec![NamedSession { dataset: "d".into(), session, questions }];
    let folder = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&folder.path().join("run"), &manifest()).unwrap();
    block_on(async {
        let prepared = prepare(spec, samples, roles, counter).await.unwrap();
        run(prepared, &mut folder, &()).await.unwrap()
    })
}

#[test]
fn each_context_is_asked_and_answer_graded_once() {
    let role = Arc::new(Counting::default());
    let questions = vec![question("p", 10, &[0]), question("q", 10, &[9])];
    let finished = run_with(&role, &["full", "fifo", "empty", "evidence"], questions);

    // Both questions to the whole conversation, which `fifo` leaves whole at both
    // windows; both to the empty one; one each to its own evidence.
    let mut asked = role.asked.lock().unwrap().clone();
    asked.sort_unstable();
    assert_eq!(asked, [1, 1, 2, 2]);
    // The whole, nothing, and its evidence: three answers a question.
    assert_eq!(*role.graded.lock().unwrap(), 6);
    let of = |strategy: &str| -> Vec<Cell> {
        finished.results.cells().filter(|c| c.key.strategy == strategy).collect()
    };
    for cell in [of("full"), of("fifo")].concat() {
        let rows = &cell.rows().unwrap().questions;
        assert_eq!(rows.len(), 2);
        for row in rows {
            let answered = row.answered.as_ref().unwrap();
            assert_eq!(answered.answer, Answer::Said("11 passages".into()));
            assert_eq!(answered.judgement.score, Some(1.0));
            // What stands before the evidence of the second does not answer it.
            assert_eq!(row.findable, Some(row.question == 0));
        }
    }
    for cell in of("empty") {
        assert!(cell.rows().unwrap().questions.iter().all(|row| row.findable == Some(false)));
    }
}

/// Seed 003: retrieve older memories through the tools: all before the question
#[test]
fn recovery_asks_twice_and_archive_ends_at_request() {
    let role = Arc::new(Counting::default());
    let questions = vec![question("p", 4, &[0]), question("q", 10, &[9]), question("r", 10, &[9])];
    let finished = run_with(&role, &["full", "sliding-window-search"], questions);

    // One at the third request, two at the end, once for both windows; what is
    // asked without the channel is what `full` shows too, and shared with it.
    let sorted = |asked: &Mutex<Vec<usize>>| {
        let mut asked = asked.lock().unwrap().clone();
        asked.sort_unstable();
        asked
    };
    assert_eq!((sorted(&role.asked), sorted(&role.searched)), (vec![1, 2], vec![1, 2]));
    assert_eq!(*role.broadcasts.lock().unwrap(), [4, 4], "the user's second message");
    let facts = &finished.sessions[0].messages;
    let all = |end: usize| facts[..end].iter().map(|m| m.tokens).sum::<u64>();
    for cell in finished.results.cells() {
        let rows = &cell.rows().unwrap().questions;
        assert!(
            rows.iter().all(|row| row.answered.as_ref().unwrap().judgement.rationale == "counted")
        );
        let recovered: Vec<_> = rows.iter().map(|row| row.recovered.clone()).collect();
        if cell.key.strategy == "full" {
            assert_eq!(recovered, [None, None, None]);
            continue;
        }
        // The third request is message 5; at the end there are eleven.
        for (recovered, end) in recovered.into_iter().zip([5, 11, 11]) {
            let recovered = recovered.unwrap();
            assert_eq!(recovered.answered.answer, Answer::Said(format!("up to {}", end - 1)));
            assert_eq!((recovered.calls, recovered.tokens), (1, all(end)));
            assert_eq!(recovered.answered.judgement.score, Some(0.0));
        }
    }

    // A judge that comes later grades both answers anew.
    let mut cells: Vec<Cell> = finished.results.cells().collect();
    for cell in &mut cells {
        let CellOutcome::Done(rows) = &mut cell.outcome else { panic!("{:?}", cell.outcome) };
        for row in &mut rows.questions {
            let recovered = row.recovered.iter_mut().map(|recovered| &mut recovered.answered);
            let all = row.answered.iter_mut().chain(recovered);
            all.for_each(|answered| answered.judgement.rationale.clear());
        }
    }
    block_on(judge_again(&finished.sessions, (&mut cells, &mut []), &*role, 2, &|_| ()));
    assert!(finished.results.cells().eq(cells));
}
