//! A context as the prompt that a provider is sent, kept up to date request
//! by request.
//!
//! Only what changed since the last time is looked at: a context remembers the
//! first slot that is stale. So a growing conversation costs its new messages,
//! and a moving window what is visible of it.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashSet, FxHasher};

use super::Context;
use super::ledger::Fate;
use super::op::EntryId;
use crate::model::{Block, MessageIndex, Role};
use crate::prompt_cache::{Life, Prompt, Unit};
use crate::strategy::preset::Breakpoint;

/// The prompt of one context.
#[derive(Clone, Debug)]
pub struct Sent {
    prompt: Prompt,
    /// Hash of each block's own content.
    contents: Vec<u64>,
    /// Slot and entry of each block behind the preamble.
    slots: Vec<(usize, EntryId)>,
    /// Tokens of the hidden preamble that outlive a restart; `None`: all.
    global: Option<u64>,
    /// Blocks of the preamble that outlive a restart: tools and system prompt.
    base: usize,
    /// Blocks of tools, system prompt and notes.
    system: usize,
    /// Blocks of the whole preamble.
    head: usize,
    /// State of the context when it was last looked at.
    seen: Seen,
    /// Blocks of the last request, and how many of them still lead.
    last: usize,
    intact: usize,
    /// Whether the recorded system prompt changed since the last request.
    foreign: bool,
    /// Content of the last request that does not stand in its place any more.
    dropped: FxHashSet<u64>,
    /// Where the newest breakpoint of the last request stood.
    newest: Option<usize>,
}

#[derive(Clone, Debug, Default)]
struct Seen {
    /// Revision of the preamble; `None` before the first look.
    preamble: Option<u64>,
    system: usize,
    slots: usize,
    before: MessageIndex,
    named: Named,
}

/// Entries that are hidden, and shown, by name.
type Named = (BTreeSet<EntryId>, BTreeSet<EntryId>);

/// How a request's prompt follows from the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Tokens that both begin with.
    pub common_prefix: u64,
    /// Whether that ends before the end of the prompt before, other than by a
    /// new system prompt in the recording.
    pub broken: bool,
    /// Tokens that the prompt before held as well, wherever they stand.
    pub carried: u64,
}

impl Sent {
    /// Nothing sent yet. `global`: tokens of the hidden preamble that outlive
    /// a restart, where that is known.
    pub fn new(global: Option<u64>) -> Self {
        Self {
            prompt: Prompt::default(),
            contents: Vec::new(),
            slots: Vec::new(),
            global,
            base: 0,
            system: 0,
            head: 0,
            seen: Seen::default(),
            last: 0,
            intact: 0,
            foreign: false,
            dropped: FxHashSet::default(),
            newest: None,
        }
    }

    /// The prompt as it was last brought up to date.
    pub fn prompt(&self) -> &Prompt {
        &self.prompt
    }

    /// Blocks of tools and system prompt: what outlives a restart.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Blocks of the whole preamble, with what harnesses put in front of the
    /// conversation.
    pub fn head(&self) -> usize {
        self.head
    }

    /// Brings the prompt up to date.
    pub fn look(&mut self, context: &mut Context) {
        let before = context.hidden_before();
        let named = (context.hidden_by_name(), context.shown_by_name());
        let slot = self.first_stale(context, before, &named);
        let fresh_head = self.seen.preamble != Some(context.preamble_changes);
        let from = if fresh_head { 0 } else { self.head + self.blocks_before(slot) };
        let old = self.contents.split_off(from);
        self.prompt.truncate(from);
        self.slots.truncate(from.saturating_sub(self.head));
        if fresh_head {
            self.push_head(context);
        }
        let next = if fresh_head { 0 } else { slot };
        for (slot, id) in context.visible_from(next) {
            let (content, parts, unit) = context.content(id);
            self.push(content, context.weight_of(id).tokens, parts, unit);
            self.slots.push((slot, id));
        }
        let same = self.contents[from..].iter().zip(&old).take_while(|(new, old)| new == old);
        let same = from + same.count();
        if same < self.intact {
            self.dropped.extend(&old[same - from..self.intact - from]);
            self.intact = same;
        }
        self.foreign |= self.seen.preamble.is_some() && self.seen.system != context.next_preamble;
        self.seen = Seen {
            preamble: Some(context.preamble_changes),
            system: context.next_preamble,
            slots: context.order.len(),
            before,
            named,
        };
    }

    /// Goes on to the next request. `billed`: whether this one was sent to the
    /// end, so that its breakpoints stand.
    pub fn step(&mut self, billed: bool) -> Step {
        let from = if self.dropped.is_empty() { self.contents.len() } else { self.intact };
        let again = (from..self.contents.len())
            .filter(|&at| self.dropped.contains(&self.contents[at]))
            .map(|at| self.prompt.end(at + 1) - self.prompt.end(at));
        let common_prefix = self.prompt.end(self.intact);
        let step = Step {
            common_prefix,
            broken: self.intact < self.last && !self.foreign,
            carried: common_prefix + again.sum::<u64>(),
        };
        self.last = self.contents.len();
        self.intact = self.last;
        self.foreign = false;
        self.dropped.clear();
        if billed {
            self.newest = self.last.checked_sub(1);
        }
        step
    }

