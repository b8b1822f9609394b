//! LoCoMo and BEAM: their traps on files written by hand, and the counts of
//! the real ones, which are not part of the repository.

use std::collections::BTreeMap;
use std::io::Write;

use crate::common::shared;
use crate::outline::{dataset as read, files, fixture, folder, ids};
use flate2::{Compression, write::GzEncoder};
use recap_core::model::Session;
use recap_formats::{Dataset, LoadOptions, Problem, load, load_reader};

fn beam() -> Dataset {
    read(fixture("beam"))
}

/// A file of its chat.
fn of_beam(name: &str) -> Vec<u8> {
    std::fs::read(fixture("beam/7").join(name)).unwrap()
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn beam_chat_file_finds_its_neighbouring_questions() {
    let (folder, file) = (beam(), read(fixture("beam/7/chat.json")));
    assert_eq!(file.sessions, folder.sessions);
    assert_eq!(file.questions, folder.questions);
    assert_eq!(files(&file), ["probing_questions.json", "chat.json"]);
    assert_eq!(files(&folder), ["7/probing_questions.json", "7/chat.json"]);
    assert_eq!(folder.warnings, Vec::<String>::new());
}

#[test]
fn packed_chat_reads_like_plain_hashed_as_stored() {
    let (bytes, questions) = (packed(&of_beam("chat.json")), of_beam("probing_questions.json"));
    let folder =
        folder(&[("7/chat_trunecated.json.gz", &bytes), ("7/probing_questions.json", &questions)]);
    let dataset = read(folder.path());
    assert_eq!(dataset.sessions, beam().sessions);
    assert_eq!(dataset.questions, beam().questions);
    let hash = blake3::hash(&bytes).to_hex().to_string();
    assert_eq!(dataset.files[1], ("7/chat_trunecated.json.gz".to_owned(), hash));
}

#[test]
fn shorter_chat_is_preferred_with_separate_questions_folder() {
    let folder = folder(&[
        ("7/probing_questions/probing_questions.json", of_beam("probing_questions.json")),
        ("7/chat.json", of_beam("chat.json")),
        ("7/chat_trunecated.json", of_beam("chat.json")),
    ]);
    let dataset = read(folder.path());
    assert_eq!((dataset.sessions.len(), dataset.questions.len()), (1, 10));
    let warned = ["7/chat.json: left out, since chat_trunecated.json is in the same folder"];
    assert_eq!(dataset.warnings, warned);
    // Asked for by name, the longer one is read.
    assert_eq!(read(folder.path().join("7/chat.json")).questions.len(), 10);
}

#[test]
fn any_format_may_be_packed_broken_packs_fail() {
    for name in ["claude-code.jsonl", "pi.jsonl", "codex.jsonl", "openai-chat.json", "locomo.json"]
    {
        let bytes = packed(&std::fs::read(fixture(name)).unwrap());
        let stream =
            |bytes: &[u8]| load_reader(&format!("{name}.gz"), bytes, &LoadOptions::default());
        let read = stream(&bytes).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(read.sessions, self::read(fixture(name)).sessions, "{name}");
        for end in [3, bytes.len() / 2, bytes.len() - 4] {
            let error = stream(&bytes[..end]).expect_err("must be refused");
            assert!(matches!(error.problem, Problem::Io { .. }), "{name} at {end}: {error}");
        }
    }
}

#[test]
fn broken_beam_questions_are_refused_with_their_file() {
    let folder = folder(&[("chat.json", of_beam("chat.json"))]);
    let questions = folder.path().join("probing_questions.json");
    let bad = [
        (r#"{"riddles": []}"#, "riddles"),
        (r#"{"abstention": [{"rubric": []}]}"#, "abstention[0]"),
        (r#"{"abstention": "#, "broken JSON"),
        (r#"{"event_ordering": [{"question": "In which order?"}]}"#, "expects nothing"),
        (r#"{"abstention": [{"question": ""}]}"#, "empty question"),
    ];
    for (text, said) in bad {
        std::fs::write(&questions, text).unwrap();
        let error = load(folder.path(), &LoadOptions::default()).expect_err("must be refused");
        assert!(error.to_string().contains(said), "{error}");
        assert!(error.to_string().contains("probing_questions.json"), "{error}");
    }
}

#[test]
fn same_named_chats_keep_their_own_questions() {
    let folder = folder(&[
        ("100K/7/chat.json", of_beam("chat.json")),
        ("100K/7/probing_questions.json", of_beam("probing_questions.json")),
        ("500K/7/chat.json", of_beam("chat.json")),
        ("500K/7/probing_questions.json", of_beam("probing_questions.json")),
    ]);
    let dataset = read(folder.path());
    assert_eq!((dataset.sessions.len(), dataset.questions.len()), (2, 20));
    assert_eq!(ids(&dataset), ["100K/7/chat/7", "500K/7/chat/7"]);
    assert_eq!(dataset.questions[10].session, "500K/7/chat/7");
}

fn data(name: &str) -> Option<Dataset> {
    Some(read(shared(&format!("data/{name}"))?))
}

fn by_kind(dataset: &Dataset) -> BTreeMap<&'static str, usize> {
    let mut kinds = BTreeMap::new();
    for question in &dataset.questions {
        *kinds.entry(question.kind.as_str()).or_default() += 1;
    }
    kinds
}

#[test]
fn real_locomo_counts_match_its_source() {
    let Some(dataset) = data("locomo-nc/locomo10_conv1-6.json") else { return };
    assert_eq!(dataset.sessions.len(), 6);
    let messages = dataset.sessions.iter().map(|t| t.messages.len());
    assert_eq!(messages.sum::<usize>(), 3_435);
    assert!(dataset.sessions.iter().all(|t| t.messages.iter().all(|m| m.at.is_some())));
    assert_eq!(dataset.questions.len(), 1_157);
    // Categories 1 to 5: 172, 180, 53, 480, 272; two of the fifth have an answer.
    let kinds = [("abstain", 270), ("fact", 482), ("multi-hop", 172), ("open-domain", 53)];
    let kinds = kinds.into_iter().chain([("temporal", 180)]);
    assert_eq!(by_kind(&dataset), kinds.collect());
    let left_out = |reason: &str| -> u64 {
        dataset.sessions.iter().filter_map(|t| t.left_out.get(reason)).sum()
    };
    // Four strings match no turn; one of them is two turns in one string.
    assert_eq!(left_out("evidence that names no turn"), 3);
    assert_eq!(left_out("image search string"), 531);
}

#[test]
fn real_beam_counts_match_its_source() {
    // Chat, messages, questions with sources.
    let expected = [
        (
            "100K",
            "1 188 18, 10 286 18, 11 262 18, 12 270 18, 2 200 18, 3 194 18, 4 212 18, 5 232 18, \
             6 258 18, 7 254 18, 8 268 18, 9 270 17",
        ),
        ("500K", "1 796 17, 2 880 18"),
        ("1M", "3 1556 17"),
    ];
    for (size, chats) in expected {
        let Some(dataset) = data(&format!("beam-by-sa/{size}")) else { return };
        let chat = |t: &Session| {
            let own = dataset.questions.iter().filter(|p| p.session == t.id);
            let sourced = own.filter(|p| !p.evidence.is_empty()).count();
            format!("{} {} {sourced}", t.id, t.messages.len())
        };
        let found: Vec<String> = dataset.sessions.iter().map(chat).collect();
        assert_eq!(found.join(", "), chats, "{size}");
        let kinds = by_kind(&dataset);
        assert_eq!(kinds.len(), 10, "{size}");
        assert!(kinds.values().all(|&n| n == 2 * found.len()), "{size}: {kinds:?}");
        for session in &dataset.sessions {
            assert!(!session.left_out.contains_key("evidence that names no message"));
            let marked = |text: String| {
                text.trim_end().ends_with(|c: char| c.is_ascii_digit()) && text.contains("->->")
            };
            assert!(session.messages.iter().all(|m| !marked(m.sent())), "{}", session.id);
        }
    }
}
