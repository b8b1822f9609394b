use std::sync::Mutex;

use super::*;
use recap_core::model::{Expectation, NoGrade, QuestionKind};

/// Always gives the same verdict and counts its calls.
struct Says {
    name: &'static str,
    verdict: Verdict,
    asked: Mutex<u32>,
}

fn says(name: &'static str, verdict: Verdict) -> Arc<Says> {
    Arc::new(Says { name, verdict, asked: Mutex::default() })
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
    let judges: Vec<Arc<Says>> =
        ["a", "b", "c"].into_iter().zip(verdicts).map(|(n, v)| says(n, v.clone())).collect();
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
        let judges = names.iter().map(|name| says(name, Verdict::Correct) as Arc<dyn Judge>);
        Panel::new(judges.collect())
    };
    assert_eq!(new(&["a", "b"]).unwrap().name(), "a + b");
    assert_eq!(new(&["a", "b", "offline"]).unwrap().source(), Source::Model);
    for count in [0, 1, 4] {
        assert!(new(&["a", "b", "c", "d"][..count]).is_err(), "{count}");
    }
    let error = new(&["a", "b", "a"]).err().unwrap();
    assert_eq!(error, PanelError::Twice("a".to_owned()));
}

/// Tells of each statement what it is made with, or gives no reply.
struct Tells(&'static str, Result<Option<Vec<bool>>, NoReply>);

#[async_trait]
impl Judge for Tells {
    async fn grade(&self, _: &Grading<'_>) -> Judgement {
        unreachable!("nothing is graded")
    }

    async fn check(&self, _: &[Statement]) -> Result<Option<Vec<bool>>, NoReply> {
        self.1.clone()
    }

    fn name(&self) -> &str {
        self.0
    }

    fn source(&self) -> Source {
        Source::Model
    }
}

#[tokio::test]
async fn majority_of_those_that_tell_checks_statements() {
    let told = |truths: &[bool]| Ok(Some(truths.to_vec()));
    let none = || Err(NoReply::Refused);
    let statement = |name: &str| Statement {
        name: name.to_owned(),
        source: String::new(),
        summary: String::new(),
    };
    let statements = [statement("a"), statement("b")];
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
        let roles = roles.map(|(name, told)| Arc::new(Tells(name, told)) as Arc<dyn Judge>);
        assert_eq!(Panel::new(roles.collect()).unwrap().check(&statements).await, expected);
    }
}
