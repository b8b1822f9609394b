//! The presets that are part of the program.

use std::collections::BTreeMap;

use super::text::PresetText;
use super::{Preset, PresetError};

include!(concat!(env!("OUT_DIR"), "/builtin_presets.rs"));

/// Names of the built-in presets, in the order of their files.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    PRESET_FILES.iter().map(|(name, _)| *name)
}

/// The text of a built-in preset.
pub(super) fn builtin_text(name: &str) -> Option<&'static str> {
    PRESET_FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The text of a prompt of the built-in presets.
pub(super) fn builtin_prompt(file: &str) -> Option<&'static str> {
    PROMPT_FILES.iter().find(|(known, _)| *known == file).map(|(_, text)| *text)
}

/// A built-in preset, with overrides.
pub fn builtin(name: &str, overrides: &[(String, String)]) -> Option<Result<Preset, PresetError>> {
    Some(PresetText::builtin(name)?.preset(overrides, &BTreeMap::new()))
}
