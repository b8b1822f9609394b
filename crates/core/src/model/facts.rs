//! What all strategies of one session share: its messages, requests, references, cuts and
//! questions, as far as measuring and drawing need them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    Calibration, Exogenous, Fallbacks, IdentifierClass, LatencySource, MessageIndex, QuestionFacts,
    QuestionRow, ReceiptFacts, ReferenceState, ReplayOutcome, ReplyFacts, Role, RowKind, SIDECHAIN,
    Snapshot, TokensSource, Usage, Validation,
};

/// The facts of a message that measures and charts need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MessageFacts {
    /// The message's id in the recording.
    pub id: String,
    /// Whom the message is attributed to.
    pub role: Role,
    /// When it was recorded.
    pub at: Option<Timestamp>,
    /// Tokens of the message, as the run counts.
    pub tokens: u64,
    /// Tool that it is a result of, or that it calls first.
    pub tool: Option<String>,
    /// Hash of its text in `texts.jsonl`.
    pub text: String,
}

/// A request of the recording.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestFacts {
    /// The assistant message that it produced.
    pub message: MessageIndex,
    /// Tokens of the preamble and every message before it: what `full` sends.
    pub tokens_full: u64,
    /// Output that the recording made: the provider's figure where it is
    /// final, else counted.
    pub output: u64,
    /// Time of the request on the simulated clock.
    pub at: Timestamp,
    /// What the provider reported for the recorded request.
    pub recorded: Option<Usage>,
    /// Whether it was billed: aborted requests report no tokens.
    pub billed: bool,
    /// The event in the recording's cache before it that the provider's rules
    /// do not predict.
    pub exogenous: Option<Exogenous>,
    /// The model that answered: 0 is [`SessionFacts::model`], others are in
    /// [`SessionFacts::other_models`], counted from 1.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub model: u32,
}

/// What every strategy of one session shares.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the session.
    pub session: String,
    /// Project or developer: the unit of resampling where known.
    pub cluster: Option<String>,
    /// Tokens of the recorded preamble, the hidden part included.
    pub preamble_tokens: u64,
    /// Of those, tokens that the provider counted and the recording does not show.
    pub hidden_tokens: u64,
    /// The facts of every message, in order.
    pub messages: Vec<MessageFacts>,
    /// The facts of every request, in order.
    pub requests: Vec<RequestFacts>,
    /// The implicit questions: identifiers that the recorded agent used again.
    pub exam: Exam,
    /// The questions, in the order of their ids.
    pub questions: Vec<QuestionFacts>,
    /// Questions that are asked at cuts alone, in the order of their ids: those
    /// made from the recording, or given for the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_questions: Vec<QuestionFacts>,
    /// Compactions in the recording.
    pub recorded_compactions: u32,
    /// Model that answered most requests, as the recording names it.
    pub model: Option<String>,
    /// The other models that answered requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_models: Vec<String>,
    /// How the tokens of this session are counted.
    pub tokens_source: TokensSource,
    /// How the provider's token count follows from ours; absent without recorded usage.
    pub calibration: Option<Calibration>,
    /// The simulated bill against the recorded one; absent without usage.
    pub validation: Option<Validation>,
    /// The reason why the run makes no cut in it (how-it-works §44); absent where it makes one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_cut: Option<String>,
    /// Its fingerprint before names were taken out of it (`--no-text`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_recorded: Option<String>,
    /// Whether any time of the simulated clock is assumed rather than recorded.
    pub clock_modelled: bool,
    /// Requests of sidechains (subagents), each on its own prefix, with the
    /// model that answered it where it is named.
    pub sidechains: Vec<(Timestamp, Option<String>, Usage)>,
    /// Records left out on import, by reason.
    pub left_out: Vec<(String, u64)>,
    /// What its receipt needs; absent in runs of versions that had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptFacts>,
}

impl SessionFacts {
    /// Whether it is a subagent's conversation beside a session of its own.
    pub fn is_sidechain(&self) -> bool {
        self.session.contains(SIDECHAIN)
    }

    /// Every question: those of the data set, then those that are asked at cuts alone.
    pub fn all_questions(&self) -> impl Iterator<Item = &QuestionFacts> + Clone {
        self.questions.iter().chain(&self.cut_questions)
    }

    /// The question with this number in [`SessionFacts::all_questions`].
    pub fn question(&self, number: u32) -> Option<&QuestionFacts> {
        let number = number as usize;
        let at_cuts = || self.cut_questions.get(number - self.questions.len());
        self.questions.get(number).or_else(at_cuts)
    }
}

