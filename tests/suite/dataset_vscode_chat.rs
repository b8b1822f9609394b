//! Chats of VS Code with Copilot, in the structure of microsoft/vscode
//! (`chatModel.ts`, `objectMutationLog.ts`) and microsoft/vscode-copilot-chat
//! (`conversation.ts`, `intents.ts`).

use recap::dataset::{Dataset, DatasetError, LoadOptions, load_reader};
use recap::model::{Block, Transcript};
use serde_json::{Value as Json, json};

use crate::outline::outline;

const LOG: &str = include_str!("../fixtures/dataset/vscode-chat.jsonl");

fn try_read(text: &str) -> Result<Dataset, DatasetError> {
    load_reader("8a1c.jsonl", text.as_bytes(), &LoadOptions::default())
}

fn read(text: &str) -> Transcript {
    try_read(text).unwrap_or_else(|error| panic!("{error}")).transcripts.remove(0)
}

fn session(requests: Json) -> Json {
    json!({"version": 3, "responderUsername": "GitHub Copilot", "requests": requests})
}

fn log(changes: &[Json]) -> String {
    let first = json!({"kind": 0, "v": session(json!([{"message": "a"}]))});
    [first].iter().chain(changes).map(|change| format!("{change}\n")).collect()
}

#[test]
fn a_log_of_changes_becomes_the_chat_at_its_end() {
    let transcript = read(LOG);
    let expected = [
        "user: <userRequest>\nFind the limit of the valve.\n</userRequest>",
        "assistant: I look.",
        "call-1: LIMIT\npub const LIMIT: u32 = 4210;\n// mbar",
        "assistant: It is 4210.",
        "user: Halve it.",
        "assistant: Halved.",
    ];
    assert_eq!(outline(&transcript), expected);
    assert_eq!(transcript.id, "8a1c");
    assert_eq!(transcript.preamble.pinned, ["The folder is engine."]);
    assert_eq!(transcript.messages[1].reasoning(), "Hm.");
    assert_eq!(transcript.messages[4].at.unwrap().to_string(), "2026-01-05T08:00:02Z");
    assert_eq!(transcript.model.as_deref(), Some("gpt-5"));
    assert_eq!(transcript.other_models[&5], "claude-sonnet-5");
    let calls = transcript.messages[1].blocks.iter().filter_map(|block| match block {
        Block::ToolCall { name, arguments, .. } => Some((name.as_str(), arguments.to_string())),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), [("read_file", r#"{"path":"valve.rs"}"#.to_owned())]);
    let [compaction] = transcript.compactions.as_slice() else { panic!() };
    assert_eq!((compaction.kept_from, compaction.after), (4, 5));
    assert_eq!(compaction.summary.as_deref(), Some("The limit is 4210."));
    assert!(transcript.left_out.is_empty(), "{:?}", transcript.left_out);
}

#[test]
fn a_document_says_the_same_as_its_log() {
    let rounds = json!([
        {"id": "r1", "response": "One.", "toolCalls": [{"id": "c", "name": "run", "arguments": ""}]},
        {"id": "r2", "response": "Two.", "toolCalls": [], "summary": "Sum."},
        {"id": "r3", "response": "Three.", "toolCalls": []},
    ]);
    let answered = json!({"requestId": "a", "message": {"text": "Go."}, "modelId": "gpt-5",
        "variableData": {"variables": [{"kind": "image", "mimeType": "image/png"}, {"kind": "file"}]},
        "response": [{"value": "Two."}], "result": {"metadata": {"toolCallRounds": rounds}}});
    let undone = json!({"message": "No.", "shouldBeRemovedOnSend": {"requestId": "b"}});
    let other = json!({"message": {"text": "Old."}, "result": {"metadata": "x",
        "errorDetails": {"message": "Stopped."}}});
    let document = session(json!([answered, undone, other]));
    let log = json!({"kind": 0, "v": document});
    for text in
        [document.to_string(), serde_json::to_string_pretty(&document).unwrap(), format!("{log}\n")]
    {
        let transcript = read(&text);
        let expected =
            ["user: Go.", "assistant: One.", "assistant: Two.", "assistant: Three.", "user: Old."];
        assert_eq!(outline(&transcript), expected);
        assert_eq!(transcript.messages[0].images(), 1);
        let [compaction] = transcript.compactions.as_slice() else { panic!() };
        // The round behind the summarised one made the prompt too long.
        assert_eq!((compaction.kept_from, compaction.after), (3, 4));
        assert_eq!(transcript.left_out["request that the user went back before"], 1);
        assert_eq!(transcript.left_out["error that was shown"], 1);
    }
}

#[test]
fn what_was_shown_is_read_where_no_rounds_are_kept() {
    let call = |id: &str| {
        json!({"kind": "toolInvocationSerialized", "toolId": "run", "toolCallId": id,
            "resultDetails": {"input": "{\"x\":1}", "output": [{"type": "embed", "isText": true, "value": "ok"}], "isError": true}})
    };
    let mut inner = call("c3");
    inner["subAgentInvocationId"] = json!("s");
    let parts = json!([
        {"kind": "thinking", "value": "Hm."}, {"value": "See "},
        {"kind": "inlineReference", "name": "a.rs"}, {"kind": "markdownContent", "content": {"value": "."}},
        {"kind": "undoStop", "id": "u"}, call("c1"),
        {"kind": "toolInvocationSerialized", "toolId": "run", "toolCallId": "c2"}, inner,
        {"kind": "toolInvocationSerialized"}, {"value": "Done."},
    ]);
    let summary = json!({"toolCallRoundId": "a", "text": "Sum."});
    let lost = json!({"toolCallRoundId": "z", "text": "Sum."});
    let transcript = read(
        &session(json!([
            {"requestId": "a", "message": "Go.", "response": parts},
            {"requestId": "b", "message": "On.", "result": {"metadata": {"summary": summary}}},
            {"requestId": "c", "message": "On.", "result": {"metadata": {"summary": lost}}},
        ]))
        .to_string(),
    );
    let expected = [
        "user: Go.",
        "assistant: See a.rs.",
        "c1: ok",
        "assistant: Done.",
        "user: On.",
        "user: On.",
    ];
    assert_eq!(outline(&transcript), expected);
    assert_eq!(transcript.messages[1].calls().count(), 2);
    assert_eq!((transcript.compactions[0].kept_from, transcript.compactions[0].after), (4, 5));
    for reason in [
        "undoStop part of what was shown",
        "call of a subagent",
        "call without an id or a name",
        "summary of a round that is not in the recording",
    ] {
        assert_eq!(transcript.left_out[reason], 1, "{reason}");
    }
}

#[test]
fn hostile_changes_are_refused() {
    let deep: Vec<&str> = vec!["x"; 40];
    for (change, says) in [
        (json!({"kind": 1, "k": ["x", "y"], "v": 1}), "leads nowhere"),
        (json!({"kind": 1, "k": ["requests", 9, "message"], "v": 1}), "leads nowhere"),
        (json!({"kind": 1, "k": ["requests", 9], "v": 1}), "leads nowhere"),
        (json!({"kind": 1, "k": ["requests", "x"], "v": 1}), "leads nowhere"),
        (json!({"kind": 1, "k": ["requests", -1], "v": 1}), "k"),
        (json!({"kind": 2, "k": ["version"], "v": [1]}), "no list"),
        (json!({"kind": 2, "k": ["requests"], "v": 1}), "no list"),
        (json!({"kind": 2, "k": ["requests"], "i": 4_294_967_296_u64}), "behind its end"),
        (json!({"kind": 3, "k": deep}), "too long"),
        (json!({"kind": 9, "k": ["version"]}), "unknown kind"),
        (json!({"k": ["version"]}), "kind"),
        (json!({"kind": 1, "k": ["requests", 0, "modelId"], "v": 7}), "modelId"),
    ] {
        let text = format!("{}{}\n", log(&[change]), json!({"kind": 1, "k": []}));
        let error = try_read(&text).expect_err(says).to_string();
        assert!(error.contains(says), "`{says}` is missing in {error}");
    }
    let idle =
        read(&log(&[json!({"kind": 1, "k": [], "v": 1}), json!({"kind": 3, "k": ["version"]})]));
    assert_eq!(idle.left_out["change without a path"], 1);
    // A log that was cut within its last change.
    let cut = LOG.trim_end().strip_suffix("\"]}").unwrap();
    assert_eq!(read(cut).left_out["torn last line"], 1);
}

#[test]
fn values_may_be_nested_deeply_and_changes_be_very_many() {
    let nested = |depth| format!("{}{}", "{\"x\":[".repeat(depth), "]}".repeat(depth));
    let put = |key: &str| format!("{{\"kind\":1,\"k\":[{key}],\"v\":{}}}\n", nested(60));
    let path: String = ",\"x\",0".repeat(13);
    let first =
        log(&[json!({"kind": 1, "k": ["a"], "v": {"x": [{"x": [{"x": [{"x": [{"x": [{"x": [
        {"x": [{"x": [{"x": [{"x": [{"x": [{"x": [{"x": [0]}]}]}]}]}]}]}]}]}]}]}]}]}})]);
    assert_eq!(read(&format!("{first}{}", put(&format!("\"a\"{path}")))).messages.len(), 1);
    let start = std::time::Instant::now();
    let many = (0..40_000).map(|n| match n % 3 {
        0 => json!({"kind": 2, "k": ["requests", 0, "response"], "v": [{"value": "x"}]}),
        1 => json!({"kind": 1, "k": ["requests", 0, "timestamp"], "v": n}),
        _ => json!({"kind": 2, "k": ["requests"], "v": [{"message": "b"}], "i": 1}),
    });
    let transcript = read(&log(&many.collect::<Vec<_>>()));
    assert_eq!(transcript.messages.len(), 3);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
