//! How often the offline reader is right about sessions of agents: the bundled
//! generated ones, asked of all that was said so far (`full`) and of the
//! messages around the evidence alone (`evidence`). The strict offline judge
//! grades. No rule was made while looking at these sessions, whose seeds nobody
//! chose; their kinds share sentences with those that rules were made with.

use std::collections::BTreeMap;
use std::path::PathBuf;

use recap_core::model::QuestionKind;
use recap_formats::{LoadOptions, load};

use crate::reading::{Row, Rows, measured};

fn measure(name: &str) -> Rows {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("datasets").join(name);
    measured(&load(&path, &LoadOptions::default()).unwrap())
}

fn mean(rows: &Rows, full: bool) -> f64 {
    let of = rows.iter().filter(|((shown, ..), _)| *shown == full);
    let (score, n) = of.fold((0.0, 0.0), |(s, n), (_, row)| (s + row.score, n + row.n));
    score / n
}

/// The figure in `docs/questions.md`, and that of the evidence alone: to the third
/// decimal, so that no change of a rule goes unseen.
#[test]
fn sessions_of_agents_are_read() {
    let rows = measure("quickstart");
    let mut kinds: BTreeMap<QuestionKind, [Row; 2]> = BTreeMap::new();
    for ((full, _, kind), row) in &rows {
        let sum = &mut kinds.entry(*kind).or_default()[usize::from(!full)];
        *sum =
            Row { n: sum.n + row.n, score: sum.score + row.score, silent: sum.silent + row.silent };
    }
    for (kind, [full, alone]) in kinds {
        let (a, b) = (full.score / full.n, alone.score / alone.n);
        println!(
            "{:13} {:3} full {a:.2} evidence {b:.2} silent {} {}",
            kind.as_str(),
            full.n,
            full.silent,
            alone.silent
        );
    }
    let found = [true, false].map(|full| format!("{:.3}", mean(&rows, full)));
    assert_eq!(found, ["0.778", "0.903"]);
    let page = include_str!("../../docs/questions.md");
    assert!(page.contains("On the bundled sessions it gets 0.78 from the whole conversation"));
}
