//! What goes into the one chart (measures §8): a line per preset through its
//! windows, quality against dollars or against tokens, and who is beaten there.

pub(in crate::report::html) mod labels;
pub(in crate::report::html) mod tradeoff_chart;

use std::collections::BTreeMap;

use plotters::prelude::RGBColor;

use crate::model::{Interval, Measure, PresetRow, Primary, Report, Standing, Value, catalogue};
use crate::report::html::series::{self, Colors, Shape};
use crate::report::html::table;
use crate::report::{block, number, plain};

/// The chart of one data set and payer over all windows.
pub(in crate::report::html) struct Chart {
    pub(in crate::report::html) id: String,
    /// Data set and payer, as the filters number them.
    pub(in crate::report::html) keys: (usize, usize),
    pub(in crate::report::html) name: String,
    /// Against dollars, or why there are none.
    pub(in crate::report::html) dollars: Result<String, String>,
    pub(in crate::report::html) tokens: String,
    /// What sizes are, in few words.
    pub(in crate::report::html) sizes: &'static str,
    /// Whether any ranked row may be on the frontier.
    pub(in crate::report::html) frontier: bool,
    /// Whether plain recency is drawn.
    pub(in crate::report::html) recency: bool,
}

/// A preset, or several that are alike in every point.
pub(in crate::report::html) struct Series<'a> {
    pub(in crate::report::html) row: &'a PresetRow,
    pub(in crate::report::html) names: Vec<String>,
    pub(in crate::report::html) points: Vec<Point<'a>>,
    /// Colour and mark; grey where others are worth more attention.
    pub(in crate::report::html) look: Option<(RGBColor, Shape)>,
}

/// One window of a preset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::report::html) struct Point<'a> {
    pub(in crate::report::html) window: &'a str,
    /// Dollars, or mean tokens of a request.
    pub(in crate::report::html) x: f64,
    /// The leading figure.
    pub(in crate::report::html) y: f64,
    /// What is known of its spread.
    pub(in crate::report::html) spread: Option<&'a Interval>,
    /// Whether requests overflow.
    pub(in crate::report::html) over: bool,
    /// Whether another one is as good for less, or better for as much.
    pub(in crate::report::html) dominated: bool,
}

/// What quality is held against.
pub(in crate::report::html) struct Against {
    pub(in crate::report::html) words: &'static str,
    pub(in crate::report::html) axis: &'static str,
    /// What the switch between the charts says.
    short: &'static str,
    read: fn(&PresetRow) -> Option<f64>,
    pub(in crate::report::html) show: fn(f64) -> String,
}

/// What the sessions cost, compactions included.
pub(in crate::report::html) static DOLLARS: Against = Against {
    words: "what its sessions cost",
    axis: "cost of all sessions, compactions included",
    short: "dollars",
    read: |row| row.number(catalogue::COST_USD),
    show: number::dollars,
};
/// What is sent right behind a cut: where quality is looked at there, so is size.
static TOKENS_AT_CUTS: Against = Against {
    words: "the tokens of its first prompt after a cut",
    axis: "tokens of the first prompt after a cut, 1 = without compaction",
    short: "tokens after the cut",
    read: |row| row.number(catalogue::TOKENS_AT_CUT),
    show: number::multiple,
};
/// What is sent.
static TOKENS: Against = Against {
    words: "the mean tokens of its requests",
    axis: "mean tokens of a request",
    short: "mean tokens",
    read: |row| row.number(catalogue::MEAN_TOKENS),
    show: number::tokens,
};

