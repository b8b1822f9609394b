//! The presets that are part of the program.

use super::{Preset, PresetError};

include!(concat!(env!("OUT_DIR"), "/builtin_presets.rs"));

/// Names of the built-in presets, in the order of their files.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    PRESET_FILES.iter().map(|(name, _)| *name)
}

/// A built-in preset, with overrides.
pub fn builtin(name: &str, overrides: &[(String, String)]) -> Option<Result<Preset, PresetError>> {
    let (_, text) = PRESET_FILES.iter().find(|(known, _)| *known == name)?;
    let prompt = |file: &str| {
        PROMPT_FILES.iter().find(|(known, _)| *known == file).map(|(_, text)| (*text).to_owned())
    };
    Some(Preset::parse(&format!("strategies/{name}.toml"), text, overrides, &prompt))
}
