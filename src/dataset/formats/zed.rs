//! Threads of Zed's agent (`threads.db`): a row a thread, its JSON mostly packed
//! with zstd. Read from Zed's public source (zed-industries/zed,
//! `crates/agent/src/db.rs`, `thread.rs`), without stores at hand. Zed keeps the
//! usage of the last request behind each message of the user. The summary of a
//! thread is shown elsewhere and never takes the place of messages.

use rustc_hash::FxHashMap;
use serde::Deserialize;
use serde_json::{Map, Value as Json};

use super::content::{ResultText, home_of, project_of};
use super::recorder::{Outcome, Recorder, Turn};
use super::store::{Listed, read_sessions};
use crate::dataset::LoadOptions;
use crate::dataset::check::Draft;
use crate::dataset::database::Wanted;
use crate::dataset::error::DatasetError;
use crate::dataset::format::{Format, Head, Take};
use crate::dataset::source::{Source, parse};
use crate::model::{Block, Role, Usage};

/// The format of Zed's threads.
pub struct Zed;

const LIST: Wanted = Wanted {
    table: "threads",
    key: None,
    columns: &["id"],
    optional: &["parent_id", "folder_paths", "created_at", "updated_at"],
    order: &["rowid"],
};

const THREADS: Wanted = Wanted {
    table: "threads",
    key: Some("id"),
    columns: &["id", "data_type", "data"],
    optional: &[],
    order: &["rowid"],
};

impl Format for Zed {
    fn name(&self) -> &'static str {
        "zed"
    }

    fn describe(&self) -> &'static str {
        "Zed agent threads (SQLite, threads.db; from documentation)"
    }

    fn sniff(&self, head: &Head) -> bool {
        head.has_table(THREADS.table, &["summary", "data_type", "data"])
    }

    fn read_each(
        &self,
        source: &mut Source<'_>,
        options: &LoadOptions,
        take: &mut Take<'_>,
    ) -> Result<(), DatasetError> {
        let database = source.database()?;
        let mut listed = Vec::new();
        let threads = database.rows(&LIST).and_then(|mut rows| {
            rows.each(None, |row| {
                let (id, parent) = (row.needed("id")?, row.text("parent_id")?);
                listed.push(Listed { id, parent, facts: row.text("folder_paths")? });
                Ok(())
            })?;
            database.rows(&THREADS)
        });
        let mut threads = threads.map_err(|problem| source.error(None, problem))?;
        read_sessions(source, listed, options, take, |listed| {
            let mut read = None;
            threads.each(Some(&listed.id), |row| {
                let text = match row.needed("data_type")?.as_str() {
                    "zstd" => database.unpack(row.bytes("data")?)?,
                    "json" => row.needed("data")?,
                    other => return Err(row.problem("data_type", format!("unknown: {other}"))),
                };
                let thread = parse(&text).map_err(|problem| row.problem("data", problem))?;
                read = Some(thread);
                Ok(())
            })?;
            Ok(session(listed, read.unwrap_or_default()))
        })
    }
}

#[derive(Default, Deserialize)]
struct Thread {
    #[serde(default)]
    messages: Vec<Json>,
    #[serde(default)]
    request_token_usage: Json,
    model: Option<Model>,
}

