//! What the sessions cost as recorded, why caches were rebuilt, what filled the contexts, and
//! what could be otherwise. Works without a script.

use std::collections::BTreeSet;

use askama::Template;

use crate::model::{
    Amount, Cause, Content, Origin, Rebuilt, Receipt, Report, Sender, Spent, TokenKind,
};
use crate::report::receipt::{
    cause_name, choices, kind_name, money, origin_name, sender_name, sentence,
};
use crate::report::{number, plain};
use crate::text::{counted, form_for};

/// Tools that have a row of their own.
const TOOLS: usize = 8;

/// The section.
#[derive(Template)]
#[template(path = "receipt/receipt.html")]
pub(super) struct Today {
    sentence: String,
    heads: Vec<&'static str>,
    costs: Vec<Cost>,
    notes: Vec<String>,
    /// Cause, requests, tokens and dollars.
    rebuilt: Vec<[String; 4]>,
    contents: Vec<Held>,
    choices: Vec<String>,
}

/// What one sender spent at one model.
struct Cost {
    name: String,
    model: String,
    requests: String,
    /// Dollars and tokens of all kinds.
    total: (String, String),
    /// The same of each kind.
    cells: Vec<(String, String)>,
}

/// What one kind of content takes of all contexts.
struct Held {
    name: String,
    texts: String,
    tokens: String,
    sent: String,
    share: String,
    width: String,
}

/// The section; nothing where no session makes a request.
pub(super) fn today(report: &Report) -> Option<Today> {
    let receipt = &report.receipt;
    let kinds: Vec<TokenKind> = receipt.all().kinds.into_keys().collect();
    let told = receipt.spent.iter().filter(|(_, spent)| spent.reported > 0);
    let mut costs: Vec<Cost> = told
        .map(|((sender, model), spent)| cost(sender_name(*sender), model.as_deref(), spent, &kinds))
        .collect();
    if costs.len() > 1 {
        costs.push(Cost { model: String::new(), ..cost("all", None, &receipt.all(), &kinds) });
    }
    Some(Today {
        sentence: sentence(report)?,
        heads: kinds.into_iter().map(kind_name).collect(),
        costs,
        notes: notes(receipt),
        rebuilt: rebuilt(receipt),
        contents: contents(&receipt.contents),
        choices: choices(report),
    })
}

fn cost(name: &str, model: Option<&str>, spent: &Spent, kinds: &[TokenKind]) -> Cost {
    let none = Amount::default();
    let cell = |amount: &Amount| (money(amount), number::tokens(amount.tokens as f64));
    let each = kinds.iter().map(|kind| match spent.kinds.get(kind).unwrap_or(&none) {
        amount if amount.tokens == 0 => ("–".to_owned(), String::new()),
        amount => cell(amount),
    });
    Cost {
        name: name.to_owned(),
        model: model.map_or_else(|| "no model is named".to_owned(), plain::line),
        requests: number::grouped(spent.reported),
        total: cell(&spent.total()),
        cells: each.collect(),
    }
}

/// What the sums do not hold, and why.
fn notes(receipt: &Receipt) -> Vec<String> {
    let all = receipt.all();
    let (told, silent) = (all.reported, all.silent);
    let told = format!(
        "{} {} tokens; {} {} not, and {} in no sum here.",
        counted(told, "request"),
        form_for(told, "reports", "report"),
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
    let notes = [Some(told), placeholders, unfinished, compactions, aside];
    notes.into_iter().flatten().chain(unpriced(receipt)).collect()
}

/// Why some tokens have no dollars, each reason once.
fn unpriced(receipt: &Receipt) -> impl Iterator<Item = String> {
    let amounts = receipt.spent.values().flat_map(|spent| spent.kinds.values());
    let reasons = amounts.filter_map(|amount| amount.unpriced.as_ref());
    let reasons: BTreeSet<String> = reasons.map(ToString::to_string).collect();
    let said = |why: String| format!("Some tokens have no dollars: {}.", plain::line(&why));
    reasons.into_iter().map(said)
}

fn rebuilt(receipt: &Receipt) -> Vec<[String; 4]> {
    let row = |(cause, one): (&Cause, &Rebuilt)| {
        [
            cause_name(*cause).to_owned(),
            number::grouped(one.requests),
            number::tokens(one.lost.tokens as f64),
            money(&one.lost),
        ]
    };
    receipt.rebuilt.iter().map(row).collect()
}

/// The kinds of content that were sent most; the tools behind the first are one row.
fn contents(all: &[Content]) -> Vec<Held> {
    let sent: u64 = all.iter().map(|content| content.sent).sum();
    let mut tools = 0;
    let (shown, rest): (Vec<&Content>, Vec<&Content>) = all.iter().partition(|content| {
        tools += usize::from(content.origin == Origin::Result);
        content.origin != Origin::Result || tools <= TOOLS
    });
    let mut rows: Vec<Held> =
        shown.iter().map(|content| held(name(content), content, sent)).collect();
    let others = rest.iter().copied().cloned().reduce(|sum, one| Content {
        texts: sum.texts + one.texts,
        tokens: sum.tokens + one.tokens,
        sent: sum.sent + one.sent,
        ..sum
    });
    let others = others
        .map(|sum| held(format!("results of {}", counted(rest.len(), "other tool")), &sum, sent));
    rows.extend(others);
    rows
}

fn name(content: &Content) -> String {
    match &content.tool {
        Some(tool) => format!("results of {}", plain::line(tool)),
        None => origin_name(content.origin).to_owned(),
    }
}

fn held(name: String, content: &Content, all: u64) -> Held {
    let share = content.sent as f64 / all.max(1) as f64;
    Held {
        name,
        texts: number::grouped(content.texts),
        tokens: number::tokens(content.tokens as f64),
        sent: number::tokens(content.sent as f64),
        share: if share > 0.0 && share < 0.005 {
            "<1 %".to_owned()
        } else {
            number::percent(share)
        },
        width: format!("{:.1}", share * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::receipt::tests::report;
    use crate::report::testkit::Kit;

    #[test]
    fn senders_stand_above_their_sum_and_what_was_not_spent_is_a_dash() {
        let today = today(&report()).unwrap();
        let names: Vec<&str> = today.costs.iter().map(|cost| cost.name.as_str()).collect();
        assert_eq!(names, ["main agent", "subagents", "all"]);
        let cells = |n: usize| today.costs[n].cells.iter().map(|(usd, _)| usd.as_str());
        assert!(cells(0).eq(["$1.00", "$0.500", "–", "$0.500"]));
        assert!(cells(1).eq(["–", "–", "unknown", "–"]));
        let totals = today.costs.iter().map(|cost| cost.total.0.as_str());
        assert!(totals.eq(["$2.00", "unknown", "$2.00 + unknown"]));
        let notes = today.notes.join(" ");
        for words in [
            "43 requests report tokens; 2 do not, and are in no sum here.",
            "does not report the calls of 1 compaction",
            "the price of local is unknown.",
        ] {
            assert!(notes.contains(words), "{words}: {notes}");
        }
    }

    #[test]
    fn the_tools_behind_the_eighth_are_one_row() {
        let today = today(&report()).unwrap();
        let last = today.contents.last().unwrap();
        assert_eq!(today.contents.len(), 1 + TOOLS + 1);
        // Of 1,955 tokens these two sent 92 and 91.
        assert_eq!((last.name.as_str(), last.sent.as_str()), ("results of 2 other tools", "183"));
        assert_eq!(last.share, "9 %");
    }

    #[test]
    fn a_run_without_requests_has_no_such_section() {
        assert!(today(&Kit::default().report()).is_none());
    }
}
