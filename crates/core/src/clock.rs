//! Simulated time: what a clock would have shown at each message.
//!
//! Invariant: no strategy, estimate or bill ever reads the wall clock.

use jiff::{SignedDuration, Timestamp};

use crate::model::{Message, MessageIndex, Role, Session, TimeProfile};

/// Start assumed for a recording without any time: 2026-01-01T00:00:00Z.
const ASSUMED_START: i64 = 1_767_225_600;

/// How fast everyone is taken to be unless the run says otherwise.
///
/// Measured on 19 recorded sessions of three coding agents (14 of Claude Code,
/// one of pi, four of Codex CLI; 2025 and 2026). Each constant is the middle
/// one of the three agents' figures, rounded:
///
/// - user: median gap from a response to the next user message, 76, 44 and
///   111 s (90, 49 and 58 gaps).
/// - tool: median gap from the end of a response to its first result, 0.23,
///   0.02 and 0.82 s (867, 433 and 263 gaps). The mean is a hundred times
///   that: a few calls wait for a build or for the user's consent.
/// - first token and decoding: least absolute deviations of the time from
///   request to complete response against the tokens written, where their
///   number is final (32, 465 and 323 responses): 2.8, 2.7 and 3.9 s, and 121,
///   83 and 58 tokens a second. The time to the first token includes the
///   network and the reading of the cached prompt.
/// - prefill: 12,000, 34,000 and 21,000 tokens a second, as a third term of
///   the same fit. It is an assumption more than a measurement: only 29
///   responses had over 20,000 tokens to read that were not cached.
///
/// With these constants half of the 820 recorded response times are met
/// within 15 %; Codex CLI's are longer, with a median of 1.4 times.
pub const PROFILE: TimeProfile = TimeProfile {
    user_ms: 75_000.0,
    tool_ms: 200.0,
    first_token_ms: 2_800.0,
    prefill_per_s: 20_000.0,
    decode_per_s: 80.0,
};

/// How fast a compactor's model is taken to be: it writes more than the summary
/// that is kept (a draft, thinking).
///
/// From the eight compactions of Claude Code (2.1.39 to 2.1.63, Opus 4.5 and 4.6,
/// January to March 2026) that began by themselves: the time between the message
/// before and the compaction, against the tokens of the summary, with the prompt
/// read from the cache. Fitted on six of one project (median 48 tokens a second);
/// on two of another one the model is 7 and 9 % short. Recordings since then
/// report the time itself (`durationMs`), which is used where it is there.
pub const COMPACTOR: TimeProfile = TimeProfile { decode_per_s: 48.0, ..PROFILE };

/// Milliseconds from sending a request to its complete answer: time to the
/// first token, prefill of what is read from no cache, and decoding.
pub fn response_ms(profile: &TimeProfile, uncached_prompt_tokens: u64, output_tokens: u64) -> f64 {
    let seconds = uncached_prompt_tokens as f64 / profile.prefill_per_s
        + output_tokens as f64 / profile.decode_per_s;
    profile.first_token_ms + 1_000.0 * seconds
}

/// The time of each message.
///
/// What was recorded holds, as long as it never runs backwards. A clock that
/// shows a response at the very moment of its request is too coarse (a date, a
/// session's begin): of a run of equal times like that, the first alone holds.
/// A message without a time follows the one before it by what the profile says of its
/// kind, and comes no later than the next time that was recorded. If that is
/// the time of its answer, it stood there when the request was sent. Messages
/// before the first recorded time are counted back from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    times: Vec<Timestamp>,
    first_sent: Timestamp,
    modelled: bool,
}

impl Timeline {
    /// The times of a session's messages. `outputs` are the tokens that
    /// each message's response wrote, by message; a missing one counts as 0.
    pub fn of(session: &Session, profile: &TimeProfile, outputs: &[u64]) -> Self {
        let messages = &session.messages;
        let recorded = recorded(messages);
        let gap = |index: usize| {
            let output = outputs.get(index).copied().unwrap_or(0);
            gap(&messages[index], profile, output)
        };
        let mut times = vec![Timestamp::UNIX_EPOCH; messages.len()];
        let first = recorded.iter().position(Option::is_some);
        let anchor = first.unwrap_or(0);
        if let Some(at) = recorded.get(anchor) {
            let start = Timestamp::from_second(ASSUMED_START).expect("a date of this century");
            times[anchor] = at.unwrap_or(start);
        }
        for index in (0..anchor).rev() {
            times[index] = earlier(times[index + 1], gap(index + 1));
        }
        let next = next_recorded(&recorded);
        for index in anchor + 1..messages.len() {
            let now = times[index - 1];
            times[index] = match (recorded[index], next[index]) {
                (Some(at), _) => at.max(now),
                (None, None) => later(now, gap(index)),
                (None, Some((answer, at)))
                    if answer == index + 1 && messages[answer].is_request() =>
                {
                    earlier(at, gap(answer)).max(now)
                }
                (None, Some((_, at))) => later(now, gap(index)).min(at).max(now),
            };
        }
        let first_sent = times.first().map_or(Timestamp::UNIX_EPOCH, |&at| earlier(at, gap(0)));
        Self { times, first_sent, modelled: recorded.contains(&None) }
    }

