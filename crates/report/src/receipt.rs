//! What the sessions cost as recorded, why caches were rebuilt, what filled the contexts, and
//! what could be otherwise.

use std::collections::BTreeSet;

use indexmap::IndexSet;

use super::document::{Cell, Part, TableOf, absent, figures, words};
use super::number;
use recap_core::model::{
    Absent, Amount, Cause, Content, Origin, Rebuilt, Receipt, Report, Sender, Spent, TokenKind,
};
use recap_core::text::{counted, form_for};

/// Tools that have a row of their own.
const TOOLS: usize = 8;

/// Tables of what the sessions cost; nothing where no session makes a request.
pub(super) fn parts(report: &Report) -> Vec<Part> {
    let receipt = &report.receipt;
    if receipt.all().reported + receipt.all().silent == 0 {
        return Vec::new();
    }
    let mut parts = Vec::new();
    if receipt.all().reported > 0 {
        parts.push(Part::heading("By sender and kind of token"));
        parts.push(Part::text(
            "As the provider reported it, at the list prices of the model that answered each \
             request; nothing here is simulated. receipt.csv has the same for every session.",
        ));
        parts.push(costs(receipt));
    }
    parts.push(Part::List(notes(receipt)));
    if let Some(rebuilt) = rebuilt(receipt) {
        parts.push(Part::heading("Caches that were rebuilt"));
        parts.push(Part::Text(format!("{rebuilt}.")));
        parts.push(Part::text(
            "Requests that did not read what the request before them had in the provider’s cache, by \
             what came between, and what these tokens cost above a read.",
        ));
        parts.push(by_cause(receipt));
    }
    if !receipt.contents.is_empty() {
        parts.push(Part::heading("What fills the context"));
        parts.push(Part::text(
            "Tokens as recap counts them: each text once, and as often as requests sent it. Text that \
             the harness added counts with the message that it came with.",
        ));
        parts.push(contents(&receipt.contents));
    }
    if receipt.all().reported > 0 {
        parts.push(Part::heading("What if the cache lived an hour"));
        parts.push(Part::Text(hour(receipt)));
    }
    parts
}

/// Dollars and tokens by sender, model and kind of token.
fn costs(receipt: &Receipt) -> Part {
    let row = |name: String, spent: Spent| (name, dollars(&spent.total()), Some(spent));
    let reported = || receipt.spent.iter().filter(|(_, spent)| spent.reported > 0);
    let mut rows: Vec<(String, Cell, Option<Spent>)> = reported()
        .map(|((sender, model), spent)| {
            let model = model.as_deref().unwrap_or("no model is named");
            row(format!("{}, {model}", sender_name(*sender)), spent.clone())
        })
        .collect();
    let several = rows.len() > 1;
    for sender in [Sender::Subagent, Sender::Compaction] {
        if reported().filter(|((of, _), _)| *of == sender).count() > 1 {
            rows.push(row(format!("{}, all models", sender_name(sender)), receipt.of(sender)));
        }
    }
    if let Some((calls, usd)) = receipt.estimated {
        let name = format!("{} not on record, estimated", counted(calls, "compaction"));
        rows.push((name, number::dollars(usd).into(), None));
    }
    if several || receipt.estimated.is_some() {
        let (name, total, all) = row("all".to_owned(), receipt.all());
        rows.push((name, Cell { text: money(&receipt.today()), ..total }, all));
    }
    let mut table = TableOf::new("Cost by sender and kind of token", rows)
        .column(words("sent by"), |(name, ..)| name.clone())
        .column(figures("total"), |(_, total, _)| total.clone())
        .column(figures("requests"), |(.., spent)| {
            spent.as_ref().map_or_else(absent, |spent| number::grouped(spent.reported))
        });
    for kind in receipt.all().kinds.into_keys() {
        table = table.column(figures(kind_head(kind)), |(.., spent)| {
            let amount = spent.as_ref().and_then(|spent| spent.kinds.get(&kind));
            let amount = amount.filter(|amount| amount.tokens > 0);
            amount.map_or_else(|| absent().into(), dollars)
        });
    }
    table.part()
}

