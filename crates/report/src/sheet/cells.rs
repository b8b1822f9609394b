//! `requests.csv`, `compactions.csv` and `references.csv`: the rows of each cell.

use std::io::{Result, Write};

use super::{CELL, Columns, Field, Sheet, agent_model, bills, cell_key, each_cell};
use crate::RenderInput;
use recap_billing::pricing::PriceList;
use recap_core::model::{
    Bill, Buckets, CellRows, CompactionRow, Reference, ReferenceState, RepeatedTexts, RequestFacts,
    RequestRow, SessionFacts, UnusableReplies,
};

/// A request as every strategy would have sent it, as an agent model would be billed.
struct Request<'a> {
    at: usize,
    sent: &'a RequestRow,
    facts: &'a RequestFacts,
    /// The message that it answers.
    message: Option<&'a str>,
    bill: Option<&'a Bill>,
    /// Its prompt in buckets, where it was billed, and its dollars with the output.
    prompt: Option<&'a Buckets>,
    usd: Option<f64>,
    /// References asked here, and how many of them survive.
    asked: u64,
    kept: u64,
}

/// Contracted columns, then those added since.
const OF_REQUESTS: &Columns<fn(&Request<'_>) -> Field> = &[
    ("request", |row| row.at.into()),
    ("message", |row| row.message.into()),
    ("tokens_full", |row| row.facts.tokens_full.into()),
    ("tokens_sent", |row| row.sent.tokens_sent.into()),
    ("cache_read", |row| row.prompt.map(|prompt| prompt.read).into()),
    ("cache_write", |row| row.prompt.map(Buckets::written).into()),
    ("uncached", |row| row.prompt.map(|prompt| prompt.uncached).into()),
    ("output", |row| row.facts.output.into()),
    ("cost_usd", |row| Field::dollars(row.usd)),
    ("overflow", |row| row.sent.overflow.into()),
    ("references", |row| row.asked.into()),
    ("references_kept", |row| row.kept.into()),
    ("messages", |row| row.sent.messages.into()),
    ("valid", |row| row.sent.valid.into()),
    ("estimated", |row| row.sent.estimated.into()),
    ("agent_model", |row| row.bill.map(agent_model).into()),
];

pub(crate) fn requests(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let prices = PriceList::from(&source.report.manifest.prices);
    let mut sheet = Sheet::new(CELL, OF_REQUESTS, out)?;
    each_cell(source.report, |facts, _, cell, rows| {
        let (key, bills) = (cell_key(&cell.key), bills(rows));
        let asked = asked_and_kept(rows, facts, |request| cell.refuses_request(request));
        let sent = rows.requests.iter().zip(&facts.requests).zip(asked).enumerate();
        for (at, ((sent, request), (asked, kept))) in sent {
            let message = facts.messages.get(request.message as usize);
            let message = message.map(|message| message.id.as_str());
            for &bill in &bills {
                let billed = bill.and_then(|bill| Some((bill, bill.requests.get(at)?.as_ref()?)));
                let prompt = billed.map(|(_, billed)| &billed.prompt.billed);
                let usd = billed.and_then(|(bill, billed)| {
                    let prices = prices.find(bill.model_of(billed)).ok()?;
                    prices.request_usd(&billed.prompt.billed, request.output, request.at)
                });
                let facts = request;
                let row = Request { at, sent, facts, message, bill, prompt, usd, asked, kept };
                sheet.push(&key, OF_REQUESTS, &row)?;
            }
        }
        Ok(())
    })?;
    sheet.finish()
}

/// References asked at each request, and how many of them survive.
fn asked_and_kept(
    rows: &CellRows,
    facts: &SessionFacts,
    is_refused: impl Fn(u32) -> bool,
) -> Vec<(u64, u64)> {
    let mut counts = vec![(0, 0); facts.requests.len()];
    for outcome in &rows.references {
        let Some(reference) = facts.exam.references.get(outcome.reference as usize) else {
            continue;
        };
        if let Some(count) = counts.get_mut(reference.request as usize) {
            count.0 += 1;
            count.1 += u64::from(outcome.state.is_kept() && !is_refused(reference.request));
        }
    }
    counts
}

/// A compaction, as an agent model is billed for it.
struct Compaction<'a> {
    row: &'a CompactionRow,
    bill: Option<&'a Bill>,
    /// Its calls; absent without a price, and where it is not part of the session.
    usd: Option<f64>,
    unusable: &'a UnusableReplies,
}

