//! What calls of a real model come to when the server, the network or the
//! account fails, at the beginning, in the middle and at the end of a run.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::server::{Act, Received, Server, chat, discard};
use futures_util::FutureExt as _;
use recap_billing::pricing::{ModelPrices, PriceList};
use recap_core::model::ModelRole;
use recap_llm::providers::OpenAiChat;
use recap_llm::{
    Answered, Budget, Call, CallError, Client, Endpoint, FaultKind, Finish, Key, Limits, Live,
    LiveError, Llm, Model, Options, Request, RetryPolicy, Settings,
};
use serde_json::json;

const KEY: &str = "sk-canary-0123456789";

/// Calls of a sequence.
const CALLS: usize = 5;

/// Hardly any wait between attempts, and time enough on a busy machine.
fn options() -> Options {
    let mut options = Options::new(7, || "2026-11-20T02:00:00Z".parse().unwrap());
    options.attempt = Duration::from_secs(60);
    options.call = Duration::from_secs(600);
    options.patience = RetryPolicy {
        attempts: 3,
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(5),
    };
    options
}

fn model() -> Model {
    let (provider, name) = ("openai".to_owned(), "mock".to_owned());
    Model { provider, name, settings: Settings::default() }
}

fn endpoint(base: &str, prices: Option<ModelPrices>) -> Endpoint {
    let key = Key::new(KEY).unwrap();
    Endpoint::new(&OpenAiChat::OPENAI, base, Some(key), prices).unwrap()
}

fn live_with(base: &str, options: Options) -> Live {
    let client = Client::new(options).unwrap();
    client.live(model(), endpoint(base, None), Limits::default()).unwrap()
}

fn live(base: &str) -> Live {
    live_with(base, options())
}

/// With so many calls at a time.
fn limited(base: &str, options: Options, concurrency: u32) -> Live {
    let limits = Limits { concurrency, per_minute: None };
    Client::new(options).unwrap().live(model(), endpoint(base, None), limits).unwrap()
}

fn question(text: &str) -> Call {
    let request = model().request(Request::of("be brief", text, 50));
    Call { role: ModelRole::Judge, replicate: 0, request }
}

async fn ask(live: &Live, text: &str) -> Result<Answered, CallError> {
    live.call(question(text)).await
}

/// Calls whose texts are their numbers.
async fn all_at_once(live: &Live, calls: usize) -> Vec<Result<Answered, CallError>> {
    let calls = (0..calls).map(|call| async move { ask(live, &call.to_string()).await });
    futures_util::future::join_all(calls).await
}

/// What a call that meets a fault comes to.
enum Expected {
    /// A reply in the end.
    Reply,
    Finish(Finish),
    Rejected(FaultKind),
    Malformed,
    Unavailable,
    /// This call and all after it.
    Halted(FaultKind),
}
use Expected::{Halted, Malformed, Rejected, Unavailable};

