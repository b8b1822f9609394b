//! Holds the house style and the layers where a machine can, as in the package
//! above: short files, no `unwrap` outside tests, and a library that only
//! writes sessions.

use crate::sources::{code, longer_than, only_in, sources, unwraps};

/// Modules of recap that the library may import; the binary also takes its
/// errors and its way of printing.
const BELOW: &[&str] = &["model", "text", "tokens", "dataset"];

#[test]
fn no_file_has_more_than_400_lines_outside_its_tests() {
    let long = longer_than(400);
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn no_unwrap_stands_outside_tests() {
    let found = unwraps();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_library_imports_only_data_texts_and_formats() {
    let mut seen = 0;
    for source in sources().iter().filter(|source| !source.path.ends_with("main.rs")) {
        for line in code(&source.text).lines() {
            for (at, name) in line.match_indices("recap::") {
                let rest = &line[at + name.len()..];
                let module: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
                assert!(BELOW.contains(&module.as_str()), "{}: {line}", source.path.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 0, "no import was looked at");
}

#[test]
fn the_library_prints_nothing_and_asks_nothing_of_the_machine() {
    only_in(&["println!", "print!(", "eprint!(", "dbg!("], &[]);
    only_in(&["env::var", "env::args", "Timestamp::now", "SystemTime::now", "Instant::now"], &[]);
    only_in(&["TcpStream", "TcpListener", "UdpSocket", "reqwest::"], &[]);
    only_in(&["std::process", "tokio::process"], &["main.rs"]);
}
