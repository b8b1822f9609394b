//! Context size over a session: one small panel per preset, all on one scale,
//! because a dozen lines in one chart cannot be told apart.

use plotters::prelude::*;

use crate::model::{CellRows, TranscriptFacts};
use crate::report::svg::{self, Chart, DRAWS};
use crate::report::{block, number};

const SIZE: (u32, u32) = (640, 270);
const FONT: f64 = 21.0;
/// Finest grid of the strips that mark refused requests.
const MARKS: usize = 60;

/// One panel: what `full` would send in grey, what the preset sends as a line,
/// the window dashed, a red strip under refused
/// requests.
pub(in crate::report::html) fn panel(
    facts: &TranscriptFacts,
    rows: &CellRows,
    name: &str,
    top: f64,
    points: usize,
) -> String {
    let full: Vec<f64> = facts.requests.iter().map(|r| r.tokens_full as f64).collect();
    let sent: Vec<f64> = rows.requests.iter().map(|r| r.tokens_sent as f64).collect();
    let label = format!("{name}: {}", caption(rows));
    svg::draw(SIZE, &label, |area| {
        let end = (sent.len().max(2) - 1) as f64;
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(24)
            .x_label_area_size(40)
            .y_label_area_size(76)
            .build_cartesian_2d(0.0..end, 0.0..top)
            .expect(DRAWS);
        axes(&mut chart);
        chart.draw_series(AreaSeries::new(thinned(&full, points), 0.0, svg::WHOLE)).expect(DRAWS);
        let window = rows.window as f64;
        if window <= top {
            let line = [(0.0, window), (end, window)];
            chart.draw_series(LineSeries::new(line, svg::LIMIT.stroke_width(2))).expect(DRAWS);
        }
        let line = thinned(&sent, points);
        chart.draw_series(LineSeries::new(line, svg::LINE.stroke_width(4))).expect(DRAWS);
        let strips = refused(rows).into_iter().map(|(from, to)| {
            let shape = [(from.min(end - 0.5), 0.0), (to.min(end), top * 0.035)];
            Rectangle::new(shape, svg::OVER.filled())
        });
        chart.draw_series(strips).expect(DRAWS);
    })
}

fn axes(chart: &mut Chart<'_, '_>) {
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(svg::GRID)
        .axis_style(svg::GRID)
        .x_labels(5)
        .y_labels(3)
        .x_label_formatter(&|x| format!("{:.0}", x + 1.0))
        .y_label_formatter(&|y| number::tokens(*y))
        .label_style(svg::font(FONT, svg::MUTED))
        .draw()
        .expect(DRAWS);
}

/// The same in words.
pub(in crate::report::html) fn caption(rows: &CellRows) -> String {
    let peak = rows.requests.iter().map(|r| r.tokens_sent).max().unwrap_or(0);
    let over = rows.requests.iter().filter(|r| r.overflow).count();
    let mut words = format!(
        "peak {}, {}",
        number::tokens(peak as f64),
        block::counted(rows.compactions.len(), "compaction")
    );
    if over > 0 {
        words.push_str(&format!(", over the window {}×", number::grouped(over as u64)));
    }
    words
}

/// Upper end of the scale that the panels of one session share. The window is
/// in it unless it is so far up that it would flatten everything.
pub(in crate::report::html) fn top<'a>(
    facts: &TranscriptFacts,
    rows: impl Iterator<Item = &'a CellRows>,
) -> f64 {
    let full = facts.requests.iter().map(|r| r.tokens_full).max().unwrap_or(0);
    let mut top = full as f64;
    for rows in rows {
        let sent = rows.requests.iter().map(|r| r.tokens_sent).max().unwrap_or(0);
        top = top.max(sent as f64);
        if rows.window as f64 <= full as f64 * 1.3 {
            top = top.max(rows.window as f64);
        }
    }
    (top * 1.05).max(1.0)
}

/// At most `points` points: of each stretch its lowest and highest value in
/// their order, so that no peak and no compaction disappears.
fn thinned(values: &[f64], points: usize) -> Vec<(f64, f64)> {
    if values.len() <= points {
        return values.iter().enumerate().map(|(at, &v)| (at as f64, v)).collect();
    }
    let stretches = points / 2;
    let mut out = Vec::with_capacity(points);
    for stretch in 0..stretches {
        let from = stretch * values.len() / stretches;
        let to = ((stretch + 1) * values.len() / stretches).min(values.len());
        let by = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let low = (from..to).min_by(by).expect("a stretch holds values");
        let high = (from..to).max_by(by).expect("a stretch holds values");
        for at in [low.min(high), low.max(high)] {
            out.push((at as f64, values[at]));
        }
    }
    out
}

/// Stretches of requests that the provider would have refused, on a grid of at
/// most [`MARKS`] stretches.
fn refused(rows: &CellRows) -> Vec<(f64, f64)> {
    let over: Vec<bool> = rows.requests.iter().map(|r| r.overflow).collect();
    let width = over.len().div_ceil(MARKS).max(1);
    let mut strips: Vec<(f64, f64)> = Vec::new();
    for (at, stretch) in over.chunks(width).enumerate() {
        if !stretch.contains(&true) {
            continue;
        }
        let from = (at * width) as f64;
        let to = from + width as f64;
        match strips.last_mut() {
            Some(last) if last.1 >= from => last.1 = to,
            _ => strips.push((from, to)),
        }
    }
    strips
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_highest_and_lowest_value() {
        let mut values: Vec<f64> = (0..5_000).map(|v| v as f64).collect();
        values[1_234] = 90_000.0;
        values[4_321] = -5.0;
        let thin = thinned(&values, 400);
        assert!(thin.len() <= 400);
        assert!(thin.contains(&(1_234.0, 90_000.0)) && thin.contains(&(4_321.0, -5.0)));
        assert!(thin.windows(2).all(|w| w[0].0 <= w[1].0), "in order");
        assert_eq!(thinned(&[3.0, 1.0], 400), [(0.0, 3.0), (1.0, 1.0)]);
    }
}
