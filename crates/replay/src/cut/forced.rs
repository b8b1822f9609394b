//! Depth 1: all messages arrive uncompressed, and then a compaction is forced
//! even if the strategy's trigger has not fired (how-it-works §44).

use crate::loss::Changes;
use crate::plan::ReplayError;
use crate::session::ReplaySession;
use recap_core::model::{MessageIndex, RequestRow};
use recap_core::tokens::Reported;
use recap_strategy::{At, Gauge, Scaling, Strategy, When};

/// Whether a trigger depends on the size of a context, so that it can be
/// treated as reached. Triggers on user messages, the clock and the vendor's
/// own compactions do not.
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
pub(super) fn forceable(strategy: &Strategy) -> Vec<usize> {
    let stages = strategy.stages.iter().enumerate();
    let may = stages.filter(|(_, stage)| stage.at != At::Open && is_about_size(&stage.when));
    may.map(|(number, _)| number).collect()
}

/// Largest window that is tried; no provider offers a larger one.
const LARGEST: u64 = 1 << 32;

/// The window at which a context of `tokens` tokens just reaches a stage's
/// trigger: the largest window at which the stage runs. If the trigger is not a
/// share of the window, the window is as large as the context.
pub(super) fn window(strategy: &Strategy, stage: usize, scaling: Scaling, tokens: u64) -> u64 {
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
    pub(super) async fn arrive_uncompacted(
        &mut self,
        messages: MessageIndex,
    ) -> Result<(), ReplayError> {
        self.open_stages().await?;
        let recording = &self.subject.recording;
        let all = &recording.session.messages[..messages as usize];
        let last = all.iter().rposition(|message| message.is_request());
        for (at, message) in all.iter().enumerate() {
            let number = at as MessageIndex;
            self.context.enter(number);
            if message.is_request() {
                self.pass(number, Some(at) == last);
            }
            self.context.append();
            self.pairs.recheck_pairs(&self.context, [number]);
        }
        self.observe();
        Ok(())
    }

    /// Skips a request that is the same for every strategy.
    fn pass(&mut self, message: MessageIndex, sent: bool) {
        let weight = self.context.weight();
        let output = self.subject.recording.sizes.output[message as usize];
        let facts = &self.subject.facts.requests[self.requests.len()];
        if sent {
            self.biller.request(&mut self.context, facts, None);
        } else {
            self.biller.skip();
        }
        self.requests.push(RequestRow {
            tokens_sent: weight.tokens,
            estimated: None,
            messages: self.context.message_count(),
            overflow: false,
            valid: true,
            common_prefix: 0,
            cache_break: false,
        });
        self.reported = Some(Reported { input: weight.tokens, output });
        self.reported_through = self.context.seen_count();
    }

    /// Runs the stages in order, each by its own trigger, and treats the
    /// trigger of the stage `forced` as reached unless the context was changed
    /// before. Returns whether a stage changed the context, or called a model
    /// in order to change it.
    pub(super) async fn force(&mut self, forced: Option<usize>) -> Result<bool, ReplayError> {
        let seen = self.context.seen_count();
        let timeline = &self.subject.timeline;
        self.now = timeline.at(seen.saturating_sub(1));
        self.context.enter(seen);
        let compactions = &self.subject.recording.session.compactions;
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
