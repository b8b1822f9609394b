//! Transcript formats, one file each.
//!
//! A new format is one file, one `mod` line and one line in [`FORMATS`].

mod aider;
mod amp;
mod anthropic;
mod atif;
mod beam;
mod chains;
mod chat;
mod claude_code;
mod codex;
mod content;
mod copilot_cli;
mod crush;
mod droid;
mod exchange;
mod gemini_api;
mod gemini_cli;
mod goose;
mod inspect;
mod kimi_cli;
mod locomo;
mod longmemeval;
mod openai_chat;
mod opencode;
mod openhands;
mod otel;
mod pi;
mod qwen_code;
mod recorder;
mod responses;
mod role_content;
mod store;
mod swe_agent;
mod traced;
mod vscode_chat;
mod zed;

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
    &goose::Goose,
    &crush::Crush,
    &zed::Zed,
    &openhands::OpenHands,
    &copilot_cli::CopilotCli,
    &vscode_chat::VsCodeChat,
    &qwen_code::QwenCode,
    &kimi_cli::KimiCli,
    &droid::Droid,
    &amp::Amp,
    &aider::Aider,
    &swe_agent::SweAgent,
    &inspect::Inspect,
    &atif::Atif,
    &anthropic::Anthropic,
    &responses::Responses,
    &gemini_api::GeminiApi,
    &otel::Otel,
    &traced::Langfuse,
    &traced::LangSmith,
    &locomo::Locomo,
    &beam::Beam,
    &longmemeval::LongMemEval,
    &role_content::RoleContent,
    &openai_chat::OpenAiChat,
];
