//! Logs of coding agents that were read from public descriptions: Kimi CLI
//! (MoonshotAI/kimi-cli, `soul/context.py`) and Aider (Aider-AI/aider).

use recap_core::model::Session;
use serde_json::json;

use crate::outline::{lines, outline, refused, try_read, usages};

const KIMI: &str = include_str!("../fixtures/dataset/kimi-cli.jsonl");
const AIDER: &str = include_str!("../fixtures/dataset/aider.chat.history.md");

fn read(text: &str) -> Session {
    let mut dataset = try_read(text).unwrap_or_else(|error| panic!("{error}"));
    dataset.sessions.remove(0)
}

#[test]
fn compacted_kimi_cli_context_begins_with_summary() {
    let session = read(KIMI);
    let expected = [
        "user: Find the limit.",
        "assistant: I look.",
        "c1: LIMIT = 4210",
        "assistant: It is 4210.",
        "user: Thanks.",
    ];
    assert_eq!(outline(&session), expected);
    assert_eq!(session.preamble.system, ["Be brief."]);
    assert_eq!(session.messages[1].reasoning(), "Hm.");
    assert_eq!(session.messages[2].images(), 1);
    assert_eq!(session.left_out["_checkpoint record"], 2);
    let [compaction] = &session.compactions[..] else { panic!() };
    assert_eq!((compaction.after, compaction.kept_from), (0, 0));
    assert_eq!(compaction.summary.as_deref(), Some("The limit was sought."));
    assert_eq!(compaction.pieces.len(), 1);
}

#[test]
fn kimi_cli_context_sizes_are_prompts_and_answers() {
    let size = |tokens: u64| json!({"role": "_usage", "token_count": tokens});
    let call = json!({"id": "c", "function": {"name": "Read", "arguments": "{}"}});
    let records = [
        json!({"role": "user", "content": "go"}),
        size(900),
        json!({"role": "assistant", "content": "I look.", "tool_calls": [call]}),
        size(960),
        json!({"role": "tool", "tool_call_id": "c", "content": "4210"}),
        json!({"role": "_checkpoint", "id": 1}),
        size(1_000),
        // The size behind it was not written.
        json!({"role": "assistant", "content": "It is 4210."}),
        json!({"role": "user", "content": "Thanks."}),
        // And here not the one before.
        json!({"role": "assistant", "content": "Good."}),
        size(1_300),
        size(1_400),
    ];
    let session = read(&lines(&records));
    assert_eq!(usages(&session), [[900, 0, 0, 60], [1_000, 0, 0, 0]]);
    let actual = session.messages.iter().filter_map(|message| message.usage);
    let actual: Vec<_> = actual.map(|usage| (usage.output_final, usage.cache_unknown)).collect();
    assert_eq!(actual, [(true, true), (false, true)]);
    assert_eq!(session.left_out["size of the context without that of its prompt"], 1);
    assert_eq!(session.left_out["size of the context without a response"], 1);
}

#[test]
fn odd_contexts_of_kimi_cli_are_set_aside() {
    let note = json!({"role": "_checkpoint", "id": 0});
    for (record, says) in [
        (json!({"role": "robot", "content": "x"}), "unknown role `robot`"),
        (json!({"role": "tool", "content": "x"}), "tool_call_id"),
        (json!({"role": "assistant", "tool_calls": [{"id": "c"}]}), "function"),
        (json!({"content": "x"}), "role"),
    ] {
        let said = json!({"role": "user", "content": "go"});
        let dataset = try_read(&lines(&[note.clone(), record, said])).unwrap();
        assert_eq!(outline(&dataset.sessions[0]), ["user: go"]);
        let actual = crate::outline::actual(Ok(dataset));
        assert!(actual.contains("first line 2: ") && actual.contains(says), "{actual}");
    }
}

#[test]
fn aider_history_yields_one_session_per_start() {
    let dataset = try_read(AIDER).unwrap();
    let [first, last] = &dataset.sessions[..] else { panic!("{}", dataset.sessions.len()) };
    let expected = [
        "user: Find the limit.\nIt is in src/valve.rs.",
        "assistant: I look.\n\n```rust\npub const LIMIT: u32 = 4210;\n```",
        "user: Thanks.",
        "assistant: It is 4210.",
    ];
    assert_eq!(outline(first), expected);
    assert_eq!(first.left_out["line that aider itself printed"], 3);
    assert_eq!(first.messages[0].at.unwrap().to_string(), "2026-05-04T10:00:00Z");
    assert_eq!(outline(last), ["user: Again.", "assistant: Again it is 4210."]);
    assert_eq!((first.id.as_str(), last.id.as_str()), ("file-1", "file-3"));
}

#[test]
fn inputs_and_responses_of_aider_are_told_apart() {
    let history = "# aider chat started at 2026-05-04 10:00:00\n\n\n#### /add a  \n> Added a  \n\n\
                   #### Go.  \n####   \n#### On.  \n\n#### Now.  \n\nOne.\n\n> Tokens: 1 sent.  \n\nTwo.\n\n";
    let expected = ["user: Go.\n\nOn.", "user: Now.", "assistant: One.", "assistant: Two."];
    assert_eq!(outline(&read(history)), expected);
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
    let said = json!({"role": "user", "content": "x"});
    let context = lines(&[json!({"role": "_checkpoint", "id": 0})]) + &lines(&vec![said; n]);
    assert_eq!(read(&context).messages.len(), n);
}
