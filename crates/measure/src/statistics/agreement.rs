//! Measures how well a judge agrees with labelled answers, and how well the judges of a panel
//! agree with each other (reference §7).
//!
//! Answers to one question are similar, so every interval uses the question as
//! its unit.

use std::collections::BTreeMap;

use derive_more::{Add, Sub};
use indexmap::IndexSet;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::findings::most_frequent;
use crate::statistics::{
    BCA_RESAMPLES, Bounds, FEWEST_FOR_AN_INTERVAL, FEWEST_FOR_RESAMPLES, bca,
    clopper_pearson_upper, t_quantile, wider, within,
};
use recap_core::model::{
    Cell, JudgeReport, JudgeRow, Judgement, Label, LabelledCase, Outcome, PanelAgreement, RIGHT,
    RunResults, Source, TRUSTED_FALSE_ACCEPTS, TRUSTED_KAPPA, Trust, Verdict, Vote,
};

/// Largest number of reasons in a report.
const REASONS: usize = 5;
/// Largest percentage of resamples without a kappa at which the others
/// represent all.
const MOST_WITHOUT: usize = 5;

/// A judge's judgements of labelled answers.
#[derive(Clone, Copy, Debug)]
pub struct Graded<'a> {
    /// Name of the judge.
    pub judge: &'a str,
    /// Whether the judge is a model or compares words.
    pub source: Source,
    /// Seed of the bootstrap.
    pub seed: u64,
    /// The answers with their labels.
    pub cases: &'a [LabelledCase],
    /// A judgement for each answer.
    pub judgements: &'a [Judgement],
}

/// Agreement by file and by group.
///
/// # Panics The numbers of judgements and cases differ.
pub fn agreement(graded: &Graded<'_>) -> JudgeReport {
    assert_eq!(graded.cases.len(), graded.judgements.len(), "every case has its judgement");
    let mut tallies = Tallies::default();
    let mut reasons = BTreeMap::<String, u64>::new();
    for (case, judgement) in graded.cases.iter().zip(graded.judgements) {
        tallies.count(case, judgement);
        if let Verdict::Unscored(why) = &judgement.verdict {
            *reasons.entry(why.to_string()).or_default() += 1;
        }
    }
    let mut reasons = most_frequent(reasons);
    reasons.truncate(REASONS);
    let mut report = JudgeReport {
        judge: graded.judge.to_owned(),
        source: graded.source,
        seed: graded.seed,
        rows: tallies.rows(graded.seed),
        reasons,
        trust: Trust::Unknown,
    };
    report.trust = trust(&report);
    report
}

/// Whether the judge can be trusted: kappa, and the upper bound of the share of
/// wrong answers that it accepts.
fn trust(report: &JudgeReport) -> Trust {
    let row = report.overall().filter(|row| row.questions >= FEWEST_FOR_AN_INTERVAL as u64);
    let agrees = row.and_then(|row| row.kappa).map(|kappa| kappa >= TRUSTED_KAPPA);
    let bounds = row.and_then(|row| row.false_accept_bounds);
    let careful = bounds.map(|(_, most)| most < TRUSTED_FALSE_ACCEPTS);
    match (agrees, careful) {
        (Some(true), Some(true)) => Trust::Trusted,
        (Some(false), _) | (_, Some(false)) => Trust::Untrusted,
        _ => Trust::Unknown,
    }
}

/// Tallies by file and group. Files are numbered in order of appearance; the
/// tally over all files follows.
#[derive(Default)]
struct Tallies<'a> {
    files: IndexSet<&'a str>,
    questions: IndexSet<&'a str>,
    tallies: BTreeMap<(usize, Option<&'a str>), Tally>,
}

/// The number for all files, which sorts last.
const ALL: usize = usize::MAX;

impl<'a> Tallies<'a> {
    fn count(&mut self, case: &'a LabelledCase, judgement: &Judgement) {
        let file = self.files.insert_full(&case.asked.file).0;
        let question = self.questions.insert_full(case.asked.question.trim()).0;
        let mut add = |file, group| {
            self.tallies.entry((file, group)).or_default().add(question, case, judgement);
        };
        add(file, None);
        add(ALL, None);
        if let Some(group) = &case.group {
            add(file, Some(&**group));
        }
    }

