//! Forks and resumed sessions: what they copy of each other counts once.

use recap_core::model::Session;
use recap_formats::{Dataset, Export};
use serde_json::{Value as Json, json};

use crate::outline::{dataset as read, imported, lines};

/// A turn of Claude Code, at a minute: the response has the ids of this number.
fn turn(minute: usize, n: usize) -> [Json; 2] {
    let record = |kind: &str, id: String, parent: Option<String>, second: u32, message: Json| {
        json!({"type": kind, "uuid": id, "parentUuid": parent, "isSidechain": false,
            "sessionId": "s", "timestamp": format!("2026-01-05T09:{minute:02}:{second:02}.500Z"),
            "requestId": format!("req-{n}"), "message": message})
    };
    let before = n.checked_sub(1).map(|n| format!("a{n}"));
    let usage = json!({"input_tokens": 100 * (n + 1), "output_tokens": 5});
    let answer = json!({"role": "assistant", "id": format!("msg-{n}"), "model": "m",
        "content": [{"type": "text", "text": format!("said {n}")}], "usage": usage,
        "stop_reason": "end_turn"});
    let asks = json!({"role": "user", "content": format!("asks {n}")});
    [
        record("user", format!("u{n}"), before, 0, asks),
        record("assistant", format!("a{n}"), Some(format!("u{n}")), 5, answer),
    ]
}

/// The turns of these numbers, each one minute after the other.
fn claude(turns: &[usize]) -> Vec<Json> {
    let mut records: Vec<Json> = turns.iter().flat_map(|&n| turn(n, n)).collect();
    records[0]["parentUuid"] = Json::Null;
    // A branch goes on behind what stands before it.
    for at in (2..records.len()).step_by(2) {
        records[at]["parentUuid"] = records[at - 1]["uuid"].clone();
    }
    records
}

/// A rollout of Codex: its records with their times, in milliseconds of a minute.
fn codex(minute: usize, records: &[Json]) -> Vec<Json> {
    let timed = |(n, record): (usize, &Json)| {
        let mut record = record.clone();
        record["timestamp"] = json!(format!("2026-01-05T09:{minute:02}:00.{n:03}Z"));
        record
    };
    records.iter().enumerate().map(timed).collect()
}

fn meta(id: &str, fork_of: Option<&str>) -> Json {
    json!({"type": "session_meta", "payload": {"id": id, "source": "cli", "forked_from_id": fork_of}})
}

/// A turn of Codex with a prompt of this size.
fn codex_turn(text: &str, input: u64) -> Vec<Json> {
    let said = |role: &str, text: &str| {
        json!({"type": "response_item", "payload": {"type": "message", "role": role,
            "content": [{"type": "text", "text": text}]}})
    };
    let counts = json!({"input_tokens": input, "output_tokens": 1});
    let info = json!({"total_token_usage": {"input_tokens": 7 * input, "output_tokens": 1},
        "last_token_usage": counts});
    let counted = json!({"type": "event_msg", "payload": {"type": "token_count", "info": info}});
    let answer = format!("to {text}");
    vec![said("user", text), said("assistant", &answer), counted]
}

fn folder(files: &[(&str, Vec<Json>)]) -> tempfile::TempDir {
    let files = files.iter().map(|(name, records)| (*name, lines(records)));
    crate::outline::folder(&files.collect::<Vec<_>>())
}

/// Each session with the number of its responses and its own requests' prompts.
fn counted(dataset: &Dataset) -> Vec<(&str, usize, Vec<u64>)> {
    let prompts = |session: &Session| {
        let own = session.requests().map(|at| &session.messages[at as usize]);
        own.map(|message| message.usage.map_or(0, |usage| usage.prompt())).collect()
    };
    let each = dataset.sessions.iter();
    each.map(|one| (one.id.as_str(), one.responses().count(), prompts(one))).collect()
}

