//! How far the simulated bill is from the recorded one, session by session: the
//! instrument proves itself on the reader's own recordings (reference §2).

use super::document::{Head, Narrow, Part, Table, absent, figures, names};
use super::{block, number};
use recap_core::model::{BillErrors, Report, SessionFacts, Validation};

/// Sessions that are listed.
const MOST: usize = 12;

const HEADS: &[Head] = &[
    names("session"),
    figures("tokens"),
    figures("reads"),
    figures("writes"),
    figures("dollars"),
    Head { words: ["count", "fitted"], ..figures("") },
    Head { words: ["count", "ahead"], ..figures("") },
    Head { words: ["count", "after"], ..figures("") },
    Head { words: ["cold", "starts"], right: true, narrow: Narrow::LeftOut(1) },
];

/// A session with what its recording reports.
struct Checked<'a> {
    facts: &'a SessionFacts,
    validation: &'a Validation,
    errors: BillErrors,
}

impl Checked<'_> {
    /// The largest error by size.
    fn size(&self) -> f64 {
        self.errors.worst().map_or(0.0, f64::abs)
    }

    fn cells(&self) -> Vec<String> {
        let signed = |error: Option<f64>| match error {
            Some(error) if error.abs() > BillErrors::FAR_OFF => {
                format!("!{}", number::error(error))
            }
            Some(error) => number::error(error),
            None => absent(),
        };
        let calibration = self.facts.calibration.as_ref();
        let count = |error: Option<f64>| {
            error.map_or_else(absent, |e| number::error(e.abs()).replace('+', ""))
        };
        vec![
            self.facts.session.clone(),
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

/// One row per session with reported usage, the worst first; nothing in a run
/// without any.
pub(super) fn parts(report: &Report) -> Vec<Part> {
    let mut checked: Vec<Checked<'_>> = (report.sessions.iter())
        .filter_map(|facts| {
            let validation = facts.validation.as_ref()?;
            Some(Checked { facts, validation, errors: validation.errors() })
        })
        .collect();
    if checked.is_empty() {
        return Vec::new();
    }
    // Stable: sessions with equal errors stay in the order of their names.
    checked.sort_by(|a, b| b.size().total_cmp(&a.size()));
    let fine = checked.iter().filter(|one| !one.errors.are_far_off()).count();
    let head = format!(
        "The row `recorded` sends what the recording really sent: its bill less what the provider \
         reported, of what was reported; {fine} of {} within 5 % in all of them (! marks the others).",
        block::counted(checked.len(), "session")
    );
    let rows = checked.iter().take(MOST).map(Checked::cells).collect();
    let more = checked.len().saturating_sub(MOST);
    let more = (more > 0).then(|| Part::Text(format!("and {more} more: validation.csv.")));
    let note = "count: median error of a token count by one factor for the session, which sizes what \
                strategies write: on the requests it was fitted to, on those ahead of a fit to \
                their first half, and after a recorded compaction.";
    let mut parts = vec![
        Part::Heading("The simulated bill against the reported one".to_owned()),
        Part::Text(head),
        Part::Table(Table::new("Errors of the simulated bill", HEADS, rows)),
    ];
    parts.extend(more);
    parts.push(Part::Text(note.to_owned()));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Kit, validation};

    #[test]
    fn worst_session_is_first_and_large_errors_marked() {
        let mut report = Kit::default().report();
        assert!(parts(&report).is_empty());
        report.sessions[0].validation = Some(validation(0.01));
        report.sessions[1].validation = Some(validation(-0.06));
        let parts = parts(&report);
        let [_, Part::Text(head), Part::Table(table), _] = &parts[..] else { panic!("{parts:?}") };
        assert!(head.contains("1 of 2 sessions within 5 %"), "{head}");
        let worst: Vec<&str> =
            table.groups[0].rows[0].cells.iter().map(|cell| cell.text.as_str()).collect();
        // Tokens, reads, writes and dollars, each 6 % off.
        let off = "!−6.0 %";
        assert_eq!(worst[..5], ["session-1", off, off, off, off]);
    }
}
