//! By which setting of the recorded agent it compacts at a size. The settings are data, each read
//! in a public source: `strategies/agents/settings.toml`.
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

/// A setting of an agent, as the file has it. Its line has a placeholder for its number, if it
/// takes one.
#[derive(Clone, Debug, Deserialize)]
pub struct AgentSetting {
    /// What is written, where, and the public source of that.
    #[serde(flatten)]
    pub setting: Setting,
    /// What it is for.
    pub purpose: Purpose,
    /// The strategies that replay what it controls.
    pub strategies: Vec<String>,
    #[serde(default)]
    early: u64,
    #[serde(default)]
    at_least: u64,
    at_most: Option<u64>,
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

/// Stands for the number of a setting that counts tokens. One that counts a share of the model's
/// window, or what is left of it, depends on a window that recordings do not tell.
const TOKENS: &str = "{tokens}";

impl AgentSetting {
    /// The setting for contexts of this size; `None` if it does not count tokens, or the agent does
    /// not take the number.
    pub(crate) fn setting(&self, tokens: u64) -> Option<Setting> {
        // In whole thousands: the size is a median, and meant as "about".
        let number = (tokens + 500) / 1_000 * 1_000 + self.early;
        let is_small = self.at_most.is_none_or(|most| number <= most);
        let takes = number >= self.at_least.max(1) && is_small;
        (takes && self.setting.line.contains(TOKENS)).then(|| Setting {
            line: self.setting.line.replace(TOKENS, &number.to_string()),
            ..self.setting.clone()
        })
    }
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
