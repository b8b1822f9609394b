//! What compacting saves and what it keeps, by size of the context: two
//! fields above each other with the same sizes across.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::advice::named;
use crate::drawing::{DRAWS, GRID, INK, PALETTE};
use crate::number;
use recap_core::model::{Advice, Estimate, RowKind, SizeFigures, StrategyAdvice};

/// Most strategies that are drawn.
const LINES: usize = 4;
/// Share of the height that the dollars take.
const ABOVE: f64 = 0.58;

/// A drawing for a screen or a telephone.
pub(super) struct Picture {
    /// How the style sheet calls it.
    pub class: &'static str,
    pub width: u32,
    pub height: u32,
    /// What stands inside the `<svg>`, its end included.
    pub inside: String,
    pub lines: Vec<Line>,
}

/// A strategy in the legend.
#[derive(Clone)]
pub(super) struct Line {
    pub name: String,
    pub color: String,
}

/// Size of a drawing, and of its words.
struct Frame {
    class: &'static str,
    size: (u32, u32),
    font: f64,
    /// Room for the figures on the left.
    left: u32,
}

const FRAMES: [Frame; 2] = [
    Frame { class: "wide", size: (760, 460), font: 14.0, left: 66 },
    Frame { class: "narrow", size: (360, 440), font: 12.0, left: 54 },
];

/// The drawings; none where no saving is known.
pub(super) fn pictures(advice: &Advice) -> Vec<Picture> {
    let drawn = drawn(advice);
    let mut sizes: Vec<(u64, u64)> =
        drawn.iter().flat_map(|one| &one.sizes).map(|at| (at.from, at.to)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        return Vec::new();
    }
    let color = |color: &RGBColor| format!("#{:02X}{:02X}{:02X}", color.0, color.1, color.2);
    let line =
        |(one, own): (&&StrategyAdvice, &RGBColor)| Line { name: named(one), color: color(own) };
    let lines: Vec<Line> = drawn.iter().zip(&PALETTE).map(line).collect();
    let picture = |frame: &Frame| Picture {
        class: frame.class,
        width: frame.size.0,
        height: frame.size.1,
        inside: draw(frame, &sizes, &drawn),
        lines: lines.clone(),
    };
    FRAMES.iter().map(picture).collect()
}

/// The strategies that are drawn: the one that is shown, then those that save most.
fn drawn(advice: &Advice) -> Vec<&StrategyAdvice> {
    let Some(shown) = advice.shown().filter(|one| one.most_saved().is_some()) else {
        return Vec::new();
    };
    let others = advice.strategies.iter().filter(|one| !std::ptr::eq(*one, shown));
    let mut others: Vec<(&StrategyAdvice, f64)> =
        others.filter_map(|one| Some((one, one.most_saved()?))).collect();
    others.sort_by(|a, b| b.1.total_cmp(&a.1));
    let others = others.into_iter().map(|(one, _)| one);
    [shown].into_iter().chain(others).take(LINES).collect()
}

fn draw(frame: &Frame, sizes: &[(u64, u64)], drawn: &[&StrategyAdvice]) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, frame.size).into_drawing_area();
        let (above, below) = area.split_vertically((f64::from(frame.size.1) * ABOVE) as i32);
        let saved = Field {
            title: "USD saved by compacting",
            figure: |at| at.saving_usd,
            tick: &|y| number::dollars(y),
            range: dollars_range(drawn),
            offline_summaries: true,
        };
        saved.draw(&above, frame, sizes, drawn);
        let kept = Field {
            title: "share of facts kept",
            figure: |at| at.kept,
            tick: &|y| number::percent(y),
            range: (-0.03, 1.03),
            offline_summaries: false,
        };
        kept.draw(&below, frame, sizes, drawn);
        area.present().expect(DRAWS);
    }
    let inside = svg.split_once('>').map_or("", |(_, inside)| inside);
    inside.replace("\"#1C2128\"", "\"currentColor\"")
}

