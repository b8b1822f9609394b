//! How often the offline reader is right about sessions of agents: the bundled
//! generated ones, asked of all that was said so far (`full`) and of the
//! messages around the evidence alone (`evidence`). The strict offline judge
//! grades. Every other question was looked at while the rules were made
//! ("fitted"); the rest was not ("held out").

use std::collections::BTreeMap;
use std::path::PathBuf;

use recap::dataset::{LoadOptions, load};
use recap::model::ProbeKind;

use crate::reading::{Row, Rows, measured};

fn measure(name: &str) -> Rows {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("datasets").join(name);
    measured(&load(&path, &LoadOptions::default()).unwrap())
}

fn mean(rows: &Rows, full: bool, held_out: Option<bool>) -> f64 {
    let of =
        rows.iter().filter(|((f, held, _), _)| *f == full && held_out.is_none_or(|h| h == *held));
    let (score, n) = of.fold((0.0, 0.0), |(s, n), (_, row)| (s + row.score, n + row.n));
    score / n
}

// Bounds lie a hundredth below what was measured (0.801 and 0.892 held out).
#[test]
fn sessions_of_agents_are_read() {
    let rows = measure("quickstart");
    let mut kinds: BTreeMap<ProbeKind, [Row; 2]> = BTreeMap::new();
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
    for full in [true, false] {
        println!(
            "full={full}: all {:.3} fitted {:.3} held out {:.3}",
            mean(&rows, full, None),
            mean(&rows, full, Some(false)),
            mean(&rows, full, Some(true))
        );
    }
    let held_out = |full| mean(&rows, full, Some(true));
    assert!(held_out(true) >= 0.79, "{}", held_out(true));
    assert!(held_out(false) >= 0.88, "{}", held_out(false));
}
