use std::sync::Arc;

use super::*;
use crate::testkit::{cell, rows_of, vote};
use recap_core::model::{Expectation, LabelledQuestion, NoGrade, QuestionKind};

fn case(file: &str, question: usize, label: bool, group: Option<&str>) -> LabelledCase {
    let asked = LabelledQuestion {
        file: file.into(),
        id: question.to_string(),
        question: format!("Question {question}?"),
        kind: QuestionKind::Fact,
        expect: Expectation::AnyOf(vec!["x".to_owned()]),
        stale: Vec::new(),
    };
    let label = if label { Label::Correct } else { Label::Incorrect };
    let (id, answer, asked) = (question.to_string(), String::new(), Arc::new(asked));
    LabelledCase { asked, id, line: 1, answer, label, group: group.map(Into::into) }
}

fn judged(accepts: bool) -> Judgement {
    let (verdict, score) =
        if accepts { (Verdict::Correct, 1.0) } else { (Verdict::Incorrect, 0.0) };
    Judgement { verdict, score: Some(score), rationale: String::new(), votes: Vec::new() }
}

fn unscored(why: &str) -> Judgement {
    Judgement::unscored(NoGrade::Other(why.to_owned()))
}

fn report(graded: &[(LabelledCase, Judgement)]) -> JudgeReport {
    let (cases, judgements): (Vec<_>, Vec<_>) = graded.iter().cloned().unzip();
    agreement(&Graded {
        judge: "offline",
        source: Source::Lexical,
        seed: 1,
        cases: &cases,
        judgements: &judgements,
    })
}

/// 50 answers to 50 questions: 20 accepted and 15 rejected by both, 10 falsely
/// accepted, 5 falsely rejected.
fn fifty() -> Vec<(LabelledCase, Judgement)> {
    let fields = [(20, true, true), (15, false, false), (10, false, true), (5, true, false)];
    let all = fields.into_iter().flat_map(|(n, label, judge)| vec![(label, judge); n]);
    all.enumerate().map(|(n, (label, judge))| (case("f", n, label, None), judged(judge))).collect()
}

#[test]
fn kappa_is_agreement_beyond_chance() {
    // 35 of 50 agree: 0.7. The two say yes to 25 and 30: by chance
    // 0.5 · 0.6 + 0.5 · 0.4 = 0.5. So (0.7 − 0.5) / (1 − 0.5) = 0.4.
    let report = report(&fifty());
    let [row] = &report.rows[..] else { panic!("{report:?}") };
    assert_eq!((row.graded, row.agreed, row.questions), (50, 35, 50));
    assert!((row.kappa.unwrap() - 0.4).abs() < 1e-12);
    assert!((row.agreement().unwrap() - 0.7).abs() < 1e-12);
    assert!((row.false_accept_share().unwrap() - 0.4).abs() < 1e-12);
    assert!((row.false_reject_share().unwrap() - 0.2).abs() < 1e-12);
}

#[test]
fn answers_to_one_question_are_not_independent_evidence() {
    let one_each = fifty();
    // Every answer four times, as if four models gave the same answers.
    let four_each: Vec<_> = one_each.iter().flat_map(|one| vec![one.clone(); 4]).collect();
    let width = |graded: &[(LabelledCase, Judgement)]| {
        let (lo, hi) = report(graded).rows[0].kappa_bounds.unwrap();
        hi - lo
    };
    assert!((width(&one_each) - width(&four_each)).abs() < 1e-9);
}

#[test]
fn under_six_questions_or_one_class_lacks_interval() {
    let few: Vec<_> = fifty().into_iter().step_by(10).collect();
    assert_eq!(few.len(), 5);
    assert_eq!(report(&few).rows[0].kappa_bounds, None);
    let right: Vec<_> = fifty().into_iter().take(20).collect();
    let row = &report(&right).rows[0];
    assert_eq!((row.kappa, row.kappa_bounds), (None, None));
    assert_eq!(report(&[]).rows, []);
}

#[test]
fn ungraded_answers_are_counted_separately_with_their_reasons() {
    let mut graded = fifty();
    for n in 0..3 {
        let why = if n == 0 { "busy" } else { "late" };
        graded.push((case("f", n, true, None), unscored(why)));
    }
    let report = report(&graded);
    let row = &report.rows[0];
    assert_eq!((row.graded, row.unscored, row.agreed), (50, 3, 35));
    assert_eq!((row.false_accepts, row.to_reject), (10, 25));
    assert_eq!((row.false_rejects, row.to_accept, row.score_error), (5, 25, None));
    assert!((row.kappa.unwrap() - 0.4).abs() < 1e-12);
    assert_eq!(report.reasons, [("late".to_owned(), 2), ("busy".to_owned(), 1)]);
}