/// One chart per data set and payer, over all windows.
pub(in crate::report::html) fn charts(
    report: &Report,
    blocks: &[block::Block<'_>],
    colors: &Colors,
) -> Vec<Chart> {
    let mut keys: Vec<(&str, &str)> = Vec::new();
    for block in blocks {
        if !keys.contains(&(block.dataset, block.agent_model)) {
            keys.push((block.dataset, block.agent_model));
        }
    }
    let names = crate::report::html::Names::new(blocks);
    let each = keys.into_iter().enumerate().filter_map(|(at, key)| {
        let mine: Vec<_> = blocks.iter().filter(|b| (b.dataset, b.agent_model) == key).collect();
        let rows: Vec<&PresetRow> = mine.iter().flat_map(|b| b.rows.iter().copied()).collect();
        let lead = table::lead(report.primary);
        let plain_recency =
            report.recency.iter().find(|c| c.dataset == key.0 && c.measure == lead.primary);
        let curve = plain_recency.map_or(&[][..], |curve| &curve.points);
        let chart = |against, curve| {
            let all = series(&rows, lead.primary.measure(), against, colors);
            tradeoff_chart::chart(&all, lead, against, curve)
        };
        let sizes = if lead.primary == Primary::KeptAtCut { &TOKENS_AT_CUTS } else { &TOKENS };
        let tokens = chart(sizes, curve)?;
        let block = mine.first()?;
        let payer = block::payer(report, block);
        let payer = payer.map_or(String::new(), |payer| format!(", {payer}"));
        let (_, dataset, agent_model) = names.keys(block);
        Some(Chart {
            id: format!("tradeoff-{at}"),
            keys: (dataset, agent_model),
            name: format!("{}{payer}", plain::line(key.0)),
            dollars: chart(&DOLLARS, &[]).ok_or_else(|| no_dollars(&rows)),
            tokens,
            sizes: sizes.short,
            frontier: has_frontier(&rows, lead.primary),
            recency: curve.len() > 1,
        })
    });
    each.collect()
}

/// Why sessions have no cost.
fn no_dollars(rows: &[&PresetRow]) -> String {
    let reason = rows.iter().find_map(|row| match row.values.get(catalogue::COST_USD.id) {
        Some(Value::Absent(reason)) => Some(plain::line(reason)),
        _ => None,
    });
    reason.unwrap_or_else(|| "the run has no bill".to_owned())
}

/// The lines of a chart, with those who are beaten and the colours of the others.
pub(in crate::report::html) fn series<'a>(
    rows: &[&'a PresetRow],
    quality: &Measure,
    against: &Against,
    colors: &Colors,
) -> Vec<Series<'a>> {
    let mut by_name: BTreeMap<&str, Series<'a>> = BTreeMap::new();
    for row in rows {
        let (Some(x), Some(y)) = ((against.read)(row), row.number(quality)) else {
            continue;
        };
        let over = block::overflows(row).is_some();
        let spread = row.intervals.get(quality.id);
        let series = by_name.entry(&row.strategy).or_insert_with(|| Series {
            row,
            names: vec![block::label(row)],
            points: Vec::new(),
            look: None,
        });
        series.points.push(Point { window: &row.window, x, y, spread, over, dominated: false });
    }
    let mut all = alike(by_name.into_values());
    let rivals: Vec<Point<'_>> = all.iter().flat_map(rivals).collect();
    for series in &mut all {
        series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        for point in &mut series.points {
            point.dominated = rivals.iter().any(|rival| beats(rival, point));
        }
    }
    color(&mut all, colors);
    all
}

/// One series for presets of one standing that stand in the very same points.
fn alike<'a>(each: impl Iterator<Item = Series<'a>>) -> Vec<Series<'a>> {
    let mut all: Vec<Series<'a>> = Vec::new();
    for series in each {
        let same = |other: &&mut Series<'_>| {
            let standing = other.row.standing == series.row.standing;
            standing && !is_scale(other.row) && other.points == series.points
        };
        match all.iter_mut().find(same) {
            Some(other) => other.names.extend(series.names),
            None => all.push(series),
        }
    }
    all
}

/// Colours: for everybody where they suffice, else for those that have a point
/// that nothing beats. No colour stands for two in one chart.
fn color(all: &mut [Series<'_>], colors: &Colors) {
    let wanted = |series: &Series<'_>| series.row.standing != Standing::Control;
    let enough = all.iter().filter(|s| wanted(s)).count() <= series::PALETTE.len();
    let mut shapes = Shape::ALL.into_iter().cycle();
    let mut taken: Vec<RGBColor> = Vec::new();
    for series in all.iter_mut().filter(|s| wanted(s)) {
        let best = rivals(series).any(|point| !point.dominated);
        if !(enough || best) {
            continue;
        }
        let own = colors.of(&series.row.strategy);
        let free = |color: &RGBColor| !taken.contains(color);
        let Some(color) = [own].into_iter().chain(series::PALETTE).find(free) else { return };
        taken.push(color);
        series.look = shapes.next().map(|shape| (color, shape));
    }
}

/// Points that compete: stand-ins measure something else, a control is no
/// choice, and what a provider would refuse is none either.
pub(in crate::report::html) fn rivals<'a>(series: &Series<'a>) -> impl Iterator<Item = Point<'a>> {
    let ranked = series.row.standing == Standing::Ranked;
    series.points.clone().into_iter().filter(move |point| ranked && !point.over)
}

