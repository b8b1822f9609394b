//! The leading figure (continuity, or reference recall) against dollars, or
//! against tokens sent: a point per preset and window, named where it stands, and
//! a line through those that no other one beats in both (`measures` §8).

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::labels::{self, Label};
use super::series::{Colors, mark};
use crate::model::{PresetRow, Standing};
use crate::report::svg::{self, Area, Chart, DRAWS};
use crate::report::{block, number, plain};

const SIZE: (u32, u32) = (760, 460);
const FONT: f64 = 13.0;
const RADIUS: i32 = 6;
/// Characters of a name in the chart.
const NAME: usize = 36;

struct Series<'a> {
    row: &'a PresetRow,
    points: Vec<Point>,
}

/// One window of a preset.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    /// Dollars, or share of `full`'s tokens.
    x: f64,
    /// The leading figure.
    y: f64,
    /// Whether requests overflow.
    over: bool,
    /// Whether another one is as good for less, or better for as much.
    dominated: bool,
}

/// What quality is held against.
pub(super) struct Against {
    words: &'static str,
    axis: &'static str,
    read: fn(&PresetRow) -> Option<f64>,
    show: fn(f64) -> String,
    /// The scale reaches at least this far.
    least: f64,
}

/// What the sessions cost, compactions included.
pub(super) static DOLLARS: Against = Against {
    words: "what its sessions cost",
    axis: "cost of all sessions, compactions included",
    read: |row| row.number("cost_usd"),
    show: number::dollars,
    least: 1e-6,
};
/// What is sent.
pub(super) static TOKENS: Against = Against {
    words: "the share of tokens that it sends",
    axis: "tokens sent, as a share of the whole conversation",
    read: block::token_share,
    show: number::percent,
    least: 1.0,
};

/// The figure that leads the table.
struct Figure {
    id: &'static str,
    axis: &'static str,
    label: &'static str,
    /// Its largest value.
    most: f64,
    show: fn(f64) -> String,
}

const CONTINUITY: Figure = Figure {
    id: "continuity",
    axis: "continuity",
    label: "Continuity of every preset",
    most: 100.0,
    show: |points| format!("{points:.0}"),
};
const REFERENCES: Figure = Figure {
    id: "reference_recall",
    axis: "needed facts kept",
    label: "Reference recall of every preset",
    most: 1.0,
    show: |share| format!("{share:.1}"),
};

/// Draws the rows of one data set and payer over all windows; nothing where no
/// row holds both figures.
pub(super) fn chart(
    rows: &[&PresetRow],
    primary: &str,
    against: &Against,
    colors: &Colors,
) -> Option<String> {
    let figure = if primary == CONTINUITY.id { CONTINUITY } else { REFERENCES };
    let series = series(rows, figure.id, against);
    if !series.iter().any(|s| !is_scale(s.row)) {
        return None;
    }
    let points = series.iter().flat_map(|s| &s.points);
    let right = points.map(|p| p.x).fold(against.least, f64::max) * 1.08;
    let label = format!("{} against {}", figure.label, against.words);
    Some(svg::draw(SIZE, &label, |area| draw(area, &series, right, (&figure, against), colors)))
}

fn series<'a>(rows: &[&'a PresetRow], id: &str, against: &Against) -> Vec<Series<'a>> {
    let mut by_name: BTreeMap<&str, Series<'a>> = BTreeMap::new();
    for row in rows {
        let (Some(x), Some(y)) = ((against.read)(row), row.number(id)) else {
            continue;
        };
        let over = block::overflows(row).is_some();
        let series = by_name.entry(&row.strategy).or_insert(Series { row, points: Vec::new() });
        series.points.push(Point { x, y, over, dominated: false });
    }
    let mut all: Vec<Series<'a>> = by_name.into_values().collect();
    let rivals: Vec<Point> = all.iter().flat_map(rivals).collect();
    for series in &mut all {
        series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        for point in &mut series.points {
            point.dominated = rivals.iter().any(|rival| beats(rival, point));
        }
    }
    all
}

/// Points that compete: stand-ins measure something else, a control is no
/// choice, and what a provider would refuse is none either.
fn rivals<'a>(series: &'a Series<'_>) -> impl Iterator<Item = Point> + 'a {
    let ranked = series.row.standing == Standing::Ranked;
    series.points.iter().filter(move |point| ranked && !point.over).copied()
}

fn beats(a: &Point, b: &Point) -> bool {
    a.x <= b.x && a.y >= b.y && (a.x < b.x || a.y > b.y)
}

/// Whether any ranked row may stand on the frontier.
pub(super) fn has_frontier(rows: &[&PresetRow], primary: &str) -> bool {
    let mut ranked = rows.iter().filter(|row| row.standing == Standing::Ranked);
    ranked.any(|row| block::overflows(row).is_none() && row.number(primary).is_some())
}

