//! A figure with what is known of its spread, drawn small enough for a cell. All
//! cells of a column have one scale, from 0 to its largest value.

use std::fmt::Write;

use recap_core::model::Interval;

/// Length of the scale in units of the drawing, and what stands free around it.
const LENGTH: f64 = 100.0;
const MARGIN: f64 = 4.0;

/// Draws a figure on its scale: a band between the bounds of its interval, or
/// rings for the values of few sessions, and the figure itself above. Numbers
/// alone go in, so the markup is safe.
pub(super) fn drawn(value: f64, interval: Option<&Interval>, most: f64) -> String {
    let x = |value: f64| MARGIN + (value / most).clamp(0.0, 1.0) * LENGTH;
    let mut svg = String::from(
        "<svg class=\"drawn\" viewBox=\"0 0 108 14\" aria-hidden=\"true\"><path d=\"M4 7h100M4 4v6M104 4v6\"/>",
    );
    match interval {
        Some(Interval::Dots { values }) => {
            for value in values {
                write!(svg, "<circle class=\"each\" cx=\"{:.1}\" cy=\"7\" r=\"2.5\"/>", x(*value))
                    .expect("a string takes everything");
            }
        }
        Some(interval) => {
            let (lo, hi) = interval.bounds().expect("all but dots have bounds");
            let alone = matches!(interval, Interval::ThisSessionOnly { .. });
            let class = if alone { "alone" } else { "range" };
            let (from, to) = (x(lo), x(hi));
            let width = (to - from).max(0.5);
            write!(
                svg,
                "<rect class=\"{class}\" x=\"{from:.1}\" y=\"3.5\" width=\"{width:.1}\" height=\"7\"/>"
            )
            .expect("a string takes everything");
        }
        None => {}
    }
    write!(svg, "<circle class=\"point\" cx=\"{:.1}\" cy=\"7\" r=\"3.5\"/></svg>", x(value))
        .expect("a string takes everything");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_band_spans_bounds_on_column_scale() {
        let svg = drawn(32.0, Some(&Interval::Student { lo: 23.0, hi: 40.5 }), 100.0);
        // 4 + 23, 40.5 − 23, 4 + 32.
        for part in ["class=\"range\" x=\"27.0\"", "width=\"17.5\"", "class=\"point\" cx=\"36.0\""]
        {
            assert!(svg.contains(part), "{part} is not in {svg}");
        }
    }

    #[test]
    fn few_sessions_are_rings_without_a_band() {
        let svg = drawn(0.5, Some(&Interval::Dots { values: vec![0.25, 0.75] }), 1.0);
        assert!(svg.contains("class=\"each\" cx=\"29.0\""));
        assert!(svg.contains("class=\"each\" cx=\"79.0\""));
        assert!(!svg.contains("<rect"), "{svg}");
    }

    #[test]
    fn one_session_is_hatched_and_missing_interval_omitted() {
        let alone = Interval::ThisSessionOnly { lo: 0.1, hi: 0.3 };
        assert!(drawn(0.2, Some(&alone), 1.0).contains("class=\"alone\" x=\"14.0\""));
        let svg = drawn(2.0, None, 1.0);
        assert!(!svg.contains("<rect") && !svg.contains("each"), "{svg}");
        assert!(svg.contains("cx=\"104.0\""), "beyond the scale is its end: {svg}");
    }
}
