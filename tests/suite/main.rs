//! The tests of the library. One program: a program per file would link the
//! library forty times, at 140 MB each.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::restriction)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/generated.rs"]
mod generated_parts;
#[path = "../common/server.rs"]
mod server;
#[path = "../common/tools.rs"]
mod test_tools;

mod action;
mod agents;
mod alternation;
mod asking;
mod background;
mod bench;
mod bill;
mod calibration;
mod compactor_real;
mod conformance;
mod controls;
mod crash;
mod dataset_benchmarks;
mod dataset_cases;
mod dataset_claude_code;
mod dataset_codex;
mod dataset_databases;
mod dataset_detection;
mod dataset_errors;
mod dataset_family;
mod dataset_fixtures;
mod dataset_hostile;
mod dataset_import;
mod dataset_inspect;
mod dataset_loss;
mod dataset_native;
mod dataset_once;
mod dataset_order;
mod dataset_questions;
mod dataset_real;
mod dataset_schemas;
mod dataset_unpacked;
mod docs;
mod external;
mod generated;
mod invariants;
mod judge_real;
mod llm_cassette;
mod llm_faults;
mod mechanisms;
mod outline;
mod packages;
mod parquet;
mod questions_real;
mod recorded;
mod recorded_real;
mod references;
mod resume;
mod samples;
mod scripts;
mod seed_arachne;
mod seed_arachne_fifo;
mod seed_gencode;
mod seed_gencode_prune;
mod seed_gsv;
mod seed_lis;
mod seed_lis_prune;
mod seed_zoea;
mod semantics;
mod strategies;
mod strategy_numbers;
mod strategy_values;
mod unusable;
