//! Bad input: one clear error with file, line and remedy, and never a panic.

use recap_formats::{
    Dataset, DatasetError, FORMATS, Head, LoadOptions, Problem, load, load_reader,
};
use std::io::Write;

use crate::outline::{dataset, files, fixture, folder, ids, outline, root};

const USER: &str = r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hello"}}"#;

fn read(log: impl AsRef<[u8]>) -> Result<Dataset, DatasetError> {
    load_reader("log.jsonl", log.as_ref(), &LoadOptions::default())
}

/// Reads what must be refused, and checks what every error has.
fn refused(log: impl AsRef<[u8]>) -> DatasetError {
    let error = read(log).expect_err("must be refused");
    assert_eq!(error.file, "log.jsonl");
    assert!(error.to_string().contains("log.jsonl"));
    assert!(error.help().len() > 10);
    error
}

#[test]
fn line_of_64_mib_is_refused_without_buffering() {
    let mut file = tempfile::NamedTempFile::with_suffix(".jsonl").unwrap();
    writeln!(file, "{USER}").unwrap();
    write!(file, "{{\"type\":\"user\",\"x\":\"").unwrap();
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..65 {
        file.write_all(&chunk).unwrap();
    }
    writeln!(file, "\"}}").unwrap();
    file.flush().unwrap();
    let error = load(file.path(), &LoadOptions::default()).unwrap_err();
    assert_eq!(error.line, Some(2));
    assert!(error.to_string().starts_with("line longer than 67108864 bytes"), "{error}");
}

#[test]
fn bytes_that_are_not_text_fail_at_line() {
    let mut log = format!("{USER}\n").into_bytes();
    log.extend(b"{\"type\":\"user\",\"x\":\"\xff\"}\n");
    let actual = read(log).unwrap().warnings;
    assert!(actual[0].contains("first line 2: not UTF-8 text (byte 20 of the line)"), "{actual:?}");
    let error = refused(b"\x89PNG\r\n\x1a\n\0\0");
    assert!(matches!(error.problem, Problem::NotUtf8(0)), "{error}");
}

#[test]
fn text_of_unknown_format_names_known_formats() {
    let error = refused("name,age\nada,36\n");
    for format in FORMATS {
        assert!(error.to_string().contains(format.name), "{error}");
    }
}

#[test]
fn every_format_has_sample() {
    let entries = root("tests/fixtures/dataset").read_dir().unwrap();
    let samples: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    for format in FORMATS {
        let is_its = |file: &String| file.split('.').next() == Some(format.name);
        assert!(samples.iter().any(is_its), "{}", format.name);
    }
}

#[test]
fn folder_is_read_in_order_naming_skipped_files() {
    let metadata = "{\"agent\":\"x\"}";
    let folder = folder(&[
        ("b/log.jsonl", USER),
        ("a/log.jsonl", USER),
        (".git/config", ""),
        ("LICENSE", "MIT\n"),
        ("x.metadata.json", metadata),
    ]);
    let dataset = dataset(folder.path());
    assert_eq!(ids(&dataset), ["a/log", "b/log"]);
    let expected = [
        "2 files are no sessions: LICENSE, x.metadata.json",
        "hidden folders, links to folders and the like, not entered: 1",
    ];
    assert_eq!(dataset.warnings, expected);
    assert_eq!(files(&dataset), ["a/log.jsonl", "b/log.jsonl"]);
}

/// A log and its conversion may lie side by side.
#[test]
fn files_that_differ_in_their_ending_have_ids_of_their_own() {
    let folder = folder(&[("a/log.json", USER), ("a/log.jsonl", USER), ("b/log.jsonl", USER)]);
    let dataset = dataset(folder.path());
    assert_eq!(ids(&dataset), ["a/log.json", "a/log.jsonl", "b/log"]);
}

