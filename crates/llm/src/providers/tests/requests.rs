//! Bodies and headers of requests.

use super::*;

#[test]
fn requests_are_written_as_reviewed() {
    let effort = Request { effort: Some("low".to_owned()), ..request() };
    let bare = Request {
        system: String::new(),
        temperature: None,
        schema: None,
        shared_system: false,
        ..request()
    };
    let mut lines = Vec::new();
    for provider in PROVIDERS {
        for (name, request) in
            [("whole", request()), ("effort", effort.clone()), ("bare", bare.clone())]
        {
            lines.push(format!(
                "{} {name}: {}",
                provider.path(&request),
                provider.encode(&request)
            ));
        }
    }
    are_as_reviewed("requests", &lines);
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
