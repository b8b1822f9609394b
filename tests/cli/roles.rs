//! Runs with models in the roles, played by a scripted server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value as Json, json};

use crate::desk::{Desk, KEY, Ran, Row, message};
use crate::server::{Act, Received, Server, chat, discard};

/// A talk in which three things are said that are asked for at its end.
const TALK: [(&str, &str); 5] = [
    ("The build server is called heron.", "Noted, heron."),
    ("The invoice has the number 4471.", "I wrote it down."),
    ("We deploy on Thursdays, and mail goes to kim@example.org.", "Thursdays it is."),
    ("Go on with the parser.", "It reads quoted fields now."),
    ("And the tests?", "They pass."),
];

/// A data set of that talk with a question for each thing.
pub fn talk(desk: &Desk) {
    let said = |id: String, role: &str, text: &str| {
        let filler = "The parser takes one field after the other. ".repeat(45);
        message(&id, role, &format!("{text} {filler}"))
    };
    let messages: Vec<Json> = (TALK.iter().enumerate())
        .flat_map(|(n, (user, reply))| {
            [said(format!("u{n}"), "user", user), said(format!("a{n}"), "assistant", reply)]
        })
        .collect();
    let session = json!({"id": "talk", "system": ["You help."], "messages": messages});
    let questions = [
        ("p0", "What is the build server called?", "heron", "u0"),
        ("p1", "Which number has the invoice?", "4471", "u1"),
        ("p2", "On which day do we deploy?", "Thursday", "u2"),
    ];
    let questions = questions.map(|(id, question, value, evidence)| {
        json!({"id": id, "session": "talk", "asked_at": 9, "kind": "fact", "question": question,
            "expect": {"any_of": [value]}, "evidence": [evidence]})
    });
    desk.data_set("talk", &session, &questions);
}

/// A model that reads and grades: it answers with the first thing of the talk
/// that its context holds and its question asks for.
fn knows(request: &Received) -> Act {
    Act::chat(&reply_to(request))
}

/// Its reply to a request.
fn reply_to(request: &Received) -> String {
    let system = request.body["messages"][0]["content"].as_str().unwrap_or_default();
    let schema = request.body.get("response_format").is_some();
    reply_of(system, &request.text(), schema)
}

/// Its reply to a system text and a message; one with a schema grades.
pub fn reply_of(system: &str, text: &str, schema: bool) -> String {
    if !schema {
        let known = [("server", "heron"), ("invoice", "4471"), ("deploy", "Thursday")];
        let asked = known.iter().find(|(about, _)| text.contains(about));
        let said = asked.filter(|(_, value)| system.contains(value));
        return said.map_or("I don't know.", |(_, value)| value).to_owned();
    }
    let grading: Json = serde_json::from_str(text).unwrap();
    if grading.get("item_1").is_some() {
        return verdicts(&grading, "yes");
    }
    let expected = grading["expected"][0].as_str().unwrap();
    let verdict = match grading["answer"].as_str().unwrap() {
        "I don't know." => "abstained",
        answer if answer.contains(expected) => "correct",
        _ => "incorrect",
    };
    json!({"reason": "as the words say", "verdict": verdict}).to_string()
}

/// The same verdict on every statement.
fn verdicts(items: &Json, verdict: &str) -> String {
    let names = items.as_object().unwrap().keys();
    let each = names.map(|name| (name.clone(), json!(verdict)));
    Json::Object(each.collect()).to_string()
}

const JUDGED: &str = "bench talk --window 50% --answerer openai/m --judge openai/m --strategy fifo";

/// A judged run on the talk.
fn bench(desk: &Desk, base: &str, more: &str) -> Ran {
    if !desk.path("talk").exists() {
        talk(desk);
    }
    desk.recap_at(base, &format!("{JUDGED} {more}"))
}

/// Nothing that a run wrote or said holds the key.
#[track_caller]
fn keeps_the_key(desk: &Desk, ran: &Ran) {
    assert!(!ran.out.contains(KEY) && !ran.err.contains(KEY), "{ran:?}");
    let mut folders = vec![desk.path(".")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                assert!(!text.contains(KEY), "{}", path.display());
            }
        }
    }
}

