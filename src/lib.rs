//! Recap replays recorded agent sessions through context-compression
//! strategies and measures what each one loses, saves and costs.
//!
//! The modules stand in the order in which data flows; each imports only from
//! those above it, which `tests/suite/layers.rs` holds. Blank lines keep it so.
//!
//! Comments name rules by document and number: `semantics §13`, `measures §4`
//! and `cuts §2` are sections of `docs/semantics.md`, `docs/measures.md` and
//! `docs/cuts.md`. The terms are in `docs/glossary.md`.

// Where an invariant holds, `expect` says it; only the command line prints. `clippy.toml` names what
// reads the environment and the clock, opens a socket or starts a program: a module that may says
// so at its head. Tests may do all of it.
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

/// Vocabulary: plain data.
pub mod model;

/// Identifiers and where they stand in texts.
pub mod text;

/// Findings and recommendations in words.
pub mod wording;

/// Sizes: exact counts, estimators, weights.
pub mod tokens;

/// Simulated time.
pub mod clock;

/// Price list, tiers and classes.
pub mod pricing;

/// Providers' caches, simulated.
pub mod prompt_cache;

/// Models of providers: calls, recordings, limits, budget.
pub mod llm;

/// Recorded sessions in: formats, detection, checks.
pub mod dataset;

/// Context with its ledger, presets, mechanisms.
pub mod strategy;

/// What a transcript asks by itself.
pub mod probes;

/// Who answers: the offline models of the seats.
pub mod seats;

/// Questions about a recording, made from itself.
pub mod questions;

/// The request loop.
pub mod replay;

/// Every cell of a comparison, and the folder that keeps them.
pub mod run;

/// From cells to a report: measures, intervals, ranking, sentences.
pub mod measure;

/// Rules about a run, and what they find.
pub mod gate;

/// Rendered comparisons: terminal, CSV, JSON, HTML.
pub mod report;

/// The main job: plan, run, measure, write.
pub mod bench;

/// A search over the parameters of a strategy.
pub mod tune;

/// The command line.
pub mod cli;