    fn rows(&self, seed: u64) -> Vec<JudgeRow> {
        let several = self.files.len() > 1;
        let mut rows = Vec::new();
        for ((file, group), tally) in &self.tallies {
            // A single group repeats its file, and a single file repeats the
            // total.
            let repeats = match group {
                Some(_) => tally.is_all(&self.tallies[&(*file, None)]),
                None => *file == ALL && !several,
            };
            if !repeats {
                let file = self.files.get_index(*file).map(|file| (*file).to_owned());
                rows.push(tally.row(file, group.map(str::to_owned), seed));
            }
        }
        rows
    }
}

/// Numbers of accepted and rejected answers, by label and judge, or by two judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Add, Sub)]
struct Square {
    /// Answers that both accept.
    both: u64,
    /// Answers that both reject.
    neither: u64,
    /// Answers that only the judge accepts.
    false_accepts: u64,
    /// Answers that only the label accepts.
    false_rejects: u64,
}

impl Square {
    fn count(&mut self, label: bool, judge: bool) {
        let number = match (label, judge) {
            (true, true) => &mut self.both,
            (false, false) => &mut self.neither,
            (false, true) => &mut self.false_accepts,
            (true, false) => &mut self.false_rejects,
        };
        *number += 1;
    }

    fn sum(squares: impl Iterator<Item = Square>) -> Square {
        squares.fold(Square::default(), |sum, square| sum + square)
    }

    fn agreed(self) -> u64 {
        self.both + self.neither
    }

    fn all(self) -> u64 {
        self.agreed() + self.false_accepts + self.false_rejects
    }

    /// `(p_o − p_e) / (1 − p_e)`: agreement beyond that by chance at these two
    /// rates of acceptance (Cohen 1960, "A coefficient of agreement for nominal
    /// scales"). `None` if chance alone always agrees.
    fn kappa(self) -> Option<f64> {
        let n = self.all() as f64;
        let observed = self.agreed() as f64 / n;
        let label = (self.both + self.false_rejects) as f64 / n;
        let judge = (self.both + self.false_accepts) as f64 / n;
        let chance = label * judge + (1.0 - label) * (1.0 - judge);
        // There is no kappa without answers, or with one class only.
        (chance < 1.0).then(|| (observed - chance) / (1.0 - chance))
    }
}

/// Numbers of answers, by question.
#[derive(Default)]
struct Tally {
    squares: BTreeMap<usize, Square>,
    unscored: u64,
    /// Distances of scores from labelled scores.
    distance: f64,
    distances: u64,
}

impl Tally {
    fn add(&mut self, question: usize, case: &LabelledCase, judgement: &Judgement) {
        let square = self.squares.entry(question).or_default();
        let right = case.is_right();
        match case.outcome(judgement) {
            Outcome::Unscored => self.unscored += 1,
            Outcome::Agrees => square.count(right, right),
            Outcome::FalseAccept | Outcome::FalseReject => square.count(right, !right),
        }
        if let (Label::Score(label), Some(score)) = (case.label, judgement.score) {
            self.distance += (label - score).abs();
            self.distances += 1;
        }
    }

    /// Whether the answers of a group are all of its file.
    fn is_all(&self, of: &Tally) -> bool {
        self.total() == of.total() && self.unscored == of.unscored
    }

    fn total(&self) -> Square {
        Square::sum(self.squares.values().copied())
    }

    fn row(&self, file: Option<String>, group: Option<String>, seed: u64) -> JudgeRow {
        let square = self.total();
        JudgeRow {
            file,
            group,
            questions: self.squares.len() as u64,
            graded: square.all(),
            agreed: square.agreed(),
            kappa: square.kappa(),
            kappa_bounds: self.bounds(seed),
            false_accepts: square.false_accepts,
            to_reject: square.neither + square.false_accepts,
            false_accept_bounds: self.accepted(),
            false_rejects: square.false_rejects,
            to_accept: square.both + square.false_rejects,
            unscored: self.unscored,
            score_error: (self.distances > 0).then(|| self.distance / self.distances as f64),
        }
    }

