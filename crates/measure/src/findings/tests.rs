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
    findings(&Evidence::of(manifest, primary, table, facts, results, None, None))
}

/// The findings of a run with these rows alone.
pub(super) fn of_rows(primary: Primary, table: &[Entry]) -> Vec<Finding> {
    of_run(&manifest(&["25%", "200k"]), primary, table, &[], &RunResults::default())
}

/// Compares the findings of one kind in each case with the snapshot of that kind.
pub(super) fn check<'a>(kind: &str, cases: impl IntoIterator<Item = (&'a str, Vec<Finding>)>) {
    let mut text = String::new();
    for (name, findings) in cases {
        writeln!(text, "{name}:").unwrap();
        let those: Vec<&Finding> = findings.iter().filter(|found| of(found) == kind).collect();
        if those.is_empty() {
            writeln!(text, "  silent").unwrap();
        }
        for found in those {
            writeln!(text, "  {}: {found}", found.severity()).unwrap();
        }
    }
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(kind, text);
    });
}

fn of(finding: &Finding) -> &'static str {
    match finding.kind() {
        "ungraded_otherwise" | "unchecked" | "uneven_questions" | "unrecovered" => "ungraded",
        "storage_unpriced" => "unpriced",
        "identifiers_only" => "open_loop",
        "offline_summaries" | "no_answerer" | "offline_judge" | "paraphrased"
        | "sentences_unread" => "offline_roles",
        "few_clusters" | "one_project" | "thin_exams" => "few_units",
        "modelled_clock" | "modelled_waits" => "bills_assume",
        other => other,
    }
}
