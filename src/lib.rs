//! The program: commands, options and settings over the libraries in `crates`.
//!
//! In: a command line. Out: a run folder and what is printed of it. [`cli`] reads options and
//! prints, [`mod@bench`] is the main job (plan, run, measure, write). Each crate's first lines say what it takes and gives; `recap-core` comes first.

// Where an invariant holds, `expect` says it; only the command line prints. `clippy.toml` names what reads the environment and the
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

pub mod bench;
pub mod cli;
