//! Dollars from bytes on disk to the row that people read: each request at the
//! price of the model that answered it, as its provider reported it.

use std::fmt::Write as _;

use crate::desk::{Desk, flat};
use serde_json::{Value as Json, json};

/// Responses of a session of Claude Code, ten seconds apart: their models, and
/// what was reported of each, with 100 tokens of output.
fn recording(responses: &[(&str, Json)]) -> String {
    turns(0, &Json::Null, responses)
}

/// The same, from a response on that follows this record.
fn turns(from: usize, parent: &Json, responses: &[(&str, Json)]) -> String {
    let mut text = String::new();
    let mut parent = parent.clone();
    for (at, (model, usage)) in (from..).zip(responses) {
        let time =
            |second: usize| format!("2026-03-20T01:{:02}:{:02}.000Z", at / 3, at % 3 * 20 + second);
        let mut usage = usage.clone();
        usage["output_tokens"] = json!(100);
        let asked = json!({
            "type": "user", "uuid": format!("u{at}"), "parentUuid": parent, "sessionId": "s",
            "timestamp": time(0),
            "message": {"role": "user", "content": format!("Task {at}, please.")},
        });
        let answered = json!({
            "type": "assistant", "uuid": format!("a{at}"), "parentUuid": format!("u{at}"),
            "sessionId": "s", "timestamp": time(10),
            "message": {
                "id": format!("m{at}"), "model": model, "role": "assistant",
                "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "Done."}], "usage": usage,
            },
        });
        writeln!(text, "{asked}\n{answered}").unwrap();
        parent = json!(format!("a{at}"));
    }
    text
}

fn usage(input: u64, read: u64, write: u64) -> Json {
    json!({
        "input_tokens": input, "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
    })
}

/// The row of `validation.csv`, and dollars of the row `full`.
fn billed(text: &str) -> (Vec<(String, f64)>, f64, String) {
    let desk = Desk::new();
    desk.file("session.jsonl", text);
    let ran = desk.good(&["replay", "session.jsonl", "--out", "run"]);
    let checked = desk.csv("run/validation.csv").remove(0);
    let number = |column: &str| (column.to_owned(), checked[column].parse().unwrap_or(f64::NAN));
    let columns = ["recorded_usd", "simulated_usd", "simulated_read", "simulated_write"];
    let full = desk.row("run/summary.csv", &["strategy=full"]);
    let usd = full["cost_usd"].parse().unwrap_or(f64::NAN);
    (columns.map(number).to_vec(), usd, ran.err + &ran.out)
}

#[track_caller]
fn assert_usd(found: f64, expected: f64) {
    assert!((found - expected).abs() < 5e-7, "{found}, by hand {expected}");
}

const OPUS: &str = "claude-opus-4-5-20251101";
const HAIKU: &str = "claude-haiku-4-5-20251001";

#[test]
fn model_switch_bills_per_request_with_separate_caches() {
    // Opus: 5 a million, 0.50 read, 6.25 written, 25 of output; Haiku a fifth.
    let (checked, full, _) = billed(&recording(&[
        (OPUS, usage(0, 0, 10_000)),
        (HAIKU, usage(0, 0, 11_000)),
        (OPUS, usage(0, 10_000, 2_000)),
        (HAIKU, usage(0, 11_000, 2_000)),
        (OPUS, usage(0, 12_000, 2_000)),
    ]));
    // Opus 14,000 written and 22,000 read, Haiku 13,000 and 11,000.
    let prompts = (14_000.0 * 6.25 + 22_000.0 * 0.5 + 13_000.0 * 1.25 + 11_000.0 * 0.1) / 1e6;
    assert_usd(checked[0].1, prompts);
    assert_usd(checked[1].1, prompts);
    assert_eq!((checked[2].1, checked[3].1), (33_000.0, 27_000.0), "each in its own cache");
    assert_usd(full, prompts + (300.0 * 25.0 + 200.0 * 5.0) / 1e6);
}

