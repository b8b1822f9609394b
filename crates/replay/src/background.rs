//! Compactions that run in the background while the conversation continues
//! (how-it-works §25).
//!
//! A stage in the background works on a copy of the context. When the simulated
//! clock has passed the time that its model needed, its changes are applied to
//! the context itself, as far as they still apply. Each stage has at most one
//! such compaction in flight; a failure leaves the context unchanged.

use crate::session::ReplayError;
use jiff::{SignedDuration, Timestamp};

use super::session::ReplaySession;
use super::stage::StageOutcome;
use recap_core::model::CompactionRow;
use recap_strategy::{Applied, Gauge, Mechanism, Op, Outcome, StrategyState};

/// A compaction whose model has not answered yet.
#[derive(Clone)]
pub(super) struct InFlight {
    /// The number of the compaction within the cell.
    number: u32,
    /// The simulated time at which its model finishes.
    lands: Timestamp,
    /// How many entries had been written into the context when it was copied.
    written: usize,
    /// The operations that were applied to the copy.
    log: Vec<Applied>,
    /// The shared state at the beginning and at the end of the compaction.
    shared: (StrategyState, StrategyState),
    /// The mechanism at the end of the compaction.
    mechanism: Box<dyn Mechanism>,
    row: CompactionRow,
    outcome: Outcome,
}

