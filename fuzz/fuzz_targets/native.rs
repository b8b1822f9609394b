//! recap's own data sets: card, sessions and probes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap_formats::{CARD_FILE, LoadOptions, PROBES_FILE, SESSIONS_FILE, audit_probes, load};
use recap_fuzz::{files, home, put, told, written_and_read_again};

fuzz_target!(|input: &[u8]| {
    let [card, sessions, probes] = files(input);
    let folder = home().join("set");
    std::fs::create_dir(&folder).expect("it is empty");
    put(&folder.join(CARD_FILE), card);
    put(&folder.join(SESSIONS_FILE), sessions);
    if !probes.is_empty() {
        put(&folder.join(PROBES_FILE), probes);
    }
    let options = LoadOptions::default();
    match audit_probes(&folder, &options) {
        Ok(audit) => audit.violations.into_iter().for_each(told),
        Err(error) => told(error),
    }
    match load(&folder, &options) {
        Ok(dataset) => written_and_read_again(&dataset),
        Err(error) => told(error),
    }
});
