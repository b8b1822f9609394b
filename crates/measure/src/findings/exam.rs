//! Findings on whether the exam can distinguish strategies (reference §4 to §6,
//! how-it-works §44).

use std::collections::BTreeMap;

use super::{Evidence, among_cells, place};
use crate::FLOOR;
use crate::preference::keeps_enough;
use crate::rows::Entry;
use recap_core::model::FULL;
use recap_core::model::{
    Cell, EXAM_REFERENCES, EXAM_REQUESTS, Limit, NATIVE, Primary, Problem, RowKind,
    SMALLEST_NATIVE, SPREAD, Support, VALID_WITHIN, catalogue, is_exam_doubtful,
};

/// Largest share of the best score that a bare list of names may have.
const GAMED: f64 = 0.8;

/// Windows at which no strategy compacted anything (how-it-works §40).
pub(super) fn nothing_compacts(run: &Evidence<'_>) -> Vec<Problem> {
    let largest = |window: &str| {
        // A data set may have windows of its own.
        let here = among_cells(run.results, |cell| {
            (cell.key.window == window).then(|| cell.key.dataset.clone()).into_iter().collect()
        });
        let facts = run.facts.iter().filter(|f| here.contains(&f.dataset));
        facts.flat_map(|f| &f.requests).map(|r| r.tokens_full).max().unwrap_or(0)
    };
    let idle = |rows: &&[&Entry]| {
        let mut strategies = rows.iter().filter(|e| e.row.row_kind != RowKind::Control).peekable();
        strategies.peek().is_some() && strategies.all(|e| !e.acted && e.row.failed.is_empty())
    };
    let windows = run.at_windows().filter(idle).map(|rows| rows[0].row.window.clone());
    windows.map(|window| Problem::NothingCompacts { largest: largest(&window), window }).collect()
}

/// Windows at which an empty context has nearly the score of the whole
/// conversation (reference §5).
pub(super) fn narrow_scale(run: &Evidence<'_>) -> Vec<Problem> {
    let narrow = |rows: &[&Entry]| {
        let recall = |name: &str| {
            let row = rows.iter().find(|e| e.row.strategy == name)?;
            row.row.number(catalogue::RECALL)
        };
        let (floor, ceiling) = (recall(FLOOR)?, recall(FULL)?);
        let window = rows[0].row.window.clone();
        (ceiling - floor < SPREAD).then_some(Problem::NarrowScale { window, floor, ceiling })
    };
    run.at_windows().filter_map(narrow).collect()
}

/// The instrument's own error, if a recording shows it (reference §4).
pub(super) fn in_doubt(run: &Evidence<'_>) -> Option<Problem> {
    let full = run.rows.iter().find(|e| e.row.strategy == FULL).or(run.rows.first())?;
    let share = full.row.number(catalogue::DID_WITHOUT)?;
    is_exam_doubtful(share).then_some(Problem::ExamInDoubt { share })
}

/// A bare list of identifiers with nearly the score of the best row that keeps
/// enough to be useful.
pub(super) fn names_suffice(run: &Evidence<'_>) -> Option<Problem> {
    let measure = run.primary.measure();
    let worst = run.at_windows().filter_map(|rows| {
        let of = |e: &Entry| e.row.number(measure);
        let list = of(rows.iter().find(|e| e.row.strategy == "id-list")?)?;
        let best = rows.iter().find(|e| e.row.rank.is_some())?;
        let kept = of(best)?;
        let near = list >= GAMED * kept && keeps_enough(&best.row, run.primary);
        near.then(|| Problem::NamesSuffice { best: place(best), kept, list })
    });
    // A list of names alone cannot answer questions.
    (run.primary != Primary::Continuity).then_some(worst)?.next()
}

/// Rows in which the smaller context made the answerer better or worse, which
/// would be credited to the strategy (reference §6).
pub(super) fn size_matters(run: &Evidence<'_>) -> Option<Problem> {
    let apart = run.strategies().filter_map(|entry| {
        let own = entry.row.number(catalogue::RECALL_VERBATIM)?;
        let full = entry.row.number(catalogue::RECALL_VERBATIM_FULL)?;
        ((own - full).abs() > VALID_WITHIN).then(|| (place(entry), own, full))
    });
    let rows: Vec<_> = apart.collect();
    (!rows.is_empty()).then_some(Problem::SizeMatters { rows })
}

/// Sessions that the measures of the exam leave out (reference §4).
pub fn thin(run: &Evidence<'_>) -> Option<Problem> {
    let thin = run.facts.iter().filter(|f| !Support::whole(f).suffices()).count();
    (run.manifest.cuts == "none" && thin > 0).then_some(Problem::ThinExams {
        thin,
        sessions: run.facts.len(),
        references: EXAM_REFERENCES,
        requests: EXAM_REQUESTS,
    })
}

/// Sessions without a place for a cut (how-it-works §44).
pub(super) fn not_cut(run: &Evidence<'_>) -> Option<Problem> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for facts in run.facts {
        if let Some(why) = &facts.no_cut {
            reasons.entry(why.to_string()).or_default().push(&facts.session);
        }
    }
    let sessions = reasons.values().map(Vec::len).sum();
    let (why, named) = reasons.first_key_value()?;
    let (example, why) = (named[0].to_owned(), why.clone());
    Some(Problem::NotCut { sessions, of: run.facts.len(), example, why })
}

/// Windows smaller than those of recorded agents (how-it-works §10).
pub(super) fn small_windows(run: &Evidence<'_>) -> Option<Limit> {
    let is_small = |cell: &Cell| {
        let window = &cell.key.window;
        let tokens = cell.rows().map(|rows| rows.window);
        window != NATIVE
            && (window.ends_with('%') || tokens.is_some_and(|tokens| tokens < SMALLEST_NATIVE))
    };
    let small = among_cells(run.results, |cell| {
        is_small(cell).then(|| cell.key.window.clone()).into_iter().collect()
    });
    let (windows, scaled) = (Vec::from_iter(small), run.manifest.scaled);
    (!windows.is_empty()).then_some(Limit::SmallWindows { windows, scaled })
}

/// An exam of identifiers does not measure whether intent is kept.
pub(super) fn identifiers_only(run: &Evidence<'_>) -> Option<Limit> {
    (run.primary == Primary::FactsKept).then_some(Limit::IdentifiersOnly)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{check, of_rows, of_run};
    use crate::rows::Entry;
    use crate::testkit::{cell, entry_at, facts, manifest};
    use recap_core::model::{Cell, Manifest, NoCut, Primary, RunResults, SessionFacts};

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
            uncut("s", Some(NoCut::NeverCompacted)),
            uncut("t", None),
            uncut("u", Some(NoCut::NotAsked)),
            uncut("v", Some(NoCut::NotAsked)),
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
