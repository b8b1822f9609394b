//! Logs of coding agents that were read from public descriptions: Kimi Code
//! (MoonshotAI/kimi-code, `wire-manifest.d.ts`) and Aider (Aider-AI/aider).

use recap_core::model::Session;
use serde_json::{Value as Json, json};

use crate::outline::{lines, outline, refused, try_read, usages};

const AIDER: &str = include_str!("../fixtures/dataset/aider.chat.history.md");

fn read(text: &str) -> Session {
    let mut dataset = try_read(text).unwrap_or_else(|error| panic!("{error}"));
    dataset.sessions.remove(0)
}

/// A record of the context.
fn said(role: &str, text: &str) -> Json {
    let content = json!([{"type": "text", "text": text}]);
    let message = json!({"role": role, "content": content, "origin": {"kind": "user"}});
    json!({"type": "context.append_message", "message": message, "time": 1_788_000_000_000_i64})
}

fn event(event: Json) -> Json {
    json!({"type": "context.append_loop_event", "event": event})
}

fn step(text: &str) -> Json {
    event(json!({"type": "content.part", "part": {"type": "text", "text": text}}))
}

fn used(input: u64, scope: &str) -> Json {
    let usage =
        json!({"inputOther": input, "output": 1, "inputCacheRead": 0, "inputCacheCreation": 0});
    json!({"type": "usage.record", "model": "k3", "usage": usage, "usageScope": scope})
}

fn asked() -> Json {
    json!({"type": "llm.request", "kind": "loop", "model": "kimi-k3"})
}

#[test]
fn kimi_code_steps_without_a_begin_are_told_apart_by_requests() {
    let call =
        event(json!({"type": "tool.call", "toolCallId": "t", "name": "Grep", "args": {"p": 1}}));
    let result = json!({"output": "", "isError": true});
    let records = [
        said("user", "Go."),
        asked(),
        step("One."),
        call.clone(),
        event(json!({"type": "tool.result", "toolCallId": "t", "result": result})),
        used(900, "turn"),
        asked(),
        step("Two."),
        used(950, "turn"),
        asked(),
        step("Three."),
        call,
        asked(),
        step("Four."),
        used(7, "turn"),
    ];
    let session = read(&lines(&records));
    let expected = [
        "user: Go.",
        "assistant: One.",
        "t: <system>ERROR: Tool execution failed.</system>",
        "assistant: Two.",
        "assistant: Three.",
        "t#2: <system>ERROR: Tool execution failed.</system>\nTool execution was interrupted before \
         its result was recorded. Do not assume the tool completed successfully.",
        "assistant: Four.",
    ];
    assert_eq!(outline(&session), expected);
    assert_eq!(usages(&session), [[900, 0, 0, 1], [950, 0, 0, 1], [7, 0, 0, 1]]);
}

#[test]
fn undone_and_cleared_turns_of_kimi_code_are_billed_apart() {
    let undo = |count: i64| json!({"type": "context.undo", "count": count});
    let turn = |text: &str, input| [said("user", text), asked(), step("Yes."), used(input, "turn")];
    let compaction =
        json!({"type": "context.apply_compaction", "summary": "S.", "compactedCount": 1});
    let early = [vec![undo(1)], turn("a", 1).to_vec(), turn("b", 2).to_vec()].concat();
    let undone = [vec![undo(1), undo(9)], turn("c", 3).to_vec()].concat();
    // An old compaction keeps all but the first message; its user may be undone.
    let compacted =
        [vec![compaction, undo(1), json!({"type": "context.undo"})], turn("d", 4).to_vec()]
            .concat();
    let cleared = [vec![json!({"type": "context.clear"})], turn("e", 5).to_vec()].concat();
    let dataset = try_read(&lines(&[early, undone, compacted, cleared].concat())).unwrap();
    let [first, last] = &dataset.sessions[..] else { panic!("{}", dataset.sessions.len()) };
    assert_eq!(outline(first), ["user: a", "assistant: Yes.", "user: d", "assistant: Yes."]);
    assert_eq!(outline(last), ["user: e", "assistant: Yes."]);
    assert_eq!((first.id.as_str(), last.id.as_str()), ("file", "file-2"));
    let apart: Vec<u64> = first.sidechains.iter().map(|one| one.usage.input).collect();
    assert_eq!(apart, [2, 3]);
    assert_eq!(first.left_out["message of a turn that was rolled back"], 4);
    let told = crate::outline::actual(Ok(dataset));
    assert!(told.contains("set aside: 1 record"), "{told}");
}

