//! Same input, same bytes, however many cells run at a time.

use crate::desk::{Desk, drop_cpu, session, without_cpu};

const SWEEP: [&str; 6] = ["bench", "--quiet", "--window", "25%", "--window", "16k"];

fn twice(first: &[&str], second: &[&str]) -> Desk {
    let (desk, session) = (Desk::new(), session());
    desk.good(&[&SWEEP[..], &[session.as_str(), "--out", "a"], first].concat());
    desk.good(&[&SWEEP[..], &[session.as_str(), "--out", "b"], second].concat());
    desk
}

/// Every file of both runs, processor time apart.
fn assert_same(desk: &Desk) {
    assert_eq!(desk.list("a"), desk.list("b"));
    for name in desk.list("a") {
        let [a, b] = ["a", "b"].map(|run| desk.read(&format!("{run}/{name}")));
        if name.ends_with(".csv") {
            assert_eq!(without_cpu(&a), without_cpu(&b), "{name}");
        } else if name == "summary.json" || name == "cells.jsonl" {
            let lines = |text: &str| {
                let values = serde_json::Deserializer::from_str(text).into_iter();
                let mut values: Vec<_> = values.map(Result::unwrap).collect();
                values.iter_mut().for_each(drop_cpu);
                values
            };
            assert_eq!(lines(&a), lines(&b), "{name}");
        } else {
            assert!(untimed(&a) == untimed(&b), "{name} differs");
        }
    }
}

/// A page without the lines that hold processor times, packed or not.
fn untimed(page: &str) -> String {
    let timed = |line: &&str| {
        line.contains("id=\"measure-data\"") || line.starts_with("<td class=\"number timed\">")
    };
    page.split_inclusive('\n').filter(|line| !timed(line)).collect()
}

#[test]
fn one_job_and_four_give_the_same_files() {
    let desk = twice(&["--jobs", "1"], &["--jobs", "4"]);
    assert_same(&desk);
    // Not because nothing was compared.
    assert!(desk.read("a/compactions.csv").lines().count() > 50);
    assert!(desk.read("a/references.csv").lines().count() > 500);
    assert_eq!(desk.read("a/requests.csv").lines().count(), 1 + 46 * 15 * 2);
}

#[test]
fn requests_and_references_are_the_same_to_the_byte() {
    let desk = twice(&["--seed", "7"], &["--seed", "7"]);
    for name in ["requests.csv", "references.csv"] {
        assert!(desk.read(&format!("a/{name}")) == desk.read(&format!("b/{name}")), "{name}");
    }
    assert_same(&desk);
}

#[test]
fn the_seed_stands_in_the_manifest() {
    let desk = Desk::with_run(&["--seed", "99", "--strategy", "full"]);
    assert_eq!(desk.json("run/manifest.json")["seed"], 99);
}

#[test]
fn answers_and_grades_are_the_same_to_the_byte_however_many_jobs() {
    let desk = Desk::new();
    for (out, jobs) in [("a", "1"), ("b", "4")] {
        let strategies = ["--strategy", "fifo", "--strategy", "continuation"];
        let options = ["--limit", "1", "--jobs", jobs, "--format", "csv", "--out", out];
        desk.good(&[&["bench", "quickstart"][..], &strategies, &options].concat());
    }
    let [a, b] = ["a", "b"].map(|run| desk.read(&format!("{run}/probes.csv")));
    assert!(a == b);
    // Six presets, and nobody asked for nothing.
    assert!(desk.csv("a/probes.csv").len() >= 6 * 30);
}
