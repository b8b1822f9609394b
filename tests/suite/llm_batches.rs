//! What calls in batches come to at a provider that behaves like OpenAI's and
//! Anthropic's: replies in any order, faults of single requests, of batches and
//! of looks at them, and a program that was ended in between.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use recap::llm::providers::{Anthropic, OpenAiChat, OpenAiResponses};
use recap::llm::{
    Answered, BatchLog, BatchOptions, Batched, Budget, Call, CallError, Client, Endpoint,
    FaultKind, HaltCause, Key, Limits, Live, Llm, Model, Options, Provider as Dialect, Question,
    RetryPolicy, Settings,
};
use recap::model::Seat;
use recap::pricing::PriceList;

use crate::batches::{Asked, Fate, Provider, Submitted, Whose};
use crate::server::{Act, Received};

const BOTH: [Whose; 2] = [Whose::OpenAi, Whose::Anthropic];

/// A model of the price list: $4 a million tokens of prompts and $20 of replies,
/// half of that in batches.
const MODEL: &str = "claude-opus-5-5";

fn model() -> Model {
    Model { provider: "p".to_owned(), name: MODEL.to_owned(), settings: Settings::default() }
}

/// A model in batches, as one program has it.
struct Program {
    live: Arc<Live>,
    client: Arc<Client>,
    batched: Batched,
    log: Arc<BatchLog>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Program {
    fn new(whose: Whose, base: &str, cap: Option<f64>) -> Self {
        let mut options = Options::new(7, || "2026-11-20T02:00:00Z".parse().unwrap());
        options.budget = Budget::new(cap);
        options.patience = RetryPolicy {
            attempts: 3,
            first_wait: Duration::from_millis(1),
            longest_wait: Duration::from_millis(5),
        };
        let client = Client::new(options).unwrap();
        let dialect: &'static dyn Dialect = match whose {
            Whose::OpenAi => &OpenAiChat::GATEWAY,
            Whose::Anthropic => &Anthropic,
        };
        let key = Key::new("sk-canary-0123456789").unwrap();
        let prices = PriceList::bundled().find(MODEL).unwrap().clone();
        let endpoint = Endpoint::new(dialect, base, Some(key), Some(prices)).unwrap();
        let live = Arc::new(client.live(model(), endpoint, Limits::default()).unwrap());
        let told = Arc::new(Mutex::new(Vec::new()));
        let (log, tells) = (Arc::new(BatchLog::default()), Arc::clone(&told));
        let options = BatchOptions {
            log: Arc::clone(&log),
            poll: Duration::from_millis(20),
            tell: Arc::new(move |text: &str| tells.lock().unwrap().push(text.to_owned())),
        };
        let batched = Batched::new(Arc::clone(&live), options).unwrap();
        Self { live, client, batched, log, told }
    }

    /// The same with a file that says which batch holds which calls.
    fn logged(whose: Whose, base: &str, file: &Path, recorded: &[String]) -> Self {
        let program = Self::new(whose, base, None);
        program.log.open(file, |key| recorded.iter().any(|known| known == key)).unwrap();
        program
    }

    async fn ask(&self, seat: Seat, text: &str) -> Result<Answered, CallError> {
        let request = model().request(Question::of("be brief", text, 50));
        self.batched.call(Call { seat, replicate: 0, request }).await
    }

    /// Calls whose texts are their numbers, at the same time.
    async fn all(&self, calls: usize) -> Vec<Result<Answered, CallError>> {
        let calls = (0..calls).map(|call| async move {
            let seat = [Seat::Answerer, Seat::Judge, Seat::Author][call % 3];
            self.ask(seat, &call.to_string()).await
        });
        futures_util::future::join_all(calls).await
    }

    fn told(&self) -> String {
        self.told.lock().unwrap().join("\n")
    }
}

fn echo(asked: &Asked) -> Fate {
    Fate::Says(format!("to {}", asked.text))
}

