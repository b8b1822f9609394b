//! The prompt that a provider is sent for a context, updated request by
//! request.
//!
//! Only changes since the last update are processed: a context remembers the
//! stale slots, and each slot is a position in the prompt. So a growing
//! conversation costs its new messages, and a moving window the messages that
//! leave and enter it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;

use super::Context;
use super::entry::{AllHidden, EntryId, Note};
use crate::strategy::Breakpoint;
use recap_billing::prompt_cache::{Blocks, Life, Piece, Prompt, Unit};
use recap_core::model::{Block, Role};

/// The prompt of one context.
#[derive(Clone, Debug, Default)]
pub struct Sent {
    prompt: Prompt,
    /// Tokens of the hidden preamble that survive a restart; `None`: all.
    global: Option<u64>,
    /// Number of blocks of the preamble that survive a restart: tools and system prompt.
    pub(super) base: usize,
    /// Blocks of tools, system prompt and notes.
    system: usize,
    /// State of the context at the last update.
    seen: Seen,
    /// The prompt of the last request, and how many of its leading blocks are unchanged.
    last: Prompt,
    intact: usize,
    /// Whether the recorded system prompt changed since the last request.
    foreign: bool,
    /// Position of the newest breakpoint of the last request.
    newest: Option<usize>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    /// Revision of the preamble; `None` before the first update.
    preamble: Option<u64>,
    /// Tokens of the system prompt, and the number of its changes.
    system: (u64, usize),
    notes: SeenNotes,
    hidden: Arc<AllHidden>,
}

/// The number of notes, and the newest revision of any of them.
#[derive(Clone, Copy, Debug, Default)]
struct SeenNotes {
    count: usize,
    revision: u32,
}

impl SeenNotes {
    /// The number of notes added since, if they are last and nothing else has
    /// changed.
    fn added(self, context: &Context) -> Option<usize> {
        let texts = context.note_keys.range(self.revision + 1..).count();
        let newest = context.notes.values().rev().take(texts);
        let all_new = newest.into_iter().all(|note| note.revision > self.revision);
        (context.notes.len() == self.count + texts && all_new).then_some(texts)
    }
}

/// How a request's prompt differs from the one before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Tokens of the common prefix.
    pub common_prefix: u64,
    /// Whether that prefix is shorter than the prompt before for a reason other
    /// than a new system prompt in the recording.
    pub broken: bool,
}

impl Sent {
    /// Nothing sent yet. `global`: tokens of the hidden preamble that survive a
    /// restart, where that is known.
    pub fn new(global: Option<u64>) -> Self {
        Self { global, ..Self::default() }
    }

    /// The prompt as last updated.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// Tokens at the front that other sessions may keep in the cache: the
    /// preamble, up to the first note, which no other session has. Before the
    /// first request it is everything: the session may go on with another.
    pub fn shared(&self) -> u64 {
        if self.last.is_empty() {
            return self.prompt.tokens();
        }
        let blocks = if self.seen.notes.count == 0 { self.head() } else { self.base };
        self.prompt.end(blocks)
    }

    /// Blocks of the whole preamble, with what harnesses put in front of the
    /// conversation.
    pub fn head(&self) -> usize {
        self.prompt.len() - self.prompt.body_len()
    }

    /// Updates the prompt to the context.
    pub fn update(&mut self, context: &mut Context) {
        if self.seen.preamble != Some(context.preamble_changes) {
            self.update_head(context);
        }
        let stale = std::mem::take(&mut context.stale);
        if self.seen.preamble.is_none() || stale.all {
            self.set_anew(context);
        } else {
            let hidden = self.newly_hidden(context);
            stale.slots.into_iter().chain(hidden).for_each(|slot| self.update_slot(context, slot));
        }
        for slot in self.prompt.body().places()..context.slots.order().len() {
            self.prompt.body_mut().push(context.piece(slot));
        }
        self.intact = self.last.common(&self.prompt);
        self.foreign |= self.seen.preamble.is_some() && self.seen.system.1 != context.next_preamble;
        self.seen = Seen {
            preamble: Some(context.preamble_changes),
            system: (context.system().0, context.next_preamble),
            hidden: Arc::clone(&context.all_hidden),
            ..self.seen
        };
    }

    /// Advances to the next request. `billed`: whether this one was sent
    /// completely, so that its breakpoints count.
    pub fn step(&mut self, billed: bool) -> Step {
        let step = Step {
            common_prefix: self.prompt.end(self.intact),
            broken: self.intact < self.last.len() && !self.foreign,
        };
        self.last = self.prompt.clone();
        self.intact = self.last.len();
        self.foreign = false;
        if billed {
            self.newest = self.intact.checked_sub(1);
        }
        step
    }