#[test]
fn rows_are_by_file_and_group_then_overall() {
    let graded = [
        (case("b", 1, true, Some("m")), judged(true)),
        (case("b", 1, false, Some("n")), judged(true)),
        (case("a", 1, true, Some("m")), judged(true)),
    ];
    let report = report(&graded);
    let rows: Vec<(Option<&str>, Option<&str>)> =
        report.rows.iter().map(|row| (row.file.as_deref(), row.group.as_deref())).collect();
    let (a, b) = (Some("a"), Some("b"));
    assert_eq!(rows, [(b, None), (b, Some("m")), (b, Some("n")), (a, None), (None, None)]);
    let all = report.overall().unwrap();
    assert_eq!((all.false_accepts, all.to_reject, all.questions), (1, 1, 1));
}

#[test]
fn scores_are_held_against_labelled_scores() {
    let labelled = |score: f64| {
        let mut case = case("f", 1, true, None);
        case.label = Label::Score(0.5);
        (case, scored(score))
    };
    let report = report(&[labelled(0.5), labelled(0.75), labelled(0.1)]);
    let row = &report.rows[0];
    // The label 0.5 is right, and so are 0.5 and 0.75.
    assert_eq!((row.graded, row.agreed, row.false_rejects), (3, 2, 1));
    // The distances from 0.5 are 0, 0.25 and 0.4.
    assert!((row.score_error.unwrap() - 0.65 / 3.0).abs() < 1e-12);
}

#[test]
fn false_accept_interval_counts_questions_instead_of_answers() {
    // None of the wrong answers to eight questions is accepted: 1 − 0.025^(1/8).
    let wrong = |n: usize, accepted: bool| (case("f", n, false, None), judged(accepted));
    let bounds = |graded: &[_]| report(graded).rows[0].false_accept_bounds;
    let none: Vec<_> = (0..8).map(|n| wrong(n, false)).collect();
    let (lo, hi) = bounds(&none).unwrap();
    assert!(lo.abs() < 1e-9 && (hi - 0.369_4).abs() < 1e-4, "{lo} {hi}");
    // Equal answers are no additional evidence.
    let repeated: Vec<_> = none.iter().flat_map(|one| vec![one.clone(); 4]).collect();
    assert_eq!(bounds(&repeated), bounds(&none));
    // Four like answers to each of twenty questions, those to five accepted. The
    // variance is 20/19 · (5 · 3² + 15 · 1²) / 80² = 0.009868, as of 0.25 · 0.75 /
    // 0.009868 = 19.0 answers; t²(79) / t²(19) = 1.99045² / 2.09302² = 0.90440 of
    // them are 17.184, of which 4.296 are accepted.
    let clustered: Vec<_> = (0..20).flat_map(|n| vec![wrong(n, n < 5); 4]).collect();
    let (lo, hi) = bounds(&clustered).unwrap();
    assert!((hi - clopper_pearson_upper(4.296, 17.184)).abs() < 1e-3, "{hi}");
    assert!((1.0 - lo - clopper_pearson_upper(12.888, 17.184)).abs() < 1e-3, "{lo}");
    assert_eq!(bounds(&clustered[..20]), None, "five questions");
}

#[test]
fn worst_group_has_largest_share_and_enough_questions() {
    let by = |name: &str, questions: std::ops::Range<usize>, accepted: usize| {
        let one = move |n| (case("f", n, false, Some(name)), judged(n < accepted));
        questions.map(one).collect::<Vec<_>>()
    };
    let graded = [by("few", 0..5, 5), by("good", 0..10, 1), by("bad", 0..10, 3)].concat();
    let report = report(&graded);
    let worst = report.worst_group().unwrap();
    assert_eq!(
        (worst.group.as_deref(), worst.false_accepts, worst.to_reject),
        (Some("bad"), 3, 10)
    );
}

#[test]
fn trust_depends_on_human_labels_and_upper_bound() {
    let agreeing = |n: usize| {
        let one = |n: usize| {
            let right = n.is_multiple_of(2);
            (case("f", n, right, None), judged(right))
        };
        (0..n).map(one)
    };
    let trust = |graded: Vec<_>| report(&graded).trust;
    // 0 of 72 leave 1 − 0.025^(1/72) = 0.04994 possible, 0 of 71 leave 0.05063.
    assert_eq!(trust(agreeing(144).collect()), Trust::Trusted);
    assert_eq!(trust(agreeing(142).collect()), Trust::Untrusted);
    assert_eq!(trust(fifty()), Trust::Untrusted);
    assert_eq!(trust(agreeing(5).collect()), Trust::Unknown);
}

