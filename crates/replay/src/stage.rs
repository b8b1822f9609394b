//! Runs one stage: checks whether it is due, measures its time, records its row.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use cpu_time::ThreadTime;

use crate::loss::Changes;
use crate::prepared::text_hash;
use crate::session::{ReplayError, ReplaySession};
use recap_core::clock::{COMPACTOR, response_ms};
use recap_core::model::{CompactionRow, LatencySource};
use recap_core::tokens::Weight;
use recap_strategy::{
    At, Fallback, Gauge, Host, MECHANISMS, Mechanism, Metered, ModelCall, Outcome, Stage, Turn,
    When, Work, pairs_are_whole,
};

/// A stage of one cell: its scaled trigger and its mechanism.
pub(super) struct Running {
    pub stage: Stage,
    pub when: When,
    pub mechanism: Box<dyn Mechanism>,
    /// Names of mechanism and trigger, as the stage's compactions hold them.
    pub names: [Arc<str>; 2],
}

/// Adds up the thread's CPU time over the polls of a future, so that a slow
/// neighbour task does not show up in a strategy's time (how-it-works §38).
struct OnCpu<F> {
    inner: Pin<Box<F>>,
    spent: Duration,
}

impl<F: Future> Future for OnCpu<F> {
    type Output = (F::Output, Duration);

    fn poll(mut self: Pin<&mut Self>, task: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let start = ThreadTime::now();
        let polled = self.inner.as_mut().poll(task);
        self.spent += start.elapsed();
        polled.map(|output| (output, self.spent))
    }
}

async fn on_cpu<F: Future>(future: F) -> (F::Output, Duration) {
    OnCpu { inner: Box::pin(future), spent: Duration::ZERO }.await
}

/// The result of running a stage, before its effect on the ledger is known.
pub(super) struct StageOutcome {
    pub outcome: Outcome,
    pub row: CompactionRow,
    pub calls: Vec<ModelCall>,
}

impl<'a> ReplaySession<'a> {
    /// Ends the processes that mechanisms started.
    pub async fn close(&mut self) {
        for running in &mut self.stages {
            running.mechanism.close().await;
        }
    }

    /// Checks every stage of a point, in order. Messages that these stages hid
    /// the last time are shown again first, so that each stage computes from
    /// the full context and from the changes of the stages before it (how-it-works
    /// §16 and 21).
    pub(super) async fn evaluate_stages(&mut self, at: At) -> Result<(), ReplayError> {
        let due: Vec<usize> =
            (0..self.stages.len()).filter(|&number| self.stages[number].stage.at == at).collect();
        if due.iter().any(|&number| self.context.hides(number as u32)) {
            let before = self.reported_weight();
            for &number in &due {
                self.context.begin_stage(number as u32);
            }
            self.adjust_reported(before);
        }
        for number in due {
            self.evaluate_stage(number).await?;
        }
        Ok(())
    }

    /// Checks a stage and runs it if it is due. A stage in the background runs
    /// once at a time (how-it-works §25).
    async fn evaluate_stage(&mut self, number: usize) -> Result<(), ReplayError> {
        self.context.begin_stage(number as u32);
        let gauge = self.gauge();
        let busy = self.in_flight.contains_key(&number);
        let due = !busy && self.stages[number].when.holds(&gauge);
        // Questions at the end are asked with the compactions that had finished by
        // then.
        if due && self.stages[number].stage.background {
            return if self.at_end { Ok(()) } else { self.launch(number, &gauge).await };
        }
        let ran = if due { Some(self.run(number, &gauge).await?) } else { None };
        let changes = self.observe();
        if let Some(ran) = ran {
            self.keep(ran, changes);
        }
        Ok(())
    }

    /// The changes of the ledger since the last call.
    pub(super) fn observe(&mut self) -> Changes {
        let moved = self.loss.take_moved(&mut self.context);
        self.pairs.recheck_pairs(&self.context, moved.iter().copied());
        self.loss.observe(&self.context, &moved, self.requests.len() as u32)
    }

