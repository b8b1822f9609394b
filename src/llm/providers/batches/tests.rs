use serde_json::{Value, json};

use super::*;

fn files(output: Option<&str>, errors: Option<&str>, status: &str) -> Value {
    json!({"id": "batch_1", "status": status, "output_file_id": output, "error_file_id": errors})
}

fn state(batches: &dyn Batches, body: &Value) -> BatchState {
    batches.batch(body).unwrap().state
}

#[test]
fn a_batch_of_openai_is_a_file_and_a_reference_to_it() {
    let entry = OPENAI.entry("k1", "/v1/responses", &json!({"model": "m"}));
    let read: Value = serde_json::from_str(&entry).unwrap();
    let expected = json!({"custom_id": "k1", "method": "POST", "url": "/v1/responses",
        "body": {"model": "m"}});
    assert_eq!(read, expected);
    let upload = OPENAI.upload(&[&entry, "{\"a\": 1}"]).unwrap();
    let boundary = upload.kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    let body = String::from_utf8(upload.body).unwrap();
    let parts: Vec<&str> = body.split(&format!("--{boundary}")).collect();
    assert_eq!((parts.len(), parts[0], parts[3]), (4, "", "--\r\n"));
    assert!(parts[1].contains("name=\"purpose\"\r\n\r\nbatch\r\n"), "{body}");
    assert!(parts[2].ends_with(&format!("\r\n\r\n{entry}\n{{\"a\": 1}}\n\r\n")), "{body}");
    let create = OPENAI.create(&[], Some("file-1"), "/v1/responses");
    let read: Value = serde_json::from_slice(&create.body).unwrap();
    let expected = json!({"input_file_id": "file-1", "endpoint": "/v1/responses",
        "completion_window": "24h"});
    assert_eq!((create.path, read), ("/v1/batches", expected));
}

#[test]
fn a_batch_of_anthropic_holds_its_requests() {
    let entries = [
        ANTHROPIC.entry("k1", "/v1/messages", &json!({"model": "m"})),
        ANTHROPIC.entry("k2", "/v1/messages", &json!({"model": "m"})),
    ];
    assert_eq!(ANTHROPIC.upload(&[&entries[0]]), None);
    let create = ANTHROPIC.create(&[&entries[0], &entries[1]], None, "/v1/messages");
    let read: Value = serde_json::from_slice(&create.body).unwrap();
    let expected = json!({"requests": [
        {"custom_id": "k1", "params": {"model": "m"}},
        {"custom_id": "k2", "params": {"model": "m"}},
    ]});
    assert_eq!((create.path, create.kind.as_str()), ("/v1/messages/batches", "application/json"));
    assert_eq!(read, expected);
}

#[test]
fn every_status_says_whether_there_are_results() {
    for status in ["validating", "in_progress", "finalizing", "cancelling"] {
        assert_eq!(state(&OPENAI, &files(Some("f"), None, status)), BatchState::Running);
    }
    let ended = |paths: &[&str]| BatchState::Ended(paths.iter().map(|&p| p.to_owned()).collect());
    let both = ended(&["/v1/files/file-o/content", "/v1/files/file-e/content"]);
    for status in ["completed", "expired", "cancelled"] {
        assert_eq!(state(&OPENAI, &files(Some("file-o"), Some("file-e"), status)), both);
    }
    assert_eq!(state(&OPENAI, &files(None, Some("e"), "expired")), ended(&["/v1/files/e/content"]));
    assert_eq!(state(&OPENAI, &files(None, None, "completed")), ended(&[]));
    let errors: Vec<Value> =
        (1..6).map(|line| json!({"line": line, "message": "no such model"})).collect();
    let mut failed = files(None, None, "failed");
    failed["errors"] = json!({"object": "list", "data": errors});
    let said = "line 1: no such model; line 2: no such model; line 3: no such model; and 2 more";
    assert_eq!(state(&OPENAI, &failed), BatchState::Failed(said.to_owned()));
    failed["errors"] = Value::Null;
    let none = BatchState::Failed("no reason was given".to_owned());
    assert_eq!(state(&OPENAI, &failed), none);

    let batch = |status: &str, archived: Value| {
        json!({"id": "msgbatch_1", "processing_status": status, "archived_at": archived,
            "results_url": "https://elsewhere/x"})
    };
    for status in ["in_progress", "canceling"] {
        assert_eq!(state(&ANTHROPIC, &batch(status, Value::Null)), BatchState::Running);
    }
    let results = ended(&["/v1/messages/batches/msgbatch_1/results"]);
    assert_eq!(state(&ANTHROPIC, &batch("ended", Value::Null)), results);
    let archived = state(&ANTHROPIC, &batch("ended", json!("2026-01-01T00:00:00Z")));
    assert!(matches!(archived, BatchState::Failed(_)));
}

