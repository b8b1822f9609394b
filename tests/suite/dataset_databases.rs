//! Stores of agents in SQLite. Their schemas are those of the public sources
//! that each reader names; the rows are invented, and no store was at hand.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use recap_formats::{Dataset, DatasetError, LoadOptions, load};
use rusqlite::{Connection, params};
use serde_json::json;
use tempfile::TempDir;

use crate::outline::{outline, usages};

const OPENCODE: &str = "CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, \
    parent_id text, slug text NOT NULL, directory text NOT NULL, title text NOT NULL, \
    version text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL);
  CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, \
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
  CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, \
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);";

const OPENCLAW: &str = "CREATE TABLE transcript_events (session_id TEXT NOT NULL, \
    seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL, event_zstd BLOB, \
    event_utf8_bytes INTEGER, PRIMARY KEY (session_id, seq));";

struct Store {
    folder: TempDir,
    path: PathBuf,
    db: Connection,
}

fn store(name: &str, schema: &str) -> Store {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let db = Connection::open(&path).unwrap();
    db.execute_batch(schema).unwrap();
    Store { folder, path, db }
}

fn try_read(path: &Path, options: &LoadOptions) -> Result<Dataset, DatasetError> {
    load(path, options)
}

fn read(path: &Path) -> Dataset {
    try_read(path, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(path: &Path) -> String {
    try_read(path, &LoadOptions::default()).expect_err("must be refused").to_string()
}

/// A session of OpenCode with a question, a call with its result, and an answer.
fn opencode_session(db: &Connection, id: &str, parent: Option<&str>, at: i64) {
    db.execute(
        "INSERT INTO session VALUES (?1, 'p', ?2, 's', '/home/ada/engine', 't', '1.2', ?3, ?3)",
        params![id, parent, at],
    )
    .unwrap();
    let tokens = json!({"total": 1042, "input": 100, "output": 42, "reasoning": 0,
        "cache": {"read": 900, "write": 0}});
    let state = json!({"status": "completed", "input": {"path": "valve.rs"}, "output": "4210",
        "time": {"start": at, "end": at + 2}});
    let user = json!({"role": "user", "time": {"created": at}});
    let answer = json!({"role": "assistant", "modelID": "m-large", "finish": "stop",
        "time": {"created": at + 1, "completed": at + 3}, "tokens": tokens});
    for (n, (data, parts)) in [
        (user, vec![json!({"type": "text", "text": "Find the limit."})]),
        (
            answer,
            vec![
                json!({"type": "step-start"}),
                json!({"type": "tool", "tool": "read", "callID": format!("{id}-c"), "state": state}),
                json!({"type": "text", "text": "I look."}),
                json!({"type": "step-finish", "tokens": tokens}),
            ],
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let message = format!("msg_{id}_{n}");
        db.execute(
            "INSERT INTO message VALUES (?1, ?2, ?3, ?3, ?4)",
            params![message, id, at + n as i64, data.to_string()],
        )
        .unwrap();
        for (k, part) in parts.into_iter().enumerate() {
            db.execute(
                "INSERT INTO part VALUES (?1, ?2, ?3, ?4, ?4, ?5)",
                params![format!("prt_{message}_{k}"), message, id, at, part.to_string()],
            )
            .unwrap();
        }
    }
}

#[test]
fn the_store_of_opencode_reads_as_its_export() {
    for name in ["opencode.db", "kilo.db"] {
        let store = store(name, OPENCODE);
        opencode_session(&store.db, "ses_b", None, 1_770_000_009_000);
        opencode_session(&store.db, "ses_a", None, 1_770_000_000_000);
        opencode_session(&store.db, "ses_sub", Some("ses_a"), 1_770_000_001_000);
        let dataset = read(&store.path);
        let ids: Vec<&str> = dataset.sessions.iter().map(|t| t.id.as_str()).collect();
        assert_eq!(ids, ["ses_a", "ses_b"]);
        let first = &dataset.sessions[0];
        let expected = ["user: Find the limit.", "assistant: I look.", "ses_a-c: 4210"];
        assert_eq!(outline(first), expected);
        assert_eq!(usages(first), [[100, 900, 0, 42]]);
        assert_eq!(first.model.as_deref(), Some("m-large"));
        assert_eq!(first.project.as_deref(), Some("engine"));
        assert_eq!(first.left_out["message of a subagent"], 3);
        assert_eq!(first.sidechains.len(), 1);
        assert_eq!(first.sidechains[0].model.as_deref(), Some("m-large"));
        let options = LoadOptions { sidechains: true, ..LoadOptions::default() };
        let dataset = try_read(&store.path, &options).unwrap();
        let ids: Vec<&str> = dataset.sessions.iter().map(|t| t.id.as_str()).collect();
        assert_eq!(ids, ["ses_a", "ses_a#sidechain-1", "ses_b"]);
    }
}

#[test]
fn openclaw_log_and_store_read_as_pi() {
    let events = [
        json!({"type": "session", "version": 3, "id": "s1", "timestamp": "2026-01-01T00:00:00Z",
            "cwd": "/home/ada/engine"}),
        json!({"type": "message", "id": "e1", "parentId": null, "message": {"role": "user",
            "content": [{"type": "text", "text": "go"}]}}),
        json!({"type": "message", "id": "e2", "parentId": "e1", "message": {"role": "assistant",
            "model": "m-large", "stopReason": "stop", "content": [{"type": "text", "text": "Done."}]}}),
    ];
    let store = store("openclaw-agent.sqlite", OPENCLAW);
    for (seq, event) in events.iter().enumerate() {
        let text = event.to_string();
        let packed = (seq == 2).then(|| zstd::encode_all(text.as_bytes(), 3).unwrap());
        let plain = packed.is_none().then_some(text);
        store
            .db
            .execute(
                "INSERT INTO transcript_events VALUES ('s1', ?1, ?2, 1770000000000, ?3, NULL)",
                params![seq as i64, plain, packed],
            )
            .unwrap();
    }
    let log = store.folder.path().join("s1.jsonl");
    let lines: String = events.iter().map(|event| format!("{event}\n")).collect();
    std::fs::write(&log, lines).unwrap();
    for path in [&store.path, &log] {
        let options = LoadOptions { only: Some("pi"), ..LoadOptions::default() };
        let dataset = try_read(path, &options).unwrap();
        let session = &dataset.sessions[0];
        assert_eq!(outline(session), ["user: go", "assistant: Done."]);
        assert_eq!((session.id.as_str(), session.project.as_deref()), ("s1", Some("engine")));
    }
}

/// Names and bytes of all files of a folder.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|e| (e.file_name().to_string_lossy().into_owned(), std::fs::read(e.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn live_store_reads_with_log_and_stays_unchanged() {
    let store = store("opencode.db", "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;");
    store.db.execute_batch(OPENCODE).unwrap();
    opencode_session(&store.db, "ses_a", None, 1_770_000_000_000);
    let before = contents(store.folder.path());
    assert_eq!(before.len(), 3, "the database, its log and its index");
    for input in [store.path.as_path(), store.folder.path()] {
        let dataset = read(input);
        assert_eq!(dataset.sessions.len(), 1);
        let files: Vec<&str> = dataset.files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(files, ["opencode.db", "opencode.db-wal"]);
        let hash = |at: usize| blake3::hash(&before[at].1).to_hex().to_string();
        assert_eq!(dataset.files[0].1, hash(0));
        assert_eq!(dataset.files[1].1, hash(2));
        assert_eq!(dataset.warnings.len(), 1);
        assert!(dataset.warnings[0].contains("public schema"), "{:?}", dataset.warnings);
    }
    assert_eq!(contents(store.folder.path()), before);
}

#[test]
fn log_that_ends_within_a_change_is_told() {
    let store = store("opencode.db", "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;");
    store.db.execute_batch(OPENCODE).unwrap();
    store.db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    for n in 0..9 {
        opencode_session(&store.db, &format!("ses_{n}"), None, 1_770_000_000_000 + n);
    }
    let log = std::fs::read(store.folder.path().join("opencode.db-wal")).unwrap();
    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(&store.path, copy.path().join("opencode.db")).unwrap();
    let mut told = 0;
    for end in (0..=log.len()).step_by(997).chain([log.len()]) {
        std::fs::write(copy.path().join("opencode.db-wal"), &log[..end]).unwrap();
        let Ok(dataset) = try_read(&copy.path().join("opencode.db"), &LoadOptions::default())
        else {
            continue;
        };
        let said = dataset.warnings.iter().any(|text| text.contains("ends within a change"));
        let is_whole = end == log.len() || (end - 32) % (24 + 4096) == 0;
        assert!(said || is_whole, "{end} of {}: {:?}", log.len(), dataset.warnings);
        told += usize::from(said);
    }
    let whole = read(&copy.path().join("opencode.db"));
    assert_eq!((whole.sessions.len(), whole.warnings.len()), (9, 1), "{:?}", whole.warnings);
    assert!(told > 9, "{told}");
}

#[test]
fn rows_of_no_listed_session_are_told() {
    let store = store("opencode.db", OPENCODE);
    opencode_session(&store.db, "ses_a", None, 1_770_000_000_000);
    opencode_session(&store.db, "ses_b", None, 1_770_000_001_000);
    store.db.execute_batch("DELETE FROM session WHERE id = 'ses_b'").unwrap();
    let warnings = read(&store.path).warnings;
    assert!(warnings[0].contains("left out: 7 rows of no listed session"), "{warnings:?}");
}

#[test]
fn packed_store_is_read_truncated_store_is_refused() {
    let Store { folder, path, db } = store("opencode.db", OPENCODE);
    for n in 0..40 {
        opencode_session(&db, &format!("ses_{n}"), None, 1_770_000_000_000 + n);
    }
    db.close().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let packed = folder.path().join("opencode.db.gz");
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut encoder, &bytes).unwrap();
    std::fs::write(&packed, encoder.finish().unwrap()).unwrap();
    assert_eq!(read(&packed).sessions.len(), 40);
    let cut = folder.path().join("cut.db");
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let error = refused(&cut);
    assert!(error.contains("broken database"), "{error}");
}

#[test]
fn a_hostile_schema_is_refused() {
    let view = format!(
        "{OPENCODE} DROP TABLE part; CREATE TABLE other (x, t text DEFAULT \
        'CREATE TABLE part (message_id, data)'); \
        CREATE VIEW part AS SELECT 'p' AS id, 's' AS session_id, 'm' AS message_id, 'd' AS data;"
    );
    let computed = OPENCODE.replace(
        "time_updated integer NOT NULL, data text NOT NULL);\n  CREATE TABLE part",
        "time_updated integer, data text AS (hex(zeroblob(9000000))));\n  CREATE TABLE part",
    );
    for (schema, said) in [
        (view.as_str(), "`part` is a view, no table"),
        (computed.as_str(), "table `message` has no stored column `data`"),
    ] {
        let store = store("opencode.db", schema);
        let error = refused(&store.path);
        assert!(error.contains(said), "{error}");
    }
    let none = store("notes.db", "CREATE TABLE notes (x);");
    let error = refused(&none.path);
    assert!(error.contains("a SQLite database with the tables `notes`"), "{error}");
}

#[test]
fn broken_cell_skips_session_naming_table_and_row() {
    let store = store("opencode.db", OPENCODE);
    opencode_session(&store.db, "ses_a", None, 1_770_000_000_000);
    opencode_session(&store.db, "ses_b", None, 1_770_000_001_000);
    store.db.execute_batch("UPDATE message SET data = '{' WHERE id = 'msg_ses_a_0'").unwrap();
    let dataset = read(&store.path);
    assert_eq!(dataset.sessions.len(), 1);
    let warning = &dataset.warnings[0];
    assert!(warning.contains("session ses_a: "), "{warning}");
    assert!(warning.contains("table `message`, row `msg_ses_a_0`, column `data`"), "{warning}");
    store.db.execute_batch("UPDATE message SET data = zeroblob(70000000)").unwrap();
    let error = refused(&store.path);
    assert!(error.contains("larger than"), "{error}");
    assert!(error.contains("table `message`"), "{error}");
}

#[test]
fn empty_store_is_reported_with_fitting_remedy() {
    for (name, schema) in [("opencode.db", OPENCODE), ("kilo.db", OPENCODE)] {
        let store = store(name, schema);
        let error = load(&store.path, &LoadOptions::default()).unwrap_err();
        assert!(error.to_string().contains("the store is empty: it lists no session"), "{error}");
        assert!(error.help().contains("another store"), "{}", error.help());
    }
    let silent = store("opencode.db", OPENCODE);
    opencode_session(&silent.db, "s", None, 1);
    silent.db.execute_batch("DELETE FROM message; DELETE FROM part;").unwrap();
    let error = refused(&silent.path);
    assert!(error.contains("the store lists 1 session, none with a message"), "{error}");
}

#[test]
fn triggers_never_run_and_session_cycles_end() {
    let store = store("opencode.db", OPENCODE);
    opencode_session(&store.db, "ses_a", Some("ses_b"), 1_770_000_000_000);
    opencode_session(&store.db, "ses_b", Some("ses_a"), 1_770_000_001_000);
    store
        .db
        .execute_batch("CREATE TRIGGER t AFTER INSERT ON part BEGIN DELETE FROM part; END;")
        .unwrap();
    let dataset = read(&store.path);
    assert_eq!(dataset.sessions.len(), 1);
    assert_eq!(dataset.sessions[0].messages.len(), 3);
}

#[test]
fn two_thousand_sessions_are_read_in_linear_time() {
    let time = |sessions: i64| -> Duration {
        let store = store("opencode.db", OPENCODE);
        store.db.execute_batch("PRAGMA synchronous = OFF; BEGIN").unwrap();
        for n in 0..sessions {
            opencode_session(&store.db, &format!("ses_{n}"), None, 1_770_000_000_000 + n);
        }
        store.db.execute_batch("COMMIT").unwrap();
        let begun = Instant::now();
        assert_eq!(read(&store.path).sessions.len(), sessions as usize);
        begun.elapsed()
    };
    let (few, many) = (time(500), time(2_000));
    assert!(many < few * 12 + Duration::from_secs(1), "{few:?} {many:?}");
}

/// The tables that OpenCode 2 keeps beside those of OpenCode 1.
const OPENCODE_2: &str = "CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, \
    parent_id text, fork_session_id text, slug text NOT NULL, directory text NOT NULL, \
    version text NOT NULL, time_created integer NOT NULL);
  CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, \
    type text NOT NULL, seq integer NOT NULL, time_created integer NOT NULL, data text NOT NULL);";

