//! Caches that were rebuilt: tokens that a request sent to be billed anew although the request
//! before it had them in the provider's cache.
//!
//! From what providers report, of two successive requests of one conversation:
//!
//! ```text
//! lost = min(cache_read + cache_write of the request before, whole prompt of this one)
//!        − cache_read of this one
//! ```
//!
//! Up to 1,024 tokens are no loss: no provider caches shorter prefixes everywhere (Anthropic's
//! and OpenAI's documentation of prompt caching, November 2026), and automatic caches fall short
//! of the last prompt by a step of up to 512. A prompt that shrank cannot read more than itself.
//! Providers with an automatic cache report no writes: of theirs only what was read before is
//! known to be cached, so that their losses are the least that was lost.
//!
//! The cause is the first of these that holds: the agent compacted between the two; another
//! model was asked; the time from sending one to sending the other is longer than the cache
//! lives (as the rules of the model's cache have it; where requests choose, five minutes or an
//! hour, as most of the last reported writes were); anything else, which is an edited prompt or a
//! loss at the provider. Without the times, or a known life, the cause is unknown. Where the provider
//! compared the two prompts, what it found is the cause; that messages changed is no news behind a
//! compaction, and what it could not tell the times may.
//!
//! What was lost costs what these tokens were billed at less the price of reading them. They
//! stand at the front of what was not read: first what was written for an hour, which has to
//! stand before what is written for five minutes, then that, then what was not cached.

use jiff::SignedDuration;

use super::{named, rate, rates, reported, unpriced};
use recap_billing::pricing::{PriceList, Rates};
use recap_core::model::{
    Absent, Amount, CacheMiss, Cause, RequestFacts, SessionFacts, TokenKind, Usage,
};

/// Tokens that are no loss.
const LEAST: u64 = 1_024;
/// The two lives of a cache that requests choose.
pub(super) const MINUTES_5: SignedDuration = SignedDuration::from_mins(5);
pub(super) const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// A request that did not read what had been cached.
pub(super) struct Rebuild<'a> {
    /// Position among the requests.
    pub request: usize,
    pub cause: Cause,
    /// Time since the request before, where it is recorded.
    pub idle: Option<SignedDuration>,
    /// The lost tokens by what they were billed as.
    pub lost: [(TokenKind, u64); 3],
    model: Option<&'a str>,
    rates: Result<Rates, Absent>,
}

impl Rebuild<'_> {
    /// The lost tokens, and what they cost above a read.
    pub(super) fn amount(&self) -> Amount {
        let tokens = self.lost.iter().map(|(_, tokens)| tokens).sum();
        Amount::new(tokens, self.usd())
    }

    fn usd(&self) -> Result<f64, Absent> {
        let rates = self.rates.as_ref().map_err(Clone::clone)?;
        let rate = |kind| rate(rates, kind).ok_or_else(|| unpriced(self.model));
        let read = rate(TokenKind::CacheRead)?;
        let above = |(kind, tokens): &(_, u64)| Ok(*tokens as f64 * (rate(*kind)? - read));
        self.lost.iter().map(above).sum()
    }
}

/// The rebuilt caches of a conversation.
pub(super) fn rebuilds<'a>(facts: &'a SessionFacts, prices: &PriceList) -> Vec<Rebuild<'a>> {
    let reported = facts.requests.iter().enumerate().filter_map(|(at, request)| {
        let usage = reported(request.recorded.as_ref())?;
        (!usage.cache_unknown && usage.prompt() > 0).then_some((at, request, usage))
    });
    let reported: Vec<(usize, &RequestFacts, &Usage)> = reported.collect();
    let rebuild = |pair: &[(usize, &'a RequestFacts, &Usage)]| {
        let [(_, before, cached), (at, request, usage)] = *pair else { return None };
        let cached = cached.cache_read + cached.written();
        let lost = cached.min(usage.prompt()).saturating_sub(usage.cache_read);
        let model = named(facts, request.model);
        (lost > LEAST).then(|| Rebuild {
            request: at,
            cause: cause(facts, before, request, usage.cache_miss),
            idle: idle(facts, before, request),
            lost: split(lost, usage),
            model,
            rates: rates(usage, model, prices, request.at),
        })
    };
    reported.windows(2).filter_map(rebuild).collect()
}

fn split(lost: u64, usage: &Usage) -> [(TokenKind, u64); 3] {
    let hour = lost.min(usage.cache_write_1h);
    let minutes = (lost - hour).min(usage.cache_write_5m);
    [
        (TokenKind::CacheWrite1h, hour),
        (TokenKind::CacheWrite5m, minutes),
        (TokenKind::Input, lost - hour - minutes),
    ]
}

fn cause(
    facts: &SessionFacts,
    before: &RequestFacts,
    request: &RequestFacts,
    told: Option<CacheMiss>,
) -> Cause {
    let found = seen(facts, before, request);
    match (told, found) {
        (Some(CacheMiss::ModelChanged), _) => Cause::ModelChange,
        (Some(CacheMiss::SystemChanged), _) => Cause::SystemChanged,
        (Some(CacheMiss::ToolsChanged), _) => Cause::ToolsChanged,
        (None, _) | (_, Cause::Compaction) => found,
        (Some(CacheMiss::MessagesChanged), _) => Cause::MessagesChanged,
        (_, Cause::ModelChange | Cause::IdleGap) => found,
        (Some(CacheMiss::PreviousMessageNotFound), _) => Cause::PreviousMessageNotFound,
        (Some(CacheMiss::Unavailable), _) => Cause::Unavailable,
    }
}

/// The cause as far as the recording shows it.
fn seen(facts: &SessionFacts, before: &RequestFacts, request: &RequestFacts) -> Cause {
    let Some(own) = &facts.receipt else { return Cause::Unknown };
    let between = before.message + 1..=request.message;
    if own.compactions.iter().any(|made| between.contains(&made.after)) {
        return Cause::Compaction;
    }
    if before.model != request.model {
        return Cause::ModelChange;
    }
    match idle(facts, before, request).zip(life(facts, before)) {
        None => Cause::Unknown,
        Some((idle, life)) if idle > life => Cause::IdleGap,
        Some(_) => Cause::ChangedPrompt,
    }
}

/// The time between two requests, where the recording has both times.
fn idle(
    facts: &SessionFacts,
    before: &RequestFacts,
    request: &RequestFacts,
) -> Option<SignedDuration> {
    // A request is sent when the message before its response has come.
    let timed = |request: &RequestFacts| {
        let sent = facts.messages.get(request.message.saturating_sub(1) as usize);
        sent.is_some_and(|message| message.at.is_some())
    };
    (timed(before) && timed(request)).then(|| request.at.duration_since(before.at))
}

/// How long what a request left in the cache lives.
fn life(facts: &SessionFacts, before: &RequestFacts) -> Option<SignedDuration> {
    let fixed = facts.receipt.as_ref()?.lifetimes.get(before.model as usize);
    if let Some(Some(seconds)) = fixed {
        return Some(SignedDuration::from_secs(i64::from(*seconds)));
    }
    let until = facts.requests.iter().take_while(|request| request.message <= before.message);
    let written = |request: &RequestFacts| request.recorded.filter(|usage| usage.written() > 0);
    let usage = until.filter_map(written).last()?;
    Some(if usage.cache_write_1h > usage.cache_write_5m { HOUR } else { MINUTES_5 })
}
