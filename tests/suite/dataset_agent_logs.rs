//! Logs of a coding agent that were read from public descriptions: Copilot CLI
//! (github/copilot-sdk, `session-events.ts`).

use recap_core::model::Session;
use recap_formats::{Dataset, DatasetError, LoadOptions, load_reader};
use serde_json::{Value as Json, json};

use crate::outline::{lines, outline};

const COPILOT: &str = include_str!("../fixtures/dataset/copilot-cli.jsonl");

fn try_read(text: &str, sidechains: bool) -> Result<Dataset, DatasetError> {
    let options = LoadOptions { sidechains, ..LoadOptions::default() };
    load_reader("file.jsonl", text.as_bytes(), &options)
}

fn read(text: &str) -> Session {
    let mut dataset = try_read(text, false).unwrap_or_else(|error| panic!("{error}"));
    dataset.sessions.remove(0)
}

#[test]
fn copilot_cli_subagents_become_sessions_on_request() {
    let dataset = try_read(COPILOT, true).unwrap();
    let [main, agent] = &dataset.sessions[..] else { panic!() };
    assert!(!main.left_out.contains_key("sidechain record"));
    assert_eq!(agent.id, format!("{}#sidechain-1", main.id));
    assert_eq!(outline(agent), ["user: Look for valves.", "assistant: One valve."]);
    assert_eq!(agent.project.as_deref(), Some("plant"));
}

fn copilot(kind: &str, data: &Json) -> Json {
    json!({"type": kind, "id": kind, "parentId": null, "data": data})
}

/// Responses of Copilot CLI, each with its model and the tokens that it wrote.
fn answers(of: &[(&str, u64)]) -> Vec<Json> {
    let answer = |(n, (model, tokens)): (usize, &(&str, u64))| {
        json!({"type": "assistant.message", "id": format!("a{n}"), "data": {"messageId": n,
            "model": model, "content": "", "outputTokens": tokens, "apiCallId": n.to_string()}})
    };
    of.iter().enumerate().map(answer).collect()
}

#[test]
fn copilot_cli_responses_without_text_are_requests() {
    let note = copilot("system.notification", &json!({"content": "Shell 30 has completed."}));
    let said = copilot("user.message", &json!({"content": "go"}));
    let records = [vec![said, note], answers(&[("claude-sonnet-4.6", 101), ("m", 0)])].concat();
    let session = read(&lines(&records));
    let expected = ["user: go", "system: Shell 30 has completed.", "assistant: "];
    assert_eq!(outline(&session), expected);
    assert_eq!(session.requests().collect::<Vec<_>>(), [2]);
    assert_eq!(session.model.as_deref(), Some("claude-sonnet-4.6"));
}

/// Requests, and tokens that are uncached, read, written and those of the output, by model.
fn totals(session: &Session) -> Vec<(&str, u64, [u64; 4])> {
    let each = session.totals.iter().map(|total| {
        let usage = total.usage;
        let tokens = [usage.input, usage.cache_read, usage.written(), usage.output];
        (total.model.as_deref().unwrap_or_default(), total.requests, tokens)
    });
    each.collect()
}

#[test]
fn copilot_cli_totals_are_kept_and_apply_to_only_model_response() {
    let total = |count: u64| {
        json!({"requests": {"count": count, "cost": 0}, "usage": {"inputTokens": 100,
            "outputTokens": 9, "cacheReadTokens": 60, "cacheWriteTokens": 30}})
    };
    let end = copilot("session.shutdown", &json!({"modelMetrics": {"a": total(1), "b": total(2)}}));
    let records = answers(&[("a", 9), ("b", 4), ("b", 5)]);
    let dataset = try_read(&lines(&[records.clone(), vec![end.clone()]].concat()), false).unwrap();
    let usage = dataset.sessions[0].messages.iter().map(|message| message.usage);
    let usage: Vec<_> = usage.map(|one| one.map(|u| (u.input, u.cache_read, u.output))).collect();
    assert_eq!(usage, [Some((10, 60, 9)), None, None]);
    let of_run = [10, 60, 30, 9];
    assert_eq!(totals(&dataset.sessions[0]), [("a", 1, of_run), ("b", 2, of_run)]);
    // Two runs of one session: of which run a response is, is not told.
    let twice = [records.clone(), vec![end.clone(), end]].concat();
    let dataset = try_read(&lines(&twice), false).unwrap();
    assert!(dataset.sessions[0].messages.iter().all(|message| message.usage.is_none()));
    let of_both = [20, 120, 60, 18];
    assert_eq!(totals(&dataset.sessions[0]), [("a", 2, of_both), ("b", 4, of_both)]);
    let odd = copilot("session.shutdown", &json!({"modelMetrics": {"a": 7}}));
    let dataset = try_read(&lines(&[answers(&[("a", 9)]), vec![odd]].concat()), false).unwrap();
    assert!(crate::outline::actual(Ok(dataset)).contains("modelMetrics.a"));
    // Newer versions may tell credits alone; sums of absurd figures are set aside.
    let credits = copilot("session.shutdown", &json!({"modelMetrics": {"a": {"totalNanoAiu": 5}}}));
    let session = read(&lines(&[answers(&[("a", 9), ("a", 9)]), vec![credits]].concat()));
    assert_eq!(totals(&session), [("a", 1, [0; 4])]);
    let most = json!({"a": {"requests": {"count": u64::MAX}, "usage": {"inputTokens": u64::MAX}},
        "b": {"requests": {"count": 1}, "usage": {"inputTokens": u64::MAX, "outputTokens": u64::MAX}}});
    let absurd = copilot("session.shutdown", &json!({"modelMetrics": most}));
    let log = [records, vec![absurd.clone(), absurd]].concat();
    let session = read(&lines(&log));
    assert_eq!(session.totals.len(), 1, "{:?}", session.totals);
}