fn beats(a: &Point<'_>, b: &Point<'_>) -> bool {
    a.x <= b.x && a.y >= b.y && (a.x < b.x || a.y > b.y)
}

/// Whether any ranked row may stand on the frontier.
fn has_frontier(rows: &[&PresetRow], primary: Primary) -> bool {
    let mut ranked = rows.iter().filter(|row| row.standing == Standing::Ranked);
    ranked.any(|row| block::overflows(row).is_none() && row.number(primary.measure()).is_some())
}

/// Those that no other one beats, from the cheapest on.
pub(in crate::report::html) fn frontier(all: &[Series<'_>]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        all.iter().flat_map(rivals).filter(|p| !p.dominated).map(|p| (p.x, p.y)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// `full` and `empty` are the ends of the scale and drawn as lines.
pub(in crate::report::html) fn is_scale(row: &PresetRow) -> bool {
    row.standing == Standing::Control && matches!(row.strategy.as_str(), "full" | "empty")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testkit::Kit;

    fn priced() -> Report {
        let mut report = Kit { windows: vec!["200k"], ..Kit::default() }.report();
        let mut set = |name: &str, usd: f64, kept: f64, over: f64| {
            let row = report.rows.iter_mut().find(|r| r.strategy == name).unwrap();
            for (id, x) in [("cost_usd", usd), ("reference_recall", kept), ("overflows", over)] {
                row.values.insert(id.to_owned(), Value::Known(x));
            }
        };
        set("prune", 4.0, 0.8, 0.0);
        set("sliding-window", 2.0, 0.3, 0.0);
        set("fifo", 5.0, 0.7, 0.0);
        set("continuation", 1.0, 0.9, 0.0);
        report
    }

    fn lines<'a>(report: &'a Report) -> Vec<Series<'a>> {
        let rows: Vec<&PresetRow> = report.rows.iter().collect();
        series(&rows, catalogue::REFERENCE_RECALL, &DOLLARS, &Colors::new(report))
    }

    #[test]
    fn the_frontier_joins_what_nothing_beats_and_no_stand_in_and_nothing_refused() {
        let mut report = priced();
        let all = lines(&report);
        // fifo costs more than prune and keeps less; continuation is a stand-in.
        assert_eq!(frontier(&all), [(2.0, 0.3), (4.0, 0.8)]);
        let fifo = all.iter().find(|s| s.row.strategy == "fifo").unwrap();
        assert!(fifo.points[0].dominated);

        let prune = report.rows.iter_mut().find(|r| r.strategy == "prune").unwrap();
        prune.values.insert("overflows".to_owned(), Value::Known(3.0));
        assert_eq!(frontier(&lines(&report)), [(2.0, 0.3), (5.0, 0.7)]);
    }

    #[test]
    fn presets_in_the_very_same_points_are_one_line() {
        let mut report = priced();
        let mut twin = report.rows.iter().find(|r| r.strategy == "prune").unwrap().clone();
        twin.strategy = "prune-too".to_owned();
        report.rows.push(twin);
        let all = lines(&report);
        let prune = all.iter().find(|s| s.row.strategy == "prune").unwrap();
        assert_eq!(prune.names, ["prune", "prune-too"]);
        assert!(all.iter().all(|s| s.row.strategy != "prune-too"));
    }

    #[test]
    fn no_colour_stands_for_two_and_with_too_many_the_beaten_are_grey() {
        let mut report = priced();
        let fifo = report.rows.iter().find(|r| r.strategy == "fifo").unwrap().clone();
        for n in 0..9 {
            let mut row = fifo.clone();
            row.strategy = format!("worse-{n}");
            row.values.insert("cost_usd".to_owned(), Value::Known(6.0 + f64::from(n)));
            report.rows.push(row);
        }
        let all = lines(&report);
        let mut seen: Vec<RGBColor> = all.iter().filter_map(|s| Some(s.look?.0)).collect();
        let colored = seen.len();
        seen.dedup();
        assert_eq!((colored, seen.len()), (2, 2), "prune and sliding-window alone");
    }

    #[test]
    fn without_a_price_there_are_no_dollars_to_draw() {
        let mut report = Kit::default().report();
        for row in &mut report.rows {
            row.values.insert("cost_usd".to_owned(), Value::Absent("no price".to_owned()));
        }
        let blocks = block::blocks(&report);
        let charts = charts(&report, &blocks, &Colors::new(&report));
        assert_eq!(charts[0].dollars, Err("no price".to_owned()));
        assert!(charts[0].tokens.contains("<svg"));
    }
}
