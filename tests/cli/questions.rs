//! Questions that are made from recordings, in files.

use super::desk::{Desk, session};

/// A desk with the questions of [`session`] in `made.jsonl`.
fn with_questions() -> Desk {
    let desk = Desk::new();
    desk.good(&["probes", "generate", &session(), "--out", "made.jsonl"]);
    desk
}

#[test]
fn questions_are_written_once_and_never_over_a_file() {
    let desk = with_questions();
    let before = desk.read("made.jsonl");
    let twice = desk.refused(&["probes", "generate", &session(), "--out", "made.jsonl"]);
    assert!(twice.contains("made.jsonl exists already"), "{twice}");
    assert_eq!(desk.read("made.jsonl"), before);
    let printed = desk.good(&["probes", "generate", &session()]).out;
    assert_eq!(printed, before, "the same recording gives the same questions");
    let nowhere = desk.refused(&["probes", "generate", &session(), "--out", "gone/made.jsonl"]);
    assert!(nowhere.contains("cannot write gone/made.jsonl"), "{nowhere}");
}

#[test]
fn a_file_of_questions_that_cannot_be_asked_is_refused() {
    let desk = with_questions();
    let made = desk.read("made.jsonl");
    let lines: Vec<&str> = made.lines().collect();
    let elsewhere = made.replace("\"transcript\":\"invoice-export\"", "\"transcript\":\"other\"");
    let torn = format!("{}\n{}\n", lines[0], &lines[1][..40]);
    let late = lines[0].replace("\"evidence\":[\"", "\"evidence\":[\"no-such-");
    desk.file("empty.jsonl", "")
        .file("elsewhere.jsonl", elsewhere)
        .file("torn.jsonl", torn)
        .file("late.jsonl", late + "\n");
    for (file, says) in [
        ("gone.jsonl", "no such file"),
        ("empty.jsonl", "empty.jsonl holds no question"),
        ("elsewhere.jsonl", "none of its questions is about a session of this run"),
        ("torn.jsonl", "torn.jsonl:2"),
        ("late.jsonl", "late.jsonl:1"),
    ] {
        let said = desk.refused(&["bench", &session(), "--questions", file, "--out", "run"]);
        assert!(said.contains(says), "{file}: {said}");
    }
    let replayed = desk.refused(&["replay", &session(), "--questions", "made.jsonl"]);
    assert!(replayed.contains("asks no questions"), "{replayed}");
}

#[test]
fn a_file_of_questions_gives_what_making_them_gives() {
    let desk = with_questions();
    let run = |out: &str, questions: &str| {
        let what = ["bench", &session(), "--strategy", "fifo", "--quiet"];
        let how = ["--questions", questions, "--out", out];
        desk.good(&[&what[..], &how].concat());
        let rows = desk.csv(&format!("{out}/summary.csv"));
        let all = rows.into_iter().find(|row| row["strategy"] == "fifo").unwrap();
        (all["questions_at_cut"].clone(), all["continuity_at_cut"].clone())
    };
    let (questions, continuity) = run("made", "auto");
    assert!(questions.parse::<f64>().unwrap() >= 1.0);
    assert!((0.0..=100.0).contains(&continuity.parse::<f64>().unwrap()));
    assert_eq!(run("given", "made.jsonl"), (questions, continuity));
    let (none, absent) = run("none", "none");
    assert_eq!((none.as_str(), absent.as_str()), ("", ""), "nothing was asked");
}

#[test]
fn questions_about_other_sessions_are_counted_and_left_out() {
    let desk = with_questions();
    let made = desk.read("made.jsonl");
    let first = made.lines().next().unwrap();
    let other = first.replace("\"invoice-export\"", "\"other\"");
    desk.file("mixed.jsonl", format!("{first}\n{other}\n"));
    let what = ["bench", &session(), "--strategy", "fifo", "--out", "run"];
    let ran = desk.good(&[&what[..], &["--questions", "mixed.jsonl"]].concat());
    assert!(ran.err.contains("1 question of mixed.jsonl left out: no such session"), "{ran:?}");
}
