//! Decides whether a context still states what a question expects, independently
//! of any answerer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use rustc_hash::FxHashMap;

use recap_core::model::{Expectation, MessageIndex, QuestionFacts, Snapshot, SnapshotPart};
use recap_exam::roles::judge::{Haystack, Sought};

/// Finds the values of a session's questions in texts. Each message is parsed
/// once and searched once for each value, however many contexts there are.
pub(super) struct Stated {
    messages: Vec<Arc<str>>,
    read: OnceLock<Vec<Haystack>>,
    /// Parsed texts that strategies wrote, by hash.
    written: Mutex<FxHashMap<String, Arc<Haystack>>>,
    /// The values that each question expects; `None` if its expectation is not a
    /// value.
    values: Vec<Option<Vec<Value>>>,
    /// The first message that answers each question: what says its value before,
    /// as a call does that offers it among others, does not yet say the answer.
    answered_from: Vec<MessageIndex>,
}

/// One acceptable value: its parts, and how many of them a context must state.
struct Value {
    parts: Vec<SearchedPart>,
    needed: usize,
}

/// One part of a value, and the messages that state it.
struct SearchedPart {
    sought: Sought,
    messages: OnceLock<Vec<MessageIndex>>,
}

impl Stated {
    /// Nothing is parsed until a context is looked at.
    pub fn new<'a>(
        messages: Vec<Arc<str>>,
        questions: impl IntoIterator<Item = &'a QuestionFacts>,
    ) -> Self {
        let each = questions.into_iter().map(|facts| {
            (values(&facts.question.expect), facts.evidence.first().copied().unwrap_or(0))
        });
        let (values, answered_from) = each.unzip();
        Self { messages, read: OnceLock::new(), written: Mutex::default(), values, answered_from }
    }

    /// Whether a context states what a question expects; `None` if the expectation
    /// is not a value (how-it-works §32). The parts of a list may be in several
    /// messages.
    pub fn answerable(
        &self,
        question: u32,
        snapshot: &Snapshot,
        texts: &BTreeMap<String, String>,
    ) -> Option<bool> {
        let values = self.values[question as usize].as_ref()?;
        let begin = self.answered_from[question as usize];
        Some(values.iter().any(|value| {
            let stated = value.parts.iter().filter(|part| self.says(part, begin, snapshot, texts));
            stated.take(value.needed).count() == value.needed
        }))
    }

    fn says(
        &self,
        part: &SearchedPart,
        begin: MessageIndex,
        snapshot: &Snapshot,
        texts: &BTreeMap<String, String>,
    ) -> bool {
        let messages = part.messages.get_or_init(|| self.messages_that_say(&part.sought));
        snapshot.parts.iter().any(|shown| match shown {
            SnapshotPart::Messages { from, to } => {
                let first = messages.partition_point(|message| message < from.max(&begin));
                messages.get(first).is_some_and(|message| message < to)
            }
            SnapshotPart::Edited { message, .. } if *message < begin => false,
            SnapshotPart::Edited { text, .. } | SnapshotPart::Written { text, .. } => {
                self.written(text, texts).states(&part.sought)
            }
        })
    }

    fn messages_that_say(&self, sought: &Sought) -> Vec<MessageIndex> {
        let read = || self.messages.iter().map(|text| Haystack::new(text)).collect();
        let haystacks = (0..).zip(self.read.get_or_init(read));
        haystacks.filter(|(_, text)| text.states(sought)).map(|(message, _)| message).collect()
    }

    fn written(&self, hash: &str, texts: &BTreeMap<String, String>) -> Arc<Haystack> {
        let mut known = self.written.lock().expect("no holder panics");
        if let Some(haystack) = known.get(hash) {
            return Arc::clone(haystack);
        }
        let haystack = Arc::new(Haystack::new(&texts[hash]));
        known.insert(hash.to_owned(), Arc::clone(&haystack));
        haystack
    }
}

