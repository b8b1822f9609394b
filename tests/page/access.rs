//! Whether everybody can read the pages: the rules of axe-core (MPL 2.0, from PyPI)
//! for WCAG 2 A and AA, and what a keyboard reaches. axe runs in the page, in both
//! themes, on a screen and on a telephone.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde_json::{Value as Json, json};

use crate::browser;
use crate::desk::Desk;
use crate::{ENTER, Opened, PAGE, PAGE_OF_FACTS, PAGE_OF_SIZES, opened_with};

/// Sets of rules: the levels A and AA, and what axe calls good practice
/// (landmarks, the order of headings).
const RULES: [&str; 6] = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
const SPACE: char = ' ';

/// The page of `recap compare`: two runs that differ in one number.
static PAGE_OF_TWO: LazyLock<String> = LazyLock::new(|| {
    let desk = Desk::new();
    let run =
        ["bench", "--quiet", "--strategy", "full", "--strategy", "fifo", "--strategy", "prune"];
    desk.good(&[&run[..], &["--out", "a"]].concat());
    desk.good(&["compare", "a", "a", "--strategy", "fifo=prune", "--format", "html"]).out
});

/// axe's script, out of the packages that `.ci/test` installs.
fn axe() -> Option<String> {
    let Some(home) = std::env::var_os("RECAP_PYTHON_TOOLS").map(PathBuf::from) else {
        println!("skipped: RECAP_PYTHON_TOOLS names no folder with axe-core");
        return None;
    };
    let found = std::fs::read_dir(home.join("lib")).unwrap().find_map(|python| {
        let package = python.unwrap().path().join("site-packages/axe_playwright_python");
        std::fs::read_to_string(package.join("axe.min.js")).ok()
    });
    Some(found.expect("axe-playwright-python is installed there"))
}

/// Rules that the page breaks as it stands, each with the elements. A theme changes
/// colours alone, so that the dark one is asked for contrast.
#[track_caller]
fn broken(page: &Opened, theme: &str) -> Vec<String> {
    let rules = match theme {
        "dark" => json!({"type": "rule", "values": ["color-contrast"]}),
        _ => json!({"type": "tag", "values": RULES}),
    };
    let options = json!({"runOnly": rules, "resultTypes": ["violations"], "preload": false});
    // It begins behind the command: the driver waits no longer than for one.
    page.browser.run(&format!(
        "window.broken = undefined;
         const of = (node) => node.target.join(' ') + ': ' + node.failureSummary;
         const told = (rule) => [rule.id, ...rule.nodes.slice(0, 5).map(of)].join('\\n');
         setTimeout(() => axe.run(document, {options}).then((found) => {{ window.broken = found.violations.map(told); }},
           (why) => {{ window.broken = [String(why)]; }}))"
    ));
    page.browser.until("window.broken");
    let actual = page.browser.run("return window.broken");
    actual.as_array().unwrap().iter().filter_map(Json::as_str).map(str::to_owned).collect()
}

/// Opens the first two folds of each list, so that what they hold is looked at.
fn unfold(page: &Opened) {
    page.browser.run(
        "document.getElementById('session-view')?.scrollIntoView();
         const opened = new Map();
         for (const fold of document.querySelectorAll('details')) {
           const parent = fold.parentElement, list = parent.localName === 'li' ? parent.parentElement : parent;
           const before = opened.get(list) ?? 0;
           opened.set(list, before + 1);
           if (before < 2) fold.open = true;
         }",
    );
}

#[track_caller]
fn assert_accessible(page: &LazyLock<String>, views: &[&str]) {
    let (Some(axe), Some(page)) = (axe(), opened_with(page)) else { return };
    for view in views {
        page.view(view);
    }
    page.browser.run(&axe);
    for (width, height) in [(1280, 900), (390, 844)] {
        for theme in ["light", "dark"] {
            page.browser.look(width, height, theme);
            unfold(&page);
            let broken = broken(&page, theme);
            assert!(broken.is_empty(), "at {width}, {theme}:\n{}", broken.join("\n\n"));
        }
    }
}

#[test]
fn run_page_breaks_no_wcag_rule() {
    assert_accessible(&PAGE, &["session-view"]);
}

#[test]
fn facts_page_violates_no_wcag_rule() {
    assert_accessible(&PAGE_OF_FACTS, &[]);
}

#[test]
fn size_page_violates_no_wcag_rule() {
    assert_accessible(&PAGE_OF_SIZES, &[]);
}

#[test]
fn comparison_page_breaks_no_wcag_rule() {
    assert_accessible(&PAGE_OF_TWO, &[]);
}

#[test]
fn scrolling_parts_are_named_and_focusable() {
    for page in [&PAGE, &PAGE_OF_FACTS, &PAGE_OF_SIZES, &PAGE_OF_TWO] {
        let Some(page) = opened_with(page) else { return };
        unfold(&page);
        let nameless = page.browser.run(
            "const named = (node) => node.ariaLabel || document.getElementById(node.getAttribute('aria-labelledby') ?? '')?.textContent;
             const parts = [...document.querySelectorAll('.scroll')];
             return [parts.length, parts.filter((node) => node.tabIndex !== 0 || node.role !== 'group' || !named(node)).map((node) => node.outerHTML.slice(0, 200))]",
        );
        assert!(nameless[0].as_u64() > Some(0), "there are tables");
        assert_eq!(nameless[1], json!([]));
    }
}

#[test]
fn folds_are_opened_and_closed_by_keys() {
    for page in [&PAGE, &PAGE_OF_TWO] {
        let Some(page) = opened_with(page) else { return };
        page.browser.run("document.querySelector('details > summary').focus()");
        let is_open = || page.browser.run("return document.querySelector('details').open");
        for key in [ENTER, SPACE] {
            page.browser.press(key);
            assert_eq!(is_open(), key == ENTER, "{key:?}");
        }
    }
}

#[test]
fn axe_is_there_where_a_browser_is() {
    if browser::is_there() && std::env::var("CI").is_ok_and(|value| value == "true") {
        assert!(axe().is_some(), ".ci/test installs axe-core");
    }
}
