//! A provider of batches on loopback, as OpenAI and Anthropic have them: files,
//! batches that run for some looks, results apart and in another order.
#![allow(dead_code, reason = "each suite uses its part")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::server::{Act, Received, Server};

/// Whose interface it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    OpenAi,
    Anthropic,
}

/// What becomes of one request.
#[derive(Clone, Debug)]
pub enum Fate {
    /// It is answered with this text.
    Says(String),
    /// The provider reports a fault of this status and kind.
    Fault(u16, &'static str),
    /// It is not done within the day.
    Expires,
    /// The batch was cancelled before its turn.
    Cancelled,
    /// There is no line about it.
    Missing,
}

/// A request of a batch.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Number of the batch, from 0, and of the request in it.
    pub batch: usize,
    pub number: usize,
    pub name: String,
    /// The system text, the last message, and whether the reply has a schema.
    pub system: String,
    pub text: String,
    pub schema: Option<String>,
}

/// A batch that was submitted.
#[derive(Clone, Debug)]
pub struct Submitted {
    pub id: String,
    pub asked: Vec<Asked>,
    file: String,
    looks: usize,
}

type Script = dyn Fn(&Asked) -> Fate + Send + Sync;
/// Answers a request before the provider does.
type Before = dyn Fn(&Received, &[Submitted]) -> Option<Act> + Send + Sync;

struct State {
    whose: Whose,
    /// Looks at a batch before it has ended.
    looks: usize,
    files: BTreeMap<String, String>,
    batches: Vec<Submitted>,
}

/// The provider.
pub struct Provider {
    state: Arc<Mutex<State>>,
    server: Server,
}

impl Provider {
    /// Answers the requests of batches by a script.
    pub fn start(whose: Whose, script: impl Fn(&Asked) -> Fate + Send + Sync + 'static) -> Self {
        Self::with(whose, script, |_, _| None)
    }

    /// The same, where some HTTP requests are answered otherwise.
    pub fn with(
        whose: Whose,
        script: impl Fn(&Asked) -> Fate + Send + Sync + 'static,
        before: impl Fn(&Received, &[Submitted]) -> Option<Act> + Send + Sync + 'static,
    ) -> Self {
        let state = State { whose, looks: 2, files: BTreeMap::new(), batches: Vec::new() };
        let state = Arc::new(Mutex::new(state));
        let (shared, script, before): (_, Arc<Script>, Arc<Before>) =
            (Arc::clone(&state), Arc::new(script), Arc::new(before));
        let server = Server::start(move |request| {
            let batches = shared.lock().unwrap().batches.clone();
            before(request, &batches)
                .unwrap_or_else(|| shared.lock().unwrap().act(request, &*script))
        });
        Self { state, server }
    }

    pub fn base(&self) -> String {
        self.server.base()
    }

    /// Every batch that was submitted.
    pub fn submitted(&self) -> Vec<Submitted> {
        self.state.lock().unwrap().batches.clone()
    }

    /// Every HTTP request, as method and path.
    pub fn log(&self) -> Vec<String> {
        self.server.log().iter().map(|r| format!("{} {}", r.method, r.path)).collect()
    }
}

impl State {
    fn act(&mut self, request: &Received, script: &Script) -> Act {
        let path = request.path.split('?').next().unwrap_or_default();
        let parts: Vec<&str> = path.trim_start_matches("/v1/").split('/').collect();
        match (request.method.as_str(), parts.as_slice()) {
            ("POST", ["files"]) => self.upload(&request.posted),
            ("GET", ["files", id, "content"]) => self.content(id, script),
            ("POST", ["batches"] | ["messages", "batches"]) => self.create(&request.body),
            ("GET", ["batches"] | ["messages", "batches"]) => {
                let data: Vec<Value> =
                    (0..self.batches.len()).rev().map(|at| self.about(at)).collect();
                Act::json(200, &json!({"data": data, "has_more": false}))
            }
            ("GET", ["batches", id] | ["messages", "batches", id]) => match self.place(id) {
                Some(at) => {
                    self.batches[at].looks += 1;
                    Act::json(200, &self.about(at))
                }
                None => Act::fault(404, "not_found", "no such batch"),
            },
            ("GET", ["messages", "batches", id, "results"]) => {
                let lines = self.lines(self.place(id).unwrap(), script, |_| true);
                lines_of(lines)
            }
            _ => Act::fault(404, "not_found", &format!("{} {path}", request.method)),
        }
    }

    fn place(&self, id: &str) -> Option<usize> {
        self.batches.iter().position(|batch| batch.id == id)
    }

    fn upload(&mut self, text: &str) -> Act {
        assert!(text.contains("name=\"purpose\"\r\n\r\nbatch\r\n"), "{text}");
        let file = text.split("\r\n\r\n").nth(2).unwrap();
        let lines: String =
            file.lines().filter(|l| l.starts_with('{')).flat_map(|l| [l, "\n"]).collect();
        let id = format!("file-in-{}", self.files.len());
        self.files.insert(id.clone(), lines);
        Act::json(200, &json!({"id": id, "object": "file", "purpose": "batch"}))
    }

