//! One response may be several requests to models: those of `usage.iterations`
//! (Anthropic's documentation of server tools, compaction and the advisor).
//!
//! A server's tool runs within the response, and the model is asked again behind
//! its result; the sum of these prompts is no prompt. An advisor is another model,
//! and so is one that declined before another took over. A compaction of the
//! server's writes a summary, and what stood before it is not sent again.

use super::wire::WireUsage;
use crate::formats::prelude::*;

/// What a model wrote in one go.
#[derive(Default)]
pub(in crate::formats) struct Pass {
    /// The summary that took the place of everything before it, with its call.
    pub(in crate::formats) summary: Option<(String, Option<RecordedCall>)>,
    pub(in crate::formats) blocks: Vec<Block>,
    pub(in crate::formats) usage: Option<Usage>,
}

impl Pass {
    /// The compaction in front of it, behind `after` messages.
    pub(in crate::formats) fn compaction(
        &mut self,
        after: MessageIndex,
        at: Option<Timestamp>,
    ) -> Option<RecordedCompaction> {
        let (summary, call) = self.summary.take()?;
        Some(RecordedCompaction {
            after,
            kept_from: after,
            summary: Some(summary),
            trigger: RecordedTrigger::Auto,
            tokens_before: call.as_ref().map(|call| call.usage.prompt()),
            call,
            at,
            ..RecordedCompaction::default()
        })
    }
}

/// A response as it is read, part by part.
pub(in crate::formats) struct Passes {
    passes: Vec<Pass>,
    /// Whether the newest part is the result of a server's tool.
    behind_result: bool,
}

impl Passes {
    pub(in crate::formats) fn new() -> Self {
        Self { passes: vec![Pass::default()], behind_result: false }
    }

    /// Takes the next part, and the block that it is.
    pub(in crate::formats) fn add(&mut self, kind: PartKind, block: Option<Block>) {
        let Some(block) = block else { return };
        let is_result = kind == PartKind::ServerResult;
        match block {
            Block::Text { text } if kind == PartKind::Compaction => {
                self.passes.pop_if(|pass| pass.blocks.is_empty() && pass.summary.is_none());
                let summary = Some((text, None));
                self.passes.push(Pass { summary, ..Pass::default() });
            }
            block => {
                if self.behind_result && !is_result {
                    self.passes.push(Pass::default());
                }
                self.passes.last_mut().expect("one is there from the beginning").blocks.push(block);
            }
        }
        self.behind_result = is_result;
    }

    /// The passes with their usage, and the requests of other models. Where the
    /// usage does not tell as many passes as the parts, the last one has what was
    /// reported last, and the rest is counted beside.
    pub(in crate::formats) fn finish(
        self,
        usage: Option<(&WireUsage, bool)>,
        model: Option<&str>,
        at: Option<Timestamp>,
    ) -> (Vec<Pass>, Vec<SidechainRequest>) {
        let Some((wire, output_final)) = usage else { return (merged(self.passes), Vec::new()) };
        let Calls { mut own, mut compactions, beside } = wire.calls(model);
        let mut passes =
            if own.len() == self.passes.len() { self.passes } else { merged(self.passes) };
        let mut beside: Vec<SidechainRequest> = beside
            .into_iter()
            .map(|(model, usage)| SidechainRequest { at, model, usage })
            .collect();
        for pass in passes.iter_mut().rev() {
            pass.usage = own.pop();
            let call = pass.summary.as_mut().zip(compactions.pop());
            if let Some(((_, call), (model, usage))) = call {
                *call = Some(RecordedCall { model, usage, latency_ms: None });
            }
        }
        if let Some(usage) = passes.last_mut().and_then(|pass| pass.usage.as_mut()) {
            usage.output_final = output_final;
        }
        let earlier = own.into_iter().map(|usage| (wire.named(model), usage));
        let rest = earlier.chain(compactions);
        beside.extend(rest.map(|(model, usage)| SidechainRequest { at, model, usage }));
        (passes, beside)
    }
}

/// Passes as one, as far as no summary stands between them.
fn merged(passes: Vec<Pass>) -> Vec<Pass> {
    let mut merged: Vec<Pass> = Vec::new();
    for pass in passes {
        match merged.last_mut() {
            Some(last) if pass.summary.is_none() => last.blocks.extend(pass.blocks),
            _ => merged.push(pass),
        }
    }
    merged
}

/// What a part is for the passes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::formats) enum PartKind {
    Compaction,
    ServerResult,
    Other,
}

/// The requests that one usage reports.
#[derive(Default)]
pub(super) struct Calls {
    /// Those of the response's own model, in order; never empty.
    pub(super) own: Vec<Usage>,
    pub(super) compactions: Vec<(Option<String>, Usage)>,
    /// Those of other models.
    pub(super) beside: Vec<(Option<String>, Usage)>,
}
