//! Forgetting curves: what is still right, by how long ago it was last said
//! (reference §5). The first ones are drawn; all are packed for the script, which
//! writes a table of each.

use std::collections::BTreeMap;

use serde::Serialize;

use super::curve;
use crate::{block, number, packed, plain};
use recap_core::model::{AgeBin, AgeUnit, Forgetting, Report};

/// What is right or wrong, and what its age is counted in.
struct View {
    age: AgeUnit,
    title: &'static str,
    /// How many there are of an age, and what part of them is right.
    read: fn(&AgeBin) -> Option<(u64, f64)>,
}

/// Every table, in the order of the page.
const VIEWS: [View; 4] = [
    View {
        age: AgeUnit::Tokens,
        title: "Recall of questions, by tokens since the answer was last said",
        read: |bin| Some((bin.questions, bin.recall?)),
    },
    View {
        age: AgeUnit::Compactions,
        title: "Recall of questions, by compactions since the answer was last said",
        read: |bin| Some((bin.questions, bin.recall?)),
    },
    View {
        age: AgeUnit::Tokens,
        title: "Needed facts kept, by tokens since they were last said",
        read: |bin| Some((bin.references, bin.reference_recall?)),
    },
    View {
        age: AgeUnit::Compactions,
        title: "Needed facts kept, by compactions since they were last said",
        read: |bin| Some((bin.references, bin.reference_recall?)),
    },
];

/// Share that is right and how many there are, where there are any.
type Cell = Option<(f64, u64)>;

/// One table.
#[derive(Serialize)]
struct Table {
    title: String,
    heads: Vec<String>,
    /// Each strategy by its name.
    rows: Vec<(String, Vec<Cell>)>,
}

/// Curves that are drawn.
const DRAWN: usize = 2;

/// The curves of every window.
pub(super) struct Curves {
    /// Title and drawing.
    pub(super) drawn: Vec<(String, String)>,
    /// The tables, packed.
    pub(super) packed: String,
}

/// The curves of a report; nothing where there are none.
pub(super) fn curves(report: &Report) -> Option<Curves> {
    let tables = tables(report);
    let drawn = |table: &Table| {
        let share = |cell: &Cell| cell.map(|(share, _)| share);
        let lines = table.rows.iter();
        let lines = lines.map(|(name, cells)| (&**name, cells.iter().map(share).collect()));
        let lines: Vec<curve::Line<'_>> = lines.collect();
        (table.title.clone(), curve::draw(&table.heads, &lines))
    };
    (!tables.is_empty()).then(|| Curves {
        drawn: tables.iter().take(DRAWN).map(drawn).collect(),
        packed: packed::packed(&tables),
    })
}

fn tables(report: &Report) -> Vec<Table> {
    let mut windows: Vec<&str> = Vec::new();
    for curve in &report.forgetting {
        if !windows.contains(&curve.window.as_str()) {
            windows.push(&curve.window);
        }
    }
    let each = windows.iter().flat_map(|window| VIEWS.iter().map(move |view| (*window, view)));
    each.filter_map(|(window, view)| table(report, window, view)).collect()
}

fn table(report: &Report, window: &str, view: &View) -> Option<Table> {
    let curves: Vec<&Forgetting> = (report.forgetting.iter())
        .filter(|c| {
            c.window == window && c.age == view.age && !block::is_without_summary(&c.strategy)
        })
        .collect();
    let bins = curves.iter().flat_map(|c| &c.bins).filter(|bin| (view.read)(bin).is_some());
    let bins: BTreeMap<u64, Option<u64>> = bins.map(|bin| (bin.from, bin.to)).collect();
    let cell = |curve: &Forgetting, from: u64| {
        let (n, share) = (view.read)(curve.bins.iter().find(|bin| bin.from == from)?)?;
        Some((number::rounded(share)?, n))
    };
    let row = |curve: &&Forgetting| {
        let cells = bins.keys().map(|from| cell(curve, *from)).collect();
        (plain::line(&curve.strategy), cells)
    };
    (!bins.is_empty()).then(|| Table {
        title: format!("{}, {}", view.title, block::titled(window)),
        heads: bins.iter().map(|(from, to)| age(*from, *to, view.age)).collect(),
        rows: curves.iter().map(row).collect(),
    })
}

/// A bin as people write it: `2k–4k`, `64k+`, `3–4`, `0`.
fn age(from: u64, to: Option<u64>, unit: AgeUnit) -> String {
    let show = |n: u64| match unit {
        AgeUnit::Tokens if n >= 1_000 && n.is_multiple_of(1_000) => format!("{}k", n / 1_000),
        AgeUnit::Tokens | AgeUnit::Compactions => n.to_string(),
    };
    match (to, unit) {
        (None, _) => format!("{}+", show(from)),
        (Some(to), AgeUnit::Tokens) => format!("{}–{}", show(from), show(to)),
        (Some(to), AgeUnit::Compactions) if to == from + 1 => from.to_string(),
        (Some(to), AgeUnit::Compactions) => format!("{from}–{}", to - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_named_by_what_falls_into_them() {
        assert_eq!(age(0, Some(2_000), AgeUnit::Tokens), "0–2k");
        assert_eq!(age(64_000, None, AgeUnit::Tokens), "64k+");
        assert_eq!(age(2, Some(3), AgeUnit::Compactions), "2");
        assert_eq!(age(9, Some(17), AgeUnit::Compactions), "9–16");
        assert_eq!(age(17, None, AgeUnit::Compactions), "17+");
    }
}
