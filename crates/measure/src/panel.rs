//! How well the judges of a panel agree on the answers of a run (reference §7).

use super::agreement::kappa;
use recap_core::model::{Cell, PanelAgreement, QuestionRow, RIGHT, RunResults, Vote};

/// The agreement over every answer that a panel had to grade; `None` with a
/// single judge.
pub fn agreement(results: &RunResults) -> Option<PanelAgreement> {
    let mut judges: Vec<String> = Vec::new();
    let mut counts = Counts::default();
    for session in results.iter() {
        let rows = session.cells().iter().filter_map(Cell::rows).flat_map(|rows| &rows.questions);
        for row in rows {
            let votes = row.answered.as_ref().map_or(&[][..], |own| &own.judgement.votes);
            if let [first, second, others @ ..] = votes {
                counts.add(row, first, second);
                let asked = [first, second].into_iter().chain(others);
                judges.extend(asked.skip(judges.len()).map(|vote| vote.judge.clone()));
            }
        }
    }
    let Counts { answers, right, wrong, first_alone, second_alone, third, nobody } = counts;
    (answers > 0).then(|| PanelAgreement {
        judges,
        answers,
        both: right + wrong + first_alone + second_alone,
        agreed: right + wrong,
        kappa: kappa(right, wrong, first_alone, second_alone),
        third,
        nobody,
    })
}

#[derive(Default)]
struct Counts {
    answers: u64,
    /// Answers that both find right.
    right: u64,
    /// Answers that both find not right.
    wrong: u64,
    first_alone: u64,
    second_alone: u64,
    third: u64,
    nobody: u64,
}

impl Counts {
    fn add(&mut self, row: &QuestionRow, first: &Vote, second: &Vote) {
        let is_right = |vote: &Vote| vote.score.map(|score| score >= RIGHT);
        let (first, second) = (is_right(first), is_right(second));
        self.answers += 1;
        match (first, second) {
            (Some(true), Some(true)) => self.right += 1,
            (Some(false), Some(false)) => self.wrong += 1,
            (Some(true), Some(false)) => self.first_alone += 1,
            (Some(false), Some(true)) => self.second_alone += 1,
            _ => {}
        }
        // A single grade holds by itself; two different grades, or none, leave
        // it open.
        let open = match (first, second) {
            (Some(first), Some(second)) => first != second,
            (first, second) => first.is_none() && second.is_none(),
        };
        match row.score() {
            None => self.nobody += 1,
            Some(_) => self.third += u64::from(open),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{cell, vote};

    /// A cell whose answers have these votes: `r`ight, `w`rong, `u`nscored.
    fn voted(votes: &[&str]) -> Cell {
        let kit = cell("s", "x").snapshot(0, 0).answers(&"r".repeat(votes.len()));
        let mut cell = kit.build();
        let recap_core::model::CellOutcome::Done(rows) = &mut cell.outcome else { unreachable!() };
        for (row, votes) in rows.questions.iter_mut().zip(votes) {
            vote(&mut row.answered.as_mut().unwrap().judgement, votes);
        }
        cell
    }

    #[test]
    fn agreement_and_kappa_cover_answers_both_judges_graded() {
        // Right and right 4, wrong and wrong 2, first alone 1, second alone 1:
        // 6 of 8 agree; both say right in 5 of 8, so that chance agrees in
        // 25/64 + 9/64 = 34/64, and kappa is (48 − 34) / (64 − 34) = 14/30.
        let all = ["rr", "rr", "rr", "rr", "ww", "ww", "rwr", "wrw", "ru", "uuu"];
        let panel = agreement(&RunResults::new([voted(&all)], [])).unwrap();
        assert_eq!((panel.answers, panel.both, panel.agreed), (10, 8, 6));
        assert!((panel.kappa.unwrap() - 14.0 / 30.0).abs() < 1e-12, "{panel:?}");
        assert!(panel.is_doubtful());
        assert_eq!(panel.judges, ["a", "b", "c"]);
    }

    #[test]
    fn third_judge_decides_when_first_two_do_not() {
        // If the two differ, the third decides twice, and once it did not grade
        // either. Neither graded: once. A single grade holds without the third.
        let all = ["rwr", "wrr", "rwu", "uur", "urr", "ruw", "rr"];
        let panel = agreement(&RunResults::new([voted(&all)], [])).unwrap();
        assert_eq!((panel.third, panel.nobody), (3, 2), "{panel:?}");
    }

    #[test]
    fn panel_needs_several_judges_and_kappa_differing_verdicts() {
        let single = cell("s", "x").snapshot(0, 0).answers("rw").build();
        assert_eq!(agreement(&RunResults::new([single], [])), None);
        let panel = agreement(&RunResults::new([voted(&["rr", "rr"])], [])).unwrap();
        assert_eq!((panel.both, panel.agreed, panel.kappa), (2, 2, None));
        assert!(!panel.is_doubtful());
    }
}
