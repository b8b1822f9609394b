use std::fmt::Write;

use super::*;
use crate::findings::findings;
use crate::testkit::{
    self, CellBuilder, answer, cell, entry_at, facts, manifest, paragraph, run, run_at,
    twenty_references,
};
use recap_core::model::{
    Absent, AgainstFull, Cell, CutExam, Interval, Manifest, Missing, QuestionKind,
    RECORDED as BY_MODEL, RunResults, SessionFacts, Value,
};

const SMALL: (&str, f64) = ("25%", 10_000.0);
const LARGE: (&str, f64) = ("200k", 200_000.0);

/// What is recommended in each case.
fn check<'a>(name: &str, cases: impl IntoIterator<Item = (&'a str, String)>) {
    let mut text = String::new();
    for (name, answer) in cases {
        writeln!(text, "{name}:\n  {}", answer.replace('\n', "\n  ")).unwrap();
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(name, text);
    });
}

/// A cell that keeps this many of twenty references, with one compaction.
fn keeps(id: &str, strategy: &str, kept: usize) -> CellBuilder {
    testkit::keeps(id, strategy, kept).compaction(90, 50)
}

/// The same with so many tokens in each of ten requests, at 4 dollars a million.
fn billed(strategy: &str, kept: usize, tokens: u64) -> CellBuilder {
    keeps("s", strategy, kept).bill(BY_MODEL, "dear", &[(tokens, 0, 0); 10])
}

fn full() -> CellBuilder {
    keeps("s", "full", 20).control()
}

/// What a run of one session with twenty references says.
fn of(cells: Vec<CellBuilder>) -> String {
    let cells = cells.into_iter().map(CellBuilder::build).collect();
    answer(&run(vec![twenty_references("s")], cells))
}

