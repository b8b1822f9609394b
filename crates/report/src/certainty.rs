//! How sure the comparison is: the tests of the confirmatory family (reference §7), how far the
//! judges of a panel agree, and how far simulated bills are from recorded ones.

use super::document::{Head, Narrow, Part, Table, absent, figures, names, words};
use super::{block, number, plain};
use recap_core::model::{
    BillErrors, Family, PanelAgreement, Primary, Report, SessionFacts, TestOutcome, Tested,
    Validation,
};
use recap_core::text::form_for;
use recap_core::wording;

/// What is tested and how, why it is not, and each test.
pub(super) fn parts(family: &Family) -> Vec<Part> {
    let made = family.tests.iter().filter(|test| test.p.is_some()).count();
    let corrected = match made {
        0 => String::new(),
        made => format!(", corrected by Holm for {},", block::counted(made, "test")),
    };
    let about = format!(
        "{} less that of {}, paired by session and window. A difference counts where a sign-flip \
         test over sessions or projects{corrected} gives p ≤ 0.05 and the interval agrees. What is \
         open says which difference would have been found four times in five.",
        family.measure.measure().label(),
        family.comparator
    );
    let outcome = |outcome: TestOutcome| {
        let n = family.tests.iter().filter(|test| test.outranks == outcome).count();
        (n > 0).then(|| format!("{n} {}", outcome.as_str()))
    };
    use TestOutcome::{Better, Descriptive, Tie, Undecided, Worse};
    let counts: Vec<String> =
        [Better, Worse, Tie, Undecided, Descriptive].into_iter().filter_map(outcome).collect();
    let summary =
        format!("{}: {}.", block::counted(family.tests.len(), "comparison"), counts.join(", "));
    let limit = family.limit.as_ref().map(|limit| wording::capital(&format!("{limit}.")));
    let mut parts = vec![Part::Heading(format!("How sure this is: against {}", family.comparator))];
    parts.push(Part::Text(about));
    parts.extend(limit.map(Part::Text));
    parts.push(Part::Text(summary));
    let rows = family.tests.iter().map(|test| cells(test, family.measure)).collect();
    parts.push(Part::Table(Table::new("Tests", HEADS, rows)));
    parts
}

const HEADS: &[Head] = &[
    names("strategy"),
    words("window"),
    figures("n"),
    figures("difference"),
    words("95 % interval"),
    figures("p (Holm)"),
    words("outcome"),
];

fn cells(test: &Tested, primary: Primary) -> Vec<String> {
    let mde = test.mde.filter(|_| test.outranks == TestOutcome::Undecided);
    // Without any spread every difference would be found: that says nothing.
    let mde = mde
        .map(|mde| figure(primary, mde))
        .filter(|mde| mde.contains(|c| ('1'..='9').contains(&c)));
    let mde = mde.map(|mde| format!("; {mde} would be found"));
    let interval =
        test.interval.map(|(lo, hi)| format!("{} to {}", signed(primary, lo), signed(primary, hi)));
    vec![
        test.strategy.clone(),
        block::window(&test.window),
        number::grouped(test.clusters),
        signed(primary, test.difference),
        interval.unwrap_or_else(absent),
        test.p_holm.map_or_else(absent, p_value),
        format!("{}{}", test.outranks.as_str(), mde.unwrap_or_default()),
    ]
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

/// On how many answers the first two agree, and what came of the others.
pub(super) fn panel_sentence(panel: &PanelAgreement) -> String {
    let name =
        |at: usize| panel.judges.get(at).map_or_else(String::new, |judge| plain::line(judge));
    let kappa = panel.kappa.map_or_else(
        || "no kappa, since they know one verdict only".to_owned(),
        |kappa| format!("kappa {}", number::ratio(kappa)),
    );
    let open = match panel.nobody {
        0 => "no answer is left open".to_owned(),
        n => {
            let are = form_for(n, "is", "are");
            format!("{} {are} left open, without a grade", block::counted(n, "answer"))
        }
    };
    let decided = panel.judges.get(2).map_or_else(String::new, |third| {
        format!("{} decided {}; ", plain::line(third), number::grouped(panel.third))
    });
    format!(
        "Panel: {} and {} agree on {} of the {} that both graded ({}), {kappa}; {decided}{open}.",
        name(0),
        name(1),
        number::grouped(panel.agreed),
        block::counted(panel.both, "answer"),
        number::percent(panel.agreed as f64 / panel.both.max(1) as f64),
    )
}

/// Sessions whose bill is listed.
const CHECKED: usize = 12;

const BILL_ERRORS: &[Head] = &[
    names("session"),
    figures("tokens"),
    figures("reads"),
    figures("writes"),
    figures("dollars"),
    Head { words: ["count", "fitted"], ..figures("") },
    Head { words: ["count", "ahead"], ..figures("") },
    Head { words: ["count", "after"], ..figures("") },
    Head { words: ["cold", "starts"], right: true, narrow: Narrow::LeftOut(1) },
];

/// A session with what its recording reports.
struct Checked<'a> {
    facts: &'a SessionFacts,
    validation: &'a Validation,
    errors: BillErrors,
}

