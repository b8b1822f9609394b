//! By which setting of the recorded agent it compacts at a size. The settings are data, each read in a public source: `strategies/agents/settings.toml`.
//!
//! A setting is offered only for a strategy that replays what it controls, and only
//! where the number that it would take is one that the agent accepts and that
//! changes something. recap writes no setting itself.

use std::sync::LazyLock;

use serde::Deserialize;

use recap_core::model::{Quantities, Setting};

/// What a setting is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// When the agent compacts in its own way.
    Threshold,
    /// That the agent compacts in this way.
    Strategy,
}

/// What the number of a setting counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Tokens,
    /// Of the window, as a decimal fraction.
    Fraction,
    /// The window less the size, in tokens.
    Reserve,
}

impl Unit {
    fn placeholder(self) -> &'static str {
        match self {
            Unit::Tokens => "{tokens}",
            Unit::Fraction => "{fraction}",
            Unit::Reserve => "{reserve}",
        }
    }
}

/// A setting of an agent, as the file has it. Its line has a placeholder for the number.
#[derive(Clone, Debug, Deserialize)]
pub struct AgentSetting {
    /// What is written, where, and the public source of that.
    #[serde(flatten)]
    pub setting: Setting,
    /// What it is for.
    pub purpose: Purpose,
    /// The strategies that replay what it controls.
    pub strategies: Vec<String>,
    unit: Option<Unit>,
    #[serde(default)]
    early: u64,
    #[serde(default)]
    at_least: u64,
    #[serde(default = "unbounded")]
    at_most: u64,
    at_most_share: Option<f64>,
}

fn unbounded() -> u64 {
    u64::MAX
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    setting: Vec<AgentSetting>,
    compaction: Vec<PublicCompactions>,
}

/// What compactions of an agent change, as measured on public recordings.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublicCompactions {
    agent: String,
    quantities: Quantities,
    #[allow(dead_code, reason = "for those who read the table")]
    source: String,
}

static SETTINGS: LazyLock<File> = LazyLock::new(|| {
    toml::from_str(recap_strategies::AGENT_SETTINGS).expect("a test reads the same file")
});

/// Every setting that is known, by agent.
pub fn agent_settings() -> &'static [AgentSetting] {
    &SETTINGS.setting
}

impl AgentSetting {
    /// The setting for contexts of this size; `None` if the agent does not take the number, or if
    /// it would change nothing at the window of its model.
    pub(crate) fn setting(&self, tokens: u64, window: Option<u64>) -> Option<Setting> {
        Some(Setting { line: self.filled(tokens, window)?, ..self.setting.clone() })
    }

    /// The line for contexts of this size; `None` if the agent does not take the
    /// number, or if it would change nothing.
    fn filled(&self, tokens: u64, window: Option<u64>) -> Option<String> {
        let line = &self.setting.line;
        let Some(unit) = self.unit else { return Some(line.clone()) };
        let number = match unit {
            Unit::Tokens => self.bounded(thousands(tokens) + self.early, window)?.to_string(),
            Unit::Reserve => {
                self.bounded(window?.checked_sub(thousands(tokens))?, window)?.to_string()
            }
            Unit::Fraction => fraction(tokens, window?)?,
        };
        Some(line.replace(unit.placeholder(), &number))
    }

    fn bounded(&self, number: u64, window: Option<u64>) -> Option<u64> {
        let share = self.at_most_share.zip(window);
        let changes = share.is_none_or(|(share, window)| (number as f64) < share * window as f64);
        let taken = number >= self.at_least.max(1) && number <= self.at_most;
        (changes && taken).then_some(number)
    }
}

/// In whole thousands: the size is a median, and meant as "about".
fn thousands(tokens: u64) -> u64 {
    (tokens + 500) / 1_000 * 1_000
}

/// A share of the window in hundredths: `0.48`. Nothing below one hundredth, which
/// agents read as unset, and nothing from the whole window on.
fn fraction(tokens: u64, window: u64) -> Option<String> {
    let hundredths = (tokens * 100 + window / 2).checked_div(window)?;
    (1..100).contains(&hundredths).then(|| format!("0.{hundredths:02}"))
}

/// The setting of an agent for the size at which its own compaction fires.
pub(crate) fn threshold(agent: &str) -> Option<&'static AgentSetting> {
    let fires = |one: &&AgentSetting| {
        one.setting.agent == agent
            && one.purpose == Purpose::Threshold
            && !one.strategies.is_empty()
    };
    SETTINGS.setting.iter().find(fires)
}

/// The strategy that replays an agent's own compaction.
pub fn own_strategy(agent: &str) -> Option<&'static str> {
    threshold(agent)?.strategies.first().map(String::as_str)
}

/// What a compaction of an agent changes, as measured on public recordings.
pub(crate) fn public_quantities(agent: &str) -> Option<&'static Quantities> {
    SETTINGS.compaction.iter().find(|one| one.agent == agent).map(|one| &one.quantities)
}

#[cfg(test)]
#[path = "agent_settings_tests.rs"]
mod tests;
