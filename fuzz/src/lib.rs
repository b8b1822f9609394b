//! What the fuzz targets share.
//!
//! A target reads its input through the function that the command line uses.
//! It never runs a command, never opens a connection, and writes nowhere but
//! into a temporary folder of its own. It fails where a reader panics, hangs or
//! takes too much memory, where an error message is too long or would drive a
//! terminal, and where what was read cannot be written and read again.

use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

use recap::cli::Failure;
use recap_exam::facts::{CompactableMessage, CutPlace};
use recap_exam::questions::generate;
use recap_formats::{Dataset, LoadOptions, QuestionAudit, load, load_reader, write_native};

/// The line between the files of an input that stands for several.
pub const CUT: &[u8] = b"\n%%%\n";

/// Longest message for the user, in characters.
const LONGEST: usize = 4_000;

/// The files of an input; the missing ones are empty. What follows the last
/// one belongs to it.
pub fn files<const N: usize>(input: &[u8]) -> [&[u8]; N] {
    let mut rest = Some(input);
    std::array::from_fn(|at| {
        let Some(bytes) = rest.take() else { return &[][..] };
        let cut = bytes.windows(CUT.len()).position(|window| window == CUT);
        match cut.filter(|_| at + 1 < N) {
            Some(cut) => {
                rest = Some(&bytes[cut + CUT.len()..]);
                &bytes[..cut]
            }
            None => bytes,
        }
    })
}

/// The input as text, where it is text.
pub fn text(input: &[u8]) -> Option<&str> {
    std::str::from_utf8(input).ok()
}

/// A folder of this process, empty.
pub fn home() -> &'static Path {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    let home = HOME.get_or_init(|| {
        let home = std::env::temp_dir().join(format!("recap-fuzz-{}", std::process::id()));
        fs::create_dir_all(&home).expect("the temporary folder can be written");
        home
    });
    for entry in fs::read_dir(home).expect("it was made").flatten() {
        let path = entry.path();
        let gone = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        gone.expect("what a target wrote can be removed");
    }
    home
}

/// Writes a file of the input.
pub fn put(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).expect("the temporary folder can be written");
}

/// Checks what the user is told.
pub fn told(failure: impl Into<Failure>) {
    let failure = failure.into().to_string();
    let length = failure.chars().count();
    assert!(length <= LONGEST, "a message of {length} characters");
    let drives = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!failure.contains(drives), "a message with control characters: {failure:?}");
}

/// The same of a text without a type of its own.
pub fn told_text(problem: &str) {
    told(Failure::usage(problem));
}

/// Reads a session file of one format, or of the one that is detected.
pub fn import(format: Option<&'static str>, input: &[u8]) {
    for sidechains in [false, true] {
        let options = LoadOptions { sidechains, only: format, max_unpacked: None };
        match load_reader("input.jsonl", input, &options) {
            Ok(dataset) => {
                written_and_read_again(&dataset);
                asked(&dataset);
            }
            Err(error) => told(error),
        }
        // The other formats know no sidechains.
        if format != Some("claude-code") {
            break;
        }
    }
}

/// Checks that a data set is the same behind a native folder of it.
pub fn written_and_read_again(dataset: &Dataset) {
    let audit = QuestionAudit::of(dataset);
    assert_eq!(audit.questions(), dataset.questions.len() as u64);
    let folder = home().join("written");
    write_native(dataset, &folder).expect("an empty folder takes a data set");
    let again = load(&folder, &LoadOptions::default()).expect("what was written can be read");
    assert_eq!(again.sessions, dataset.sessions);
    assert_eq!(again.questions, dataset.questions);
    assert_eq!(again.name, dataset.name);
}

/// Makes the questions about each session behind its last message.
pub fn asked(dataset: &Dataset) {
    for session in &dataset.sessions {
        let end = session.messages.len() as u32;
        let material =
            (0..end).map(|message| CompactableMessage { message, cleared: false }).collect();
        let whole = CutPlace {
            request: 0,
            requests: 5,
            left: 5,
            from: end,
            last: end,
            material,
            recorded: None,
        };
        let questions = generate(session, &[whole]);
        assert!(questions.iter().all(|question| !question.question.is_empty()));
    }
}

/// Waits for what waits for nothing.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..10_000 {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
    panic!("it waits for something");
}
