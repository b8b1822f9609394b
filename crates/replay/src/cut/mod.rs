//! Examines a strategy at a cut: a compaction is forced at a place in a
//! recording, and the requests after it are searched for the identifiers that
//! the recorded agent used next (how-it-works §44 and §45).
//!
//! A file each: the segment of the session ([`segment`]) and the search for lost facts
//! ([`recovered`]).

mod recovered;
mod segment;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Range;

use crate::PreparedSession;
use crate::asked::PendingQuestion;
use crate::loss::Changes;
use crate::session::{Plan, ReplayError, ReplaySession};
use crate::window::LEAST_FOR_MESSAGES;
use recap_core::model::{
    CallBill, CellRows, CompactionRow, CutExam, Fallbacks, MessageIndex, NO_SUMMARY, Reference,
    ReferenceOutcome, ReferenceState, RequestRow, Snapshot, counts_refusals,
};
use recap_core::text::around;
use recap_exam::roles::judge::{Judge, Statement};
use recap_strategy::{At, Compactor, Context, Gauge, Scaling, Strategy, When};
use recovered::Searcher;

pub use segment::CutSegment;

/// The result of examining a strategy at a cut.
#[derive(Clone, Debug)]
pub struct ExaminedCut {
    /// The measured result; its questions still have to be asked.
    pub exam: CutExam,
    /// Texts that the strategy wrote, by hash.
    pub texts: BTreeMap<String, String>,
    /// Questions that still have to be asked, with positions in the whole session.
    pub asked: Vec<PendingQuestion>,
}

/// A callback that receives the context of each request after a cut, with the
/// request's ordinal in the session.
pub type RequestInspector<'a> = &'a (dyn Fn(u32, &Context) + Sync);

/// Examines a strategy at a cut and a depth, with a callback for every context after the cut.
///
/// The plan's window is not used: the cut has its own.
///
/// # Errors
/// The replay of the strategy stopped.
pub async fn examine(
    part: &CutSegment,
    plan: &Plan,
    depth: u32,
    compactor: &dyn Compactor,
    look: RequestInspector<'_>,
) -> Result<ExaminedCut, ReplayError> {
    // The windows of a cut are made for it.
    let plan = &Plan { scaling: plan.scaling.at_made_window(), ..plan.clone() };
    let examination = CutExamination { part, plan, compactor, look };
    match depth {
        _ if plan.strategy.is_saver() => examination.as_it_goes().await,
        0 | 1 => examination.first_compaction().await,
        _ => examination.long_session(depth).await,
    }
}

/// The inputs of examining a strategy at a cut.
struct CutExamination<'a> {
    part: &'a CutSegment,
    plan: &'a Plan,
    compactor: &'a dyn Compactor,
    look: RequestInspector<'a>,
}

