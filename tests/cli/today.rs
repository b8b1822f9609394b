//! What sessions cost today: through files, from the bytes of a log to the rows that people read.

use serde_json::{Value as Json, json};

use crate::desk::{Desk, Ran, Row, flat};
use crate::receipt::session;

/// A desk with a run over these sessions, by the names of their files.
fn benched(sessions: &[(&str, Vec<Json>)], more: &str) -> (Desk, Ran) {
    let desk = Desk::new();
    for (name, records) in sessions {
        desk.log(&format!("logs/{name}.jsonl"), records);
    }
    let bench = "bench logs --strategy fifo --cuts none --questions none --out run";
    let ran = desk.recap(&format!("{bench} {more}"));
    (desk, ran)
}

/// The row of what the agent itself sent, over all sessions.
fn recorded(desk: &Desk) -> Row {
    desk.row("run/summary.csv", &["strategy=recorded"])
}

/// The session as this model answered it, under another id.
fn as_model(id: &str, model: &str) -> Vec<Json> {
    let mut records = session();
    for record in &mut records {
        record["sessionId"] = json!(id);
        if record["type"] == "assistant" {
            record["message"]["model"] = json!(model);
            record["message"]["id"] = json!(format!("{id}-{}", record["message"]["id"]));
        }
    }
    records
}

#[test]
fn today_pays_and_waits_for_compactions_and_no_agent_model_changes_it() {
    let (desk, _) = benched(&[("a", session())], "--quiet");
    let own = recorded(&desk);
    // The call reads 27,100 tokens or so, and writes five words.
    assert!(own["compaction_cost_usd"].parse::<f64>().unwrap() > 0.0, "{own:?}");
    // From the answer at 22:05 to the boundary at 23:00.
    assert_eq!((&*own["blocking_ms_p95"], &*own["latency_source"]), ("55000", "recorded"));
    let (desk, _) = benched(&[("a", session())], "--agent-model gpt-5.4");
    let other = recorded(&desk);
    assert_eq!((&other["cost_usd"], &*other["agent_model"]), (&own["cost_usd"], "gpt-5.4"));
}

#[test]
fn priced_sessions_are_billed_and_models_without_price_named() {
    let (desk, _) = benched(&[("a", session())], "--quiet");
    let alone = recorded(&desk);
    let sessions = [("a", session()), ("b", as_model("b", "a-local-model"))];
    let (desk, ran) = benched(&sessions, "");
    let both = recorded(&desk);
    assert_eq!(both["cost_usd"], alone["cost_usd"]);
    let named = "+ unknown (no price for a-local-model)";
    assert!(ran.out.contains(&format!("{named} today")), "{}", ran.out);
    assert!(desk.read("run/report.html").contains(named));
    // What the provider read is read, whatever that costs.
    let (desk, _) = benched(&sessions[1..], "--quiet");
    let local = recorded(&desk);
    assert_eq!(local["cost_usd"], "");
    assert!(local["cache_hit_rate"].parse::<f64>().unwrap() > 0.2, "{local:?}");
}

#[test]
fn session_without_request_is_set_aside_and_alone_ends_with_2() {
    let silent: Vec<Json> = session().into_iter().take(1).collect();
    let (_, ran) = benched(&[("silent", silent.clone())], "");
    assert_eq!(ran.code, 2, "{ran:?}");
    assert!(ran.err.contains("no session has a request"), "{ran:?}");
    let (desk, _) = benched(&[("silent", silent), ("a", session())], "--quiet");
    let manifest = desk.read("run/manifest.json");
    let told = "set aside: 1 session in which no model was asked (silent)";
    assert!(manifest.contains(told), "{manifest}");
    assert!(desk.csv("run/receipt.csv").iter().all(|row| row["session"] != "silent"));
}

#[test]
fn subagents_without_logs_are_counted_in_the_receipt() {
    let mut records = session();
    let call =
        json!([{"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "Go."}}]);
    records[1]["message"]["content"] = call;
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "content": "Found it."}]);
    records[2]["message"]["content"] = result;
    let (desk, ran) = benched(&[("a", records)], "--wide");
    let key = ["session=ALL", "sender=subagent", "item=calls not reported"];
    assert_eq!(desk.row("run/receipt.csv", &key)["count"], "1");
    assert!(flat(&ran.out).contains("1 subagent used"));
}

#[test]
fn one_compaction_decides_the_window_of_all_sessions_of_the_agent() {
    let without: Vec<Json> = as_model("b", "claude-opus-5").into_iter().take(6).collect();
    let sessions = [("a", as_model("a", "claude-opus-5")), ("b", without)];
    let (desk, _) = benched(&sessions, "--quiet");
    let manifest = desk.read("run/manifest.json");
    let told = "1 of 2 sessions of claude-code with claude-opus-5 do not show the agent's limit and \
                have that of the others: 200000 tokens in 1, since a compacted by itself at 27100";
    assert!(manifest.contains(told), "{manifest}");
    let (_, ran) = benched(&sessions, "--dry-run");
    assert!(ran.out.contains("200000 tokens in 2 sessions"), "{ran:?}");
}
