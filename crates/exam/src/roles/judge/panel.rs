//! A panel of judges: two, and a third one if they disagree.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::{join, join_all};

use super::{Grading, Judge, NoReply, Statement};
use recap_core::model::{Judgement, NoGrade, PANEL, RIGHT, Source, Verdict, Vote};

/// Two or three judges that grade each answer together.
///
/// The first two grade every answer. If both find it right, or both find it not
/// right, the verdict of the first one holds. Otherwise, or if one of them did
/// not grade, the third one is asked if there is one, and the majority of the
/// grades holds: the verdict of the first judge in that majority. A single
/// grade holds by itself; of two that disagree neither holds, and the answer is
/// unscored.
pub struct Panel {
    judges: Vec<Arc<dyn Judge>>,
    name: String,
}

impl Panel {
    /// A panel of these judges.
    ///
    /// # Errors
    /// There are not two or three judges, or one of them is in the panel twice.
    pub fn new(judges: Vec<Arc<dyn Judge>>) -> Result<Self, String> {
        let names: Vec<&str> = judges.iter().map(|judge| judge.name()).collect();
        if !(2..=3).contains(&names.len()) {
            return Err(format!("a panel has two or three judges, not {}", names.len()));
        }
        let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
        if let Some((_, name)) = twice {
            return Err(format!("a panel needs different judges: `{name}` is named twice"));
        }
        let name = names.join(PANEL);
        Ok(Self { judges, name })
    }
}

#[async_trait]
impl Judge for Panel {
    async fn grade(&self, grading: &Grading<'_>) -> Judgement {
        let (first, second) =
            join(self.judges[0].grade(grading), self.judges[1].grade(grading)).await;
        let mut judgements = vec![first, second];
        if let (Some(third), false) = (self.judges.get(2), agree(&judgements)) {
            judgements.push(third.grade(grading).await);
        }
        let names = self.judges.iter().map(|judge| judge.name());
        let votes = names.zip(&judgements).map(|(judge, judgement)| Vote {
            judge: judge.to_owned(),
            verdict: judgement.verdict.clone(),
            score: judgement.score,
        });
        let votes: Vec<Vote> = votes.collect();
        Judgement { votes: votes.clone(), ..decided(judgements, &votes) }
    }

    /// The majority of those judges that tell; a tie is not true.
    async fn check(&self, statements: &[Statement]) -> Result<Option<Vec<bool>>, NoReply> {
        let checks = join_all(self.judges.iter().map(|judge| judge.check(statements))).await;
        let mut checked: Vec<Vec<bool>> = Vec::new();
        let mut failed = None;
        for check in checks {
            match check {
                Ok(check) => checked.extend(check),
                Err(why) => failed = Some(why),
            }
        }
        match (checked.len(), failed) {
            (0, Some(why)) => Err(why),
            (0, None) => Ok(None),
            (judges, _) => {
                let ayes = |at: usize| checked.iter().filter(|one| one[at]).count();
                Ok(Some((0..statements.len()).map(|at| 2 * ayes(at) > judges).collect()))
            }
        }
    }

    fn name(&self) -> &str {
        &self.name
    }

    /// A model if any of the judges is one.
    fn source(&self) -> Source {
        let is_model = |judge: &Arc<dyn Judge>| judge.source() == Source::Model;
        if self.judges.iter().any(is_model) { Source::Model } else { Source::Lexical }
    }
}

/// Whether an answer was found right; `None` if it was not graded.
fn is_right(judgement: &Judgement) -> Option<bool> {
    judgement.score.map(|score| score >= RIGHT)
}

/// Whether all judges graded, and gave the same grade.
fn agree(judgements: &[Judgement]) -> bool {
    let first = judgements.first().and_then(is_right);
    first.is_some() && judgements.iter().all(|judgement| is_right(judgement) == first)
}