/// Dollars, with the tokens that they paid for.
fn dollars(amount: &Amount) -> Cell {
    Cell {
        text: money(amount),
        spread: Some(number::tokens(amount.tokens as f64)),
        figure: amount.whole(),
        drawn: None,
    }
}

/// What the sums do not hold, and why, beyond what [`sentence`] says.
fn notes(receipt: &Receipt) -> Vec<String> {
    let all = receipt.all();
    let (reported, silent) = (all.reported, all.silent);
    let alone = reported - all.in_totals;
    let reported = format!(
        "{} {} tokens; {} {} not, and {} in no sum here.",
        counted(alone, "request"),
        form_for(alone, "reports", "report"),
        number::grouped(silent),
        form_for(silent, "does", "do"),
        form_for(silent, "is", "are")
    );
    let placeholders = all.kinds.contains_key(&TokenKind::OutputCounted).then(|| {
        "Output that was written down before it was final is counted by recap instead; thinking \
         that the recording does not show is missing from it."
            .to_owned()
    });
    let unfinished = (all.unfinished > 0).then(|| {
        let requests = counted(all.unfinished, "request of subagents or compactions");
        format!("Of {requests} the output was written down before it was final: it is too low.")
    });
    let compactions = (receipt.silent_compactions > 0).then(|| {
        let compactions = counted(receipt.silent_compactions, "compaction");
        format!("The recording does not report the calls of {compactions}, if they made any.")
    });
    let aside = (receipt.of(Sender::Subagent).reported > 0).then(|| {
        "Requests of subagents that are not recorded as a conversation have no order: none of \
         theirs is among the rebuilt caches."
            .to_owned()
    });
    let notes = [Some(reported), placeholders, unfinished, compactions, aside];
    notes.into_iter().flatten().chain(unpriced(receipt)).collect()
}

/// Why some tokens have no dollars, each reason once.
fn unpriced(receipt: &Receipt) -> impl Iterator<Item = String> {
    let amounts = receipt.spent.values().flat_map(|spent| spent.kinds.values());
    let reasons = amounts.filter_map(|amount| amount.unpriced.as_ref());
    let reasons: BTreeSet<String> = reasons.map(ToString::to_string).collect();
    reasons.into_iter().map(|why| format!("Some tokens have no dollars: {why}."))
}

/// Rebuilt caches by what came before.
fn by_cause(receipt: &Receipt) -> Part {
    let each = receipt.rebuilt.iter();
    let mut rows: Vec<(&str, Rebuilt)> =
        each.map(|(cause, one)| (cause_name(*cause), one.clone())).collect();
    if rows.len() > 1 {
        rows.push(("all", all_rebuilt(receipt)));
    }
    TableOf::new("Rebuilt caches by cause", rows)
        .column(words("cause"), |(cause, _)| *cause)
        .column(figures("requests"), |(_, one)| number::grouped(one.requests))
        .column(figures("tokens"), |(_, one)| number::tokens(one.lost.tokens as f64))
        .column(figures("dollars"), |(_, one)| money(&one.lost))
        .part()
}

/// The kinds of content that were sent most; the tools after the first are one row.
fn contents(all: &[Content]) -> Part {
    let sent: u64 = all.iter().map(|content| content.sent).sum();
    let mut tools = 0;
    let (shown, rest): (Vec<&Content>, Vec<&Content>) = all.iter().partition(|content| {
        tools += usize::from(content.origin == Origin::Result);
        content.origin != Origin::Result || tools <= TOOLS
    });
    let name = |content: &Content| match &content.tool {
        Some(tool) => format!("results of {tool}"),
        None => origin_name(content.origin).to_owned(),
    };
    let mut rows: Vec<(String, Content)> =
        shown.into_iter().map(|content| (name(content), content.clone())).collect();
    let others = format!("results of {}", counted(rest.len(), "other tool"));
    let rest = rest.into_iter().cloned().reduce(|sum, one| Content {
        texts: sum.texts + one.texts,
        tokens: sum.tokens + one.tokens,
        sent: sum.sent + one.sent,
        ..sum
    });
    rows.extend(rest.map(|sum| (others, sum)));
    let share = |content: &Content| match content.sent as f64 / sent.max(1) as f64 {
        share if share > 0.0 && share < 0.005 => "<1 %".to_owned(),
        share => number::percent(share),
    };
    TableOf::new("What fills the context", rows)
        .column(words("content"), |(name, _)| name.clone())
        .column(figures("texts"), |(_, content)| number::grouped(content.texts))
        .column(figures("tokens once"), |(_, content)| number::tokens(content.tokens as f64))
        .column(figures("as sent"), |(_, content)| number::tokens(content.sent as f64))
        .column(figures("of what was sent"), |(_, content)| share(content))
        .part()
}

