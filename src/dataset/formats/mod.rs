//! Transcript formats, one file each.
//!
//! A new format is one file, one `mod` line and one line in [`FORMATS`].

mod aider;
mod amp;
mod anthropic;
mod atif;
mod beam;
mod claude_code;
mod codex;
mod content;
mod copilot_cli;
mod droid;
mod gemini_cli;
mod inspect;
mod kimi_cli;
mod locomo;
mod openai_chat;
mod opencode;
mod openhands;
mod pi;
mod qwen_code;
mod recorder;
mod role_content;
mod swe_agent;

use super::format::Format;
use super::native::Native;

/// Every format, in the order in which they are tried.
pub static FORMATS: &[&dyn Format] = &[
    &Native,
    &claude_code::ClaudeCode,
    &pi::Pi,
    &codex::Codex,
    &opencode::OpenCode,
    &gemini_cli::GeminiCli,
    &openhands::OpenHands,
    &copilot_cli::CopilotCli,
    &qwen_code::QwenCode,
    &kimi_cli::KimiCli,
    &droid::Droid,
    &amp::Amp,
    &aider::Aider,
    &swe_agent::SweAgent,
    &inspect::Inspect,
    &atif::Atif,
    &anthropic::Anthropic,
    &locomo::Locomo,
    &beam::Beam,
    &role_content::RoleContent,
    &openai_chat::OpenAiChat,
];
