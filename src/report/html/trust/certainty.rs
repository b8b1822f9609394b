//! How sure the comparison is: the tests of the confirmatory family, strategies
//! at equal size, and where chance comes in (measures §7 and §8).

use crate::model::{
    ChanceOf, EqualSize, Family, Outranks, Primary, Report, Tested, Value, Variance,
};
use crate::report::{block, number, plain};

/// The section.
pub(super) struct Certainty {
    pub(super) family: Option<Tests>,
    pub(super) sizes: Vec<Size>,
    pub(super) variance: Option<Chance>,
}

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

/// Strategies at one size.
pub(super) struct Size {
    pub(super) title: String,
    pub(super) measure: &'static str,
    pub(super) rows: Vec<(String, String)>,
    /// Who has no figure there, and why.
    pub(super) absent: Vec<(String, String)>,
}

/// Parts of the variance, as standard deviations.
pub(super) struct Chance {
    pub(super) measure: &'static str,
    /// What a session is asked by.
    pub(super) asked: &'static str,
    pub(super) heads: Vec<&'static str>,
    pub(super) summary: String,
    pub(super) rows: Vec<ChanceRow>,
    /// Parts that no row has, and why.
    pub(super) reasons: Vec<(&'static str, String)>,
}

/// Those of one row.
pub(super) struct ChanceRow {
    pub(super) strategy: String,
    pub(super) window: String,
    pub(super) cells: Vec<String>,
}

/// The section; nothing where there is nothing to tell.
pub(super) fn certainty(report: &Report) -> Option<Certainty> {
    let family = report.family.as_ref().map(tests);
    let sizes: Vec<Size> = report.equal_size.iter().map(|size| equal_size(report, size)).collect();
    let variance = chance(report);
    let any = family.is_some() || !sizes.is_empty() || variance.is_some();
    any.then_some(Certainty { family, sizes, variance })
}

fn tests(family: &Family) -> Tests {
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

fn equal_size(report: &Report, size: &EqualSize) -> Size {
    let in_dollars = number::is_in_dollars(&size.size);
    let at = match in_dollars {
        true => number::dollars(size.at),
        false => format!("{} mean tokens", number::tokens(size.at)),
    };
    let many =
        |of: fn(&EqualSize) -> &str| report.equal_size.iter().any(|other| of(other) != of(size));
    let mut title = format!("At equal size: {at}");
    if many(|size| &size.dataset) {
        let name = if size.dataset == block::ALL { "all data sets" } else { &size.dataset };
        title += &format!(", {}", plain::line(name));
    }
    if in_dollars && many(|size| &size.agent_model) {
        title += &format!(", billed as {}", plain::line(&size.agent_model));
    }
    let (mut rows, mut none) = (Vec::new(), Vec::new());
    for preset in &size.presets {
        let name = plain::line(&preset.strategy);
        match &preset.value {
            Value::Known(value) => rows.push((name, figure(size.measure, *value))),
            Value::Absent(reason) => none.push((name, plain::line(&reason.to_string()))),
            Value::Text(_) => {}
        }
    }
    Size { title, measure: size.measure.measure().label(), rows, absent: none }
}

fn chance(report: &Report) -> Option<Chance> {
    let first = report.variance.first()?;
    let parts: Vec<ChanceOf> = first.parts.iter().map(|part| part.of).collect();
    let value = |row: &Variance, of: ChanceOf| {
        row.parts
            .iter()
            .find(|part| part.of == of)
            .map(|part| (part.variance.clone(), part.freedom))
    };
    let known = |of: &ChanceOf| {
        let numbers = report.variance.iter().filter_map(|row| value(row, *of));
        numbers.into_iter().any(|(variance, _)| variance.number().is_some())
    };
    let probed = first.measure == Primary::Continuity;
    let (shown, hidden): (Vec<ChanceOf>, Vec<ChanceOf>) = parts.into_iter().partition(known);
    let cell = |row: &Variance, of: ChanceOf| match value(row, of) {
        Some((Value::Known(variance), freedom)) => {
            format!("{} ({freedom})", figure(row.measure, variance.sqrt()))
        }
        _ => absent(),
    };
    let rows = report.variance.iter().map(|row| ChanceRow {
        strategy: plain::line(&row.strategy),
        window: block::window(&row.window),
        cells: shown.iter().map(|of| cell(row, *of)).collect(),
    });
    let reason = |of: &ChanceOf| match value(first, *of)? {
        (Value::Absent(reason), _) => Some((named(*of, probed), plain::line(&reason.to_string()))),
        _ => None,
    };
    Some(Chance {
        measure: first.measure.measure().label(),
        asked: named(ChanceOf::Probe, probed),
        heads: shown.iter().map(|of| named(*of, probed)).collect(),
        summary: block::counted(report.variance.len(), "row"),
        rows: rows.collect(),
        reasons: hidden.iter().filter_map(reason).collect(),
    })
}

fn named(of: ChanceOf, probed: bool) -> &'static str {
    match of {
        ChanceOf::Transcript => "session",
        ChanceOf::Probe if probed => "question",
        ChanceOf::Probe => "request",
        ChanceOf::Compaction => "compaction",
        ChanceOf::Answer => "answer",
        ChanceOf::Judge => "grade",
    }
}

/// A figure of the primary measure: points of a hundred, or a share.
fn figure(primary: Primary, x: f64) -> String {
    if primary == Primary::Continuity { format!("{x:.1}") } else { number::share(x) }
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
    use crate::model::{Absent, AtSize, VariancePart};
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
        let family = certainty(&report).unwrap().family.unwrap();
        let told: Vec<(&str, &str)> =
            family.rows.iter().map(|row| (row.p.as_str(), row.outcome.as_str())).collect();
        assert_eq!(
            told,
            [
                ("0.400", "undecided; 0.09 would be found"),
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

    #[test]
    fn who_cannot_be_read_at_a_size_stands_apart_with_the_reason() {
        let mut report = Kit::default().report();
        report.equal_size = vec![EqualSize {
            dataset: "d".into(),
            agent_model: "m".into(),
            measure: Primary::Continuity,
            size: "mean_tokens".into(),
            at: 5_687.0,
            presets: vec![
                AtSize { strategy: "a".into(), value: Value::Known(34.04) },
                AtSize { strategy: "b".into(), value: Value::Absent(Absent::OneWindow) },
            ],
        }];
        let sizes = certainty(&report).unwrap().sizes;
        assert_eq!(sizes[0].title, "At equal size: 5.7k mean tokens");
        assert_eq!(sizes[0].rows, [("a".to_owned(), "34.0".to_owned())]);
        assert_eq!(sizes[0].absent, [("b".to_owned(), Absent::OneWindow.to_string())]);
    }

    #[test]
    fn a_part_that_nothing_repeated_is_told_with_its_reason_and_has_no_column() {
        let mut report = Kit::default().report();
        let part = |of, variance, freedom| VariancePart { of, variance, freedom };
        report.variance = vec![Variance {
            strategy: "a".into(),
            window: "25%".into(),
            measure: Primary::ReferenceRecall,
            parts: vec![
                part(ChanceOf::Transcript, Value::Known(0.04), 5),
                part(ChanceOf::Compaction, Value::Absent(Absent::CompactedOnce), 0),
            ],
        }];
        let chance = certainty(&report).unwrap().variance.unwrap();
        assert_eq!(chance.heads, ["session"]);
        assert_eq!(chance.rows[0].cells, ["0.20 (5)"]);
        assert_eq!(chance.reasons, [("compaction", Absent::CompactedOnce.to_string())]);
    }

    #[test]
    fn a_run_without_any_of_it_has_no_section() {
        assert!(certainty(&Kit::default().report()).is_none());
    }
}
