//! Whether a context still states what a question expects, without a model
//! (how-it-works §32).
//!
//! The context is cut into passages, which are ranked by the words of the question
//! (BM25). A question is findable if its three best passages state an accepted
//! value with no former value behind it. A list of names without sentences rarely
//! ranks high, and a value that the context denies or calls former does not count.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use rustc_hash::{FxHashMap, FxHasher};

use crate::roles::judge::{Haystack, Sought};
use recap_core::model::{MessageIndex, Question, Role, SnapshotPart};
use recap_core::text::language::bm25::{rarity, saturated};
use recap_core::text::language::{is_stop, is_unspaced, with_stem};

/// Number of passages that are read: as many as a short answer could be drawn from.
const BEST: usize = 3;
/// Length in bytes of what counts of a call for its result.
const LEAD: usize = 600;

/// Looks for the answers to a session's questions in contexts. Each message is read
/// once and searched once for each question, however many contexts there are.
#[derive(Debug)]
pub struct Findable {
    messages: Vec<(Role, Arc<str>)>,
    read: OnceLock<Vec<Arc<Passages>>>,
    /// Texts that strategies wrote, by hash, and the message whose text they replace.
    written: Mutex<WrittenTexts>,
    /// `None` where no value is expected.
    questions: Vec<Option<Asked>>,
}

/// A context in which the answers to several questions are looked for.
#[derive(Debug)]
pub struct ReadContext {
    parts: Vec<Part>,
    /// Number of its passages, and of their terms.
    passages: u64,
    terms: u64,
}

/// A part of a context.
#[derive(Debug)]
enum Part {
    /// Messages as they were recorded.
    Recorded(Range<MessageIndex>),
    /// A text that a strategy wrote, in place of a message or beside them.
    Written(Arc<Passages>, Option<MessageIndex>),
}

/// What a question asks for.
#[derive(Debug)]
struct Asked {
    /// Its words, each once.
    terms: Vec<Term>,
    /// The first message that answers it: what says its value before, as a call does that offers
    /// it among others, does not yet say the answer.
    from: MessageIndex,
    values: Vec<Value>,
    former: Vec<Sought>,
    /// Where its words stand in the messages, and in written texts, by their place in memory.
    hits: OnceLock<Vec<TermHit>>,
    written: Mutex<FxHashMap<usize, Vec<TermHit>>>,
    /// The parts of values that a passage states, by the place of its text in memory
    /// and its number.
    stated: Mutex<StatedParts>,
}

/// An accepted value: its parts, and how many of them must be stated.
#[derive(Debug)]
struct Value {
    parts: Vec<Sought>,
    needed: usize,
}

/// Texts by hash, with the message whose text they replace.
type WrittenTexts = FxHashMap<(String, Option<MessageIndex>), Arc<Passages>>;

/// The parts of values that each passage states.
type StatedParts = FxHashMap<(usize, u32), Arc<[bool]>>;

/// A word of a question in a passage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TermHit {
    /// The message of the passage; after all of them where the text has none.
    message: MessageIndex,
    passage: u32,
    /// The position of the word in the question.
    term: usize,
    count: u32,
}

impl Findable {
    /// The questions come with the first message of their evidence. Nothing is read until a
    /// context is looked at.
    pub fn new<'a>(
        messages: Vec<(Role, Arc<str>)>,
        questions: impl IntoIterator<Item = (&'a Question, MessageIndex)>,
    ) -> Self {
        let questions = questions.into_iter().map(|(one, from)| Asked::new(one, from)).collect();
        Self { messages, read: OnceLock::new(), written: Mutex::default(), questions }
    }