fn session_2(db: &Connection, id: &str, fork_of: Option<&str>, at: i64) {
    db.execute(
        "INSERT INTO session_v2 VALUES (?1, 'p', NULL, ?2, 's', '/home/ada/engine', '2.0', ?3)",
        params![id, fork_of, at],
    )
    .unwrap();
}

/// Entries of a session, each a minute after the one before.
fn entries(db: &Connection, session: &str, at: i64, entries: &[(&str, serde_json::Value)]) {
    for (seq, (kind, data)) in (0_i64..).zip(entries) {
        let at = at + 60_000 * seq;
        let mut data = data.clone();
        if data.is_object() && data.get("time").is_none() {
            data["time"] = json!({"created": at, "completed": at + 5});
        }
        let id = format!("msg_{session}_{seq}");
        db.execute(
            "INSERT INTO session_message VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![id, session, kind, seq, at, data.to_string()],
        )
        .unwrap();
    }
}

fn answer_2(text: &str, [input, read, write, output]: [u64; 4]) -> serde_json::Value {
    json!({"model": {"id": "m-large", "providerID": "p"}, "finish": "stop",
        "content": [{"type": "text", "text": text}],
        "tokens": {"input": input, "output": output, "reasoning": 2,
            "cache": {"read": read, "write": write}}})
}

