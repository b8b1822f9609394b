//! Recap replays recorded agent sessions through context-compression
//! strategies and measures what each one loses, saves and costs.
//!
//! The modules in the order in which data flows; each imports only from those
//! above it (`tests/layers.rs`):

pub mod model; // vocabulary: plain data

pub mod text; // identifiers and where they stand

pub mod dataset; // recorded sessions in: formats, detection, checks

pub mod probes; // what a transcript asks by itself