/// The values that a context can state; `None` for a rubric, for yes and no,
/// and for what cannot be known.
fn values(expect: &Expectation) -> Option<Vec<Value>> {
    let sought = expect.alternatives().iter().map(|value| Sought::new(value));
    let open = sought.filter(|value| !value.is_yes_no() && !value.is_empty());
    let values: Vec<Value> = open
        .map(|value| {
            let parts = value.parts().into_iter();
            let parts: Vec<SearchedPart> =
                parts.map(|sought| SearchedPart { sought, messages: OnceLock::new() }).collect();
            Value { needed: Sought::needed(parts.len()), parts }
        })
        .collect();
    (!values.is_empty()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::{Question, QuestionKind, Role};

    fn stated(messages: &[&str], expect: Expectation) -> Stated {
        let question = Question {
            id: "p".into(),
            session: "t".into(),
            asked_at: 0,
            kind: QuestionKind::Fact,
            question: "Which?".into(),
            expect,
            evidence: Vec::new(),
            stale: Vec::new(),
        };
        let facts = QuestionFacts { question, request: 0, evidence: Vec::new(), age_tokens: None };
        Stated::new(messages.iter().map(|text| Arc::from(*text)).collect(), &[facts])
    }

    fn shown(parts: Vec<SnapshotPart>) -> Snapshot {
        Snapshot { request: 0, tokens: 0, overflow: false, compactions: 0, parts }
    }

    fn value(text: &str) -> Expectation {
        Expectation::AnyOf(vec![text.into()])
    }

    const NO_TEXTS: BTreeMap<String, String> = BTreeMap::new();

    #[test]
    fn value_is_stated_while_any_message_has_it() {
        let stated = stated(&["Hello.", "The port is 8443.", "Thanks."], value("8443"));
        let in_range = |from, to| {
            stated.answerable(0, &shown(vec![SnapshotPart::Messages { from, to }]), &NO_TEXTS)
        };
        assert_eq!(in_range(0, 3), Some(true));
        assert_eq!(in_range(1, 2), Some(true));
        assert_eq!(in_range(0, 1), Some(false));
        assert_eq!(in_range(2, 3), Some(false));
        assert_eq!(stated.answerable(0, &shown(Vec::new()), &NO_TEXTS), Some(false));
    }

    #[test]
    fn value_said_before_first_evidence_is_only_offered() {
        let mut stated = stated(&["SQLite or Postgres?", "SQLite.", "Next."], value("SQLite"));
        stated.answered_from = vec![1];
        let shown_as = |parts| stated.answerable(0, &shown(parts), &NO_TEXTS);
        assert_eq!(shown_as(vec![SnapshotPart::Messages { from: 0, to: 1 }]), Some(false));
        assert_eq!(shown_as(vec![SnapshotPart::Messages { from: 0, to: 2 }]), Some(true));
        let texts = BTreeMap::from([("cut".to_owned(), "SQLite or".to_owned())]);
        let edited = |message| shown(vec![SnapshotPart::Edited { message, text: "cut".into() }]);
        assert_eq!(stated.answerable(0, &edited(0), &texts), Some(false));
        assert_eq!(stated.answerable(0, &edited(1), &texts), Some(true));
    }

    #[test]
    fn a_denied_value_is_not_stated() {
        let stated = stated(&["The port is not 8443."], value("8443"));
        let all = shown(vec![SnapshotPart::Messages { from: 0, to: 1 }]);
        assert_eq!(stated.answerable(0, &all, &NO_TEXTS), Some(false));
    }

    #[test]
    fn written_texts_and_edited_messages_count_as_sent() {
        let stated = stated(&["The port is 8443."], value("8443"));
        let texts = BTreeMap::from([
            ("summary".to_owned(), "They chose port 8443.".to_owned()),
            ("cleared".to_owned(), "[cleared]".to_owned()),
        ]);
        let written = SnapshotPart::Written { role: Role::User, text: "summary".into() };
        let edited = SnapshotPart::Edited { message: 0, text: "cleared".into() };
        assert_eq!(stated.answerable(0, &shown(vec![written.clone()]), &texts), Some(true));
        assert_eq!(stated.answerable(0, &shown(vec![edited.clone()]), &texts), Some(false));
        assert_eq!(stated.answerable(0, &shown(vec![edited, written]), &texts), Some(true));
    }

    #[test]
    fn parts_of_list_may_be_in_several_messages() {
        let messages = ["We bought a kite.", "And a drum.", "And a violin."];
        let stated = stated(&messages, value("kite, drum, violin"));
        let in_range = |from, to| {
            stated.answerable(0, &shown(vec![SnapshotPart::Messages { from, to }]), &NO_TEXTS)
        };
        // Two thirds of three parts are two parts.
        assert_eq!(in_range(0, 2), Some(true));
        assert_eq!(in_range(0, 1), Some(false));
    }

    #[test]
    fn rubrics_booleans_and_unknown_answers_have_no_value() {
        let all = shown(vec![SnapshotPart::Messages { from: 0, to: 1 }]);
        for expect in [
            Expectation::Rubric(vec!["8443".into()]),
            Expectation::Unanswerable,
            value("Yes"),
            value("…"),
        ] {
            assert_eq!(stated(&["Yes, 8443."], expect).answerable(0, &all, &NO_TEXTS), None);
        }
    }
}
