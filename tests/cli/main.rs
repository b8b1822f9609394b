//! End-to-end tests of the binary `recap`: what users type and scripts read.

mod bench;
mod compare;
mod crash;
mod desk;
mod determinism;
mod gate;
mod hostile;
mod judge;
mod llama;
mod models;
mod presets;
mod recovery;
mod refusals;
mod report;
mod seats;
#[path = "../common/server.rs"]
mod server;
mod show;
mod tools;