#[test]
fn usage_of_kimi_code_without_a_response_is_billed_apart() {
    let records = [
        said("user", "Go."),
        asked(),
        step("Yes."),
        used(1, "turn"),
        used(2, "turn"),
        used(3, "turn"),
        used(4, "session"),
        json!({"type": "full_compaction.begin", "source": "auto"}),
        json!({"type": "llm.request", "kind": "compaction", "model": "kimi-k3"}),
        used(5, "turn"),
        json!({"type": "full_compaction.cancel"}),
        json!({"type": "hologram.shown"}),
    ];
    let session = read(&lines(&records));
    assert_eq!(usages(&session), [[1, 0, 0, 1]]);
    let apart: Vec<u64> = session.sidechains.iter().map(|one| one.usage.input).collect();
    assert_eq!(apart, [2, 4, 5, 3]);
    assert_eq!(session.left_out["compaction that did not end"], 1);
    assert_eq!(session.left_out["hologram.shown record"], 1);
}

#[test]
fn odd_records_of_kimi_code_are_set_aside() {
    for (record, says) in [
        (said("robot", "x"), "unknown role `robot`"),
        (said("tool", "x"), "toolCallId"),
        (event(json!({"type": "tool.call", "toolCallId": 7})), "toolCallId"),
        (json!({"type": "context.append_message", "message": 7}), "expected an object"),
        (json!({"type": "usage.record", "usage": {"inputOther": -1}}), "inputOther"),
        (json!({"type": "context.apply_compaction", "compactedCount": 1e300}), "contextSummary"),
        (json!({"type": "context.undo", "count": -1}), "count"),
        (json!([{"type": "turn.prompt"}]), "type"),
        (json!({"content": "x"}), "type"),
    ] {
        let dataset = try_read(&lines(&[said("user", "go"), record])).unwrap();
        assert_eq!(outline(&dataset.sessions[0]), ["user: go"]);
        let actual = crate::outline::actual(Ok(dataset));
        assert!(actual.contains("first line 2: ") && actual.contains(says), "{actual}");
    }
}

#[test]
fn inputs_and_responses_of_aider_are_told_apart() {
    let history = "# aider chat started at 2026-05-04 10:00:00\n\n\n#### /add a  \n> Added a  \n\n\
                   #### Go.  \n####   \n#### On.  \n\n#### Now.  \n\nOne.\n\n> Tokens: 1 sent.  \n\nTwo.\n\n";
    let expected = ["user: Go.\n\nOn.", "user: Now.", "assistant: One.", "assistant: Two."];
    assert_eq!(outline(&read(history)), expected);
}

#[test]
fn headings_of_an_aider_response_are_the_models() {
    let history = "# aider chat started at 2026-05-04 10:00:00\n\n#### Go.  \n\nOne.\n\n\
                   #### Network\n\nTwo.\n\n> Tokens: 1 sent.  \n\n#### On.  \n\nThree.\n\n#### And\n";
    let expected = [
        "user: Go.",
        "assistant: One.\n\n#### Network\n\nTwo.",
        "user: On.",
        "assistant: Three.\n\n#### And",
    ];
    assert_eq!(outline(&read(history)), expected);
    // The last line may be cut off; spaces that were taken away are missed nowhere.
    let cut = history.strip_suffix('\n').unwrap();
    assert_eq!(outline(&read(cut)).last().unwrap(), "user: And");
    let bare = outline(&read(&history.replace("  \n", "\n")));
    assert_eq!(bare[2], "user: Network");
}

#[test]
fn sizes_and_costs_that_aider_printed_are_totals() {
    let history = "# aider chat started at 2026-05-04 10:00:00\n\n> Main model: gpt-4.1 with diff edit format  \n\n\
        #### go  \n\nDone.\n\n> Tokens: 2.4k sent, 104 received. Cost: $0.0056 message, $0.0056 session.  \n\n\
        #### on  \n\nMore.\n\n> Tokens: 31k sent, 1.5k cache write, 2k cache hit, 1.2k received.  \n\
        > Cost: $0.13 message, $0.14 session.  \n\n#### /clear  \n\n#### more  \n\nThat too.\n\n\
        > Tokens: 900 sent, 40 received.  \n> Tokens: many sent, -3k received. Cost: $x message.  \n> Cost: nothing  \n";
    let dataset = try_read(history).unwrap();
    let totals: Vec<_> = dataset
        .sessions
        .iter()
        .map(|session| {
            let [total] = &session.totals[..] else { panic!("{:?}", session.totals) };
            let usage = total.usage;
            assert_eq!(total.model.as_deref(), Some("gpt-4.1"));
            (
                total.requests,
                [usage.input, usage.cache_read, usage.written(), usage.output],
                total.usd,
            )
        })
        .collect();
    assert_eq!(totals[0], (2, [29_900, 2_000, 1_500, 1_304], Some(0.1356)));
    assert_eq!(totals[1], (2, [900, 0, 0, 40], None));
    assert_eq!(totals.len(), 2);
}

