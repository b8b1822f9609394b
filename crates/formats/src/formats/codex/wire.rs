//! Records of a Codex CLI rollout in their format on disk, versions 0.39 to 0.104.

use crate::formats::content::usage_of;
use crate::formats::prelude::*;

#[derive(Deserialize)]
struct Header {
    timestamp: Option<Timestamp>,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct WithPayload<P> {
    payload: P,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: String,
}

/// One line of the rollout.
pub(super) struct Record {
    pub(super) line: u64,
    pub(super) at: Option<Timestamp>,
    pub(super) body: Body,
}

/// The content of a line.
pub(super) enum Body {
    Session(Box<WireSession>),
    Turn(Turn),
    Item(Item),
    Tokens(Option<TokenInfo>),
    /// A turn begins, under this context limit.
    Started(Option<u64>),
    Aborted,
    /// The user took back so many turns.
    RolledBack(u32),
    Compacted(Compacted),
    /// Not part of the conversation; the reason under which it is counted.
    Other(String),
}

/// The session's own record.
#[derive(Deserialize)]
pub(super) struct WireSession {
    pub(super) id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) cli_version: Option<String>,
    pub(super) originator: Option<String>,
    pub(super) git: Option<Git>,
    /// The system prompt, in files of 2026. The `instructions` of older files
    /// are the user's own and are among the messages as well.
    pub(super) base_instructions: Option<Instructions>,
    /// How it was started: a name, or what a subagent is for and whose it is.
    #[serde(default)]
    source: Json,
    /// The session whose history it begins with a copy of.
    pub(super) forked_from_id: Option<String>,
}

impl WireSession {
    /// The session whose agent started it, where it is a subagent's.
    pub(super) fn parent(&self) -> Option<String> {
        let subagent = self.source.get("subagent")?;
        let named = subagent.pointer("/thread_spawn/parent_thread_id").and_then(Json::as_str);
        Some(named.map(str::to_owned).or_else(|| self.forked_from_id.clone()).unwrap_or_default())
    }
}

