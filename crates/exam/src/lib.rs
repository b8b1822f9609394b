//! What is asked of a compressed context, who answers, and who grades.
//!
//! In: a recorded session and the context that a strategy left of it. Out: [`questions`], the facts
//! that the recorded agent needed afterwards; [`questions`], questions made from the recording
//! itself; [`roles`], the models that summarise, answer and grade: offline ones that are part
//! of the program, and those of providers behind `recap-llm`.
//!
//! Next: `recap-replay` asks them at each compaction.

// Where an invariant holds, `expect` says it. `clippy.toml` names what reads the environment and the
// clock, opens a socket or starts a program: a module that may says so at its head.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::print_stdout,
        clippy::print_stderr,
        clippy::dbg_macro,
        clippy::disallowed_methods,
        clippy::disallowed_types
    )
)]

mod calendar;
pub mod facts;
pub mod questions;
pub mod roles;