#[test]
fn models_answer_and_grade_each_distinct_question_once() {
    let desk = Desk::new();
    let server = Server::start(knows);
    let ran = bench(&desk, &server.base(), "--out run");
    assert_eq!(ran.code, 0, "{ran:?}");
    for key in [["strategy=full", "score=1"], ["strategy=empty", "score=0"]] {
        assert_eq!(desk.rows("run/questions.csv", &key).len(), 3, "{key:?}");
    }
    let calls = desk.csv("run/calls.csv");
    assert_eq!(calls.len(), server.requests(), "every request is one row");
    let mut keys: Vec<&str> = calls.iter().map(|call| call["key"].as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), calls.len(), "no request is made twice");
    for call in &calls {
        let figures = ["outcome", "uncached", "output", "attempts", "latency_source"];
        let actual = figures.map(|name| call[name].as_str());
        assert_eq!(actual, ["replied", "10", "5", "1", "live"], "{call:?}");
        assert_eq!(call["cost_usd"], "", "a model without a price has no cost");
    }
    let manifest = desk.json("run/manifest.json");
    assert_eq!((&manifest["answerer"], &manifest["source"]), (&json!("openai/m"), &json!("model")));
    assert!(ran.out.contains("calls of models in this run"), "{}", ran.out);
    assert!(desk.read("run/report.html").contains("Calls of models"));
    assert_eq!(server.log()[0].header("authorization"), Some(&*format!("Bearer {KEY}")));
    keeps_the_key(&desk, &ran);
}

/// What a judge says of the one fact that the recorded summary carries decides its state.
#[test]
fn judge_decides_whether_statement_is_true() {
    let desk = Desk::with_sessions();
    let bench = "bench claude-code.jsonl --strategy fifo --cuts recorded --questions none \
                 --judge openai/m";
    let run = |name: &str, server: &Server| {
        let ran = desk.recap_at(&server.base(), &format!("{bench} --out {name}"));
        let fact = desk.row(&format!("{name}/facts.csv"), &["strategy=recorded"]);
        (ran, format!("{} {}", fact["fact"], fact["state"]))
    };
    let says = |verdict: &'static str| {
        Server::start(move |request| {
            let items = serde_json::from_str(&request.text()).unwrap();
            Act::chat(&verdicts(&items, verdict))
        })
    };
    let server = says("yes");
    let planned = desk.recap_at(&server.base(), &format!("{bench} --dry-run"));
    assert!(planned.out.contains("judge openai/m: 1 call, "), "{planned:?}");
    let (ran, state) = run("yes", &server);
    assert_eq!((ran.code, server.requests()), (0, 1), "{ran:?}");
    assert_eq!(state, "src/stock/importer.py carried");
    let asked: Json = serde_json::from_str(&server.log()[0].text()).unwrap();
    assert_eq!(asked["item_1"]["name"], "src/stock/importer.py");
    let summary = asked["item_1"]["summary"].as_str().unwrap();
    assert!(summary.contains("src/stock/importer.py") && summary.len() < 700, "{summary}");
    assert!(asked["item_1"]["source"].as_str().unwrap().contains("importer.py"), "{asked}");
    let (ran, state) = run("no", &says("no"));
    assert_eq!((ran.code, &*state), (0, "src/stock/importer.py bare"), "{ran:?}");
    // Without a usable reply the rule of words holds, and the run says so.
    let (ran, state) = run("none", &Server::start(|_| Act::chat("So it is.")));
    assert_eq!((ran.code, &*state), (0, "src/stock/importer.py carried"), "{ran:?}");
    let told = "the judge gave no usable reply on what was written at 1 cut: 1 fact there counts";
    assert!(desk.read("none/report.md").contains(told), "{}", desk.read("none/report.md"));
}

/// Everything in a run folder but own CPU times.
pub fn folder(desk: &Desk, run: &str) -> Vec<(String, String)> {
    let names = desk.list(run).into_iter().filter(|name| name != "times.jsonl");
    names.map(|name| (name.clone(), desk.read(&format!("{run}/{name}")))).collect()
}

