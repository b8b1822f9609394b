//! End-to-end tests of the binary `recap`: what users type and scripts read.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::restriction)]

mod bench;
#[cfg(unix)]
mod book;
mod clusters;
mod commands;
mod compare;
mod dense;
mod designs;
mod desk;
mod determinism;
mod fallbacks;
mod gate;
mod gate_example;
mod generated;
#[path = "../common/generated.rs"]
mod generated_parts;
#[path = "../common/growing.rs"]
mod growing;
#[path = "../common/hiding.rs"]
mod hiding;
mod hostile;
mod init;
mod interrupted;
mod judge;
mod llama;
mod priced;
mod questions;
mod ray;
mod reader;
mod receipt;
#[path = "../common/recordings.rs"]
mod recordings;
mod recovery;
mod report;
mod roles;
#[cfg(unix)]
mod savers;
#[path = "../common/server.rs"]
mod server;
mod shards;
mod shared;
mod show;
mod shown;
mod sizes;
#[cfg(unix)]
mod skill;
mod terminal;
#[path = "../common/tools.rs"]
mod test_tools;
mod today;
mod tools;
mod tune;
mod usage;
