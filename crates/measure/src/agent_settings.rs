//! By which setting of the recorded agent it compacts at a size. The settings are data, each read in a public source: `strategies/agents/settings.toml`.
//!
//! A setting is offered only for a strategy that replays what it controls, and only
//! where the number that it would take is one that the agent accepts and that
//! changes something. recap writes no setting itself.

use std::sync::LazyLock;

use jiff::civil::Date;
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

/// A setting of an agent, as the file has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentSetting {
    /// The format that recordings of the agent are detected as.
    pub agent: String,
    /// Name of the setting.
    pub name: String,
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
    /// Where it is written.
    pub file: String,
    /// What is written there, with a placeholder for the number.
    pub line: String,
    /// What else is to be known of it.
    pub note: Option<String>,
    /// Address of the public source.
    pub source: String,
    /// Version or commit of the source.
    pub version: String,
    /// The day on which it was read.
    pub checked: Date,
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
    read(recap_strategies::AGENT_SETTINGS).expect("the settings that are built in are right")
});

/// Every setting that is known, by agent.
pub fn agent_settings() -> &'static [AgentSetting] {
    &SETTINGS.setting
}

/// Reads a file of settings.
///
/// # Errors
/// What is wrong with it, with the setting.
fn read(text: &str) -> Result<File, String> {
    let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
    let settings = &file.setting;
    for (at, setting) in settings.iter().enumerate() {
        setting.check().map_err(|why| format!("{} of {}: {why}", setting.name, setting.agent))?;
        let twice = settings[..at].iter().find(|other| {
            other.agent == setting.agent
                && other.strategies.iter().any(|name| setting.strategies.contains(name))
        });
        if let Some(other) = twice {
            return Err(format!("{} and {} are for one strategy", other.name, setting.name));
        }
    }
    Ok(file)
}

impl AgentSetting {
    fn check(&self) -> Result<(), &'static str> {
        let places = [Unit::Tokens, Unit::Fraction, Unit::Reserve]
            .into_iter()
            .map(|unit| (Some(unit) == self.unit, self.line.matches(unit.placeholder()).count()));
        for (is_own, count) in places {
            if count != usize::from(is_own) {
                return Err("the line has the placeholder of its unit once, and no other");
            }
        }
        if self.purpose == Purpose::Threshold && self.unit.is_none() {
            return Err("a threshold has a unit");
        }
        if self.at_least > self.at_most {
            return Err("at_least is above at_most");
        }
        if self.at_most_share.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return Err("at_most_share lies between 0 and 1");
        }
        if self.line.contains('\n') || !self.source.starts_with("https://") {
            return Err("the line is one line, and the source an address");
        }
        Ok(())
    }

    /// The setting for contexts of this size; `None` if the agent does not take the number, or if
    /// it would change nothing at the window of its model.
    pub(crate) fn setting(&self, tokens: u64, window: Option<u64>) -> Option<Setting> {
        Some(Setting {
            agent: self.agent.clone(),
            name: self.name.clone(),
            line: self.filled(tokens, window)?,
            file: self.file.clone(),
            note: self.note.clone(),
            source: self.source.clone(),
            version: self.version.clone(),
            checked: self.checked.to_string(),
        })
    }

    /// The line for contexts of this size; `None` if the agent does not take the
    /// number, or if it would change nothing.
    fn filled(&self, tokens: u64, window: Option<u64>) -> Option<String> {
        let Some(unit) = self.unit else { return Some(self.line.clone()) };
        let number = match unit {
            Unit::Tokens => self.bounded(thousands(tokens) + self.early, window)?.to_string(),
            Unit::Reserve => {
                self.bounded(window?.checked_sub(thousands(tokens))?, window)?.to_string()
            }
            Unit::Fraction => fraction(tokens, window?)?,
        };
        Some(self.line.replace(unit.placeholder(), &number))
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
        one.agent == agent && one.purpose == Purpose::Threshold && !one.strategies.is_empty()
    };
    SETTINGS.setting.iter().find(fires)
}

/// What a compaction of an agent changes, as measured on public recordings.
pub(crate) fn public_quantities(agent: &str) -> Option<&'static Quantities> {
    SETTINGS.compaction.iter().find(|one| one.agent == agent).map(|one| &one.quantities)
}

#[cfg(test)]
#[path = "agent_settings_tests.rs"]
mod tests;
