//! Compactions that run in the background while the conversation continues
//! (semantics §25).
//!
//! A stage in the background works on a copy of the context. When the simulated
//! clock has passed the time that its model needed, its changes are applied to
//! the context itself, as far as they still apply. Each stage has at most one
//! such compaction in flight; a failure leaves the context unchanged.

use super::error::ReplayError;
use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::session::ReplaySession;
use super::stage::StageOutcome;
use crate::model::CompactionRow;
use crate::strategy::{Applied, Gauge, Op, PresetState, Record};

/// A compaction whose model has not answered yet. It is part of a saved session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    shared: (PresetState, PresetState),
    /// The mechanism's own state at the end of the compaction.
    state: Json,
    row: CompactionRow,
    records: Vec<Record>,
    notices: Vec<String>,
    forgets_usage: bool,
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
        let state = self.stages[number].mechanism.state();
        let ran = self.run(number, gauge).await;
        let log = std::mem::replace(&mut self.context, own).into_log();
        let done = std::mem::replace(&mut self.shared, shared);
        self.reported = reported;
        let StageOutcome { outcome, mut row, calls, .. } = ran?;
        if log.is_empty() && calls.is_empty() && outcome.fallback.is_none() {
            return Ok(());
        }
        let mechanism = &mut self.stages[number].mechanism;
        let after = mechanism.state();
        mechanism.restore(state)?;
        let compaction = self.number();
        self.charge(compaction, &mut row, &calls);
        // `as` saturates: a time beyond the calendar is never reached.
        let took = SignedDuration::from_millis(row.latency_ms.unwrap_or(0.0).ceil() as i64);
        let in_flight = InFlight {
            number: compaction,
            lands: self.now.checked_add(took).unwrap_or(Timestamp::MAX),
            written: self.context.written_count(),
            log,
            shared: (self.shared.clone(), done),
            state: after,
            row,
            records: outcome.records,
            notices: outcome.notices,
            forgets_usage: outcome.forgets_usage,
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
        let InFlight { number, written, log, shared: (before, after), state, mut row, .. } =
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
        self.reported = self.reported.filter(|_| !finished.forgets_usage);
        self.stages[stage].mechanism.restore(state)?;
        let changes = self.observe();
        row.request = self.requests.len() as u32;
        row.messages_seen = self.context.seen_count();
        (row.tokens_before, row.tokens_after) = (weight.tokens, self.context.weight().tokens);
        row.messages_folded = changes.folded;
        row.messages_evicted = changes.gone;
        row.messages_edited = changes.edited;
        self.compacted(number, &row, row.tokens_before);
        self.compactions.push((number, row));
        self.records.extend(finished.records);
        self.notices.extend(finished.notices);
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

    /// Resumes the compactions that were in flight when the session was saved.
    pub(super) fn adopt(&mut self, in_flight: BTreeMap<usize, InFlight>) {
        self.in_flight = in_flight;
        for one in self.in_flight.values_mut() {
            one.number = self.begun;
            self.begun += 1;
        }
    }
}
