//! What mends an error of the operating system.

use std::io::{Error, ErrorKind};

/// What to do about an error of reading or writing, by its kind; `otherwise`
/// where the kind says nothing.
pub fn io_remedy(error: &Error, otherwise: &'static str) -> &'static str {
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "make room on that disk and give the same command again; `bench` with --out and \
             --resume goes on with what is finished"
        }
        ErrorKind::FileTooLarge => {
            "this system limits the size of files (`ulimit -f`): raise the limit or write elsewhere"
        }
        ErrorKind::PermissionDenied => "give a place that you may read and write",
        ErrorKind::ReadOnlyFilesystem => "that disk is read-only: give another place",
        ErrorKind::NotADirectory => "a part of that path is a file: give the path of a folder",
        ErrorKind::IsADirectory => "that is a folder: give the path of a file",
        _ => otherwise,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remedy_fits_the_cause() {
        for (kind, remedy) in [
            (ErrorKind::StorageFull, "make room"),
            (ErrorKind::FileTooLarge, "ulimit"),
            (ErrorKind::PermissionDenied, "may read and write"),
            (ErrorKind::ReadOnlyFilesystem, "read-only"),
            (ErrorKind::NotADirectory, "is a file"),
            (ErrorKind::NotFound, "otherwise"),
        ] {
            let found = io_remedy(&Error::from(kind), "otherwise");
            assert!(found.contains(remedy), "{kind}: {found}");
        }
    }
}
