//! Holds the parts of documents that are made from the program: they stand
//! between two marks, `<!-- NAME: begin -->` and `<!-- NAME: end -->`.
//! `RECAP_UPDATE_DOCS=1 cargo test --test suite --test cli generated::` writes
//! them anew.

use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// One test at a time reads a document and writes it back.
static WRITING: Mutex<()> = Mutex::new(());

/// Compares a part of a document with what the program says now, or puts that
/// into its place where `RECAP_UPDATE_DOCS` is set.
#[track_caller]
pub fn hold(document: &str, name: &str, made: &str) {
    let (begin, end) = (format!("<!-- {name}: begin -->\n"), format!("<!-- {name}: end -->"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    let _one_at_a_time = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(&begin).unwrap_or_else(|| panic!("{document}: {begin}"));
    let (stands, after) = rest.split_once(&end).unwrap_or_else(|| panic!("{document}: {end}"));
    if std::env::var_os("RECAP_UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{before}{begin}{made}{end}{after}")).unwrap();
    } else {
        let differs = stands.lines().zip(made.lines()).find(|(stands, made)| stands != made);
        assert!(stands == made, "{document}: RECAP_UPDATE_DOCS=1 writes it anew, see {differs:?}");
    }
}
