//! When to compact before the limit: the reasons, one picture, and the figures by
//! size and by preset.

use askama::Template;

mod picture;

use crate::model::{Pays, Report};
use crate::report::advice::{BY_PRESET, BY_SIZE, by_preset, by_size, named, reasons};
use crate::report::plain;
use crate::wording;

/// The section.
#[derive(Template)]
#[template(path = "advice/advice.html")]
pub(super) struct When {
    headline: &'static str,
    reasons: Vec<String>,
    apply: Option<wording::Apply>,
    pictures: Vec<picture::Picture>,
    /// Name of the preset of the table by size.
    shown: String,
    size_heads: [&'static str; 7],
    sizes: Vec<Vec<String>>,
    preset_heads: [&'static str; 5],
    presets: Vec<Vec<String>>,
    caveats: Vec<String>,
}

/// The section; nothing where the run gives no advice.
pub(super) fn when(report: &Report) -> Option<When> {
    let advice = report.advice.as_ref()?;
    let shown = advice.shown().filter(|preset| !preset.sizes.is_empty());
    Some(When {
        headline: match advice.pays {
            Pays::Yes => "Compacting before the limit pays",
            Pays::No => "Compacting before the limit does not pay",
            Pays::Undecided => "Whether compacting before the limit pays stays open",
        },
        reasons: reasons(report, advice).iter().map(|reason| plain::line(reason)).collect(),
        apply: wording::to_apply(report),
        pictures: picture::pictures(advice),
        shown: shown.map(named).unwrap_or_default(),
        size_heads: BY_SIZE,
        sizes: shown.map(by_size).unwrap_or_default(),
        preset_heads: BY_PRESET,
        presets: by_preset(advice),
        caveats: wording::caveats(advice),
    })
}
