//! Transcript formats, one file each.
//!
//! A new format is one file, one `mod` line and one line in [`FORMATS`].

mod beam;
mod claude_code;
mod codex;
mod content;
mod locomo;
mod openai_chat;
mod opencode;
mod pi;

use super::LoadOptions;
use super::check::Draft;
use super::detect::Head;
use super::error::DatasetError;
use super::native::Native;
use super::source::Source;

/// Reads one kind of recording.
pub trait Format: Sync {
    /// Kebab-case name, as typed after `recap import`.
    fn name(&self) -> &'static str;

    /// A description in one line.
    fn describe(&self) -> &'static str;

    /// Whether the input looks like this format. Formats exclude each other.
    fn sniff(&self, head: &Head) -> bool;

    /// Reads every transcript of one input, in order.
    ///
    /// # Errors
    /// The first record that the format does not allow, with its line.
    fn read(
        &self,
        source: &mut Source<'_>,
        options: &LoadOptions,
    ) -> Result<Vec<Draft>, DatasetError>;

    /// Paths of the file of probes, relative to the transcript's folder, where
    /// the format has one; the first that exists is read.
    fn probes_files(&self) -> &'static [&'static str] {
        &[]
    }

    /// Files that are read instead of a transcript in the same folder.
    fn read_instead(&self) -> &'static [&'static str] {
        &[]
    }

    /// Reads that file into the drafts of the transcript that it belongs to.
    ///
    /// # Errors
    ///
    /// The first question that the format does not allow.
    fn read_probes(&self, _: &mut Source<'_>, _: &mut [Draft]) -> Result<(), DatasetError> {
        Ok(())
    }
}

/// Every format, in the order in which they are tried.
pub static FORMATS: &[&dyn Format] = &[
    &Native,
    &claude_code::ClaudeCode,
    &pi::Pi,
    &codex::Codex,
    &opencode::OpenCode,
    &locomo::Locomo,
    &beam::Beam,
    &openai_chat::OpenAiChat,
];
