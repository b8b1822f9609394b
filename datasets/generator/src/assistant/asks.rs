//! What a session could be asked, until it is known how much of it is.

use std::collections::BTreeMap;

use recap_core::model::QuestionKind;

use crate::{Fact, Place, PlannedQuestion, Script, Stream};

/// A value that was said, and every value before it.
struct Known {
    kind: QuestionKind,
    wordings: Vec<String>,
    near: Vec<String>,
    said: Vec<(String, Place)>,
}

/// Facts and questions in the order in which they came up.
#[derive(Default)]
pub struct Asks {
    known: BTreeMap<String, Known>,
    questions: Vec<PlannedQuestion>,
}

impl Asks {
    /// The message at `place` says that the value of `key` is `value`.
    /// `wordings` ask for it, the first time it comes up.
    pub fn state(
        &mut self,
        key: &str,
        kind: QuestionKind,
        wordings: impl FnOnce() -> Vec<String>,
        value: &str,
        place: Place,
    ) {
        let known = self.known.entry(key.to_owned()).or_insert_with(|| Known {
            kind,
            wordings: wordings(),
            near: Vec::new(),
            said: Vec::new(),
        });
        if known.said.last().is_none_or(|(said, _)| said != value) {
            known.said.push((value.to_owned(), place));
        }
    }

    /// Wrong values of the same type as that of `key`, which must be known.
    pub fn near(&mut self, key: &str, near: impl IntoIterator<Item = String>) {
        self.known.get_mut(key).expect("stated before").near.extend(near);
    }

    /// Nobody asks for `key` any more: there is no such thing now.
    pub fn forget(&mut self, key: &str) {
        self.known.remove(key);
    }

    /// Adds a question.
    pub fn ask(&mut self, question: PlannedQuestion) {
        self.questions.push(question);
    }

    /// Puts at most `most` of them to the session, as evenly over the kinds as
    /// there are enough.
    pub fn settle(self, script: &mut Script, random: &mut Stream, most: usize) {
        let mut by_kind: BTreeMap<QuestionKind, Vec<Ask>> = BTreeMap::new();
        for question in self.questions {
            by_kind.entry(question.kind).or_default().push(Ask::PlannedQuestion(question));
        }
        for known in self.known.into_values() {
            let kind = if known.said.len() > 1 && known.kind != QuestionKind::Snapshot {
                QuestionKind::Update
            } else {
                known.kind
            };
            by_kind.entry(kind).or_default().push(Ask::Known(known));
        }
        for asks in by_kind.values_mut() {
            random.shuffle(asks);
        }
        let mut put = 0;
        while put < most && by_kind.values().any(|asks| !asks.is_empty()) {
            for asks in by_kind.values_mut() {
                let Some(ask) = asks.pop() else { continue };
                put += ask.put(script);
            }
        }
    }
}

enum Ask {
    PlannedQuestion(PlannedQuestion),
    Known(Known),
}

impl Ask {
    /// The number of questions that came of it, about.
    fn put(self, script: &mut Script) -> usize {
        let known = match self {
            Ask::PlannedQuestion(question) => {
                script.ask(question);
                return 1;
            }
            Ask::Known(known) => known,
        };
        if known.kind == QuestionKind::Snapshot {
            let (value, place) = known.said.last().expect("stated at least once");
            let older = known.said.iter().map(|(older, _)| older).filter(|older| *older != value);
            let question = PlannedQuestion::any_of(known.kind, &known.wordings[0], [value]);
            script.ask(question.from(&[*place]).stale(older).near(known.near).late());
            return 1;
        }
        let fact = script.fact(Fact::new(known.kind, known.wordings).near(known.near));
        for (value, place) in &known.said {
            script.state(fact, value, *place);
        }
        known.said.len()
    }
}
