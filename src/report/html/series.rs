//! How a preset looks in every chart: one colour through the whole page, and one
//! mark per standing.

use std::collections::BTreeMap;

use plotters::prelude::*;

use crate::model::{Report, Standing};
use crate::report::svg::{self, Area, DRAWS};

/// Okabe and Ito's palette, darkened where white paper needs it; lines are
/// named beside them, so colour only tells neighbours apart.
pub(super) const PALETTE: [RGBColor; 8] = [
    RGBColor(0x00, 0x6B, 0xA6),
    RGBColor(0xB3, 0x54, 0x00),
    RGBColor(0x00, 0x7A, 0x5A),
    RGBColor(0xA2, 0x4A, 0x7C),
    RGBColor(0x7A, 0x66, 0x00),
    RGBColor(0x4B, 0x57, 0x9E),
    RGBColor(0x99, 0x33, 0x33),
    RGBColor(0x2F, 0x6F, 0x73),
];

/// Colours by preset.
pub(super) struct Colors(BTreeMap<String, RGBColor>);

impl Colors {
    /// By name, so that a preset keeps its colour from run to run of the same
    /// presets. Controls are grey.
    pub(super) fn new(report: &Report) -> Colors {
        let standings: BTreeMap<&str, Standing> =
            report.rows.iter().map(|row| (row.strategy.as_str(), row.standing)).collect();
        let mut palette = PALETTE.into_iter().cycle();
        let color = |(name, standing): (&str, Standing)| {
            let color = match standing {
                Standing::Control => svg::LIMIT,
                Standing::Ranked | Standing::StandIn | Standing::Void => {
                    palette.next().expect("it has no end")
                }
            };
            (name.to_owned(), color)
        };
        Colors(standings.into_iter().map(color).collect())
    }

    /// The colour of a preset of the report.
    pub(super) fn of(&self, strategy: &str) -> RGBColor {
        self.0.get(strategy).copied().unwrap_or(svg::LIMIT)
    }
}

/// The form of a mark, so that no line rests on its colour alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Shape {
    /// Every form, in the order in which lines take them.
    pub(super) const ALL: [Shape; 4] =
        [Shape::Circle, Shape::Square, Shape::Triangle, Shape::Diamond];

    /// Its corners around a point; none for a circle.
    fn corners(self, (x, y): (i32, i32), r: i32) -> Vec<(i32, i32)> {
        match self {
            Shape::Circle => Vec::new(),
            Shape::Square => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            Shape::Triangle => vec![(x, y - r - 1), (x + r + 1, y + r), (x - r - 1, y + r)],
            Shape::Diamond => {
                vec![(x, y - r - 2), (x + r + 2, y), (x, y + r + 2), (x - r - 2, y)]
            }
        }
    }
}

/// A mark of any form: filled, hollow or hatched as [`mark`] is.
pub(super) fn shape(
    area: &Area<'_>,
    at: (i32, i32),
    radius: i32,
    color: RGBColor,
    (standing, shape): (Standing, Shape),
    hollow: bool,
) {
    let mut corners = shape.corners(at, radius);
    let Some(first) = corners.first().copied() else {
        return mark(area, at, radius, color, standing, hollow);
    };
    let fill = fill(color, standing, hollow);
    area.draw(&Polygon::new(corners.clone(), fill.filled())).expect(DRAWS);
    if fill != color {
        corners.push(first);
        area.draw(&PathElement::new(corners, color.stroke_width(2))).expect(DRAWS);
    }
}

fn fill(color: RGBColor, standing: Standing, hollow: bool) -> RGBColor {
    match standing {
        _ if hollow => svg::PAPER,
        Standing::StandIn | Standing::Void => svg::HATCH,
        Standing::Ranked | Standing::Control => color,
    }
}

/// Filled: ranked. Hollow: with a doubt that the legend names. Hatched: stand-in or void. Grey: control.
pub(super) fn mark(
    area: &Area<'_>,
    at: (i32, i32),
    radius: i32,
    color: RGBColor,
    standing: Standing,
    hollow: bool,
) {
    let fill = fill(color, standing, hollow);
    area.draw(&Circle::new(at, radius, fill.filled())).expect(DRAWS);
    if fill != color {
        area.draw(&Circle::new(at, radius, color.stroke_width(2))).expect(DRAWS);
    }
}
