//! What a session has cost so far, request by request: a line per preset, named
//! in the margin. The axis carries what all of them share: pauses that outlast
//! the cache, and cold starts of the recording.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::model::Standing;
use crate::report::html::highlight::Highlight;
use crate::report::html::money::parts::{Account, Cached};
use crate::report::html::questions::forgetting_chart::spread;
use crate::report::html::series::Colors;
use crate::report::svg::{self, Area, Chart, DRAWS};
use crate::report::{number, plain};

const SIZE: (u32, u32) = (900, 440);
const FONT: f64 = 13.0;
/// Room for names and figures on the right.
const MARGIN: u32 = 240;
/// Points of a line, about, and of one without a name.
const POINTS: usize = 100;
const POINTS_GREY: usize = 40;
/// Compactions of a preset that are marked; where there are more, a mark at
/// every other request says nothing.
const MARKED: usize = 30;
/// Characters of a name.
const NAME: usize = 24;

/// One preset.
struct Line {
    name: String,
    color: RGBColor,
    standing: Standing,
    /// Whether it has its colour and its name.
    named: bool,
    /// USD up to and including each request.
    so_far: Vec<f64>,
    /// Requests that first saw a compaction.
    compactions: Vec<usize>,
}

/// Draws one session at one window under one cache; nothing where no price is
/// known or nothing was billed.
pub(in crate::report::html) fn chart(
    accounts: &[Account<'_>],
    cached: Cached,
    label: &str,
    colors: &Colors,
    highlight: &Highlight<'_>,
) -> Option<String> {
    let mut lines: Vec<Line> =
        accounts.iter().filter_map(|a| line(a, cached, colors, highlight)).collect();
    // Whoever asks which line stands out finds its name, though not its colour.
    let last = |line: &Line| line.so_far.last().copied().unwrap_or(0.0);
    if let Some(dearest) = lines.iter_mut().max_by(|a, b| last(a).total_cmp(&last(b))) {
        dearest.named = true;
    }
    let most = lines.iter().filter_map(|l| l.so_far.last()).fold(0.0, |a: f64, b| a.max(*b));
    if most <= 0.0 {
        return None;
    }
    let (pauses, cold) = (accounts[0].pauses(), accounts[0].cold_starts());
    let totals: Vec<String> = lines
        .iter()
        .map(|l| format!("{} {}", l.name, number::dollars(*l.so_far.last().unwrap_or(&0.0))))
        .collect();
    let label = format!("{label}: {}", totals.join(", "));
    Some(svg::draw(SIZE, &label, |area| draw(area, &lines, most * 1.05, &pauses, &cold)))
}

fn line(
    account: &Account<'_>,
    cached: Cached,
    colors: &Colors,
    highlight: &Highlight<'_>,
) -> Option<Line> {
    let mut sum = 0.0;
    let so_far = account.steps(cached)?.into_iter().map(|usd| {
        sum += usd;
        sum
    });
    let strategy = &account.cell.key.strategy;
    let named = highlight.shows(strategy);
    let compactions = account.rows.compactions.iter().filter(|c| !c.at_end);
    let mut name = plain::shortened(&plain::line(strategy), NAME);
    if account.cell.standing == Standing::StandIn {
        name.push_str(" †");
    }
    Some(Line {
        name,
        color: if named { colors.of(strategy) } else { svg::BEATEN },
        named,
        standing: account.cell.standing,
        so_far: so_far.collect(),
        compactions: compactions.map(|c| c.request as usize).collect(),
    })
}

fn draw(area: &Area<'_>, lines: &[Line], top: f64, pauses: &[usize], cold: &[usize]) {
    let requests = lines.iter().map(|l| l.so_far.len()).max().unwrap_or(0);
    let end = (requests.max(2) - 1) as f64;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .margin_right(MARGIN)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..end, 0.0..top)
        .expect(DRAWS);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(svg::GRID)
        .axis_style(svg::GRID)
        .x_desc("request")
        .x_labels(8)
        .y_labels(6)
        .x_label_formatter(&|x| format!("{:.0}", x + 1.0))
        .y_label_formatter(&|y| number::dollars(*y))
        .label_style(svg::font(FONT, svg::MUTED))
        .axis_desc_style(svg::font(FONT, svg::INK))
        .draw()
        .expect(DRAWS);
    for &at in pauses {
        let x = (at as f64 - 0.5).max(0.0);
        let pause = LineSeries::new([(x, 0.0), (x, top)], svg::LIMIT.stroke_width(1));
        chart.draw_series(pause).expect(DRAWS);
    }
    for &at in cold {
        let (x, y) = chart.backend_coord(&(at as f64, 0.0));
        let mark = vec![(x - 5, y), (x + 5, y), (x, y - 10)];
        area.draw(&Polygon::new(mark, svg::OVER.filled())).expect(DRAWS);
    }
    // Controls first and those without a name, so that nothing lies under them.
    let back = |line: &&Line| line.standing == Standing::Control || !line.named;
    for line in lines.iter().filter(back).chain(lines.iter().filter(|l| !back(l))) {
        draw_line(area, &mut chart, line);
    }
    margin(area, &chart, lines);
}

