//! What the tests of all findings share.

use std::fmt::Write;

use super::*;
use crate::testkit::manifest;

/// The findings of a run with these rows, sessions and results.
pub(super) fn of_run(
    manifest: &Manifest,
    primary: Primary,
    table: &[Entry],
    facts: &[SessionFacts],
    results: &RunResults,
) -> Vec<Finding> {
    findings(&Evidence::of(manifest, primary, table, facts, results))
}

/// The findings of a run with these rows alone.
pub(super) fn of_rows(primary: Primary, table: &[Entry]) -> Vec<Finding> {
    of_run(&manifest(&["25%", "200k"]), primary, table, &[], &RunResults::default())
}

/// Compares the findings of one kind in each case with the snapshot of that kind: the severity, an
/// exclamation mark where figures change, the weight and the sentence.
pub(super) fn check<'a>(kind: &str, cases: impl IntoIterator<Item = (&'a str, Vec<Finding>)>) {
    let mut text = String::new();
    for (name, findings) in cases {
        writeln!(text, "{name}:").unwrap();
        let those: Vec<&Finding> = findings.iter().filter(|found| found.kind == kind).collect();
        if those.is_empty() {
            writeln!(text, "  silent").unwrap();
        }
        for found in those {
            let severity: &str = found.severity.into();
            let changes = if found.changes_figures { "!" } else { "" };
            writeln!(text, "  {severity}{changes} {:.3}: {}", found.weight, found.text).unwrap();
        }
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(kind, text);
    });
}
