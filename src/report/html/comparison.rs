//! The page's comparison of one data set at one window: the ranked table and,
//! folded away, every measure.

use std::collections::BTreeSet;

use crate::model::{Interval, PresetRow, Standing, Value};
use crate::report::{block, number, plain};

/// A heading of the table.
pub(super) struct Head {
    pub(super) label: &'static str,
    /// What it means, for those who ask.
    pub(super) about: &'static str,
    pub(super) numeric: bool,
}

/// A cell of the table.
pub(super) struct Shown {
    pub(super) text: String,
    /// What the column sorts by; empty sorts last.
    pub(super) sort: String,
    pub(super) numeric: bool,
}

/// A row of the table.
pub(super) struct Row {
    pub(super) rank: String,
    pub(super) name: String,
    pub(super) class: &'static str,
    /// Share kept, in percent, for the bar.
    pub(super) bar: Option<String>,
    pub(super) kept: String,
    pub(super) interval: String,
    pub(super) sort: String,
    pub(super) cells: Vec<Shown>,
    pub(super) verdict: String,
}

/// One measure over all presets of the table.
pub(super) struct Measure {
    pub(super) id: String,
    pub(super) cells: Vec<String>,
}

type Reading = (&'static str, &'static str, fn(&PresetRow) -> Option<(f64, String)>);

fn read(row: &PresetRow, id: &str, show: fn(f64) -> String) -> Option<(f64, String)> {
    row.number(id).map(|x| (x, show(x)))
}

/// Columns between the share kept and the verdict.
const READINGS: [Reading; 8] = [
    (
        "gain over recency",
        "share kept beyond what the newest messages of the same mean size keep",
        |r| read(r, "recency_gain", number::gain),
    ),
    (
        "partly kept",
        "only the last part of the identifier is left (a file name without its path), or the bare word without what gave it meaning",
        |r| {
            let partial = r.number("reference_partial")?;
            let sum = partial + r.number("reference_bare")?;
            Some((sum, number::share(sum)))
        },
    ),
    (
        "lost for good",
        "share of the lost facts that never stood in a tool result, so that no tool can fetch them again",
        |r| read(r, "irrecoverable", number::share),
    ),
    (
        "tokens to refetch",
        "tokens of the tool results that would have to be read again for the other lost facts",
        |r| read(r, "refetch_tokens", number::tokens),
    ),
    ("tokens sent", "all tokens sent, as a multiple of what the whole conversation takes", |r| {
        let share = block::token_share(r)?;
        Some((share, number::multiple(share)))
    }),
    ("peak", "tokens of the largest request", |r| read(r, "peak_tokens", number::tokens)),
    ("compac\u{AD}tions", "how often the context was compacted", |r| {
        read(r, "compactions", number::any)
    }),
    (
        "over the window",
        "requests that the provider would have refused because they do not fit; nothing counts as kept there, controls apart",
        |r| {
            let n = r.number("overflows")?;
            Some((n, if n > 0.0 { format!("{}×", number::any(n)) } else { "–".to_owned() }))
        },
    ),
];

/// Headings between the share kept and the verdict.
pub(super) fn heads() -> Vec<Head> {
    READINGS.iter().map(|(label, about, _)| Head { label, about, numeric: true }).collect()
}

/// The rows of a table.
pub(super) fn rows(rows: &[&PresetRow]) -> Vec<Row> {
    rows.iter().map(|row| table_row(row)).collect()
}

fn table_row(row: &PresetRow) -> Row {
    let recall = row.number("reference_recall");
    let cells = READINGS.iter().map(|(_, _, reading)| match reading(row) {
        Some((x, text)) => Shown { text, sort: sort_key(Some(x)), numeric: true },
        None => Shown { text: "–".to_owned(), sort: String::new(), numeric: true },
    });
    Row {
        rank: row.rank.map_or(String::new(), |rank| rank.to_string()),
        name: plain::line(&row.strategy),
        class: match row.standing {
            Standing::Ranked => "ranked",
            Standing::Control => "control",
            Standing::StandIn => "stand-in",
        },
        bar: recall.map(|x| format!("{:.1}", x.clamp(0.0, 1.0) * 100.0)),
        kept: recall.map_or_else(|| "–".to_owned(), number::share),
        interval: row
            .intervals
            .get("reference_recall")
            .map_or_else(String::new, |i| interval(row, i)),
        sort: sort_key(recall),
        cells: cells.collect(),
        verdict: block::verdict(row),
    }
}

fn sort_key(x: Option<f64>) -> String {
    x.and_then(number::plain).unwrap_or_default()
}

fn interval(row: &PresetRow, interval: &Interval) -> String {
    match interval {
        Interval::Dots { values } => {
            let dots: Vec<String> = values.iter().map(|v| number::share(*v)).collect();
            // One value per cluster: sessions of one project count once.
            let alone = row.number("transcripts") == Some(values.len() as f64);
            let unit = if alone { "sessions" } else { "projects" };
            format!("{unit}: {}", dots.join(", "))
        }
        Interval::ThisSessionOnly { lo, hi } => format!("{lo:.2}–{hi:.2}, this session only"),
        Interval::Student { lo, hi } | Interval::Wider { lo, hi } => format!("{lo:.2}–{hi:.2}"),
    }
}

/// Every measure that at least one preset of the table has.
pub(super) fn measures(rows: &[&PresetRow]) -> Vec<Measure> {
    let ids: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.values.keys().map(String::as_str)).collect();
    let known = |id: &&str| {
        rows.iter().any(|row| !matches!(row.values.get(*id), None | Some(Value::Absent(_))))
    };
    ids.into_iter()
        .filter(known)
        .map(|id| Measure {
            id: plain::line(id),
            cells: rows.iter().map(|row| shown(row.values.get(id))).collect(),
        })
        .collect()
}

fn shown(value: Option<&Value>) -> String {
    match value {
        Some(Value::Known(x)) => number::any(*x),
        Some(Value::Text(word)) => plain::line(word),
        Some(Value::Absent(_)) | None => "–".to_owned(),
    }
}

/// Measures that no preset of the table has, under their reason.
pub(super) fn reasons(rows: &[&PresetRow]) -> Vec<(String, String)> {
    let ids: BTreeSet<&str> =
        rows.iter().flat_map(|row| row.values.keys().map(String::as_str)).collect();
    let mut by_reason: Vec<(String, Vec<String>)> = Vec::new();
    for id in ids {
        let Some(reason) = block::absent_throughout(rows, id).map(plain::line) else { continue };
        match by_reason.iter_mut().find(|(r, _)| *r == reason) {
            Some((_, ids)) => ids.push(plain::line(id)),
            None => by_reason.push((reason, vec![plain::line(id)])),
        }
    }
    by_reason.into_iter().map(|(reason, ids)| (ids.join(", "), reason)).collect()
}
