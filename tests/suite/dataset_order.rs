//! The order of a log is that of its lines; timestamps say nothing of it.

use recap_formats::{Dataset, LoadOptions, load_reader};
use serde_json::{Value as Json, json};

/// Requests of the session.
const REQUESTS: usize = 20;

/// A Claude Code session in which every response makes two calls at once:
/// their results are branches of their own.
fn session(clock: impl Fn(usize) -> String) -> Vec<Json> {
    let mut lines: Vec<Json> = Vec::new();
    let mut add = |uuid: String, parent: Option<String>, kind: &str, message: Json| {
        let at = clock(lines.len());
        lines.push(json!({
            "type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "5e55",
            "timestamp": at, "message": message,
        }));
    };
    let said = |text: &str| json!({"role": "user", "content": text});
    add("u".to_owned(), None, "user", said("Mend the import."));
    let mut last = "u".to_owned();
    for n in 0..REQUESTS {
        let call = |letter: &str| {
            let id = format!("{n}{letter}");
            let part = json!({"type": "tool_use", "id": id, "name": "Read", "input": {}});
            json!({"role": "assistant", "id": format!("msg{n}"), "model": "m", "content": [part]})
        };
        let result = |letter: &str| {
            let id = format!("{n}{letter}");
            let part = json!({"type": "tool_result", "tool_use_id": id, "content": "read"});
            json!({"role": "user", "content": [part]})
        };
        add(format!("a{n}"), Some(last), "assistant", call("a"));
        add(format!("ra{n}"), Some(format!("a{n}")), "user", result("a"));
        add(format!("b{n}"), Some(format!("a{n}")), "assistant", call("b"));
        add(format!("rb{n}"), Some(format!("b{n}")), "user", result("b"));
        last = format!("rb{n}");
    }
    lines
}

fn forward(line: usize) -> String {
    format!("2026-01-05T09:{:02}:{:02}Z", line / 60, line % 60)
}

fn read(lines: &[Json]) -> Dataset {
    let log: Vec<String> = lines.iter().map(Json::to_string).collect();
    let read = load_reader("log.jsonl", log.join("\n").as_bytes(), &LoadOptions::default());
    read.unwrap_or_else(|e| panic!("{e}"))
}

fn ids(dataset: &Dataset) -> Vec<&str> {
    dataset.sessions[0].messages.iter().map(|message| message.id.as_str()).collect()
}

#[test]
fn timestamps_in_reverse_lose_nothing() {
    let right = read(&session(forward));
    let requests = right.sessions[0].messages.iter().filter(|m| m.is_request()).count();
    assert_eq!(requests, REQUESTS);
    let reversed = read(&session(|line| forward(200 - line)));
    assert_eq!(ids(&reversed), ids(&right));
    assert_eq!(reversed.warnings, Vec::<String>::new());
}

#[test]
fn one_odd_timestamp_loses_nothing() {
    let right = read(&session(forward));
    for odd in 0..4 * REQUESTS + 1 {
        for time in ["2031-01-01T00:00:00Z", "1999-01-01T00:00:00Z"] {
            let clock = |line| if line == odd { time.to_owned() } else { forward(line) };
            assert_eq!(ids(&read(&session(clock))), ids(&right), "line {odd} at {time}");
        }
    }
}

#[test]
fn newest_first_file_is_read_from_its_end() {
    let right = read(&session(forward));
    let mut lines = session(forward);
    lines.reverse();
    let reversed = read(&lines);
    assert_eq!(ids(&reversed), ids(&right));
    let said = "log.jsonl: its newest record comes first; it was read from its end";
    assert_eq!(reversed.warnings, [said]);
}

#[test]
fn conversation_mostly_on_abandoned_branches_is_warned_of() {
    let mut lines = session(forward);
    let again = json!({"role": "user", "content": "Begin again."});
    lines.push(json!({"type": "user", "uuid": "z", "parentUuid": "u", "sessionId": "5e55",
        "timestamp": forward(90), "message": again}));
    let rewound = read(&lines);
    assert_eq!(ids(&rewound), ["u", "z"]);
    assert_eq!(rewound.sessions[0].left_out["record on an abandoned branch"], 80);
    assert_eq!(rewound.warnings.len(), 1);
    let actual = "80 records lie on branches that the conversation left, 2 messages on the one";
    assert!(rewound.warnings[0].contains(actual), "{:?}", rewound.warnings);
}
