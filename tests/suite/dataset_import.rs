//! Writing recordings: what an import keeps, replaces and exports.

use std::collections::BTreeMap;

use recap_core::model::{Message, Session};
use recap_formats::{Export, ImportOptions, LoadOptions, Problem, import};
use serde_json::json;

use crate::outline::{dataset as read, fixture, folder, imported as write};

/// What every format keeps: who said what, and which result belongs to which call.
fn outline(session: &Session) -> Vec<(String, String, Vec<String>)> {
    let messages = session.messages.iter().map(|message| {
        let calls = message.calls().map(str::to_owned).collect();
        match message.tool_result() {
            Some((call, text)) => (call.to_owned(), text.to_owned(), calls),
            None => (message.role.as_str().to_owned(), message.first_text().to_owned(), calls),
        }
    });
    messages.collect()
}

#[test]
fn import_of_any_format_reads_back_unchanged() {
    for name in
        ["claude-code.jsonl", "pi.jsonl", "codex.jsonl", "opencode.json", "openai-chat.json"]
    {
        let input = fixture(name);
        let desk = tempfile::tempdir().unwrap();
        let out = desk.path().join("out");
        let imported = write(&input, &out, Export::Native, false);
        let (before, after) = (read(&input), read(&out));
        assert_eq!(before.sessions, after.sessions, "{name}");
        assert_eq!(imported.sessions, before.sessions.len());
        let left: u64 = before.sessions.iter().flat_map(|one| one.left_out.values()).sum();
        assert_eq!(imported.left_out.iter().map(|(.., n)| n).sum::<u64>(), left, "{name}");
    }
}

#[test]
fn folder_with_questions_and_repeated_ids_reads_back() {
    let pi = std::fs::read(fixture("pi.jsonl")).unwrap();
    let desk = folder(&[("in/a/pi.jsonl", &pi), ("in/b/pi.jsonl", &pi)]);
    let [input, out, again] = ["in", "out", "again"].map(|name| desk.path().join(name));
    write(&input, &out, Export::Native, false);
    assert_eq!(read(&input).sessions, read(&out).sessions);
    let native = fixture("native");
    write(&native, &again, Export::Native, false);
    let (before, after) = (read(&native), read(&again));
    assert_eq!((before.questions, before.licence), (after.questions, after.licence));
}

#[test]
fn broken_file_leaves_only_other_files_sessions() {
    let chat = |n: u32| json!({"id": n, "messages": [{"role": "user", "content": "go"}]});
    let broken = format!("{}\n{}\n{}\n", chat(1), chat(2), chat(2));
    let desk = folder(&[("in/a.jsonl", broken), ("in/b.jsonl", format!("{}\n", chat(3)))]);
    let (input, out) = (desk.path().join("in"), desk.path().join("out"));
    let imported = write(&input, &out, Export::Native, false);
    assert_eq!(imported.sessions, 1);
    assert!(imported.warnings[0].contains("set aside: a.jsonl"), "{:?}", imported.warnings);
    assert_eq!(read(&out).sessions[0].id, "3");
}

#[test]
fn failed_import_leaves_nothing_behind() {
    let desk = tempfile::tempdir().unwrap();
    let (input, out) = (desk.path().join("x.txt"), desk.path().join("out"));
    std::fs::write(&input, "no session").unwrap();
    let (load, export) = (LoadOptions::default(), Export::Native);
    let options = ImportOptions { load, export, redact: false };
    let error = import(&[input], &out, &options).unwrap_err();
    assert!(matches!(error.problem, Problem::UnknownFormat { .. }), "{error}");
    assert!(!out.exists());
}

#[test]
fn session_written_as_openai_chat_keeps_its_calls() {
    let desk = tempfile::tempdir().unwrap();
    let (input, out) = (fixture("codex.jsonl"), desk.path().join("out"));
    let imported = write(&input, &out, Export::OpenAiChat, false);
    let (before, after) = (read(&input), read(&out));
    let (before, after) = (&before.sessions[0], &after.sessions[0]);
    assert_eq!(outline(before), outline(after));
    let requests = before.messages.iter().filter(|message| message.usage.is_some()).count();
    assert_eq!(imported.not_written.get("usage of a request").copied(), Some(requests as u64));
}

#[test]
fn secrets_get_the_same_pseudonym_in_every_session() {
    let key = format!("sk-ant-api03-{}", "q7ZtB2nVx9LwK4mRd8Ypc3HsGj6Tf1NeAu5WvQ0o");
    let call = |text: &str| {
        let function = json!({"name": "bash", "arguments": json!({"command": text}).to_string()});
        json!({"id": "c", "type": "function", "function": function})
    };
    let session = |text: &str| {
        json!({"messages": [
            {"role": "system", "content": format!("Work in /home/ada/engine. {text}")},
            {"role": "user", "content": format!("mail ada@example.org about {text}")},
            {"role": "assistant", "content": "", "tool_calls": [call(&format!("export KEY={text} && ls /home/ada"))]},
            {"role": "tool", "tool_call_id": "c", "content": format!("-rw ada staff {text}")},
        ]})
    };
    let text = session(&key).to_string();
    let desk = folder(&[("in/a.json", &text), ("in/b.json", &text)]);
    let (input, out) = (desk.path().join("in"), desk.path().join("out"));
    let imported = write(&input, &out, Export::Native, true);
    let text = std::fs::read_to_string(out.join("sessions.jsonl")).unwrap();
    for secret in [key.as_str(), "ada@example.org", "/home/ada", " ada "] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    let counts = imported.redacted.iter().map(|(kind, values, places)| (*kind, (*values, *places)));
    let counts: BTreeMap<&str, (usize, u64)> = counts.collect();
    // Four places a session; one address; a home folder twice and an owner of a file.
    assert_eq!(counts["secret"], (1, 8));
    assert_eq!(counts["e-mail address"], (1, 2));
    assert_eq!(counts["user name"], (1, 6));
    let [a, b] = &read(&out).sessions[..] else { panic!("two sessions") };
    assert_eq!(outline(a), outline(b));
    assert_eq!(a.preamble.system, ["Work in /home/user-1/engine. <SECRET_1>"]);
    let result = a.messages.iter().find_map(Message::tool_result).unwrap();
    assert_eq!(result.1, "-rw user-1 staff <SECRET_1>");
}