    /// The blocks after which a plan sets breakpoints. `pruned`: the last entry
    /// whose tool output was considered for pruning.
    pub fn places(
        &self,
        context: &Context,
        plan: &[Breakpoint],
        pruned: Option<EntryId>,
    ) -> Vec<usize> {
        if let Some(set) = &context.breakpoints {
            let place = |entry: &Option<EntryId>| match entry {
                Some(id) => self.block_of(context, *id),
                None => self.system.checked_sub(1),
            };
            return set.iter().filter_map(place).collect();
        }
        let newest = self.prompt.len().checked_sub(1);
        let mut places: Vec<usize> = Vec::with_capacity(4);
        for breakpoint in plan {
            match breakpoint {
                Breakpoint::Preamble => {
                    places.extend(self.base.checked_sub(1));
                    places.extend(self.system.checked_sub(1));
                }
                Breakpoint::Head => places.extend(self.head().checked_sub(1)),
                Breakpoint::Summary => {
                    let run = self.leading_synthetic(context);
                    places.extend(Some(run).filter(|&n| n > 0).map(|n| self.head() + n - 1));
                }
                Breakpoint::PruneBoundary => {
                    places.extend(pruned.and_then(|id| self.block_of(context, id)));
                }
                Breakpoint::Previous => places.extend(self.newest.filter(|&at| at < self.intact)),
                Breakpoint::Newest => places.extend(newest),
            }
        }
        places
    }

    /// Sets breakpoints after these blocks, and no others. `life`: the lifetime
    /// of their cache entries.
    pub fn mark(&mut self, places: &[usize], life: Life) {
        self.prompt.mark_only(places, life);
    }

    /// Updates a slot.
    fn update_slot(&mut self, context: &Context, slot: usize) {
        let body = self.prompt.body_mut();
        if slot >= body.places() {
            return;
        }
        let new = context.piece(slot);
        if body.at(slot) != new {
            body.set(slot, new);
        }
    }

    /// Slots of entries that were newly hidden or shown.
    fn newly_hidden(&self, context: &Context) -> impl Iterator<Item = usize> + use<> {
        let slot = |message| match message {
            0 => 0,
            message => context.slots.first_from(message),
        };
        let (now, seen) = (&context.all_hidden, &self.seen.hidden);
        let by_place = if now.before == seen.before {
            0..0
        } else {
            slot(now.before.min(seen.before))..slot(now.before.max(seen.before))
        };
        let mut by_name = Vec::new();
        if now != seen {
            let named = now.named_otherwise(seen);
            by_name.extend(named.filter_map(|id| context.slots.of(id)));
        }
        by_place.chain(by_name)
    }

    /// Updates every slot, as if for the first time.
    fn set_anew(&mut self, context: &Context) {
        let mut body = Blocks::default();
        (0..context.slots.order().len()).for_each(|slot| body.push(context.piece(slot)));
        *self.prompt.body_mut() = body;
    }

    /// Number of blocks by strategies before the recorded messages.
    fn leading_synthetic(&self, context: &Context) -> usize {
        let slots = (0..).map_while(|block| self.prompt.body().place_of(block));
        slots.take_while(|&slot| context.slots.order()[slot].index().is_none()).count()
    }

    /// The block of an entry, or the last one before it.
    fn block_of(&self, context: &Context, id: EntryId) -> Option<usize> {
        let slot = context.slots.of(id)?;
        let blocks = self.prompt.body().before(slot + 1);
        Some(blocks).filter(|&n| n > 0).map(|n| self.head() + n - 1)
    }

    /// Updates the preamble: only the added notes, or all of it.
    fn update_head(&mut self, context: &Context) {
        let system = (context.system().0, context.next_preamble);
        let added = self.seen.notes.added(context);
        match added.filter(|_| self.seen.preamble.is_some() && self.seen.system == system) {
            Some(added) => self.add_notes(context, added),
            None => self.set_head_anew(context),
        }
        let notes = context.notes.len();
        self.system = self.prompt.head().before(BASE + notes);
        self.seen.notes = SeenNotes { count: notes, revision: context.revisions };
    }

    /// Inserts the newest notes between the others and the blocks after them.
    fn add_notes(&mut self, context: &Context, added: usize) {
        let mut head = self.prompt.head().clone();
        let notes = context.notes.len();
        let rest = head.at(BASE + notes - added);
        // Not `rev().take(added).rev()`, which steps over all older notes.
        let newest = context.notes.iter().rev().take(added).map(note_piece);
        let mut pieces: Vec<_> = std::iter::once(rest).chain(newest).collect();
        pieces.reverse();
        for (place, piece) in (BASE + notes - added..).zip(pieces) {
            if place < head.places() { head.set(place, piece) } else { head.push(piece) }
        }
        self.prompt.set_head(head);
    }

