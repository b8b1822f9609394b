//! The request loop of one cell.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::asked::{PendingQuestion, evidence_alone};
use crate::background::InFlight;
use crate::bill::Biller;
use crate::loss::Loss;
use crate::prepared::PreparedSession;
use crate::stage::Running;
use recap_billing::pricing::BillingModel;
use recap_billing::prompt_cache::Prompt;
use recap_core::model::{
    Cell, CellKey, CellRows, CompactionRow, MessageIndex, RecordedCompaction, ReferenceOutcome,
    RequestFacts, RequestRow, RowKind, SaverFacts, Snapshot, SnapshotPart,
};
use recap_core::tokens::Reported;
use recap_exam::facts::Survival;
use recap_strategy::{
    AskedFrom, At, Compactor, Context, EntryId, Host, MechanismError, Metered, Pairs, Scaling,
    StoredFile, Strategy, StrategyError, StrategyState, When, Work,
};

/// A finished cell, with the texts that its strategy wrote.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The key, the role and the rows of the cell.
    pub cell: Cell,
    /// Texts of synthetic entries, by hash.
    pub texts: BTreeMap<String, String>,
    /// Questions that still have to be asked: one per question of the session, in
    /// their order; empty if the cell failed.
    pub asked: Vec<PendingQuestion>,
}

/// The result of a cell that reached its end: rows, texts, and questions to be asked.
pub(super) type CellResult = (CellRows, BTreeMap<String, String>, Vec<PendingQuestion>);

/// A strategy during its replay of a recording.
pub struct ReplaySession<'a> {
    pub(super) plan: &'a Plan,
    pub(super) prepared: &'a PreparedSession,
    pub(super) compactor: &'a dyn Compactor,
    pub(super) context: Context,
    pub(super) stages: Vec<Running>,
    pub(super) shared: StrategyState,
    pub(super) reported: Option<Reported>,
    /// The provider's last report covers the messages before this one.
    pub(super) reported_through: MessageIndex,
    pub(super) random: Mutex<ChaCha8Rng>,
    /// The context limit as the strategy takes it.
    pub(super) window: u64,
    pub(super) now: Timestamp,
    pub(super) recorded: Option<&'a RecordedCompaction>,
    pub(super) loss: Loss,
    pub(super) requests: Vec<RequestRow>,
    /// The compactions with their numbers, in the order in which they took effect.
    pub(super) compactions: Vec<(u32, CompactionRow)>,
    /// Number of compactions that began.
    pub(super) begun: u32,
    /// Of those, how many began within the history that the session copied: another one counts
    /// them.
    pub(super) copied: u32,
    /// Compactions in the background, by stage.
    pub(super) in_flight: BTreeMap<usize, InFlight>,
    pub(super) notices: Vec<String>,
    pub(super) saver: Option<Arc<SaverFacts>>,
    pub(super) texts: BTreeMap<String, String>,
    pub(super) cpu_ms: f64,
    /// Whether the time of its mechanisms is measured, as it is not at a cut.
    pub(super) is_timed: bool,
    /// The calls without result, and results without call, that would be sent.
    pub(super) pairs: Pairs,
    pub(super) snapshots: Vec<Snapshot>,
    /// The preamble in the last snapshot, since a change of it.
    pub(super) preamble: Option<(Option<usize>, Option<SnapshotPart>)>,
    pub(super) asked: Vec<PendingQuestion>,
    /// Whether the recording has ended and only questions still have to be asked.
    pub(super) at_end: bool,
    pub(super) survival: Survival,
    pub(super) references: Vec<ReferenceOutcome>,
    preamble_added: u64,
    pub(super) biller: Biller,
}

/// Replays a session through a strategy. If the replay fails, the result is a
/// failed cell.
pub async fn replay(
    prepared: &PreparedSession,
    plan: &Plan,
    compactor: &dyn Compactor,
) -> Replayed {
    let ran = match plan.strategy.asked_from {
        AskedFrom::Evidence => Ok(evidence_alone(prepared, plan)),
        AskedFrom::Context => match ReplaySession::open(prepared, plan, compactor) {
            Err(error) => Err(error),
            Ok(mut session) => {
                let ran = session.run_to_end().await;
                session.close().await;
                ran.map(|()| session.finish())
            }
        },
    };
    let (outcome, texts, asked) = match ran {
        Ok((rows, texts, asked)) => (Ok(rows), texts, asked),
        Err(error) => (Err(error), BTreeMap::new(), Vec::new()),
    };
    let outcome = outcome.into();
    let cell = Cell { key: plan.key.clone(), row_kind: plan.row_kind(), outcome };
    Replayed { cell, texts, asked }
}