#[test]
fn unreported_cache_writes_are_not_charged() {
    let (checked, full, _) = billed(&recording(&[
        (OPUS, usage(10_000, 0, 0)),
        (HAIKU, usage(11_000, 0, 0)),
        (OPUS, usage(2_000, 10_000, 0)),
        (HAIKU, usage(2_000, 11_000, 0)),
    ]));
    let prompts = (12_000.0 * 5.0 + 10_000.0 * 0.5 + 13_000.0 + 11_000.0 * 0.1) / 1e6;
    assert_usd(checked[0].1, prompts);
    assert_usd(checked[1].1, prompts);
    assert_usd(full, prompts + (200.0 * 25.0 + 200.0 * 5.0) / 1e6);
    // Nor where nothing was ever read: then there was no cache.
    let (checked, ..) = billed(&recording(&[
        (OPUS, usage(10_000, 0, 0)),
        (OPUS, usage(12_000, 0, 0)),
        (OPUS, usage(14_000, 0, 0)),
    ]));
    assert_usd(checked[0].1, 36_000.0 * 5.0 / 1e6);
    assert_usd(checked[1].1, 36_000.0 * 5.0 / 1e6);
}

#[test]
fn zero_token_report_is_unbilled_final_output_billed() {
    let mut responses = vec![(OPUS, usage(0, 0, 10_000)), (OPUS, usage(0, 10_000, 500))];
    let (_, without, _) = billed(&recording(&responses));
    responses.push((OPUS, usage(0, 0, 0)));
    let text = recording(&responses);
    let failed = text.rfind("\"output_tokens\":100").unwrap();
    let text = format!("{}\"output_tokens\":0{}", &text[..failed], &text[failed + 19..]);
    let (_, with, _) = billed(&text);
    assert_usd(without, (10_500.0 * 6.25 + 10_000.0 * 0.5 + 200.0 * 25.0) / 1e6);
    assert_usd(with, without);
}

#[test]
fn unpriced_model_leaves_money_unknown_and_names_remedy() {
    let (checked, full, actual) = billed(&recording(&[
        ("acme-coder-2", usage(0, 0, 10_000)),
        ("acme-coder-2", usage(0, 10_000, 500)),
    ]));
    assert!(checked[0].1.is_nan() && checked[1].1.is_nan() && full.is_nan(), "{checked:?} {full}");
    let actual = flat(&actual);
    assert!(actual.contains("no price is known for acme-coder-2"), "{actual}");
    assert!(actual.contains("--prices") && actual.contains("--agent-model"), "{actual}");
    // A retired model has its last price, whoever sold it.
    for name in ["claude-opus-4-1-20250805", "us.anthropic.claude-opus-4-1-20250805-v1:0"] {
        let (checked, ..) = billed(&recording(&[(name, usage(0, 0, 10_000))]));
        assert_usd(checked[0].1, 10_000.0 * 18.75 / 1e6);
    }
    // Of a session in which another model answered, all but its answers is billed.
    let (checked, full, actual) = billed(&recording(&[
        (OPUS, usage(0, 0, 10_000)),
        (OPUS, usage(0, 10_000, 9)),
        ("acme-coder-2", usage(7, 0, 0)),
    ]));
    let priced = (10_009.0 * 6.25 + 10_000.0 * 0.5) / 1e6;
    assert!(checked[0].1.is_nan(), "the check is of whole sessions");
    assert_usd(full, priced + 200.0 * 25.0 / 1e6);
    assert!(actual.contains("acme-coder-2"), "{actual}");
}

#[test]
fn continued_session_is_billed_as_reported() {
    // The first prompt has 150,000 tokens, nearly all of them from before; a
    // compaction leaves 40,000.
    let before = recording(&[(OPUS, usage(0, 148_000, 2_000)), (OPUS, usage(0, 150_000, 500))]);
    let boundary = json!({
        "type": "system", "subtype": "compact_boundary", "uuid": "b", "parentUuid": null,
        "logicalParentUuid": "a1", "sessionId": "s", "timestamp": "2026-03-20T01:00:35.000Z",
        "compactMetadata": {"trigger": "auto", "preTokens": 150_600},
    });
    let summary = json!({
        "type": "user", "uuid": "c", "parentUuid": "b", "sessionId": "s",
        "timestamp": "2026-03-20T01:00:36.000Z", "isCompactSummary": true,
        "isVisibleInTranscriptOnly": true,
        "message": {"role": "user", "content": "What happened so far: two tasks."},
    });
    let behind = [(OPUS, usage(0, 16_000, 24_000)), (OPUS, usage(0, 40_000, 500))];
    let behind = turns(2, &json!("c"), &behind);
    let (checked, ..) = billed(&format!("{before}{boundary}\n{summary}\n{behind}"));
    let prompts = (27_000.0 * 6.25 + 354_000.0 * 0.5) / 1e6;
    assert_usd(checked[0].1, prompts);
    assert_usd(checked[1].1, prompts);
    assert_eq!((checked[2].1, checked[3].1), (354_000.0, 27_000.0));
}

