//! A panel of judges: two, and a third one if they disagree.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::{join, join_all};

use super::{Grading, Judge, Statement};
use recap_core::model::{Judgement, NoGrade, NoReply, PANEL, RIGHT, Source, Verdict, Vote};

/// Why judges cannot form a panel.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PanelError {
    /// The panel does not have two or three judges.
    #[error("a panel has two or three judges, not {0}")]
    Size(usize),
    /// One judge is in the panel twice: it would agree with itself.
    #[error("a panel needs different judges: `{0}` is named twice")]
    Twice(String),
}

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
    pub fn new(judges: Vec<Arc<dyn Judge>>) -> Result<Self, PanelError> {
        let names: Vec<&str> = judges.iter().map(|judge| judge.name()).collect();
        if !(2..=3).contains(&names.len()) {
            return Err(PanelError::Size(names.len()));
        }
        let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
        if let Some((_, name)) = twice {
            return Err(PanelError::Twice((*name).to_owned()));
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
        let mut told: Vec<Vec<bool>> = Vec::new();
        let mut failed = None;
        for check in checks {
            match check {
                Ok(check) => told.extend(check),
                Err(why) => failed = Some(why),
            }
        }
        match (told.len(), failed) {
            (0, Some(why)) => Err(why),
            (0, None) => Ok(None),
            (judges, _) => {
                let ayes = |at: usize| told.iter().filter(|one| one[at]).count();
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
        let reason = if grades.is_empty() { NoGrade::NoJudge } else { NoGrade::Disagreement };
        return Judgement::unscored(reason(said(votes)));
    };
    let unanimous = agree(&judgements);
    let holds = |(_, judgement): &(&Vote, Judgement)| is_right(judgement) == Some(majority);
    let decisive = votes.iter().zip(judgements).find(holds);
    let (vote, mut judgement) = decisive.expect("somebody is of the majority");
    if !unanimous {
        let said = said(votes);
        judgement.rationale = format!("{said}; {}: {}", vote.judge, judgement.rationale);
    }
    judgement
}

/// The vote of each judge as text; a missing vote has its reason.
fn said(votes: &[Vote]) -> String {
    let texts = votes.iter().map(|vote| match &vote.verdict {
        Verdict::Unscored(why) => format!("{}: {why}", vote.judge),
        verdict => format!("{} says {}", vote.judge, verdict.as_str()),
    });
    texts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
