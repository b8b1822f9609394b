//! The key by which equal calls are recognised.

use serde::Serialize;
use serde_json::Value;

use crate::{Call, Model};

/// Everything that determines a model's answer, in the order of its hashing.
#[derive(Serialize)]
struct Content<'a> {
    provider: &'a str,
    model: &'a str,
    max_tokens: u64,
    temperature: Option<f64>,
    effort: Option<&'a str>,
    system: &'a str,
    messages: Vec<(&'static str, &'a str)>,
    /// Providers write a reply's fields in the order of its schema, so that the
    /// order of keys is content too.
    schema: Option<(&'a str, &'a Value)>,
    replicate: u32,
}

/// The content key of a call: BLAKE3, hex, over a fixed JSON form of provider,
/// model, parameters, texts, schema and repetition.
///
/// The role, the address and key of the provider, and the cache breakpoints do
/// not change the answer and are left out.
pub fn key(model: &Model, call: &Call) -> String {
    let request = &call.request;
    let content = Content {
        provider: &model.provider,
        model: &request.model,
        max_tokens: request.max_tokens,
        temperature: request.temperature,
        effort: request.effort.as_deref(),
        system: &request.system,
        messages: request
            .messages
            .iter()
            .map(|message| (message.speaker.as_str(), message.text.as_str()))
            .collect(),
        schema: request.schema.as_ref().map(|schema| (schema.name.as_str(), &schema.json)),
        replicate: call.replicate,
    };
    let json = serde_json::to_vec(&content).expect("plain data serialises");
    blake3::hash(&json).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Message, ModelRequest, Schema, Settings, Speaker};
    use recap_core::model::ModelRole;

    fn model() -> Model {
        let settings = Settings { temperature: Some(0.5), effort: None, room: 0 };
        Model { provider: "openai".to_owned(), name: "m".to_owned(), settings }
    }

    fn call() -> Call {
        let schema = Schema { name: "s".to_owned(), json: json!({"b": 1, "a": 2}) };
        let question =
            ModelRequest { schema: Some(schema), ..ModelRequest::of("Be brief.", "Why?", 9) };
        Call { role: ModelRole::Judge, replicate: 2, request: model().request(question) }
    }

    #[test]
    fn key_is_hash_of_written_out_content() {
        let content = concat!(
            r#"{"provider":"openai","model":"m","max_tokens":9,"temperature":0.5,"effort":null,"#,
            r#""system":"Be brief.","messages":[["user","Why?"]],"#,
            r#""schema":["s",{"b":1,"a":2}],"replicate":2}"#,
        );
        let expected = blake3::hash(content.as_bytes()).to_hex().to_string();
        assert_eq!(key(&model(), &call()), expected);
    }

    #[test]
    fn whatever_changes_the_answer_changes_the_key() {
        let base = key(&model(), &call());
        let changes: [fn(&mut Call); 9] = [
            |call| call.replicate += 1,
            |call| call.request.model.push('x'),
            |call| call.request.max_tokens += 1,
            |call| call.request.temperature = Some(0.0),
            |call| call.request.effort = Some("low".to_owned()),
            |call| call.request.system.push('x'),
            |call| call.request.messages[0].speaker = Speaker::Assistant,
            |call| {
                let more = Message { speaker: Speaker::User, text: String::new() };
                call.request.messages.push(more);
            },
            |call| call.request.schema = None,
        ];
        let mut keys = vec![base];
        for change in changes {
            let mut changed = call();
            change(&mut changed);
            keys.push(key(&model(), &changed));
        }
        keys.push(key(&Model { provider: "ollama".to_owned(), ..model() }, &call()));
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 11);
    }

    #[test]
    fn role_and_cache_breakpoints_do_not_change_key() {
        let mut other = call();
        other.role = ModelRole::Answerer;
        other.request.breakpoints.insert(0);
        assert_eq!(key(&model(), &other), key(&model(), &call()));
    }
}
