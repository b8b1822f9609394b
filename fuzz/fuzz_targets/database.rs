//! Stores of agents in SQLite, of any format.

#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    let mut store = b"SQLite format 3\0".to_vec();
    store.extend(input);
    recap_fuzz::import(None, &store);
});
