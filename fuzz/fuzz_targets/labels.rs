//! Answers that people graded (`recap judge calibrate`).

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap_exam::roles::judge::Offline;
use recap_formats::load_labels;
use recap_fuzz::{block_on, home, put, told};
use recap_replay::run::{grade, sample};

fuzz_target!(|input: &[u8]| {
    let file = home().join("labels.jsonl");
    put(&file, input);
    match load_labels(&file) {
        Ok(labels) => {
            let cases = sample(labels, 4, 1);
            let judged = block_on(grade(&Offline, &cases, 2, &|_| ()));
            assert_eq!(judged.len(), cases.len());
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors.into_iter().take(20).for_each(told);
        }
    }
});
