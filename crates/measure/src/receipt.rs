//! The receipt: what recorded sessions cost, by what providers reported and without any
//! simulation.
//!
//! Invariant: every request is billed at the list prices of the model that answered it. Tokens
//! of a model without a price are counted, and have no dollars.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use recap_billing::pricing::{ModelPrices, Moment, PriceList, Rates};
use recap_core::model::{
    Absent, Amount, CacheMiss, Cause, CompactionFacts, Content, Hour, Receipt, RequestFacts,
    Sender, SessionFacts, Spent, TokenKind, Usage,
};

/// The receipt of these sessions.
pub fn receipt<'a>(
    sessions: impl IntoIterator<Item = &'a SessionFacts>,
    prices: &PriceList,
) -> Receipt {
    let mut receipt = Receipt::default();
    for facts in sessions {
        let mut own = aside(facts, prices);
        let sender = if facts.is_sidechain() { Sender::Subagent } else { Sender::Main };
        for request in &facts.requests {
            add(&mut own, sender, &of_request(facts, request), prices);
        }
        let made = facts.receipt.iter().flat_map(|own| &own.compactions);
        let calls: Vec<_> = made.filter_map(|made| call_of(facts, made)).collect();
        calls.iter().for_each(|call| add(&mut own, Sender::Compaction, call, prices));
        let silent = u64::from(facts.recorded_compactions).saturating_sub(calls.len() as u64);
        receipt.silent_compactions += silent;
        add_totals(&mut own, facts, sender, prices);
        for (key, spent) in own.spent {
            *receipt.spent.entry(key).or_default() += &spent;
        }
        receipt.largest_prompt = receipt.largest_prompt.max(own.largest_prompt);
        let rebuilds = rebuilds(facts, prices);
        for rebuild in &rebuilds {
            let sum = receipt.rebuilt.entry(rebuild.cause).or_default();
            sum.requests += 1;
            sum.lost += &rebuild.lost;
        }
        match hour(facts, &rebuilds, prices) {
            Ok(change) => *receipt.hour.get_or_insert_default() += change,
            Err(Absent::NoUsage) => {}
            Err(why) => drop(receipt.without_hour.get_or_insert(why)),
        }
        receipt.missing_subagents += facts.receipt.as_ref().map_or(0, |own| own.missing_subagents);
        let contents = facts.receipt.iter().flat_map(|own| &own.contents);
        contents.for_each(|content| add_content(&mut receipt.contents, content));
    }
    receipt.contents.sort_by_key(|content| std::cmp::Reverse(content.sent));
    receipt
}

/// What a provider reported of a request; `None` where that is nothing, or absurd.
fn reported(usage: Option<&Usage>) -> Option<&Usage> {
    usage.filter(|usage| usage.is_believable() && usage.prompt() + usage.output > 0)
}

/// The recorded name of the model that answered a request.
fn named(facts: &SessionFacts, model: u32) -> Option<&str> {
    match model.checked_sub(1) {
        None => facts.model.as_deref(),
        Some(other) => facts.other_models.get(other as usize).map(String::as_str),
    }
}

/// A request as its receipt sees it.
struct BilledRequest<'a> {
    model: Option<&'a str>,
    usage: Option<&'a Usage>,
    /// Its output as recap counts it, where the words are recorded.
    counted: Option<u64>,
    at: Timestamp,
}

/// The receipt of what a session sent beside its conversation and its compactions.
pub(crate) fn aside(facts: &SessionFacts, prices: &PriceList) -> Receipt {
    let mut receipt = Receipt::default();
    for (at, model, usage) in &facts.sidechains {
        let (model, usage) = (model.as_deref(), Some(usage));
        let asked = BilledRequest { model, usage, counted: None, at: *at };
        add(&mut receipt, Sender::Subagent, &asked, prices);
    }
    receipt
}

fn of_request<'a>(facts: &'a SessionFacts, request: &'a RequestFacts) -> BilledRequest<'a> {
    BilledRequest {
        model: named(facts, request.model),
        usage: request.recorded.as_ref(),
        counted: Some(request.output),
        at: request.at,
    }
}

/// The call of a compaction that the session counts, where it is on record.
fn call_of<'a>(facts: &'a SessionFacts, made: &'a CompactionFacts) -> Option<BilledRequest<'a>> {
    let call = made.call.as_ref().filter(|_| !made.copied)?;
    let next = facts.requests.iter().find(|request| request.message >= made.after);
    let near = next.or(facts.requests.last());
    Some(BilledRequest {
        model: call.model.as_deref().or(facts.model.as_deref()),
        usage: Some(&call.usage),
        counted: None,
        at: near.map_or(Timestamp::UNIX_EPOCH, |request| request.at),
    })
}

