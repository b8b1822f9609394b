//! Findings on whether the exam can distinguish strategies (reference §4 to §6,
//! how-it-works §44).

use std::collections::BTreeMap;

use recap_core::model::{
    Cell, FULL, Finding, NATIVE, Primary, RowKind, SMALLEST_NATIVE, catalogue, is_exam_doubtful,
};
use recap_core::text::{counted, form_for};
use recap_core::wording::number::percent;
use recap_core::wording::{listed, window};

use super::{Evidence, among_cells};
use crate::figures::rows::Entry;

pub(super) fn findings(run: &Evidence<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(exam_in_doubt(run));
    found.extend(nothing_compacts(run));
    found.extend(not_cut(run));
    found.extend(open_loop(run));
    found.extend(cuts_ask_for_identifiers(run));
    found.extend(small_windows(run));
    found
}

/// Windows at which no strategy compacted anything (how-it-works §40).
fn nothing_compacts(run: &Evidence<'_>) -> Vec<Finding> {
    let largest = |window: &str| {
        // A data set may have windows of its own.
        let here = among_cells(run.results, |cell| {
            (cell.key.window == window).then(|| cell.key.dataset.clone())
        });
        let facts = run.facts.iter().filter(|f| here.contains(&f.dataset));
        facts.flat_map(|f| &f.requests).map(|r| r.tokens_full).max().unwrap_or(0)
    };
    let idle = |rows: &&[&Entry]| {
        let mut strategies = rows.iter().filter(|e| e.row.row_kind != RowKind::Control).peekable();
        strategies.peek().is_some() && strategies.all(|e| !e.acted && e.row.failed.is_empty())
    };
    let windows = run.at_windows().filter(idle).map(|rows| rows[0].row.window.as_str());
    let text = |label| {
        format!(
            "nothing compacts at {}: the largest context seen is {}; choose a smaller --window",
            window(label),
            counted(largest(label), "token")
        )
    };
    windows.map(|label| Finding::problem("nothing_compacts", text(label))).collect()
}

/// The instrument's own error, if a recording shows it (reference §4).
fn exam_in_doubt(run: &Evidence<'_>) -> Option<Finding> {
    let full = run.rows.iter().find(|e| e.row.strategy == FULL).or(run.rows.first());
    let share =
        full?.row.number(catalogue::DID_WITHOUT).filter(|share| is_exam_doubtful(*share))?;
    let text = format!(
        "after its own compactions the recorded agent did without {} of what this exam would have \
         asked for: read needed facts kept with that error in mind",
        percent(share)
    );
    let ranks = run.primary == Primary::ReferenceRecall;
    let weight = if ranks { 0.9 } else { 0.0 };
    Some(Finding::problem("exam_in_doubt", text).changing_figures(true).weighing(weight))
}

/// Sessions without a place for a cut (how-it-works §44).
fn not_cut(run: &Evidence<'_>) -> Option<Finding> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for facts in run.facts {
        if let Some(why) = &facts.no_cut {
            reasons.entry(why.clone()).or_default().push(&facts.session);
        }
    }
    let sessions: usize = reasons.values().map(Vec::len).sum();
    let (why, named) = reasons.first_key_value()?;
    let text = format!(
        "{sessions} of {} {} not cut, for example {}: {why}",
        counted(run.facts.len(), "session"),
        form_for(sessions, "is", "are"),
        named[0]
    );
    Some(Finding::problem("not_cut", text))
}

/// That no exam of a replay measures how the agent would have gone on.
fn open_loop(_: &Evidence<'_>) -> Option<Finding> {
    let text = "replay is open loop: the recorded agent does not react to what was forgotten, so \
                this measures memory and size, not task success";
    Some(Finding::limit("open_loop", text).weighing(0.1))
}

/// That cuts do not tell whether intent is kept.
fn cuts_ask_for_identifiers(run: &Evidence<'_>) -> Option<Finding> {
    let text = "cuts ask for identifiers that the agent used next; whether intent, reasons and \
                rules survive takes questions";
    let at_cuts = run.primary == Primary::FactsKept;
    at_cuts.then(|| Finding::limit("open_loop", text).weighing(0.4))
}

/// Windows smaller than those of recorded agents (how-it-works §10).
fn small_windows(run: &Evidence<'_>) -> Option<Finding> {
    let is_small = |cell: &Cell| {
        let window = &cell.key.window;
        let tokens = cell.rows().map(|rows| rows.window);
        window != NATIVE
            && (window.ends_with('%') || tokens.is_some_and(|tokens| tokens < SMALLEST_NATIVE))
    };
    let small = among_cells(run.results, |cell| is_small(cell).then(|| cell.key.window.clone()));
    small.first()?;
    let scaled = "thresholds are scaled to the window, but ";
    let text = format!(
        "results at {} do not predict a native window: {}single tool results do not shrink with it",
        listed(&small.iter().map(|label| window(label)).collect::<Vec<_>>()),
        if run.manifest.scaled { scaled } else { "" }
    );
    // Where another window is as large as those of agents, what is recommended may be there.
    let all = run
        .rows
        .iter()
        .all(|entry| entry.row.window != NATIVE && entry.window_tokens < SMALLEST_NATIVE as f64);
    Some(Finding::limit("small_windows", text).weighing(if all { 0.2 } else { 0.0 }))
}