#[derive(Deserialize)]
struct Model {
    model: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tokens {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

impl Tokens {
    fn usage(self) -> Usage {
        Usage {
            input: self.input_tokens,
            cache_read: self.cache_read_input_tokens,
            cache_write_5m: self.cache_creation_input_tokens,
            output: self.output_tokens,
            output_final: true,
            ..Usage::default()
        }
    }
}

fn session(listed: &Listed<Option<String>>, thread: Thread) -> Draft {
    let mut recorder = Recorder::new(&listed.id);
    let transcript = recorder.transcript();
    transcript.metadata = vec![listed.id.clone()];
    let folders = listed.facts.as_deref().unwrap_or_default();
    for folder in folders.lines().filter(|folder| !folder.is_empty()) {
        transcript.project = transcript.project.take().or_else(|| project_of(folder));
        transcript.metadata.extend(home_of(folder));
        transcript.metadata.push(folder.to_owned());
    }
    transcript.metadata.sort();
    transcript.metadata.dedup();
    let model = thread.model.map(|model| model.model);
    let mut reader = Reader { recorder, model, behind: FxHashMap::default(), asked: None };
    for (at, message) in thread.messages.into_iter().enumerate() {
        reader.message(at, message);
    }
    reader.usages(thread.request_token_usage);
    reader.recorder.finish()
}

struct Reader {
    recorder: Recorder,
    model: Option<String>,
    /// The last response behind each message of the user, by the key of its usage.
    behind: FxHashMap<String, u32>,
    asked: Option<String>,
}

impl Reader {
    /// A message: the user's, the agent's, or one of an older version with a role.
    fn message(&mut self, at: usize, message: Json) {
        let Json::Object(mut fields) = message else {
            self.recorder.draft.leave_out("mark of a resumed turn", 1);
            return;
        };
        if let Some(Json::Object(user)) = fields.remove("User") {
            let id = text_of(user.get("id"));
            self.asked.clone_from(&id);
            let mut turn = Turn::new(Role::User);
            turn.id = id;
            self.parts(user.get("content"), &mut turn);
            self.recorder.turn(turn);
        } else if let Some(Json::Object(agent)) = fields.remove("Agent") {
            let mut turn = Turn::new(Role::Assistant);
            self.parts(agent.get("content"), &mut turn);
            let results = agent.get("tool_results").and_then(Json::as_object);
            let results = results.into_iter().flat_map(Map::values).cloned().collect();
            let key = self.asked.clone();
            self.response(turn, results, key);
        } else if fields.contains_key("role") {
            self.older(at, &fields);
        } else {
            let kind = fields.keys().next().map_or("empty", String::as_str);
            self.recorder.draft.leave_out(format!("{kind} message"), 1);
        }
    }

    /// Before version 0.3.0 usage was listed by the position of the response.
    fn older(&mut self, at: usize, fields: &Map<String, Json>) {
        let role = match fields.get("role").and_then(Json::as_str) {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => return self.recorder.draft.leave_out("message of an unknown role", 1),
        };
        let list = |key| fields.get(key).and_then(Json::as_array).cloned().unwrap_or_default();
        let mut turn = Turn::new(role);
        turn.text(text_of(fields.get("context")).unwrap_or_default());
        turn.text(text_of(fields.get("text")).unwrap_or_default());
        for segment in list("segments") {
            let text = text_of(segment.get("text")).unwrap_or_default();
            match segment.get("type").and_then(Json::as_str) {
                Some("text") => turn.text(text),
                Some("thinking") => turn.reasoning(text),
                _ => self.recorder.draft.leave_out("hidden reasoning", 1),
            }
        }
        if role == Role::Assistant {
            for call in list("tool_uses") {
                self.call(&call, &mut turn);
            }
        }
        let results = list("tool_results");
        if role == Role::Assistant {
            self.response(turn, results, Some(at.to_string()));
        } else {
            results.iter().for_each(|result| self.result(result));
            if !turn.blocks.is_empty() {
                self.recorder.turn(turn);
            }
        }
    }

    fn response(&mut self, mut turn: Turn, results: Vec<Json>, key: Option<String>) {
        turn.model.clone_from(&self.model);
        if !turn.blocks.is_empty()
            && let Some(key) = key
        {
            self.behind.insert(key, self.recorder.count());
        }
        self.recorder.turn(turn);
        results.iter().for_each(|result| self.result(result));
    }

    fn parts(&mut self, content: Option<&Json>, turn: &mut Turn) {
        for part in content.and_then(Json::as_array).into_iter().flatten() {
            let tagged = part.as_object().and_then(|fields| fields.iter().next());
            let Some((kind, value)) = tagged else {
                self.recorder.draft.leave_out("part of an unknown kind", 1);
                continue;
            };
            match kind.as_str() {
                "Text" => turn.text(value.as_str().unwrap_or_default()),
                "Mention" => turn.text(text_of(value.get("content")).unwrap_or_default()),
                "Image" => turn.blocks.push(Block::Image { media_type: None }),
                "Thinking" => turn.reasoning(text_of(value.get("text")).unwrap_or_default()),
                "ToolUse" if turn.role == Role::Assistant => self.call(value, turn),
                other => self.recorder.draft.leave_out(format!("{other} part"), 1),
            }
        }
    }

    fn call(&mut self, call: &Json, turn: &mut Turn) {
        let [id, name] = ["id", "name"].map(|key| text_of(call.get(key)).unwrap_or_default());
        let input = call.get("input").cloned().unwrap_or_default();
        turn.blocks.push(self.recorder.call(id, name, input));
    }

    fn result(&mut self, result: &Json) {
        let call = text_of(result.get("tool_use_id")).unwrap_or_default();
        let mut text = ResultText::default();
        add_content(result.get("content").unwrap_or(&Json::Null), &mut text);
        let is_error = result.get("is_error") == Some(&Json::Bool(true));
        self.recorder.result(&call, text, Outcome { is_error, ..Outcome::default() });
    }

    fn usages(&mut self, usages: Json) {
        let listed: Vec<(String, Json)> = match usages {
            Json::Object(by_id) => by_id.into_iter().collect(),
            Json::Array(by_place) => {
                by_place.into_iter().enumerate().map(|(at, one)| (at.to_string(), one)).collect()
            }
            _ => Vec::new(),
        };
        for (key, tokens) in listed {
            let usage = serde_json::from_value(tokens).ok().map(Tokens::usage);
            let Some(usage) = usage.filter(|usage| usage.prompt() > 0 || usage.output > 0) else {
                continue;
            };
            let place = self.behind.get(&key).map(|&place| place as usize);
            match place.and_then(|at| self.recorder.transcript().messages.get_mut(at)) {
                Some(message) => message.usage = Some(usage),
                None => self.recorder.draft.leave_out("usage of a response that is not there", 1),
            }
        }
    }
}

fn text_of(value: Option<&Json>) -> Option<String> {
    value.and_then(Json::as_str).map(str::to_owned)
}

/// The content of a result: a text, a part with a text or a picture, or a list.
fn add_content(content: &Json, result: &mut ResultText) {
    let text = ["Text", "text"].iter().find_map(|key| content.get(key).and_then(Json::as_str));
    match (content, text) {
        (Json::String(text), _) => result.add(text),
        (Json::Array(parts), _) => parts.iter().for_each(|part| add_content(part, result)),
        (_, Some(text)) => result.add(text),
        (Json::Null, _) => {}
        _ => result.images += 1,
    }
}