/// Looks at these rows of a run that is ranked by this measure.
fn with_evidence<T>(primary: Primary, table: &[Entry], at: impl FnOnce(&Evidence<'_>) -> T) -> T {
    let (manifest, none) = (manifest(&["25%", "200k"]), RunResults::default());
    at(&Evidence::of(&manifest, primary, table, &[], &none))
}

fn of_run(run: &Evidence<'_>) -> String {
    paragraph(&recommendation(run, &findings(run), None, "").unwrap())
}

/// What these rows alone say.
fn of_rows(primary: Primary, table: &[Entry]) -> String {
    with_evidence(primary, table, of_run)
}

#[test]
fn choice() {
    let idle = || cell("s", "prune").sent(&[100; 10]).states(&"k".repeat(20));
    let over = |kept| keeps("s", "prune", kept).overflow(3);
    check(
        "choice",
        [
            ("everything kept", of(vec![full(), keeps("s", "prune", 20), keeps("s", "fifo", 4)])),
            // More than twice the margin of 0.05.
            ("a heavy loss", of(vec![full(), keeps("s", "fifo", 10)])),
            ("too little kept", of(vec![billed("full", 20, 500).control(), billed("fifo", 1, 20)])),
            ("offline summaries alone", of(vec![full(), keeps("s", "x", 20).offline_summary()])),
            ("nothing compacted", of(vec![full(), idle()])),
            // The strategy has a rank, because it kept everything.
            (
                "only an offline summary compacted",
                of(vec![full(), idle(), keeps("s", "x", 12).offline_summary()]),
            ),
            ("controls alone", of(vec![full()])),
            // It keeps 18 of 20, less the two references of the refused request.
            ("the best one is over the window", of(vec![full(), over(18), keeps("s", "fifo", 15)])),
            (
                "so is the only one that keeps enough",
                of(vec![full(), over(18), keeps("s", "fifo", 5)]),
            ),
            ("so is the only one", of(vec![full(), over(18)])),
        ],
    );
    assert_eq!(run(Vec::new(), Vec::new()).recommendation, None, "no rows");
}

#[test]
fn bills() {
    let whole = || billed("full", 20, 500).control();
    let today = || billed("recorded", 20, 200).control();
    check(
        "bills",
        [
            ("cheaper than full", of(vec![whole(), billed("prune", 20, 100)])),
            ("full is over the window", of(vec![whole().overflow(3), billed("prune", 20, 100)])),
            ("as dear as full", of(vec![whole(), billed("prune", 18, 500)])),
            ("dearer than today", of(vec![today(), billed("prune", 18, 400)])),
            ("cheaper than today", of(vec![today(), billed("prune", 18, 150)])),
            // The margin is 0.05: 0.95 counts as no less than 1, and 0.90 does not.
            ("dearer and within the margin", of(vec![billed("a", 20, 400), billed("b", 19, 380)])),
            ("dearer and beyond the margin", of(vec![billed("a", 20, 400), billed("b", 18, 380)])),
            (
                "cheapest of those beyond full",
                of(vec![full(), billed("a", 20, 400), billed("b", 19, 200), billed("c", 18, 100)]),
            ),
        ],
    );
}

/// The summaries of Codex are encrypted, so that its own row fails.
#[test]
fn receipt_is_named_where_no_row_of_what_was_sent_has_a_bill() {
    let row = |strategy, values: &[(&str, f64)]| entry_at(LARGE, strategy, None, values);
    let said = |recorded: &[(&str, f64)]| {
        let table = [row("prune", &[("cost_usd", 3.0)]), row(RECORDED, recorded)];
        with_evidence(Primary::FactsKept, &table, |run| today(run, 2.0))
    };
    assert_eq!(said(&[]).unwrap(), "Today these sessions cost $2.00.");
    assert_eq!(said(&[("cost_usd", 2.0)]), None);
}

#[test]
fn several_windows() {
    let at = |window: &str, name: &str, kept: usize| {
        keeps("s", name, kept).window(window, 10_000).build()
    };
    let of =
        |cells: Vec<Cell>| answer(&run_at(&["25%", "50%"], vec![twenty_references("s")], cells));
    let over = keeps("s", "a", 20).window("25%", 10_000).overflow(3).build();
    check(
        "several_windows",
        [
            (
                "another one leads there",
                of(vec![
                    at("25%", "a", 12),
                    at("25%", "b", 8),
                    at("50%", "a", 12),
                    at("50%", "b", 16),
                ]),
            ),
            ("too little kept at one", of(vec![at("25%", "a", 3), at("50%", "a", 12)])),
            ("too little kept at both", of(vec![at("25%", "a", 3), at("50%", "a", 8)])),
            ("over the window at one", of(vec![over, at("50%", "a", 12)])),
        ],
    );
}

#[test]
fn questions() {
    let asking = || {
        let session = facts("s").requests(&[100; 10]);
        (0..8).fold(session, |s, _| s.question(QuestionKind::Fact, 9, 500)).build()
    };
    let answers = |name: &str, outcomes: &str| {
        cell("s", name).sent(&[100; 10]).compaction(90, 50).snapshot(9, 1).answers(outcomes)
    };
    let of = |all: &str, half: &str| {
        let cells = vec![
            answers("full", all).control().build(),
            answers("empty", "wwwwwwww").control().build(),
            answers("prune", half).build(),
            answers("sum", half).offline_summary().build(),
        ];
        answer(&run(vec![asking()], cells))
    };
    check(
        "questions",
        [
            ("half of eight kept", of("RRRRRRRR", "RRRRwwww")),
            ("one question is right at all", of("Rwwwwwww", "Rwwwwwww")),
        ],
    );
}

#[test]
fn how_sure_by_verdict() {
    let of = |verdict| {
        let values = [("continuity", 80.0), ("n_clusters", 7.0)];
        let mut entry = entry_at(SMALL, "prune", Some(1), &values);
        entry.row.verdict = Some(verdict);
        of_rows(Primary::Continuity, &[entry])
    };
    check(
        "how_sure_by_verdict",
        [
            ("descriptive", of(AgainstFull::Descriptive)),
            ("inferior", of(AgainstFull::Inferior)),
            ("undecided", of(AgainstFull::Undecided)),
            ("provisionally non-inferior", of(AgainstFull::ProvisionalNonInferior)),
            ("non-inferior", of(AgainstFull::NonInferior)),
        ],
    );
}

#[test]
fn range_of_what_is_kept() {
    let of = |interval: Interval| {
        let values = [("continuity", 80.0), ("sessions", 3.0), ("n_clusters", 7.0)];
        let mut entry = entry_at(SMALL, "prune", Some(1), &values);
        entry.row.verdict = Some(AgainstFull::NonInferior);
        entry.row.intervals.insert("continuity".into(), interval);
        of_rows(Primary::Continuity, &[entry])
    };
    let dots = |values: &[f64]| of(Interval::Dots { values: values.to_vec() });
    check(
        "range_of_what_is_kept",
        [
            ("of each of three sessions", dots(&[20.0, 50.0, 90.0])),
            ("of each of two projects", dots(&[20.0, 50.0])),
            ("an interval", of(Interval::Bounds { lo: 30.0, hi: 40.0 })),
        ],
    );
}

#[test]
fn other_rows() {
    let row =
        |at, strategy, rank, kept| entry_at(at, strategy, Some(rank), &[("continuity", kept)]);
    let over = |at, strategy, rank, kept| {
        let values = [("continuity", kept), ("overflows", 2.0), ("requests", 7.0)];
        entry_at(at, strategy, Some(rank), &values)
    };
    // A loss of ten points is twice the margin of five.
    let loses = |difference| {
        let values = [("continuity", 80.0), ("difference_to_full", difference)];
        of_rows(Primary::Continuity, &[entry_at(SMALL, "prune", Some(1), &values)])
    };
    // Forty per cent are saved, of a bill of 2 dollars.
    let fetched_again = |usd| {
        let values = [
            ("continuity", 80.0),
            ("cost_usd", 2.0),
            ("cost_savings", 0.4),
            ("cost_usd_refetch", usd),
        ];
        let own = entry_at(SMALL, "prune", Some(1), &values);
        of_rows(Primary::Continuity, &[own, entry_at(SMALL, "full", None, &[("cost_usd", 3.33)])])
    };
    let all = [
        over(LARGE, "x", 1, 95.0),
        row(LARGE, "d", 2, 70.0),
        over(SMALL, "y", 1, 99.0),
        row(SMALL, "a", 2, 80.0),
        row(SMALL, "b", 2, 80.0),
        row(SMALL, "c", 4, 60.0),
        row(("50%", 20_000.0), "e", 1, 10.0),
    ];
    let apart = [over(LARGE, "x", 1, 95.0), row(SMALL, "c", 1, 90.0), row(SMALL, "b", 2, 80.0)];
    check(
        "other_rows",
        [
            ("alike, over the window, elsewhere, none", of_rows(Primary::Continuity, &all)),
            ("over the window alone", of_rows(Primary::Continuity, &all[2..3])),
            ("over another window", of_rows(Primary::Continuity, &apart)),
            ("ten points lost", loses(-10.0)),
            ("10.5 points lost", loses(-10.5)),
            // 1 − 0.6 · 1.65 and 1 − 0.6 · 1.66.
            ("one per cent saved if all is fetched again", fetched_again(3.3)),
            ("0.4 per cent", fetched_again(3.32)),
        ],
    );
}

#[test]
fn window_leads_by_fit_then_kept_then_cost() {
    let leads = |primary: Primary, one: [f64; 3], other: [f64; 3]| {
        let row = |at, [kept, usd, over]: [f64; 3]| {
            let values = [(primary.id(), kept), ("cost_usd", usd), ("overflows", over)];
            entry_at(at, "prune", Some(1), &values)
        };
        let table = [row(SMALL, one), row(LARGE, other)];
        let (one, other) = (&table[0].row, &table[1].row);
        with_evidence(primary, &table, |run| (leads(run, one, other), leads(run, other, one)))
    };
    let (first, second) = ((true, false), (false, true));
    let recall = Primary::ReferenceRecall;
    // What fits its window leads whatever it keeps.
    assert_eq!(leads(recall, [0.6, 9.0, 0.0], [0.9, 1.0, 2.0]), first);
    assert_eq!(leads(recall, [0.9, 9.0, 2.0], [0.6, 1.0, 2.0]), first, "both are over");
    // What keeps more leads whatever it costs.
    assert_eq!(leads(recall, [0.9, 9.0, 0.0], [0.6, 1.0, 0.0]), first);
    assert_eq!(leads(recall, [0.005, 9.0, 0.0], [0.0, 1.0, 0.0]), first, "half a point");
    // What is printed alike counts as equal, and the bill decides.
    assert_eq!(leads(recall, [0.904, 9.0, 0.0], [0.9, 1.0, 0.0]), second);
    assert_eq!(leads(recall, [0.9, 1.0, 0.0], [0.9, 1.0, 0.0]), (false, false));
    // Continuity is in points of a hundred.
    let continuity = Primary::Continuity;
    assert_eq!(leads(continuity, [80.4, 9.0, 0.0], [80.0, 1.0, 0.0]), second);
    assert_eq!(leads(continuity, [80.6, 9.0, 0.0], [80.0, 1.0, 0.0]), first);
}

/// A strategy without a rank, of this kind.
fn unranked(row_kind: RowKind, values: &[(&str, f64)]) -> Entry {
    let mut entry = entry_at(SMALL, "prune", None, values);
    entry.row.row_kind = row_kind;
    entry
}

fn idle(mut entry: Entry) -> Entry {
    entry.acted = false;
    entry
}

#[test]
fn why_no_row_has_a_rank() {
    use Primary::{Continuity, FactsKept, ReferenceRecall};
    let ranked = |values: &[(&str, f64)]| unranked(RowKind::Ranked, values);
    let control = || entry_at(SMALL, "full", None, &[]);
    let (safe, exposed) = ([("exposed_share", 0.0)], [("exposed_share", 0.5)]);
    let references = [("reference_exposed", 0.0)];
    let failed = || {
        let mut entry = idle(ranked(&references));
        entry.row.failed = vec!["broken".into()];
        entry
    };
    let offline = || unranked(RowKind::OfflineSummary, &[]);
    let mut absent = ranked(&[]);
    absent.row.values.insert("facts_kept".into(), Value::Absent(Absent::NoFacts));
    let few = |by: Primary, asked| {
        let values = [("exposed_share", 0.5), (by.id(), 0.5)];
        of_rows(by, &[Entry { asked, ..ranked(&values) }])
    };
    let asked = |asked| few(Continuity, asked);
    check(
        "why_no_row_has_a_rank",
        [
            ("controls alone", of_rows(FactsKept, &[control()])),
            ("no row lost sight of a fact", of_rows(FactsKept, &[control(), idle(ranked(&safe))])),
            ("one row did", of_rows(FactsKept, &[ranked(&safe), ranked(&exposed)])),
            ("nor of a reference", of_rows(ReferenceRecall, &[ranked(&references)])),
            ("nothing compacted", of_rows(ReferenceRecall, &[idle(ranked(&references))])),
            ("each failed", of_rows(ReferenceRecall, &[failed()])),
            ("one failed", of_rows(ReferenceRecall, &[failed(), ranked(&[])])),
            ("offline summaries alone", of_rows(FactsKept, &[offline()])),
            (
                "unusable replies",
                of_rows(FactsKept, &[offline(), unranked(RowKind::Unusable, &[])]),
            ),
            ("no figure, with a reason", of_rows(FactsKept, &[absent])),
            ("one question", asked(1)),
            ("four questions", asked(4)),
            ("four facts", few(FactsKept, 4)),
            ("five questions", asked(5)),
            ("none asked", asked(0)),
        ],
    );
}

#[test]
fn why_no_row_is_preferred() {
    use Primary::{Continuity, FactsKept, ReferenceRecall};
    let row = |primary: Primary, kept| entry_at(SMALL, "prune", Some(1), &[(primary.id(), kept)]);
    let offline = {
        let mut entry = entry_at(SMALL, "summary", None, &[]);
        entry.row.row_kind = RowKind::OfflineSummary;
        entry
    };
    let references = || idle(row(ReferenceRecall, 0.9));
    let with_control = [entry_at(SMALL, "full", None, &[]), references()];
    let few = |clusters| {
        let values = [("facts_kept", 0.2), ("n_clusters", clusters)];
        of_rows(FactsKept, &[entry_at(SMALL, "prune", Some(1), &values)])
    };
    check(
        "why_no_row_is_preferred",
        [
            ("50 points", of_rows(Continuity, &[row(Continuity, 50.0)])),
            ("49 points", of_rows(Continuity, &[row(Continuity, 49.0)])),
            ("nothing compacted but at cuts", of_rows(FactsKept, &[idle(row(FactsKept, 0.9))])),
            ("nothing compacted at all", of_rows(ReferenceRecall, &with_control)),
            ("an offline summary did", of_rows(ReferenceRecall, &[references(), offline])),
            ("five sessions", few(5.0)),
            ("six sessions", few(6.0)),
        ],
    );
}

#[test]
fn interrupted() {
    let table = [entry_at(SMALL, "prune", Some(1), &[("facts_kept", 0.9)])];
    let missing =
        Missing { cells: 1, planned_cells: 2, cuts: 0, planned_cuts: 0, named: Vec::new() };
    let (manifest, none) = (manifest(&["25%"]), RunResults::default());
    let of = |missing| {
        let run = Evidence::of(&manifest, Primary::FactsKept, &table, &[], &none);
        of_run(&Evidence { missing, ..run })
    };
    check("interrupted", [("a cell is missing", of(Some(&missing))), ("none is", of(None))]);
}

#[test]
fn next_run() {
    let offline_summary = |at, strategy, kept, usd| {
        let values = [("facts_kept", kept), ("compaction_cost_usd", usd)];
        let mut entry = entry_at(at, strategy, None, &values);
        entry.row.row_kind = RowKind::OfflineSummary;
        entry
    };
    let table = [
        entry_at(SMALL, "full", None, &[]),
        entry_at(SMALL, "prune", Some(1), &[("facts_kept", 0.9)]),
        entry_at(SMALL, "fifo", Some(2), &[("facts_kept", 0.8)]),
        offline_summary(SMALL, "x", 0.4, 0.1),
        offline_summary(SMALL, "y", 0.7, 0.2),
        offline_summary(SMALL, "z", 0.6, 0.4),
        entry_at(SMALL, "recorded", None, &[]),
        offline_summary(LARGE, "y", 0.1, 0.3),
        offline_summary(LARGE, "w", 0.99, 0.7),
    ];
    // A cut at which each of these strategies spent as much on its compactions.
    let cut = |session: &str, spent: &[(&str, f64)]| {
        let row = |(strategy, usd): &(&str, f64)| {
            let mut exam = CutExam::of_states(8_000, 3_000, Vec::new());
            exam.compactor_usd = Some(*usd);
            testkit::examined(strategy, exam)
        };
        testkit::cut(session, Vec::new(), spent.iter().map(row).collect())
    };
    let cuts = [cut("s", &[("y", 0.01), ("x", 5.0)]), cut("t", &[("y", 0.02), ("z", 0.04)])];
    let results = RunResults::new([cell("s", "y").build()], cuts);
    let none = RunResults::default();
    let asking = [facts("s").requests(&[1, 2]).question(QuestionKind::Fact, 1, 5).build()];
    let unasked = [facts("s").requests(&[1, 2]).build()];
    let next = |table: &[Entry], facts: &[SessionFacts], results: &RunResults, answerer: &str| {
        let manifest = Manifest { answerer: answerer.into(), ..manifest(&["25%", "200k"]) };
        let primary = Primary::FactsKept;
        let run = Evidence::of(&manifest, primary, table, facts, results);
        super::next_run(&run, &findings(&run)).unwrap_or_else(|| "none".to_owned())
    };
    let ranked = || entry_at(SMALL, "prune", Some(1), &[]);
    check(
        "next_run",
        [
            // y: 0.2 and 0.3 in sessions, 0.01 and 0.02 at cuts; z: 0.4 and 0.04.
            ("the two best offline summaries", next(&table, &[], &results, "offline")),
            ("nobody answers", next(&[ranked()], &asking, &none, "offline")),
            ("nobody grades", next(&[ranked()], &asking, &none, "openai/a")),
            ("nothing is asked", next(&[ranked()], &unasked, &none, "offline")),
            ("nothing compacts", next(&[idle(ranked())], &asking, &none, "offline")),
        ],
    );
}

#[test]
fn over_one_percent_refused_requests_is_often() {
    let often = |values: &[(&str, f64)]| entry_at(SMALL, "a", None, values).row.refused_often();
    assert_eq!(often(&[("overflows", 1.0), ("requests", 100.0)]), None);
    assert_eq!(often(&[("overflows", 7.0), ("requests", 1_191.0)]), None);
    assert_eq!(often(&[("overflows", 2.0), ("requests", 100.0)]), Some(2.0));
    assert_eq!(often(&[("overflows", 0.0), ("requests", 100.0)]), None);
    assert_eq!(often(&[("overflows", 1.0)]), Some(1.0), "requests are not counted");
    assert_eq!(often(&[("requests", 100.0)]), None, "nor is what overflows");
}
