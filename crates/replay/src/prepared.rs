//! A session prepared for replay: everything about it that all cells share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use rustc_hash::FxHashMap;

use crate::exogenous::{self, CacheParameters};
use recap_billing::prompt_cache::reads_in_wide_steps;
use recap_core::clock::{PROFILE, Timeline};
use recap_core::model::{
    Block, Message, MessageFacts, MessageIndex, Question, QuestionFacts, Reference, RequestFacts,
    Session, SessionFacts, Usage, UsedAgain,
};
use recap_core::tokens::Counter;
use recap_exam::facts::{CutPlace, Cuts, LastComponents, Mining, Survival, places};
use recap_strategy::{Archived, Recording};

/// A session with its sizes, its exam and its times.
#[derive(Clone, Debug)]
pub struct PreparedSession {
    /// Session, sizes and calls.
    pub recording: Recording,
    /// The simulated time of each message.
    pub timeline: Arc<Timeline>,
    /// Finds the references of the exam in contexts.
    pub survival: Survival,
    /// Where the last components of references and of facts at cuts stand.
    pub last_components: Arc<LastComponents>,
    /// The facts that measures need.
    pub facts: Arc<SessionFacts>,
    /// Text of each message, by its hash.
    pub texts: Arc<BTreeMap<String, String>>,
    /// The cuts, each with its facts.
    pub cuts: Arc<Vec<(CutPlace, Vec<Reference>)>>,
    /// For each recorded compaction, where what the agent used again came from.
    pub used_again: Vec<Option<UsedAgain>>,
    /// Its requests, and those of the history that it copied, in order.
    pub responses: Arc<Vec<RequestFacts>>,
}

/// Where the agent got from what it used again after each compaction whose summary can be read.
fn used_again(session: &Session, sizes: &[u64], mining: &Mining<'_>) -> Vec<Option<UsedAgain>> {
    let mut again = vec![None; session.compactions.len()];
    for place in places(session, sizes, Cuts::Recorded, 1).unwrap_or_default() {
        let Some(at) = place.recorded else { continue };
        let made = &session.compactions[at];
        again[at] = made.unreadable.is_none().then(|| mining.used_again(&place, made));
    }
    again
}

/// Hash under which a text is stored: the first 128 bits of BLAKE3, in hex.
pub(crate) fn text_hash(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..TEXT_HASH].to_owned()
}

/// Hexadecimal digits of the hash of a text.
const TEXT_HASH: usize = 32;

