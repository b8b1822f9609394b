//! Forgetting curves as a drawing: ages across, the share that is right up, a line
//! for each strategy, named in the margin.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::plain;

pub(super) const SIZE: (u32, u32) = (720, 340);
const FONT: f64 = 14.0;
/// Width of the margin for names, and characters of a name in it.
const MARGIN: i32 = 170;
const NAME: usize = 20;
/// Height of a name.
const NAME_HEIGHT: i32 = 16;
/// What a drawing can fail with: nothing, since it goes to memory and every range
/// and size is set in this file.
pub(in crate::html) const DRAWS: &str = "drawing to memory in ranges of our own cannot fail";

/// Replaced by the colour of the page's text, which changes with its theme.
pub(in crate::html) const INK: RGBColor = RGBColor(0x1C, 0x21, 0x28);
/// Visible on light and on dark paper.
pub(in crate::html) const GRID: RGBColor = RGBColor(0x8A, 0x93, 0x9E);

/// Okabe and Ito's palette, in tones that white and dark paper both carry. Lines
/// are named beside them, so colour only tells neighbours apart.
pub(in crate::html) const PALETTE: [RGBColor; 8] = [
    RGBColor(0x1F, 0x83, 0xC2),
    RGBColor(0xC8, 0x6A, 0x12),
    RGBColor(0x14, 0x8F, 0x6C),
    RGBColor(0xB8, 0x5C, 0x90),
    RGBColor(0x96, 0x82, 0x10),
    RGBColor(0x6B, 0x76, 0xBC),
    RGBColor(0xBB, 0x50, 0x50),
    RGBColor(0x46, 0x8F, 0x93),
];

/// A strategy and, for each age, the share that is right.
pub(super) type Line<'a> = (&'a str, Vec<Option<f64>>);

/// What stands inside an `<svg>` of [`SIZE`], its end included; the template names
/// it for screen readers, and the table below it has the numbers.
pub(super) fn draw(ages: &[String], lines: &[Line<'_>]) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let right = (ages.len() as f64 - 0.5).max(0.5);
        let mut chart = ChartBuilder::on(&area)
            .margin(10)
            .margin_right(MARGIN)
            .x_label_area_size(28)
            .y_label_area_size(36)
            .build_cartesian_2d(-0.5..right, -0.02..1.02)
            .expect(DRAWS);
        let font = || ("sans-serif", FONT).into_font().color(&INK);
        let mut mesh = chart.configure_mesh();
        mesh.disable_x_mesh().light_line_style(TRANSPARENT).bold_line_style(GRID);
        mesh.axis_style(GRID).x_labels(0).y_labels(6).label_style(font());
        mesh.y_label_formatter(&|y| format!("{y:.1}")).draw().expect(DRAWS);
        let below = font().pos(Pos::new(HPos::Center, VPos::Top));
        for (at, age) in ages.iter().enumerate() {
            let (x, y) = chart.backend_coord(&(at as f64, -0.02));
            area.draw(&Text::new(age.as_str(), (x, y + 8), below.clone())).expect(DRAWS);
        }
        let mut ends = Vec::new();
        for ((name, shares), color) in lines.iter().zip(PALETTE.iter().cycle()) {
            let points: Vec<(f64, f64)> = (shares.iter().enumerate())
                .filter_map(|(at, share)| Some((at as f64, (*share)?)))
                .collect();
            let marks = points.iter().map(|point| Circle::new(*point, 3, color.filled()));
            chart.draw_series(marks).expect(DRAWS);
            ends.extend(points.last().map(|end| (chart.backend_coord(end), *name, *color)));
            let line = LineSeries::new(points, color.stroke_width(2));
            chart.draw_series(line).expect(DRAWS);
        }
        let (across, down) = chart.plotting_area().get_pixel_range();
        ends.sort_by_key(|((_, y), ..)| *y);
        let heights = spread(ends.iter().map(|((_, y), ..)| *y), down.start, down.end);
        let beside = font().pos(Pos::new(HPos::Left, VPos::Center));
        for ((end, name, color), height) in ends.into_iter().zip(heights) {
            let leader = vec![end, (across.end, end.1), (across.end + 10, height)];
            area.draw(&PathElement::new(leader, color)).expect(DRAWS);
            let name = plain::shortened(&plain::line(name), NAME);
            area.draw(&Text::new(name, (across.end + 14, height), beside.clone())).expect(DRAWS);
        }
        area.present().expect(DRAWS);
    }
    let inside = svg.split_once('>').map_or("", |(_, inside)| inside);
    inside.replace("\"#1C2128\"", "\"currentColor\"")
}

/// Heights at least a name apart, in their order, and inside where there is room.
fn spread(heights: impl Iterator<Item = i32>, top: i32, bottom: i32) -> Vec<i32> {
    let mut out: Vec<i32> = heights.collect();
    let mut least = top;
    for height in &mut out {
        *height = (*height).max(least);
        least = *height + NAME_HEIGHT;
    }
    let mut most = bottom.max(top + (out.len() as i32 - 1) * NAME_HEIGHT);
    for height in out.iter_mut().rev() {
        *height = (*height).min(most);
        most = *height - NAME_HEIGHT;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_a_name_apart_and_inside() {
        let spread = |heights: [i32; 3]| spread(heights.into_iter(), 0, 200);
        assert_eq!(spread([50, 50, 50]), [50, 66, 82]);
        assert_eq!(spread([190, 195, 200]), [168, 184, 200]);
        assert_eq!(spread([10, 100, 180]), [10, 100, 180], "those apart stay where they are");
    }

    #[test]
    fn named_line_joins_ages_that_have_shares() {
        let ages = ["0–2k", "2k–4k", "4k+"].map(str::to_owned);
        let svg = draw(&ages, &[("<b>", vec![Some(1.0), None, Some(0.5)])]);
        assert_eq!(svg.matches("<circle").count(), 2);
        assert_eq!(svg.matches("stroke-width=\"2\"").count(), 1, "one line");
        assert!(svg.contains("&lt;b&gt;") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("currentColor") && !svg.contains("#1C2128"));
    }
}
