//! BEAM: a chat, and the file of questions beside it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap_formats::{LoadOptions, load};
use recap_fuzz::{files, home, put, told, written_and_read_again};

fuzz_target!(|input: &[u8]| {
    let [chat, questions] = files(input);
    let folder = home().join("chat");
    std::fs::create_dir(&folder).expect("it is empty");
    put(&folder.join("chat.json"), chat);
    if !questions.is_empty() {
        put(&folder.join("probing_questions.json"), questions);
    }
    let options = LoadOptions { only: Some("beam"), ..LoadOptions::default() };
    match load(&folder, &options) {
        Ok(dataset) => written_and_read_again(&dataset),
        Err(error) => told(error),
    }
});