const OF_COMPACTIONS: &Columns<fn(&Compaction<'_>) -> Field> = &[
    ("request", |one| one.row.request.into()),
    ("stage", |one| one.row.stage.into()),
    ("mechanism", |one| one.row.mechanism.as_ref().into()),
    ("trigger", |one| one.row.trigger.as_ref().into()),
    ("tokens_before", |one| one.row.tokens_before.into()),
    ("tokens_after", |one| one.row.tokens_after.into()),
    ("messages_folded", |one| one.row.messages_folded.into()),
    ("messages_evicted", |one| one.row.messages_evicted.into()),
    ("messages_edited", |one| one.row.messages_edited.into()),
    ("model_calls", |one| one.row.model_calls.into()),
    ("input_tokens", |one| one.row.input_tokens.into()),
    ("output_tokens", |one| one.row.output_tokens.into()),
    ("cost_usd", |one| Field::dollars(one.usd)),
    ("latency_ms", |one| one.row.latency_ms.into()),
    ("latency_source", |one| one.row.latency_source.map(|source| source.as_str()).into()),
    ("background", |one| one.row.background.into()),
    ("fallback", |one| one.row.fallback.as_deref().into()),
    ("error", |one| one.row.error.as_deref().into()),
    ("at_end", |one| one.row.at_end.into()),
    ("agent_model", |one| one.bill.map(agent_model).into()),
    ("begun", |one| one.row.begun.into()),
    ("unusable", |one| one.unusable.unusable.into()),
    ("unusable_reasons", |one| {
        let reasons: Vec<&str> = one.unusable.reasons.keys().map(|why| why.as_str()).collect();
        Some(reasons.join("; ")).filter(|reasons| !reasons.is_empty()).into()
    }),
];

pub(crate) fn compactions(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let prices = PriceList::from(&source.report.manifest.prices);
    let repeated = RepeatedTexts::of(&source.report.results);
    let mut sheet = Sheet::new(CELL, OF_COMPACTIONS, out)?;
    each_cell(source.report, |facts, _, cell, rows| {
        let (key, bills) = (cell_key(&cell.key), bills(rows));
        let repeated = repeated.of_row(&cell.key.strategy, &cell.key.window);
        for (at, row) in rows.compactions.iter().enumerate() {
            let mut unusable = UnusableReplies::default();
            row.replies.iter().for_each(|reply| unusable.add(reply, repeated));
            for &bill in &bills {
                let usd = bill.and_then(|bill| usd_of_calls(bill, at, row, facts, &prices));
                let one = Compaction { row, bill, usd, unusable: &unusable };
                sheet.push(&key, OF_COMPACTIONS, &one)?;
            }
        }
        Ok(())
    })?;
    sheet.finish()
}

/// What the calls of a compaction cost on a bill; nothing where their model has no price. What is
/// made for the questions at the end is no part of the session.
fn usd_of_calls(
    bill: &Bill,
    at: usize,
    row: &CompactionRow,
    facts: &SessionFacts,
    prices: &PriceList,
) -> Option<f64> {
    let request = facts.requests.get(row.begun as usize).or(facts.requests.last())?;
    let prices = prices.find(bill.call_model()).ok().filter(|_| !row.at_end)?;
    let calls = bill.calls.iter().filter(|call| call.compaction as usize == at);
    calls.map(|call| prices.request_usd(&call.prompt.billed, call.output, request.at)).sum()
}

/// A reference of the exam, and what became of it.
struct Outcome<'a> {
    reference: &'a Reference,
    last_seen: Option<&'a str>,
    state: ReferenceState,
    is_refused: bool,
}

const OF_REFERENCES: &Columns<fn(&Outcome<'_>) -> Field> = &[
    ("request", |row| row.reference.request.into()),
    ("reference", |row| row.reference.text.as_str().into()),
    ("class", |row| row.reference.class.as_str().into()),
    ("last_seen", |row| row.last_seen.into()),
    ("distance_tokens", |row| row.reference.distance_tokens.into()),
    ("state", |row| match row.state {
        _ if row.is_refused => "refused".into(),
        state if state.is_kept() => "kept".into(),
        state => state.as_str().into(),
    }),
    ("refetchable", |row| row.reference.refetch.is_some().into()),
];

pub(crate) fn references(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let mut sheet = Sheet::new(CELL, OF_REFERENCES, out)?;
    each_cell(source.report, |facts, _, cell, rows| {
        let key = cell_key(&cell.key);
        for outcome in &rows.references {
            let reference = facts.exam.references.get(outcome.reference as usize);
            let Some(reference) = reference else { continue };
            let last_seen = facts.messages.get(reference.last_seen as usize);
            let row = Outcome {
                reference,
                last_seen: last_seen.map(|message| message.id.as_str()),
                state: outcome.state,
                is_refused: cell.refuses_request(reference.request),
            };
            sheet.push(&key, OF_REFERENCES, &row)?;
        }
        Ok(())
    })?;
    sheet.finish()
}
