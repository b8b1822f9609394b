//! What a session of Gemini CLI said, and what it sent to its model at the time.
//!
//! The event-sourced form repeats a message whenever something was added to
//! it. `$rewindTo` undoes a message and all that follow it. `$set` with
//! `messages` replaces what the model is sent: it adds the first messages, drops
//! those of a turn that was cancelled, puts a summary in the place of messages
//! (with new ids for all that it keeps), or shortens old results. Read from
//! google-gemini/gemini-cli, `packages/core/src/services`.

use std::ops::Range;
use std::rc::Rc;

use super::{Arrived, Call, Outcome, Results, Turn, calls, usage};
use crate::formats::content::list;
use crate::formats::prelude::*;

/// What stands in a context in front of the newest turns.
#[derive(Clone)]
pub(super) enum Slot {
    /// A turn of the log.
    Turn(usize),
    /// A text that a compression put there, with its id.
    Text(Rc<Turn>),
}

/// A change of what is sent, after `after` turns.
pub(super) struct Boundary {
    pub(super) after: usize,
    /// First turn of those that are sent behind `front`.
    pub(super) run: usize,
    pub(super) front: Rc<Vec<Slot>>,
    /// The texts that were put in the place of turns; absent where results
    /// were shortened, and nothing else.
    pub(super) folded: Option<String>,
    /// Calls whose results were shortened: turn and position in it.
    pub(super) cleared: Vec<(usize, usize)>,
    pub(super) at: Option<Timestamp>,
}

/// The log of a session so far.
#[derive(Default)]
pub(super) struct Log {
    /// What the session says about itself: the hash of its folder's path, ids and folders.
    pub(super) project: Option<String>,
    pub(super) metadata: Option<String>,
    pub(super) directories: Vec<String>,
    pub(super) turns: Vec<Turn>,
    pub(super) boundaries: Vec<Boundary>,
    /// Counts what was left out.
    pub(super) draft: Draft,
    /// Turn of each message. A note has that of the next turn.
    by_id: FxHashMap<String, usize>,
    /// Turn and position of each call.
    calls: FxHashMap<String, (usize, usize)>,
    /// What is sent: `front`, then the turns from `run` on.
    front: Rc<Vec<Slot>>,
    run: usize,
    cleared: Vec<(usize, usize)>,
    /// Calls whose results were shortened before.
    short: FxHashSet<String>,
}

/// The reason for turns that were undone.
pub(super) const ABANDONED: &str = "message that was undone";

impl Log {
    /// Takes a line of the event-sourced form: the session's own data or what changes of
    /// it, a message or a newer version of the one with the same id, fields that replace
    /// those of a message, or the message that is undone with all that follow it.
    pub(super) fn record(&mut self, mut record: Fields) -> Result<(), Problem> {
        if let Some(id) = record.take::<String>("/$rewindTo")? {
            self.rewind(&id);
        } else if let Some(session) = record.take("/$set")? {
            self.session(Fields(session))?;
        } else if let Some(patch) = record.take("/$patch")? {
            self.patch(Fields(patch))?;
        } else if record.text("/id").is_some() {
            self.message(record.0)?;
        } else if record.text("/sessionId").is_some() {
            self.session(record)?;
        } else {
            self.draft.leave_out("unknown record", 1);
        }
        Ok(())
    }

    pub(super) fn session(&mut self, mut session: Fields) -> Result<(), Problem> {
        let at = session.take("/lastUpdated")?;
        let messages: Option<Vec<Json>> = session.take("/messages")?;
        self.metadata = session.take("/sessionId")?.or(self.metadata.take());
        self.project = session.take("/projectHash")?.or(self.project.take());
        if let Some(directories) = session.take("/directories")? {
            self.directories = directories;
        }
        if let Some(messages) = messages {
            self.send(messages, at)?;
            self.shortened(at);
        }
        Ok(())
    }

    fn message(&mut self, message: Json) -> Result<(), Problem> {
        let at = message.get("timestamp").and_then(Json::as_str).and_then(|at| at.parse().ok());
        match Arrived::read(message)? {
            Arrived::Note { kind, id } => self.note(&kind, id),
            Arrived::Said(turn, results) => {
                self.respond(results);
                let known = turn.as_ref().and_then(|turn| self.place(turn.id.as_ref()?));
                match (turn, known) {
                    (Some(turn), Some(at)) => self.replace(at, *turn),
                    (Some(turn), None) => self.push(*turn),
                    (None, _) => {}
                }
            }
        }
        self.shortened(at);
        Ok(())
    }

