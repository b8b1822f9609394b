//! Ranks the sentences of a context by how well they answer a question.

use std::cmp::Ordering;

use jiff::civil::Date;

use super::anchors::Anchors;
use super::index::{Block, Index, Posting};
use super::question::{Ask, ParsedQuestion};
use super::signs::{Signs, score};
use super::words::Term;
use crate::calendar::relative::holds;
use recap_core::model::Role;

/// Number of blocks whose sentences are ranked: more blocks find no more
/// answers.
const BLOCKS: usize = 32;

/// Number of messages with the names that a question quotes whose sentences are
/// ranked.
const QUOTED: usize = 16;

/// Weights of a block's neighbours while blocks are chosen: its own terms,
/// those of the two blocks before it and of the block after it.
const AROUND: [f64; 4] = [1.0, 0.5, 0.2, 0.2];

/// Number of blocks before and after a block with terms of the question that
/// are searched for a value of the requested form.
const BEFORE: usize = 3;
const AFTER: usize = 8;

/// Largest weight of the further terms in code, logs and data: these are full
/// of rare words without meaning.
const WRITTEN: f64 = 3.0;

/// Weight of a value while blocks are chosen, and the factor of a block's terms
/// for each step of distance.
const FORM: f64 = 0.2;
const FADES: f64 = 0.9;

/// A sentence with its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Ranked {
    pub sentence: usize,
    pub score: f64,
    pub signs: Signs,
}

/// The occurrences of a question's terms, each weighted by its rarity. Scores
/// are shares of the score of a sentence with every term once.
struct Found<'a> {
    index: &'a Index,
    question: &'a ParsedQuestion,
    rarity: Vec<f64>,
    total: f64,
    rarest: f64,
    /// Score of each sentence.
    sentences: Vec<f64>,
    anchors: Anchors<'a>,
    /// Score of each block, and a bit for each term in it.
    blocks: Vec<(f64, u64)>,
    /// A bit for each of the question's terms: most terms of a text have another.
    asked: u64,
    /// The factor of a block's terms at each distance.
    fading: [f64; AFTER + 1],
}

/// The sentences that may answer, with their scores.
pub(super) fn rank(index: &Index, question: &ParsedQuestion) -> Vec<Ranked> {
    let found = Found::new(index, question);
    if found.anchors.missing() {
        return Vec::new();
    }
    let blocks = found.best_blocks();
    let sentences = |&at: &usize| index.blocks[at].end - index.blocks[at].first;
    let mut out = Vec::with_capacity(blocks.iter().map(sentences).sum());
    for block in blocks {
        found.weigh(block, &mut out);
    }
    out
}

impl ParsedQuestion {
    /// The order of two sentences, the better one first. Of two equal ones the
    /// later is preferred, unless the question asks for the first.
    pub(super) fn order(&self, a: &Ranked, b: &Ranked) -> Ordering {
        let later = b.sentence.cmp(&a.sentence);
        let alike = if self.first { later.reverse() } else { later };
        b.score.total_cmp(&a.score).then(alike)
    }
}

impl<'a> Found<'a> {
    fn new(index: &'a Index, question: &'a ParsedQuestion) -> Self {
        let postings = question.terms.iter().map(|&term| index.posting(term));
        let postings: Vec<Posting> = postings.collect();
        let rarity: Vec<f64> = postings.iter().map(|posting| index.rarity(posting)).collect();
        let mut found = Found {
            index,
            question,
            total: rarity.iter().sum::<f64>().max(f64::MIN_POSITIVE),
            rarest: rarity.iter().copied().fold(f64::MIN_POSITIVE, f64::max),
            rarity,
            anchors: Anchors::new(index, &question.names),
            sentences: vec![0.0; index.sentences.len()],
            blocks: vec![(0.0, 0); index.blocks.len()],
            asked: question.terms.iter().fold(0, |bits, term| bits | 1 << (term % 64)),
            fading: std::array::from_fn(|step| FADES.powi(step as i32)),
        };
        for (number, posting) in postings.iter().enumerate() {
            found.look_up(number, posting);
        }
        found
    }

