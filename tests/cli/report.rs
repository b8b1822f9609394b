//! `recap report`: rendering a run again.

use crate::desk::{Desk, flat};

/// Every file of the run, by name.
fn files(desk: &Desk) -> Vec<(String, String)> {
    let read = |name: String| {
        let text = desk.read(&format!("run/{name}"));
        (name, text)
    };
    desk.list("run").into_iter().map(read).collect()
}

#[track_caller]
fn assert_same_again(desk: &Desk, more: &[&str]) {
    let before = files(desk);
    for name in ["report.html", "summary.json", "summary.csv", "requests.csv"] {
        std::fs::remove_file(desk.path(&format!("run/{name}"))).unwrap();
    }
    desk.good(&[&["report", "run"], more].concat());
    let after = files(desk);
    assert_eq!(after.len(), before.len());
    for ((name, old), (_, new)) in before.iter().zip(&after) {
        assert!(old == new, "{name} differs");
    }
}

#[test]
fn run_renders_again_to_same_bytes() {
    assert_same_again(&Desk::with_run(&["--window", "25%", "--window", "16k"]), &[]);
}

#[test]
fn multi_input_run_with_warnings_renders_same_bytes() {
    let desk = Desk::with_sessions();
    desk.file("all/notes.txt", "x");
    std::fs::copy(desk.path("claude-code.jsonl"), desk.path("all/c.jsonl")).unwrap();
    let bench = desk.good(&["bench", "pi.jsonl", "all", "--out", "run"]);
    assert!(bench.out.contains("notes.txt"), "{}", bench.out);
    assert_same_again(&desk, &[]);
    let report = desk.good(&["report", "run"]);
    assert_eq!(report.out, bench.out, "the table is the same, and so is the last line");
}

/// How the line of a cell begins.
const CELL: &str = "{\"cell\":";

/// The lines of a journal before that of a cell, counted from 0.
fn before_cell(journal: &str, cell: usize) -> &str {
    let lines = journal.match_indices(CELL).filter(|(at, _)| journal[..*at].ends_with('\n'));
    let mut ends = lines.map(|(at, _)| at);
    &journal[..ends.nth(cell).expect("it has so many cells")]
}

#[test]
fn killed_run_reports_finished_cells() {
    let desk = Desk::with_run(&["--strategy", "fifo", "--cuts", "none"]);
    let journal = desk.read("run/cells.jsonl");
    assert_eq!(journal.lines().filter(|line| line.starts_with(CELL)).count(), 4);
    // Two cells, and the beginning of the third.
    desk.file("run/cells.jsonl", &journal[..before_cell(&journal, 2).len() + CELL.len() + 20]);
    std::fs::remove_file(desk.path("run/texts.jsonl")).unwrap();
    let ran = desk.recap(&["report", "run"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(desk.read("run/requests.csv").lines().count(), 1 + 2 * 46);
    // It is incomplete wherever one may look.
    let said = "this run is incomplete: 2 of 4 cells are missing (full at 50% on \
                invoice-export/invoice-export; id-list at 50% on invoice-export/invoice-export)";
    for name in ["report.html", "report.md", "junit.xml", "summary.json"] {
        assert!(desk.read(&format!("run/{name}")).contains(said), "{name}");
    }
    // On the terminal it is a sentence.
    assert!(flat(&ran.out).contains(&said.replacen("this", "This", 1)), "{}", ran.out);
    assert_eq!(desk.json("run/summary.json")["missing"]["cells"], 2);
    assert!(!desk.path("run/baseline.json").exists(), "no later run is held against half a run");
}

#[test]
fn killed_run_neither_passes_nor_fails_gate() {
    let desk = Desk::with_run(&["--strategy", "fifo", "--cuts", "3"]);
    // One rule that the whole run passes, one that it fails.
    let rules = ["reference_recall@fifo < 0.01", "reference_recall@fifo < 0.99"];
    let gated = |rule| desk.recap(&["report", "run", "--fail-on", rule]).code;
    assert_eq!(rules.map(gated), [0, 1]);
    let journal = desk.read("run/cells.jsonl");
    let lines: Vec<&str> = journal.lines().collect();
    let missing_cell = |line: &&&str| !line.contains("\"strategy\":\"id-list\",\"window\"");
    let missing_cut = |line: &&&str| !line.starts_with("{\"cut\"");
    for kept in [
        lines.iter().filter(missing_cell).collect::<Vec<_>>(),
        lines.iter().filter(missing_cut).collect(),
    ] {
        assert!(kept.len() < lines.len());
        let kept: String = kept.iter().flat_map(|line| [**line, "\n"]).collect();
        desk.file("run/cells.jsonl", kept);
        assert_eq!(rules.map(gated), [3, 3]);
        // Nor does what the gate had found before stand any longer.
        let again = desk.recap(&["report", "run"]);
        assert_eq!(again.code, 3);
        assert!(!again.out.contains("gate: passed") && !again.out.contains("gate: failed"));
        let refused =
            desk.refused("report run --fail-on 'tokens_sent > baseline * 1.1' --baseline run");
        assert!(refused.contains("this run is incomplete"), "{refused}");
    }
}

#[test]
fn a_comparison_with_half_a_run_says_so() {
    let desk = Desk::with_run(&["--strategy", "fifo", "--cuts", "none"]);
    for name in ["cells.jsonl", "manifest.json"] {
        desk.file(&format!("half/{name}"), desk.read(&format!("run/{name}")));
    }
    let journal = desk.read("run/cells.jsonl");
    desk.file("half/cells.jsonl", before_cell(&journal, 3));
    let ran = desk.recap("compare run half");
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.out.contains("half: this run is incomplete: 1 of 4 cells is missing"), "{ran:?}");
}
