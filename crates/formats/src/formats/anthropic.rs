//! Requests to Anthropic's Messages API: a body, a log of many (each a body, or
//! an object with `request` and `response`), or the list of messages alone, as
//! agents keep it (Cline, Roo and Kilo: `api_conversation_history.json`).
//!
//! Read from the API's public documentation, without recordings at hand. Of a
//! log, the conversation that was extended last is read: each request repeats
//! the messages of the one before and adds some.

use std::collections::{BTreeSet, VecDeque};

use super::content::{ChatMessage, Part, body_of, each, joined, response_of, texts};
use super::exchange::{Calls, Request, Requests, Sent, Writer};
use super::prelude::*;
use crate::format::{has_all, has_any};

/// The format of requests to Anthropic's Messages API.
pub(super) const FORMAT: Format = Format {
    name: "anthropic",
    describe: "Anthropic Messages requests (JSON, a log of many, or a list of messages as Cline, Roo and Kilo keep it)",
    tried: Tried::Documentation,
    sniff,
    read,
};

fn sniff(head: &Head) -> bool {
    let is_own = |record: &Json| is_request(record) || record.get(0).is_some_and(is_request);
    // A thread of Amp has messages of this form, but its results are elsewhere.
    let is_of_amp = |record: &Json| {
        record.get("v").is_some()
            && record.get("id").and_then(Json::as_str).is_some_and(|id| id.starts_with("T-"))
    };
    head.any(is_own) && !head.any(is_of_amp)
}

fn read(source: &mut Source<'_>, take: &mut Take<'_>) -> Result<(), DatasetError> {
    let (mut requests, mut drafts) = (Requests::default(), Vec::new());
    let stem = source.stem().to_owned();
    source.each_value(|line, value| match value {
        // A document is a body, a list of messages, or a list of bodies.
        Json::Array(items) if line.is_none() => {
            if items.first().is_some_and(|item| item.get("role").is_some()) {
                drafts.push(kept(items, &stem)?);
                return Ok(());
            }
            for item in items {
                requests.add(request(item)?);
            }
            Ok(())
        }
        value => {
            requests.add(request(value)?);
            Ok(())
        }
    })?;
    drafts.extend(requests.sessions(source)?);
    drafts.into_iter().try_for_each(|draft| take(source, draft))
}

fn request(value: Json) -> Result<Request, Problem> {
    let (body, response) = entry(value);
    let (mut body, mut response) = (Fields(body), Fields(response.unwrap_or_default()));
    let asked: Option<String> = body.take("/model")?;
    let model: Option<String> = response.take("/model")?.or(asked);
    let tools: Vec<Json> = body.take("/tools")?.unwrap_or_default();
    let diagnostics: Json = response.take("/diagnostics")?.unwrap_or_default();
    let usage = WireUsage::read(response.take("/usage")?, &diagnostics);
    let usage = usage.map_err(|problem| below("/usage", problem))?;
    let mut messages = Vec::new();
    each(body.need("/messages")?, "/messages", |_, mut message| {
        messages.push(message_of(&mut message)?);
        Ok(())
    })?;
    let answer = response.parts("/content")?;
    let answer = Some(answer).filter(|parts| !parts.is_empty());
    Ok(Request {
        preamble: Preamble {
            system: texts(&body.parts("/system")?).map(str::to_owned).collect(),
            tools: tool_definitions(&tools),
            ..Preamble::default()
        },
        messages,
        answer: answer.map(|parts| ChatMessage::new(Role::Assistant, parts)).into_iter().collect(),
        usage: usage.as_ref().map(|usage| usage.calls(model.as_deref())),
        model: usage.and_then(|usage| usage.named(model.as_deref())).or(model),
        ..Request::default()
    })
}

fn message_of(message: &mut Fields) -> Result<ChatMessage, Problem> {
    let role = role_of(message.need("/role")?)?;
    // Milliseconds since 1970, which agents add to messages that they keep.
    let at = message.take("/ts")?.and_then(|ts| Timestamp::from_millisecond(ts).ok());
    Ok(ChatMessage { at, ..ChatMessage::new(role, message.parts("/content")?) })
}

