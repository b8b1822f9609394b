//! One panel of a forgetting curve: bins of age across, what is right up, a
//! line per strategy, named in the margin.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::model::Standing;
use crate::report::html::questions::forgetting::FEW;
use crate::report::html::series::mark;
use crate::report::svg::{self, Area, Chart, DRAWS};
use crate::report::{number, plain};

const WIDTH: u32 = 640;
const FONT: f64 = 14.0;
const RADIUS: i32 = 4;
/// Height of a name in the margin.
const NAME_HEIGHT: i32 = 17;
/// Width of the margin, and characters of a name in it.
const MARGIN: i32 = 178;
const NAME: usize = 20;
/// Height of what stands under the plot: bins, and how many are in them.
const FOOT: i32 = 58;

/// What one strategy still knows.
pub(in crate::report::html) struct Line {
    pub(in crate::report::html) name: String,
    pub(in crate::report::html) color: RGBColor,
    pub(in crate::report::html) standing: Standing,
    /// Whether it has its colour and its name.
    pub(in crate::report::html) named: bool,
    /// By age.
    pub(in crate::report::html) points: Vec<Point>,
}

/// One bin of a line.
pub(in crate::report::html) struct Point {
    /// Position of the bin.
    pub(in crate::report::html) at: usize,
    /// Share that is right.
    pub(in crate::report::html) right: f64,
    /// Of how many.
    pub(in crate::report::html) n: u64,
}

/// Draws the panel.
pub(in crate::report::html) fn panel(label: &str, bins: &[String], lines: &[Line]) -> String {
    let names = lines.iter().filter(|l| l.named).count() as i32 * NAME_HEIGHT;
    let height = (names + FOOT + 24).max(300) as u32;
    svg::draw((WIDTH, height), label, |area| draw(area, bins, lines))
}

fn draw(area: &Area<'_>, bins: &[String], lines: &[Line]) {
    let right = (bins.len() as f64 - 0.5).max(0.5);
    let mut chart = ChartBuilder::on(area)
        .margin(8)
        .margin_right(MARGIN)
        .x_label_area_size(FOOT)
        .y_label_area_size(36)
        .build_cartesian_2d(-0.5..right, -0.04..1.04)
        .expect(DRAWS);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(svg::GRID)
        .axis_style(svg::GRID)
        .x_labels(0)
        .y_labels(6)
        .y_label_formatter(&|y| format!("{y:.1}"))
        .label_style(svg::font(FONT, svg::MUTED))
        .draw()
        .expect(DRAWS);
    foot(area, &chart, bins, lines);
    // Controls first and those without a name, so that nothing lies under them.
    let ranks = |line: &&Line| line.standing != Standing::Control && line.named;
    for line in lines.iter().filter(|l| !ranks(l)).chain(lines.iter().filter(ranks)) {
        draw_line(area, &mut chart, line);
    }
    margin(area, &chart, lines);
}

fn draw_line(area: &Area<'_>, chart: &mut Chart<'_, '_>, line: &Line) {
    let width = if line.standing == Standing::Control || !line.named { 1 } else { 2 };
    let points = line.points.iter().map(|p| (p.at as f64, p.right));
    chart.draw_series(LineSeries::new(points, line.color.stroke_width(width))).expect(DRAWS);
    if !line.named {
        return;
    }
    for point in &line.points {
        let at = chart.backend_coord(&(point.at as f64, point.right));
        mark(area, at, RADIUS, line.color, line.standing, point.n < FEW);
    }
}

/// The bins, and how many are in each: the fewest and the most of any line.
fn foot(area: &Area<'_>, chart: &Chart<'_, '_>, bins: &[String], lines: &[Line]) {
    let style = |color| svg::font(FONT, color).pos(Pos::new(HPos::Center, VPos::Top));
    let (left, y) = chart.backend_coord(&(-0.5, -0.04));
    area.draw(&Text::new("n", (left - 14, y + 28), style(svg::MUTED))).expect(DRAWS);
    for (at, bin) in bins.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(at as f64, -0.04));
        area.draw(&Text::new(bin.as_str(), (x, y + 8), style(svg::INK))).expect(DRAWS);
        let counts = lines.iter().flat_map(|l| &l.points).filter(|p| p.at == at).map(|p| p.n);
        let fewest = counts.clone().min().unwrap_or(0);
        let most = counts.max().unwrap_or(0);
        let words = if fewest == most {
            number::grouped(most)
        } else {
            format!("{}–{}", number::grouped(fewest), number::grouped(most))
        };
        area.draw(&Text::new(words, (x, y + 28), style(svg::MUTED))).expect(DRAWS);
    }
}

/// The names, each as near to the end of its line as the others leave room.
fn margin(area: &Area<'_>, chart: &Chart<'_, '_>, lines: &[Line]) {
    let (across, down) = chart.plotting_area().get_pixel_range();
    let mut ends: Vec<((i32, i32), &Line)> = lines
        .iter()
        .filter(|line| line.named)
        .filter_map(|line| {
            let last = line.points.last()?;
            Some((chart.backend_coord(&(last.at as f64, last.right)), line))
        })
        .collect();
    ends.sort_by_key(|((_, y), _)| *y);
    let heights: Vec<i32> = ends.iter().map(|((_, y), _)| *y).collect();
    let left = across.end + 14;
    let style = |color| svg::font(FONT, color).pos(Pos::new(HPos::Left, VPos::Center));
    for (((x, y), line), height) in ends.iter().zip(spread(&heights, down.start, down.end)) {
        let leader = vec![(*x, *y), (across.end - 2, *y), (left - 3, height)];
        area.draw(&PathElement::new(leader, svg::GRID)).expect(DRAWS);
        area.draw(&Circle::new((left + 4, height), RADIUS, line.color.filled())).expect(DRAWS);
        let name = plain::shortened(&line.name, NAME);
        area.draw(&Text::new(name, (left + 13, height), style(svg::INK))).expect(DRAWS);
    }
}

/// Heights at least a name apart, in order, and inside where there is room.
pub(in crate::report::html) fn spread(heights: &[i32], top: i32, bottom: i32) -> Vec<i32> {
    let mut out = heights.to_vec();
    let mut least = top;
    for height in &mut out {
        *height = (*height).max(least);
        least = *height + NAME_HEIGHT;
    }
    let mut most = bottom.max(top + (heights.len() as i32 - 1) * NAME_HEIGHT);
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
        assert_eq!(spread(&[50, 50, 50], 0, 200), [50, 67, 84]);
        assert_eq!(spread(&[190, 195, 200], 0, 200), [166, 183, 200]);
        assert_eq!(spread(&[10, 100], 0, 200), [10, 100], "those apart stay where they are");
    }

    #[test]
    fn a_bin_of_few_is_hollow_and_every_bin_says_how_many() {
        let line = |n| Line {
            name: "prune".to_owned(),
            color: RGBColor(0, 0x6B, 0xA6),
            standing: Standing::Ranked,
            named: true,
            points: vec![Point { at: 0, right: 0.5, n }],
        };
        let svg = |n| panel("recall", &["0–2k".to_owned()], &[line(n)]);
        let hollow = |svg: &str| svg.contains("<circle") && svg.contains("fill=\"#FEFEFE\"");
        assert!(hollow(&svg(9)));
        assert!(!hollow(&svg(10)));
        assert!(svg(1_234).contains(">1,234\n"), "{}", svg(1_234));
    }
}