fn text(result: &Result<Answered, CallError>) -> &str {
    result.as_ref().map_or("", |answered| &answered.reply.text)
}

/// Asserts that each call has its own reply.
#[track_caller]
fn each_has_its_own(results: &[Result<Answered, CallError>]) {
    for (number, result) in results.iter().enumerate() {
        assert_eq!(text(result), format!("to {number}"), "{result:?}");
    }
}

#[tokio::test]
async fn calls_that_wait_at_the_same_time_are_one_batch_and_each_gets_its_own_reply() {
    for whose in BOTH {
        let provider = Provider::start(whose, echo);
        let program = Program::new(whose, &provider.base(), None);
        let results = program.all(40).await;
        each_has_its_own(&results);
        for answered in results.iter().flatten() {
            let times = (answered.timing.total_ms, answered.timing.attempts);
            assert!(answered.batch && times == (0.0, 1), "{answered:?}");
        }
        let submitted = provider.submitted();
        assert_eq!(submitted.len(), 1);
        assert_eq!(submitted[0].asked.len(), 40);
        // 10 tokens at $2 and 5 at $10 a million, forty times.
        let spent = program.client.spent_usd();
        assert!((spent - 40.0 * (10.0 * 2e-6 + 5.0 * 10e-6)).abs() < 1e-9, "{spent}");
        let told = program.told();
        assert!(told.contains("batch batch_0 of 40 calls was submitted"), "{told}");
        assert!(told.ends_with("batch batch_0 ended: 40 calls answered"), "{told}");
        assert_eq!(program.log.running(), []);
        // One after the other they are a batch each.
        assert_eq!(text(&program.ask(Seat::Judge, "more").await), "to more");
        assert_eq!(provider.submitted().len(), 2);
    }
}

#[tokio::test]
async fn a_compactor_does_not_wait_for_batches() {
    let direct = |request: &Received, _: &[Submitted]| {
        request.path.ends_with("/chat/completions").then(|| Act::chat("at once"))
    };
    let provider = Provider::with(Whose::OpenAi, echo, direct);
    let program = Program::new(Whose::OpenAi, &provider.base(), None);
    let answered = program.ask(Seat::Compactor, "sum up").await.unwrap();
    assert_eq!((answered.reply.text.as_str(), answered.batch), ("at once", false));
    assert_eq!(provider.submitted().len(), 0);
    // At the ordinary price: 10 tokens at $4 and 5 at $20 a million.
    assert!((program.client.spent_usd() - 140e-6).abs() < 1e-9);
}

#[tokio::test]
async fn requests_that_failed_are_made_again_where_that_may_help() {
    for whose in BOTH {
        let (busy, refused, odd) = match whose {
            Whose::OpenAi => {
                ((429, "rate_limit_exceeded"), (400, "content_filter"), (500, "server_error"))
            }
            Whose::Anthropic => {
                ((529, "overloaded_error"), (400, "invalid_request_error"), (500, "api_error"))
            }
        };
        let provider =
            Provider::start(whose, move |asked| match (asked.text.as_str(), asked.batch) {
                ("1", 0) => Fate::Fault(busy.0, busy.1),
                ("2", 0) => Fate::Expires,
                ("3", 0) => Fate::Missing,
                ("4", _) => Fate::Fault(refused.0, refused.1),
                ("5", _) => Fate::Fault(odd.0, odd.1),
                ("6", _) => Fate::Cancelled,
                ("7", _) => Fate::Expires,
                _ => echo(asked),
            });
        let program = Program::new(whose, &provider.base(), None);
        let results = program.all(8).await;
        for number in 0..4 {
            assert_eq!(text(&results[number]), format!("to {number}"), "{results:?}");
            let attempts = results[number].as_ref().unwrap().timing.attempts;
            assert_eq!(attempts, if number == 0 { 1 } else { 2 });
        }
        let kind = match whose {
            Whose::OpenAi => FaultKind::Filtered,
            Whose::Anthropic => FaultKind::BadRequest,
        };
        assert!(
            matches!(&results[4], Err(CallError::Rejected(fault)) if fault.kind == kind),
            "{results:?}"
        );
        let failed = |at: usize, attempts: u32, why: &str| {
            let told = results[at].as_ref().unwrap_err().to_string();
            let times = if attempts == 1 { "1 attempt" } else { "3 attempts" };
            assert!(told.contains(times) && told.contains(why), "{told}");
        };
        failed(5, 3, "server error");
        failed(6, 1, "cancelled at the provider");
        failed(7, 3, "not answered within a day");
        let sizes: Vec<usize> = provider.submitted().iter().map(|b| b.asked.len()).collect();
        assert_eq!(sizes, [8, 5, 2]);
        assert!(program.live.halted().is_none(), "the other calls go on");
        // Only what was answered is paid: four replies.
        assert!((program.client.spent_usd() - 4.0 * 70e-6).abs() < 1e-9);
        assert!(
            program.told().contains("1 call answered, 5 submitted again, 2 failed"),
            "{}",
            program.told()
        );
    }
}

