use super::*;
use crate::testkit::{self, answer, cell, entry_at, facts, manifest, run, run_at, warnings};
use recap_core::model::{
    Absent, AgainstFull, Cell, Missing, QuestionKind, RECORDED as BY_MODEL, Report, RunResults,
    SessionFacts, Ungraded,
};

fn session(id: &str) -> SessionFacts {
    asking(id, 2)
}

/// Ten requests, each with this many references.
fn asking(id: &str, references: usize) -> SessionFacts {
    let mut builder = facts(id).requests(&[100; 10]);
    for request in 0..10 {
        for _ in 0..references {
            builder = builder.reference(request, 5_000, None);
        }
    }
    builder.build()
}

fn keeps(id: &str, strategy: &str, kept: usize) -> crate::testkit::CellBuilder {
    let states = "k".repeat(kept) + &"l".repeat(20 - kept);
    cell(id, strategy).sent(&[100; 10]).states(&states).compaction(90, 50)
}

fn full(id: &str) -> Cell {
    keeps(id, "full", 20).control().build()
}

#[track_caller]
fn says(report: &Report, words: &str) {
    let said = answer(report);
    assert!(said.contains(words), "{words}: {said}");
}

#[track_caller]
fn silent(report: &Report, words: &str) {
    let said = answer(report);
    assert!(!said.contains(words), "{words}: {said}");
}

#[test]
fn a_single_session_is_described_without_a_conclusion() {
    let report = run(
        vec![session("s")],
        vec![full("s"), keeps("s", "prune", 20).build(), keeps("s", "fifo", 4).build()],
    );
    says(&report, "20 needed facts in 1 session with 10 requests, through 2 strategies");
    says(&report, "At a window of 25 % use prune: it keeps 100 %");
    says(&report, "1 session: described, not decided");
    says(&report, "The largest doubt:");
    silent(&report, "significant");
    silent(&report, "Its bill");
}

#[test]
fn a_heavy_loss_is_mentioned_with_the_recommendation() {
    let report = run(vec![session("s")], vec![full("s"), keeps("s", "fifo", 10).build()]);
    says(&report, "At a window of 25 % fifo loses least: it keeps 50 %");
}

#[test]
fn a_run_of_offline_summaries_has_no_recommendation() {
    let cells = vec![full("s"), keeps("s", "summary", 20).offline_summary().build()];
    let report = run(vec![session("s")], cells);
    says(&report, "No strategy is ranked: all of them need a model");
    silent(&report, " use ");
}

#[test]
fn a_run_without_compactions_suggests_a_change() {
    let idle = cell("s", "prune").sent(&[100; 10]).states(&"k".repeat(20)).build();
    let report = run(vec![session("s")], vec![full("s"), idle.clone()]);
    // The strategy has a rank, because it kept everything, and is not
    // recommended.
    silent(&report, " use ");
    says(&report, "Nothing compacted: the largest context seen has 100 tokens.");
    let acts = keeps("s", "summary", 12).offline_summary().build();
    let report = run(vec![session("s")], vec![full("s"), idle, acts]);
    silent(&report, " use ");
    says(&report, "At a window of 25 % no strategy that needs no model had anything to compact");
    let thin = facts("s").requests(&[700]).build();
    let report = run(vec![thin], vec![cell("s", "prune").sent(&[700]).build()]);
    says(&report, "Nothing compacted: the largest context seen has 700 tokens.");
}

#[test]
fn a_run_of_controls_has_no_recommendation() {
    let report = run(vec![session("s")], vec![full("s")]);
    says(&report, "through the controls alone");
    says(&report, "there is no strategy to choose from");
    assert_eq!(run(Vec::new(), Vec::new()).recommendation, None);
}