#[test]
fn truncated_aider_history_is_prefix_of_whole() {
    let full: Vec<Vec<String>> = try_read(AIDER).unwrap().sessions.iter().map(outline).collect();
    for cut in (0..AIDER.len()).filter(|cut| AIDER.is_char_boundary(*cut)) {
        let Ok(dataset) = try_read(&AIDER[..cut]) else { continue };
        let read: Vec<Vec<String>> = dataset.sessions.iter().map(outline).collect();
        let flat = |sessions: &[Vec<String>]| sessions.concat();
        let (mut read, full) = (flat(&read), flat(&full));
        let last = read.pop().unwrap();
        assert_eq!(read, full[..read.len()], "cut at {cut}");
        assert!(full[read.len()].starts_with(&last), "cut at {cut}: {last}");
    }
    assert_eq!(
        read(&AIDER[..AIDER.find("#### Thanks").unwrap() + 3]).left_out["torn last line"],
        1
    );
}

#[test]
fn aider_commands_are_not_messages_some_clear_context() {
    let history = "# aider chat started at 2026-05-04 10:00:00\n\n\
        > Main model: gpt-4o with diff edit format\n\
        #### /add src/valve.rs\n> Added src/valve.rs to the chat\n\n\
        #### /ask Where is the limit?\n\nIn src/valve.rs.\n\n> Tokens: 1k sent, 9 received.\n\
        #### !ls src\n\n#### /clear\n\
        > Model: o3 with architect edit format, weak\n\
        #### Find it.\n\nFound.\n\n#### /reset\n#### /help\n\n#### And on.\n\nDone.\n\
        # aider chat started at 2026-05-04 11:00:00\n\n#### /exit\n\
        # aider chat started at 2026-05-04 12:00:00\n\n#### /clear\n\n#### Bye.\n";
    let dataset = try_read(history).unwrap();
    let all: Vec<_> = dataset
        .sessions
        .iter()
        .map(|one| (one.id.as_str(), one.model.as_deref(), outline(one)))
        .collect();
    let said = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let expected = [
        (
            "file-1",
            Some("gpt-4o"),
            said(&["user: Where is the limit?", "assistant: In src/valve.rs."]),
        ),
        ("file-1-2", Some("o3"), said(&["user: Find it.", "assistant: Found."])),
        ("file-1-3", Some("o3"), said(&["user: And on.", "assistant: Done."])),
        ("file-3", None, said(&["user: Bye."])),
    ];
    assert_eq!(all, expected);
    assert_eq!(dataset.sessions[0].left_out["command to aider"], 3);
}

#[test]
fn many_empty_aider_sessions_are_read_fast() {
    let begun = std::time::Instant::now();
    let history = "# aider chat started at x\n\n".repeat(100_000) + "#### Go.\n";
    assert_eq!(outline(&read(&history)), ["user: Go."]);
    let empty = "# aider chat started at x\n".repeat(100_000);
    assert!(refused(&empty).contains("no conversation"), "nothing was said");
    assert!(begun.elapsed().as_secs() < 10, "{:?}", begun.elapsed());
}

#[test]
fn long_chats_are_read_in_linear_time() {
    let n = 40_000;
    let history = format!("# aider chat started at x\n{}", "#### a\nb\n".repeat(n));
    assert_eq!(read(&history).messages.len(), 2 * n);
    let call =
        |id: usize| event(json!({"type": "tool.call", "toolCallId": id.to_string(), "name": "f"}));
    let undo = json!({"type": "context.undo", "count": n});
    let n = n / 4;
    let calls = (0..n).flat_map(|id| [said("user", "x"), call(id), undo.clone()]);
    assert_eq!(read(&lines(&calls.collect::<Vec<_>>())).messages.len(), 3 * n);
}