impl Checked<'_> {
    /// The largest error by size.
    fn size(&self) -> f64 {
        self.errors.worst().map_or(0.0, f64::abs)
    }

    fn cells(&self) -> Vec<String> {
        let signed = |error: Option<f64>| match error {
            Some(error) if error.abs() > BillErrors::FAR_OFF => {
                format!("!{}", number::error(error))
            }
            Some(error) => number::error(error),
            None => absent(),
        };
        let calibration = self.facts.calibration.as_ref();
        let count = |error: Option<f64>| {
            error.map_or_else(absent, |e| number::error(e.abs()).replace('+', ""))
        };
        vec![
            self.facts.session.clone(),
            signed(self.errors.tokens),
            signed(self.errors.reads),
            signed(self.errors.writes),
            signed(self.errors.usd),
            count(calibration.and_then(|c| c.in_sample)),
            count(calibration.and_then(|c| c.forward)),
            count(calibration.and_then(|c| c.after_boundary)),
            number::grouped(u64::from(self.validation.cold_starts)),
        ]
    }
}

/// How far the simulated bill is from the recorded one: one row per session with reported usage,
/// the worst first; nothing in a run without any. The instrument proves itself on the reader's own
/// recordings (reference §2).
pub(super) fn bill_errors(report: &Report) -> Vec<Part> {
    let mut checked: Vec<Checked<'_>> = (report.sessions.iter())
        .filter_map(|facts| {
            let validation = facts.validation.as_ref()?;
            Some(Checked { facts, validation, errors: validation.errors() })
        })
        .collect();
    if checked.is_empty() {
        return Vec::new();
    }
    // Stable: sessions with equal errors stay in the order of their names.
    checked.sort_by(|a, b| b.size().total_cmp(&a.size()));
    let fine = checked.iter().filter(|one| !one.errors.are_far_off()).count();
    let head = format!(
        "The row `recorded` sends what the recording really sent: its bill less what the provider \
         reported, of what was reported; {fine} of {} within 5 % in all of them (! marks the others).",
        block::counted(checked.len(), "session")
    );
    let rows = checked.iter().take(CHECKED).map(Checked::cells).collect();
    let more = checked.len().saturating_sub(CHECKED);
    let more = (more > 0).then(|| Part::Text(format!("and {more} more: validation.csv.")));
    let note = "count: median error of a token count by one factor for the session, which sizes what \
                strategies write: on the requests it was fitted to, on those ahead of a fit to \
                their first half, and after a recorded compaction.";
    let mut parts = vec![
        Part::Heading("The simulated bill against the reported one".to_owned()),
        Part::Text(head),
        Part::Table(Table::new("Errors of the simulated bill", BILL_ERRORS, rows)),
    ];
    parts.extend(more);
    parts.push(Part::Text(note.to_owned()));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Kit, panel, validation};

    fn test(outranks: TestOutcome, p: Option<f64>) -> Tested {
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

    fn family(tests: Vec<Tested>) -> Family {
        Family {
            measure: Primary::ReferenceRecall,
            comparator: "fifo".into(),
            tests,
            limit: Some("nothing is tested".into()),
        }
    }

    #[test]
    fn undecided_test_states_its_detectable_difference() {
        let parts = parts(&family(vec![
            test(TestOutcome::Undecided, Some(0.4)),
            test(TestOutcome::Worse, Some(0.0004)),
            test(TestOutcome::Tie, None),
            Tested { mde: Some(0.001), ..test(TestOutcome::Undecided, Some(0.4)) },
        ]));
        let Some(Part::Table(table)) = parts.last() else { panic!("the tests stand last") };
        let actual = |row: &[&str; 2]| row.map(str::to_owned);
        let cells = |at: usize| -> Vec<[String; 2]> {
            let rows = table.groups[0].rows.iter();
            rows.map(|row| [row.cells[at].text.clone(), row.cells[at + 1].text.clone()]).collect()
        };
        let outcomes = [
            ["0.400", "undecided; 9 % would be found"],
            ["< 0.001", "worse"],
            ["–", "tie"],
            ["0.400", "undecided"],
        ];
        assert_eq!(cells(5), outcomes.iter().map(actual).collect::<Vec<_>>());
        assert_eq!(cells(3)[0], actual(&["−0.03", "−0.10 to +0.04"]));
        let texts: Vec<&str> = (parts.iter())
            .filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert!(texts[0].contains("for 3 tests"), "{}", texts[0]);
        let rest = ["Nothing is tested.", "4 comparisons: 1 worse, 1 tie, 2 undecided."];
        assert_eq!(texts[1..], rest);
    }

    #[test]
    fn a_panel_is_told_in_a_sentence() {
        assert_eq!(
            panel_sentence(&panel()),
            "Panel: openai/a and offline agree on 9 of the 12 answers that both graded (75 %), \
             kappa 0.48; openai/c decided 2; 1 answer is left open, without a grade."
        );
    }

    #[test]
    fn panel_states_missing_kappa_or_third_judge() {
        let mut two = PanelAgreement { kappa: None, ..panel() };
        two.judges.pop();
        let text = panel_sentence(&two);
        assert!(text.contains("no kappa") && !text.contains("decided"), "{text}");
    }

    #[test]
    fn worst_session_is_first_and_large_errors_marked() {
        let mut report = Kit::default().report();
        assert!(bill_errors(&report).is_empty());
        report.sessions[0].validation = Some(validation(0.01));
        report.sessions[1].validation = Some(validation(-0.06));
        let parts = bill_errors(&report);
        let [_, Part::Text(head), Part::Table(table), _] = &parts[..] else { panic!("{parts:?}") };
        assert!(head.contains("1 of 2 sessions within 5 %"), "{head}");
        let worst: Vec<&str> =
            table.groups[0].rows[0].cells.iter().map(|cell| cell.text.as_str()).collect();
        // Tokens, reads, writes and dollars, each 6 % off.
        let off = "!−6.0 %";
        assert_eq!(worst[..5], ["session-1", off, off, off, off]);
    }
}