#[cfg(test)]
mod tests {
    use crate::figures::rows::Entry;
    use crate::findings::tests::{check, of_rows, of_run};
    use crate::testkit::{cell, entry_at, facts, manifest};
    use recap_core::model::{Cell, Manifest, Primary, RunResults, SessionFacts};

    const SMALL: (&str, f64) = ("25%", 10_000.0);
    const LARGE: (&str, f64) = ("200k", 200_000.0);

    #[test]
    fn nothing_compacts() {
        // Each data set has a window of its own.
        let sessions = [
            facts("s").requests(&[300, 700]).build(),
            facts("t").dataset("e").requests(&[9_000]).build(),
        ];
        let cells = [
            cell("s", "x").sent(&[1, 1]).build(),
            cell("t", "x").dataset("e").window("200k", 200_000).sent(&[1]).build(),
        ];
        let results = RunResults::new(cells, []);
        let idle = |at, failed: &[&str]| {
            let mut entry = entry_at(at, "x", Some(1), &[]);
            entry.acted = false;
            entry.row.failed = failed.iter().map(|why| (*why).to_owned()).collect();
            entry
        };
        let found = |table: &[Entry]| {
            of_run(&manifest(&["25%", "200k"]), Primary::FactsKept, table, &sessions, &results)
        };
        check(
            "nothing_compacts",
            [
                ("at two windows", found(&[idle(SMALL, &[]), idle(LARGE, &[])])),
                ("failed at one of them", found(&[idle(SMALL, &[]), idle(LARGE, &["broken"])])),
                (
                    "another one acts",
                    found(&[idle(SMALL, &[]), entry_at(SMALL, "y", Some(1), &[])]),
                ),
                ("controls alone", found(&[entry_at(SMALL, "full", None, &[])])),
            ],
        );
    }

    #[test]
    fn exam_in_doubt() {
        let found = |primary, rows: &[(&str, f64)]| {
            let row = |(name, share): &(&str, f64)| {
                entry_at(SMALL, name, Some(1), &[("did_without", *share)])
            };
            of_rows(primary, &rows.iter().map(row).collect::<Vec<Entry>>())
        };
        let recall = Primary::ReferenceRecall;
        check(
            "exam_in_doubt",
            [
                ("a quarter under full", found(recall, &[("prune", 0.05), ("full", 0.25)])),
                ("where cuts rank", found(Primary::FactsKept, &[("full", 0.25)])),
                ("a tenth", found(recall, &[("full", 0.1), ("prune", 0.5)])),
                ("less", found(recall, &[("full", 0.09), ("prune", 0.5)])),
                ("without full, of the first row", found(recall, &[("prune", 0.2), ("fifo", 0.3)])),
            ],
        );
    }

    #[test]
    fn not_cut() {
        let uncut = |id: &str, why| facts(id).with(|facts| facts.no_cut = why).build();
        let sessions = [
            uncut("s", Some("the recorded agent never compacted before a request".to_owned())),
            uncut("t", None),
            uncut("u", Some("no cut was asked for".to_owned())),
            uncut("v", Some("no cut was asked for".to_owned())),
        ];
        let found = |sessions: &[SessionFacts]| {
            let none = RunResults::default();
            of_run(&manifest(&["25%"]), Primary::FactsKept, &[], sessions, &none)
        };
        check(
            "not_cut",
            [("three of four", found(&sessions)), ("all cut", found(&sessions[1..2]))],
        );
    }

    #[test]
    fn small_windows() {
        let at = |label: &str, tokens| cell("s", "x").window(label, tokens).sent(&[1]).build();
        let failed = cell("s", "x").window("8k", 8_000).failed("broken");
        let cells = [
            at("16k", 16_000),
            at("127k", 127_999),
            at("128k", 128_000),
            at("native", 32_000),
            at("50%", 500_000),
            failed,
        ];
        let found = |scaled, table: &[Entry], cells: &[Cell]| {
            let results = RunResults::new(cells.to_vec(), []);
            let manifest = Manifest { scaled, ..manifest(&["25%"]) };
            of_run(&manifest, Primary::ReferenceRecall, table, &[], &results)
        };
        let row = |at| entry_at(at, "x", Some(1), &[]);
        check(
            "small_windows",
            [
                ("of six", found(true, &[row(SMALL)], &cells)),
                ("thresholds as they are", found(false, &[row(SMALL)], &cells)),
                ("beside a larger one", found(true, &[row(SMALL), row(LARGE)], &cells)),
                ("a share that is large", found(true, &[row(("50%", 128_000.0))], &cells[4..5])),
                ("128k and native", found(true, &[row(LARGE)], &cells[2..4])),
            ],
        );
    }

    #[test]
    fn open_loop() {
        check(
            "open_loop",
            [
                ("facts at cuts", of_rows(Primary::FactsKept, &[])),
                ("questions", of_rows(Primary::Continuity, &[])),
                ("references", of_rows(Primary::ReferenceRecall, &[])),
            ],
        );
    }
}