#[test]
fn what_is_no_batch_and_a_name_that_would_leave_its_path_are_refused() {
    let refused =
        |batches: &dyn Batches, body: Value| batches.batch(&body).unwrap_err().to_string();
    assert_eq!(refused(&OPENAI, json!([])), "the response has no status");
    assert_eq!(refused(&ANTHROPIC, json!({"id": "b"})), "the response has no processing_status");
    for id in ["", "../files", "a/b", "a?b", "a b", "é"] {
        let openai = json!({"id": id, "status": "validating"});
        assert!(refused(&OPENAI, openai).contains("usable id"), "{id}");
        let file = json!({"id": "b", "status": "completed", "output_file_id": id});
        assert!(OPENAI.batch(&file).is_err(), "{id}");
        let anthropic = json!({"id": id, "processing_status": "ended"});
        assert!(refused(&ANTHROPIC, anthropic).contains("usable id"), "{id}");
    }
    assert!(OPENAI.uploaded(&json!({"object": "file"})).is_err());
    assert_eq!(OPENAI.uploaded(&json!({"id": "file-1"})).unwrap(), "file-1");
}

#[test]
fn a_result_is_an_answer_or_says_why_there_is_none() {
    let openai = |response: Value, error: Value| {
        OPENAI.result(&json!({"custom_id": "k", "response": response, "error": error}))
    };
    let answer = |status, body| Some(("k".to_owned(), BatchResult::Answer { status, body }));
    let reply = json!({"status_code": 200, "request_id": "r", "body": {"a": 1}});
    assert_eq!(openai(reply, Value::Null), answer(200, json!({"a": 1})));
    let fault = json!({"status_code": 429, "body": {"error": {"message": "slow"}}});
    assert_eq!(openai(fault, Value::Null), answer(429, json!({"error": {"message": "slow"}})));
    let nothing = json!({"status_code": 0, "body": null});
    assert_eq!(openai(nothing, Value::Null), answer(500, Value::Null));
    let code = |code: &str| json!({"code": code, "message": "m"});
    let of = |result| Some(("k".to_owned(), result));
    assert_eq!(openai(Value::Null, code("batch_expired")), of(BatchResult::Expired));
    assert_eq!(openai(Value::Null, code("batch_cancelled")), of(BatchResult::Cancelled));
    assert_eq!(openai(Value::Null, code("odd")), answer(500, json!({"error": code("odd")})));
    assert_eq!(openai(Value::Null, Value::Null), None);
    assert_eq!(OPENAI.result(&json!({"response": {}})), None);

    let anthropic = |result: Value| ANTHROPIC.result(&json!({"custom_id": "k", "result": result}));
    let message = json!({"type": "succeeded", "message": {"content": []}});
    assert_eq!(anthropic(message), answer(200, json!({"content": []})));
    for (kind, status) in
        [("invalid_request_error", 400), ("overloaded_error", 529), ("api_error", 500)]
    {
        let error = json!({"type": "error", "error": {"type": kind, "message": "m"}});
        let errored = json!({"type": "errored", "error": error});
        assert_eq!(anthropic(errored), answer(status, error));
    }
    assert_eq!(anthropic(json!({"type": "expired"})), of(BatchResult::Expired));
    assert_eq!(anthropic(json!({"type": "canceled"})), of(BatchResult::Cancelled));
    assert_eq!(anthropic(json!({"type": "new"})), None);
    assert_eq!(ANTHROPIC.result(&json!([])), None);
}

#[test]
fn a_lost_batch_is_known_by_its_file_or_by_its_size_and_time() {
    let at = "2026-11-24T10:00:00Z".parse().unwrap();
    let lost = Lost { file: Some("file-1"), requests: 3, at };
    assert!(OPENAI.is_lost_one(&json!({"input_file_id": "file-1"}), &lost));
    assert!(!OPENAI.is_lost_one(&json!({"input_file_id": "file-2"}), &lost));
    assert!(!OPENAI.is_lost_one(&json!({}), &Lost { file: None, ..lost }));
    let listed = |requests: u64, created: &str| json!({"created_at": created, "request_counts": {"processing": 1, "succeeded": requests - 1}});
    for (requests, created, expected) in [
        (3, "2026-11-24T10:00:01Z", true),
        (3, "2026-11-24T09:58:30Z", true),
        (3, "2026-11-24T09:57:30Z", false),
        (2, "2026-11-24T10:00:01Z", false),
        (3, "yesterday", false),
    ] {
        assert_eq!(ANTHROPIC.is_lost_one(&listed(requests, created), &lost), expected, "{created}");
    }
}