/// The receipt in one sentence; nothing where the sessions make no request.
pub(super) fn sentence(report: &Report) -> Option<String> {
    let receipt = &report.receipt;
    let all = receipt.all();
    if all.reported == 0 {
        let silent = (all.silent > 0).then(|| counted(all.silent, "request"));
        return silent.map(|requests| {
            format!(
                "What the sessions cost today is not known: none of {requests} reports its tokens{}.",
                written_down(&all)
            )
        });
    }
    let total = receipt.today();
    let part = |(kind, part): (&TokenKind, &Amount)| {
        if is_unknown(&total) {
            format!("{} {} tokens", kind_name(*kind), number::tokens(part.tokens as f64))
        } else {
            format!("{} {}", kind_name(*kind), money(part))
        }
    };
    let parts = all.kinds.iter().map(part).collect::<Vec<_>>().join(", ");
    if is_unknown(&total) {
        let why = without_price(receipt).map(|why| format!(" ({why})")).unwrap_or_default();
        let written = written_down(&all);
        return Some(format!("What these sessions cost today is unknown{why}: {parts}{written}."));
    }
    let cost = known(receipt, &total);
    let mut sentence = format!("Today these sessions cost {cost}: {parts}{}", written_down(&all));
    if let Some((calls, usd)) = receipt.estimated {
        let calls = counted(calls, "compaction");
        sentence += &format!("; {} estimated for {calls} not on record", number::dollars(usd));
    }
    if all.in_totals > 0 {
        let requests = counted(all.in_totals, "request");
        sentence += &format!(
            "; of {requests} only a total of the session is recorded, billed as prompts of one length"
        );
    }
    for sender in [Sender::Subagent, Sender::Compaction] {
        let spent = receipt.of(sender);
        if spent.reported > 0 {
            sentence += &format!("; of it {} for {}", money(&spent.total()), sender_name(sender));
        }
    }
    if receipt.missing_subagents > 0 {
        let calls = counted(receipt.missing_subagents, "subagent");
        sentence += &format!("; not known is what {calls} used, whose logs are not there");
    }
    Some(sentence + ".")
}

/// A clause of what the agent or its provider wrote down.
fn written_down(all: &Spent) -> String {
    let usd = all.written_down.map(number::dollars);
    usd.map(|usd| format!("; the recording itself says {usd}")).unwrap_or_default()
}

/// Whether nothing of it has a price.
fn is_unknown(amount: &Amount) -> bool {
    amount.usd == 0.0 && amount.unpriced.is_some()
}

/// The dollars of an amount; where a part has no price, those of the rest, and that.
fn money(amount: &Amount) -> String {
    match amount.whole() {
        Some(usd) => number::dollars(usd),
        None if is_unknown(amount) => "unknown".to_owned(),
        None => format!("{} + unknown", number::dollars(amount.usd)),
    }
}

/// The dollars of a sum of the receipt, and the models whose part is not in them.
pub(super) fn known(receipt: &Receipt, amount: &Amount) -> String {
    let without = without_price(receipt).filter(|_| amount.whole().is_none());
    money(amount) + &without.map(|why| format!(" ({why})")).unwrap_or_default()
}

/// The models that have no price.
fn without_price(receipt: &Receipt) -> Option<String> {
    let unpriced = receipt.spent.iter().filter(|(_, spent)| {
        matches!(spent.total().unpriced, Some(Absent::Price(_) | Absent::NoModelNamed))
    });
    let name = |model: &Option<String>| model.clone().unwrap_or_else(|| "an unnamed model".into());
    let models: IndexSet<String> = unpriced.map(|((_, model), _)| name(model)).collect();
    (!models.is_empty()).then(|| format!("no price for {}", Vec::from_iter(models).join(", ")))
}

