//! Numbers, names and lists as text, and sentences that several crates need, so that the
//! terminal, the page, `report.md` and `summary.json` say the same in the same words.

mod apply;
pub mod number;
mod savers;
mod sizes;

use std::fmt::{Display, Formatter, Result};

pub use apply::apply;
pub use savers::savers;
pub use sizes::{no_sizes, size_answer, size_basis, size_name};

use crate::model::{Missing, NATIVE, Primary};
use crate::text::{counted, form_for};

/// Largest number of missing cells, cuts and sessions that a sentence names.
const NAMED: usize = 3;

impl Display for Missing {
    fn fmt(&self, out: &mut Formatter<'_>) -> Result {
        let of = |missing: usize, planned: usize, what: &str| {
            (missing > 0).then(|| format!("{missing} of {}", counted(planned, what)))
        };
        let parts =
            [of(self.cells, self.planned_cells, "cell"), of(self.cuts, self.planned_cuts, "cut")];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let all = self.cells + self.cuts;
        let named = first_few(&self.named, all);
        write!(
            out,
            "this run is incomplete: {} {} missing ({named}). `recap bench` with the same options, \
             --out and --resume finishes it",
            parts.join(" and "),
            form_for(all, "is", "are")
        )
    }
}

/// A window as it is written behind "at": `25 %`, `200k`, `the native window`.
pub fn window(label: &str) -> String {
    match label.strip_suffix('%') {
        _ if label == NATIVE => "the native window".to_owned(),
        Some(share) => format!("{} %", share.trim_end()),
        None => label.to_owned(),
    }
}

/// The first of `all` names: "a", "a; b", "a; b; c; and 9 more".
pub fn first_few(names: &[String], all: usize) -> String {
    let mut named = names[..names.len().min(NAMED)].join("; ");
    if all > NAMED {
        named += &format!("; and {} more", all - NAMED);
    }
    named
}

/// A list in words: "a", "a and b", "a, b and c".
pub fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The figure of a measure that ranks: `53 %`.
pub fn kept(by: Primary, figure: f64) -> String {
    number::percent(figure / by.most())
}

/// A sentence with its first letter small, to stand behind another clause.
pub fn uncapital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(letters).collect()
}

/// A sentence with its first letter large.
pub fn capital(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}