/// Whether a text has the form of the hash of a text.
pub(crate) fn is_text_hash(text: &str) -> bool {
    text.len() == TEXT_HASH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

impl PreparedSession {
    /// The messages as a search returns them.
    pub(crate) fn archived(&self) -> Vec<Archived> {
        let known = (0..).zip(&self.recording.session.messages).zip(&self.facts.messages);
        let text = |at| self.recording.text(at).shared();
        known.map(|((at, message), facts)| Archived::of(at, message, facts, text(at))).collect()
    }

    /// Counts, indexes and mines a session: the only place where its
    /// messages are tokenised.
    pub fn new(dataset: &str, session: Session, counter: Arc<Counter>) -> Self {
        Self::with_cuts(dataset, session, counter, Cuts::None, 0)
    }

    /// Prepares a session like [`PreparedSession::new`], with cuts at the given
    /// places and this depth.
    pub fn with_cuts(
        dataset: &str,
        session: Session,
        counter: Arc<Counter>,
        cuts: Cuts,
        depth: u32,
    ) -> Self {
        let session = Arc::new(session);
        let recording = Recording::new(Arc::clone(&session), counter);
        let timeline = Arc::new(Timeline::of(&session, &PROFILE, &recording.sizes.output));
        let exact: Vec<u64> = recording.exact.messages.iter().map(|w| w.tokens).collect();
        let mining = Mining::new(&session, &exact);
        let exam = mining.exam();
        let places = places(&session, &exact, cuts, depth);
        let no_cut = places.as_ref().err().filter(|_| cuts != Cuts::None).cloned();
        let cut = |place: CutPlace| (mining.facts_at(&place), place);
        let cuts = places.unwrap_or_default().into_iter().map(cut);
        let cuts: Vec<_> = cuts.map(|(facts, place)| (place, facts)).collect();
        let used_again = used_again(&session, &exact, &mining);
        let references = exam.references.iter().chain(cuts.iter().flat_map(|(_, facts)| facts));
        let last_components = LastComponents::new(references, (0u32..).zip(&session.messages));
        let survival = Survival::new(&session, &exam, &last_components);
        let (messages, texts) = message_facts(&recording);
        let (mut responses, other_models) = responses(&recording, &timeline);
        let global = recording.calibration.as_ref().and_then(|c| c.global);
        let wide = session.model.as_deref().is_some_and(reads_in_wide_steps);
        let step = if wide { 512 } else { 128 };
        exogenous::mark(&mut responses, &session.compactions, CacheParameters { global, step });
        let own = responses.iter().filter(|one| !session.copied.contains(&one.message));
        let facts = SessionFacts {
            dataset: dataset.to_owned(),
            session: session.id.clone(),
            cluster: session.project.clone(),
            preamble_tokens: recording.sizes.preamble_tokens(),
            hidden_tokens: recording.sizes.hidden_tokens,
            messages,
            requests: own.copied().collect(),
            exam,
            recorded_compactions: session.own_compactions().count() as u32,
            model: session.model.clone(),
            other_models,
            tokens_source: recording.tokens_source,
            calibration: recording.calibration.as_deref().cloned(),
            no_cut,
            clock_modelled: timeline.is_modelled(),
            sidechains: sidechains(&session, &timeline),
            left_out: session.left_out.iter().map(|(k, v)| (k.clone(), *v)).collect(),
            ..SessionFacts::default()
        };
        Self {
            timeline,
            recording,
            survival,
            last_components: Arc::new(last_components),
            facts: Arc::new(facts),
            texts: Arc::new(texts),
            cuts: Arc::new(cuts),
            used_again,
            responses: Arc::new(responses),
        }
    }

    /// The request for a message that another session counts.
    pub(super) fn copied_request(&self, message: MessageIndex) -> Option<&RequestFacts> {
        self.recording.session.copied.get(&message)?;
        let at = self.responses.binary_search_by_key(&message, |one| one.message).ok()?;
        self.responses.get(at)
    }

    /// Adds the questions of the session, whose evidence has been checked.
    #[must_use]
    pub fn with_questions(mut self, questions: Vec<Question>) -> Self {
        Arc::make_mut(&mut self.facts).questions = question_facts(questions, &self.recording);
        self
    }

    /// Adds questions that are asked at cuts alone, whose evidence has been
    /// checked.
    #[must_use]
    pub fn with_cut_questions(mut self, questions: Vec<Question>) -> Self {
        Arc::make_mut(&mut self.facts).cut_questions = question_facts(questions, &self.recording);
        self
    }
}

/// The request and the evidence of each question, in the order of their ids.
fn question_facts(mut questions: Vec<Question>, recording: &Recording) -> Vec<QuestionFacts> {
    questions.sort_by(|a, b| a.id.cmp(&b.id));
    let session = &recording.session;
    let places: FxHashMap<&str, MessageIndex> =
        (0..).zip(&session.messages).map(|(at, m)| (m.id.as_str(), at)).collect();
    let requests: Vec<MessageIndex> = session.requests().collect();
    let mut facts = Vec::with_capacity(questions.len());
    for question in questions {
        let evidence: BTreeSet<MessageIndex> =
            question.evidence.iter().filter_map(|id| places.get(id.as_str()).copied()).collect();
        let request = requests.partition_point(|&message| message <= question.asked_at);
        let end = requests.get(request).map_or(session.messages.len(), |&m| m as usize);
        let age_tokens = evidence.last().map(|&last| {
            // Counted by the vocabulary alone, as the distance of a reference
            // is.
            let since = &recording.exact.messages[last as usize + 1..end];
            since.iter().map(|weight| weight.tokens).sum()
        });
        let (request, evidence) = (request as u32, evidence.into_iter().collect());
        facts.push(QuestionFacts { request, age_tokens, evidence, question });
    }
    facts
}

/// The facts of each message, and the texts of all by their hashes.
fn message_facts(recording: &Recording) -> (Vec<MessageFacts>, BTreeMap<String, String>) {
    let mut texts = BTreeMap::new();
    let sized = (0u32..).zip(&recording.session.messages).zip(&recording.sizes.messages);
    let messages = sized.map(|((at, message), weight)| {
        let text = message.sent();
        let hash = text_hash(&text);
        texts.insert(hash.clone(), text);
        MessageFacts {
            id: message.id.clone(),
            role: message.role,
            at: message.at,
            tokens: weight.tokens,
            tool: tool_of(recording, at, message),
            text: hash,
        }
    });
    (messages.collect(), texts)
}

/// The tool that a message calls, or whose result it is.
fn tool_of(recording: &Recording, at: MessageIndex, message: &Message) -> Option<String> {
    let called = message.blocks.iter().find_map(|block| match block {
        Block::ToolCall { name, .. } => Some(name),
        _ => None,
    });
    let answered = || Some(&recording.calls[recording.call_of(at)?.0 as usize].tool);
    called.or_else(answered).cloned()
}

/// The usage of subagents. Where no time is recorded, the session's first is
/// used: it only selects the prices.
fn sidechains(session: &Session, timeline: &Timeline) -> Vec<(Timestamp, Option<String>, Usage)> {
    let requests = session.sidechains.iter();
    requests.map(|r| (r.at.unwrap_or(timeline.at(0)), r.model.clone(), r.usage)).collect()
}

/// The requests, copies included, and the models besides the session's that answered some of
/// them.
fn responses(recording: &Recording, timeline: &Timeline) -> (Vec<RequestFacts>, Vec<String>) {
    let mut models: Vec<String> = Vec::new();
    let place = |models: &mut Vec<String>, name: &String| {
        let known = models.iter().position(|model| model == name);
        let at = known.unwrap_or_else(|| {
            models.push(name.clone());
            models.len() - 1
        });
        at as u32 + 1
    };
    let sizes = &recording.sizes;
    let changes = &recording.session.preamble_changes;
    let mut preamble = sizes.preamble.tokens;
    let mut shrinks = sizes.shrinks.iter().peekable();
    let mut change = 0;
    let mut history = 0;
    let mut rows = Vec::new();
    for (index, message) in (0u32..).zip(&recording.session.messages) {
        while changes.get(change).is_some_and(|c| c.before <= index) {
            preamble = sizes.preamble_changes[change].tokens;
            change += 1;
        }
        while let Some(shrink) = shrinks.next_if(|shrink| shrink.before <= index) {
            history -= shrink.tokens;
        }
        if message.is_request() {
            let usage = message.usage;
            let other = recording.session.other_models.get(&index);
            rows.push(RequestFacts {
                message: index,
                tokens_full: preamble + sizes.hidden_tokens + history,
                output: sizes.output[index as usize],
                at: timeline.sent_at(index),
                recorded: usage,
                billed: usage.is_none_or(|u| u.prompt() > 0),
                exogenous: None,
                model: other.map_or(0, |name| place(&mut models, name)),
            });
        }
        history += sizes.messages[index as usize].tokens;
    }
    (rows, models)
}

#[cfg(test)]
mod tests {
    use super::*;
    use recap_core::model::{Expectation, Message, QuestionKind, Role, SidechainRequest};

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn prepared() -> PreparedSession {
        let roles = [(Role::User, 100), (Role::Assistant, 130), (Role::User, 5_000)];
        let roles = [roles.as_slice(), &[(Role::Assistant, 5_004)]].concat();
        let message = |(n, (role, second)): (usize, (Role, i64))| {
            Message::new(
                format!("m{n}"),
                role,
                Some(at(second)),
                vec![Block::Text { text: "words".to_owned() }],
            )
        };
        let usage = Usage { input: 7, ..Usage::default() };
        let timed = SidechainRequest { at: Some(at(110)), model: Some("small".to_owned()), usage };
        let untimed = SidechainRequest { at: None, model: None, usage };
        let session = Session {
            messages: roles.into_iter().enumerate().map(message).collect(),
            sidechains: vec![timed, untimed],
            ..Session::default()
        };
        PreparedSession::new("d", session, Arc::new(Counter::default()))
    }

    #[test]
    fn request_has_the_time_it_was_sent() {
        let sent = prepared().facts.requests.iter().map(|r| r.at).collect::<Vec<_>>();
        assert_eq!(sent, [at(100), at(5_000)]);
    }

    #[test]
    fn the_cost_of_subagents_is_among_the_facts() {
        let usage = Usage { input: 7, ..Usage::default() };
        let expected = [(at(110), Some("small".to_owned()), usage), (at(100), None, usage)];
        assert_eq!(prepared().facts.sidechains, expected);
    }

    fn question(id: &str, asked_at: MessageIndex, evidence: &[&str]) -> Question {
        Question {
            id: id.to_owned(),
            session: String::new(),
            asked_at,
            kind: QuestionKind::Fact,
            question: String::new(),
            expect: Expectation::Unanswerable,
            evidence: evidence.iter().map(|&id| id.to_owned()).collect(),
            stale: Vec::new(),
        }
    }

    #[test]
    fn question_age_counts_messages_from_evidence_to_request() {
        let asked =
            [question("b", 3, &["m0"]), question("a", 1, &["m1", "m0"]), question("c", 0, &[])];
        let prepared = prepared().with_questions(asked.to_vec());
        let sizes = &prepared.recording.exact.messages;
        let tokens = |from: usize, to: usize| sizes[from..to].iter().map(|w| w.tokens).sum::<u64>();
        let found = prepared.facts.questions.iter();
        let found: Vec<_> = found
            .map(|p| (p.question.id.as_str(), p.request, p.age_tokens, &*p.evidence))
            .collect();
        // m2 stands between m1 and the second request, which wrote m3.
        let expected: [(&str, u32, Option<u64>, &[u32]); 3] = [
            ("a", 1, Some(tokens(2, 3)), &[0, 1]),
            ("b", 2, Some(tokens(1, 4)), &[0]),
            ("c", 0, None, &[]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn request_sends_preamble_hidden_tokens_and_earlier_messages() {
        let PreparedSession { mut recording, timeline, .. } = prepared();
        let other = &mut Arc::make_mut(&mut recording.session).other_models;
        other.extend([(1, "x".to_owned()), (3, "y".to_owned())]);
        let sizes = Arc::make_mut(&mut recording.sizes);
        sizes.hidden_tokens = 5;
        sizes.preamble.tokens = 30;
        for (message, tokens) in sizes.messages.iter_mut().zip([100, 200, 300, 400]) {
            message.tokens = tokens;
        }
        let (rows, models) = responses(&recording, &timeline);
        let rows: Vec<_> = rows.iter().map(|r| (r.message, r.tokens_full, r.model)).collect();
        assert_eq!(rows, [(1, 135, 1), (3, 635, 2)]);
        assert_eq!(models, ["x", "y"]);
    }
}
