//! What all drawings share.

use plotters::prelude::*;

/// What a drawing can fail with: nothing, since it goes to memory and every range
/// and size is set in this file.
pub(crate) const DRAWS: &str = "drawing to memory in ranges of our own cannot fail";

/// Replaced by the colour of the page's text, which changes with its theme.
pub(crate) const INK: RGBColor = RGBColor(0x1C, 0x21, 0x28);
/// Visible on light and on dark paper.
pub(crate) const GRID: RGBColor = RGBColor(0x8A, 0x93, 0x9E);