    /// Checks again the stages that repeat recorded compactions.
    pub(super) async fn evaluate_recorded(&mut self, at: At) -> Result<(), ReplayError> {
        for number in 0..self.stages.len() {
            let Running { stage, when, .. } = &self.stages[number];
            if stage.at == at && *when == When::Recorded {
                self.evaluate_stage(number).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn run(
        &mut self,
        number: usize,
        gauge: &Gauge<'_>,
    ) -> Result<StageOutcome, ReplayError> {
        let meter = Metered::new(self.compactor);
        let reported_weight = self.reported_weight();
        let mechanism = self.stages[number].stage.mechanism.name;
        let running = &mut self.stages[number];
        let host = Host {
            window: self.window,
            budget: gauge.limits.budget,
            target: target(&running.stage, &running.when, gauge),
            believed: gauge.believed,
            now: self.now,
            cause: &running.when,
            reported: self.reported,
            estimator: self.plan.strategy.estimator,
            recorded: self.recorded,
            compactor: &meter,
            random: &self.random,
        };
        let before = self.context.weight();
        let synthetic = self.context.synthetic_count();
        let work = Work { context: &mut self.context, shared: &mut self.shared, host: &host };
        let compact = running.mechanism.compact(work);
        let (result, spent) =
            if self.is_timed { on_cpu(compact).await } else { (compact.await, Duration::ZERO) };
        if let Some(why) = meter.unavailable() {
            return Err(ReplayError::Unavailable(mechanism, why));
        }
        let outcome = result.map_err(|error| ReplayError::Mechanism(mechanism, error))?;
        if let Some(why) = meter.unanswered().filter(|_| !self.falls_back(&outcome)) {
            return Err(ReplayError::Unavailable(mechanism, why));
        }
        self.cpu_ms += spent.as_secs_f64() * 1e3;
        let mut calls = meter.take();
        calls.extend(&outcome.calls);
        let row = self.row(number, before, &calls, &outcome);
        let texts = self.context.synthetic_texts(synthetic);
        let texts = texts.map(|text| (text_hash(text), text.to_owned())).collect::<Vec<_>>();
        let row =
            CompactionRow { texts: texts.iter().map(|(hash, _)| hash.clone()).collect(), ..row };
        self.texts.extend(texts);
        self.adjust_reported(reported_weight);
        self.reported = self.reported.filter(|_| !outcome.forgets_usage);
        Ok(StageOutcome { outcome, row, calls })
    }

    /// Whether the strategy goes on where the model gave no reply: by another step
    /// of the mechanism, or by a stage that cuts instead (how-it-works §27).
    fn falls_back(&self, outcome: &Outcome) -> bool {
        let Some(Fallback { to, .. }) = &outcome.fallback else { return false };
        let is_other = MECHANISMS.iter().any(|spec| spec.name == to);
        let has = |running: &Running| running.stage.mechanism.name == to;
        to != Fallback::NONE && (!is_other || self.stages.iter().any(has))
    }

    /// Size of the part of the provider's last report that is still sent; later
    /// messages are not included.
    pub(super) fn reported_weight(&self) -> Weight {
        self.context.weight_before(self.reported_through)
    }

    /// Adjusts a reported figure after the context changed, in the strategy's own unit
    /// (how-it-works §13): it subtracts what was removed and adds what was added. Text
    /// that the report did not count is not subtracted. `before`: the result of
    /// [`ReplaySession::reported_weight`] before the change.
    pub(super) fn adjust_reported(&mut self, before: Weight) {
        let after = self.reported_weight();
        let estimator = self.plan.strategy.estimator;
        if let Some(reported) = &mut self.reported {
            let (removed, added) = (estimator.fallback(before), estimator.fallback(after));
            reported.input = (reported.input + added).saturating_sub(removed);
        }
    }

    /// The row of a stage that ran, without its time and its effect on the ledger.
    fn row(
        &self,
        number: usize,
        before: Weight,
        calls: &[ModelCall],
        outcome: &Outcome,
    ) -> CompactionRow {
        let running = &self.stages[number];
        CompactionRow {
            request: self.requests.len() as u32,
            begun: self.requests.len() as u32,
            messages_seen: self.context.seen_count(),
            at_end: self.at_end,
            stage: number as u32,
            mechanism: Arc::clone(&running.names[0]),
            trigger: Arc::clone(&running.names[1]),
            tokens_before: before.tokens,
            tokens_after: self.context.weight().tokens,
            model_calls: calls.len() as u32,
            input_tokens: calls.iter().map(|c| c.usage.input).sum(),
            output_tokens: calls.iter().map(|c| c.usage.output).sum(),
            latency_ms: outcome.took_ms.or(outcome.waited_ms).or(match calls {
                [] => None,
                calls => calls.iter().map(|c| c.latency_ms).sum(),
            }),
            background: running.stage.background,
            fallback: outcome.fallback.as_ref().map(|f| format!("{}: {}", f.to, f.reason)),
            replies: calls.iter().filter_map(|call| call.reply).collect(),
            view: running.stage.mechanism.is_view,
            ..CompactionRow::default()
        }
    }

    /// Records the row of a stage that had an effect: it changed the ledger,
    /// called a model, or fell back.
    pub(super) fn keep(&mut self, ran: StageOutcome, changes: Changes) {
        let StageOutcome { outcome, mut row, calls } = ran;
        self.notices.extend(outcome.notices);
        self.saver = outcome.saver.or(self.saver.take());
        changes.note(&mut row);
        let acted = changes != Changes::default() || row.model_calls > 0 || row.fallback.is_some();
        if !acted {
            return;
        }
        let number = self.number();
        if !self.at_end {
            self.charge(number, &mut row, &calls);
            if outcome.waited_ms.is_some() {
                row.latency_source = Some(LatencySource::Live);
            }
        }
        self.compactions.push((number, row));
    }

    /// The number of the next compaction: they are numbered as they begin.
    pub(super) fn number(&mut self) -> u32 {
        self.begun += 1;
        self.begun - 1
    }

    /// Adds the calls of a compaction to the bill. Calls without a measured
    /// time get the time of the profile; in the background, that of a call
    /// without cache, since whether the cache is still warm is known only
    /// later.
    pub(super) fn charge(&mut self, number: u32, row: &mut CompactionRow, calls: &[ModelCall]) {
        let anew = self.biller.calls(number, calls, self.now);
        if row.latency_ms.is_some() {
            let mut timed = calls.iter().filter(|call| call.latency_ms.is_some());
            let recorded = timed.all(|call| call.recorded);
            row.latency_source =
                Some(if recorded { LatencySource::Recorded } else { LatencySource::Live });
        } else if !anew.is_empty() {
            let answered = calls.iter().filter(|call| call.usage.input > 0).zip(anew);
            let each = answered.map(|(call, new)| {
                let read = if row.background { call.usage.input } else { new };
                response_ms(&COMPACTOR, read, call.usage.output)
            });
            row.latency_ms = Some(each.sum());
            row.latency_source = Some(LatencySource::Modelled);
        }
    }

    /// Checks that calls and results are sent in pairs, unless the strategy
    /// declares otherwise. A violation is a bug of the strategy and is never
    /// repaired silently.
    pub(super) fn check_pairs(&self) -> Result<bool, ReplayError> {
        let whole = self.pairs.are_whole();
        if whole || self.stages.iter().any(|s| s.stage.breaks_pairs) {
            return Ok(whole);
        }
        let pair = pairs_are_whole(&self.context).expect_err("a pair is known to be broken");
        let request = self.requests.len();
        Err(ReplayError::BrokenPair(request, pair))
    }

    pub(super) fn gauge(&self) -> Gauge<'a> {
        let strategy = &self.plan.strategy;
        let weight = self.context.weight();
        Gauge {
            believed: strategy.estimator.total(weight, self.reported),
            limits: strategy.limits(self.window, self.plan.scaling),
            tool_tokens: self.context.tool_tokens_after(self.shared.pruned_through),
            messages: self.context.message_count(),
            turn: self.turn(),
            recorded: self.recorded.is_some(),
        }
    }

    /// The newest message, if it is a user's.
    fn turn(&self) -> Option<Turn<'a>> {
        let newest = self.context.seen_count().checked_sub(1)?;
        let message = &self.prepared.recording.session.messages[newest as usize];
        let timeline = &self.prepared.timeline;
        message.opens_exchange().then(|| Turn {
            said: message.first_text(),
            at: timeline.at(newest),
            before: newest.checked_sub(1).map(|before| timeline.at(before)),
        })
    }
}

/// The size to shrink to: the stage's target, or its own threshold.
fn target(stage: &Stage, when: &When, gauge: &Gauge<'_>) -> u64 {
    if let Some((of, share)) = stage.target {
        return gauge.limits.share(of, share);
    }
    when.threshold(&gauge.limits).unwrap_or(gauge.limits.budget)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PreparedSession;
    use crate::session::Plan;
    use recap_core::tokens::{Estimator, Reported};
    use recap_exam::roles::compactor::EmptySummary;
    use recap_strategy::testkit::{Talk, words};
    use recap_strategy::{
        CallUsage, Context, EntryId, Fallback, Limits, MechanismError, Of, Op, StoredFile,
        StrategyState, builtin,
    };

    const GAUGE: Gauge<'static> = Gauge {
        believed: Some(9_500),
        limits: Limits { window: 10_000, budget: 8_000, usable: 9_000 },
        tool_tokens: 0,
        messages: 9,
        turn: None,
        recorded: false,
    };

