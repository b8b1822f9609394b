//! Logs of Inspect: documents and archives, and what its requests sent.

use std::io::{Cursor, Write};

use recap_core::model::Session;
use recap_formats::{Dataset, DatasetError, LoadOptions, Problem, TooMuch, load_reader};
use serde_json::{Value as Json, json};
use zip::CompressionMethod;
use zip::write::{SimpleFileOptions, ZipWriter};

const FIXTURE: &str = include_str!("../fixtures/dataset/inspect.json");

fn try_read(bytes: &[u8]) -> Result<Dataset, DatasetError> {
    load_reader("run.eval", bytes, &LoadOptions::default())
}

fn read(log: &Json) -> Session {
    let dataset = try_read(log.to_string().as_bytes());
    dataset.unwrap_or_else(|error| panic!("{error}")).sessions.remove(0)
}

fn fixture() -> Session {
    let mut dataset = try_read(FIXTURE.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(dataset.sessions.len(), 1);
    dataset.sessions.remove(0)
}

/// The parsed fixture; its one number that is none is left out.
fn document() -> Json {
    serde_json::from_str(&FIXTURE.replace("NaN", "null")).unwrap()
}

fn log(sample: Json) -> Json {
    json!({"version": 2, "status": "success", "eval": {"task": "plant", "run_id": "r"},
           "samples": [sample]})
}

fn message(id: &str, role: &str, content: &str) -> Json {
    json!({"id": id, "role": role, "content": content})
}

/// The request that `answer` answered.
fn request(input: &[Json], answer: &str) -> Json {
    json!({"event": "model", "input": input,
           "output": {"choices": [{"message": {"id": answer}}],
                      "usage": {"input_tokens": 100, "output_tokens": 1, "total_tokens": 101}}})
}

fn archive(members: &[(&str, &str)], method: CompressionMethod) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, text) in members {
        zip.start_file(*name, options).unwrap();
        zip.write_all(text.as_bytes()).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn member_with_name_of_another_is_told() {
    let sample = |id: &str| json!({"id": id, "messages": [message("u", "user", id)]}).to_string();
    let header = log(json!({})).to_string();
    let (one, other) = (sample("one"), sample("other"));
    let members =
        [("header.json", &*header), ("samples/a.json", &*one), ("samples/b.json", &*other)];
    let bytes = archive(&members, CompressionMethod::Stored);
    let mut same = bytes.clone();
    for at in 0..bytes.len() - 14 {
        if bytes[at..].starts_with(b"samples/a.json") {
            same[at + 8] = b'b';
        }
    }
    let told = |bytes: &[u8]| {
        try_read(bytes).unwrap().warnings.iter().any(|warning| {
            warning.contains("left out: 1 member of the archive with the name of another")
        })
    };
    assert_eq!([told(&bytes), told(&same)], [false, true]);
}

#[test]
fn an_archive_has_a_member_a_sample() {
    let log = document();
    let sample = log["samples"][0].to_string();
    let other = sample.replacen("\"epoch\":1", "\"epoch\":2", 1);
    let header = json!({"version": 2, "status": "success", "eval": log["eval"]}).to_string();
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated, CompressionMethod::Zstd]
    {
        for start in ["header.json", "_journal/start.json"] {
            let one = [(start, header.as_str()), ("samples/valve_epoch_1.json", &sample)];
            let dataset = try_read(&archive(&one, method)).unwrap();
            assert_eq!(dataset.sessions, [fixture()]);
            let two = [&one[..], &[("samples/valve_epoch_2.json", &other[..])]].concat();
            let dataset = try_read(&archive(&two, method)).unwrap();
            let ids: Vec<&str> = dataset.sessions.iter().map(|t| t.id.as_str()).collect();
            assert_eq!(ids, ["valve-epoch-1", "valve-epoch-2"]);
            assert!(dataset.sessions.iter().all(|t| t.project.as_deref() == Some("plant-valve")));
        }
    }
}

#[test]
fn an_archive_unpacks_no_further_than_other_packs() {
    let big = format!("{{\"messages\":[],\"x\":\"{}\"}}", "x".repeat(40 << 20));
    let bytes = archive(&[("samples/a.json", &big)], CompressionMethod::Zstd);
    assert!(bytes.len() < 100_000, "{}", bytes.len());
    let error = try_read(&bytes).unwrap_err();
    assert!(matches!(error.problem, Problem::Unpacked(TooMuch::Ratio { .. })), "{error}");
    // All members count together.
    let half = format!("{{\"messages\":[],\"x\":\"{}\"}}", "x".repeat(20 << 20));
    let members = [("samples/a.json", &half[..]), ("samples/b.json", &half[..])];
    let bytes = archive(&members, CompressionMethod::Zstd);
    assert!(matches!(try_read(&bytes).unwrap_err().problem, Problem::Unpacked(_)));
    let options = LoadOptions { max_unpacked: Some(50 << 20), ..LoadOptions::default() };
    let error = load_reader("run.eval", &bytes[..], &options).unwrap_err();
    assert!(error.to_string().starts_with("no conversation in this file"), "{error}");
}

#[test]
fn broken_archives_are_refused() {
    let sample = document()["samples"][0].to_string();
    let whole = archive(&[("samples/a.json", &sample)], CompressionMethod::Zstd);
    for end in (40..whole.len()).step_by(7) {
        let error = try_read(&whole[..end]).unwrap_err();
        assert!(error.to_string().contains("archive"), "cut at {end}: {error}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        if let Err(error) = try_read(&changed) {
            assert!(!error.to_string().is_empty());
        }
    }
    let text = archive(&[("samples/a.json", "{\"messages\":")], CompressionMethod::Stored);
    assert!(try_read(&text).unwrap_err().to_string().contains("broken JSON"));
    let other = archive(&[("notes.txt", "x")], CompressionMethod::Stored);
    assert!(matches!(
        try_read(&other).unwrap_err().problem,
        Problem::NotUtf8 { .. } | Problem::UnknownFormat { .. }
    ));
}

#[test]
fn many_same_id_messages_read_in_linear_time() {
    let n = 12_000;
    let messages: Vec<Json> = (0..n).map(|_| message("a", "assistant", "x")).collect();
    let events: Vec<Json> = (0..n).map(|_| request(&[], "a")).collect();
    assert_eq!(read(&log(json!({"messages": messages, "events": events}))).messages.len(), n);
}
