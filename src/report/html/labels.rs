//! Names beside points: each where it covers no point and no other name, with a
//! line to its point where it had to move away.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::report::svg::{self, Area, DRAWS};

/// Left, top, right, bottom in units of the drawing.
pub(super) type Rectangle = (i32, i32, i32, i32);

/// Distance of the boxes that stand for a line: less than a name is high.
const STEP: i32 = 6;

/// The ranges of a plot, across and down.
pub(super) type Bounds = (Range<i32>, Range<i32>);

/// A name and the point that it belongs to.
pub(super) struct Label {
    text: String,
    point: (i32, i32),
    size: (i32, i32),
    /// Ends of the level line that it belongs to instead of a point.
    line: Option<(i32, i32)>,
}

impl Label {
    /// The name of a point.
    pub(super) fn beside(text: String, point: (i32, i32), font: f64) -> Label {
        let size = (svg::text_width(&text, font), (font * 1.2).ceil() as i32);
        Label { text, point, size, line: None }
    }

    /// The name of a level line between two ends.
    pub(super) fn on_line(text: String, ends: (i32, i32), y: i32, font: f64) -> Label {
        Label { line: Some(ends), ..Label::beside(text, (ends.0, y), font) }
    }

    fn at(&self, (left, top): (i32, i32)) -> Rectangle {
        (left, top, left + self.size.0, top + self.size.1)
    }

    /// Places to try, the best first.
    fn places(&self) -> Vec<Rectangle> {
        let ((x, y), (width, height)) = (self.point, self.size);
        if let Some((left, right)) = self.line {
            let tops = [y - height - 2, y + 3];
            let lefts = [left, right - width, (left + right - width) / 2];
            return lefts.iter().flat_map(|&x| tops.map(|top| self.at((x, top)))).collect();
        }
        let mut places = vec![
            self.at((x + 11, y - height / 2)),
            self.at((x - 11 - width, y - height / 2)),
            self.at((x - width / 2, y - 11 - height)),
            self.at((x - width / 2, y + 11)),
        ];
        for ring in 1..9 {
            let away = ring * (height + 1);
            for dy in [away, -away] {
                let top = y - height / 2 + dy;
                places.push(self.at((x + 14 + ring * 3, top)));
                places.push(self.at((x - 14 - ring * 3 - width, top)));
            }
        }
        places
    }
}

/// The box around a point.
pub(super) fn around((x, y): (i32, i32), radius: i32) -> Rectangle {
    (x - radius, y - radius, x + radius, y + radius)
}

/// Boxes along a line.
pub(super) fn along(from: (i32, i32), to: (i32, i32)) -> impl Iterator<Item = Rectangle> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let steps = (dx.abs().max(dy.abs()) / STEP).max(1);
    (0..=steps).map(move |s| around((from.0 + dx * s / steps, from.1 + dy * s / steps), 1))
}

/// Draws every label inside `bounds`, clear of `taken` and of each other.
pub(super) fn place(
    area: &Area<'_>,
    labels: &[Label],
    taken: Vec<Rectangle>,
    bounds: &Bounds,
    font: f64,
) {
    let style = svg::font(font, svg::INK).pos(Pos::new(HPos::Left, VPos::Center));
    for (label, place) in labels.iter().zip(places(labels, taken, bounds)) {
        let middle = (place.1 + place.3) / 2;
        let (x, y) = label.point;
        let near = (x.clamp(place.0 - 2, place.2 + 2), y.clamp(place.1 + 2, place.3 - 2));
        if label.line.is_none() && (near.0 - x).abs() + (near.1 - y).abs() > 14 {
            area.draw(&PathElement::new(vec![label.point, near], svg::MUTED)).expect(DRAWS);
        }
        area.draw(&Text::new(label.text.as_str(), (place.0, middle), &style)).expect(DRAWS);
    }
}

/// Where each label goes: the first of its places that covers nothing, else the
/// one that covers least.
fn places(labels: &[Label], mut taken: Vec<Rectangle>, bounds: &Bounds) -> Vec<Rectangle> {
    let inside = |r: &Rectangle| {
        let (x, y) = bounds;
        r.0 >= x.start && r.2 <= x.end && r.1 >= y.start && r.3 <= y.end
    };
    let mut out = Vec::with_capacity(labels.len());
    for label in labels {
        let cover = |r: &Rectangle| taken.iter().map(|t| overlap(r, t)).sum::<i32>();
        let places = label.places();
        let place = places.iter().filter(|r| inside(r)).min_by_key(|r| cover(r));
        // A name wider than the chart is cut by the drawing, not left out.
        let place = *place.unwrap_or(&places[0]);
        taken.push(place);
        out.push(place);
    }
    out
}

fn overlap(a: &Rectangle, b: &Rectangle) -> i32 {
    let width = a.2.min(b.2) - a.0.max(b.0);
    let height = a.3.min(b.3) - a.1.max(b.1);
    if width > 0 && height > 0 { width * height } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_points_in_one_place_do_not_cover_each_other() {
        let bounds = (0..700, 0..400);
        let labels: Vec<Label> =
            (0..12).map(|n| Label::beside(format!("preset-{n}"), (350, 200), 13.0)).collect();
        let point = around((350, 200), 7);
        let places = places(&labels, vec![point], &bounds);
        for (at, a) in places.iter().enumerate() {
            assert_eq!(overlap(a, &point), 0, "{a:?} covers the point");
            for b in &places[at + 1..] {
                assert_eq!(overlap(a, b), 0, "{a:?} covers {b:?}");
            }
        }
    }

    #[test]
    fn a_name_at_the_edge_stays_inside() {
        let bounds = (0..300, 0..100);
        let label = Label::beside("a-rather-long-name".to_owned(), (295, 50), 13.0);
        let place = places(&[label], Vec::new(), &bounds)[0];
        assert!(place.2 <= 300, "{place:?}");
    }
}
