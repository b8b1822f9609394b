//! Transcript formats, one file each.
//!
//! A new format is one file, one `mod` line and one line in [`FORMATS`].

mod claude_code;
mod content;
mod openai_chat;
mod pi;

use super::LoadOptions;
use super::check::Draft;
use super::detect::Probe;
use super::error::DatasetError;
use super::native::Native;
use super::source::Source;

/// Reads one kind of recording.
pub trait Format: Sync {
    /// Kebab-case name, as typed after `recap import`.
    fn name(&self) -> &'static str;

    /// One line for people.
    fn describe(&self) -> &'static str;

    /// Whether the input looks like this format. Formats exclude each other.
    fn sniff(&self, probe: &Probe) -> bool;

    /// Reads every transcript of one input, in order.
    ///
    /// # Errors
    /// The first record that the format does not allow, with its line.
    fn read(
        &self,
        source: &mut Source<'_>,
        options: &LoadOptions,
    ) -> Result<Vec<Draft>, DatasetError>;
}

/// Every format, in the order in which they are asked.
pub static FORMATS: &[&dyn Format] =
    &[&Native, &claude_code::ClaudeCode, &pi::Pi, &openai_chat::OpenAiChat];
