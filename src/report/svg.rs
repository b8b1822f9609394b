//! Drawing with plotters into the page: inline SVG without ids, so that many
//! drawings share one document, and with colours that the style sheet can turn
//! over for dark mode.

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::plain;

/// A drawing surface.
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A chart with two linear axes.
pub(super) type Chart<'a, 'b> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// What a drawing can fail with: nothing, since it goes to memory and every
/// range and size is set in this module.
pub(super) const DRAWS: &str = "drawing to memory in ranges of our own cannot fail";

// The style sheet names these colours in its rules for dark mode and dashes.
/// Words and axes.
pub(super) const INK: RGBColor = RGBColor(0x1C, 0x21, 0x28);
/// Words beside the point.
pub(super) const MUTED: RGBColor = RGBColor(0x55, 0x5E, 0x6A);
/// Grid lines.
pub(super) const GRID: RGBColor = RGBColor(0xDD, 0xE1, 0xE6);
/// Dashed by the style sheet: a limit or a scale.
pub(super) const LIMIT: RGBColor = RGBColor(0x6A, 0x73, 0x7D);
/// What the whole conversation would be.
pub(super) const WHOLE: RGBColor = RGBColor(0xD3, 0xD8, 0xDF);
/// The preset itself.
pub(super) const LINE: RGBColor = RGBColor(0x0B, 0x5A, 0x8F);
/// Refused by the provider.
pub(super) const OVER: RGBColor = RGBColor(0xB3, 0x26, 0x1E);
/// Another one is as good for less.
pub(super) const BEATEN: RGBColor = RGBColor(0xA3, 0xAB, 0xB5);
/// Hatched by the style sheet: a stand-in.
pub(super) const HATCH: RGBColor = RGBColor(0x7A, 0x7A, 0x7B);
/// The page behind the drawing.
pub(super) const PAPER: RGBColor = RGBColor(0xFE, 0xFE, 0xFE);

/// Draws `body` and returns an inline `<svg>` that screen readers announce by `label`.
pub(super) fn draw(size: (u32, u32), label: &str, body: impl FnOnce(&Area<'_>)) -> String {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        body(&area);
        area.present().expect(DRAWS);
    }
    let inside = svg.split_once('>').map_or("", |(_, inside)| inside);
    // A quote inside a text is escaped, so these can only be attributes; the
    // style sheet names the font.
    let mut inside = inside.replace(">\n", ">");
    for needless in [" opacity=\"1\"", " stroke=\"none\"", " font-family=\"sans-serif\""] {
        inside = inside.replace(needless, "");
    }
    format!(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">{inside}",
        size.0,
        size.1,
        plain::attribute(&plain::line(label)),
    )
}

/// Text of `size` units, in the reader's own sans-serif. (plotters writes
/// size / 1.24 into the file.)
pub(super) fn font(size: f64, color: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size * 1.24).into_font().color(&color)
}

/// Width of a text in units, estimated: no font is measured anywhere.
pub(super) fn text_width(text: &str, size: f64) -> i32 {
    (text.width() as f64 * size * 0.58).ceil() as i32
}