    /// Reads a context, whose written texts are given by their hashes.
    pub fn context(
        &self,
        context: &[SnapshotPart],
        texts: &BTreeMap<String, String>,
    ) -> ReadContext {
        let written =
            |hash: &str, message| Part::Written(self.written(&texts[hash], hash, message), message);
        let parts = context.iter().map(|part| match part {
            SnapshotPart::Messages { from, to } => Part::Recorded(*from..*to),
            SnapshotPart::Edited { text, message } => written(text, Some(*message)),
            SnapshotPart::Written { text, .. } => written(text, None),
        });
        let mut read = ReadContext { parts: parts.collect(), passages: 0, terms: 0 };
        for part in &read.parts {
            let texts = match part {
                Part::Recorded(place) => &self.read()[place.start as usize..place.end as usize],
                Part::Written(text, _) => std::slice::from_ref(text),
            };
            for text in texts {
                read.passages += text.places.len() as u64;
                read.terms += text.total;
            }
        }
        read
    }

    /// Whether the answer to a question is findable in a context; `None` where no
    /// value is expected: a rubric, yes or no, and what cannot be known. The parts of
    /// a list may stand in several of the best passages.
    pub fn is_findable(&self, question: usize, context: &ReadContext) -> Option<bool> {
        let asked = self.questions[question].as_ref()?;
        let mut stated = vec![false; asked.values.iter().map(|value| value.parts.len()).sum()];
        let best = self.best(asked, context).into_iter();
        for (passages, number, _) in best.filter(|(.., answers)| *answers) {
            let own = asked.stated_in(passages, number);
            stated.iter_mut().zip(own.iter()).for_each(|(all, own)| *all |= own);
        }
        let mut stated = stated.into_iter();
        Some(asked.values.iter().any(|value| {
            let own = stated.by_ref().take(value.parts.len());
            own.filter(|stated| *stated).count() >= value.needed
        }))
    }

    /// The passages of a context that share most with a question, best first, and whether they
    /// may answer it; of two that score alike the later one, which is newer.
    fn best<'a>(
        &'a self,
        asked: &Asked,
        context: &'a ReadContext,
    ) -> Vec<(&'a Passages, u32, bool)> {
        let hits = context.parts.iter().map(|part| self.hits(asked, part));
        let hits: Vec<Cow<'_, [TermHit]>> = hits.collect();
        let mut holding = vec![0_u32; asked.terms.len()];
        hits.iter().flat_map(|own| own.iter()).for_each(|hit| holding[hit.term] += 1);
        let all = context.passages as f64;
        let rarities: Vec<f64> = holding.iter().map(|held| rarity(f64::from(*held), all)).collect();
        let mean = (context.terms as f64 / all.max(1.0)).max(1.0);
        let mut best: Vec<(f64, &Passages, &TermHit)> = Vec::new();
        for (part, hits) in context.parts.iter().zip(&hits) {
            for passage in hits.chunk_by(|a, b| (a.message, a.passage) == (b.message, b.passage)) {
                let first = &passage[0];
                let text = match part {
                    Part::Recorded(_) => &self.read()[first.message as usize],
                    Part::Written(text, _) => text,
                };
                let length = f64::from(text.lengths[first.passage as usize]) / mean;
                let score =
                    |hit: &TermHit| rarities[hit.term] * saturated(f64::from(hit.count), length);
                let score: f64 = passage.iter().map(score).sum();
                let at = best.partition_point(|(other, ..)| *other > score);
                if at < BEST {
                    best.insert(at, (score, text, first));
                    best.truncate(BEST);
                }
            }
        }
        let best = best.into_iter();
        best.map(|(_, text, hit)| (text, hit.passage, hit.message >= asked.from)).collect()
    }

    /// Where the words of a question stand in a part of a context.
    fn hits<'a>(&self, asked: &'a Asked, part: &Part) -> Cow<'a, [TermHit]> {
        match part {
            Part::Recorded(messages) => {
                let each = || (0..).zip(self.read()).flat_map(|(at, text)| asked.hits_in(text, at));
                let hits = asked.hits.get_or_init(|| each().collect());
                let place = |message| hits.partition_point(|hit| hit.message < message);
                Cow::Borrowed(&hits[place(messages.start)..place(messages.end)])
            }
            Part::Written(text, message) => {
                let mut known = asked.written.lock().expect("no holder panics");
                let hits = known
                    .entry(Arc::as_ptr(text).addr())
                    .or_insert_with(|| asked.hits_in(text, message.unwrap_or(MessageIndex::MAX)));
                Cow::Owned(hits.clone())
            }
        }
    }

    fn read(&self) -> &[Arc<Passages>] {
        let each = self.messages.iter().enumerate();
        let read = || each.map(|(at, (_, text))| Arc::new(Passages::new(text, self.lead(at))));
        self.read.get_or_init(|| read().collect())
    }

    /// The end of what a message answers, whose words count for it: the call of a
    /// result, or what was said before.
    fn lead(&self, message: usize) -> &str {
        let before = &self.messages[..message];
        let answers = |(role, _): &&(Role, Arc<str>)| *role != Role::Tool;
        match before.iter().rev().find(answers) {
            Some((_, text)) if self.messages[message].0 == Role::Tool => {
                &text[text.ceil_char_boundary(text.len().saturating_sub(LEAD))..]
            }
            _ => "",
        }
    }

    /// The passages of a text that a strategy wrote.
    fn written(&self, text: &str, hash: &str, message: Option<MessageIndex>) -> Arc<Passages> {
        let lead = message.map_or("", |message| self.lead(message as usize));
        let mut known = self.written.lock().expect("no holder panics");
        let passages = known.entry((hash.to_owned(), message));
        Arc::clone(passages.or_insert_with(|| Arc::new(Passages::new(&Arc::from(text), lead))))
    }
}