impl<'a> ReplaySession<'a> {
    /// A session before its first message.
    pub fn open(
        prepared: &'a PreparedSession,
        plan: &'a Plan,
        compactor: &'a dyn Compactor,
    ) -> Result<Self, ReplayError> {
        let built = plan.strategy.build(plan.window, plan.scaling)?;
        let stages = plan.strategy.stages.iter().zip(built);
        let stages = stages.map(|(stage, built)| Running {
            names: [stage.mechanism.name.into(), built.when.to_string().into()],
            stage: stage.clone(),
            when: built.when,
            mechanism: built.mechanism,
        });
        Ok(Self {
            plan,
            prepared,
            compactor,
            context: Context::new(prepared.recording.clone()),
            stages: stages.collect(),
            shared: StrategyState::default(),
            reported: None,
            reported_through: 0,
            random: Mutex::new(plan.random()),
            window: plan.strategy.believed_window(plan.window, plan.scaling),
            now: prepared.timeline.at(0),
            recorded: None,
            loss: Loss::default(),
            // A run of many sessions holds these rows for each strategy.
            requests: Vec::with_capacity(prepared.facts.requests.len()),
            compactions: Vec::new(),
            begun: 0,
            copied: 0,
            in_flight: BTreeMap::new(),
            notices: Vec::new(),
            saver: None,
            texts: BTreeMap::new(),
            cpu_ms: 0.0,
            is_timed: true,
            pairs: Pairs::default(),
            snapshots: Vec::new(),
            preamble: None,
            asked: Vec::new(),
            at_end: false,
            survival: prepared.survival.fresh(),
            references: Vec::with_capacity(prepared.facts.exam.references.len()),
            preamble_added: 0,
            biller: Biller::new(plan, &prepared.facts),
        })
    }

    /// Replays the rest of the recording.
    pub async fn run_to_end(&mut self) -> Result<(), ReplayError> {
        while self.step().await? {}
        self.ask_at_end().await
    }

    /// Replays up to a request, by its ordinal from 0: the context is then the
    /// one that this request sends. `false` if the recording ends before it.
    pub async fn run_to_request(&mut self, request: u32) -> Result<bool, ReplayError> {
        while self.prepare_next(self.context.seen_count()).await? {
            if self.requests.len() as u32 > request {
                return Ok(true);
            }
            self.arrive(self.context.seen_count()).await?;
        }
        Ok(false)
    }

    /// Replays one recorded message: the request that produced it, if it is a
    /// response, then its arrival. `false` at the end of the recording.
    pub async fn step(&mut self) -> Result<bool, ReplayError> {
        let message = self.context.seen_count();
        let is_there = self.prepare_next(message).await?;
        if is_there {
            self.arrive(message).await?;
        }
        Ok(is_there)
    }

    /// Brings the context to the state that would be sent to produce the next
    /// message. `false` if there is no next message.
    pub(super) async fn prepare_next(
        &mut self,
        message: MessageIndex,
    ) -> Result<bool, ReplayError> {
        if message == 0 {
            self.open_stages().await?;
        }
        let Some(next) = self.prepared.recording.session.messages.get(message as usize) else {
            return Ok(false);
        };
        let is_request = next.is_request();
        let timeline = &self.prepared.timeline;
        self.now = if is_request { timeline.sent_at(message) } else { timeline.at(message) };
        self.context.enter(message);
        self.apply_finished()?;
        if is_request {
            self.prepare()?;
            self.evaluate_stages(At::Request).await?;
            match self.prepared.copied_request(message) {
                Some(facts) => self.repeat(message, facts),
                None => self.request(message)?,
            }
        }
        Ok(true)
    }

    /// Asks the questions after the last request at one virtual request at the end
    /// (how-it-works §28). Its compactions are recorded, but are not part of the
    /// cost of the session.
    async fn ask_at_end(&mut self) -> Result<(), ReplayError> {
        let end = self.requests.len() as u32;
        if self.prepared.facts.questions.iter().all(|question| question.request < end) {
            return Ok(());
        }
        let cpu_ms = self.cpu_ms;
        self.at_end = true;
        let messages = self.context.seen_count();
        self.now = self.prepared.timeline.at(messages);
        self.context.enter(messages);
        self.apply_finished()?;
        self.prepare()?;
        self.evaluate_stages(At::Request).await?;
        self.check_pairs()?;
        self.snapshot(end, self.context.weight().tokens > self.plan.window);
        self.cpu_ms = cpu_ms;
        Ok(())
    }

    pub(super) async fn open_stages(&mut self) -> Result<(), ReplayError> {
        let bare = self.context.preamble_weight().tokens;
        self.prepare()?;
        self.preamble_added = self.context.preamble_weight().tokens - bare;
        self.evaluate_stages(At::Open).await
    }

