//! Triggers of a stage: the point at which it is checked, and the condition.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

/// The point at which a stage is checked (how-it-works §15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum At {
    /// At the start of the session.
    Open,
    /// After every appended message (GenCode).
    Append,
    /// After a user message, before its first request (Arachne).
    UserTurn,
    /// Before every request (Zoea, GSV).
    Request,
    /// After every response of the agent (Lis).
    Response,
}

/// The size that a share refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Of {
    /// The model's context limit.
    Window,
    /// The budget of the strategy.
    Budget,
    /// The window less the output reserve.
    Usable,
}

/// The condition, with absolute numbers already scaled to the run's window.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "toml::Value")]
pub enum When {
    /// The condition always holds.
    Always,
    /// The estimated size is strictly above a share of something and above a
    /// number of tokens, and at most another number.
    Above {
        /// The size that the share refers to.
        of: Of,
        /// The share, in `0.0..=1.0`.
        share: f64,
        /// And strictly above this many tokens.
        and_over: u64,
        /// And at most this many, if there is a bound.
        at_most: Option<u64>,
    },
    /// The estimated size is strictly above the window less a reserve.
    AboveReserve {
        /// The reserve in tokens.
        reserve: u64,
    },
    /// Tool output that has not been pruned or considered exceeds this many tokens.
    ToolTokens(u64),
    /// More messages than this would be sent.
    Messages(u32),
    /// The newest message is a user's, and came after a silence of more than
    /// this many minutes.
    Idle {
        /// The length of the silence, in minutes.
        minutes: u64,
    },
    /// The newest message is a user's, and this hour of the day (UTC) has
    /// passed since the message before it.
    Hour(i8),
    /// The newest message is a user's and begins with one of these words.
    Command(Vec<String>),
    /// The recorded agent compacted at this point.
    Recorded,
}

impl std::fmt::Display for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            When::Always => write!(f, "always"),
            When::Above { of, share, and_over, at_most } => {
                write!(f, "above {share} of {of}")?;
                if *and_over > 0 {
                    write!(f, " and over {and_over}")?;
                }
                at_most.map_or(Ok(()), |bound| write!(f, " and at most {bound}"))
            }
            When::AboveReserve { reserve } => write!(f, "above window - {reserve}"),
            When::ToolTokens(tokens) => write!(f, "tool output over {tokens}"),
            When::Messages(count) => write!(f, "over {count} messages"),
            When::Idle { minutes } => write!(f, "idle for more than {minutes} minutes"),
            When::Hour(hour) => write!(f, "daily at {hour:02}:00"),
            When::Command(words) => write!(f, "the user says {}", words.join(" or ")),
            When::Recorded => write!(f, "recorded"),
        }
    }
}

/// The sizes that shares refer to, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Context limit.
    pub window: u64,
    /// The budget of the strategy.
    pub budget: u64,
    /// The window less the output reserve.
    pub usable: u64,
}

impl Limits {
    /// Tokens of a share, rounded down.
    pub fn share(&self, of: Of, share: f64) -> u64 {
        let whole = match of {
            Of::Window => self.window,
            Of::Budget => self.budget,
            Of::Usable => self.usable,
        };
        (whole as f64 * share) as u64
    }
}

/// The quantities that conditions are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge<'a> {
    /// The strategy's own estimate of its context; `None` while it waits for a
    /// provider's figure.
    pub believed: Option<u64>,
    /// The sizes that shares refer to.
    pub limits: Limits,
    /// Tokens of tool output after the prune boundary.
    pub tool_tokens: u64,
    /// Number of stored messages.
    pub messages: u32,
    /// The newest message, if it is a user's.
    pub turn: Option<Turn<'a>>,
    /// Whether the recorded agent compacted here.
    pub recorded: bool,
}

