//! What the receipt says in sentences: for the terminal and the page.

use super::{number, plain};
use crate::model::{Absent, Amount, Cause, Hour, Origin, Receipt, Report, Sender, TokenKind};
use crate::text::{counted, form_for};

/// The receipt in one sentence; nothing where the sessions make no request.
pub(crate) fn sentence(report: &Report) -> Option<String> {
    let receipt = &report.receipt;
    let all = receipt.all();
    if all.reported == 0 {
        let silent = (all.silent > 0).then(|| counted(all.silent, "request"));
        return silent.map(|requests| {
            format!(
                "What the sessions cost today is not known: none of {requests} reports its tokens."
            )
        });
    }
    let parts: Vec<String> = kinds(&all.kinds).collect();
    let mut said =
        format!("Recorded cost of today: {} ({})", money(&all.total()), parts.join(", "));
    for sender in [Sender::Subagent, Sender::Compaction] {
        let spent = receipt.of(sender);
        if spent.reported > 0 {
            said += &format!(", of it {} by {}", money(&spent.total()), sender_name(sender));
        }
    }
    said += &rebuilt(receipt).map_or_else(|| ".".to_owned(), |words| format!("; {words}."));
    Some(said)
}

fn kinds<'a>(
    kinds: impl IntoIterator<Item = (&'a TokenKind, &'a Amount)>,
) -> impl Iterator<Item = String> {
    kinds.into_iter().map(|(kind, amount)| format!("{} {}", kind_name(*kind), money(amount)))
}

/// The dollars of an amount; where a part has no price, those of the rest, and that.
pub(super) fn money(amount: &Amount) -> String {
    match amount.whole() {
        Some(usd) => number::dollars(usd),
        None if amount.usd > 0.0 => {
            format!("{} and what has no price", number::dollars(amount.usd))
        }
        None => "unknown".to_owned(),
    }
}

/// The rebuilt caches in a clause; nothing where none was.
fn rebuilt(receipt: &Receipt) -> Option<String> {
    let requests: u64 = receipt.rebuilt.values().map(|one| one.requests).sum();
    let lost: Amount = receipt.rebuilt.values().map(|one| &one.lost).sum();
    let causes = receipt.rebuilt.iter().map(|(cause, one)| {
        format!("{} {} {}", number::grouped(one.requests), cause_name(*cause), money(&one.lost))
    });
    let causes: Vec<String> = causes.collect();
    let caches = counted(requests, "cache");
    let was = form_for(requests, "was", "were");
    let causes = causes.join(", ");
    (requests > 0).then(|| format!("{caches} {was} rebuilt for {}: {causes}", money(&lost)))
}

pub(super) fn sender_name(sender: Sender) -> &'static str {
    match sender {
        Sender::Main => "main agent",
        Sender::Subagent => "subagents",
        Sender::Compaction => "calls of compactions",
    }
}

pub(super) fn kind_name(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::CacheRead => "cache reads",
        TokenKind::CacheWrite5m => "cache writes (5 min)",
        TokenKind::CacheWrite1h => "cache writes (1 h)",
        TokenKind::Input => "uncached input",
        TokenKind::PromptUnsplit => "input, cached or not",
        TokenKind::Output => "output",
        TokenKind::OutputCounted => "output, counted",
    }
}

pub(super) fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Compaction => "behind a compaction",
        Cause::ModelChange => "after a change of the model",
        Cause::IdleGap => "after an idle gap",
        Cause::ChangedPrompt => "after a changed prompt or a loss at the provider",
        Cause::Unknown => "for a cause that the recording does not tell",
    }
}

pub(super) fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::System => "system prompt and tools",
        Origin::User => "user",
        Origin::Agent => "agent: text, calls, reasoning",
        Origin::Result => "results",
        Origin::Summary => "summaries of compactions",
    }
}

/// What would change, a sentence for each choice.
pub(super) fn choices(report: &Report) -> Vec<String> {
    let receipt = &report.receipt;
    if receipt.all().reported == 0 {
        return Vec::new();
    }
    let largest = number::tokens(receipt.largest_prompt as f64);
    let mut models: Vec<String> = Vec::new();
    for ((_, model), spent) in &receipt.spent {
        let name = model.as_deref().map_or_else(|| "no named model".to_owned(), plain::line);
        if spent.reported > 0 && !models.contains(&name) {
            models.push(name);
        }
    }
    vec![
        hour(&receipt.hour),
        format!(
            "A smaller window: the largest prompt has {largest} tokens, and `recap bench SESSIONS \
             --window 100k` replays the sessions as if no more than that had fitted (repeat it to \
             compare sizes)."
        ),
        format!(
            "Another model: today {} at {}, and `recap bench SESSIONS --agent-model MODEL` bills \
             the same sessions by the prices and cache rules of that one.",
            money(&receipt.all().total()),
            models.join(", ")
        ),
    ]
}

fn hour(hour: &Result<Hour, Absent>) -> String {
    match hour {
        Err(why) => format!("A cache that lives an hour: no figure, {why}."),
        Ok(hour) => {
            let change = hour.saved - hour.dearer;
            let would = if change >= 0.0 { "saved" } else { "cost" };
            let without = hour.without.as_ref().map_or_else(String::new, |why| {
                format!(" (without sessions of which {})", plain::line(&why.to_string()))
            });
            format!(
                "A cache that lives an hour would have {would} {}: {} after idle gaps of an hour at \
                 most would have been spared ({}), and all other writes would have been dearer by \
                 {}{without}.",
                number::dollars(change.abs()),
                counted(hour.spared, "rebuild"),
                number::dollars(hour.saved),
                number::dollars(hour.dearer),
            )
        }
    }
}
