//! Strategies whose answerer may search what was dropped.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value as Json, json};

use crate::desk::{Desk, Ran, flat, message};
use crate::reader::reads;
use crate::server::{Act, Server};

/// Seed 003: less context, overhead of searches
#[test]
fn searching_dropped_text_recovers_answers_and_reports_cost() {
    let desk = Desk::new();
    let server = Server::start(reads);
    let bench = "bench --limit 1 --strategy sliding-window-search --cuts none --wide --out run";
    let ran = desk.recap_at(&server.base(), &format!("{bench} --answerer openai/reader"));
    assert!([0, 3].contains(&ran.code), "{ran:?}");
    let summary = desk.json("run/summary.json");
    let value = |strategy: &str, id: &str| -> Json {
        let rows = summary["rows"].as_array().unwrap();
        let own = rows.iter().find(|r| r["strategy"] == strategy);
        own.unwrap()["values"][id].clone()
    };
    let figure = |id: &str| -> f64 { value("sliding-window-search", id).as_f64().unwrap() };
    assert!((1.0..=5.0).contains(&figure("recovery_calls")));
    assert!(figure("recovery_tokens") > 0.0);
    for id in ["recall_recovery", "recovery_calls", "recovery_tokens"] {
        assert!(!value("full", id).is_number(), "{id}");
    }
    let note = "recall without and with the recovery channel: sliding-window-search ";
    assert!(ran.out.contains(note), "{}", ran.out);

    let questions = desk.csv("run/questions.csv");
    let (own, others): (Vec<_>, Vec<_>) =
        questions.iter().partition(|row| row["strategy"] == "sliding-window-search");
    assert!(own.iter().all(|row| !row["recovered_answer"].is_empty()));
    assert!(others.iter().all(|row| row["recovered_answer"].is_empty()));
    let mean = |column: &str| {
        let figures = own.iter().map(|row| row[column].parse::<f64>().unwrap());
        figures.sum::<f64>() / own.len() as f64
    };
    assert!((mean("recovery_calls") - figure("recovery_calls")).abs() < 0.5);
    let found = own.iter().filter(|row| row["score"] == "0" && row["recovered_score"] == "1");
    assert!(found.count() > 0, "what the window dropped is found again");
}

/// Sessions that `/new` closes, by what is said in each, and one that goes on.
const SAID: [(&str, &str); 5] = [
    ("The build server is called heron.", "Noted, heron."),
    ("The invoice has the number 4471.", "I wrote it down."),
    ("We deploy on Thursdays.", "Thursdays it is."),
    ("The parser reads quoted fields.", "It does now."),
    ("And the tests?", "They pass."),
];

const QUESTION: &str = "What is the build server called?";

/// A desk with a data set of these sessions, of which the first answers the
/// question.
fn sessions() -> Desk {
    let mut texts: Vec<&str> = Vec::new();
    for (said, reply) in SAID {
        let opens = (!texts.is_empty()).then_some(["/new", "A new session."]);
        texts.extend(opens.into_iter().flatten().chain([said, reply]));
    }
    let said = |(n, text): (usize, &&str)| {
        message(&format!("m{n}"), if n % 2 == 0 { "user" } else { "assistant" }, text)
    };
    let messages: Vec<Json> = texts.iter().enumerate().map(said).collect();
    let last = messages.len() - 1;
    let session = json!({"id": "t", "system": ["You help."], "messages": messages});
    let question = json!({"id": "p", "session": "t", "asked_at": last, "kind": "fact",
        "question": QUESTION, "expect": {"any_of": ["heron"]}, "evidence": ["m0"]});
    let desk = Desk::new();
    desk.data_set("talks", &session, &[question]);
    desk
}

const LIS: &str = "bench talks --strategy lis --window 100k --answerer openai/reader";

const EMBEDDER: &str = "openai/text-embedding-mine";

/// An embedding as OpenAI writes it, of 7 tokens.
fn embedding(vector: &Json) -> Act {
    let data = json!([{"object": "embedding", "index": 0, "embedding": vector}]);
    let usage = json!({"prompt_tokens": 7, "total_tokens": 7});
    let model = "text-embedding-mine";
    Act::json(200, &json!({"object": "list", "model": model, "data": data, "usage": usage}))
}

/// A model in whose eyes the question is near the session that answers it, or
/// far from it: cosines 0.8 or -1, and 0.6 for all others.
fn seeing(near: bool) -> Server {
    Server::start(move |request| {
        if request.path != "/v1/embeddings" {
            return reads(request);
        }
        let text = request.body["input"].as_str().unwrap();
        embedding(&match (text == QUESTION, text.contains("heron")) {
            (true, _) => json!([1, 0]),
            (_, true) if near => json!([4, 3]),
            (_, true) => json!([-1, 0]),
            _ => json!([0.3, 0.4]),
        })
    })
}

fn bench(desk: &Desk, base: &str, more: &str) -> Ran {
    desk.recap_at(base, &format!("{LIS} --embedder {EMBEDDER} {more}"))
}

/// What `lis` answers with its channel, and its score.
fn recovered(desk: &Desk, run: &str) -> (String, String) {
    // Without a search the answer is gone.
    let row = desk.row(&format!("{run}/questions.csv"), &["strategy=lis", "score=0"]);
    (row["recovered_answer"].clone(), row["recovered_score"].clone())
}

