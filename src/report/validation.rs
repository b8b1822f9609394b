//! How far the simulated bill is from the recorded one, session by session: the
//! instrument proves itself on the reader's own recordings (measures §2).

use super::grid::{Fit, Grid, paragraph};
use super::{block, number, plain};
use crate::model::{BillErrors, Report, TranscriptFacts, Validation};

/// Sessions that are listed.
const MOST: usize = 12;

/// Headings; the first column takes what the others leave.
const HEADS: [[&str; 2]; 9] = [
    ["session", ""],
    ["tokens", ""],
    ["reads", ""],
    ["writes", ""],
    ["dollars", ""],
    ["count", "fitted"],
    ["count", "ahead"],
    ["count", "behind"],
    ["cold", "starts"],
];

/// A session with what its recording reports.
struct Checked<'a> {
    facts: &'a TranscriptFacts,
    validation: &'a Validation,
    errors: BillErrors,
}

impl Checked<'_> {
    /// The largest error by size.
    fn size(&self) -> f64 {
        self.errors.worst().map_or(0.0, f64::abs)
    }

    fn cells(&self) -> Vec<String> {
        let signed = |error: Option<f64>| error.map_or_else(absent, number::error);
        let calibration = self.facts.calibration.as_ref();
        let count = |error: Option<f64>| {
            error.map_or_else(absent, |e| number::error(e.abs()).replace('+', ""))
        };
        vec![
            plain::line(&self.facts.transcript),
            signed(self.errors.tokens),
            signed(self.errors.reads),
            signed(self.errors.writes),
            signed(self.errors.usd),
            count(calibration.and_then(|c| c.in_sample)),
            count(calibration.and_then(|c| c.forward)),
            count(calibration.and_then(|c| c.after_boundary)),
            number::grouped(u64::from(self.validation.cold_starts)),
        ]
    }
}

fn absent() -> String {
    "–".to_owned()
}

/// One line per session with reported usage, the worst first; nothing in a run
/// without any.
pub(super) fn section(out: &mut String, report: &Report, width: usize, color: bool) {
    let mut checked: Vec<Checked<'_>> = (report.transcripts.iter())
        .filter_map(|facts| {
            let validation = facts.validation.as_ref()?;
            Some(Checked { facts, validation, errors: validation.errors() })
        })
        .collect();
    if checked.is_empty() {
        return;
    }
    // Stable: sessions with equal errors stay in the order of their names.
    checked.sort_by(|a, b| b.size().total_cmp(&a.size()));
    let head = format!(
        "bill of the row `recorded` against what the provider reported, {}:",
        block::counted(checked.len(), "session")
    );
    if !out.ends_with("\n\n") {
        out.push('\n');
    }
    paragraph(out, &head, width, " ");
    let lines: Vec<Vec<String>> = checked.iter().take(MOST).map(Checked::cells).collect();
    let grid = Grid { heads: &HEADS, right: |at| at > 0, fit: Fit::Cut(0) };
    grid.push(out, lines, width, color);
    if checked.len() > MOST {
        paragraph(out, &format!("and {} more: validation.csv.", checked.len() - MOST), width, " ");
    }
    let note = "count: median error of a token count by one factor for the session, which sizes what \
                strategies write: on the requests it was fitted to, on those ahead of a fit to \
                their first half, and behind a recorded compaction.";
    paragraph(out, note, width, " ");
    out.push('\n');
}