/// The rebuilt caches in a line, with those after idle gaps; nothing where none was.
pub(super) fn rebuilt(receipt: &Receipt) -> Option<String> {
    let Rebuilt { requests, lost, .. } = all_rebuilt(receipt);
    let caches = counted(requests, "cache");
    let idle = receipt.rebuilt.get(&Cause::IdleGap).map(|idle| {
        format!(
            ", {} of it after idle gaps ({})",
            money(&idle.lost),
            number::grouped(idle.requests)
        )
    });
    let was = form_for(requests, "was", "were");
    (requests > 0)
        .then(|| format!("{caches} {was} rebuilt for {}{}", money(&lost), idle.unwrap_or_default()))
}

/// Every rebuilt cache, whatever came before.
fn all_rebuilt(receipt: &Receipt) -> Rebuilt {
    Rebuilt {
        requests: receipt.rebuilt.values().map(|one| one.requests).sum(),
        lost: receipt.rebuilt.values().map(|one| &one.lost).sum(),
    }
}

fn sender_name(sender: Sender) -> &'static str {
    match sender {
        Sender::Main => "main agent",
        Sender::Subagent => "subagents",
        Sender::Compaction => "compaction calls",
    }
}

fn kind_name(kind: TokenKind) -> String {
    kind_head(kind).replace('\n', " ")
}

/// Above a column, in one or two lines.
fn kind_head(kind: TokenKind) -> &'static str {
    match kind {
        TokenKind::CacheRead => "cache\nreads",
        TokenKind::CacheWrite5m => "cache writes\n(5 min)",
        TokenKind::CacheWrite1h => "cache writes\n(1 h)",
        TokenKind::Input => "uncached\ninput",
        TokenKind::PromptUnsplit => "input, cached\nor not",
        TokenKind::Output => "output",
        TokenKind::OutputCounted => "output as\nrecap counts it",
    }
}

fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Compaction => "after a compaction",
        Cause::ModelChange => "after a change of the model",
        Cause::IdleGap => "after an idle gap",
        Cause::SystemChanged => "after a changed system prompt",
        Cause::ToolsChanged => "after changed tools",
        Cause::MessagesChanged => "after a changed message",
        Cause::PreviousMessageNotFound => "whose request before the provider no longer had",
        Cause::Unavailable => "for a cause that the provider could not tell",
        Cause::ChangedPrompt => "after a changed prompt or a loss at the provider",
        Cause::Unknown => "for a cause that the recording does not tell",
    }
}

fn origin_name(origin: Origin) -> &'static str {
    match origin {
        Origin::System => "system prompt and tools",
        Origin::User => "user",
        Origin::Agent => "agent: text, calls, reasoning",
        Origin::Result => "results",
        Origin::Summary => "summaries of compactions",
    }
}