#[tokio::test]
async fn a_batch_that_is_refused_stops_the_model_with_the_providers_words() {
    let refused = |request: &Received, batches: &[Submitted]| {
        let errors = serde_json::json!({"data": [
            {"code": "model_not_found", "line": 1, "message": "The model sk-canary-0123456789 is not there."},
        ]});
        (request.path == "/v1/batches/batch_0" && !batches.is_empty()).then(|| {
            Act::json(
                200,
                &serde_json::json!({"id": "batch_0", "status": "failed", "errors": errors}),
            )
        })
    };
    let provider = Provider::with(Whose::OpenAi, echo, refused);
    let program = Program::new(Whose::OpenAi, &provider.base(), Some(1.0));
    for result in program.all(3).await {
        let told = result.unwrap_err().to_string();
        let words = "the batch batch_0 was refused: line 1: The model [key] is not there.";
        assert!(told.contains(words) && told.contains("p/claude-opus-5-5 at http://127"), "{told}");
    }
    assert_eq!(program.live.halted().unwrap().cause, HaltCause::Fault(FaultKind::BadRequest));
    assert_eq!((provider.submitted().len(), program.log.running().len()), (1, 0));
}

#[tokio::test]
async fn a_wrong_key_and_a_server_without_batches_stop_the_model_at_once() {
    for (status, kind) in [(401, FaultKind::Auth), (404, FaultKind::NotFound)] {
        for whose in BOTH {
            let provider =
                Provider::with(whose, echo, move |_, _| Some(Act::fault(status, "", "no")));
            let program = Program::new(whose, &provider.base(), None);
            assert!(matches!(program.all(2).await[0], Err(CallError::Halted(_))));
            assert_eq!(program.live.halted().unwrap().cause, HaltCause::Fault(kind));
            assert_eq!(provider.log().len(), 1);
        }
    }
}

/// Answers the first so many requests for a path otherwise.
fn at_first(
    method: &'static str,
    part: &'static str,
    times: usize,
    act: Act,
) -> impl Fn(&Received, &[Submitted]) -> Option<Act> + Send + Sync {
    let met = AtomicUsize::new(0);
    move |request, _| {
        let own = request.method == method && request.path.contains(part);
        (own && met.fetch_add(1, SeqCst) < times).then(|| act.clone())
    }
}