/// What the call of a compaction cost; `None` where it is not on record.
///
/// # Errors
/// A price is missing.
pub(crate) fn compaction_usd(
    facts: &SessionFacts,
    made: &CompactionFacts,
    prices: &PriceList,
) -> Result<Option<f64>, Absent> {
    let Some(asked) = call_of(facts, made) else { return Ok(None) };
    let Some(usage) = reported(asked.usage) else { return Ok(None) };
    billed(&asked, usage, prices).total().priced().map(Some)
}

/// What a request of a session cost, and by which rates.
pub(crate) struct RequestBill<'a> {
    /// What the provider reported.
    pub usage: Usage,
    /// The dollars of all of it.
    pub usd: f64,
    /// Tokens of the output, counted where the reported figure is not final.
    pub output: u64,
    /// The prices of its model. Input and output have one.
    pub prices: &'a ModelPrices,
}

/// The bill of a request; `None` where it reports nothing.
///
/// # Errors
/// A price is missing, or the recording does not tell what a cache held.
pub(crate) fn request_bill<'a>(
    facts: &SessionFacts,
    request: &RequestFacts,
    prices: &'a PriceList,
) -> Result<Option<RequestBill<'a>>, Absent> {
    let Some(usage) = reported(request.recorded.as_ref()) else { return Ok(None) };
    let asked = of_request(facts, request);
    let rates = rates(usage, asked.model, prices, asked.at)?;
    let priced = asked.model.and_then(|named| prices.priced(named));
    let priced = priced.filter(|_| rates.input.is_some() && rates.output.is_some());
    Ok(Some(RequestBill {
        usage: *usage,
        usd: billed(&asked, usage, prices).total().priced()?,
        output: asked.counted.filter(|_| !usage.output_final).unwrap_or(usage.output),
        prices: priced.ok_or_else(|| unpriced(asked.model))?,
    }))
}

/// Adds what only the totals of a session tell: its requests without usage of their own. A sum
/// does not tell long prompts from short ones, so the rates are those of a mean prompt.
fn add_totals(own: &mut Receipt, facts: &SessionFacts, sender: Sender, prices: &PriceList) {
    let last = facts.requests.last().map_or(Timestamp::UNIX_EPOCH, |request| request.at);
    for total in facts.receipt.iter().flat_map(|own| &own.totals) {
        let mut known = Spent::default();
        let same = own.spent.iter().filter(|((_, model), _)| *model == total.model);
        same.for_each(|(_, spent)| known += spent);
        let model = total.model.as_deref();
        let input = total.usage.prompt() / total.requests.max(1);
        let rates = rates(&Usage { input, ..Usage::default() }, model, prices, last);
        let all = prompt(&total.usage).into_iter().chain([(TokenKind::Output, total.usage.output)]);
        let known_of = |kind| known.kinds.get(&kind).map_or(0, |amount: &Amount| amount.tokens);
        let left = all.map(|(kind, tokens)| (kind, tokens.saturating_sub(known_of(kind))));
        let kinds = left.filter(|(_, tokens)| *tokens > 0);
        let kinds = kinds.map(|(kind, tokens)| (kind, amount(kind, tokens, model, &rates)));
        let kinds: BTreeMap<TokenKind, Amount> = kinds.collect();
        let requests = match (kinds.is_empty(), total.usd) {
            (true, None) => continue,
            (true, _) => 0,
            _ => total.requests.saturating_sub(known.reported).max(1),
        };
        let spent = own.spent.entry((sender, total.model.clone())).or_default();
        spent.silent = spent.silent.saturating_sub(requests);
        let (reported, written_down) = (requests, total.usd);
        *spent += &Spent { reported, in_totals: requests, kinds, written_down, ..Spent::default() };
    }
}

/// Adds one request to the sum of its sender and model.
fn add(receipt: &mut Receipt, sender: Sender, asked: &BilledRequest<'_>, prices: &PriceList) {
    let key = (sender, asked.model.map(str::to_owned));
    let spent = receipt.spent.entry(key).or_default();
    let Some(usage) = reported(asked.usage) else {
        spent.silent += 1;
        return;
    };
    receipt.largest_prompt = receipt.largest_prompt.max(usage.prompt());
    *spent += &billed(asked, usage, prices);
}

/// What one request cost. The whole prompt chooses the rates, as providers bill.
fn billed(asked: &BilledRequest<'_>, usage: &Usage, prices: &PriceList) -> Spent {
    let rates = rates(usage, asked.model, prices, asked.at);
    let counted = asked.counted.filter(|_| !usage.output_final);
    let output = match counted {
        Some(counted) => (TokenKind::OutputCounted, counted),
        None => (TokenKind::Output, usage.output),
    };
    let all = prompt(usage).into_iter().chain([output]).filter(|(_, tokens)| *tokens > 0);
    let kinds = all.map(|(kind, tokens)| (kind, amount(kind, tokens, asked.model, &rates)));
    Spent {
        reported: 1,
        unfinished: u64::from(!usage.output_final && counted.is_none()),
        kinds: kinds.collect(),
        ..Spent::default()
    }
}

