//! How sure the comparison is: the tests of the confirmatory family (reference §7), how far the
//! judges of a panel agree, and how far simulated bills are from recorded ones.

use super::document::{Part, TableOf, absent, figures, names, words};
use super::{block, number, plain};
use recap_core::model::{Family, PanelAgreement, Primary, Report, TestOutcome, Tested};
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
    let limit = family.limit.as_ref().map(|limit| wording::capital(&format!("{limit}.")));
    let primary = family.measure;
    let interval = |test: &&Tested| {
        test.interval.map_or_else(absent, |(lo, hi)| {
            format!("{} to {}", signed(primary, lo), signed(primary, hi))
        })
    };
    let tests = TableOf::new("Tests", &family.tests)
        .column(names("strategy"), |test| test.strategy.clone())
        .column(words("window"), |test| block::window(&test.window))
        .column(figures("n"), |test| number::grouped(test.clusters))
        .column(figures("difference"), |test| signed(primary, test.difference))
        .column(words("95 % interval"), interval)
        .column(figures("p (Holm)"), |test| test.p_holm.map_or_else(absent, p_value))
        .column(words("outcome"), |test| outcome_of(test, primary));
    let heading = Part::heading(format!("How sure this is: against {}", family.comparator));
    let texts = [Some(about), limit].into_iter().flatten().map(Part::Text);
    [heading].into_iter().chain(texts).chain([tests.part()]).collect()
}

/// What a test came to, and which difference one without an outcome would have found.
fn outcome_of(test: &Tested, primary: Primary) -> String {
    let mde = test.mde.filter(|_| test.outranks == TestOutcome::Undecided);
    // Without any spread every difference would be found: that says nothing.
    let mde = mde
        .map(|mde| figure(primary, mde))
        .filter(|mde| mde.contains(|c| ('1'..='9').contains(&c)));
    let mde = mde.map(|mde| format!("; {mde} would be found"));
    format!("{}{}", test.outranks.as_str(), mde.unwrap_or_default())
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

/// How far the simulated bill is from the recorded one, over the sessions with reported usage;
/// nothing without any. The instrument proves itself on the reader's own recordings (reference §2).
pub(super) fn bill_errors(report: &Report) -> Option<Part> {
    let checked = report.sessions.iter().filter_map(|facts| facts.validation.as_ref());
    let (off, fine): (Vec<_>, Vec<_>) = checked.partition(|bill| bill.errors().are_far_off());
    let all = off.len() + fine.len();
    (all > 0).then(|| {
        Part::Text(format!(
            "The bill of what the recording really sent, as simulated, is within 5 % of what the \
             provider reported in {} of {}, in tokens, reads, writes and dollars: validation.csv.",
            fine.len(),
            block::counted(all, "session")
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::panel;

    #[test]
    fn panel_states_missing_kappa_or_third_judge() {
        let mut two = PanelAgreement { kappa: None, ..panel() };
        two.judges.pop();
        let text = panel_sentence(&two);
        assert!(text.contains("no kappa") && !text.contains("decided"), "{text}");
    }
}
