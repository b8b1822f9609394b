//! How far the judges of a panel agree, in words.

use super::grid::paragraph;
use super::{block, number, plain};
use crate::model::{PanelAgreement, Report};
use crate::text::form_for;

/// On how many answers the first two agree, and what came of the others.
pub(super) fn sentence(panel: &PanelAgreement) -> String {
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

/// The sentence on a terminal; nothing for a single judge.
pub(super) fn section(out: &mut String, report: &Report, width: usize) {
    if let Some(panel) = &report.panel {
        paragraph(out, &sentence(panel), width, " ");
        out.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::testkit::{Kit, panel};

    fn told(panel: Option<PanelAgreement>) -> String {
        let mut report = Kit::default().report();
        report.panel = panel;
        let mut out = String::new();
        section(&mut out, &report, 200);
        out
    }

    #[test]
    fn a_panel_is_told_in_a_sentence_and_a_single_judge_is_not() {
        assert_eq!(
            told(Some(panel())).trim(),
            "Panel: openai/a and offline agree on 9 of the 12 answers that both graded (75 %), \
             kappa 0.48; openai/c decided 2; 1 answer is left open, without a grade."
        );
        assert_eq!(told(None), "");
    }

    #[test]
    fn without_a_kappa_or_a_third_it_says_so() {
        let mut two = PanelAgreement { kappa: None, ..panel() };
        two.judges.pop();
        let text = told(Some(two));
        assert!(text.contains("no kappa") && !text.contains("decided"), "{text}");
    }
}
