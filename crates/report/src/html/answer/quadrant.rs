//! The picture of one table: what each strategy keeps against what it costs, with
//! the reference row as cross-hair. Only geometry and words stand here;
//! `quadrant.html` writes them as SVG and escapes the words.

use askama::Template;

use super::labels::{self, Label, Rectangle};
use super::points::{Kind, Mark, Picture, Spread};
use crate::number;

/// Sizes of a drawing.
pub(in crate::html) struct Frame {
    /// How the style sheet calls it.
    class: &'static str,
    width: i32,
    height: i32,
    /// Room for the figures on the left.
    left: i32,
    /// Size of a name.
    font: f64,
    /// Characters of a name.
    name: usize,
}

/// On a screen, and on a telephone.
pub(in crate::html) const FRAMES: [Frame; 2] = [
    Frame { class: "wide", width: 800, height: 430, left: 58, font: 13.0, name: 32 },
    Frame { class: "narrow", width: 360, height: 400, left: 46, font: 11.0, name: 18 },
];

/// Room above, on the right and below the field.
const TOP: i32 = 8;
const RIGHT: i32 = 26;
const BOTTOM: i32 = 46;
/// Room that the words of a corner need in the field, in units of the font.
const CORNER: (f64, f64) = (7.2, 2.9);
const RADIUS: i32 = 6;
/// How far apart the ends are from which a scale is logarithmic.
const WIDE: f64 = 10.0;
/// Values that are named on a scale, about.
const TICKS: f64 = 5.0;

/// A line with its words.
struct Tick {
    at: i32,
    words: String,
}

/// A strategy's mark.
struct Dot {
    class: &'static str,
    x: i32,
    y: i32,
    title: String,
    /// What is known of its spread.
    bar: Option<Bar>,
}

/// The ends of a spread: an interval, which has caps, or the lowest and the
/// highest session.
struct Bar {
    from: i32,
    to: i32,
    capped: bool,
}

/// Words of a corner, in two lines.
struct Corner {
    anchor: &'static str,
    x: i32,
    y: [i32; 2],
    words: [&'static str; 2],
}

/// One drawing.
#[derive(Template)]
#[template(path = "answer/quadrant.html")]
pub(in crate::html) struct Quadrant {
    /// How the style sheet calls its frame.
    pub(in crate::html) class: &'static str,
    width: i32,
    height: i32,
    /// Left, top, right and bottom of the field.
    field: Rectangle,
    label: String,
    down: Vec<Tick>,
    across: Vec<Tick>,
    axes: [&'static str; 2],
    cross: (i32, i32),
    corners: Vec<Corner>,
    dots: Vec<Dot>,
    names: Vec<labels::Placed>,
    radius: i32,
    /// Whether marks bear numbers, since their names found no room.
    pub(in crate::html) is_numbered: bool,
}

impl Quadrant {
    /// Draws a picture in a frame.
    pub(in crate::html) fn new(picture: &Picture, frame: &Frame) -> Self {
        let field = (frame.left, TOP, frame.width - RIGHT, frame.height - BOTTOM);
        let xs = picture.marks.iter().map(|mark| mark.x);
        let room = CORNER.0 * frame.font / f64::from(field.2 - field.0);
        let x = Scale::new(xs, picture.cross.0, (0.04, room), WIDE);
        let ys = picture.marks.iter().flat_map(Mark::heights);
        let room = CORNER.1 * frame.font / f64::from(field.3 - field.1);
        // Nothing stands as low as the words of the lower corners.
        let y = Scale::new(ys, picture.cross.1, (room, room), f64::INFINITY);
        let place = PlotField { x, y, field };
        let dots: Vec<Dot> = picture.marks.iter().map(|mark| place.dot(mark)).collect();
        let corners = corners(field, frame.font);
        // Names may cross a thin line, which their halo interrupts.
        let mut taken: Vec<Rectangle> =
            corners.iter().map(|corner| corner.covers(frame.font)).collect();
        taken.extend(dots.iter().map(|dot| labels::around((dot.x, dot.y), RADIUS + 1)));
        let (names, is_numbered) = names(picture, &dots, taken, field, frame);
        Quadrant {
            class: frame.class,
            width: frame.width,
            height: frame.height,
            field,
            label: picture.label.clone(),
            down: place.ticks(&place.y, |at| place.of((0.0, at)).1, number::percent),
            across: place.ticks(&place.x, |at| place.of((at, 0.0)).0, picture.show_x),
            axes: picture.axes,
            cross: place.of(picture.cross),
            corners,
            dots,
            names,
            radius: RADIUS,
            is_numbered,
        }
    }
}

/// The names of the marks where all find a place of their own, else numbers.
fn names(
    picture: &Picture,
    dots: &[Dot],
    taken: Vec<Rectangle>,
    field: Rectangle,
    frame: &Frame,
) -> (Vec<labels::Placed>, bool) {
    let beside = |words: &dyn Fn(usize, &Mark) -> String| -> Vec<Label> {
        let each = picture.marks.iter().zip(dots).enumerate();
        each.map(|(at, (mark, dot))| {
            Label::beside(words(at, mark), mark.is_chosen, (dot.x, dot.y), frame.font)
        })
        .collect()
    };
    let named = beside(&|_, mark| mark.named(frame.name));
    let (placed, free) = labels::place(named, taken.clone(), field);
    if free {
        return (placed, false);
    }
    let numbers = beside(&|at, _| (at + 1).to_string());
    (labels::place(numbers, taken, field).0, true)
}

fn corners(field: Rectangle, font: f64) -> Vec<Corner> {
    let line = (font * 1.2) as i32;
    let (left, top, right, bottom) = field;
    let corner = |anchor, x, first, words| Corner { anchor, x, y: [first, first + line], words };
    let (above, below) = (top + line, bottom - line - 4);
    vec![
        corner("start", left + 6, above, ["keeps more,", "costs less"]),
        corner("end", right - 6, above, ["keeps more,", "costs more"]),
        corner("start", left + 6, below, ["keeps less,", "costs less"]),
        corner("end", right - 6, below, ["keeps less,", "costs more"]),
    ]
}

impl Corner {
    fn covers(&self, font: f64) -> Rectangle {
        let width = labels::width(self.words[0], font);
        let left = if self.anchor == "start" { self.x } else { self.x - width };
        (left, self.y[0] - font as i32, left + width, self.y[1] + 3)
    }
}

/// Where values stand in the field.
struct PlotField {
    x: Scale,
    y: Scale,
    field: Rectangle,
}

impl PlotField {
    fn of(&self, (x, y): (f64, f64)) -> (i32, i32) {
        let (left, top, right, bottom) = self.field;
        let across = self.x.share(x) * f64::from(right - left);
        let down = self.y.share(y) * f64::from(bottom - top);
        (left + across.round() as i32, bottom - down.round() as i32)
    }

