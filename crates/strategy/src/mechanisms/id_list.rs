//! The control that exploits reference recall: the last messages and a bare
//! list of every identifier. Its score is the part of the measure that a list
//! without meaning can reach (reference §4). With `neighbours` each identifier
//! is listed with the rarest words around it, so that it also reaches what a
//! list of words without sentences can.

use std::hash::BuildHasher;
use std::ops::Range;

use async_trait::async_trait;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use serde::Deserialize;

use super::sliding_window::orphans;
use crate::context::{Context, Op, without_escapes, word_hash};
use crate::mechanism::{Mechanism, MechanismError, MechanismSpec, Outcome, Work};
use recap_core::model::MessageIndex;
use recap_core::text::{around, words};

/// Hides all but the newest messages and lists every identifier.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "id-list",
    summary: "Sends the last N messages and a list of every identifier: what can be gamed",
    is_view: true,
    build: |build| Ok(Box::new(build.read::<IdList>()?)),
    ..MechanismSpec::PLAIN
};

/// Characters on either side of an identifier that are searched for neighbours:
/// as far as the exam searches for words that support it (reference §4).
const RADIUS: usize = 150;

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct IdList {
    last: u32,
    /// Number of words that follow each identifier in the list.
    #[serde(default)]
    neighbours: usize,
    /// Hashes of the identifiers that are listed: 64 bits, so that two of one session share one
    /// with a chance below one in a billion.
    #[serde(skip)]
    listed: FxHashSet<u64>,
    /// Messages before this one are listed.
    #[serde(skip)]
    through: MessageIndex,
    /// For each word, by its hash, the number of past messages that contain it.
    #[serde(skip)]
    messages: FxHashMap<u64, u32>,
}

impl IdList {
    /// Lists the identifiers of messages that were not read yet. One note per
    /// message keeps the cost of a request independent of the history.
    fn read_on(&mut self, context: &mut Context) -> Result<(), MechanismError> {
        for index in self.through..context.seen_count() {
            let lines = self.lines(context, index);
            if !lines.is_empty() {
                let key = format!("identifiers/{index:08}");
                context.apply(Op::Note { key, text: Some(lines.join("\n")) })?;
            }
        }
        self.through = context.seen_count();
        Ok(())
    }

    /// A line for each new identifier of a message, in their order.
    fn lines(&mut self, context: &Context, index: MessageIndex) -> Vec<String> {
        let text = context.recording().text(index);
        let mut new = Vec::new();
        for place in text.identifiers() {
            let name = &text[place.clone()];
            if self.listed.insert(FxBuildHasher.hash_one(name)) {
                new.push((name, place));
            }
        }
        if self.neighbours == 0 {
            return new.into_iter().map(|(name, _)| name.to_owned()).collect();
        }
        for &word in text.words() {
            *self.messages.entry(word).or_default() += 1;
        }
        let plain = if new.is_empty() { String::new() } else { without_escapes(text) };
        let line = |(name, place)| {
            [name].into_iter().chain(self.rarest(&plain, place)).collect::<Vec<_>>().join(" ")
        };
        new.into_iter().map(line).collect()
    }

    /// The rarest words around a place, in their spelling there; equally rare
    /// ones in their order. The words of the place itself are left out.
    fn rarest<'a>(&self, text: &'a str, place: &Range<usize>) -> Vec<&'a str> {
        let (before, after) = around(text, place, RADIUS);
        let mut known: FxHashSet<u64> = words(&text[place.clone()]).map(word_hash).collect();
        let mut near: Vec<(u32, &str)> = Vec::new();
        for word in words(before).chain(words(after)) {
            let hash = word_hash(word);
            if known.insert(hash) {
                near.push((self.messages.get(&hash).copied().unwrap_or(0), word));
            }
        }
        near.sort_by_key(|(messages, _)| *messages);
        near.into_iter().take(self.neighbours).map(|(_, word)| word).collect()
    }
}

#[async_trait]
impl Mechanism for IdList {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, .. } = work;
        self.read_on(context)?;
        let before = context.seen_count().saturating_sub(self.last);
        let also = orphans(context, before);
        context.apply(Op::Hide { before, also })?;
        Ok(Outcome::default())
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::{Rig, Scripted, Talk};

    #[test]
    fn each_new_identifier_is_listed_with_its_rarest_neighbours() {
        let talk = || {
            let said = ["open src/lost.rs now", "common words near", "near src/kept.rs now"];
            let talk = said.iter().fold(Talk::new("S"), |talk, text| talk.user(text));
            talk.assistant("src/lost.rs and src/last.rs near common").user("end")
        };
        for (neighbours, lines) in [
            (0, ["src/lost.rs", "src/kept.rs", "src/last.rs"]),
            // `near` and `now` are in two messages by then; later only `and` is in one.
            (1, ["src/lost.rs open", "src/kept.rs near", "src/last.rs and"]),
        ] {
            let stage = "[[stage]]\nmechanism = \"id-list\"\nat = \"append\"\nwhen = \"always\"\n";
            let stage = format!("{stage}last = 2\nneighbours = {neighbours}");
            let mut straight = Rig::stages(&stage, 1_000, talk(), Scripted::failing_at([]));
            straight.feed(5);
            assert_eq!(straight.ledger(), "---vv");
            let keys: Vec<String> = straight.notes().into_keys().collect();
            assert_eq!(
                keys,
                ["identifiers/00000000", "identifiers/00000002", "identifiers/00000003"]
            );
            let texts: Vec<String> = straight.notes().into_values().collect();
            assert_eq!(texts, lines);
        }
    }
}
