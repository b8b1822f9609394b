//! Answers that people graded (`recap judge calibrate`), with the table of gold
//! answers beside them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap_formats::load_labels;
use recap_replay::run::{grade, sample};
use recap_exam::roles::judge::Offline;
use recap_fuzz::{block_on, files, home, put, told};

fuzz_target!(|input: &[u8]| {
    let [labels, gold] = files(input);
    let home = home();
    let file = home.join("x_human.tsv");
    put(&file, labels);
    if !gold.is_empty() {
        put(&home.join("x_BEM.tsv"), gold);
    }
    match load_labels(&file) {
        Ok(labels) => {
            let cases = sample(labels.cases, 4, 1);
            let judged = block_on(grade(&Offline, &cases, 2));
            assert_eq!(judged.len(), cases.len());
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors.into_iter().take(20).for_each(told);
        }
    }
});
