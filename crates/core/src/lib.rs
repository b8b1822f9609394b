//! What the crates of recap share: plain data, and what is known of texts.
//!
//! In: nothing. Out: [`model`], the sessions that are read, the rows that are measured and
//! the report that is made of them, with the terms that all crates use; [`text`], identifiers and
//! where they stand; [`tokens`], sizes; [`clock`], simulated time; [`wording`], numbers, names and
//! lists in words; [`division`] of a whole; [`packed`], bytes that are held compressed.
//!
//! The main flow: `recap-formats` fills a `model::Session` from a file, `recap-replay` makes cells
//! of it, `recap-measure` a `model::Report`, and `recap-report` prints that. Next: `recap-billing`,
//! what a request costs.
//!
//! Comments name rules by document and number: `how-it-works §13` and
//! `reference §4` are sections of `docs/how-it-works.md` and
//! `docs/reference.md`.

pub mod clock;
pub mod division;
pub mod model;
pub mod packed;
pub mod text;
pub mod tokens;
pub mod wording;
