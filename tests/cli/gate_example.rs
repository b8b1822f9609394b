//! The worked example: green with the strategy that is there, red with the change.

use std::path::Path;

use crate::desk::Desk;

const FOLDER: &str = "tests/fixtures/gate-example";

/// A desk on which the example lies.
fn example() -> Desk {
    let desk = Desk::new();
    for name in ["recap.toml", "strategies/mine.toml", "change/mine.toml"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join(name);
        desk.file(name, std::fs::read(path).unwrap());
    }
    desk
}

#[test]
fn example_is_green_and_worse_change_turns_red() {
    let desk = example();
    let ran = desk.recap(&["bench", "--out", "run"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.err.contains("settings of recap.toml"), "{}", ran.err);
    let report = desk.read("run/report.md");
    assert!(report.starts_with("**✅ the gate passed** · recap: quickstart"), "{report}");
    let junit = desk.read("run/junit.xml");
    assert!(!junit.contains("<failure") && !junit.contains("<error"), "{junit}");

    desk.file("strategies/mine.toml", desk.read("change/mine.toml"));
    let ran = desk.recap(&["bench", "--out", "run"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    let report = desk.read("run/report.md");
    let first = report.lines().next().unwrap();
    assert!(first.starts_with("**❌ the gate failed** · recap: quickstart"), "{first}");
    assert!(first.contains("continuity@&#8203;mine &lt; 80 on mine at 40 %: "), "{first}");
    assert!(first.ends_with(" is below 80"), "{first}");
    assert_eq!(report.matches("- ❌ failed: ").count(), 2, "{report}");
    let junit = desk.read("run/junit.xml");
    assert_eq!(junit.matches("<failure").count(), 2, "{junit}");
    // Rendering again shows the same and gates again, by the same settings.
    let page = desk.read("run/report.md");
    assert_eq!(desk.recap(&["report", "run"]).code, 1);
    assert_eq!(desk.read("run/report.md"), page);
}

#[test]
fn two_example_runs_leave_same_summary_and_cases() {
    let desk = example();
    for out in ["one", "two"] {
        desk.good(&["bench", "--quiet", "--out", out]);
    }
    for file in ["report.md", "junit.xml"] {
        assert_eq!(desk.read(&format!("one/{file}")), desk.read(&format!("two/{file}")), "{file}");
    }
}
