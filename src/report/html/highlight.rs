//! Which lines of a chart have a colour and a name of their own. Colours repeat
//! where a run has more strategies than the palette, and forty names stand on
//! no margin: then the first of the table are told apart, and the others are
//! grey and without a name.

use std::collections::BTreeSet;

use super::series::Colors;
use crate::model::{Report, Standing};
use crate::report::number;

/// Lines that are told apart, at most.
const MOST: usize = 8;

/// The strategies that are told apart.
pub(super) struct Highlight<'a> {
    shown: BTreeSet<&'a str>,
    others: usize,
}

impl<'a> Highlight<'a> {
    pub(super) fn new(report: &'a Report, colors: &Colors) -> Self {
        let mut names: Vec<&str> = Vec::new();
        let mut controls: BTreeSet<&str> = BTreeSet::new();
        for row in &report.rows {
            if row.standing == Standing::Control {
                controls.insert(&row.strategy);
            } else if !names.contains(&row.strategy.as_str()) {
                names.push(&row.strategy);
            }
        }
        let mut shown: BTreeSet<&str> = BTreeSet::new();
        let mut taken = Vec::new();
        for &name in &names {
            let color = colors.of(name);
            if names.len() <= MOST || (!taken.contains(&color) && shown.len() < MOST) {
                taken.push(color);
                shown.insert(name);
            }
        }
        let others = names.len() - shown.len();
        shown.extend(controls);
        Highlight { shown, others }
    }

    /// Whether this strategy has a colour and a name.
    pub(super) fn shows(&self, strategy: &str) -> bool {
        self.shown.contains(strategy)
    }

    /// What a chart says of the others.
    pub(super) fn note(&self) -> Option<String> {
        let others = number::grouped(self.others as u64);
        (self.others > 0).then(|| {
            format!("Named are those that come first in the comparison; {others} others are grey")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testkit::Kit;

    #[test]
    fn more_strategies_than_colours_leave_the_last_of_the_table_grey() {
        let names: Vec<String> = (0..12).map(|n| format!("s{n:02}")).collect();
        let mut report = Kit::default().report();
        let row = report.rows.iter().find(|r| r.standing == Standing::Ranked).unwrap().clone();
        report.rows = (names.iter())
            .map(|name| crate::model::PresetRow { strategy: name.clone(), ..row.clone() })
            .collect();
        let colors = Colors::new(&report);
        let highlight = Highlight::new(&report, &colors);
        let shown = names.iter().filter(|name| highlight.shows(name)).count();
        assert!(highlight.shows("s00") && shown <= MOST, "{shown}");
        let distinct: BTreeSet<_> = names
            .iter()
            .filter(|name| highlight.shows(name))
            .map(|name| format!("{:?}", colors.of(name)))
            .collect();
        assert_eq!(distinct.len(), shown, "no colour stands for two");
        assert!(highlight.note().unwrap().contains(&format!("{} others", 12 - shown)));
    }
}
