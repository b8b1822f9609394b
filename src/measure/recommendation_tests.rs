use crate::measure::testkit::{answer, cell, facts, run, run_at, warnings};
use crate::model::{Cell, ProbeKind, RECORDED, Report, TranscriptFacts};

fn session(id: &str) -> TranscriptFacts {
    asking(id, 2)
}

/// Ten requests, each with this many references.
fn asking(id: &str, references: usize) -> TranscriptFacts {
    let mut builder = facts(id).requests(&[100; 10]);
    for request in 0..10 {
        for _ in 0..references {
            builder = builder.reference(request, 5_000, None);
        }
    }
    builder.build()
}

fn keeps(id: &str, strategy: &str, kept: usize) -> crate::measure::testkit::CellBuilder {
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
    says(&report, "Use prune at 25 %: it keeps 1.00");
    says(&report, "It rests on 1 session: what was seen is described");
    says(&report, "The largest doubt:");
    silent(&report, "significant");
    silent(&report, "Its bill");
}

#[test]
fn a_heavy_loss_is_mentioned_with_the_recommendation() {
    let report = run(vec![session("s")], vec![full("s"), keeps("s", "fifo", 10).build()]);
    says(&report, "At 25 % fifo loses least: it keeps 0.50");
}

#[test]
fn a_run_of_stand_ins_has_no_recommendation() {
    let cells = vec![full("s"), keeps("s", "summary", 20).stand_in().build()];
    let report = run(vec![session("s")], cells);
    says(&report, "an offline stand-in wrote them: none is ranked");
    silent(&report, "Use ");
}

