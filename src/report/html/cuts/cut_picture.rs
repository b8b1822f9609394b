//! A cut in a picture: a session as a bar, what stands before the cut, the
//! requests behind it, and a fact from before that is used behind.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::report::html::series::PALETTE;
use crate::report::svg::{self, Area, DRAWS};

const SIZE: (u32, u32) = (480, 168);
const FONT: f64 = 13.0;
/// Ends of the session, the cut, and the end of what is looked at.
const ENDS: (i32, i32) = (8, 472);
const CUT: i32 = 262;
const HORIZON: i32 = 408;
/// Top and bottom of the bar.
const BAR: (i32, i32) = (84, 112);
/// Where the fact was last said, and where it is used.
const SAID: i32 = 92;
const USED: i32 = 348;
/// Height of the arrow.
const ARROW: i32 = 46;

/// Draws it. Nothing of a recording goes in.
pub(in crate::report::html) fn picture() -> String {
    let label = "A session as a bar with a cut in it: before the cut the material, behind it the \
                 next 40 requests; an arrow leads from a fact in the material to its use behind \
                 the cut";
    let svg = svg::draw(SIZE, label, |area| {
        bar(area);
        fact(area);
        words(area);
    });
    svg.trim_end().to_owned()
}

fn bar(area: &Area<'_>) {
    let piece = |from: i32, to: i32, color: RGBColor| {
        let corners = [(from, BAR.0), (to, BAR.1)];
        area.draw(&Rectangle::new(corners, color.filled())).expect(DRAWS);
        area.draw(&Rectangle::new(corners, svg::MUTED.stroke_width(1))).expect(DRAWS);
    };
    piece(ENDS.0, CUT, svg::WHOLE);
    piece(CUT, HORIZON, svg::PAPER);
    let rest = vec![(HORIZON, BAR.1), (ENDS.1, BAR.1), (ENDS.1, BAR.0), (HORIZON, BAR.0)];
    area.draw(&PathElement::new(rest, svg::LIMIT.stroke_width(1))).expect(DRAWS);
    let requests = (CUT + 16..HORIZON).step_by(14);
    for x in requests {
        let line = vec![(x, BAR.0 + 9), (x, BAR.1 - 9)];
        area.draw(&PathElement::new(line, svg::MUTED.stroke_width(1))).expect(DRAWS);
    }
    let cut = vec![(CUT, BAR.0 - 12), (CUT, BAR.1 + 10)];
    area.draw(&PathElement::new(cut, svg::MUTED.stroke_width(3))).expect(DRAWS);
}

fn fact(area: &Area<'_>) {
    let color = PALETTE[0];
    let middle = (BAR.0 + BAR.1) / 2;
    let path = vec![(SAID, middle), (SAID, ARROW), (USED, ARROW), (USED, middle - 10)];
    area.draw(&PathElement::new(path, color.stroke_width(2))).expect(DRAWS);
    area.draw(&Circle::new((SAID, middle), 5, color.filled())).expect(DRAWS);
    let head = vec![(USED - 6, middle - 12), (USED + 6, middle - 12), (USED, middle)];
    area.draw(&Polygon::new(head, color.filled())).expect(DRAWS);
}

fn words(area: &Area<'_>) {
    let say = |text: &str, x: i32, y: i32, side: HPos, color: RGBColor| {
        let style = svg::font(FONT, color).pos(Pos::new(side, VPos::Center));
        area.draw(&Text::new(text.to_owned(), (x, y), style)).expect(DRAWS);
    };
    say("a fact stands here …", SAID, ARROW - 28, HPos::Left, svg::INK);
    say("(a path, a name, a number)", SAID, ARROW - 12, HPos::Left, svg::MUTED);
    say("… and the agent", USED, ARROW - 28, HPos::Center, svg::INK);
    say("uses it here", USED, ARROW - 12, HPos::Center, svg::INK);
    say("the cut", CUT, BAR.1 + 22, HPos::Center, svg::INK);
    say("before: the material,", ENDS.0, BAR.1 + 22, HPos::Left, svg::INK);
    say("which is compacted", ENDS.0, BAR.1 + 40, HPos::Left, svg::INK);
    say("behind: the next", CUT + 44, BAR.1 + 22, HPos::Left, svg::INK);
    say("40 requests at most", CUT + 44, BAR.1 + 40, HPos::Left, svg::INK);
}