/// A user's message, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn<'a> {
    /// The text of the message.
    pub said: &'a str,
    /// The time of the message.
    pub at: Timestamp,
    /// The time of the message before it; `None` at the first.
    pub before: Option<Timestamp>,
}

impl Turn<'_> {
    /// Whether the silence before it was longer.
    fn idle_for(&self, minutes: u64) -> bool {
        let silence = self.before.map(|before| self.at.duration_since(before).as_millis());
        silence.is_some_and(|silence| silence > i128::from(minutes) * 60_000)
    }

    /// Whether an hour of the day (UTC) has passed since the message before.
    fn crosses(&self, hour: i8) -> bool {
        let Some(before) = self.before else { return false };
        let day = self.at.to_zoned(TimeZone::UTC).date();
        let mut days = std::iter::successors(Some(day), |day| day.yesterday().ok()).take(2);
        days.any(|day| {
            let moment = day.at(hour, 0, 0, 0).to_zoned(TimeZone::UTC);
            moment.is_ok_and(|moment| before < moment.timestamp() && moment.timestamp() <= self.at)
        })
    }
}

impl When {
    /// The size in tokens above which it holds; `None` where it does not depend
    /// on the size of the context.
    pub fn threshold(&self, limits: &Limits) -> Option<u64> {
        match self {
            When::Above { of, share, and_over, .. } => {
                Some(limits.share(*of, *share).max(*and_over))
            }
            When::AboveReserve { reserve } => Some(limits.window.saturating_sub(*reserve)),
            _ => None,
        }
    }

