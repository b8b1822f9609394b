//! The tests of the generator: what it writes, and its command line.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::restriction)]

#[path = "../../../../tests/common/hiding.rs"]
mod hiding;
#[path = "../../../../tests/common/recordings.rs"]
mod recordings;

mod cli;
mod quickstart;