    /// When a message arrived, complete; the last one's time beyond the end.
    pub fn at(&self, message: MessageIndex) -> Timestamp {
        let last = || self.times.last().copied().unwrap_or(Timestamp::UNIX_EPOCH);
        self.times.get(message as usize).copied().unwrap_or_else(last)
    }

    /// When the request was sent that this assistant message answers: the
    /// moment the message before it arrived. Caches live from there, not from
    /// the answer. Where nothing stands before it, the answer's time less what
    /// it takes to write it.
    pub fn sent_at(&self, message: MessageIndex) -> Timestamp {
        message.checked_sub(1).map_or(self.first_sent, |before| self.at(before))
    }

    /// The times of some of the messages, in this order.
    #[must_use]
    pub fn part(&self, messages: impl Iterator<Item = MessageIndex>) -> Self {
        Self { times: messages.map(|message| self.at(message)).collect(), ..self.clone() }
    }

    /// Whether any time is assumed.
    pub fn is_modelled(&self) -> bool {
        self.modelled
    }
}

/// How long after the one before it a message comes.
fn gap(message: &Message, profile: &TimeProfile, output: u64) -> SignedDuration {
    let ms = match message.role {
        Role::System | Role::User => profile.user_ms,
        Role::Tool => profile.tool_ms,
        // What it had to read is not known here.
        Role::Assistant => response_ms(profile, 0, output),
    };
    // `as` saturates: a duration beyond every calendar ends at its last day.
    SignedDuration::from_millis(ms.round() as i64)
}

fn later(at: Timestamp, gap: SignedDuration) -> Timestamp {
    at.checked_add(gap).unwrap_or(Timestamp::MAX)
}

fn earlier(at: Timestamp, gap: SignedDuration) -> Timestamp {
    at.checked_sub(gap).unwrap_or(Timestamp::MIN)
}

/// The recorded times that hold: of a run of equal ones that has a response in
/// it, the first.
fn recorded(messages: &[Message]) -> Vec<Option<Timestamp>> {
    let mut times: Vec<Option<Timestamp>> = messages.iter().map(|message| message.at).collect();
    let mut from = 0;
    for run in messages.chunk_by(|one, next| one.at.is_some() && one.at == next.at) {
        if run.iter().skip(1).any(Message::is_request) {
            times[from + 1..from + run.len()].fill(None);
        }
        from += run.len();
    }
    times
}

