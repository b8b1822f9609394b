//! What a session will be asked.

use recap_core::model::{Expectation, QuestionKind};

use super::script::Place;

/// A question about a session, before it is known when it is asked.
#[derive(Clone, Debug)]
pub struct PlannedQuestion {
    pub(super) kind: QuestionKind,
    pub(super) text: String,
    pub(super) expect: Expectation,
    pub(super) evidence: Vec<Place>,
    pub(super) stale: Vec<String>,
    pub(super) near: Vec<String>,
    pub(super) absent: Vec<String>,
    pub(super) until: Option<Place>,
    pub(super) late: bool,
}

impl PlannedQuestion {
    fn new(kind: QuestionKind, text: impl Into<String>, expect: Expectation) -> PlannedQuestion {
        PlannedQuestion {
            kind,
            text: text.into(),
            expect,
            evidence: Vec::new(),
            stale: Vec::new(),
            near: Vec::new(),
            absent: Vec::new(),
            until: None,
            late: false,
        }
    }

    /// Any of `values` is right. The first one is the value as the session
    /// says it; the others are spellings of it.
    pub fn any_of<V: Into<String>>(
        kind: QuestionKind,
        text: impl Into<String>,
        values: impl IntoIterator<Item = V>,
    ) -> PlannedQuestion {
        let values = values.into_iter().map(Into::into).collect();
        PlannedQuestion::new(kind, text, Expectation::AnyOf(values))
    }

    /// An answer must say every one of `nuggets`; a model has to judge it.
    pub fn rubric<V: Into<String>>(
        kind: QuestionKind,
        text: impl Into<String>,
        nuggets: impl IntoIterator<Item = V>,
    ) -> PlannedQuestion {
        let nuggets = nuggets.into_iter().map(Into::into).collect();
        PlannedQuestion::new(kind, text, Expectation::Rubric(nuggets))
    }

    /// What was never said: none of `absent` may stand anywhere in the session,
    /// in any case of letters. A question whose words do is left out.
    pub fn unanswerable<V: Into<String>>(
        text: impl Into<String>,
        absent: impl IntoIterator<Item = V>,
    ) -> PlannedQuestion {
        let absent = absent.into_iter().map(Into::into).collect();
        let expect = Expectation::Unanswerable;
        PlannedQuestion { absent, ..PlannedQuestion::new(QuestionKind::Abstain, text, expect) }
    }

    /// The messages that answer it.
    pub fn from(mut self, evidence: &[Place]) -> PlannedQuestion {
        self.evidence.extend_from_slice(evidence);
        self
    }

    /// Values that were true before, or that were turned down.
    pub fn stale<V: Into<String>>(
        mut self,
        values: impl IntoIterator<Item = V>,
    ) -> PlannedQuestion {
        self.stale.extend(values.into_iter().map(Into::into));
        self
    }

    /// Wrong values of the same type that the session says of other things.
    /// For a value with digits or separators they are found by its shape
    /// ([`same_shape`](super::near::same_shape)); plain words need this list.
    pub fn near<V: Into<String>>(mut self, values: impl IntoIterator<Item = V>) -> PlannedQuestion {
        self.near.extend(values.into_iter().map(Into::into));
        self
    }

    /// Only right while the message at `place` is still to come.
    pub fn until(mut self, place: Place) -> PlannedQuestion {
        self.until = Some(place);
        self
    }

    /// Only asked near the end: its answer is what holds when all is said.
    pub fn late(mut self) -> PlannedQuestion {
        self.late = true;
        self
    }
}

/// A value that may change in the course of a session, and how to ask for it.
#[derive(Clone, Debug)]
pub struct Fact {
    pub(super) kind: QuestionKind,
    pub(super) wordings: Vec<String>,
    pub(super) said: Vec<(String, Place)>,
    pub(super) near: Vec<String>,
}

impl Fact {
    /// A fact that `wordings` ask for, the first one first. Stated once it
    /// becomes a question of `kind`, stated again with another value a
    /// question of kind update whose earlier values are stale.
    pub fn new(kind: QuestionKind, wordings: Vec<String>) -> Fact {
        Fact { kind, wordings, said: Vec::new(), near: Vec::new() }
    }

    /// As [`PlannedQuestion::near`].
    pub fn near<V: Into<String>>(mut self, values: impl IntoIterator<Item = V>) -> Fact {
        self.near.extend(values.into_iter().map(Into::into));
        self
    }

    /// Its questions: for the newest value, and for each older one that stood
    /// for at least `gap` messages.
    pub(super) fn questions(&self, gap: u32) -> Vec<PlannedQuestion> {
        let Some(((value, place), older)) = self.said.split_last() else { return Vec::new() };
        let mut wordings = self.wordings.iter();
        let Some(first) = wordings.next() else { return Vec::new() };
        let kind = if older.is_empty() { self.kind } else { QuestionKind::Update };
        let stale: Vec<&String> = older.iter().map(|(value, _)| value).collect();
        let newest = PlannedQuestion::any_of(kind, first, [value]).from(&[*place]).near(&self.near);
        let mut questions = vec![newest.stale(stale.iter().filter(|s| **s != value).copied())];
        for (at, (value, place)) in older.iter().enumerate() {
            let next = self.said[at + 1].1;
            let Some(wording) = wordings.next() else { break };
            if next.0 >= place.0 + gap {
                let kind = if at == 0 { self.kind } else { QuestionKind::Update };
                let before = older[..at].iter().map(|(value, _)| value);
                let question = PlannedQuestion::any_of(kind, wording, [value]).from(&[*place]);
                questions.push(question.near(&self.near).stale(before).until(next));
            }
        }
        questions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fact(said: &[(&str, u32)]) -> Fact {
        let wordings = ["a?", "b?", "c?"].map(str::to_owned).to_vec();
        let mut fact = Fact::new(QuestionKind::Fact, wordings);
        fact.said = said.iter().map(|(v, at)| ((*v).to_owned(), Place(*at))).collect();
        fact
    }

    #[test]
    fn fact_said_once_is_asked_in_own_kind() {
        let questions = fact(&[("7", 3)]).questions(8);
        assert_eq!(questions.len(), 1);
        assert_eq!(questions[0].kind, QuestionKind::Fact);
        assert_eq!(questions[0].stale, Vec::<String>::new());
        assert!(fact(&[]).questions(8).is_empty());
    }

    #[test]
    fn changed_fact_asks_update_and_long_held_values() {
        let questions = fact(&[("7", 3), ("8", 11), ("9", 14)]).questions(8);
        assert_eq!(questions.len(), 2);
        assert_eq!(questions[0].kind, QuestionKind::Update);
        assert_eq!(questions[0].stale, ["7", "8"]);
        assert_eq!(questions[1].kind, QuestionKind::Fact);
        assert_eq!(questions[1].expect.alternatives(), ["7"]);
        assert_eq!(questions[1].until, Some(Place(11)));
    }
}