/// Kappa and its interval of questions whose answers both accept, the label
/// alone, the judge alone, and neither.
pub(crate) fn bounds_of(questions: &[[u64; 4]], seed: u64) -> (Option<f64>, Option<(f64, f64)>) {
    let square = |[both, label, judge, neither]: [u64; 4]| Square {
        both,
        neither,
        false_accepts: judge,
        false_rejects: label,
    };
    let squares = questions.iter().enumerate().map(|(at, question)| (at, square(*question)));
    let tally = Tally { squares: squares.collect(), ..Tally::default() };
    (tally.total().kappa(), tally.bounds(seed))
}

#[test]
fn one_in_twenty_undefined_resamples_removes_kappa_interval() {
    // Each question has one answer. One of `of` is rejected by both: a resample
    // misses it with (1 − 1/of)^of, about 0.36, and then has no kappa.
    let accepted = Square { both: 1, ..Square::default() };
    let rejected = Square { neither: 1, ..Square::default() };
    let one = [vec![accepted; 19], vec![rejected]].concat();
    assert_eq!(resampled(&one, 1), None);
    // Of three that are rejected it misses all with (17/20)²⁰ = 3.9 %.
    let wrong = Square { false_accepts: 1, ..Square::default() };
    let three = [vec![accepted; 17], vec![rejected; 2], vec![wrong]].concat();
    assert!(resampled(&three, 1).is_some());
    // Of ten accepted and ten rejected, two of which the judge turns around, every
    // resample has one.
    let half = [vec![accepted; 10], vec![rejected; 8], vec![wrong; 2]].concat();
    assert_eq!(resampled(&half, 1).unwrap().len(), BCA_RESAMPLES);
}

fn scored(score: f64) -> Judgement {
    Judgement::scored(Verdict::Partial(score), score, String::new())
}

#[test]
fn kappa_takes_wider_interval_from_twenty_questions() {
    // Answers that both accept, that both reject, and that the judge alone accepts.
    let bounds = |both: usize, neither: usize, judge: usize| {
        let of = |n: usize, question: [u64; 4]| vec![question; n];
        let all = [of(both, [1, 0, 0, 0]), of(neither, [0, 0, 0, 1]), of(judge, [0, 0, 1, 0])];
        bounds_of(&all.concat(), 1).1.unwrap()
    };
    // One of twenty is wrong: half of the resamples have either none or no more
    // agreement than by chance. The jackknife gives 0.857 ± 0.319.
    assert_eq!(bounds(15, 4, 1), (0.0, 1.0));
    // Below twenty the jackknife alone counts: 0.854962 − 0.323730.
    let (lo, hi) = bounds(14, 4, 1);
    assert!((lo - 0.531_231).abs() < 1e-5 && hi == 1.0, "{lo} {hi}");
    // Resamples from 0 to 1 are narrower than 0.615385 ± 0.640486, and those from
    // 0.45 to 1 narrower than 0.8 ± 0.287357.
    for (counts, expected) in [((16, 2, 2), -0.025_101), ((10, 8, 2), 0.512_643)] {
        let (lo, hi) = bounds(counts.0, counts.1, counts.2);
        assert!((lo - expected).abs() < 1e-5 && hi == 1.0, "{lo} {hi}");
    }
}

/// A cell whose answers have these votes: `r`ight, `w`rong, `u`nscored.
fn voted(votes: &[&str]) -> Cell {
    let kit = cell("s", "x").snapshot(0, 0).answers(&"r".repeat(votes.len()));
    let mut cell = kit.build();
    for (row, votes) in rows_of(&mut cell).questions.iter_mut().zip(votes) {
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
    let panel = panel_agreement(&RunResults::new([voted(&all)], [])).unwrap();
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
    let panel = panel_agreement(&RunResults::new([voted(&all)], [])).unwrap();
    assert_eq!((panel.third, panel.nobody), (3, 2), "{panel:?}");
}

#[test]
fn panel_needs_several_judges_and_kappa_differing_verdicts() {
    let single = cell("s", "x").snapshot(0, 0).answers("rw").build();
    assert_eq!(panel_agreement(&RunResults::new([single], [])), None);
    let panel = panel_agreement(&RunResults::new([voted(&["rr", "rr"])], [])).unwrap();
    assert_eq!((panel.both, panel.agreed, panel.kappa), (2, 2, None));
    assert!(!panel.is_doubtful());
}