    /// The blocks behind which a plan sets breakpoints. `pruned`: the last entry
    /// whose tool output was considered for pruning.
    pub fn places(
        &self,
        context: &Context,
        plan: &[Breakpoint],
        pruned: Option<EntryId>,
    ) -> Vec<usize> {
        let newest = self.contents.len().checked_sub(1);
        let mut places: Vec<usize> = Vec::with_capacity(4);
        for breakpoint in plan {
            match breakpoint {
                Breakpoint::Preamble => {
                    places.extend(self.base.checked_sub(1));
                    places.extend(self.system.checked_sub(1));
                }
                Breakpoint::Head => places.extend(self.head.checked_sub(1)),
                Breakpoint::Summary => {
                    let run = self.slots.iter().take_while(|(_, id)| id.index().is_none());
                    places.extend(Some(run.count()).filter(|&n| n > 0).map(|n| self.head + n - 1));
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

    /// Sets breakpoints behind these blocks, and no others. `life`: how long
    /// their entries live.
    pub fn mark(&mut self, places: &[usize], life: Life) {
        self.prompt.mark_only(places, life);
    }

    /// First slot whose block may have changed.
    fn first_stale(&self, context: &mut Context, before: MessageIndex, named: &Named) -> usize {
        let mut slot = std::mem::replace(&mut context.stale_from, usize::MAX);
        if before != self.seen.before {
            let first = before.min(self.seen.before);
            slot = slot.min(context.position_of_first_from(first));
        }
        if *named != self.seen.named {
            let hidden = named.0.symmetric_difference(&self.seen.named.0);
            let shown = named.1.symmetric_difference(&self.seen.named.1);
            let slots = hidden.chain(shown).filter_map(|id| context.positions.get(id).copied());
            slot = slot.min(slots.min().unwrap_or(usize::MAX));
        }
        slot.min(self.seen.slots)
    }

    /// Blocks behind the preamble that stand before a slot.
    fn blocks_before(&self, slot: usize) -> usize {
        self.slots.partition_point(|(at, _)| *at < slot)
    }

    /// The block of an entry, or the last one before it.
    fn block_of(&self, context: &Context, id: EntryId) -> Option<usize> {
        let slot = *context.positions.get(&id)?;
        Some(self.blocks_before(slot + 1)).filter(|&n| n > 0).map(|n| self.head + n - 1)
    }

    /// Tools and system prompt, the hidden part that outlives a restart, the
    /// notes, and the rest of the hidden part, which harnesses put in front of
    /// the conversation.
    fn push_head(&mut self, context: &Context) {
        let system = hash(&(0u8, context.next_preamble));
        self.push_some(system, context.preamble.tokens);
        let hidden = context.recording().sizes.hidden_tokens;
        let global = self.global.map_or(hidden, |global| global.min(hidden));
        self.push_some(hash(&1u8), global);
        self.base = self.contents.len();
        for (key, note) in &context.notes {
            self.push_some(hash(&(2u8, key, &note.text)), note.weight.tokens);
        }
        self.system = self.contents.len();
        self.push_some(hash(&3u8), hidden - global);
        self.head = self.contents.len();
    }

    fn push_some(&mut self, content: u64, tokens: u64) {
        if tokens > 0 {
            self.push(content, tokens, 1, Unit::Preamble);
        }
    }

    fn push(&mut self, content: u64, tokens: u64, parts: u32, unit: Unit) {
        self.prompt.push(content, tokens, parts, unit);
        self.contents.push(content);
    }
}

fn hash(content: &impl Hash) -> u64 {
    let mut hasher = FxHasher::default();
    content.hash(&mut hasher);
    hasher.finish()
}

impl Context {
    /// Visible entries from a slot on, with their slots.
    fn visible_from(&self, slot: usize) -> impl Iterator<Item = (usize, EntryId)> + '_ {
        let cut = self.cut();
        let in_front = self.in_front(cut).into_iter().filter(move |(at, _)| *at >= slot);
        let first = slot.max(cut).min(self.order.len());
        let behind = (first..).zip(self.order[first..].iter().copied());
        let all = in_front.chain(behind);
        all.filter(|(_, id)| self.is_stored(*id) && !self.is_hidden(*id))
    }

    /// Whether an entry that has a slot is still stored in it.
    fn is_stored(&self, id: EntryId) -> bool {
        match id.index() {
            Some(message) => self.fates[message as usize] == Fate::Live,
            None => self.positions.contains_key(&id),
        }
    }

    /// Hash of what an entry is sent as, its content blocks, and whose they are.
    fn content(&self, id: EntryId) -> (u64, u32, Unit) {
        let unit = |role| if role == Role::Assistant { Unit::Output } else { Unit::Input };
        if let Some(ordinal) = id.ordinal() {
            let entry = &self.synthetic[ordinal];
            return (hash(&(4u8, entry.role.as_str(), &entry.text)), 1, unit(entry.role));
        }
        let message = &self.recording.transcript.messages[id.0 as usize];
        let sendable = message.blocks.iter().filter(|b| !matches!(b, Block::Reasoning { .. }));
        let parts = sendable.count();
        match self.edits.get(&id.0) {
            None => {
                let lost = self.shrunk.get(&id.0);
                (hash(&(5u8, id.0, lost)), parts.max(1) as u32, unit(message.role))
            }
            Some(edit) => {
                let parts = parts.saturating_sub(edit.removed_blocks.len()).max(1);
                (hash(&(6u8, id.0, &edit.text)), parts as u32, unit(message.role))
            }
        }
    }
}