impl CutExamination<'_> {
    /// Depth 1: the first stage that can act does so, at the window at which
    /// its trigger is just reached. If no stage acts at its own window, each is
    /// tried at a window as large as the context; if none acts there either,
    /// nothing is compacted.
    async fn first_compaction(&self) -> Result<ExaminedCut, ReplayError> {
        let part = self.part;
        let sizes = &part.prepared.recording.sizes;
        let tokens = sizes.preamble_tokens() + self.material_tokens();
        let Plan { strategy, scaling, .. } = self.plan;
        let stages = forceable(strategy);
        let own = stages.iter().map(|&at| (window(strategy, at, *scaling, tokens), Some(at)));
        let mut tries: Vec<(u64, Option<usize>)> = own.collect();
        tries.extend(stages.iter().map(|&stage| (tokens, Some(stage))));
        tries.dedup();
        let mut tries = tries.into_iter().peekable();
        loop {
            let (window, stage) = tries.next().unwrap_or((tokens, None));
            let plan = Plan { window, ..self.plan.clone() };
            let mut session = opened(part, &plan, self.compactor)?;
            let acted = async {
                session.arrive_uncompacted(part.material).await?;
                session.force(stage).await
            };
            let acted = acted.await;
            if matches!(acted, Ok(false)) && tries.peek().is_some() {
                session.close().await;
                continue;
            }
            let start = match acted {
                Ok(_) if part.material == part.first_message() => {
                    session.request(part.material).and_then(|()| session.cut_start(part))
                }
                Ok(_) => session.cut_at_request(part).await,
                Err(error) => Err(error),
            };
            return self.finished(&plan, 1, session, start).await;
        }
    }

    /// A greater depth: the material is replayed from its beginning at a window
    /// that is smaller by this factor, not counting the preamble and the
    /// largest answer (how-it-works §10), so that losses accumulate.
    async fn long_session(&self, depth: u32) -> Result<ExaminedCut, ReplayError> {
        let sizes = &self.part.prepared.recording.sizes;
        let share = (self.material_tokens() / u64::from(depth)).max(LEAST_FOR_MESSAGES);
        let window = sizes.preamble_tokens() + sizes.largest_output() + share;
        self.replayed(window, depth).await
    }

    /// A token saver stands before the first request: nothing is forced, whatever the depth.
    async fn as_it_goes(&self) -> Result<ExaminedCut, ReplayError> {
        let preamble = self.part.prepared.recording.sizes.preamble_tokens();
        self.replayed(preamble + self.material_tokens(), 1).await
    }

    /// The material replayed from its beginning at a window.
    async fn replayed(&self, window: u64, depth: u32) -> Result<ExaminedCut, ReplayError> {
        let part = self.part;
        let plan = Plan { window, ..self.plan.clone() };
        let mut session = opened(part, &plan, self.compactor)?;
        let start = session.cut_at_request(part).await;
        self.finished(&plan, depth, session, start).await
    }

    fn material_tokens(&self) -> u64 {
        let messages = &self.part.prepared.recording.sizes.messages;
        messages[..self.part.material as usize].iter().map(|weight| weight.tokens).sum()
    }

    /// Continues to the last request of the segment and collects the result.
    async fn finished(
        &self,
        plan: &Plan,
        depth: u32,
        mut session: ReplaySession<'_>,
        start: Result<CutExam, ReplayError>,
    ) -> Result<ExaminedCut, ReplayError> {
        let CutExamination { part, look, .. } = *self;
        let mut searcher = Searcher::new(part, plan.strategy.recovery);
        let followed = match start {
            Ok(start) => {
                // What follows is searched for facts alone.
                session.biller.is_stopped = true;
                follow(part, &mut session, &mut searcher, look).await.map(|()| start)
            }
            Err(error) => Err(error),
        };
        session.close().await;
        let start = followed?;
        let is_without_summary = plan.key.strategy.starts_with(NO_SUMMARY);
        let counts = counts_refusals(&plan.key.strategy, plan.row_kind(), depth);
        let (rows, texts, asked) = session.finish();
        let refused = |outcome: &ReferenceOutcome| {
            let request = part.prepared.facts.exam.references[outcome.reference as usize].request;
            counts && rows.requests[request as usize].overflow
        };
        let states = rows.references.iter().map(|outcome| match outcome.state {
            _ if refused(outcome) => ReferenceState::Lost,
            ReferenceState::Lost if searcher.found.contains(&outcome.reference) => {
                ReferenceState::Recovered
            }
            state => state,
        });
        let states = states.collect();
        let over = rows.references.iter().filter(|outcome| refused(outcome));
        let over = over.map(|outcome| outcome.reference).collect();
        let compactor_usd = compactor_usd(part, plan, &rows);
        let mut kept = BTreeMap::new();
        let mut snapshots = rows.snapshots.into_iter();
        let snapshot: Option<Snapshot> =
            snapshots.next().map(|snapshot| part.whole(snapshot, &mut kept));
        let asked = asked
            .into_iter()
            .map(|p| PendingQuestion { question: part.question(p.question), ..p })
            .collect();
        kept.extend(texts);
        // Without its summaries a strategy writes an empty text on purpose.
        let by_model = || rows.compactions.iter().filter(|_| !is_without_summary);
        let replies = by_model().flat_map(|row| row.replies.clone());
        let exam = CutExam {
            window: plan.window,
            states,
            refused: over,
            compactor_usd,
            replies: replies.collect(),
            fallbacks: Fallbacks::among(by_model()),
            snapshot,
            ..start
        };
        Ok(ExaminedCut { exam, texts: kept, asked })
    }
}

