//! The receipt of recorded sessions: figures worked out by hand, and those that a count in
//! another language finds in the same recordings.

use serde_json::{Value as Json, json};

use crate::desk::{Desk, Row};
use crate::recordings::shared;
use crate::usage::{counted, recordings};

/// A record of Claude Code at a minute and second of the session.
fn at(
    (minute, second): (u32, u32),
    id: &str,
    parent: Option<&str>,
    kind: &str,
    more: &Json,
) -> Json {
    let mut record = json!({
        "type": kind, "uuid": id, "parentUuid": parent, "isSidechain": false, "sessionId": "s",
        "timestamp": format!("2026-01-05T09:{minute:02}:{second:02}Z"),
    });
    record.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    record
}

/// A user's turn with its response. `tokens`: uncached, read, written for five minutes.
fn turn(minute: u32, n: usize, parent: Option<&str>, tokens: [u64; 3]) -> [Json; 2] {
    let (asks, says) = (format!("u{n}"), format!("a{n}"));
    let [input, read, written] = tokens;
    let usage = json!({"input_tokens": input, "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written, "output_tokens": 50});
    let message = json!({"role": "assistant", "id": format!("m{n}"), "model": "claude-opus-4-6",
        "content": [{"type": "text", "text": "Done."}], "usage": usage, "stop_reason": "end_turn"});
    let text = json!({"message": {"role": "user", "content": "Go on with it."}});
    [
        at((minute, 0), &asks, parent, "user", &text),
        at((minute, 5), &says, Some(&asks), "assistant", &json!({ "message": message })),
    ]
}

/// Five requests: a cache that grows, an idle gap of twenty minutes, a prompt that changed, and
/// a compaction.
pub fn session() -> Vec<Json> {
    let mut records = Vec::new();
    records.extend(turn(0, 1, None, [100, 0, 20_000]));
    records.extend(turn(1, 2, Some("a1"), [100, 20_000, 5_000]));
    records.extend(turn(21, 3, Some("a2"), [100, 0, 26_000]));
    records.extend(turn(22, 4, Some("a3"), [100, 10_000, 17_000]));
    let boundary = json!({"subtype": "compact_boundary", "logicalParentUuid": "a4",
        "compactMetadata": {"trigger": "auto", "preTokens": 27_100}});
    records.push(at((23, 0), "cut", None, "system", &boundary));
    let summary = json!({"isCompactSummary": true,
        "message": {"role": "user", "content": "It is nearly done."}});
    records.push(at((23, 1), "sum", Some("cut"), "user", &summary));
    records.extend(turn(24, 5, Some("sum"), [2_000, 10_000, 3_000]));
    records
}

const BENCH: &str = "bench logs --strategy full --cuts none --questions none --quiet --out run";

/// The rows of `receipt.csv` over all of these records.
fn receipt(records: &[Json]) -> Vec<Row> {
    receipt_of(&[("logs/session.jsonl", records)]).0
}

/// The rows of `receipt.csv` over all of these files, and what the run told.
fn receipt_of(files: &[(&str, &[Json])]) -> (Vec<Row>, String) {
    let desk = Desk::new();
    for (name, records) in files {
        desk.log(name, records);
    }
    let told = desk.good(BENCH).out;
    (desk.rows("run/receipt.csv", &["session=ALL"]), told)
}

/// Count, tokens, dollars and reason of a row.
fn found<'a>(rows: &'a [Row], part: &str, item: &str) -> [&'a str; 4] {
    let row = rows.iter().find(|row| row["part"] == part && row["item"] == item);
    let row = row.unwrap_or_else(|| panic!("{part}, {item}: {rows:?}"));
    ["count", "tokens", "usd", "reason"].map(|column| row[column].as_str())
}

#[test]
fn compaction_tells_where_what_was_used_again_came_from() {
    let [pool, slot, queue] = ["warden_pool", "keeper_slot", "shard_queue"];
    let mut records = session();
    let mut say = |uuid: &str, text: String| {
        let record = records.iter_mut().find(|record| record["uuid"] == uuid).unwrap();
        let says = record["type"] == "assistant";
        record["message"]["content"] =
            if says { json!([{"type": "text", "text": text}]) } else { text.into() };
    };
    say("u1", format!("Mend lanes/{pool}.rs, lanes/{slot}.rs and lanes/{queue}.rs."));
    say("sum", format!("lanes/{pool}.rs is mended."));
    say("u5", format!("Now lanes/{slot}.rs."));
    say("a5", format!("Next: lanes/{pool}.rs, lanes/{slot}.rs, lanes/{queue}.rs, lanes/own_1.rs."));
    let desk = Desk::new();
    desk.log("logs/session.jsonl", &records);
    desk.good("bench logs --strategy full --quiet --out run");
    let rows = desk.csv("run/recorded_compactions.csv");
    let of = ["used_again", "in_summary", "in_kept", "came_back", "nowhere"];
    assert_eq!(of.map(|column| rows[0][column].as_str()), ["3", "1", "0", "1", "1"]);
}

#[test]
fn rebuilt_cache_shows_cause_tokens_and_extra_cost() {
    let rows = receipt(&session());
    // Opus 4.6, USD per million: 5 uncached, 0.5 read, 6.25 written, 25 of output; 10 for an hour.
    let cost = |item| found(&rows, "cost", item);
    assert_eq!(cost("requests"), ["5", "", "", ""]);
    assert_eq!(cost("cache_read"), ["", "40000", "0.02", ""]);
    assert_eq!(cost("cache_write_5m"), ["", "71000", "0.44375", ""]);
    assert_eq!(cost("input"), ["", "2400", "0.012", ""]);
    assert_eq!(cost("output"), ["", "250", "0.00625", ""]);
    assert_eq!(cost("total"), ["", "113650", "0.482", ""]);
    assert_eq!(cost("calls not reported"), ["1", "", "", ""]);
    let rebuilt = |item| found(&rows, "rebuilt", item);
    // 25,000 were cached and written again: × (6.25 − 0.5).
    assert_eq!(rebuilt("idle-gap"), ["1", "25000", "0.14375", ""]);
    // Of 26,000 that were cached 10,000 were read.
    assert_eq!(rebuilt("changed-prompt"), ["1", "16000", "0.092", ""]);
    // The prompt has 15,000 tokens, 10,000 of them read: 3,000 × 5.75 and 2,000 × (5 − 0.5).
    assert_eq!(rebuilt("compaction"), ["1", "5000", "0.02625", ""]);
    // The idle gap is spared; the other 46,000 are written at 10 and not at 6.25.
    assert_eq!(found(&rows, "hour", "rebuilds spared"), ["1", "", "-0.14375", ""]);
    assert_eq!(found(&rows, "hour", "dearer writes"), ["", "", "0.1725", ""]);
    assert_eq!(found(&rows, "hour", "change"), ["", "", "0.02875", ""]);
}

/// $0.14375 behind the idle gap, $0.092 and $0.02625 for the other two: $0.262 in all.
#[test]
fn caches_rebuilt_after_idle_gaps_have_a_line_wherever_people_read() {
    let desk = Desk::new();
    desk.log("logs/session.jsonl", &session());
    let told = desk.good(BENCH).out;
    let [markdown, page] =
        ["report.md", "report.html"].map(|name| desk.read(&format!("run/{name}")));
    let markdown = markdown.replace("&#36;", "$");
    let wide = desk.good("report run --wide").out;
    for text in [&told, &markdown, &page, &wide] {
        let line = "3 caches were rebuilt for $0.262, $0.144 of it after idle gaps (1).";
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn history_that_a_fork_copied_is_billed_once() {
    // The fork goes on behind the second turn.
    let own = turn(30, 6, Some("a2"), [100, 25_000, 1_000]);
    let fork = [&session()[..4], &own[..]].concat();
    let files = [("logs/a.jsonl", &session()[..]), ("logs/b.jsonl", &fork[..])];
    let (rows, told) = receipt_of(&files);
    let cost = |item| found(&rows, "cost", item);
    assert_eq!(cost("requests"), ["6", "", "", ""]);
    // As above, and its own 25,000 read, 1,000 written, 100 uncached and 50 of output.
    assert_eq!(cost("cache_read"), ["", "65000", "0.0325", ""]);
    assert_eq!(cost("cache_write_5m"), ["", "72000", "0.45", ""]);
    assert_eq!(cost("total"), ["", "139800", "0.5025", ""]);
    assert!(told.contains("2 sessions of 1 family share history"), "{told}");
    // A copy as a whole is no session.
    let copy = [("logs/a.jsonl", &session()[..]), ("logs/b.jsonl", &session()[..4])];
    let (rows, told) = receipt_of(&copy);
    assert_eq!(found(&rows, "cost", "total"), ["", "113650", "0.482", ""]);
    assert!(told.contains("1 session, 5 requests"), "{told}");
}

#[test]
fn without_times_compaction_is_only_known_cause() {
    let mut records = session();
    for record in &mut records {
        record.as_object_mut().unwrap().remove("timestamp");
    }
    let rows = receipt(&records);
    assert_eq!(found(&rows, "rebuilt", "unknown"), ["2", "41000", "0.23575", ""]);
    assert_eq!(found(&rows, "rebuilt", "compaction"), ["1", "5000", "0.02625", ""]);
    assert!(!rows.iter().any(|row| row["item"] == "idle-gap"), "{rows:?}");
}

#[test]
fn unpriced_model_shows_tokens_and_reason_without_dollars() {
    let mut records = session();
    for record in records.iter_mut().filter(|record| record["type"] == "assistant") {
        record["message"]["model"] = json!("a-local-model");
    }
    let rows = receipt(&records);
    let why = "the price of a-local-model is unknown";
    assert_eq!(found(&rows, "cost", "total"), ["", "113650", "", why]);
    assert_eq!(found(&rows, "rebuilt", "idle-gap"), ["1", "25000", "", why]);
    assert_eq!(found(&rows, "hour", "change"), ["", "", "", why]);
}

/// claude-opus-5, USD per million: 5 uncached, 0.5 read, 6.25 written, 25 of output.
#[test]
fn speed_place_and_other_models_of_a_request_are_paid() {
    let of = |more: &Json| {
        let mut records: Vec<Json> = turn(0, 1, None, [100, 0, 20_000]).into();
        records.extend(turn(1, 2, Some("a1"), [100, 20_000, 5_000]));
        for record in records.iter_mut().filter(|record| record["type"] == "assistant") {
            record["message"]["model"] = json!("claude-opus-5");
            let usage = record["message"]["usage"].as_object_mut().unwrap();
            usage.extend(more.as_object().unwrap().clone());
        }
        receipt(&records)
    };
    // 200 × 5, 20,000 × 0.5, 25,000 × 6.25 and 100 × 25 per million.
    assert_eq!(found(&of(&json!({})), "cost", "total")[2], "0.16975");
    let fast = of(&json!({"speed": "fast"}));
    assert_eq!(found(&fast, "cost", "total")[2], "0.3395");
    assert!(fast.iter().any(|row| row["model"] == "claude-opus-5[fast]"), "{fast:?}");
    assert_eq!(found(&of(&json!({"inference_geo": "us"})), "cost", "total")[2], "0.186725");
    // Each response is two prompts of 3,000 and 4,000 tokens and one of an advisor, 10 per
    // million: 2 × (7,000 × 5 + 30 × 25 + 2,000 × 10 + 10 × 50).
    let asked = |kind: &str, model: Option<&str>, input: u64, output: u64| json!({"type": kind, "model": model, "input_tokens": input, "output_tokens": output});
    let rows = of(&json!({"iterations": [
        asked("message", None, 3_000, 20),
        asked("advisor_message", Some("claude-fable-5"), 2_000, 10),
        asked("message", None, 4_000, 10),
    ]}));
    let model = |sender: &str, model: &str| {
        let own = |row: &&Row| row["sender"] == sender && row["model"] == model;
        let row = rows.iter().filter(own).find(|row| row["item"] == "total");
        row.unwrap_or_else(|| panic!("{rows:?}"))["usd"].clone()
    };
    assert_eq!(model("subagent", "claude-fable-5"), "0.041");
    assert_eq!(model("ALL", "ALL"), "0.1125");
}

#[test]
fn provider_knows_why_its_cache_was_not_read() {
    let cause = |told: &str| {
        let mut records = session();
        // What followed the idle gap, and the prompt that changed without one.
        for record in records.iter_mut().filter(|record| record["type"] == "assistant") {
            record["message"]["diagnostics"] = json!({"cache_miss_reason": {"type": told}});
        }
        let rows = receipt(&records);
        let rebuilt =
            rows.iter().filter(|row| row["part"] == "rebuilt" && !row["count"].is_empty());
        rebuilt.map(|row| format!("{} {}", row["count"], row["item"])).collect::<Vec<_>>()
    };
    assert_eq!(cause("system_changed"), ["3 system-changed"]);
    assert_eq!(cause("tools_changed"), ["3 tools-changed"]);
    // Behind a compaction messages are others, and time says what the provider cannot.
    assert_eq!(cause("messages_changed"), ["1 compaction", "2 messages-changed"]);
    assert_eq!(cause("unavailable"), ["1 compaction", "1 idle-gap", "1 unavailable"]);
    assert_eq!(cause("of_a_later_version"), ["1 compaction", "1 idle-gap", "1 changed-prompt"]);
}

#[test]
fn requests_without_usage_are_counted_but_not_summed() {
    let mut records = session();
    let silent = ["a1", "a2", "a3", "a4", "a5"];
    for record in records.iter_mut().filter(|r| silent.contains(&r["uuid"].as_str().unwrap())) {
        record["message"]["usage"] = json!({"input_tokens": 0, "output_tokens": 0});
    }
    let rows = receipt(&records);
    assert_eq!(found(&rows, "cost", "requests"), ["0", "", "", ""]);
    assert_eq!(found(&rows, "cost", "not reported"), ["5", "", "", ""]);
    assert!(!rows.iter().any(|row| row["part"] == "rebuilt"), "{rows:?}");
    assert_eq!(found(&rows, "hour", "change")[3], "no request reports its tokens");
}

/// A session of Copilot CLI with two requests and a compaction, and the totals that it ends with.
fn copilot(totals: &Json) -> Vec<Json> {
    let event =
        |n: usize, kind: &str, data: Json| json!({"type": kind, "id": n.to_string(), "data": data});
    let answer = |model: &str| json!({"model": model, "content": "Done.", "outputTokens": 9});
    let spent = json!({"input": 1_000, "output": 20, "cachedInput": 700});
    let made =
        json!({"success": true, "summaryContent": "All done.", "compactionTokensUsed": spent});
    vec![
        event(0, "session.start", json!({"sessionId": "s", "selectedModel": "claude-sonnet-4.6"})),
        event(1, "user.message", json!({"content": "Go on with it."})),
        event(2, "assistant.message", answer("claude-sonnet-4.6")),
        event(3, "session.compaction_complete", made),
        event(4, "user.message", json!({"content": "And on."})),
        event(5, "assistant.message", answer("claude-sonnet-4.6")),
        event(6, "session.shutdown", json!({"modelMetrics": totals})),
    ]
}

#[test]
fn what_only_a_total_tells_is_in_the_sums_and_said_to_be_one() {
    let usage = json!({"inputTokens": 21_000, "outputTokens": 120, "cacheReadTokens": 10_700, "cacheWriteTokens": 10_000});
    let totals = json!({"claude-sonnet-4.6": {"requests": {"count": 3}, "usage": usage}});
    let (rows, _) = receipt_of(&[("logs/s.jsonl", &copilot(&totals))]);
    let of = |sender: &str, item: &str| {
        let own: Vec<Row> = rows.iter().filter(|row| row["sender"] == sender).cloned().collect();
        found(&own, "cost", item).map(str::to_owned)
    };
    assert_eq!(of("ALL", "requests"), ["3", "", "", ""]);
    assert_eq!(of("ALL", "not reported"), ["0", "", "", ""]);
    assert_eq!(of("ALL", "in totals only"), ["2", "", "", ""]);
    // USD per million: 0.3 read, 3.75 written, 3 uncached, 15 of output. The compaction had 300
    // besides the cache, as the whole session: it wrote nothing.
    assert_eq!(of("ALL", "cache_read"), ["", "10700", "0.00321", ""]);
    assert_eq!(of("ALL", "cache_write_5m"), ["", "10000", "0.0375", ""]);
    assert_eq!(of("ALL", "input"), ["", "300", "0.0009", ""]);
    assert_eq!(of("ALL", "total"), ["", "21120", "0.04341", ""]);
    assert_eq!(of("main", "total"), ["", "20100", "0.042", ""]);
    assert_eq!(of("compaction", "total"), ["", "1020", "0.00141", ""]);
    // Without totals, nobody says what the main agent cost, which is not nothing.
    let (rows, _) = receipt_of(&[("logs/s.jsonl", &copilot(&json!({})))]);
    let main: Vec<Row> = rows.into_iter().filter(|row| row["sender"] == "main").collect();
    assert_eq!(found(&main, "cost", "total"), ["", "0", "", "no request reports its tokens"]);
}

/// The default model of Copilot CLI is named by the totals alone.
#[test]
fn a_model_that_only_a_total_names_has_its_price() {
    let usage = json!({"inputTokens": 3_000, "outputTokens": 100, "cacheReadTokens": 1_000});
    let totals = json!({"claude-sonnet-4.6": {"requests": {"count": 2}, "usage": usage}});
    let mut events = copilot(&totals);
    events.remove(3);
    for event in &mut events {
        let data = event["data"].as_object_mut().unwrap();
        data.remove("selectedModel");
        data.remove("model");
    }
    let (rows, _) = receipt_of(&[("logs/s.jsonl", &events)]);
    let all: Vec<Row> = rows.into_iter().filter(|row| row["sender"] == "ALL").collect();
    assert_eq!(found(&all, "cost", "not reported"), ["0", "", "", ""]);
    // USD per million: 0.3 read, 3 uncached, 15 of output.
    assert_eq!(found(&all, "cost", "total"), ["", "3100", "0.0078", ""]);
}

#[test]
fn dollars_of_the_recording_stand_beside_those_of_the_price_list() {
    let desk = Desk::new();
    desk.file(
        "chat.md",
        "# aider chat started at 2026-05-04 10:00:00\n\n> Main model: gpt-4.1 with diff edit format  \n\n\n\
         #### go  \n\nDone.\n\n> Tokens: 2.0k sent, 100 received. Cost: $0.25 message, $0.25 session.  \n",
    );
    desk.good(&BENCH.replace("logs", "chat.md"));
    let rows = desk.rows("run/receipt.csv", &["session=ALL", "sender=ALL"]);
    // USD per million: 2 of input, 8 of output.
    assert_eq!(found(&rows, "cost", "total"), ["", "2100", "0.0048", ""]);
    assert_eq!(found(&rows, "cost", "written down"), ["", "", "0.25", ""]);
    let said = desk.read("run/report.html");
    assert!(said.contains("the recording itself says $0.250"), "{said}");
    assert!(said.contains("of 1 request only a total of the session is recorded"), "{said}");
}

/// Folders whose recordings are counted in another language, each with how many there are.
const FOLDERS: [(&str, usize); 4] =
    [("claude-code-sessions", 15), ("codex-rollouts", 4), ("opencode", 5), ("pi-sessions", 1)];

#[test]
fn receipts_match_independent_count() {
    let Some(data) = shared("data") else { return };
    let desk = Desk::new();
    for (folder, expected) in FOLDERS {
        desk.recap(&BENCH.replace("logs", &format!("'{}'", data.join(folder).display())));
        let rows = desk.csv("run/receipt.csv");
        let counts = counted("count_receipt.py", &recordings(&data.join(folder)));
        assert_eq!(counts.len(), expected, "{folder}");
        for (session, count) in &counts {
            let own: Vec<&Row> = rows.iter().filter(|row| row["session"] == *session).collect();
            assert!(!own.is_empty(), "{session} is in no row");
            // After a restart the agent asked again for a response that it had.
            if session != "1e0816ef-6f89-4f05-b331-dab09bb14485" {
                compare(session, &own, count);
            }
        }
    }
}

/// Holds the rows of a session against its count.
fn compare(session: &str, rows: &[&Row], count: &Json) {
    let costs = |sender: &str, item: &str| {
        let own = |row: &&&Row| row["part"] == "cost" && row["sender"] == sender;
        rows.iter().filter(own).filter(|row| row["item"] == item).copied().collect::<Vec<&Row>>()
    };
    let senders = count["senders"].as_object().unwrap();
    for sender in ["main", "subagent", "compaction"] {
        let is_nothing = || costs(sender, "total").iter().all(|row| row["tokens"] == "0");
        assert!(senders.contains_key(sender) || is_nothing(), "{session}");
    }
    for (sender, sums) in senders {
        let sum = |item, column: &str| -> Option<f64> {
            costs(sender, item).iter().map(|row| row[column].parse::<f64>().ok()).sum()
        };
        assert_eq!(sum("requests", "count"), sums["requests"].as_f64(), "{session}, {sender}");
        for (kind, tokens) in sums["tokens"].as_object().unwrap() {
            assert_eq!(sum(kind, "tokens"), tokens.as_f64(), "{session}, {sender}, {kind}");
        }
        // What recap counts itself is not in the count.
        let usd = sum("total", "usd").zip(sum("output_counted", "usd"));
        let usd = usd.map(|(all, counted)| all - counted);
        assert!(close(usd, sums["usd"].as_f64()), "{session}, {sender}: {usd:?}, not {sums}");
    }
    // Contents are counted by recap: all that was sent has the size of all prompts.
    let sent = rows.iter().filter_map(|row| row["tokens_sent"].parse::<f64>().ok()).sum::<f64>();
    let prompts = ["input", "cache_read", "cache_write_5m", "cache_write_1h"];
    let prompts: f64 =
        prompts.iter().filter_map(|kind| senders["main"]["tokens"][kind].as_f64()).sum();
    assert!((sent / prompts - 1.0).abs() < 0.001, "{session}: {sent} tokens of {prompts}");
    let rebuilt: Vec<&&Row> = rows.iter().filter(|row| row["part"] == "rebuilt").collect();
    let causes = count["rebuilt"].as_object().unwrap();
    assert_eq!(rebuilt.len(), causes.len(), "{session}: {rebuilt:?}, not {causes:?}");
    for row in rebuilt {
        let sums = &causes[&row["item"]];
        let number = |column: &str| row[column].parse::<f64>().ok();
        assert_eq!(number("count"), sums["requests"].as_f64(), "{session}: {row:?}, not {sums}");
        assert_eq!(number("tokens"), sums["tokens"].as_f64(), "{session}: {row:?}, not {sums}");
        assert!(close(number("usd"), sums["usd"].as_f64()), "{session}: {row:?}, not {sums}");
    }
}

/// Whether dollars are the same, or both unknown.
fn close(one: Option<f64>, other: Option<f64>) -> bool {
    one.zip(other).map_or(one.is_none() && other.is_none(), |(a, b)| (a - b).abs() < 1e-6)
}
