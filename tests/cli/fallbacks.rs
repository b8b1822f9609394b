//! What becomes of a strategy whose model gives no reply at any attempt: a session
//! on disk, a server that fails, and the rows that people read.

use serde_json::{Value as Json, json};

use crate::desk::{Desk, Ran, message};
use crate::server::{Act, Received, Server};

/// A session file of so many turns, a question and an answer of 1,000 tokens each.
fn talk(turns: usize) -> String {
    let text = vec!["a"; 1_000].join(" ");
    let said = |at: usize| {
        let role = if at.is_multiple_of(2) { "user" } else { "assistant" };
        message(&format!("m{at}"), role, &text)
    };
    let messages: Vec<Json> = (0..2 * turns).map(said).collect();
    let session = json!({"id": "talk", "system": ["s"], "tools": [], "messages": messages});
    format!("{session}\n")
}

/// A reply that is long enough, in the shape that the request asks for.
fn reply(request: &Received) -> Act {
    let words = "They went through the list and agreed on every point. ".repeat(12);
    let state = json!({
        "logos": ["Port 8080."], "pathos": [], "abstract": [], "conversation_summary": words,
    });
    match request.body.get("response_format") {
        Some(_) => Act::chat(&state.to_string()),
        None => Act::chat(&format!("<summary>{words}</summary>")),
    }
}

/// A run in which the first calls of the compactor get an error of the server.
fn run(desk: &Desk, turns: usize, window: &str, strategy: &str, fails: usize) -> Ran {
    let server = Server::start(move |request| {
        if request.number < fails { Act::fault(500, "", "try later") } else { reply(request) }
    });
    desk.file("talk.jsonl", talk(turns));
    let bench = format!("bench talk.jsonl --window {window} --strategy {strategy}");
    let more = "--compactor openai/m --attempts 1 --replicates 1 --cuts none --out run";
    desk.recap_at(&server.base(), &format!("{bench} {more}"))
}

/// Fields of the strategy's compactions.
fn compactions(desk: &Desk, fields: [&str; 4]) -> Vec<[String; 4]> {
    let rows = desk.csv("run/compactions.csv");
    let own = rows.iter().filter(|row| row["model_calls"] != "0");
    own.map(|row| fields.map(|field| row[field].clone())).collect()
}

/// The strategy's row in `summary.json`.
fn row(desk: &Desk, strategy: &str) -> Json {
    let summary = desk.json("run/summary.json");
    let rows = summary["rows"].as_array().unwrap().iter();
    let mut own = rows.filter(|row| row["dataset"] == "ALL" && row["strategy"] == strategy);
    own.next().unwrap().clone()
}

const FIELDS: [&str; 4] = ["fallback", "model_calls", "unusable_reasons", "messages_folded"];
const WHY: &str = "no reply after 1 attempt: the provider answered 500, server error: try later";

/// Seed 000: Compression LLM call fails → graceful fallback to existing FIFO truncation
#[test]
fn arachne_falls_back_to_fifo_and_is_not_ranked() {
    let desk = Desk::new();
    // The fourth question makes 7,000 tokens and more: 70 % of the window. The fifth folds
    // to below 60 %, the sixth is above 70 % again.
    let ran = run(&desk, 6, "10k", "arachne", 1);
    assert_eq!(ran.code, 0, "{ran:?}");
    let all = compactions(&desk, FIELDS);
    assert_eq!(all[0], [&*format!("fifo: {WHY}"), "1", "no-reply", "0"]);
    for later in &all[1..] {
        assert_eq!((&*later[0], &*later[2]), ("", ""));
        assert_ne!(later[3], "0", "it folds");
    }
    assert_eq!(all.len(), 3);
    let row = row(&desk, "arachne");
    assert_eq!(row["rank"], Json::Null);
    let told = "arachne 1 of 3 (1 that never came), falling back 1 of 3 times, at 10k";
    let page = desk.read("run/report.md");
    assert!(page.contains(told) && page.contains("so these rows are not ranked"), "{page}");
}

/// Seed 004: Tier 3, if even partial summarization fails (API errors, rate limits)
#[test]
fn gsv_falls_back_to_the_plain_sentence() {
    let desk = Desk::new();
    let ran = run(&desk, 12, "20k", "gsv", 2);
    assert_eq!(ran.code, 0, "{ran:?}");
    let all = compactions(&desk, FIELDS);
    assert_eq!(all[0][..3], [&*format!("tier 3: {WHY}"), "2", "no-reply"]);
    let folded = &all[0][3];
    let sentence = format!(
        "[Context contained {folded} messages that were compacted. Summary unavailable due to size limits.]"
    );
    assert!(desk.read("run/texts.jsonl").contains(&sentence), "{sentence}");
    assert_eq!(row(&desk, "gsv")["rank"], Json::Null);
}

#[test]
fn strategy_without_a_fallback_fails_as_before() {
    let desk = Desk::new();
    let ran = run(&desk, 6, "10k", "continuation", 1);
    assert_eq!(ran.code, 3, "{ran:?}");
    let row = row(&desk, "continuation");
    let failed = row["failed"][0].as_str().unwrap();
    assert!(failed.contains("continuation: the compactor could not be asked"), "{failed}");
    assert!(failed.ends_with(WHY), "{failed}");
}