/// Dollars of the compactor's calls up to the cut, as the first billing model is billed;
/// `None` where a price is unknown, and without a billing model.
fn compactor_usd(part: &CutSegment, plan: &Plan, rows: &CellRows) -> Option<f64> {
    let (bill, billing_model) = rows.bills.first().zip(plan.billing_models.first())?;
    let prices = plan.compactor.as_deref().unwrap_or(billing_model).prices.as_deref();
    let requests = &part.prepared.facts.requests;
    let call = |call: &CallBill| {
        let begun = rows.compactions[call.compaction as usize].begun as usize;
        let at = requests.get(begun).or(requests.last())?.at;
        prices?.request_usd(&call.prompt.billed, call.output, at)
    };
    bill.calls.iter().map(call).sum()
}

/// Opens a session over a segment, with the billing of a cut.
fn opened<'a>(
    part: &'a CutSegment,
    plan: &'a Plan,
    compactor: &'a dyn Compactor,
) -> Result<ReplaySession<'a>, ReplayError> {
    let mut session = ReplaySession::open(&part.prepared, plan, compactor)?;
    session.biller.compares = false;
    session.is_timed = false;
    Ok(session)
}

impl ReplaySession<'_> {
    /// Goes on to the first request after a cut.
    async fn cut_at_request(&mut self, part: &CutSegment) -> Result<CutExam, ReplayError> {
        self.run_to_request(part.first).await?;
        self.cut_start(part)
    }

    /// What is known of a session that has just sent its first request
    /// after a cut.
    fn cut_start(&mut self, part: &CutSegment) -> Result<CutExam, ReplayError> {
        let sent = self.requests.get(part.first as usize).map(|request| request.tokens_sent);
        let rows = || self.compactions.iter().map(|(_, row)| row);
        // A token saver acts at every request, of which this is one.
        let saver = self.plan.strategy.is_saver();
        let here = |row: &&CompactionRow| !row.background && (!saver || row.request == part.first);
        let waits = rows().filter(here).filter_map(|row| row.latency_ms);
        let waits: Vec<f64> = waits.collect();
        Ok(CutExam {
            tokens_after: sent.ok_or(ReplayError::EndsBeforeCut)?,
            compactions: self.compactions.len() as u32,
            blocking_ms: (!waits.is_empty()).then(|| waits.iter().sum()),
            latency_source: rows().find_map(|row| row.latency_source),
            texts: rows().flat_map(|row| row.texts.iter().cloned()).collect(),
            ..CutExam::default()
        })
    }
}

/// Continues from the first request after the cut to the last one of the
/// segment.
async fn follow(
    part: &CutSegment,
    session: &mut ReplaySession<'_>,
    searcher: &mut Searcher<'_>,
    look: RequestInspector<'_>,
) -> Result<(), ReplayError> {
    searcher.search(session);
    look(part.request_of(part.first), session.context());
    for message in part.first_message()..part.length() - 1 {
        session.arrive(message).await?;
        let made = session.requests_made();
        session.prepare_next(message + 1).await?;
        searcher.search(session);
        if session.requests_made() > made {
            look(part.request_of(made), session.context());
        }
    }
    Ok(())
}

// Depth 1: all messages arrive uncompressed, and then a compaction is forced
// even if the strategy's trigger has not fired (how-it-works §44).

