//! `report.html` in a real browser: what a reader meets, with words that try to
//! run. Needs Chromium and chromedriver (Debian: chromium, chromium-driver).

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::restriction)]

mod access;
mod browser;
#[path = "../cli/desk.rs"]
#[allow(dead_code, reason = "the suite of the command line uses the rest")]
mod desk;
#[path = "../common/growing.rs"]
mod growing;
#[path = "../common/hostile.rs"]
mod hostile;
mod site;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use browser::Browser;
use desk::Desk;
use serde_json::{Value as Json, json};
use site::Site;

/// The page of a run over the hostile session.
static PAGE: LazyLock<String> = LazyLock::new(|| {
    let desk = Desk::new();
    hostile::dataset(&desk.path("data"));
    desk.file(hostile::STRATEGY_FILE, hostile::strategy());
    let strategies = ["full", "empty", "fifo", "prune", "continuation", hostile::STRATEGY_FILE];
    let chosen = strategies.iter().flat_map(|strategy| ["--strategy", strategy]);
    let run = ["bench", "data", "--quiet", "--out", "run", "--window", "8k", "--window", "25%"];
    desk.good(&run.into_iter().chain(chosen).collect::<Vec<&str>>());
    desk.read("run/report.html")
});

/// The page of a run over a session in which the agent comes back to paths that
/// were named eight turns before.
static PAGE_OF_FACTS: LazyLock<String> = LazyLock::new(|| {
    let desk = Desk::new();
    let filler = "all work and no play makes a long session ".repeat(30);
    let mut messages = Vec::new();
    for turn in 0..32_i32 {
        let (said, used) = (format!("src/part_{turn}.rs"), format!("src/part_{}.rs", turn - 8));
        let call = json!({"id": format!("c{turn}"), "type": "function", "function":
            {"name": "read", "arguments": json!({"path": used}).to_string()}});
        messages.extend([
            json!({"role": "user", "content": format!("Mind {said}. {filler}")}),
            json!({"role": "assistant", "content": null, "tool_calls": [call]}),
            json!({"role": "tool", "tool_call_id": format!("c{turn}"), "content": "done"}),
            json!({"role": "assistant", "content": "Next."}),
        ]);
    }
    desk.file("chat.json", Json::from(messages).to_string());
    let run = ["replay", "chat.json", "--quiet", "--out", "run", "--strategy", "full"];
    desk.good(&[&run[..], &["--strategy", "fifo", "--strategy", "sliding-window"]].concat());
    desk.read("run/report.html")
});

/// The page of six recordings of an agent that never compacted.
static PAGE_OF_SIZES: LazyLock<String> = LazyLock::new(|| {
    let desk = Desk::new();
    for name in ["a", "b", "c", "d", "e", "f"] {
        let lines: Vec<String> = growing::session(name, 25).iter().map(Json::to_string).collect();
        desk.file(&format!("logs/{name}.jsonl"), lines.join("\n"));
    }
    let run = ["bench", "logs", "--quiet", "--out", "run", "--strategy", "prune,fifo"];
    desk.good(&run);
    desk.read("run/report.html")
});

/// Places that scripts fill.
const VIEWS: [&str; 1] = ["session-view"];
const TAB: char = '\u{e004}';
const ENTER: char = '\u{e007}';
const RIGHT: char = '\u{e014}';
const HOME: char = '\u{e011}';

/// The page in a browser.
struct Opened {
    site: Site,
    browser: Browser,
}

fn opened() -> Option<Opened> {
    opened_with(&PAGE)
}

fn opened_with(page: &LazyLock<String>) -> Option<Opened> {
    if !browser::is_there() {
        return None;
    }
    let (site, browser) = (Site::of(page), Browser::start());
    browser.look(1280, 900, "light");
    browser.open(&site.url());
    Some(Opened { site, browser })
}

