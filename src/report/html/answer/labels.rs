//! Names beside points: each where it covers no point and no other name, with a
//! line to its point where it had to move away.

use std::ops::Range;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::report::svg::{self, Area, DRAWS};

/// Left, top, right, bottom in units of the drawing.
pub(in crate::report::html) type Rectangle = (i32, i32, i32, i32);

/// Distance of the boxes that stand for a line: less than a name is high.
const STEP: i32 = 3;

/// A name farther than this from its point gets a line to it.
const LEADER: i32 = 14;

/// How far a name may move away, in heights of a name.
const RINGS: i32 = 9;

/// The ranges of a plot, across and down.
pub(in crate::report::html) type Bounds = (Range<i32>, Range<i32>);

/// A name and what it belongs to.
pub(in crate::report::html) struct Label {
    text: String,
    size: (i32, i32),
    owner: Owner,
}

/// What a name belongs to.
enum Owner {
    /// Any of these points, the first preferred.
    Points(Vec<(i32, i32)>),
    /// A level line: its ends and its height.
    Line((i32, i32), i32),
}

/// Where a name goes, and the point beside which it goes there.
struct Place {
    rectangle: Rectangle,
    point: Option<(i32, i32)>,
}

impl Label {
    /// The name of points that belong together.
    pub(in crate::report::html) fn beside(
        text: String,
        points: Vec<(i32, i32)>,
        font: f64,
    ) -> Label {
        Label { size: size(&text, font), text, owner: Owner::Points(points) }
    }

    /// The name of a level line between two ends.
    pub(in crate::report::html) fn on_line(
        text: String,
        ends: (i32, i32),
        y: i32,
        font: f64,
    ) -> Label {
        Label { size: size(&text, font), text, owner: Owner::Line(ends, y) }
    }

    fn at(&self, (left, top): (i32, i32), point: Option<(i32, i32)>) -> Place {
        Place { rectangle: (left, top, left + self.size.0, top + self.size.1), point }
    }

    /// Places to try, the best first: close to any point before away from the first.
    fn places(&self) -> Vec<Place> {
        let (width, height) = self.size;
        let points = match &self.owner {
            Owner::Points(points) => points,
            Owner::Line((left, right), y) => {
                let tops = [y - height - 2, y + 3];
                let lefts = [*left, right - width, (left + right - width) / 2];
                return lefts.iter().flat_map(|&x| tops.map(|y| self.at((x, y), None))).collect();
            }
        };
        let mut places = Vec::new();
        for &(x, y) in points {
            let corners = [
                (x + 11, y - height / 2),
                (x - 11 - width, y - height / 2),
                (x - width / 2, y - 11 - height),
                (x - width / 2, y + 11),
            ];
            places.extend(corners.map(|corner| self.at(corner, Some((x, y)))));
        }
        for ring in 1..RINGS {
            for &(x, y) in points {
                for dy in [ring * (height + 1), -ring * (height + 1)] {
                    let top = y - height / 2 + dy;
                    places.push(self.at((x + 14 + ring * 3, top), Some((x, y))));
                    places.push(self.at((x - 14 - ring * 3 - width, top), Some((x, y))));
                }
            }
        }
        places
    }
}

fn size(text: &str, font: f64) -> (i32, i32) {
    (svg::text_width(text, font), (font * 1.2).ceil() as i32)
}

/// The box around a point.
pub(in crate::report::html) fn around((x, y): (i32, i32), radius: i32) -> Rectangle {
    (x - radius, y - radius, x + radius, y + radius)
}

/// Boxes along a line.
pub(in crate::report::html) fn along(
    from: (i32, i32),
    to: (i32, i32),
) -> impl Iterator<Item = Rectangle> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let steps = (dx.abs().max(dy.abs()) / STEP).max(1);
    (0..=steps).map(move |s| around((from.0 + dx * s / steps, from.1 + dy * s / steps), 1))
}

/// Draws every label inside `bounds`, clear of `taken` and of each other.
pub(in crate::report::html) fn place(
    area: &Area<'_>,
    labels: &[Label],
    taken: Vec<Rectangle>,
    bounds: &Bounds,
    font: f64,
) {
    let style = |h| svg::font(font, svg::INK).pos(Pos::new(h, VPos::Center));
    for (label, Place { rectangle: r, point }) in labels.iter().zip(places(labels, taken, bounds)) {
        let middle = (r.1 + r.3) / 2;
        // Widths are estimates, so the text holds on to the side of its point.
        let (edge, side) = match point {
            Some((x, _)) if r.2 <= x => (r.2, HPos::Right),
            Some((x, _)) if r.0 < x => ((r.0 + r.2) / 2, HPos::Center),
            _ => (r.0, HPos::Left),
        };
        if let Some((x, y)) = point {
            let near = (x.clamp(r.0 - 2, r.2 + 2), y.clamp(r.1 + 2, r.3 - 2));
            if (near.0 - x).abs() + (near.1 - y).abs() > LEADER {
                area.draw(&PathElement::new(vec![(x, y), near], svg::MUTED)).expect(DRAWS);
            }
        }
        area.draw(&Text::new(label.text.as_str(), (edge, middle), style(side))).expect(DRAWS);
    }
}

/// Where each label goes: the first of its places that covers nothing, else the
/// one that covers least.
fn places(labels: &[Label], mut taken: Vec<Rectangle>, bounds: &Bounds) -> Vec<Place> {
    let inside = |r: &Rectangle| {
        let (x, y) = bounds;
        r.0 >= x.start && r.2 <= x.end && r.1 >= y.start && r.3 <= y.end
    };
    let mut out = Vec::with_capacity(labels.len());
    for label in labels {
        let cover = |r: &Rectangle| taken.iter().map(|t| overlap(r, t)).sum::<i32>();
        let mut places = label.places();
        let best = (0..places.len())
            .filter(|&at| inside(&places[at].rectangle))
            .min_by_key(|&at| cover(&places[at].rectangle));
        // A name wider than the chart is cut by the drawing, not left out.
        let place = places.swap_remove(best.unwrap_or(0));
        taken.push(place.rectangle);
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
            (0..12).map(|n| Label::beside(format!("preset-{n}"), vec![(350, 200)], 13.0)).collect();
        let point = around((350, 200), 7);
        let places = places(&labels, vec![point], &bounds);
        let places: Vec<Rectangle> = places.iter().map(|p| p.rectangle).collect();
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
        let label = Label::beside("a-rather-long-name".to_owned(), vec![(295, 50)], 13.0);
        let place = places(&[label], Vec::new(), &bounds)[0].rectangle;
        assert!(place.2 <= 300, "{place:?}");
    }

    #[test]
    fn a_name_goes_to_another_point_of_its_line_before_it_moves_away() {
        let bounds = (0..400, 0..200);
        let label = Label::beside("name".to_owned(), vec![(300, 50), (100, 150)], 13.0);
        let crowded = (240, 20, 360, 90);
        let place = &places(&[label], vec![crowded], &bounds)[0];
        assert_eq!(place.point, Some((100, 150)));
    }
}