    /// A note, which is counted once.
    fn note(&mut self, kind: &str, id: Option<String>) {
        let is_new = id.is_none_or(|id| self.by_id.insert(id, self.turns.len()).is_none());
        self.draft.leave_out(format!("{kind} message"), is_new.into());
    }

    /// The turn with this id.
    fn place(&self, id: &str) -> Option<usize> {
        let at = *self.by_id.get(id)?;
        (self.turns.get(at)?.id.as_deref() == Some(id)).then_some(at)
    }

    /// The turn or the text of a summary with this id.
    fn known(&self, id: &str) -> Option<&Turn> {
        let put = self.front.iter().find_map(|slot| match slot {
            Slot::Text(turn) if turn.id.as_deref() == Some(id) => Some(&**turn),
            _ => None,
        });
        put.or_else(|| self.turns.get(self.place(id)?))
    }

    fn push(&mut self, turn: Turn) {
        let at = self.turns.len();
        self.by_id.extend(turn.id.clone().map(|id| (id, at)));
        let calls = turn.calls.iter().enumerate();
        self.calls.extend(calls.map(|(n, call)| (call.id.clone(), (at, n))));
        self.turns.push(turn);
    }

    /// Takes the newer version of a turn. Results that it leaves out stay.
    fn replace(&mut self, at: usize, mut new: Turn) {
        let calls = std::mem::take(&mut new.calls);
        let old = std::mem::replace(&mut self.turns[at], new);
        let is_lost = !self.turns[at].repeats(&calls, &old);
        self.draft.leave_out("earlier version of a message", is_lost.into());
        let position = |(n, call): (usize, &Call)| (call.id.clone(), n);
        let mut known: FxHashMap<String, usize> =
            old.calls.iter().enumerate().map(position).collect();
        let mut before: Vec<Option<Call>> = old.calls.into_iter().map(Some).collect();
        for mut call in calls {
            let outcome = call.outcome.take();
            let earlier = known.remove(&call.id).and_then(|n| before[n].take());
            let id = call.id.clone();
            self.add(at, Call { outcome: earlier.and_then(|call| call.outcome), ..call });
            self.outcome(&id, outcome);
        }
    }

    fn add(&mut self, at: usize, call: Call) {
        self.calls.insert(call.id.clone(), (at, self.turns[at].calls.len()));
        self.turns[at].calls.push(call);
    }

    fn patch(&mut self, mut patch: Fields) -> Result<(), Problem> {
        let id: String = patch.need("/id")?;
        let content: Option<Json> = patch.take("/content")?;
        let (calls, used) = (calls(&mut patch)?, usage(&mut patch)?);
        let model: Option<String> = patch.take("/model")?;
        for mut call in calls {
            let (made, outcome) = (call.id.clone(), call.outcome.take());
            if let (Some(at), None) = (self.place(&id), self.made(&made)) {
                self.add(at, call);
            }
            self.outcome(&made, outcome);
        }
        if let Some(at) = self.place(&id) {
            let turn = &mut self.turns[at];
            turn.usage = used.or(turn.usage);
            turn.model = model.or(turn.model.take());
            if let Some(content) = content {
                let before = std::mem::take(&mut turn.blocks);
                let results = turn.take(list(content))?;
                let is_lost = !turn.text().contains(&recap_core::model::sent(&before));
                self.draft.leave_out("earlier version of a message", is_lost.into());
                self.respond(results);
            }
        } else {
            self.draft.leave_out("change of an unknown message", 1);
        }
        self.shortened(None);
        Ok(())
    }

    /// Undoes a message and all that follow it; without such a message, all.
    fn rewind(&mut self, id: &str) {
        let put = self.front.iter().position(|slot| match slot {
            Slot::Text(turn) => turn.id.as_deref() == Some(id),
            Slot::Turn(_) => false,
        });
        if let (Some(at), Some(last)) = (put, self.boundaries.last()) {
            let after = last.after;
            self.cut(after);
            self.front = Rc::new(self.front[..at].to_vec());
            self.run = after;
        } else {
            let from = self.by_id.get(id).copied().unwrap_or(0);
            self.cut(from.min(self.turns.len()));
        }
    }

