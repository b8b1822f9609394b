//! What the receipt says in sentences: for the terminal and the page.

use super::{block, number, plain};
use crate::model::{
    Absent, Amount, Cause, Hour, Origin, PresetRow, RECORDED, Receipt, Report, Sender, Standing,
    TokenKind, catalogue,
};
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
    let total = all.total();
    let part = |(kind, part): (&TokenKind, &Amount)| match is_unknown(&total) {
        true => format!("{} {} tokens", kind_name(*kind), number::tokens(part.tokens as f64)),
        false => format!("{} {}", kind_name(*kind), money(part)),
    };
    let parts = all.kinds.iter().map(part).collect::<Vec<_>>().join(", ");
    if is_unknown(&total) {
        return Some(format!("What these sessions cost today is unknown: {parts}."));
    }
    let mut said = format!("Today these sessions cost {}: {parts}", money(&total));
    for sender in [Sender::Subagent, Sender::Compaction] {
        let spent = receipt.of(sender);
        if spent.reported > 0 {
            said += &format!("; of it {} for {}", money(&spent.total()), sender_name(sender));
        }
    }
    if let Some(rebuilt) = rebuilt(receipt) {
        said += &format!("; {rebuilt}");
    }
    Some(said + ".")
}

/// Whether nothing of it has a price.
fn is_unknown(amount: &Amount) -> bool {
    amount.usd == 0.0 && amount.unpriced.is_some()
}

/// The dollars of an amount; where a part has no price, those of the rest, and that.
pub(super) fn money(amount: &Amount) -> String {
    match amount.whole() {
        Some(usd) => number::dollars(usd),
        None if is_unknown(amount) => "unknown".to_owned(),
        None => format!("{} + unknown", number::dollars(amount.usd)),
    }
}

/// The rebuilt caches in a clause; nothing where none was.
fn rebuilt(receipt: &Receipt) -> Option<String> {
    let requests: u64 = receipt.rebuilt.values().map(|one| one.requests).sum();
    let lost: Amount = receipt.rebuilt.values().map(|one| &one.lost).sum();
    let causes = receipt.rebuilt.iter().map(|(cause, one)| {
        format!("{} {} ({})", number::grouped(one.requests), cause_name(*cause), money(&one.lost))
    });
    let causes: Vec<String> = causes.collect();
    let caches = counted(requests, "cache");
    let was = form_for(requests, "was", "were");
    let causes = causes.join(", ");
    (requests > 0).then(|| format!("{caches} {was} rebuilt for {} of it: {causes}", money(&lost)))
}

pub(super) fn sender_name(sender: Sender) -> &'static str {
    match sender {
        Sender::Main => "main agent",
        Sender::Subagent => "subagents",
        Sender::Compaction => "compaction calls",
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
        TokenKind::OutputCounted => "output as recap counts it",
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
    // An example that would make a difference.
    let half = (receipt.largest_prompt / 2_000).max(1);
    let mut models: Vec<String> = Vec::new();
    for ((_, model), spent) in &receipt.spent {
        let name = model.as_deref().map_or_else(|| "no named model".to_owned(), plain::line);
        if spent.reported > 0 && !models.contains(&name) {
            models.push(name);
        }
    }
    let window = match at_windows(report).as_slice() {
        [] => format!(
            "the largest prompt has {largest} tokens, and `recap bench SESSIONS --window {half}k` \
             replays the sessions as if no more than that had fitted (repeat it to compare sizes)"
        ),
        known => format!("without subagents {}, and {}", money(&own(receipt)), known.join("; ")),
    };
    let model = match by_models(report).as_slice() {
        [] => format!(
            "at {} the price is {}, and `recap bench SESSIONS --agent-model MODEL` bills the same \
             sessions by the prices and cache rules of that one",
            models.join(", "),
            money(&receipt.all().total())
        ),
        known => format!(
            "at {} what was sent without subagents cost {}; the same would have cost {}",
            models.join(", "),
            money(&own(receipt)),
            known.join(", ")
        ),
    };
    vec![
        hour(&receipt.hour),
        format!("Another window: {window}."),
        format!("Another model: {model}."),
    ]
}

/// What rows bill: the main agent with its compactions.
fn own(receipt: &Receipt) -> Amount {
    let sent = [Sender::Main, Sender::Compaction].map(|sender| receipt.of(sender).total());
    sent.iter().sum()
}

/// The rows of all data sets together, with their bills.
fn billed(report: &Report) -> impl Iterator<Item = (&PresetRow, f64)> {
    let all = report.rows.iter().any(|row| row.dataset == block::ALL);
    let rows = report.rows.iter().filter(move |row| !all || row.dataset == block::ALL);
    rows.filter_map(|row| Some((row, row.number(catalogue::COST_USD)?)))
}

/// What was recorded, as each model that was asked for bills it.
fn by_models(report: &Report) -> Vec<String> {
    let asked = report.manifest.agent_models.iter().filter_map(|model| {
        let is_its =
            |(row, _): &(&PresetRow, f64)| row.strategy == RECORDED && row.agent_model == *model;
        let (_, usd) = billed(report).find(is_its)?;
        Some(format!("{} at {}", number::dollars(usd), plain::line(model)))
    });
    asked.collect()
}

