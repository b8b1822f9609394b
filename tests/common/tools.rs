//! Programs from other registries that some tests need.

use std::path::PathBuf;

/// A program of the Python environment that a variable names: `.ci/test` sets
/// `RECAP_PYTHON_TOOLS`, and `.ci/release-checks` sets `RECAP_RELEASE_TOOLS`. `None`,
/// so that the test is skipped, where the variable is not set; where it is, the program must be
/// there.
pub fn tool(variable: &str, program: &str) -> Option<PathBuf> {
    let Some(home) = std::env::var_os(variable).map(PathBuf::from) else {
        println!("skipped: {variable} names no folder with {program}");
        return None;
    };
    let path = home.join("bin").join(program);
    assert!(path.is_file(), "{} is not there", path.display());
    Some(path)
}