/// The messages that an agent keeps.
fn kept(items: Vec<Json>, id: &str) -> Result<Draft, Problem> {
    let (mut writer, mut condensed) = (Writer::new(id), Condensed::default());
    each(items, "/messages", |at, mut item| condensed.take(at, &mut item, &mut writer))?;
    condensed.finish(&mut writer.draft)?;
    writer.draft.leading_system_to_preamble();
    Ok(writer.draft)
}

/// What Cline says of a request. Tokens that were read from a cache or written to it are
/// one sum, beside the prompt's (cline/cline, `src/core/task/index.ts`).
fn cline_usage(message: &Fields) -> Option<Usage> {
    let tokens = message.0.pointer("/metrics/tokens").filter(|tokens| tokens.is_object())?;
    let count = |key: &str| tokens.get(key).and_then(Json::as_u64).unwrap_or(0);
    let cached = count("cached");
    let usage = disjoint(count("prompt"), cached, 0, count("completion"));
    Some(Usage { cache_unknown: cached > 0, ..usage })
}

// What Roo and Kilo condensed of the messages that they keep. Read from Roo's
// public source (RooCodeInc/Roo-Code, `src/core/condense/index.ts` and
// `src/core/context-management/index.ts`, several versions), without
// recordings at hand.
//
// A summary stands in the list, and the messages that it replaced name it. A
// summary of the user's stands where it was made. An older one, of the
// model's, stands before the messages that were kept then.

/// How many of the newest messages the older versions kept.
const KEPT: usize = 3;

/// What is still sent, and the compactions whose tail is not complete.
#[derive(Default)]
struct Condensed {
    sent: BTreeSet<MessageIndex>,
    /// Messages by the summary, or the mark of a truncation, that they name.
    replaced: FxHashMap<String, Vec<MessageIndex>>,
    /// Each with the number of messages of the list behind which it was made.
    open: VecDeque<(usize, RecordedCompaction)>,
    /// Number of messages of the list so far, without summaries and marks.
    listed: usize,
}

impl Condensed {
    /// Takes the next item of the list: a summary, the mark of a truncation, or a
    /// message, which may name either.
    fn take(&mut self, at: usize, item: &mut Fields, writer: &mut Writer) -> Result<(), Problem> {
        let is = |key: &str| item.0.get(key) == Some(&Json::Bool(true));
        let (is_summary, is_mark) = (is("isSummary"), is("isTruncationMarker"));
        let condensed: Option<String> = item.take("/condenseId")?;
        let truncated: Option<String> = item.take("/truncationId")?;
        let message = message_of(item)?;
        let draft = &mut writer.draft;
        if is_summary {
            return self.summary((message.role, condensed), &message.parts, draft);
        }
        if is_mark {
            // It stands where the removed messages end, and nothing says when it was set there.
            self.forget(truncated);
            draft.leave_out("truncation whose time is not recorded", 1);
            return Ok(());
        }
        let first = draft.next_index();
        let sent = (message.role == Role::Assistant).then(|| Sent {
            length: at,
            usage: cline_usage(item).map(Calls::from),
            usd: None,
            model: item.text("/modelInfo/modelId").map(str::to_owned),
            at: None,
        });
        writer.message(at, message, sent)?;
        writer.close()?;
        let draft = &mut writer.draft;
        let own = first..draft.next_index();
        self.sent.extend(own.clone());
        for parent in ["/condenseParent", "/truncationParent"] {
            if let Some(parent) = item.take(parent)? {
                self.replaced.entry(parent).or_default().extend(own.clone());
            }
        }
        self.listed += 1;
        while self.open.front().is_some_and(|(until, _)| *until <= self.listed) {
            self.close(draft)?;
        }
        Ok(())
    }

    /// A summary, which is no message.
    fn summary(
        &mut self,
        (role, id): (Role, Option<String>),
        parts: &[Part],
        draft: &mut Draft,
    ) -> Result<(), Problem> {
        self.forget(id);
        // Calls that stand in it again, since their results were kept, are in the session
        // already.
        let text = joined(parts);
        let others = parts.len() - texts(parts).count();
        draft.leave_out("part of a summary that is no text", others as u64);
        let kept_from = draft.next_index();
        let front = self.sent.iter().map(|&message| Piece::Message(message));
        let pieces = front.chain([Piece::Text { role, text: text.clone() }]).collect();
        let compaction =
            RecordedCompaction { kept_from, summary: Some(text), pieces, ..Default::default() };
        let tail = if role == Role::Assistant { KEPT } else { 0 };
        self.open.push_back((self.listed + tail, compaction));
        if tail == 0 { self.finish(draft) } else { Ok(()) }
    }

