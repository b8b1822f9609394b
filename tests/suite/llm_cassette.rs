//! A recording run and its replays see the same answers, and pay once.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use recap_billing::pricing::PriceList;
use recap_core::model::{CallOutcome, CallRow, LatencySource, ModelRole, Timing, Usage};
use recap_llm::cassette::{Mode, Scrub};
use recap_llm::{
    Answered, Call, CallError, Calls, Cassette, Fault, FaultKind, Finish, Llm, Memoized, Model,
    Reply, Request, Settings, Tokens,
};
use tempfile::TempDir;
use tokio::sync::Semaphore;

/// Answers with the question and how many were asked before.
struct Scripted {
    model: Model,
    asked: AtomicUsize,
    /// Calls that may be answered; those beyond wait.
    gate: Semaphore,
    /// Why it was stopped.
    halted: Mutex<Option<String>>,
}

impl Scripted {
    fn new(gate: usize) -> Arc<Self> {
        let asked = AtomicUsize::new(0);
        let halted = Mutex::default();
        Arc::new(Self { model: model(), asked, gate: Semaphore::new(gate), halted })
    }

    fn open() -> Arc<Self> {
        Self::new(1_000)
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Llm for Scripted {
    fn model(&self) -> &Model {
        &self.model
    }

    fn halt(&self, reason: &str) {
        *self.halted.lock().unwrap() = Some(reason.to_owned());
    }

    async fn call(&self, call: Call) -> Result<Answered, CallError> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        self.gate.acquire().await.unwrap().forget();
        let text = &call.request.messages[0].text;
        let fault = |kind| Fault { kind, status: 400, message: "no".to_owned() };
        match text.as_str() {
            "reject" => return Err(CallError::Rejected(fault(FaultKind::BadRequest))),
            "filter" => return Err(CallError::Rejected(fault(FaultKind::Filtered))),
            "halt" => return Err(CallError::Halted("stopped".to_owned())),
            "down" if number == 0 => {
                let (why, took) = ("down".to_owned(), Duration::ZERO);
                return Err(CallError::Unavailable { attempts: 4, why, took });
            }
            _ => {}
        }
        let usage = Usage { input: 1_000, output: 100, output_final: true, ..Usage::default() };
        let finish = if text == "long" { Finish::Length } else { Finish::Done };
        let total_ms = 100.0 / 3.0 + number as f64;
        Ok(Answered {
            reply: Reply {
                text: format!("{text} {number} key-123"),
                finish,
                usage: Ok(Tokens { usage, reasoning: Some(30) }),
                model: None,
            },
            timing: Timing { queue_ms: 0.1, first_byte_ms: 0.2, total_ms, attempts: 1 },
            recorded: false,
        })
    }
}

fn model() -> Model {
    let settings = Settings::default();
    Model { provider: "openai".to_owned(), name: "gpt-5.4".to_owned(), settings }
}

fn call(role: ModelRole, text: &str) -> Call {
    Call { role, replicate: 0, request: model().request(Request::of("", text, 9)) }
}

fn scrub() -> Scrub {
    Arc::new(|text| text.replace("key-123", "***"))
}

fn calls(cassette: Option<Cassette>, hour: &str) -> Arc<Calls> {
    let now: Timestamp = format!("2026-11-20T{hour}:00:00Z").parse().unwrap();
    Arc::new(Calls::new(cassette, Box::new(move || now)))
}

fn cassette(file: &Path, mode: Mode) -> Option<Cassette> {
    let (cassette, warnings) = Cassette::open(file, mode, scrub()).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    Some(cassette)
}

fn file() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("calls.jsonl");
    (folder, file)
}

fn once(inner: &Arc<Scripted>, calls: &Arc<Calls>) -> Memoized {
    let prices = PriceList::bundled().find("gpt-5.4").ok().cloned();
    Memoized::live(Arc::<Scripted>::clone(inner), prices, Arc::clone(calls))
}

fn replayed(calls: &Arc<Calls>) -> Memoized {
    let prices = PriceList::bundled().find("gpt-5.4").ok().cloned();
    Memoized::replayed(model(), prices, Arc::clone(calls))
}

const QUESTIONS: [&str; 5] = ["b", "a", "long", "reject", "filter"];

async fn asked(once: &Memoized) -> Vec<Result<Answered, CallError>> {
    let mut answers = Vec::new();
    for question in QUESTIONS {
        answers.push(once.call(call(ModelRole::Judge, question)).await);
    }
    answers
}

