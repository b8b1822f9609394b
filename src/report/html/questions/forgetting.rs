//! Forgetting curves: what is still right, by how long ago it was last said
//! (measures §5). Probes and references have a panel each, because a dozen
//! strategies twice over cannot be told apart; a table says the same.

use std::collections::BTreeMap;

use crate::model::{AgeBin, AgeUnit, Forgetting, Report, Standing};
use crate::report::html::highlight::Highlight;
use crate::report::html::questions::forgetting_chart::{self, Line, Point};
use crate::report::html::series::Colors;
use crate::report::packed::packed;
use crate::report::{block, number, plain, svg};
use crate::text::form_for;

/// Fewer than this in a bin say little: its mark is hollow.
pub(in crate::report::html) const FEW: u64 = 10;

/// What is right or wrong, and what its age is counted in.
#[derive(Clone, Copy)]
struct View {
    age: AgeUnit,
    of: Of,
}

#[derive(Clone, Copy, PartialEq)]
enum Of {
    Probes,
    References,
}

/// Every panel, in the order of the page.
const VIEWS: [View; 4] = [
    View { age: AgeUnit::Tokens, of: Of::Probes },
    View { age: AgeUnit::Compactions, of: Of::Probes },
    View { age: AgeUnit::Tokens, of: Of::References },
    View { age: AgeUnit::Compactions, of: Of::References },
];

/// One panel and its table.
pub(in crate::report::html) struct Panel {
    /// For the script.
    pub(in crate::report::html) id: String,
    pub(in crate::report::html) caption: String,
    pub(in crate::report::html) svg: String,
    pub(in crate::report::html) heads: Vec<String>,
    /// Those that are told apart in the drawing.
    pub(in crate::report::html) rows: Vec<(String, Vec<String>)>,
    /// All of them, packed, where there are more.
    pub(in crate::report::html) data: Option<String>,
    /// How many are not listed, with their verb.
    pub(in crate::report::html) others: String,
}

/// The panels of one window.
pub(in crate::report::html) struct Window {
    pub(in crate::report::html) window: String,
    /// What the drawings say of lines without a name.
    pub(in crate::report::html) note: Option<String>,
    pub(in crate::report::html) panels: Vec<Panel>,
}

/// The curves of every window that has one.
pub(in crate::report::html) fn windows(report: &Report, colors: &Colors) -> Vec<Window> {
    let mut labels: Vec<&str> = Vec::new();
    for curve in &report.forgetting {
        if !labels.contains(&curve.window.as_str()) {
            labels.push(&curve.window);
        }
    }
    let highlight = Highlight::new(report, colors);
    let windows = labels.into_iter().enumerate().map(|(at, label)| Window {
        window: block::window(label),
        note: highlight.note(),
        panels: (VIEWS.iter().enumerate())
            .filter_map(|(of, view)| {
                let panel = panel(report, label, *view, colors, &highlight)?;
                Some(Panel { id: format!("{at}-{of}"), ..panel })
            })
            .collect(),
    });
    windows.filter(|window| !window.panels.is_empty()).collect()
}

impl View {
    /// How many there are of an age, and what part of them is right.
    fn read(self, bin: &AgeBin) -> Option<(u64, f64)> {
        match self.of {
            Of::Probes => Some((bin.probes, bin.recall?)),
            Of::References => Some((bin.references, bin.reference_recall?)),
        }
    }

    fn caption(self) -> String {
        let what = match self.of {
            Of::Probes => "Recall of questions",
            Of::References => "Needed facts kept",
        };
        let age = match self.age {
            AgeUnit::Tokens => "tokens since the answer was last said",
            AgeUnit::Compactions => "compactions since the answer was last said",
        };
        match self.of {
            Of::Probes => format!("{what}, by {age}"),
            Of::References => format!("{what}, by {}", age.replace("the answer was", "they were")),
        }
    }
}

fn panel(
    report: &Report,
    window: &str,
    view: View,
    colors: &Colors,
    highlight: &Highlight<'_>,
) -> Option<Panel> {
    let standings: BTreeMap<&str, Standing> =
        report.rows.iter().map(|row| (row.strategy.as_str(), row.standing)).collect();
    let curves: Vec<&Forgetting> =
        (report.forgetting.iter().filter(|c| c.window == window && c.age == view.age))
            .filter(|c| !block::is_null(&c.strategy))
            .collect();
    let bins = curves.iter().flat_map(|c| &c.bins).filter(|bin| view.read(bin).is_some());
    let bins: BTreeMap<u64, Option<u64>> = bins.map(|bin| (bin.from, bin.to)).collect();
    let heads: Vec<String> = bins.iter().map(|(from, to)| age(*from, *to, view.age)).collect();
    let place = |bin: &AgeBin| bins.keys().position(|from| *from == bin.from);
    let point = |bin: &AgeBin| {
        let (n, right) = view.read(bin)?;
        Some(Point { at: place(bin)?, right, n })
    };
    let named = |curve: &Forgetting| highlight.shows(&curve.strategy);
    let lines = curves.iter().map(|curve| Line {
        name: plain::line(&curve.strategy),
        named: named(curve),
        color: if named(curve) { colors.of(&curve.strategy) } else { svg::BEATEN },
        standing: standings.get(curve.strategy.as_str()).copied().unwrap_or(Standing::Control),
        points: curve.bins.iter().filter_map(point).collect(),
    });
    let lines: Vec<Line> = lines.filter(|line| !line.points.is_empty()).collect();
    if lines.is_empty() {
        return None;
    }
    let caption = view.caption();
    let svg = forgetting_chart::panel(&caption, &heads, &lines);
    let row = |line: &Line| (line.name.clone(), cells(line, heads.len()));
    let rows: Vec<_> = lines.iter().filter(|line| line.named).map(row).collect();
    let others = lines.len() - rows.len();
    let data = (others > 0).then(|| packed(&lines.iter().map(row).collect::<Vec<_>>()));
    let others = format!("{} {}", block::counted(others, "other"), form_for(others, "is", "are"));
    Some(Panel { id: String::new(), caption, svg, heads, rows, data, others })
}

fn cells(line: &Line, bins: usize) -> Vec<String> {
    let mut cells = vec!["–".to_owned(); bins];
    for point in &line.points {
        cells[point.at] =
            format!("{} (n {})", number::share(point.right), number::grouped(point.n));
    }
    cells
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
