//! Simulated time: what a clock would have shown at each message.
//!
//! Invariant: no strategy, estimate or bill ever reads the wall clock.

use jiff::{SignedDuration, Timestamp};

use crate::model::{TimeProfile, Transcript};

/// Gap assumed between messages that carry no time of their own. Only its
/// order of magnitude matters: it is shorter than any cache's life.
const ASSUMED_GAP: SignedDuration = SignedDuration::from_secs(10);

/// Start assumed for a recording without any time: 2026-01-01T00:00:00Z.
const ASSUMED_START: i64 = 1_767_225_600;

/// How fast everyone is taken to be unless the run says otherwise.
pub const PROFILE: TimeProfile = TimeProfile {
    user_ms: 60_000.0,
    tool_ms: 1_000.0,
    first_token_ms: 1_500.0,
    prefill_per_s: 10_000.0,
    decode_per_s: 60.0,
};

/// The time of each message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    times: Vec<Timestamp>,
    modelled: bool,
}

impl Timeline {
    /// Recorded times, never running backwards; where one is missing, the one
    /// before and an assumed gap.
    pub fn of(transcript: &Transcript) -> Self {
        let first = transcript.messages.iter().find_map(|m| m.at);
        let start = Timestamp::from_second(ASSUMED_START).expect("a date of this century");
        let mut now = first.unwrap_or(start);
        let mut modelled = false;
        let times = transcript.messages.iter().map(|message| {
            now = match message.at {
                Some(at) => at.max(now),
                None => {
                    modelled = true;
                    now + ASSUMED_GAP
                }
            };
            now
        });
        let times = times.collect();
        Self { times, modelled }
    }

    /// The time when a message was recorded; the last one's beyond the end.
    pub fn at(&self, message: u32) -> Timestamp {
        let last = || self.times.last().copied().unwrap_or(Timestamp::UNIX_EPOCH);
        self.times.get(message as usize).copied().unwrap_or_else(last)
    }

    /// Whether any time is assumed.
    pub fn is_modelled(&self) -> bool {
        self.modelled
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Message, Role};

    fn transcript(times: &[Option<i64>]) -> Transcript {
        let message = |(i, at): (usize, &Option<i64>)| Message {
            id: format!("m{i}"),
            role: Role::User,
            at: at.map(|s| Timestamp::from_second(s).unwrap()),
            blocks: Vec::new(),
            usage: None,
            synthetic: false,
        };
        let messages = times.iter().enumerate().map(message).collect();
        Transcript { messages, ..Transcript::default() }
    }

    #[test]
    fn time_never_runs_backwards_and_gaps_are_assumed() {
        let timeline = Timeline::of(&transcript(&[Some(100), None, Some(50), Some(200)]));
        let seconds: Vec<i64> = (0..5).map(|i| timeline.at(i).as_second()).collect();
        assert_eq!(seconds, [100, 110, 110, 200, 200]);
        assert!(timeline.is_modelled());
        assert!(!Timeline::of(&transcript(&[Some(1), Some(2)])).is_modelled());
    }
}
