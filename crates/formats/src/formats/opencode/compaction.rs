//! Summaries and pruned outputs of an OpenCode session (how-it-works §6).
//!
//! A compaction is a user message with a part of that type and an answer to it
//! marked as a summary. Both stand in front of what was kept from then on, the
//! question as a literal text (anomalyco/opencode, `message-v2.ts`,
//! `filterCompacted` and `toModelMessages`).

use super::Reader;
use super::wire::{Info, Part};
use crate::formats::prelude::*;

/// The question with which OpenCode asks for a summary.
const QUESTION: &str = "What did we do so far?";

/// A question for a summary.
pub(super) struct SummaryRequest {
    id: String,
    at: Option<Timestamp>,
    trigger: RecordedTrigger,
    /// The message of the export from which on everything was kept.
    tail: Option<String>,
}

impl Reader {
    /// Records a question. One that has no answer yet is kept as it was sent.
    pub(super) fn request_summary(&mut self, info: &Info, part: &Part) {
        let trigger = match part.auto {
            Some(true) => RecordedTrigger::Auto,
            Some(false) => RecordedTrigger::Manual,
            None => RecordedTrigger::Unknown,
        };
        let (id, at) = (info.id.clone(), info.time.created);
        self.summary_requests.insert(
            id.clone(),
            SummaryRequest { id, at, trigger, tail: part.tail_start_id.clone() },
        );
    }

    /// Handles a question that was not answered by a summary, which was sent as
    /// a message.
    pub(super) fn unanswered(&mut self, parent: Option<&str>) {
        if let Some(request) = parent.and_then(|parent| self.summary_requests.remove(parent)) {
            let blocks = vec![Block::Text { text: QUESTION.to_owned() }];
            self.push(Message::new(request.id, Role::User, request.at, blocks), request.at);
        }
    }

    /// Whether a summary is complete; a live session may be cut off.
    pub(super) fn is_finished(&self, info: &Info) -> bool {
        let request = info
            .parent_id
            .as_ref()
            .is_some_and(|parent| self.summary_requests.contains_key(parent));
        // Until 2025 there was no question, and no finish reason.
        !request || info.finish.is_some()
    }

    /// A compaction: its summary and its call.
    pub(super) fn summary(&mut self, info: &Info, parts: Vec<Part>) -> Result<(), Problem> {
        let request =
            info.parent_id.as_ref().and_then(|parent| self.summary_requests.remove(parent));
        let mut texts = Vec::new();
        let mut tokens = None;
        for part in parts {
            match part.kind.as_str() {
                "text" => texts.extend(part.text.filter(|text| !text.is_empty())),
                "step-finish" => tokens = part.tokens,
                "step-start" => {}
                other => self.draft.leave_out(format!("{other} part of a summary"), 1),
            }
        }
        let text = texts.join("\n");
        let usage = self.usage(tokens.as_ref().or(info.tokens.as_ref()), true);
        let taken = info.time.created.zip(info.time.completed);
        let latency = taken.map(|(from, to)| to.duration_since(from).as_secs_f64() * 1e3);
        let call = usage.map(|usage| RecordedCall {
            model: info.model.clone(),
            usage,
            latency_ms: latency.filter(|ms| *ms >= 0.0),
        });
        let after = self.draft.next_index();
        let tail = request.as_ref().and_then(|request| request.tail.as_ref());
        let kept_from = tail.and_then(|id| self.index_of.get(id)).copied().unwrap_or(after);
        let question = request.as_ref().map(|_| (Role::User, QUESTION.to_owned()));
        let pieces = question.into_iter().chain([(Role::Assistant, text.clone())]);
        let before = self.last_prompt;
        self.draft.compact(RecordedCompaction {
            after,
            kept_from,
            summary: Some(text),
            pieces: pieces.map(|(role, text)| Piece::Text { role, text }).collect(),
            trigger: request.as_ref().map_or(RecordedTrigger::Unknown, |request| request.trigger),
            tokens_before: before,
            call,
            at: info.time.completed.or(info.time.created),
            ..RecordedCompaction::default()
        })
    }

    /// Turns pruned outputs into compactions that clear results, at the first
    /// message that began later. Those of one pruning are a few milliseconds
    /// apart.
    pub(super) fn prune(&mut self) {
        let pruned = std::mem::take(&mut self.pruned);
        if pruned.is_empty() {
            return;
        }
        let mut by_place: Vec<(u32, Timestamp, Vec<String>)> = Vec::new();
        let counts = counts_by_time(&self.begun);
        for (at, calls) in pruned {
            let begun = counts.partition_point(|(begun, _)| *begun <= at);
            let after = begun.checked_sub(1).map_or(0, |last| counts[last].1);
            match by_place.last_mut() {
                Some((place, _, all)) if *place == after => all.extend(calls),
                _ => by_place.push((after, at, calls)),
            }
        }
        let messages = &self.draft.session.messages;
        let results: FxHashMap<&str, u32> = (0..)
            .zip(messages)
            .filter_map(|(index, message)| Some((message.tool_result()?.0, index)))
            .collect();
        // The prompt that was reported last, by how many messages there are.
        let reported = messages.iter().scan(None, |last, message| {
            *last = message.usage.map(|usage| usage.prompt()).or(*last);
            Some(*last)
        });
        let reported: Vec<Option<u64>> = std::iter::once(None).chain(reported).collect();
        let mut compactions = std::mem::take(&mut self.draft.session.compactions);
        for (after, at, mut cleared) in by_place {
            cleared.sort_by_key(|call| results.get(call.as_str()).copied());
            // A result can only be cleared after it was received.
            let there = cleared.iter().filter_map(|call| results.get(call.as_str())).max();
            let after = there.map_or(after, |&last| after.max(last + 1));
            compactions.push(RecordedCompaction {
                after,
                cleared,
                trigger: RecordedTrigger::Auto,
                tokens_before: reported[after as usize],
                at: Some(at),
                ..RecordedCompaction::default()
            });
        }
        compactions.sort_by_key(|compaction| (compaction.after, compaction.at));
        // Clearing results removes no messages: what was sent before still is.
        let mut kept_from = 0;
        for compaction in &mut compactions {
            if compaction.cleared.is_empty() {
                kept_from = compaction.kept_from;
            } else {
                compaction.kept_from = kept_from;
            }
        }
        self.draft.session.compactions = compactions;
    }
}

/// How many messages there were once those that had begun by each time were
/// written, by time.
fn counts_by_time(begun: &[Option<Timestamp>]) -> Vec<(Timestamp, u32)> {
    let known = (1..).zip(begun).filter_map(|(count, at)| Some(((*at)?, count)));
    let mut counts: Vec<(Timestamp, u32)> = known.collect();
    counts.sort_unstable();
    let mut most = 0;
    for (_, count) in &mut counts {
        most = most.max(*count);
        *count = most;
    }
    counts
}
