//! Findings on whether everything ran.

use std::collections::BTreeSet;

use recap_core::model::Finding;
use recap_core::text::counted;

use super::{Check, Evidence};

pub(super) const FINDINGS: &[Check] = &[incomplete, failed_cells, notice];

/// An interrupted run.
fn incomplete(run: &Evidence<'_>) -> Vec<Finding> {
    let text = run.missing.map(ToString::to_string);
    let found = |text| Finding::problem("incomplete", text).changing_figures(true).weighing(1.0);
    text.map(found).into_iter().collect()
}

/// Cells that failed, so that some rows cover fewer sessions than others.
fn failed_cells(run: &Evidence<'_>) -> Vec<Finding> {
    let rows = run.rows.iter().map(|e| &e.row).filter(|row| !row.failed.is_empty());
    let strategies: BTreeSet<&str> = rows.clone().map(|row| row.strategy.as_str()).collect();
    if strategies.is_empty() {
        return Vec::new();
    }
    let failed: usize = rows.map(|row| row.failed.len()).sum();
    let cells: usize = run.results.iter().map(|session| session.cells().len()).sum();
    let text = format!(
        "{failed} of {} failed ({}): their rows rest on other sessions than the rest and are not \
         ranked",
        counted(cells, "cell"),
        Vec::from_iter(strategies).join(", ")
    );
    vec![Finding::problem("failed_cells", text).changing_figures(true)]
}

/// Messages from reading the inputs or from calling models.
fn notice(run: &Evidence<'_>) -> Vec<Finding> {
    run.manifest.warnings.iter().map(|text| Finding::problem("notice", text)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use crate::measure;
    use crate::testkit::{cell, facts, manifest, run};
    use recap_core::model::{Finding, Manifest, RunResults};

    #[test]
    fn failed_cells() {
        let session = || vec![facts("s").requests(&[100]).build()];
        let good = |name: &str| cell("s", name).sent(&[100]).build();
        let broken = cell("s", "b").failed("it hangs");
        check(
            "failed_cells",
            [
                ("one of two", run(session(), vec![good("a"), broken]).findings),
                ("none", run(session(), vec![good("a")]).findings),
            ],
        );
    }

    #[test]
    fn notice() {
        let warned = |warnings: &[&str]| -> Vec<Finding> {
            let warnings = warnings.iter().map(|text| (*text).to_owned()).collect();
            let manifest = Manifest { warnings, ..manifest(&["25%"]) };
            measure(manifest, "d".into(), Vec::new(), RunResults::default()).findings
        };
        check(
            "notice",
            [
                ("two lines", warned(&["2 lines were left out", "a call took long"])),
                ("nothing", warned(&[])),
            ],
        );
    }
}
