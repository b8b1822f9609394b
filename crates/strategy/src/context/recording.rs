//! What all contexts of a session share.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use recap_core::model::{
    Calibration, Call, CallId, MessageIndex, PreambleChange, RecordedCompaction, Session,
    TokensSource,
};
use recap_core::tokens::{Counter, Sizes, calibrate};

use super::SentText;

/// What strategies compute once from a whole recording, by their hashes.
type Derived = Arc<Mutex<BTreeMap<String, Arc<dyn Any + Send + Sync>>>>;

/// What all contexts of a session share.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The recorded session that is replayed.
    pub session: Arc<Session>,
    /// Its sizes as the run counts them.
    pub sizes: Arc<Sizes>,
    /// Its sizes by the vocabulary alone, which the exam uses.
    pub exact: Arc<Sizes>,
    /// Whether `sizes` and `counter` are scaled to what the provider reported.
    pub tokens_source: TokensSource,
    /// The estimate of the provider's count from recorded usage; absent without usage.
    pub calibration: Option<Arc<Calibration>>,
    /// Its calls and their results.
    pub calls: Arc<Vec<Call>>,
    /// The counter for texts that a strategy writes.
    pub counter: Arc<Counter>,
    /// How many calls are made before each message, and in all.
    calls_before: Arc<[usize]>,
    /// The call that each message answers.
    call_of_result: Arc<[Option<CallId>]>,
    /// Shared with segments of the recording.
    texts: Arc<[Arc<SentText>]>,
    /// The preamble at the start of the whole session and since each of its changes, shared with
    /// segments; and which of them stands at the start here.
    preambles: Arc<[Arc<SentText>]>,
    first_preamble: usize,
    /// The session that this is a segment of, or itself.
    whole: Arc<Session>,
    /// Shared with segments of the recording.
    derived: Derived,
}

impl Recording {
    /// Counts and indexes a session. The counter is not scaled yet; where
    /// it calibrates, the one that is kept for texts is.
    pub fn new(session: Arc<Session>, counter: Arc<Counter>) -> Self {
        let exact = Arc::new(Sizes::of(&session, &counter));
        let calibration = calibrate(&session, &exact, &counter).map(Arc::new);
        let calibrates = counter.calibrates();
        let calls = Arc::new(session.calls());
        let (calls_before, call_of_result) = by_message(&session, &calls);
        let texts = session.messages.iter().map(|_| Arc::default()).collect();
        let preambles = (0..=session.preamble_changes.len()).map(|_| Arc::default()).collect();
        let plain = Self {
            whole: Arc::clone(&session),
            derived: Derived::default(),
            session,
            sizes: Arc::clone(&exact),
            exact,
            tokens_source: TokensSource::Exact,
            calibration,
            calls,
            counter,
            calls_before,
            call_of_result,
            texts,
            preambles,
            first_preamble: 0,
        };
        if calibrates { plain.calibrated() } else { plain }
    }

    /// The same in the provider's tokens; unchanged without usage, and without a size that the
    /// agent noted. No message is tokenised again.
    #[must_use]
    pub fn calibrated(mut self) -> Self {
        let fit = self.calibration.as_ref().and_then(|known| known.fits.first());
        let noted = self.session.compactions.iter().any(|made| made.tokens_before.is_some());
        let factor = fit.map(|fit| fit.factor).or(noted.then_some(1.0));
        let Some(factor) = factor else { return self };
        let measured = self.exact.measured(&self.session, factor, &self.counter);
        self.sizes = Arc::new(measured);
        self.counter = Arc::new(self.counter.scaled(factor));
        self.tokens_source = TokensSource::Calibrated;
        self
    }

