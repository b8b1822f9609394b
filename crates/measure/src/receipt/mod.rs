//! The receipt: what recorded sessions cost, by what providers reported and without any
//! simulation.
//!
//! Invariant: every request is billed at the list prices of the model that answered it. Tokens
//! of a model without a price are counted, and have no dollars.

mod hour;
mod rebuilt;

use std::collections::BTreeMap;

use jiff::Timestamp;

use recap_billing::pricing::{ModelPrices, Moment, PriceList, Rates};
use recap_core::model::{
    Absent, Amount, CompactionFacts, Content, Receipt, RequestFacts, Sender, SessionFacts, Spent,
    TokenKind, Usage,
};

/// The receipt of these sessions.
pub fn receipt<'a>(
    sessions: impl IntoIterator<Item = &'a SessionFacts>,
    prices: &PriceList,
) -> Receipt {
    let mut receipt = Receipt::default();
    for facts in sessions {
        let mut own = Receipt::default();
        add_requests(&mut own, facts, prices);
        add_compactions(&mut own, facts, prices);
        add_totals(&mut own, facts, prices);
        for (key, spent) in own.spent {
            *receipt.spent.entry(key).or_default() += &spent;
        }
        receipt.silent_compactions += own.silent_compactions;
        receipt.largest_prompt = receipt.largest_prompt.max(own.largest_prompt);
        let rebuilds = rebuilt::rebuilds(facts, prices);
        for rebuild in &rebuilds {
            let sum = receipt.rebuilt.entry(rebuild.cause).or_default();
            sum.requests += 1;
            sum.lost += &rebuild.amount();
        }
        receipt.hour = hour::both(receipt.hour, hour::hour(facts, &rebuilds, prices));
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
    sender: Sender,
    model: Option<&'a str>,
    usage: Option<&'a Usage>,
    /// Its output as recap counts it, where the words are recorded.
    counted: Option<u64>,
    at: Timestamp,
}

fn add_requests(receipt: &mut Receipt, facts: &SessionFacts, prices: &PriceList) {
    let sender = if facts.is_sidechain() { Sender::Subagent } else { Sender::Main };
    let own = facts.requests.iter().map(|request| of_request(facts, request, sender));
    let aside = facts.sidechains.iter().map(|(at, model, usage)| BilledRequest {
        sender: Sender::Subagent,
        model: model.as_deref(),
        usage: Some(usage),
        counted: None,
        at: *at,
    });
    own.chain(aside).for_each(|asked| add(receipt, &asked, prices));
}

fn of_request<'a>(
    facts: &'a SessionFacts,
    request: &'a RequestFacts,
    sender: Sender,
) -> BilledRequest<'a> {
    BilledRequest {
        sender,
        model: named(facts, request.model),
        usage: request.recorded.as_ref(),
        counted: Some(request.output),
        at: request.at,
    }
}

fn add_compactions(receipt: &mut Receipt, facts: &SessionFacts, prices: &PriceList) {
    let known = facts.receipt.as_ref().map_or(&[][..], |own| &own.compactions);
    let calls = known.iter().filter_map(|made| call_of(facts, made));
    let mut reported = 0;
    for asked in calls {
        reported += 1;
        add(receipt, &asked, prices);
    }
    receipt.silent_compactions += u64::from(facts.recorded_compactions).saturating_sub(reported);
}

/// The call of a compaction that the session counts, where it is on record.
fn call_of<'a>(facts: &'a SessionFacts, made: &'a CompactionFacts) -> Option<BilledRequest<'a>> {
    let call = made.call.as_ref().filter(|_| !made.copied)?;
    let next = facts.requests.iter().find(|request| request.message >= made.after);
    let near = next.or(facts.requests.last());
    Some(BilledRequest {
        sender: Sender::Compaction,
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
    whole(&billed(&asked, usage, prices)).map(Some)
}

/// What a request of a session cost, and by which rates.
pub(crate) struct RequestBill<'a> {
    /// What the provider reported.
    pub usage: Usage,
    /// The dollars of all of it.
    pub usd: f64,
    /// Tokens of the output, counted where the reported figure is not final.
    pub output: u64,
    /// The rates at the reported size of the prompt. Input and output have one.
    pub rates: Rates,
    /// The prices of its model.
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
    let asked = of_request(facts, request, Sender::Main);
    let rates = rates(usage, asked.model, prices, asked.at)?;
    let priced = asked.model.and_then(|named| prices.priced(named));
    let priced = priced.filter(|_| rates.input.is_some() && rates.output.is_some());
    let spent = billed(&asked, usage, prices);
    let output = [TokenKind::Output, TokenKind::OutputCounted];
    let output = output.iter().filter_map(|kind| spent.kinds.get(kind)).map(|one| one.tokens).sum();
    Ok(Some(RequestBill {
        usage: *usage,
        usd: whole(&spent)?,
        output,
        rates,
        prices: priced.ok_or_else(|| unpriced(asked.model))?,
    }))
}

/// The dollars of everything.
///
/// # Errors
/// A part has no price.
fn whole(spent: &Spent) -> Result<f64, Absent> {
    let Amount { usd, unpriced, .. } = spent.total();
    unpriced.map_or(Ok(usd), Err)
}

/// Adds what only the totals of a session tell: its requests without usage of their own. A sum
/// does not tell long prompts from short ones, so the rates are those of a mean prompt.
fn add_totals(own: &mut Receipt, facts: &SessionFacts, prices: &PriceList) {
    let sender = if facts.is_sidechain() { Sender::Subagent } else { Sender::Main };
    let last = facts.requests.last().map_or(Timestamp::UNIX_EPOCH, |request| request.at);
    for total in facts.receipt.iter().flat_map(|own| &own.totals) {
        let mut known = Spent::default();
        let same = own.spent.iter().filter(|((_, model), _)| *model == total.model);
        same.for_each(|(_, spent)| known += spent);
        let model = total.model.as_deref();
        let input = total.usage.prompt() / total.requests.max(1);
        let rates = rates(&Usage { input, ..Usage::default() }, model, prices, last);
        let all = prompt(&total.usage).into_iter().chain([(TokenKind::Output, total.usage.output)]);
        let told = |kind| known.kinds.get(&kind).map_or(0, |amount: &Amount| amount.tokens);
        let left = all.map(|(kind, tokens)| (kind, tokens.saturating_sub(told(kind))));
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
fn add(receipt: &mut Receipt, asked: &BilledRequest<'_>, prices: &PriceList) {
    let key = (asked.sender, asked.model.map(str::to_owned));
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

#[cfg(test)]
mod tests;
