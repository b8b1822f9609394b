//! Findings on whether the exam can distinguish strategies (measures §4 to §6,
//! cuts §1).

use std::collections::BTreeMap;

use super::{Evidence, among_cells, place};
use crate::measure::names::{BASELINE, FLOOR};
use crate::measure::preference::keeps_enough;
use crate::measure::rows::Entry;
use crate::model::{
    Cell, EXAM_REFERENCES, EXAM_REQUESTS, Limit, NATIVE, Primary, Problem, SMALLEST_NATIVE, SPREAD,
    Standing, Support, VALID_WITHIN, catalogue, is_exam_doubtful,
};

/// Largest share of the best score that a bare list of names may have.
const GAMED: f64 = 0.8;

/// Windows at which no preset compacted anything (semantics §40).
pub(super) fn nothing_compacts(run: &Evidence<'_>) -> Vec<Problem> {
    let largest = |window: &str| {
        // A data set may have windows of its own.
        let here = among_cells(run.sessions, |cell| {
            (cell.key.window == window).then(|| cell.key.dataset.clone()).into_iter().collect()
        });
        let facts = run.facts.iter().filter(|f| here.contains(&f.dataset));
        facts.flat_map(|f| &f.requests).map(|r| r.tokens_full).max().unwrap_or(0)
    };
    let idle = |rows: &&[&Entry]| {
        let mut presets = rows.iter().filter(|e| e.row.standing != Standing::Control).peekable();
        presets.peek().is_some() && presets.all(|e| !e.acted && e.row.failed.is_empty())
    };
    let windows = run.at_windows().filter(idle).map(|rows| rows[0].row.window.clone());
    windows.map(|window| Problem::NothingCompacts { largest: largest(&window), window }).collect()
}

/// Windows at which an empty context has nearly the score of the whole
/// conversation (measures §5).
pub(super) fn narrow_scale(run: &Evidence<'_>) -> Vec<Problem> {
    let narrow = |rows: &[&Entry]| {
        let recall = |name: &str| {
            let row = rows.iter().find(|e| e.row.strategy == name)?;
            row.row.number(catalogue::RECALL)
        };
        let (floor, ceiling) = (recall(FLOOR)?, recall(BASELINE)?);
        let window = rows[0].row.window.clone();
        (ceiling - floor < SPREAD).then_some(Problem::NarrowScale { window, floor, ceiling })
    };
    run.at_windows().filter_map(narrow).collect()
}

/// The instrument's own error, if a recording shows it (measures §4).
pub(super) fn in_doubt(run: &Evidence<'_>) -> Option<Problem> {
    let full = run.rows.iter().find(|e| e.row.strategy == BASELINE).or(run.rows.first())?;
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
/// would be credited to the preset (measures §6).
pub(super) fn size_matters(run: &Evidence<'_>) -> Option<Problem> {
    let apart = run.presets().filter_map(|entry| {
        let own = entry.row.number(catalogue::RECALL_VERBATIM)?;
        let full = entry.row.number(catalogue::RECALL_VERBATIM_FULL)?;
        ((own - full).abs() > VALID_WITHIN).then(|| (place(entry), own, full))
    });
    let rows: Vec<_> = apart.collect();
    (!rows.is_empty()).then_some(Problem::SizeMatters { rows })
}

/// Transcripts that the measures of the exam leave out (measures §4).
pub fn thin(run: &Evidence<'_>) -> Option<Problem> {
    let thin = run.facts.iter().filter(|f| !Support::whole(f).suffices()).count();
    (run.manifest.cuts == "none" && thin > 0).then_some(Problem::ThinExams {
        thin,
        transcripts: run.facts.len(),
        references: EXAM_REFERENCES,
        requests: EXAM_REQUESTS,
    })
}

/// Sessions without a place for a cut (cuts §1).
pub(super) fn not_cut(run: &Evidence<'_>) -> Option<Problem> {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for facts in run.facts {
        if let Some(why) = &facts.no_cut {
            reasons.entry(why.to_string()).or_default().push(&facts.transcript);
        }
    }
    let sessions = reasons.values().map(Vec::len).sum();
    let (why, named) = reasons.first_key_value()?;
    let (example, why) = (named[0].to_owned(), why.clone());
    Some(Problem::NotCut { sessions, of: run.facts.len(), example, why })
}

/// Windows smaller than those of recorded agents (semantics §10).
pub(super) fn small_windows(run: &Evidence<'_>) -> Option<Limit> {
    let is_small = |cell: &Cell| {
        let window = &cell.key.window;
        let tokens = cell.rows().map(|rows| rows.window);
        window != NATIVE
            && (window.ends_with('%') || tokens.is_some_and(|tokens| tokens < SMALLEST_NATIVE))
    };
    let small = among_cells(run.sessions, |cell| {
        is_small(cell).then(|| cell.key.window.clone()).into_iter().collect()
    });
    let (windows, scaled) = (Vec::from_iter(small), run.manifest.scaled);
    (!windows.is_empty()).then_some(Limit::SmallWindows { windows, scaled })
}

/// An exam of identifiers does not measure whether intent is kept.
pub(super) fn identifiers_only(run: &Evidence<'_>) -> Option<Limit> {
    (run.primary == Primary::KeptAtCut).then_some(Limit::IdentifiersOnly)
}
