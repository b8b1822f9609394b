//! A session of any format: its first file names the format, or is empty where it is to
//! be detected. Behind a chat of BEAM stands the file of questions beside it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use recap_formats::{FORMATS, LoadOptions, load};
use recap_fuzz::{files, home, import, put, told, written_and_read_again};

fuzz_target!(|input: &[u8]| {
    let [format, session, questions] = files(input);
    let mut names = FORMATS.iter().map(|known| known.name);
    match names.find(|name| name.as_bytes() == format) {
        Some("beam") => beam(session, questions),
        format => import(format, session),
    }
});

fn beam(chat: &[u8], questions: &[u8]) {
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
}