#[test]
fn cassette_replays_judged_run_without_key_or_network() {
    let desk = Desk::new();
    let server = Server::start(knows);
    let tape = "--set continuation.keep_last=2 --compactor openai/m --cassette tape.jsonl";
    let recorded = bench(&desk, &server.base(), &format!("{tape} --record --out a"));
    assert_eq!(recorded.code, 0, "{recorded:?}");
    let asked = server.requests();
    drop(server);
    let replay = format!("{JUDGED} {tape} --replay --out");
    for run in ["b", "c"] {
        desk.good(&format!("{replay} {run}"));
        assert_eq!(folder(&desk, run), folder(&desk, "a"), "the same bytes as the recording run");
    }
    let calls = desk.csv("b/calls.csv");
    assert_eq!(calls.len(), asked);
    assert!(calls.iter().all(|call| call["latency_source"] == "recorded"), "{calls:?}");
    let compactions = desk.csv("b/compactions.csv");
    let own = compactions.iter().find(|row| row["model_calls"] != "0").unwrap();
    assert_eq!((own["latency_source"].as_str(), own["input_tokens"].as_str()), ("recorded", "10"));
    keeps_the_key(&desk, &recorded);

    // Without one of its lines the run stops at the missing call, and says which.
    let tape = desk.read("tape.jsonl");
    let torn: Vec<&str> = tape.lines().filter(|line| !line.contains("heron")).collect();
    desk.file("tape.jsonl", torn.join("\n") + "\n");
    let ran = desk.recap(&format!("{replay} d"));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("the cassette has no such call"), "{}", ran.err);
    assert!(ran.err.contains("openai/m") && ran.err.contains("tape.jsonl"), "{}", ran.err);
}

#[test]
fn useless_model_is_reported_first_and_unranked() {
    let desk = Desk::new();
    // Five words; of the session in the repository weighbill every reply is withheld.
    let server = Server::start(|request| {
        if request.text().contains("weighbill") {
            return Act::json(200, &chat("", "content_filter"));
        }
        Act::chat("They talked about some things.")
    });
    let replay = "replay quickstart --strategy claude-code,fifo --replicates 1 --out run";
    let ran = desk.recap_at(&server.base(), &format!("{replay} --compactor openai/m"));
    assert_eq!(ran.code, 0, "{ran:?}");

    let own = ["dataset=ALL", "strategy=claude-code", "rank="];
    assert_ne!(desk.row("run/summary.csv", &own)["unusable_replies"], "0");
    let other = ["dataset=ALL", "strategy=fifo", "rank=1", "unusable_replies=0"];
    desk.row("run/summary.csv", &other);
    let first = ran.out.lines().find(|line| line.starts_with(" problem ")).unwrap();
    assert!(first.contains("too many replies of the compactor were unusable, so these"), "{first}");
    assert!(ran.out.contains("  unusable replies"), "{}", ran.out);

    let compactions = desk.csv("run/compactions.csv");
    let own = || compactions.iter().filter(|row| row["strategy"] == "claude-code");
    assert!(own().all(|row| row["unusable"] == "1"), "one reply each, and it is unusable");
    let reasons: Vec<&str> = own().map(|row| row["unusable_reasons"].as_str()).collect();
    assert!(reasons.contains(&"too-short; repeated"), "{reasons:?}");
    let withheld: Vec<_> = own().filter(|row| row["unusable_reasons"] == "refused").collect();
    assert!(!withheld.is_empty(), "{reasons:?}");
    for row in withheld {
        let paid = ["input_tokens", "output_tokens", "latency_source"].map(|name| &*row[name]);
        assert_eq!(paid, ["10", "5", "live"], "a withheld reply is billed: {row:?}");
    }
    let others = compactions.iter().filter(|row| row["strategy"] != "claude-code");
    assert!(others.clone().all(|row| row["unusable"] == "0" && row["unusable_reasons"].is_empty()));
}