    fn dot(&self, mark: &Mark) -> Dot {
        let (x, y) = self.of((mark.x, mark.y));
        let height = |value: f64| self.of((mark.x, value.clamp(0.0, 1.0))).1;
        let bar = mark.spread.map(|Spread { lo, hi, kind }| Bar {
            from: height(lo),
            to: height(hi),
            capped: kind != Kind::Sessions,
        });
        Dot { class: mark.class, x, y, title: mark.title.clone(), bar }
    }

    fn ticks(&self, scale: &Scale, at: impl Fn(f64) -> i32, show: fn(f64) -> String) -> Vec<Tick> {
        scale.ticks().into_iter().map(|value| Tick { at: at(value), words: show(value) }).collect()
    }
}

/// A scale over the values that are drawn, which need not begin at zero.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Scale {
    /// In powers of ten.
    log: bool,
    /// Ends, as drawn.
    from: f64,
    to: f64,
}

impl Scale {
    /// With `room`, shares of the field, around all values and on both sides of
    /// the cross-hair for the words of the corners. Logarithmic where values lie
    /// more than `wide` times apart.
    fn new(values: impl Iterator<Item = f64>, cross: f64, room: (f64, f64), wide: f64) -> Self {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.chain([cross]) {
            (from, to) = (from.min(value), to.max(value));
        }
        let log = from > 0.0 && to > wide * from;
        let scaled = |value: f64| if log { value.log10() } else { value };
        let (from, to, cross) = (scaled(from), scaled(to), scaled(cross));
        // All in one point still need a scale.
        let length = (to - from).max(to.abs() * 0.1).max(1e-6);
        let part = |share: f64| length * share / (1.0 - share);
        let (margin, least) = (part(room.0), part(room.1));
        let from = (cross - least).min(from - margin);
        let to = (cross + least).max(to + margin);
        Scale { log, from, to }
    }

    /// Where a value stands, 0 to 1.
    fn share(self, value: f64) -> f64 {
        let value = if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        (value - self.from) / (self.to - self.from)
    }

    /// Round values: 1, 2 and 5 in every power of ten, or steps of these.
    fn ticks(self) -> Vec<f64> {
        let inside = |value: &f64| (0.0..=1.0).contains(&self.share(*value));
        if self.log {
            let powers = self.from.floor() as i32..=self.to.ceil() as i32;
            let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|s| s * 10f64.powi(power)));
            return all.filter(inside).collect();
        }
        let rough = (self.to - self.from) / TICKS;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|s| s * power).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(rough);
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step).floor() as i64;
        // Nobody keeps or pays less than nothing.
        (first.max(0)..=last).map(|n| n as f64 * step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_begins_near_points_and_leaves_corner_room() {
        let scale = Scale::new([80.0, 90.0].into_iter(), 100.0, (0.05, 0.1), WIDE);
        assert!(!scale.log && scale.from > 70.0, "{scale:?}");
        assert!(1.0 - scale.share(100.0) > 0.09, "{scale:?}");
        assert_eq!(scale.ticks(), [80.0, 85.0, 90.0, 95.0, 100.0]);
    }

    #[test]
    fn scale_is_logarithmic_for_points_tenfold_apart() {
        let scale = Scale::new([3.0].into_iter(), 130.0, (0.05, 0.05), WIDE);
        assert!(scale.log);
        assert_eq!(scale.ticks(), [5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!(
            !Scale::new([0.0].into_iter(), 130.0, (0.05, 0.05), WIDE).log,
            "nothing has no logarithm"
        );
    }

    #[test]
    fn points_in_one_place_still_have_a_scale() {
        let scale = Scale::new([1.0].into_iter(), 1.0, (0.05, 0.1), WIDE);
        assert!(scale.to > scale.from && scale.share(1.0) > 0.0, "{scale:?}");
    }
}
