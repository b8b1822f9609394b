//! What a wide screen says beside the tables: the answer with its reasons, and
//! every finding.

use crate::document::Part;
use crate::{forgets, receipt, sizes};
use recap_core::model::{Report, RowKind, RowName, Severity};

/// The answer with its reasons.
pub(super) fn answer(report: &Report) -> Vec<Part> {
    let Some(answer) = report.recommendation.clone() else { return Vec::new() };
    let forgets = forgets(report, answer.row.as_ref());
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
        ("forgets", forgets),
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
    let of = |head: &str, severity: Severity| {
        let those = report.findings.iter().filter(|finding| finding.severity == severity);
        let those: Vec<String> = those.map(|finding| finding.text.clone()).collect();
        let parts = vec![Part::Heading(head.to_owned()), Part::List(those.clone())];
        if those.is_empty() { Vec::new() } else { parts }
    };
    [
        of("What the figures show", Severity::Observation),
        of("Problems of this run", Severity::Problem),
        of("Limits of every figure here", Severity::Limit),
    ]
    .concat()
}

/// What the recommended strategy forgets, or the one that comes nearest.
fn forgets(report: &Report, recommended: Option<&RowName>) -> Option<String> {
    let chosen = recommended.map(|row| row.strategy.as_str());
    let ranked = || {
        let rows = report.rows.iter().filter(|row| row.row_kind != RowKind::Control);
        let best = rows.filter(|row| row.rank.is_some()).min_by_key(|row| row.rank);
        best.map(|row| row.strategy.as_str())
    };
    let forgotten = chosen.and_then(|strategy| forgets::forgets(report, strategy));
    forgotten.or_else(|| forgets::forgets(report, ranked()?))
}
