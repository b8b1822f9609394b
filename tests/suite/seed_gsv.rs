//! Seed 004 (GSV) as a whole system: reset policies, last extraction, archives,
//! memory files and MEMORY.md. The compaction itself is held against its
//! sentences beside its mechanism.
//! Each test names its sentence.
//!
//! Where strategies depart from it:
//!
//! - `chunked-summary`: the design gives no defaults for reserveTokens and keepRecentTokens:
//!   16k and 20k at 200k are ours, so is the bound of 1,000 tokens for a reply.
//! - `gsv`, `chunked-summary`: sessions are numbered (`session-1`), partial archives too
//!   (`session-1-part1`): the same run writes the same files. Archives hold recorded messages,
//!   one a line as in `session.schema.json`; a summary that was folded again is in none, and
//!   a session's archive also has what its parts have.
//! - `gsv`, `chunked-summary`: a memory that the day's file holds already is not appended again;
//!   the design shows the model that file and appends what it writes.
//! - `gsv`: the message that asks for a reset, `/reset` included, begins the new session, since
//!   the recorded agent answered it.
//! - `gsv-daily`, `gsv-idle`: hours are UTC, the recording's clock. A policy is looked at when
//!   the user next speaks, as in GSV's code, from which the 60 minutes are, too.

use crate::common;
use std::collections::BTreeMap;

use crate::common::talk::{Talk, even, from_disk, real, unscaled};
use crate::common::{Scribe, block_on, ledger, message, plan, prepared, sent};
use recap_core::model::{Block, Message, Role, Session, ToolDefinition};
use recap_replay::{Plan, ReplaySession};
use recap_strategy::{Asked, Strategy, Task};
use serde_json::json;

/// What was known at each call.
fn known(scribe: &Scribe) -> Vec<Vec<String>> {
    let known = |task: &Task| match &task.asked {
        Asked::Digest { known, .. } => known.clone(),
        other => panic!("a digest is asked for, not {other:?}"),
    };
    scribe.tasks.lock().unwrap().iter().map(known).collect()
}

/// A conversation by day and time (`18T10:00`), in January 2026. Where the
/// text is empty, it is 40 tokens.
fn talk(lines: &[(&str, Role, &str)]) -> Session {
    let messages = lines.iter().enumerate().map(|(number, (at, role, text))| {
        let text = if text.is_empty() { even(40) } else { (*text).to_owned() };
        let mut message = message(number, *role, vec![Block::Text { text }]);
        message.at = Some(format!("2026-01-{at}:00Z").parse().unwrap());
        message
    });
    Session { id: "talk".into(), messages: messages.collect(), ..Session::default() }
}

use Role::{Assistant as A, User as U};

/// Two sessions: six messages, then `/reset` and two more.
fn asked_to_reset() -> Session {
    talk(&[
        ("18T10:00", U, "hello"),
        ("18T10:01", A, "hi"),
        ("18T10:02", U, "Ada owns the keys"),
        ("18T10:03", A, "noted"),
        ("18T10:04", U, "good"),
        ("18T10:05", A, "fine"),
        ("18T10:06", U, "/reset now"),
        ("18T10:07", A, "what next?"),
        ("18T10:08", U, "tell me"),
        ("18T10:09", A, "no idea"),
    ])
}