    /// Sets tools and system prompt, the hidden part that survives a restart,
    /// the notes, and the rest of the hidden part, which harnesses put before
    /// the conversation.
    fn set_head_anew(&mut self, context: &Context) {
        let hidden = context.recording().sizes.hidden_tokens;
        let global = self.global.map_or(hidden, |global| global.min(hidden));
        let (tokens, content) = context.system();
        let system = preamble(content, tokens);
        let mut head = Blocks::default();
        let base = [system, preamble(hash(&1u8), global)];
        let notes = context.notes.iter().map(note_piece);
        let rest = preamble(hash(&3u8), hidden - global);
        base.into_iter().chain(notes).chain([rest]).for_each(|piece| head.push(piece));
        self.base = head.before(BASE);
        self.prompt.set_head(head);
    }
}

impl Context {
    /// Tokens of system prompt and tools as they are sent, and the hash of their content.
    fn system(&self) -> (u64, u64) {
        match &self.other_preamble {
            Some((weight, text)) => (weight.tokens, hash(&(7u8, text))),
            None => (self.preamble.tokens, hash(&(0u8, self.next_preamble))),
        }
    }
}

/// Number of blocks of the preamble before the notes.
const BASE: usize = 2;

/// A block of the preamble; `None` if it is empty.
fn preamble(content: u64, tokens: u64) -> Option<Piece> {
    (tokens > 0).then_some(Piece { content, tokens, parts: 1, unit: Unit::Preamble })
}

fn note_piece((key, note): (&String, &Note)) -> Option<Piece> {
    preamble(hash(&(2u8, key, &note.text)), note.weight.tokens)
}

// Converts entries to blocks of the prompt.

/// The hash of a block's content.
pub(super) fn hash(content: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    content.hash(&mut hasher);
    hasher.finish()
}

impl Context {
    /// The block of a slot; `None` if it is empty.
    pub(super) fn piece(&self, slot: usize) -> Option<Piece> {
        let id = self.slots.order()[slot];
        let sent = self.contains(id) && !self.is_hidden(id);
        sent.then(|| {
            let (content, parts, unit) = self.content(id);
            Piece { content, tokens: self.weight_of(id).tokens, parts, unit }
        })
    }