    /// The 95 % interval of the share of wrong answers that are accepted,
    /// questions as clusters: that of Clopper and Pearson for the number of
    /// independent answers that would vary as much (Korn and Graubard 1998). If
    /// none or all are accepted, nothing varies, and a question counts as one
    /// answer.
    fn accepted(&self) -> Option<(f64, f64)> {
        let wrong = |square: &&Square| square.neither + square.false_accepts > 0;
        let squares: Vec<&Square> = self.squares.values().filter(wrong).collect();
        if squares.len() < FEWEST_FOR_AN_INTERVAL {
            return None;
        }
        let questions = squares.len() as f64;
        let total = self.total();
        let answers = (total.neither + total.false_accepts) as f64;
        let share = total.false_accepts as f64 / answers;
        let spread = |square: &&Square| {
            let own = (square.neither + square.false_accepts) as f64;
            (square.false_accepts as f64 - share * own).powi(2)
        };
        let variance = questions / (questions - 1.0) * squares.iter().map(spread).sum::<f64>()
            / answers.powi(2);
        let freedom = |n: f64| t_quantile(0.975, n.floor() - 1.0).powi(2);
        let effective = if variance > 0.0 {
            share * (1.0 - share) / variance * freedom(answers) / freedom(questions)
        } else {
            questions
        };
        let n = effective.min(answers);
        let below = 1.0 - clopper_pearson_upper((1.0 - share) * n, n);
        Some((below, clopper_pearson_upper(share * n, n)))
    }

    /// The 95 % interval of kappa, questions as clusters. From 6 questions on
    /// the t interval of the jackknife's standard error (Efron and Tibshirani
    /// 1993, chapter 11); from 20 on the wider of it and BCa (chapter 14).
    fn bounds(&self, seed: u64) -> Option<Bounds> {
        let squares: Vec<Square> = self.squares.values().copied().collect();
        if squares.len() < FEWEST_FOR_AN_INTERVAL {
            return None;
        }
        let total = self.total();
        let estimate = total.kappa()?;
        let without = |square: &Square| (total - *square).kappa();
        let left: Vec<f64> = squares.iter().map(without).collect::<Option<_>>()?;
        let n = left.len() as f64;
        let mean = left.iter().sum::<f64>() / n;
        let squared: f64 = left.iter().map(|x| (x - mean).powi(2)).sum();
        let half = t_quantile(0.975, n - 1.0) * ((n - 1.0) / n * squared).sqrt();
        if half == 0.0 {
            return None;
        }
        let enough = squares.len() >= FEWEST_FOR_RESAMPLES;
        let resampled = if enough { resampled(&squares, seed) } else { None };
        let bca = resampled.and_then(|resampled| bca(resampled, estimate, &left));
        Some(within(wider(bca, (estimate - half, estimate + half)), -1.0, 1.0))
    }
}

/// Kappa of resamples of whole questions. `None` if too many of them have none.
fn resampled(squares: &[Square], seed: u64) -> Option<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut draw = || squares[rng.random_range(0..squares.len())];
    let kappa = |_| Square::sum((0..squares.len()).map(|_| draw())).kappa();
    let resampled: Vec<f64> = (0..BCA_RESAMPLES).filter_map(kappa).collect();
    let without = BCA_RESAMPLES - resampled.len();
    (without * 100 <= BCA_RESAMPLES * MOST_WITHOUT).then_some(resampled)
}

/// The agreement over every answer that a panel had to grade; `None` with a
/// single judge.
pub(crate) fn panel_agreement(results: &RunResults) -> Option<PanelAgreement> {
    let (mut judges, mut square) = (Vec::<String>::new(), Square::default());
    let (mut answers, mut third, mut nobody) = (0, 0, 0);
    for session in results.iter() {
        let rows = session.cells().iter().filter_map(Cell::rows).flat_map(|rows| &rows.questions);
        for row in rows {
            let votes = row.answered.as_ref().map_or(&[][..], |own| &own.judgement.votes);
            let [first, second, ..] = votes else { continue };
            answers += 1;
            judges.extend(votes.iter().skip(judges.len()).map(|vote| vote.judge.clone()));
            let is_right = |vote: &Vote| vote.score.map(|score| score >= RIGHT);
            // A single grade holds by itself; two different grades, or none, leave it open.
            let open = match (is_right(first), is_right(second)) {
                (Some(first), Some(second)) => {
                    square.count(first, second);
                    first != second
                }
                (first, second) => first.is_none() && second.is_none(),
            };
            match row.score() {
                None => nobody += 1,
                Some(_) => third += u64::from(open),
            }
        }
    }
    (answers > 0).then(|| PanelAgreement {
        judges,
        answers,
        both: square.all(),
        agreed: square.agreed(),
        kappa: square.kappa(),
        third,
        nobody,
    })
}

#[cfg(test)]
#[path = "agreement_tests.rs"]
pub(crate) mod tests;