/// The session when it sends its last request.
fn at_end<T>(
    session: &Session,
    plan: &Plan,
    compactor: &Scribe,
    look: impl FnOnce(&ReplaySession<'_>) -> T,
) -> T {
    let requests = session.messages.iter().filter(|m| m.is_request()).count() as u32;
    at(session, plan, compactor, requests - 1, look)
}

fn at<T>(
    session: &Session,
    plan: &Plan,
    compactor: &Scribe,
    request: u32,
    look: impl FnOnce(&ReplaySession<'_>) -> T,
) -> T {
    let prepared = prepared(session.clone());
    block_on(async {
        let mut replay = ReplaySession::open(&prepared, plan, compactor).unwrap();
        assert!(replay.run_to_request(request).await.unwrap());
        look(&replay)
    })
}

/// The ledger at each request.
fn ledgers(session: &Session, plan: &Plan) -> Vec<String> {
    common::replayed(session.clone(), plan, &Scribe::default())
}

fn files(session: &ReplaySession<'_>) -> BTreeMap<String, Vec<u8>> {
    session.stored().into_iter().map(|file| (file.path, file.content)).collect()
}

/// The messages of an archive.
fn read_archive(bytes: &[u8]) -> Vec<Message> {
    let lines = serde_json::Deserializer::from_reader(flate2::read::GzDecoder::new(bytes));
    lines.into_iter().map(Result::unwrap).collect()
}

/// Ids of the messages in an archive.
fn archived(files: &BTreeMap<String, Vec<u8>>, name: &str) -> Vec<String> {
    let bytes = &files[&format!("agents/main/sessions/{name}.jsonl.gz")];
    read_archive(bytes).into_iter().map(|message| message.id).collect()
}

fn ids(messages: std::ops::Range<usize>) -> Vec<String> {
    messages.map(|number| format!("m{number}")).collect()
}

fn notes(session: &ReplaySession<'_>) -> BTreeMap<String, String> {
    let notes = session.context().notes();
    notes.map(|(key, text)| (key.to_owned(), text.to_owned())).collect()
}

fn gsv() -> Plan {
    real("gsv", 200_000, &[])
}

/// A window of 1,000 that is compacted above 100 tokens and keeps the newest
/// message of 40: 24 + 4 + 160 units of JSON, 57 by the heuristic.
fn compacting() -> Plan {
    unscaled(real("gsv", 1_000, &[("2.when", "{ reserve = 900 }"), ("2.keep_recent", "75")]))
}

/// Seed 004: manual, the default: until explicitly reset via `/reset`
#[test]
fn sessions_persist_until_they_are_explicitly_reset() {
    // A night and a week lie between; `/reset` counts as the first word alone.
    let session = talk(&[
        ("18T10:00", U, "hello"),
        ("18T10:01", A, "hi"),
        ("19T10:00", U, "do not /reset"),
        ("19T10:01", A, "no"),
        ("26T10:00", U, "/resets?"),
        ("26T10:01", A, "no"),
        ("26T10:02", U, "/reset"),
        ("26T10:03", A, "done"),
    ]);
    assert_eq!(ledgers(&session, &gsv()), ["V", "VVV", "VVVVV", "......V"]);
}

/// Seed 004: a new session ID, messages are cleared
#[test]
fn reset_leaves_only_requesting_message_under_new_id() {
    let session = asked_to_reset();
    assert_eq!(ledgers(&session, &gsv())[3..], ["......V", "......VVV"]);
    let mut twice = session.clone();
    twice.messages.extend(session.messages.iter().cloned().enumerate().map(|(at, mut m)| {
        m.id = format!("m{}", at + 10);
        m
    }));
    at_end(&twice, &gsv(), &Scribe::default(), |replay| {
        let paths: Vec<String> = files(replay).into_keys().collect();
        let sessions: Vec<&String> = paths.iter().filter(|p| p.contains("/sessions/")).collect();
        assert_eq!(
            sessions,
            ["agents/main/sessions/session-1.jsonl.gz", "agents/main/sessions/session-2.jsonl.gz"]
        );
        assert_eq!(archived(&files(replay), "session-2"), ids(6..16));
    });
}

/// Seed 004: the entire history as gzipped JSONL at
/// `agents/{agentId}/sessions/{sessionId}.jsonl.gz`
#[test]
fn entire_history_is_archived_as_gzipped_json_lines() {
    let session = asked_to_reset();
    at_end(&session, &gsv(), &Scribe::default(), |replay| {
        let bytes = &files(replay)["agents/main/sessions/session-1.jsonl.gz"];
        assert_eq!(bytes[..2], [0x1f, 0x8b], "gzip");
        assert_eq!(read_archive(bytes), session.messages[..6]);
    });
    // Nothing is archived before.
    at(&session, &gsv(), &Scribe::default(), 2, |replay| {
        assert_eq!(files(replay), BTreeMap::new());
    });
}

/// Seed 004: it won't be loaded into future prompts
#[test]
fn archived_session_is_in_no_later_prompt() {
    at_end(&asked_to_reset(), &gsv(), &Scribe::default(), |session| {
        let sent = sent(session);
        assert!(sent.iter().all(|(_, text)| !text.contains("Ada")), "{sent:?}");
    });
}

/// Seed 004: token counters are reset: the first call after uses the heuristic
#[test]
fn reset_token_counters_make_first_call_use_heuristic() {
    let long = even(900);
    let session = talk(&[
        ("18T10:00", U, &long),
        ("18T10:01", A, "hi"),
        ("18T10:02", U, "/reset"),
        ("18T10:03", A, "hello"),
        ("18T10:04", U, "go on"),
        ("18T10:05", A, "yes"),
    ]);
    let plan = unscaled(real("gsv", 2_000, &[("1.extract", "false")]));
    let estimated = |request| {
        at(&session, &plan, &Scribe::default(), request, |replay| {
            (replay.last_request().unwrap().estimated.unwrap(), replay.context().weight())
        })
    };
    // JSON.stringify(message).length / 4 × 1.2, a part of a token a token.
    for request in [0, 1] {
        let (size, weight) = estimated(request);
        assert_eq!(size, (weight.json_units * 3).div_ceil(10), "request {request}");
    }
    // Afterwards what the request before was reported to hold.
    let (_, before) = estimated(1);
    assert_eq!(estimated(2).0, before.tokens);
}

/// Seed 004: before archiving, a memory extraction pass
#[test]
fn memories_of_whole_session_are_extracted_before_archiving() {
    let compactor = Scribe::default();
    at_end(&asked_to_reset(), &gsv(), &compactor, |session| {
        let asked = compactor.asked();
        assert_eq!(asked.len(), 1);
        let said = ["hello", "hi", "Ada owns the keys", "noted", "good", "fine"];
        assert_eq!(asked[0], said, "not the message that asks for the reset");
        let file = String::from_utf8(files(session)["agents/main/memory/2026-01-18.md"].clone());
        let expected = "### Extracted from context compaction (10:06)\n\n- memory 0\n";
        assert_eq!(file.unwrap(), expected);
    });
}

/// Seed 004: if compaction is enabled and there is extractable content
#[test]
fn disabled_compaction_or_empty_session_extracts_nothing() {
    let compactor = Scribe::default();
    let plan = real("gsv", 200_000, &[("1.extract", "false")]);
    at_end(&asked_to_reset(), &plan, &compactor, |session| {
        assert_eq!(archived(&files(session), "session-1"), ids(0..6));
    });
    let mut silent = asked_to_reset();
    for message in &mut silent.messages[..6] {
        message.blocks = vec![Block::Text { text: " \n".into() }];
    }
    at_end(&silent, &gsv(), &compactor, |session| {
        assert_eq!(archived(&files(session), "session-1"), ids(0..6));
    });
    assert!(compactor.asked().is_empty());
}

/// Seed 004: a chunk that fails or is too large is gone without (GSV's code)
#[test]
fn failed_extraction_does_not_delay_the_reset() {
    // Four messages of 57 make a chunk of at most 250, so there are three. The
    // second call fails, and the last goes on.
    let mut lines = vec![("18T10:00", U, ""); 9];
    lines.extend([("18T10:01", U, "/reset"), ("18T10:02", A, "done")]);
    let session = talk(&lines);
    let compactor = Scribe::default().failing_at(&[1]);
    let plan = unscaled(real("gsv", 1_000, &[]));
    at_end(&session, &plan, &compactor, |replay| {
        assert_eq!(ledger(replay), ".........V");
        assert_eq!(known(&compactor), [vec![], vec!["memory 0"], vec!["memory 0"]]);
        assert!(notes(replay)["daily-memory"].ends_with("- memory 0\n- memory 2"));
    });
    // What is larger than half the window is never put to a model.
    let long = even(2_000);
    let session = talk(&[("18T10:00", U, &long), ("18T10:01", U, "/reset"), ("18T10:02", A, "")]);
    let compactor = Scribe::default();
    at_end(&session, &plan, &compactor, |replay| assert_eq!(ledger(replay), ".V"));
    assert!(compactor.asked().is_empty());
}

/// Seed 004: daily memory loaded into next session's system prompt
#[test]
fn next_session_has_memories_in_its_system_prompt() {
    let note = "## Memory of 2026-01-18\n### Extracted from context compaction (10:06)\n- memory 0";
    for request in [3, 4] {
        at(&asked_to_reset(), &gsv(), &Scribe::default(), request, |session| {
            assert_eq!(notes(session)["daily-memory"], note);
        });
    }
    at(&asked_to_reset(), &gsv(), &Scribe::default(), 2, |session| {
        assert_eq!(notes(session), BTreeMap::new());
    });
}

/// Seed 004: the files of today and yesterday are loaded into every system prompt: a two-day
/// sliding window
#[test]
fn memories_are_in_prompts_of_that_day_and_the_next() {
    let session = from_disk(talk(&[
        ("18T10:00", U, "hello"),
        ("18T10:01", A, "hi"),
        ("18T10:02", U, "/reset"),
        ("18T10:03", A, "done"),
        ("18T23:00", U, "good night"),
        ("18T23:01", A, "good night"),
        ("19T23:58", U, "still there?"),
        ("19T23:59", A, "yes"),
        ("20T00:01", U, "and now?"),
        ("20T00:02", A, "no"),
    ]));
    let loaded = (0..5).map(|request| {
        at(&session, &gsv(), &Scribe::default(), request, |replay| {
            notes(replay).get("daily-memory").is_some_and(|note| note.ends_with("- memory 0"))
        })
    });
    assert_eq!(loaded.collect::<Vec<_>>(), [false, true, true, true, false]);
}

/// Seed 004: extracted memories are appended to the day's file; a two-day window of
/// recently-extracted knowledge
#[test]
fn memory_extracted_again_days_later_is_in_prompts_again() {
    let session = from_disk(talk(&[
        ("18T10:00", U, "hello"),
        ("18T10:01", A, "hi"),
        ("18T10:02", U, "/reset"),
        ("18T10:03", A, "done"),
        ("21T10:00", U, "hello"),
        ("21T10:01", A, "hi"),
        ("21T10:02", U, "/reset"),
        ("21T10:03", A, "done"),
    ]));
    let compactor = || Scribe { memory: Some("Ada owns the keys."), ..Scribe::default() };
    let day = |request| {
        at(&session, &gsv(), &compactor(), request, |replay| {
            let note = notes(replay).remove("daily-memory")?;
            assert!(note.ends_with("\n- Ada owns the keys."), "{note}");
            Some(note["## Memory of ".len()..].lines().next()?.to_owned())
        })
    };
    let days = [0, 1, 2, 3].map(day);
    assert_eq!(
        days.each_ref().map(Option::as_deref),
        [None, Some("2026-01-18"), None, Some("2026-01-21")]
    );
}

/// Seed 004: the last input tokens: including system prompt, messages, and tool definitions
#[test]
fn reported_size_includes_system_prompt_and_tool_definitions() {
    // Compacted above 20,000 - 2,000. The newest message, 32 units of JSON or 10
    // tokens, is kept.
    let overrides = [("2.when", "{ reserve = 2_000 }"), ("2.keep_recent", "10")];
    let plan = unscaled(real("gsv", 20_000, &overrides));
    let ledger = |tokens: usize, tools: Vec<ToolDefinition>| {
        let mut session = Talk::new(&even(1_000)).user(tokens).says(1).user(1).says(1).end();
        session.preamble.tools = tools;
        at_end(&from_disk(session), &plan, &Scribe::default(), ledger)
    };
    let tool = || ToolDefinition {
        name: "Bash".into(),
        description: "Runs a command.".into(),
        parameters: json!({"type": "object"}),
    };
    assert_eq!(ledger(17_000, Vec::new()), "VVV");
    assert_eq!(ledger(17_001, Vec::new()), "FFV");
    assert_eq!(ledger(17_000, vec![tool()]), "FFV");
}

/// Seed 004: tier 1: asked to produce two things, `<summary>` and `<memories>`
#[test]
fn the_prompt_asks_for_a_summary_and_memories() {
    let prompt = include_str!("../../strategies/prompts/chunked-summary.md");
    let prompt = prompt.split_whitespace().collect::<Vec<_>>().join(" ");
    let section = |tag: &str| {
        let inner = prompt.split_once(&format!("<{tag}>")).unwrap().1;
        inner.split_once(&format!("</{tag}>")).unwrap().0.to_lowercase()
    };
    let summary = "concise narrative that preserves decisions, action items, technical context \
                   and current state";
    assert!(section("summary").contains(summary));
    assert!(section("memories").contains("durable facts worth remembering long-term"));
}

/// Seed 004: the file of the day of the last activity (GSV's code)
#[test]
fn reset_of_yesterdays_session_writes_to_yesterdays_file() {
    let session = talk(&[
        ("18T22:00", U, "hello"),
        ("18T22:01", A, "hi"),
        ("19T09:30", U, "good morning"),
        ("19T09:31", A, "good morning"),
    ]);
    let plan = real("gsv-daily", 200_000, &[]);
    at_end(&session, &plan, &Scribe::default(), |replay| {
        let file = &files(replay)["agents/main/memory/2026-01-18.md"];
        let expected = "### Extracted from context compaction (09:30)\n\n- memory 0\n";
        assert_eq!(file, expected.as_bytes());
        assert!(notes(replay)["daily-memory"].starts_with("## Memory of 2026-01-18\n"));
    });
}

/// Seed 004: daily: at a specified hour, default 4 AM
#[test]
fn session_resets_daily_at_4_in_the_morning() {
    let session = talk(&[
        ("18T22:00", U, "one"),
        ("18T22:01", A, "two"),
        ("19T03:59", U, "three"),
        ("19T03:59", A, "four"),
        ("19T04:00", U, "five"),
        ("19T04:01", A, "six"),
        ("19T23:00", U, "seven"),
        ("19T23:01", A, "eight"),
    ]);
    let plan = real("gsv-daily", 200_000, &[]);
    assert_eq!(ledgers(&session, &plan), ["V", "VVV", "....V", "....VVV"]);
    // "At a specified hour (default 4 AM)".
    let later = real("gsv-daily", 200_000, &[("when", "{ hour = 23 }")]);
    assert_eq!(ledgers(&session, &later)[3], "......V");
}

/// Seed 004: idle: after a period of inactivity, configurable minutes
#[test]
fn idle_session_resets_after_period_of_inactivity() {
    let session = talk(&[
        ("18T10:00", U, "one"),
        ("18T10:01", A, "two"),
        ("18T11:01", U, "three"),
        ("18T11:02", A, "four"),
        ("18T12:03", U, "five"),
        ("18T12:04", A, "six"),
    ]);
    let plan = real("gsv-idle", 200_000, &[]);
    assert_eq!(ledgers(&session, &plan), ["V", "VVV", "....V"]);
    let minutes = real("gsv-idle", 200_000, &[("when", "{ idle_minutes = 30 }")]);
    assert_eq!(ledgers(&session, &minutes)[1], "..V");
}

/// Seed 004: manually or automatically
#[test]
fn every_policy_obeys_the_command() {
    for name in ["gsv-daily", "gsv-idle"] {
        let plan = real(name, 200_000, &[]);
        assert_eq!(ledgers(&asked_to_reset(), &plan)[3], "......V", "{name}");
    }
    // A command after a night: one session ends, not two.
    let session = talk(&[
        ("18T22:00", U, "one"),
        ("18T22:01", A, "two"),
        ("19T09:00", U, "/reset"),
        ("19T09:01", A, "done"),
    ]);
    at_end(&session, &real("gsv-daily", 200_000, &[]), &Scribe::default(), |replay| {
        let files = files(replay);
        assert_eq!(files.keys().filter(|path| path.contains("/sessions/")).count(), 1);
    });
}

/// Compacted at the first request (messages 0 and 1) and after the reset.
fn compacted_and_reset() -> Session {
    talk(&[
        ("18T10:00", U, ""),
        ("18T10:01", U, ""),
        ("18T10:02", U, ""),
        ("18T10:03", A, "ok"),
        ("18T10:04", U, "/reset"),
        ("18T10:05", U, ""),
        ("18T10:06", U, ""),
        ("18T10:07", U, ""),
        ("18T10:08", A, "ok"),
    ])
}

/// Seed 004: original old messages go to a partial archive
#[test]
fn each_compaction_archives_its_folded_messages_as_part() {
    let session = compacted_and_reset();
    at(&session, &compacting(), &Scribe::default(), 0, |replay| {
        assert_eq!(ledger(replay), "FFV");
        let files = files(replay);
        let bytes = &files["agents/main/sessions/session-1-part1.jsonl.gz"];
        assert_eq!(read_archive(bytes), session.messages[..2]);
        assert!(!files.contains_key("agents/main/sessions/session-1.jsonl.gz"));
    });
    // The whole session's archive holds them too, and parts are counted anew.
    at_end(&session, &compacting(), &Scribe::default(), |replay| {
        assert_eq!(ledger(replay), "....FFFV");
        let files = files(replay);
        assert_eq!(archived(&files, "session-1-part1"), ids(0..2));
        assert_eq!(archived(&files, "session-1"), ids(0..4));
        assert_eq!(archived(&files, "session-2-part1"), ids(4..7));
        assert_eq!(files.len(), 4, "and the memories of the day");
    });
}

/// Seed 004: multiple compactions in a day append to the same file
#[test]
fn daily_extractions_share_one_file_and_see_previous() {
    let compactor = Scribe::default();
    at_end(&compacted_and_reset(), &compacting(), &compactor, |session| {
        let file = String::from_utf8(files(session)["agents/main/memory/2026-01-18.md"].clone());
        let section = |time: &str, n: u32| {
            format!("### Extracted from context compaction (10:{time})\n\n- memory {n}\n")
        };
        let expected = [section("02", 0), section("04", 1), section("07", 2)].join("\n");
        assert_eq!(file.unwrap(), expected);
    });
    let known: Vec<usize> = known(&compactor).iter().map(Vec::len).collect();
    assert_eq!(known, [0, 1, 2]);
}

/// Seed 004: anything worth remembering: also of what was compacted
#[test]
fn last_extraction_reads_summary_of_compacted_messages() {
    let compactor = Scribe::default();
    at_end(&compacted_and_reset(), &compacting(), &compactor, |_| {});
    let texts = &compactor.asked()[1];
    let marker = "[Conversation summary from automatic context compaction]\n\nsummary 0";
    assert_eq!(texts[..], [marker.to_owned(), even(40), "ok".to_owned()]);
}

/// Seed 004: image counts after a reset (ours)
#[test]
fn a_new_session_counts_its_own_images() {
    let mut session = compacted_and_reset();
    for image in [0, 5] {
        session.messages[image].blocks.push(Block::Image { media_type: None });
    }
    let summary = |request| {
        at(&session, &compacting(), &Scribe::default(), request, |replay| {
            let sent = sent(replay).into_iter().map(|(_, text)| text);
            sent.into_iter().find(|text| text.contains("[Conversation summary")).unwrap()
        })
    };
    for request in [0, 1] {
        let summary = summary(request);
        assert!(summary.contains("[Images in the compacted messages: 1."), "{summary}");
    }
}

/// The strategy as its file has it, with the commented stage of MEMORY.md.
fn with_memory_md(text: &str) -> Plan {
    let file = include_str!("../../strategies/gsv.toml");
    let (before, stage) = file.split_once("# [[stage]]\n").expect("the stage is there");
    let stage = stage.replace("# ", "");
    let prompt = |name: &str| match name {
        "MEMORY.md" => Some(text.to_owned()),
        "prompts/chunked-summary.md" => {
            Some(include_str!("../../strategies/prompts/chunked-summary.md").to_owned())
        }
        _ => None,
    };
    let strategy =
        Strategy::parse(None, "gsv.toml", &format!("{before}[[stage]]\n{stage}"), &[], &prompt);
    plan(strategy.unwrap(), 200_000)
}

/// Seed 004: MEMORY.md in main sessions only
#[test]
fn memory_md_is_only_in_main_session_prompts() {
    let plan = with_memory_md("# Long-term\nAda's birthday: {{ 2 May }}\n");
    let mut session = asked_to_reset();
    for (id, loaded) in [("log", true), ("log#sidechain-1", false), ("sidechain", true)] {
        session.id = id.to_owned();
        for request in 0..5 {
            at(&session, &plan, &Scribe::default(), request, |replay| {
                let notes = notes(replay);
                let note = notes.values().find(|text| text.starts_with("# Long-term"));
                let text = "# Long-term\nAda's birthday: {{ 2 May }}".to_owned();
                assert_eq!(note, Some(&text).filter(|_| loaded), "{id}, {request}");
            });
        }
    }
    at_end(&asked_to_reset(), &gsv(), &Scribe::default(), |replay| {
        assert_eq!(notes(replay).into_keys().collect::<Vec<_>>(), ["daily-memory"], "by default");
    });
}

/// Seed 004: daily memory files are loaded for all sessions
#[test]
fn daily_memories_are_loaded_for_all_sessions() {
    let mut session = asked_to_reset();
    session.id = "log#sidechain-1".to_owned();
    at_end(&session, &with_memory_md("mine"), &Scribe::default(), |replay| {
        assert_eq!(notes(replay).into_keys().collect::<Vec<_>>(), ["daily-memory"]);
    });
}

/// Seed 004: a call that still runs (ours)
#[test]
fn call_awaiting_result_stays_with_later_messages() {
    let mut session = talk(&[
        ("18T10:00", U, "hello"),
        ("18T10:01", A, ""),
        ("18T10:02", U, "/reset"),
        ("18T10:03", A, "later"),
        ("18T10:04", U, "well?"),
        ("18T10:05", A, "so"),
    ]);
    session.messages[1].blocks = vec![common::call("c", "x")];
    session.messages[3].role = Role::Tool;
    session.messages[3].blocks = vec![common::result("c", 5)];
    assert_eq!(ledgers(&session, &gsv())[1], ".VVVV");
}

/// Seed 004: session, archives and memories are persisted
#[test]
fn copied_session_goes_on_identically_at_every_message() {
    let (session, plan) = (compacted_and_reset(), compacting());
    let prepared = prepared(session);
    let (one, other) = (Scribe::default(), Scribe::default());
    let mut straight = ReplaySession::open(&prepared, &plan, &one).unwrap();
    let mut resumed = ReplaySession::open(&prepared, &plan, &other).unwrap();
    block_on(async {
        loop {
            resumed = resumed.copied().unwrap();
            let more = straight.step().await.unwrap();
            assert_eq!(resumed.step().await.unwrap(), more);
            assert_eq!(sent(&resumed), sent(&straight));
            assert_eq!(resumed.stored(), straight.stored());
            if !more {
                break;
            }
        }
    });
    assert_eq!(one.asked(), other.asked());
    assert_eq!(one.asked().len(), 3);
}