/// Those that no other one beats, from the cheapest on.
fn frontier(all: &[Series<'_>]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> =
        all.iter().flat_map(rivals).filter(|p| !p.dominated).map(|p| (p.x, p.y)).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// `full` and `empty` are the ends of the scale and drawn as lines.
fn is_scale(row: &PresetRow) -> bool {
    row.standing == Standing::Control && matches!(row.strategy.as_str(), "full" | "empty")
}

fn draw(
    area: &Area<'_>,
    all: &[Series<'_>],
    right: f64,
    (figure, against): (&Figure, &Against),
    colors: &Colors,
) {
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .margin_right(20)
        .x_label_area_size(48)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..right, -0.06 * figure.most..1.12 * figure.most)
        .expect(DRAWS);
    axes(&mut chart, figure, against);
    let frontier = LineSeries::new(frontier(all), svg::WHOLE.stroke_width(7));
    chart.draw_series(frontier).expect(DRAWS);
    let mut words = Words { labels: Vec::new(), taken: Vec::new() };
    for series in all {
        if is_scale(series.row) {
            draw_scale(&mut chart, &mut words, series, right, figure);
            continue;
        }
        let color = colors.of(&series.row.strategy);
        draw_series(area, &mut chart, &mut words, series, color);
    }
    let plot = chart.plotting_area().get_pixel_range();
    let bounds = (plot.0.start..plot.0.end + 8, plot.1.start - 8..plot.1.end + 8);
    labels::place(area, &words.labels, words.taken, &bounds, FONT);
}

/// Names to place, and what they must not cover.
struct Words {
    labels: Vec<Label>,
    taken: Vec<labels::Rectangle>,
}

fn axes(chart: &mut Chart<'_, '_>, figure: &Figure, against: &Against) {
    let (show, show_x) = (figure.show, against.show);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(svg::GRID)
        .axis_style(svg::GRID)
        .x_desc(against.axis)
        .y_desc(figure.axis)
        .x_labels(6)
        .y_labels(6)
        .x_label_formatter(&|x| show_x(*x))
        .y_label_formatter(&|y| show(*y))
        .label_style(svg::font(FONT, svg::MUTED))
        .axis_desc_style(svg::font(FONT, svg::INK))
        .draw()
        .expect(DRAWS);
}

fn draw_scale(
    chart: &mut Chart<'_, '_>,
    words: &mut Words,
    series: &Series<'_>,
    right: f64,
    figure: &Figure,
) {
    let y = series.points[0].y;
    let line = [(0.0, y), (right, y)];
    chart.draw_series(LineSeries::new(line, svg::LIMIT.stroke_width(1))).expect(DRAWS);
    let ends = [0.0, right].map(|x| chart.backend_coord(&(x, y)));
    words.taken.extend(labels::along(ends[0], ends[1]));
    let name = format!("{} ({})", block::label(series.row), (figure.show)(y));
    words.labels.push(Label::on_line(name, (ends[0].0 + 4, ends[1].0 - 4), ends[0].1, FONT));
}

fn draw_series(
    area: &Area<'_>,
    chart: &mut Chart<'_, '_>,
    words: &mut Words,
    series: &Series<'_>,
    color: RGBColor,
) {
    let pixels: Vec<(i32, i32)> =
        series.points.iter().map(|p| chart.backend_coord(&(p.x, p.y))).collect();
    let line = series.points.iter().map(|p| (p.x, p.y));
    chart.draw_series(LineSeries::new(line, color.stroke_width(2))).expect(DRAWS);
    words.taken.extend(pixels.windows(2).flat_map(|ends| labels::along(ends[0], ends[1])));
    for (&pixel, point) in pixels.iter().zip(&series.points) {
        let standing = series.row.standing;
        let beaten = standing == Standing::Ranked && point.dominated && !point.over;
        let color = if beaten { svg::BEATEN } else { color };
        mark(area, pixel, RADIUS, color, standing, point.over);
        words.taken.push(labels::around(pixel, RADIUS + 1));
    }
    let name = plain::shortened(&block::label(series.row), NAME);
    words.labels.push(Label::beside(name, pixels.into_iter().rev().collect(), FONT));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Value;
    use crate::report::testkit::Kit;

    #[test]
    fn the_frontier_joins_what_nothing_beats_and_no_stand_in_and_nothing_refused() {
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
        let rows: Vec<&PresetRow> = report.rows.iter().collect();
        let all = series(&rows, "reference_recall", &DOLLARS);
        // fifo costs more than prune and keeps less; continuation is a stand-in.
        assert_eq!(frontier(&all), [(2.0, 0.3), (4.0, 0.8)]);
        let fifo = all.iter().find(|s| s.row.strategy == "fifo").unwrap();
        assert!(fifo.points[0].dominated);

        let mut refused = report.clone();
        let prune = refused.rows.iter_mut().find(|r| r.strategy == "prune").unwrap();
        prune.values.insert("overflows".to_owned(), Value::Known(3.0));
        let rows: Vec<&PresetRow> = refused.rows.iter().collect();
        let all = series(&rows, "reference_recall", &DOLLARS);
        assert_eq!(frontier(&all), [(2.0, 0.3), (5.0, 0.7)]);
    }

    #[test]
    fn without_a_price_there_are_no_dollars_to_draw() {
        let mut report = Kit::default().report();
        for row in &mut report.rows {
            row.values.insert("cost_usd".to_owned(), Value::Absent("no price".to_owned()));
        }
        let rows: Vec<&PresetRow> = report.rows.iter().collect();
        let colors = Colors::new(&report);
        assert!(chart(&rows, "reference_recall", &DOLLARS, &colors).is_none());
        assert!(chart(&rows, "reference_recall", &TOKENS, &colors).is_some());
    }
}