    fn look_up(&mut self, number: usize, posting: &Posting) {
        let (index, weight) = (self.index, self.rarity[number] / self.total);
        let mut places = posting.places.iter();
        while let Some(&(sentence, count)) = places.next() {
            let (sentence, count) = (sentence as usize, f64::from(count));
            self.sentences[sentence] += weight * index.in_sentence(sentence, count);
            let block = index.block_of(sentence);
            let mut in_block = count;
            // The remaining sentences of the block with this term.
            let mut ahead = places.clone();
            while let Some(&(other, count)) = ahead.next()
                && index.block_of(other as usize) == block
            {
                in_block += f64::from(count);
            }
            let entry = &mut self.blocks[block];
            if entry.1 & bit(number) == 0 {
                entry.0 += weight * index.in_block(block, in_block);
                entry.1 |= bit(number);
            }
        }
    }

    /// The best blocks among those with terms of the question and the two
    /// blocks after each: an answer need not repeat the terms.
    fn best_blocks(&self) -> Vec<usize> {
        let holds = |at: usize| self.blocks[at].1 != 0;
        let near = (0..self.blocks.len()).filter(|&at| (at.saturating_sub(2)..=at).any(holds));
        let around = |at: usize| {
            let places = [Some(at), at.checked_sub(1), at.checked_sub(2), Some(at + 1)];
            let terms = places.into_iter().zip(AROUND).map(|(at, share)| share * self.block(at));
            terms.sum::<f64>()
                + if self.hunts() && self.has_form(at) { FORM + self.nearby(at) } else { 0.0 }
        };
        let mut scored: Vec<(usize, f64)> =
            near.map(|at| (at, around(at) * self.bearing(at))).collect();
        if scored.len() > BLOCKS {
            scored.select_nth_unstable_by(BLOCKS, |a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
            scored.truncate(BLOCKS);
        }
        let mut blocks: Vec<usize> = scored.into_iter().map(|(at, _)| at).collect();
        self.add_quoted(&mut blocks);
        blocks
    }

    /// Adds the blocks of the newest messages with the names that the question
    /// quotes: of long ones those with terms of the question first.
    fn add_quoted(&self, blocks: &mut Vec<usize>) {
        let passages = self.anchors.best_passages(self.question.last);
        for passage in passages.into_iter().take(QUOTED) {
            let from = self.index.blocks.partition_point(|block| block.passage < passage);
            let to = self.index.blocks.partition_point(|block| block.passage <= passage);
            let mut own: Vec<usize> = (from..to).collect();
            own.sort_by(|a, b| self.block(Some(*b)).total_cmp(&self.block(Some(*a))));
            own.truncate(BLOCKS);
            blocks.extend(own);
        }
        blocks.sort_unstable();
        blocks.dedup();
    }

    /// Whether a value of a certain form is searched for in a session of an
    /// agent; in conversations between people, values are in full sentences.
    fn hunts(&self) -> bool {
        self.question.sought != 0 && self.index.speakers.is_empty()
    }

    fn has_form(&self, block: usize) -> bool {
        self.index.blocks.get(block).is_some_and(|b| b.forms & self.question.sought != 0)
    }

    /// The score of the best block a few steps before or after a block, less
    /// with each step: an agent first names what it works on, and the result
    /// comes later.
    fn nearby(&self, block: usize) -> f64 {
        let faded = |step: usize, at| self.block(at) * self.fading[step];
        let before = (1..=AFTER).map(|step| faded(step, block.checked_sub(step)));
        let after = (1..=BEFORE).map(|step| faded(step, Some(block + step)));
        before.chain(after).fold(0.0, f64::max)
    }

    /// The contribution of a block's speaker, role and date, without its
    /// sentences.
    fn bearing(&self, block: usize) -> f64 {
        let entry = &self.index.entries[self.index.blocks[block].passage];
        let speaks = entry.speaker.is_some_and(|s| self.question.speakers.contains(&s));
        let speaker = if speaks { 1.4 } else { 1.0 };
        let role = if self.asked_of(entry.role) { 1.2 } else { 1.0 };
        speaker * role * if self.is_dated(entry.date) { 1.5 } else { 1.0 }
    }

    /// Whether a question in the user's voice asks for what this role said.
    fn asked_of(&self, role: Role) -> bool {
        match role {
            Role::User => self.question.of_user,
            Role::Assistant => self.question.of_assistant && !self.question.of_user,
            Role::System | Role::Tool => false,
        }
    }

    fn is_dated(&self, date: Option<Date>) -> bool {
        date.is_some_and(|day| self.question.dates.iter().any(|named| holds(*named, day)))
    }

    fn block(&self, at: Option<usize>) -> f64 {
        at.and_then(|at| self.blocks.get(at)).map_or(0.0, |found| found.0)
    }

    fn held(&self, at: Option<usize>) -> u64 {
        at.and_then(|at| self.blocks.get(at)).map_or(0, |found| found.1)
    }

    fn sentence(&self, at: usize) -> f64 {
        self.sentences[at]
    }

    /// Share of these terms in the question, weighted by rarity.
    fn share(&self, held: u64) -> f64 {
        let held = (0..self.rarity.len()).filter(|&number| held & bit(number) != 0);
        held.map(|number| self.rarity[number]).sum::<f64>() / self.total
    }

    /// Adds the sentences of a block with their features and scores.
    fn weigh(&self, at: usize, out: &mut Vec<Ranked>) {
        let (index, question) = (self.index, self.question);
        let block = &index.blocks[at];
        let shared = self.signs_of_block(at, block);
        for number in block.first..block.end {
            let sentence = index.sentence(number);
            let novel = sentence.terms.iter().filter(|one| !self.is_asked(one.term));
            let novelty = novel.map(|one| index.rarity_of(one)).sum::<f64>().ln_1p();
            let formed = self.hunts() && sentence.values.iter().any(|value| question.seeks(value));
            let (quoted, scope) =
                self.anchors.shares(block.passage, index.text(number), question.last);
            let written = shared.agent && !sentence.prose && !formed;
            let signs = Signs {
                own: self.sentence(number),
                asks: sentence.asks && sentence.length <= 12,
                length: f64::from(sentence.length.max(1)).ln(),
                novel: novelty.min(if written { WRITTEN } else { f64::INFINITY }),
                rarest: self.rarest_in(number),
                dated: question.ask == Ask::When && self.is_dated_at(number),
                numbered: matches!(question.ask, Ask::Number | Ask::HowLong) && sentence.has_number,
                opens: 1.0 / (1.0 + (number - block.first) as f64),
                formed,
                defines: formed && sentence.values.iter().any(|v| question.seeks_definition(v)),
                keyed: scope > 0.0 && self.anchors.keyed(index.text(number)),
                quoted,
                scope,
                ..shared
            };
            out.push(Ranked { sentence: number, score: score(&signs), signs });
        }
    }

    /// Whether a term is one of the question.
    fn is_asked(&self, term: Term) -> bool {
        self.asked & (1 << (term % 64)) != 0 && self.question.terms.contains(&term)
    }

    /// The features that all sentences of a block share.
    fn signs_of_block(&self, at: usize, block: &Block) -> Signs {
        let (index, question) = (self.index, self.question);
        let entry = &index.entries[block.passage];
        let (before, earlier) = (at.checked_sub(1), at.checked_sub(2));
        let asked = before.map_or(0.0, |before| self.asked_in(before));
        let one = question.speakers.len() == 1;
        let speaks = entry.speaker.map(|speaker| question.speakers.contains(&speaker));
        let held = self.held(Some(at));
        let with_before = held | self.held(before);
        Signs {
            block: self.block(Some(at)),
            previous: self.block(before),
            earlier: self.block(earlier),
            asked,
            speaker: one && speaks == Some(true),
            other: one && speaks == Some(false),
            date: self.is_dated(entry.date),
            held: self.share(with_before),
            held_wide: self.share(with_before | self.held(earlier)),
            agent: index.speakers.is_empty(),
            missing: 1.0 - self.share(held),
            ..Signs::default()
        }
    }

    /// The score of the best question in a block.
    fn asked_in(&self, block: usize) -> f64 {
        let run = self.index.blocks[block].first..self.index.blocks[block].end;
        let asked = run.filter(|&at| self.index.sentence(at).asks).map(|at| self.sentence(at));
        asked.fold(0.0, f64::max)
    }

    /// Rarity of the rarest term of the question in a sentence, as a share of
    /// the rarest of all its terms.
    fn rarest_in(&self, at: usize) -> f64 {
        let terms = &self.index.sentence(at).terms;
        let stands = |term| terms.binary_search_by_key(term, |one| one.term).is_ok();
        let held = self.question.terms.iter().zip(&self.rarity).filter(|(term, _)| stands(term));
        held.map(|(_, rarity)| *rarity).fold(0.0, f64::max) / self.rarest
    }

    /// Whether a sentence contains a date, or one relative to its own day.
    fn is_dated_at(&self, at: usize) -> bool {
        let index = self.index;
        index.sentence(at).is_dated(index.text(at), index.entry(at).date)
    }
}

/// The bit of a term; from the 64th term on all share the last bit.
fn bit(number: usize) -> u64 {
    1 << number.min(63)
}