/// A fault, how often it occurs in a row, the requests that the call makes then
/// and what it comes to.
type Row = (&'static str, Act, usize, usize, Expected);

fn rows() -> Vec<Row> {
    let always = usize::MAX;
    let fault = |status, code| Act::fault(status, code, "no: Bearer sk-canary-0123456789");
    let passing = |status| fault(status, "");
    let html = |status| Act::html(status, "<h1>Bad sk-canary-0123456789</h1>");
    let refusal = json!({
        "choices": [{"message": {"content": null, "refusal": "I won't."}, "finish_reason": "stop"}],
    });
    let date = |wait: &str| {
        let actual = passing(429).with("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        actual.with("retry-after", wait)
    };
    let elsewhere = html(307).with("location", "https://a?k=sk-canary-0123456789");
    let said = |text, finish| Act::json(200, &chat(text, finish));
    let too_long = Rejected(FaultKind::ContextTooLong);
    let mut rows = vec![
        ("reset in the body, once", Act::Reset, 1, 2, Expected::Reply),
        ("reset in the body", Act::Reset, always, 3, Unavailable),
        ("closed without a word", Act::Close, always, 3, Unavailable),
        ("truncated body, once", Act::Truncate(b"{}".to_vec()), 1, 2, Expected::Reply),
        ("truncated body", Act::Truncate(b"{}".to_vec()), always, 3, Unavailable),
        ("no answer, once", Act::Hang, 1, 2, Expected::Reply),
        ("no answer", Act::Hang, always, 3, Unavailable),
        ("endless slow body", Act::Drip, always, 3, Unavailable),
        ("400", fault(400, "bad"), always, 1, Rejected(FaultKind::BadRequest)),
        ("400 filtered", fault(400, "content_filter"), always, 1, Rejected(FaultKind::Filtered)),
        ("422", fault(422, "bad"), always, 1, Rejected(FaultKind::BadRequest)),
        ("413", html(413), always, 1, Rejected(FaultKind::ContextTooLong)),
        ("too long", fault(400, "context_length_exceeded"), always, 1, too_long),
        ("401", fault(401, "invalid_api_key"), always, 1, Halted(FaultKind::Auth)),
        ("402", fault(402, ""), always, 1, Halted(FaultKind::Quota)),
        ("403", html(403), always, 1, Halted(FaultKind::Auth)),
        ("404", fault(404, "model_not_found"), always, 1, Halted(FaultKind::NotFound)),
        ("quota", fault(429, "insufficient_quota"), always, 1, Halted(FaultKind::Quota)),
        ("429 in seconds", passing(429).with("retry-after", "0.01"), 1, 2, Expected::Reply),
        ("429 in ms", passing(429).with("retry-after-ms", "10"), 1, 2, Expected::Reply),
        ("429 by date", date("Sun, 06 Nov 1994 08:49:38 GMT"), 1, 2, Expected::Reply),
        ("429 in an hour", passing(429).with("retry-after", "3600"), always, 1, Unavailable),
        ("429 tomorrow", date("Mon, 07 Nov 1994 08:49:37 GMT"), always, 1, Unavailable),
        ("429 in the past", date("Sun, 06 Nov 1994 08:49:36 GMT"), 1, 2, Expected::Reply),
        ("429 nonsense", passing(429).with("retry-after", "-5"), 1, 2, Expected::Reply),
        ("502 in HTML", html(502), always, 3, Unavailable),
        ("200 with a fault, once", fault(200, "server_error"), 1, 2, Expected::Reply),
        ("200 with a fault", fault(200, "server_error"), always, 3, Unavailable),
        ("200 in HTML, once", html(200), 1, 2, Expected::Reply),
        ("200 in HTML", html(200), always, 2, Malformed),
        ("empty body", Act::html(200, ""), always, 2, Malformed),
        ("200 without choices", Act::json(200, &json!({"id": KEY})), always, 1, Malformed),
        ("endless body", Act::Flood, always, 1, Malformed),
        ("redirect", elsewhere, always, 1, Halted(FaultKind::NotFound)),
        ("refusal", Act::json(200, &refusal), always, 1, Expected::Finish(Finish::Refused)),
        ("filter", said("", "content_filter"), always, 1, Expected::Finish(Finish::Filtered)),
        ("cut off", said("so", "length"), always, 1, Expected::Finish(Finish::Length)),
    ];
    for (name, status) in
        [("408", 408), ("429", 429), ("500", 500), ("502", 502), ("503", 503), ("529", 529)]
    {
        rows.push((name, passing(status), 2, 3, Expected::Reply));
        rows.push((name, passing(status), always, 3, Unavailable));
    }
    rows
}

/// Five calls in a row, of which the one at `at` meets the fault.
async fn sequence((name, act, times, requests, expected): &Row, at: usize) {
    let (act, times) = (act.clone(), *times);
    let slow = matches!(act, Act::Hang | Act::Drip);
    let met = AtomicUsize::new(0);
    let server = Server::start(move |request| {
        let fails = request.text() == format!("call {at}") && met.fetch_add(1, SeqCst) < times;
        if fails { act.clone() } else { Act::chat("fine") }
    });
    let mut options = options();
    if slow {
        options.attempt = Duration::from_millis(750);
    }
    let live = live_with(&server.base(), options);
    for call in 0..CALLS {
        let context = format!("{name}, call {call}, fault at {at}");
        let result = ask(&live, &format!("call {call}")).await;
        let actual = format!("{result:?} {:?}", result.as_ref().err().map(ToString::to_string));
        assert!(!actual.contains("canary"), "{context}: {actual}");
        match (&result, expected) {
            (Err(CallError::Halted(_)), Halted(_)) if call >= at => {}
            (Ok(answered), _) if call != at => {
                assert_eq!(answered.reply.text, "fine", "{context}");
                assert_eq!(answered.timing.attempts, 1, "{context}");
            }
            (Ok(answered), Expected::Reply) => {
                assert_eq!(answered.reply.text, "fine", "{context}");
                assert_eq!(answered.timing.attempts as usize, *requests, "{context}");
            }
            (Ok(answered), Expected::Finish(finish)) => {
                assert_eq!(answered.reply.finish, *finish, "{context}");
            }
            (Err(CallError::Rejected(fault)), Rejected(kind)) => {
                assert_eq!(fault.kind, *kind, "{context}");
            }
            (Err(CallError::Malformed(_)), Malformed) => {}
            (Err(CallError::Unavailable { attempts, .. }), Unavailable) => {
                assert_eq!(*attempts as usize, *requests, "{context}");
            }
            _ => panic!("{context}: {actual}"),
        }
    }
    let others = if matches!(expected, Halted(_)) { at } else { CALLS - 1 };
    assert_eq!(server.requests(), others + requests, "{name} at {at}");
    let halt = live.halted();
    assert!(!format!("{halt:?}").contains("canary"), "{name}: {halt:?}");
    match (halt, expected) {
        (Some(halt), Halted(kind)) => {
            assert_eq!(halt.fault, Some(*kind), "{name}");
            assert_eq!(halt.after_success, at > 0, "{name} at {at}");
        }
        (None, Halted(_)) => panic!("{name} at {at} does not halt"),
        (halt, _) => assert_eq!(halt, None, "{name} at {at}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fault_ends_as_expected_without_touching_other_calls() {
    for row in rows() {
        let places = [0, CALLS / 2, CALLS - 1].map(|at| sequence(&row, at));
        futures_util::future::join_all(places).await;
    }
}

/// A call of the answerer.
async fn answer(live: &Live, text: &str) -> Result<Answered, CallError> {
    live.call(Call { role: ModelRole::Answerer, ..question(text) }).await
}

#[tokio::test]
async fn answerer_stops_once_every_judge_is_stopped() {
    let server = Server::playing(vec![Act::chat("fine")]);
    let client = Client::new(options()).unwrap();
    let live = || client.live(model(), endpoint(&server.base(), None), Limits::default()).unwrap();
    let (answerer, judges) = (live(), [live(), live()].map(Arc::new));
    judges[0].halt("useless");
    assert!(answer(&answerer, "nobody grades").await.is_ok());
    client.graded_by(&judges);
    assert!(answer(&answerer, "one judge is left").await.is_ok());
    judges[1].halt("gone");
    let error = answer(&answerer, "none is left").await.unwrap_err().to_string();
    assert_eq!(error, "nobody could grade its answer: useless");
    assert!(ask(&answerer, "another role of the same model").await.is_ok());
    assert_eq!((server.requests(), answerer.halted()), (3, None));
}

#[tokio::test]
async fn closed_budget_lets_calls_under_way_end_and_begins_none() {
    let (received, waits) = std::sync::mpsc::channel();
    let (release, released) = std::sync::mpsc::channel();
    let script = Mutex::new((received, released));
    let server = Server::start(move |_| {
        let script = script.lock().unwrap();
        script.0.send(()).unwrap();
        script.1.recv().unwrap();
        Act::chat("fine")
    });
    let options = options();
    let budget = Arc::clone(&options.budget);
    let live = Arc::new(live_with(&server.base(), options));
    let asked = Arc::clone(&live);
    let first = tokio::spawn(async move { ask(&asked, "first").await });
    tokio::task::spawn_blocking(move || waits.recv().unwrap()).await.unwrap();
    assert_eq!(budget.close(), 1);
    let mut second = std::pin::pin!(ask(&live, "second"));
    assert!(second.as_mut().now_or_never().is_none());
    release.send(()).unwrap();
    budget.settled().await;
    assert!(first.await.unwrap().is_ok());
    assert!(second.as_mut().now_or_never().is_none());
    assert_eq!((server.requests(), budget.close()), (1, 0));
}

#[tokio::test]
async fn three_calls_that_find_nobody_end_the_asking() {
    let live = live(&discard());
    for _ in 0..3 {
        let error = ask(&live, "anybody?").await.unwrap_err();
        let CallError::Unavailable { attempts: 3, why, .. } = error else { panic!("{error:?}") };
        assert!(why.contains("127.0.0.1") && why.contains("cannot connect"), "{why}");
    }
    let error = ask(&live, "anybody?").await.unwrap_err();
    assert!(matches!(error, CallError::Halted(_)), "{error:?}");
    let halt = live.halted().unwrap();
    assert_eq!((halt.fault, halt.after_success), (None, false));
}

#[tokio::test]
async fn later_outage_is_distinguished_from_wrong_setup() {
    let server = Server::playing(vec![Act::chat("fine"), Act::fault(503, "", "gone")]);
    let live = live(&server.base());
    assert!(ask(&live, "first").await.is_ok());
    for _ in 0..5 {
        assert!(ask(&live, "later").await.is_err());
    }
    // One, then three calls of three attempts each.
    assert_eq!(server.requests(), 1 + 9);
    let halt = live.halted().unwrap();
    assert_eq!((halt.fault, halt.after_success), (None, true));
}

#[tokio::test]
async fn waiting_calls_learn_of_halt_without_a_request() {
    let server = Server::playing(vec![Act::fault(401, "invalid_api_key", "no")]);
    let live = limited(&server.base(), options(), 1);
    for result in all_at_once(&live, 20).await {
        assert!(matches!(result, Err(CallError::Halted(_))), "{result:?}");
    }
    assert_eq!(server.requests(), 1);
}

#[tokio::test]
async fn request_carries_key_and_body_without_chunking() {
    let server = Server::playing(vec![Act::chat("fine")]);
    let live = live(&format!("{}/v1/", server.base()));
    let answered = ask(&live, "hello").await.unwrap();
    assert_eq!(answered.reply.text, "fine");
    let timing = answered.timing;
    assert!(0.0 < timing.first_byte_ms && timing.first_byte_ms <= timing.total_ms, "{timing:?}");
    let [request]: [Received; 1] = server.log().try_into().unwrap();
    assert_eq!(request.path, "/v1/chat/completions");
    assert_eq!(request.header("authorization"), Some("Bearer sk-canary-0123456789"));
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("transfer-encoding"), None);
    assert!(request.header("content-length").is_some());
    assert_eq!(request.body["messages"][1]["content"], "hello");
}

#[tokio::test]
async fn calls_wait_their_turn_and_all_are_answered() {
    let under_way = AtomicUsize::new(0);
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let refused = Mutex::new(BTreeSet::new());
    // Every seventh call is refused once.
    let server = Server::start(move |request| {
        seen.fetch_max(under_way.fetch_add(1, SeqCst) + 1, SeqCst);
        thread::sleep(Duration::from_millis(2));
        under_way.fetch_sub(1, SeqCst);
        let call: usize = request.text().parse().unwrap();
        let refuse = call.is_multiple_of(7) && refused.lock().unwrap().insert(call);
        if refuse { Act::fault(429, "", "slow down") } else { Act::chat("fine") }
    });
    let live = limited(&server.base(), options(), 4);
    for (call, result) in (0..).zip(all_at_once(&live, 60).await) {
        let attempts = if call % 7 == 0 { 2 } else { 1 };
        assert_eq!(result.unwrap().timing.attempts, attempts, "{call}");
    }
    assert_eq!(server.requests(), 60 + 9);
    assert!(most.load(SeqCst) <= 4, "{most:?}");
}

fn capped(usd: f64) -> Options {
    Options { budget: Budget::new(Some(usd)), ..options() }
}

/// A model with a price and a cap.
fn priced(base: &str, cap: f64) -> (Arc<Client>, Live) {
    let client = Client::new(capped(cap)).unwrap();
    let prices = PriceList::bundled().find("claude-opus-5-5").unwrap().clone();
    let live = client.live(model(), endpoint(base, Some(prices)), Limits::default()).unwrap();
    (client, live)
}

#[tokio::test]
async fn concurrent_calls_never_spend_more_than_the_cap() {
    let server = Server::playing(vec![Act::chat("fine")]);
    // Per call: 10 tokens at 4 and 5 at 20 USD per million are 0.00014; at
    // worst 50 tokens of output alone are 0.001.
    let (client, live) = priced(&server.base(), 0.004);
    let results = all_at_once(&live, 60).await;
    let answered = results.iter().filter(|result| result.is_ok()).count();
    let refused = |result: &&_| matches!(result, Err(CallError::OverBudget(_)));
    assert_eq!(results.iter().filter(refused).count(), 60 - answered, "{results:?}");
    assert!((client.budget().spent_usd() - answered as f64 * 0.00014).abs() < 1e-9);
    assert!(client.budget().spent_usd() <= 0.004);
    // What is left does not cover the worst case of one more call.
    assert!((15..28).contains(&answered), "{answered}");
}

#[tokio::test]
async fn possibly_billed_calls_are_spent_unsent_ones_not() {
    for (act, costs) in [(Act::Truncate(Vec::new()), true), (Act::fault(500, "", "no"), false)] {
        let server = Server::playing(vec![act]);
        let (client, live) = priced(&server.base(), 1.0);
        assert!(ask(&live, "hello").await.is_err());
        assert_eq!(client.budget().spent_usd() > 0.003, costs, "{}", client.budget().spent_usd());
    }
    let (client, live) = priced(&discard(), 1.0);
    assert!(ask(&live, "hello").await.is_err());
    assert_eq!(client.budget().spent_usd(), 0.0);
}

#[tokio::test]
async fn cap_without_price_is_refused_before_any_call() {
    let client = Client::new(capped(1.0)).unwrap();
    let refused = client.live(model(), endpoint("https://host", None), Limits::default());
    let error = refused.err().unwrap();
    assert_eq!(error, LiveError::Unpriced("openai/mock".to_owned()));
    assert!(error.to_string().contains("a cap on the cost cannot be kept"), "{error}");
}

#[tokio::test]
async fn a_caller_that_goes_away_frees_its_turn() {
    let server = Server::start(|request| match request.text().as_str() {
        "hang" => Act::Hang,
        _ => Act::chat("fine"),
    });
    let live = limited(&server.base(), options(), 1);
    let gone = tokio::time::timeout(Duration::from_millis(50), ask(&live, "hang")).await;
    assert!(gone.is_err());
    assert!(ask(&live, "hello").await.is_ok());
}

#[tokio::test]
async fn calls_one_after_another_share_a_connection() {
    let server = Server::playing(vec![Act::chat("fine"), Act::fault(500, "", "no")]);
    let live = live(&server.base());
    for _ in 0..3 {
        let _ = ask(&live, "hello").await;
    }
    assert_eq!((server.connections(), server.requests()), (1, 7));
}

#[tokio::test]
async fn a_redirect_does_not_carry_the_key_elsewhere() {
    let elsewhere = Server::playing(vec![Act::chat("fine")]);
    let to = format!("{}/v1?token=canary", elsewhere.base());
    let server = Server::playing(vec![Act::html(308, "").with("location", &to)]);
    let live = live(&server.base());
    let error = ask(&live, "hello").await.unwrap_err().to_string();
    assert!(error.contains(&elsewhere.base()) && !error.contains("canary"), "{error}");
    assert_eq!(elsewhere.requests(), 0);
}

#[test]
fn the_client_may_end_in_async_code() {
    let server = Server::playing(vec![Act::chat("fine")]);
    let live = live(&server.base());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    // A runtime that waited for its tasks would panic here.
    runtime.block_on(async move {
        assert!(ask(&live, "hello").await.is_ok());
        drop(live);
    });
}

/// The next attempt would be years behind the deadline, so that nothing here depends on how fast
/// the machine is. A call that ignores its deadline waits for it, and the test does not.
#[tokio::test]
async fn call_ends_at_its_deadline_despite_remaining_attempts() {
    const YEARS: Duration = Duration::from_secs(1_000_000_000);
    let server = Server::playing(vec![Act::fault(503, "", "later")]);
    let mut options = options();
    options.patience = RetryPolicy { attempts: u32::MAX, first_wait: YEARS, longest_wait: YEARS };
    options.call = Duration::from_secs(600);
    let live = live_with(&server.base(), options);
    let ended = tokio::time::timeout(Duration::from_secs(300), ask(&live, "hello")).await;
    let error = ended.expect("it does not wait behind its deadline").unwrap_err();
    let CallError::Unavailable { attempts, why, .. } = error else { panic!("{error}") };
    assert_eq!((attempts, server.requests()), (1, 1));
    for part in ["503", "later", "the next attempt is due in", "the call has"] {
        assert!(why.contains(part), "{why}");
    }
}

#[tokio::test]
async fn cap_counts_impossible_usage_as_the_worst_case() {
    let mut body = chat("fine", "stop");
    body["usage"] =
        json!({"prompt_tokens": 50_000, "completion_tokens": 5, "total_tokens": 50_005});
    let server = Server::playing(vec![Act::json(200, &body)]);
    let (client, live) = priced(&server.base(), 1.0);
    let reply = ask(&live, "hello").await.unwrap().reply;
    let why = reply.usage.unwrap_err().to_string();
    assert!(why.contains("50000 tokens of a request of"), "{why}");
    assert_eq!(reply.text, "fine");
    // 50 tokens of output at 20 USD per million and a short prompt, not 50,000 at 4.
    let usd = client.budget().spent_usd();
    assert!((0.001..0.01).contains(&usd), "{usd}");
}

#[tokio::test(flavor = "multi_thread")]
async fn faulty_server_leaves_every_call_accounted_for() {
    const CALLS: usize = 3_000;
    // Of a hundred requests 5 are refused, 2 fail, 1 is reset and 1 is never answered.
    let server = Server::start(|request| match request.number % 100 {
        0 | 20 | 40 | 60 | 80 => Act::fault(429, "", "slow down"),
        10 | 50 => Act::fault(500, "", "it broke"),
        30 => Act::Reset,
        70 => Act::Hang,
        _ => Act::chat(&request.text()),
    });
    let mut options = options();
    options.attempt = Duration::from_secs(2);
    options.patience.attempts = 8;
    let live = limited(&server.base(), options, 64);
    let (mut attempts, mut answered) = (0, 0);
    for (call, result) in all_at_once(&live, CALLS).await.into_iter().enumerate() {
        match result {
            Ok(Answered { reply, timing, .. }) => {
                assert_eq!(reply.text, call.to_string(), "no call gets another one's reply");
                answered += 1;
                attempts += timing.attempts as usize;
            }
            Err(CallError::Unavailable { attempts: made, .. }) => attempts += made as usize,
            Err(other) => panic!("{call}: {other}"),
        }
    }
    assert!(answered > CALLS - 5, "{answered}");
    assert_eq!(attempts, server.requests());
    assert!(attempts > CALLS + CALLS / 12, "{attempts}");
}
