//! What strategies keep against what they cost, as a drawing. Only geometry
//! and words stand here; `scatter.html` writes them as SVG and escapes the words.

use askama::Template;
use unicode_width::UnicodeWidthStr;

use crate::{block, number, plain};
use recap_core::model::{FULL, Interval, RECORDED, RowKind, StrategyRow, catalogue};

/// A mark of the drawing.
struct Point {
    name: String,
    /// What a pointer over it reads.
    title: String,
    /// What it costs, and the share that it keeps with the ends of its spread.
    x: f64,
    y: f64,
    spread: Option<(f64, f64)>,
    /// `ranked`, `hollow` or `control`, as the style sheet calls it.
    class: &'static str,
    /// Whether its name is the one to look at; these find a place first.
    strong: bool,
}

/// What is drawn.
struct Picture {
    points: Vec<Point>,
    show_x: fn(f64) -> String,
    /// Cost and share of the row that the others are held against.
    cross: (f64, f64),
}

/// The strategies of a table by their bill, or in a run without prices by the tokens that they
/// send, against what is done today. `None` without two figures for anybody.
pub(super) fn strategies(rows: &[&StrategyRow], chosen: Option<&str>) -> Option<String> {
    let named = |name: &str| rows.iter().copied().find(|row| row.strategy == name);
    let reference = named(RECORDED).or_else(|| named(FULL))?;
    let kept = |row: &StrategyRow| row.number(catalogue::CONTINUITY).map(|points| points / 100.0);
    let (measure, axis, show_x): (_, _, fn(f64) -> String) =
        match reference.number(catalogue::COST_USD) {
            Some(_) => (catalogue::COST_USD, "bill of the sessions", number::dollars),
            None => (catalogue::TOKENS_SENT, "tokens sent (no price is known)", number::tokens),
        };
    // At cuts nobody knows what the recorded agent would have kept.
    let level = kept(reference).or_else(|| kept(named(FULL)?))?;
    let point = |row: &&StrategyRow| {
        let (x, y) = (row.number(measure)?, kept(row)?);
        let ends = row.intervals.get(catalogue::CONTINUITY.id).and_then(Interval::ends);
        Some(Point {
            title: format!("{}: {} kept, {}", block::label(row), number::percent(y), show_x(x)),
            name: format!("{}{}", plain::line(&row.strategy), block::star(row)),
            x,
            y,
            spread: ends.map(|(lo, hi)| (lo / 100.0, hi / 100.0)),
            class: match row.row_kind {
                RowKind::Ranked => "ranked",
                RowKind::OfflineSummary | RowKind::Unusable => "hollow",
                RowKind::Control => "control",
            },
            strong: chosen == Some(row.strategy.as_str()),
        })
    };
    // Controls are no choice; the whole conversation is one beside what the agent did.
    let choices = rows.iter().filter(|row| {
        row.row_kind != RowKind::Control
            || row.strategy == FULL && reference.strategy != row.strategy
    });
    let mut points: Vec<Point> = choices.filter_map(point).collect();
    if points.len() < 2 {
        return None;
    }
    points.sort_by_key(|point| (!point.strong, point.class != "ranked"));
    let axes = [axis, "questions still answered right"];
    let each: Vec<&str> = points.iter().map(|point| point.title.as_str()).collect();
    let label = format!("{} against {}. {}", axes[1], axes[0], each.join(". "));
    let is_starred = points.iter().any(|point| point.name.ends_with(block::STAR));
    let star = if is_starred { " *: some requests are too large for the window." } else { "" };
    let legend = format!(
        "Filled: ranked. Hollow: not ranked; dashed: {}. Bars: 95 % intervals, or the lowest and \
         highest of few sessions.{star} Names without room are left out.",
        plain::line(&reference.strategy)
    );
    let picture = Picture { points, show_x, cross: (reference.number(measure)?, level) };
    let frames = FRAMES.iter().map(|frame| drawing(&picture, frame)).collect();
    let scatter = Scatter { frames, label, legend, axes, radius: RADIUS };
    Some(scatter.render().expect("writing to memory cannot fail"))
}

/// Left, top, right, bottom in units of the drawing.
type Rectangle = (i32, i32, i32, i32);

/// Sizes of a drawing.
struct Frame {
    /// How the style sheet calls it.
    class: &'static str,
    width: i32,
    height: i32,
    /// Room for the figures on the left.
    left: i32,
    /// Size and characters of a name.
    font: f64,
    name: usize,
}