    /// The list has ended.
    fn finish(&mut self, draft: &mut Draft) -> Result<(), Problem> {
        while !self.open.is_empty() {
            self.close(draft)?;
        }
        Ok(())
    }

    fn forget(&mut self, id: Option<String>) {
        let gone = id.and_then(|id| self.replaced.remove(&id)).unwrap_or_default();
        for message in gone {
            self.sent.remove(&message);
        }
    }

    fn close(&mut self, draft: &mut Draft) -> Result<(), Problem> {
        let Some((_, compaction)) = self.open.pop_front() else { return Ok(()) };
        draft.compact(RecordedCompaction { after: draft.next_index(), ..compaction })
    }
}

// What a response of the API used.

/// Anthropic's usage: cached tokens are counted beside the input.
#[derive(Clone, Debug)]
pub(super) struct WireUsage {
    counts: Usage,
    /// How the request was served, which changes its price: speed, place and tier.
    served: [Option<String>; 3],
    /// The requests that the response is made of, where there are several.
    iterations: Vec<Iteration>,
}

/// One of several requests.
#[derive(Clone, Debug)]
struct Iteration {
    kind: String,
    model: Option<String>,
    usage: Usage,
}

impl WireUsage {
    /// Reads usage, and of diagnostics why the cache was not read.
    ///
    /// # Errors
    /// Counts that are none, with their place.
    pub(super) fn read(
        usage: Option<Json>,
        diagnostics: &Json,
    ) -> Result<Option<WireUsage>, Problem> {
        let Some(usage) = usage else { return Ok(None) };
        let mut usage = Fields(usage);
        let word = |at: &str, known: &[&str]| {
            usage.text(at).filter(|word| known.contains(word)).map(str::to_owned)
        };
        let served = [
            word("/speed", &["fast"]),
            word("/inference_geo", &["us", "eu"]),
            word("/service_tier", &["batch", "flex", "priority"]),
        ];
        // A single entry repeats what stands around it, and one that cannot be read is none.
        let entries = match usage.take("/iterations")? {
            Some(Json::Array(entries)) if entries.len() > 1 => entries,
            _ => Vec::new(),
        };
        let iterations = entries.into_iter().filter_map(|entry| Iteration::read(entry).ok());
        let iterations = iterations.collect();
        // A reason of a later version is none that is known.
        let reason = diagnostics.pointer("/cache_miss_reason/type");
        let cache_miss = reason.and_then(|kind| from_json(kind).ok());
        let counts = Usage { cache_miss, ..counts(&mut usage)? };
        Ok(Some(WireUsage { counts, served, iterations }))
    }

    /// What the request used that wrote the end of the response, in disjoint
    /// buckets: the prompt that the next one extends.
    pub(super) fn usage(&self) -> Usage {
        self.calls(None).last().unwrap_or_default()
    }

    /// Tokens that the models wrote: of two reports of one response the later one has more.
    pub(super) fn output(&self) -> u64 {
        self.counts.output
    }

    /// The requests that are reported, where a model answered. One that declined
    /// before another took over is not that model.
    pub(super) fn calls(&self, model: Option<&str>) -> Calls {
        let mut calls = Calls { model: self.named(model), ..Calls::default() };
        let answers = |entry: &&Iteration| matches!(&*entry.kind, "message" | "fallback_message");
        let last = self.iterations.iter().rfind(answers);
        for entry in &self.iterations {
            let is_own = answers(&entry)
                && last.is_some_and(|last| entry.model == last.model && entry.kind == last.kind);
            let named = || match entry.model.as_deref().filter(|own| Some(*own) != model) {
                // Only the response's own model is asked to hurry.
                Some(own) => Some(marked(own, &self.served[1..])),
                None => calls.model.clone(),
            };
            match entry.kind.as_str() {
                _ if is_own => calls.own.push(entry.usage),
                // Nothing says which model declined.
                "message" if entry.model.is_none() => calls.beside.push((None, entry.usage)),
                "compaction" => calls.compactions.push((named(), entry.usage)),
                _ => calls.beside.push((named(), entry.usage)),
            }
        }
        if calls.own.iter().all(|usage| usage.prompt() == 0) {
            calls.own = vec![self.counts];
        }
        // The first request is the one that was compared with the one before.
        if let Some(first) = calls.own.first_mut() {
            first.cache_miss = self.counts.cache_miss;
        }
        calls
    }