#[test]
fn model_without_one_usable_reply_is_stopped_early() {
    let answer = |request: &Received| format!("It was said at {}.", request.number);
    // Each role with a model of its own; what the server says to it, and why it is of no use.
    let misshapen = "the reply had not the asked shape, nor had the second one: it ";
    let empty = format!("{misshapen}is empty");
    let no_object = format!("{misshapen}holds no whole JSON object");
    for (role, act, why, requests) in [
        ("judge", Act::chat("It seems right."), no_object.as_str(), 16),
        ("judge", Act::json(200, &chat("", "content_filter")), "the provider withheld", 8),
        ("answerer", Act::chat(""), "the reply is empty", 8),
        ("compactor", Act::chat(""), empty.as_str(), 16),
    ] {
        let (desk, own) = (Desk::new(), Arc::new(AtomicUsize::new(0)));
        let count = Arc::clone(&own);
        let server = Server::start(move |request| match request.body["model"].as_str() {
            Some(model) if model == role => {
                count.fetch_add(1, Ordering::SeqCst);
                act.clone()
            }
            _ => Act::chat(&answer(request)),
        });
        let command = match role {
            "judge" => "bench --limit 1 --strategy fifo --cuts none --answerer openai/a",
            "answerer" => "bench --limit 1 --strategy fifo --cuts none",
            _ => "replay quickstart --strategy claude-code",
        };
        let calls = "--replicates 1 --concurrency 1 --attempts 1 --out run";
        let line = format!("{command} --{role} openai/{role} {calls}");
        let ran = desk.recap_at(&server.base(), &line);
        assert_eq!(ran.code, 3, "{role}: {ran:?}");
        let stopped = format!("openai/{role} was stopped as {role}: none of its first 8 replies");
        let stopped = format!("{stopped} was usable; the last: {why}");
        assert!(ran.err.contains(&stopped), "{role}: {}", ran.err);
        // One more may be under way.
        let own = own.load(Ordering::SeqCst);
        assert!((requests..=requests + 1).contains(&own), "{role}: {own} requests");
        // What cannot be graded is no longer asked for.
        let others = server.requests() - own;
        assert!(others < 30, "{role}: {others} requests of others");
    }
}

/// What a fault does to a run, wherever it strikes.
struct Fault {
    name: &'static str,
    act: fn() -> Act,
    /// Exit codes where it strikes the first call, one in the middle, the last
    /// one, and all from the middle on.
    exits: [i32; 4],
    /// What the question that it strikes is unscored for.
    reason: &'static str,
}

/// Only once and passing: the next attempt succeeds.
const PASSING: [i32; 4] = [0, 0, 0, 3];
/// Of the request: its question is unscored, and one of 15 is too many.
const OWN: [i32; 4] = [3, 3, 3, 3];
/// Of the account: nothing more is asked; a mistake of the set-up at first.
const HOPELESS: [i32; 4] = [2, 3, 3, 3];

/// A fault of each kind; `llm_faults` of the library has every status.
fn faults() -> Vec<Fault> {
    let fault = |name, act, exits, reason| Fault { name, act, exits, reason };
    vec![
        fault("400", || Act::fault(400, "bad", "no such field"), OWN, "bad request"),
        fault("401", || Act::fault(401, "invalid_api_key", KEY), HOPELESS, "not authorised"),
        fault("long", || Act::fault(400, "context_length_exceeded", "long"), OWN, "too long"),
        fault("429", || Act::fault(429, "rate_limit_exceeded", "slow"), PASSING, "rate limited"),
        fault("quota", || Act::fault(429, "insufficient_quota", "broke"), HOPELESS, "quota"),
        fault("500", || Act::html(500, "<h1>oops</h1>"), PASSING, "server error"),
        fault("503", || Act::fault(503, "overloaded", "busy"), PASSING, "overloaded"),
        fault("error in 200", || Act::fault(200, "x", "upstream"), PASSING, "server error"),
        fault("page", || Act::html(200, "<h1>log in</h1>"), PASSING, "not JSON"),
        fault("no choices", || Act::json(200, &json!({"id": 1})), OWN, "choices"),
        fault("filtered", || Act::json(200, &chat("", "content_filter")), OWN, "withheld"),
        fault("cut off", || Act::json(200, &chat("The build", "length")), OWN, "cut off"),
        fault("empty", || Act::chat(" "), OWN, "empty"),
        fault("close", || Act::Close, PASSING, "no reply"),
        fault("reset", || Act::Reset, PASSING, "no reply"),
        fault("torn", || Act::Truncate(b"{\"choices\"".to_vec()), PASSING, "no reply"),
        fault("hang", || Act::Hang, PASSING, "no reply"),
    ]
}

/// A call in the middle of the run.
const MIDDLE: usize = 5;

