//! Holds the house style where a machine can: short files, and no `unwrap`
//! outside tests.

use std::path::{Path, PathBuf};

use crate::sources::{code, longer_than, outside_tests, sources, test_modules, unwraps};

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
fn files_for_tests_only_are_those_that_are_declared_so() {
    let all = sources();
    let is_test = |path: &str| all.iter().find(|s| s.path == Path::new(path)).unwrap().is_test;
    for path in ["strategy/testkit.rs", "strategy/context/tests.rs", "measure/statistics_tests.rs"]
    {
        assert!(is_test(path), "{path}");
    }
    for path in ["lib.rs", "strategy/mod.rs", "measure/statistics.rs", "replay/session.rs"] {
        assert!(!is_test(path), "{path}");
    }
    let text = "#[cfg(test)]\nmod tests;\nmod a;\n#[cfg(test)]\n#[path = \"z.rs\"]\npub mod b;\n";
    let declared = |file: &str| test_modules(Path::new(file), text);
    assert_eq!(declared("x/mod.rs"), ["x/tests", "x/z"].map(PathBuf::from));
    assert_eq!(declared("x/y.rs"), ["x/y/tests", "x/z"].map(PathBuf::from));
}

#[test]
fn only_what_is_behind_cfg_test_counts_as_a_test() {
    let text = "fn a() {\n}\n#[cfg(test)]\nmod kit;\nfn b() {\n}\n\
                #[cfg(test)]\nmod tests {\n    fn c() {\n    }\n}\nfn d() {}\n";
    let numbers: Vec<usize> = outside_tests(text).into_iter().map(|(at, _)| at).collect();
    assert_eq!(numbers, [1, 2, 5, 6, 12]);
}

#[test]
fn comments_and_literals_are_no_code_and_leave_the_lines_as_they_are() {
    for (text, expected) in [
        ("a(\".unwrap()\").unwrap() // .unwrap()", "a().unwrap() "),
        ("a('\"').unwrap(); b('\\'', \"\\\"\")", "a().unwrap(); b(, )"),
        ("a(\"one\ntwo\")\n.unwrap()", "a(\n)\n.unwrap()"),
        ("a(r#\"x\"y\n\"#).unwrap()", "a(\n).unwrap()"),
        ("/* a\n */ fn b<'a>(c: &'a str)", "\n fn b<'a>(c: &'a str)"),
        ("for_r\"x\"", "for_r"),
    ] {
        assert_eq!(code(text), expected, "{text}");
    }
}
