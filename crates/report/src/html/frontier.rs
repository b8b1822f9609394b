//! What each setting of a search keeps against its bill, as a drawing.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::number;
use recap_core::model::{Tuned, TunedHalf, TunedSetting};

const SIZE: (u32, u32) = (760, 420);
const FONT: f64 = 14.0;
/// Dark text and grey lines, visible on the white paper of the drawing in both themes.
const INK: RGBColor = RGBColor(0x1C, 0x21, 0x28);
const GRID: RGBColor = RGBColor(0x8A, 0x93, 0x9E);
/// The frontier, the author's setting, and all others.
const FRONTIER: RGBColor = RGBColor(0x1F, 0x83, 0xC2);
const AUTHOR: RGBColor = RGBColor(0xC8, 0x6A, 0x12);
const OTHER: RGBColor = RGBColor(0xB0, 0xB6, 0xBE);

/// What a drawing can fail with: nothing, since it goes to memory and every range and size is set
/// in this file.
const DRAWS: &str = "drawing to memory in ranges of our own cannot fail";

/// A setting by its number, with dollars and what is kept.
type Point<'a> = (usize, &'a TunedSetting, f64, f64);

/// The settings by the half that chooses, as an SVG drawing: those on the frontier are joined; the
/// author's and the recommended one are named and have bars, 95 % intervals of what is kept.
/// `None` where fewer than two settings have both figures.
pub(super) fn svg(tuned: &Tuned) -> Option<String> {
    let has_facts = tuned.settings.iter().any(|one| one.choosing.kept.is_some());
    let kept = |half: &TunedHalf| if has_facts { half.kept } else { half.answers };
    let point = |(at, one): (usize, &'_ TunedSetting)| {
        Some((one.choosing.usd?, kept(&one.choosing)?.value)).map(|(x, y)| (at, x, y))
    };
    let all = tuned.settings.iter().enumerate().filter_map(point);
    let mut points: Vec<Point<'_>> =
        all.map(|(at, x, y)| (at, &tuned.settings[at], x, y)).collect();
    if points.len() < 2 {
        return None;
    }
    let most = points.iter().map(|point| point.2).reduce(f64::max)?;
    let least = points.iter().map(|point| point.2).reduce(f64::min)?;
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
        let what = if has_facts { "facts kept" } else { "answers" };
        mesh.label_style(font()).x_desc("bill, what is lost fetched again").y_desc(what);
        mesh.x_label_formatter(&|x| number::dollars(*x)).draw().expect(DRAWS);
        let on = points.iter().filter(|(_, one, ..)| one.frontier);
        let mut frontier: Vec<(f64, f64)> = on.map(|(_, _, x, y)| (*x, *y)).collect();
        frontier.sort_by(|a, b| a.0.total_cmp(&b.0));
        chart.draw_series(LineSeries::new(frontier, FRONTIER.stroke_width(2))).expect(DRAWS);
        // What matters most is drawn last.
        points.sort_by_key(|(at, one, ..)| (*at == 0, *at == tuned.recommended, one.frontier));
        let beside = font().pos(Pos::new(HPos::Left, VPos::Bottom));
        for (at, one, x, y) in &points {
            let color = match (*at, one.frontier) {
                (0, _) => AUTHOR,
                (_, true) => FRONTIER,
                (_, false) => OTHER,
            };
            let named = *at == 0 || *at == tuned.recommended;
            let range = kept(&one.choosing).and_then(|kept| kept.lo.zip(kept.hi));
            let bar = range
                .filter(|_| named)
                .map(|(lo, hi)| PathElement::new(vec![(*x, lo), (*x, hi)], color));
            chart.draw_series(bar).expect(DRAWS);
            let radius = if *at == tuned.recommended { 8 } else { 5 };
            chart.draw_series([Circle::new((*x, *y), radius, color.filled())]).expect(DRAWS);
            let (across, down) = chart.backend_coord(&(*x, *y));
            // The author's name stands below its point: the recommended one is often close by.
            let below = if *at == 0 { 20 } else { -4 };
            if named {
                let name = if *at == 0 { "the author's" } else { "recommended" };
                let text = Text::new(name, (across + 7, down + below), beside.clone());
                area.draw(&text).expect(DRAWS);
            }
        }
        area.present().expect(DRAWS);
    }
    // On a narrow page it becomes smaller, and who hears the page is told what it shows.
    let label = "what each setting keeps, against its bill: the table below has the figures";
    let fitting = format!(
        "<svg role=\"img\" aria-label=\"{label}\" preserveAspectRatio=\"xMinYMin\" width=\"100%\""
    );
    let svg = svg.replacen("<svg width=\"760\"", &fitting, 1);
    Some(format!("<figure>{svg}</figure>"))
}
