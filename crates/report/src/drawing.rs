//! What all drawings share.

use plotters::prelude::*;

/// What a drawing can fail with: nothing, since it goes to memory and every range
/// and size is set in this file.
pub(crate) const DRAWS: &str = "drawing to memory in ranges of our own cannot fail";

/// Replaced by the colour of the page's text, which changes with its theme.
pub(crate) const INK: RGBColor = RGBColor(0x1C, 0x21, 0x28);
/// Visible on light and on dark paper.
pub(crate) const GRID: RGBColor = RGBColor(0x8A, 0x93, 0x9E);

/// Okabe and Ito's palette, in tones that white and dark paper both carry. Lines
/// are named beside them, so colour only tells neighbours apart.
pub(crate) const PALETTE: [RGBColor; 8] = [
    RGBColor(0x1F, 0x83, 0xC2),
    RGBColor(0xC8, 0x6A, 0x12),
    RGBColor(0x14, 0x8F, 0x6C),
    RGBColor(0xB8, 0x5C, 0x90),
    RGBColor(0x96, 0x82, 0x10),
    RGBColor(0x6B, 0x76, 0xBC),
    RGBColor(0xBB, 0x50, 0x50),
    RGBColor(0x46, 0x8F, 0x93),
];
