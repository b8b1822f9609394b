//! How sure the comparison is: the tests of the confirmatory family (measures §7).

use crate::model::{Family, Outranks, Primary, Tested};
use crate::report::{block, number, plain};

/// Tests against one comparator.
pub(super) struct Tests {
    pub(super) comparator: String,
    pub(super) about: String,
    pub(super) limit: Option<String>,
    pub(super) summary: String,
    pub(super) rows: Vec<TestRow>,
}

/// One of them.
pub(super) struct TestRow {
    pub(super) strategy: String,
    pub(super) window: String,
    pub(super) clusters: u64,
    pub(super) sort: String,
    pub(super) difference: String,
    pub(super) interval: String,
    pub(super) p: String,
    pub(super) outcome: String,
}

/// The tests of a family.
pub(super) fn tests(family: &Family) -> Tests {
    let made = family.tests.iter().filter(|test| test.p.is_some()).count();
    let comparator = plain::line(&family.comparator);
    let of = family.measure.measure().label();
    let corrected = match made {
        0 => String::new(),
        made => format!(", corrected by Holm for {},", block::counted(made, "test")),
    };
    let about = format!(
        "{of} less that of {comparator}, paired by session and window. A difference counts where \
         a sign-flip test over sessions or projects{corrected} gives p ≤ 0.05 and the interval \
         agrees. What is open says which difference would have been found four times in five."
    );
    let outcome = |outcome: Outranks| {
        let n = family.tests.iter().filter(|test| test.outranks == outcome).count();
        (n > 0).then(|| format!("{n} {}", outcome.as_str()))
    };
    use Outranks::{Better, Descriptive, Tie, Undecided, Worse};
    let counts: Vec<String> =
        [Better, Worse, Tie, Undecided, Descriptive].into_iter().filter_map(outcome).collect();
    Tests {
        about,
        limit: family.limit.as_ref().map(|limit| sentence(limit)),
        summary: format!(
            "{}: {}",
            block::counted(family.tests.len(), "comparison"),
            counts.join(", ")
        ),
        rows: family.tests.iter().map(|test| test_row(test, family.measure)).collect(),
        comparator,
    }
}

fn test_row(test: &Tested, primary: Primary) -> TestRow {
    let mde = test.mde.filter(|_| test.outranks == Outranks::Undecided);
    // Without any spread every difference would be found: that says nothing.
    let mde = mde
        .map(|mde| figure(primary, mde))
        .filter(|mde| mde.contains(|c| ('1'..='9').contains(&c)));
    let mde = mde.map(|mde| format!("; {mde} would be found"));
    TestRow {
        strategy: plain::line(&test.strategy),
        window: block::window(&test.window),
        clusters: test.clusters,
        sort: number::plain(test.difference).unwrap_or_default(),
        difference: signed(primary, test.difference),
        interval: test.interval.map_or_else(absent, |(lo, hi)| {
            format!("{} to {}", signed(primary, lo), signed(primary, hi))
        }),
        p: test.p_holm.map_or_else(absent, p_value),
        outcome: format!("{}{}", test.outranks.as_str(), mde.unwrap_or_default()),
    }
}

/// A figure of the primary measure: points of a hundred, or a share.
fn figure(primary: Primary, x: f64) -> String {
    if primary == Primary::Continuity { format!("{x:.1}") } else { number::percent(x) }
}

/// The same with its sign.
fn signed(primary: Primary, x: f64) -> String {
    if primary != Primary::Continuity {
        return number::gain(x);
    }
    let text = format!("{x:+.1}");
    if text == "-0.0" { "+0.0".to_owned() } else { text.replace('-', "−") }
}

fn p_value(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

fn absent() -> String {
    "–".to_owned()
}

/// Words with a capital at the beginning and a full stop.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    plain::line(&format!("{first}{}.", letters.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Report;
    use crate::report::testkit::Kit;

    fn test(outranks: Outranks, p: Option<f64>) -> Tested {
        Tested {
            strategy: "pr<u>ne".into(),
            window: "25%".into(),
            clusters: 12,
            difference: -0.031,
            interval: Some((-0.1, 0.04)),
            p,
            p_holm: p,
            mde: Some(0.0914),
            outranks,
        }
    }

    fn with_family(tests: Vec<Tested>) -> Report {
        let mut report = Kit::default().report();
        report.family = Some(Family {
            measure: Primary::ReferenceRecall,
            comparator: "fifo".into(),
            tests,
            limit: Some("nothing is tested".into()),
        });
        report
    }

    #[test]
    fn what_is_open_says_which_difference_would_be_found() {
        let report = with_family(vec![
            test(Outranks::Undecided, Some(0.4)),
            test(Outranks::Worse, Some(0.0004)),
            test(Outranks::Tie, None),
            Tested { mde: Some(0.001), ..test(Outranks::Undecided, Some(0.4)) },
        ]);
        let family = tests(report.family.as_ref().unwrap());
        let told: Vec<(&str, &str)> =
            family.rows.iter().map(|row| (row.p.as_str(), row.outcome.as_str())).collect();
        assert_eq!(
            told,
            [
                ("0.400", "undecided; 9 % would be found"),
                ("< 0.001", "worse"),
                ("–", "tie"),
                ("0.400", "undecided")
            ]
        );
        assert_eq!(family.rows[0].difference, "−0.03");
        assert_eq!(family.rows[0].interval, "−0.10 to +0.04");
        assert_eq!(family.summary, "4 comparisons: 1 worse, 1 tie, 2 undecided");
        assert!(family.about.contains("for 3 tests"), "{}", family.about);
        assert_eq!(family.limit.as_deref(), Some("Nothing is tested."));
    }
}
