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
}

/// The figure that leads the table.
pub(super) struct Lead {
    id: &'static str,
    pub(super) label: &'static str,
    pub(super) about: &'static str,
    /// Its largest value.
    most: f64,
    show: fn(f64) -> String,
    readings: &'static [&'static Reading],
}

/// A cell of the table.
pub(super) struct Shown {
    pub(super) text: String,
    /// What the column sorts by; empty sorts last.
    pub(super) sort: String,
    /// What stands below the figure.
    pub(super) below: Option<String>,
    /// Why there is no figure.
    pub(super) reason: Option<String>,
}

/// A row of the table.
pub(super) struct Row {
    pub(super) rank: String,
    pub(super) name: String,
    pub(super) class: &'static str,
    /// The leading figure in percent of its scale, for the bar.
    pub(super) bar: Option<String>,
    pub(super) figure: String,
    /// What is known of its spread; without a figure, why there is none.
    pub(super) spread: String,
    /// What it rests on.
    pub(super) basis: String,
    pub(super) sort: String,
    pub(super) cells: Vec<Shown>,
    pub(super) verdict: String,
}

/// One measure over all presets of the table.
pub(super) struct Measure {
    pub(super) id: String,
    pub(super) cells: Vec<String>,
}

/// A column between the leading figure and the verdict.
struct Reading {
    label: &'static str,
    about: &'static str,
    /// The measure whose absence says why there is nothing to read.
    id: &'static str,
    read: fn(&PresetRow) -> Option<(f64, String)>,
    below: fn(&PresetRow) -> Option<String>,
}

/// Nothing stands below the figure.
const ALONE: fn(&PresetRow) -> Option<String> = |_| None;

fn read(row: &PresetRow, id: &str, show: fn(f64) -> String) -> Option<(f64, String)> {
    row.number(id).map(|x| (x, show(x)))
}

const RECALL: Reading = Reading {
    label: "recall",
    about: "mean score of the questions, 0 to 1, whatever the whole conversation makes of them",
    id: "recall",
    read: |r| read(r, "recall", number::share),
    below: ALONE,
};
const GONE: Reading = Reading {
    label: "evidence gone",
    about: "share of the questions whose answer stood in messages that are no longer sent in any form",
    id: "evidence_gone",
    read: |r| read(r, "evidence_gone", number::percent),
    below: ALONE,
};
const FACTS: Reading = Reading {
    label: "needed facts kept",
    about: "of the specific things (paths, names, numbers) that the recorded agent went on to use, the share that is still there, 0 to 1",
    id: "reference_recall",
    read: |r| read(r, "reference_recall", number::share),
    below: ALONE,
};
const GAIN: Reading = Reading {
    label: "gain over recency",
    about: "share kept beyond what the newest messages of the same mean size keep",
    id: "recency_gain",
    read: |r| read(r, "recency_gain", number::gain),
    below: ALONE,
};
const PARTLY: Reading = Reading {
    label: "partly kept",
    about: "only the last part of the identifier is left (a file name without its path), or the bare word without what gave it meaning",
    id: "reference_partial",
    read: |r| {
        let partial = r.number("reference_partial")?;
        let sum = partial + r.number("reference_bare")?;
        Some((sum, number::share(sum)))
    },
    below: ALONE,
};
const FOR_GOOD: Reading = Reading {
    label: "lost for good",
    about: "share of the lost facts that never stood in a tool result, so that no tool can fetch them again",
    id: "irrecoverable",
    read: |r| read(r, "irrecoverable", number::share),
    below: ALONE,
};
const REFETCH: Reading = Reading {
    label: "tokens to refetch",
    about: "tokens of the tool results that would have to be read again for the other lost facts",
    id: "refetch_tokens",
    read: |r| read(r, "refetch_tokens", number::tokens),
    below: ALONE,
};
const SENT: Reading = Reading {
    label: "tokens sent",
    about: "all tokens sent, as a multiple of what the whole conversation takes",
    id: "token_savings",
    read: |r| {
        let share = block::token_share(r)?;
        Some((share, number::multiple(share)))
    },
    below: ALONE,
};
const COST: Reading = Reading {
    label: "session cost",
    about: "what the sessions cost with the provider’s prompt cache as it was, compactions included; below it more or less than with the whole conversation. A star: the provider would refuse some of the requests, so nobody would get this bill",
    id: "cost_usd",
    read: |row| {
        let usd = row.number("cost_usd")?;
        let star = if block::overflows(row).is_some() { " *" } else { "" };
        Some((usd, format!("{}{star}", number::dollars(usd))))
    },
    below: |row| {
        let savings = row.number("cost_savings").filter(|_| row.strategy != "full")?;
        Some(number::change(-savings))
    },
};
const WAIT: Reading = Reading {
    label: "wait p95",
    about: "how long the user waits for a compaction, the longest but one of twenty; the model’s time only, modelled unless it was measured",
    id: "blocking_ms_p95",
    read: |r| read(r, "blocking_ms_p95", number::time),
    below: ALONE,
};
const PEAK: Reading = Reading {
    label: "peak",
    about: "tokens of the largest request",
    id: "peak_tokens",
    read: |r| read(r, "peak_tokens", number::tokens),
    below: ALONE,
};
const COMPACTIONS: Reading = Reading {
    label: "compac\u{AD}tions",
    about: "how often the context was compacted",
    id: "compactions",
    read: |r| read(r, "compactions", number::any),
    below: ALONE,
};
const OVER: Reading = Reading {
    label: "over the window",
    about: "requests that the provider would have refused because they do not fit; nothing counts as kept there, controls apart",
    id: "overflows",
    read: |r| {
        let n = r.number("overflows")?;
        Some((n, if n > 0.0 { format!("{}×", number::any(n)) } else { "–".to_owned() }))
    },
    below: ALONE,
};

