//! Same input, same bytes, however many cells run at a time.

use crate::desk::{Desk, assert_same, session};

const SWEEP: [&str; 6] = ["bench", "--quiet", "--window", "25%", "--window", "16k"];

#[test]
fn one_job_and_four_give_the_same_files() {
    let (desk, session) = (Desk::new(), session());
    for (out, jobs) in [("a", "1"), ("b", "4")] {
        desk.good(&[&SWEEP[..], &[session.as_str(), "--out", out, "--jobs", jobs]].concat());
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
    for (out, jobs) in [("a", "1"), ("b", "4")] {
        let strategies = ["--strategy", "fifo", "--strategy", "continuation"];
        let options = ["--limit", "1", "--jobs", jobs, "--format", "csv", "--out", out];
        desk.good(&[&["bench", "quickstart"][..], &strategies, &options].concat());
    }
    let [a, b] = ["a", "b"].map(|run| desk.read(&format!("{run}/questions.csv")));
    assert!(a == b);
    // Six strategies, and nobody asked for nothing.
    assert!(desk.csv("a/questions.csv").len() >= 6 * 30);
}