#[derive(Deserialize)]
pub(super) struct Git {
    pub(super) branch: Option<String>,
    pub(super) commit_hash: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Instructions {
    pub(super) text: String,
}

/// Precedes a request, or the first of a turn.
#[derive(Deserialize)]
pub(super) struct Turn {
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
}

/// An item of the conversation, as the provider knows it.
pub(super) enum Item {
    Message {
        role: String,
        content: Content<WirePart>,
    },
    /// The part of the reasoning that is not encrypted; may be empty.
    Reasoning(String),
    Call {
        /// Absent for tools that the provider itself runs.
        id: Option<String>,
        name: String,
        arguments: Json,
    },
    Result {
        /// Absent for tools that the provider itself runs.
        call: Option<String>,
        output: Output,
    },
}

/// A part of a message's content.
#[derive(Deserialize)]
pub(in crate::formats) struct WirePart {
    #[serde(rename = "type")]
    pub(in crate::formats) kind: String,
    pub(in crate::formats) text: Option<String>,
    pub(in crate::formats) refusal: Option<String>,
    pub(in crate::formats) image_url: Option<String>,
}

#[derive(Deserialize)]
pub(in crate::formats) struct WireMessage {
    pub(in crate::formats) role: String,
    #[serde(default)]
    pub(in crate::formats) content: Content<WirePart>,
}

#[derive(Deserialize)]
pub(in crate::formats) struct WireReasoning {
    #[serde(default)]
    pub(in crate::formats) summary: Content<WirePart>,
    #[serde(default)]
    pub(in crate::formats) content: Content<WirePart>,
}

#[derive(Deserialize)]
pub(in crate::formats) struct WireCall {
    pub(in crate::formats) call_id: String,
    pub(in crate::formats) name: String,
    #[serde(default)]
    pub(in crate::formats) arguments: Json,
    pub(in crate::formats) input: Option<String>,
}

#[derive(Deserialize)]
pub(in crate::formats) struct WireAction {
    pub(in crate::formats) call_id: Option<String>,
    #[serde(default, alias = "revised_prompt")]
    pub(in crate::formats) action: Json,
}

/// A search for tools, which loads their definitions into the context.
#[derive(Deserialize)]
pub(in crate::formats) struct WireSearch {
    pub(in crate::formats) call_id: Option<String>,
    #[serde(default)]
    pub(in crate::formats) arguments: Json,
    #[serde(default)]
    tools: Vec<Json>,
}

impl WireSearch {
    /// The definitions that it found, as the model is sent them.
    pub(in crate::formats) fn found(self) -> Output {
        let tools: Vec<String> = self.tools.iter().map(Json::to_string).collect();
        Output::Content(Content::Text(tools.join("\n")))
    }
}

#[derive(Deserialize)]
pub(in crate::formats) struct WireResult {
    pub(in crate::formats) call_id: String,
    pub(in crate::formats) output: Output,
}

/// The result: text, parts, or a text with a status.
#[derive(Deserialize)]
#[serde(untagged)]
pub(in crate::formats) enum Output {
    Content(Content<WirePart>),
    Judged { content: Content<WirePart>, success: Option<bool> },
    Other(serde_json::Map<String, Json>),
}

/// A shell's result in files of 2025: JSON within the text.
#[derive(Deserialize)]
struct Shell {
    output: String,
    metadata: ShellMetadata,
}

#[derive(Deserialize)]
struct ShellMetadata {
    exit_code: i64,
}

/// Begins a shell's result in files of 2026.
const EXIT_CODE: &str = "Exit code: ";

impl Output {
    /// The text, and whether the tool failed. A shell's JSON is unpacked, so
    /// that escape sequences are not mistaken for text (how-it-works §34).
    pub(in crate::formats) fn read(self) -> (ResultText, bool) {
        let (content, success) = match self {
            Output::Content(content) => (content, None),
            Output::Judged { content, success } => (content, success),
            Output::Other(other) => (Content::Text(Json::Object(other).to_string()), None),
        };
        let text = match content {
            Content::Text(text) => text,
            Content::Parts(parts) => {
                let mut result = ResultText::default();
                for part in parts {
                    match part.text {
                        Some(text) => result.add(&text),
                        None => result.images += u32::from(part.kind == "input_image"),
                    }
                }
                return (result, success == Some(false));
            }
        };
        let (text, code) = match serde_json::from_str::<Shell>(&text) {
            Ok(shell) => (shell.output, Some(shell.metadata.exit_code)),
            Err(_) => {
                let code = text.strip_prefix(EXIT_CODE).and_then(|rest| rest.lines().next());
                let code = code.and_then(|code| code.trim().parse().ok());
                (text, code)
            }
        };
        let failed = success == Some(false) || code.is_some_and(|code| code != 0);
        (ResultText { text, images: 0 }, failed)
    }
}

/// Counts of a `token_count` event.
#[derive(Deserialize)]
pub(super) struct TokenInfo {
    /// Totals since the session began: an event that repeats them adds nothing.
    pub(super) total_token_usage: Counts,
    /// Counts of the response that it reports.
    pub(super) last_token_usage: Counts,
    pub(super) model_context_window: Option<u64>,
}

/// OpenAI counts cached tokens within the input, reasoning within the output.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
pub(super) struct Counts {
    input_tokens: u64,
    #[serde(default)]
    cached_input_tokens: u64,
    /// Since 0.145.
    cache_write_input_tokens: Option<u64>,
    output_tokens: u64,
}

impl Counts {
    /// The same in disjoint buckets; `None` where nothing was sent or written
    /// (an estimate after a compaction).
    pub(super) fn usage(&self) -> Option<Usage> {
        let cached = [self.cached_input_tokens, self.cache_write_input_tokens.unwrap_or(0)];
        let usage = usage_of(self.input_tokens, cached, self.output_tokens);
        (usage.prompt() > 0 || usage.output > 0).then_some(usage)
    }
}

#[derive(Deserialize)]
struct WithInfo {
    info: Option<TokenInfo>,
}

#[derive(Deserialize)]
struct Started {
    model_context_window: Option<u64>,
}

#[derive(Deserialize)]
struct RolledBack {
    num_turns: u32,
}

/// The vendor's compaction, with the context after it.
#[derive(Deserialize)]
pub(super) struct Compacted {
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) replacement_history: Option<Vec<HistoryItem>>,
}

