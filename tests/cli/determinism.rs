//! Same input, same bytes, however many cells run at a time.

use crate::desk::{Desk, assert_same, session};

const SWEEP: [&str; 6] = ["bench", "--quiet", "--window", "25%", "--window", "16k"];

fn twice(first: &[&str], second: &[&str]) -> Desk {
    let (desk, session) = (Desk::new(), session());
    desk.good(&[&SWEEP[..], &[session.as_str(), "--out", "a"], first].concat());
    desk.good(&[&SWEEP[..], &[session.as_str(), "--out", "b"], second].concat());
    desk
}

#[test]
fn one_job_and_four_give_the_same_files() {
    let desk = twice(&["--jobs", "1"], &["--jobs", "4"]);
    assert_same(&desk, "a", "b");
    // Not because nothing was compared.
    assert!(desk.read("a/compactions.csv").lines().count() > 50);
    assert!(desk.read("a/references.csv").lines().count() > 500);
    assert_eq!(desk.read("a/requests.csv").lines().count(), 1 + 46 * 15 * 2);
}

#[test]
fn requests_and_references_are_identical_to_the_byte() {
    let desk = twice(&["--seed", "7"], &["--seed", "7"]);
    for name in ["requests.csv", "references.csv"] {
        assert!(desk.read(&format!("a/{name}")) == desk.read(&format!("b/{name}")), "{name}");
    }
    assert_same(&desk, "a", "b");
}

#[test]
fn the_seed_stands_in_the_manifest() {
    let desk = Desk::with_run(&["--seed", "99", "--strategy", "full"]);
    assert_eq!(desk.json("run/manifest.json")["seed"], 99);
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
