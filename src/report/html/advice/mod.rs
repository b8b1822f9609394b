//! The page of `recap advise`: the answer, one picture, and the figures by size
//! and by preset. No script, no network.

use askama::Template;

mod picture;

use super::policy;
use crate::model::{Advice, Pays, Report};
use crate::report::advice::{BY_PRESET, BY_SIZE, by_preset, by_size, named, told};
use crate::report::plain;
use crate::wording;

#[derive(Template)]
#[template(path = "advice/advice.html")]
struct Page {
    policy: String,
    styles: &'static [&'static str],
    title: String,
    headline: &'static str,
    answer: String,
    reasons: Vec<String>,
    pictures: Vec<picture::Picture>,
    /// Name of the preset of the table by size.
    shown: String,
    size_heads: [&'static str; 7],
    sizes: Vec<Vec<String>>,
    preset_heads: [&'static str; 5],
    presets: Vec<Vec<String>>,
    caveats: Vec<String>,
}

/// Renders the advice as a page.
pub fn advice_html(report: &Report, advice: &Advice) -> String {
    let (answer, reasons) = told(report, advice);
    let shown = advice.shown().filter(|preset| !preset.sizes.is_empty());
    let page = Page {
        policy: policy::policy_without_scripts(),
        styles: policy::STYLES,
        title: plain::line(&report.title),
        headline: match advice.pays {
            Pays::Yes => "Compacting pays here",
            Pays::No => "Compacting does not pay here",
            Pays::Undecided => "Whether compacting pays here stays open",
        },
        answer: plain::line(&answer),
        reasons: reasons.iter().map(|reason| plain::line(reason)).collect(),
        pictures: picture::pictures(advice),
        shown: shown.map(named).unwrap_or_default(),
        size_heads: BY_SIZE,
        sizes: shown.map(by_size).unwrap_or_default(),
        preset_heads: BY_PRESET,
        presets: by_preset(advice),
        caveats: wording::caveats(advice),
    };
    page.render().expect("writing to memory cannot fail")
}