fn rows(calls: &Calls) -> String {
    serde_json::to_string(&calls.take()).unwrap()
}

#[tokio::test]
async fn replay_reproduces_the_bytes_of_the_recorded_run() {
    let (_folder, file) = file();
    let inner = Scripted::open();
    let first = calls(cassette(&file, Mode::Record), "02");
    let answers = asked(&once(&inner, &first)).await;
    let taken = rows(&first);
    first.cassette().unwrap().finish().unwrap();
    let bytes = fs::read(&file).unwrap();
    assert_eq!(inner.asked(), QUESTIONS.len());
    assert_eq!(answers[0].as_ref().unwrap().reply.text, "b 0 ***");
    assert!(answers.iter().flatten().all(|answered| answered.recorded));
    assert!(!String::from_utf8(bytes.clone()).unwrap().contains("key-123"));
    drop(first);

    // At another hour, without a model.
    let replay = calls(cassette(&file, Mode::Replay), "20");
    assert_eq!(asked(&replayed(&replay)).await, answers);
    assert_eq!(rows(&replay), taken);
    replay.cassette().unwrap().finish().unwrap();
    assert_eq!(fs::read(&file).unwrap(), bytes);

    // With a model at hand, that is not asked again.
    let again = calls(cassette(&file, Mode::Record), "20");
    assert_eq!(asked(&once(&inner, &again)).await, answers);
    assert_eq!(rows(&again), taken);
    again.cassette().unwrap().finish().unwrap();
    assert_eq!(fs::read(&file).unwrap(), bytes);
    assert_eq!(inner.asked(), QUESTIONS.len());
}

#[tokio::test]
async fn an_interrupted_recording_goes_on_where_it_stopped() {
    let (_folder, file) = file();
    let inner = Scripted::open();
    let first = calls(cassette(&file, Mode::Record), "02");
    once(&inner, &first).call(call(ModelRole::Judge, "a")).await.unwrap();
    // Killed: nothing is finished.
    drop(first);
    let second = calls(cassette(&file, Mode::Record), "02");
    asked(&once(&inner, &second)).await;
    assert_eq!(inner.asked(), QUESTIONS.len());
}

#[tokio::test]
async fn replay_calls_nobody_and_names_what_is_missing() {
    let (_folder, file) = file();
    fs::write(&file, "").unwrap();
    let inner = Scripted::open();
    let replay = calls(cassette(&file, Mode::Replay), "02");
    for once in [once(&inner, &replay), replayed(&replay)] {
        let error = once.call(call(ModelRole::Answerer, "Which port?")).await.unwrap_err();
        let actual = error.to_string();
        assert!(actual.contains("answerer of openai/gpt-5.4, replicate 0, key "), "{actual}");
        assert!(actual.contains("asked \"Which port?\""), "{actual}");
        assert!(matches!(error, CallError::NotRecorded(_)));
    }
    assert_eq!((inner.asked(), replay.take()), (0, vec![]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_identical_requests_wait_for_one_answer() {
    let inner = Scripted::new(0);
    let calls = calls(None, "02");
    let once = Arc::new(once(&inner, &calls));
    let ask = |role| {
        let once = Arc::clone(&once);
        tokio::spawn(async move { once.call(call(role, "a")).await })
    };
    let (judge, compactor) = (ask(ModelRole::Judge), ask(ModelRole::Compactor));
    while inner.asked() == 0 {
        tokio::task::yield_now().await;
    }
    inner.gate.add_permits(10);
    let (judge, compactor) = (judge.await.unwrap(), compactor.await.unwrap());
    assert_eq!(judge, compactor);
    assert!(!judge.unwrap().recorded);
    assert_eq!(once.call(call(ModelRole::Answerer, "a")).await, compactor);
    assert_eq!(inner.asked(), 1);
    let rows = calls.take();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].role, rows[0].source), (ModelRole::Compactor, LatencySource::Live));
}

#[tokio::test]
async fn waiting_request_takes_over_from_a_dropped_one() {
    let inner = Scripted::new(0);
    let calls = calls(None, "02");
    let once = Arc::new(once(&inner, &calls));
    let ask = || {
        let once = Arc::clone(&once);
        tokio::spawn(async move { once.call(call(ModelRole::Judge, "a")).await })
    };
    let (first, second) = (ask(), ask());
    while inner.asked() == 0 {
        tokio::task::yield_now().await;
    }
    first.abort();
    inner.gate.add_permits(10);
    assert_eq!(second.await.unwrap().unwrap().reply.text, "a 1 key-123");
    assert_eq!(calls.take().len(), 1);
}