    /// The model with the marks of how it was served (`pricing::service`).
    pub(super) fn named(&self, model: Option<&str>) -> Option<String> {
        Some(marked(model?, &self.served))
    }
}

impl Iteration {
    fn read(entry: Json) -> Result<Iteration, Problem> {
        let mut entry = Fields(entry);
        let (kind, model) = (entry.need("/type")?, entry.take("/model")?);
        Ok(Iteration { kind, model, usage: counts(&mut entry)? })
    }
}

/// The figures; writes without a lifetime are the five-minute default.
fn counts(usage: &mut Fields) -> Result<Usage, Problem> {
    let [input, read, written, output] = usage.counts([
        "/input_tokens",
        "/cache_read_input_tokens",
        "/cache_creation_input_tokens",
        "/output_tokens",
    ])?;
    let hour: Option<u64> = usage.take("/cache_creation/ephemeral_1h_input_tokens")?;
    let cache_write_1h = hour.unwrap_or(0).min(written);
    let usage = disjoint(input, read, written - cache_write_1h, output);
    Ok(Usage { cache_write_1h, ..usage })
}

fn marked(model: &str, marks: &[Option<String>]) -> String {
    let marks: Vec<&str> = marks.iter().flatten().map(String::as_str).collect();
    if marks.is_empty() || model.contains('[') {
        model.to_owned()
    } else {
        format!("{model}[{}]", marks.join(","))
    }
}

/// An entry of a log: the request's body, and the response where it is there.
pub(super) fn entry(mut value: Json) -> (Json, Option<Json>) {
    let Some(request) = value.get_mut("request").map(Json::take) else { return (value, None) };
    let inner = |mut value: Json| match value.get_mut("body").map(Json::take) {
        Some(body) => body,
        None => value,
    };
    let response = value.get_mut("response").map(Json::take).filter(|value| !value.is_null());
    (inner(request), response.map(inner))
}

/// What only requests to this API have.
const OWN: [&str; 3] = ["/tools/0/input_schema", "/context_management/edits", "/system"];

/// What only messages have that Roo or Kilo condensed or hid.
const MARKS: [&str; 3] = ["/isSummary", "/condenseParent", "/truncationParent"];

/// Whether a record can only be a request to this API: other APIs have roles
/// and contents, too.
pub(super) fn is_request(record: &Json) -> bool {
    let body = body_of(record);
    let Some(messages) = body.get("messages").unwrap_or(body).as_array() else { return false };
    let is_own = |message: &Json| {
        let parts = message.get("content").and_then(Json::as_array).into_iter().flatten();
        let mut kinds = parts.filter_map(|part| part.get("type")?.as_str());
        let has_block = kinds.any(|kind| {
            let own = ["tool_use", "thinking", "redacted_thinking", "compaction"];
            own.contains(&kind) || kind.ends_with("tool_use") || kind.ends_with("tool_result")
        });
        has_block || has_any(message, &MARKS)
    };
    messages.first().is_some_and(|first| has_all(first, "/role /content"))
        && (has_any(body, &OWN) || messages.iter().any(is_own) || is_plain(record, body))
}

/// Whether a request of plain texts is one to this API: by its response, or by what it
/// asks for. OpenAI's API needs no `max_tokens`, and has other models and roles.
fn is_plain(record: &Json, body: &Json) -> bool {
    if let Some(response) = response_of(record).filter(|own| own.is_object()) {
        return response.get("content").is_some_and(Json::is_array);
    }
    let text = |key: &str| body.get(key).and_then(Json::as_str);
    let is_claude = text("model").is_some_and(|model| model.starts_with("claude"));
    let messages = body.get("messages").and_then(Json::as_array);
    let mut roles = messages.into_iter().flatten().map(|message| message.get("role"));
    let are_own = roles.all(|role| role.is_some_and(|role| role == "user" || role == "assistant"));
    are_own
        && body.get("max_tokens").is_some_and(Json::is_u64)
        && (is_claude || text("anthropic_version").is_some())
}
