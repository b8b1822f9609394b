//! The strategies that are built in, their prompts, and the settings of agents by which one is
//! applied: the texts of the files in this folder. `recap-strategy` reads them.

include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// How agents are set: `agents/settings.toml`.
pub static AGENT_SETTINGS: &str = include_str!("agents/settings.toml");
