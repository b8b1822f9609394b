//! How far the judges of a panel agree, in words.

use super::{block, number, plain};
use recap_core::model::PanelAgreement;
use recap_core::text::form_for;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::panel;

    #[test]
    fn a_panel_is_told_in_a_sentence() {
        assert_eq!(
            sentence(&panel()),
            "Panel: openai/a and offline agree on 9 of the 12 answers that both graded (75 %), \
             kappa 0.48; openai/c decided 2; 1 answer is left open, without a grade."
        );
    }

    #[test]
    fn panel_states_missing_kappa_or_third_judge() {
        let mut two = PanelAgreement { kappa: None, ..panel() };
        two.judges.pop();
        let text = sentence(&two);
        assert!(text.contains("no kappa") && !text.contains("decided"), "{text}");
    }
}
