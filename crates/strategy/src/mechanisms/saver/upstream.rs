//! The provider behind a saver: it takes what arrives and gives the recorded response.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value as Json, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::wire::Api;
use recap_core::model::{Block, Message, Usage};
use recap_core::text::density;

/// Bytes that a saver may add to a request.
const MOST_ADDED: usize = 8 << 20;

/// What the provider answers next, and what arrived for it.
#[derive(Default)]
struct Exchange {
    response: Option<Message>,
    model: String,
    /// Bytes of the request that the saver was sent.
    sent: usize,
    arrived: Vec<Result<(Api, Json), String>>,
}

/// A provider on loopback. It ends with the value.
pub(super) struct Upstream {
    /// Its address, without a path.
    pub url: String,
    exchange: Arc<Mutex<Exchange>>,
    server: JoinHandle<()>,
}

impl Upstream {
    /// Starts it at a port of 127.0.0.1; 0: at a free one.
    ///
    /// # Errors
    /// The port is taken.
    pub async fn start(port: u16) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let exchange = Arc::new(Mutex::new(Exchange::default()));
        let shared = Arc::clone(&exchange);
        let server = tokio::spawn(async move {
            // Connections end with the server: the set is dropped with it.
            let mut connections = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let shared = Arc::clone(&shared);
                let service = service_fn(move |request| serve(Arc::clone(&shared), request));
                connections
                    .spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { url, exchange, server })
    }

    /// Sets the response that the next request gets; `sent`: the bytes of that request.
    pub fn expect(&self, response: &Message, model: &str, sent: usize) {
        *self.lock() = Exchange {
            response: Some(response.clone()),
            model: model.to_owned(),
            sent,
            arrived: Vec::new(),
        };
    }

    /// What arrived since then. One request is asked for, and one has to arrive.
    ///
    /// # Errors
    /// Another number of requests, or one that is none.
    pub fn taken(&self) -> Result<(Api, Json), String> {
        let mut arrived = std::mem::take(&mut self.lock().arrived);
        match arrived.len() {
            1 => arrived.remove(0),
            0 => Err("it answered without asking the provider".to_owned()),
            more => Err(format!("it asked the provider {more} times for one request of the agent")),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Exchange> {
        self.exchange.lock().expect("nothing panics while it holds this")
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.server.abort();
    }
}

type Answered = Response<Full<Bytes>>;

fn respond(status: StatusCode, content_type: &str, body: String) -> Answered {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    if let Ok(value) = content_type.parse() {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    response
}

async fn serve(
    shared: Arc<Mutex<Exchange>>,
    request: Request<Incoming>,
) -> Result<Answered, Infallible> {
    let path = request.uri().path().to_owned();
    let api = Api::at(&path).filter(|_| request.method() == Method::POST);
    let Some(api) = api else {
        let error = json!({"error": {"type": "not_found_error", "message": format!("{path} is not served")}});
        return Ok(respond(StatusCode::NOT_FOUND, "application/json", error.to_string()));
    };
    let lock = || shared.lock().expect("nothing panics while it holds this");
    let most = lock().sent + MOST_ADDED;
    let read = Limited::new(request.into_body(), most).collect().await;
    let body = match read {
        Ok(body) => density::parsed(&body.to_bytes()).map_err(|why| format!("its request {why}")),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(format!("it adds more than {} MB to a request", MOST_ADDED >> 20))
        }
        Err(error) => Err(format!("its request ended early: {error}")),
    };
    let mut exchange = lock();
    let answered = match (&body, &exchange.response) {
        (Ok(body), Some(response)) => {
            let stream = body["stream"].as_bool().unwrap_or(false);
            let answer = answer(api, response, &exchange.model, stream);
            respond(StatusCode::OK, answer.content_type, answer.body)
        }
        _ => {
            let error = json!({"error": {"type": "invalid_request_error", "message": "refused"}});
            respond(StatusCode::BAD_REQUEST, "application/json", error.to_string())
        }
    };
    exchange.arrived.push(body.map(|body| (api, body)));
    Ok(answered)
}

// The recorded response, as the provider would have given it.

/// A response in a provider's format.
pub(super) struct Answer {
    pub content_type: &'static str,
    pub body: String,
}

/// The recorded response of a request, in one piece or as a stream of events.
pub(super) fn answer(api: Api, message: &Message, model: &str, stream: bool) -> Answer {
    let recorded = Recorded { message, model, usage: message.usage.unwrap_or_default() };
    if !stream {
        let body = match api {
            Api::Anthropic => recorded.anthropic(),
            Api::OpenaiChat => recorded.chat(),
            Api::OpenaiResponses => recorded.response("completed", &recorded.items()),
        };
        return Answer { content_type: "application/json", body: body.to_string() };
    }
    let events = match api {
        Api::Anthropic => recorded.anthropic_events(),
        Api::OpenaiChat => recorded.chat_events(),
        Api::OpenaiResponses => recorded.response_events(),
    };
    Answer { content_type: "text/event-stream", body: events.concat() }
}

/// One event of a stream, with the name that is in its data.
fn event(data: &Json) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// A recorded response with what its provider reported.
struct Recorded<'a> {
    message: &'a Message,
    model: &'a str,
    usage: Usage,
}

impl Recorded<'_> {
    fn text(&self) -> String {
        let texts = self.message.blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }

