//! Reference recall against tokens sent: a point per preset and window, named
//! where it stands (`measures` §8).

use std::collections::BTreeMap;

use plotters::prelude::*;

use super::labels::{self, Label};
use crate::model::{PresetRow, Standing};
use crate::report::svg::{self, Area, DRAWS};
use crate::report::{block, number, plain};

const SIZE: (u32, u32) = (760, 460);
const FONT: f64 = 13.0;
const RADIUS: i32 = 6;
/// Characters of a name in the chart.
const NAME: usize = 36;

/// Okabe and Ito's palette, darkened where white paper needs it; lines are
/// named beside them, so colour only tells neighbours apart.
const PALETTE: [RGBColor; 6] = [
    RGBColor(0x00, 0x6B, 0xA6),
    RGBColor(0xB3, 0x54, 0x00),
    RGBColor(0x00, 0x7A, 0x5A),
    RGBColor(0xA2, 0x4A, 0x7C),
    RGBColor(0x7A, 0x66, 0x00),
    RGBColor(0x4B, 0x57, 0x9E),
];

struct Series<'a> {
    row: &'a PresetRow,
    /// Share of `full`'s tokens, recall, whether requests overflow.
    points: Vec<(f64, f64, bool)>,
}

/// Draws the rows of one data set over all its windows; nothing where no row
/// holds both figures.
pub(super) fn chart(rows: &[&PresetRow]) -> Option<String> {
    let series = series(rows);
    if !series.iter().any(|s| !is_scale(s.row)) {
        return None;
    }
    let right = series.iter().flat_map(|s| &s.points).map(|p| p.0).fold(1.0, f64::max) * 1.08;
    let label = "Reference recall of every preset against the share of tokens that it sends";
    Some(svg::draw(SIZE, label, |area| draw(area, &series, right)))
}

fn series<'a>(rows: &[&'a PresetRow]) -> Vec<Series<'a>> {
    let mut by_name: BTreeMap<&str, Series<'a>> = BTreeMap::new();
    for row in rows {
        let (Some(share), Some(recall)) = (block::token_share(row), row.number("reference_recall"))
        else {
            continue;
        };
        let over = block::overflows(row).is_some();
        let series = by_name.entry(&row.strategy).or_insert(Series { row, points: Vec::new() });
        series.points.push((share, recall, over));
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

fn draw(area: &Area<'_>, all: &[Series<'_>], right: f64) {
    let mut chart = ChartBuilder::on(area)
        .margin(12)
        .margin_right(20)
        .x_label_area_size(48)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..right, -0.03..1.06)
        .expect(DRAWS);
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(svg::GRID)
        .axis_style(svg::GRID)
        .x_desc("tokens sent, as a share of the whole conversation")
        .y_desc("needed facts kept")
        .x_labels(6)
        .y_labels(6)
        .x_label_formatter(&|x| format!("{:.0} %", x * 100.0))
        .y_label_formatter(&|y| format!("{y:.1}"))
        .label_style(svg::font(FONT, svg::MUTED))
        .axis_desc_style(svg::font(FONT, svg::INK))
        .draw()
        .expect(DRAWS);
    let mut labels = Vec::new();
    let mut taken = Vec::new();
    for (at, series) in all.iter().enumerate() {
        let pixels: Vec<(i32, i32)> =
            series.points.iter().map(|p| chart.backend_coord(&(p.0, p.1))).collect();
        if is_scale(series.row) {
            let y = series.points[0].1;
            let line = [(0.0, y), (right, y)];
            chart.draw_series(LineSeries::new(line, svg::LIMIT.stroke_width(1))).expect(DRAWS);
            let ends = [0.0, right].map(|x| chart.backend_coord(&(x, y)));
            taken.extend(labels::along(ends[0], ends[1]));
            let text = format!("{} ({})", block::label(series.row), number::share(y));
            labels.push(Label::on_line(text, (ends[0].0 + 4, ends[1].0 - 4), ends[0].1, FONT));
            continue;
        }
        let color = match series.row.standing {
            Standing::Control => svg::LIMIT,
            Standing::Ranked | Standing::StandIn => PALETTE[at % PALETTE.len()],
        };
        let line = series.points.iter().map(|p| (p.0, p.1));
        taken.extend(pixels.windows(2).flat_map(|ends| labels::along(ends[0], ends[1])));
        chart.draw_series(LineSeries::new(line, color.stroke_width(2))).expect(DRAWS);
        for (&pixel, point) in pixels.iter().zip(&series.points) {
            mark(area, pixel, color, series.row.standing, point.2);
            taken.push(labels::around(pixel, RADIUS + 1));
        }
        let last = *pixels.last().expect("a series has a point");
        let name = plain::shortened(&block::label(series.row), NAME);
        labels.push(Label::beside(name, last, FONT));
    }
    let plot = chart.plotting_area().get_pixel_range();
    let bounds = (plot.0.start..plot.0.end + 8, plot.1.start - 8..plot.1.end + 8);
    labels::place(area, &labels, taken, &bounds, FONT);
}

/// Filled: ranked. Hollow: over the window. Hatched: stand-in. Grey: control.
fn mark(area: &Area<'_>, at: (i32, i32), color: RGBColor, standing: Standing, over: bool) {
    let fill = match standing {
        _ if over => svg::PAPER,
        Standing::StandIn => svg::HATCH,
        Standing::Ranked | Standing::Control => color,
    };
    area.draw(&Circle::new(at, RADIUS, fill.filled())).expect(DRAWS);
    area.draw(&Circle::new(at, RADIUS, color.stroke_width(2))).expect(DRAWS);
}