impl Opened {
    /// Goes to a view and waits for its script.
    #[track_caller]
    fn view(&self, id: &str) {
        self.browser.run(&format!(
            "const place = document.getElementById('{id}');
             for (let fold = place.closest('details'); fold; fold = fold.parentElement.closest('details')) fold.open = true;
             place.scrollIntoView()"
        ));
        self.browser.until(&format!("document.getElementById('{id}').dataset.ready"));
    }

    #[track_caller]
    fn text(&self, selector: &str) -> String {
        let script = format!("return document.querySelector(`{selector}`).textContent");
        self.browser.run(&script).as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn count(&self, selector: &str) -> u64 {
        self.browser
            .run(&format!("return document.querySelectorAll(`{selector}`).length"))
            .as_u64()
            .unwrap()
    }

    /// Nothing of the recording ran, was fetched or broke the policy.
    #[track_caller]
    fn assert_harmless(&self) {
        let browser = &self.browser;
        assert!(!browser.is_alerted(), "a dialogue is open");
        let ran = browser.run(
            "return [typeof window.pwned, document.title.startsWith('recap · '), location.pathname,
                     document.querySelectorAll('img,iframe,object,embed,form[action],base,link,math').length]",
        );
        assert_eq!(ran, serde_json::json!(["undefined", true, "/", 0]));
        assert_eq!(self.site.strays(), Vec::<String>::new(), "the page asked for more");
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
}

/// The columns of the first table that can be sorted, as they stand.
fn column(opened: &Opened, at: usize) -> Vec<String> {
    let cells = opened.browser.run(&format!(
        "return [...document.querySelector('table.sortable').tBodies[0].rows].map((row) => row.cells[{at}].dataset.sort ?? row.cells[{at}].textContent.replace('–', ''))"
    ));
    cells.as_array().unwrap().iter().map(|cell| cell.as_str().unwrap().to_owned()).collect()
}

#[test]
fn recorded_text_never_executes_and_is_fully_readable() {
    let Some(page) = opened() else { return };
    page.assert_harmless();
    for view in VIEWS {
        page.view(view);
        page.browser.run("for (const closed of document.querySelectorAll('details:not([open])')) closed.open = true");
    }
    page.browser.until("document.querySelectorAll('#session-view .sides').length");
    let lists = page.text("#questions");
    assert!(lists.contains("<script>window.pwned=1;alert(1)</script>"), "shown as text");
    page.assert_harmless();
}

#[test]
fn heading_click_sorts_and_second_click_reverses_order() {
    let Some(page) = opened() else { return };
    let heads = page
        .browser
        .run("return document.querySelector('table.sortable').tHead.rows[0].cells.length");
    let heads = heads.as_u64().unwrap() as usize;
    for at in 0..heads {
        let before = column(&page, at);
        let click = format!(
            "document.querySelector('table.sortable').tHead.rows[0].cells[{at}].querySelector('button').click()"
        );
        page.browser.run(&click);
        let up = column(&page, at);
        page.browser.run(&click);
        let down = column(&page, at);
        let mut expected = before.clone();
        expected.retain(|key| !key.is_empty());
        let numbers: Option<Vec<f64>> = expected.iter().map(|key| key.parse().ok()).collect();
        let Some(mut numbers) = numbers else { continue };
        numbers.sort_by(f64::total_cmp);
        let read =
            |keys: &[String]| -> Vec<f64> { keys.iter().filter_map(|k| k.parse().ok()).collect() };
        assert_eq!(read(&up), numbers, "column {at}");
        numbers.reverse();
        assert_eq!(read(&down), numbers, "column {at}, turned over");
        // What has no figure stays below.
        assert_eq!(up.iter().take_while(|key| !key.is_empty()).count(), numbers.len());
    }
}

#[test]
fn session_strip_describes_requests_by_keyboard_and_pointer() {
    let Some(page) = opened() else { return };
    page.view("session-view");
    let actual = "#session-view [aria-live]";
    page.browser.run("document.querySelector('#session-view input[type=range]').focus()");
    page.browser.press(HOME);
    assert!(page.text(actual).starts_with("Request 1 of "), "{}", page.text(actual));
    page.browser.press(RIGHT);
    assert!(page.text(actual).starts_with("Request 2 of "), "{}", page.text(actual));
    let states = page.text("#session-view .told-states");
    assert!(states.contains("sent as recorded: message"), "{states}");
    page.browser.run(
        "const strip = document.querySelector('#session-view svg'), box = strip.getBoundingClientRect();
         strip.dispatchEvent(new PointerEvent('pointermove', { clientX: box.right - 1, clientY: box.top + 1 }))",
    );
    let last = page.text(actual);
    let (request, all) = last.trim_start_matches("Request ").split_once(" of ").unwrap();
    assert!(all.starts_with(request), "{last}");
    page.browser.run("document.querySelector('#session-view .told-states details').open = true");
    page.browser.until("document.querySelector('#session-view .told-states pre')");
    assert!(!page.text("#session-view pre").is_empty());
}

#[test]
fn every_compaction_shows_its_input_and_output() {
    let Some(page) = opened() else { return };
    page.view("session-view");
    let strategies = page.count("#session-view label:nth-of-type(2) option");
    assert!(strategies >= 3, "{strategies}");
    page.browser.run(
        "[...document.querySelectorAll('#session-view button')].find((b) => b.textContent.startsWith('previous')).click();
         const folds = [...document.querySelectorAll('#session-view details')];
         folds.find((fold) => fold.textContent.startsWith('compacted before')).open = true",
    );
    page.browser.until("document.querySelector('#session-view .sides')");
    let sides = page.text("#session-view .sides");
    assert!(sides.contains("went in: ") && sides.contains("came out"), "{sides}");
    assert!(page.count("#session-view .sides pre") > 0, "{sides}");
}

#[test]
fn facts_and_questions_are_read_without_scripts() {
    let Some(page) = opened_with(&PAGE_OF_FACTS) else { return };
    page.browser.scripts(false);
    page.browser.open(&page.site.url());
    let facts = page.text("#cuts details");
    assert!(facts.contains("not kept") && facts.contains("src/part_"), "{facts}");
}

#[test]
fn keyboard_reaches_controls_and_focus_is_visible() {
    let Some(page) = opened() else { return };
    for view in VIEWS {
        page.view(view);
    }
    let mut reached = Vec::new();
    for theme in ["light", "dark"] {
        page.browser.run("document.querySelector('#session-view select').focus()");
        page.browser.look(1280, 900, theme);
        for _ in 0..6 {
            page.browser.press(TAB);
            let at = page.browser.run(
                "const at = document.activeElement, style = getComputedStyle(at);
                 return [at.localName, style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0]",
            );
            assert_eq!(at[1], true, "the focus on {} is seen", at[0]);
            reached.push(at[0].as_str().unwrap().to_owned());
        }
    }
    for name in ["select", "input", "summary"] {
        assert!(reached.iter().any(|other| other == name), "{name} is not among {reached:?}");
    }
}

#[test]
fn page_is_small_and_fits_phone_both_themes() {
    let Some(page) = opened() else { return };
    assert!(PAGE.len() < 3_000_000, "{} bytes", PAGE.len());
    let nodes = page.count("*");
    assert!(nodes < 15_000, "{nodes} elements before anything is opened");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page-screenshots");
    std::fs::create_dir_all(&folder).unwrap();
    for view in VIEWS {
        page.view(view);
    }
    for (width, height) in [(1280, 900), (390, 844)] {
        for theme in ["light", "dark"] {
            page.browser.look(width, height, theme);
            let wide =
                page.browser.run("return document.scrollingElement.scrollWidth - innerWidth");
            assert!(wide.as_i64().unwrap() <= 0, "{wide} pixels too wide at {width}, {theme}");
            shoot(&page, &folder, width, theme);
        }
    }
    let timing =
        page.browser.run("return performance.getEntriesByType('navigation')[0].domInteractive");
    println!("{} bytes, {nodes} elements, interactive after {timing} ms", PAGE.len());
    println!("screenshots: {}", folder.display());
}

fn shoot(page: &Opened, folder: &Path, width: u32, theme: &str) {
    let sections =
        page.browser.run("return [...document.querySelectorAll('section[id]')].map((s) => s.id)");
    for section in sections.as_array().unwrap().iter().filter_map(Json::as_str) {
        page.browser.run(&format!("document.getElementById('{section}').scrollIntoView()"));
        let file: PathBuf = folder.join(format!("{section}-{width}-{theme}.png"));
        page.browser.screenshot(&file);
    }
}

#[test]
fn size_page_is_read_without_scripts_at_every_width() {
    let Some(page) = opened_with(&PAGE_OF_SIZES) else { return };
    page.browser.scripts(false);
    page.browser.open(&page.site.url());
    assert!(page.text("h1").starts_with("Compacting at "), "{}", page.text("h1"));
    assert!(page.text(".set code").starts_with("\"autoCompactWindow\": "));
    for (width, height) in [(320, 700), (390, 844), (768, 900), (1280, 900)] {
        page.browser.look(width, height, "light");
        let found = page.browser.run(
            "const seen = [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility() && !one.childElementCount && one.textContent.trim());
             const names = seen.filter((one) => one.matches('.xl')).map((one) => one.getBoundingClientRect());
             return [document.scrollingElement.scrollWidth - innerWidth, document.getElementById('comparison').offsetTop,
               seen.filter((one) => parseFloat(getComputedStyle(one).fontSize) < 12).map((one) => one.outerHTML),
               names.filter((one, at) => names.slice(0, at).some((other) => one.left < other.right && other.left < one.right)).length,
               [...document.querySelectorAll('button')].filter((one) => one.checkVisibility()).length]",
        );
        assert!(found[0].as_i64() <= Some(0), "too wide at {width}: {found}");
        assert!(
            width < 390 || found[1].as_i64() < Some(5_000),
            "high before what is folded: {found}"
        );
        assert_eq!(found[2], json!([]), "small words at {width}");
        assert_eq!(found[3], 0, "names of sizes overlap at {width}");
        assert_eq!(found[4], 0, "a button that does nothing");
    }
    page.assert_harmless();
}

#[test]
fn dots_lead_to_the_table_of_sizes_by_keyboard() {
    let Some(page) = opened_with(&PAGE_OF_SIZES) else { return };
    page.browser.run("document.querySelector('.pt').focus()");
    page.browser.press(TAB);
    page.browser.run("document.querySelector('.pt').focus()");
    assert_eq!(page.count(".pt:focus"), 1);
    page.browser.press(ENTER);
    page.browser.until("document.querySelector('#sizes details').open");
    assert!(page.text("#sizes").contains("\"autoCompactWindow\": "), "each size has its setting");
    assert_eq!(page.count("#answer .copy:not([hidden])"), 1, "the advised one can be copied");
    page.assert_harmless();
}

#[test]
fn without_scripts_table_and_best_strategy_are_shown() {
    let Some(page) = opened() else { return };
    page.browser.scripts(false);
    page.browser.open(&page.site.url());
    let shown = page.browser.run(
        "return [...document.querySelectorAll('button, select')].filter((c) => c.checkVisibility()).length",
    );
    assert_eq!(shown.as_u64(), Some(0), "no control that does nothing");
    assert!(page.count("#comparison tbody tr") >= 6);
    for part in ["#answer .quadrant", "#comparison .drawn", "#questions table"] {
        assert!(page.count(part) > 0, "{part}");
    }
    page.assert_harmless();
}