#[test]
fn a_run_without_compactions_suggests_a_change() {
    let idle = cell("s", "prune").sent(&[100; 10]).states(&"k".repeat(20)).build();
    let report = run(vec![session("s")], vec![full("s"), idle.clone()]);
    // The preset has a rank, because it kept everything, and is not
    // recommended.
    silent(&report, "Use ");
    says(&report, "Nothing compacted: the largest context seen has 100 tokens.");
    let acts = keeps("s", "summary", 12).stand_in().build();
    let report = run(vec![session("s")], vec![full("s"), idle, acts]);
    silent(&report, "Use ");
    says(&report, "At 25 % no strategy that is ranked had anything to compress");
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
fn a_conversation_over_the_window_is_no_standard_for_cheaper() {
    let billed = |cell: crate::measure::testkit::CellBuilder, tokens: u64| {
        cell.bill(RECORDED, "dear", &[(tokens, 0, 0); 10])
    };
    let whole = billed(keeps("s", "full", 20).control(), 500).overflow(3).build();
    let report = run(vec![session("s")], vec![whole, billed(keeps("s", "prune", 20), 100).build()]);
    says(&report, "it has no bill to compare with");
    silent(&report, "less than the whole conversation");
    let whole = billed(keeps("s", "full", 20).control(), 500).build();
    let report = run(vec![session("s")], vec![whole, billed(keeps("s", "prune", 20), 100).build()]);
    says(&report, "less than the whole conversation");
}

#[test]
fn recommended_presets_of_other_windows_are_named() {
    let at = |window: &str, name: &str, kept: usize| {
        keeps("s", name, kept).window(window, 10_000).build()
    };
    let cells = vec![at("25%", "a", 12), at("25%", "b", 8), at("50%", "a", 12), at("50%", "b", 16)];
    let report = run_at(&["25%", "50%"], vec![session("s")], cells);
    says(&report, "Use b at 50 %: it keeps 0.80");
    says(&report, "Best at other windows: a at 25 % (0.60).");
    // At 25 % no preset keeps enough.
    let cells = vec![at("25%", "a", 3), at("50%", "a", 12)];
    let report = run_at(&["25%", "50%"], vec![session("s")], cells);
    says(&report, "Use a at 50 %: it keeps 0.60");
    says(&report, "None is to be preferred at 25 %.");
    let cells = vec![at("25%", "a", 3), at("50%", "a", 8)];
    let report = run_at(&["25%", "50%"], vec![session("s")], cells);
    says(
        &report,
        "Nothing at 50 % keeps enough to be recommended: of what compressed anything, a keeps most (0.40)",
    );
    says(&report, "Nor is one recommended at 25 %.");
    // A row over the window comes after rows that fit, however much it keeps.
    let over = keeps("s", "a", 20).window("25%", 10_000).overflow(3).build();
    let report = run_at(&["25%", "50%"], vec![session("s")], vec![over, at("50%", "a", 12)]);
    says(&report, "Use a at 50 %: it keeps 0.60");
}

#[test]
fn an_offline_judge_is_the_largest_doubt_about_probes() {
    let probes = |id: &str| {
        let mut built = facts(id).requests(&[100; 10]);
        for _ in 0..8 {
            built = built.probe(ProbeKind::Fact, 9, 500);
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
    let report = run(vec![probes("s")], cells("Rwwwwwww", "wwwwwwww", "Rwwwwwww"));
    silent(&report, "Use ");
    says(&report, "it rests on 1 question, and a rank takes 5");
    let prune = report.rows.iter().find(|row| row.strategy == "prune").unwrap();
    assert_eq!(prune.rank, None);
    let report = run(vec![probes("s")], cells("RRRRRRRR", "wwwwwwww", "RRRRwwww"));
    says(&report, "it keeps 50 %");
    says(&report, "of the right answers");
    says(&report, "questions are answered and graded by words and dates");
}

#[test]
fn a_preset_with_refused_requests_is_not_recommended_but_named() {
    let over = keeps("s", "prune", 18).overflow(3).build();
    let report = run(vec![session("s")], vec![full("s"), over, keeps("s", "fifo", 15).build()]);
    says(&report, "At 25 % fifo loses least: it keeps 0.75");
    // It keeps 18 of 20, minus the two references of the refused request.
    says(&report, "prune keeps 0.80");
    says(&report, "but 1 of its 10 requests is over the window");
    let over = keeps("s", "prune", 18).overflow(3).build();
    let report = run(vec![session("s")], vec![full("s"), over, keeps("s", "fifo", 5).build()]);
    says(
        &report,
        "fifo keeps most within the window (0.25), and less than 0.50 is not recommended",
    );
    let over = keeps("s", "prune", 18).overflow(3).build();
    let report = run(vec![session("s")], vec![full("s"), over]);
    says(&report, "At 25 % prune");
    says(&report, "1 of its 10 requests is over the window");
}

#[test]
fn a_cheaper_preset_within_the_margin_is_named_with_its_bill() {
    // The margin is 0.05: a keeps 1.00, b 0.95 at half the tokens, c 0.90 for less still.
    let billed = |name: &str, kept: usize, tokens: u64| {
        keeps("s", name, kept).bill(RECORDED, "dear", &[(tokens, 0, 0); 10]).build()
    };
    let cells = vec![full("s"), billed("a", 20, 400), billed("b", 19, 200), billed("c", 18, 100)];
    let report = run(vec![session("s")], cells);
    // 10 requests of 200 tokens at 4 dollars a million, and 10 outputs of 10 at
    // 20. b costs more than c and keeps no more within the margin; a keeps
    // more.
    says(&report, "Use a at 25 %: it keeps 1.00");
    let report = run(vec![session("s")], vec![billed("a", 20, 400), billed("b", 19, 380)]);
    // b is no worse within the margin, at a smaller price.
    says(&report, "Use b at 25 %: it keeps 0.95");
    says(&report, "a keeps 1.00 for");
}

#[test]
fn a_preset_that_keeps_almost_nothing_is_not_recommended() {
    let billed = |name: &str, kept: usize, tokens: u64| {
        keeps("s", name, kept).bill(RECORDED, "dear", &[(tokens, 0, 0); 10])
    };
    let whole = billed("full", 20, 500).control().build();
    let report = run(vec![session("s")], vec![whole, billed("fifo", 1, 20).build()]);
    says(
        &report,
        "Nothing at 25 % keeps enough to be recommended: of what compressed anything, fifo keeps most (0.05)",
    );
    says(&report, "less than 0.50 is not recommended");
    for words in ["Use ", "loses least"] {
        silent(&report, words);
    }
}

/// Six sessions of 200 references, of these projects in turn. The preset keeps
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
        let warned = format!("{clusters}: no preset can be called non-inferior");
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
    says(&report, "; a difference below 0.003 would be missed");
}