#[tokio::test]
async fn faults_of_single_requests_are_survived_and_nothing_is_submitted_twice() {
    let cases = [
        ("GET", "batches/batch_0", Act::fault(429, "rate_limit_exceeded", "slow")),
        ("GET", "batches/batch_0", Act::fault(500, "server_error", "oops")),
        ("GET", "batches/batch_0", Act::html(200, "<h1>log in</h1>")),
        ("GET", "batches/batch_0", Act::Close),
        ("POST", "batches", Act::fault(429, "rate_limit_exceeded", "slow")),
        ("POST", "batches", Act::fault(503, "overloaded", "busy")),
        ("POST", "batches", Act::Truncate(b"{\"id\"".to_vec())),
        ("POST", "files", Act::fault(500, "server_error", "oops")),
        ("GET", "out-0", Act::Truncate(b"{\"custom_id\"".to_vec())),
        ("GET", "results", Act::Reset),
        // A whole response whose last line is torn.
        ("GET", "out-0", Act::html(200, "{\"custom_id\": \"a\", \"resp")),
        ("GET", "results", Act::html(200, "{\"custom_id\": \"a\", \"res")),
    ];
    for whose in BOTH {
        for (method, part, act) in cases.clone() {
            let before = at_first(method, part, 2, act.clone());
            let provider = Provider::with(whose, echo, before);
            let program = Program::new(whose, &provider.base(), None);
            each_has_its_own(&program.all(5).await);
            let context = format!("{whose:?} {method} {part} {act:?}");
            assert_eq!(provider.submitted().len(), 1, "{context}");
        }
    }
}

#[tokio::test]
async fn a_batch_whose_name_got_lost_is_found_again() {
    for whose in BOTH {
        // The provider makes the batch, and its answer does not arrive.
        let lost = Arc::new(AtomicUsize::new(0));
        let (swallowed, base) = (Arc::clone(&lost), Arc::new(Mutex::new(String::new())));
        let relay = Arc::clone(&base);
        let before = move |request: &Received, batches: &[Submitted]| {
            let creates = request.method == "POST" && request.path.ends_with("batches");
            if !creates || !batches.is_empty() || swallowed.fetch_add(1, SeqCst) > 0 {
                return None;
            }
            // The same request once more, whose answer nobody reads.
            let body = request.body.to_string();
            post(&relay.lock().unwrap(), &request.path, &body);
            Some(Act::Close)
        };
        let provider = Provider::with(whose, echo, before);
        *base.lock().unwrap() = provider.base();
        let program = Program::new(whose, &provider.base(), None);
        each_has_its_own(&program.all(4).await);
        assert_eq!((lost.load(SeqCst), provider.submitted().len()), (2, 1), "{whose:?}");
        assert!(program.told().contains("batch batch_0 of 4 calls was found again"));
    }
}