/// For each message the first one behind it that has a recorded time, with it.
fn next_recorded(recorded: &[Option<Timestamp>]) -> Vec<Option<(usize, Timestamp)>> {
    let mut next = vec![None; recorded.len()];
    let mut behind = None;
    for (index, at) in recorded.iter().enumerate().rev() {
        next[index] = behind;
        behind = at.map(|at| (index, at)).or(behind);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::Role::{Assistant, Tool, User};
    use super::*;

    /// A minute for the user, 2 s for a tool, 1 s and 10 tokens a second for
    /// the model.
    const SLOW: TimeProfile = TimeProfile {
        user_ms: 60_000.0,
        tool_ms: 2_000.0,
        first_token_ms: 1_000.0,
        prefill_per_s: 1_000.0,
        decode_per_s: 10.0,
    };

    /// Every response writes 40 tokens: 5 s.
    fn timeline(messages: &[(Role, Option<i64>)]) -> Timeline {
        let message = |(i, &(role, at)): (usize, &(Role, Option<i64>))| Message {
            id: format!("m{i}"),
            role,
            at: at.map(|s| Timestamp::from_second(s).unwrap()),
            blocks: Vec::new(),
            usage: None,
            synthetic: false,
            broadcast: false,
        };
        let messages = messages.iter().enumerate().map(message).collect();
        let session = Session { messages, ..Session::default() };
        Timeline::of(&session, &SLOW, &vec![40; session.messages.len()])
    }

    fn seconds(timeline: &Timeline) -> Vec<i64> {
        let times = timeline.times.iter();
        times.map(|at| at.as_second()).collect()
    }

    #[test]
    fn untimed_message_follows_by_its_kind_duration() {
        let none = [(User, None), (Assistant, None), (Tool, None), (Assistant, None), (User, None)];
        let modelled = timeline(&none);
        let since: Vec<i64> = seconds(&modelled).iter().map(|s| s - ASSUMED_START).collect();
        assert_eq!(since, [0, 5, 7, 12, 72]);
        assert!(modelled.is_modelled());
        assert!(!timeline(&[(User, Some(1)), (Assistant, Some(2))]).is_modelled());
    }

    #[test]
    fn recorded_time_never_runs_backwards() {
        let turned_back = timeline(&[(User, Some(100)), (Assistant, Some(50)), (User, Some(200))]);
        assert_eq!(seconds(&turned_back), [100, 100, 200]);
        assert_eq!(turned_back.at(9).as_second(), 200);
    }

    #[test]
    fn simultaneous_response_time_holds_for_first_message_only() {
        // A date for a whole batch: 5 s a response, a minute a user.
        let batch = [(User, Some(100)), (Assistant, Some(100)), (User, Some(100))];
        let dated =
            timeline(&[batch.as_slice(), &[(Assistant, Some(100)), (User, Some(900))]].concat());
        assert_eq!(seconds(&dated), [100, 105, 165, 170, 900]);
        assert!(dated.is_modelled());
        // Results that came at once stay where they were.
        let results =
            [(Assistant, Some(100)), (Tool, Some(101)), (Tool, Some(101)), (User, Some(101))];
        assert_eq!(seconds(&timeline(&results)), [100, 101, 101, 101]);
        assert!(!timeline(&results).is_modelled());
    }

    #[test]
    fn assumed_time_never_exceeds_next_recorded_time() {
        let hurried = [(Assistant, Some(100)), (User, None), (User, Some(120))];
        assert_eq!(seconds(&timeline(&hurried)), [100, 120, 120]);
        let slow = [(Assistant, Some(100)), (User, None), (User, Some(300))];
        assert_eq!(seconds(&timeline(&slow)), [100, 160, 300]);
    }

    #[test]
    fn request_is_sent_when_preceding_message_arrives() {
        let messages = [(User, Some(100)), (Assistant, Some(130)), (Tool, Some(131))];
        let recorded = timeline(&[messages.as_slice(), &[(Assistant, Some(190))]].concat());
        assert_eq!(recorded.sent_at(1).as_second(), 100);
        assert_eq!(recorded.sent_at(3).as_second(), 131);
    }

    #[test]
    fn lone_timed_response_gets_modelled_request_time() {
        // Only responses have times: 5 s before each stands its request.
        let messages = [(User, None), (Assistant, Some(100)), (User, None), (Assistant, Some(900))];
        let answers = timeline(&messages);
        assert_eq!(seconds(&answers), [95, 100, 895, 900]);
        assert_eq!(answers.sent_at(1).as_second(), 95);
        assert_eq!(answers.sent_at(3).as_second(), 895);
        assert_eq!(timeline(&[(Assistant, Some(100))]).sent_at(0).as_second(), 95);
        // Never before the message before it.
        let quick = timeline(&[(Assistant, Some(100)), (User, None), (Assistant, Some(102))]);
        assert_eq!(seconds(&quick), [100, 100, 102]);
    }

    #[test]
    fn lunch_break_outlives_one_hour_cache() {
        let lunch = 70 * 60;
        let break_at = |answered: i64| {
            timeline(&[
                (User, Some(0)),
                (Assistant, Some(10)),
                (User, Some(10 + lunch)),
                (Assistant, Some(answered)),
            ])
        };
        let taken = break_at(10 + lunch + 5);
        let idle = taken.sent_at(3).duration_since(taken.sent_at(1));
        assert_eq!(idle, SignedDuration::from_secs(10 + lunch));
        assert!(idle > SignedDuration::from_hours(1));
        // A slow answer is not time in which the cache grows old.
        assert_eq!(break_at(10 + 2 * lunch).sent_at(3), taken.sent_at(3));
    }

    #[test]
    fn a_response_takes_first_token_prefill_and_decoding() {
        // 1 s + 2,000 / 1,000 s + 50 / 10 s.
        assert_eq!(response_ms(&SLOW, 2_000, 50), 8_000.0);
        assert_eq!(response_ms(&SLOW, 0, 0), 1_000.0);
    }

    #[test]
    fn absurd_sizes_stop_at_calendar_end() {
        let messages = vec![Message {
            id: "m".to_owned(),
            role: Assistant,
            at: None,
            blocks: Vec::new(),
            usage: None,
            synthetic: false,
            broadcast: false,
        }];
        let messages = [messages.clone(), messages].concat();
        let session = Session { messages, ..Session::default() };
        let timeline = Timeline::of(&session, &SLOW, &[u64::MAX, u64::MAX]);
        assert_eq!(timeline.at(1), Timestamp::MAX);
        assert_eq!(timeline.sent_at(0), Timestamp::MIN);
    }
}