impl SessionFacts {
    /// Tokens of the run for one token of the exam. The distances in the exam
    /// are exact counts, so that they depend on the session alone.
    pub fn factor(&self) -> f64 {
        match (self.tokens_source, &self.calibration) {
            (TokensSource::Calibrated, Some(known)) => known.fits.first().map_or(1.0, |f| f.factor),
            _ => 1.0,
        }
    }
}

/// One thing that the recorded agent used at a request and could only know
/// from far back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Ordinal of the request, from 0.
    pub request: u32,
    /// The identifier, as the agent wrote it.
    pub text: String,
    /// What kind of identifier it is.
    pub class: IdentifierClass,
    /// Message that last held it before the request.
    pub last_seen: MessageIndex,
    /// Tokens from the end of that message to the request.
    pub distance_tokens: u64,
    /// Every message before the request in which it occurs, as sent by the
    /// whole conversation; ascending.
    pub sources: Vec<MessageIndex>,
    /// Smallest tool result among the sources: what reading it again costs.
    /// Absent where it never stood in a tool result (irrecoverable if lost).
    pub refetch: Option<MessageIndex>,
    /// Whether the recording itself read such a result again between the last
    /// source and the request's own calls.
    pub reread: bool,
    /// The five rarest words near its newest source, which a search for it asks for. Only a replay
    /// needs them.
    #[serde(skip)]
    pub near: Vec<String>,
}

/// The references of one session: every strategy and window is tested on the same ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exam {
    /// Ascending by request, then by text.
    pub references: Vec<Reference>,
    /// Identifiers that the agent used although they occurred only before a
    /// recorded boundary and not in its summary: the error of this measurement.
    pub did_without: u32,
}

/// Fewest references on which a figure rests (reference §4).
pub const EXAM_REFERENCES: u64 = 20;
/// Fewest requests with references on which it rests (reference §4).
pub const EXAM_REQUESTS: u64 = 10;

/// How much of the exam a measure rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Support {
    /// References asked for.
    pub references: u64,
    /// Requests that ask for at least one of them.
    pub requests: u64,
}

impl Support {
    /// Every reference of the session.
    pub fn whole(facts: &SessionFacts) -> Self {
        Support::of(facts.exam.references.iter())
    }

    /// These references, ascending by request, and their requests.
    pub fn of<'a>(references: impl Iterator<Item = &'a Reference>) -> Self {
        let mut support = Support::default();
        let mut last = None;
        for reference in references {
            support.references += 1;
            support.requests += u64::from(last != Some(reference.request));
            last = Some(reference.request);
        }
        support
    }

    /// Whether this is enough for a figure.
    pub fn suffices(self) -> bool {
        self.references >= EXAM_REFERENCES && self.requests >= EXAM_REQUESTS
    }
}

/// Hash of a list of parts. Their lengths are hashed too, so that the boundaries count.
#[derive(Clone, Debug, Default)]
pub struct Fingerprint(blake3::Hasher);

/// Characters of a fingerprint: enough to tell two sessions apart.
const LENGTH: usize = 16;

impl Fingerprint {
    /// Adds one part to the hash.
    pub fn add(&mut self, part: &str) {
        self.0.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
    }

    /// The hash in hexadecimal, shortened to the length of a fingerprint.
    pub fn short(&self) -> String {
        self.0.finalize().to_hex()[..LENGTH].to_owned()
    }
}

impl SessionFacts {
    /// Fingerprint of its messages, requests and references, as they were
    /// recorded.
    pub fn fingerprint(&self) -> String {
        if let Some(recorded) = &self.as_recorded {
            return recorded.clone();
        }
        let mut parts = Fingerprint::default();
        for message in &self.messages {
            let of = [message.id.as_str(), message.role.as_str(), &message.text];
            of.into_iter().for_each(|part| parts.add(part));
        }
        self.requests.iter().for_each(|request| parts.add(&request.message.to_string()));
        for reference in &self.exam.references {
            parts.add(&reference.request.to_string());
            parts.add(&reference.text);
        }
        parts.short()
    }
}

/// Prefix of the name of a strategy's no-summary: the same strategy with an empty text in
/// place of what its model writes.
pub const NO_SUMMARY: &str = "no-summary:";

/// Something that the recorded agent used after a cut and could know only from
/// before it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    /// Ordinal of the request that uses it, in the whole session.
    pub request: u32,
    /// The identifier, as the agent wrote it.
    pub text: String,
    /// What kind of identifier it is.
    pub class: IdentifierClass,
    /// Message of the material that last held it.
    pub last_seen: MessageIndex,
    /// Tokens of the material from the beginning of that message to the cut,
    /// as the run counts.
    pub newest_tokens: u64,
    /// Smallest tool result that held it: what fetching it again costs. Absent
    /// where it never stood in a tool result.
    pub refetch: Option<MessageIndex>,
    /// Whether the recording itself fetched it again before it used it.
    pub reread: bool,
}