/// An item of the new context: a message, or an encrypted summary.
#[derive(Deserialize)]
pub(super) struct HistoryItem {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: Content<WirePart>,
}

/// Reads one line. Two passes, since kinds that are not part of the
/// conversation must not fail on fields that are not used.
pub(super) fn read(text: &str) -> Result<(Option<Timestamp>, Body), Problem> {
    let header: Header = parse(text)?;
    let body = match header.kind.as_str() {
        "session_meta" => Body::Session(Box::new(payload(text)?)),
        "turn_context" => Body::Turn(payload(text)?),
        "compacted" => Body::Compacted(payload(text)?),
        "response_item" => item(text)?,
        "event_msg" => match payload::<Kind>(text)?.kind.as_str() {
            "token_count" => Body::Tokens(payload::<WithInfo>(text)?.info),
            "task_started" => Body::Started(payload::<Started>(text)?.model_context_window),
            "turn_aborted" => Body::Aborted,
            "thread_rolled_back" => Body::RolledBack(payload::<RolledBack>(text)?.num_turns),
            // The others repeat what the items contain, or are for the screen.
            _ => Body::Other("event record".to_owned()),
        },
        other => Body::Other(format!("{other} record")),
    };
    Ok((header.timestamp, body))
}

fn payload<P: serde::de::DeserializeOwned>(text: &str) -> Result<P, Problem> {
    Ok(parse::<WithPayload<P>>(text)?.payload)
}

fn item(text: &str) -> Result<Body, Problem> {
    let kind = payload::<Kind>(text)?.kind;
    let item = match kind.as_str() {
        "message" => {
            let WireMessage { role, content } = payload(text)?;
            Item::Message { role, content }
        }
        "reasoning" => {
            let WireReasoning { summary, content } = payload(text)?;
            Item::Reasoning([texts(summary), texts(content)].concat().join("\n"))
        }
        "function_call" | "custom_tool_call" => {
            let call: WireCall = payload(text)?;
            // A custom tool takes one text and no object.
            let arguments = match call.input {
                Some(input) => serde_json::json!({ "input": input }),
                None => call.arguments,
            };
            Item::Call { id: Some(call.call_id), name: call.name, arguments }
        }
        "function_call_output" | "custom_tool_call_output" => {
            let WireResult { call_id, output } = payload(text)?;
            Item::Result { call: Some(call_id), output }
        }
        "tool_search_call" => {
            let WireSearch { call_id, arguments, .. } = payload(text)?;
            Item::Call { id: call_id, name: "tool_search".to_owned(), arguments }
        }
        "tool_search_output" => {
            let search: WireSearch = payload(text)?;
            Item::Result { call: search.call_id.clone(), output: search.found() }
        }
        "web_search_call" | "local_shell_call" | "image_generation_call" => {
            let WireAction { call_id, action } = payload(text)?;
            let name = kind.trim_end_matches("_call").to_owned();
            Item::Call { id: call_id, name, arguments: action }
        }
        _ => return Ok(Body::Other(format!("{kind} item"))),
    };
    Ok(Body::Item(item))
}

/// The texts among parts, in order.
pub(in crate::formats) fn texts(content: Content<WirePart>) -> Vec<String> {
    content.texts(|part| part.text)
}