impl Asked {
    fn new(question: &Question, from: MessageIndex) -> Option<Asked> {
        let sought = question.expect.alternatives().iter().map(|value| Sought::new(value));
        let values = sought.filter(|value| !value.is_yes_no() && !value.is_empty()).map(|value| {
            let parts = value.parts();
            Value { needed: Sought::needed(parts.len()), parts }
        });
        let values: Vec<Value> = values.collect();
        let mut terms = terms_of(&question.question);
        terms.sort_unstable();
        terms.dedup();
        let former = question.stale.iter().map(|value| Sought::new(value)).collect();
        (!values.is_empty()).then(|| Asked {
            terms,
            from,
            values,
            former,
            hits: OnceLock::new(),
            written: Mutex::default(),
            stated: Mutex::default(),
        })
    }

    /// Where the words of the question stand in a text, in the order of its passages.
    fn hits_in(&self, passages: &Passages, message: MessageIndex) -> Vec<TermHit> {
        let each = self.terms.iter().enumerate().flat_map(|(term, key)| {
            let held = passages.holding(*key);
            held.map(move |(passage, count)| TermHit { message, passage, term, count })
        });
        let mut hits: Vec<TermHit> = each.collect();
        hits.sort_unstable();
        hits
    }

    /// Which parts of the values a passage states, with no former value after them.
    fn stated_in(&self, passages: &Passages, number: u32) -> Arc<[bool]> {
        let key = (std::ptr::from_ref(passages).addr(), number);
        if let Some(known) = self.stated.lock().expect("no holder panics").get(&key) {
            return Arc::clone(known);
        }
        let passage = passages.haystack(number);
        let former = self.former.iter().filter_map(|value| passage.last(value, false)).max();
        let parts = self.values.iter().flat_map(|value| &value.parts);
        let stated: Arc<[bool]> = parts
            .map(|part| {
                passage.last(part, true).is_some_and(|at| former.is_none_or(|old| old <= at))
            })
            .collect();
        self.stated.lock().expect("no holder panics").insert(key, Arc::clone(&stated));
        stated
    }
}

// Cuts a text into passages and counts the words of each, to be ranked by BM25.

/// Approximate length of a passage in bytes, and its most sentences: a paragraph.
const PASSAGE: usize = 1_200;
const SENTENCES: usize = 12;
/// Length in bytes from which a sentence is cut at the next space.
const SENTENCE: usize = 360;

/// How a line with a call begins, and how many of its bytes name the tool and its
/// subject.
const CALL: &str = r#"{"name":""#;
const HEAD: usize = 200;

/// The hash of a stem. 64 bits: two stems of one session share a hash with a
/// chance below one in a billion.
type Term = u64;