    fn cut(&mut self, from: usize) {
        let gone = self.turns.split_off(from);
        self.draft.leave_out(ABANDONED, gone.len() as u64);
        for id in gone.into_iter().filter_map(|turn| turn.id) {
            self.by_id.remove(&id);
        }
        let mut undone = false;
        while self.boundaries.last().is_some_and(|boundary| boundary.after > from) {
            self.boundaries.pop();
            undone = true;
        }
        if undone {
            let last = self.boundaries.last();
            self.front = last.map_or_else(Rc::default, |boundary| Rc::clone(&boundary.front));
            self.run = last.map_or(0, |boundary| boundary.run);
        }
        self.run = self.run.min(from);
    }

    /// Where a call stands that was not undone.
    fn made(&self, call: &str) -> Option<(usize, usize)> {
        let (at, n) = *self.calls.get(call)?;
        let known = self.turns.get(at)?.calls.get(n)?;
        (known.id == call).then_some((at, n))
    }

    fn respond(&mut self, results: Results) {
        for (call, outcome) in results {
            if self.made(&call).is_some() {
                self.outcome(&call, Some(outcome));
            } else {
                self.draft.leave_out("result without a call", 1);
            }
        }
    }

    /// Takes what a call returned. Once something was said after it, another
    /// text is a shortened one.
    fn outcome(&mut self, id: &str, outcome: Option<Outcome>) {
        let (Some(new), Some((at, n))) = (outcome, self.made(id)) else { return };
        let is_old = at + 1 < self.turns.len();
        match &mut self.turns[at].calls[n].outcome {
            Some(old) if old.0.text == new.0.text => {}
            Some(old) if is_old => {
                let is_lost = new.0.text.len() > old.0.text.len();
                self.draft.leave_out("later result of a call", is_lost.into());
                if self.short.insert(id.to_owned()) {
                    self.cleared.push((at, n));
                }
            }
            slot => {
                let before = slot.replace(new);
                self.draft.leave_out("earlier result of a call", before.is_some().into());
            }
        }
    }

    /// Records results that were shortened since the last event.
    fn shortened(&mut self, at: Option<Timestamp>) {
        if self.cleared.is_empty() {
            return;
        }
        let cleared = std::mem::take(&mut self.cleared);
        self.boundaries.push(Boundary {
            after: self.turns.len(),
            run: self.run,
            front: Rc::clone(&self.front),
            folded: None,
            cleared,
            at,
        });
    }
}

// What is sent is replaced.
impl Log {
    /// Number of turns and texts that are sent.
    fn sent(&self) -> usize {
        self.front.len() + self.turns.len() - self.run
    }

    fn slot(&self, at: usize) -> Slot {
        match self.front.get(at) {
            Some(slot) => slot.clone(),
            None => Slot::Turn(self.run + at - self.front.len()),
        }
    }

    fn holds(&self, at: usize, turn: &Turn) -> bool {
        match self.slot(at) {
            Slot::Turn(index) => self.turns[index].is(turn),
            Slot::Text(put) => put.is(turn),
        }
    }