    /// Adds the permanent texts: awareness, guidance, daily notes.
    pub(super) fn prepare(&mut self) -> Result<(), ReplayError> {
        let meter = Metered::new(self.compactor);
        for running in &mut self.stages {
            let host = Host {
                window: self.window,
                budget: self.plan.strategy.budget_tokens(self.window, self.plan.scaling),
                target: 0,
                believed: None,
                now: self.now,
                cause: &When::Always,
                reported: self.reported,
                estimator: self.plan.strategy.estimator,
                recorded: None,
                compactor: &meter,
                random: &self.random,
            };
            let mechanism = running.stage.mechanism.name;
            let work = Work { context: &mut self.context, shared: &mut self.shared, host: &host };
            let done = running.mechanism.prepare(work);
            done.map_err(|error| ReplayError::Mechanism(mechanism, error))?;
        }
        Ok(())
    }

    /// Records what is sent now, and which references of the exam survive in it.
    pub(super) fn request(&mut self, message: MessageIndex) -> Result<(), ReplayError> {
        let valid = self.check_pairs()?;
        let weight = self.context.weight();
        let output = self.prepared.recording.sizes.output[message as usize];
        let ordinal = self.requests.len() as u32;
        self.snapshot(ordinal, weight.tokens + output > self.plan.window);
        let references = &self.prepared.facts.exam.references;
        let from = references.partition_point(|r| r.request < ordinal);
        let asked = references.iter().enumerate().skip(from);
        for (number, _) in asked.take_while(|(_, reference)| reference.request == ordinal) {
            let state = self.survival.state(number, &self.context);
            self.references.push(ReferenceOutcome { reference: number as u32, state });
        }
        let facts = &self.prepared.facts.requests[ordinal as usize];
        let step = self.biller.request(&mut self.context, facts, self.shared.pruned_through);
        self.requests.push(RequestRow {
            tokens_sent: weight.tokens,
            estimated: self.plan.strategy.estimator.total(weight, self.reported),
            messages: self.context.message_count(),
            overflow: weight.tokens + output > self.plan.window,
            valid,
            common_prefix: step.common_prefix,
            cache_break: step.broken,
        });
        self.report(message);
        Ok(())
    }

    /// The provider reports the tokens of the request that it has just answered.
    pub(super) fn report(&mut self, message: MessageIndex) {
        let output = self.prepared.recording.sizes.output[message as usize];
        self.reported = Some(Reported { input: self.context.weight().tokens, output });
        self.reported_through = self.context.seen_count();
    }

    /// Sends a request that another session counts: it fills the cache, and is no row.
    fn repeat(&mut self, message: MessageIndex, facts: &RequestFacts) {
        self.biller.repeat(&mut self.context, facts, self.shared.pruned_through);
        self.report(message);
    }

    /// Appends the next recorded message and looks at the stages that follow it. A
    /// response has taken its time: what ended meanwhile takes effect before it, and
    /// what it sets off begins now and not when its request was sent.
    pub(super) async fn arrive(&mut self, message: MessageIndex) -> Result<(), ReplayError> {
        self.now = self.prepared.timeline.at(message);
        self.apply_finished()?;
        self.context.append();
        let session = &self.prepared.recording.session;
        let arrived = &session.messages[message as usize];
        self.pairs.recheck_pairs(&self.context, [message]);
        let seen = self.context.seen_count();
        // A micro-compaction and a compaction may be recorded at one message:
        // each is handled in turn.
        let mut recorded = session.compactions.iter().filter(|c| c.after == seen);
        self.recorded = recorded.next();
        self.evaluate_stages(At::Append).await?;
        for compaction in recorded {
            self.recorded = Some(compaction);
            self.evaluate_recorded(At::Append).await?;
        }
        if arrived.opens_exchange() {
            self.evaluate_stages(At::UserTurn).await?;
        }
        if arrived.is_request() {
            self.evaluate_stages(At::Response).await?;
        }
        if self.requests.is_empty() && session.copied.contains(&message) {
            (self.copied, self.cpu_ms) = (self.begun, 0.0);
        }
        Ok(())
    }

    /// The context as it is now.
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// The last entry whose tool output was considered for pruning: the
    /// position of the cache breakpoint `prune-boundary`.
    pub fn prune_boundary(&self) -> Option<EntryId> {
        self.shared.pruned_through
    }

    /// The prompt of the last request.
    pub fn prompt(&self) -> &Prompt {
        self.biller.prompt()
    }

    /// The row of the last request.
    pub fn last_request(&self) -> Option<&RequestRow> {
        self.requests.last()
    }

    /// Number of requests so far.
    pub(super) fn requests_made(&self) -> u32 {
        self.requests.len() as u32
    }

    /// What the strategy has told the user so far.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The files that the system would have on its own disk now, by path.
    /// Stages that write the same file write the same content.
    pub fn stored(&self) -> Vec<StoredFile> {
        let files = |running: &Running| running.mechanism.stored(&self.context, &self.shared);
        let mut files: Vec<StoredFile> = self.stages.iter().flat_map(files).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files.dedup_by(|a, b| a.path == b.path);
        files
    }