/// The cheapest strategy at each window of so many tokens.
fn at_windows(report: &Report) -> Vec<String> {
    let sizes = report.manifest.windows.iter();
    let sizes = sizes.filter(|label| label.starts_with(|c: char| c.is_ascii_digit()));
    let cheapest = sizes.filter(|label| !label.ends_with('%')).filter_map(|label| {
        let here = billed(report).filter(|(row, _)| {
            row.window == *label && row.standing != Standing::Control && row.failed.is_empty()
        });
        let (row, usd) = here.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(format!(
            "{} in a window of {} with {}, the cheapest strategy there",
            number::dollars(usd),
            plain::line(label),
            plain::line(&row.strategy)
        ))
    });
    cheapest.collect()
}

fn hour(hour: &Result<Hour, Absent>) -> String {
    match hour {
        Err(why) => {
            let why = plain::line(&why.to_string());
            format!("A cache that lives an hour: no figure, {why}.")
        }
        Ok(hour) => {
            let change = hour.saved - hour.dearer;
            let (would, more) = if change >= 0.0 { ("saved", "") } else { ("cost", " more") };
            let without = hour.without.as_ref().map_or_else(String::new, |why| {
                format!(" (other sessions are not in this: {})", plain::line(&why.to_string()))
            });
            format!(
                "A cache that lives an hour would have {would} {}{more}: {} after idle gaps of at most \
                 an hour would have been spared ({}), and all other writes would have been dearer by \
                 {}{without}.",
                number::dollars(change.abs()),
                counted(hour.spared, "rebuild"),
                number::dollars(hour.saved),
                number::dollars(hour.dearer),
            )
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::{Content, Rebuilt, Spent};
    use crate::report::testkit::Kit;

    /// A run in which a model without a price answered a subagent.
    pub(in crate::report) fn report() -> Report {
        let amount = |tokens, usd| Amount::new(tokens, Ok(usd));
        let kinds = [
            (TokenKind::CacheRead, amount(2_000_000, 1.0)),
            (TokenKind::CacheWrite5m, amount(80_000, 0.5)),
            (TokenKind::Output, amount(20_000, 0.5)),
        ];
        let main = Spent { reported: 40, silent: 2, unfinished: 0, kinds: kinds.into() };
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
            rebuilt: [
                (Cause::IdleGap, rebuilt(2, 40_000, 0.25)),
                (Cause::Compaction, rebuilt(1, 5_000, 0.125)),
            ]
            .into(),
            hour: Ok(Hour { spared: 2, saved: 0.25, dearer: 0.75, without: None }),
            contents: std::iter::once(content(Origin::System, None, 1_000)).chain(tools).collect(),
            largest_prompt: 150_000,
        };
        Report { receipt, ..Kit::default().report() }
    }

    #[test]
    fn one_sentence_has_the_dollars_by_kind_and_the_rebuilt_caches_by_cause() {
        assert_eq!(
            sentence(&report()).unwrap(),
            "Today these sessions cost $2.00 + unknown: cache reads $1.00, cache writes \
             (5 min) $0.500, uncached input unknown, output $0.500; of it unknown for subagents; \
             3 caches were rebuilt for $0.375 of it: 1 behind a compaction ($0.125), 2 after an idle \
             gap ($0.250)."
        );
    }

    #[test]
    fn without_reports_the_cost_is_said_to_be_unknown_and_without_requests_nothing_is() {
        let mut report = Kit::default().report();
        assert_eq!(sentence(&report), None);
        let spent = Spent { silent: 9, ..Spent::default() };
        report.receipt.spent = [((Sender::Main, None), spent)].into();
        let said = sentence(&report).unwrap();
        assert!(said.contains("not known: none of 9 requests reports its tokens"), "{said}");
        assert!(choices(&report).is_empty());
    }

    #[test]
    fn a_window_or_a_model_that_was_asked_for_has_its_bill_beside_the_recorded_one() {
        let mut report = report();
        report.manifest.windows = vec!["25%".to_owned(), "200k".to_owned()];
        report.manifest.agent_models = vec!["cheap-1".to_owned(), "unbilled".to_owned()];
        report.rows.retain(|row| row.window == "200k");
        assert!(report.rows.len() > 3);
        let mut row = report.rows[0].clone();
        row.strategy = RECORDED.to_owned();
        row.agent_model = "cheap-1".to_owned();
        row.standing = Standing::Control;
        row.values.insert(catalogue::COST_USD.id.to_owned(), crate::model::Value::Known(0.5));
        report.rows.push(row);
        let [_, window, model] = choices(&report).try_into().unwrap();
        // Of strategies that are no controls `prune` saves most: 41.2 · (1 − 0.44).
        assert_eq!(
            window,
            "Another window: without subagents $2.00, and $23.07 in a window of 200k with prune, \
             the cheapest strategy there."
        );
        assert_eq!(
            model,
            "Another model: at claude-opus-4-6, local what was sent without subagents cost $2.00; \
             the same would have cost $0.500 at cheap-1."
        );
    }

    #[test]
    fn each_choice_is_one_sentence_with_its_figures_and_its_option() {
        let mut report = report();
        // Of a window that is a share nobody says what it would cost.
        report.manifest.windows = vec!["25%".to_owned()];
        let [hour, window, model] = choices(&report).try_into().unwrap();
        assert_eq!(
            hour,
            "A cache that lives an hour would have cost $0.500 more: 2 rebuilds after idle gaps of \
             at most an hour would have been spared ($0.250), and all other writes would have been \
             dearer by $0.750."
        );
        assert!(window.contains("150k tokens") && window.contains("--window 75k`"));
        assert!(model.contains("claude-opus-4-6, local") && model.contains("--agent-model MODEL"));
        report.receipt.hour = Err(Absent::HourAlready);
        let hour = choices(&report).remove(0);
        assert!(hour.ends_with("no figure, the cache was written for an hour already."), "{hour}");
    }
}