#[test]
fn longest_session_counts_what_several_share() {
    let folder = folder(&[
        ("a.jsonl", claude(&[0, 1, 2])),
        ("b.jsonl", claude(&[0, 1, 5, 6])),
        ("c.jsonl", claude(&[0, 1])),
        ("d.jsonl", claude(&[20, 21])),
    ]);
    let dataset = read(folder.path());
    let expected =
        [("a", 3, vec![300]), ("b", 4, vec![100, 200, 600, 700]), ("d", 2, vec![2_100, 2_200])];
    assert_eq!(counted(&dataset), expected);
    // What was copied is still in the context.
    assert_eq!(dataset.sessions[0].messages.len(), 6);
    let told = "3 sessions of 1 family share history: 4 copied responses counted once, in the \
                longest; left out, since a longer one has all of it: c.jsonl";
    assert_eq!(dataset.warnings, [told]);
}

#[test]
fn response_is_told_by_its_ids_wherever_it_stands() {
    // The time, the text and the ids of the records differ: the response is the same.
    let mut fork = claude(&[0, 1]);
    for record in &mut fork {
        record["timestamp"] = json!("2026-02-01T00:00:00Z");
        let uuid = |id: &Json| id.as_str().map(|id| format!("new-{id}"));
        record["parentUuid"] = json!(uuid(&record["parentUuid"]));
        record["uuid"] = json!(uuid(&record["uuid"]));
    }
    fork[1]["message"]["content"] = json!("said otherwise");
    let both = folder(&[("a.jsonl", claude(&[0, 3])), ("b.jsonl", fork.clone())]);
    let expected = [("a", 2, vec![100, 400]), ("b", 2, vec![200])];
    assert_eq!(counted(&read(both.path())), expected);
    // Another request is another response, whatever its id.
    fork[1]["requestId"] = json!("another");
    let other = folder(&[("a.jsonl", claude(&[0, 3])), ("b.jsonl", fork)]);
    assert_eq!(counted(&read(other.path()))[1].2, [100, 200]);
}

#[test]
fn without_ids_time_usage_and_text_tell_a_response() {
    let anonymous = |turns: &[usize]| {
        let mut records = claude(turns);
        for record in &mut records {
            record["message"].as_object_mut().unwrap().remove("id");
        }
        records
    };
    let mut other = anonymous(&[0, 1]);
    other[1]["timestamp"] = json!("2026-01-05T09:00:05.501Z");
    other[3]["message"]["content"] = json!("otherwise");
    let same = folder(&[("a.jsonl", anonymous(&[0, 1, 2])), ("b.jsonl", anonymous(&[0, 1, 4]))]);
    assert_eq!(counted(&read(same.path()))[1].2, [500]);
    let differs = folder(&[("a.jsonl", anonymous(&[0, 1, 2])), ("b.jsonl", other)]);
    assert_eq!(counted(&read(differs.path()))[1].2, [100, 200]);
}

#[test]
fn codex_forks_repeat_their_parents_turns_at_new_times() {
    let history = [codex_turn("one", 10), codex_turn("two", 20)].concat();
    let parent = [vec![meta("p", None)], history.clone(), codex_turn("three", 30)].concat();
    let copied = [vec![meta("p", None)], history].concat();
    let child = [vec![meta("c", Some("p"))], copied.clone(), codex_turn("four", 31)].concat();
    // The fork of a fork: what the child said itself is copied, too.
    let grandchild = [
        vec![meta("g", Some("c")), meta("c", Some("p"))],
        copied.clone(),
        codex_turn("four", 31),
        codex_turn("five", 40),
    ];
    // It names nobody, but repeats the record of the other.
    let unnamed = [vec![meta("u", None)], copied, codex_turn("six", 50)].concat();
    let files = folder(&[
        ("1.jsonl", codex(1, &parent)),
        ("2.jsonl", codex(2, &child)),
        ("3.jsonl", codex(3, &grandchild.concat())),
        ("4.jsonl", codex(4, &unnamed)),
        // Another conversation that happens to say the same.
        ("5.jsonl", codex(5, &[vec![meta("x", None)], codex_turn("one", 10)].concat())),
    ]);
    let dataset = read(files.path());
    let expected = [
        ("1", 3, vec![30]),
        // The grandchild is the longest.
        ("3", 4, vec![10, 20, 31, 40]),
        ("4", 3, vec![50]),
        ("5", 1, vec![10]),
    ];
    assert_eq!(counted(&dataset), expected);
    let [told] = &dataset.warnings[..] else { panic!("{:?}", dataset.warnings) };
    assert!(told.starts_with("4 sessions of 1 family share history: 7 copied"), "{told}");
    assert!(told.ends_with(": 2.jsonl"), "{told}");
}

