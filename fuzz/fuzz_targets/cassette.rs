//! Recorded calls: cassettes, and `replies.jsonl` of a run.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use recap::llm::Cassette;
use recap::llm::cassette::Mode;
use recap_fuzz::{home, put, told, told_text};

fuzz_target!(|input: &[u8]| {
    let file = home().join("calls.jsonl");
    put(&file, input);
    let open = |mode| Cassette::open(&file, mode, Arc::new(str::to_owned));
    let (held, used) = match open(Mode::Replay) {
        Ok((cassette, warnings)) => {
            warnings.iter().for_each(|warning| told_text(warning));
            (cassette.len(), cassette.usage())
        }
        Err(error) => return told(error),
    };
    // What a recording run keeps of it is the same.
    let (cassette, _) = open(Mode::Record).expect("it was just read");
    assert_eq!(cassette.len(), held);
    cassette.finish().expect("the temporary folder can be written");
    drop(cassette);
    let (again, warnings) = open(Mode::Replay).expect("what was written can be read");
    assert_eq!((again.len(), again.usage()), (held, used));
    assert_eq!(warnings, [""; 0]);
});