    /// A recording of some of the messages, in order, each with the text of its
    /// result where that differs from the recorded one. Only those texts are
    /// tokenised. `compactions` have positions within the segment, each with
    /// its own number in the session.
    #[must_use]
    pub fn part(
        &self,
        messages: &[(MessageIndex, Option<&str>)],
        compactions: Vec<(usize, RecordedCompaction)>,
    ) -> Self {
        let (boundaries, compactions): (Vec<_>, Vec<_>) = compactions.into_iter().unzip();
        let whole = &*self.session;
        let first = messages.first().map_or(0, |(message, _)| *message);
        let (changed, later) = whole
            .preamble_changes
            .split_at(whole.preamble_changes.partition_point(|change| change.before <= first));
        let mut preamble = whole.preamble.clone();
        if let Some(change) = changed.last() {
            preamble.system.clone_from(&change.system);
        }
        let place = |message| messages.partition_point(|(other, _)| *other < message) as u32;
        let changes = later.iter().map(|c| PreambleChange { before: place(c.before), ..c.clone() });
        let other_models = (0u32..)
            .zip(messages)
            .filter_map(|(at, (message, _))| Some((at, whole.other_models.get(message)?.clone())));
        let part = messages.iter().map(|&(at, result)| {
            let mut message = whole.messages[at as usize].clone();
            result.into_iter().for_each(|text| message.replace_result(text));
            message
        });
        let session = Arc::new(Session {
            id: whole.id.clone(),
            preamble,
            messages: part.collect(),
            preamble_changes: changes.collect(),
            compactions,
            model: whole.model.clone(),
            other_models: other_models.collect(),
            project: whole.project.clone(),
            metadata: whole.metadata.clone(),
            ..Session::default()
        });
        let part = |sizes: &Sizes| {
            let known = (changed.len(), &boundaries[..]);
            Arc::new(sizes.part(messages, &session, known, &self.counter))
        };
        let sizes = part(&self.sizes);
        let same = Arc::ptr_eq(&self.sizes, &self.exact);
        let exact = if same { Arc::clone(&sizes) } else { part(&self.exact) };
        let calls = Arc::new(session.calls());
        let (calls_before, call_of_result) = by_message(&session, &calls);
        let same = |&(at, result): &(MessageIndex, Option<&str>)| match result {
            Some(_) => Arc::default(),
            None => Arc::clone(&self.texts[at as usize]),
        };
        let texts = messages.iter().map(same).collect();
        let first_preamble = self.first_preamble + changed.len();
        Self {
            session,
            sizes,
            exact,
            calls,
            calls_before,
            call_of_result,
            texts,
            first_preamble,
            ..self.clone()
        }
    }

    /// A message as it is sent, which is written once.
    pub fn text(&self, message: MessageIndex) -> &Arc<SentText> {
        let text = &self.texts[message as usize];
        text.known(|| self.session.messages[message as usize].sent());
        text
    }

    /// The preamble as it is sent since one of its changes, which is written once; `None`: from
    /// the start.
    pub fn preamble(&self, change: Option<usize>) -> &Arc<SentText> {
        let text = &self.preambles[self.first_preamble + change.map_or(0, |change| change + 1)];
        text.known(|| self.session.preamble_since(change));
        text
    }

    /// The session that this is a segment of, or itself.
    pub(crate) fn whole(&self) -> &Arc<Session> {
        &self.whole
    }

    /// What a strategy computes once from the whole recording; at first its default.
    pub(crate) fn derived<T: Default + Send + Sync + 'static>(&self, strategy: &str) -> Arc<T> {
        let mut derived = self.derived.lock().expect("nothing panics while it holds this");
        let known = derived.entry(strategy.to_owned()).or_insert_with(|| Arc::new(T::default()));
        Arc::clone(known).downcast().expect("a strategy derives one type of value")
    }

    /// The calls that an assistant message makes, in order.
    pub fn calls_in(&self, message: MessageIndex) -> &[Call] {
        match self.calls_before.get(message as usize..) {
            Some([from, to, ..]) => &self.calls[*from..*to],
            _ => &[],
        }
    }

    /// The call that a tool-result message answers.
    pub fn call_of(&self, message: MessageIndex) -> Option<CallId> {
        self.call_of_result.get(message as usize).copied().flatten()
    }
}

/// The number of calls before each message, and the call that it answers.
fn by_message(session: &Session, calls: &[Call]) -> (Arc<[usize]>, Arc<[Option<CallId>]>) {
    let messages = 0..=session.messages.len() as MessageIndex;
    let before = messages.map(|at| calls.partition_point(|call| call.message < at)).collect();
    let mut answered = vec![None; session.messages.len()];
    for (at, call) in (0u32..).zip(calls) {
        if let Some(result) = call.result {
            answered[result as usize] = Some(CallId(at));
        }
    }
    (before, answered.into())
}
