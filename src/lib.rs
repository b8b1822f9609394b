//! Recap replays recorded agent sessions through context-compression
//! strategies and measures what each one loses, saves and costs.
//!
//! The modules in the order in which data flows; each imports only from those
//! above it (`tests/layers.rs`):

// Vocabulary: plain data.
pub mod model;

// Exact counts, estimators, weights.
pub mod tokens;

// Trait, context with its ledger, presets, mechanisms.
pub mod strategy;

// From cells to a report: measures, intervals, ranking, sentences.
pub mod measure;
