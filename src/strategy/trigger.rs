//! When a stage runs: the point at which it is looked at, and the condition.

use serde::{Deserialize, Serialize};

/// The point at which a stage is looked at (`semantics` 15).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum At {
    /// When the session opens.
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

impl At {
    /// The name used in presets.
    pub fn as_str(self) -> &'static str {
        match self {
            At::Open => "open",
            At::Append => "append",
            At::UserTurn => "user-turn",
            At::Request => "request",
            At::Response => "response",
        }
    }
}

/// What a share is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Of {
    /// The model's context limit.
    Window,
    /// The preset's budget.
    Budget,
    /// The window less the output reserve.
    Usable,
}

impl Of {
    /// The name used in presets.
    pub fn as_str(self) -> &'static str {
        match self {
            Of::Window => "window",
            Of::Budget => "budget",
            Of::Usable => "usable",
        }
    }
}

/// The condition, with absolute numbers already scaled to the run's window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Every time.
    Always,
    /// The believed size is strictly above a share of something, and above a
    /// number of tokens.
    Above {
        /// Of what.
        of: Of,
        /// The share, in `0.0..=1.0`.
        share: f64,
        /// And strictly above this many tokens.
        and_over: u64,
    },
    /// The believed size is strictly above the window less a reserve.
    AboveReserve {
        /// The reserve in tokens.
        reserve: u64,
    },
    /// Tool output that has not been pruned or considered exceeds this many tokens.
    ToolTokens(u64),
    /// More messages than this would be sent.
    Messages(u32),
    /// The vendor's agent compacted here.
    Recorded,
}

impl std::fmt::Display for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            When::Always => write!(f, "always"),
            When::Above { of, share, and_over } => {
                write!(f, "above {share} of {}", of.as_str())?;
                if *and_over > 0 { write!(f, " and over {and_over}") } else { Ok(()) }
            }
            When::AboveReserve { reserve } => write!(f, "above window - {reserve}"),
            When::ToolTokens(tokens) => write!(f, "tool output over {tokens}"),
            When::Messages(count) => write!(f, "over {count} messages"),
            When::Recorded => write!(f, "recorded"),
        }
    }
}

/// The sizes that a condition is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// What the preset believes its context to hold; `None` while it waits for
    /// a provider's figure.
    pub believed: Option<u64>,
    /// Context limit.
    pub window: u64,
    /// The preset's budget.
    pub budget: u64,
    /// Window less output reserve.
    pub usable: u64,
    /// Tool output behind the prune boundary.
    pub tool_tokens: u64,
    /// Stored messages.
    pub messages: u32,
    /// Whether the vendor's agent compacted here.
    pub recorded: bool,
}

impl Gauge {
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

impl When {
    /// Whether the stage is due.
    pub fn holds(&self, gauge: &Gauge) -> bool {
        match self {
            When::Always => true,
            When::Above { of, share, and_over } => gauge
                .believed
                .is_some_and(|size| size > gauge.share(*of, *share) && size > *and_over),
            When::AboveReserve { reserve } => {
                gauge.believed.is_some_and(|size| size > gauge.window.saturating_sub(*reserve))
            }
            When::ToolTokens(tokens) => gauge.tool_tokens > *tokens,
            When::Messages(count) => gauge.messages > *count,
            When::Recorded => gauge.recorded,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAUGE: Gauge = Gauge {
        believed: Some(700),
        window: 1000,
        budget: 900,
        usable: 800,
        tool_tokens: 50,
        messages: 4,
        recorded: false,
    };

    #[test]
    fn above_is_strict() {
        let above = |share| When::Above { of: Of::Window, share, and_over: 0 };
        assert!(!above(0.7).holds(&GAUGE));
        assert!(above(0.69).holds(&GAUGE));
    }

    #[test]
    fn both_halves_of_above_must_hold() {
        let above = |and_over| When::Above { of: Of::Usable, share: 0.5, and_over };
        assert!(above(600).holds(&GAUGE));
        assert!(!above(700).holds(&GAUGE));
    }

    #[test]
    fn a_preset_that_waits_for_a_figure_is_never_above() {
        let gauge = Gauge { believed: None, ..GAUGE };
        assert!(!When::Above { of: Of::Window, share: 0.0, and_over: 0 }.holds(&gauge));
        assert!(!When::AboveReserve { reserve: 999 }.holds(&gauge));
    }

    #[test]
    fn a_reserve_counts_from_the_window() {
        assert!(When::AboveReserve { reserve: 301 }.holds(&GAUGE));
        assert!(!When::AboveReserve { reserve: 300 }.holds(&GAUGE));
    }

    #[test]
    fn counts_and_tool_tokens_are_strict() {
        assert!(When::ToolTokens(49).holds(&GAUGE) && !When::ToolTokens(50).holds(&GAUGE));
        assert!(When::Messages(3).holds(&GAUGE) && !When::Messages(4).holds(&GAUGE));
    }
}
