//! What the panel says of the simulated bill.

use super::{Check, Run, State};
use crate::model::{BillErrors, Problem, TranscriptFacts};
use crate::report::{block, number, plain};

/// The simulated bill of what was really sent against what the provider
/// reported for it.
pub(super) fn bill(run: &Run<'_>) -> Check {
    let errors = |facts: &TranscriptFacts| Some(facts.validation.as_ref()?.errors());
    let mut checked: Vec<(&TranscriptFacts, BillErrors)> =
        run.report.transcripts.iter().filter_map(|t| Some((t, errors(t)?))).collect();
    // The farthest off first; equals stay in the order of their names.
    checked.sort_by(|a, b| b.1.size().total_cmp(&a.1.size()));
    let off = checked.iter().filter(|(_, errors)| errors.are_far_off()).count();
    let state = match checked.is_empty() {
        true => State::Absent,
        false => run.state(|problem| matches!(problem, Problem::BillOff { .. })),
    };
    let found = match checked.first() {
        None => vec!["no session reports what the provider billed".to_owned()],
        Some((worst, errors)) => vec![
            format!(
                "{off} of {} with reported usage are farther off than {}",
                block::counted(checked.len(), "session"),
                number::percent(BillErrors::FAR_OFF)
            ),
            format!("the farthest is {}: {}", plain::line(&worst.transcript), told(errors)),
        ],
    };
    Check {
        name: "the simulated bill",
        found,
        means: "the bill of what was really sent, simulated, against what the provider reported \
                for it: where reads, writes or dollars are more than 5 % off, so may be every \
                session cost of this run",
        state,
    }
}

fn told(errors: &BillErrors) -> String {
    let each = [("reads", errors.reads), ("writes", errors.writes), ("dollars", errors.usd)];
    let known = each.iter().filter_map(|(name, error)| {
        let error = number::error((*error)?);
        Some(format!("{name} {error}"))
    });
    let known: Vec<String> = known.collect();
    if known.is_empty() { "nothing to compare".to_owned() } else { known.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::super::{checks, summary};
    use crate::model::{Finding, Problem, Report};
    use crate::report::testkit::{Kit, validation};

    fn self_check(report: &Report) -> String {
        summary(&checks(report))
    }

    /// Two sessions, one of them off by this much.
    fn off(by: f64) -> Report {
        let mut report = Kit::default().report();
        report.transcripts[0].validation = Some(validation(0.01));
        report.transcripts[1].validation = Some(validation(by));
        let errors = validation(by).errors();
        if errors.are_far_off() {
            let worst = report.transcripts[1].transcript.clone();
            let off = Problem::BillOff { off: 1, checked: 2, worst, errors };
            report.findings.push(Finding::Problem(off));
        }
        report
    }

    #[test]
    fn a_bill_that_is_far_off_is_something_to_look_at_everywhere() {
        let report = off(-0.37);
        let summary = self_check(&report);
        assert!(summary.contains("1 to look at (the simulated bill)"), "{summary}");
        let all = checks(&report);
        let found = &all[0].found;
        assert_eq!(all[0].name, "the simulated bill");
        assert_eq!(found[0], "1 of 2 sessions with reported usage are farther off than 5 %");
        assert!(found[1].ends_with("dollars −37.0 %"), "{}", found[1]);
    }

    #[test]
    fn a_bill_within_the_limit_is_fine_and_without_usage_nothing_is_said() {
        assert_eq!(self_check(&off(0.04)), "2 fine, 0 to look at");
        let mut none = Kit::default().report();
        assert_eq!(self_check(&none), "1 fine, 0 to look at");
        none.rows.clear();
        none.transcripts.clear();
        assert_eq!(self_check(&none), "nothing could be checked");
    }
}
