//! An index from terms to the sentences of a context.

use std::sync::Arc;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use rustc_hash::FxHashMap;

use super::passage::{Analysed, Counted, Run, Sentence};
use super::sought::Forms;
use super::words::Term;
use crate::roles::answerer::Passage;
use recap_core::model::Role;
use recap_core::text::language::bm25::{rarity, saturated};

/// Successive sentences of one passage.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Number of the passage that contains the block.
    pub passage: usize,
    /// Number of its first sentence in the whole context, and one past its
    /// last.
    pub first: usize,
    pub end: usize,
    /// Forms of the values in the block.
    pub forms: Forms,
    length: u32,
}

/// A passage of the context, with the analysis of its text.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub role: Role,
    pub date: Option<Date>,
    pub analysed: Arc<Analysed>,
    /// Number of its speaker among the speakers of the context.
    pub speaker: Option<usize>,
    /// Number of its first sentence in the whole context.
    first: usize,
}

/// The occurrences of a term.
#[derive(Debug, Default)]
pub(super) struct Posting {
    /// Numbers of sentences in the order of the context, with the number of
    /// occurrences in each.
    pub places: Vec<(u32, u32)>,
    /// Number of blocks that contain the term.
    blocks: u32,
}

/// A context whose sentences can be found by their terms.
#[derive(Debug)]
pub(super) struct Index {
    pub entries: Vec<Entry>,
    pub blocks: Vec<Block>,
    /// Block and position within the passage, for every sentence.
    pub sentences: Vec<(usize, usize)>,
    /// Names of the speakers, if passages begin with them.
    pub speakers: Vec<String>,
    /// Number of blocks that contain each term, by the number of the term.
    holding: Vec<u32>,
    /// Rarity of a term by the number of blocks that contain it, for the first
    /// numbers: most terms of a context are in few.
    rarities: Vec<f64>,
    mean_sentence: f64,
    mean_block: f64,
}

/// Number of blocks without any term of the question that are added to every
/// context. Without them, a missing word would count for far more in a short
/// context than in a long one, and a context reduced to the evidence would be
/// doubted (15 % of the questions were, 7 % with these blocks).
const PRIOR: f64 = 300.0;

/// Share of passages with a name at their beginning that makes a conversation a
/// dialogue.
const NAMED: f64 = 0.5;

/// Numbers of blocks whose rarity is computed once a context.
const FEW: usize = 64;

impl Index {
    /// Builds the index of passages from their analyses, whose terms have
    /// `numbers` numbers.
    pub(super) fn new(passages: &[Passage], analysed: Vec<Arc<Analysed>>, numbers: usize) -> Self {
        let speakers = speakers(&analysed);
        let mut index = Index {
            entries: Vec::with_capacity(passages.len()),
            blocks: Vec::with_capacity(analysed.iter().map(|one| one.blocks.len()).sum()),
            sentences: Vec::with_capacity(analysed.iter().map(|one| one.sentences.len()).sum()),
            speakers,
            holding: vec![0; numbers],
            rarities: Vec::new(),
            mean_sentence: 1.0,
            mean_block: 1.0,
        };
        for (passage, analysed) in passages.iter().zip(analysed) {
            index.add(passage, analysed);
        }
        let words: u64 = index.blocks.iter().map(|block| u64::from(block.length)).sum();
        let mean = |n: usize| (words as f64 / n.max(1) as f64).max(1.0);
        index.mean_sentence = mean(index.sentences.len());
        index.mean_block = mean(index.blocks.len());
        index.rarities = (0..FEW).map(|blocks| index.rarity_in(blocks as u32)).collect();
        index
    }

    fn add(&mut self, passage: &Passage, analysed: Arc<Analysed>) {
        let (number, before) = (self.entries.len(), self.sentences.len());
        for Run { sentences, forms, length } in &analysed.blocks {
            let (first, block) = (self.sentences.len(), self.blocks.len());
            self.sentences.extend(sentences.clone().map(|at| (block, at)));
            let end = self.sentences.len();
            let (forms, length) = (*forms, *length);
            self.blocks.push(Block { passage: number, first, end, forms, length });
        }
        for held in &analysed.terms {
            self.holding[held.number as usize] += held.blocks;
        }
        let speaker =
            analysed.speaker().and_then(|name| self.speakers.iter().position(|s| s == name));
        let date = passage.at.map(|at| at.to_zoned(TimeZone::UTC).date());
        self.entries.push(Entry { role: passage.role, date, analysed, speaker, first: before });
    }

    /// The occurrences of a term.
    pub(super) fn posting(&self, term: Term) -> Posting {
        let mut posting = Posting::default();
        for entry in &self.entries {
            let Some((blocks, places)) = entry.analysed.places(term) else { continue };
            let first = entry.first as u32;
            posting.blocks += blocks;
            posting.places.extend(places.iter().map(|(at, count)| (first + at, *count)));
        }
        posting
    }

    /// The rarity of a term with these occurrences among the blocks.
    pub(super) fn rarity(&self, posting: &Posting) -> f64 {
        self.rarity_in(posting.blocks)
    }

    /// The rarity of a term of a sentence among the blocks.
    pub(super) fn rarity_of(&self, term: &Counted) -> f64 {
        let blocks = self.holding[term.number as usize];
        let known = self.rarities.get(blocks as usize).copied();
        known.unwrap_or_else(|| self.rarity_in(blocks))
    }

    fn rarity_in(&self, blocks: u32) -> f64 {
        rarity(f64::from(blocks), PRIOR + self.blocks.len() as f64)
    }

    /// The number of the block that contains a sentence.
    pub(super) fn block_of(&self, at: usize) -> usize {
        self.sentences[at].0
    }

    /// The sentence with this number in the context.
    pub(super) fn sentence(&self, at: usize) -> &Sentence {
        let (block, within) = self.sentences[at];
        &self.entries[self.blocks[block].passage].analysed.sentences[within]
    }

    /// The passage that contains a sentence.
    pub(super) fn entry(&self, at: usize) -> &Entry {
        &self.entries[self.blocks[self.sentences[at].0].passage]
    }

    /// The text of the sentence with this number.
    pub(super) fn text(&self, at: usize) -> &str {
        &self.entry(at).analysed.text[self.sentence(at).place.clone()]
    }

    /// BM25 weight of a term with this number of occurrences in a sentence.
    pub(super) fn in_sentence(&self, at: usize, count: f64) -> f64 {
        saturated(count, f64::from(self.sentence(at).length) / self.mean_sentence)
    }

    /// BM25 weight of a term with this number of occurrences in a block.
    pub(super) fn in_block(&self, block: usize, count: f64) -> f64 {
        saturated(count, f64::from(self.blocks[block].length) / self.mean_block)
    }
}

/// Names at the beginning of at least two passages; empty unless most passages
/// of the conversation begin with a name.
fn speakers(analysed: &[Arc<Analysed>]) -> Vec<String> {
    let mut counts: FxHashMap<&str, usize> = FxHashMap::default();
    let mut order = Vec::new();
    for name in analysed.iter().filter_map(|a| a.speaker()) {
        let count = counts.entry(name).or_default();
        *count += 1;
        if *count == 2 {
            order.push(name);
        }
    }
    let named: usize = order.iter().map(|name| counts[name]).sum();
    if (named as f64) < NAMED * analysed.len() as f64 {
        return Vec::new();
    }
    order.into_iter().map(str::to_owned).collect()
}
