//! `frontier.svg`: what each setting keeps against its dollars.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::drawing::{DRAWS, GRID, INK};
use crate::number;
use recap_core::model::{Tuned, TunedSetting, TunedStatus};

const SIZE: (u32, u32) = (760, 460);
const FONT: f64 = 14.0;
/// The frontier, the author's setting, and all others.
const FRONTIER: RGBColor = RGBColor(0x1F, 0x83, 0xC2);
const AUTHOR: RGBColor = RGBColor(0xC8, 0x6A, 0x12);
const OTHER: RGBColor = RGBColor(0xB0, 0xB6, 0xBE);

/// Width and height of a setting's number, in pixels.
const LABEL: (i32, i32) = (20, 12);

/// A setting with both figures.
type Point<'a> = (&'a TunedSetting, f64, f64);

/// The settings as an SVG drawing: those on the frontier are joined, the
/// author's and the recommended one are named, and these have bars, 95 %
/// intervals of what is kept. A number that would cover another is left out.
/// `None` where no setting has both figures.
pub fn tuned_svg(tuned: &Tuned) -> Option<String> {
    let point = |setting: &'_ TunedSetting| Some((setting.usd?.mean, setting.kept?.mean));
    let mut points: Vec<Point<'_>> = tuned
        .settings
        .iter()
        .filter_map(|setting| point(setting).map(|(x, y)| (setting, x, y)))
        .collect();
    let most = points.iter().map(|(_, x, _)| *x).reduce(f64::max)?;
    let least = points.iter().map(|(_, x, _)| *x).reduce(f64::min)?;
    // All in one point still need a scale.
    let room = ((most - least) * 0.1).max(most * 0.02).max(1e-6);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE).expect(DRAWS);
        let mut chart = ChartBuilder::on(&area)
            .margin(14)
            .x_label_area_size(44)
            .y_label_area_size(52)
            .build_cartesian_2d((least - room).max(0.0)..most + room, 0.0..1.0)
            .expect(DRAWS);
        let font = || ("sans-serif", FONT).into_font().color(&INK);
        let mut mesh = chart.configure_mesh();
        mesh.light_line_style(TRANSPARENT).bold_line_style(GRID.mix(0.4)).axis_style(GRID);
        mesh.label_style(font()).x_desc("dollars a session").y_desc("facts kept");
        mesh.x_label_formatter(&|x| number::dollars(*x)).draw().expect(DRAWS);
        let mut frontier: Vec<(f64, f64)> = points
            .iter()
            .filter(|(setting, ..)| setting.status == TunedStatus::Frontier)
            .map(|(_, x, y)| (*x, *y))
            .collect();
        frontier.sort_by(|a, b| a.0.total_cmp(&b.0));
        chart.draw_series(LineSeries::new(frontier, FRONTIER.stroke_width(2))).expect(DRAWS);
        let beside = font().pos(Pos::new(HPos::Left, VPos::Bottom));
        // What matters most is drawn last and named first.
        points.sort_by_key(|(setting, ..)| rank(tuned, setting));
        for (setting, x, y) in &points {
            let color = color(setting);
            let range = setting.kept.and_then(|kept| kept.lo.zip(kept.hi));
            let range = range.filter(|_| color != OTHER);
            let bar = range.map(|(lo, hi)| PathElement::new(vec![(*x, lo), (*x, hi)], color));
            chart.draw_series(bar).expect(DRAWS);
            let radius = if tuned.recommended == Some(setting.number) { 8 } else { 5 };
            chart.draw_series([Circle::new((*x, *y), radius, color.filled())]).expect(DRAWS);
        }
        let mut named: Vec<(i32, i32)> = Vec::new();
        for (setting, x, y) in points.iter().rev() {
            let (across, down) = chart.backend_coord(&(*x, *y));
            let covers = |other: &(i32, i32)| {
                (other.0 - across).abs() < LABEL.0 && (other.1 - down).abs() < LABEL.1
            };
            let is_main = rank(tuned, setting) > 1;
            if named.iter().any(covers) && !is_main {
                continue;
            }
            // The author's name stands below its point, since the recommended
            // setting is often close by.
            let below = if setting.number == 0 { 20 } else { -4 };
            let name = Text::new(name(tuned, setting), (across + 7, down + below), beside.clone());
            area.draw(&name).expect(DRAWS);
            named.push((across, down));
        }
        area.present().expect(DRAWS);
    }
    Some(svg)
}

fn color(setting: &TunedSetting) -> RGBColor {
    match (setting.number, setting.status) {
        (0, _) => AUTHOR,
        (_, TunedStatus::Frontier) => FRONTIER,
        _ => OTHER,
    }
}

/// How much a reader looks for a setting.
fn rank(tuned: &Tuned, setting: &TunedSetting) -> u8 {
    match (setting.number, setting.status) {
        (0, _) => 3,
        (number, _) if tuned.recommended == Some(number) => 2,
        (_, TunedStatus::Frontier) => 1,
        _ => 0,
    }
}

fn name(tuned: &Tuned, setting: &TunedSetting) -> String {
    let number = setting.number;
    match (number, tuned.recommended == Some(number)) {
        (0, true) => "0, the author's, is recommended".to_owned(),
        (0, false) => "0, the author's".to_owned(),
        (_, true) => format!("{number}, recommended"),
        (_, false) => number.to_string(),
    }
}