/// A run with the offline judge, a call after the other in the order of the
/// questions.
fn in_order(desk: &Desk, base: &str) -> Ran {
    if !desk.path("talk").exists() {
        talk(desk);
    }
    let line = "bench talk --window 50% --out run --resume --answerer openai/m --strategy fifo \
                --jobs 1 --attempts 2 --timeout 1 --concurrency 1";
    desk.recap_at(base, line)
}

#[test]
fn faults_at_any_point_leave_no_wrong_answer() {
    let desk = Desk::new();
    let server = Server::start(knows);
    let sound = in_order(&desk, &server.base());
    assert_eq!(sound.code, 0, "{sound:?}");
    let (right, last) = (&scores(&desk), server.requests() - 1);
    assert!(MIDDLE > 0 && MIDDLE < last);
    // Most of the time is waiting.
    std::thread::scope(|threads| {
        for fault in faults() {
            threads.spawn(move || fault.strikes(last, right));
        }
    });
}

impl Fault {
    fn strikes(&self, last: usize, right: &[Scored]) {
        let places = [0..1, MIDDLE..MIDDLE + 1, last..last + 1, MIDDLE..usize::MAX];
        for (place, exit) in places.into_iter().zip(self.exits) {
            let (desk, act, what) = (Desk::new(), self.act, format!("{} at {place:?}", self.name));
            let mended = Arc::new(AtomicBool::new(false));
            let (sound, struck) = (Arc::clone(&mended), place.clone());
            let server = Server::start(move |request| {
                let strikes = struck.contains(&request.number) && !sound.load(Ordering::SeqCst);
                if strikes { act() } else { knows(request) }
            });
            let ran = in_order(&desk, &server.base());
            assert_eq!(ran.code, exit, "{what}: {ran:?}");
            keeps_the_key(&desk, &ran);
            if exit == 2 {
                assert!(ran.err.contains(self.reason) && ran.out.is_empty(), "{what}: {ran:?}");
                continue;
            }
            let struck = scores(&desk);
            assert_eq!(struck.len(), right.len(), "{what}");
            // What is scored is scored as ever; what is not has the reason.
            let (unscored, scored): (Vec<_>, Vec<_>) =
                struck.into_iter().partition(|row| row.score.is_empty());
            assert!(scored.iter().all(|row| right.contains(row)), "{what}: {scored:?}");
            assert_eq!(unscored.is_empty(), exit == 0, "{what}: {unscored:?}");
            let actual = unscored.iter().any(|row| row.reason.contains(self.reason));
            assert!(actual || exit == 0, "{what}: {unscored:?}");
            mended.store(true, Ordering::SeqCst);
            let empty =
                if self.name == "empty" { place.end.min(last + 1) - place.start } else { 0 };
            self.is_resumed(&desk, &server, (last + 1, empty), right, &what);
        }
    }

    /// Every request is in the file, and a resumed run asks for what brought no reply.
    fn is_resumed(
        &self,
        desk: &Desk,
        server: &Server,
        (calls, empty): (usize, usize),
        right: &[Scored],
        what: &str,
    ) {
        let attempts = || -> usize {
            let calls = desk.csv("run/calls.csv").into_iter();
            calls.map(|row| row["attempts"].parse::<usize>().unwrap()).sum()
        };
        let before = server.requests();
        assert_eq!(attempts(), before, "{what}");
        let kept = desk.rows("run/calls.csv", &["outcome=replied"]).len() - empty;
        let resumed = in_order(desk, &server.base());
        keeps_the_key(desk, &resumed);
        assert_eq!(attempts(), server.requests(), "{what}, resumed");
        // What the model said stands, though it is of no use.
        if ["filtered", "cut off"].contains(&self.name) {
            assert_eq!((resumed.code, server.requests()), (3, before), "{what}: {resumed:?}");
            return;
        }
        assert_eq!(resumed.code, 0, "{what}: {resumed:?}");
        assert_eq!(server.requests() - before, calls - kept, "{what}: {kept} of {calls}");
        assert_eq!(&scores(desk)[..], right, "{what}");
        assert!(!desk.path("run/replies.jsonl").exists(), "{what}");
    }
}

