//! Bodies and headers of requests.

use super::*;

#[test]
fn openai_gets_strict_schema_and_its_newer_bound() {
    let expected = json!({
        "model": "some-model",
        "messages": [
            {"role": "system", "content": "Answer briefly."},
            {"role": "user", "content": "Which port?"},
            {"role": "assistant", "content": "8080."},
            {"role": "user", "content": "And the host?"},
        ],
        "max_completion_tokens": 256,
        "temperature": 0.0,
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "answer", "strict": true, "schema": {"type": "object"},
        }},
    });
    assert_eq!(OPENAI.encode(&request()), expected);
    let compatible = OpenAiChat::COMPATIBLE.encode(&request());
    assert_eq!(compatible["max_tokens"], 256);
    assert_eq!(compatible["max_completion_tokens"], Value::Null);
}

#[test]
fn anthropic_is_sent_marks_where_shared_prefixes_end() {
    let mark = json!({"type": "ephemeral"});
    let expected = json!({
        "model": "some-model",
        "max_tokens": 256,
        "system": [{"type": "text", "text": "Answer briefly.", "cache_control": mark}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "Which port?"}]},
            {"role": "assistant",
             "content": [{"type": "text", "text": "8080."}]},
            {"role": "user", "content": [{"type": "text", "text": "And the host?"}]},
        ],
        "temperature": 0.0,
        "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}},
    });
    assert_eq!(Anthropic.encode(&request()), expected);
}

#[test]
fn gemini_gets_json_schema_and_its_own_roles() {
    let expected = json!({
        "systemInstruction": {"parts": [{"text": "Answer briefly."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Which port?"}]},
            {"role": "model", "parts": [{"text": "8080."}]},
            {"role": "user", "parts": [{"text": "And the host?"}]},
        ],
        "generationConfig": {
            "maxOutputTokens": 256,
            "temperature": 0.0,
            "responseMimeType": "application/json",
            "responseJsonSchema": {"type": "object"},
        },
    });
    assert_eq!(Gemini.encode(&request()), expected);
}

#[test]
fn what_is_not_asked_for_is_not_sent() {
    let bare = Request {
        system: String::new(),
        temperature: None,
        effort: None,
        schema: None,
        shared_system: false,
        ..request()
    };
    for (provider, keys) in [
        (&OPENAI as &dyn Provider, vec!["model", "messages", "max_completion_tokens"]),
        (&OpenAiResponses, vec!["model", "input", "max_output_tokens", "store"]),
        (&Anthropic, vec!["model", "max_tokens", "messages"]),
        (&Gemini, vec!["contents", "generationConfig"]),
    ] {
        let body = provider.encode(&bare);
        let sent: Vec<&String> = body.as_object().unwrap().keys().collect();
        assert_eq!(sent, keys);
        assert!(!body.to_string().contains("cache_control"));
    }
    assert_eq!(Gemini.encode(&bare)["generationConfig"], json!({"maxOutputTokens": 256}));
}

#[test]
fn effort_is_sent_in_each_providers_field() {
    let asked = Request { effort: Some("low".to_owned()), ..request() };
    for (provider, place) in [
        (&OPENAI as &dyn Provider, "/reasoning_effort"),
        (&OpenAiChat::COMPATIBLE, "/reasoning_effort"),
        (&OpenAiResponses, "/reasoning/effort"),
        (&Anthropic, "/output_config/effort"),
        (&Gemini, "/generationConfig/thinkingConfig/thinkingLevel"),
    ] {
        assert_eq!(provider.encode(&asked).pointer(place).unwrap(), "low");
        assert_eq!(provider.encode(&request()).pointer(place), None);
    }
    assert_eq!(Anthropic.encode(&asked)["output_config"]["format"]["type"], "json_schema");
}

#[test]
fn any_model_name_stays_one_path_segment() {
    let path = |model: &str| Gemini.path(&Request { model: model.to_owned(), ..request() });
    assert_eq!(path("gemini-2.5-pro"), "/v1beta/models/gemini-2.5-pro:generateContent");
    assert_eq!(path("models/gemini-2.5-pro"), "/v1beta/models/gemini-2.5-pro:generateContent");
    assert_eq!(path("a/../é?"), "/v1beta/models/a%2F..%2F%C3%A9%3F:generateContent");
}

#[test]
fn providers_have_names_of_their_own() {
    let names: BTreeSet<&str> = PROVIDERS.iter().map(|provider| provider.name()).collect();
    assert_eq!(names.len(), PROVIDERS.len());
}

/// Speakers and texts of a body, system text first.
fn read_back(body: &Value) -> Vec<(String, String)> {
    let text = |content: &Value| match content {
        Value::String(text) => text.clone(),
        content => content[0]["text"].as_str().unwrap().to_owned(),
    };
    let mut said = Vec::new();
    let systems = [&body["system"], &body["instructions"], &body["systemInstruction"]["parts"]];
    for system in systems {
        if !system.is_null() {
            said.push(("system".to_owned(), text(system)));
        }
    }
    let places = ["messages", "input", "contents"];
    let messages = places.iter().find_map(|place| body.get(place)).unwrap();
    for message in messages.as_array().unwrap() {
        let role = message["role"].as_str().unwrap().replace("model", "assistant");
        let content = message.get("content").or_else(|| message.get("parts")).unwrap();
        said.push((role, text(content)));
    }
    said
}

proptest! {
    #[test]
    fn a_body_holds_every_message_in_its_order(
        system in ".{0,8}",
        messages in prop::collection::vec((any::<bool>(), ".{0,8}"), 0..8),
        shared_system: bool,
    ) {
        let mut expected = Vec::new();
        if !system.is_empty() {
            expected.push(("system".to_owned(), system.clone()));
        }
        let mut asked = Request { system, shared_system, messages: Vec::new(), ..request() };
        for (user, text) in messages {
            let speaker = if user { Speaker::User } else { Speaker::Assistant };
            let role = if user { "user" } else { "assistant" };
            expected.push((role.to_owned(), text.clone()));
            asked.messages.push(Message { speaker, text });
        }
        for provider in PROVIDERS {
            prop_assert_eq!(&read_back(&provider.encode(&asked)), &expected);
        }
    }

    #[test]
    fn no_body_ends_the_program(status in 100_u16..600, body in ".{0,40}") {
        for provider in PROVIDERS {
            prop_assert!(provider.decode(status, body.as_bytes()).is_err());
        }
    }
}
