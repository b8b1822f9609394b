//! Holds the documents and the sources together: a section that a comment names
//! exists, so does a test that the table of the designs names, and a link leads
//! to a file and a heading that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

/// Documents with numbered sections, under `docs`.
const NUMBERED: [&str; 2] = ["how-it-works", "reference"];
/// Folders whose sources name sections.
const SOURCES: [&str; 5] = ["src", "tests", "benches", "fuzz", "datasets/generator"];
/// Documents whose links are followed, beside those under `docs`.
const LINKING: [&str; 9] = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "benches/README.md",
    "datasets/README.md",
    "strategies/README.md",
    "reports/README.md",
    "reports/figures.md",
];
/// Most words of the README and the pages under `docs` together, code and tables included.
const MOST_WORDS: usize = 25_000;
/// Most words of single documents.
const MOST_WORDS_OF: [(&str, usize); 3] =
    [("README.md", 1_000), ("CONTRIBUTING.md", 1_050), ("benches/README.md", 400)];
/// Most lines of the README.
const MOST_LINES: usize = 120;

/// One section, or several of one document.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    let one = "§[0-9]+";
    let names = NUMBERED.join("|");
    let pattern = format!(r"(?i)\b({names}) ({one}(?:(?:,| and| to) {one})*)");
    Regex::new(&pattern).unwrap()
});
/// What looks like a section and names none of these documents, or not in their form.
static STRAY: LazyLock<Regex> = LazyLock::new(|| {
    let others = "semantics|measures|cuts|strategies|interface|style|architecture";
    let names = NUMBERED.join("|");
    let pattern = format!(r"(?i)`(?:{names}|{others})` §?[0-9]|\b(?:{others}) §");
    Regex::new(&pattern).unwrap()
});
/// A line end within a comment.
static WRAP: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\s*\n\s*//[/!]?\s*").unwrap());
/// A test as the table of the designs names it: file and function.
static TEST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("`([a-z0-9_/]+)::([a-z0-9_]+)`").unwrap());
/// The target of a link.
static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^)\s]+)\)").unwrap());

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Every Rust file of a folder.
pub fn rust_files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        // What fuzzing builds and collects is nobody's source.
        if path.is_dir() && !path.ends_with("target") && !path.ends_with("corpus") {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The lines of a document that are no code.
fn prose(text: &str) -> Vec<&str> {
    let mut is_code = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            lines.push(line);
        }
    }
    lines
}

/// The headings of a document.
fn headings(text: &str) -> Vec<&str> {
    let lines = prose(text).into_iter().filter(|line| line.starts_with('#'));
    lines.map(|line| line.trim_start_matches('#').trim()).collect()
}

/// The numbers of its sections.
fn sections(text: &str) -> BTreeSet<u32> {
    let numbers = headings(text).into_iter().filter_map(|heading| heading.split_once(". "));
    numbers.filter_map(|(number, _)| number.parse().ok()).collect()
}

/// The name by which a heading can be linked to, as on code forges.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// The names of all of its headings: one that occurs again has a number.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    for heading in headings(text) {
        let anchor = anchor(heading);
        let again = (1..).map(|number| format!("{anchor}-{number}"));
        let mut names = std::iter::once(anchor.clone()).chain(again);
        anchors.extend(names.find(|name| !anchors.contains(name)));
    }
    anchors
}

/// What a source says of sections that do not exist, or not in their form.
fn faults(text: &str, known: &BTreeMap<&str, BTreeSet<u32>>) -> Vec<String> {
    let text = WRAP.replace_all(text, " ");
    let mut faults: Vec<String> =
        STRAY.find_iter(&text).map(|found| found.as_str().to_owned()).collect();
    for found in REFERENCE.captures_iter(&text) {
        let name = found[1].to_lowercase();
        for number in found[2].split('§').skip(1) {
            let number = number.trim_end_matches(|c: char| !c.is_ascii_digit());
            if !known[name.as_str()].contains(&number.parse().unwrap()) {
                faults.push(format!("{name} §{number}"));
            }
        }
    }
    faults
}

/// The sections of each numbered document.
fn known() -> BTreeMap<&'static str, BTreeSet<u32>> {
    let read = |name| fs::read_to_string(root().join(format!("docs/{name}.md"))).unwrap();
    NUMBERED.into_iter().map(|name| (name, sections(&read(name)))).collect()
}

/// What is wrong with a link of a document.
fn broken(document: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => document.to_owned(),
        file => document.parent().unwrap().join(file),
    };
    if !path.exists() {
        return Some(format!("{target}: no such file"));
    }
    let is_there =
        anchor.is_empty() || anchors(&fs::read_to_string(&path).unwrap()).contains(anchor);
    (!is_there).then(|| format!("{target}: no such heading"))
}