/// A passage that holds a term: its number, and how often.
type Hit = (u32, u32);

/// A text in passages.
#[derive(Debug)]
struct Passages {
    text: Arc<str>,
    places: Vec<Range<usize>>,
    /// Number of terms of each passage, and of all.
    lengths: Vec<u32>,
    total: u64,
    /// Terms in order, each with its passages in order.
    terms: Vec<(Term, Hit)>,
    /// Each passage as values are looked for in it, read when one first is.
    haystacks: Box<[OnceLock<Box<Haystack>>]>,
}

impl Passages {
    /// Cuts a text and counts its words. The words of `lead`, which it answers, count
    /// for each of its passages, and those at the head of a call for all of the call.
    fn new(text: &Arc<str>, lead: &str) -> Self {
        let (places, lead) = (passages(text), terms_of(lead));
        let mut lengths = Vec::with_capacity(places.len());
        let mut terms: Vec<(Term, Hit)> = Vec::new();
        let (mut line, mut before, mut head) = (0, 0, Vec::new());
        for (number, place) in (0..).zip(&places) {
            if let Some(end) = text[before..place.start].rfind('\n') {
                line = before + end + 1;
                head.clear();
            }
            before = place.start;
            if head.is_empty() && line < place.start && text[line..].starts_with(CALL) {
                head = terms_of(&text[line..text.floor_char_boundary(line + HEAD)]);
            }
            let mut own = terms_of(&text[place.clone()]);
            own.extend(lead.iter().chain(&head));
            lengths.push(own.len() as u32);
            own.sort_unstable();
            let counted =
                own.chunk_by(|a, b| a == b).map(|run| (run[0], (number, run.len() as u32)));
            terms.extend(counted);
        }
        terms.sort_unstable();
        let total = lengths.iter().map(|length| u64::from(*length)).sum();
        let haystacks = places.iter().map(|_| OnceLock::new()).collect();
        Self { text: Arc::clone(text), places, lengths, total, terms, haystacks }
    }

    /// The text of a passage.
    fn passage(&self, number: u32) -> &str {
        &self.text[self.places[number as usize].clone()]
    }

    fn haystack(&self, number: u32) -> &Haystack {
        let read = || Box::new(Haystack::new(self.passage(number)));
        self.haystacks[number as usize].get_or_init(read)
    }

    /// The passages that hold a term.
    fn holding(&self, term: Term) -> impl Iterator<Item = Hit> + '_ {
        let first = self.terms.partition_point(|(own, _)| *own < term);
        self.terms[first..].iter().take_while(move |(own, _)| *own == term).map(|(_, hit)| *hit)
    }
}

/// The byte ranges of the passages of a text: sentences that follow each other.
fn passages(text: &str) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    let mut sentences = 0;
    for sentence in self::sentences(text) {
        match places.last_mut() {
            Some(last) if sentences < SENTENCES && sentence.end - last.start <= PASSAGE => {
                last.end = sentence.end;
                sentences += 1;
            }
            _ => {
                places.push(sentence);
                sentences = 1;
            }
        }
    }
    places
}

/// The byte ranges of the sentences of a text, without surrounding space: lines,
/// also those that JSON writes as `\n`, cut after full stops, and long ones at spaces.
pub(crate) fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut start, mut at) = (0, 0);
    loop {
        // Letters and digits end a sentence only where it is too long.
        let near = text.as_bytes().get(at..text.len().min(start + 2 * SENTENCE));
        at += near.map_or(0, |near| near.iter().take_while(|b| b.is_ascii_alphanumeric()).count());
        let Some(c) = text[at..].chars().next() else { break };
        let end = at + c.len_utf8();
        let next = text[end..].chars().next();
        let ends = match c {
            '\n' | '\r' | '。' | '！' | '？' => true,
            '\\' => next == Some('n'),
            '.' | '!' | '?' => next.is_none_or(char::is_whitespace),
            c if c.is_whitespace() || c == ',' => end - start > SENTENCE,
            _ => end - start > 2 * SENTENCE,
        };
        at = end;
        if ends {
            // An escaped `\n` belongs to neither side.
            let escaped = usize::from(c == '\\');
            push(text, start..end - escaped, &mut found);
            start = end + escaped;
            at = start;
        }
    }
    push(text, start..text.len(), &mut found);
    found
}