/// A session file of two requests, each sent ten seconds after the answer before, behind
/// a system prompt of 5,000 tokens; every message has ten.
fn chat() -> String {
    let text = |tokens: usize| vec!["a"; tokens].join(" ");
    let message = |at: usize| {
        json!({
            "id": format!("m{at}"), "role": (["user", "assistant"][at % 2]),
            "at": format!("2026-03-20T01:00:{:02}Z", 10 * at),
            "blocks": [{"type": "text", "text": text(10)}],
        })
    };
    let messages: Vec<Json> = (0..4).map(message).collect();
    let session = json!({"id": "s", "system": [text(5_000)], "tools": [], "messages": messages});
    format!("{session}\n")
}

/// Arachne's row in `summary.json` for a model, what was printed, and the tokens that it keeps
/// in the explicit cache: system prompt and awareness block.
fn arachne(desk: &Desk, more: &str) -> (Json, String, f64) {
    desk.file("chat.jsonl", chat());
    let run = "bench chat.jsonl --strategy arachne --window 100k --wide --out run";
    let ran = desk.good(&format!("{run} {more}"));
    let summary = desk.json("run/summary.json");
    let of = |row: &&Json| row["strategy"] == "arachne" && row["dataset"] == "ALL";
    let row = summary["rows"].as_array().unwrap().iter().find(of).unwrap().clone();
    let first = desk.row("run/requests.csv", &["strategy=arachne"]);
    (row, ran.out + &ran.err, first["tokens_sent"].parse::<f64>().unwrap() - 10.0)
}

/// Two requests whose explicit content of so many tokens is made by the first and read by
/// the second, at prices of a million tokens: input, read, output.
fn by_hand(content: f64, [input, read, output]: [f64; 3]) -> f64 {
    // The first sends 10 more, the second 30; each answer has 10.
    let usd = (content + 10.0 + 30.0) * input + content * read + 20.0 * output;
    usd / 1e6
}

#[test]
fn explicit_cache_of_gemini_is_billed_with_its_storage() {
    let desk = Desk::new();
    for (model, rates, storage) in [
        ("gemini-2.5-pro", [1.25, 0.125, 10.0], 4.5),
        ("gemini-2.5-flash", [0.3, 0.03, 2.5], 1.0),
        ("gemini-3-flash-preview", [0.5, 0.05, 3.0], 1.0),
        ("gemini-3.1-pro-preview", [2.0, 0.2, 12.0], 4.5),
        ("gemini-3.5-flash", [1.5, 0.15, 9.0], 1.0),
    ] {
        let (row, _, content) = arachne(&desk, &format!("--agent-model {model}"));
        assert!((5_100.0..5_200.0).contains(&content), "{content}");
        let tokens = by_hand(content, rates);
        assert_usd(row["values"]["cost_usd"].as_f64().unwrap(), tokens + content * storage / 1e6);
        assert!(row["values"]["cost_savings"].is_number(), "{model}");
    }
}

#[test]
fn bill_without_storage_price_is_marked_and_no_saving() {
    let desk = Desk::new();
    let (row, told, content) = arachne(&desk, "--agent-model gemini-4-argon");
    let usd = by_hand(content, [2.0, 0.1, 10.0]);
    let why = "the price of keeping a cache of gemini/gemini-4-argon is unknown";
    for figure in ["cost_usd", "cost_savings", "cost_usd_refetch"] {
        assert_eq!(row["values"][figure], Json::Null, "{figure}");
    }
    assert_eq!(row["absent"]["cost_usd"], why);
    assert_eq!(row["absent"]["cost_savings"], why);
    assert!(!told.contains("the price of gemini/gemini-4-argon is unknown"), "{told}");
    let finding = "what keeping a cache of gemini/gemini-4-argon costs is unknown";
    assert!(desk.read("run/report.md").contains(finding));

    // A list with the price of storage: the bill is whole.
    let prices = json!({"gemini-4-argon": {
        "input_cost_per_token": 2e-6, "cache_read_input_token_cost": 1e-7,
        "output_cost_per_token": 10e-6, "prompt_cache_min_tokens": 4_096,
        "cache_storage_cost_per_token_per_hour": 3e-6,
    }});
    desk.file("prices.json", prices.to_string());
    let (row, told, _) = arachne(&desk, "--agent-model gemini-4-argon --prices prices.json");
    assert_usd(row["values"]["cost_usd"].as_f64().unwrap(), usd + content * 3e-6);
    assert!(!told.contains("storage"), "{told}");
}