#[test]
fn what_an_older_compaction_wrote_to_the_cache_is_told_by_the_totals() {
    let spent = |written: Json| {
        json!({"success": true, "summaryContent": "s",
        "compactionTokensUsed": {"input": 1000, "output": 20, "cachedInput": 700, "cacheWriteTokens": written}})
    };
    let end = json!({"modelMetrics": {"a": {"requests": {"count": 3}, "usage": {"inputTokens": 5000,
        "outputTokens": 50, "cacheReadTokens": 4000, "cacheWriteTokens": 900}}}});
    let of = |spent: Json| {
        let made = copilot("session.compaction_complete", &spent);
        let log = [answers(&[("a", 9), ("a", 9)]), vec![made, copilot("session.shutdown", &end)]];
        let session = read(&lines(&log.concat()));
        let usage = session.compactions[0].call.as_ref().unwrap().usage;
        [usage.input, usage.cache_read, usage.written(), usage.output]
    };
    // The session had 100 besides the cache, so 200 of its 300 were written.
    assert_eq!(of(spent(json!(0))), [100, 700, 200, 20]);
    assert_eq!(of(spent(json!(50))), [250, 700, 50, 20]);
}

#[test]
fn odd_copilot_cli_events_are_counted_or_skipped() {
    let said = copilot("user.message", &json!({"content": "go"}));
    let unknown = copilot("tool.execution_complete", &json!({"toolCallId": "c", "success": true}));
    let failed = copilot("session.compaction_complete", &json!({"success": false, "error": "x"}));
    let bare = copilot("session.compaction_complete", &json!({"success": true}));
    let session = read(&lines(&[said.clone(), unknown, failed, bare]));
    assert_eq!(session.left_out["tool result whose call is not in the recording"], 1);
    assert_eq!(session.left_out["failed compaction"], 1);
    let [compaction] = &session.compactions[..] else { panic!() };
    assert!(compaction.summary.is_none() && compaction.unreadable.is_some());
    for (event, says) in [
        (
            copilot("assistant.message", &json!({"toolRequests": [{"name": "x"}]})),
            "toolRequests[0]",
        ),
        (copilot("user.message", &json!({"content": 7})), "content"),
        (
            copilot("session.compaction_complete", &json!({"preCompactionTokens": -1})),
            "preCompactionTokens",
        ),
        (json!({"type": 7}), "type"),
    ] {
        let dataset = try_read(&lines(&[said.clone(), event, said.clone()]), false).unwrap();
        let actual = crate::outline::actual(Ok(dataset));
        assert!(actual.contains("first line 2: ") && actual.contains(says), "{actual}");
    }
}

#[test]
fn long_logs_are_read_in_linear_time() {
    let n = 40_000;
    let said = copilot("user.message", &json!({"content": "x"}));
    let done =
        copilot("session.compaction_complete", &json!({"success": true, "summaryContent": "s"}));
    let log = lines(&vec![said; n]) + &lines(&vec![done; n]);
    assert_eq!(read(&log).compactions.len(), n);
    let message = json!({"role": "user", "content": "x"});
    let thread = json!({"v": 1, "id": "T-1", "messages": vec![message; n]});
    assert_eq!(read(&thread.to_string()).messages.len(), n);
}