fn push(text: &str, place: Range<usize>, found: &mut Vec<Range<usize>>) {
    let kept = text[place.clone()].trim_end();
    let start = place.start + (kept.len() - kept.trim_start().len());
    if start < place.start + kept.len() {
        found.push(start..place.start + kept.len());
    }
}

/// The terms of a text: the stems of its words that are not function words. The
/// parts of an identifier are words (`retry_policy.rs`, `maxRetries`), and so is
/// each character of scripts without spaces.
fn terms_of(text: &str) -> Vec<Term> {
    let mut terms = Vec::with_capacity(text.len() / 6);
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars() {
        let joins = c.is_alphanumeric() && !is_unspaced(c) && !is_unspaced(before);
        if !joins || before.is_lowercase() && c.is_uppercase() {
            end(&mut word, &mut terms);
        }
        if c.is_alphanumeric() {
            if c.is_ascii() {
                word.push(c.to_ascii_lowercase());
            } else {
                word.extend(c.to_lowercase());
            }
        }
        before = c;
    }
    end(&mut word, &mut terms);
    terms
}

fn end(word: &mut String, terms: &mut Vec<Term>) {
    if !word.is_empty() && !is_stop(word) {
        let mut hasher = FxHasher::default();
        with_stem(word, |stem| stem.hash(&mut hasher));
        terms.push(hasher.finish());
    }
    word.clear();
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::{Expectation, QuestionKind};

    fn question(text: &str, values: &[&str], stale: &[&str]) -> Question {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Question {
            id: "p".into(),
            session: "t".into(),
            asked_at: 0,
            kind: QuestionKind::Fact,
            question: text.to_owned(),
            expect: Expectation::AnyOf(texts(values)),
            evidence: Vec::new(),
            stale: texts(stale),
        }
    }

    fn messages(texts: &[&str]) -> Vec<(Role, Arc<str>)> {
        texts.iter().map(|text| (Role::User, Arc::from(*text))).collect()
    }

    /// Whether the answer is findable in all of these messages.
    fn found(texts: &[&str], question: &Question) -> Option<bool> {
        let findable = Findable::new(messages(texts), [(question, 0)]);
        shows(&findable, &[all(texts.len())], &BTreeMap::new())
    }

    /// Whether the answer to the only question is findable in a context.
    fn shows(
        findable: &Findable,
        context: &[SnapshotPart],
        texts: &BTreeMap<String, String>,
    ) -> Option<bool> {
        findable.is_findable(0, &findable.context(context, texts))
    }

    fn all(messages: usize) -> SnapshotPart {
        SnapshotPart::Messages { from: 0, to: messages as u32 }
    }

    #[test]
    fn a_value_is_findable_while_a_message_that_states_it_is_sent() {
        let texts = ["Hello.", "The service listens on port 8443.", "Thanks."];
        let port = question("Which port does the service use?", &["8443"], &[]);
        let findable = Findable::new(messages(&texts), [(&port, 0)]);
        let sent = |from, to| {
            let context = [SnapshotPart::Messages { from, to }];
            shows(&findable, &context, &BTreeMap::new())
        };
        assert_eq!((sent(0, 3), sent(1, 2)), (Some(true), Some(true)));
        assert_eq!((sent(0, 1), sent(2, 3)), (Some(false), Some(false)));
        assert_eq!(shows(&findable, &[], &BTreeMap::new()), Some(false));
    }

    #[test]
    fn a_denied_or_former_value_is_not_findable() {
        let port = question("Which port does the service use?", &["9090"], &["8080"]);
        for (text, expected) in [
            ("The service uses port 9090.", true),
            ("The service does not use port 9090.", false),
            ("The service used port 8080. The service now uses port 9090.", true),
            ("The service uses port 9090. It uses port 8080 again.", false),
            ("The service uses port 9090 (formerly 8080).", true),
            ("The service uses port 8080.", false),
        ] {
            assert_eq!(found(&[text], &port), Some(expected), "{text}");
        }
    }

    /// Of four messages with the same words the three last ones are read.
    #[test]
    fn three_best_passages_are_read_and_the_newest_of_equals() {
        let port = question("Which port does the service use?", &["8443"], &[]);
        let other = "The service uses port 7000.";
        let value = "The service uses port 8443.";
        assert_eq!(found(&[value, other, other], &port), Some(true));
        assert_eq!(found(&[value, other, other, other], &port), Some(false));
        assert_eq!(found(&[other, value, other, other], &port), Some(true));
        // A passage with fewer words of the question is read before none of them.
        assert_eq!(found(&["A port: 8443.", other, other, other], &port), Some(false));
    }

    /// Worked out by hand: two of three passages hold `port`, ln(1 + 1.5 / 2.5) = ln 1.6,
    /// one holds `servic`, ln(1 + 2.5 / 1.5) = ln 2.67: the passage with the rarer word is
    /// the best of those with one word each and of the same length.
    #[test]
    fn a_rare_word_ranks_a_passage_higher() {
        let texts = ["port alpha", "port beta", "service gamma"];
        let asked = question("Which port of which service?", &["gamma"], &[]);
        let findable = Findable::new(messages(&texts), [(&asked, 0)]);
        let own = findable.questions[0].as_ref().unwrap();
        let context = findable.context(&[all(3)], &BTreeMap::new());
        let best = findable.best(own, &context);
        let best: Vec<&str> = best.iter().map(|(text, number, _)| text.passage(*number)).collect();
        assert_eq!(best, ["service gamma", "port beta", "port alpha"]);
    }

    #[test]
    fn a_bare_list_of_names_is_not_findable_beside_sentences() {
        let asked = question("Which module retries a failed request?", &["net/backoff.rs"], &[]);
        let names: Vec<String> = (0..40).map(|n| format!("area{n}/unit{n}.rs")).collect();
        let list =
            format!("{}\nnet/backoff.rs\n{}", names[..20].join("\n"), names[20..].join("\n"));
        let talk =
            "A failed request is put aside.\nThe module is not known.\nWhich request failed?";
        assert_eq!(found(&[&list], &asked), Some(false));
        assert_eq!(found(&[&list, talk], &asked), Some(false));
        let said = "The module net/backoff.rs retries a failed request.";
        assert_eq!(found(&[&list, said], &asked), Some(true));
    }

    #[test]
    fn a_result_is_found_by_the_words_of_its_call() {
        let asked = question("Which error did `cargo test --lib` report?", &["missing crate"], &[]);
        let call = r#"{"name":"Bash","arguments":{"command":"cargo test --lib"}}"#;
        let mut session = messages(&[call, "exit 1: missing crate", "Go on with cargo."]);
        session[0].0 = Role::Assistant;
        session[1].0 = Role::Tool;
        let findable = Findable::new(session, [(&asked, 0)]);
        assert_eq!(shows(&findable, &[all(3)], &BTreeMap::new()), Some(true));
        // Cleared, nothing is left of it.
        let texts = BTreeMap::from([("cleared".to_owned(), "[cleared]".to_owned())]);
        let cleared = SnapshotPart::Edited { message: 1, text: "cleared".into() };
        assert_eq!(shows(&findable, &[cleared], &texts), Some(false));
    }

    #[test]
    fn written_texts_and_edited_messages_count_as_sent() {
        let port = question("Which port does the service use?", &["8443"], &[]);
        let findable = Findable::new(messages(&["The service uses port 8443."]), [(&port, 0)]);
        let texts = BTreeMap::from([
            ("summary".to_owned(), "They chose port 8443 for the service.".to_owned()),
            ("cleared".to_owned(), "[cleared]".to_owned()),
        ]);
        let written = SnapshotPart::Written { role: Role::User, text: "summary".into() };
        let edited = SnapshotPart::Edited { message: 0, text: "cleared".into() };
        let found = |context: &[SnapshotPart]| shows(&findable, context, &texts);
        assert_eq!(found(std::slice::from_ref(&written)), Some(true));
        assert_eq!(found(std::slice::from_ref(&edited)), Some(false));
        assert_eq!(found(&[edited, written]), Some(true));
    }

    #[test]
    fn parts_of_a_list_may_stand_in_several_passages() {
        let asked = question("What did we buy for the party?", &["kite, drum, violin"], &[]);
        // Two thirds of three parts are two parts.
        assert_eq!(found(&["We did buy a kite.", "We did buy a drum."], &asked), Some(true));
        assert_eq!(found(&["We did buy a kite."], &asked), Some(false));
    }

    #[test]
    fn rubrics_booleans_and_unknown_answers_have_no_value() {
        let own = question("Which port?", &["8443"], &[]);
        for expect in [
            Expectation::Rubric(vec!["8443".into()]),
            Expectation::Unanswerable,
            Expectation::AnyOf(vec!["Yes".into()]),
            Expectation::AnyOf(vec!["…".into()]),
        ] {
            assert_eq!(found(&["Yes, port 8443."], &Question { expect, ..own.clone() }), None);
        }
    }

    #[test]
    fn scripts_without_spaces_are_found_by_their_characters() {
        let asked = question("妹妹在哪里读书？", &["南京大学"], &[]);
        assert_eq!(found(&["我的妹妹在南京大学读书。", "好的。"], &asked), Some(true));
        assert_eq!(found(&["我的妹妹在北京大学读书。", "好的。"], &asked), Some(false));
    }

    #[test]
    fn hostile_texts_are_cut_and_ranked_in_linear_time() {
        let unbroken = "x".repeat(3_000_000);
        let spaced = "port ".repeat(600_000);
        let lines = "port\n".repeat(600_000);
        let escapes = "\\n\\".repeat(500_000);
        let wide = "鲸".repeat(500_000);
        let odd = ["", "\u{0}\u{1b}[31m", ":::", "\\", "{\""];
        let texts = [&odd[..], &[&unbroken, &spaced, &lines, &escapes, &wide]].concat();
        for asked in ["Which port?", "", "?", "鲸鲸", &"why port ".repeat(5_000)] {
            assert_eq!(found(&texts, &question(asked, &["8443"], &["", "x"])), Some(false));
        }
    }

    #[test]
    fn passages_end_at_lines_and_sentences() {
        let cut = |text: &str| -> Vec<String> {
            sentences(text).into_iter().map(|place| text[place].to_owned()).collect()
        };
        assert_eq!(cut("Ann left. Why?\nv2.5 ran!"), ["Ann left.", "Why?", "v2.5 ran!"]);
        assert_eq!(cut("我在。你呢？"), ["我在。", "你呢？"]);
        assert_eq!(cut(r"fn a() {}\nfn b() {}"), ["fn a() {}", "fn b() {}"]);
        assert_eq!(cut(" \n\n "), [""; 0]);
        assert!(cut(&"key, ".repeat(4_000)).iter().all(|piece| piece.len() <= 366));
    }

    #[test]
    fn value_said_before_first_evidence_is_only_offered() {
        let texts = ["Which store, Postgres or SQLite?", "The store is SQLite.", "Next."];
        let store = question("Which store was chosen?", &["SQLite"], &[]);
        let findable = Findable::new(messages(&texts), [(&store, 1)]);
        let texts = BTreeMap::from([("cut".to_owned(), "Which store: SQLite".to_owned())]);
        let shown = |part| shows(&findable, &[part], &texts);
        assert_eq!(shown(SnapshotPart::Messages { from: 0, to: 1 }), Some(false));
        assert_eq!(shown(SnapshotPart::Messages { from: 0, to: 2 }), Some(true));
        let edited = |message| SnapshotPart::Edited { message, text: "cut".into() };
        assert_eq!(shown(edited(0)), Some(false));
        assert_eq!(shown(edited(1)), Some(true));
    }
}
