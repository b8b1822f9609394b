//! The offline reader: retrieval and extraction, deterministic, without weights
//! of a language model.
//!
//! It replaces a model so that the content of a context can be measured without
//! one. A passage is analysed once, a context indexed once. For each question
//! the sentences are ranked by the rarity of the terms that they share with it
//! (BM25), by speaker, time, and the text before them, and the best sentences
//! are copied in the order of the context. Relative dates are resolved against
//! the day on which they were said. In sessions of agents, which are recognised
//! by speakers without names, a value of the requested form counts most, and of
//! differing statements the newest, and what a question quotes is looked for by
//! that name. If no sentence gives reason to answer, the
//! reader says that it does not know. It never derives an answer, and has no
//! rules for a particular data set.

mod anchors;
mod calls;
mod compose;
mod cut;
mod doubt;
mod index;
mod passage;
mod question;
mod rank;
mod searching;
mod signs;
mod sought;
mod states;
mod words;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rustc_hash::FxHashMap;

use self::index::Index;
use self::passage::Analysed;
use super::{Answerer, Passage, Searched, Shown};
use crate::model::{NoAnswer, Source};
use crate::seats::finder::Finder;
use crate::tokens::Counter;

/// Largest number of bytes of text whose analysis is cached.
const KEPT: usize = 256 << 20;

/// The stand-in for a model in the answerer's seat. Answers depend on the
/// context and the question alone.
#[derive(Debug)]
pub struct Offline {
    counter: Arc<Counter>,
    memo: Mutex<Memo>,
}

#[derive(Debug, Default)]
struct Memo {
    texts: FxHashMap<Arc<str>, Arc<Analysed>>,
    bytes: usize,
}

impl Offline {
    /// A reader that limits its answers by this counter.
    pub fn new(counter: Arc<Counter>) -> Self {
        Self { counter, memo: Mutex::default() }
    }

    /// The analysis of a passage, from the cache if possible: the same messages
    /// are part of hundreds of contexts.
    fn analysed(&self, passage: &Passage) -> Arc<Analysed> {
        let known =
            || self.memo.lock().expect("no holder panics").texts.get(&passage.text).cloned();
        if let Some(known) = known() {
            return known;
        }
        let analysed = Arc::new(Analysed::new(&passage.text));
        let mut memo = self.memo.lock().expect("no holder panics");
        if memo.bytes + passage.text.len() > KEPT {
            *memo = Memo::default();
        }
        memo.bytes += passage.text.len();
        memo.texts.insert(Arc::clone(&passage.text), Arc::clone(&analysed));
        analysed
    }

    fn index(&self, passages: &[Passage]) -> Index {
        Index::new(passages, passages.iter().map(|passage| self.analysed(passage)).collect())
    }
}

#[async_trait]
impl Answerer for Offline {
    async fn answer(&self, shown: &Shown, questions: &[&str]) -> Vec<Result<String, NoAnswer>> {
        let index = self.index(&shown.passages);
        questions.iter().map(|text| Ok(compose::answer(&index, text, &self.counter))).collect()
    }

    async fn search(
        &self,
        shown: &Shown,
        questions: &[&str],
        finder: &Finder<'_>,
    ) -> Vec<Searched> {
        let own = self.index(&shown.passages);
        let mut searched = Vec::with_capacity(questions.len());
        for text in questions {
            searched.push(match searching::search(&own, text, finder).await {
                Ok(found) => {
                    let wide = self.index(&searching::widened(&shown.passages, &found));
                    let answer = Ok(compose::answer(&wide, text, &self.counter));
                    Searched { answer, calls: found.calls, tokens: found.tokens }
                }
                Err(why) => Searched { answer: Err(why), calls: 0, tokens: 0 },
            });
        }
        searched
    }

    fn name(&self) -> &str {
        "offline"
    }

    fn source(&self) -> Source {
        Source::Lexical
    }
}