    /// How-it-works §44: a stage shrinks to its own target, else to the size at which it
    /// becomes due, else to the budget.
    #[test]
    fn stage_shrinks_to_target_or_threshold_or_budget() {
        let mut stage = builtin("session-state", &[]).unwrap().unwrap().stages.remove(0);
        let above = When::Above { of: Of::Usable, share: 0.7, and_over: 0, at_most: None };
        for (target_of, when, expected) in [
            (Some((Of::Window, 0.6)), above.clone(), 6_000),
            (Some((Of::Budget, 0.5)), When::Always, 4_000),
            (None, above, 6_300),
            (None, When::AboveReserve { reserve: 1_500 }, 8_500),
            (None, When::Messages(3), 8_000),
        ] {
            stage.target = target_of;
            assert_eq!(target(&stage, &when, &GAUGE), expected, "{target_of:?} {when:?}");
        }
    }

    /// Three questions of 10, 20 and 30 tokens, each with an answer of one.
    fn prepared() -> PreparedSession {
        let talk = [10, 20, 30].into_iter();
        let talk = talk.fold(Talk::new("S"), |talk, n| talk.user(&words(n)).assistant("Yes"));
        PreparedSession::new("d", talk.end(), Arc::default())
    }

    fn plan(strategy: &str) -> Plan {
        let mut strategy = builtin(strategy, &[]).unwrap().unwrap();
        strategy.estimator = Estimator::Exact;
        Plan::new(("d", ""), Arc::new(strategy), ("", 1_000_000))
    }

