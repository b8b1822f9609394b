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

use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rustc_hash::FxHashMap;

use self::index::Index;
use self::passage::Analysed;
use self::question::ParsedQuestion;
use self::words::Numbers;
use super::{AnswerContext, Answerer, Passage, Searched};
use crate::roles::finder::Finder;
use recap_core::model::{NoAnswer, Source};
use recap_core::tokens::Counter;

/// Largest number of bytes of text whose analysis is cached.
const KEPT: usize = 256 << 20;

/// Most questions whose analysis is cached.
const QUESTIONS: usize = 10_000;

/// The offline summary for a model in the answerer's role. Answers depend on the
/// context and the question alone.
#[derive(Debug)]
pub struct Offline {
    counter: Arc<Counter>,
    memo: Mutex<Arc<Mutex<Memo>>>,
    questions: Mutex<FxHashMap<String, AnalysedQuestion>>,
}

/// The analyses of a question, each for the speakers of some contexts.
type AnalysedQuestion = Vec<(Vec<String>, Arc<ParsedQuestion>)>;

/// The texts that were analysed, and the numbers of their terms.
#[derive(Debug, Default)]
struct Memo {
    texts: FxHashMap<Arc<str>, Arc<Analysed>>,
    /// The same by the places of these texts in memory, which they keep as long
    /// as they are held here: most are found without a look at their words.
    places: FxHashMap<usize, Arc<Analysed>>,
    bytes: usize,
    numbers: Numbers,
}

impl Offline {
    /// A reader that limits its answers by this counter.
    pub fn new(counter: Arc<Counter>) -> Self {
        Self { counter, memo: Mutex::default(), questions: Mutex::default() }
    }

    /// The cache for a context; an empty one where the last is full. A context
    /// has one, so that its terms are numbered alike.
    fn memo(&self) -> Arc<Mutex<Memo>> {
        let mut memo = self.memo.lock().expect("no holder panics");
        if memo.lock().expect("no holder panics").bytes > KEPT {
            *memo = Arc::default();
        }
        Arc::clone(&memo)
    }

    fn index(&self, passages: &[Passage]) -> Index {
        let memo = self.memo();
        let known: Vec<Option<Arc<Analysed>>> = {
            let memo = memo.lock().expect("no holder panics");
            passages.iter().map(|passage| memo.known(&passage.text)).collect()
        };
        let each = passages.iter().zip(known);
        let analysed = each.map(|(one, known)| known.unwrap_or_else(|| analysed(&memo, one)));
        let analysed = analysed.collect();
        let numbers = memo.lock().expect("no holder panics").numbers.len();
        Index::new(passages, analysed, numbers)
    }

    /// The analysis of a question, from the cache if possible: a question is put
    /// to the contexts of all strategies.
    fn question(&self, text: &str, speakers: &[String]) -> Arc<ParsedQuestion> {
        let mut questions = self.questions.lock().expect("no holder panics");
        let known = questions.get(text).into_iter().flatten();
        if let Some((_, known)) = known.into_iter().find(|(own, _)| own == speakers) {
            return Arc::clone(known);
        }
        if questions.len() >= QUESTIONS {
            questions.clear();
        }
        let question = Arc::new(ParsedQuestion::new(text, speakers));
        let asked = questions.entry(text.to_owned()).or_default();
        asked.push((speakers.to_vec(), Arc::clone(&question)));
        question
    }

    fn answered(&self, index: &Index, text: &str) -> String {
        let question = self.question(text, &index.speakers);
        compose::answer(index, text, &question, &self.counter)
    }
}

impl Memo {
    /// The analysis of a text, if it is known: the same messages are part of
    /// hundreds of contexts.
    fn known(&self, text: &Arc<str>) -> Option<Arc<Analysed>> {
        self.places.get(&place(text)).or_else(|| self.texts.get(text)).cloned()
    }

    fn keep(&mut self, text: &Arc<str>, analysed: &Arc<Analysed>) {
        if let Entry::Vacant(vacant) = self.texts.entry(Arc::clone(text)) {
            vacant.insert(Arc::clone(analysed));
            self.places.insert(place(text), Arc::clone(analysed));
            self.bytes += text.len();
        }
    }
}

/// Where a text stands in memory.
fn place(text: &Arc<str>) -> usize {
    text.as_ptr().addr()
}

/// Analyses a passage, unless another context did by now, and keeps the analysis.
fn analysed(memo: &Mutex<Memo>, passage: &Passage) -> Arc<Analysed> {
    let known = memo.lock().expect("no holder panics").known(&passage.text);
    if let Some(known) = known {
        return known;
    }
    let mut analysed = Analysed::new(&passage.text);
    analysed.number(&mut memo.lock().expect("no holder panics").numbers);
    let analysed = Arc::new(analysed.collected());
    memo.lock().expect("no holder panics").keep(&passage.text, &analysed);
    analysed
}

#[async_trait]
impl Answerer for Offline {
    async fn answer(
        &self,
        shown: &AnswerContext,
        questions: &[&str],
    ) -> Vec<Result<String, NoAnswer>> {
        let index = self.index(&shown.passages);
        questions.iter().map(|text| Ok(self.answered(&index, text))).collect()
    }

    async fn search(
        &self,
        shown: &AnswerContext,
        questions: &[&str],
        finder: &Finder<'_>,
    ) -> Vec<Searched> {
        let own = self.index(&shown.passages);
        let mut searched = Vec::with_capacity(questions.len());
        for text in questions {
            searched.push(match searching::search(&own, text, finder).await {
                Ok(found) => {
                    let wide = self.index(&searching::widened(&shown.passages, &found));
                    let answer = Ok(self.answered(&wide, text));
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