/// A row of `questions.csv`.
#[derive(Debug, PartialEq)]
struct Scored {
    question: String,
    score: String,
    reason: String,
}

/// Every row.
fn scores(desk: &Desk) -> Vec<Scored> {
    let row = |mut row: Row| Scored {
        question: format!("{} {}", row["strategy"], row["question_id"]),
        score: row.remove("score").unwrap(),
        reason: row.remove("unscored_reason").unwrap(),
    };
    desk.csv("run/questions.csv").into_iter().map(row).collect()
}

#[test]
fn absent_server_ends_run_without_verdict() {
    let desk = Desk::new();
    let ran = bench(&desk, &discard(), "--attempts 1 --out run");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.err.contains("calls brought no reply: openai/m"), "{}", ran.err);
    assert!(desk.path("run/report.html").exists(), "what needs no model is reported");
}

#[test]
fn nothing_is_spent_beyond_the_cap() {
    let desk = Desk::new();
    talk(&desk);
    // $1 for each token.
    let price = json!({"openai/m": {"input_cost_per_token": 1, "output_cost_per_token": 1,
        "mode": "chat", "litellm_provider": "openai"}});
    desk.file("prices.json", price.to_string());
    // Calls cost more than is expected, and none more than it may.
    let server = Server::start(|request| {
        let mut reply = chat(&reply_to(request), "stop");
        let prompt = request.body.to_string().len() / 3;
        reply["usage"] = json!({"prompt_tokens": prompt, "completion_tokens": 100});
        Act::json(200, &reply)
    });
    let priced = |more: &str| bench(&desk, &server.base(), &format!("--prices prices.json {more}"));
    let plan: Json = serde_json::from_str(&priced("--dry-run --json").out).unwrap();
    let expected = plan["expected_usd"].as_f64().unwrap();

    // With --resume too, where there is no run yet.
    for resume in ["", "--resume"] {
        let less = priced(&format!("--max-cost {} --out run {resume}", expected - 1.0));
        less.is_refused();
        let said = format!("expected to cost ${expected:.2}, and --max-cost allows ");
        assert!(less.err.contains(&said), "{}", less.err);
        assert!(less.err.contains("nothing was sent"), "{}", less.err);
        assert_eq!((server.requests(), desk.path("run").exists()), (0, false));
    }

    let capped = priced(&format!("--max-cost {expected} --out run"));
    assert_eq!(capped.code, 3, "{capped:?}");
    // A call that was not made has no cost.
    let calls = desk.csv("run/calls.csv");
    let usd: f64 = calls.iter().filter_map(|call| call["cost_usd"].parse::<f64>().ok()).sum();
    assert!(usd > 0.0 && usd <= expected, "{usd} of {expected}");
    // What was not asked says that the money is why.
    let rows = desk.csv("run/questions.csv");
    let reasons: Vec<&str> = rows.iter().map(|row| row["unscored_reason"].as_str()).collect();
    let without: Vec<&&str> = reasons.iter().filter(|reason| !reason.is_empty()).collect();
    assert!(!without.is_empty() && without.iter().all(|r| r.contains("--max-cost")), "{without:?}");

    let unpriced = bench(&desk, &server.base(), "--max-cost 1 --out no");
    unpriced.is_refused();
    assert!(unpriced.err.contains("has no price"), "{}", unpriced.err);
}