#[test]
fn conversation_over_window_is_no_standard_for_cheaper() {
    let billed = |cell: crate::testkit::CellBuilder, tokens: u64| {
        cell.bill(BY_MODEL, "dear", &[(tokens, 0, 0); 10])
    };
    let whole = billed(keeps("s", "full", 20).control(), 500).overflow(3).build();
    let report = run(vec![session("s")], vec![whole, billed(keeps("s", "prune", 20), 100).build()]);
    silent(&report, "less than the whole conversation");
    let whole = billed(keeps("s", "full", 20).control(), 500).build();
    let report = run(vec![session("s")], vec![whole, billed(keeps("s", "prune", 20), 100).build()]);
    says(&report, "less than the whole conversation");
}

#[test]
fn recommended_strategies_of_other_windows_are_named() {
    let at = |window: &str, name: &str, kept: usize| {
        keeps("s", name, kept).window(window, 10_000).build()
    };
    let cells = vec![at("25%", "a", 12), at("25%", "b", 8), at("50%", "a", 12), at("50%", "b", 16)];
    let report = run_at(&["25%", "50%"], vec![session("s")], cells);
    says(&report, "At a window of 50 % use b: it keeps 80 %");
    says(&report, "Best at other windows: a at 25 % (60 %).");
    // At 25 % no strategy keeps enough.
    let cells = vec![at("25%", "a", 3), at("50%", "a", 12)];
    let report = run_at(&["25%", "50%"], vec![session("s")], cells);
    says(&report, "At a window of 50 % use a: it keeps 60 %");
    says(&report, "None is to be preferred at 25 %.");
    let cells = vec![at("25%", "a", 3), at("50%", "a", 8)];
    let report = run_at(&["25%", "50%"], vec![session("s")], cells);
    says(&report, "At a window of 50 % a keeps most (40 %), which is less than 50 %");
    says(&report, "Nor is one recommended at 25 %.");
    // A row over the window comes after rows that fit, however much it keeps.
    let over = keeps("s", "a", 20).window("25%", 10_000).overflow(3).build();
    let report = run_at(&["25%", "50%"], vec![session("s")], vec![over, at("50%", "a", 12)]);
    says(&report, "At a window of 50 % use a: it keeps 60 %");
}

#[test]
fn offline_judge_is_largest_doubt_about_questions() {
    let questions = |id: &str| {
        let mut built = facts(id).requests(&[100; 10]);
        for _ in 0..8 {
            built = built.question(QuestionKind::Fact, 9, 500);
        }
        built.build()
    };
    let answers = |name: &str, said: &str| {
        cell("s", name).sent(&[100; 10]).compaction(90, 50).snapshot(9, 1).answers(said)
    };
    let cells = |all: &str, none: &str, half: &str| {
        vec![
            answers("full", all).control().build(),
            answers("empty", none).control().build(),
            answers("prune", half).build(),
        ]
    };
    // The whole conversation answers only one question right, which is too few
    // for a rank.
    let report = run(vec![questions("s")], cells("Rwwwwwww", "wwwwwwww", "Rwwwwwww"));
    silent(&report, " use ");
    says(&report, "measured by 1 question only, and a rank takes at least 5");
    let prune = report.rows.iter().find(|row| row.strategy == "prune").unwrap();
    assert_eq!(prune.rank, None);
    let report = run(vec![questions("s")], cells("RRRRRRRR", "wwwwwwww", "RRRRwwww"));
    says(&report, "it keeps 50 %");
    says(&report, "of the answers");
    says(&report, "no model answers the questions");
}

#[test]
fn strategy_with_refused_requests_is_named_not_recommended() {
    let over = keeps("s", "prune", 18).overflow(3).build();
    let report = run(vec![session("s")], vec![full("s"), over, keeps("s", "fifo", 15).build()]);
    says(&report, "At a window of 25 % fifo loses least: it keeps 75 %");
    // It keeps 18 of 20, minus the two references of the refused request.
    says(&report, "prune keeps 80 %");
    says(&report, "but 1 of its 10 requests is over the window");
    let over = keeps("s", "prune", 18).overflow(3).build();
    let report = run(vec![session("s")], vec![full("s"), over, keeps("s", "fifo", 5).build()]);
    says(&report, "fifo keeps most within the window (25 %), which is less than 50 %");
    let over = keeps("s", "prune", 18).overflow(3).build();
    let report = run(vec![session("s")], vec![full("s"), over]);
    says(&report, "At a window of 25 % prune loses least");
    says(&report, "1 of its 10 requests is over the window");
}