impl ReplaySession<'_> {
    /// Starts a stage on a copy of the context. Its calls are made, billed and
    /// timed immediately.
    pub(super) async fn launch(
        &mut self,
        number: usize,
        gauge: &Gauge<'_>,
    ) -> Result<(), ReplayError> {
        let fork = self.context.fork();
        let (own, shared, reported) =
            (std::mem::replace(&mut self.context, fork), self.shared.clone(), self.reported);
        let before = self.stages[number].mechanism.clone();
        let ran = self.run(number, gauge).await;
        let log = std::mem::replace(&mut self.context, own).into_log();
        let done = std::mem::replace(&mut self.shared, shared);
        self.reported = reported;
        let StageOutcome { outcome, mut row, calls, .. } = ran?;
        if log.is_empty() && calls.is_empty() && outcome.fallback.is_none() {
            return Ok(());
        }
        let after = std::mem::replace(&mut self.stages[number].mechanism, before);
        let compaction = self.number();
        self.charge(compaction, &mut row, &calls);
        // `as` saturates: a time beyond the calendar is never reached.
        let took = SignedDuration::from_millis(row.latency_ms.unwrap_or(0.0).ceil() as i64);
        let in_flight = InFlight {
            number: compaction,
            lands: self.now.checked_add(took).unwrap_or(Timestamp::MAX),
            written: self.context.synthetic_count(),
            log,
            shared: (self.shared.clone(), done),
            mechanism: after.clone(),
            row,
            outcome,
        };
        self.in_flight.insert(number, in_flight);
        self.apply_finished()
    }

    /// Applies the compactions that have ended by now, in the order of their ends.
    pub(super) fn apply_finished(&mut self) -> Result<(), ReplayError> {
        loop {
            let due = self.in_flight.iter().filter(|(_, one)| one.lands <= self.now);
            let next = due.min_by_key(|(_, one)| (one.lands, one.number)).map(|(&stage, _)| stage);
            let Some(stage) = next else { return Ok(()) };
            let finished = self.in_flight.remove(&stage).expect("it was found there");
            self.finish_compaction(stage, finished)?;
        }
    }

    fn finish_compaction(&mut self, stage: usize, finished: InFlight) -> Result<(), ReplayError> {
        let InFlight { number, written, log, shared: (before, after), mut row, outcome, .. } =
            finished;
        let opens = after.chain.open != before.chain.open;
        let (weight, reported_weight) = (self.context.weight(), self.reported_weight());
        if !self.shared.adopt(&before, after) {
            row.error = Some("another session was opened before it was done".to_owned());
            self.record_without_effect(number, row);
            return Ok(());
        }
        // A summary that came meanwhile was for the session that is left now.
        let meanwhile = self.context.written_since(written);
        if opens && !meanwhile.is_empty() {
            self.context.apply(Op::Evict(meanwhile)).expect("stored entries can be evicted");
        }
        self.context.apply_log(log);
        self.adjust_reported(reported_weight);
        self.reported = self.reported.filter(|_| !outcome.forgets_usage);
        self.stages[stage].mechanism = finished.mechanism;
        let changes = self.observe();
        row.request = self.requests.len() as u32;
        row.messages_seen = self.context.seen_count();
        (row.tokens_before, row.tokens_after) = (weight.tokens, self.context.weight().tokens);
        changes.note(&mut row);
        self.compactions.push((number, row));
        self.notices.extend(outcome.notices);
        Ok(())
    }

    /// Bills the compactions that were still in flight at the end of the
    /// session. They had no effect.
    pub(super) fn bill_unfinished(&mut self) {
        for (_, InFlight { number, mut row, .. }) in std::mem::take(&mut self.in_flight) {
            row.error = Some("the session ended before it was done".to_owned());
            self.record_without_effect(number, row);
        }
    }

    /// Records a compaction that changed nothing but still cost something.
    fn record_without_effect(&mut self, number: u32, mut row: CompactionRow) {
        row.request = self.requests.len() as u32;
        row.tokens_after = row.tokens_before;
        self.compactions.push((number, row));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{Plan, PreparedSession};
    use recap_core::model::Role;
    use recap_exam::roles::compactor::EmptySummary;
    use recap_strategy::testkit::Talk;
    use recap_strategy::{EntryId, InsertAt, OpenSession, builtin};

    fn prepared() -> PreparedSession {
        let talk = (0..3).fold(Talk::new("S"), |talk, _| talk.user("Go on, do.").assistant("Yes"));
        PreparedSession::new("d", talk.end(), Arc::default())
    }

    /// A strategy of several stages, none of which acts in so short a session.
    fn plan() -> Plan {
        Plan::new(("d", ""), Arc::new(builtin("lis", &[]).unwrap().unwrap()), ("", 1_000_000))
    }

    fn row() -> CompactionRow {
        CompactionRow {
            request: 0,
            begun: 0,
            messages_seen: 0,
            at_end: false,
            stage: 0,
            mechanism: "m".into(),
            trigger: "t".into(),
            tokens_before: 77,
            tokens_after: 5,
            messages_folded: 0,
            messages_evicted: 0,
            messages_edited: 0,
            model_calls: 1,
            input_tokens: 0,
            output_tokens: 0,
            latency_ms: None,
            latency_source: None,
            background: true,
            fallback: None,
            error: None,
            texts: Vec::new(),
            replies: Vec::new(),
            view: false,
        }
    }

    /// A session before its second request, with three messages.
    async fn begun<'a>(prepared: &'a PreparedSession, plan: &'a Plan) -> ReplaySession<'a> {
        let mut session = ReplaySession::open(prepared, plan, &EmptySummary).unwrap();
        assert!(session.run_to_request(1).await.unwrap());
        session
    }

    /// A compaction of a stage that ends this many milliseconds from now and
    /// evicts these messages.
    fn launch(session: &mut ReplaySession<'_>, stage: usize, number: u32, ms: i64, gone: &[u32]) {
        let mut fork = session.context.fork();
        if !gone.is_empty() {
            fork.apply(Op::Evict(gone.iter().copied().map(EntryId::message).collect())).unwrap();
        }
        let one = InFlight {
            number,
            lands: session.now + SignedDuration::from_millis(ms),
            written: session.context.synthetic_count(),
            log: fork.into_log(),
            shared: (session.shared.clone(), session.shared.clone()),
            mechanism: session.stages[stage].mechanism.clone(),
            row: row(),
            outcome: Outcome {
                notices: vec![number.to_string()],
                forgets_usage: number == 4,
                ..Outcome::default()
            },
        };
        session.in_flight.insert(stage, one);
    }

    #[tokio::test]
    async fn compactions_take_effect_as_their_models_finish() {
        let (prepared, plan) = (prepared(), plan());
        let mut session = begun(&prepared, &plan).await;
        let (before, reported) = (session.context.weight().tokens, session.reported.unwrap());
        launch(&mut session, 0, 4, 0, &[]);
        launch(&mut session, 1, 3, -1_000, &[0, 1]);
        launch(&mut session, 2, 2, 0, &[]);
        launch(&mut session, 3, 1, 1, &[2]);
        let forgetful = session.in_flight.remove(&0).unwrap();
        session.apply_finished().unwrap();
        let gone: u64 = prepared.recording.sizes.messages[..2].iter().map(|w| w.tokens).sum();
        assert_eq!(session.reported.unwrap().input, reported.input - gone);
        session.in_flight.insert(0, forgetful);
        session.apply_finished().unwrap();
        assert_eq!(session.reported, None);
        assert_eq!(session.in_flight.keys().collect::<Vec<_>>(), [&3]);
        let rows = session.compactions.iter().map(|(number, row)| {
            assert_eq!((row.request, row.messages_seen, &row.error), (2, 3, &None));
            (*number, row.messages_evicted, row.tokens_before, row.tokens_after)
        });
        let after = before - gone;
        let expected = [(3, 2, before, after), (2, 0, after, after), (4, 0, after, after)];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
        assert_eq!(session.notices, ["3", "2", "4"]);
    }

    #[tokio::test]
    async fn compaction_of_an_abandoned_session_changes_nothing() {
        let (prepared, plan) = (prepared(), plan());
        let mut session = begun(&prepared, &plan).await;
        let before = session.context.weight();
        launch(&mut session, 1, 6, 0, &[0]);
        session.shared.chain.open = Some(OpenSession { number: 9, from: 0 });
        session.apply_finished().unwrap();
        let (number, row) = &session.compactions[0];
        assert_eq!(row.error.as_deref(), Some("another session was opened before it was done"));
        assert_eq!((*number, row.request, row.tokens_before, row.tokens_after), (6, 2, 77, 77));
        assert_eq!((row.messages_evicted, session.context.weight()), (0, before));
        assert!(session.notices.is_empty());
    }

    #[tokio::test]
    async fn unfinished_compactions_are_recorded_in_stage_order() {
        let (prepared, plan) = (prepared(), plan());
        let mut session = begun(&prepared, &plan).await;
        launch(&mut session, 3, 0, 9, &[0]);
        launch(&mut session, 1, 1, 9, &[]);
        session.bill_unfinished();
        assert!(session.in_flight.is_empty());
        let rows = session.compactions.iter().map(|(number, row)| {
            let error = row.error.as_deref();
            assert_eq!(error, Some("the session ended before it was done"));
            (*number, row.request, row.tokens_after)
        });
        assert_eq!(rows.collect::<Vec<_>>(), [(1, 2, 77), (0, 2, 77)]);
    }

    #[tokio::test]
    async fn new_summary_is_removed_only_with_its_session() {
        let (prepared, plan) = (prepared(), plan());
        for opens in [false, true] {
            let mut session = begun(&prepared, &plan).await;
            launch(&mut session, 1, 0, 0, &[]);
            if opens {
                let one = session.in_flight.get_mut(&1).unwrap();
                one.shared.1.chain.open = Some(OpenSession { number: 9, from: 0 });
            }
            let range = vec![EntryId::message(0), EntryId::message(1)];
            let into = vec![(Role::User, "so far".to_owned())];
            let fold = Op::Fold { range, into, at: InsertAt::InPlace };
            let made = session.context.apply(fold).unwrap();
            session.apply_finished().unwrap();
            assert_eq!(session.context.contains(made[0]), !opens);
            assert!(session.compactions[0].1.error.is_none());
        }
    }
}
