//! `receipt.csv`: what the sessions cost as recorded, which caches were rebuilt, what filled the
//! contexts, and what a cache that lives an hour would have changed; of each session, and of all.

use std::io::{Result, Write};

use super::{Columns, Field, table};
use crate::{RenderInput, block};
use recap_core::model::{Absent, Amount, Receipt, Sender, Spent};

/// The sender, model or kind of rows that sum up all of them.
const ALL: &str = block::ALL;

/// One row; a name that is empty is none.
#[derive(Default)]
struct Row<'a> {
    dataset: &'a str,
    session: &'a str,
    part: &'static str,
    sender: &'a str,
    model: &'a str,
    item: String,
    count: Option<u64>,
    tokens: Option<u64>,
    sent: Option<u64>,
    usd: Option<f64>,
    reason: Option<String>,
}

const COLUMNS: &Columns<fn(&Row<'_>) -> Field> = &[
    ("dataset", |row| row.dataset.into()),
    ("session", |row| row.session.into()),
    ("part", |row| row.part.into()),
    ("sender", |row| named(row.sender)),
    ("model", |row| named(row.model)),
    ("item", |row| row.item.as_str().into()),
    ("count", |row| row.count.into()),
    ("tokens", |row| row.tokens.into()),
    ("tokens_sent", |row| row.sent.into()),
    ("usd", |row| Field::dollars(row.usd)),
    ("reason", |row| row.reason.as_deref().into()),
];

fn named(name: &str) -> Field {
    Some(name).filter(|name| !name.is_empty()).into()
}

pub(crate) fn render(source: &RenderInput<'_>, out: &mut dyn Write) -> Result<()> {
    let report = source.report;
    let each = report.sessions.iter().zip(&report.receipts);
    let each = each.map(|(facts, own)| (&*facts.dataset, &*facts.session, own));
    let all = std::iter::once((ALL, ALL, &report.receipt));
    let rows = each.chain(all).flat_map(|(dataset, session, own)| {
        rows(own).into_iter().map(move |row| Row { dataset, session, ..row })
    });
    table(COLUMNS, rows, out)
}

impl Row<'_> {
    fn with(self, amount: &Amount) -> Self {
        let reason = amount.unpriced.as_ref().map(ToString::to_string);
        Self { tokens: Some(amount.tokens), usd: amount.whole(), reason, ..self }
    }
}

fn rows(receipt: &Receipt) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for ((sender, model), spent) in &receipt.spent {
        rows.extend(spent_rows(sender.into(), model.as_deref().unwrap_or(""), spent));
    }
    rows.extend(spent_rows(ALL, ALL, &receipt.all()));
    for (sender, calls) in [
        (Sender::Compaction, receipt.silent_compactions),
        (Sender::Subagent, receipt.missing_subagents),
    ] {
        rows.push(Row { count: Some(calls), ..cost(sender.into(), ALL, "calls not reported") });
    }
    if let Some((calls, usd)) = receipt.estimated {
        let (count, usd) = (Some(calls), Some(usd));
        rows.push(Row { count, usd, ..cost("compaction", ALL, "estimated") });
        rows.push(Row { usd: receipt.today().whole(), ..cost(ALL, ALL, "today") });
    }
    for (cause, rebuilt) in &receipt.rebuilt {
        let (item, count) = (<&str>::from(cause).to_owned(), Some(rebuilt.requests));
        rows.push(Row { part: "rebuilt", item, count, ..Row::default() }.with(&rebuilt.lost));
    }
    for content in &receipt.contents {
        let kind: &str = content.origin.into();
        let tool = content.tool.as_ref().map_or_else(String::new, |tool| format!(":{tool}"));
        let (count, tokens, sent) = (Some(content.texts), Some(content.tokens), Some(content.sent));
        let item = format!("{kind}{tool}");
        rows.push(Row { part: "context", item, count, tokens, sent, ..Row::default() });
    }
    rows.extend(hour_rows(receipt));
    rows
}

fn cost<'a>(sender: &'a str, model: &'a str, item: &str) -> Row<'a> {
    Row { part: "cost", sender, model, item: item.to_owned(), ..Row::default() }
}

/// Requests and tokens of one sender at one model.
fn spent_rows<'a>(sender: &'a str, model: &'a str, spent: &Spent) -> Vec<Row<'a>> {
    let row = |item| cost(sender, model, item);
    let counted = |item, n| Row { count: Some(n), ..row(item) };
    let mut rows = vec![
        counted("requests", spent.reported),
        counted("not reported", spent.silent),
        counted("output not final", spent.unfinished),
    ];
    rows.extend((spent.in_totals > 0).then(|| counted("in totals only", spent.in_totals)));
    rows.extend(spent.kinds.iter().map(|(kind, amount)| row(kind.into()).with(amount)));
    rows.push(row("total").with(&spent.total()));
    let usd = spent.written_down;
    rows.extend(usd.map(|usd| Row { usd: Some(usd), ..row("written down") }));
    rows
}

fn hour_rows<'a>(receipt: &Receipt) -> Vec<Row<'a>> {
    let row = |item: &str| Row { part: "hour", item: item.to_owned(), ..Row::default() };
    let why = receipt.without_hour.as_ref();
    let Some(hour) = &receipt.hour else {
        let why = why.unwrap_or(&Absent::NoUsage).to_string();
        return vec![Row { reason: Some(why), ..row("change") }];
    };
    let usd = |item, usd| Row { usd: Some(usd), ..row(item) };
    let saved = Row { count: Some(hour.spared), ..usd("rebuilds spared", -hour.saved) };
    let reason = why.map(ToString::to_string);
    let change = Row { reason, ..usd("change", hour.dearer - hour.saved) };
    vec![saved, usd("dearer writes", hour.dearer), change]
}

#[cfg(test)]
mod tests {
    use crate::receipt::tests::report;
    use crate::testkit::file;

    #[test]
    fn rows_of_each_session_precede_rows_of_all() {
        let text = file(&report(), None, "receipt.csv");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "dataset,session,part,sender,model,item,count,tokens,tokens_sent,usd,reason"
        );
        assert!(lines[1].starts_with("my-sessions,session-0,cost,ALL,ALL,requests,0,"), "{text}");
        for row in [
            "ALL,ALL,cost,main,claude-opus-4-6,requests,40,,,,",
            "ALL,ALL,cost,main,claude-opus-4-6,cache_write_5m,,80000,,0.5,",
            "ALL,ALL,cost,subagent,local,total,,7000,,,the price of local is unknown",
            "ALL,ALL,cost,ALL,ALL,total,,2107000,,,the price of local is unknown",
            "ALL,ALL,cost,compaction,ALL,calls not reported,1,,,,",
            "ALL,ALL,cost,compaction,ALL,estimated,1,,,0.25,",
            "ALL,ALL,cost,ALL,ALL,today,,,,,",
            "ALL,ALL,cost,subagent,ALL,calls not reported,3,,,,",
            "ALL,ALL,rebuilt,,,idle-gap,2,40000,,0.25,",
            "ALL,ALL,context,,,result:tool-0,4,100,100,,",
            "ALL,ALL,hour,,,change,,,,0.5,",
        ] {
            assert!(lines.contains(&row), "{row} is not in {text}");
        }
    }
}
