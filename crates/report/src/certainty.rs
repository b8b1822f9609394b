//! How sure the comparison is: the tests of the confirmatory family (reference §7), how far the
//! judges of a panel agree, and how far simulated bills are from recorded ones.

use super::document::{Part, TableOf, absent, figures, names, words};
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

/// Sessions whose bill is listed.
const CHECKED: usize = 12;

/// How far the simulated bill is from the recorded one: one row per session with reported usage,
/// the worst first; nothing in a run without any. The instrument proves itself on the reader's own
/// recordings (reference §2).
pub(super) fn bill_errors(report: &Report) -> Vec<Part> {
    let errors = |facts: &SessionFacts| facts.validation.as_ref().map(Validation::errors);
    let checked = report.sessions.iter().filter_map(|facts| Some((facts, errors(facts)?)));
    let mut checked: Vec<(&SessionFacts, BillErrors)> = checked.collect();
    if checked.is_empty() {
        return Vec::new();
    }
    // Stable: sessions with equal errors stay in the order of their names.
    checked.sort_by(|(_, a), (_, b)| b.size().total_cmp(&a.size()));
    let fine = checked.iter().filter(|(_, errors)| !errors.are_far_off()).count();
    let head = format!(
        "The row `recorded` sends what the recording really sent: its bill less what the provider \
         reported, of what was reported; {fine} of {} within 5 % in all of them (! marks the others).",
        block::counted(checked.len(), "session")
    );
    let more = checked.len().saturating_sub(CHECKED);
    let more = (more > 0).then(|| Part::Text(format!("and {more} more: validation.csv.")));
    let signed = |error: Option<f64>| match error {
        Some(error) if error.abs() > BillErrors::FAR_OFF => format!("!{}", number::error(error)),
        Some(error) => number::error(error),
        None => absent(),
    };
    let table = TableOf::new("Errors of the simulated bill", checked.into_iter().take(CHECKED))
        .column(names("session"), |(facts, _)| facts.session.clone())
        .column(figures("tokens"), |(_, errors)| signed(errors.tokens))
        .column(figures("reads"), |(_, errors)| signed(errors.reads))
        .column(figures("writes"), |(_, errors)| signed(errors.writes))
        .column(figures("dollars"), |(_, errors)| signed(errors.usd));
    let mut parts = vec![
        Part::heading("The simulated bill against the reported one"),
        Part::Text(head),
        table.part(),
    ];
    parts.extend(more);
    parts
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
