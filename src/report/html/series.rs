//! How a preset looks in every chart: one colour through the whole page, and one
//! mark per standing.

use std::collections::BTreeMap;

use plotters::prelude::*;

use crate::model::{Report, Standing};
use crate::report::svg::{self, Area, DRAWS};

/// Okabe and Ito's palette, darkened where white paper needs it; lines are
/// named beside them, so colour only tells neighbours apart.
const PALETTE: [RGBColor; 8] = [
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
                Standing::Ranked | Standing::StandIn => palette.next().expect("it has no end"),
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

/// Filled: ranked. Hollow: with a doubt that the legend names. Hatched: stand-in. Grey: control.
pub(super) fn mark(
    area: &Area<'_>,
    at: (i32, i32),
    radius: i32,
    color: RGBColor,
    standing: Standing,
    hollow: bool,
) {
    let fill = match standing {
        _ if hollow => svg::PAPER,
        Standing::StandIn => svg::HATCH,
        Standing::Ranked | Standing::Control => color,
    };
    area.draw(&Circle::new(at, radius, fill.filled())).expect(DRAWS);
    if fill != color {
        area.draw(&Circle::new(at, radius, color.stroke_width(2))).expect(DRAWS);
    }
}
