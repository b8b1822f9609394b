//! Writes the tables of o200k_base without the two automata that make up half
//! of them: counting does not use them.

use std::path::PathBuf;

use bpe::byte_pair_encoding::BytePairEncoding;
use rmpv::Value;

/// `overlapping_searcher` and `overlapping_searcher_rev`, in the order of the
/// tables of [`BytePairEncoding`].
const UNUSED: [usize; 2] = [6, 7];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let mut kept = tables(&bpe_openai::o200k_base().bpe);
    // Those of a vocabulary of single bytes stand in their place.
    let bytes = BytePairEncoding::from_dictionary((0..=u8::MAX).map(|byte| vec![byte]), None);
    let small = tables(&bytes);
    for at in UNUSED {
        assert!(kept[at].is_bin(), "table {at} is no automaton");
        kept[at] = small[at].clone();
    }
    let mut written = Vec::new();
    rmpv::encode::write_value(&mut written, &Value::Array(kept)).expect("memory takes everything");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    std::fs::write(folder.join("o200k_base"), written).expect("the output folder is writable");
}

/// The tables, one after the other.
fn tables(encoding: &BytePairEncoding) -> Vec<Value> {
    let written = rmp_serde::to_vec(encoding).expect("memory takes everything");
    match rmpv::decode::read_value(&mut written.as_slice()) {
        Ok(Value::Array(tables)) if tables.len() == 10 => tables,
        _ => panic!("the crate bpe writes other tables than those of version 0.2.3"),
    }
}
