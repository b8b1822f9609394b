//! What a session costs.
//!
//! In: requests with their sizes and times (`recap-core`). Out: [`pricing`], the price of a
//! model by its name, its tiers and its date; [`prompt_cache`], what a provider's cache would
//! have served of a list of requests, and what it would have written.
//!
//! Next: `recap-replay` bills each session of a strategy by both.

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

pub mod pricing;
pub mod prompt_cache;
