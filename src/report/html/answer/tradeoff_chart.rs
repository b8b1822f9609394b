//! The one chart, drawn (measures §8): quality against dollars or tokens, with
//! intervals, the ends of the scale, and what plain recency keeps.

use std::fmt::Write;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::model::{Interval, Standing};
use crate::report::html::answer::labels::{self, Label};
use crate::report::html::answer::{Against, Point, Series, frontier, is_scale};
use crate::report::html::series::{self, Shape};
use crate::report::html::table::Lead;
use crate::report::svg::{self, Area, Chart, DRAWS};
use crate::report::{block, plain};

const SIZE: (u32, u32) = (820, 480);
const FONT: f64 = 13.0;
const RADIUS: i32 = 6;
/// Radius of those that are not named.
const SMALL: i32 = 4;
/// Characters of a name in the chart.
const NAME: usize = 36;
/// Lines up to which each has its name, grey or not.
const NAMED: usize = 16;
/// How far apart the ends are from which a scale is logarithmic.
const WIDE: f64 = 10.0;

/// The horizontal scale.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    /// In powers of ten.
    log: bool,
    /// Ends, as drawn.
    from: f64,
    to: f64,
}

impl Scale {
    /// Logarithmic where the points lie more than ten times apart.
    fn new(xs: &[f64]) -> Scale {
        let least = xs.iter().copied().fold(f64::INFINITY, f64::min);
        let most = xs.iter().copied().fold(0.0, f64::max);
        if least > 0.0 && most > WIDE * least {
            let room = (most / least).log10() * 0.05;
            return Scale { log: true, from: least.log10() - room, to: most.log10() + room };
        }
        Scale { log: false, from: 0.0, to: most.max(1e-6) * 1.08 }
    }

    /// Where a value stands; nothing below the start of a logarithmic scale.
    fn at(self, x: f64) -> Option<f64> {
        let at = if self.log { x.log10() } else { x };
        (at.is_finite() && at >= self.from && at <= self.to).then_some(at)
    }

    /// Round values of a logarithmic scale: 1, 2 and 5 in every power of ten, or
    /// the powers alone where there are many.
    fn ticks(self) -> Vec<f64> {
        let steps: &[f64] = if self.to - self.from > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let powers = self.from.floor() as i32..=self.to.ceil() as i32;
        let all = powers.flat_map(|power| steps.iter().map(move |s| s * 10f64.powi(power)));
        all.filter(|x| self.at(*x).is_some()).collect()
    }
}

