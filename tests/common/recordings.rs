//! The recorded sessions that some tests read: `../shared`, beside the
//! checkout, which is no part of the repository.

#![allow(clippy::disallowed_methods, reason = "as in the tests that hold it")]

use std::io::Write;
use std::path::{Path, PathBuf};

/// A file or folder of `../shared`. Without that folder the test is told to be
/// skipped, on the terminal whatever the harness captures, and fails where `CI`
/// is set: there it has to be present. Where it is present, so has the file.
pub fn shared(path: &str) -> Option<PathBuf> {
    let mut above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let checkout = above.find(|folder| folder.join("Cargo.lock").is_file()).expect("the lock file");
    let folder = Some(checkout.join("../shared")).filter(|folder| folder.is_dir());
    let in_ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty() && ci != "false");
    let found = found(folder, path, in_ci);
    if found.is_none() {
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        let _ = writeln!(std::io::stderr(), "skipped: {test}: ../shared is absent");
    }
    found
}

fn found(folder: Option<PathBuf>, path: &str, in_ci: bool) -> Option<PathBuf> {
    let Some(folder) = folder else {
        assert!(!in_ci, "../shared is absent, and CI is set: {path} has to be there");
        return None;
    };
    let path = folder.join(path);
    assert!(path.exists(), "{} is not there", path.display());
    Some(path)
}

#[test]
fn test_without_recordings_skips_but_fails_in_ci() {
    assert_eq!(found(None, "data/any", false), None);
    assert!(std::panic::catch_unwind(|| found(None, "data/any", true)).is_err());
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    assert_eq!(found(Some(here.clone()), "Cargo.toml", true), Some(here.join("Cargo.toml")));
    assert!(std::panic::catch_unwind(|| found(Some(here), "absent", false)).is_err());
}
