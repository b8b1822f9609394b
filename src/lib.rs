//! The program: commands, options and settings over the libraries in `crates`.
//!
//! In: a command line. Out: a run folder and what is printed of it. [`cli`] reads options and
//! prints, [`mod@bench`] is the main job (plan, run, measure, write), [`failure`] is what goes
//! wrong. Each crate's first lines say what it takes and gives; `recap-core` comes first.

pub mod bench;
pub mod cli;
pub mod failure;