fn post(base: &str, path: &str, body: &str) {
    use std::io::{Read, Write};
    let address = base.trim_start_matches("http://");
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(stream, "POST {path} HTTP/1.1\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
}

#[tokio::test]
async fn torn_results_that_stay_so_are_used_as_far_as_they_are_whole() {
    let torn = |request: &Received, batches: &[Submitted]| {
        let name = &batches.first()?.asked.first()?.name;
        let whole = serde_json::json!({"custom_id": name, "error": null, "response":
            {"status_code": 200, "body": crate::server::chat("whole", "stop")}});
        let foreign = serde_json::json!({"custom_id": "x", "error": null, "response":
            {"status_code": 200, "body": {}}});
        request.path.ends_with("out-0/content").then(|| {
            Act::html(200, &format!("{whole}\n{foreign}\n{{\"custom_id\": \"{name}\", \"resp"))
        })
    };
    let provider = Provider::with(Whose::OpenAi, echo, torn);
    let program = Program::new(Whose::OpenAi, &provider.base(), None);
    let results = program.all(2).await;
    let mut texts: Vec<&str> = results.iter().map(text).collect();
    texts.sort_unstable();
    assert!(texts[0].starts_with("to ") && texts[1] == "whole", "{results:?}");
    assert_eq!(provider.submitted().iter().map(|b| b.asked.len()).collect::<Vec<_>>(), [2, 1]);
    let told = program.told();
    assert!(told.contains("1 call answered, 1 submitted again, 1 unknown and left out"), "{told}");
}

#[tokio::test]
async fn a_provider_that_stays_silent_about_a_batch_is_an_outage() {
    let silent = |request: &Received, _: &[Submitted]| {
        request.path.ends_with("batch_0").then(|| Act::fault(503, "overloaded", "busy"))
    };
    let provider = Provider::with(Whose::OpenAi, echo, silent);
    let program = Program::new(Whose::OpenAi, &provider.base(), None);
    let told = program.all(2).await[0].as_ref().unwrap_err().to_string();
    assert!(told.contains("no answer about a batch after 3 attempts"), "{told}");
    assert_eq!(program.live.halted().unwrap().cause, HaltCause::Outage);
    // It goes on at the provider, and a later program may take its results.
    assert_eq!(program.log.running(), [("batch_0".to_owned(), 2)]);
}

#[tokio::test]
async fn the_most_that_a_batch_can_cost_is_reserved_before_it_is_submitted() {
    for whose in BOTH {
        let provider = Provider::start(whose, echo);
        // The worst case of a call: 38 tokens at $2.5 a million and 50 at $10,
        // $0.000595. Of ten calls three fit at a time.
        let program = Program::new(whose, &provider.base(), Some(0.002));
        let results = program.all(10).await;
        each_has_its_own(&results);
        let sizes: Vec<usize> = provider.submitted().iter().map(|b| b.asked.len()).collect();
        assert_eq!((sizes[0], sizes.iter().sum::<usize>()), (3, 10), "{sizes:?}");
        let spent = program.client.spent_usd();
        assert!((spent - 10.0 * 70e-6).abs() < 1e-9, "{spent}");
        let poor = Program::new(whose, &provider.base(), Some(0.0005));
        assert!(matches!(poor.all(1).await[0], Err(CallError::OverBudget(_))));
        assert_eq!(provider.submitted().len(), sizes.len());
    }
}

#[tokio::test]
async fn a_later_program_takes_the_results_of_batches_that_were_submitted() {
    for whose in BOTH {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("batches.jsonl");
        let provider = Provider::with(whose, echo, |_, _| None);
        // The first program is ended while its batch runs.
        let first = Program::logged(whose, &provider.base(), &file, &[]);
        tokio::select! {
            results = first.all(6) => panic!("{results:?}"),
            () = async { while first.log.running().is_empty() { tokio::task::yield_now().await } } => {}
        }
        drop(first);
        let names: Vec<String> =
            provider.submitted()[0].asked.iter().map(|asked| asked.name.clone()).collect();
        let kept: Vec<String> = names[..2].to_vec();
        let second = Program::logged(whose, &provider.base(), &file, &kept);
        assert_eq!(second.log.running(), [("batch_0".to_owned(), 4)]);
        // Its calls come one after the other: the batch may have ended before.
        let asked: Vec<Asked> = provider.submitted()[0].asked.clone();
        for asked in asked.iter().filter(|asked| !kept.contains(&asked.name)) {
            let answered = second.ask(Seat::Judge, &asked.text).await.unwrap();
            assert_eq!(answered.reply.text, format!("to {}", asked.text));
            assert_eq!(answered.timing.attempts, 1);
        }
        assert_eq!(provider.submitted().len(), 1, "nothing is submitted twice");
        assert!((second.client.spent_usd() - 4.0 * 70e-6).abs() < 1e-9);
        assert_eq!(text(&second.ask(Seat::Judge, "new").await), "to new");
        assert_eq!(provider.submitted()[1].asked.len(), 1);
        second.log.finish().unwrap();
        assert!(!file.exists());
    }
}

#[test]
fn who_has_no_batches_at_half_the_price_is_not_asked_in_batches() {
    let has = |dialect: &'static dyn Dialect| dialect.batches().is_some();
    assert!(has(&OpenAiChat::OPENAI) && has(&OpenAiResponses) && has(&Anthropic));
    assert!(!has(&OpenAiChat::COMPATIBLE) && !has(&recap::llm::providers::Gemini));
}