/// Seed 002: and an embedding for future semantic search (with `--embedder`)
#[test]
fn sessions_rank_by_summary_embeddings_each_made_once() {
    let desk = sessions();
    let server = Server::start(reads);
    let words = desk.recap_at(&server.base(), &format!("{LIS} --out words --wide"));
    assert_eq!(recovered(&desk, "words").1, "1");
    assert!(words.out.contains("Closed sessions are ranked by words (BM25)."), "{}", words.out);
    assert_eq!(desk.json("words/manifest.json")["embedder"], "offline");

    let server = seeing(true);
    let ran = bench(&desk, &server.base(), "--out near --wide");
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(recovered(&desk, "near").1, "1");
    assert_eq!(desk.csv("near/calls.csv").len(), server.requests());
    let model = format!("model={EMBEDDER}");
    let calls = ["role=embedder", &model, "uncached=7", "output=0", "cost_usd="];
    let calls = calls.map(|field| desk.rows("near/calls.csv", &["role=embedder", field]).len());
    assert_eq!(calls, [5; 5], "the question and four summaries");
    let line = format!("Closed sessions are ranked by the embeddings of {EMBEDDER}");
    assert!(flat(&ran.out).contains(&line), "{}", ran.out);
    assert!(desk.read("near/report.html").contains(&line));
    assert_eq!(desk.json("near/manifest.json")["embedder"], EMBEDDER);

    // The fourth of four is not given back, whatever words it shares.
    let server = seeing(false);
    bench(&desk, &server.base(), "--out far");
    let (answer, score) = recovered(&desk, "far");
    assert!(score == "0" && !answer.contains("heron"), "{answer}: {score}");
}

#[test]
fn cassette_replays_embeddings_identically_without_key_or_server() {
    let desk = sessions();
    let server = seeing(true);
    let recorded = bench(&desk, &server.base(), "--cassette tape.jsonl --record --out a");
    assert_eq!(recorded.code, 0, "{recorded:?}");
    drop(server);
    assert!(!desk.read("tape.jsonl").contains("canary"));
    let replay = format!("{LIS} --embedder {EMBEDDER} --cassette tape.jsonl --replay --out");
    desk.good(&format!("{replay} b"));
    for name in ["questions.csv", "calls.csv", "summary.csv", "requests.csv"] {
        assert_eq!(desk.read(&format!("b/{name}")), desk.read(&format!("a/{name}")), "{name}");
    }
    // A line that is missing ends the run, and is named.
    let tape = desk.read("tape.jsonl");
    desk.file("tape.jsonl", tape.lines().skip(1).collect::<Vec<_>>().join("\n") + "\n");
    let ran = desk.recap(&format!("{replay} c"));
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("no such call: embedder of openai/text-emb"), "{}", ran.err);
}

/// What a server answers to its n-th request.
type Answers = fn(usize) -> Act;

#[test]
fn failed_embedding_leaves_recovered_answer_unscored_with_reason() {
    let cases: [(Answers, &str); 6] = [
        (|_| Act::fault(400, "bad", "too strange"), "answered 400, bad request: too strange"),
        (|_| Act::html(200, "<html>"), "the response is not JSON"),
        (
            |_| Act::json(200, &json!({"data": []})),
            "no single embedding for a single text: it has 0",
        ),
        (|_| embedding(&json!([])), "no numbers in data[0].embedding"),
        (|_| embedding(&json!([0.5, null])), "no vector of numbers alone in data[0].embedding"),
        // The question is not told apart from the summaries: whoever comes first.
        (|n| embedding(&json!(vec![1.0; 1 + n.min(1)])), " dimensions, that of the query has "),
    ];
    for (act, why) in cases {
        let desk = sessions();
        let embedded = AtomicUsize::new(0);
        let server = Server::start(move |request| match request.path.as_str() {
            "/v1/embeddings" => act(embedded.fetch_add(1, Ordering::Relaxed)),
            _ => reads(request),
        });
        let ran = bench(&desk, &server.base(), "--out run");
        assert!([0, 3].contains(&ran.code), "{ran:?}");
        assert_eq!(recovered(&desk, "run"), (String::new(), String::new()), "{why}");
        let cells = desk.read("run/cells.jsonl");
        let own = cells.lines().find(|line| line.contains("\"recovered\":{")).unwrap();
        let warned = desk.read("run/summary.json");
        let warned = warned.contains(" missing or not graded (1 not answered: the search failed");
        assert!(warned, "{why}: the report says so");
        let reason = format!("not answered: the search failed at {EMBEDDER}: ");
        assert!(own.contains(&reason) && own.contains(why), "{why}: {own}");
    }
}

#[test]
fn server_without_embeddings_ends_run_quoting_its_error() {
    let desk = sessions();
    let server = Server::start(|request| match request.path.as_str() {
        "/v1/embeddings" => Act::fault(404, "none", "no such path"),
        _ => reads(request),
    });
    let ran = bench(&desk, &server.base(), "--out run");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("answered 404, not found: no such path"), "{}", ran.err);
}

#[test]
fn embedder_without_a_price_is_not_capped() {
    let (desk, server) = (sessions(), seeing(true));
    let capped = bench(&desk, &server.base(), "--max-cost 1");
    capped.is_refused();
    assert!(capped.err.contains("has no price"), "{}", capped.err);
    assert_eq!(server.requests(), 0);
}
