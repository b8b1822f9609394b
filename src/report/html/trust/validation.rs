//! The simulated bill against the recorded one, session by session
//! (measures §2).

use crate::model::{BillErrors, Buckets, Report, TranscriptFacts, Validation};
use crate::report::{block, number, plain};

/// Sessions on the page; the others are in `validation.csv`.
const SESSIONS: usize = 50;

/// A figure that may have to be looked at.
pub(super) struct Figure {
    pub(super) text: String,
    pub(super) look: bool,
}

/// One session.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) requests: String,
    /// Tokens, reads, writes, dollars: reported, in the row, error.
    pub(super) pairs: Vec<(String, String, Figure)>,
    /// Median error of the count: fitted, ahead, behind a compaction.
    pub(super) counts: [String; 3],
    pub(super) cold: String,
}

/// The table.
pub(super) struct Table {
    pub(super) rows: Vec<Row>,
    pub(super) more: usize,
    /// How many sessions are within the limits, in words.
    pub(super) summary: String,
}

/// Every session with reported usage, the worst first; nothing without any.
pub(super) fn table(report: &Report) -> Option<Table> {
    let mut all: Vec<(&TranscriptFacts, &Validation)> =
        report.transcripts.iter().filter_map(|t| Some((t, t.validation.as_ref()?))).collect();
    if all.is_empty() {
        return None;
    }
    let worst = |v: &Validation| v.errors().worst().map_or(0.0, f64::abs);
    // Stable: equals stay in the order of their names.
    all.sort_by(|a, b| worst(b.1).total_cmp(&worst(a.1)));
    let fine = all.iter().filter(|(_, v)| errors(v).iter().all(|e| !e.look)).count();
    let rows: Vec<Row> = all.iter().take(SESSIONS).map(|(t, v)| row(t, v)).collect();
    Some(Table {
        more: all.len() - rows.len(),
        rows,
        summary: format!("{fine} of {} within the limit", block::counted(all.len(), "session")),
    })
}

fn errors(validation: &Validation) -> [Figure; 4] {
    let errors = validation.errors();
    let each = [errors.tokens, errors.reads, errors.writes, errors.usd];
    each.map(|error| {
        let look = error.is_some_and(|error| error.abs() > BillErrors::FAR_OFF);
        let text = error.map_or_else(|| "–".to_owned(), number::error);
        Figure { text, look }
    })
}

fn row(facts: &TranscriptFacts, v: &Validation) -> Row {
    let tokens = |of: fn(&Buckets) -> u64| {
        (number::grouped(of(&v.recorded)), number::grouped(of(&v.simulated)))
    };
    let usd = |usd: Option<f64>| usd.map_or_else(|| "unknown".to_owned(), number::dollars);
    let sums = [
        tokens(Buckets::prompt),
        tokens(|b| b.read),
        tokens(Buckets::written),
        (usd(v.recorded_usd), usd(v.simulated_usd)),
    ];
    let pairs = sums.into_iter().zip(errors(v)).map(|((a, b), error)| (a, b, error));
    let known = facts.calibration.as_ref();
    let count = |error: Option<f64>| {
        error.map_or_else(|| "–".to_owned(), |e| number::error(e.abs()).replace('+', ""))
    };
    Row {
        name: plain::line(&facts.transcript),
        requests: number::grouped(u64::from(v.requests)),
        pairs: pairs.collect(),
        counts: [
            count(known.and_then(|c| c.in_sample)),
            count(known.and_then(|c| c.forward)),
            count(known.and_then(|c| c.after_boundary)),
        ],
        cold: format!("{} ({} foreseen)", v.cold_starts, v.expired),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testkit::{Kit, validation};

    #[test]
    fn the_worst_session_stands_first_and_what_is_beyond_the_limits_is_marked() {
        let mut report = Kit::default().report();
        assert!(table(&report).is_none());
        report.transcripts[0].validation = Some(validation(0.01));
        report.transcripts[1].validation = Some(validation(-0.06));
        let table = table(&report).unwrap();
        assert_eq!(table.summary, "1 of 2 sessions within the limit");
        let worst = &table.rows[0];
        assert_eq!(worst.name, "session-1");
        let marked: Vec<bool> = worst.pairs.iter().map(|p| p.2.look).collect();
        // Tokens, reads, writes and dollars, each 6 % off.
        assert_eq!(marked, [true, true, true, true]);
        assert_eq!(worst.pairs[1].2.text, "−6.0 %");
    }
}