#[test]
fn broken_session_in_folder_is_skipped_with_reason() {
    let progress = r#"{"type":"progress","uuid":"p","parentUuid":null,"sessionId":"s"}"#;
    let folder = folder(&[("b.jsonl", format!("{{\"type\":\n{progress}\n"))]);
    let error = load(folder.path(), &LoadOptions::default()).unwrap_err();
    assert!(matches!(error.problem, Problem::NoneReadable(_)), "{error}");
    assert!(error.to_string().contains("b.jsonl: line 1: broken JSON"), "{error}");

    std::fs::write(folder.path().join("a.jsonl"), USER).unwrap();
    let twice = r#"{"id":"t","messages":[{"role":"user","content":"hello"}]}"#;
    std::fs::write(folder.path().join("c.jsonl"), format!("{twice}\n{twice}\n")).unwrap();
    let dataset = dataset(folder.path());
    assert_eq!((ids(&dataset), files(&dataset)), (vec!["a"], vec!["a.jsonl"]));
    let [b, c] = &dataset.warnings[..] else { panic!("{:?}", dataset.warnings) };
    assert!(b.starts_with("set aside: b.jsonl: line 1: broken JSON: "), "{b}");
    assert!(c.starts_with("set aside: c.jsonl: second session with id `t`"), "{c}");
}

#[test]
fn broken_native_dataset_fails_as_a_whole() {
    let own = |name: &str| std::fs::read(fixture("native").join(name)).unwrap();
    let folder = folder(&[
        ("dataset.toml", own("dataset.toml")),
        ("questions.jsonl", own("questions.jsonl")),
        ("sessions.jsonl", b"{\"id\":7}\n".to_vec()),
    ]);
    let error = load(folder.path(), &LoadOptions::default()).unwrap_err();
    assert_eq!(error.line, Some(1), "{error}");
}

#[cfg(unix)]
#[test]
fn unreadable_file_is_an_error() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder(&[("log.jsonl", USER)]);
    let path = folder.path().join("log.jsonl");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(&path).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    let error = load(&path, &LoadOptions::default()).unwrap_err();
    assert!(matches!(error.problem, Problem::Io { .. }), "{error}");
}

#[test]
fn broken_line_never_costs_line_format_its_session() {
    let lines = ["pi", "codex", "copilot-cli", "kimi-code", "claude-code"];
    for (name, bytes) in read_samples().into_iter().filter(|(name, _)| lines.contains(name)) {
        let text = String::from_utf8(bytes).unwrap();
        let whole = read(&text).unwrap();
        let at = text[..text.len() - 1].rfind('\n').unwrap() + 1;
        for broken in ["{\"type\": \"mess", "7", "}", "{\"type\":[]}", "{\"role\":[]}", "\u{0}"] {
            let log = format!("{}{broken}\n{}", &text[..at], &text[at..]);
            let dataset = read(&log).unwrap_or_else(|error| panic!("{name}: {broken}: {error}"));
            let messages = |dataset: &Dataset| dataset.sessions[0].messages.len();
            assert_eq!(messages(&dataset), messages(&whole), "{name}: {broken}");
            let actual = |warning: &&String| warning.contains("set aside: 1 record");
            assert_eq!(dataset.warnings.iter().filter(actual).count(), 1, "{name}: {broken}");
        }
    }
}

/// The fixtures, each with its format: that by whose name the file's begins.
pub fn samples() -> Vec<(&'static str, String)> {
    let files = root("tests/fixtures/dataset").read_dir().unwrap().map(|entry| {
        let file = entry.unwrap().file_name().into_string().unwrap();
        match file.as_str() {
            "native" => "native/sessions.jsonl".to_owned(),
            "beam" => "beam/7/chat.json".to_owned(),
            _ => file,
        }
    });
    let format_of = |file: &str| {
        let named = FORMATS.iter().map(|format| format.name).filter(|name| file.starts_with(name));
        named.max_by_key(|name| name.len()).unwrap_or_else(|| panic!("{file} names no format"))
    };
    let mut samples: Vec<_> = files.map(|file| (format_of(&file), file)).collect();
    samples.sort();
    samples
}

