//! What a cache that lives an hour would have changed: some rebuilds after idle gaps would have
//! been reads, and every other write would have been dearer.

use super::rebuilt::{HOUR, Rebuild};
use super::{named, rate, rates, reported};
use recap_billing::pricing::{PriceList, Rates};
use recap_core::model::{Absent, Cause, Hour, SessionFacts, TokenKind, Usage};

/// The change for the conversation of a session.
///
/// # Errors
/// Nothing was written for five minutes, or a price is unknown.
pub(super) fn hour(
    facts: &SessionFacts,
    rebuilds: &[Rebuild<'_>],
    prices: &PriceList,
) -> Result<Hour, Absent> {
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
            sum.saved += rebuild.amount().usd;
            let read = rebuild.lost.iter().filter(|(kind, _)| *kind == TokenKind::CacheWrite5m);
            written -= read.map(|(_, tokens)| tokens).sum::<u64>();
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

fn is_spared(rebuild: &Rebuild<'_>) -> bool {
    rebuild.cause == Cause::IdleGap && rebuild.idle.is_some_and(|idle| idle <= HOUR)
}

fn no_choice(model: Option<&str>) -> Absent {
    model.map_or(Absent::NoModelNamed, |named| Absent::NoHour(named.to_owned()))
}

/// Two changes together. What is absent in one of them is named.
pub(super) fn both(one: Result<Hour, Absent>, other: Result<Hour, Absent>) -> Result<Hour, Absent> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok(Hour {
            spared: one.spared + other.spared,
            saved: one.saved + other.saved,
            dearer: one.dearer + other.dearer,
            without: one.without.or(other.without),
        }),
        (Ok(known), Err(Absent::NoUsage)) | (Err(Absent::NoUsage), Ok(known)) => Ok(known),
        (Ok(known), Err(why)) | (Err(why), Ok(known)) => {
            Ok(Hour { without: known.without.or(Some(why)), ..known })
        }
        (Err(Absent::NoUsage), Err(why)) | (Err(why), Err(_)) => Err(why),
    }
}