    /// The hash of an entry's content, the number of its content blocks, and its unit.
    fn content(&self, id: EntryId) -> (u64, u32, Unit) {
        let unit = |role| if role == Role::Assistant { Unit::Output } else { Unit::Input };
        if let Some(ordinal) = id.ordinal() {
            let entry = &self.synthetic[ordinal];
            return (hash(&(4u8, entry.role.as_str(), &**entry.text)), 1, unit(entry.role));
        }
        let message = &self.recording.session.messages[id.0 as usize];
        let sendable = message.blocks.iter().filter(|b| !matches!(b, Block::Reasoning { .. }));
        let parts = sendable.count();
        match self.edits.get(&id.0) {
            None => {
                let lost = self.shrunk.get(&id.0);
                (hash(&(5u8, id.0, lost)), parts.max(1) as u32, unit(message.role))
            }
            Some(edit) => {
                let parts = parts.saturating_sub(edit.removed_blocks.len()).max(1);
                (hash(&(6u8, id.0, &**edit.text)), parts as u32, unit(message.role))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::Sent;
    use crate::context::{Context, EntryId, InsertAt, Op, Recording};
    use crate::strategy::Breakpoint;
    use crate::testkit::Talk;
    use recap_billing::prompt_cache::Life;
    use recap_core::model::Role;
    use recap_core::tokens::Counter;

    // Where breakpoints stand in the prompt, block by block.

    /// Five messages after a system prompt and 50 hidden tokens, of which 20
    /// survive a restart; with a note, and a summary of two messages in place of
    /// the first two. Its blocks:
    ///
    /// | 0 | 1 | 2 | 3 | 4, 5 | 6, 7, 8 |
    /// |---|---|---|---|---|---|
    /// | system prompt | 20 hidden | note | 30 hidden | summary | messages 2, 3, 4 |
    fn context() -> Context {
        let talk = Talk::new("S").user("a").assistant("b").user("c").assistant("d").user("e").end();
        let mut recording = Recording::new(Arc::new(talk), Arc::new(Counter::default()));
        Arc::make_mut(&mut recording.sizes).hidden_tokens = 50;
        let mut context = Context::new(recording);
        (0..5).for_each(|_| context.append());
        context.apply(Op::Note { key: "n".to_owned(), text: Some("note".to_owned()) }).unwrap();
        let range = vec![EntryId::message(0), EntryId::message(1)];
        let into =
            vec![(Role::User, "what was said".to_owned()), (Role::Assistant, "Yes.".to_owned())];
        context.apply(Op::Fold { range, into, at: InsertAt::Head }).unwrap();
        context
    }

    fn hide(context: &mut Context, message: u32) {
        let also = vec![EntryId::message(message)];
        context.apply(Op::Hide { before: 0, also }).unwrap();
    }

    /// Reference §2: where each breakpoint of a strategy stands.
    #[test]
    fn each_breakpoint_follows_the_block_it_names() {
        let mut context = context();
        let mut sent = Sent::new(Some(20));
        sent.update(&mut context);
        let ends: Vec<u64> = sent.prompt().blocks().iter().map(|block| block.end).collect();
        assert_eq!(ends[0..4], [1, 21, 22, 52], "system prompt, hidden, note, hidden");
        assert_eq!((ends.len(), sent.base, sent.head()), (9, 2, 4));
        let places = |breakpoint, pruned| sent.places(&context, &[breakpoint], pruned);
        assert_eq!(places(Breakpoint::Preamble, None), [1, 2]);
        assert_eq!(places(Breakpoint::Head, None), [3]);
        assert_eq!(places(Breakpoint::Summary, None), [5]);
        assert_eq!(places(Breakpoint::Newest, None), [8]);
        assert_eq!(places(Breakpoint::Previous, None), [0; 0], "nothing was sent before");
        assert_eq!(places(Breakpoint::PruneBoundary, None), [0; 0]);
        assert_eq!(places(Breakpoint::PruneBoundary, Some(EntryId::message(3))), [7]);
        let plan = [Breakpoint::Summary, Breakpoint::Newest];
        assert_eq!(sent.places(&context, &plan, None), [5, 8]);
        // Another session has no note of this one, which may go on with another.
        assert_eq!(sent.shared(), sent.prompt().tokens());
        sent.step(true);
        assert_eq!(sent.shared(), 21);
    }

    #[test]
    fn without_a_summary_nothing_is_marked_for_one() {
        let talk = Talk::new("S").user("a").assistant("b").end();
        let recording = Recording::new(Arc::new(talk), Arc::new(Counter::default()));
        let mut context = Context::new(recording);
        (0..2).for_each(|_| context.append());
        let mut sent = Sent::new(None);
        sent.update(&mut context);
        assert_eq!(sent.places(&context, &[Breakpoint::Summary], None), [0; 0]);
        // Without a note and a hidden part, the preamble is one block.
        assert_eq!(sent.places(&context, &[Breakpoint::Preamble], None), [0, 0]);
    }

    #[test]
    fn prune_boundary_is_last_block_before_unsent_entry() {
        let mut context = context();
        hide(&mut context, 3);
        let mut sent = Sent::new(Some(20));
        sent.update(&mut context);
        let place = |id| sent.places(&context, &[Breakpoint::PruneBoundary], Some(id));
        assert_eq!(place(EntryId::message(3)), [6], "behind message 2");
        assert_eq!(place(EntryId::message(4)), [7]);
    }

    /// The newest breakpoint of the request before is marked again as long as
    /// everything up to it is sent unchanged.
    #[test]
    fn previous_breakpoint_counts_if_billed_and_still_present() {
        let mut context = context();
        let previous = [Breakpoint::Previous];
        let mut sent = Sent::new(Some(20));
        sent.update(&mut context);
        sent.step(false);
        assert_eq!(sent.places(&context, &previous, None), [0; 0], "that request was not billed");
        sent.update(&mut context);
        let step = sent.step(true);
        assert!(!step.broken && step.common_prefix == sent.prompt().tokens());
        assert_eq!(sent.places(&context, &previous, None), [8]);
        hide(&mut context, 4);
        sent.update(&mut context);
        assert_eq!(sent.places(&context, &previous, None), [0; 0], "its block is gone");
        hide(&mut context, 2);
        sent.update(&mut context);
        assert!(sent.step(true).broken);
    }

    #[test]
    fn breakpoints_take_planned_lifetime_and_others_are_removed() {
        let mut context = context();
        let mut sent = Sent::new(Some(20));
        sent.update(&mut context);
        sent.mark(&[1, 8], Life::Minutes5);
        sent.mark(&[8, 3], Life::Hour);
        assert_eq!(sent.prompt().marks(), [(3, Life::Hour), (8, Life::Hour)]);
    }

    /// The prompt that is kept up to date is that of a first look, whatever changes
    /// between two requests.
    #[test]
    fn updated_prompt_equals_one_built_anew() {
        let note = |key: &str, text: &str| {
            let text = (!text.is_empty()).then(|| text.to_owned());
            Op::Note { key: key.to_owned(), text }
        };
        let steps = [
            vec![],
            vec![note("n", "the only one replaced")],
            vec![note("o", "one behind")],
            vec![note("p", "two"), note("q", "and three behind")],
            vec![note("a", "one before all the others")],
            vec![note("q", "the last replaced by a longer one")],
            vec![note("a", ""), note("n", ""), note("o", "")],
            vec![note("p", ""), note("q", "one gone, and the other replaced")],
            vec![note("q", "")],
            vec![note("z", "the first again")],
            vec![Op::Evict(vec![EntryId::message(3)]), note("zz", "with an entry that leaves")],
        ];
        let (mut context, mut sent) = (context(), Sent::new(Some(20)));
        for step in steps {
            let shown = format!("{step:?}");
            step.into_iter().for_each(|op| drop(context.apply(op).unwrap()));
            sent.update(&mut context);
            let mut anew = Sent::new(Some(20));
            anew.update(&mut context.clone());
            assert_eq!(sent.prompt().blocks(), anew.prompt().blocks(), "{shown}");
            assert_eq!((sent.base, sent.head()), (anew.base, anew.head()), "{shown}");
            sent.step(true);
        }
    }

    #[test]
    fn note_behind_others_breaks_what_follows() {
        let (mut context, mut sent) = (context(), Sent::new(Some(20)));
        sent.update(&mut context);
        let before = sent.prompt().tokens();
        let first = sent.step(true);
        assert_eq!((first.common_prefix, first.broken), (0, false));
        let text = Some(" word word word".to_owned());
        context.apply(Op::Note { key: "o".to_owned(), text }).unwrap();
        sent.update(&mut context);
        let step = sent.step(true);
        assert_eq!((step.common_prefix, step.broken), (22, true));
        assert_eq!(sent.prompt().tokens(), before + 3);
        // Another text of the same size is another text.
        let text = Some(" world world world".to_owned());
        context.apply(Op::Note { key: "o".to_owned(), text }).unwrap();
        sent.update(&mut context);
        assert_eq!(sent.prompt().tokens(), before + 3);
        assert!(sent.step(true).broken);
    }

    #[test]
    fn new_recorded_system_prompt_alone_breaks_nothing() {
        let talk =
            Talk::new("S").user("a").system("S and more").user("b").system("S").user("c").end();
        let mut context =
            Context::new(Recording::new(Arc::new(talk), Arc::new(Counter::default())));
        let mut sent = Sent::new(None);
        context.append();
        sent.update(&mut context);
        sent.step(true);
        for message in [1, 2] {
            context.enter(message);
            context.append();
            // It may change more than once between two requests.
            sent.update(&mut context);
        }
        let mut anew = Sent::new(None);
        anew.update(&mut context.clone());
        assert_eq!(sent.prompt().blocks(), anew.prompt().blocks());
        let step = sent.step(true);
        assert_eq!((step.common_prefix, step.broken), (0, false));
        hide(&mut context, 1);
        sent.update(&mut context);
        assert!(sent.step(true).broken, "the strategy's own doing");
    }

    /// Breakpoints that a token saver sets stand in the place of those of the strategy.
    #[test]
    fn breakpoints_set_by_entry_replace_planned_ones() {
        let mut context = context();
        let mut sent = Sent::new(Some(20));
        sent.update(&mut context);
        let plan = [Breakpoint::Summary, Breakpoint::Newest];
        let mut places = |set: Option<Vec<Option<u32>>>| {
            let entry = |at: Option<u32>| at.map(EntryId::message);
            context.set_breakpoints(set.map(|set| set.into_iter().map(entry).collect()));
            sent.places(&context, &plan, None)
        };
        assert_eq!(places(None), [5, 8]);
        assert_eq!(places(Some(vec![None, Some(2), Some(3)])), [2, 6, 7], "`None` is the preamble");
        assert_eq!(places(Some(Vec::new())), [0; 0]);
        assert_eq!(places(Some(vec![Some(0)])), [0; 0], "it was folded");
        assert_eq!(places(None), [5, 8]);
        hide(&mut context, 3);
        sent.update(&mut context);
        context.set_breakpoints(Some(vec![Some(EntryId::message(3))]));
        assert_eq!(sent.places(&context, &plan, None), [6], "message 2 stands before it");
    }
}