    /// Whether the stage is due.
    pub fn holds(&self, gauge: &Gauge<'_>) -> bool {
        let above = || gauge.believed.filter(|size| Some(*size) > self.threshold(&gauge.limits));
        match self {
            When::Always => true,
            When::Above { at_most, .. } => {
                above().is_some_and(|size| at_most.is_none_or(|bound| size <= bound))
            }
            When::AboveReserve { .. } => above().is_some(),
            When::ToolTokens(tokens) => gauge.tool_tokens > *tokens,
            When::Messages(count) => gauge.messages > *count,
            When::Idle { minutes } => gauge.turn.is_some_and(|turn| turn.idle_for(*minutes)),
            When::Hour(hour) => gauge.turn.is_some_and(|turn| turn.crosses(*hour)),
            When::Command(words) => gauge
                .turn
                .and_then(|turn| turn.said.split_whitespace().next())
                .is_some_and(|first| words.iter().any(|word| word == first)),
            When::Recorded => gauge.recorded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAUGE: Gauge<'static> = Gauge {
        believed: Some(700),
        limits: Limits { window: 1000, budget: 900, usable: 800 },
        tool_tokens: 50,
        messages: 4,
        turn: None,
        recorded: false,
    };

    fn turn<'a>(said: &'a str, before: &str, at: &str) -> Gauge<'a> {
        let (at, before) = (at.parse().unwrap(), before.parse().ok());
        Gauge { turn: Some(Turn { said, at, before }), ..GAUGE }
    }

    fn above(of: Of, share: f64, and_over: u64, at_most: Option<u64>) -> When {
        When::Above { of, share, and_over, at_most }
    }

    #[test]
    fn each_condition_holds_from_its_bound_on() {
        let unknown = Gauge { believed: None, ..GAUGE };
        let silent = turn("so", "2026-03-01T10:00:00Z", "2026-03-01T10:30:00Z");
        for (when, gauge, holds) in [
            (above(Of::Window, 0.7, 0, None), GAUGE, false),
            (above(Of::Window, 0.69, 0, None), GAUGE, true),
            (above(Of::Usable, 0.5, 600, None), GAUGE, true),
            (above(Of::Usable, 0.5, 700, None), GAUGE, false),
            (above(Of::Usable, 0.5, 0, Some(700)), GAUGE, true),
            (above(Of::Usable, 0.5, 0, Some(699)), GAUGE, false),
            (above(Of::Window, 0.0, 0, None), unknown, false),
            (When::AboveReserve { reserve: 999 }, unknown, false),
            (When::ToolTokens(49), GAUGE, true),
            (When::ToolTokens(50), GAUGE, false),
            (When::Messages(3), GAUGE, true),
            (When::Messages(4), GAUGE, false),
            (When::Idle { minutes: 29 }, silent, true),
            (When::Idle { minutes: 30 }, silent, false),
            // No user spoke.
            (When::Idle { minutes: 29 }, GAUGE, false),
        ] {
            assert_eq!(when.holds(&gauge), holds, "{when:?} {gauge:?}");
        }
    }

    /// Seed 004: triggers before the LLM call, contextWindow − reserveTokens
    #[test]
    fn a_reserve_counts_from_the_window() {
        assert!(When::AboveReserve { reserve: 301 }.holds(&GAUGE));
        assert!(!When::AboveReserve { reserve: 300 }.holds(&GAUGE));
    }

    #[test]
    fn hour_of_day_comes_once_between_two_messages() {
        let at_four = |before, at| When::Hour(4).holds(&turn("so", before, at));
        assert!(at_four("2026-03-01T03:59:59Z", "2026-03-01T04:00:00Z"));
        assert!(!at_four("2026-03-01T04:00:00Z", "2026-03-01T23:00:00Z"));
        assert!(at_four("2026-03-01T23:00:00Z", "2026-03-03T01:00:00Z"), "yesterday's");
        assert!(!at_four("2026-03-01T23:00:00Z", "2026-03-02T03:00:00Z"));
        assert!(!at_four("", "2026-03-02T05:00:00Z"), "a first message ends nothing");
    }

    #[test]
    fn command_is_first_word_of_user_message() {
        let said = |said| {
            let gauge = turn(said, "", "2026-03-01T10:00:00Z");
            When::Command(vec!["/new".to_owned(), "/clear".to_owned()]).holds(&gauge)
        };
        assert!(said("/clear") && said(" /new session please"));
        assert!(!said("/newer") && !said("say /new") && !said(""));
    }

    #[test]
    fn points_and_sizes_print_their_strategy_names() {
        for (name, at) in [
            ("open", At::Open),
            ("append", At::Append),
            ("user-turn", At::UserTurn),
            ("request", At::Request),
            ("response", At::Response),
        ] {
            assert_eq!(at.to_string(), name);
            assert_eq!(serde_json::from_value::<At>(name.into()).unwrap(), at);
        }
        for (name, of) in [("window", Of::Window), ("budget", Of::Budget), ("usable", Of::Usable)] {
            assert_eq!(of.to_string(), name);
            assert_eq!(serde_json::from_value::<Of>(name.into()).unwrap(), of);
        }
        let shares = [Of::Window, Of::Budget, Of::Usable].map(|of| GAUGE.limits.share(of, 0.25));
        assert_eq!(shares, [250, 225, 200]);
    }

    #[test]
    fn a_condition_is_told_in_words() {
        for (when, actual) in [
            (above(Of::Budget, 0.8, 0, None), "above 0.8 of budget"),
            (above(Of::Budget, 0.8, 1, None), "above 0.8 of budget and over 1"),
            (above(Of::Budget, 0.8, 5, Some(9)), "above 0.8 of budget and over 5 and at most 9"),
            (When::Always, "always"),
            (When::Recorded, "recorded"),
            (When::AboveReserve { reserve: 7 }, "above window - 7"),
            (When::ToolTokens(7), "tool output over 7"),
            (When::Messages(7), "over 7 messages"),
            (When::Idle { minutes: 7 }, "idle for more than 7 minutes"),
            (When::Hour(4), "daily at 04:00"),
            (When::Command(vec!["/a".to_owned(), "/b".to_owned()]), "the user says /a or /b"),
        ] {
            assert_eq!(when.to_string(), actual);
        }
    }
}