#[test]
fn every_section_named_in_sources_is_in_documents() {
    let known = known();
    let mut files = Vec::new();
    // A published package has not all of them.
    let folders = SOURCES.iter().map(|folder| root().join(folder));
    folders.filter(|path| path.is_dir()).for_each(|path| rust_files(&path, &mut files));
    let mut problems = String::new();
    for file in files {
        for fault in faults(&fs::read_to_string(&file).unwrap(), &known) {
            let _ = writeln!(problems, "{}: {fault}", file.display());
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

/// The pages of the book, with its table of contents.
fn pages() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// The targets of the links of a document, code left out.
fn links(text: &str) -> Vec<&str> {
    let lines = prose(text).into_iter();
    lines
        .flat_map(|line| LINK.captures_iter(line).map(|link| link.get(1).unwrap().as_str()))
        .collect()
}

#[test]
fn contents_list_every_book_page_once() {
    let contents = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let mut listed = links(&contents);
    listed.sort_unstable();
    let pages = pages();
    let names = pages.iter().map(|path| path.file_name().unwrap().to_str().unwrap());
    let mut names: Vec<&str> = names.filter(|name| *name != "SUMMARY.md").collect();
    names.sort_unstable();
    assert_eq!(listed, names);
}

/// The built book holds the pages alone: files of the repository are named in
/// it by their path.
#[test]
fn book_pages_link_only_to_book_pages() {
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for link in links(&text) {
            let is_outside = !link.contains("://") && link.contains('/');
            assert!(!is_outside, "{}: {link}", page.display());
        }
    }
}

/// The words of a text, as `wc -w` counts them.
fn words(path: &Path) -> usize {
    fs::read_to_string(path).unwrap().split_whitespace().count()
}

#[test]
fn the_documents_stay_short() {
    let readme = root().join("README.md");
    let all: usize = pages().iter().chain([&readme]).map(|page| words(page)).sum();
    assert!(all <= MOST_WORDS, "README and docs have {all} words, at most {MOST_WORDS}");
    for (document, most) in MOST_WORDS_OF {
        let of = words(&root().join(document));
        assert!(of <= most, "{document} has {of} words, at most {most}");
    }
    let lines = fs::read_to_string(&readme).unwrap().lines().count();
    assert!(lines <= MOST_LINES, "README.md has {lines} lines, at most {MOST_LINES}");
}

#[test]
fn every_document_link_reaches_a_file_and_heading() {
    let linking = LINKING.iter().map(|path| root().join(path));
    let mut problems = String::new();
    for document in pages().into_iter().chain(linking) {
        let text = fs::read_to_string(&document).unwrap();
        for problem in links(&text).into_iter().filter_map(|link| broken(&document, link)) {
            let _ = writeln!(problems, "{}: {problem}", document.display());
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

/// Whether a source has a test of this name.
fn has_test(source: &str, name: &str) -> bool {
    let attributes = r"#\[(?:tokio::)?test\]\s*(?:#\[[^\]]*\]\s*)*";
    Regex::new(&format!(r"{attributes}(?:async )?fn {name}\(")).unwrap().is_match(source)
}

#[test]
fn each_behaviour_of_a_design_names_test_or_reason() {
    let table = fs::read_to_string(root().join("strategies/DESIGNS.md")).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| behav"));
    let mut files = Vec::new();
    ["crates", "tests"].iter().for_each(|folder| rust_files(&root().join(folder), &mut files));
    let mut problems = String::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let held = cells.last().is_some_and(|by| TEST.is_match(by) || by.contains("not seen: "));
        if cells.len() != 3 || !held {
            let _ = writeln!(problems, "no test and no reason: {row}");
        }
        for named in TEST.captures_iter(row) {
            let file = format!("{}.rs", &named[1]);
            let found: Vec<&PathBuf> = files.iter().filter(|path| path.ends_with(&file)).collect();
            let fault = match found[..] {
                [one] if has_test(&fs::read_to_string(one).unwrap(), &named[2]) => continue,
                [_] => "no such test".to_owned(),
                _ => format!("{} such files", found.len()),
            };
            let _ = writeln!(problems, "{}: {fault}", &named[0]);
        }
    }
    assert!(problems.is_empty(), "{problems}");
}

#[test]
fn a_test_is_a_function_with_its_attribute() {
    let source = "#[test]\nfn a() {}\n#[tokio::test]\n#[ignore]\nasync fn b() {}\nfn helper() {}\n";
    let names = ["a", "b", "helper", "c"].map(|name| has_test(source, name));
    assert_eq!(names, [true, true, false, false]);
}

#[test]
fn references_are_found_in_all_their_forms() {
    let known = BTreeMap::from([
        ("how-it-works", BTreeSet::from([1, 8])),
        ("reference", BTreeSet::from([4])),
    ]);
    let section = |name: &str, numbers: &str| format!("{name} §{numbers}");
    for (text, expected) in [
        (section("how-it-works", "1 to §8"), vec![]),
        (section("How-it-works", "8: a"), vec![]),
        (format!("/// a ({})", section("reference", "4, rule a")), vec![]),
        (format!("//! (reference\n//! §{}): a", 5), vec![section("reference", "5")]),
        (section("how-it-works", "1 and §2"), vec![section("how-it-works", "2")]),
        (section("Reference", "2, money"), vec![section("reference", "2")]),
        (section("RFC 9110", "15"), vec![]),
        (format!("`{}` 13", "reference"), vec![format!("`{}` 1", "reference")]),
        (section("strategies", "4"), vec![format!("{} §", "strategies")]),
        (section("semantics", "4"), vec![format!("{} §", "semantics")]),
    ] {
        assert_eq!(faults(&text, &known), expected, "{text}");
    }
}

#[test]
fn headings_have_the_anchors_that_links_use() {
    let text = "# A `b`: c, d\n```sh\n# no heading\n```\n## 2. Money\n## 2. Money\n### 2b\n";
    let expected = ["2-money", "2-money-1", "2b", "a-b-c-d"].map(str::to_owned);
    assert_eq!(anchors(text), BTreeSet::from(expected));
    assert_eq!(sections(text), BTreeSet::from([2]));
}
