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
    SMALLEST_NATIVE, SPREAD, Support, catalogue, is_exam_doubtful,
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
    use super::*;
    use crate::testkit::{cell, entry_at, facts, manifest, twenty_references};
    use recap_core::model::{Manifest, NoCut, RowName, RunResults, SessionFacts};

    const SMALL: (&str, f64) = ("25%", 10_000.0);
    const LARGE: (&str, f64) = ("200k", 200_000.0);

    /// Looks at these rows, sessions and results of a run.
    fn with_evidence<T>(
        primary: Primary,
        manifest: &Manifest,
        table: &[Entry],
        facts: &[SessionFacts],
        sessions: &RunResults,
        at: impl FnOnce(&Evidence<'_>) -> T,
    ) -> T {
        at(&Evidence::of(manifest, primary, table, facts, sessions, None, None))
    }

    /// Looks at the rows only.
    fn of<T>(primary: Primary, table: &[Entry], at: impl FnOnce(&Evidence<'_>) -> T) -> T {
        with_evidence(primary, &manifest(&["25%", "200k"]), table, &[], &RunResults::default(), at)
    }

    /// Looks at the sessions of a run with such cuts.
    fn with_cuts<T>(cuts: &str, facts: &[SessionFacts], at: impl FnOnce(&Evidence<'_>) -> T) -> T {
        let manifest = Manifest { cuts: cuts.into(), ..manifest(&["25%"]) };
        with_evidence(Primary::ReferenceRecall, &manifest, &[], facts, &RunResults::default(), at)
    }

    fn place(strategy: &str, window: &str) -> RowName {
        RowName { strategy: strategy.into(), window: window.into() }
    }

    #[test]
    fn window_without_compaction_is_told_with_largest_context() {
        // Each data set has a window of its own.
        let all = [
            facts("s").requests(&[300, 700]).build(),
            facts("t").dataset("e").requests(&[9_000]).build(),
        ];
        let cells = [
            cell("s", "x").sent(&[1, 1]).build(),
            cell("t", "x").dataset("e").window("200k", 200_000).sent(&[1]).build(),
        ];
        let sessions = RunResults::new(cells, []);
        let idle = |at, failed: &[&str]| {
            let mut entry = entry_at(at, "x", Some(1), &[]);
            entry.acted = false;
            entry.row.failed = failed.iter().map(|why| (*why).to_owned()).collect();
            entry
        };
        let actual = |table: &[Entry]| {
            let manifest = manifest(&["25%", "200k"]);
            let primary = Primary::ReferenceRecall;
            let found = with_evidence(primary, &manifest, table, &all, &sessions, nothing_compacts);
            let each = found.into_iter().map(|problem| match problem {
                Problem::NothingCompacts { window, largest } => (window, largest),
                other => panic!("{other:?}"),
            });
            each.collect::<Vec<_>>()
        };
        let (small, large) = (("25%".to_owned(), 700), ("200k".to_owned(), 9_000));
        assert_eq!(actual(&[idle(SMALL, &[]), idle(LARGE, &[])]), [small.clone(), large]);
        // A strategy that failed might have compacted.
        assert_eq!(actual(&[idle(SMALL, &[]), idle(LARGE, &["broken"])]), [small]);
        let acted = entry_at(SMALL, "y", Some(1), &[]);
        assert!(actual(&[idle(SMALL, &[]), acted]).is_empty());
        assert!(actual(&[entry_at(SMALL, "full", None, &[])]).is_empty(), "controls alone");
    }

    #[test]
    fn scale_is_narrow_below_a_fifth_between_extremes() {
        let scale = |at, floor, ceiling| {
            [
                entry_at(at, "full", None, &[("recall", ceiling)]),
                entry_at(at, "prune", Some(1), &[("recall", 0.9)]),
                entry_at(at, "empty", None, &[("recall", floor)]),
            ]
        };
        let actual = |small: (f64, f64), large: (f64, f64)| {
            let table: Vec<Entry> = scale(SMALL, small.0, small.1)
                .into_iter()
                .chain(scale(LARGE, large.0, large.1))
                .collect();
            of(Primary::Continuity, &table, narrow_scale)
        };
        let narrow = |window: &str, floor, ceiling| Problem::NarrowScale {
            window: window.into(),
            floor,
            ceiling,
        };
        // 0.1 apart at the first window, and exactly a fifth at the second.
        assert_eq!(actual((0.3, 0.4), (0.0, 0.2)), [narrow("25%", 0.3, 0.4)]);
        assert_eq!(actual((0.1, 0.9), (0.5, 0.4)), [narrow("200k", 0.5, 0.4)]);
    }

    #[test]
    fn exam_error_is_read_from_the_whole_conversation() {
        let actual = |rows: &[(&str, f64)]| {
            let row = |(name, share): &(&str, f64)| {
                entry_at(SMALL, name, Some(1), &[("did_without", *share)])
            };
            let table: Vec<Entry> = rows.iter().map(row).collect();
            of(Primary::ReferenceRecall, &table, in_doubt)
        };
        let doubt = |share| Some(Problem::ExamInDoubt { share });
        assert_eq!(actual(&[("prune", 0.05), ("full", 0.25)]), doubt(0.25));
        assert_eq!(actual(&[("full", 0.1), ("prune", 0.5)]), doubt(0.1), "from a tenth on");
        assert_eq!(actual(&[("full", 0.09), ("prune", 0.5)]), None);
        assert_eq!(actual(&[("prune", 0.2), ("fifo", 0.3)]), doubt(0.2), "without it, off any");
        assert_eq!(actual(&[]), None);
    }

    #[test]
    fn names_suffice_at_four_fifths_of_best_row() {
        let actual = |primary: Primary, best: f64, list: f64| {
            let id = primary.id();
            let table = [
                entry_at(SMALL, "prune", Some(1), &[(id, best)]),
                entry_at(SMALL, "fifo", Some(2), &[(id, 0.1)]),
                entry_at(SMALL, "id-list", None, &[(id, list)]),
            ];
            of(primary, &table, names_suffice)
        };
        let by = Primary::ReferenceRecall;
        let best = place("prune", "25%");
        let suffice = Some(Problem::NamesSuffice { best, kept: 0.6, list: 0.5 });
        assert_eq!(actual(by, 0.6, 0.5), suffice);
        assert_eq!(actual(by, 0.6, 0.47), None, "0.48 is needed");
        assert_eq!(actual(by, 0.4, 0.4), None, "the best row keeps too little to be useful");
        assert_eq!(actual(Primary::Continuity, 80.0, 80.0), None, "names answer no question");
    }

    #[test]
    fn thin_exams_are_told_where_they_rank() {
        let whole = twenty_references("s");
        let thin_one = facts("t").requests(&[100]).reference(0, 5_000, None).build();
        let all = [whole.clone(), thin_one];
        let actual = Problem::ThinExams { thin: 1, sessions: 2, references: 20, requests: 10 };
        assert_eq!(with_cuts("none", &all, thin), Some(actual));
        assert_eq!(with_cuts("5", &all, thin), None, "cuts have exams of their own");
        assert_eq!(with_cuts("none", &[whole], thin), None);
    }

    #[test]
    fn uncut_sessions_are_counted_with_first_reason_example() {
        let uncut = |id: &str, why| facts(id).with(|facts| facts.no_cut = why).build();
        let all = [
            uncut("s", Some(NoCut::NeverCompacted)),
            uncut("t", None),
            uncut("u", Some(NoCut::NotAsked)),
            uncut("v", Some(NoCut::NotAsked)),
        ];
        let actual = Problem::NotCut {
            sessions: 3,
            of: 4,
            example: "u".into(),
            why: "no cut was asked for".into(),
        };
        assert_eq!(with_cuts("5", &all, not_cut), Some(actual));
        assert_eq!(with_cuts("5", &all[1..2], not_cut), None);
    }

    #[test]
    fn windows_below_those_of_agents_are_small() {
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
        let actual = |cells: &[Cell]| {
            let sessions = RunResults::new(cells.to_vec(), []);
            let manifest = Manifest { scaled: false, ..manifest(&["25%"]) };
            with_evidence(Primary::Continuity, &manifest, &[], &[], &sessions, small_windows)
        };
        let windows = ["127k", "16k", "50%"].map(str::to_owned).to_vec();
        assert_eq!(actual(&cells), Some(Limit::SmallWindows { windows, scaled: false }));
        assert_eq!(actual(&cells[2..4]), None);
    }

    #[test]
    fn only_cut_exams_are_of_identifiers_alone() {
        assert_eq!(of(Primary::FactsKept, &[], identifiers_only), Some(Limit::IdentifiersOnly));
        assert_eq!(of(Primary::Continuity, &[], identifiers_only), None);
        assert_eq!(of(Primary::ReferenceRecall, &[], identifiers_only), None);
    }
}
