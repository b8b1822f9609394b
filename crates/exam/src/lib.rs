//! What is asked of a compressed context, who answers, and who grades.
//!
//! In: a recorded session and the context that a strategy left of it. Out: [`facts`], identifiers
//! that the recorded agent needed afterwards; [`questions`], questions made from the recording
//! itself; [`findable`], whether a context still states their answers; [`roles`], the models that
//! summarise, answer and grade, and the program's own compactor and judge.
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

pub mod facts;
pub mod findable;
pub mod questions;
pub mod roles;