    pub(super) fn finish(mut self) -> CellResult {
        self.bill_unfinished();
        self.compactions.retain(|(number, _)| *number >= self.copied);
        let places: BTreeMap<u32, u32> =
            self.compactions.iter().zip(0..).map(|((number, _), at)| (*number, at)).collect();
        self.asked.sort_by_key(|asked| asked.question);
        let rows = CellRows {
            window: self.plan.window,
            preamble_added: self.preamble_added,
            requests: Arc::new(self.requests),
            compactions: self.compactions.into_iter().map(|(_, row)| row).collect(),
            references: self.references,
            snapshots: self.snapshots,
            questions: Vec::new(),
            loss: self.loss.into_rows(),
            cpu_ms: self.cpu_ms,
            notices: self.notices,
            saver: self.saver,
            bills: self.biller.into_bills(&places),
        };
        (rows, self.texts, self.asked)
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;

// The settings of a cell, and what stops its replay.

/// The settings of one cell to be run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The session, strategy, window and replicate.
    pub key: CellKey,
    /// The strategy that is replayed.
    pub strategy: Arc<Strategy>,
    /// Assumed context limit in tokens.
    pub window: u64,
    /// Which absolute numbers scale with the window.
    pub scaling: Scaling,
    /// Seed of the run; mixed with the cell's key.
    pub seed: u64,
    /// Whether the compactor is the offline one.
    pub offline: bool,
    /// The billing models of the session; each has a bill of its own.
    pub billing_models: Arc<[BillingModel]>,
    /// The model in the compactor's role; `None`: the offline one, whose calls are
    /// billed as the agent's model.
    pub compactor: Option<Arc<BillingModel>>,
}

impl Plan {
    /// A replay of a session (data set and id) under a strategy at a window with its label: with
    /// the offline compactor, every number scaled, seed 1, and nobody who is billed.
    pub fn new(
        (dataset, session): (&str, &str),
        strategy: Arc<Strategy>,
        (label, window): (&str, u64),
    ) -> Self {
        Plan {
            key: CellKey {
                dataset: dataset.to_owned(),
                session: session.to_owned(),
                strategy: strategy.name.clone(),
                window: label.to_owned(),
                replicate: 0,
            },
            strategy,
            window,
            scaling: Scaling::All,
            seed: 1,
            offline: true,
            billing_models: Arc::new([]),
            compactor: None,
        }
    }

    /// The role of the row in the comparison.
    pub fn row_kind(&self) -> RowKind {
        if self.strategy.control {
            RowKind::Control
        } else if self.offline && self.strategy.uses_compactor() {
            RowKind::OfflineSummary
        } else {
            RowKind::Ranked
        }
    }

    /// The random stream of the cell, from the seed and the cell's key.
    pub(super) fn random(&self) -> ChaCha8Rng {
        let key = format!("{}\u{0}{:?}", self.seed, self.key);
        ChaCha8Rng::from_seed(*blake3::hash(key.as_bytes()).as_bytes())
    }
}

/// Why a replay stopped. The cell then fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The strategy cannot be built for the window.
    #[error(transparent)]
    Strategy(#[from] StrategyError),
    /// A mechanism failed: its name, and at what.
    #[error("{0}: {1}")]
    Mechanism(&'static str, MechanismError),
    /// The effect of a strategy without its model says nothing about the strategy: the name
    /// of the mechanism, and why nobody answered.
    #[error("{0}: the compactor could not be asked: {1}")]
    Unavailable(&'static str, String),
    /// The context would be refused by every provider at this request.
    #[error("strategy bug at request {0}: {1}")]
    BrokenPair(usize, String),
    /// No request stands after the cut.
    #[error("the recording ends before the cut")]
    EndsBeforeCut,
}

impl ReplaySession<'_> {
    /// A session that goes on from here by itself, without the rows measured so far. A strategy's
    /// program is started anew for it.
    pub fn copied(&self) -> Result<Self, ReplayError> {
        let mut copy = Self::open(self.prepared, self.plan, self.compactor)?;
        copy.context = self.context.clone();
        copy.shared = self.shared.clone();
        for (running, own) in copy.stages.iter_mut().zip(&self.stages) {
            running.mechanism = own.mechanism.clone();
        }
        copy.reported = self.reported;
        copy.reported_through = self.reported_through;
        copy.random = Mutex::new(self.random.lock().expect("nothing panics while drawing").clone());
        (copy.begun, copy.in_flight) = (self.begun, self.in_flight.clone());
        copy.loss = Loss::resumed(&copy.context);
        copy.pairs.recheck_pairs(&copy.context, 0..copy.context.seen_count());
        Ok(copy)
    }
}