#[test]
fn dry_run_counts_calls_and_makes_none() {
    let desk = Desk::new();
    let server = Server::start(knows);
    let plan = bench(&desk, &server.base(), "--dry-run");
    assert_eq!((plan.code, server.requests()), (0, 0), "{plan:?}");
    let ran = bench(&desk, &server.base(), "--out run");
    assert_eq!(ran.code, 0, "{ran:?}");
    let calls = |role: &str| desk.rows("run/calls.csv", &[&format!("role={role}")]).len();
    let actual = |role: &str| -> usize {
        let line = plan.out.lines().find(|line| line.trim_start().starts_with(role)).unwrap();
        line.split(": ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
    };
    assert_eq!(actual("answerer"), calls("answerer"), "{}", plan.out);
    // Each answer is graded where all differ; here some are the same.
    assert_eq!(actual("judge"), actual("answerer"), "{}", plan.out);
    assert!(calls("judge") <= actual("judge"));
    assert!(plan.out.contains("price unknown"), "{}", plan.out);
    // The same as JSON; dollars are absent where a model has no price.
    let json = bench(&desk, &server.base(), "--dry-run --json").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let roles = json["calls"].as_array().unwrap();
    for role in roles {
        assert_eq!(role["calls"], actual(role["role"].as_str().unwrap()), "{json}");
        assert!(role["prompt_tokens"].as_u64() > Some(0), "{json}");
        assert!(role["worst"]["tokens"].as_u64() >= role["expected"]["tokens"].as_u64(), "{json}");
        assert!(role["worst"].get("usd").is_none(), "{json}");
    }
    assert_eq!(roles.len(), 2, "{json}");
    assert!(json.get("worst_usd").is_none() && json.get("expected_usd").is_none(), "{json}");
    assert_eq!(desk.list(".").len(), 2, "the talk and the run, and nothing of the plan");
}

/// Three repetitions of a compactor whose summaries all differ.
#[test]
fn dry_run_counts_answers_to_each_repetition() {
    let desk = Desk::new();
    talk(&desk);
    let server = Server::start(|request| {
        Act::chat(&format!("They spoke of the parser, at {}. ", request.number).repeat(12))
    });
    let base = server.base();
    let bench = "bench talk --window 50% --strategy continuation --compactor openai/c \
                 --answerer openai/a";
    let plan = desk.recap_at(&base, &format!("{bench} --dry-run --json"));
    let plan: Json = serde_json::from_str(&plan.out).unwrap();
    let ran = desk.recap_at(&base, &format!("{bench} --out run"));
    assert_eq!(ran.code, 0, "{ran:?}");
    for role in plan["calls"].as_array().unwrap() {
        let key = format!("role={}", role["role"].as_str().unwrap());
        assert_eq!(role["calls"], desk.rows("run/calls.csv", &[&key]).len(), "{role}");
    }
}

#[test]
fn outgoing_text_is_scrubbed_and_answers_are_restored() {
    let desk = Desk::new();
    let server = Server::start(|request| {
        if request.text().contains("deploy") {
            let actual = request.body["messages"][0]["content"].to_string();
            let at = actual.find("<EMAIL_").unwrap_or(0);
            return Act::chat(actual[at..].split_inclusive('>').next().unwrap());
        }
        knows(request)
    });
    let ran = bench(&desk, &server.base(), "--redact yes --out run");
    assert!(matches!(ran.code, 0 | 3), "{ran:?}");
    let sent = server.log().iter().map(|r| r.body.to_string()).collect::<String>();
    assert!(!sent.contains("kim@example.org") && sent.contains("<EMAIL_1>"));
    let key = ["strategy=full", "question_id=p2"];
    assert_eq!(desk.row("run/questions.csv", &key)["answer"], "kim@example.org");
    // A server on this machine sees the text as it is, unless told otherwise.
    let plain = Server::start(knows);
    bench(&desk, &plain.base(), "--out plain");
    assert!(plain.log().iter().any(|r| r.body.to_string().contains("kim@example.org")));
}

#[test]
fn secret_is_redacted_where_its_name_is_gone() {
    let desk = Desk::new();
    talk(&desk);
    let told = desk.read("talk/sessions.jsonl");
    let told = told.replace("Noted, heron.", "I ran export DB_PASS=tiger-9x7-lily for it.");
    desk.file("talk/sessions.jsonl", told.replace("They pass.", "They pass: tiger-9x7-lily."));
    let server = Server::start(knows);
    let sent = |out: &str, redact: &str| {
        let before = server.requests();
        bench(&desk, &server.base(), &format!("--redact {redact} --out {out}"));
        let log = server.log();
        log[before..].iter().map(|request| request.body.to_string()).collect::<Vec<_>>()
    };
    let bare = |request: &&String| request.contains("They pass: ") && !request.contains("DB_PASS");
    let plain = sent("plain", "no");
    assert!(plain.iter().filter(bare).any(|request| request.contains("tiger-9x7-lily")));
    let redacted = sent("run", "yes");
    assert!(redacted.iter().any(|request| bare(&request)));
    assert!(!redacted.concat().contains("tiger-9x7-lily"));
}
