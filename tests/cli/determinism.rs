//! Same input, same bytes, however many cells run at a time.

use crate::desk::{Desk, assert_same};

#[test]
fn one_job_and_four_give_the_same_files() {
    let desk = Desk::new();
    for how in ["--out a --jobs 1", "--out b --jobs 4"] {
        desk.good(&format!("bench SESSION --quiet --window 25% --window 16k {how}"));
    }
    assert_same(&desk, "a", "b");
    // Not because nothing was compared.
    assert!(desk.read("a/compactions.csv").lines().count() > 50);
    assert!(desk.read("a/references.csv").lines().count() > 500);
    assert_eq!(desk.read("a/requests.csv").lines().count(), 1 + 46 * 15 * 2);
}

#[test]
fn answers_and_grades_are_identical_whatever_job_count() {
    let desk = Desk::new();
    for how in ["--out a --jobs 1", "--out b --jobs 4"] {
        let bench = "bench quickstart --strategy fifo,continuation --limit 1 --format csv";
        desk.good(&format!("{bench} {how}"));
    }
    let [a, b] = ["a", "b"].map(|run| desk.read(&format!("{run}/questions.csv")));
    assert!(a == b);
    // Six strategies, and nobody asked for nothing.
    assert!(desk.csv("a/questions.csv").len() >= 6 * 30);
}