    fn calls(&self) -> Vec<(&str, &str, &Json)> {
        let calls = self.message.blocks.iter().filter_map(|block| match block {
            Block::ToolCall { id, name, arguments } => Some((&**id, &**name, arguments)),
            _ => None,
        });
        calls.collect()
    }

    fn anthropic_usage(&self) -> Json {
        json!({"input_tokens": self.usage.input, "output_tokens": self.usage.output,
            "cache_read_input_tokens": self.usage.cache_read,
            "cache_creation_input_tokens": self.usage.written()})
    }

    fn anthropic_blocks(&self) -> Vec<Json> {
        let text = Some(self.text()).filter(|text| !text.is_empty());
        let text = text.map(|text| json!({"type": "text", "text": text}));
        let calls = self.calls().into_iter().map(
            |(id, name, input)| json!({"type": "tool_use", "id": id, "name": name, "input": input}),
        );
        text.into_iter().chain(calls).collect()
    }

    fn stop_reason(&self) -> &'static str {
        if self.calls().is_empty() { "end_turn" } else { "tool_use" }
    }

    fn anthropic(&self) -> Json {
        json!({"id": "msg_recorded", "type": "message", "role": "assistant", "model": self.model,
            "content": self.anthropic_blocks(), "stop_reason": self.stop_reason(),
            "stop_sequence": null, "usage": self.anthropic_usage()})
    }

    fn anthropic_events(&self) -> Vec<String> {
        let mut start = self.anthropic();
        (start["content"], start["stop_reason"]) = (json!([]), Json::Null);
        let mut events = vec![event(&json!({"type": "message_start", "message": start}))];
        for (index, mut block) in self.anthropic_blocks().into_iter().enumerate() {
            let delta = if block["type"] == "text" {
                let text = std::mem::replace(&mut block["text"], "".into());
                json!({"type": "text_delta", "text": text})
            } else {
                let input = std::mem::replace(&mut block["input"], json!({}));
                json!({"type": "input_json_delta", "partial_json": input.to_string()})
            };
            events.push(event(&json!({"type": "content_block_start", "index": index,
                "content_block": block})));
            events.push(event(
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
            events.push(event(&json!({"type": "content_block_stop", "index": index})));
        }
        events.push(event(&json!({"type": "message_delta", "usage": self.anthropic_usage(),
            "delta": {"stop_reason": self.stop_reason(), "stop_sequence": null}})));
        events.push(event(&json!({"type": "message_stop"})));
        events
    }

    fn chat_message(&self) -> Json {
        let calls = self.calls().into_iter().enumerate().map(|(index, (id, name, arguments))| {
            json!({"index": index, "id": id, "type": "function",
                "function": {"name": name, "arguments": arguments.to_string()}})
        });
        let calls: Vec<Json> = calls.collect();
        let mut message = json!({"role": "assistant", "content": self.text()});
        if !calls.is_empty() {
            message["tool_calls"] = calls.into();
        }
        message
    }

    fn finish_reason(&self) -> &'static str {
        if self.calls().is_empty() { "stop" } else { "tool_calls" }
    }

    fn chat_usage(&self) -> Json {
        let (prompt, output) = (self.usage.prompt(), self.usage.output);
        json!({"prompt_tokens": prompt, "completion_tokens": output,
            "total_tokens": prompt.saturating_add(output),
            "prompt_tokens_details": {"cached_tokens": self.usage.cache_read}})
    }

    fn chat(&self) -> Json {
        json!({"id": "chatcmpl-recorded", "object": "chat.completion", "created": 0,
            "model": self.model, "usage": self.chat_usage(), "choices": [{"index": 0,
            "message": self.chat_message(), "finish_reason": self.finish_reason()}]})
    }

    fn chat_events(&self) -> Vec<String> {
        let chunk = |choices: Json, usage: Json| {
            let chunk = json!({"id": "chatcmpl-recorded", "object": "chat.completion.chunk",
                "created": 0, "model": self.model, "choices": choices, "usage": usage});
            format!("data: {chunk}\n\n")
        };
        let choice = |delta: Json, reason: Json| json!([{"index": 0, "delta": delta, "finish_reason": reason}]);
        vec![
            chunk(choice(self.chat_message(), Json::Null), Json::Null),
            chunk(choice(json!({}), self.finish_reason().into()), Json::Null),
            chunk(json!([]), self.chat_usage()),
            "data: [DONE]\n\n".to_owned(),
        ]
    }

    fn items(&self) -> Vec<Json> {
        let text = Some(self.text()).filter(|text| !text.is_empty());
        let text = text.map(|text| {
            json!({"id": "msg_recorded", "type": "message", "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]})
        });
        let calls = self.calls().into_iter().map(|(id, name, arguments)| {
            json!({"id": format!("fc_{id}"), "type": "function_call", "call_id": id, "name": name,
                "arguments": arguments.to_string(), "status": "completed"})
        });
        text.into_iter().chain(calls).collect()
    }

    fn response(&self, status: &str, output: &[Json]) -> Json {
        let (prompt, written) = (self.usage.prompt(), self.usage.output);
        json!({"id": "resp_recorded", "object": "response", "created_at": 0, "status": status,
            "model": self.model, "output": output, "error": null,
            "usage": {"input_tokens": prompt, "output_tokens": written,
                "total_tokens": prompt.saturating_add(written),
                "input_tokens_details": {"cached_tokens": self.usage.cache_read},
                "output_tokens_details": {"reasoning_tokens": 0}}})
    }

    fn response_events(&self) -> Vec<String> {
        let items = self.items();
        let mut all = vec![json!({"type": "response.created",
            "response": self.response("in_progress", &[])})];
        for (index, item) in items.iter().enumerate() {
            all.push(json!({"type": "response.output_item.added", "output_index": index,
                "item": item}));
            if item["type"] == "message" {
                all.push(json!({"type": "response.output_text.delta", "output_index": index,
                    "content_index": 0, "item_id": item["id"], "delta": item["content"][0]["text"]}));
            } else {
                all.push(json!({"type": "response.function_call_arguments.delta",
                    "output_index": index, "item_id": item["id"], "delta": item["arguments"]}));
            }
            all.push(json!({"type": "response.output_item.done", "output_index": index,
                "item": item}));
        }
        all.push(json!({"type": "response.completed",
            "response": self.response("completed", &items)}));
        for (number, data) in all.iter_mut().enumerate() {
            data["sequence_number"] = number.into();
        }
        all.iter().map(event).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::Talk;

    /// A response with a thought, two texts and two calls, of a prompt of 22 tokens.
    fn recorded() -> Message {
        let calls = [("a", "read", json!({"path": "x"})), ("b", "run", json!({}))];
        let mut message = Talk::new("").calls(&calls).end().messages.remove(0);
        let text = |text: &str| Block::Text { text: text.to_owned() };
        let thought = Block::Reasoning { text: "Hm.".to_owned() };
        message.blocks.splice(0..0, [thought, text("One."), text("Two.")]);
        message.usage = Some(Usage {
            input: 10,
            cache_read: 5,
            cache_write_5m: 4,
            cache_write_1h: 3,
            output: 6,
            ..Usage::default()
        });
        message
    }

    /// An answer in one piece.
    fn whole(api: Api, message: &Message) -> Json {
        let answer = answer(api, message, "model", false);
        assert_eq!(answer.content_type, "application/json");
        serde_json::from_str(&answer.body).unwrap()
    }

    /// The data of a stream's events, each with the event's name where it has one.
    fn events(api: Api, message: &Message) -> Vec<Json> {
        let answer = answer(api, message, "model", true);
        assert_eq!(answer.content_type, "text/event-stream");
        let mut events: Vec<&str> = answer.body.split("\n\n").collect();
        assert_eq!(events.pop(), Some(""), "the last event is complete");
        let data = |event: &str| -> Json {
            let (name, data) = event.split_once("data: ").unwrap();
            let data: Json = serde_json::from_str(data).unwrap_or_else(|_| data.into());
            let kind = data["type"].as_str().map(|kind| format!("event: {kind}\n"));
            assert_eq!(name, kind.unwrap_or_default());
            data
        };
        events.into_iter().map(data).collect()
    }

    #[test]
    fn anthropic_answer_is_one_message() {
        let expected = json!({
            "id": "msg_recorded", "type": "message", "role": "assistant", "model": "model",
            "content": [
                {"type": "text", "text": "One.\nTwo."},
                {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "x"}},
                {"type": "tool_use", "id": "b", "name": "run", "input": {}}],
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 6, "cache_read_input_tokens": 5,
                "cache_creation_input_tokens": 7},
        });
        assert_eq!(whole(Api::Anthropic, &recorded()), expected);
        let text = Talk::new("").assistant("Done.").end().messages.remove(0);
        let answer = whole(Api::Anthropic, &text);
        assert_eq!(answer["stop_reason"], "end_turn");
        assert_eq!(answer["content"], json!([{"type": "text", "text": "Done."}]));
    }

    #[test]
    fn anthropic_stream_opens_fills_and_closes_blocks() {
        let usage = json!({"input_tokens": 10, "output_tokens": 6, "cache_read_input_tokens": 5,
            "cache_creation_input_tokens": 7});
        let block = |index: u32, start: Json, delta: Json| {
            [
                json!({"type": "content_block_start", "index": index, "content_block": start}),
                json!({"type": "content_block_delta", "index": index, "delta": delta}),
                json!({"type": "content_block_stop", "index": index}),
            ]
        };
        let arguments = |json: &str| json!({"type": "input_json_delta", "partial_json": json});
        let mut expected = vec![json!({"type": "message_start", "message": {
            "id": "msg_recorded", "type": "message", "role": "assistant", "model": "model",
            "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage}})];
        let text = json!({"type": "text_delta", "text": "One.\nTwo."});
        expected.extend(block(0, json!({"type": "text", "text": ""}), text));
        let call = |id, name| json!({"type": "tool_use", "id": id, "name": name, "input": {}});
        expected.extend(block(1, call("a", "read"), arguments("{\"path\":\"x\"}")));
        expected.extend(block(2, call("b", "run"), arguments("{}")));
        expected.push(json!({"type": "message_delta", "usage": usage,
            "delta": {"stop_reason": "tool_use", "stop_sequence": null}}));
        expected.push(json!({"type": "message_stop"}));
        assert_eq!(events(Api::Anthropic, &recorded()), expected);
    }

    #[test]
    fn chat_answer_is_one_choice_whole_or_streamed() {
        let call = |index: u32, id, name, arguments| json!({"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        let message = json!({"role": "assistant", "content": "One.\nTwo.", "tool_calls": [
            call(0, "a", "read", "{\"path\":\"x\"}"), call(1, "b", "run", "{}")]});
        let usage = json!({"prompt_tokens": 22, "completion_tokens": 6, "total_tokens": 28,
            "prompt_tokens_details": {"cached_tokens": 5}});
        let expected = json!({
            "id": "chatcmpl-recorded", "object": "chat.completion", "created": 0,
            "model": "model", "usage": usage,
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
        });
        assert_eq!(whole(Api::OpenaiChat, &recorded()), expected);
        let chunk = |choices: Json, usage: &Json| {
            json!({"id": "chatcmpl-recorded", "object": "chat.completion.chunk", "created": 0,
                "model": "model", "choices": choices, "usage": usage})
        };
        let choice = |delta: Json, reason: Json| {
            chunk(json!([{"index": 0, "delta": delta, "finish_reason": reason}]), &Json::Null)
        };
        let expected = [
            choice(message, Json::Null),
            choice(json!({}), "tool_calls".into()),
            chunk(json!([]), &usage),
            "[DONE]".into(),
        ];
        assert_eq!(events(Api::OpenaiChat, &recorded()), expected);
        let text = Talk::new("").assistant("Done.").end().messages.remove(0);
        let choice = whole(Api::OpenaiChat, &text)["choices"][0].clone();
        let message = json!({"role": "assistant", "content": "Done."});
        assert_eq!(choice, json!({"index": 0, "message": message, "finish_reason": "stop"}));
    }

    #[test]
    fn responses_answer_is_items_whole_or_streamed() {
        let message = json!({"id": "msg_recorded", "type": "message", "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "One.\nTwo.", "annotations": []}]});
        let call = |id: &str, name, arguments| json!({"id": format!("fc_{id}"), "type": "function_call", "call_id": id, "name": name, "arguments": arguments, "status": "completed"});
        let items = [message, call("a", "read", "{\"path\":\"x\"}"), call("b", "run", "{}")];
        let response = |status: &str, output: &[Json]| {
            json!({"id": "resp_recorded", "object": "response", "created_at": 0, "status": status,
                "model": "model", "output": output, "error": null,
                "usage": {"input_tokens": 22, "output_tokens": 6, "total_tokens": 28,
                    "input_tokens_details": {"cached_tokens": 5},
                    "output_tokens_details": {"reasoning_tokens": 0}}})
        };
        assert_eq!(whole(Api::OpenaiResponses, &recorded()), response("completed", &items));
        let item = |kind: &str, at: usize| {
            json!({"type": format!("response.output_item.{kind}"), "output_index": at,
                "item": items[at]})
        };
        let arguments = |at: usize, id: &str, delta: &str| {
            json!({"type": "response.function_call_arguments.delta", "output_index": at,
                "item_id": id, "delta": delta})
        };
        let mut expected = vec![
            json!({"type": "response.created", "response": response("in_progress", &[])}),
            item("added", 0),
            json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0,
                "item_id": "msg_recorded", "delta": "One.\nTwo."}),
            item("done", 0),
            item("added", 1),
            arguments(1, "fc_a", "{\"path\":\"x\"}"),
            item("done", 1),
            item("added", 2),
            arguments(2, "fc_b", "{}"),
            item("done", 2),
            json!({"type": "response.completed", "response": response("completed", &items)}),
        ];
        for (number, event) in expected.iter_mut().enumerate() {
            event["sequence_number"] = number.into();
        }
        assert_eq!(events(Api::OpenaiResponses, &recorded()), expected);
    }
}