/// Tokens of one kind at these rates.
fn amount(
    kind: TokenKind,
    tokens: u64,
    model: Option<&str>,
    rates: &Result<Rates, Absent>,
) -> Amount {
    let rates = rates.as_ref().map_err(Clone::clone);
    let rate = rates.and_then(|rates| match kind {
        TokenKind::PromptUnsplit => Err(Absent::CacheNotTold),
        _ => rate(rates, kind).ok_or_else(|| unpriced(model)),
    });
    Amount::new(tokens, rate.map(|rate| tokens as f64 * rate))
}

/// The tokens of the prompt, by kind.
fn prompt(usage: &Usage) -> [(TokenKind, u64); 4] {
    let uncached = if usage.cache_unknown { TokenKind::PromptUnsplit } else { TokenKind::Input };
    [
        (TokenKind::CacheRead, usage.cache_read),
        (TokenKind::CacheWrite5m, usage.cache_write_5m),
        (TokenKind::CacheWrite1h, usage.cache_write_1h),
        (uncached, usage.input),
    ]
}

/// The rates of a request.
fn rates(
    usage: &Usage,
    model: Option<&str>,
    prices: &PriceList,
    at: Timestamp,
) -> Result<Rates, Absent> {
    let named = model.ok_or(Absent::NoModelNamed)?;
    let prices = prices.priced(named).ok_or_else(|| unpriced(model))?;
    Ok(prices.rates(&Moment { prompt_tokens: usage.prompt(), at }))
}

/// USD for a token. A provider without a price for its cache bills such tokens like any others.
pub(crate) fn rate(rates: &Rates, kind: TokenKind) -> Option<f64> {
    match kind {
        TokenKind::CacheRead => rates.cache_read.or(rates.input),
        TokenKind::CacheWrite5m => rates.written(),
        TokenKind::CacheWrite1h => rates.cache_write_1h.or(rates.written()),
        TokenKind::Input => rates.input,
        TokenKind::PromptUnsplit => None,
        TokenKind::Output | TokenKind::OutputCounted => rates.output,
    }
}

fn unpriced(model: Option<&str>) -> Absent {
    model.map_or(Absent::NoModelNamed, |named| Absent::Price(named.to_owned()))
}

fn add_content(sums: &mut Vec<Content>, content: &Content) {
    let same = |sum: &&mut Content| sum.origin == content.origin && sum.tool == content.tool;
    match sums.iter_mut().find(same) {
        None => sums.push(content.clone()),
        Some(sum) => {
            sum.texts += content.texts;
            sum.tokens = sum.tokens.saturating_add(content.tokens);
            sum.sent = sum.sent.saturating_add(content.sent);
        }
    }
}

/// Tokens that are no loss.
const NO_LOSS: u64 = 1_024;
/// The two lives of a cache that requests choose.
const MINUTES_5: SignedDuration = SignedDuration::from_mins(5);
const HOUR: SignedDuration = SignedDuration::from_hours(1);

/// A request that did not read what had been cached.
struct Rebuild {
    /// Position among the requests.
    pub request: usize,
    pub cause: Cause,
    /// Time since the request before, where it is recorded.
    pub idle: Option<SignedDuration>,
    /// The lost tokens, and what they cost above a read.
    pub lost: Amount,
    /// Of these, tokens that were written anew for five minutes.
    pub rewritten: u64,
}