fn draw_line(area: &Area<'_>, chart: &mut Chart<'_, '_>, line: &Line) {
    let last = line.so_far.len().saturating_sub(1);
    let points = if line.named { POINTS } else { POINTS_GREY };
    let width = line.so_far.len().div_ceil(points).max(1);
    // A cumulative line has no peaks to lose.
    let points = (0..=last).filter(|at| at % width == 0 || *at == last);
    let points = points.filter_map(|at| Some((at as f64, *line.so_far.get(at)?)));
    let thin = line.standing == Standing::Control || !line.named;
    let stroke = line.color.stroke_width(if thin { 1 } else { 2 });
    chart.draw_series(LineSeries::new(points, stroke)).expect(DRAWS);
    if line.compactions.len() > MARKED || !line.named {
        return;
    }
    for &at in &line.compactions {
        let Some(&usd) = line.so_far.get(at) else { continue };
        let at = chart.backend_coord(&(at as f64, usd));
        area.draw(&Circle::new(at, 3, svg::PAPER.filled())).expect(DRAWS);
        area.draw(&Circle::new(at, 3, line.color.stroke_width(2))).expect(DRAWS);
    }
}

/// Names and totals, each as near to the end of its line as the others leave room.
fn margin(area: &Area<'_>, chart: &Chart<'_, '_>, lines: &[Line]) {
    let (across, down) = chart.plotting_area().get_pixel_range();
    let mut ends: Vec<((i32, i32), &Line)> = lines
        .iter()
        .filter(|line| line.named)
        .filter_map(|line| {
            let last = line.so_far.last()?;
            Some((chart.backend_coord(&((line.so_far.len() - 1) as f64, *last)), line))
        })
        .collect();
    ends.sort_by_key(|((_, y), _)| *y);
    let heights: Vec<i32> = ends.iter().map(|((_, y), _)| *y).collect();
    let left = across.end + 16;
    let style = svg::font(FONT, svg::INK).pos(Pos::new(HPos::Left, VPos::Center));
    for (((x, y), line), height) in ends.iter().zip(spread(&heights, down.start, down.end)) {
        let leader = vec![(*x, *y), (left - 3, height)];
        area.draw(&PathElement::new(leader, svg::GRID)).expect(DRAWS);
        area.draw(&Circle::new((left + 4, height), 4, line.color.filled())).expect(DRAWS);
        let usd = number::dollars(line.so_far.last().copied().unwrap_or(0.0));
        let words = format!("{usd}  {}", line.name);
        area.draw(&Text::new(words, (left + 13, height), style.clone())).expect(DRAWS);
    }
}