#[test]
fn entries_of_opencode_2_are_read_as_they_are_sent() {
    let call = json!({"type": "tool", "id": "c", "name": "grep", "time": {"completed": 1},
        "state": {"status": "completed", "input": {"pattern": "limit"}, "content": [
            {"type": "text", "text": "4210"}, {"type": "file", "mime": "image/png", "uri": "x"}]}});
    let failed = json!({"type": "tool", "id": "d", "name": "read", "state": {"status": "error",
        "input": {}, "error": {"type": "unknown", "message": "no such file"}}});
    let open = json!({"type": "tool", "id": "e", "name": "read",
        "state": {"status": "streaming", "input": "{\"path\":"}});
    let mut calls = answer_2("I look.", [3, 0, 900, 40]);
    calls["content"].as_array_mut().unwrap().extend([call, failed, open]);
    let file = json!({"mime": "text/plain", "name": "a.txt", "data": "TElNSVQ="});
    let all = [
        ("agent-switched", json!({"agent": "build"})),
        ("system", json!({"text": "Be brief."})),
        ("user", json!({"text": "Find the limit.", "files": [file]})),
        ("assistant", calls),
        ("shell", json!({"command": "ls", "output": {"output": "src"}})),
        ("synthetic", json!({"text": "A note."})),
        ("assistant", answer_2("It is 4210.", [3, 900, 60, 9])),
        (
            "compaction",
            json!({"status": "completed", "reason": "auto", "summary": "Found.",
            "recent": "[User]: the rest", "tokens": {"input": 4, "output": 20, "reasoning": 1,
            "cache": {"read": 970, "write": 0}}}),
        ),
        (
            "compaction",
            json!({"status": "failed", "reason": "auto", "tokens": {"input": 80,
            "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}}),
        ),
        ("location-switched", json!({"location": {"directory": "/home/ada/other"}})),
        ("hologram", json!({"text": "?"})),
        ("user", json!({"text": ["no text"]})),
        ("assistant", answer_2("Good.", [3, 500, 10, 5])),
        ("idle", json!({"outcome": "succeeded"})),
    ];
    let store = store("opencode.db", OPENCODE_2);
    session_2(&store.db, "ses_n", None, 1_770_000_000_000);
    entries(&store.db, "ses_n", 1_770_000_000_000, &all);
    let dataset = read(&store.path);
    let session = &dataset.sessions[0];
    let expected = [
        "system: Be brief.",
        "user: Find the limit.",
        "assistant: I look.",
        "c: 4210",
        "d: no such file",
        "e: [Tool execution was interrupted]",
        "user: The following shell command was executed by the user:\n\nCommand:\nls\n\nOutput:\nsrc",
        "user: A note.",
        "assistant: It is 4210.",
        "user: The working directory has been changed to /home/ada/other.",
        "assistant: Good.",
    ];
    assert_eq!(outline(session), expected);
    let shown = serde_json::to_string(&session.messages).unwrap();
    assert!(shown.contains("Attached file: a.txt\\n\\nLIMIT"), "{shown}");
    assert_eq!(session.messages[3].images(), 1);
    // What was thought is billed as output.
    assert_eq!(usages(session), [[3, 0, 900, 42], [3, 900, 60, 11], [3, 500, 10, 7]]);
    assert!(session.messages.iter().filter_map(|one| one.usage).all(|usage| usage.output_final));
    let [compaction] = &session.compactions[..] else { panic!() };
    assert_eq!((compaction.after, compaction.kept_from), (9, 9));
    assert_eq!(compaction.summary.as_deref(), Some("Found."));
    assert!(compaction.texts().next().unwrap().1.contains("[User]: the rest"));
    assert_eq!(compaction.tokens_before, Some(963));
    assert_eq!(compaction.call.as_ref().map(|call| call.usage.output), Some(21));
    // One that failed was billed.
    assert_eq!(session.sidechains.iter().map(|one| one.usage.input).sum::<u64>(), 80);
    let left: Vec<(&str, u64)> = session.left_out.iter().map(|(why, n)| (&**why, *n)).collect();
    let expected = [
        ("compaction that did not end", 1),
        ("empty message", 1),
        ("hologram entry", 1),
        ("structure of undecodable arguments", 1),
        ("text of an entry that is no text", 1),
    ];
    assert_eq!(left, expected);
}

#[test]
fn sessions_of_both_opencode_stores_are_read_once() {
    let store = store("opencode.db", &format!("{OPENCODE}{OPENCODE_2}"));
    let at = 1_770_000_000_000;
    for (id, at) in [("ses_old", at), ("ses_moved", at + 1), ("ses_on", at + 2)] {
        opencode_session(&store.db, id, None, at);
    }
    // One was taken over with the ids of its messages, one went on, one is new.
    let said = [("user", json!({"text": "Taken over."})), ("assistant", answer_2("Yes.", [9; 4]))];
    let on = [("user", json!({"text": "And on."}))];
    for (id, entry) in [("ses_moved", &said[..]), ("ses_on", &on), ("ses_new", &said)] {
        session_2(&store.db, id, None, at + 9);
        entries(&store.db, id, at + 10, entry);
    }
    store
        .db
        .execute_batch("UPDATE session_message SET id = 'msg_ses_on_z' WHERE session_id = 'ses_on'")
        .unwrap();
    let dataset = read(&store.path);
    let all: Vec<_> = dataset.sessions.iter().map(|one| (one.id.as_str(), outline(one))).collect();
    let v1 = |id: &str| {
        ["user: Find the limit.", "assistant: I look."]
            .map(str::to_owned)
            .into_iter()
            .chain([format!("{id}-c: 4210")])
            .collect::<Vec<_>>()
    };
    let v2 = vec!["user: Taken over.".to_owned(), "assistant: Yes.".to_owned()];
    let went_on = [v1("ses_on"), vec!["user: And on.".to_owned()]].concat();
    let expected = [
        ("ses_old", v1("ses_old")),
        ("ses_moved", v2.clone()),
        ("ses_new", v2),
        ("ses_on", went_on),
    ];
    assert_eq!(all, expected);
    assert_eq!(dataset.warnings.len(), 1, "{:?}", dataset.warnings);
}

#[test]
fn a_fork_counts_its_own_requests_alone() {
    let store = store("opencode.db", OPENCODE_2);
    let at = 1_770_000_000_000;
    let said = [("user", json!({"text": "Go."})), ("assistant", answer_2("Gone.", [9; 4]))];
    session_2(&store.db, "ses_a", None, at);
    entries(&store.db, "ses_a", at, &said);
    session_2(&store.db, "ses_fork", Some("ses_a"), at + 100_000);
    let both = [&said[..], &said].concat();
    entries(&store.db, "ses_fork", at, &both);
    let dataset = read(&store.path);
    let counted = |at: usize| dataset.sessions[at].requests().count();
    assert_eq!((counted(0), dataset.sessions[1].responses().count()), (1, 2));
    assert_eq!(counted(1), 1);
}

#[test]
fn tables_that_hold_other_sessions_are_told() {
    let at = 1_770_000_000_000;
    for (tables, told) in [
        (
            "CREATE TABLE session_input (id, session_id, data); INSERT INTO session_input VALUES ('i', 'ses_a', '{}')",
            None,
        ),
        ("CREATE TABLE session_v3 (id, title)", None),
        (
            "CREATE TABLE session_v3 (id, title); INSERT INTO session_v3 VALUES ('ses_x', 't')",
            Some("session_v3"),
        ),
        (
            "CREATE TABLE session_entry_v3 (id, session_id, data); INSERT INTO session_entry_v3 VALUES ('m', 'ses_x', '{}')",
            Some("session_entry_v3"),
        ),
        (
            "CREATE TABLE session_message_v3 (id, session_id, data); INSERT INTO session_message_v3 VALUES ('m', 'ses_a', '{}')",
            Some("session_message_v3"),
        ),
        (
            "CREATE TABLE \"chat\"\"s\" (session_id, data); INSERT INTO \"chat\"\"s\" VALUES (7, x'00')",
            Some("chat\"s"),
        ),
        ("CREATE VIEW session_all AS SELECT 'ses_x' AS id", None),
    ] {
        let store = store("opencode.db", OPENCODE);
        opencode_session(&store.db, "ses_a", None, at);
        store.db.execute_batch(tables).unwrap();
        let warnings = read(&store.path).warnings.join("\n");
        assert_eq!(
            warnings.contains("left out: the table"),
            told.is_some(),
            "{tables}: {warnings}"
        );
        assert!(told.is_none_or(|name| warnings.contains(&format!("`{name}`"))), "{warnings}");
    }
}

#[test]
fn hostile_entries_of_opencode_2_are_told() {
    for data in [
        json!(7),
        json!([]),
        json!({"content": 7, "tokens": 7}),
        json!({"content": [{"type": "tool", "state": {"status": "completed"}}]}),
        json!({"content": [{"type": "tool", "id": "c", "name": "n", "state": {"status": "zz"}}]}),
        json!({"content": [7, {"type": "zz"}], "model": 7, "time": {"created": 1e300}}),
        json!({"tokens": {"input": -1, "output": 1e300, "cache": {"read": 0.5}}, "content": []}),
    ] {
        let store = store("opencode.db", OPENCODE_2);
        session_2(&store.db, "ses_a", None, 1);
        session_2(&store.db, "ses_b", None, 2);
        entries(
            &store.db,
            "ses_a",
            1,
            &[("user", json!({"text": "Go."})), ("assistant", data.clone())],
        );
        entries(&store.db, "ses_b", 2, &[("user", json!({"text": "Go."}))]);
        let dataset = read(&store.path);
        let is_told = dataset.warnings.iter().any(|text| text.contains("set aside: session ses_a"))
            || dataset.sessions[0].left_out.values().any(|n| *n > 0);
        assert!(is_told, "{data}: {:?}", dataset.warnings);
    }
}