/// Where rows are ranked by what can be answered.
static BY_PROBES: Lead = Lead {
    id: "continuity",
    label: "continuity",
    about: "0 to 100, more is better: of what the whole conversation answers right, the part that the strategy still answers right, among the questions asked after it had compacted (“exposed”). full stands against itself and is 100: the upper end of the scale. empty, which remembers nothing, is the lower end",
    most: 100.0,
    show: |points| format!("{points:.0}"),
    readings: &[&RECALL, &GONE, &FACTS, &COST, &SENT, &WAIT, &PEAK, &COMPACTIONS, &OVER],
};

/// Where there are no probes.
static BY_REFERENCES: Lead = Lead {
    id: "reference_recall",
    label: "needed facts kept",
    about: "0 to 1, more is better; behind it what is known of its spread. full keeps everything by definition, empty nothing: they are the ends of the scale",
    most: 1.0,
    show: number::share,
    readings: &[
        &GAIN,
        &PARTLY,
        &FOR_GOOD,
        &REFETCH,
        &COST,
        &SENT,
        &WAIT,
        &PEAK,
        &COMPACTIONS,
        &OVER,
    ],
};

/// What leads the tables of a report.
pub(super) fn lead(primary: &str) -> &'static Lead {
    if primary == BY_PROBES.id { &BY_PROBES } else { &BY_REFERENCES }
}

impl Lead {
    /// Headings between the leading figure and the verdict.
    pub(super) fn heads(&self) -> Vec<Head> {
        self.readings.iter().map(|r| Head { label: r.label, about: r.about }).collect()
    }

    /// The rows of a table.
    pub(super) fn rows(&self, rows: &[&PresetRow]) -> Vec<Row> {
        // Said once, below the table.
        let throughout = block::absent_throughout(rows, self.id).is_some();
        rows.iter().map(|row| self.row(row, !throughout)).collect()
    }

    fn row(&self, row: &PresetRow, says_why: bool) -> Row {
        let figure = row.number(self.id);
        let spread = match (row.intervals.get(self.id), row.values.get(self.id)) {
            (Some(interval), _) => self.interval(row, interval),
            (None, Some(Value::Absent(reason))) if says_why => plain::line(reason),
            _ => String::new(),
        };
        let cells = self.readings.iter().map(|reading| match (reading.read)(row) {
            Some((x, text)) => {
                let below = (reading.below)(row);
                Shown { text, sort: sort_key(Some(x)), below, reason: None }
            }
            None => unread(row, reading.id),
        });
        Row {
            rank: row.rank.map_or(String::new(), |rank| rank.to_string()),
            name: plain::line(&row.strategy),
            class: class(row.standing),
            bar: figure.map(|x| format!("{:.1}", (x / self.most).clamp(0.0, 1.0) * 100.0)),
            figure: figure.map_or_else(|| "–".to_owned(), self.show),
            spread,
            basis: self.basis(row),
            sort: sort_key(figure),
            cells: cells.collect(),
            verdict: block::verdict(row),
        }
    }

    /// How much was asked, and how much of it could show a loss.
    fn basis(&self, row: &PresetRow) -> String {
        let (Some(probes), Some(sessions)) = (row.number("probes"), row.number("transcripts"))
        else {
            return String::new();
        };
        if self.id != BY_PROBES.id {
            return String::new();
        }
        let asked = block::counted(probes as usize, "probe");
        let sessions = block::counted(sessions as usize, "session");
        let exposed = row.number("exposed");
        let exposed =
            exposed.map_or(String::new(), |x| format!(", {} exposed", number::percent(x)));
        let graded = row.number("unscored").filter(|missing| *missing > 0.0).map(|missing| {
            // Replicates are averaged.
            format!(" ({} graded)", number::grouped((probes - missing).round() as u64))
        });
        format!("{asked}{}, {sessions}{exposed}", graded.unwrap_or_default())
    }

    fn interval(&self, row: &PresetRow, interval: &Interval) -> String {
        let show = self.show;
        match interval {
            Interval::Dots { values } => {
                let dots: Vec<String> = values.iter().map(|v| show(*v)).collect();
                // One value per cluster: sessions of one project count once.
                let alone = row.number("transcripts") == Some(values.len() as f64);
                let unit = if alone { "sessions" } else { "projects" };
                format!("{unit}: {}", dots.join(", "))
            }
            Interval::ThisSessionOnly { lo, hi } => {
                format!("{}–{}, this session only", show(*lo), show(*hi))
            }
            Interval::Student { lo, hi } | Interval::Wider { lo, hi } => {
                format!("{}–{}", show(*lo), show(*hi))
            }
        }
    }
}

/// A cell without a figure: why. What somebody knows and we do not is unknown.
fn unread(row: &PresetRow, id: &str) -> Shown {
    let reason = match row.values.get(id) {
        Some(Value::Absent(reason)) => Some(plain::line(reason)),
        _ => None,
    };
    let unknown = reason.as_ref().is_some_and(|reason| reason.starts_with("the price of "));
    let text = if unknown { "unknown" } else { "–" }.to_owned();
    Shown { text, sort: String::new(), below: None, reason }
}

/// How the style sheet calls a standing.
pub(super) fn class(standing: Standing) -> &'static str {
    match standing {
        Standing::Ranked => "ranked",
        Standing::Control => "control",
        Standing::StandIn => "stand-in",
    }
}

fn sort_key(x: Option<f64>) -> String {
    x.and_then(number::plain).unwrap_or_default()
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