#[test]
fn cheaper_strategy_within_margin_is_named_with_bill() {
    // The margin is 0.05: a keeps 100 %, b 0.95 at half the tokens, c 0.90 for less still.
    let billed = |name: &str, kept: usize, tokens: u64| {
        keeps("s", name, kept).bill(BY_MODEL, "dear", &[(tokens, 0, 0); 10]).build()
    };
    let cells = vec![full("s"), billed("a", 20, 400), billed("b", 19, 200), billed("c", 18, 100)];
    let report = run(vec![session("s")], cells);
    // 10 requests of 200 tokens at 4 dollars a million, and 10 outputs of 10 at
    // 20. b costs more than c and keeps no more within the margin; a keeps
    // more.
    says(&report, "At a window of 25 % use a: it keeps 100 %");
    let report = run(vec![session("s")], vec![billed("a", 20, 400), billed("b", 19, 380)]);
    // b is no worse within the margin, at a smaller price.
    says(&report, "At a window of 25 % use b: it keeps 95 %");
    says(&report, "a keeps 100 % for");
}

#[test]
fn strategy_that_keeps_almost_nothing_is_not_recommended() {
    let billed = |name: &str, kept: usize, tokens: u64| {
        keeps("s", name, kept).bill(BY_MODEL, "dear", &[(tokens, 0, 0); 10])
    };
    let whole = billed("full", 20, 500).control().build();
    let report = run(vec![session("s")], vec![whole, billed("fifo", 1, 20).build()]);
    says(&report, "At a window of 25 % fifo keeps most (5 %), which is less than 50 %");
    for words in [" use ", "loses least"] {
        silent(&report, words);
    }
}

/// Six sessions of 200 references, of these projects in turn. The strategy keeps
/// as much as `full`, minus `lost` references of each session.
fn six(projects: &[&str], lost: [usize; 6]) -> Report {
    let (mut facts, mut cells) = (Vec::new(), Vec::new());
    for (at, lost) in lost.into_iter().enumerate() {
        let id = format!("s{at}");
        let mut one = asking(&id, 20);
        one.cluster = projects.get(at % projects.len().max(1)).map(|name| (*name).to_owned());
        facts.push(one);
        let keeps = |strategy, lost| {
            let states = "k".repeat(200 - lost) + &"l".repeat(lost);
            cell(&id, strategy).sent(&[100; 10]).states(&states).compaction(90, 50)
        };
        cells.extend([keeps("full", 0).control().build(), keeps("prune", lost).build()]);
    }
    run(facts, cells)
}

#[test]
fn only_projects_are_called_independent() {
    let six_projects = ["p", "q", "r", "t", "u", "v"];
    let each = [
        (&["p"][..], "6 sessions of one project"),
        (&[], "6 sessions"),
        (&six_projects, "6 independent projects"),
    ];
    for (projects, clusters) in each {
        let report = six(projects, [0; 6]);
        says(&report, &format!("with {clusters}"));
        let warned = format!("{clusters}: no strategy can be called non-inferior");
        assert!(warnings(&report).contains(&warned), "{:#?}", warnings(&report));
        let independent = answer(&report).contains("independent");
        assert_eq!(independent, projects.len() == 6);
    }
}

#[test]
fn without_any_loss_no_detectable_difference_is_mentioned() {
    // No session loses anything: without a spread any difference would be
    // detected.
    let report = six(&[], [0; 6]);
    says(&report, "stays open with 6 sessions.");
    silent(&report, "would be missed");
    // One of the six loses 1 of 200 references, which leaves a spread of 0.002.
    let report = six(&[], [0, 0, 0, 0, 0, 1]);
    says(&report, "; a difference below 0.3 points would be missed");
}

const SMALL: (&str, f64) = ("25%", 10_000.0);
const LARGE: (&str, f64) = ("200k", 200_000.0);

