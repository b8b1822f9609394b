//! What a strategy's own texts say of facts, for a judge to check.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use super::part::CutSegment;
use crate::PreparedSession;
use recap_core::model::{CutExam, Reference, ReferenceState};
use recap_core::text::around;
use recap_exam::roles::judge::{Judge, Statement};
use recap_strategy::Context;

/// Characters on either side of a name that a judge sees.
const SEEN: usize = 300;

/// The strategy's own text that names a fact, and where: where it says something of it, if
/// anywhere.
pub fn carrier(
    fact: usize,
    context: &Context,
    subject: &PreparedSession,
) -> Option<(String, Range<usize>)> {
    let entries = context.visible().filter_map(|id| context.entry(id));
    let own = entries.filter(|entry| entry.edited || entry.id.index().is_none());
    let written = own.map(|entry| entry.text);
    let notes = context.notes().map(|(_, note)| note.into());
    let texts: Vec<Cow<'_, str>> = written.chain(notes).collect();
    let survival = &subject.survival;
    let stated = texts.iter().find_map(|text| Some((text, survival.stated_in(fact, text)?)));
    let named = || texts.iter().find_map(|text| Some((text, survival.place_in(fact, text)?)));
    stated.or_else(named).map(|(text, place)| (text.to_string(), place))
}

/// What the contexts behind a cut say of its facts, each at the request that uses it.
#[derive(Default)]
pub(crate) struct Statements(BTreeMap<usize, Statement>);

impl Statements {
    /// Takes in the context of a request.
    pub(crate) fn read(&mut self, request: u32, context: &Context, part: &CutSegment) {
        let subject = part.subject();
        let facts = subject.facts.exam.references.iter().enumerate();
        for (at, fact) in facts.filter(|(_, fact)| part.request_of(fact.request) == request) {
            if let Some((text, place)) = carrier(at, context, subject) {
                let summary = excerpt(&text, &place);
                let source = source(at, fact, subject);
                self.0.insert(at, Statement { name: fact.text.clone(), source, summary });
            }
        }
    }

    /// Lets a judge check the facts that are carried by the rule of words: one of which nothing
    /// true is said is bare.
    pub(crate) async fn check(self, exam: &mut CutExam, judge: &dyn Judge) {
        let is_carried = |at: &usize| exam.states.get(*at) == Some(&ReferenceState::Carried);
        let (places, statements): (Vec<usize>, Vec<Statement>) =
            self.0.into_iter().filter(|(at, _)| is_carried(at)).unzip();
        if statements.is_empty() {
            return;
        }
        match judge.check(&statements).await {
            Ok(None) => {}
            Ok(Some(truths)) => {
                for (at, _) in places.iter().zip(truths).filter(|(_, is_true)| !is_true) {
                    exam.states[*at] = ReferenceState::Bare;
                }
            }
            Err(_) => exam.unchecked = places.len() as u32,
        }
    }
}

/// The text around a place.
fn excerpt(text: &str, place: &Range<usize>) -> String {
    let (before, after) = around(text, place, SEEN);
    format!("{before}{}{after}", &text[place.clone()])
}

/// The last place in the recording at which a fact stood before the cut.
fn source(at: usize, fact: &Reference, subject: &PreparedSession) -> String {
    let message = subject.recording.session.messages[fact.last_seen as usize].sent();
    let place = subject.survival.place_in(at, &message);
    place.map_or_else(String::new, |place| excerpt(&message, &place))
}