    fn create(&mut self, body: &Value) -> Act {
        let batch = self.batches.len();
        let (requests, file) = match self.whose {
            Whose::OpenAi => {
                assert_eq!(body["completion_window"], "24h");
                let file = body["input_file_id"].as_str().unwrap().to_owned();
                let lines = self.files[&file].lines();
                (lines.map(|line| serde_json::from_str(line).unwrap()).collect(), file)
            }
            Whose::Anthropic => (body["requests"].as_array().unwrap().clone(), String::new()),
        };
        let asked = requests.iter().enumerate().map(|(number, request): (_, &Value)| {
            let name = request["custom_id"].as_str().unwrap().to_owned();
            assert!(name.len() == 64 && name.bytes().all(|b| b.is_ascii_alphanumeric()), "{name}");
            match self.whose {
                Whose::OpenAi => openai(batch, number, name, request, body),
                Whose::Anthropic => anthropic(batch, number, name, &request["params"]),
            }
        });
        let asked = asked.collect();
        self.batches.push(Submitted { id: format!("batch_{batch}"), asked, file, looks: 0 });
        Act::json(200, &self.about(batch))
    }

    fn about(&self, at: usize) -> Value {
        let batch = &self.batches[at];
        let (ended, count) = (batch.looks >= self.looks, batch.asked.len());
        match self.whose {
            Whose::OpenAi => {
                let status = match batch.looks {
                    0 => "validating",
                    _ if ended => "completed",
                    _ => "in_progress",
                };
                json!({"id": batch.id, "object": "batch", "status": status,
                    "input_file_id": batch.file, "request_counts": {"total": count},
                    "output_file_id": ended.then(|| format!("out-{at}")),
                    "error_file_id": ended.then(|| format!("err-{at}"))})
            }
            Whose::Anthropic => json!({"id": batch.id, "type": "message_batch",
                "processing_status": if ended { "ended" } else { "in_progress" },
                "created_at": "2099-01-01T00:00:00Z", "archived_at": null,
                "request_counts": {"processing": count, "succeeded": 0, "errored": 0,
                    "canceled": 0, "expired": 0},
                "results_url": ended.then_some("http://127.0.0.1:1/elsewhere")}),
        }
    }

    fn content(&self, id: &str, script: &Script) -> Act {
        let (kind, at) = id.split_once('-').unwrap();
        let at = at.parse().unwrap();
        let good = |fate: &Fate| matches!(fate, Fate::Says(_));
        lines_of(self.lines(at, script, |fate| good(fate) == (kind == "out")))
    }

    /// The results, the last request first.
    fn lines(&self, at: usize, script: &Script, of: impl Fn(&Fate) -> bool) -> Vec<Value> {
        let asked = self.batches[at].asked.iter().rev();
        let fates = asked.map(|asked| (asked, script(asked))).filter(|(_, fate)| of(fate));
        fates.filter_map(|(asked, fate)| self.line(asked, fate)).collect()
    }

    fn line(&self, asked: &Asked, fate: Fate) -> Option<Value> {
        let name = &asked.name;
        Some(match self.whose {
            Whose::OpenAi => {
                let answer = |status: u16, body: Value| {
                    json!({"id": "batch_req_1", "custom_id": name, "error": null,
                        "response": {"status_code": status, "request_id": "r", "body": body}})
                };
                let error = |code: &str| {
                    json!({"id": "batch_req_1", "custom_id": name, "response": null,
                        "error": {"code": code, "message": "It was not executed."}})
                };
                match fate {
                    Fate::Says(text) => answer(200, crate::server::chat(&text, "stop")),
                    Fate::Fault(status, kind) => {
                        answer(status, json!({"error": {"code": kind, "message": "no"}}))
                    }
                    Fate::Expires => error("batch_expired"),
                    Fate::Cancelled => error("batch_cancelled"),
                    Fate::Missing => return None,
                }
            }
            Whose::Anthropic => {
                let result = match fate {
                    Fate::Says(text) => json!({"type": "succeeded", "message": message(&text)}),
                    Fate::Fault(_, kind) => json!({"type": "errored",
                        "error": {"type": "error", "error": {"type": kind, "message": "no"}}}),
                    Fate::Expires => json!({"type": "expired"}),
                    Fate::Cancelled => json!({"type": "canceled"}),
                    Fate::Missing => return None,
                };
                json!({"custom_id": name, "result": result})
            }
        })
    }
}

fn lines_of(lines: Vec<Value>) -> Act {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let headers = vec![("content-type", "application/x-jsonl".to_owned())];
    Act::Answer { status: 200, headers, body: text.into_bytes() }
}

/// A message of Anthropic's, of 10 prompt tokens and 5 others.
fn message(text: &str) -> Value {
    json!({"type": "message", "model": "mock-2026", "stop_reason": "end_turn",
        "content": [{"type": "text", "text": text}],
        "usage": {"input_tokens": 10, "output_tokens": 5}})
}

fn openai(batch: usize, number: usize, name: String, request: &Value, made: &Value) -> Asked {
    let (url, body) = (&request["url"], &request["body"]);
    assert_eq!((&request["method"], url), (&json!("POST"), &made["endpoint"]));
    let messages = body["messages"].as_array().unwrap();
    let content = |at: usize| messages[at]["content"].as_str().unwrap().to_owned();
    let system = if messages[0]["role"] == "system" { content(0) } else { String::new() };
    let schema = body["response_format"]["json_schema"]["name"].as_str().map(str::to_owned);
    Asked { batch, number, name, system, text: content(messages.len() - 1), schema }
}

fn anthropic(batch: usize, number: usize, name: String, params: &Value) -> Asked {
    let text = |block: &Value| block[0]["text"].as_str().unwrap_or_default().to_owned();
    let last = params["messages"].as_array().unwrap().last().unwrap();
    let schema = params["output_config"]["format"]["type"].as_str().map(str::to_owned);
    let (system, text) = (text(&params["system"]), text(&last["content"]));
    Asked { batch, number, name, system, text, schema }
}
