//! When to compact before the limit: the reasons, one picture, and the figures by
//! size and by strategy.

use askama::Template;

mod picture;

use crate::{advice, document, plain};
use recap_core::model::{Payback, Report};
use recap_core::wording;

/// The section.
#[derive(Template)]
#[template(path = "advice/advice.html")]
pub(super) struct When {
    headline: &'static str,
    reasons: Vec<String>,
    apply: Option<wording::Apply>,
    pictures: Vec<picture::Picture>,
    tables: String,
    caveats: Vec<String>,
}

/// The section; nothing where the run gives no advice.
pub(super) fn when(report: &Report) -> Option<When> {
    let advice = report.advice.as_ref()?;
    Some(When {
        headline: match advice.pays {
            Payback::Yes => "Compacting before the limit pays",
            Payback::No => "Compacting before the limit does not pay",
            Payback::Undecided => "Whether compacting before the limit pays stays open",
        },
        reasons: advice::reasons(report, advice),
        apply: wording::to_apply(report),
        pictures: picture::pictures(advice),
        tables: document::html(&advice::tables(advice)),
        caveats: wording::caveats(advice),
    })
}
