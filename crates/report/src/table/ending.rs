//! What a wide screen says beside the tables: the answer with its reasons, and
//! every finding.

use crate::document::Part;
use crate::{forgets, receipt, sizes};
use recap_core::model::{Finding, Recommendation, Report, RowKind};
use recap_core::wording;

/// The answer with its reasons.
pub(super) fn answer(report: &Report) -> Vec<Part> {
    let (Some(recommendation), Some(answer)) = (&report.recommendation, wording::answer(report))
    else {
        return Vec::new();
    };
    let first = [answer.answer, answer.also.join(" ")];
    let first: Vec<String> = first.into_iter().filter(|text| !text.is_empty()).collect();
    let how_sure: Vec<String> =
        [Some(answer.how_sure), answer.doubt].into_iter().flatten().collect();
    let parts = [
        ("answer", Some(first.join(" "))),
        ("sure", Some(how_sure.join(" "))),
        ("today", receipt::sentence(report)),
        ("rebuilt", receipt::rebuilt(&report.receipt).map(|said| format!("{said}."))),
        ("basis", Some(answer.basis)),
        ("forgets", forgets(report, recommendation)),
        ("harness", answer.harness),
        ("next", answer.next),
    ];
    let said = parts.into_iter().filter_map(|(label, text)| Some(Part::Labelled(label, text?)));
    let mut parts: Vec<Part> = said.collect();
    if let Some(Ok(curve)) = &report.curve {
        parts.extend(sizes::parts(curve));
    }
    parts
}

/// Every finding, in full.
pub(super) fn findings(report: &Report) -> Vec<Part> {
    let of = |head: &str, is: fn(&Finding) -> bool| {
        let those = report.findings.iter().filter(|finding| is(finding));
        let those: Vec<String> = those.map(ToString::to_string).collect();
        let parts = vec![Part::Heading(head.to_owned()), Part::List(those.clone())];
        if those.is_empty() { Vec::new() } else { parts }
    };
    [
        of("What the figures show", |finding| matches!(finding, Finding::Observation(_))),
        of("Problems of this run", |finding| matches!(finding, Finding::Problem(_))),
        of("Limits of every figure here", |finding| matches!(finding, Finding::Limit(_))),
    ]
    .concat()
}

/// What the recommended strategy forgets, or the one that comes nearest.
fn forgets(report: &Report, recommendation: &Recommendation) -> Option<String> {
    let chosen = recommendation.choice.place().map(|place| place.strategy.as_str());
    let ranked = || {
        let rows = report.rows.iter().filter(|row| row.row_kind != RowKind::Control);
        let best = rows.filter(|row| row.rank.is_some()).min_by_key(|row| row.rank);
        best.map(|row| row.strategy.as_str())
    };
    let forgotten = chosen.and_then(|strategy| forgets::forgets(report, strategy));
    forgotten.or_else(|| forgets::forgets(report, ranked()?))
}