/// Whether a trigger depends on the size of a context, so that it can be
/// treated as reached. Triggers on user messages, the clock and recorded
/// compactions do not.
fn is_about_size(when: &When) -> bool {
    matches!(
        when,
        When::Always
            | When::Above { .. }
            | When::AboveReserve { .. }
            | When::ToolTokens(_)
            | When::Messages(_)
    )
}

/// Stages that may be forced, by position.
fn forceable(strategy: &Strategy) -> Vec<usize> {
    let stages = strategy.stages.iter().enumerate();
    let may = stages.filter(|(_, stage)| stage.at != At::Open && is_about_size(&stage.when));
    may.map(|(number, _)| number).collect()
}

/// Largest window that is tried; no provider offers a larger one.
const LARGEST: u64 = 1 << 32;

/// The window at which a context of `tokens` tokens just reaches a stage's
/// trigger: the largest window at which the stage runs. If the trigger is not a
/// share of the window, the window is as large as the context.
fn window(strategy: &Strategy, stage: usize, scaling: Scaling, tokens: u64) -> u64 {
    let fires = |window: u64| {
        let threshold = strategy.threshold(stage, window, scaling);
        threshold.is_some_and(|threshold| tokens > threshold)
    };
    if fires(LARGEST) || !fires(1) {
        return tokens;
    }
    let (mut fires_at, mut does_not) = (1, LARGEST);
    while does_not - fires_at > 1 {
        let middle = fires_at + (does_not - fires_at) / 2;
        if fires(middle) { fires_at = middle } else { does_not = middle }
    }
    fires_at
}

impl ReplaySession<'_> {
    /// Appends the first messages without any compaction. Their last request is
    /// sent, so that the cache has the state that it would have had.
    async fn arrive_uncompacted(&mut self, messages: MessageIndex) -> Result<(), ReplayError> {
        self.open_stages().await?;
        let recording = &self.prepared.recording;
        let all = &recording.session.messages[..messages as usize];
        let last = all.iter().rposition(|message| message.is_request());
        for (at, message) in all.iter().enumerate() {
            let number = at as MessageIndex;
            self.context.enter(number);
            if message.is_request() {
                self.pass(number, Some(at) == last);
            }
            self.context.append();
        }
        self.observe();
        Ok(())
    }

    /// Skips a request that is the same for every strategy.
    fn pass(&mut self, message: MessageIndex, sent: bool) {
        let facts = &self.prepared.facts.requests[self.requests.len()];
        if sent {
            self.biller.request(&mut self.context, facts, None);
        } else {
            self.biller.skip();
        }
        self.requests.push(RequestRow {
            tokens_sent: self.context.weight().tokens,
            estimated: None,
            messages: self.context.message_count(),
            overflow: false,
            valid: true,
            common_prefix: 0,
            cache_break: false,
        });
        self.report(message);
    }

    /// Runs the stages in order, each by its own trigger, and treats the
    /// trigger of the stage `forced` as reached unless the context was changed
    /// before. Returns whether a stage changed the context, or called a model
    /// in order to change it.
    async fn force(&mut self, forced: Option<usize>) -> Result<bool, ReplayError> {
        let seen = self.context.seen_count();
        let timeline = &self.prepared.timeline;
        self.now = timeline.at(seen.saturating_sub(1));
        self.context.enter(seen);
        let compactions = &self.prepared.recording.session.compactions;
        self.recorded = compactions.iter().find(|compaction| compaction.after == seen);
        self.prepare()?;
        let mut acted = false;
        for number in 0..self.stages.len() {
            if self.stages[number].stage.at == At::Open {
                continue;
            }
            let before = self.reported_weight();
            self.context.begin_stage(number as u32);
            self.adjust_reported(before);
            let mut gauge = self.gauge();
            if Some(number) == forced && !acted {
                self.reach(number, &mut gauge);
            } else if !self.stages[number].when.holds(&gauge) {
                continue;
            }
            let ran = self.run(number, &gauge).await?;
            let changes = self.observe();
            acted |= changes != Changes::default() || !ran.calls.is_empty();
            self.keep(ran, changes);
        }
        Ok(acted)
    }

    /// Treats the trigger of a stage as reached: sets the size that the strategy
    /// estimates to just above it.
    fn reach(&self, number: usize, gauge: &mut Gauge<'_>) {
        let threshold = self.plan.strategy.threshold(number, self.plan.window, self.plan.scaling);
        let least = threshold.unwrap_or(0) + 1;
        let believed = gauge.believed.unwrap_or(self.context.weight().tokens);
        gauge.believed = Some(believed.max(least));
    }
}