/// The judgement of the panel from those of its judges.
fn decided(judgements: Vec<Judgement>, votes: &[Vote]) -> Judgement {
    let grades: Vec<bool> = judgements.iter().filter_map(is_right).collect();
    let right = grades.iter().filter(|right| **right).count();
    let majority = match right.cmp(&(grades.len() - right)) {
        std::cmp::Ordering::Greater => Some(true),
        std::cmp::Ordering::Less => Some(false),
        std::cmp::Ordering::Equal => None,
    };
    let Some(majority) = majority else {
        let votes = described(votes);
        return Judgement::unscored(if grades.is_empty() {
            NoGrade::NoJudge(votes)
        } else {
            NoGrade::Other(format!("the judges disagree: {votes}"))
        });
    };
    let unanimous = agree(&judgements);
    let holds = |(_, judgement): &(&Vote, Judgement)| is_right(judgement) == Some(majority);
    let decisive = votes.iter().zip(judgements).find(holds);
    let (vote, mut judgement) = decisive.expect("somebody is of the majority");
    if !unanimous {
        let votes = described(votes);
        judgement.rationale = format!("{votes}; {}: {}", vote.judge, judgement.rationale);
    }
    judgement
}

/// The vote of each judge as text; a missing vote has its reason.
fn described(votes: &[Vote]) -> String {
    let texts = votes.iter().map(|vote| match &vote.verdict {
        Verdict::Unscored(why) => format!("{}: {why}", vote.judge),
        verdict => format!("{} says {}", vote.judge, verdict.as_str()),
    });
    texts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use recap_core::model::{Expectation, NoGrade, QuestionKind};

    type Told = Result<Option<Vec<bool>>, NoReply>;

    /// Always gives the same verdict, tells the same of statements, and counts its grades.
    struct Says {
        name: &'static str,
        verdict: Verdict,
        told: Told,
        asked: Mutex<u32>,
    }

    fn says(name: &'static str, verdict: Verdict, told: Told) -> Arc<Says> {
        Arc::new(Says { name, verdict, told, asked: Mutex::default() })
    }

    #[async_trait]
    impl Judge for Says {
        async fn grade(&self, _: &Grading<'_>) -> Judgement {
            *self.asked.lock().unwrap() += 1;
            let score = match self.verdict {
                Verdict::Correct => Some(1.0),
                Verdict::Partial(share) => Some(share),
                Verdict::Unscored(_) => None,
                _ => Some(0.0),
            };
            let (verdict, rationale) = (self.verdict.clone(), format!("reason of {}", self.name));
            Judgement { verdict, score, rationale, votes: Vec::new() }
        }

        async fn check(&self, _: &[Statement]) -> Told {
            self.told.clone()
        }

        fn name(&self) -> &str {
            self.name
        }

        fn source(&self) -> Source {
            if self.name == "offline" { Source::Lexical } else { Source::Model }
        }
    }

    fn mute(why: &str) -> Verdict {
        Verdict::Unscored(NoGrade::from(why.to_owned()))
    }

    /// The judgement of a panel, and the number of calls of each judge.
    async fn panel(verdicts: &[Verdict]) -> (Judgement, Vec<u32>) {
        let named = ["a", "b", "c"].into_iter().zip(verdicts);
        let judges: Vec<Arc<Says>> = named.map(|(n, v)| says(n, v.clone(), Ok(None))).collect();
        let roles = judges.iter().map(|judge| Arc::clone(judge) as Arc<dyn Judge>).collect();
        let expect = Expectation::AnyOf(vec!["7".to_owned()]);
        let (question, kind, answer) = ("How many?", QuestionKind::Fact, "7");
        let grading = Grading { question, kind, expect: &expect, stale: &[], answer };
        let judgement = Panel::new(roles).unwrap().grade(&grading).await;
        (judgement, judges.iter().map(|judge| *judge.asked.lock().unwrap()).collect())
    }

    #[tokio::test]
    async fn two_agreeing_judges_decide_and_both_votes_remain() {
        let (judgement, asked) =
            panel(&[Verdict::Partial(0.5), Verdict::Correct, Verdict::Incorrect]).await;
        assert_eq!(asked, [1, 1, 0]);
        assert_eq!((judgement.verdict, judgement.score), (Verdict::Partial(0.5), Some(0.5)));
        assert_eq!(judgement.rationale, "reason of a");
        let vote = |judge: &str, verdict, score| Vote { judge: judge.to_owned(), verdict, score };
        assert_eq!(
            judgement.votes,
            [vote("a", Verdict::Partial(0.5), Some(0.5)), vote("b", Verdict::Correct, Some(1.0))]
        );
    }

    #[tokio::test]
    async fn ways_of_being_wrong_are_no_disagreement() {
        for other in [Verdict::Incorrect, Verdict::Stale, Verdict::Partial(0.4)] {
            let (judgement, asked) = panel(&[Verdict::Abstained, other, Verdict::Correct]).await;
            assert_eq!((judgement.verdict, asked), (Verdict::Abstained, vec![1, 1, 0]));
        }
    }

    #[tokio::test]
    async fn the_third_decides_where_two_disagree() {
        for (third, verdict) in [
            (Verdict::Correct, Verdict::Correct),
            (Verdict::Partial(0.75), Verdict::Correct),
            (Verdict::Incorrect, Verdict::Stale),
        ] {
            let (judgement, asked) = panel(&[Verdict::Correct, Verdict::Stale, third]).await;
            assert_eq!((judgement.verdict, asked), (verdict, vec![1, 1, 1]));
            assert_eq!(judgement.votes.len(), 3);
            assert!(judgement.rationale.starts_with("a says correct, b says stale, c says "));
        }
    }

    #[tokio::test]
    async fn two_disagreeing_judges_without_third_leave_it_unscored() {
        let (judgement, _) = panel(&[Verdict::Correct, Verdict::Incorrect]).await;
        let why = "the judges disagree: a says correct, b says incorrect";
        assert_eq!(judgement.verdict, mute(why));
        assert_eq!((judgement.score, judgement.votes.len()), (None, 2));
        let (judgement, _) = panel(&[Verdict::Correct, Verdict::Incorrect, mute("down")]).await;
        assert_eq!(judgement.verdict, mute(&format!("{why}, c: down")));
    }

    #[tokio::test]
    async fn a_single_grade_stands_where_nobody_else_graded() {
        for verdicts in [
            vec![mute("down"), Verdict::Correct],
            vec![Verdict::Correct, mute("down")],
            vec![mute("down"), Verdict::Correct, mute("down")],
            vec![mute("down"), mute("down"), Verdict::Correct],
            vec![mute("down"), Verdict::Correct, Verdict::Correct],
        ] {
            let (judgement, asked) = panel(&verdicts).await;
            assert_eq!((judgement.verdict, judgement.score), (Verdict::Correct, Some(1.0)));
            assert!(judgement.rationale.contains(": down"), "{}", judgement.rationale);
            assert_eq!(asked, vec![1; verdicts.len()]);
        }
        let (judgement, _) = panel(&[mute("down"), Verdict::Correct, Verdict::Incorrect]).await;
        assert_eq!(judgement.score, None, "two grades that disagree");
        let (judgement, _) = panel(&[mute("down"), mute("refused")]).await;
        assert_eq!(judgement.verdict, mute("no judge graded it: a: down, b: refused"));
    }

    #[test]
    fn a_panel_has_two_or_three_different_judges() {
        let new = |names: &[&'static str]| {
            let judges = names.iter().map(|name| says(name, Verdict::Correct, Ok(None)));
            Panel::new(judges.map(|judge| judge as Arc<dyn Judge>).collect())
        };
        assert_eq!(new(&["a", "b"]).unwrap().name(), "a + b");
        assert_eq!(new(&["a", "b", "offline"]).unwrap().source(), Source::Model);
        for count in [0, 1, 4] {
            assert!(new(&["a", "b", "c", "d"][..count]).is_err(), "{count}");
        }
        let error = new(&["a", "b", "a"]).err().unwrap();
        assert_eq!(error, "a panel needs different judges: `a` is named twice");
    }

    #[tokio::test]
    async fn majority_of_those_that_tell_checks_statements() {
        let told = |truths: &[bool]| Ok(Some(truths.to_vec()));
        let none = || Err(NoReply::Refused);
        let statements = ["a", "b"].map(|name| Statement {
            name: name.to_owned(),
            source: String::new(),
            summary: String::new(),
        });
        for (judges, expected) in [
            (
                vec![told(&[true, true]), told(&[true, false]), told(&[false, false])],
                told(&[true, false]),
            ),
            (vec![told(&[true, true]), told(&[true, false])], told(&[true, false])),
            (vec![told(&[true, false]), none()], told(&[true, false])),
            (vec![none(), none()], none()),
            (vec![Ok(None), Ok(None)], Ok(None)),
            (vec![Ok(None), told(&[false, true])], told(&[false, true])),
        ] {
            let roles = ["a", "b", "c"].into_iter().zip(judges);
            let roles = roles.map(|(n, told)| says(n, mute(""), told) as Arc<dyn Judge>);
            assert_eq!(Panel::new(roles.collect()).unwrap().check(&statements).await, expected);
        }
    }
}
