//! Answers that people graded (`recap judge calibrate`), with the table of gold
//! answers beside them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap::dataset::{load_label_folder, load_labels};
use recap::model::Author;
use recap::run::{grade, questions, sample};
use recap::seats::judge::{Offline, plant};
use recap_fuzz::{block_on, files, home, put, told};

fuzz_target!(|input: &[u8]| {
    let [labels, gold] = files(input);
    let home = home();
    let file = home.join("x_human.tsv");
    put(&file, labels);
    if !gold.is_empty() {
        put(&home.join("x_BEM.tsv"), gold);
    }
    if let Err(errors) = load_label_folder(home) {
        errors.into_iter().take(20).for_each(told);
    }
    match load_labels(&file) {
        Ok(labels) => {
            let asked = questions(&labels.cases);
            let planted = plant(&asked, 4, 1);
            assert!(planted.iter().all(|case| matches!(case.author, Author::Planted(_))));
            let mut cases = sample(labels.cases, 4, 1);
            cases.extend(planted);
            let judged = block_on(grade(&Offline, &cases, 2));
            assert_eq!(judged.len(), cases.len());
        }
        Err(errors) => {
            assert!(!errors.is_empty());
            errors.into_iter().take(20).for_each(told);
        }
    }
});
