//! The leading figure (continuity, or reference recall) against tokens sent: a
//! point per preset and window, named where it stands (`measures` §8).

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::labels::{self, Label};
use super::series::{Colors, mark};
use crate::model::{PresetRow, Standing};
use crate::report::svg::{self, Area, Chart, DRAWS};
use crate::report::{block, plain};

const SIZE: (u32, u32) = (760, 460);
const FONT: f64 = 13.0;
const RADIUS: i32 = 6;
/// Characters of a name in the chart.
const NAME: usize = 36;

struct Series<'a> {
    row: &'a PresetRow,
    /// Share of `full`'s tokens, leading figure, whether requests overflow.
    points: Vec<(f64, f64, bool)>,
}

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
    label: "Continuity of every preset against the share of tokens that it sends",
    most: 100.0,
    show: |points| format!("{points:.0}"),
};
const REFERENCES: Figure = Figure {
    id: "reference_recall",
    axis: "needed facts kept",
    label: "Reference recall of every preset against the share of tokens that it sends",
    most: 1.0,
    show: |share| format!("{share:.1}"),
};

/// Draws the rows of one data set over all its windows; nothing where no row
/// holds both figures.
pub(super) fn chart(rows: &[&PresetRow], primary: &str, colors: &Colors) -> Option<String> {
    let figure = if primary == CONTINUITY.id { CONTINUITY } else { REFERENCES };
    let series = series(rows, figure.id);
    if !series.iter().any(|s| !is_scale(s.row)) {
        return None;
    }
    let right = series.iter().flat_map(|s| &s.points).map(|p| p.0).fold(1.0, f64::max) * 1.08;
    Some(svg::draw(SIZE, figure.label, |area| draw(area, &series, right, &figure, colors)))
}

fn series<'a>(rows: &[&'a PresetRow], id: &str) -> Vec<Series<'a>> {
    let mut by_name: BTreeMap<&str, Series<'a>> = BTreeMap::new();
    for row in rows {
        let (Some(share), Some(kept)) = (block::token_share(row), row.number(id)) else {
            continue;
        };
        let over = block::overflows(row).is_some();
        let series = by_name.entry(&row.strategy).or_insert(Series { row, points: Vec::new() });
        series.points.push((share, kept, over));
    }
    let mut all: Vec<Series<'a>> = by_name.into_values().collect();
    for series in &mut all {
        series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    all
}

/// `full` and `empty` are the ends of the scale and drawn as lines.
fn is_scale(row: &PresetRow) -> bool {
    row.standing == Standing::Control && matches!(row.strategy.as_str(), "full" | "empty")
}

fn draw(area: &Area<'_>, all: &[Series<'_>], right: f64, figure: &Figure, colors: &Colors) {
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .margin_right(20)
        .x_label_area_size(48)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..right, -0.06 * figure.most..1.12 * figure.most)
        .expect(DRAWS);
    axes(&mut chart, figure);
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

fn axes(chart: &mut Chart<'_, '_>, figure: &Figure) {
    let show = figure.show;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(svg::GRID)
        .axis_style(svg::GRID)
        .x_desc("tokens sent, as a share of the whole conversation")
        .y_desc(figure.axis)
        .x_labels(6)
        .y_labels(6)
        .x_label_formatter(&|x| format!("{:.0} %", x * 100.0))
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
    let y = series.points[0].1;
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
        series.points.iter().map(|p| chart.backend_coord(&(p.0, p.1))).collect();
    let line = series.points.iter().map(|p| (p.0, p.1));
    chart.draw_series(LineSeries::new(line, color.stroke_width(2))).expect(DRAWS);
    words.taken.extend(pixels.windows(2).flat_map(|ends| labels::along(ends[0], ends[1])));
    for (&pixel, point) in pixels.iter().zip(&series.points) {
        mark(area, pixel, RADIUS, color, series.row.standing, point.2);
        words.taken.push(labels::around(pixel, RADIUS + 1));
    }
    let name = plain::shortened(&block::label(series.row), NAME);
    words.labels.push(Label::beside(name, pixels.into_iter().rev().collect(), FONT));
}