/// Looks at these rows of a run that is ranked by this measure.
fn with_evidence<T>(primary: Primary, table: &[Entry], at: impl FnOnce(&Evidence<'_>) -> T) -> T {
    let (manifest, none) = (manifest(&["25%", "200k"]), RunResults::default());
    at(&Evidence::of(&manifest, primary, table, &[], &none, None, None))
}

fn place(strategy: &str, window: &str) -> recap_core::model::RowName {
    recap_core::model::RowName { strategy: strategy.into(), window: window.into() }
}

#[test]
fn finding_weighs_only_on_rows_and_measures_concerned() {
    use Primary::{Continuity, FactsKept, ReferenceRecall};
    let own = || place("prune", "25%");
    let window = || "25%".to_owned();
    let ungraded = |missing| {
        let (throughout, answered) = (false, true);
        let why = "silent".to_owned();
        let (answers, questions, of) = (100, 3, 50);
        Problem::Ungraded(Ungraded { answered, throughout, missing, answers, questions, of, why })
    };
    let at_odds = Problem::JudgesDisagree { judges: Vec::new(), kappa: 0.1, answers: 9 };
    let narrow = |window| Problem::NarrowScale { window, floor: 0.3, ceiling: 0.4 };
    let names = |best| Problem::NamesSuffice { best, kept: 0.6, list: 0.5 };
    let size = |at| Problem::SizeMatters { rows: vec![(at, 0.9, 0.8)] };
    let offline = Limit::NoAnswerer;
    let uncalibrated = Limit::Uncalibrated { judge: "j".into(), judges: Vec::new() };
    let small = |window| Limit::SmallWindows { windows: vec![window], scaled: true };
    // Under continuity, at cuts, and under reference recall.
    let each: [(Finding, [Option<f64>; 3]); 15] = [
        (at_odds.into(), [Some(0.95), None, None]),
        (narrow(window()).into(), [Some(0.9), None, None]),
        (narrow("200k".into()).into(), [None; 3]),
        (Problem::ExamInDoubt { share: 0.2 }.into(), [None, None, Some(0.9)]),
        (names(place("id", "25%")).into(), [Some(0.85); 3]),
        (names(place("prune", "200k")).into(), [None; 3]),
        (ungraded(6).into(), [Some(0.8), None, None]),
        (ungraded(5).into(), [None; 3]),
        (size(own()).into(), [Some(0.7), None, None]),
        (size(place("prune", "200k")).into(), [None; 3]),
        (offline.into(), [Some(0.6), None, None]),
        (uncalibrated.into(), [Some(0.5), None, None]),
        (Limit::IdentifiersOnly.into(), [Some(0.4); 3]),
        (small(window()).into(), [Some(0.2); 3]),
        (Problem::Notice("read this".into()).into(), [None; 3]),
    ];
    let table = [entry_at(SMALL, "prune", Some(1), &[])];
    for (finding, expected) in each {
        let found = [Continuity, FactsKept, ReferenceRecall]
            .map(|by| with_evidence(by, &table, |run| weight(run, &finding, &table[0].row)));
        assert_eq!(found, expected, "{finding:?}");
    }
}

#[test]
fn small_window_weighs_only_on_small_rows() {
    let weighs = |at, listed: &str| {
        let table = [entry_at(at, "prune", Some(1), &[])];
        let windows = vec![listed.to_owned()];
        let finding = Finding::from(Limit::SmallWindows { windows, scaled: true });
        with_evidence(Primary::FactsKept, &table, |run| weight(run, &finding, &table[0].row))
    };
    assert_eq!(weighs(("25%", 127_999.0), "25%"), Some(0.2));
    assert_eq!(weighs(("25%", 128_000.0), "25%"), None, "as large as those of agents");
    assert_eq!(weighs(SMALL, "50%"), None, "another window");
    assert_eq!(weighs(("native", 32_000.0), "native"), None, "the agent's own");
}

#[test]
fn of_equal_doubts_the_first_is_told() {
    let names = |kept| {
        let best = place("prune", "25%");
        Finding::from(Problem::NamesSuffice { best, kept, list: 0.5 })
    };
    let table = [entry_at(SMALL, "prune", Some(1), &[])];
    let actual = |findings: &[Finding]| {
        with_evidence(Primary::FactsKept, &table, |run| doubt(run, findings, &table[0].row))
    };
    let light = || Finding::from(Limit::IdentifiersOnly);
    assert_eq!(actual(&[light(), names(0.6), names(0.7)]), Some(names(0.6)));
    assert_eq!(actual(&[Limit::OpenLoop.into()]), None);
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

/// The recommended row of a run that is ranked by continuity.
fn recommended(table: &[Entry]) -> Chosen {
    with_evidence(Primary::Continuity, table, |run| match choose(run) {
        Ok(preferred) => chosen(run, &preferred),
        Err(why) => panic!("{why:?}"),
    })
}

#[test]
fn loss_over_twice_the_margin_is_heavy() {
    let heavy = |difference| {
        let values = [("continuity", 80.0), ("difference_to_full", difference)];
        recommended(&[entry_at(SMALL, "prune", Some(1), &values)]).loses_much
    };
    // The margin is five points of a hundred.
    assert_eq!([-10.5, -10.0, -0.2, 1.0].map(heavy), [true, false, false, false]);
}

#[test]
fn other_rows_are_named_by_rank_and_window() {
    let row =
        |at, strategy, rank, kept| entry_at(at, strategy, Some(rank), &[("continuity", kept)]);
    let over = |at, strategy, rank, kept| {
        let values = [("continuity", kept), ("overflows", 2.0), ("requests", 7.0)];
        entry_at(at, strategy, Some(rank), &values)
    };
    let found = recommended(&[
        over(LARGE, "x", 1, 95.0),
        row(LARGE, "d", 2, 70.0),
        over(SMALL, "y", 1, 99.0),
        row(SMALL, "a", 2, 80.0),
        row(SMALL, "b", 2, 80.0),
        row(SMALL, "c", 4, 60.0),
        row(("50%", 20_000.0), "e", 1, 10.0),
    ]);
    assert_eq!((found.row, found.kept), (place("a", "25%"), 80.0));
    assert_eq!(found.alike, ["b"]);
    assert_eq!(found.elsewhere, [(place("d", "200k"), 70.0)]);
    assert_eq!(found.none_at, ["50%"]);
    let refused = found.refused.unwrap();
    assert_eq!((refused.strategy.as_str(), refused.kept), ("y", 99.0));
    assert_eq!((refused.usd, refused.over), (None, Some((2.0, 7.0))));
    // A row over the window is not ahead of itself, and one of another window
    // is not beside it.
    let alone = recommended(&[over(SMALL, "y", 1, 99.0)]);
    assert_eq!((alone.over, alone.refused), (Some((2.0, 7.0)), None));
    let apart = [over(LARGE, "x", 1, 95.0), row(SMALL, "c", 1, 90.0), row(SMALL, "b", 2, 80.0)];
    with_evidence(Primary::Continuity, &apart, |run| assert_eq!(refused_by(run, &apart[2]), None));
}

/// The name of the row that keeps more than this one, but is over the window.
fn refused_by(run: &Evidence<'_>, best: &Entry) -> Option<String> {
    refused(run, &best.row).map(|row| row.strategy.clone())
}

#[test]
fn range_beside_figure_states_its_kind() {
    let range = |interval: Interval| {
        let mut entry = entry_at(SMALL, "x", Some(1), &[("sessions", 3.0)]);
        entry.row.intervals.insert("continuity".into(), interval);
        let table = [entry];
        with_evidence(Primary::Continuity, &table, |run| spread(run, &table[0].row)).unwrap()
    };
    let dots = |values: &[f64]| range(Interval::Dots { values: values.to_vec() });
    let of = |lo, hi, of| Range { lo, hi, of };
    assert_eq!(dots(&[20.0, 50.0, 90.0]), of(20.0, 90.0, RangeOf::Sessions));
    assert_eq!(dots(&[20.0, 50.0]), of(20.0, 50.0, RangeOf::Projects));
    let (lo, hi) = (30.0, 40.0);
    assert_eq!(range(Interval::ThisSessionOnly { lo, hi }), of(lo, hi, RangeOf::WithinSession));
    for interval in [Interval::Student { lo, hi }, Interval::Wider { lo, hi }] {
        assert_eq!(range(interval), of(lo, hi, RangeOf::Interval));
    }
}

#[track_caller]
fn saves(found: Savings, share: f64, refetched: f64) {
    let near = (found.refetched.unwrap() - refetched).abs() < 1e-9;
    assert!(found.share == share && near, "{found:?}");
}

#[test]
fn bill_is_compared_with_full_or_recorded_agent() {
    let priced = |over: f64, others: &[(&str, f64)]| {
        let values = [
            ("cost_usd", 2.0),
            ("cost_usd_refetch", 3.0),
            ("cost_savings", 0.4),
            ("cost_savings_vs_recorded", 0.2),
            ("overflows", over),
        ];
        let others = others.iter().map(|(name, over)| {
            entry_at(SMALL, name, None, &[("overflows", *over), ("cost_usd", 5.0)])
        });
        let table: Vec<Entry> =
            [entry_at(SMALL, "prune", Some(1), &values)].into_iter().chain(others).collect();
        with_evidence(Primary::FactsKept, &table, |run| bill(run, &table[0].row)).unwrap().against
    };
    // With all losses fetched again it costs half as much again:
    // 1 − 0.6 · 1.5 and 1 − 0.8 · 1.5.
    let Against::Whole(found) = priced(0.0, &[("full", 0.0)]) else { panic!() };
    saves(found, 0.4, 0.1);
    let Against::Recorded(found) = priced(0.0, &[("full", 3.0), ("recorded", 0.0)]) else {
        panic!()
    };
    saves(found, 0.2, -0.2);
    assert_eq!(priced(0.0, &[("full", 3.0)]), Against::Nothing);
    assert_eq!(priced(0.0, &[]), Against::Nothing);
    assert_eq!(priced(1.0, &[("full", 0.0)]), Against::Nothing, "a bill nobody would issue");
}

#[test]
fn comparison_with_whole_conversation_is_in_measure_points() {
    let of = |mde| {
        let values = [
            ("n_clusters", 7.0),
            ("difference_to_full", -3.0),
            ("difference_to_full_lo", -8.0),
            ("difference_to_full_hi", 2.0),
            ("mde", mde),
        ];
        let mut entry = entry_at(SMALL, "x", Some(1), &values);
        entry.row.verdict = Some(AgainstFull::Undecided);
        with_evidence(Primary::Continuity, &[], |run| sure(run, &entry)).unwrap()
    };
    let found = of(0.2);
    assert_eq!((found.clusters, found.margin), (7, 5.0), "0.05 of a hundred");
    assert_eq!(found.difference, Some((-3.0, -8.0, 2.0)));
    // From a tenth of a point on a difference is worth telling.
    assert_eq!((found.detectable, of(0.05).detectable), (Some(0.2), None));
}

#[test]
fn few_inconclusive_sessions_are_doubt_without_choice() {
    let few = |allows| {
        let (clusters, noun) = (3, "session");
        Finding::from(Limit::FewClusters { clusters, noun, allows })
    };
    let table = [entry_at(SMALL, "prune", Some(1), &[("facts_kept", 0.2)])];
    let actual = |finding: Finding| {
        let found =
            with_evidence(Primary::FactsKept, &table, |run| recommendation(run, &[finding]));
        found.unwrap()
    };
    assert_eq!(
        actual(few(SampleSizeLimit::Description)).doubt,
        Some(few(SampleSizeLimit::Description))
    );
    assert_eq!(actual(few(SampleSizeLimit::NoNonInferior)).doubt, None);
    let Choice::None { why: NoChoice::TooLittle { kept, least, .. }, .. } =
        actual(Limit::OpenLoop.into()).choice
    else {
        panic!("it keeps too little")
    };
    assert_eq!((kept, least), (0.2, 0.5));
}

#[test]
fn half_of_the_points_is_enough_under_continuity() {
    let why = |kept| {
        let table = [entry_at(SMALL, "prune", Some(1), &[("continuity", kept)])];
        with_evidence(Primary::Continuity, &table, |run| choose(run).map(|found| found.row.asked))
    };
    assert_eq!(why(50.0).unwrap(), 20);
    let Err(Choice::None { why: NoChoice::TooLittle { kept, least, .. }, .. }) = why(49.0) else {
        panic!("49 points are too few")
    };
    assert_eq!((kept, least), (49.0, 50.0));
}

#[test]
fn a_run_with_missing_cells_has_no_choice() {
    let table = [entry_at(SMALL, "prune", Some(1), &[("facts_kept", 0.9)])];
    let lacks = Missing { cells: 1, planned_cells: 2, cuts: 0, planned_cuts: 0, named: Vec::new() };
    let (manifest, none) = (manifest(&["25%"]), RunResults::default());
    let of = |missing| {
        let primary = Primary::FactsKept;
        let run = Evidence::of(&manifest, primary, &table, &[], &none, None, missing);
        recommendation(&run, &[]).unwrap()
    };
    let found = of(Some(&lacks));
    assert_eq!(found.choice, none_of(NoChoice::Incomplete));
    assert_eq!((found.sure, found.next), (None, None));
    assert_eq!(of(None).choice.place(), Some(&place("prune", "25%")));
}

fn none_of(why: NoChoice) -> Choice {
    Choice::None { why, nor_at: Vec::new() }
}

#[test]
fn what_was_replayed_is_counted() {
    let all = [
        facts("s")
            .requests(&[1, 2, 3])
            .reference(0, 9, None)
            .question(QuestionKind::Fact, 1, 5)
            .build(),
        facts("t").requests(&[1, 2]).reference(0, 9, None).reference(1, 9, None).build(),
    ];
    let with_facts = |facts, cuts| [("facts_needed", facts), ("cuts", cuts)];
    let table = [
        entry_at(SMALL, "full", None, &[]),
        entry_at(SMALL, "prune", Some(1), &with_facts(12.0, 3.0)),
        entry_at(SMALL, "fifo", Some(2), &with_facts(14.0, 2.0)),
        entry_at(LARGE, "prune", Some(1), &with_facts(5.0, 1.0)),
    ];
    let manifest = manifest(&["25%", "200k"]);
    // Of the two sessions one was cut.
    let cut = RunResults::new([], [testkit::cut("t", Vec::new(), Vec::new())]);
    let of = |primary, facts: &[SessionFacts]| {
        replayed(&Evidence::of(&manifest, primary, &table, facts, &cut, None, None))
    };
    let found = of(Primary::Continuity, &all);
    assert_eq!((found.sessions, found.requests, found.strategies), (2, 5, 2));
    assert_eq!(found.asked, Measured::Questions(1));
    assert_eq!(found.windows, ["25%", "200k"]);
    assert_eq!(of(Primary::ReferenceRecall, &all[1..]).asked, Measured::NeededFacts(2));
    assert_eq!(of(Primary::ReferenceRecall, &[]).asked, Measured::Nothing);
    let at_cuts = Measured::FactsAtCuts { facts: 14, cuts: 3, sessions: 1 };
    assert_eq!(of(Primary::FactsKept, &all[1..]).asked, at_cuts);
}

#[test]
fn row_without_compaction_is_named_with_kept_facts() {
    let idle = |id: &str| {
        let mut entry = entry_at(SMALL, "prune", Some(1), &[(id, 0.9)]);
        entry.acted = false;
        entry
    };
    let most = Some(("prune".to_owned(), 0.9));
    let window = "25%".to_owned();
    let none_acted = none_of(NoChoice::NoneActed { window: window.clone(), most });
    assert_eq!(with_evidence(Primary::FactsKept, &[idle("facts_kept")], why_none), none_acted);
    // Without cuts nothing at all compacted.
    let by = Primary::ReferenceRecall;
    let nothing = none_of(NoChoice::NothingCompacted { largest: 0 });
    assert_eq!(with_evidence(by, &[idle("reference_recall")], why_none), nothing);
    let control = entry_at(SMALL, "full", None, &[]);
    assert!(control.acted, "that a control acts says nothing");
    assert_eq!(with_evidence(by, &[control, idle("reference_recall")], why_none), nothing);
    let mut offline_summary = entry_at(SMALL, "summary", None, &[]);
    offline_summary.row.row_kind = RowKind::OfflineSummary;
    assert_eq!(
        with_evidence(by, &[idle("reference_recall"), offline_summary], why_none),
        none_of(NoChoice::NoneActed { window, most: None })
    );
}

/// A strategy without a rank, of this standing.
fn unranked(row_kind: RowKind, values: &[(&str, f64)]) -> Entry {
    let mut entry = entry_at(SMALL, "prune", None, values);
    entry.row.row_kind = row_kind;
    entry
}

#[test]
fn why_no_row_has_a_rank() {
    use Primary::{FactsKept, ReferenceRecall};
    let why = |by, table: &[Entry]| with_evidence(by, table, none_ranked);
    let ranked = |values: &[(&str, f64)]| unranked(RowKind::Ranked, values);
    let control = || entry_at(SMALL, "full", None, &[]);
    assert_eq!(why(FactsKept, &[control()]), NoChoice::OnlyControls);
    // No fact was needed if no row of a strategy lost sight of anything.
    let (safe, exposed) = ([("exposed_share", 0.0)], [("exposed_share", 0.5)]);
    let mut idle = ranked(&safe);
    idle.acted = false;
    assert_eq!(why(FactsKept, &[control(), idle]), NoChoice::NoFactsNeeded);
    let unknown = |by| NoChoice::NoFigure { by, why: None };
    assert_eq!(why(FactsKept, &[ranked(&safe), ranked(&exposed)]), unknown(FactsKept));
    let references = [("reference_exposed", 0.0)];
    assert_eq!(why(ReferenceRecall, &[ranked(&references)]), NoChoice::NoFactsNeeded);
    // Nothing compacted, unless a strategy failed before it could.
    let mut idle = ranked(&references);
    idle.acted = false;
    let nothing = NoChoice::NothingCompacted { largest: 0 };
    assert_eq!(why(ReferenceRecall, std::slice::from_ref(&idle)), nothing);
    idle.row.failed = vec!["broken".into()];
    assert_eq!(why(ReferenceRecall, std::slice::from_ref(&idle)), NoChoice::AllFailed);
    assert_eq!(why(ReferenceRecall, &[idle, ranked(&[])]), unknown(ReferenceRecall));
    // Only offline summaries, or only rows of unusable replies.
    let (offline_summary, unusable) =
        (unranked(RowKind::OfflineSummary, &[]), unranked(RowKind::Unusable, &[]));
    assert_eq!(
        why(FactsKept, std::slice::from_ref(&offline_summary)),
        NoChoice::OnlyOfflineSummaries
    );
    assert_eq!(why(FactsKept, &[offline_summary, unusable]), NoChoice::OnlyUnusable);
    // A reason of the figure itself.
    let mut absent = ranked(&[]);
    absent.row.values.insert("facts_kept".into(), Value::Absent(Absent::NoFacts));
    let reason = Some(Absent::NoFacts.to_string());
    assert_eq!(why(FactsKept, &[absent]), NoChoice::NoFigure { by: FactsKept, why: reason });
}

#[test]
fn a_rank_takes_five_questions() {
    let of = |asked| {
        let mut entry = unranked(RowKind::Ranked, &[]);
        entry.asked = asked;
        with_evidence(Primary::Continuity, &[entry], none_ranked)
    };
    let by = Primary::Continuity;
    let few = |asked| NoChoice::FewAsked { strategy: "prune".into(), asked, least: 5, by };
    assert_eq!([of(1), of(4)], [few(1), few(4)]);
    let other = NoChoice::NoFigure { by, why: None };
    assert_eq!([of(0), of(5)], [other.clone(), other]);
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