    /// Takes a list of everything that is sent from now on.
    fn send(&mut self, messages: Vec<Json>, at: Option<Timestamp>) -> Result<(), Problem> {
        let (mut turns, mut results) = (Vec::new(), Vec::new());
        for (number, message) in messages.into_iter().enumerate() {
            let read = Arrived::read(message);
            match read.map_err(|one| below(&format!("/messages[{number}]"), one))? {
                Arrived::Said(turn, more) => {
                    results.extend(more);
                    let Some(mut turn) = turn else { continue };
                    // It may be one that is known already, or a text of a summary.
                    let odd = std::mem::take(&mut turn.left_out);
                    odd.into_iter().for_each(|reason| self.draft.leave_out(reason, 1));
                    let known = turn.id.as_ref().and_then(|id| self.known(id));
                    let is_lost = known.is_some_and(|own| !own.text().contains(&turn.text()));
                    self.draft.leave_out("other version of a message", is_lost.into());
                    turns.push(*turn);
                }
                Arrived::Note { kind, id } => self.note(&kind, id),
            }
        }
        self.take_back(&turns);
        let most = self.sent().min(turns.len());
        let head = (0..most).take_while(|&n| self.holds(n, &turns[n])).count();
        let back = |n: usize, of: usize| of - 1 - n;
        let tail = (0..most - head)
            .take_while(|&n| self.holds(back(n, self.sent()), &turns[back(n, turns.len())]))
            .count();
        let mut kept = turns;
        let last = kept.split_off(kept.len() - tail);
        let new = kept.split_off(head);
        let removed = head..self.sent() - tail;
        let calls: Vec<Call> = kept.into_iter().chain(last).flat_map(|turn| turn.calls).collect();
        self.change(removed, new, tail, at);
        for call in calls {
            self.outcome(&call.id, call.outcome);
        }
        results.retain(|(call, _)| self.made(call).is_some());
        self.respond(results);
        let folded = self.boundaries.last().is_some_and(|last| {
            last.after == self.turns.len() && last.folded.is_some() && !self.cleared.is_empty()
        });
        if folded {
            // A compression shortens results of what it keeps, too.
            let shortened = std::mem::take(&mut self.cleared).len();
            self.draft.leave_out("result that a compaction shortened", shortened as u64);
        }
        Ok(())
    }

    /// A summary may have been recorded as a message before it was put in front
    /// of what it keeps: it is no turn.
    fn take_back(&mut self, turns: &[Turn]) {
        let ids = turns.iter().enumerate().filter_map(|(n, turn)| Some((turn.id.as_deref()?, n)));
        let listed: FxHashMap<&str, usize> = ids.collect();
        let newest = turns.last().and_then(|turn| self.place(turn.id.as_deref()?));
        while let (Some(turn), Some(newest)) = (self.turns.last(), newest) {
            let moved = turn.usage.is_none()
                && turn.id.as_deref().is_some_and(|id| listed.contains_key(id))
                && newest + 1 < self.turns.len()
                && self.run < self.turns.len();
            if !moved {
                return;
            }
            let id = self.turns.pop().and_then(|turn| turn.id);
            if let Some(id) = id {
                self.by_id.remove(&id);
            }
        }
    }

    /// Puts new turns in the place of others; `tail` of those behind stay.
    fn change(
        &mut self,
        removed: Range<usize>,
        new: Vec<Turn>,
        tail: usize,
        at: Option<Timestamp>,
    ) {
        if removed.is_empty() && new.is_empty() {
            return;
        }
        let is_answer = |slot: Slot| match slot {
            Slot::Turn(index) => self.turns[index].role == Role::Assistant,
            Slot::Text(_) => true,
        };
        if removed.clone().any(|n| is_answer(self.slot(n))) {
            return self.fold(removed, new, tail, at);
        }
        let is_within = tail > 0 && self.turns.iter().any(|turn| turn.role == Role::Assistant);
        if is_within || removed.start < self.front.len() {
            self.draft.leave_out("text that was put between messages", new.len() as u64);
            return;
        }
        // The first messages, or those of a turn that was cancelled.
        let rest = self.turns.split_off(self.turns.len() - tail);
        if !removed.is_empty() {
            self.cut(self.run + removed.start - self.front.len());
        }
        new.into_iter().chain(rest).for_each(|turn| self.push(turn));
    }

    /// A compression.
    fn fold(&mut self, removed: Range<usize>, new: Vec<Turn>, tail: usize, at: Option<Timestamp>) {
        let texts = |all: bool| {
            let own = new.iter().filter(|turn| all || turn.role == Role::User);
            own.map(Turn::text).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        };
        let folded =
            Some(texts(false)).filter(|text| !text.is_empty()).unwrap_or_else(|| texts(true));
        let at = new.first().and_then(|turn| turn.at).or(at);
        let mut front: Vec<Slot> = (0..removed.start).map(|n| self.slot(n)).collect();
        front.extend(new.into_iter().map(|turn| Slot::Text(Rc::new(turn))));
        front.extend((removed.end..self.front.len()).map(|n| self.slot(n)));
        self.run = self.run.max(self.turns.len() - tail.min(self.turns.len()));
        self.front = Rc::new(front);
        self.boundaries.push(Boundary {
            after: self.turns.len(),
            run: self.run,
            front: Rc::clone(&self.front),
            folded: Some(folded),
            cleared: Vec::new(),
            at,
        });
    }
}