/// The range of the dollars: all means, the range of the first strategy as far as
/// it is not more than twice as long, and zero.
fn dollars_range(drawn: &[&StrategyAdvice]) -> (f64, f64) {
    let all = drawn.iter().flat_map(|one| &one.sizes).filter_map(|at| at.saving_usd);
    let (lo, hi) = all
        .fold((0.0_f64, 0.0_f64), |(lo, hi), saving| (lo.min(saving.value), hi.max(saving.value)));
    let length = (hi - lo).max(1e-6);
    let first = drawn.iter().take(1).flat_map(|one| &one.sizes).filter_map(|at| at.saving_usd);
    let (least, most) = first.fold((lo, hi), |(a, b), saving| (a.min(saving.lo), b.max(saving.hi)));
    let (from, to) = (least.max(lo - length), most.min(hi + length));
    let room = (to - from) * 0.06;
    (from - room, to + room)
}

/// A field with its axes.
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// One of the two fields.
struct Field<'a> {
    title: &'static str,
    figure: fn(&SizeFigures) -> Option<Estimate>,
    tick: &'a dyn Fn(f64) -> String,
    range: (f64, f64),
    /// Whether offline summaries are drawn: what they keep says nothing about the strategy.
    offline_summaries: bool,
}

impl Field<'_> {
    fn draw(
        &self,
        area: &DrawingArea<SVGBackend<'_>, Shift>,
        frame: &Frame,
        sizes: &[(u64, u64)],
        drawn: &[&StrategyAdvice],
    ) {
        let right = sizes.len() as f64 - 0.5;
        let (lo, hi) = self.range;
        let font = || ("sans-serif", frame.font).into_font().color(&INK);
        let mut chart = ChartBuilder::on(area)
            .margin_right(14)
            .margin_top(frame.font as i32 + 12)
            .x_label_area_size(26)
            .y_label_area_size(frame.left)
            .build_cartesian_2d(-0.5..right, lo..hi)
            .expect(DRAWS);
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh().light_line_style(TRANSPARENT).bold_line_style(GRID.mix(0.4));
        mesh.axis_style(GRID).x_labels(0).y_labels(5).label_style(font());
        mesh.y_label_formatter(&|y| (self.tick)(*y)).draw().expect(DRAWS);
        let title = font().pos(Pos::new(HPos::Left, VPos::Top));
        area.draw(&Text::new(self.title, (8, 4), title)).expect(DRAWS);
        let zero = LineSeries::new([(-0.5, 0.0), (right, 0.0)], INK.stroke_width(1));
        chart.draw_series(zero).expect(DRAWS);
        let below = font().pos(Pos::new(HPos::Center, VPos::Top));
        let (left, top) = area.get_base_pixel();
        for (at, (from, _)) in sizes.iter().enumerate() {
            let (x, y) = chart.backend_coord(&(at as f64, lo));
            let words = match from {
                0 => "<4k".to_owned(),
                from => format!("{}+", number::tokens(*from as f64)),
            };
            area.draw(&Text::new(words, (x - left, y - top + 7), below.clone())).expect(DRAWS);
        }
        // The first strategy last, so that it lies on top.
        for (place, (one, color)) in drawn.iter().zip(&PALETTE).enumerate().rev() {
            if self.offline_summaries || one.row_kind != RowKind::OfflineSummary {
                self.line(&mut chart, one, sizes, *color, place == 0);
            }
        }
    }

    /// The line of a strategy; that of the first one is thick and has ranges.
    fn line(
        &self,
        chart: &mut Chart<'_, '_>,
        strategy: &StrategyAdvice,
        sizes: &[(u64, u64)],
        color: RGBColor,
        is_first: bool,
    ) {
        let (lo, hi) = self.range;
        let known = strategy.sizes.iter().filter_map(|at| {
            let across = sizes.iter().position(|size| *size == (at.from, at.to))?;
            Some((across as f64, (self.figure)(at)?))
        });
        let known: Vec<(f64, Estimate)> = known.collect();
        for (x, figure) in known.iter().filter(|_| is_first) {
            let (from, to) = (figure.lo.max(lo), figure.hi.min(hi));
            let bar = PathElement::new(vec![(*x, from), (*x, to)], color.stroke_width(2));
            chart.draw_series([bar]).expect(DRAWS);
        }
        let points: Vec<(f64, f64)> = known.iter().map(|(x, figure)| (*x, figure.value)).collect();
        let (width, radius) = if is_first { (3, 5) } else { (1, 3) };
        let marks = points.iter().map(|point| Circle::new(*point, radius, color.filled()));
        chart.draw_series(marks).expect(DRAWS);
        let line = LineSeries::new(points, color.stroke_width(width));
        chart.draw_series(line).expect(DRAWS);
    }
}
