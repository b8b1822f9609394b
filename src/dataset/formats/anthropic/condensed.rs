//! What Roo and Kilo condensed of the messages that they keep. Read from Roo's
//! public source (RooCodeInc/Roo-Code, `src/core/condense/index.ts` and
//! `src/core/context-management/index.ts`, several versions), without
//! recordings at hand.
//!
//! A summary stands in the list, and the messages that it replaced name it. A
//! summary of the user's stands where it was made. An older one, of the
//! model's, stands before the messages that were kept then.

use std::collections::{BTreeSet, VecDeque};

use rustc_hash::FxHashMap;

use super::wire::Part;
use crate::dataset::check::Draft;
use crate::dataset::error::Problem;
use crate::dataset::formats::content::Content;
use crate::model::{MessageIndex, Piece, RecordedCompaction, Role};

/// How many of the newest messages the older versions kept.
const KEPT: usize = 3;

/// What is still sent, and the compactions whose tail is not complete.
#[derive(Default)]
pub(super) struct Condensed {
    sent: BTreeSet<MessageIndex>,
    /// Messages by the summary, or the mark of a truncation, that they name.
    replaced: FxHashMap<String, Vec<MessageIndex>>,
    /// Each with the number of messages of the list behind which it was made.
    open: VecDeque<(usize, RecordedCompaction)>,
    /// Number of messages of the list so far, without summaries and marks.
    listed: usize,
}

impl Condensed {
    /// A message of the list became messages from `first` on. `parents` are the
    /// summary and the mark of a truncation that it names.
    pub(super) fn add(
        &mut self,
        first: MessageIndex,
        parents: [Option<String>; 2],
        draft: &mut Draft,
    ) -> Result<(), Problem> {
        let own = first..draft.next_index();
        self.sent.extend(own.clone());
        for parent in parents.into_iter().flatten() {
            self.replaced.entry(parent).or_default().extend(own.clone());
        }
        self.listed += 1;
        while self.open.front().is_some_and(|(until, _)| *until <= self.listed) {
            self.close(draft)?;
        }
        Ok(())
    }

    /// A summary, which is no message.
    pub(super) fn summary(
        &mut self,
        (role, id): (Role, Option<String>),
        content: Content<Part>,
        draft: &mut Draft,
    ) -> Result<(), Problem> {
        self.forget(id);
        let text = plain(content, draft);
        let kept_from = draft.next_index();
        let front = self.sent.iter().map(|&message| Piece::Message(message));
        let pieces = front.chain([Piece::Text { role, text: text.clone() }]).collect();
        let compaction =
            RecordedCompaction { kept_from, summary: Some(text), pieces, ..Default::default() };
        let tail = if role == Role::Assistant { KEPT } else { 0 };
        self.open.push_back((self.listed + tail, compaction));
        if tail == 0 { self.finish(draft) } else { Ok(()) }
    }

    /// The mark of a truncation stands where the removed messages end, and
    /// nothing says when it was set there.
    pub(super) fn truncation(&mut self, id: Option<String>, draft: &mut Draft) {
        self.forget(id);
        draft.leave_out("truncation whose time is not recorded", 1);
    }

    /// The list has ended.
    pub(super) fn finish(&mut self, draft: &mut Draft) -> Result<(), Problem> {
        while !self.open.is_empty() {
            self.close(draft)?;
        }
        Ok(())
    }

    fn forget(&mut self, id: Option<String>) {
        let gone = id.and_then(|id| self.replaced.remove(&id)).unwrap_or_default();
        for message in gone {
            self.sent.remove(&message);
        }
    }

    fn close(&mut self, draft: &mut Draft) -> Result<(), Problem> {
        let Some((_, compaction)) = self.open.pop_front() else { return Ok(()) };
        draft.compact(RecordedCompaction { after: draft.next_index(), ..compaction })
    }
}

/// The text of a summary. Calls that stand in it again, since their results
/// were kept, are in the transcript already.
fn plain(content: Content<Part>, draft: &mut Draft) -> String {
    let parts = match content {
        Content::Text(text) => return text,
        Content::Parts(parts) => parts,
    };
    let all = parts.len();
    let texts: Vec<String> = parts.into_iter().filter_map(|part| part.text).collect();
    draft.leave_out("part of a summary that is no text", (all - texts.len()) as u64);
    texts.join("\n")
}
