//! LoCoMo and BEAM: their traps on files written by hand, and the counts of
//! the real ones, which are not part of the repository.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::common::shared;
use flate2::{Compression, write::GzEncoder};
use recap_core::model::{Expectation, Question, QuestionKind, Role};
use recap_formats::{Dataset, DatasetError, LoadOptions, Problem, load, load_reader, write_native};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dataset").join(name)
}

fn read(path: &Path) -> Dataset {
    load(path, &LoadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn locomo() -> Dataset {
    read(&fixture("locomo.json"))
}

fn beam() -> Dataset {
    read(&fixture("beam"))
}

fn question<'a>(dataset: &'a Dataset, id: &str) -> &'a Question {
    let found = dataset.questions.iter().find(|question| question.id == id);
    found.unwrap_or_else(|| panic!("no question {id}"))
}

fn any_of(values: &[&str]) -> Expectation {
    Expectation::AnyOf(values.iter().map(|&value| value.to_owned()).collect())
}

fn rubric(nuggets: &[&str]) -> Expectation {
    Expectation::Rubric(nuggets.iter().map(|&nugget| nugget.to_owned()).collect())
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn locomo_sessions_are_ordered_with_turns_as_messages() {
    let dataset = locomo();
    let session = &dataset.sessions[0];
    assert_eq!(session.id, "conv-1");
    let ids: Vec<&str> = session.messages.iter().map(|m| m.id.as_str()).collect();
    assert_eq!(ids, ["D1:1", "D1:2", "D1:3", "D2:1", "D10:1", "D10:2"]);
    use Role::{Assistant, User};
    let roles: Vec<Role> = session.messages.iter().map(|m| m.role).collect();
    assert_eq!(roles, [User, Assistant, Assistant, Assistant, Assistant, User]);
}

#[test]
fn locomo_turns_take_their_session_date() {
    let dataset = locomo();
    let at = |n: usize| dataset.sessions[0].messages[n].at.map(|at| at.to_string());
    assert_eq!(at(0).as_deref(), Some("2023-05-08T13:56:00Z"));
    assert_eq!(at(2), at(0));
    assert_eq!(at(3), None, "`soon` is no date");
    assert_eq!(at(4).as_deref(), Some("2023-06-01T00:05:00Z"));
    let left_out = &dataset.sessions[0].left_out;
    assert_eq!(left_out["session date that cannot be read"], 1);
    assert_eq!(left_out["date without a session"], 1);
}

#[test]
fn locomo_photo_becomes_caption_never_search_string() {
    let dataset = locomo();
    let session = &dataset.sessions[0];
    assert_eq!(session.messages[1].sent(), "Ben: Look.\n[photo: a photo of a blue boat]");
    assert_eq!((session.messages[1].images(), session.messages[2].images()), (0, 1));
    assert!(session.messages.iter().all(|m| !m.sent().contains("secret")));
    assert_eq!(session.left_out["image search string"], 1);
}

#[test]
fn locomo_evidence_is_split_and_unmatched_parts_counted() {
    let dataset = locomo();
    assert_eq!(question(&dataset, "conv-1/qa1").evidence, ["D1:1", "D10:2"]);
    // Named twice and out of order.
    assert_eq!(question(&dataset, "conv-1/qa2").evidence, ["D1:1", "D10:2"]);
    assert_eq!(dataset.sessions[0].left_out["evidence that names no turn"], 1);
}

#[test]
fn locomo_categories_are_kinds_and_numbers_are_answers() {
    let dataset = locomo();
    let kinds: Vec<QuestionKind> = dataset.questions.iter().map(|question| question.kind).collect();
    use QuestionKind::{Abstain, Fact, MultiHop, OpenDomain, Temporal};
    assert_eq!(kinds, [Fact, Temporal, MultiHop, OpenDomain, Abstain, Fact]);
    assert_eq!(question(&dataset, "conv-1/qa0").expect, any_of(&["3"]));
    assert!(dataset.questions.iter().all(|p| p.session == "conv-1" && p.asked_at == 5));
}

#[test]
fn locomo_question_without_answer_is_unanswerable_bait_stale() {
    let dataset = locomo();
    let bait = question(&dataset, "conv-1/qa4");
    assert_eq!(bait.expect, Expectation::Unanswerable);
    assert_eq!(bait.stale, ["A red boat"]);
    let answered = question(&dataset, "conv-1/qa5");
    assert_eq!(answered.expect, any_of(&["No"]));
    assert_eq!(answered.stale, ["Yes"]);
}

fn refused(file: &str, from: &str, to: &str) -> DatasetError {
    let text = std::fs::read_to_string(fixture(file)).unwrap();
    assert!(text.contains(from), "{from}");
    let text = text.replacen(from, to, 1);
    let read = load_reader("x.json", text.as_bytes(), &LoadOptions::default());
    read.expect_err("must be refused")
}

#[test]
fn misshapen_locomo_file_is_refused_naming_place() {
    let shown = |from: &str, to: &str| refused("locomo.json", from, to).to_string();
    let error = shown(r#""answer": 3,"#, r#""answer": [3],"#);
    assert!(error.contains("conv-1.qa[0].answer"), "{error}");
    let error = shown(r#""answer": 3,"#, "");
    assert!(error.contains("conv-1: question 0 has no answer"), "{error}");
    let error = shown(r#""category": 3"#, r#""category": 6"#);
    assert!(error.contains("question 3 has category 6"), "{error}");
    let error = shown(r#""speaker": "Ada""#, r#""speaker": "Eve""#);
    assert!(error.contains("unknown role `Eve`"), "{error}");
    let error = shown(r#""dia_id": "D2:1", "#, "");
    assert!(error.contains("conversation.session_2[0]"), "{error}");
    let error = shown(r#""dia_id": "D2:1""#, r#""dia_id": "D1:1""#);
    assert!(error.contains("second message with id `D1:1`"), "{error}");
    let error = shown(r#""speaker_b": "Ben","#, "");
    assert!(error.contains("speaker_b"), "{error}");
}

#[test]
fn beam_messages_lose_only_their_place_marker() {
    let dataset = beam();
    let session = &dataset.sessions[0];
    assert_eq!(session.id, "7", "a chat is named after its folder");
    let texts: Vec<String> = session.messages.iter().map(|m| m.sent()).collect();
    assert_eq!(
        texts,
        [
            "The first sprint ends on March 29.",
            "Noted. Arrows such as a ->-> b stay.",
            "The limit is 300 ms.",
            "Good.",
            "The limit is 250 ms now.",
            "Changed.",
        ]
    );
    assert_eq!(session.left_out["position marker"], 4);
    let at = |n: usize| session.messages[n].at.map(|at| at.to_string());
    assert_eq!(at(3).as_deref(), Some("2024-03-15T00:00:00Z"));
    assert_eq!(at(4).as_deref(), Some("2024-04-05T00:00:00Z"));
}

#[test]
fn beam_question_types_map_to_semantics_33_kinds() {
    let dataset = beam();
    let is = |id: &str, kind: QuestionKind, expect: Expectation, evidence: &[&str]| {
        let question = question(&dataset, &format!("7/{id}-1"));
        assert_eq!((question.kind, &question.expect), (kind, &expect), "{id}");
        assert_eq!(question.evidence, evidence, "{id}");
        assert_eq!((question.asked_at, question.session.as_str()), (5, "7"), "{id}");
    };
    is("abstention", QuestionKind::Abstain, Expectation::Unanswerable, &[]);
    let nugget = rubric(&["there is contradictory information"]);
    is("contradiction_resolution", QuestionKind::Contradiction, nugget, &["2", "4"]);
    is("event_ordering", QuestionKind::Ordering, rubric(&["sprint", "limit"]), &["0", "4"]);
    let values = any_of(&["March 29", "It ends on March 29."]);
    is("information_extraction", QuestionKind::Fact, values, &["0"]);
    is("instruction_following", QuestionKind::Constraint, rubric(&["highlighted code"]), &["1"]);
    is("knowledge_update", QuestionKind::Update, any_of(&["250 ms"]), &["2", "4"]);
    let both = rubric(&["300 ms", "250 ms"]);
    is("multi_session_reasoning", QuestionKind::MultiHop, both, &["2", "4"]);
    is("preference_following", QuestionKind::Preference, rubric(&["a small library"]), &[]);
    let parts = rubric(&["the sprint", "the limit"]);
    is("summarization", QuestionKind::Summary, parts, &["0", "2", "4"]);
    is("temporal_reasoning", QuestionKind::Temporal, any_of(&["14 days"]), &["0"]);
    assert_eq!(dataset.questions.len(), 10);
    assert_eq!(dataset.sessions[0].left_out["evidence that names no message"], 1);
}

#[test]
fn beam_chat_file_finds_its_neighbouring_questions() {
    let (folder, file) = (beam(), read(&fixture("beam/7/chat.json")));
    assert_eq!(file.sessions, folder.sessions);
    assert_eq!(file.questions, folder.questions);
    let names = |dataset: &Dataset| -> Vec<String> {
        dataset.files.iter().map(|(name, _)| name.clone()).collect()
    };
    assert_eq!(names(&file), ["probing_questions.json", "chat.json"]);
    assert_eq!(names(&folder), ["7/probing_questions.json", "7/chat.json"]);
    assert_eq!(folder.warnings, Vec::<String>::new());
}

#[test]
fn packed_chat_reads_like_plain_hashed_as_stored() {
    let folder = tempfile::tempdir().unwrap();
    let chat = folder.path().join("7");
    std::fs::create_dir(&chat).unwrap();
    let bytes = packed(&std::fs::read(fixture("beam/7/chat.json")).unwrap());
    std::fs::write(chat.join("chat_trunecated.json.gz"), &bytes).unwrap();
    std::fs::copy(fixture("beam/7/probing_questions.json"), chat.join("probing_questions.json"))
        .unwrap();
    let dataset = read(folder.path());
    assert_eq!(dataset.sessions, beam().sessions);
    assert_eq!(dataset.questions, beam().questions);
    let hash = blake3::hash(&bytes).to_hex().to_string();
    assert_eq!(dataset.files[1], ("7/chat_trunecated.json.gz".to_owned(), hash));
}

#[test]
fn shorter_chat_is_preferred_with_separate_questions_folder() {
    let folder = tempfile::tempdir().unwrap();
    let chat = folder.path().join("7");
    std::fs::create_dir_all(chat.join("probing_questions")).unwrap();
    let questions = "probing_questions/probing_questions.json";
    std::fs::copy(fixture("beam/7/probing_questions.json"), chat.join(questions)).unwrap();
    for name in ["chat.json", "chat_trunecated.json"] {
        std::fs::copy(fixture("beam/7/chat.json"), chat.join(name)).unwrap();
    }
    let dataset = read(folder.path());
    assert_eq!((dataset.sessions.len(), dataset.questions.len()), (1, 10));
    let warned = ["7/chat.json: left out, since 7/chat_trunecated.json is in the same folder"];
    assert_eq!(dataset.warnings, warned);
    // Asked for by name, the longer one is read.
    assert_eq!(read(&chat.join("chat.json")).questions.len(), 10);
}

#[test]
fn any_format_may_be_packed_broken_packs_fail() {
    for name in ["claude-code.jsonl", "pi.jsonl", "codex.jsonl", "openai-chat.json", "locomo.json"]
    {
        let bytes = packed(&std::fs::read(fixture(name)).unwrap());
        let stream =
            |bytes: &[u8]| load_reader(&format!("{name}.gz"), bytes, &LoadOptions::default());
        let read = stream(&bytes).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(read.sessions, self::read(&fixture(name)).sessions, "{name}");
        for end in [3, bytes.len() / 2, bytes.len() - 4] {
            let error = stream(&bytes[..end]).expect_err("must be refused");
            assert!(matches!(error.problem, Problem::Io { .. }), "{name} at {end}: {error}");
        }
    }
}

#[test]
fn broken_beam_questions_are_refused_with_their_file() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::copy(fixture("beam/7/chat.json"), folder.path().join("chat.json")).unwrap();
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
    let folder = tempfile::tempdir().unwrap();
    for size in ["100K", "500K"] {
        let chat = folder.path().join(size).join("7");
        std::fs::create_dir_all(&chat).unwrap();
        for name in ["chat.json", "probing_questions.json"] {
            std::fs::copy(fixture("beam/7").join(name), chat.join(name)).unwrap();
        }
    }
    let dataset = read(folder.path());
    assert_eq!((dataset.sessions.len(), dataset.questions.len()), (2, 20));
    let ids: Vec<&str> = dataset.sessions.iter().map(|t| t.id.as_str()).collect();
    assert_eq!(ids, ["100K/7/chat/7", "500K/7/chat/7"]);
    assert_eq!(dataset.questions[10].session, ids[1]);
}

#[test]
fn imported_questions_survive_the_native_format() {
    for dataset in [locomo(), beam()] {
        let folder = tempfile::tempdir().unwrap();
        write_native(&dataset, folder.path()).unwrap();
        let back = read(folder.path());
        assert_eq!(back.questions, dataset.questions);
        assert_eq!(back.sessions, dataset.sessions);
    }
}

#[test]
fn commands_import_and_replay_chats_with_questions() {
    let out = tempfile::tempdir().unwrap();
    for (format, name, questions) in [("locomo", "locomo.json", 6), ("beam", "beam", 10)] {
        let recap = || assert_cmd::Command::cargo_bin("recap").unwrap();
        let folder = out.path().join(format);
        let mut import = recap();
        import.args(["import", format]).arg(fixture(name)).arg("--out").arg(&folder);
        import.assert().success();
        assert_eq!(read(&folder).questions.len(), questions, "{format}");
        let run = out.path().join(format!("{format}-run"));
        let mut bench = recap();
        bench.arg("bench").arg(fixture(name)).args(["--window", "4k", "--quiet", "--out"]);
        bench.arg(&run).assert().success();
        assert!(run.join("summary.csv").is_file(), "{format}");
    }
}

fn data(name: &str) -> Option<Dataset> {
    Some(read(&shared(&format!("data/{name}"))?))
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
    let Some(dataset) = data("locomo-nc/locomo10_conv1-6.json") else {
        return;
    };
    assert_eq!(dataset.sessions.len(), 6);
    let messages = dataset.sessions.iter().map(|t| t.messages.len());
    assert_eq!(messages.sum::<usize>(), 3_435);
    assert!(dataset.sessions.iter().all(|t| t.messages.iter().all(|m| m.at.is_some())));
    assert_eq!(dataset.questions.len(), 1_157);
    // Categories 1 to 5: 172, 180, 53, 480, 272; two of the fifth have an answer.
    let kinds = [
        ("abstain", 270),
        ("fact", 482),
        ("multi-hop", 172),
        ("open-domain", 53),
        ("temporal", 180),
    ];
    assert_eq!(by_kind(&dataset), BTreeMap::from(kinds));
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
    type Row = (&'static str, usize, usize);
    let expected: [(&str, &[Row]); 3] = [
        (
            "100K",
            &[
                ("1", 188, 18),
                ("10", 286, 18),
                ("11", 262, 18),
                ("12", 270, 18),
                ("2", 200, 18),
                ("3", 194, 18),
                ("4", 212, 18),
                ("5", 232, 18),
                ("6", 258, 18),
                ("7", 254, 18),
                ("8", 268, 18),
                ("9", 270, 17),
            ],
        ),
        ("500K", &[("1", 796, 17), ("2", 880, 18)]),
        ("1M", &[("3", 1_556, 17)]),
    ];
    for (size, chats) in expected {
        let Some(dataset) = data(&format!("beam-by-sa/{size}")) else {
            return;
        };
        let found: Vec<(&str, usize, usize)> = dataset
            .sessions
            .iter()
            .map(|t| {
                let own = dataset.questions.iter().filter(|p| p.session == t.id);
                let sourced = own.filter(|p| !p.evidence.is_empty()).count();
                (t.id.as_str(), t.messages.len(), sourced)
            })
            .collect();
        assert_eq!(found, chats, "{size}");
        let kinds = by_kind(&dataset);
        assert_eq!(kinds.len(), 10, "{size}");
        assert!(kinds.values().all(|&n| n == 2 * chats.len()), "{size}: {kinds:?}");
        for session in &dataset.sessions {
            assert!(!session.left_out.contains_key("evidence that names no message"));
            let marked = |text: String| {
                text.trim_end().ends_with(|c: char| c.is_ascii_digit()) && text.contains("->->")
            };
            assert!(session.messages.iter().all(|m| !marked(m.sent())), "{}", session.id);
        }
    }
}
