//! recap's own data sets: card, sessions and questions.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap_formats::{CARD_FILE, LoadOptions, QUESTIONS_FILE, SESSIONS_FILE, audit_questions, load};
use recap_fuzz::{files, home, put, told, written_and_read_again};

fuzz_target!(|input: &[u8]| {
    let [card, sessions, questions] = files(input);
    let folder = home().join("set");
    std::fs::create_dir(&folder).expect("it is empty");
    put(&folder.join(CARD_FILE), card);
    put(&folder.join(SESSIONS_FILE), sessions);
    if !questions.is_empty() {
        put(&folder.join(QUESTIONS_FILE), questions);
    }
    let options = LoadOptions::default();
    match audit_questions(&folder, &options) {
        Ok(audit) => audit.violations.into_iter().for_each(told),
        Err(error) => told(error),
    }
    match load(&folder, &options) {
        Ok(dataset) => written_and_read_again(&dataset),
        Err(error) => told(error),
    }
});