/// On a screen, and on a telephone.
const FRAMES: [Frame; 2] = [
    Frame { class: "wide", width: 800, height: 430, left: 58, font: 13.0, name: 32 },
    Frame { class: "narrow", width: 360, height: 400, left: 60, font: 12.0, name: 18 },
];

/// Room above, on the right and below the field.
const TOP: i32 = 8;
const RIGHT: i32 = 26;
const BOTTOM: i32 = 46;
const RADIUS: i32 = 6;
/// How far apart the ends are from which a scale is logarithmic.
const WIDE: f64 = 10.0;
/// Values that are named on a scale, about.
const TICKS: f64 = 5.0;

#[derive(Template)]
#[template(path = "scatter.html")]
struct Scatter {
    frames: Vec<Drawing>,
    label: String,
    /// What lines and marks stand for.
    legend: String,
    axes: [&'static str; 2],
    radius: i32,
}

/// The drawing in one frame.
struct Drawing {
    frame: &'static Frame,
    /// Left, top, right and bottom of the field.
    field: Rectangle,
    down: Vec<(i32, String)>,
    across: Vec<(i32, String)>,
    cross: (i32, i32),
    dots: Vec<Dot>,
    names: Vec<Name>,
}

struct Dot {
    class: &'static str,
    x: i32,
    y: i32,
    title: String,
    /// Heights of the ends of its spread.
    bar: Option<(i32, i32)>,
}

/// A name in its place, and which end of it stands at `x`.
struct Name {
    text: String,
    strong: bool,
    anchor: &'static str,
    x: i32,
    y: i32,
}

fn drawing(picture: &Picture, frame: &'static Frame) -> Drawing {
    let field = (frame.left, TOP, frame.width - RIGHT, frame.height - BOTTOM);
    let x = Scale::new(picture.points.iter().map(|point| point.x).chain([picture.cross.0]), WIDE);
    let heights = picture.points.iter().flat_map(|point| {
        let (lo, hi) = point.spread.unwrap_or((point.y, point.y));
        [point.y, lo, hi].map(|share| share.clamp(0.0, 1.0))
    });
    let y = Scale::new(heights.chain([picture.cross.1]), f64::INFINITY);
    let across =
        |value: f64| field.0 + (x.share(value) * f64::from(field.2 - field.0)).round() as i32;
    let down = |value: f64| {
        let share = y.share(value.clamp(0.0, 1.0));
        field.3 - (share * f64::from(field.3 - field.1)).round() as i32
    };
    let dots: Vec<Dot> = (picture.points.iter())
        .map(|point| Dot {
            class: point.class,
            x: across(point.x),
            y: down(point.y),
            title: point.title.clone(),
            bar: point.spread.map(|(lo, hi)| (down(lo), down(hi))),
        })
        .collect();
    Drawing {
        frame,
        field,
        down: y.ticks().into_iter().map(|at| (down(at), number::percent(at))).collect(),
        across: x.ticks().into_iter().map(|at| (across(at), (picture.show_x)(at))).collect(),
        cross: (across(picture.cross.0), down(picture.cross.1)),
        names: names(picture, &dots, field, frame),
        dots,
    }
}

/// Each name where it covers no point and no other name; one without such a place is left out.
fn names(picture: &Picture, dots: &[Dot], field: Rectangle, frame: &Frame) -> Vec<Name> {
    let away = RADIUS + 1;
    let around = |dot: &Dot| (dot.x - away, dot.y - away, dot.x + away, dot.y + away);
    let mut taken: Vec<Rectangle> = dots.iter().map(around).collect();
    let mut names = Vec::new();
    for (point, dot) in picture.points.iter().zip(dots).filter(|(point, _)| !point.name.is_empty())
    {
        let text = plain::shortened(&point.name, frame.name);
        let size = (width(&text, frame.font), (frame.font * 1.2).ceil() as i32);
        let is_free = |place: &&(&'static str, Rectangle)| {
            let place = &place.1;
            let inside = place.0 >= field.0
                && place.2 <= field.2
                && place.1 >= field.1
                && place.3 <= field.3;
            inside && !taken.iter().any(|other| overlap(place, other))
        };
        let places = places(size, (dot.x, dot.y));
        let Some((anchor, place)) = places.iter().find(is_free) else { continue };
        taken.push(*place);
        names.push(Name {
            text,
            strong: point.strong,
            anchor,
            x: if *anchor == "start" { place.0 } else { place.2 },
            y: place.3 - size.1 / 4,
        });
    }
    names
}

/// Places of a name beside its point, the best first, and which end of it is at the point: widths
/// are estimates.
fn places((width, height): (i32, i32), (x, y): (i32, i32)) -> [(&'static str, Rectangle); 6] {
    let [right, left] = [("start", x + 10), ("end", x - 10 - width)];
    let level = y - height / 2;
    let [above, below] = [level - height - 1, level + height + 1];
    [(right, level), (left, level), (right, above), (left, above), (right, below), (left, below)]
        .map(|((end, from), top)| (end, (from, top, from + width, top + height)))
}

/// Width of a text in units, estimated: no font is measured anywhere.
fn width(text: &str, font: f64) -> i32 {
    (text.width() as f64 * font * 0.58).ceil() as i32
}

fn overlap(a: &Rectangle, b: &Rectangle) -> bool {
    a.0 < b.2 && b.0 < a.2 && a.1 < b.3 && b.1 < a.3
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
    /// With a twentieth of room around all values. Logarithmic where they lie more than `wide`
    /// times apart.
    fn new(values: impl Iterator<Item = f64>, wide: f64) -> Self {
        let (mut from, mut to) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values {
            (from, to) = (from.min(value), to.max(value));
        }
        let log = from > 0.0 && to > wide * from;
        let scaled = |value: f64| if log { value.log10() } else { value };
        let (from, to) = (scaled(from), scaled(to));
        // All in one point still need a scale.
        let room = (to - from).max(to.abs() * 0.1).max(1e-6) / 18.0;
        Scale { log, from: from - room, to: to + room }
    }

    /// Where a value stands, 0 to 1.
    fn share(self, value: f64) -> f64 {
        let value = if self.log { value.max(f64::MIN_POSITIVE).log10() } else { value };
        (value - self.from) / (self.to - self.from)
    }

    /// Round values: 1, 2 and 5 in every power of ten, or steps of these.
    fn ticks(self) -> Vec<f64> {
        if self.log {
            let powers = self.from.floor() as i32..=self.to.ceil() as i32;
            let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|s| s * 10f64.powi(power)));
            return all.filter(|value| (0.0..=1.0).contains(&self.share(*value))).collect();
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
    use crate::testkit::asked;
    use recap_core::model::{Absent, Value};

    fn shown(report: &recap_core::model::Report) -> Option<String> {
        let rows: Vec<&StrategyRow> = report.rows.iter().collect();
        strategies(&rows, Some("fifo"))
    }

    #[test]
    fn choices_are_marked_and_controls_are_not() {
        let drawn = shown(&asked()).unwrap();
        // A title for each mark in two frames: prune, sliding-window, fifo, continuation.
        assert_eq!(drawn.matches("<title>").count(), 8);
        // 41.2 · (1 − 0.44) dollars, and 61.4 of 100.
        assert!(drawn.contains("<title>prune: 61 % kept, $23.07</title>"), "{drawn}");
        assert!(!drawn.contains("<title>empty") && drawn.contains("dashed: full"), "{drawn}");
        assert!(drawn.contains("strong\""), "fifo is the one to look at");
    }

    #[test]
    fn without_a_price_the_picture_stands_against_tokens() {
        let mut report = asked();
        for row in &mut report.rows {
            row.values.insert("cost_usd".to_owned(), Value::Absent(Absent::SomePrice));
        }
        assert!(shown(&report).unwrap().contains("tokens sent (no price is known)"));
    }

    #[test]
    fn names_at_one_point_do_not_overlap() {
        let all = places((90, 16), (350, 200)).map(|(_, place)| place);
        assert_eq!(all[..2], [(360, 192, 450, 208), (250, 192, 340, 208)]);
        for (at, one) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| !overlap(one, other)), "{all:?}");
        }
    }

    #[test]
    fn scale_is_logarithmic_for_points_tenfold_apart() {
        let scale = Scale::new([3.0, 130.0].into_iter(), WIDE);
        assert!(scale.log);
        assert_eq!(scale.ticks(), [5.0, 10.0, 20.0, 50.0, 100.0]);
        assert!(!Scale::new([0.0, 130.0].into_iter(), WIDE).log, "nothing has no logarithm");
        assert_eq!(
            Scale::new([80.0, 100.0].into_iter(), WIDE).ticks(),
            [80.0, 85.0, 90.0, 95.0, 100.0]
        );
        let one = Scale::new([1.0].into_iter(), WIDE);
        assert!(one.to > one.from && (one.share(1.0) - 0.5).abs() < 1e-9, "{one:?}");
    }
}
