//! Names beside points: each where it covers no point and no other name, with a
//! line to its point where it had to move away.

use unicode_width::UnicodeWidthStr;

/// Left, top, right, bottom in units of the drawing.
pub(super) type Rectangle = (i32, i32, i32, i32);

/// A name farther than this from its point gets a line to it.
const LEADER: i32 = 14;
/// How far a name may move away, in heights of a name.
const RINGS: i32 = 16;

/// A name and its point.
pub(super) struct Label {
    text: String,
    strong: bool,
    size: (i32, i32),
    point: (i32, i32),
}

/// A name in its place.
pub(super) struct Placed {
    pub(super) text: String,
    /// Whether it is the name to look at first.
    pub(super) strong: bool,
    /// Which end of the text stands at `x`, as SVG calls it.
    pub(super) anchor: &'static str,
    pub(super) x: i32,
    pub(super) y: i32,
    /// A line from the point to the name.
    pub(super) leader: Option<Rectangle>,
}

impl Label {
    /// A name that belongs to a point.
    pub(super) fn beside(text: String, strong: bool, point: (i32, i32), font: f64) -> Label {
        Label { size: (width(&text, font), (font * 1.2).ceil() as i32), text, strong, point }
    }

    /// Places to try, the best first.
    fn places(&self) -> Vec<Rectangle> {
        let ((width, height), (x, y)) = (self.size, self.point);
        let mut corners = vec![
            (x + 10, y - height / 2),
            (x - 10 - width, y - height / 2),
            (x - width / 2, y - 10 - height),
            (x - width / 2, y + 10),
        ];
        for ring in 1..RINGS {
            for dy in [ring * (height + 1), -ring * (height + 1)] {
                let top = y - height / 2 + dy;
                corners.push((x + 12 + ring * 3, top));
                corners.push((x - 12 - ring * 3 - width, top));
                corners.push((x - width / 2, top));
            }
        }
        corners.into_iter().map(|(left, top)| (left, top, left + width, top + height)).collect()
    }

    fn placed(self, place: Rectangle) -> Placed {
        let (x, y) = self.point;
        // Widths are estimates, so the text holds on to the side of its point.
        let (anchor, at) = match place {
            (_, _, right, _) if right <= x => ("end", right),
            (left, ..) if left >= x => ("start", left),
            (left, _, right, _) => ("middle", (left + right) / 2),
        };
        let near = (x.clamp(place.0 - 2, place.2 + 2), y.clamp(place.1 + 2, place.3 - 2));
        let far = (near.0 - x).abs() + (near.1 - y).abs() > LEADER;
        Placed {
            text: self.text,
            strong: self.strong,
            anchor,
            x: at,
            y: place.3 - self.size.1 / 4,
            leader: far.then_some((x, y, near.0, near.1)),
        }
    }
}

/// Width of a text in units, estimated: no font is measured anywhere.
pub(super) fn width(text: &str, font: f64) -> i32 {
    (text.width() as f64 * font * 0.58).ceil() as i32
}

/// The box around a point.
pub(super) fn around((x, y): (i32, i32), radius: i32) -> Rectangle {
    (x - radius, y - radius, x + radius, y + radius)
}

/// Every label inside the field, clear of `taken` and of each other where there
/// is room; and whether there was room for all.
pub(super) fn place(
    labels: Vec<Label>,
    mut taken: Vec<Rectangle>,
    field: Rectangle,
) -> (Vec<Placed>, bool) {
    let inside =
        |r: &Rectangle| r.0 >= field.0 && r.2 <= field.2 && r.1 >= field.1 && r.3 <= field.3;
    let mut free = true;
    let mut out = Vec::with_capacity(labels.len());
    for label in labels {
        let cover = |r: &Rectangle| taken.iter().map(|t| overlap(r, t)).sum::<i32>();
        let places = label.places();
        let best = places.iter().filter(|place| inside(place)).min_by_key(|place| cover(place));
        // A name wider than the field is cut by the drawing, not left out.
        let place = *best.unwrap_or(&places[0]);
        free &= best.is_some() && cover(&place) == 0;
        taken.push(place);
        out.push(label.placed(place));
    }
    (out, free)
}

fn overlap(a: &Rectangle, b: &Rectangle) -> i32 {
    let width = a.2.min(b.2) - a.0.max(b.0);
    let height = a.3.min(b.3) - a.1.max(b.1);
    if width > 0 && height > 0 { width * height } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(n: usize) -> Vec<Label> {
        let label = |n| Label::beside(format!("strategy-{n}"), false, (350, 200), 13.0);
        (0..n).map(label).collect()
    }

    #[test]
    fn names_of_coinciding_points_do_not_overlap() {
        let point = around((350, 200), 7);
        let (placed, free) = place(labels(12), vec![point], (0, 0, 700, 400));
        assert!(free);
        let corners: std::collections::BTreeSet<(i32, i32)> =
            placed.iter().map(|name| (name.x, name.y)).collect();
        assert_eq!(corners.len(), 12);
        assert!(placed[0].leader.is_none() && placed[11].leader.is_some());
    }

    #[test]
    fn lack_of_room_for_labels_is_reported() {
        assert!(!place(labels(12), Vec::new(), (300, 180, 420, 220)).1);
    }

    #[test]
    fn a_name_at_the_edge_stays_inside() {
        let label = Label::beside("a-rather-long-name".to_owned(), false, (295, 50), 13.0);
        let (placed, _) = place(vec![label], Vec::new(), (0, 0, 300, 100));
        assert_eq!((placed[0].anchor, placed[0].x <= 295), ("end", true));
    }
}