    fn call(input: u64, output: u64, latency_ms: Option<f64>) -> ModelCall {
        let usage = CallUsage { input, output };
        ModelCall { usage, latency_ms, recorded: false, live: false, reply: None }
    }

    /// How-it-works §13.
    #[tokio::test]
    async fn report_shrinks_by_counted_messages_that_are_removed() {
        let (prepared, plan) = (prepared(), plan("session-state"));
        let mut session = ReplaySession::open(&prepared, &plan, &EmptySummary).unwrap();
        assert!(session.run_to_request(1).await.unwrap());
        let counted = session.reported_weight();
        assert_eq!(counted, session.context.weight());
        session.arrive(3).await.unwrap();
        assert_eq!(session.reported_weight(), counted, "the answer came after the report");
        let removed = |session: &mut ReplaySession<'_>, message, input| {
            let before = session.reported_weight();
            session.reported = Some(Reported { input, output: 7 });
            session.context.apply(Op::Evict(vec![EntryId::message(message)])).unwrap();
            session.adjust_reported(before);
            session.reported.unwrap().input
        };
        let sizes = &prepared.recording.sizes.messages;
        assert!(sizes[0].tokens >= 10);
        assert_eq!(removed(&mut session, 3, 1_000), 1_000);
        assert_eq!(removed(&mut session, 0, 1_000), 1_000 - sizes[0].tokens);
        assert_eq!(removed(&mut session, 2, 3), 0, "no less than nothing");
    }

    #[tokio::test]
    async fn stage_has_row_after_change_call_or_fallback() {
        let (prepared, plan) = (prepared(), plan("session-state"));
        let fallback = || Some(Fallback { to: "fifo".to_owned(), reason: "no reply".to_owned() });
        let folded = Changes { folded: 2, gone: 3, edited: 5 };
        for (at_end, changes, calls, fallback, kept) in [
            (false, Changes::default(), Vec::new(), None, 0),
            (false, folded, Vec::new(), None, 1),
            (false, Changes::default(), vec![call(0, 0, None)], None, 1),
            (false, Changes::default(), Vec::new(), fallback(), 1),
            (true, folded, Vec::new(), None, 1),
        ] {
            let mut session = ReplaySession::open(&prepared, &plan, &EmptySummary).unwrap();
            assert!(session.run_to_request(1).await.unwrap());
            session.at_end = at_end;
            let notices = vec!["Compacted.".to_owned()];
            let outcome = Outcome { fallback, notices, ..Outcome::default() };
            let row = session.row(0, session.context.weight(), &calls, &outcome);
            session.keep(StageOutcome { outcome, row, calls }, changes);
            assert_eq!(session.notices.len(), 1);
            let rows: Vec<_> = (session.compactions.iter())
                .map(|(n, row)| {
                    (*n, row.messages_folded, row.messages_evicted, row.messages_edited)
                })
                .collect();
            let expected = (0, changes.folded, changes.gone, changes.edited);
            assert_eq!(rows, vec![expected; kept]);
            assert_eq!(session.begun as usize, kept);
        }
    }

    #[tokio::test]
    async fn stage_row_sums_calls_and_gives_fallback_reason() {
        let (prepared, plan) = (prepared(), plan("session-state"));
        let mut session = ReplaySession::open(&prepared, &plan, &EmptySummary).unwrap();
        assert!(session.run_to_request(2).await.unwrap());
        let fallback = Fallback { to: "fifo".to_owned(), reason: "no reply".to_owned() };
        let outcome = Outcome { fallback: Some(fallback), ..Outcome::default() };
        let before = Weight { tokens: 99, ..Weight::default() };
        let calls = [call(20, 3, Some(2.0)), call(30, 4, Some(5.0))];
        let row = session.row(0, before, &calls, &outcome);
        assert_eq!((row.request, row.begun, row.messages_seen, row.stage), (3, 3, 5, 0));
        assert_eq!((row.model_calls, row.input_tokens, row.output_tokens), (2, 50, 7));
        assert_eq!((row.tokens_before, row.tokens_after), (99, session.context.weight().tokens));
        assert_eq!((row.latency_ms, row.at_end, row.view), (Some(7.0), false, false));
        assert_eq!(row.fallback.as_deref(), Some("fifo: no reply"));
        assert_eq!(*row.mechanism, *plan.strategy.stages[0].mechanism.name);
        let untimed = [call(20, 3, Some(2.0)), call(30, 4, None)];
        assert_eq!(session.row(0, before, &untimed, &outcome).latency_ms, None);
        assert_eq!(session.row(0, before, &[], &outcome).latency_ms, None);
    }

    /// A mechanism that has these files on its disk.
    #[derive(Clone)]
    struct Keeps(&'static [(&'static str, &'static str)]);

    #[async_trait::async_trait]
    impl Mechanism for Keeps {
        async fn compact(&mut self, _: Work<'_>) -> Result<Outcome, MechanismError> {
            Ok(Outcome::default())
        }

        fn stored(&self, _: &Context, _: &StrategyState) -> Vec<StoredFile> {
            let file = |&(path, content): &(&str, &str)| StoredFile {
                path: path.to_owned(),
                content: content.as_bytes().to_vec(),
            };
            self.0.iter().map(file).collect()
        }
    }

    #[test]
    fn files_on_disk_are_listed_once_by_path() {
        let (prepared, plan) = (prepared(), plan("lis"));
        let mut session = ReplaySession::open(&prepared, &plan, &EmptySummary).unwrap();
        session.stages.truncate(2);
        session.stages[0].mechanism = Box::new(Keeps(&[("b", "2"), ("a", "1")]));
        session.stages[1].mechanism = Box::new(Keeps(&[("c", "3"), ("b", "2")]));
        let stored: Vec<_> = session.stored().into_iter().map(|file| file.path).collect();
        assert_eq!(stored, ["a", "b", "c"]);
    }

    #[tokio::test]
    async fn only_user_message_opens_turn_knowing_earlier_time() {
        let (prepared, plan) = (prepared(), plan("session-state"));
        let mut session = ReplaySession::open(&prepared, &plan, &EmptySummary).unwrap();
        assert!(session.turn().is_none());
        let at = |message| prepared.timeline.at(message);
        let mut found = Vec::new();
        for _ in 0..3 {
            session.context.append();
            found.push(session.turn().map(|turn| (turn.at, turn.before)));
        }
        assert_eq!(found, [Some((at(0), None)), None, Some((at(2), Some(at(1))))]);
    }

    /// How-it-works §27.
    #[test]
    fn strategy_goes_on_without_reply_only_by_a_fallback_it_has() {
        let (prepared, plan) = (prepared(), plan("session-state"));
        let mut session = ReplaySession::open(&prepared, &plan, &EmptySummary).unwrap();
        let falls_back = |session: &ReplaySession<'_>, to: &str| {
            let fallback = Fallback { to: to.to_owned(), reason: "no reply".to_owned() };
            session.falls_back(&Outcome { fallback: Some(fallback), ..Outcome::default() })
        };
        assert!(falls_back(&session, "fifo") && falls_back(&session, "tier 3"));
        assert!(!falls_back(&session, Fallback::NONE) && !session.falls_back(&Outcome::default()));
        session.stages.truncate(1);
        assert!(!falls_back(&session, "fifo"), "no stage cuts");
    }
}