#[test]
fn forks_of_a_missing_parent_share_its_history() {
    let fork = |id: &str, own: &str, size| {
        [vec![meta(id, Some("lost"))], codex_turn("one", 10), codex_turn(own, size)].concat()
    };
    let folder = folder(&[
        ("1.jsonl", codex(1, &fork("a", "two", 20))),
        ("2.jsonl", codex(2, &fork("b", "three", 30))),
    ]);
    let expected = [("1", 2, vec![10, 20]), ("2", 2, vec![30])];
    assert_eq!(counted(&read(folder.path())), expected);
}

#[test]
fn forks_in_a_circle_and_of_themselves_end() {
    let fork = |id: &str, of: Json, text: &str| {
        let mut first = meta(id, None);
        first["payload"]["forked_from_id"] = of;
        [vec![first], codex_turn(text, 10)].concat()
    };
    let folder = folder(&[
        ("1.jsonl", codex(1, &fork("a", json!("b"), "one"))),
        ("2.jsonl", codex(2, &fork("b", json!("a"), "two"))),
        ("3.jsonl", codex(3, &fork("c", json!("c"), "three"))),
        ("4.jsonl", codex(4, &fork("d", json!(7), "four"))),
        ("5.jsonl", codex(5, &fork("", json!(""), "five"))),
    ]);
    let dataset = read(folder.path());
    let requests: usize = dataset.sessions.iter().map(|session| session.requests().count()).sum();
    assert_eq!(requests, 5);
}

#[test]
fn compactions_before_a_copied_response_are_copied() {
    let compacted = json!({"type": "compacted", "payload": {"message": "It is done."}});
    let history = [codex_turn("one", 10), vec![compacted.clone()], codex_turn("two", 20)].concat();
    let parent = [vec![meta("p", None)], history.clone(), codex_turn("three", 30)].concat();
    let child = [vec![meta("c", Some("p"))], history, vec![compacted]].concat();
    let child = [child, codex_turn("four", 31)].concat();
    let folder = folder(&[("1.jsonl", codex(1, &parent)), ("2.jsonl", codex(2, &child))]);
    let dataset = read(folder.path());
    let copied = |at: usize| dataset.sessions[at].compactions.iter().map(|made| made.copied);
    assert_eq!(copied(0).collect::<Vec<_>>(), [false]);
    assert_eq!(copied(1).collect::<Vec<_>>(), [true, false]);
    assert_eq!(dataset.sessions[1].own_compactions().count(), 1);
}

#[test]
fn import_counts_once_and_what_it_wrote_stays() {
    let source = folder(&[
        ("a.jsonl", claude(&[0, 1, 2])),
        ("b.jsonl", claude(&[0, 1])),
        ("c.jsonl", claude(&[0, 1, 4])),
    ]);
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("out");
    let imported = imported(source.path(), &out, Export::Native, false);
    assert_eq!((imported.sessions, imported.warnings.len()), (2, 1));
    let (written, at_once) = (read(&out), read(source.path()));
    assert_eq!(written.sessions, at_once.sessions);
    assert_eq!(counted(&written)[1].2, [500]);
    assert_eq!(written.warnings, Vec::<String>::new());
    // Two data sets of one recording are two, as they were written.
    let twice = written.sessions.iter().map(|session| session.copied.len());
    assert_eq!(twice.collect::<Vec<_>>(), [0, 2]);
}