#[tokio::test]
async fn shared_failure_reaches_both_and_can_be_retried() {
    let inner = Scripted::new(0);
    let calls = calls(None, "02");
    let once = once(&inner, &calls);
    let ask = || once.call(call(ModelRole::Judge, "down"));
    let open = async {
        while inner.asked() == 0 {
            tokio::task::yield_now().await;
        }
        inner.gate.add_permits(10);
    };
    let (first, second, ()) = tokio::join!(ask(), ask(), open);
    assert_eq!(first, second);
    assert!(matches!(first, Err(CallError::Unavailable { attempts: 4, .. })));
    assert_eq!(inner.asked(), 1);
    assert_eq!(ask().await.unwrap().reply.text, "down 1 key-123");
    assert_eq!(inner.asked(), 2);
}

#[tokio::test]
async fn what_was_turned_down_is_not_asked_again() {
    let inner = Scripted::open();
    let calls = calls(None, "02");
    let once = once(&inner, &calls);
    for _ in 0..2 {
        let error = once.call(call(ModelRole::Judge, "reject")).await.unwrap_err();
        assert!(matches!(error, CallError::Rejected(_)));
    }
    assert_eq!(inner.asked(), 1);
}

/// What a role says of its replies, in order: `+` usable, `-` of no use; a digit repeats that
/// call. Other roles of the model and repeated calls do not count.
#[tokio::test]
async fn eight_useless_replies_without_a_usable_one_stop_the_model() {
    for (said, stopped) in [
        ("-------", false),
        ("--------", true),
        ("------0123", false),
        ("-------+--------", false),
        ("+---------", false),
    ] {
        let (inner, calls) = (Scripted::open(), calls(None, "02"));
        let once = once(&inner, &calls);
        once.used(ModelRole::Answerer);
        for (number, word) in said.chars().enumerate() {
            let number = word.to_digit(10).unwrap_or(number as u32);
            match word {
                '+' => once.used(ModelRole::Judge),
                _ => once.discard(call(ModelRole::Judge, &number.to_string()), "a riddle", true),
            }
        }
        let reason = "openai/gpt-5.4 was stopped as judge: none of its first 8 replies was usable; \
                      the last: a riddle";
        let expected = stopped.then(|| reason.to_owned());
        assert_eq!(*inner.halted.lock().unwrap(), expected, "{said}");
    }
}

#[tokio::test]
async fn a_repetition_is_a_call_of_its_own() {
    let inner = Scripted::open();
    let calls = calls(None, "02");
    let once = once(&inner, &calls);
    for replicate in [0, 1, 0] {
        once.call(Call { replicate, ..call(ModelRole::Judge, "a") }).await.unwrap();
    }
    assert_eq!((inner.asked(), calls.take().len()), (2, 2));
}

#[tokio::test]
async fn every_sent_call_has_row_with_its_price() {
    let inner = Scripted::open();
    let calls = calls(None, "02");
    let once = once(&inner, &calls);
    // The first that is asked fails.
    for question in ["down", "a", "long", "reject", "filter", "halt", "a"] {
        let _ = once.call(call(ModelRole::Judge, question)).await;
    }
    once.call(call(ModelRole::Compactor, "b")).await.unwrap();
    let rows = calls.take();
    let of =
        |outcome| -> Vec<&CallRow> { rows.iter().filter(|row| row.outcome == outcome).collect() };
    assert_eq!(rows.len(), 6);
    assert_eq!(rows[0].role, ModelRole::Compactor);
    assert!(rows[1..].is_sorted_by(|a, b| a.key < b.key));
    let whole = of(CallOutcome::Replied);
    assert_eq!(whole.len(), 2);
    // 1,000 tokens at $2.50 and 100 at $15 per million.
    assert!((whole[0].usd.unwrap() - 0.004).abs() < 1e-12, "{:?}", whole[0].usd);
    assert_eq!((whole[0].usage.unwrap().output, whole[0].reasoning), (100, Some(30)));
    assert_eq!(whole[0].model, "openai/gpt-5.4");
    for outcome in [CallOutcome::Truncated, CallOutcome::Rejected, CallOutcome::Filtered] {
        assert_eq!(of(outcome).len(), 1, "{outcome:?}");
    }
    let down = of(CallOutcome::Unavailable);
    assert_eq!((down[0].timing.attempts, down[0].usd, down[0].usage), (4, None, None));
    assert_eq!(calls.take(), vec![]);
}
