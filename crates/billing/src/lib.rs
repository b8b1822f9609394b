//! What a session costs.
//!
//! In: requests with their sizes and times (`recap-core`). Out: [`pricing`], the price of a
//! model by its name, its tiers and its date; [`prompt_cache`], what a provider's cache would
//! have served of a list of requests, and what it would have written.
//!
//! `recap-replay` bills each session of a strategy by both. Next: `recap-llm`, how models are
//! called.

pub mod pricing;
pub mod prompt_cache;