/// Draws the series of one data set and payer; nothing where none of them is
/// more than an end of the scale.
pub(in crate::report::html) fn chart(
    all: &[Series<'_>],
    lead: &Lead,
    against: &Against,
    recency: &[(f64, f64)],
) -> Option<String> {
    let drawn = all.iter().filter(|s| !is_scale(s.row));
    let xs: Vec<f64> = drawn.flat_map(|s| &s.points).map(|p| p.x).collect();
    if xs.is_empty() {
        return None;
    }
    let scale = Scale::new(&xs);
    let label = format!("{} of every preset against {}", lead.label, against.words);
    let mut titles = String::from("<g class=\"hover\">");
    let mut svg = svg::draw(SIZE, &label, |area| {
        let mut drawing = Drawing::new(area, lead, against, scale);
        drawing.recency(recency);
        drawing.all(all);
        titles += &drawing.titles;
        drawing.names();
    });
    titles += "</g></svg>";
    let end = svg.rfind("</svg>").expect("a drawing ends");
    svg.replace_range(end..end + 6, &titles);
    Some(svg)
}

/// A chart in the making.
struct Drawing<'a, 'b> {
    area: &'a Area<'b>,
    chart: Chart<'a, 'b>,
    lead: &'a Lead,
    against: &'a Against,
    scale: Scale,
    labels: Vec<Label>,
    /// What names must not cover.
    taken: Vec<labels::Rectangle>,
    /// What the pointer reads, as markup.
    titles: String,
}

impl<'a, 'b> Drawing<'a, 'b> {
    fn new(area: &'a Area<'b>, lead: &'a Lead, against: &'a Against, scale: Scale) -> Self {
        let mut chart = ChartBuilder::on(area)
            .margin(12)
            .margin_right(20)
            .x_label_area_size(48)
            .y_label_area_size(56)
            .build_cartesian_2d(
                scale.from..scale.to,
                -0.06 * lead.primary.most()..1.12 * lead.primary.most(),
            )
            .expect(DRAWS);
        let (show, show_x) = (lead.show, against.show);
        let words = |x: &f64| if scale.log { String::new() } else { show_x(*x) };
        let axis = if scale.log {
            format!("{} (logarithmic)", against.axis)
        } else {
            against.axis.to_owned()
        };
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(if scale.log {
                TRANSPARENT.stroke_width(1)
            } else {
                svg::GRID.stroke_width(1)
            })
            .axis_style(svg::GRID)
            .x_desc(axis)
            .y_desc(lead.label)
            .x_labels(6)
            .y_labels(6)
            .x_label_formatter(&words)
            .y_label_formatter(&|y| show(*y))
            .label_style(svg::font(FONT, svg::MUTED))
            .axis_desc_style(svg::font(FONT, svg::INK))
            .draw()
            .expect(DRAWS);
        let (labels, taken) = (Vec::new(), Vec::new());
        let mut drawing =
            Drawing { area, chart, lead, against, scale, labels, taken, titles: String::new() };
        if scale.log {
            drawing.ticks();
        }
        drawing
    }

    /// Lines and words of a logarithmic scale.
    fn ticks(&mut self) {
        let (_, down) = self.chart.plotting_area().get_pixel_range();
        let style = svg::font(FONT, svg::MUTED).pos(Pos::new(HPos::Center, VPos::Top));
        for tick in self.scale.ticks() {
            let Some((x, _)) = self.pixel(tick, 0.0) else { continue };
            let line = vec![(x, down.start), (x, down.end)];
            self.area.draw(&PathElement::new(line, svg::GRID)).expect(DRAWS);
            let words = (self.against.show)(tick);
            self.area.draw(&Text::new(words, (x, down.end + 8), style.clone())).expect(DRAWS);
        }
    }

    fn pixel(&self, x: f64, y: f64) -> Option<(i32, i32)> {
        Some(self.chart.backend_coord(&(self.scale.at(x)?, y)))
    }

    fn line(&mut self, points: &[(f64, f64)], style: ShapeStyle) {
        let points: Vec<(f64, f64)> =
            points.iter().filter_map(|(x, y)| Some((self.scale.at(*x)?, *y))).collect();
        self.chart.draw_series(LineSeries::new(points, style)).expect(DRAWS);
    }

    /// What the newest tokens alone keep.
    fn recency(&mut self, points: &[(f64, f64)]) {
        self.line(points, svg::MUTED.stroke_width(2));
        let pixels: Vec<(i32, i32)> =
            points.iter().filter_map(|(x, y)| self.pixel(*x, *y)).collect();
        let along = pixels.windows(2).flat_map(|ends| labels::along(ends[0], ends[1]));
        self.taken.extend(along);
        if points.len() > 1 && !pixels.is_empty() {
            let ends = pixels.into_iter().rev().collect();
            self.labels.push(Label::beside("plain recency".to_owned(), ends, FONT));
        }
    }

    /// The ends of the scale, then those in grey, then those to look at.
    fn all(&mut self, all: &[Series<'_>]) {
        let best = frontier(all);
        self.line(&best, svg::WHOLE.stroke_width(7));
        let pixels: Vec<(i32, i32)> = best.iter().filter_map(|p| self.pixel(p.0, p.1)).collect();
        self.taken.extend(pixels.windows(2).flat_map(|ends| labels::along(ends[0], ends[1])));
        for series in all.iter().filter(|s| is_scale(s.row)) {
            self.end_of_scale(series);
        }
        let mut drawn: Vec<&Series<'_>> = all.iter().filter(|s| !is_scale(s.row)).collect();
        // Where names are short of room, those in colour choose first.
        drawn.sort_by_key(|series| series.look.is_some());
        let few = drawn.len() <= NAMED;
        let mut labels = Vec::new();
        for series in drawn {
            let label = self.series(series);
            labels.extend(label.filter(|_| few || named(series)));
        }
        self.labels.extend(labels.into_iter().rev());
    }

    fn end_of_scale(&mut self, series: &Series<'_>) {
        let y = series.points[0].y;
        let line = [(self.scale.from, y), (self.scale.to, y)];
        self.chart.draw_series(LineSeries::new(line, svg::LIMIT.stroke_width(1))).expect(DRAWS);
        let ends = line.map(|point| self.chart.backend_coord(&point));
        self.taken.extend(labels::along(ends[0], ends[1]));
        let name = format!("{} ({})", block::label(series.row), (self.lead.show)(y));
        let across = (ends[0].0 + 4, ends[1].0 - 4);
        self.labels.push(Label::on_line(name, across, ends[0].1, FONT));
    }

    /// Draws a line and returns its name.
    fn series(&mut self, series: &Series<'_>) -> Option<Label> {
        let standing = series.row.standing;
        let control = standing == Standing::Control;
        let grey = if control { svg::LIMIT } else { svg::BEATEN };
        let (color, shape) = series.look.unwrap_or((grey, Shape::Circle));
        let named = named(series);
        let line: Vec<(f64, f64)> = series.points.iter().map(|p| (p.x, p.y)).collect();
        self.line(&line, color.stroke_width(if named { 2 } else { 1 }));
        let mut pixels = Vec::new();
        for point in &series.points {
            let Some(pixel) = self.pixel(point.x, point.y) else { continue };
            if named && standing == Standing::Ranked {
                self.spread(point, pixel.0, color);
            }
            let radius = if named { RADIUS } else { SMALL };
            series::shape(self.area, pixel, radius, color, (standing, shape), point.over);
            self.title(series, point, pixel);
            self.taken.push(labels::around(pixel, radius + 1));
            pixels.push(pixel);
        }
        if pixels.is_empty() {
            return None;
        }
        if named {
            self.taken.extend(pixels.windows(2).flat_map(|ends| labels::along(ends[0], ends[1])));
        }
        let more = match series.names.len() {
            1 => String::new(),
            n => format!(" and {} alike", n - 1),
        };
        let name = format!("{}{more}", plain::shortened(&series.names[0], NAME));
        Some(Label::beside(name, pixels.into_iter().rev().collect(), FONT))
    }

    /// What is known of a figure's spread: a bar with caps, one without for a
    /// single session, rings for few.
    fn spread(&mut self, point: &Point<'_>, x: i32, color: RGBColor) {
        let y = |value: f64| {
            self.pixel(point.x, value.clamp(0.0, self.lead.primary.most())).map(|p| p.1)
        };
        let bar = |from: (i32, i32), to: (i32, i32)| {
            self.area.draw(&PathElement::new(vec![from, to], color)).expect(DRAWS);
        };
        let mut taken = Vec::new();
        match (point.spread, point.spread.and_then(Interval::bounds)) {
            (Some(Interval::Dots { values }), _) => {
                for y in values.iter().filter_map(|v| y(*v)) {
                    self.area.draw(&Circle::new((x, y), 2, color.stroke_width(1))).expect(DRAWS);
                    taken.push(labels::around((x, y), 3));
                }
            }
            (Some(interval), Some((lo, hi))) => {
                let (Some(lo), Some(hi)) = (y(lo), y(hi)) else { return };
                bar((x, lo), (x, hi));
                if !matches!(interval, Interval::ThisSessionOnly { .. }) {
                    bar((x - 4, lo), (x + 4, lo));
                    bar((x - 4, hi), (x + 4, hi));
                }
                taken.extend(labels::along((x, lo), (x, hi)));
            }
            _ => {}
        }
        self.taken.extend(taken);
    }

    fn title(&mut self, series: &Series<'_>, point: &Point<'_>, (x, y): (i32, i32)) {
        let show = self.lead.show;
        let spread = match point.spread.and_then(Interval::bounds) {
            Some((lo, hi)) => format!(" ({}–{})", show(lo), show(hi)),
            None => String::new(),
        };
        let over = if point.over { "; over the window" } else { "" };
        let words = format!(
            "{} at {}: {} {}{spread}, {}{over}",
            series.names.join(", "),
            block::at(point.window),
            self.lead.label,
            show(point.y),
            (self.against.show)(point.x)
        );
        write!(
            self.titles,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"9\"><title>{}</title></circle>",
            plain::content(&words, 400)
        )
        .expect("a string takes everything");
    }

    fn names(self) {
        let plot = self.chart.plotting_area().get_pixel_range();
        let bounds = (plot.0.start..plot.0.end + 8, plot.1.start - 8..plot.1.end + 8);
        labels::place(self.area, &self.labels, self.taken, &bounds, FONT);
    }
}

/// Whether a line is large, with its spread, and always has its name.
fn named(series: &Series<'_>) -> bool {
    series.look.is_some() || series.row.standing == Standing::Control
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_is_logarithmic_where_its_points_lie_more_than_ten_times_apart() {
        assert!(!Scale::new(&[1.0, 10.0]).log);
        let scale = Scale::new(&[3.0, 130.0]);
        assert!(scale.log);
        assert_eq!(scale.ticks(), [5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!(!Scale::new(&[0.0, 130.0]).log, "nothing has no logarithm");
    }

    #[test]
    fn over_many_powers_of_ten_only_they_are_named() {
        assert_eq!(Scale::new(&[2.0, 3_000.0]).ticks(), [10.0, 100.0, 1_000.0]);
    }

    #[test]
    fn what_does_not_fit_on_the_scale_is_not_drawn_beside_it() {
        let scale = Scale::new(&[3.0, 130.0]);
        assert_eq!(scale.at(0.0), None);
        assert_eq!(scale.at(100.0), Some(2.0));
    }
}