/// What a cache that lives an hour would have changed.
fn hour(receipt: &Receipt) -> String {
    let why = receipt.without_hour.as_ref();
    let Some(hour) = &receipt.hour else {
        let why = why.unwrap_or(&Absent::NoUsage);
        return format!("A cache that lives an hour: no figure, {why}.");
    };
    let change = hour.saved - hour.dearer;
    let (would, more) = if change >= 0.0 { ("saved", "") } else { ("cost", " more") };
    let without = why.map(|why| format!(" (other sessions are not in this: {why})"));
    format!(
        "A cache that lives an hour would have {would} {}{more}: {} after idle gaps of at most \
         an hour would have been spared ({}), and all other writes would have been dearer by \
         {}{}.",
        number::dollars(change.abs()),
        counted(hour.spared, "rebuild"),
        number::dollars(hour.saved),
        number::dollars(hour.dearer),
        without.unwrap_or_default(),
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::testkit::Kit;
    use recap_core::model::{Hour, Rebuilt};

    /// A run in which a model without a price answered a subagent.
    pub(crate) fn report() -> Report {
        let amount = |tokens, usd| Amount::new(tokens, Ok(usd));
        let kinds = [
            (TokenKind::CacheRead, amount(2_000_000, 1.0)),
            (TokenKind::CacheWrite5m, amount(80_000, 0.5)),
            (TokenKind::Output, amount(20_000, 0.5)),
        ];
        let main = Spent { reported: 40, silent: 2, kinds: kinds.into(), ..Spent::default() };
        let unpriced = Amount::new(7_000, Err(Absent::Price("local".to_owned())));
        let kinds = [(TokenKind::Input, unpriced)].into();
        let aside = Spent { reported: 3, kinds, ..Spent::default() };
        let rebuilt = |requests, tokens, usd| Rebuilt { requests, lost: amount(tokens, usd) };
        let content = |origin, tool: Option<&str>, sent| Content {
            origin,
            tool: tool.map(str::to_owned),
            texts: 4,
            tokens: 100,
            sent,
        };
        let tools = (0..10).map(|n| content(Origin::Result, Some(&format!("tool-{n}")), 100 - n));
        let receipt = Receipt {
            spent: [
                ((Sender::Main, Some("claude-opus-4-6".to_owned())), main),
                ((Sender::Subagent, Some("local".to_owned())), aside),
            ]
            .into(),
            silent_compactions: 1,
            estimated: Some((1, 0.25)),
            missing_subagents: 3,
            rebuilt: [
                (Cause::IdleGap, rebuilt(2, 40_000, 0.25)),
                (Cause::Compaction, rebuilt(1, 5_000, 0.125)),
            ]
            .into(),
            hour: Some(Hour { spared: 2, saved: 0.25, dearer: 0.75 }),
            without_hour: None,
            contents: std::iter::once(content(Origin::System, None, 1_000)).chain(tools).collect(),
            largest_prompt: 150_000,
        };
        Report { receipt, ..Kit::default().report() }
    }

    #[test]
    fn sentence_splits_dollars_by_kind() {
        assert_eq!(
            sentence(&report()).unwrap(),
            "Today these sessions cost $2.25 + unknown (no price for local): cache reads $1.00, cache writes \
             (5 min) $0.500, uncached input unknown, output $0.500; $0.250 estimated for 1 \
             compaction not on record; of it unknown for subagents; not known is what 3 subagents used, whose logs are not there."
        );
    }

    #[test]
    fn rebuilt_caches_have_a_line_of_their_own() {
        let mut report = report();
        let said = rebuilt(&report.receipt).unwrap();
        assert_eq!(said, "3 caches were rebuilt for $0.375, $0.250 of it after idle gaps (2)");
        report.receipt.rebuilt.remove(&Cause::IdleGap);
        assert_eq!(rebuilt(&report.receipt).unwrap(), "1 cache was rebuilt for $0.125");
        report.receipt.rebuilt.clear();
        assert_eq!(rebuilt(&report.receipt), None);
    }

    #[test]
    fn unreported_cost_is_unknown_and_without_requests_unstated() {
        let mut report = Kit::default().report();
        assert_eq!(sentence(&report), None);
        let spent = Spent { silent: 9, ..Spent::default() };
        report.receipt.spent = [((Sender::Main, None), spent)].into();
        let said = sentence(&report).unwrap();
        assert!(said.contains("not known: none of 9 requests reports its tokens"), "{said}");
    }

    #[test]
    fn hour_of_cache_has_its_saving_and_its_price() {
        let mut report = report();
        assert_eq!(
            hour(&report.receipt),
            "A cache that lives an hour would have cost $0.500 more: 2 rebuilds after idle gaps of at \
             most an hour would have been spared ($0.250), and all other writes would have been \
             dearer by $0.750."
        );
        (report.receipt.hour, report.receipt.without_hour) = (None, Some(Absent::HourAlready));
        let none = hour(&report.receipt);
        assert!(none.ends_with("no figure, the cache was written for an hour already."), "{none}");
    }

    #[test]
    fn a_run_without_requests_has_no_receipt() {
        assert!(parts(&Kit::default().report()).is_empty());
    }
}
