//! The mechanisms, one per file. Adding one takes a file and two lines.
//!
//! In: a context, and what the harness allows ([`Work`](super::mechanism::Work)). Out: the context
//! changed by operations ([`Op`](super::context::Op)), and what happened besides
//! ([`Outcome`](super::mechanism::Outcome)). Short ones to begin with: `sliding_window` hides
//! messages, `trim` drops them, `prune` edits results of tools, `continuation` writes a summary by a
//! model.

mod archive;
mod chunked_summary;
mod command;
mod continuation;
mod fifo;
mod folding;
mod gencode_session;
mod guidance;
mod id_list;
mod mask;
mod notices;
mod process;
mod prune;
mod recorded;
mod reset;
mod rolling_sessions;
mod saver;
mod session_state;
mod sliding_window;
mod snapshot_dedup;
mod summary;
mod trim;

use super::mechanism::MechanismSpec;

#[cfg(any(test, feature = "testkit"))]
pub use command::take_answer;
pub(crate) use command::{SPEC as COMMAND, named_files};
#[doc(hidden)]
pub use gencode_session::compression_stats;
pub use process::ITS_WORDS;

/// The mechanisms that stand between an agent and its provider or its tools from the first request
/// on.
pub(crate) const SAVERS: [&MechanismSpec; 2] = [&saver::FILTER, &saver::PROXY];

/// The default of parameters that are on where a strategy does not say.
fn yes() -> bool {
    true
}

/// Every mechanism, by the name used in strategies.
pub static MECHANISMS: &[&MechanismSpec] = &[
    &chunked_summary::SPEC,
    &command::SPEC,
    &continuation::SPEC,
    &fifo::SPEC,
    &saver::FILTER,
    &guidance::SPEC,
    &id_list::SPEC,
    &mask::SPEC,
    &saver::PROXY,
    &prune::SPEC,
    &recorded::SPEC,
    &reset::SPEC,
    &rolling_sessions::SPEC,
    &session_state::SPEC,
    &sliding_window::SPEC,
    &snapshot_dedup::SPEC,
    &summary::SPEC,
    &trim::SPEC,
];

#[cfg(test)]
mod tests {
    use crate::strategy::builtin;

    #[test]
    fn a_reserve_in_tokens_scales_with_the_window() {
        use crate::trigger::When;
        let strategy = builtin("chunked-summary", &[]).unwrap().unwrap();
        let stages = strategy.build(50_000, crate::Scaling::Named).unwrap();
        assert_eq!(stages[0].when, When::AboveReserve { reserve: 4_000 });
        let stages = strategy.build(50_000, crate::Scaling::AsWritten).unwrap();
        assert_eq!(stages[0].when, When::AboveReserve { reserve: 16_000 });
    }

    #[test]
    fn reply_bound_told_to_compactor_scales_with_window() {
        use crate::testkit::{Rig, Scripted, Talk, words};
        use std::sync::Arc;
        let bound = |scaled: bool| {
            let compactor = Scripted::failing_at([]);
            let talk = (0..12).fold(Talk::new("S"), |talk, _| talk.user(&words(900)));
            let role = Arc::<Scripted>::clone(&compactor);
            let rig = if scaled { Rig::scaled } else { Rig::new };
            rig("continuation", &[], 10_000, talk, role).finish();
            compactor.tasks()[0].max_tokens
        };
        // 1,500 tokens of 200,000 are 75 of 10,000.
        assert_eq!((bound(true), bound(false)), (75, 1_500));
    }

    #[test]
    fn kept_output_characters_scale_with_window() {
        use crate::testkit::{Rig, Scripted, Talk};
        let output = "x".repeat(60);
        let talk = Talk::new("S").user("u").calls(&[("c", "read", serde_json::json!({}))]);
        let talk = talk.result("c", &output).assistant("done").user("so").assistant("ok");
        let mask = "[[stage]]\nmechanism = \"mask\"\nat = \"request\"\nwhen = \"always\"\n\
                    keep_turns = 1\nmarker = \"…\"\n\
                    clip = { head = 20, tail = 8 }";
        // The window is half the native one, so 10 and 4 of 20 and 8 stay.
        let mut rig = Rig::stages(mask, 500, talk, Scripted::failing_at([]));
        rig.finish();
        assert_eq!(rig.sent()[2].1, format!("{}\n…\n{}", "x".repeat(10), "x".repeat(4)));
    }
}