/// A cut: the facts about it that no strategy changes, and the result of each
/// strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cut {
    /// Name of the data set.
    pub dataset: String,
    /// Id of the session.
    pub session: String,
    /// Ordinal of the first request after it.
    pub request: u32,
    /// Whether the recorded agent compacted here.
    pub recorded: bool,
    /// Requests after it that are looked at.
    pub requests: u32,
    /// Requests from it to the next recorded compaction, or to the end of the
    /// session; absent in runs of versions that did not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<u32>,
    /// Number of messages before the cut that may be compacted.
    pub messages: u32,
    /// Tokens of what would be sent without any compaction, preamble included.
    pub tokens_before: u64,
    /// Of those, tokens of the preamble, its hidden part included.
    pub preamble_tokens: u64,
    /// The facts, by request and text.
    pub facts: Vec<Fact>,
    /// One result for each strategy and replicate, in this order.
    pub rows: Vec<CutRow>,
}

impl Cut {
    /// The sort key of cuts.
    pub fn key(&self) -> (&str, &str, u32, bool) {
        (&self.dataset, &self.session, self.request, self.recorded)
    }

    /// Number of facts that the newest messages of the same size as an exam's context would have
    /// kept.
    pub fn recency(&self, exam: &CutExam) -> usize {
        let room = exam.tokens_after.saturating_sub(self.preamble_tokens);
        self.facts.iter().filter(|fact| fact.newest_tokens <= room).count()
    }
}

/// The result of a strategy at a cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CutRow {
    /// Plain strategy id, after [`NO_SUMMARY`] where its summaries are left empty.
    pub strategy: String,
    /// Repetition of the compaction, from 0.
    pub replicate: u32,
    /// Whether the row is ranked.
    pub row_kind: RowKind,
    /// The measured result, or the error.
    pub outcome: CutOutcome,
}

impl CutRow {
    /// The measured result, if the replay reached its end.
    pub fn exam(&self) -> Option<&CutExam> {
        self.outcome.done()
    }
}

/// Whether a provider's refusal at a cut counts against a strategy, for facts and for questions
/// alike: not at a first compaction, whose window is made for the cut, and not against controls,
/// which are a scale. One without its summaries stands for its strategy, so that it counts there
/// too.
pub fn counts_refusals(strategy: &str, row_kind: RowKind, depth: u32) -> bool {
    depth > 1 && (row_kind != RowKind::Control || strategy.starts_with(NO_SUMMARY))
}

/// The outcome of a strategy at a cut.
pub type CutOutcome = ReplayOutcome<CutExam>;

/// The measured result of a strategy after a cut.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CutExam {
    /// Context limit that was assumed.
    pub window: u64,
    /// Tokens of the first prompt after the cut, preamble included.
    pub tokens_after: u64,
    /// Compactions and views that changed what is sent, up to the cut.
    pub compactions: u32,
    /// The state of each fact, in their order, at the request that uses it.
    /// `Lost` where the provider would have refused that request.
    pub states: Vec<ReferenceState>,
    /// How many facts are carried by the rule of words alone, since a judge that was asked gave no
    /// usable reply.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub unchecked: u32,
    /// Facts, by position, whose request the provider would have refused
    /// because it is over the window. Depth 1 has none: its window is made for
    /// the cut.
    pub refused: Vec<u32>,
    /// How long the user waited for the compaction at depth 1, or for all that
    /// led to the cut at a greater depth; absent without a model call.
    pub blocking_ms: Option<f64>,
    /// How that time was obtained; absent where there is none.
    pub latency_source: Option<LatencySource>,
    /// Dollars of the compactor's calls up to the cut, as the first billing model of the
    /// run is billed; absent where a price is unknown, and without a billing model.
    pub compactor_usd: Option<f64>,
    /// Texts of the strategy that are sent directly after the cut: hashes into
    /// `texts.jsonl`.
    pub texts: Vec<String>,
    /// The compactor's replies, up to the last request after the cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<ReplyFacts>,
    /// The compactions that these replies were for.
    #[serde(default, skip_serializing_if = "super::is_default")]
    pub fallbacks: Fallbacks,
    /// The context in which questions were asked; absent without questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot: Option<Snapshot>,
    /// The results of the questions at this cut, in the order of their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<QuestionRow>,
}

impl CutExam {
    /// Number of facts whose state `counts`.
    pub fn count(&self, counts: impl Fn(ReferenceState) -> bool) -> usize {
        self.states.iter().filter(|state| counts(**state)).count()
    }
}