/// Caches that were rebuilt: tokens that a request sent to be billed anew although the request
/// before it had them in the provider's cache.
///
/// From what providers report, of two successive requests of one conversation:
///
/// ```text
/// lost = min(cache_read + cache_write of the request before, whole prompt of this one)
///        − cache_read of this one
/// ```
///
/// Up to 1,024 tokens are no loss: no provider caches shorter prefixes everywhere (Anthropic's
/// and OpenAI's documentation of prompt caching, November 2026), and automatic caches fall short
/// of the last prompt by a step of up to 512. A prompt that shrank cannot read more than itself.
/// Providers with an automatic cache report no writes: of theirs only what was read before is
/// known to be cached, so that their losses are the least that was lost.
///
/// The cause is the first of these that holds: the agent compacted between the two; another model
/// was asked; the time from sending one to sending the other is longer than the cache lives (as the
/// rules of the model's cache have it; where requests choose, five minutes or an hour, as most of
/// the last reported writes were); anything else, which is an edited prompt or a loss at the
/// provider. Without the times, or a known life, the cause is unknown. Where the provider compared
/// the two prompts, what it found is the cause; that messages changed is no news behind a
/// compaction, and what it could not tell the times may.
///
/// What was lost costs what these tokens were billed at less the price of reading them. They
/// stand at the front of what was not read: first what was written for an hour, which has to
/// stand before what is written for five minutes, then that, then what was not cached.
fn rebuilds(facts: &SessionFacts, prices: &PriceList) -> Vec<Rebuild> {
    let reported = facts.requests.iter().enumerate().filter_map(|(at, request)| {
        let usage = reported(request.recorded.as_ref())?;
        (!usage.cache_unknown && usage.prompt() > 0).then_some((at, request, usage))
    });
    let reported: Vec<(usize, &RequestFacts, &Usage)> = reported.collect();
    let rebuild = |pair: &[(usize, &RequestFacts, &Usage)]| {
        let [(_, before, cached), (at, request, usage)] = *pair else { return None };
        let cached = cached.cache_read + cached.written();
        let lost = cached.min(usage.prompt()).saturating_sub(usage.cache_read);
        let model = named(facts, request.model);
        let rates = rates(usage, model, prices, request.at);
        (lost > NO_LOSS).then(|| Rebuild {
            request: at,
            cause: cause(facts, before, request, usage.cache_miss),
            idle: idle(facts, before, request),
            lost: Amount::new(lost, above_read(&split(lost, usage), rates, model)),
            rewritten: split(lost, usage)[1].1,
        })
    };
    reported.windows(2).filter_map(rebuild).collect()
}

/// What tokens cost above a read.
fn above_read(
    lost: &[(TokenKind, u64)],
    rates: Result<Rates, Absent>,
    model: Option<&str>,
) -> Result<f64, Absent> {
    let rates = rates?;
    let rate = |kind| rate(&rates, kind).ok_or_else(|| unpriced(model));
    let read = rate(TokenKind::CacheRead)?;
    lost.iter().map(|(kind, tokens)| Ok(*tokens as f64 * (rate(*kind)? - read))).sum()
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
    reported: Option<CacheMiss>,
) -> Cause {
    let found = seen(facts, before, request);
    match (reported, found) {
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

/// What a cache that lives an hour would have changed: some rebuilds after idle gaps would have
/// been reads, and every other write would have been dearer.
///
/// This is the change for the conversation of one session.
///
/// # Errors
/// Nothing was written for five minutes, or a price is unknown.
fn hour(facts: &SessionFacts, rebuilds: &[Rebuild], prices: &PriceList) -> Result<Hour, Absent> {
    let mut change = Err(Absent::NoUsage);
    for (at, request) in facts.requests.iter().enumerate() {
        let Some(usage) = reported(request.recorded.as_ref()) else { continue };
        let model = named(facts, request.model);
        let rates = rates(usage, model, prices, request.at);
        if usage.cache_write_5m == 0 {
            // What it lacks is the reason, unless other requests have the choice.
            change = change.map_err(|_| lacks(usage, model, rates));
            continue;
        }
        let rates = rates?;
        let dearer = dearer(&rates).ok_or_else(|| no_choice(model))?;
        let mut sum: Hour = change.unwrap_or_default();
        let mut written = usage.cache_write_5m;
        if let Some(rebuild) = rebuilds.iter().find(|one| one.request == at && is_spared(one)) {
            sum.spared += 1;
            sum.saved += rebuild.lost.usd;
            written -= rebuild.rewritten;
        }
        sum.dearer += written as f64 * dearer;
        change = Ok(sum);
    }
    change
}

/// USD by which writing a token for an hour is dearer; `None` where nobody sells that.
fn dearer(rates: &Rates) -> Option<f64> {
    Some(rates.cache_write_1h? - rate(rates, TokenKind::CacheWrite5m)?)
}

/// Why a request without a write for five minutes would be as it was.
fn lacks(usage: &Usage, model: Option<&str>, rates: Result<Rates, Absent>) -> Absent {
    match rates {
        _ if usage.cache_write_1h > 0 => Absent::HourAlready,
        Err(why) => why,
        Ok(rates) if rates.cache_write_1h.is_some() => Absent::NothingWritten,
        Ok(_) => no_choice(model),
    }
}

fn is_spared(rebuild: &Rebuild) -> bool {
    rebuild.cause == Cause::IdleGap && rebuild.idle.is_some_and(|idle| idle <= HOUR)
}

fn no_choice(model: Option<&str>) -> Absent {
    model.map_or(Absent::NoModelNamed, |named| Absent::NoHour(named.to_owned()))
}

#[cfg(test)]
mod tests;
