//! Trimming: of what came after the first user message the oldest messages
//! are dropped.
//!
//! Source: inspect_ai, `CompactionTrim` over `trim_messages` (stored public
//! source, 2026-08): system messages and the sample's input stay, and of the
//! rest a share of the messages. It trims again, three times at most, while the
//! context is still above the threshold and gets smaller. There the sample
//! fails if that does not help; here the request overflows.

use async_trait::async_trait;
use serde::Deserialize;

use super::folding::Cuts;
use super::sliding_window::orphans;
use crate::context::{Context, EntryId, Op};
use crate::mechanism::{Mechanism, MechanismError, MechanismSpec, Outcome, Work};

/// Drops the oldest messages after the input.
pub static SPEC: MechanismSpec = MechanismSpec {
    name: "trim",
    summary: "Keeps the input and a share of the newest other messages, and drops the rest",
    build: |build| {
        let parameters = build.read::<Parameters>()?;
        if !(0.0..1.0).contains(&parameters.preserve) {
            return Err("`preserve` is a share below 1, such as 0.8".into());
        }
        Ok(Box::new(parameters))
    },
    ..MechanismSpec::PLAIN
};

/// Number of repetitions (`MAX_ITERATIONS`).
const AGAIN: usize = 3;

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    /// Share of the messages after the input that stays.
    preserve: f64,
}

impl Parameters {
    /// Drops messages once; returns whether any was dropped.
    fn trim(&self, context: &mut Context) -> Result<bool, MechanismError> {
        let Some(&input) = context.exchanges().first() else {
            // Without a user message everything is input.
            return Ok(false);
        };
        let is_input = |id: &EntryId| id.index().is_some_and(|index| index <= input);
        let rest: Vec<EntryId> = context.stored().filter(|id| !is_input(id)).collect();
        let start = (rest.len() as f64 * (1.0 - self.preserve)) as usize;
        // A call without a result yet stays, with everything after it.
        let open = Cuts::of(context).back_to_whole(context.seen_count());
        let goes = |id: &&EntryId| id.index().is_none_or(|index| index < open);
        let oldest: Vec<EntryId> = rest[..start].iter().take_while(goes).copied().collect();
        let Some(last) = oldest.iter().filter_map(|id| id.index()).max() else {
            return Ok(false);
        };
        let mut gone: Vec<EntryId> = oldest.into_iter().chain(orphans(context, last + 1)).collect();
        // Results of calls that belong to the input stay with them.
        let answers_input =
            |id: &EntryId| context.call_of(*id).is_some_and(|(_, call)| call.message <= input);
        gone.retain(|id| !answers_input(id));
        if gone.is_empty() {
            return Ok(false);
        }
        context.apply(Op::Evict(gone))?;
        Ok(true)
    }
}

#[async_trait]
impl Mechanism for Parameters {
    async fn compact(&mut self, work: Work<'_>) -> Result<Outcome, MechanismError> {
        let Work { context, host, .. } = work;
        let before = host.size(context.weight());
        for _ in 0..=AGAIN {
            if !self.trim(context)? {
                break;
            }
            let dropped = before.saturating_sub(host.size(context.weight()));
            if host.believed.is_some_and(|size| size.saturating_sub(dropped) <= host.target) {
                break;
            }
        }
        Ok(Outcome::default())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use crate::testkit::{Rig, Scripted, Talk, words};

    // Tests of the mechanism `trim`.

    fn rig(preserve: f64, above: f64, talk: Talk) -> Rig {
        let stage = format!(
            "[[stage]]\nmechanism = \"trim\"\nat = \"request\"\npreserve = {preserve}\n\
             when = {{ above = \"window\", share = {above} }}"
        );
        Rig::stages(&stage, 1_000, talk, Arc::new(Scripted::default()))
    }

    /// The task, then so many messages of 100 tokens, the agent's first.
    fn turns(count: usize) -> Talk {
        (0..count).fold(Talk::new("S").user(" task"), |talk, at| {
            if at % 2 == 0 { talk.assistant(&words(100)) } else { talk.user(&words(100)) }
        })
    }

    #[test]
    fn input_and_share_of_other_messages_stay() {
        // 2 + 10 × 100 are above 900; of ten messages four tenths go.
        let mut rig = rig(0.6, 0.9, turns(10));
        rig.finish();
        assert_eq!(rig.ledger(), "v----vvvvvv");
    }

    #[test]
    fn nothing_happens_up_to_the_threshold() {
        let mut rig = rig(0.6, 0.802, turns(8));
        rig.finish();
        assert_eq!(rig.ledger(), "vvvvvvvvv", "802 are not above 802");
    }

    #[test]
    fn trimming_repeats_at_most_three_times_while_oversized() {
        // All at once, or it would trim on the way. Of 12: 3, then 2 of 9, then 1
        // of 7: six of 100 tokens are left, and 602 are not above 650.
        let at_once = |above: f64| {
            let mut rig = rig(0.75, above, turns(12));
            rig.append(13);
            rig.request();
            rig.ledger()
        };
        assert_eq!(at_once(0.65), "v------vvvvvv");
        // 3, 2, 1 and 1: that was three times more, although 502 are above 100.
        assert_eq!(at_once(0.1), "v-------vvvvv");
    }

    #[test]
    fn results_leave_with_their_calls() {
        let both = [("a", "read", json!({})), ("b", "read", json!({}))];
        let talk = Talk::new("S").user("task").user(&words(400)).calls(&both);
        let talk = talk.result("a", &words(300)).result("b", &words(300)).assistant("ok");
        // Half of four messages: the call goes, and both results with it.
        let mut rig = rig(0.5, 0.9, talk);
        rig.finish();
        assert_eq!(rig.ledger(), "v----v");
    }

    #[test]
    fn a_call_without_its_result_yet_stays() {
        let talk = Talk::new("S").user("task").calls(&[("a", "read", json!({}))]);
        let talk = (0..10).fold(talk, |talk, _| talk.user(&words(100))).result("a", "late");
        let mut rig = rig(0.5, 0.9, talk);
        rig.feed(12);
        rig.request();
        assert_eq!(rig.ledger(), "vvvvvvvvvvvv");
        rig.finish();
        assert_eq!(rig.ledger(), "v------vvvvv-");
    }

    #[test]
    fn results_stay_with_calls_before_first_user_message() {
        let talk =
            Talk::new("S").calls(&[("a", "read", json!({}))]).user("task").result("a", "out");
        let talk = (0..9).fold(talk, |talk, _| talk.user(&words(110)));
        let mut rig = rig(0.5, 0.9, talk);
        rig.finish();
        assert_eq!(rig.ledger(), "vvv----vvvvv");
    }

    #[test]
    fn without_a_user_message_everything_is_input() {
        let talk = (0..10).fold(Talk::new("S"), |talk, _| talk.assistant(&words(100)));
        let mut rig = rig(0.5, 0.9, talk);
        rig.finish();
        assert_eq!(rig.ledger(), "vvvvvvvvvv");
    }
}
