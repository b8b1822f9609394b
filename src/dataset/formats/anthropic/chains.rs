//! Which requests of a log belong to one conversation: each repeats the
//! messages of the one before and adds some.

use rustc_hash::FxHashMap;
use serde_json::Value as Json;

use super::wire::{Body, Response};
use crate::model::Usage;

/// The requests of one conversation so far.
pub(super) struct Chain {
    /// The newest request.
    pub(super) body: Body,
    pub(super) response: Option<Response>,
    /// Number of messages of each request, with what it used and its model.
    pub(super) requests: Vec<(usize, Option<Usage>, Option<String>)>,
    /// Position of the newest request in the log.
    last: usize,
    /// How many requests it is made of, repeated ones included.
    taken: usize,
}

/// All conversations of a log.
#[derive(Default)]
pub(super) struct Chains {
    chains: Vec<Chain>,
    /// Each chain by the hash of its newest request's messages.
    by_end: FxHashMap<blake3::Hash, usize>,
    count: usize,
}

impl Chains {
    /// Adds the next request of the log.
    pub(super) fn add(&mut self, body: Body, response: Option<Response>) {
        let ends = ends(&body.messages);
        // The longest beginning that an earlier request ended with.
        let known = ends.iter().rev().find_map(|end| self.by_end.remove(end));
        let model = response.as_ref().and_then(|response| response.model.clone());
        let model = model.or_else(|| body.model.clone());
        let usage = response.as_ref().and_then(|response| response.usage).map(|u| u.usage());
        let request = (body.messages.len(), usage, model);
        let last = self.count;
        self.count += 1;
        let at = match known {
            Some(at) => {
                let chain = &mut self.chains[at];
                // A request that was repeated is one.
                chain.requests.pop_if(|(length, ..)| *length == request.0);
                chain.requests.push(request);
                (chain.body, chain.response, chain.last) = (body, response, last);
                chain.taken += 1;
                at
            }
            None => {
                let requests = vec![request];
                self.chains.push(Chain { body, response, requests, last, taken: 1 });
                self.chains.len() - 1
            }
        };
        self.by_end.extend(ends.last().map(|end| (*end, at)));
    }

    /// The conversation that was extended last (without one, the last request),
    /// and the number of requests that are no part of it.
    pub(super) fn last(self) -> Option<(Chain, usize)> {
        let extended = |chain: &Chain| (chain.requests.len() > 1, chain.last);
        let chain = self.chains.into_iter().max_by_key(extended)?;
        let others = self.count - chain.taken;
        Some((chain, others))
    }
}

/// The hash of all messages up to each.
fn ends(messages: &[Json]) -> Vec<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    let end = |message: &Json| {
        hasher.update(said(message).to_string().as_bytes());
        hasher.finalize()
    };
    messages.iter().map(end).collect()
}

/// A message without what changes from request to request: the marks of the
/// cache, and thoughts, which are dropped later.
fn said(message: &Json) -> Json {
    let Some(parts) = message.get("content").and_then(Json::as_array) else {
        return serde_json::json!([message.get("role"), [{"text": message.get("content")}]]);
    };
    let is_said = |part: &&Json| {
        let kind = part.get("type").and_then(Json::as_str);
        !matches!(kind, Some("thinking" | "redacted_thinking"))
    };
    let plain = |part: &Json| match part.get("type").and_then(Json::as_str) {
        Some("text") => serde_json::json!({"text": part.get("text")}),
        _ => {
            let mut part = part.clone();
            part.as_object_mut().map(|fields| fields.remove("cache_control"));
            part
        }
    };
    let parts: Vec<Json> = parts.iter().filter(is_said).map(plain).collect();
    serde_json::json!([message.get("role"), parts])
}