// What a strategy's own texts say of facts, for a judge to check.

/// Characters on either side of a name that a judge sees.
const SEEN: usize = 300;

/// The strategy's own text that names a fact, and where: where it says something of it, if
/// anywhere.
pub fn carrier(
    fact: usize,
    context: &Context,
    prepared: &PreparedSession,
) -> Option<(String, Range<usize>)> {
    let entries = context.visible().filter_map(|id| context.entry(id));
    let own = entries.filter(|entry| entry.edited || entry.id.index().is_none());
    let written = own.map(|entry| entry.text);
    let notes = context.notes().map(|(_, note)| note);
    let texts: Vec<&str> = written.chain(notes).collect();
    let survival = &prepared.survival;
    let stated = texts.iter().find_map(|text| Some((text, survival.stated_in(fact, text)?)));
    let named = || texts.iter().find_map(|text| Some((text, survival.place_in(fact, text)?)));
    stated.or_else(named).map(|(text, place)| (text.to_string(), place))
}

/// What the contexts after a cut say of its facts, each at the request that uses it.
#[derive(Default)]
pub(crate) struct Statements(BTreeMap<usize, Statement>);

impl Statements {
    /// Takes in the context of a request.
    pub(crate) fn read(&mut self, request: u32, context: &Context, part: &CutSegment) {
        let prepared = &part.prepared;
        let facts = prepared.facts.exam.references.iter().enumerate();
        for (at, fact) in facts.filter(|(_, fact)| part.request_of(fact.request) == request) {
            if let Some((text, place)) = carrier(at, context, prepared) {
                let summary = excerpt(&text, &place);
                let source = source(at, fact, prepared);
                self.0.insert(at, Statement { name: fact.text.clone(), source, summary });
            }
        }
    }

    /// Lets a judge check the facts that are carried by the rule of words: one of which nothing
    /// true is said is bare.
    pub(crate) async fn check(self, exam: &mut CutExam, judge: &dyn Judge) {
        let is_carried = |at: &usize| exam.states.get(*at) == Some(&ReferenceState::Carried);
        let (places, statements): (Vec<usize>, Vec<Statement>) =
            self.0.into_iter().filter(|(at, _)| is_carried(at)).unzip();
        if statements.is_empty() {
            return;
        }
        match judge.check(&statements).await {
            Ok(None) => {}
            Ok(Some(truths)) => {
                for (at, _) in places.iter().zip(truths).filter(|(_, is_true)| !is_true) {
                    exam.states[*at] = ReferenceState::Bare;
                }
            }
            Err(_) => exam.unchecked = places.len() as u32,
        }
    }
}

/// The text around a place.
fn excerpt(text: &str, place: &Range<usize>) -> String {
    let (before, after) = around(text, place, SEEN);
    format!("{before}{}{after}", &text[place.clone()])
}

/// The last place in the recording at which a fact stood before the cut.
fn source(at: usize, fact: &Reference, prepared: &PreparedSession) -> String {
    let message = prepared.recording.text(fact.last_seen);
    let place = prepared.survival.place_in(at, message);
    place.map_or_else(String::new, |place| excerpt(message, &place))
}
