//! Recap replays recorded agent sessions through context-compression
//! strategies and measures what each one loses, saves and costs.
//!
//! The modules in the order in which data flows; each imports only from those
//! above it (`tests/layers.rs`):

pub mod dataset;
pub mod model; // vocabulary: plain data // recorded sessions in: formats, detection, checks