fn read_samples() -> Vec<(&'static str, Vec<u8>)> {
    let read = |(format, file): (_, String)| (format, std::fs::read(fixture(&file)).unwrap());
    samples().into_iter().map(read).collect()
}

#[test]
fn every_format_has_a_sample_only_it_recognises() {
    let mut samples = read_samples();
    // The first bytes of stores: tests/suite/dataset_databases.rs reads whole ones.
    for (name, tables) in [
        ("pi", &["transcript_events (session_id, seq, event_json)"][..]),
        ("opencode", &["session (id)", "message (session_id, data)", "part (message_id, data)"]),
        ("opencode", &["session_v2 (id)", "session_message (session_id, seq, data)"]),
    ] {
        let tables: String = tables.iter().map(|table| format!("CREATE TABLE {table}")).collect();
        samples.push((name, format!("SQLite format 3\0{tables}").into_bytes()));
    }
    for format in FORMATS {
        assert!(samples.iter().any(|(name, _)| *name == format.name), "{}", format.name);
        assert!(!format.describe.is_empty());
        for (name, bytes) in &samples {
            let sniffed = (format.sniff)(&Head::new(bytes));
            assert_eq!(sniffed, *name == format.name, "{} on {name}", format.name);
        }
    }
    for schema in ["session.schema.json", "dataset.schema.json", "question.schema.json"] {
        let head = Head::new(&std::fs::read(root("datasets").join(schema)).unwrap());
        assert!(FORMATS.iter().all(|format| !(format.sniff)(&head)), "{schema}");
    }
}

#[test]
fn truncated_input_never_panics_or_passes_as_whole() {
    for (name, bytes) in read_samples() {
        let whole = read(&bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        // The last byte is the line end.
        for end in (0..bytes.len() - 2).step_by(7) {
            if let Ok(part) = read(&bytes[..end]) {
                assert_ne!(part.sessions, whole.sessions, "{name} cut at {end}");
            }
        }
    }
}

#[test]
fn no_changed_byte_of_any_format_panics() {
    for (_, bytes) in read_samples() {
        // Seven bytes at seven places in turn: each field of a record meets some of them.
        for at in (0..bytes.len()).step_by(5) {
            let mut changed = bytes.clone();
            changed[at] = [b'"', b'}', b'[', b'0', b'\n', 0xff, b'\\'][at % 7];
            if let Err(error) = read(&changed) {
                assert!(!error.to_string().is_empty());
            }
        }
    }
}

#[test]
fn line_torn_within_character_is_torn() {
    let log = format!("{USER}\n{{\"type\":\"user\",\"x\":\"é");
    let dataset = read(&log.as_bytes()[..log.len() - 1]).unwrap();
    assert_eq!(dataset.sessions[0].left_out["torn last line"], 1);
}

#[test]
fn truncated_aider_history_is_prefix_of_whole() {
    let history = std::fs::read_to_string(fixture("aider.chat.history.md")).unwrap();
    let said = |dataset: &Dataset| dataset.sessions.iter().flat_map(outline).collect::<Vec<_>>();
    let full = said(&read(&history).unwrap());
    for cut in (0..history.len()).filter(|cut| history.is_char_boundary(*cut)) {
        let Ok(dataset) = read(&history[..cut]) else { continue };
        let mut part = said(&dataset);
        let last = part.pop().unwrap();
        assert_eq!(part, full[..part.len()], "cut at {cut}");
        assert!(full[part.len()].starts_with(&last), "cut at {cut}: {last}");
    }
    let torn = read(&history[..history.find("#### Thanks").unwrap() + 3]).unwrap();
    assert_eq!(torn.sessions[0].left_out["torn last line"], 1);
}
